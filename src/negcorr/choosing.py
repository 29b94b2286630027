"""The choice of features by the data: kernel, bandwidth, inputs, relevance, basis, ridge.

Every choice that was left open is made on the training rows alone, by leave-one-out on the
proving ground (:mod:`negcorr.proving`). Bandwidths are walked along a lattice of two points a
decade, from the heuristic of Kwok and Tsang, for as long as that pays. What the rows cannot tell
apart is not chosen between: it is taken together, as members of one ensemble.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from negcorr._threads import spread
from negcorr._typing import FloatArray
from negcorr.candidates import Candidate
from negcorr.proving import ProvingGround, Trial
from negcorr.questions import KERNELLED, OpenQuestions

__all__ = ["Choice", "Chosen", "choose"]

#: Multiples of the heuristic bandwidth are 10^(i/2) for i in this range.
LATTICE = range(-4, 4)

#: A walk goes on while its line is within this factor of the best, and starts with these.
WORTH_WALKING, START = 1.2, (-1, 0)

#: Lines for which relevance is tried.
LINES_FOR_RELEVANCE = 3

#: Subspaces are tried where there are as many columns, and have as many on average.
WIDE, FEWEST_COLUMNS = 20, 1.5

#: A line stays in the running while it is not worse than the best by this many standard errors,
#: nor by this factor: with long tails standard errors say little.
TOLD_APART, FAR_OFF = 2.0, 1.3

#: Least and largest gap within a member.
INNER_GAPS = (1e-10, 0.9)

#: Ridges that are tried where alpha="auto".
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


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
    strength : float
        What was best for it: the ridge of a kernel; the gap of other features, scaled to the
        rows of the fit.
    """

    candidate: Candidate
    gamma: float
    relevance: FloatArray | None
    strength: float


@dataclass(frozen=True, repr=False)
class Choice:
    """What was chosen, and against what.

    Attributes
    ----------
    members : tuple of Chosen
        One candidate; or several, each of which makes a member that is an ensemble itself.
    trials : tuple of Trial
        All candidates, the best first.
    validated : float
        Error of the search: on each fifth of the rows, that of what the other four would choose.
    n_rows : int
        Distinct rows that candidates were tried on.
    n_distinct : int
        Distinct rows that there are in all.
    seed : int
        Of what is drawn from here on.
    """

    members: tuple[Chosen, ...]
    trials: tuple[Trial, ...]
    validated: float
    n_rows: int
    n_distinct: int
    seed: int

    @property
    def best(self) -> Trial:
        """What leave-one-out said of the first of the members."""
        return next(trial for trial in self.trials if trial.candidate == self.candidate)

    @property
    def candidate(self) -> Candidate:
        """The first of the members, which has the smallest error of them."""
        return self.members[0].candidate

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
        how = f"by leave-one-out, {len(self.trials)} trials on {self.n_rows} rows"
        held_out = f"{self.validated:.4g} if the search is held out"
        error = f"error {self.best.error:.4g} of var(y), {held_out}"
        return [*(str(chosen.candidate) for chosen in self.members), how, error]

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


def choose(
    ground: ProvingGround,
    questions: OpenQuestions,
    n_members: tuple[int, int] = (1, 1),
    weight: float | None = None,
) -> Choice:
    """Answer the open questions by leave-one-out.

    Parameters
    ----------
    ground : ProvingGround
        Rows to try candidates on.
    questions : OpenQuestions
        What is open.
    n_members : (int, int), default=(1, 1)
        Fewest and most candidates that are taken together. Between these all that the rows
        cannot tell from the best are.
    weight : float, optional
        Σw of the rows of the fit, to which gaps are scaled; that of the rows of the search if None.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.proving import ProvingGround
    >>> from negcorr.choosing import choose
    >>> from negcorr.questions import OpenQuestions
    >>> from negcorr.rows import Rows
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    >>> y = np.sin(3 * X[:, :1])
    >>> ground = ProvingGround.of(Rows(X, y), n_components=10, seed=0)
    >>> choice = choose(ground, OpenQuestions())
    >>> choice.candidate.relevant, bool(choice.relevance[0] > choice.relevance[1])
    (True, True)
    """
    race = _Race(ground)
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
    return _choice(race, n_members, weight)


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
    lines = questions.lines(basis)
    # Scaling a linear kernel is the same as another ridge; relevance comes with a bandwidth.
    fixed = [line for line in lines if line.kernel == "linear" or line.relevant]
    race.run(fixed)
    free = [line for line in lines if line not in fixed]
    if questions.bandwidths is not None:
        race.run(at(line, i) for line in free for i in questions.bandwidths)
    elif free:
        race.walk(free, START)


