"""Table 1: λ by SURE and by five folds, on all data sets, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import wilcoxon

from negcorr.datasets import info
from negcorr.paper import lam_choice as selection
from negcorr.paper import timing
from negcorr.paper.claims import Claim
from negcorr.paper.pieces import Piece
from negcorr.paper.setup import PROTOCOLS
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from pandas import DataFrame, Index, Series

__all__ = [
    "CAPTION",
    "NAME",
    "SETS",
    "TITLE",
    "claims",
    "paper_values",
    "pieces",
    "run",
    "run_times",
    "summary",
    "table",
    "time_claims",
    "time_pieces",
    "time_summary",
]

NAME = "table1"

TITLE = "Table 1: λ by SURE and by 5-fold cross-validation"

#: All data sets.
SETS = None

CAPTION = (
    "λ chosen by Brent's method on SURE and on the error of 5-fold cross-validation within the "
    "training rows, members of H = 10 features. Test errors and λ are means over five outer folds, "
    "and over outputs; ± is the standard deviation of the folds. *paper* and *printed* are the two "
    "protocols."
)

#: How far a mean λ may be from the paper's to agree with it.
LAM_TOLERANCE = 0.05

#: Logarithm of a ratio of errors beyond which they are not similar.
FAR = float(np.log(1.1))


def paper_values() -> DataFrame:
    """Table 1 as printed, one row for each data set."""
    import pandas

    text = files("negcorr.paper").joinpath("paper_table1.csv").read_text(encoding="utf-8")
    return pandas.read_csv(StringIO(text)).set_index("set")


def pieces(study: Study) -> list[Piece]:
    """What has to be computed, seconds apart."""
    return selection.pieces_of(study, study.datasets())


def run(study: Study) -> DataFrame:
    """Chosen λ and test error, one row for each set, protocol, criterion, fold and output."""
    return study.table(pieces(study))


def time_pieces(study: Study) -> list[Piece]:
    """What has to be timed, alone: what runs beside it would be in its seconds."""
    return [replace(piece, alone=True) for piece in timing.pieces_of(study, study.datasets())]


def run_times(study: Study) -> DataFrame:
    """Seconds of tuning, one row for each set, method and fold that was timed."""
    return study.table(time_pieces(study))


def summary(table: DataFrame) -> DataFrame:
    """Means over outputs and folds, one row for each set; columns by protocol and criterion.

    Columns are ``error``, ``error_sd`` and ``lam`` with ``_<criterion>_<protocol>`` behind them.
    """
    by_fold = table.groupby(["set", "protocol", "criterion", "fold"], sort=False)[
        ["test_error", "lam"]
    ].mean()
    by_set = by_fold.groupby(["set", "protocol", "criterion"], sort=False)
    parts = {
        "error": by_set["test_error"].mean(),
        # Over the folds, as in the paper; its convention is not stated, numpy's is ddof = 0.
        "error_sd": by_set["test_error"].std(ddof=0),
        "lam": by_set["lam"].mean(),
    }
    import pandas

    order = list(dict.fromkeys(table["set"]))
    wide = pandas.DataFrame(
        {
            f"{column}_{criterion}_{protocol}": values.xs((protocol, criterion), level=(1, 2))
            for column, values in parts.items()
            for protocol in PROTOCOLS
            for criterion in selection.CRITERIA
        }
    )
    return wide.loc[order]


def time_summary(times: DataFrame) -> DataFrame:
    """Mean seconds for one training set, one row for each set and one column for each method."""
    order = [name for name in paper_values().index if name in set(times["set"])]
    return times.groupby(["set", "method"])["seconds"].mean().unstack().loc[order]


def table(
    table: DataFrame, times: DataFrame | None = None, asked: Sequence[str] | None = None
) -> str:
    """Ours beside the paper's, for every row of Table 1, in Markdown.

    Parameters
    ----------
    table : DataFrame
        From :func:`run`.
    times : DataFrame, optional
        From :func:`run_times`.
    asked : sequence of str, optional
        Data sets that the run was to use; None for all.
    """
    ours, paper = summary(table), paper_values()
    parts = [
        _columns(ours, paper, "sure", "SURE", asked),
        _columns(
            ours, paper, "kfold", "5-fold cross-validation, its error by our exact path", asked
        ),
    ]
    if times is not None:
        parts.append(_seconds(times, paper))
    return "\n".join(parts)


def claims(table: DataFrame) -> list[Claim]:
    """Errors and λ agree with the paper's; SURE and five folds agree under both protocols."""
    ours = summary(table)
    paper = paper_values().loc[ours.index]
    high = ours.index[ours["error_sure_paper"] > paper["sure_error"] + paper["sure_error_sd"]]
    apart, folds_apart = (
        (ours[f"lam_{c}_paper"] - paper[f"{c}_lam"]).abs() for c in selection.CRITERIA
    )
    return [
        Claim(
            "With the reconstructed protocol the test error of SURE is at most the paper's mean "
            "plus one standard deviation, on every set.",
            len(high) == 0,
            _but_for(len(ours), high),
            nature="fitted",
            about_paper=True,
        ),
        Claim(
            f"Its mean λ is within {LAM_TOLERANCE} of the paper's, on every set.",
            bool((apart <= LAM_TOLERANCE).all()),
            f"{_but_for(len(ours), apart.index[apart > LAM_TOLERANCE])}; mean absolute difference "
            f"{apart.mean():.3f}",
            nature="fitted",
            about_paper=True,
        ),
        Claim(
            "So is the mean λ of 5-fold cross-validation, which nothing was fitted to.",
            bool((folds_apart <= LAM_TOLERANCE).all()),
            f"{_but_for(len(ours), folds_apart.index[folds_apart > LAM_TOLERANCE])}; mean absolute "
            f"difference {folds_apart.mean():.3f}",
            about_paper=True,
        ),
        *(_similar(ours, protocol) for protocol in PROTOCOLS),
    ]


