"""The doors of ``one_answer.py``: ways from a table to a fitted model and to its predictions."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from one_answer_machines import answer_of
from one_answer_sets import AnswerSet, write_arff, write_csv, write_other_csv, write_parquet

#: Largest differences of dof, and of predictions: in general, and where the same numbers reach an
#: estimator in memory.
DOF, PREDICTIONS, IN_MEMORY = 1e-8, 1e-6, 1e-10

#: Rows of the chunks that are cut from tables and files, beside chunks of all sizes.
CHUNK, SMALLER_CHUNK = 157, 64

#: A function of a table, of the reference's table, and of a folder for files: the answer.
Through = Callable[[AnswerSet, AnswerSet, Path], dict[str, Any]]

#: What a fit is given of a table, by position and by name; files go into a folder.
Pieces = Callable[[AnswerSet, Path], tuple[tuple[Any, ...], dict[str, Any]]]


@dataclass(frozen=True)
class Door:
    """A way in.

    Attributes
    ----------
    name : str
    through : callable
    in_memory : bool
        Whether the numbers of the reference reach an estimator in memory.
    numbers_only : bool
        Whether it takes numeric tables only.
    own_reference : bool
        Whether it is compared with itself in the order of the set: it sees other numbers.
    quick : tuple of str
        The sets that go through it in a quick run.
    """

    name: str
    through: Through
    in_memory: bool = False
    numbers_only: bool = False
    own_reference: bool = False
    quick: tuple[str, ...] = ("diabetes", "made")

    @property
    def limit(self) -> float:
        """The largest difference of predictions, in standard deviations of the target."""
        return IN_MEMORY if self.in_memory else PREDICTIONS


def model() -> Any:
    from negcorr import NCLRegressor

    return NCLRegressor()


def of_frame(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
    return answer_of(model().fit(table.inputs, table.y), there.inputs, there.y)


def of_polars(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
    import polars

    frame = polars.from_pandas(table.inputs)
    return answer_of(model().fit(frame, table.y), polars.from_pandas(there.inputs), there.y)


def of_array(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
    return answer_of(
        model().fit(table.inputs.to_numpy(), table.y), there.inputs.to_numpy(), there.y
    )


def of_objects(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
    X, other = (each.inputs.astype(object).to_numpy() for each in (table, there))
    return answer_of(model().fit(X, table.y), other, there.y)


def of_file(write: Callable[[AnswerSet, Path], Path], name: str) -> Through:
    """A file, by ``read_table``."""

    def through(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
        from negcorr import read_table

        frame = read_table(write(table, folder / name)).frame
        names = list(table.targets.columns)
        y = frame[names].to_numpy(dtype=np.float64)
        y = y[:, 0] if len(names) == 1 else y
        return answer_of(model().fit(frame.drop(columns=names), y), there.inputs, there.y)

    return through


def of_command(write: Callable[[AnswerSet, Path], Path], name: str, *more: str) -> Through:
    """``negcorr fit`` of a file, and the model that it saves."""

    def through(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
        import negcorr
        from negcorr.cli import main

        out = folder / "out"
        targets = [word for target in table.targets for word in ("--target", target)]
        arguments = ["fit", str(write(table, folder / name)), *targets, *more]
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                main([*arguments, "--rivals", "none", "--out", str(out)])
        except SystemExit as left:
            if left.code:
                raise RuntimeError(said.getvalue()) from None
        return answer_of(negcorr.load(out / "model.skops"), there.inputs, there.y)

    return through


def of_pieces(
    pieces: Callable[[AnswerSet, Path], tuple[tuple[Any, ...], dict[str, Any]]],
) -> Through:
    """``scale.fit`` of what a function makes of the table."""

    def through(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
        from negcorr import scale

        given, named = pieces(table, folder)
        return answer_of(scale.fit(model(), *given, **named), there.inputs, there.y)

    return through


def blocks_of_a_frame(table: AnswerSet, folder: Path) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (table.frame,), {"target": table.target, "block_size": CHUNK}


def blocks_of_inputs(table: AnswerSet, folder: Path) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (table.inputs, table.y), {"block_size": SMALLER_CHUNK}


def frames_of_all_sizes(table: AnswerSet, folder: Path) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ([table.frame.iloc[rows] for rows in slices(len(table.inputs))],), {
        "target": table.target
    }


def a_folder_of_files(table: AnswerSet, folder: Path) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (folder / "parts").mkdir()
    for number, rows in enumerate(slices(len(table.inputs))):
        part = AnswerSet(table.name, table.inputs.iloc[rows], table.targets.iloc[rows])
        write_parquet(part, folder / "parts" / f"part-{number}.parquet")
    return (folder / "parts",), {"target": table.target, "block_size": CHUNK}


def blocks_of_a_csv(table: AnswerSet, folder: Path) -> tuple[tuple[Any, ...], dict[str, Any]]:
    path = write_csv(table, folder / "table.csv")
    return (path,), {"target": table.target, "block_size": CHUNK}


def of_dask(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
    """Dask's arrays for numbers, its data frames for others; in this process."""
    import dask

    from negcorr import scale

    with dask.config.set(scheduler="synchronous"):
        if table.is_numeric:
            import dask.array

            X, y = table.inputs.to_numpy(), table.y
            rows = (-(-len(X) // 5), *y.shape[1:])
            parts = dask.array.from_array(X, chunks=(rows[0], X.shape[1]))
            fitted = scale.fit(model(), parts, dask.array.from_array(y, chunks=rows))
            return answer_of(fitted, there.inputs.to_numpy(), there.y)
        import dask.dataframe

        frame = dask.dataframe.from_pandas(table.frame, npartitions=5, sort=False)
        return answer_of(scale.fit(model(), frame, target=table.target), there.inputs, there.y)


def of_parts(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
    """``draw`` on all rows, then ``partial_fit`` of them chunk by chunk."""
    fitted, y = model().draw(table.inputs, y=table.y), table.y
    for rows in slices(len(y)):
        fitted.partial_fit(table.inputs.iloc[rows], y[rows])
    return answer_of(fitted, there.inputs, there.y)


def of_tensors(dispatch: bool) -> Through:
    """Tensors of PyTorch in double precision; with dispatch they stay what they are."""

    def through(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
        import torch
        from sklearn import config_context

        X, y, other = (
            torch.asarray(np.ascontiguousarray(each))
            for each in (table.inputs.to_numpy(float), table.y, there.inputs.to_numpy(float))
        )
        with config_context(array_api_dispatch=dispatch):
            return answer_of(model().fit(X, y), other, there.y)

    return through


def of_scaled(table: AnswerSet, there: AnswerSet, folder: Path) -> dict[str, Any]:
    """A scaler before the estimator: the last bits of what it sees depend on the order of rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fitted = make_pipeline(StandardScaler(), model()).fit(table.inputs.to_numpy(), table.y)
    inputs = fitted[0].transform(there.inputs.to_numpy())
    return answer_of(fitted[-1], inputs, there.y)


def slices(n_rows: int) -> Iterator[slice]:
    """Rows in parts of very different sizes."""
    borders = [0, *(int(n_rows * share) for share in (0.02, 0.1, 0.45, 0.5)), n_rows]
    yield from (slice(a, b) for a, b in pairwise(borders) if b > a)


by_csv = partial(of_command, write_csv, "table.csv")
by_parquet = partial(of_command, write_parquet, "table.parquet")

DOORS = (
    Door("data frame", of_frame, in_memory=True),
    Door("polars frame", of_polars, in_memory=True),
    Door("array", of_array, in_memory=True, numbers_only=True),
    Door("array of objects", of_objects, in_memory=True),
    Door("CSV", of_file(write_csv, "table.csv"), in_memory=True),
    Door("CSV, quoted, decimal comma", of_file(write_other_csv, "table.csv"), in_memory=True),
    Door("Parquet", of_file(write_parquet, "table.parquet"), in_memory=True),
    Door("ARFF", of_file(write_arff, "table.arff"), in_memory=True),
    Door("negcorr fit, CSV", by_csv(), in_memory=True, quick=("made",)),
    Door("negcorr fit, Parquet", by_parquet(), in_memory=True, quick=("diabetes",)),
    Door("negcorr fit --stream, CSV", by_csv("--stream"), quick=("diabetes",)),
    Door("negcorr fit --stream, Parquet", by_parquet("--stream"), quick=("made",)),
    Door("scale.fit, frame in blocks", of_pieces(blocks_of_a_frame)),
    Door("scale.fit, inputs in blocks", of_pieces(blocks_of_inputs)),
    Door("scale.fit, frames of all sizes", of_pieces(frames_of_all_sizes)),
    Door("scale.fit, folder of Parquet", of_pieces(a_folder_of_files)),
    Door("scale.fit, CSV in blocks", of_pieces(blocks_of_a_csv)),
    Door("scale.fit, Dask", of_dask),
    Door("draw, then partial_fit", of_parts),
    Door("torch", of_tensors(False), numbers_only=True),
    Door("torch, array_api_dispatch", of_tensors(True), numbers_only=True),
    Door("StandardScaler, NCLRegressor", of_scaled, numbers_only=True, own_reference=True),
)
