"""Parameters that say "auto", turned into a basis by the rows of a fit."""

from __future__ import annotations

import copy
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from negcorr._common.arrays import is_device_array
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_positive_int
from negcorr.bases import Basis, MappedFeatures, NestedFeatures
from negcorr.bases.kernel_features import STAGE, ridge_gap
from negcorr.bases.named import (
    BASES,
    RIDGE,
    check_choices,
    is_auto,
    is_switch,
    make_basis,
    named_inputs,
    plain_estimators,
)
from negcorr.rows.rows import Rows, total_weight
from negcorr.selection.candidates import Candidate, bare_basis
from negcorr.selection.choose import ALPHAS, INNER_GAPS, Choice, Chosen, choose
from negcorr.selection.sample import ProvingGround
from negcorr.selection.space import KERNELLED, OpenQuestions

__all__ = ["Sizes", "chosen_basis", "made_basis", "open_questions", "sizes_of"]


#: With fewer distinct rows nothing is searched for.
FEWEST_ROWS = 30

#: Fewest and most candidates that are taken together; most where there are many rows, which tell
#: candidates apart and make each of them dear.
FEWEST_MEMBERS, MOST_MEMBERS, MOST_OF_MANY_ROWS = 2, 6, 4

#: Features of more than two kernels together, where there are more rows than a stage but not many.
USUAL_FEATURES = 1500

#: An ensemble grows from a stage of landmarks on where there are as many rows.
ROWS_TO_GROW = 2000


def open_questions(estimator: Any) -> OpenQuestions | None:
    """What an estimator leaves to the data; None where that is nothing.

    A search is made where ``basis``, ``gamma`` or ``alpha`` is "auto". With one of the first two,
    "auto" in ``kernel``, ``inputs`` and ``relevance`` is open too; else it means the plain value.
    """
    check_choices(estimator)
    basis, gamma, alpha = estimator.basis, estimator.gamma, estimator.alpha
    if not isinstance(basis, str):
        if is_auto(alpha):
            raise ValueError("alpha='auto' needs a basis that is named by a string.")
        return None
    free = basis == "auto" or (basis in KERNELLED and is_auto(gamma))
    if basis not in ("auto", *BASES) or not (free or is_auto(alpha)):
        return None
    _check_gamma(gamma)
    if basis == "orthogonal" and estimator.kernel not in ("auto", "gaussian"):
        raise ValueError(
            f"kernel={estimator.kernel!r} is not known to basis='orthogonal'; allowed are 'auto' "
            "and 'gaussian'."
        )
    return OpenQuestions(
        bases=OpenQuestions.bases if basis == "auto" else (basis,),
        kernels=_allowed(estimator.kernel, OpenQuestions.kernels, "gaussian", free),
        inputs=_allowed(named_inputs(estimator), OpenQuestions.inputs, "standard", free),
        bandwidths=None if is_auto(gamma) and free else (0,),
        relevance=_open_relevance(estimator.relevance, free),
        alphas=_open_alphas(alpha, basis),
        columns=estimator.n_components if basis == "linear" else None,
        subspace=_open_subspace(estimator, free),
    )


def _open_alphas(alpha: Any, basis: str) -> tuple[float, ...]:
    usual = RIDGE if basis in ("auto", "kernel") else 0.0
    if is_auto(alpha):
        return (usual, *(each for each in (0.0, *ALPHAS) if each != usual))
    if alpha is not None and (is_switch(alpha) or not isinstance(alpha, numbers.Real)):
        raise ValueError(f"alpha={alpha!r} must be None, 'auto' or a finite number of at least 0.")
    return (usual if alpha is None else float(alpha),)


def _open_relevance(relevance: Any, free: bool) -> tuple[bool, ...]:
    if is_switch(relevance):
        return (bool(relevance),)
    return (False, True) if is_auto(relevance) and free else (False,)


def _open_subspace(estimator: Any, free: bool) -> float | None:
    if is_auto(estimator.subspace):
        return None if free else 1.0
    return float(estimator.subspace)


def _check_gamma(gamma: Any) -> None:
    if gamma in ("auto", "kwok-tsang") if isinstance(gamma, str) else _is_positive(gamma):
        return
    raise ValueError(
        f"gamma={gamma!r} is unknown; allowed are 'auto', 'kwok-tsang' and finite numbers > 0."
    )


def _is_positive(value: Any) -> bool:
    if is_switch(value) or not isinstance(value, numbers.Real):
        return False
    return 0.0 < float(value) < np.inf


