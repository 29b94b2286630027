"""A model from a file, with what the file says about its table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from negcorr.cli.codes import UsageError
from negcorr.cli.metrics import schema_in
from negcorr.exceptions import ModelFileError, TableError
from negcorr.persistence import describe, load
from negcorr.tabular import Samples, Schema, samples
from negcorr.tabular.fingerprint import Fingerprint

__all__ = ["StoredModel", "open_model"]

#: A share of known rows above this is worth a word.
NOTICEABLE = 0.01


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A loaded model.

    Attributes
    ----------
    path : Path
    model : estimator
        A pipeline for tables, or any other that was saved.
    notes : dict
        What the file carries beside it.
    schema : Schema or None
        What the columns of its table were for, where the file says so.
    """

    path: Path
    model: Any
    notes: dict[str, Any]
    schema: Schema | None

    @property
    def last(self) -> Any:
        """The ensemble."""
        return self.model[-1] if isinstance(self.model, Pipeline) else self.model

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of what is predicted."""
        if self.schema is not None:
            return self.schema.targets
        shape = np.shape(getattr(self.last, "intercept_", 0.0))
        n_outputs = shape[0] if shape else 1
        return ("y",) if n_outputs == 1 else tuple(f"y{k}" for k in range(n_outputs))

    def features(self, frame: Any) -> Any:
        """What the ensemble predicts from, for rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
        """
        rows = frame if self.schema is not None else self._named_columns(frame)
        if isinstance(self.model, Pipeline) and len(self.model) > 1:
            return self.model[:-1].transform(rows)
        return rows

    def rows(self, frame: Any, name: str) -> Samples:
        """Rows with their targets, for figures.

        Parameters
        ----------
        frame : pandas.DataFrame
        name : str
            Of the file, for errors.
        """
        if self.schema is None:
            raise UsageError(
                f"{self.path} does not say which columns are targets: it was not written by "
                "negcorr fit."
            )
        found = samples(frame, self.schema)
        if len(found.positions) < 2:
            raise TableError(
                f"{len(found.positions)} rows of {name} have their targets; 2 at least are needed."
            )
        return found

    def warning_about(self, rows: Samples) -> str:
        """A sentence where the model was fitted to some of these rows, else nothing."""
        stored = self.notes.get("fingerprint")
        if self.schema is None or not isinstance(stored, dict):
            return ""
        share = Fingerprint.from_dict(stored).share_of(rows, self.schema)
        if share < NOTICEABLE:
            return ""
        about = "All" if share > 0.999 else f"About {share:.0%}"
        return (
            f"{about} of these rows are among those that the model was fitted to: figures on them "
            "are too good. Figures on rows held out are in metrics.json."
        )

    def check_can(self, *, interval: bool = False, members: bool = False) -> None:
        """Refuse what this model cannot give."""
        kind = type(self.last).__name__
        if interval and not hasattr(self.last, "predict_interval"):
            raise UsageError(f"--interval: a {kind} has no intervals.")
        if members and not hasattr(self.last, "predict_members"):
            raise UsageError(f"--members: a {kind} has no members.")

    def _named_columns(self, frame: Any) -> Any:
        names = getattr(self.model, "feature_names_in_", None)
        if names is None:
            wanted = int(self.model.n_features_in_)
            if frame.shape[1] != wanted:
                raise TableError(
                    f"the table has {frame.shape[1]} columns, and the model, which does not know "
                    f"their names, needs {wanted}."
                )
            return frame.to_numpy(dtype=float)
        lacking = [str(name) for name in names if name not in frame.columns]
        if lacking:
            raise TableError(f"the table lacks the columns {', '.join(map(repr, lacking))}.")
        return frame[list(names)]


def open_model(path: Path) -> StoredModel:
    """Read a model; nothing in the file is run.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ModelFileError
        Where it cannot be read, or is not a regressor.
    """
    about = describe(path)
    model = load(path)
    if not hasattr(model, "predict"):
        raise ModelFileError(path, f"holds a {type(model).__name__}, which predicts nothing.")
    notes = dict(about.notes)
    return StoredModel(path, model, notes, schema_in(notes))
