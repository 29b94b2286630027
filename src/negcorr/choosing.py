"""The choice of features by the data: kernel, bandwidth, inputs, relevance, basis, ridge.

Every choice that was left open is made on the training rows alone, by leave-one-out on the
proving ground (:mod:`negcorr.candidates`). Bandwidths are walked along a lattice of two points a
decade, from the heuristic of Kwok and Tsang, for as long as that pays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from negcorr._threads import spread
from negcorr._typing import FloatArray
from negcorr.candidates import Candidate, ProvingGround, Trial

__all__ = ["Choice", "OpenQuestions", "choose"]

#: Multiples of the heuristic bandwidth are 10^(i/2) for i in this range.
LATTICE = range(-4, 4)

#: A walk goes on while its line is within this factor of the best.
WORTH_WALKING = 1.2

#: Lines for which relevance is tried, and bandwidths that a walk starts with.
LINES_FOR_RELEVANCE, START = 3, (-1, 0)

#: Ridges that are tried where alpha="auto".
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class OpenQuestions:
    """What may be chosen: a single value closes a question.

    Attributes
    ----------
    bases, kernels, inputs : tuple of str
        Allowed names, the most promising first.
    bandwidths : tuple of int, or None
        Points of the lattice, (0,) for the heuristic alone; None walks all of it.
    relevance : tuple of bool
    alphas : tuple of float
        The first stands unless another is better.
    """

    bases: tuple[str, ...] = ("nystroem", "linear", "fourier", "orthogonal", "trees")
    kernels: tuple[str, ...] = ("laplace", "gaussian")
    inputs: tuple[str, ...] = ("clip", "standard", "rank")
    bandwidths: tuple[int, ...] | None = None
    relevance: tuple[bool, ...] = (False, True)
    alphas: tuple[float, ...] = (0.0,)


@dataclass(frozen=True, repr=False)
class Choice:
    """What was chosen, and against what.

    Attributes
    ----------
    best : Trial
        The candidate chosen, with its leave-one-out error relative to the variance of y.
    gamma : float
        Its bandwidth.
    relevance : ndarray of shape (d,) or None
        Its relevance of columns, learnt from all rows of the search.
    trials : tuple of Trial
        All candidates, the best first.
    validated : float
        Error of the search: on each fifth of the rows, that of what the other four would choose.
    n_rows : int
        Distinct rows that candidates were tried on.
    """

    best: Trial
    gamma: float
    relevance: FloatArray | None
    trials: tuple[Trial, ...]
    validated: float
    n_rows: int

    @property
    def candidate(self) -> Candidate:
        """The candidate chosen."""
        return self.best.candidate

    @property
    def optimism(self) -> float:
        """How much better than ``validated`` the best candidate looks for having been chosen."""
        return self.validated - self.best.error

    def __repr__(self) -> str:
        return (
            f"Choice({self.candidate}; error {self.best.error:.4g}, validated "
            f"{self.validated:.4g}, of {len(self.trials)} on {self.n_rows} rows)"
        )

    def __str__(self) -> str:
        lines = [
            f"{len(self.trials)} candidates on {self.n_rows} rows, leave-one-out error relative "
            "to the variance of y:"
        ]
        lines += [f"  {t.error:8.4f}  {t.candidate}" for t in self.trials]
        lines.append(f"error validated for the search: {self.validated:.4f}")
        return "\n".join(lines)


def choose(ground: ProvingGround, questions: OpenQuestions) -> Choice:
    """Answer the open questions by leave-one-out.

    Parameters
    ----------
    ground : ProvingGround
        Rows to try candidates on.
    questions : OpenQuestions
        What is open.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.candidates import ProvingGround
    >>> from negcorr.choosing import OpenQuestions, choose
    >>> from negcorr.rows import Rows
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    >>> y = np.sin(3 * X[:, :1])
    >>> ground = ProvingGround.of(Rows(X, y), n_components=10, seed=0, gap=None)
    >>> choice = choose(ground, OpenQuestions(relevance=(False, True)))
    >>> choice.candidate.relevant, bool(choice.relevance[0] > choice.relevance[1])
    (True, True)
    """
    race = _Race(ground)
    kernelled = [name for name in questions.bases if name in ("nystroem", "fourier", "orthogonal")]
    if kernelled:
        _bandwidths(race, questions, kernelled[0])
        _relevance(race, questions)
        for name in kernelled[1:]:
            _other_kernelled(race, questions, name)
    for name in ("linear", "trees"):
        if name in questions.bases:
            race.run(Candidate(name, inputs=kind) for kind in _inputs_of(name, questions))
    if len(questions.alphas) > 1:
        race.run(replace(race.best.candidate, alpha=alpha) for alpha in questions.alphas[1:])
    return _choice(race)


class _Race:
    """Candidates tried so far."""

    def __init__(self, ground: ProvingGround) -> None:
        self.ground = ground
        self.trials: dict[Candidate, Trial] = {}

    def run(self, candidates: Iterable[Candidate]) -> None:
        """Try those that have not been tried, several at once."""
        new = [c for c in dict.fromkeys(candidates) if c not in self.trials]
        for trial in spread(self.ground.try_out, new):
            self.trials[trial.candidate] = trial

    @property
    def best(self) -> Trial:
        return min(self.trials.values(), key=lambda trial: trial.error)

    def ranking(self) -> list[Trial]:
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


def _bandwidths(race: _Race, questions: OpenQuestions, basis: str) -> None:
    kernels = questions.kernels if basis != "orthogonal" else ("gaussian",)
    lines = [
        Candidate(basis, kernel, inputs=kind, relevant=relevant, alpha=questions.alphas[0])
        for kind in questions.inputs
        for kernel in kernels
        for relevant in questions.relevance[:1]
    ]
    if questions.bandwidths is not None:
        race.run(at(line, i) for line in lines for i in questions.bandwidths)
    else:
        race.walk(lines, START)


def _relevance(race: _Race, questions: OpenQuestions) -> None:
    """Relevance for the best lines so far, from where their bandwidths were best."""
    if questions.relevance != (False, True):
        return
    lines: dict[Candidate, int] = {}
    for trial in race.ranking():
        line = replace(trial.candidate, relevant=True, multiple=1.0)
        lines.setdefault(line, round(2.0 * np.log10(trial.candidate.multiple)))
    chosen = list(lines)[:LINES_FOR_RELEVANCE]
    race.run(at(line, lines[line]) for line in chosen)
    if questions.bandwidths is None:
        race.walk(chosen, [])


def _other_kernelled(race: _Race, questions: OpenQuestions, basis: str) -> None:
    """Another basis, where the best so far stands."""
    best = race.best.candidate
    if basis == "orthogonal" and best.kernel != "gaussian":
        return
    line = replace(best, basis=basis)
    race.run([line])
    if questions.bandwidths is None and race.best.candidate.basis == basis:
        race.walk([line], [])


def _inputs_of(basis: str, questions: OpenQuestions) -> tuple[str, ...]:
    """Trees are the same whatever is done to columns; ranks are no linear model of them."""
    allowed = {"linear": ("standard", "clip"), "trees": questions.inputs[:1]}[basis]
    return tuple(kind for kind in questions.inputs if kind in allowed) or questions.inputs[:1]


def _choice(race: _Race) -> Choice:
    ground, ranking = race.ground, race.ranking()
    best = ranking[0]
    relevance = ground.relevance(best.candidate.inputs) if best.candidate.relevant else None
    return Choice(
        best=best,
        gamma=ground.gamma(best.candidate),
        relevance=relevance,
        trials=tuple(ranking),
        validated=_validated(ranking) / float(ground.weight.sum()),
        n_rows=ground.n_rows,
    )


def _validated(trials: Sequence[Trial]) -> float:
    """Σ over parts of the error there of what the other parts would choose."""
    errors = np.stack([trial.by_part for trial in trials])
    rest = errors.sum(axis=2, keepdims=True) - errors
    flat = errors.reshape(-1, errors.shape[2])
    chosen = np.argmin(rest.reshape(flat.shape), axis=0)
    return float(flat[chosen, np.arange(flat.shape[1])].sum())
