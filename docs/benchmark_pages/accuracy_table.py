"""Ranks, tests and the figures that must hold, from lines of ``accuracy.py`` or ``unseen.py``.

    python docs/benchmark_pages/accuracy_table.py [FILE ...] [--seeds 0] [--rst FILE]
        [--markdown FILE]

Several files count as one; of two lines of the same piece the later one counts. Nothing is
measured here. A data set takes part only where all ranked methods have the same pieces; what is
missing is said. Times are those of pieces that were measured one at a time on an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "accuracy"))

from accuracy import FOLDS, METHODS, SETS, comparable, stored
from accuracy_rivals import YARDSTICK
from unseen_tables import NAMES

__all__ = ["Comparison", "critical_difference", "groups", "must_hold"]

Line = Mapping[str, Any]
Pieces = dict[tuple[int, int], Line]

#: Sets of more rows are large: there times are compared, below they are bounded.
LARGE = 3000
OURS = "negcorr"

#: Data sets that are measured together, by ``accuracy.py`` and by ``unseen.py``, in their order.
COLLECTIONS = (SETS, NAMES)

SENTENCES = {
    "rank": "negcorr: average rank {:.2f} of {}, {:.3f} times the best error of each set.",
    "hindsight": "negcorr over its best λ in hindsight: {:.3f}, worst {:.3f} ({}).",
    "constant": "negcorr over a constant, worst fold: {:.3f} ({}, seed {}, fold {}).",
    "time": "Fit time over the untuned forest's, median of {1} sets of over 3000 rows: {0:.2f}.",
    "small": "Longest fit of negcorr up to 3000 rows: {:.2f} s ({}).",
}


@dataclass(frozen=True)
class Comparison:
    """Mean errors of all ranked methods on the sets that all of them have.

    Attributes
    ----------
    sets, methods : tuple of str
        Rows and columns of the table.
    errors : ndarray of shape (sets, methods)
        Mean over seeds, folds and outputs.
    sizes, n_pieces : tuple of int
        Rows of each set, and pieces (a seed and a fold) that its errors are means of.
    missing : tuple of str
        What is not there, in words.
    """

    sets: tuple[str, ...]
    methods: tuple[str, ...]
    errors: np.ndarray
    sizes: tuple[int, ...]
    n_pieces: tuple[int, ...]
    missing: tuple[str, ...]

    @cached_property
    def average_ranks(self) -> np.ndarray:
        """Mean over sets of the rank of each method; ties share the mean of their ranks."""
        return stats.rankdata(self.errors, axis=1).mean(axis=0)

    @cached_property
    def over_best(self) -> np.ndarray:
        """Errors over those of the best method on each set."""
        return self.errors / self.errors.min(axis=1, keepdims=True)

    @cached_property
    def geometric_means(self) -> np.ndarray:
        """Geometric mean over sets of the error over that of the best method there."""
        return stats.gmean(self.over_best, axis=0)

    @property
    def friedman(self) -> tuple[float, float] | None:
        """χ² and p of Friedman's test, None for fewer than three methods or two sets."""
        if len(self.methods) < 3 or len(self.sets) < 2:
            return None
        found = stats.friedmanchisquare(*self.errors.T)
        return float(found.statistic), float(found.pvalue)

    @property
    def critical_difference(self) -> float:
        """Least difference of average ranks that is significant at 5 %, by Nemenyi's test."""
        return critical_difference(len(self.methods), len(self.sets))


