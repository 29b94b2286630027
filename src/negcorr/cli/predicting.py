"""``negcorr predict``: a stored model and a table to a table of predictions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from negcorr.cli.arguments import UsageError, columns_named, errors_about
from negcorr.cli.data_commands import PredictOptions
from negcorr.cli.loaded_model import LoadedModel, open_model, pieces_of
from negcorr.cli.output import Output
from negcorr.cli.plain_text import for_spreadsheets, json_text
from negcorr.cli.table_writing import table_writer
from negcorr.columns.cells import MISSING_LEVEL
from negcorr.columns.encoding import CategoryPart, NumberPart
from negcorr.columns.kinds import no_column
from negcorr.diversity.inner_model import inner_model
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import ModelFileError, TableError

__all__ = ["UnseenValues", "predictions", "run_predict", "tables_of_predictions"]

#: Most columns that a remark names.
MOST_NAMES = 5

_GAPS = "have gaps where no row of the fit had any"
_LEVELS = "have levels that no row of the fit had"
_RANGE = "have values outside the range of those of the fit"


def run_predict(options: PredictOptions, output: Output) -> None:
    """Predict every row, in the order of the table.

    Parameters
    ----------
    options : PredictOptions
        Checked.
    output : Output
    """
    n_rows, name = 0, options.data.name
    with output.busy(f"reading {options.model.name}") as tell, errors_about(name):
        loaded = open_model(options.model)
        ensemble = inner_model(loaded.model)[0]
        kind = type(ensemble).__name__
        if options.interval is not None and not hasattr(ensemble, "predict_interval"):
            raise UsageError(f"--interval: a {kind} has no intervals.")
        if options.members and not hasattr(ensemble, "predict_members"):
            raise UsageError(f"--members: a {kind} has no members.")
        tell(f"predicting {name}")
        parts = tables_of_predictions(options, loaded, output)
        if options.out is not None:
            with table_writer(options.out, options.raw) as write:
                for part in parts:
                    write(part)
                    n_rows += len(part)
        elif output.as_json:
            records = [row for part in parts for row in part.to_dict(orient="records")]
            print(json_text(records, 1))
        else:
            for part in parts:
                shown = part if options.raw else for_spreadsheets(part)
                shown.to_csv(sys.stdout, index=False, header=n_rows == 0, lineterminator="\n")
                n_rows += len(part)
    if options.out is not None:
        output.give_json({"rows": n_rows, "out": str(options.out)})
        output.say(f"Wrote {n_rows} predictions to {options.out}.")


def tables_of_predictions(
    options: PredictOptions, loaded: LoadedModel, output: Output
) -> Iterator[Any]:
    """Data frames of predictions and kept columns, one for each piece of the table.

    Parameters
    ----------
    options : PredictOptions
    loaded : LoadedModel
    output : Output
        Told of rows whose values the fit has not seen.
    """
    import pandas

    n_rows = 0
    unseen = UnseenValues(loaded)
    for piece in pieces_of(loaded, options.data, output.note):
        if not len(piece.frame):
            continue
        n_rows += len(piece.frame)
        known = piece.columns
        keep = columns_named(options.keep, known)
        if keep == ["all"] and "all" not in known:
            keep = known
        for name in keep:
            if name not in known:
                raise no_column("--keep", name, known)
        with loaded.placing(options.data, piece):
            made = predictions(loaded, piece.frame, options.interval, options.members)
            unseen.look_at(piece.frame)
        clash = set(keep) & set(made)
        if clash:
            raise TableError(f"--keep {min(clash)}: predictions have a column of that name.")
        yield pandas.DataFrame({name: piece.column(name).to_numpy() for name in keep} | made)
    if not n_rows:
        raise TableError(f"{options.data} has no row to predict.")
    output.note(*unseen.remarks())


def predictions(
    loaded: LoadedModel, frame: Any, interval: float | None = None, members: bool = False
) -> dict[str, Any]:
    """Columns of predictions by name.

    Parameters
    ----------
    loaded : LoadedModel
    frame : pandas.DataFrame
        Rows to predict.
    interval : float, optional
        Share of new values to cover: adds columns ``lower`` and ``upper``.
    members : bool, default=False
        Adds a column for each member.
    """
    n_rows, targets = len(frame), loaded.targets
    try:
        ensemble, features = loaded.ensemble_and_features(frame)
        mean = np.asarray(ensemble.predict(features)).reshape(n_rows, -1)
    except TableError:
        raise
    except Exception as error:
        if loaded.schema is not None and isinstance(error, ValueError):
            raise
        # A model that negcorr fit did not write may refuse missing values, for instance, or lack
        # what an estimator of another library needs.
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise TableError(f"{loaded.path} cannot predict these rows: {reason}") from error
    if mean.shape[1] != len(targets):
        raise ModelFileError(
            loaded.path, f"says that it has {len(targets)} targets, and predicts {mean.shape[1]}."
        )
    made: dict[str, Any] = {f"{t}_predicted": mean[:, k] for k, t in enumerate(targets)}
    if interval is not None:
        ends = np.asarray(ensemble.predict_interval(features, interval)).reshape(n_rows, 2, -1)
        for k, target in enumerate(targets):
            made |= {f"{target}_lower": ends[:, 0, k], f"{target}_upper": ends[:, 1, k]}
    if members:
        each = np.asarray(ensemble.predict_members(features))
        each = each.reshape(len(each), n_rows, -1)
        for k, target in enumerate(targets):
            made |= {f"{target}_member_{m}": each[m, :, k] for m in range(len(each))}
    return made


class UnseenValues:
    """Counts rows with gaps, levels or values that no row of the fit had.

    Predictions of such rows are less certain than their intervals say.

    Parameters
    ----------
    loaded : LoadedModel
        A model for tables; for other models nothing is counted.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self._loaded = loaded
        self._counts: dict[str, Counter[str]] = {
            kind: Counter() for kind in (_GAPS, _LEVELS, _RANGE)
        }
        self._parts: tuple[Any, ...] = ()
        if isinstance(loaded.model, NCLRegressor) and hasattr(loaded.model, "feature_names_in_"):
            encoding = loaded.model._state.drawn.cells.encoding
            self._parts = () if encoding is None else encoding.parts

    def look_at(self, frame: Any) -> None:
        """Count in some more rows."""
        typed = self._loaded.typed(frame) if self._parts else {}
        for part in self._parts:
            values, name = typed[part.name], part.name
            if isinstance(part, NumberPart):
                if not part.indicator:
                    self._counts[_GAPS][name] += int(np.isnan(values).sum())
                outside = (values < part.low) | (values > part.high)
                self._counts[_RANGE][name] += int(outside.sum())
            elif isinstance(part, CategoryPart):
                levels = {*part.levels, MISSING_LEVEL}
                known = np.array([str(value) in levels for value in values], dtype=bool)
                self._counts[_LEVELS][name] += 0 if part.others else int((~known).sum())

    def remarks(self) -> list[str]:
        """A sentence for each kind of unseen value that was found."""
        remarks = []
        for kind, counts in self._counts.items():
            listed = [f"{n} in {name}" for name, n in counts.items() if n]
            if listed:
                others = " and others" if len(listed) > MOST_NAMES else ""
                remarks.append(
                    f"some rows {kind} ({', '.join(listed[:MOST_NAMES])}{others}): predictions "
                    "there are less certain than their intervals say."
                )
        return remarks