def _similar(ours: DataFrame, protocol: str) -> Claim:
    """Whether the two criteria lead to the same error, by a paired test over the sets."""
    sure, kfold = (ours[f"error_{c}_{protocol}"] for c in selection.CRITERIA)
    ratio = np.log(sure / kfold)
    p_value = float(wilcoxon(ratio).pvalue) if len(ratio) > 1 and (ratio != 0).any() else 1.0
    far = [
        f"{info(name).title} {np.expm1(ratio[name]):+.0%}"
        for name in ratio.index[ratio.abs() > FAR]
    ]
    capped = (ours[[f"lam_{c}_{protocol}" for c in selection.CRITERIA]] > 0.9895).all(axis=1)
    return Claim(
        f"Under *{protocol}* SURE and 5-fold cross-validation have test errors within a tenth of "
        "each other, on every set.",
        not far,
        f"the error of SURE differs by {np.expm1(ratio.mean()):+.1%} in the geometric mean"
        + (f"; beyond a tenth: {', '.join(far)}" if far else "")
        + (f"; on {int(capped.sum())} sets both λ are at the cap" if protocol == "paper" else "")
        + f". Wilcoxon's signed-rank test over the sets: p = {p_value:.2f}",
    )


def time_claims(times: DataFrame) -> list[Claim]:
    """SURE is many times faster than five folds with refits."""
    mean = time_summary(times)
    total = mean.sum()
    single = mean.loc[[info(str(name)).n_targets == 1 for name in mean.index]].sum()
    paper = paper_values()
    printed = paper["kfold_seconds"] / paper["sure_seconds"]
    ratio = float(total["refits"] / total["sure"])
    alone = (
        ""
        if not single["sure"]
        else f", {single['refits'] / single['sure']:.0f} on those of one output"
    )
    return [
        Claim(
            "SURE on our path is at least 50 times faster than 5-fold cross-validation by refits, "
            "which is how we read the paper's procedure, in total over the sets.",
            ratio >= 50.0,
            f"{ratio:.0f} times{alone}. Refits compute features and moments again at each step, "
            "and each output apart; the path shares them. Both by our path, 5-fold takes "
            f"{total['kfold'] / total['sure']:.1f} times as long as SURE; both by refits, in the "
            f"paper's own table, {printed.min():.1f} to {printed.max():.1f} times",
        )
    ]


