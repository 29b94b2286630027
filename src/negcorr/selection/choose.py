"""The choice of features by the data, and the bases that are made of it (:func:`select_basis`).

Everything that was left open is chosen on the training rows alone, by leave-one-out on a sample of
them (:mod:`negcorr.selection.sample`, :mod:`negcorr.selection.search`). With many rows, the best
kernels are rescored on more of them (:mod:`negcorr.selection.rescoring`).
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from negcorr._common.threads import spread
from negcorr._common.types import FloatArray
from negcorr.bases import Basis, NestedFeatures
from negcorr.bases.kernel_features import STAGE, ridge_gap
from negcorr.rows.rows import Rows, total_weight
from negcorr.selection.rescoring import rescored
from negcorr.selection.sample import SearchSample, Trial, comparable
from negcorr.selection.search import run_search
from negcorr.selection.space import Candidate, SearchSpace, candidate_basis

__all__ = ["Choice", "Chosen", "choose", "feature_counts", "select_basis"]

#: With fewer distinct rows nothing is searched for.
FEWEST_ROWS = 30

#: A line is combined with the best one if its error is not larger by this many standard errors, nor
#: by this factor: with long tails standard errors are not reliable.
STANDARD_ERRORS, FAR_OFF = 2.0, 1.3

#: At most so many lines are rescored, none of which is worse than the best by this factor on the
#: rows of the search.
MOST_RESCORED, WORTH_RESCORING = 8, 1.5

#: Smallest number of candidates that are combined, if several may be; and the largest number with
#: many rows, which distinguish the candidates better and make each of them expensive.
FEWEST_MEMBERS, MOST_OF_MANY_ROWS = 2, 4

#: Least and largest gap within a member.
INNER_GAPS = (1e-10, 0.9)

#: Features of more than two kernels together, where there are more rows than a stage but not many.
USUAL_FEATURES = 1500

#: With as many rows an ensemble starts with a stage of landmarks and grows.
ROWS_TO_GROW = 2000

#: Members of bases without kernels of their own.
USUAL_MEMBERS = 100


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
        The best regularisation: the ridge of a kernel; the gap of other features, scaled to the
        rows of the fit.
    """

    candidate: Candidate
    gamma: float
    relevance: FloatArray | None
    strength: float


@dataclass(frozen=True, repr=False)
class Choice:
    """What was chosen, and from what.

    Attributes
    ----------
    members : tuple of Chosen
        One candidate; or several, each of which makes a member that is an ensemble itself.
    trials : tuple of Trial
        All candidates, the best first.
    validated : float
        Validated error of the search: on each fifth of the rows, the error of the candidate that
        the other four fifths choose. If the best candidates were rescored, it is computed on the
        rows beyond the search.
    n_rows : int
        Distinct rows that candidates were tried on.
    n_distinct : int
        Distinct rows that there are in all.
    seed : int
        Seed of all later draws.
    rescored : tuple of Trial
        Trials of the best kernels on more rows, the best first; none where there are few rows.
    """

    members: tuple[Chosen, ...]
    trials: tuple[Trial, ...]
    validated: float
    n_rows: int
    n_distinct: int
    seed: int
    rescored: tuple[Trial, ...] = ()

    @property
    def best(self) -> Trial:
        """The trial of the first of the members, on more rows if it was rescored."""
        tried = (*self.rescored, *self.trials)
        return next(trial for trial in tried if trial.candidate == self.candidate)

    @property
    def candidate(self) -> Candidate:
        """The first of the members, which has the smallest error of them."""
        return self.members[0].candidate

    @property
    def gamma(self) -> float:
        """The bandwidth of the first of the members."""
        return self.members[0].gamma

    @property
    def relevance(self) -> FloatArray | None:
        """The learnt relevance of columns of the first of the members; None if it has none."""
        return self.members[0].relevance

    @property
    def optimism(self) -> float:
        """``validated`` minus the error of the best candidate: the optimism of the choice."""
        return self.validated - self.best.error

    def lines(self) -> list[str]:
        """What was chosen, in a few lines."""
        how = f"by leave-one-out, {len(self.trials)} trials on {self.n_rows} rows"
        if self.rescored:
            n_more = len(self.rescored[0].losses)
            how += f", the best {len(self.rescored)} lines again on {n_more} others"
        held_out = f"{self.validated:.4g} if the search is held out"
        error = f"error {self.best.error:.4g} of var(y), {held_out}"
        return [*(str(chosen.candidate) for chosen in self.members), how, error]

    def __repr__(self) -> str:
        more = f", rescored on {len(self.rescored[0].losses)} others" if self.rescored else ""
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
        if self.rescored:
            lines.append(f"the best of them on {len(self.rescored[0].losses)} other rows:")
            lines += [f"  {t.error:8.4f}  {t.candidate}" for t in self.rescored]
        lines.append(f"error validated for the search: {self.validated:.4f}")
        return "\n".join(lines)


