"""The first pass: a look at all rows, from which columns, scales and the basis are settled."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from negcorr._common.types import Table
from negcorr.columns.inputs import FirstLook
from negcorr.ensemble.fit import draw, validated
from negcorr.scale.chunks import Chunk

__all__ = ["draw_from", "drop_fit", "look_at", "look_at_chunks"]


def look_at(model: Any, X: Table, y: Any, weight: Any, encoded: bool | None = None) -> FirstLook:
    """A look at some rows; the model stays as it is.

    Parameters
    ----------
    model : NCLRegressor
    X : table of shape (n, d)
    y : array of shape (n,) or (n, outputs)
    weight : array of shape (n,) or None
    encoded : bool, optional
        Whether X has columns of several kinds; by default the table itself says so.
    """
    given = validated(copy.copy(model), X, y, weight, encoded=encoded, is_part=True)
    return FirstLook.at(given.X, given.y, given.weight, encoded=given.encoded)


def look_at_chunks(
    model: Any, chunks: Iterable[Chunk], encoded: bool | None = None
) -> FirstLook | None:
    """A look at all rows, which are read once.

    Parameters
    ----------
    model : NCLRegressor
    chunks : iterable of Chunk
    encoded : bool, optional
        Whether tables have columns of several kinds; by default the first one says so.

    Returns
    -------
    FirstLook or None
        None where a later chunk of numbers lacks some: with those, all rows are to be looked at
        as a table with columns of several kinds.
    """
    found: FirstLook | None = None
    for chunk in chunks:
        with chunk.placing_errors():
            part = look_at(model, chunk.X, chunk.y, chunk.weight, encoded)
            if found is not None and (part.counts is None) != (found.counts is None):
                return None
            found = part if found is None else found.merged(part)
    if found is None:
        raise ValueError("there are no rows.")
    return found


def drop_fit(model: Any) -> None:
    """Remove what earlier fits, or :meth:`~negcorr.NCLRegressor.draw`, have left in a model."""
    for name in ("_state", "_drawn", "n_features_in_", "feature_names_in_"):
        vars(model).pop(name, None)


def draw_from(model: Any, look: FirstLook) -> None:
    """Draw the basis of a model from a look at its rows."""
    rows = look.sample.rows
    working = copy.copy(model)
    drop_fit(working)
    # The number and names of columns, which later chunks must have too.
    validated(working, rows.X, rows.y, None, encoded=look.counts is not None)
    working._drawn = draw(look, working._settings())
    drop_fit(model)
    vars(model).update(vars(working))
