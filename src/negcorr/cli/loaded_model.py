"""A model from a file, with what the file says about its table, and tables for it to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.number_text import listed, shortened
from negcorr._common.types import AnyArray
from negcorr.cli.arguments import UsageError
from negcorr.cli.fit_files import FILES
from negcorr.columns.cells import placing, typed_cells
from negcorr.columns.kinds import no_column
from negcorr.columns.samples import Samples, samples
from negcorr.diversity.inner_model import inner_model
from negcorr.exceptions import ModelFileError, TableError
from negcorr.reading.schema import Schema
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks, is_large
from negcorr.storage.save_load import describe, load
from negcorr.tables.fingerprint import Fingerprint

__all__ = [
    "NOTICEABLE",
    "LoadedModel",
    "Piece",
    "open_model",
    "pieces_of",
    "share_in_words",
    "warning_about",
]

#: A share of known rows above this is reported.
NOTICEABLE = 0.01


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a table.

    Attributes
    ----------
    frame : pandas.DataFrame
        In types that the model can read.
    columns : list of str
        Names of all columns that the file has.
    column : callable
        Takes a name, and returns that column as the file has it.
    row : int
        Rows before them.
    """

    frame: Any
    columns: list[str]
    column: Callable[[str], Any]
    row: int


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model from a file.

    Attributes
    ----------
    path : Path
    model : estimator
        Of ``negcorr fit``, or any other that was saved.
    notes : dict
        What the file carries beside it.
    schema : Schema or None
        Roles of the columns of its table, where the file has them.
    seen : Fingerprint or None
        Which rows the model was fitted to, where the file knows.
    """

    path: Path
    model: Any
    notes: dict[str, Any]
    schema: Schema | None
    seen: Fingerprint | None

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of what is predicted."""
        if self.schema is not None:
            return self.schema.targets
        n_outputs = np.size(getattr(inner_model(self.model)[0], "intercept_", 0.0))
        return ("y",) if n_outputs == 1 else tuple(f"y{k}" for k in range(n_outputs))

    def ensemble_and_features(self, frame: Any) -> tuple[Any, Any]:
        """The ensemble, and its inputs for the rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
        """
        names = getattr(self.model, "feature_names_in_", None)
        if names is None:
            wanted = int(self.model.n_features_in_)
            if frame.shape[1] != wanted:
                raise TableError(
                    f"the table has {frame.shape[1]} columns, and the model, which does not know "
                    f"their names, needs {wanted}."
                )
            return inner_model(self.model, frame.to_numpy(dtype=float))
        lacking = [str(name) for name in names if name not in frame.columns]
        if lacking:
            raise TableError(f"the table lacks the columns {', '.join(map(repr, lacking))}.")
        return inner_model(self.model, frame[list(names)])

    @property
    def columns(self) -> Schema | None:
        """What the columns were in the fit; None for a model of numbers alone."""
        return getattr(self.model, "columns_", None) or self.schema

    def typed(self, frame: Any) -> dict[str, AnyArray]:
        """The values of the inputs, by name."""
        columns = self.columns
        if columns is None:
            return {}
        return {c.name: typed_cells(frame[c.name], c) for c in columns.columns if c.is_input}

    @property
    def known_schema(self) -> Schema:
        """The roles of the columns; an error where the file does not have them."""
        if self.schema is None:
            raise UsageError(
                f"{self.path} does not say which columns are targets: it was not written by "
                "negcorr fit."
            )
        return self.schema

    def check_columns(self, columns: Sequence[str], data: Path, targets: bool = False) -> None:
        """Refuse a table that lacks columns which predictions are made from, or targets."""
        if self.schema is None:
            return
        wanted = [*self.schema.inputs, *(self.schema.targets if targets else ())]
        lacking = [name for name in wanted if name not in columns]
        if not lacking:
            return
        words = "column" if len(lacking) == 1 else "columns"
        shown = listed([shortened(name) for name in lacking], 10)
        what = "that the model predicts from" if lacking[0] in self.schema.inputs else "to compare"
        hint = str(no_column("", lacking[0], columns)).partition("; ")[2]
        raise TableError(f"{data.name} lacks the {words} {shown} {what}; {hint}")

    def rows(self, frame: Any) -> Samples:
        """Rows that have their targets, for figures."""
        return samples(frame, self.known_schema)

    def share_of(self, rows: Samples) -> float:
        """The share of the rows that the model was fitted to; 0 where the file does not know."""
        if self.seen is None or not len(rows.positions):
            return 0.0
        return self.seen.share_of(rows, self.known_schema)

    def placing(self, data: Path, piece: Piece) -> AbstractContextManager[None]:
        """A context in which errors about cells of a piece name their row."""
        if self.schema is None:
            return nullcontext()
        advice = "Correct it, or leave it empty."
        return placing(data, piece.frame, self.typed, piece.row, advice)