def select_basis(
    rows: Rows,
    space: SearchSpace,
    random_state: Any,
    *,
    gap: FloatArray | None = None,
    weight: float | None = None,
) -> tuple[list[Basis], Choice | None]:
    """Unfitted bases for these rows, and the choice that they were made by.

    Parameters
    ----------
    rows : Rows
        Training rows.
    space : SearchSpace
        What may be chosen.
    random_state : int, RandomState or None
    gap : ndarray, optional
        A given gap, at which candidates of one ensemble are compared; each at its best gap if None.
    weight : float, optional
        Σw of all rows of the fit, where these are some of them.

    Returns
    -------
    bases : list of Basis
        From small to large: an ensemble may grow from each to the next, which begins with the
        features of the one before.
    choice : Choice or None
        None where there are too few rows to search by.
    """
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    one_gap = None
    if gap is not None and not space.several:
        one_gap = float(np.exp(np.mean(np.log(np.maximum(gap, 1e-10)))))
    sample = SearchSample.of(rows, space.suited_to(rows.X), seed, one_gap)
    if sample.n_rows < FEWEST_ROWS or sample.y.shape[1] == 0:
        return [space.plain_basis(random_state)], None
    mass = total_weight(rows) if weight is None else weight
    choice = choose(sample, mass)
    n_columns = int(rows.X.shape[1])
    return [
        _made(choice, space, count, n_columns, mass, random_state)
        for count in feature_counts(choice, space)
    ], choice


def choose(sample: SearchSample, weight: float | None = None) -> Choice:
    """Choose from a space by leave-one-out.

    Parameters
    ----------
    sample : SearchSample
        Rows to try candidates on, and the space that they are from.
    weight : float, optional
        Σw of the rows of the fit, to which gaps are scaled; that of the sample if None.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.rows import Rows
    >>> from negcorr.selection.choose import choose
    >>> from negcorr.selection.sample import SearchSample
    >>> from negcorr.selection.space import SearchSpace
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    >>> y = np.sin(3 * X[:, :1])
    >>> choice = choose(SearchSample.of(Rows(X, y), SearchSpace(max_members=1), seed=0))
    >>> choice.candidate.relevant, bool(choice.relevance[0] > choice.relevance[1])
    (True, True)
    """
    space, ranking, mass = sample.space, run_search(sample).ranking(), float(sample.weight.sum())
    most = 1
    if space.several:
        few = sample.n_distinct < ROWS_TO_GROW
        most = space.max_members if few else min(space.max_members, MOST_OF_MANY_ROWS)
        most = most if space.n_members is None else min(most, space.n_members)
    # The best of all, or the best kernel where the other is not clearly better.
    kernels = [trial for trial in ranking if trial.candidate.basis == "kernel"]
    best = ranking[0]
    if kernels and _not_clearly_worse(kernels[0], best, sample.weight):
        best = kernels[0]
    again: list[Trial] = []
    if sample.larger is not None and best.candidate.basis == "kernel":
        again = _rescored_lines(_best_of_lines(best, ranking), sample, sample.larger)
        beyond = sample.larger.weight[sample.n_rows :]
        taken = _close(again, again[0], {}, beyond, (1, most))
        validated = _validated(again) / float(beyond.sum())
    else:
        taken = _finalists(ranking, best, sample, most)
        validated = _validated(ranking) / mass
    # Relevance that is learnt from all rows takes long, and is learnt in parallel.
    learnt = spread(lambda trial: sample.relevance_of(trial.candidate, "all"), taken)
    # A gap that suits n rows suits 2n when it is halved.
    scale = 1.0 if weight is None else min(mass / weight, 1.0)
    members = []
    for trial, relevance in zip(taken, learnt, strict=True):
        strength, gamma = trial.strength, sample.gamma(trial.candidate, "all")
        if trial.candidate.basis != "kernel":
            strength = float(np.clip(strength * scale, *INNER_GAPS))
        columns = None if relevance is None else relevance.columns
        members.append(Chosen(trial.candidate, gamma, columns, strength))
    about = sample.n_rows, sample.n_distinct, sample.seed
    return Choice(tuple(members), tuple(ranking), validated, *about, rescored=tuple(again))


