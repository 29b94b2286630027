"""Parameters that say "auto", turned into a basis by the rows of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from negcorr._typing import FloatArray
from negcorr._validation import check_positive_int
from negcorr.bases import Basis, MappedFeatures
from negcorr.candidates import ProvingGround, bare_basis
from negcorr.choosing import ALPHAS, Choice, OpenQuestions, choose
from negcorr.named_basis import check_choices, is_auto, make_basis, named_inputs
from negcorr.rows import Rows

__all__ = ["chosen_basis", "open_questions"]

#: With fewer distinct rows nothing is searched for.
FEWEST_ROWS = 30

#: Bases that have a kernel and a bandwidth.
KERNELLED = ("nystroem", "fourier", "orthogonal")


def open_questions(estimator: Any) -> OpenQuestions | None:
    """What an estimator leaves to the data; None where that is nothing.

    A search is made where ``basis``, ``gamma`` or ``alpha`` is "auto". Then "auto" in ``kernel``,
    ``inputs`` and ``relevance`` is open too; else it means the plain value.
    """
    check_choices(estimator)
    basis, gamma, alpha = estimator.basis, estimator.gamma, estimator.alpha
    if not isinstance(basis, str):
        if is_auto(alpha):
            raise ValueError("alpha='auto' needs a basis that is named by a string.")
        return None
    free = basis == "auto" or (basis in KERNELLED and is_auto(gamma))
    if not free and not is_auto(alpha):
        return None
    relevance = estimator.relevance
    return OpenQuestions(
        bases=OpenQuestions.bases if basis == "auto" else (basis,),
        kernels=_allowed(estimator.kernel, OpenQuestions.kernels, "gaussian", free),
        inputs=_allowed(named_inputs(estimator), OpenQuestions.inputs, "standard", free),
        bandwidths=None if is_auto(gamma) and free else (0,),
        relevance=(
            _allowed(relevance, (False, True), False, free)
            if is_auto(relevance) or isinstance(relevance, (bool, np.bool_))
            else (False,)
        ),
        alphas=(0.0, *ALPHAS) if is_auto(alpha) else (float(alpha),),
    )


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
    given = not (is_auto(relevance) or isinstance(relevance, (bool, np.bool_)))
    ground = ProvingGround.of(
        rows,
        n_components=estimator.n_components,
        seed=seed,
        gap=None if gap is None else float(np.exp(np.mean(np.log(np.maximum(gap, 1e-10))))),
        given_gamma=None if isinstance(gamma, str) else float(gamma),
        given_relevance=np.asarray(relevance, dtype=np.float64) if given else None,
    )
    if ground.n_rows < FEWEST_ROWS or ground.y.shape[1] == 0:
        return make_basis(estimator), None
    if sp.issparse(ground.X):
        questions = _for_sparse(questions)
    choice = choose(ground, questions)
    return _basis_of(choice, estimator, rows, ground.given_relevance), choice


def _for_sparse(questions: OpenQuestions) -> OpenQuestions:
    """Without what would make rows dense, or look at every column."""
    inputs = tuple(kind for kind in questions.inputs if kind in ("standard", "none"))
    bases = tuple(name for name in questions.bases if name != "linear") or questions.bases
    return replace(questions, inputs=inputs or ("standard",), relevance=(False,), bases=bases)


def _basis_of(
    choice: Choice, estimator: Any, rows: Rows, given_relevance: FloatArray | None
) -> Basis:
    candidate = choice.candidate
    bare = bare_basis(
        candidate,
        choice.gamma,
        estimator.n_estimators,
        estimator.n_components,
        int(rows.X.shape[1]),
        estimator.random_state,
    )
    relevance = choice.relevance if candidate.relevant else given_relevance
    if candidate.basis == "trees" or (candidate.inputs == "none" and relevance is None):
        return bare
    if candidate.inputs == "standard" and relevance is None:
        return bare.set_params(standardize=True)
    return MappedFeatures(bare, inputs=candidate.inputs, relevance=relevance)
