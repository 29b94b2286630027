"""What Figures 7 and 8 and their companions have in common: pieces, tables, curves and claims."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.paper.figure_style import COLOURS, LAM_LABEL, band, panels_by_set, plain_log_ticks
from negcorr.paper.page import Claim
from negcorr.paper.pieces import Piece
from negcorr.paper.protocol import FOLDS, SIX_SETS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = [
    "INTERPOLATED",
    "curves_by_depth",
    "deep_pieces",
    "deep_table",
    "epochs_shown",
    "falls",
    "monotone_claims",
    "trained_on",
]

#: Small sets that the networks interpolate at every λ after long training.
INTERPOLATED = ("wisconsin", "triazines")

#: Seconds for one row, hidden layer, network and epoch: all pieces took 626 s on an H200, and
#: benchmarks/speed/deep.py measures a CPU core.
SECONDS_ON_GPU, SECONDS_ON_CPU = 2e-10, 7e-8


def deep_pieces(study: Study) -> list[Piece]:
    """One piece for each set, depth and fold, on the study's device."""
    from negcorr.paper.deep_training import deep_training, size_of

    on_gpu = study.device != "cpu"
    size = size_of(study.setup)
    networks = size.members * len(size.lams) * (1 + size.probes)
    seconds = (SECONDS_ON_GPU if on_gpu else SECONDS_ON_CPU) * networks * size.stops[-1]
    pieces = []
    for name, depth, fold in product(study.datasets(SIX_SETS), size.depths, range(FOLDS)):
        choice = {"name": name, "depth": depth, "fold": fold, "device": study.device}
        effort = 0.5 + seconds * depth * study.n_rows(name)
        pieces.append(study.piece(deep_training, effort, on_gpu, **choice))
    return pieces


def deep_table(study: Study, columns: tuple[str, ...], all_epochs: bool = False) -> DataFrame:
    """Rows of all pieces with these columns, at :func:`epochs_shown` or at all epochs."""
    table = study.table(deep_pieces(study))
    common = ("set", "depth", "fold", "epoch", "lam", "rate", "n_train", "trained_on")
    if not all_epochs:
        table = table[table["epoch"].isin(epochs_shown(table))].reset_index(drop=True)
    return table[[*common, *columns]]


def epochs_shown(table: DataFrame) -> tuple[int, int]:
    """The epoch nearest to a tenth of the training, when no network interpolates, and the last."""
    epochs = sorted(table["epoch"].unique())
    last = int(epochs[-1])
    return int(min(epochs, key=lambda epoch: abs(10 * epoch - last))), last


def trained_on(table: DataFrame) -> str:
    """Sentences for the page: where the networks were trained, and with which learning rates."""
    devices = ", ".join(table["trained_on"].unique())
    rates = table.groupby("set", sort=False)["rate"].unique().map(sorted)
    chosen = "; ".join(f"{k} {', '.join(f'{rate:g}' for rate in v)}" for k, v in rates.items())
    return f"Trained on {devices}. Initial learning rates chosen: {chosen}.\n"


def curves_by_depth(
    table: DataFrame,
    column: str,
    label: str,
    *,
    own_scale: bool = True,
    within_folds: bool = False,
    **axis: Any,
) -> Figure:
    """A panel for each set, with a line for each depth at the end and at an early epoch.

    With ``within_folds`` the curves of all folds are scaled to the same mean: the bands then show
    differences between values of λ, not between folds.
    """
    early, last = epochs_shown(table)
    with panels_by_set(table, LAM_LABEL, label, legend_rows=2, own_scale=own_scale) as drawing:
        figure, panels = drawing
        for axes, rows in panels:
            axes.set(xlim=(0, 1.02), **axis)
            for k, (depth, part) in enumerate(rows.groupby("depth")):
                for epoch, dashes, width in ((early, (0, (3, 1.5)), 1.1), (last, "-", 1.7)):
                    now = part[part["epoch"] == epoch]
                    folds = now.pivot(index="fold", columns="lam", values=column)
                    if within_folds:
                        values = folds.to_numpy()
                        folds[:] = values * values.mean() / values.mean(axis=1, keepdims=True)
                    words = f"{depth} layers, {epoch} epochs"
                    band(axes, folds, color=COLOURS[k], ls=dashes, lw=width, label=words)
            if own_scale:
                plain_log_ticks(axes)
    return figure


def falls(wide: FloatArray, sign: float = 1.0, within_folds: bool = False) -> FloatArray:
    """Largest fall of a curve between any two of its points, in standard errors.

    Parameters
    ----------
    wide : ndarray of shape (folds, k)
        Values along a curve that should rise, or with ``sign=-1`` fall.
    sign : float
        1 or −1.
    within_folds : bool, default=False
        Use standard errors of the differences within folds, not those of two means as if they were
        independent. With five folds these are rough themselves.

    Returns
    -------
    ndarray of shape (k, k)
        How far, in standard errors of a difference, the mean at the second point is below that at
        the first; negative if it is above, 0 for points in the wrong order. Between points without
        any spread a fall is infinite, unless it is mere rounding. NaN where values are.
    """
    mean = sign * wide.mean(axis=0)
    error = wide.std(axis=0, ddof=1) / np.sqrt(len(wide))
    spread = np.sqrt(error[:, np.newaxis] ** 2 + error**2)
    if within_folds:
        differences = wide[:, :, np.newaxis] - wide[:, np.newaxis]
        spread = differences.std(axis=0, ddof=1) / np.sqrt(len(wide))
    fall = mean[:, np.newaxis] - mean
    rounding = 1e-12 * np.abs(mean[np.isfinite(mean)]).max(initial=0.0)
    # Times 0, so that what diverged stays NaN.
    certain = np.where(np.abs(fall) > rounding, np.copysign(np.inf, fall), 0.0 * fall)
    scaled = np.where(spread > rounding, fall / np.maximum(spread, 1e-300), certain)
    return np.asarray(np.triu(scaled, 1))


def monotone_claims(table: DataFrame, column: str, sign: float, words: str) -> list[Claim]:
    """Claims that curves end higher than they begin and never fall by over two standard errors.

    One claim is about the end of training, one about an early epoch.
    """
    early, last = epochs_shown(table)
    fitted = table[~table["set"].isin(INTERPOLATED)]
    cases = (last, "the sets that are not interpolated", fitted), (early, "every set", table)
    found = []
    for epoch, sets, rows in cases:
        part = rows[rows["epoch"] == epoch]
        worst, good = np.zeros(2), []
        for _, curve in part.groupby(["set", "depth"]):
            wide = curve.pivot(index="fold", columns="lam", values=column).to_numpy()
            # Of the two means, and within folds. Not max(): NaN of what diverged must stay.
            back = [falls(wide, sign, within).max() for within in (False, True)]
            worst, mean = np.maximum(worst, back), sign * wide.mean(axis=0)
            good.append(bool(back[0] <= 2.0 and mean[-1] > mean[0]))
        evidence = (
            f"{sum(good)} of {len(good)} curves; the largest step back between any two λ is "
            f"{worst[0]:.1f} standard errors of the two means ({worst[1]:.1f} of their "
            "differences within folds)"
        )
        where = f"after {epoch} epochs, at all depths, on {sets}"
        statement = f"{words}, up to two standard errors, {where}."
        found += [Claim(statement, all(good), evidence)] if good else []
    return found