def feature_counts(choice: Choice, space: SearchSpace) -> tuple[int, ...]:
    """Landmarks, or features of bases without landmarks, of each of the chosen candidates.

    The first number is tried first, the others as long as errors fall; only distinct rows count.
    Given ``n_members``, or the usual ones of bases without kernels of their own, are shared among
    the candidates. Otherwise they share ``budget``. With few rows each candidate has all rows as
    landmarks, but from 500 rows on more than two candidates share 1500. With many rows they begin
    with one stage each, and the number is doubled as long as it is within the budget and half of
    the rows.
    """
    width, lines = space.n_components, len(choice.members)
    if space.n_members is not None or "kernel" not in space.bases:
        return (max(1, (space.n_members or USUAL_MEMBERS) // lines) * width,)
    n_rows, share = choice.n_distinct, max(1, space.budget // lines)
    if n_rows < ROWS_TO_GROW:
        few = lines <= FEWEST_MEMBERS or n_rows <= STAGE
        return (min(n_rows, share, n_rows if few else USUAL_FEATURES // lines),)
    most = max(1, min(share, n_rows // 2 // lines))
    if most < STAGE or STAGE % width or any(c.candidate.basis != "kernel" for c in choice.members):
        return (most,)  # such features would not begin with those of fewer
    # A single line begins with two stages: most ensembles grow to two stages, and starting with
    # both is cheaper.
    counts = [min(STAGE if lines > 1 else 2 * STAGE, most)]
    while 2 * counts[-1] <= most:
        counts.append(2 * counts[-1])
    return tuple(counts)


def _made(
    choice: Choice,
    space: SearchSpace,
    n_features: int,
    n_columns: int,
    mass: float,
    random_state: Any,
) -> Basis:
    """The basis of the chosen candidate; of several, nested ones with a gap within each."""
    width, most = space.n_components, max(len(choice.members), 6)
    seeds = np.random.RandomState(choice.seed).randint(np.iinfo(np.int32).max, size=most).tolist()
    if isinstance(random_state, numbers.Integral):
        seeds[0] = random_state  # as where nothing is searched for
    # Where all rows are landmarks, none is left out for not filling a member.
    whole = n_features >= choice.n_distinct
    n_members = max(1, -(-n_features // width) if whole else n_features // width)
    bases, gaps = [], []
    for seed, chosen in zip(seeds, choice.members, strict=False):
        candidate = chosen.candidate
        basis = candidate_basis(
            candidate,
            chosen.gamma,
            n_members,
            width,
            n_columns,
            seed,
            inputs=candidate.inputs,
            relevance=chosen.relevance if candidate.relevant else space.given_relevance,
        )
        gap = chosen.strength
        if candidate.basis == "kernel":
            landmarks = min(n_members * width, choice.n_distinct)
            count = max(1, round(landmarks / width))
            count = min(count, n_columns) if candidate.kernel == "linear" else count
            # Every member has the ridge of the path.
            gap = ridge_gap(gap, mass, landmarks, count, choice.candidate.alpha)
            gap = float(np.clip(gap, *INNER_GAPS))
        bases.append(basis)
        gaps.append(gap)
    return bases[0] if len(bases) == 1 else NestedFeatures(bases, gaps)


def _rescored_lines(
    lines: Sequence[Trial], sample: SearchSample, larger: SearchSample
) -> list[Trial]:
    """Trials of the best kernels on more rows, the best first; ``lines`` begin with the best."""
    worth = [t.candidate for t in lines if t.error <= WORTH_RESCORING * lines[0].error]
    worth = worth[:MOST_RESCORED]
    for inputs in dict.fromkeys(each.inputs for each in worth):
        larger.mapped(inputs)
    spread(sample.relevance_of, worth)
    return sorted(spread(lambda each: rescored(sample, each), worth), key=lambda trial: trial.rank)


def _finalists(
    ranking: Sequence[Trial], best: Trial, sample: SearchSample, most: int
) -> list[Trial]:
    """The best of every line that the rows cannot distinguish from the best of all.

    Features other than kernels approximate a kernel at random: they are chosen only if they are
    clearly better than the best kernel. Relevance learnt from half of the rows is worse than
    relevance learnt from all rows: it is left out only if it is clearly worse although it was
    tested on the rows that it was learnt from.
    """
    if most == 1:
        return [best]
    lines = _best_of_lines(best, ranking)
    taught = [t.candidate for t in lines if t.candidate.relevant]
    again = spread(lambda candidate: sample.trial_of(candidate, True), taught)
    latest = dict(zip(taught, again, strict=True))
    return _close(lines, best, latest, sample.weight, (min(FEWEST_MEMBERS, most), most))


def _close(
    lines: Sequence[Trial],
    best: Trial,
    again: Mapping[Candidate, Trial],
    weight: FloatArray,
    n_members: tuple[int, int],
) -> list[Trial]:
    """Lines that cannot be distinguished from the best, by their first trial or a later one.

    ``n_members`` are the fewest and most that are taken.
    """
    fewest, most = n_members
    latest = [again.get(t.candidate, t) for t in lines]
    close = [
        last
        for first, last in zip(lines, latest, strict=True)
        if any(_not_clearly_worse(each, best, weight) for each in (first, last))
    ]
    return (close if len(close) >= fewest else latest[:fewest])[:most]


def _best_of_lines(best: Trial, ranking: Sequence[Trial]) -> list[Trial]:
    """The best trial, and the first kernel of every other line.

    A line is the set of candidates that differ only in the bandwidth and the subspaces.
    """
    lines: dict[Candidate, Trial] = {}
    for trial in (best, *(t for t in ranking if t.candidate.basis == "kernel")):
        share = 1.0 if trial.candidate.subspace == 1.0 else 0.5
        lines.setdefault(replace(trial.candidate, multiple=1.0, subspace=share), trial)
    return list(lines.values())


def _not_clearly_worse(trial: Trial, best: Trial, weight: FloatArray) -> bool:
    """Whether a trial is within two standard errors of the best, and within a factor of 1.3.

    Errors of both are compared row by row, so errors that both have in common cancel.
    """
    excess = trial.losses - best.losses
    share = weight / weight.sum()
    mean = float(share @ excess)
    error = float(np.sqrt(share**2 @ (excess - mean) ** 2))
    return mean <= STANDARD_ERRORS * error and trial.error <= FAR_OFF * best.error


def _validated(trials: Sequence[Trial]) -> float:
    """The sum over parts of the error of the candidate that the other parts choose."""
    errors = np.concatenate([trial.by_part for trial in trials])
    rest = errors.sum(axis=1, keepdims=True) - errors
    chosen = np.argmin(comparable(rest), axis=0)
    return float(errors[chosen, np.arange(errors.shape[1])].sum())
