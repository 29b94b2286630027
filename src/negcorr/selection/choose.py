"""The choice of features by the data: kernel, bandwidth, inputs, relevance, basis, ridge.

Every choice that was left open is made on the training rows alone, by leave-one-out on the proving
ground (:mod:`negcorr.selection.sample`), in a race of candidates (:mod:`negcorr.selection.search`).
Where there are many rows, more of them judge the best kernels again
(:mod:`negcorr.selection.rescoring`). What the rows cannot tell apart is not chosen between: it is
taken together, as members of one ensemble.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from negcorr._common.threads import spread
from negcorr._common.types import FloatArray
from negcorr.selection.candidates import Candidate
from negcorr.selection.rescoring import judged
from negcorr.selection.sample import ProvingGround, Trial
from negcorr.selection.search import Race, run_race
from negcorr.selection.space import OpenQuestions

__all__ = ["Choice", "Chosen", "choose"]

#: A line stays in the running while it is not worse than the best by this many standard errors,
#: nor by this factor: with long tails standard errors say little.
TOLD_APART, FAR_OFF = 2.0, 1.3

#: At most so many lines are judged by more rows, none of which is worse than the best by this
#: factor on the rows of the search.
MOST_JUDGED, WORTH_JUDGING = 8, 1.5

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
        Error of the search: on each fifth of the rows, that of what the other four would choose;
        of the rows beyond the search where these have judged.
    n_rows : int
        Distinct rows that candidates were tried on.
    n_distinct : int
        Distinct rows that there are in all.
    seed : int
        Of what is drawn from here on.
    judged : tuple of Trial
        What more rows said of the best kernels, the best first; none where there are few rows.
    """

    members: tuple[Chosen, ...]
    trials: tuple[Trial, ...]
    validated: float
    n_rows: int
    n_distinct: int
    seed: int
    judged: tuple[Trial, ...] = ()

    @property
    def best(self) -> Trial:
        """What leave-one-out said of the first of the members, that of more rows if they judged."""
        tried = (*self.judged, *self.trials)
        return next(trial for trial in tried if trial.candidate == self.candidate)

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
        if self.judged:
            n_more = len(self.judged[0].losses)
            how += f", the best {len(self.judged)} lines again on {n_more} others"
        held_out = f"{self.validated:.4g} if the search is held out"
        error = f"error {self.best.error:.4g} of var(y), {held_out}"
        return [*(str(chosen.candidate) for chosen in self.members), how, error]

    def __repr__(self) -> str:
        more = f", judged by {len(self.judged[0].losses)} others" if self.judged else ""
        return (
            f"Choice({self.candidate}; error {self.best.error:.4g}, validated "
            f"{self.validated:.4g}, of {len(self.trials)} on {self.n_rows} rows{more})"
        )

    def __str__(self) -> str:
        lines = [
            f"{len(self.trials)} candidates on {self.n_rows} rows, leave-one-out error relative "
            "to the variance of y:"
        ]
        lines += [f"  {t.error:8.4f}  {t.candidate}" for t in self.trials]
        if self.judged:
            lines.append(f"the best of them on {len(self.judged[0].losses)} other rows:")
            lines += [f"  {t.error:8.4f}  {t.candidate}" for t in self.judged]
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
        cannot tell from the best are. Where more rows have judged, one is enough.
    weight : float, optional
        Σw of the rows of the fit, to which gaps are scaled; that of the rows of the search if None.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.selection.sample import ProvingGround
    >>> from negcorr.selection.choose import choose
    >>> from negcorr.selection.space import OpenQuestions
    >>> from negcorr.rows.rows import Rows
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    >>> y = np.sin(3 * X[:, :1])
    >>> ground = ProvingGround.of(Rows(X, y), n_components=10, seed=0)
    >>> choice = choose(ground, OpenQuestions())
    >>> choice.candidate.relevant, bool(choice.relevance[0] > choice.relevance[1])
    (True, True)
    """
    return _choice(run_race(ground, questions), n_members, weight)


def _choice(race: Race, n_members: tuple[int, int], weight: float | None) -> Choice:
    ground, ranking, mass = race.ground, race.ranking(), float(race.ground.weight.sum())
    # A gap that suits n rows suits 2n when it is halved.
    scale = 1.0 if weight is None else min(mass / weight, 1.0)
    again = _judged(ranking, ground)
    if again and ground.more is not None:
        beyond = ground.more.weight[ground.n_rows :]
        taken = _close(again, again[0], {}, beyond, (1, n_members[1]))
        validated = _validated(again) / float(beyond.sum())
    else:
        taken = _finalists(ranking, ground, n_members)
        validated = _validated(ranking) / mass
    # What is learnt from all rows takes long, and is learnt at once.
    columns = spread(lambda trial: ground.columns(trial.candidate), taken)
    members = [
        Chosen(t.candidate, ground.gamma(t.candidate), relevance, _strength(t, scale))
        for t, relevance in zip(taken, columns, strict=True)
    ]
    about = ground.n_rows, ground.n_distinct, ground.seed
    return Choice(tuple(members), tuple(ranking), validated, *about, judged=tuple(again))


def _judged(ranking: Sequence[Trial], ground: ProvingGround) -> list[Trial]:
    """What more rows say of the best kernels, where there are such rows and kernels are best."""
    best = _best_kernel_or_other(ranking, ground.weight)
    if ground.more is None or best.candidate.basis != "kernel":
        return []
    worth = [
        trial.candidate
        for trial in _best_of_lines([best, *_kernels(ranking)]).values()
        if trial.error <= WORTH_JUDGING * best.error
    ][:MOST_JUDGED]
    for inputs in dict.fromkeys(each.inputs for each in worth):
        ground.more.mapped(inputs)
    spread(ground.learnt_relevance, worth)
    return sorted(spread(lambda each: judged(ground, each), worth), key=lambda trial: trial.error)


def _strength(trial: Trial, scale: float) -> float:
    if trial.candidate.basis == "kernel":
        return trial.strength
    return float(np.clip(trial.strength * scale, *INNER_GAPS))


def _finalists(
    ranking: Sequence[Trial], ground: ProvingGround, n_members: tuple[int, int]
) -> list[Trial]:
    """The best of every line that the rows cannot tell from the best of all.

    Features other than kernels are kernels that are drawn at random: they are taken only
    where they are told from the best kernel. Relevance that half of the rows have taught is worse
    than what all of them teach: it is out only where it is told from the best although it was
    judged by its own rows.
    """
    best = _best_kernel_or_other(ranking, ground.weight)
    if n_members[1] == 1:
        return [best]
    lines = list(_best_of_lines([best, *_kernels(ranking)]).values())
    taught = [t for t in lines if t.candidate.relevant]
    again = dict(
        zip(
            (t.candidate for t in taught),
            spread(lambda t: ground.try_out(t.candidate, True), taught),
            strict=True,
        )
    )
    return _close(lines, best, again, ground.weight, n_members)


def _close(
    lines: Sequence[Trial],
    best: Trial,
    again: Mapping[Candidate, Trial],
    weight: FloatArray,
    n_members: tuple[int, int],
) -> list[Trial]:
    """Lines that cannot be told from the best, as they were tried first or in a trial again.

    Errors of two candidates at the same rows are compared, so that what makes a row hard for both
    cancels.
    """
    fewest, most = n_members
    latest = [again.get(t.candidate, t) for t in lines]
    close = [
        last
        for first, last in zip(lines, latest, strict=True)
        if any(_cannot_be_told(each, best, weight) for each in (first, last))
    ]
    return (close if len(close) >= fewest else latest[:fewest])[:most]


def _best_kernel_or_other(ranking: Sequence[Trial], weight: FloatArray) -> Trial:
    """The best of all, or the best kernel where the two cannot be told apart."""
    kernels = _kernels(ranking)
    if kernels and _cannot_be_told(kernels[0], ranking[0], weight):
        return kernels[0]
    return ranking[0]


def _kernels(ranking: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in ranking if trial.candidate.basis == "kernel"]


def _best_of_lines(trials: Sequence[Trial]) -> dict[Candidate, Trial]:
    """The first of every line."""
    lines: dict[Candidate, Trial] = {}
    for trial in trials:
        lines.setdefault(_line_of(trial.candidate), trial)
    return lines


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
