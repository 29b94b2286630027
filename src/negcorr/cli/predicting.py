"""``negcorr predict``: a stored model and a table to a table of predictions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from negcorr.cli.errors import UsageError
from negcorr.cli.loaded_model import StoredModel, open_model, pieces_of
from negcorr.cli.names import columns_named
from negcorr.cli.out_of_range import Strangers
from negcorr.cli.output import Screen, finite
from negcorr.cli.table_writing import ENDINGS, table_writer
from negcorr.columns.kinds import no_column
from negcorr.exceptions import TableError

__all__ = ["PredictOptions", "predictions", "run_predict"]


@dataclass(frozen=True)
class PredictOptions:
    """A request to predict.

    Attributes
    ----------
    model, data : Path
    out : Path or None
        Where to; None is standard output.
    interval : float or None
        Share of new values that intervals are to cover.
    members : bool
        Whether single members are wanted too.
    keep : tuple of str
        Columns to copy, as they were typed.
    """

    model: Path
    data: Path
    out: Path | None = None
    interval: float | None = None
    members: bool = False
    keep: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse what cannot be carried out."""
        if self.interval is not None and not 0.0 < self.interval < 1.0:
            raise UsageError(f"--interval {self.interval}: must be between 0 and 1.")
        if self.model.suffix != ".skops" and self.data.suffix == ".skops":
            raise UsageError(
                f"the model comes first, then the data: negcorr predict {self.data} {self.model}"
            )
        for name, path in (("DATA", self.data), ("MODEL", self.model)):
            if self.out is not None and self.out.resolve() == path.resolve():
                raise UsageError(f"--out {self.out} is {name}, which it would replace.")
        if self.out is not None and not self.out.name.lower().endswith(ENDINGS):
            raise UsageError(f"--out {self.out}: allowed endings are {', '.join(ENDINGS)}.")


def run_predict(options: PredictOptions, screen: Screen) -> None:
    """Predict every row, in the order of the table.

    Parameters
    ----------
    options : PredictOptions
    screen : Screen
    """
    options.check()
    n_rows = 0
    with screen.busy(f"reading {options.model.name}") as tell:
        stored = open_model(options.model)
        stored.check_can(interval=options.interval is not None, members=options.members)
        tell(f"predicting {options.data.name}")
        parts = _parts(options, stored, screen)
        if options.out is not None:
            with table_writer(options.out) as write:
                for part in parts:
                    write(part)
                    n_rows += len(part)
        else:
            n_rows = _to_standard_output(parts, screen.as_json)
    if options.out is not None:
        screen.give_json({"rows": n_rows, "out": str(options.out)})
        screen.say(f"Wrote {n_rows} predictions to {options.out}.")


def predictions(
    stored: StoredModel, frame: Any, interval: float | None = None, members: bool = False
) -> dict[str, Any]:
    """Columns of predictions by name.

    Parameters
    ----------
    stored : StoredModel
    frame : pandas.DataFrame
        Rows to predict.
    interval : float, optional
        Share of new values to cover: adds columns ``lower`` and ``upper``.
    members : bool, default=False
        Adds a column for each member.
    """
    last = stored.last
    try:
        features = stored.features(frame)
        mean = np.asarray(last.predict(features)).reshape(len(frame), -1)
    except ValueError as error:
        if stored.schema is not None:
            raise
        # A model of other origin takes what it takes: missing values, say, may not be among it.
        reason = str(error).splitlines()[0]
        raise TableError(f"{stored.path} cannot predict these rows: {reason}") from error
    single = mean.shape[1] == 1
    made: dict[str, Any] = {}
    for k, target in enumerate(stored.targets):
        made[f"{target}_predicted"] = mean[:, k]
    if interval is not None:
        ends = np.asarray(last.predict_interval(features, interval)).reshape(len(frame), 2, -1)
        for k, target in enumerate(stored.targets):
            made[f"{target}_lower"] = ends[:, 0, k]
            made[f"{target}_upper"] = ends[:, 1, k]
    if members:
        each = np.asarray(last.predict_members(features))
        each = each[..., np.newaxis] if single and each.ndim == 2 else each
        for k, target in enumerate(stored.targets):
            made |= {f"{target}_member_{m}": each[m, :, k] for m in range(len(each))}
    return made


def _parts(options: PredictOptions, stored: StoredModel, screen: Screen) -> Iterator[Any]:
    """Tables of predictions, one for each piece of the table."""
    import pandas

    n_rows = 0
    strangers = Strangers(stored)
    for piece in pieces_of(stored, options.data, screen.note):
        if not len(piece.frame):
            continue
        n_rows += len(piece.frame)
        kept = _kept(options.keep, piece.raw.columns)
        with stored.placing(options.data, piece):
            strangers.look_at(piece.frame)
            made = predictions(stored, piece.frame, options.interval, options.members)
        clash = set(kept) & set(made)
        if clash:
            raise TableError(f"--keep {min(clash)}: predictions have a column of that name.")
        columns = {name: piece.raw[name].to_numpy() for name in kept} | made
        yield pandas.DataFrame(columns)
    if not n_rows:
        raise TableError(f"{options.data} has no row to predict.")
    for remark in strangers.remarks():
        screen.note(remark)


def _kept(keep: Sequence[str], columns: Iterable[Any]) -> list[str]:
    known = [str(name) for name in columns]
    if list(keep) == ["all"] and "all" not in known:
        return known
    names = columns_named(keep, known)
    for name in names:
        if name not in known:
            raise no_column("--keep", name, known)
    return names


def _to_standard_output(parts: Iterator[Any], as_json: bool) -> int:
    n_rows = 0
    if as_json:
        frames = list(parts)
        records = [row for part in frames for row in part.to_dict(orient="records")]
        print(json.dumps(finite(records), indent=1, ensure_ascii=False, default=str))
        return len(records)
    for part in parts:
        part.to_csv(sys.stdout, index=False, header=n_rows == 0, lineterminator="\n")
        n_rows += len(part)
    return n_rows