def _allowed(value: Any, every: tuple[Any, ...], plain: Any, free: bool) -> tuple[Any, ...]:
    if not is_auto(value):
        return (value,)
    return every if free else (plain,)


@dataclass(frozen=True)
class Sizes:
    """How many landmarks, or members of other features, each of several lines may have.

    Attributes
    ----------
    landmarks : tuple of int
        For each line; the first is tried first, the others while errors fall.
    n_components : int
        Features per small member.
    """

    landmarks: tuple[int, ...]
    n_components: int


def chosen_basis(
    estimator: Any,
    rows: Rows,
    gap: FloatArray | None,
    weight: float | None = None,
    largest: bool = False,
) -> tuple[Basis, Choice | None]:
    """An unfitted basis for these rows, and the choice that was made for it, if any.

    Parameters
    ----------
    estimator : NCLRegressor
        Whose parameters are asked.
    rows : Rows
        Training rows.
    gap : ndarray or None
        Where candidates of one ensemble are compared; at the best gap of each if None.
    weight : float, optional
        Σw of all rows of the fit, where these are some of them.
    largest : bool, default=False
        Of an ensemble that may grow, whether that of the last size rather than the first.
    """
    check_size(estimator)
    questions = open_questions(estimator)
    if questions is None:
        return make_basis(estimator), None
    generator = check_random_state(estimator.random_state)
    seed = int(generator.randint(np.iinfo(np.int32).max))
    gamma, relevance = estimator.gamma, estimator.relevance
    given = not (is_auto(relevance) or is_switch(relevance))
    alone = not is_auto(estimator.basis) or estimator.criterion == "loo"
    compared = gap if alone else None
    ground = ProvingGround.of(
        rows,
        n_components=estimator.n_components,
        seed=seed,
        gap=None if compared is None else _middle(compared),
        given_gamma=None if is_auto(gamma) else gamma if isinstance(gamma, str) else float(gamma),
        given_relevance=relevance if given else None,
    )
    if ground.n_rows < FEWEST_ROWS or ground.y.shape[1] == 0:
        return _plain_basis(estimator), None
    mass = total_weight(rows) if weight is None else weight
    together = _together(estimator, alone, ground.n_distinct)
    choice = choose(ground, _answerable(questions, rows.X), together, mass)
    sizes = sizes_of(estimator, choice).landmarks
    return made_basis(choice, estimator, rows, sizes[-1 if largest else 0], mass), choice


def _middle(gap: FloatArray) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(gap, 1e-10)))))


def _together(estimator: Any, alone: bool, n_rows: int) -> tuple[int, int]:
    """Fewest and most candidates that are taken together."""
    if alone:
        return 1, 1
    most = MOST_MEMBERS if n_rows < ROWS_TO_GROW else MOST_OF_MANY_ROWS
    if not is_auto(estimator.n_estimators):
        most = min(most, estimator.n_estimators)
    return min(FEWEST_MEMBERS, most), most


