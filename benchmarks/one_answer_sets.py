"""The tables of ``one_answer.py``, and the files that they are written to."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

#: The folder with the data sets of the paper.
DATA = Path(os.environ.get("NEGCORR_DATA", Path(__file__).parents[2] / "shared" / "data"))

#: All sets; those of the paper need its data.
SETS = ("diabetes", "made", "abalone", "water", "california")


@dataclass(frozen=True, eq=False)
class AnswerSet:
    """A table.

    Attributes
    ----------
    name : str
    inputs : pandas.DataFrame
    targets : pandas.DataFrame
    """

    name: str
    inputs: Any
    targets: Any

    @property
    def y(self) -> np.ndarray:
        """Targets as an array; 1-D where there is one."""
        values = self.targets.to_numpy(dtype=np.float64)
        return values[:, 0] if values.shape[1] == 1 else values

    @property
    def target(self) -> Any:
        """The name of the target, or a list of names."""
        names = list(self.targets.columns)
        return names[0] if len(names) == 1 else names

    @property
    def is_numeric(self) -> bool:
        """Whether an array can hold the inputs."""
        kinds = {dtype.kind for dtype in self.inputs.dtypes}
        return kinds <= set("iuf") and not self.inputs.isna().to_numpy().any()

    @property
    def frame(self) -> Any:
        """Inputs and targets."""
        return self.inputs.join(self.targets)

    def in_order(self, number: int) -> AnswerSet:
        """The rows in another order: 0 is that of the set, 1 from last to first, others random."""
        n = len(self.inputs)
        order = np.arange(n)[::-1] if number == 1 else np.random.default_rng(number).permutation(n)
        order = np.arange(n) if number == 0 else order
        inputs, targets = (
            part.iloc[order].reset_index(drop=True) for part in (self.inputs, self.targets)
        )
        return replace(self, inputs=inputs, targets=targets)


def load_set(name: str) -> AnswerSet | None:
    """A set by its name; None where its file is not there."""
    if name == "made":
        return made_table()
    if name == "diabetes":
        from sklearn.datasets import load_diabetes

        found = load_diabetes(as_frame=True, scaled=False)
        return AnswerSet(name, found.data, found.target.to_frame())
    from negcorr import datasets

    if not DATA.is_dir() or not datasets.is_available(name, DATA):
        return None
    found = datasets.load(name, data_home=DATA, as_frame=True, fetch=False)
    targets = found.target.to_frame() if found.target.ndim == 1 else found.target
    return AnswerSet(name, found.data, targets)


def made_table(n: int = 600, seed: int = 0) -> AnswerSet:
    """Dates, categories as text, truth, missing values, a balanced column, rows that are equal."""
    import pandas

    rng = np.random.default_rng(seed)
    towns = np.array(["Aachen", "Bonn", "Celle", "Düren", "Essen", "Fulda", "Gera", "Hof"])
    town = rng.choice(towns, size=n, p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.06, 0.036, 0.004])
    kind = rng.choice(["flat", "house", "shop"], size=n)
    days = rng.integers(0, 3000, size=n)
    size = rng.gamma(2.0, 40.0, size=n).round(1)
    level = np.tile([-1.5, 0.1, 1.7], n // 3 + 1)[:n]
    rate = rng.normal(size=n)
    price = 9.0 * size + 300.0 * (kind == "house") + 0.1 * days + 300.0 * np.sin(3.0 * rate)
    price += 80.0 * level**2 + 90.0 * (town == "Bonn") + 800.0 * rng.normal(size=n)
    inputs = pandas.DataFrame(
        {
            "built": pandas.to_datetime("2009-05-04") + pandas.to_timedelta(days, unit="D"),
            "town": town.astype(object),
            "kind": kind.astype(object),
            "size": size,
            "rooms": np.ceil(size / 30.0 + rng.integers(0, 3, size=n)),
            "heated": rng.random(n) < 0.7,
            "level": level,
            "rate": rate,
        }
    )
    for column, share in {"built": 0.03, "town": 0.05, "size": 0.04, "rooms": 0.08}.items():
        inputs.loc[rng.random(n) < share, column] = None
    targets = pandas.DataFrame({"price": price.round(2)})
    # Rows that come twice, and inputs that come again with another target.
    again = np.append(np.arange(n - 60), np.arange(60))
    inputs = inputs.iloc[again].reset_index(drop=True)
    other = targets.iloc[n - 20 :]
    targets = targets.iloc[again].reset_index(drop=True)
    targets.iloc[n - 20 :] = other.to_numpy()
    return AnswerSet("made", inputs, targets)


def write_csv(table: AnswerSet, path: Path) -> Path:
    """Commas, quotes where they are needed, dates in ISO form."""
    table.frame.to_csv(path, index=False, lineterminator="\n")
    return path


def write_other_csv(table: AnswerSet, path: Path) -> Path:
    """Semicolons, decimal commas, and quotes around all cells."""
    import csv

    frame = table.frame
    for name in frame.columns:
        if frame[name].dtype.kind in "iuf":
            cells = [repr(value).replace(".", ",") for value in frame[name].tolist()]
            frame[name] = [None if cell == "nan" else cell for cell in cells]
    frame.to_csv(path, sep=";", index=False, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    return path


def write_parquet(table: AnswerSet, path: Path, **options: Any) -> Path:
    """Columns with their types."""
    table.frame.to_parquet(path, index=False, **options)
    return path


def write_arff(table: AnswerSet, path: Path) -> Path:
    """Numbers, dates and nominal columns, as Weka declares them; truth is 0 and 1."""
    frame, lines, cells = table.frame, [f"@relation {table.name}"], []
    for name in frame.columns:
        column = frame[name]
        missing = column.isna().to_numpy()
        if column.dtype.kind in "biuf":
            column = column.astype(np.float64)
            kind, written = "numeric", [repr(value) for value in column.tolist()]
        elif column.dtype.kind == "M":
            days = column.dt.strftime("%Y-%m-%d")
            kind, written = 'date "yyyy-MM-dd"', [f'"{day}"' for day in days]
        else:
            levels = sorted({str(value) for value in column[~missing]})
            kind = "{" + ",".join(f"'{level}'" for level in levels) + "}"
            written = [f"'{value}'" for value in column]
        lines.append(f"@attribute '{name}' {kind}")
        cells.append(
            ["?" if absent else cell for absent, cell in zip(missing, written, strict=True)]
        )
    rows = [",".join(row) for row in zip(*cells, strict=True)]
    path.write_text("\n".join([*lines, "@data", *rows, ""]), encoding="utf-8")
    return path
