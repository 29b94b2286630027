"""The race of candidates: which are tried, in which order, and how far their lines are walked.

Bandwidths are walked along a lattice of two points a decade, from the heuristic of Kwok and Tsang,
for as long as that pays; then relevance, subspaces and other bases are tried where the best so far
stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from negcorr._common.threads import spread
from negcorr.selection.candidates import Candidate
from negcorr.selection.sample import ProvingGround, Trial
from negcorr.selection.space import KERNELLED, OpenQuestions

__all__ = ["Race", "at", "run_race"]

#: Multiples of the heuristic bandwidth are 10^(i/2) for i in this range.
LATTICE = range(-4, 4)

#: A walk goes on while its line is within this factor of the best, and starts with these.
WORTH_WALKING, START = 1.2, (-1, 0)

#: Lines for which relevance is tried, and where more rows judge them.
LINES_FOR_RELEVANCE, LINES_TO_BE_JUDGED = 3, 4

#: Subspaces are tried where there are as many columns, and have as many on average.
WIDE, FEWEST_COLUMNS = 20, 1.5


def run_race(ground: ProvingGround, questions: OpenQuestions) -> Race:
    """Try candidates for all open questions, one question after the other.

    Parameters
    ----------
    ground : ProvingGround
        Rows to try candidates on.
    questions : OpenQuestions
        What is open.

    Returns
    -------
    Race
        All that was tried.
    """
    race = Race(ground)
    kernelled = [name for name in questions.bases if name in KERNELLED]
    if kernelled:
        _bandwidths(race, questions, kernelled[0])
        _relevance(race, questions)
        _subspaces(race, questions)
        for name in kernelled[1:]:
            _other_kernelled(race, questions, name)
    for name in ("linear", "trees"):
        if name in questions.bases and questions.subspace in (None, 1.0):
            kinds, alpha = _inputs_of(name, questions), questions.alphas[0]
            columns = questions.columns if name == "linear" else None
            race.run(Candidate(name, inputs=k, alpha=alpha, columns=columns) for k in kinds)
    if len(questions.alphas) > 1 and race.best.candidate.basis != "kernel":
        race.run(replace(race.best.candidate, alpha=alpha) for alpha in questions.alphas[1:])
    return race


class Race:
    """Candidates tried so far."""

    def __init__(self, ground: ProvingGround) -> None:
        self.ground = ground
        self.trials: dict[Candidate, Trial] = {}

    def run(self, candidates: Iterable[Candidate]) -> None:
        """Try those that have not been tried, several at once."""
        new = [c for c in dict.fromkeys(candidates) if c not in self.trials]
        self.ground.prepare(new)
        for trial in spread(self.ground.try_out, new):
            self.trials[trial.candidate] = trial

    @property
    def best(self) -> Trial:
        """That of the smallest error."""
        return min(self.trials.values(), key=lambda trial: trial.error)

    def ranking(self) -> list[Trial]:
        """All, the best first."""
        return sorted(self.trials.values(), key=lambda trial: trial.error)

    def walk(self, lines: Sequence[Candidate], start: Sequence[int]) -> None:
        """Move each line's bandwidth downhill from the start, while that pays."""
        self.run(at(line, i) for line in lines for i in start)
        while True:
            limit = WORTH_WALKING * self.best.error
            steps = [c for line in lines for c in self._next_steps(line, limit)]
            if not steps:
                return
            self.run(steps)

    def _next_steps(self, line: Candidate, limit: float) -> list[Candidate]:
        """Untried neighbours of the best bandwidth of a line."""
        known = {i: self.trials[at(line, i)].error for i in LATTICE if at(line, i) in self.trials}
        best = min(known, key=lambda i: known[i])
        if known[best] > limit:
            return []
        return [at(line, i) for i in (best - 1, best + 1) if i in LATTICE and i not in known]


def at(line: Candidate, i: int) -> Candidate:
    """A line of candidates at point i of the lattice of bandwidths."""
    return replace(line, multiple=10.0 ** (i / 2.0))


def _bandwidths(race: Race, questions: OpenQuestions, basis: str) -> None:
    lines = questions.lines(basis)
    # Scaling a linear kernel is the same as another ridge; relevance comes with a bandwidth.
    fixed = [line for line in lines if line.kernel == "linear" or line.relevant]
    race.run(fixed)
    free = [line for line in lines if line not in fixed]
    if questions.bandwidths is not None:
        race.run(at(line, i) for line in free for i in questions.bandwidths)
    elif free:
        race.walk(free, START)


def _relevance(race: Race, questions: OpenQuestions) -> None:
    """Relevance for the best lines so far, at the bandwidth that is learnt with it."""
    if questions.relevance != (False, True):
        return
    lines = dict.fromkeys(
        replace(trial.candidate, relevant=True, multiple=1.0)
        for trial in race.ranking()
        if trial.candidate.kernel != "linear"
    )
    few = race.ground.more is None
    race.run(list(lines)[: LINES_FOR_RELEVANCE if few else LINES_TO_BE_JUDGED])


def _subspaces(race: Race, questions: OpenQuestions) -> None:
    """Fewer and fewer columns for the best lines, half as many at a time, while that pays."""
    if questions.subspace is not None:
        return
    n_columns = race.ground.X.shape[1]
    trials = [t for t in race.ranking() if _may_be_split(t.candidate)]
    if not trials or n_columns < WIDE:
        return
    best = trials[0]
    while best.candidate.subspace * n_columns >= 2 * FEWEST_COLUMNS:
        line = replace(best.candidate, subspace=best.candidate.subspace / 2)
        found = _narrowed(race, questions, line)
        if found.error >= best.error:
            return
        best = found


def _may_be_split(candidate: Candidate) -> bool:
    """Kernels that change most in subspaces: the Laplace kernel sees columns one by one already."""
    known = candidate.basis in ("kernel", "nystroem", "fourier")
    return known and candidate.kernel == "gaussian" and not candidate.relevant


def _narrowed(race: Race, questions: OpenQuestions, line: Candidate) -> Trial:
    """The better of the bandwidth before and the next rougher one: a walk would chase noise."""
    i = round(2.0 * float(np.log10(line.multiple)))
    steps = (i, i + 1) if questions.bandwidths is None else (i,)
    tried = [at(line, step) for step in steps if step in LATTICE]
    race.run(tried)
    return min((race.trials[each] for each in tried), key=lambda trial: trial.error)


def _other_kernelled(race: Race, questions: OpenQuestions, basis: str) -> None:
    """Another basis, where the best so far stands."""
    best = race.best.candidate
    if best.kernel == "linear" or (basis == "orthogonal" and not _has_orthogonal(best)):
        return
    line = replace(best, basis=basis)
    race.run([line])
    free = questions.bandwidths is None and not line.relevant
    if free and race.best.candidate.basis == basis:
        race.walk([line], [])


def _has_orthogonal(candidate: Candidate) -> bool:
    return candidate.kernel == "gaussian" and candidate.subspace == 1.0


def _inputs_of(basis: str, questions: OpenQuestions) -> tuple[str, ...]:
    """One will do for trees, to which units do not matter; ranks are no linear model of columns."""
    allowed = {"linear": ("standard", "clip"), "trees": questions.inputs[:1]}[basis]
    return tuple(kind for kind in questions.inputs if kind in allowed) or questions.inputs[:1]
