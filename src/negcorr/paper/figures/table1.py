"""Table 1: λ by SURE and by five folds, on all data sets, beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from io import StringIO
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from negcorr.datasets import info
from negcorr.paper import lam_choice, timing
from negcorr.paper.lam_choice import CRITERIA
from negcorr.paper.page import TEXTS, Claim, markdown_table, titles
from negcorr.paper.pieces import Piece
from negcorr.paper.setup import PROTOCOLS
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Series

__all__ = [
    "claims",
    "explained",
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

TITLE, CAPTION = TEXTS[NAME].values()

#: It uses all data sets.
SETS = None

#: Largest difference between a mean λ and the paper's that counts as agreement.
LAM_TOLERANCE = 0.05

#: Largest difference between the logarithms of two errors that counts as similar.
SIMILAR = float(np.log(1.1))

#: Relative difference from the paper's error that is explained, and half a unit of its last digit.
FAR, HALF_DIGIT = 0.05, 0.005


def paper_values() -> DataFrame:
    """Table 1 as printed in the paper, one row for each data set."""
    import pandas

    text = files("negcorr.paper").joinpath("paper_table1.csv").read_text(encoding="utf-8")
    return pandas.read_csv(StringIO(text)).set_index("set")


def pieces(study: Study) -> list[Piece]:
    """The pieces that it needs, without those of the seconds."""
    return lam_choice.pieces_of(study, study.datasets())


def run(study: Study) -> DataFrame:
    """Chosen λ and test error, one row for each set, protocol, criterion, fold and output."""
    return study.table(pieces(study))


def time_pieces(study: Study) -> list[Piece]:
    """The pieces that are timed, each alone: other work at the same time would slow them down."""
    return [replace(piece, alone=True) for piece in timing.pieces_of(study, study.datasets())]


def run_times(study: Study) -> DataFrame:
    """Seconds of tuning λ, one row for each set, method and fold that was timed."""
    return study.table(time_pieces(study))


def summary(table: DataFrame) -> DataFrame:
    """Means over outputs and folds, one row for each set; columns by protocol and criterion.

    Columns are named ``error_<criterion>_<protocol>``, ``error_sd_…`` and ``lam_…``.
    """
    key = ["set", "protocol", "criterion"]
    by_fold = table.groupby([*key, "fold"], sort=False)[["test_error", "lam"]].mean()
    by_set = by_fold.groupby(key, sort=False)
    found = by_set.mean().rename(columns={"test_error": "error"})
    # Over the folds, as in the paper; its convention is not stated, numpy's is ddof = 0.
    found["error_sd"] = by_set["test_error"].std(ddof=0)
    wide = found.unstack(["criterion", "protocol"])
    wide.columns = ["_".join(column) for column in wide.columns]
    return wide.loc[table["set"].unique()]


def time_summary(times: DataFrame) -> DataFrame:
    """Mean seconds for one training set, one row for each set and one column for each method."""
    order = [name for name in paper_values().index if name in set(times["set"])]
    return times.groupby(["set", "method"])["seconds"].mean().unstack().loc[order]


def table(
    table: DataFrame, times: DataFrame | None = None, asked: Sequence[str] | None = None
) -> str:
    """Our numbers beside the paper's, for every row of Table 1, in Markdown.

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
    both = ["ours, *paper*", "ours, *printed*"]
    head = ["Data set", "paper's error", *both, "paper's λ", *both]
    parts = []
    methods = "SURE", "5-fold cross-validation, its error by our exact path"
    for criterion, title in zip(CRITERIA, methods, strict=True):
        rows = []
        for name, there in paper.iterrows():
            if name in ours.index:
                here = ours.loc[name]
                cases = [f"{criterion}_{protocol}" for protocol in PROTOCOLS]
                errors = [_plus_minus(here[f"error_{c}"], here[f"error_sd_{c}"]) for c in cases]
                lams = [f"{here[f'lam_{c}']:.2f}" for c in cases]
            else:
                wanted = asked is None or name in asked
                errors, lams = ["data not at hand" if wanted else "not asked for", ""], ["", ""]
            printed = _plus_minus(there[f"{criterion}_error"], there[f"{criterion}_error_sd"])
            lam = f"{there[f'{criterion}_lam']:.2f}"
            rows.append([titles([name]), printed, *errors, lam, *lams])
        parts.append(f"**{title}.**\n\n" + markdown_table(head, rows))
    if times is not None:
        parts.append(_seconds(times, paper))
    return "\n".join(parts)