def critical_difference(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    """Nemenyi's critical difference of average ranks."""
    q = stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def groups(ranks: Sequence[float] | np.ndarray, difference: float) -> list[tuple[int, ...]]:
    """Largest groups of methods, two at least, whose average ranks do not differ significantly."""
    order = np.argsort(ranks, kind="stable")
    found: list[tuple[int, ...]] = []
    for start, first in enumerate(order):
        near = [int(each) for each in order[start:] if ranks[each] - ranks[first] <= difference]
        if len(near) > 1 and not any(set(near) <= set(group) for group in found):
            found.append(tuple(near))
    return found


def by_piece(lines: Iterable[Line]) -> dict[tuple[str, str], Pieces]:
    """From (set, method) to lines by (seed, fold); of two of the same piece the later one."""
    table: dict[tuple[str, str], Pieces] = {}
    for line in lines:
        table.setdefault((line["set"], line["method"]), {})[line["seed"], line["fold"]] = line
    return table


def mean(pieces: Pieces, name: str = "error") -> float:
    """Over pieces, of the mean over outputs."""
    return float(np.mean([np.mean(line[name]) for line in pieces.values()]))


def compared(lines: Iterable[Line], wanted: Sequence[str] | None = None) -> Comparison:
    """Mean errors of the ranked methods, those wanted or all that there are."""
    table = by_piece(lines)
    ranked = [name for name in METHODS if name != YARDSTICK] if wanted is None else wanted
    methods = [name for name in ranked if any(method == name for _, method in table)]
    missing = [f"{name}: no results at all" for name in ranked if name not in methods]
    whole: list[str] = []
    for name in sorted({name for name, _ in table}, key=place):
        found = {method: set(table.get((name, method), ())) for method in methods}
        needed = {(seed, fold) for seed, _ in set().union(*found.values()) for fold in range(FOLDS)}
        absent = {method: len(needed - had) for method, had in found.items() if needed - had}
        if needed and not absent:
            whole.append(name)
        elif needed:
            each = ", ".join(f"{count} of {method}" for method, count in absent.items())
            missing.append(f"{name} is left out: of {len(needed)} pieces there lack {each}")
    unknown = absent_sets({name for name, _ in table})
    missing += [f"no results of {', '.join(unknown)}"] if unknown else []
    rows = [[mean(table[name, method]) for method in methods] for name in whole]
    firsts = [table[name, methods[0]] for name in whole]
    return Comparison(
        tuple(whole),
        tuple(methods),
        np.array(rows).reshape(len(whole), len(methods)),
        tuple(next(iter(first.values()))["n"] for first in firsts),
        tuple(map(len, firsts)),
        tuple(missing),
    )


def absent_sets(there: Collection[str]) -> list[str]:
    """What is not there of the collections of which something is."""
    begun = [each for each in COLLECTIONS if not set(each).isdisjoint(there)]
    return [name for each in begun for name in each if name not in there]


def place(name: str) -> tuple[int, str]:
    """Known sets in their order, others after them by name."""
    known = [each for collection in COLLECTIONS for each in collection]
    return (known.index(name) if name in known else len(known), name)


def hindsight_ratios(lines: Iterable[Line]) -> dict[str, float]:
    """By set: error of negcorr over that at the λ that is best on the test rows."""
    found = {name: each for (name, method), each in by_piece(lines).items() if method == OURS}
    return {name: mean(each) / mean(each, "hindsight_error") for name, each in found.items()}


def fit_seconds(lines: Iterable[Line], method: str) -> dict[str, dict[tuple[int, int], float]]:
    """By set and piece, where the time can be compared."""
    table = by_piece(line for line in lines if line["method"] == method and comparable(line))
    return {
        name: {key: line["fit_seconds"] for key, line in pieces.items()}
        for (name, _), pieces in table.items()
    }


def time_ratios(lines: Sequence[Line], method: str = OURS) -> dict[str, float]:
    """By large set: fit time over that of the untuned forest, both on the same pieces."""
    sizes = {line["set"]: line["n"] for line in lines}
    ours, theirs = fit_seconds(lines, method), fit_seconds(lines, YARDSTICK)
    ratios = {}
    for name in sorted(set(ours) & set(theirs), key=place):
        both = set(ours[name]) & set(theirs[name])
        if both and sizes[name] > LARGE:
            ratios[name] = sum(ours[name][key] for key in both) / sum(
                theirs[name][key] for key in both
            )
    return ratios


def must_hold(lines: Sequence[Line], found: Comparison) -> dict[str, tuple[Any, ...]]:
    """The figures that must hold, for the sentences of the same names; only what is known."""
    ours = [line for line in lines if line["method"] == OURS]
    report: dict[str, tuple[Any, ...]] = {}
    if OURS in found.methods and found.sets:
        at = found.methods.index(OURS)
        ratio = found.geometric_means[at]
        report["rank"] = (found.average_ranks[at], len(found.methods), ratio)
    if ours:
        ratios = hindsight_ratios(ours)
        worst = max((ratio, name) for name, ratio in ratios.items())
        report["hindsight"] = (stats.gmean(list(ratios.values())), *worst)
        report["constant"] = max(
            (line["over_constant"], line["set"], line["seed"], line["fold"]) for line in ours
        )
    if times := time_ratios(lines):
        report["time"] = (statistics.median(times.values()), len(times))
    small = [line for line in ours if line["n"] <= LARGE and comparable(line)]
    if small:
        report["small"] = max((line["fit_seconds"], line["set"]) for line in small)
    return report


def cells(found: Comparison, best: str) -> list[list[str]]:
    """Rows of the table with a heading; ``best`` is the format of the least number of a row."""

    def marked(values: np.ndarray, digits: int) -> list[str]:
        texts = [f"{value:.{digits}f}" for value in values]
        least = texts[int(np.argmin(values))]
        return [best.format(text) if text == least else text for text in texts]

    table = [["data set", "rows", *found.methods]]
    for name, size, errors in zip(found.sets, found.sizes, found.errors, strict=True):
        table.append([name, str(size), *marked(errors, 4)])
    if found.sets:
        table.append(["average rank", "", *marked(found.average_ranks, 2)])
        table.append(["error over best, geometric mean", "", *marked(found.geometric_means, 3)])
    return table


def sentences(lines: Sequence[Line], found: Comparison) -> list[str]:
    """What the table does not show: tests, figures that must hold, and what is missing."""
    words = []
    if found.sets:
        counts = " to ".join(map(str, sorted({min(found.n_pieces), max(found.n_pieces)})))
        words.append(f"{len(found.sets)} data sets, means over {counts} pieces (seed, fold) each.")
    if (test := found.friedman) is not None:
        words.append(f"Friedman: χ² = {test[0]:.1f}, p = {test[1]:.2g}.")
        words.append(f"Nemenyi at 5 %: ranks differ from {found.critical_difference:.2f} on.")
    known = must_hold(lines, found)
    words += [text.format(*known[name]) for name, text in SENTENCES.items() if name in known]
    return words + [f"Missing: {each}." for each in found.missing]


def as_text(lines: Sequence[Line], found: Comparison) -> str:
    table = cells(found, "{}*")
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    rows = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table
    ]
    return "\n".join([*rows, "", *sentences(lines, found), ""])