def _but_for(of: int, others: Index) -> str:
    names = [info(str(name)).title for name in others]
    return f"{of - len(names)} of {of} sets" + (f", not on {', '.join(names)}" if names else "")


def _columns(
    ours: DataFrame, paper: DataFrame, criterion: str, title: str, asked: Sequence[str] | None
) -> str:
    head = (
        f"**{title}.**\n\n"
        "| Data set | paper's error | ours, *paper* | ours, *printed* | paper's λ | ours, *paper* "
        "| ours, *printed* |\n| :-- | --: | --: | --: | --: | --: | --: |\n"
    )
    lines = []
    for name, there in paper.iterrows():
        if name in ours.index:
            here = ours.loc[name]
            errors = [_error(here, f"{criterion}_{protocol}") for protocol in PROTOCOLS]
            lams = [f"{here[f'lam_{criterion}_{protocol}']:.2f}" for protocol in PROTOCOLS]
        else:
            wanted = asked is None or name in asked
            reason = "data not at hand" if wanted else "not asked for"
            errors, lams = [reason, ""], ["", ""]
        printed = _plus_minus(there[f"{criterion}_error"], there[f"{criterion}_error_sd"])
        cells = [printed, *errors, f"{there[f'{criterion}_lam']:.2f}", *lams]
        lines.append(f"| {info(str(name)).title} | {' | '.join(cells)} |")
    return head + "\n".join(lines) + "\n"


def _error(row: Series, column: str) -> str:
    return _plus_minus(row[f"error_{column}"], row[f"error_sd_{column}"])


def _plus_minus(mean: float, spread: float) -> str:
    # Spaces that do not break, or narrow tables would tear the numbers apart.
    return f"{mean:.2f}\u00a0±\u00a0{spread:.2f}"


def _seconds(times: DataFrame, paper: DataFrame) -> str:
    mean = time_summary(times)
    spread = times.groupby(["set", "method"])["seconds"].std(ddof=0).unstack()
    head = (
        "**Seconds to tune λ on one training set**, all outputs. *Refits* is the paper's procedure "
        "as we read it: a fit, features and all, in each of five inner folds at every step of "
        "Brent's method; timed on one outer fold and one output, and multiplied by the number of "
        "outputs. The paper's own seconds are from another machine; only ratios compare.\n\n"
        "| Data set | SURE | exact 5-fold path | refits | refits / SURE | paper: 5-fold "
        "| paper: SURE | paper's ratio |\n| :-- | --: | --: | --: | --: | --: | --: | --: |\n"
    )
    lines = []
    for name, here in mean.iterrows():
        there = paper.loc[name]
        cells = [_plus_minus(here[m], spread.loc[name, m]) for m in selection.CRITERIA]
        cells += [f"{here['refits']:.1f}", f"{here['refits'] / here['sure']:.0f}"]
        cells += [f"{there['kfold_seconds']:.1f}", f"{there['sure_seconds']:.1f}"]
        cells += [f"{there['kfold_seconds'] / there['sure_seconds']:.1f}"]
        lines.append(f"| {info(str(name)).title} | {' | '.join(cells)} |")
    total = mean.sum()
    lines.append(
        f"| **all** | {total['sure']:.1f} | {total['kfold']:.1f} | {total['refits']:.0f} "
        f"| **{total['refits'] / total['sure']:.0f}** | | | |"
    )
    return head + "\n".join(lines) + "\n"
