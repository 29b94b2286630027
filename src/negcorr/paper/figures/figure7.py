"""Figure 7: degrees of freedom of deep ensembles against λ, by Algorithm 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.datasets import info
from negcorr.paper.claims import Claim
from negcorr.paper.deep_study import deep_pieces, deep_table, epochs_shown, trained_on
from negcorr.paper.figure_style import GREY, PANELS
from negcorr.paper.pieces import Piece
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
from negcorr.paper.curves import curves_by_depth

__all__ = [
    "CAPTION",
    "INTERPOLATED",
    "NAME",
    "SETS",
    "TITLE",
    "claims",
    "falls",
    "pieces",
    "plot",
    "remarks",
    "run",
]


NAME = "figure7"

TITLE = "Figure 7: degrees of freedom of deep ensembles"

#: Data sets that it can use.
SETS = PANELS

#: Small sets that networks interpolate at every λ, once they are trained for long.
INTERPOLATED = ("wisconsin", "triazines")

CAPTION = (
    "Monte-Carlo degrees of freedom (Algorithm 1) of 30 networks with 5 nodes per hidden layer, "
    "trained on the NCL loss with Adam, batch norm and the initialisation of Mishkin and Matas. "
    "Solid: at the end of training; dashed: after a tenth of it. Lines are means over five folds, "
    "bands one standard error, with the same two probes at every λ. The paper leaves open how long "
    "and on which batches it trains, and the step ε: here at most 1000 epochs, full batches and "
    "ε = 0.1 for targets of variance 1. The grey line is the number of training rows, at which "
    "networks interpolate. Every panel has a scale of its own."
)


def pieces(study: Study) -> list[Piece]:
    """What has to be computed."""
    return deep_pieces(study)


def run(study: Study) -> DataFrame:
    """Degrees of freedom, one row for each set, depth, fold, epoch and λ."""
    table = deep_table(study, ("dof", "dof_std_error"))
    return table[table["epoch"].isin(epochs_shown(table))].reset_index(drop=True)


def remarks(table: DataFrame) -> str:
    """Where it was computed, and with which learning rates."""
    return trained_on(table)


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each depth and epoch, from the table alone."""
    figure = curves_by_depth(table, "dof", "degrees of freedom (logarithmic)", yscale="log")
    names = list(dict.fromkeys(table["set"]))
    for name, axes in zip(names, figure.axes, strict=False):
        rows = table.loc[table["set"] == name, "n_train"].mean()
        axes.axhline(rows, color=GREY, lw=0.8)
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
        Take standard errors of the differences within folds, rather than those of two means as if
        they were independent. With five folds these are rough themselves.

    Returns
    -------
    ndarray of shape (k, k)
        How far, in standard errors of a difference, the mean at the second point lies below that
        at the first; negative where it lies above, 0 for points in the wrong order. Between points
        without any spread a fall is infinite, unless it is mere rounding. NaN where values are.
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


def claims(table: DataFrame) -> list[Claim]:
    """Degrees of freedom grow with λ."""
    early, last = epochs_shown(table)
    found = monotone_claims(table, "dof", 1.0, "Degrees of freedom increase with λ")
    if table["set"].isin(INTERPOLATED).any():
        found.append(_interpolation(table, early, last))
    return found


def monotone_claims(table: DataFrame, column: str, sign: float, words: str) -> list[Claim]:
    """That curves end higher than they begin and never fall by more than two standard errors.

    Early in training, and at its end.
    """
    early, last = epochs_shown(table)
    small = table["set"].isin(INTERPOLATED)
    cases = {
        f"after {last} epochs, at all depths, on the sets that are not interpolated": (
            table[~small & (table["epoch"] == last)]
        ),
        f"after {early} epochs, at all depths, on every set": table[table["epoch"] == early],
    }
    found = []
    for where, part in cases.items():
        if part.empty:
            continue
        worst, worst_within, good, total = 0.0, 0.0, 0, 0
        for _, curve in part.groupby(["set", "depth"]):
            wide = curve.pivot(index="fold", columns="lam", values=column).to_numpy()
            steps = falls(wide, sign)
            worst = float(np.maximum(worst, steps.max()))
            within = falls(wide, sign, within_folds=True).max()
            worst_within = float(np.maximum(worst_within, within))
            whole = sign * (wide.mean(axis=0)[-1] - wide.mean(axis=0)[0])
            good += bool(steps.max() <= 2.0 and whole > 0)
            total += 1
        found.append(
            Claim(
                f"{words}, up to two standard errors, {where}.",
                good == total,
                f"{good} of {total} curves; the largest step back between any two λ is "
                f"{worst:.1f} standard errors of the two means ({worst_within:.1f} of their "
                "differences within folds)",
            )
        )
    return found


def _interpolation(table: DataFrame, early: int, last: int) -> Claim:
    """On the small sets that there are dof comes near the number of rows at every λ."""
    small = table[table["set"].isin(INTERPOLATED)]
    names = [info(name).title for name in dict.fromkeys(small["set"])]
    share = (
        (small["dof"] / small["n_train"])
        .groupby([small["epoch"], small["set"], small["lam"]])
        .agg(lambda values: values.mean(skipna=False))
    )
    ends = {
        epoch: [
            f"{info(name).title} {share.loc[epoch, name].iloc[0]:.2f} to "
            f"{share.loc[epoch, name].iloc[-1]:.2f}"
            for name in dict.fromkeys(small["set"])
        ]
        for epoch in (early, last)
    }
    return Claim(
        f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} interpolated at every λ at the "
        "end of training (degrees of freedom above four fifths of the rows), so that the paper's "
        "picture is one of shorter training.",
        bool((share.loc[last] > 0.8).all()),
        f"degrees of freedom over rows from λ = 0 to 1, after {early} epochs: "
        f"{', '.join(ends[early])}; after {last}: {', '.join(ends[last])}",
        about_paper=True,
    )