def open_model(path: Path) -> LoadedModel:
    """Read a model from a file; no code in the file is run.

    Parameters
    ----------
    path : Path
        The file, or a folder that ``negcorr fit`` wrote.

    Raises
    ------
    ModelFileError
        Where it cannot be read, is not a regressor, or has notes that are not those of a fit.
    """
    if path.is_dir() and (path / FILES[0]).is_file():
        path = path / FILES[0]
    notes = dict(describe(path).notes)
    model = load(path)
    if not hasattr(model, "predict"):
        raise ModelFileError(path, f"holds a {type(model).__name__}, which predicts nothing.")
    if not hasattr(model, "n_features_in_"):
        raise ModelFileError(path, f"holds a {type(model).__name__}, which is not fitted.")
    schema, seen = notes.get("schema"), notes.get("fingerprint")
    try:
        if not isinstance(schema, str | None) or not isinstance(seen, dict | None):
            raise ValueError("schema or fingerprint is of another kind")
        found = LoadedModel(
            path,
            model,
            notes,
            None if schema is None else Schema.from_json(schema),
            None if seen is None else Fingerprint.from_dict(seen),
        )
        _check_inputs(found)
    except (ValueError, TableError) as error:
        raise ModelFileError(path, f"has notes that are not those of its model: {error}") from error
    return found


def _check_inputs(loaded: LoadedModel) -> None:
    """Refuse a schema of other columns than those that the model predicts from."""
    if loaded.schema is None:
        return
    names = getattr(loaded.model, "feature_names_in_", None)
    if not loaded.targets:
        raise ValueError("no column is a target.")
    if names is not None and not set(map(str, names)) <= set(loaded.schema.inputs):
        raise ValueError("the columns are not those that it predicts from.")


def share_in_words(share: float) -> str:
    """The first words of a sentence about a share of rows."""
    return "All" if share > 0.999 else f"About {share:.0%}"


def warning_about(share: float) -> str:
    """A warning that the model was fitted to a share of the rows; empty for almost none."""
    if share < NOTICEABLE:
        return ""
    return (
        f"{share_in_words(share)} of these rows are among those that the model was fitted to: "
        "figures on them are too good. Figures on rows held out are in metrics.json."
    )


def pieces_of(loaded: LoadedModel, data: Path, note: Callable[..., None]) -> Iterator[Piece]:
    """A table as one piece, or in several where it is large and the model has a schema.

    Parameters
    ----------
    loaded : LoadedModel
    data : Path
    note : callable
        Called with remarks about the file.
    """
    if loaded.schema is None or not is_large(data):
        table = read_table(data)
        note(*table.notes)
        names = [str(name) for name in table.frame.columns]
        loaded.check_columns(names, data)
        yield Piece(table.frame, names, table.frame.__getitem__, 0)
        return
    chunks = TableChunks.open(data, loaded.schema)
    note(*chunks.notes)
    loaded.check_columns(chunks.names, data)
    row = 0
    for part in chunks.tables():
        # A column of pyarrow is converted only where somebody asks for it.
        one = partial(lambda part, name: part.column(name).to_pandas(), part)
        yield Piece(chunks.frame(part, row), part.column_names, one, row)
        row += part.num_rows