def as_rst(lines: Sequence[Line], found: Comparison) -> str:
    rows = [".. list-table::", "   :class: narrow", "   :header-rows: 1", "   :stub-columns: 1", ""]
    for row in cells(found, "**{}**"):
        rows += [
            f"   {'  -' if number else '* -'} {text}".rstrip() for number, text in enumerate(row)
        ]
    bullets = [f"* {text}" for text in sentences(lines, found)]
    return "\n".join([*rows, "", *bullets, ""])


def as_markdown(lines: Sequence[Line], found: Comparison) -> str:
    heading, *rest = [f"| {' | '.join(row)} |" for row in cells(found, "**{}**")]
    rule = "|---" + (len(found.methods) + 1) * "|---:" + "|"
    return "\n".join([heading, rule, *rest, "", *(f"* {t}" for t in sentences(lines, found)), ""])


def read(paths: Iterable[Path], seeds: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """The lines of all files, of some seeds or of all."""
    lines = [line for path in paths for line in stored(path)]
    return [line for line in lines if seeds is None or line["seed"] in seeds]


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    results = Path("benchmarks/results/accuracy.jsonl")
    parser.add_argument("files", type=Path, nargs="*", default=[results])
    parser.add_argument("--seeds", type=int, nargs="+", help="use these only")
    parser.add_argument("--methods", nargs="+", help="rank these only", metavar="METHOD")
    parser.add_argument("--rst", type=Path, help="reStructuredText to write")
    parser.add_argument("--markdown", type=Path, help="Markdown to write")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parsed(arguments)
    lines = read(options.files, options.seeds)
    if not lines:
        raise SystemExit("no results in " + ", ".join(map(str, options.files)))
    found = compared(lines, options.methods)
    print(as_text(lines, found))
    for path, write in ((options.rst, as_rst), (options.markdown, as_markdown)):
        if path is not None:
            path.write_text(write(lines, found), encoding="utf-8")


if __name__ == "__main__":
    main()