def _relevance(race: _Race, questions: OpenQuestions) -> None:
    """Relevance for the best lines so far, at the bandwidth that is learnt with it."""
    if questions.relevance != (False, True):
        return
    lines = dict.fromkeys(
        replace(trial.candidate, relevant=True, multiple=1.0)
        for trial in race.ranking()
        if trial.candidate.kernel != "linear"
    )
    race.run(list(lines)[:LINES_FOR_RELEVANCE])


def _subspaces(race: _Race, questions: OpenQuestions) -> None:
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
    return candidate.kernel == "gaussian" and not candidate.relevant


def _narrowed(race: _Race, questions: OpenQuestions, line: Candidate) -> Trial:
    """The better of the bandwidth before and the next rougher one: a walk would chase noise."""
    i = round(2.0 * float(np.log10(line.multiple)))
    steps = (i, i + 1) if questions.bandwidths is None else (i,)
    tried = [at(line, step) for step in steps if step in LATTICE]
    race.run(tried)
    return min((race.trials[each] for each in tried), key=lambda trial: trial.error)


def _other_kernelled(race: _Race, questions: OpenQuestions, basis: str) -> None:
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


def _choice(race: _Race, n_members: tuple[int, int], weight: float | None) -> Choice:
    ground, ranking, mass = race.ground, race.ranking(), float(race.ground.weight.sum())
    # A gap that suits n rows suits 2n when it is halved.
    scale = 1.0 if weight is None else min(mass / weight, 1.0)
    taken = _finalists(ranking, ground, n_members)
    # What is learnt from all rows takes long, and is learnt at once.
    columns = spread(lambda trial: ground.columns(trial.candidate), taken)
    members = [
        Chosen(t.candidate, ground.gamma(t.candidate), relevance, _strength(t, scale))
        for t, relevance in zip(taken, columns, strict=True)
    ]
    validated = _validated(ranking) / mass
    about = ground.n_rows, ground.n_distinct, ground.seed
    return Choice(tuple(members), tuple(ranking), validated, *about)


def _strength(trial: Trial, scale: float) -> float:
    if trial.candidate.basis == "kernel":
        return trial.strength
    return float(np.clip(trial.strength * scale, *INNER_GAPS))


def _finalists(
    ranking: Sequence[Trial], ground: ProvingGround, n_members: tuple[int, int]
) -> list[Trial]:
    """The best of every line that the rows cannot tell from the best of all.

    Errors of two candidates at the same rows are compared, so that what makes a row hard for both
    cancels. Features other than kernels are kernels that are drawn at random: they are taken only
    where they are told from the best kernel. Relevance that half of the rows have taught is worse
    than what all of them teach: it is out only where it is told from the best although it was
    judged by its own rows.
    """
    fewest, most = n_members
    kernels = [trial for trial in ranking if trial.candidate.basis == "kernel"]
    best = ranking[0]
    if kernels and _cannot_be_told(kernels[0], best, ground.weight):
        best = kernels[0]
    if most == 1:
        return [best]
    lines: dict[Candidate, Trial] = {}
    for trial in [best, *kernels]:
        lines.setdefault(_line_of(trial.candidate), trial)
    taught = [t for t in lines.values() if t.candidate.relevant]
    again = dict(
        zip(taught, spread(lambda t: ground.try_out(t.candidate, True), taught), strict=True)
    )
    close = [
        again.get(t, t)
        for t in lines.values()
        if any(_cannot_be_told(each, best, ground.weight) for each in (t, again.get(t, t)))
    ]
    taken = close if len(close) >= fewest else [again.get(t, t) for t in lines.values()][:fewest]
    return taken[:most]


def _line_of(candidate: Candidate) -> Candidate:
    """What is the same at all bandwidths, and for all subspaces."""
    return replace(candidate, multiple=1.0, subspace=1.0 if candidate.subspace == 1.0 else 0.5)


def _cannot_be_told(trial: Trial, best: Trial, weight: FloatArray) -> bool:
    excess = trial.losses - best.losses
    share = weight / weight.sum()
    mean = float(share @ excess)
    error = float(np.sqrt(share**2 @ (excess - mean) ** 2))
    return mean <= TOLD_APART * error and trial.error <= FAR_OFF * best.error


def _validated(trials: Sequence[Trial]) -> float:
    """Σ over parts of the error there of what the other parts would choose."""
    errors = np.concatenate([trial.by_part for trial in trials])
    rest = errors.sum(axis=1, keepdims=True) - errors
    chosen = np.argmin(rest, axis=0)
    return float(errors[chosen, np.arange(errors.shape[1])].sum())
