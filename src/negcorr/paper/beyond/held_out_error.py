"""Held-out error of deep ensembles against λ, which the paper does not show."""

from __future__ import annotations

from negcorr.paper.deep_study import curves_by_depth, deep_table, epochs_shown
from negcorr.paper.deep_study import deep_pieces as pieces
from negcorr.paper.deep_study import trained_on as remarks
from negcorr.paper.page import TEXTS, Claim, titles
from negcorr.paper.protocol import SIX_SETS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "remarks", "run"]

NAME = "held-out-error"

TITLE, CAPTION = TEXTS[NAME].values()

#: Data sets that it can use.
SETS = SIX_SETS


def run(study: Study) -> DataFrame:
    """Errors on held-out rows, one row for each set, depth, fold, epoch and λ."""
    return deep_table(study, ("test_error", "test_member_error"))


def plot(table: DataFrame) -> Figure:
    """One panel for each set, one line for each depth and epoch, from the table alone."""
    label = "mean squared error on held-out rows (logarithmic)"
    return curves_by_depth(table, "test_error", label, within_folds=True, yscale="log")


def claims(table: DataFrame) -> list[Claim]:
    """The best λ is neither 0 (members trained separately) nor 1 (trained as one network)."""
    _, last = epochs_shown(table)
    groups = table[table["epoch"] == last].groupby(["set", "depth", "lam"])["test_error"]
    curves = groups.agg(lambda values: values.mean(skipna=False)).unstack("lam")
    best = curves.idxmin(axis=1)
    inside = (best > 0) & (best < 1)
    worse = curves[1.0] >= 1.1 * curves.min(axis=1)
    lams = best.map("{:g}".format)
    by_set = ", ".join(f"{titles([k])} {', '.join(lams.loc[k])}" for k in table["set"].unique())
    return [
        Claim(
            f"After {last} epochs the best λ in hindsight lies strictly between 0 and 1, on every "
            "set and at every depth.",
            inside.all(),
            f"{inside.sum()} of {len(inside)} curves; best λ by depth: {by_set}",
            about_paper=True,
        ),
        Claim(
            f"After {last} epochs λ = 1, training all members as one network, is worse on held-out "
            "rows than the best λ by a tenth or more, on every set and at every depth.",
            worse.all(),
            f"{worse.sum()} of {len(curves)} curves",
            about_paper=True,
        ),
    ]