def sizes_of(estimator: Any, choice: Choice) -> Sizes:
    """Landmarks for each line of a choice; only distinct rows count.

    Given ``n_estimators``, or the usual ones of a basis that is named and no kernel's own, are
    shared among the lines. Else lines share ``budget``: with few rows lines have all of
    them as landmarks, but from 500 rows on more than two lines share 1500; with many, they begin
    with one stage each and double while that fits into the budget and into half of the rows.
    """
    width, lines = int(estimator.n_components), len(choice.members)
    if not is_auto(estimator.n_estimators) or estimator.basis not in ("auto", "kernel"):
        return Sizes((max(1, plain_estimators(estimator) // lines) * width,), width)
    n_rows, share = choice.n_distinct, max(1, estimator.budget // lines)
    if n_rows < ROWS_TO_GROW:
        few = lines <= FEWEST_MEMBERS or n_rows <= STAGE
        return Sizes((min(n_rows, share, n_rows if few else USUAL_FEATURES // lines),), width)
    most = max(1, min(share, n_rows // 2 // lines))
    if most < STAGE or STAGE % width or any(c.candidate.basis != "kernel" for c in choice.members):
        return Sizes((most,), width)  # such features would not begin with those of fewer
    # One line begins with two stages: most go on to these, and at once is cheaper.
    sizes = [min(STAGE if lines > 1 else 2 * STAGE, most)]
    while 2 * sizes[-1] <= most:
        sizes.append(2 * sizes[-1])
    return Sizes(tuple(sizes), width)


def check_size(estimator: Any) -> None:
    """Raise where the number of members, features or their budget is none."""
    check_positive_int("n_components", estimator.n_components)
    check_positive_int("budget", estimator.budget)
    if is_auto(estimator.n_estimators):
        return
    if isinstance(estimator.n_estimators, str):
        raise ValueError(
            f"n_estimators={estimator.n_estimators!r} must be 'auto' or an integer of at least 1."
        )
    check_positive_int("n_estimators", estimator.n_estimators)


def _plain_basis(estimator: Any) -> Basis:
    """What is made where there is too little to search by: no relevance is learnt either."""
    if is_switch(estimator.relevance):
        estimator = copy.copy(estimator)
        estimator.relevance = False
    return make_basis(estimator)


def _answerable(questions: OpenQuestions, X: Table) -> OpenQuestions:
    """Without what cannot be done to these rows, as far as it was left open."""
    bases = set(questions.bases)
    if X.shape[1] == 1:
        bases.discard("linear")  # all members would be the same
    if is_device_array(X):
        bases.discard("trees")
    if sp.issparse(X):
        bases.discard("linear")
        questions = _for_sparse(questions)
    left = tuple(name for name in questions.bases if name in bases)
    return replace(questions, bases=left or questions.bases)


def _for_sparse(questions: OpenQuestions) -> OpenQuestions:
    """Without what would make rows dense."""
    if questions.relevance == (True,):
        raise ValueError(
            "relevance=True is not learnt from sparse X; allowed are 'auto', False, and a number "
            "for each column of X."
        )
    sparse = tuple(kind for kind in questions.inputs if kind in ("standard", "none"))
    share = 1.0 if questions.subspace is None else questions.subspace
    # Where a kind was given that is not possible, fitting it says so.
    return replace(questions, inputs=sparse or questions.inputs, relevance=(False,), subspace=share)


def made_basis(
    choice: Choice, estimator: Any, rows: Rows, landmarks: int, weight: float | None = None
) -> Basis:
    """Features of the chosen candidate; of several, those of as many ensembles.

    Parameters
    ----------
    choice : Choice
    estimator : NCLRegressor
        Whose parameters are asked.
    rows : Rows
        Training rows, or some of them.
    landmarks : int
        For each of the ensembles.
    weight : float, optional
        Σw of all rows of the fit.
    """
    mass = total_weight(rows) if weight is None else weight
    drawn = np.random.RandomState(choice.seed).randint(np.iinfo(np.int32).max, size=MOST_MEMBERS)
    seeds: list[Any] = drawn.tolist()
    if isinstance(estimator.random_state, numbers.Integral):
        seeds[0] = estimator.random_state  # as where nothing is searched for
    given = estimator.relevance
    given = None if is_auto(given) or is_switch(given) else given
    width = int(estimator.n_components)
    bases, gaps = [], []
    for seed, chosen in zip(seeds, choice.members, strict=False):
        bare = bare_basis(
            chosen.candidate,
            chosen.gamma,
            max(1, landmarks // width),
            width,
            int(rows.X.shape[1]),
            seed,
        )
        bases.append(_on_columns(bare, chosen.candidate, chosen.relevance, given))
        # Every member has the ridge of the path.
        same = replace(chosen.candidate, alpha=choice.candidate.alpha)
        count = min(max(1, landmarks // width) * width, choice.n_distinct)
        gaps.append(_inner_gap(replace(chosen, candidate=same), rows, count, width, mass))
    return bases[0] if len(bases) == 1 else NestedFeatures(bases, gaps)


def _inner_gap(chosen: Chosen, rows: Rows, landmarks: int, width: int, mass: float) -> float:
    candidate = chosen.candidate
    if candidate.basis != "kernel":
        return chosen.strength
    members = max(1, round(landmarks / width))
    if candidate.kernel == "linear":
        members = min(members, int(rows.X.shape[1]))
    gap = ridge_gap(chosen.strength, mass, landmarks, members, candidate.alpha)
    return float(np.clip(gap, *INNER_GAPS))


def _on_columns(bare: Basis, candidate: Candidate, learnt: Any, given: Any) -> Basis:
    """The basis with what is done to columns before it."""
    relevance = learnt if candidate.relevant else given
    if relevance is None and candidate.inputs in ("standard", "none"):
        if "standardize" in bare.get_params():
            bare.set_params(standardize=candidate.inputs == "standard")
        return bare
    return MappedFeatures(bare, inputs=candidate.inputs, relevance=relevance)
