"""The choice of features by the data: kernel, bandwidth, inputs, relevance, basis, ridge.

Every choice that was left open is made on the training rows alone, by leave-one-out on the
proving ground (:mod:`negcorr.proving`). Bandwidths are walked along a lattice of two points a
decade, from the heuristic of Kwok and Tsang, for as long as that pays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from negcorr._threads import spread
from negcorr._typing import FloatArray
from negcorr.candidates import Candidate
from negcorr.proving import ProvingGround, Trial

__all__ = ["Choice", "Chosen", "OpenQuestions", "choose"]

#: Multiples of the heuristic bandwidth are 10^(i/2) for i in this range.
LATTICE = range(-4, 4)

#: A walk goes on while its line is within this factor of the best.
WORTH_WALKING = 1.2

#: Lines for which relevance is tried, and bandwidths that a walk starts with.
LINES_FOR_RELEVANCE, START = 3, (-1, 0)

#: Lines that are tried once more on more rows.
RERUN = 4

#: Candidates within this factor of the best error are worth a member of their own.
WORTH_KEEPING = 1.1

#: Least and largest gap within a member.
INNER_GAPS = (1e-8, 0.9)

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
    columns : int or None
        Columns of each linear member; few if None.
    """

    bases: tuple[str, ...] = ("nystroem", "linear", "fourier", "orthogonal", "trees")
    kernels: tuple[str, ...] = ("laplace", "gaussian")
    inputs: tuple[str, ...] = ("clip", "standard", "rank")
    bandwidths: tuple[int, ...] | None = None
    relevance: tuple[bool, ...] = (False, True)
    alphas: tuple[float, ...] = (0.0,)
    columns: int | None = None


@dataclass(frozen=True)
class Chosen:
    """A candidate that features are made of.

    Attributes
    ----------
    candidate : Candidate
    gamma : float
        Its bandwidth.
    relevance : ndarray of shape (d,) or None
        Its relevance of columns, learnt from all rows of the search.
    gap : float
        The gap that was best for it, scaled to the rows of the fit.
    """

    candidate: Candidate
    gamma: float
    relevance: FloatArray | None
    gap: float


@dataclass(frozen=True, repr=False)
class Choice:
    """What was chosen, and against what.

    Attributes
    ----------
    members : tuple of Chosen
        One candidate; or several, each of which makes a member that is an ensemble itself.
    trials : tuple of Trial
        All candidates that came to the end, the best first.
    validated : float
        Error of the search: on each fifth of the rows, that of what the other four would choose.
    n_rows : int
        Distinct rows that these candidates were tried on.
    n_tried : int
        Trials in all, with those on fewer rows that came before.
    """

    members: tuple[Chosen, ...]
    trials: tuple[Trial, ...]
    validated: float
    n_rows: int
    n_tried: int

    @property
    def best(self) -> Trial:
        """The candidate of the smallest error."""
        return self.trials[0]

    @property
    def candidate(self) -> Candidate:
        """What was tried there."""
        return self.best.candidate

    @property
    def gamma(self) -> float:
        """The bandwidth there."""
        return self.members[0].gamma

    @property
    def relevance(self) -> FloatArray | None:
        """The relevance of columns there, learnt from all rows of the search; None if not asked."""
        return self.members[0].relevance

    @property
    def optimism(self) -> float:
        """How much better than ``validated`` the best candidate looks for having been chosen."""
        return self.validated - self.best.error

    def lines(self) -> list[str]:
        """What was chosen, in a few lines."""
        members = [str(chosen.candidate) for chosen in self.members]
        how = f"by leave-one-out, {self.n_tried} trials on {self.n_rows} rows"
        error = (
            f"error {self.best.error:.4g} of var(y), {self.validated:.4g} if the search is held out"
        )
        return [*members, how, error]

    def __repr__(self) -> str:
        return (
            f"Choice({self.candidate}; error {self.best.error:.4g}, validated "
            f"{self.validated:.4g}, of {self.n_tried} on {self.n_rows} rows)"
        )

    def __str__(self) -> str:
        lines = [
            f"{len(self.trials)} candidates on {self.n_rows} rows, leave-one-out error relative "
            "to the variance of y:"
        ]
        lines += [f"  {t.error:8.4f}  {t.candidate}" for t in self.trials]
        lines.append(f"error validated for the search: {self.validated:.4f}")
        return "\n".join(lines)


