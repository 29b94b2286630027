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


def look_at(
    model: Any, X: Table, y: Any, weight: Any, before: FirstLook | None = None
) -> FirstLook:
    """A look at some rows; the model stays as it is.

    Parameters
    ----------
    model : NCLRegressor
    X : table of shape (n, d)
    y : array of shape (n,) or (n, outputs)
    weight : array of shape (n,) or None
    before : FirstLook, optional
        What the look will be merged with.
    """
    given = validated(copy.copy(model), X, y, weight, is_part=True)
    more: dict[str, Any] = {"encoded": given.encoded, "before": before}
    return FirstLook.at(given.X, given.y, given.weight, **more)


def look_at_chunks(model: Any, chunks: Iterable[Chunk]) -> FirstLook:
    """A look at all rows, which are read once.

    Parameters
    ----------
    model : NCLRegressor
    chunks : iterable of Chunk
    """
    found: FirstLook | None = None
    for chunk in chunks:
        with chunk.placing_errors():
            part = look_at(model, chunk.X, chunk.y, chunk.weight, found)
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
    X = rows.X if look.named else rows.X.to_numpy()
    validated(working, X, rows.y, None, encoded=look.counts is not None)
    working._drawn = draw(look, working._settings())
    drop_fit(model)
    vars(model).update(vars(working))
