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
    MappedFeatures,
    NestedFeatures,
    NystroemFeatures,
    OrthogonalFourierFeatures,
    TreeFeatures,
)

# The checks fit four distinct rows, so Nyström members have at most three landmarks here.
BASES = [
    FourierFeatures(3, 4, random_state=0),
    FourierFeatures(3, 4, kernel="laplace", standardize=True, random_state=0),
    FourierFeatures(3, 4, kernel="cauchy", standardize=True, random_state=0),
    OrthogonalFourierFeatures(3, 4, random_state=0),
    OrthogonalFourierFeatures(3, 4, standardize=True, random_state=0),
    NystroemFeatures(3, 3, random_state=0),
    NystroemFeatures(2, 3, kernel="laplace", standardize=True, random_state=0),
    NystroemFeatures(2, 3, kernel="cauchy", standardize=True, random_state=0),
    KernelFeatures(3, 4, random_state=0),
    KernelFeatures(2, 3, kernel="laplace", standardize=True, random_state=0),
    KernelFeatures(2, 3, kernel="cauchy", standardize=True, random_state=0),
    KernelFeatures(2, 3, kernel="linear", random_state=0),
    TreeFeatures(3, 4, random_state=0),
    LinearFeatures(3, 1, random_state=0),
    LinearFeatures(1, 4, standardize=True, random_state=0),
    MappedFeatures(FourierFeatures(3, 4, random_state=0)),
    MappedFeatures(NystroemFeatures(3, 3, random_state=0), inputs="standard"),
    MappedFeatures(TreeFeatures(3, 4, random_state=0), inputs="rank"),
    MappedFeatures(FourierFeatures(3, 4, kernel="laplace", random_state=0), inputs="none"),
    NestedFeatures(
        [FourierFeatures(3, 4, random_state=0), NystroemFeatures(2, 3, random_state=0)],
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
    assert checked == offered - {public.Basis}
