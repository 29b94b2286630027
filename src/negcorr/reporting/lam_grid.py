"""What a page shows of a deep ensemble: the grid of λ, facts about the training, and notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.number_text import amount_with_error
from negcorr._common.types import FloatArray

__all__ = ["LamGrid", "deep_facts", "deep_notes", "lam_grid"]


@dataclass(frozen=True)
class LamGrid:
    """Errors and degrees of freedom at every λ that was trained.

    Attributes
    ----------
    lam : ndarray of shape (G,)
        Ascending.
    dof, dof_std_error, train_error, sure, gcv : ndarray of shape (outputs, G)
        NaN where there were no probes.
    noise_variance : ndarray of shape (outputs,)
        σ² of SURE.
    chosen : int
        Place of the λ that was chosen.
    """

    lam: FloatArray
    dof: FloatArray
    dof_std_error: FloatArray
    train_error: FloatArray
    sure: FloatArray
    gcv: FloatArray
    noise_variance: FloatArray
    chosen: int


def lam_grid(table: Any) -> LamGrid | None:
    """The table of a fitted deep ensemble in the order of λ, None where it has none.

    Parameters
    ----------
    table : LamTable or None
        ``lam_table_`` of a :class:`~negcorr.deep.DeepNCLRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr.deep import DeepNCLRegressor, Training
    >>> from negcorr.reporting.lam_grid import lam_grid
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DeepNCLRegressor(
    ...     3, (3,), lam=[0.5, 0.0], learning_rate=0.01, training=Training(max_epochs=5)
    ... )
    >>> lam_grid(model.fit(X, y).lam_table_).lam
    array([0. , 0.5])
    """
    if table is None:
        return None
    order = np.argsort(table.lam, kind="stable")
    names = ("dof", "dof_std_error", "train_error", "sure", "gcv")
    return LamGrid(
        lam=np.asarray(table.lam, dtype=np.float64)[order],
        **{name: np.ascontiguousarray(getattr(table, name)[order].T) for name in names},
        noise_variance=np.asarray(table.noise_variance),
        chosen=int(np.flatnonzero(order == table.chosen)[0]),
    )


def deep_facts(model: Any) -> tuple[tuple[str, str], ...]:
    """Names and values for the table of settings."""
    network, table = model.network_, model.lam_table_
    layers = ", ".join(str(width) for width in network.widths[1:-1])
    norm = ", batch norm" if network.batch_norm else ""
    chosen = "given" if table is None or len(table.lam) == 1 else model.criterion
    if chosen == model.criterion:
        chosen += f", over {len(table.lam)} values of λ"
    return (
        ("Networks", f"M = {network.n_members} members, {network.activation}{norm}"),
        ("Nodes of hidden layers", layers),
        ("λ", ", ".join(f"{lam:.6g}" for lam in np.atleast_1d(model.lam_))),
        ("Criterion", chosen),
        ("Degrees of freedom", _with_errors(model.dof_, model.dof_std_error_)),
        ("σ", _with_errors(np.sqrt(model.noise_variance_), np.nan)),
        ("Learning rate", f"{model.learning_rate_:.3g}"),
        ("Epochs", str(model.n_epochs_)),
    )


def _with_errors(values: Any, errors: Any) -> str:
    """Numbers of several outputs with their standard errors, where these are known."""
    pairs = np.broadcast_arrays(np.atleast_1d(values), np.atleast_1d(errors))
    listed = (amount_with_error(float(v), float(e)) for v, e in zip(*pairs, strict=True))
    return ", ".join(text or "unknown" for text in listed)


def deep_notes(model: Any) -> tuple[str, ...]:
    """Warnings in plain words."""
    if np.isnan(np.atleast_1d(model.dof_)).any():
        return (
            "Degrees of freedom are not known: the ensemble was trained without probes, in parts, "
            "or by new heads.",
        )
    if model.criterion == "sure":
        return (
            "SURE estimates the error against the noise-free function at the training inputs; "
            "errors on new data are larger by σ², and more outside the training cloud.",
        )
    return ()