def choose(
    ground: ProvingGround,
    questions: OpenQuestions,
    n_members: int = 1,
    weight: float | None = None,
    larger: ProvingGround | None = None,
) -> Choice:
    """Answer the open questions by leave-one-out.

    Parameters
    ----------
    ground : ProvingGround
        Rows to try candidates on.
    questions : OpenQuestions
        What is open.
    n_members : int, default=1
        Most candidates that are taken together.
    weight : float, optional
        Σw of the rows of the fit, to which gaps are scaled; that of the rows of the search if None.
    larger : ProvingGround, optional
        More rows, on which the best are tried once more. More rows ask for rougher features, so
        bandwidths are walked on.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.proving import ProvingGround
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
            kinds, alpha = _inputs_of(name, questions), questions.alphas[0]
            columns = questions.columns if name == "linear" else None
            race.run(Candidate(name, inputs=k, alpha=alpha, columns=columns) for k in kinds)
    if len(questions.alphas) > 1:
        race.run(replace(race.best.candidate, alpha=alpha) for alpha in questions.alphas[1:])
    n_before = 0
    if larger is not None:
        n_before = len(race.trials)
        race = _rerun(race, larger, questions)
    return _choice(race, n_members, weight, n_before)


class _Race:
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
    """One will do for trees, to which units do not matter; ranks are no linear model of columns."""
    allowed = {"linear": ("standard", "clip"), "trees": questions.inputs[:1]}[basis]
    return tuple(kind for kind in questions.inputs if kind in allowed) or questions.inputs[:1]


def _rerun(race: _Race, ground: ProvingGround, questions: OpenQuestions) -> _Race:
    """The best lines once more, from where their bandwidths were best."""
    again = _Race(ground)
    lines = {replace(t.candidate, multiple=1.0): t for t in _finalists(race.ranking(), RERUN)}
    again.run(trial.candidate for trial in lines.values())
    if questions.bandwidths is None:
        again.walk([line for line in lines if line.kernel is not None], [])
    return again


def _choice(race: _Race, n_members: int, weight: float | None, n_before: int) -> Choice:
    ground, ranking = race.ground, race.ranking()
    mass = float(ground.weight.sum())
    # A ridge that suits n rows suits 2n when it is halved.
    scale = 1.0 if weight is None else min(mass / weight, 1.0)
    members = [_chosen(ground, trial, scale) for trial in _finalists(ranking, n_members)]
    return Choice(
        members=tuple(members),
        trials=tuple(ranking),
        validated=_validated(ranking) / float(ground.judges.sum()),
        n_rows=ground.n_rows,
        n_tried=n_before + len(ranking),
    )


def _finalists(ranking: Sequence[Trial], n_members: int) -> list[Trial]:
    """The best trial, and the best of other lines that are nearly as good."""
    lines: dict[Candidate, Trial] = {}
    for trial in ranking:
        if trial.error <= WORTH_KEEPING * ranking[0].error:
            lines.setdefault(replace(trial.candidate, multiple=1.0), trial)
    return list(lines.values())[:n_members]


def _chosen(ground: ProvingGround, trial: Trial, scale: float) -> Chosen:
    candidate = trial.candidate
    gap = float(np.clip(trial.gap * scale, *INNER_GAPS))
    relevance = ground.relevance(candidate.inputs) if candidate.relevant else None
    return Chosen(candidate, ground.gamma(candidate), relevance, gap)


def _validated(trials: Sequence[Trial]) -> float:
    """Σ over parts of the error there of what the other parts would choose."""
    errors = np.stack([trial.by_part for trial in trials])
    rest = errors.sum(axis=2, keepdims=True) - errors
    flat = errors.reshape(-1, errors.shape[2])
    chosen = np.argmin(rest.reshape(flat.shape), axis=0)
    return float(flat[chosen, np.arange(flat.shape[1])].sum())
