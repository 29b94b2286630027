"""Parameters that say "auto", turned into a basis by the rows of a fit."""

from __future__ import annotations

import copy
import numbers
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from negcorr._arrays import is_abroad, to_host
from negcorr._typing import FloatArray, Table
from negcorr._validation import check_positive_int
from negcorr.bases import Basis, MappedFeatures, NestedFeatures
from negcorr.candidates import Candidate, bare_basis
from negcorr.choosing import ALPHAS, Choice, OpenQuestions, choose
from negcorr.named_basis import (
    BASES,
    check_choices,
    is_auto,
    is_switch,
    make_basis,
    named_inputs,
)
from negcorr.proving import RUNGS, ProvingGround
from negcorr.rows import Rows

__all__ = ["chosen_basis", "open_questions"]

#: With fewer distinct rows nothing is searched for.
FEWEST_ROWS = 30

#: Most candidates that are taken together.
MOST_MEMBERS = 3

#: Bases that have a kernel and a bandwidth.
KERNELLED = ("nystroem", "fourier", "orthogonal")


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
        alphas=(0.0, *ALPHAS) if is_auto(alpha) else (float(alpha),),
        columns=estimator.n_components if basis == "linear" else None,
    )


def _open_relevance(relevance: Any, free: bool) -> tuple[bool, ...]:
    if is_switch(relevance):
        return (bool(relevance),)
    return (False, True) if is_auto(relevance) and free else (False,)


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


def chosen_basis(estimator: Any, rows: Rows, gap: FloatArray | None) -> tuple[Basis, Choice | None]:
    """An unfitted basis for these rows, and the choice that was made for it, if any.

    Parameters
    ----------
    estimator : NCLRegressor
        Whose parameters are asked.
    rows : Rows
        Training rows.
    gap : ndarray or None
        Where candidates are compared; at the best gap of each if None.
    """
    questions = open_questions(estimator)
    if questions is None:
        return make_basis(estimator), None
    check_positive_int("n_components", estimator.n_components)
    check_positive_int("n_estimators", estimator.n_estimators)
    generator = check_random_state(estimator.random_state)
    seed = int(generator.randint(np.iinfo(np.int32).max))
    gamma, relevance = estimator.gamma, estimator.relevance
    given = not (is_auto(relevance) or is_switch(relevance))
    make = partial(
        ProvingGround.of,
        rows,
        n_components=estimator.n_components,
        seed=seed,
        gap=None if gap is None else float(np.exp(np.mean(np.log(np.maximum(gap, 1e-10))))),
        given_gamma=None if isinstance(gamma, str) else float(gamma),
        given_relevance=relevance if given else None,
    )
    ground = make()
    if ground.n_rows < FEWEST_ROWS or ground.y.shape[1] == 0:
        return _plain_basis(estimator), None
    larger = None
    if ground.n_rows == RUNGS[0].n_rows:
        larger = make(rung=RUNGS[1], teacher=ground)
        larger = larger if larger.n_rows > ground.n_rows else None
    weight = rows.n_rows if rows.weight is None else float(to_host(rows.weight).sum())
    # At a given lam, and for leave-one-out, one ensemble of plain members.
    alone = not is_auto(estimator.basis) or gap is not None or estimator.criterion == "loo"
    most = 1 if alone else min(MOST_MEMBERS, estimator.n_estimators)
    choice = choose(ground, _answerable(questions, rows.X), most, weight, larger)
    return _basis_of(choice, estimator, rows, ground.given_relevance), choice


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
    if is_abroad(X):
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
    # Where a kind was given that is not possible, fitting it says so.
    return replace(questions, inputs=sparse or questions.inputs, relevance=(False,))


def _basis_of(
    choice: Choice, estimator: Any, rows: Rows, given_relevance: FloatArray | None
) -> Basis:
    """Features of the chosen candidate; of several, those of as many ensembles."""
    share = max(1, estimator.n_estimators // len(choice.members))
    generator = check_random_state(estimator.random_state)
    bases = []
    for number, chosen in enumerate(choice.members):
        seed = generator.randint(np.iinfo(np.int32).max) if number else estimator.random_state
        bare = bare_basis(
            chosen.candidate,
            chosen.gamma,
            share,
            estimator.n_components,
            int(rows.X.shape[1]),
            seed,
        )
        relevance = chosen.relevance if chosen.candidate.relevant else given_relevance
        bases.append(_on_columns(bare, chosen.candidate, relevance))
    if len(bases) == 1:
        return bases[0]
    return NestedFeatures(bases, gaps=[chosen.gap for chosen in choice.members])


def _on_columns(bare: Basis, candidate: Candidate, relevance: FloatArray | None) -> Basis:
    """The basis with what is done to columns before it."""
    if relevance is None and candidate.inputs in ("standard", "none"):
        if "standardize" in bare.get_params():
            bare.set_params(standardize=candidate.inputs == "standard")
        return bare
    return MappedFeatures(bare, inputs=candidate.inputs, relevance=relevance)
