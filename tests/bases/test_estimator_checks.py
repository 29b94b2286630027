"""scikit-learn's own checks of every basis, none of them excused."""

import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import negcorr.bases as public
from negcorr.bases import (
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    KernelFeatures,
    LinearFeatures,
    NestedFeatures,
    NystroemFeatures,
    TreeFeatures,
)

# The checks fit four distinct rows, so Nyström members have at most three landmarks here.
BASES = [
    FourierFeatures(3, 4, random_state=0, inputs="none"),
    FourierFeatures(3, 4, kernel="laplacian", random_state=0, inputs="standard"),
    FourierFeatures(3, 4, kernel="cauchy", random_state=0, inputs="standard"),
    FourierFeatures(3, 4, random_state=0, inputs="none", orthogonal=True),
    FourierFeatures(3, 4, random_state=0, inputs="standard", orthogonal=True),
    NystroemFeatures(3, 3, random_state=0, inputs="none"),
    NystroemFeatures(2, 3, kernel="laplacian", random_state=0, inputs="standard"),
    NystroemFeatures(2, 3, kernel="cauchy", random_state=0, inputs="standard"),
    KernelFeatures(3, 4, random_state=0, inputs="none"),
    KernelFeatures(2, 3, kernel="laplacian", random_state=0, inputs="standard"),
    KernelFeatures(2, 3, kernel="cauchy", random_state=0, inputs="standard"),
    KernelFeatures(2, 3, kernel="linear", random_state=0, inputs="none"),
    TreeFeatures(3, 4, random_state=0),
    LinearFeatures(3, 1, random_state=0, inputs="none"),
    LinearFeatures(1, 4, random_state=0, inputs="standard"),
    FourierFeatures(3, 4, random_state=0, inputs="clip"),
    NystroemFeatures(3, 3, random_state=0, inputs="standard"),
    TreeFeatures(3, 4, random_state=0, inputs="rank"),
    FourierFeatures(3, 4, kernel="laplacian", random_state=0, inputs="none"),
    NestedFeatures(
        [
            FourierFeatures(3, 4, random_state=0, inputs="none"),
            NystroemFeatures(2, 3, random_state=0, inputs="none"),
        ],
        gaps=[0.1, 0.01],
    ),
    ClonedFeatures(RBFSampler(n_components=4), 3, random_state=0),
    BlockFeatures([PolynomialFeatures(), RBFSampler(n_components=4, random_state=0)]),
]

checks = parametrize_with_checks(BASES)
names, cases = checks.args
# This one does nothing unless an environment variable was set before SciPy was imported.
cases = [case for case in cases if "array_api" not in str(case[1])]


@pytest.mark.parametrize(names, cases, **checks.kwargs)
def test_basis_keeps_scikit_learns_conventions(estimator, check):
    check(estimator)


def test_every_basis_is_checked():
    checked = {type(basis) for basis in BASES}
    offered = {kind for name in public.__all__ if isinstance(kind := getattr(public, name), type)}
    assert checked == offered - {public.Basis, public.AutoBasis}
