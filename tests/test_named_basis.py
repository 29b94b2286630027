"""The ``basis`` parameter becomes an unfitted basis with every open seed filled in."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from negcorr import NCLRegressor
from negcorr.bases import (
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    NystroemFeatures,
    OrthogonalFourierFeatures,
    TreeFeatures,
)
from negcorr.named_basis import BASES, make_basis

KINDS = {
    "fourier": FourierFeatures,
    "orthogonal": OrthogonalFourierFeatures,
    "nystroem": NystroemFeatures,
    "trees": TreeFeatures,
}


def estimator(basis, **changes):
    options = {
        "n_estimators": 3,
        "n_components": 4,
        "gamma": 0.7,
        "standardize": False,
        "random_state": 0,
    }
    return SimpleNamespace(basis=basis, **(options | changes))


def features(basis):
    X = np.random.default_rng(0).normal(size=(40, 3))
    return basis.fit(X).transform(X)


def test_all_names_are_known():
    assert KINDS == BASES


@pytest.mark.parametrize("name", KINDS)
def test_name_makes_its_basis_with_the_parameters_that_concern_it(name):
    basis = make_basis(estimator(name))
    assert type(basis) is KINDS[name]
    given = vars(estimator(name))
    for key, value in basis.get_params().items():
        if key in given:
            assert value == given[key]
    assert {"n_estimators", "n_components", "random_state"} <= set(basis.get_params())
    assert not hasattr(basis, "block_starts_")


def test_unknown_name_is_named_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"basis='forest'.*'fourier', 'nystroem', 'orthogonal', 'trees'"
    ):
        make_basis(estimator("forest"))


@pytest.mark.parametrize("basis", [RBFSampler, None, 3, object(), {"a": PCA()}])
def test_what_is_no_basis_is_named_with_what_is_allowed(basis):
    with pytest.raises(TypeError, match=r"basis=.*'fourier'.*transformer.*list"):
        make_basis(estimator(basis))


def test_basis_is_cloned_and_keeps_its_parameters():
    given = FourierFeatures(5, 6, gamma=0.1, random_state=9)
    made = make_basis(estimator(given))
    assert made is not given
    assert made.get_params() == given.get_params()


def test_basis_with_an_open_seed_gets_one_from_the_estimator():
    given = FourierFeatures(5, 6)
    one, same, other = (make_basis(estimator(given, random_state=s)) for s in (0, 0, 1))
    assert given.random_state is None
    assert one.random_state == same.random_state != other.random_state
    np.testing.assert_array_equal(features(one), features(same))


@pytest.mark.parametrize(
    "given",
    [
        FourierFeatures(2, 3),
        ClonedFeatures(RBFSampler(n_components=3), 2),
        BlockFeatures([RBFSampler(n_components=3), ("b", RBFSampler(n_components=2))]),
        RBFSampler(n_components=3),
        make_pipeline(StandardScaler(), RBFSampler(n_components=3)),
        [RBFSampler(n_components=3), ("b", RBFSampler(n_components=2))],
        (RBFSampler(n_components=3), PolynomialFeatures()),
        "fourier",
        "orthogonal",
        "nystroem",
        "trees",
    ],
    ids=lambda g: type(g).__name__ if not isinstance(g, str) else g,
)
def test_seed_of_the_estimator_decides_every_open_seed(given):
    one, same, other = (features(make_basis(estimator(given, random_state=s))) for s in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_transformer_is_cloned_once_per_member():
    made = make_basis(estimator(RBFSampler(n_components=2)))
    assert isinstance(made, ClonedFeatures)
    assert made.n_estimators == 3
    assert features(made).shape == (40, 6)


def test_list_gives_one_member_each():
    made = make_basis(estimator([PolynomialFeatures(), ("pca", PCA(2))]))
    assert isinstance(made, BlockFeatures)
    np.testing.assert_array_equal(made.fit(np.eye(3) + 0.1).block_starts_, [0, 10, 12])


def test_list_members_with_open_seeds_get_different_ones_and_fixed_seeds_stay():
    given = [
        RBFSampler(n_components=2),
        ("b", RBFSampler(n_components=2)),
        RBFSampler(n_components=2, random_state=5),
        make_pipeline(StandardScaler(), RBFSampler(n_components=2)),
    ]
    made = make_basis(estimator(given)).transformers
    nested = made[3].get_params()["rbfsampler__random_state"]
    seeds = [made[0].random_state, made[1][1].random_state, made[2].random_state, nested]
    assert seeds[2] == 5
    assert None not in seeds
    assert len(set(seeds)) == 4
    assert made[1][0] == "b"
    assert given[0].random_state is given[1][1].random_state is None
    assert given[3].get_params()["rbfsampler__random_state"] is None


def test_bad_member_of_a_list_is_named_when_the_basis_is_fitted():
    with pytest.raises(TypeError, match="=3 is not a transformer"):
        features(make_basis(estimator([PCA(2), 3])))


def test_generator_as_seed_moves_on():
    generator = np.random.RandomState(0)
    one, other = (
        features(make_basis(estimator([RBFSampler(n_components=3)], random_state=generator)))
        for _ in range(2)
    )
    assert not np.array_equal(one, other)


def test_regressor_makes_its_basis_here():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = NCLRegressor(3, 4, basis="orthogonal", lam=0.5, random_state=0).fit(X, X[:, 0])
    assert isinstance(model.basis_, OrthogonalFourierFeatures)
    assert model.basis_.n_members_ == 3