def claims(table: DataFrame) -> list[Claim]:
    """Errors and λ agree with the paper's; SURE and five folds agree under both protocols."""
    ours = summary(table)
    paper = paper_values().loc[ours.index]
    low = ours["error_sure_paper"] <= paper["sure_error"] + paper["sure_error_sd"]
    apart, folds_apart = ((ours[f"lam_{c}_paper"] - paper[f"{c}_lam"]).abs() for c in CRITERIA)
    similar = []
    for protocol in PROTOCOLS:
        # Whether both criteria lead to the same error, by a paired test over the sets.
        sure, kfold = (ours[f"error_{c}_{protocol}"] for c in CRITERIA)
        ratio = np.log(sure / kfold)
        p_value = float(wilcoxon(ratio).pvalue) if len(ratio) > 1 and (ratio != 0).any() else 1.0
        far = ratio[ratio.abs() > SIMILAR]
        named = ", ".join(f"{titles([name])} {np.expm1(r):+.0%}" for name, r in far.items())
        capped = (ours[[f"lam_{c}_{protocol}" for c in CRITERIA]] > 0.9895).all(axis=1).sum()
        claim = Claim(
            f"Under *{protocol}* SURE and 5-fold cross-validation have test errors within a tenth "
            "of each other, on every set.",
            far.empty,
            f"the error of SURE differs by {np.expm1(ratio.mean()):+.1%} in the geometric mean"
            + (f"; beyond a tenth: {named}" if named else "")
            + (f"; on {capped} sets both λ are at the cap" if protocol == "paper" else "")
            + f". Wilcoxon's signed-rank test over the sets: p = {p_value:.2f}",
        )
        similar.append(claim)
    return [
        Claim(
            "With the reconstructed protocol the test error of SURE is at most the paper's mean "
            "plus one standard deviation, on every set.",
            low.all(),
            _but_for(low),
            nature="fitted",
            about_paper=True,
        ),
        Claim(
            f"Its mean λ is within {LAM_TOLERANCE} of the paper's, on every set.",
            (apart <= LAM_TOLERANCE).all(),
            f"{_but_for(apart <= LAM_TOLERANCE)}; mean absolute difference {apart.mean():.3f}",
            nature="fitted",
            about_paper=True,
        ),
        Claim(
            "So is the mean λ of 5-fold cross-validation, which nothing was fitted to.",
            (folds_apart <= LAM_TOLERANCE).all(),
            f"{_but_for(folds_apart <= LAM_TOLERANCE)}; mean absolute "
            f"difference {folds_apart.mean():.3f}",
            about_paper=True,
        ),
        *similar,
    ]


def time_claims(times: DataFrame) -> list[Claim]:
    """SURE is many times faster than five folds with refits."""
    mean = time_summary(times)
    total = mean.sum()
    single = mean.loc[[info(str(name)).n_targets == 1 for name in mean.index]].sum()
    paper = paper_values()
    printed = paper["kfold_seconds"] / paper["sure_seconds"]
    ratio, alone = float(total["refits"] / total["sure"]), ""
    if single["sure"]:
        alone = f", {single['refits'] / single['sure']:.0f} on those of one output"
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


def explained(table: DataFrame) -> str:
    """How a full run of Table 1 differs from the paper, and why the protocols do, in Markdown.

    Parameters
    ----------
    table : DataFrame
        From :func:`run`.
    """
    ours = summary(table)
    paper = paper_values().loc[ours.index]
    here, there = ours["error_sure_paper"], paper["sure_error"]
    off = (here - there).abs() > HALF_DIGIT + FAR * there
    counts = {"agree": (~off).sum(), "sets": len(ours), "far": f"{FAR:.0%}"}
    agreement = _told("errors", _pairs(here[off], there), **counts)
    # The standard deviations over folds are evidence too: they depend on how rows were split.
    here, there = ours["error_sd_sure_paper"], paper["sure_error_sd"]
    low, high = there - HALF_DIGIT, there + HALF_DIGIT
    spreads = _told("spreads", _pairs(here[(here < 0.5 * low) | (here > 2.0 * high)], there))
    here, there = ours["error_sure_printed"], ours["error_sure_paper"]
    ratio = here / there
    parts = [
        f"*printed* has an error {which} by a tenth or more on {sets}"
        for which, differ in (("lower", ratio < 0.9), ("higher", ratio > 1.1))
        if (sets := _pairs(here[differ], there))
    ]
    why = TEXTS["page"]["why_protocols_differ"]
    return "\n".join([agreement, spreads, why, _told("protocols", "; ".join(parts))])


def _told(subject: str, exceptions: str, **counts: Any) -> str:
    """The sentence of :data:`TEXTS` about a subject, with the exceptions if there are any."""
    sentence = TEXTS["table1 explained"][f"{subject}_{'differ' if exceptions else 'agree'}"]
    return sentence.format(exceptions=exceptions, **counts) + "\n"


def _but_for(agree: Series) -> str:
    """The number of sets that agree, and the names of the others."""
    others = titles(agree.index[~agree])
    return f"{agree.sum()} of {len(agree)} sets" + (f", not on {others}" if others else "")


def _pairs(here: Series, there: Series) -> str:
    """Sets with our number and the other one."""
    return ", ".join(
        f"{titles([name])} ({value:.2f} against {there[name]:.2f})" for name, value in here.items()
    )


def _plus_minus(mean: float, spread: float) -> str:
    # Non-breaking spaces, so that narrow tables keep the two numbers together.
    return f"{mean:.2f}\u00a0±\u00a0{spread:.2f}"


def _seconds(times: DataFrame, paper: DataFrame) -> str:
    """The table of seconds beside the paper's, in Markdown."""
    mean = time_summary(times)
    spread = times.groupby(["set", "method"])["seconds"].std(ddof=0).unstack()
    head = ["Data set", "SURE", "exact 5-fold path", "refits", "refits / SURE", "paper: 5-fold"]
    head += ["paper: SURE", "paper's ratio"]
    rows = []
    for name, here in mean.iterrows():
        kfold, sure = paper.loc[name, ["kfold_seconds", "sure_seconds"]]
        cells = [titles([name])]
        cells += [_plus_minus(here[m], spread.loc[name, m]) for m in CRITERIA]
        cells += [f"{here['refits']:.1f}", f"{here['refits'] / here['sure']:.0f}"]
        rows.append(cells + [f"{number:.1f}" for number in (kfold, sure, kfold / sure)])
    total = mean.sum()
    cells = ["**all**", f"{total['sure']:.1f}", f"{total['kfold']:.1f}", f"{total['refits']:.0f}"]
    rows.append([*cells, f"**{total['refits'] / total['sure']:.0f}**", "", "", ""])
    return TEXTS["page"]["seconds"] + markdown_table(head, rows)
