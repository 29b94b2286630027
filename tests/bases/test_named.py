"""The ``basis`` parameter becomes an unfitted basis with every open seed filled in."""

import numpy as np
import pytest
from models import ncl
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from negcorr import NCLRegressor
from negcorr.bases import (
    AutoBasis,
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    KernelFeatures,
    LinearFeatures,
    NestedFeatures,
    NystroemFeatures,
    TreeFeatures,
)
from negcorr.bases.named import (
    BASES,
    as_basis,
    basis_name,
    named_basis,
    takes_device_arrays,
    takes_tables,
)

KINDS = {
    "fourier": FourierFeatures,
    "orthogonal": FourierFeatures,
    "nystroem": NystroemFeatures,
    "kernel": KernelFeatures,
    "linear": LinearFeatures,
    "trees": TreeFeatures,
}


def features(basis, d=3):
    X = np.random.default_rng(0).normal(size=(40, d))
    return basis.fit(X).transform(X)


def test_all_names_are_known():
    assert KINDS == BASES


@pytest.mark.parametrize("name", KINDS)
def test_name_is_short_for_a_basis_with_its_defaults(name):
    basis = as_basis(name, 3)
    assert type(basis) is KINDS[name]
    plain = KINDS[name](random_state=3)
    if name == "orthogonal":
        plain.set_params(orthogonal=True)
    assert basis.get_params() == plain.get_params()
    assert not hasattr(basis, "block_starts_")
    assert basis_name(basis) == name


@pytest.mark.parametrize("name", KINDS)
def test_named_basis_takes_the_parameters_that_concern_it(name):
    given = {"n_members": 3, "n_components": 4, "gamma": 0.7, "kernel": "rbf", "subspace": 1.0}
    basis = named_basis(name, **given)
    for key, value in given.items():
        assert getattr(basis, key, value) == value


def test_auto_is_a_search():
    assert isinstance(as_basis("auto", 0), AutoBasis)
    given = AutoBasis(bases="fourier", budget=70)
    made = as_basis(given, 0)
    assert made is not given
    assert made.get_params() == given.get_params()


def test_unknown_name_is_named_with_the_known_ones():
    names = "'auto', 'fourier', 'kernel', 'linear', 'nystroem', 'orthogonal', 'trees'"
    with pytest.raises(ValueError, match=rf"basis='forest'.*\[{names}\]"):
        as_basis("forest", 0)


@pytest.mark.parametrize("basis", [RBFSampler, None, 3, object(), {"a": PCA()}])
def test_what_is_no_basis_is_named_with_what_is_allowed(basis):
    with pytest.raises(TypeError, match=r"basis=.*'fourier'.*transformer.*list"):
        as_basis(basis, 0)


def test_basis_is_cloned_and_keeps_its_parameters():
    given = FourierFeatures(5, 6, gamma=0.1, random_state=9)
    made = as_basis(given, 0)
    assert made is not given
    assert made.get_params() == given.get_params()


def test_basis_with_an_open_seed_takes_that_of_the_estimator():
    given = FourierFeatures(5, 6)
    one, same, other = (as_basis(given, seed) for seed in (0, 0, 1))
    assert given.random_state is None
    assert (one.random_state, other.random_state) == (0, 1)
    np.testing.assert_array_equal(features(one), features(same))


def test_nested_bases_with_open_seeds_get_different_ones():
    given = NestedFeatures([FourierFeatures(2, 3), FourierFeatures(2, 3)], gaps=[0.1, 0.2])
    one, same = (as_basis(given, 0) for _ in range(2))
    seeds = [basis.random_state for basis in one.bases]
    assert seeds == [basis.random_state for basis in same.bases]
    assert len(set(seeds)) == 2
    assert all(basis.random_state is None for basis in given.bases)


@pytest.mark.parametrize(
    "given",
    [
        FourierFeatures(2, 3),
        ClonedFeatures(RBFSampler(n_components=3), 2),
        BlockFeatures([RBFSampler(n_components=3), ("b", RBFSampler(n_components=2))]),
        NestedFeatures([FourierFeatures(2, 3), NystroemFeatures(2, 3)], gaps=[0.1, 0.2]),
        RBFSampler(n_components=3),
        make_pipeline(StandardScaler(), RBFSampler(n_components=3)),
        [RBFSampler(n_components=3), ("b", RBFSampler(n_components=2))],
        (RBFSampler(n_components=3), PolynomialFeatures()),
        "fourier",
        "orthogonal",
        "nystroem",
        "kernel",
        "linear",
        "trees",
    ],
    ids=lambda g: type(g).__name__ if not isinstance(g, str) else g,
)
def test_seed_of_the_estimator_decides_every_open_seed(given):
    # Of twelve columns, so that linear members differ.
    one, same, other = (features(as_basis(given, seed), d=12) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("name", KINDS)
def test_ridge_is_for_kernels_own_functions(name):
    assert KINDS[name]().usual_ridge == (10.0 if name == "kernel" else 0.0)
    nested = NestedFeatures([TreeFeatures(), KINDS[name]()], gaps=[0.1, 0.2])
    assert nested.usual_ridge == KINDS[name]().usual_ridge


@pytest.mark.parametrize(
    ("basis", "can"),
    [
        *((name, True) for name in KINDS),
        ("auto", True),
        (AutoBasis(), True),
        (FourierFeatures(), True),
        (TreeFeatures(), True),
        (PCA(), False),
        ([PCA()], False),
        ("forest", False),
    ],
    ids=str,
)
def test_bases_that_make_features_on_devices_are_known_before_they_are_made(basis, can):
    assert takes_device_arrays(basis) is can


@pytest.mark.parametrize(
    ("basis", "takes"),
    [
        ("fourier", False),
        ("auto", False),
        (AutoBasis(), False),
        (FourierFeatures(), False),
        (PCA(), True),
        ([PCA()], True),
        (ClonedFeatures(PCA()), True),
        (ClonedFeatures(PCA(), inputs="rank"), False),
        (BlockFeatures([PCA()], relevance=[1.0]), False),
    ],
    ids=str,
)
def test_tables_are_for_transformers_to_check_unless_columns_are_mapped(basis, takes):
    assert takes_tables(basis) is takes


def test_transformer_is_cloned_once_per_member():
    made = as_basis(RBFSampler(n_components=2), 0)
    assert isinstance(made, ClonedFeatures)
    assert made.n_members == 100
    assert features(made).shape == (40, 200)


def test_list_gives_one_member_each():
    made = as_basis([PolynomialFeatures(), ("pca", PCA(2))], 0)
    assert isinstance(made, BlockFeatures)
    assert basis_name(made) == "list of 2 transformers"
    np.testing.assert_array_equal(made.fit(np.eye(3) + 0.1).block_starts_, [0, 10, 12])


def test_list_members_with_open_seeds_get_different_ones_and_fixed_seeds_stay():
    given = [
        RBFSampler(n_components=2),
        ("b", RBFSampler(n_components=2)),
        RBFSampler(n_components=2, random_state=5),
        make_pipeline(StandardScaler(), RBFSampler(n_components=2)),
    ]
    made = as_basis(given, 0).transformers
    nested = made[3].get_params()["rbfsampler__random_state"]
    seeds = [made[0].random_state, made[1][1].random_state, made[2].random_state, nested]
    assert seeds[2] == 5
    assert None not in seeds
    assert len(set(seeds)) == 4
    assert made[1][0] == "b"
    assert given[0].random_state is given[1][1].random_state is None
    assert given[3].get_params()["rbfsampler__random_state"] is None


def test_bad_member_of_a_list_is_named():
    with pytest.raises(TypeError, match=r"basis\[1\]=3 is not a transformer"):
        as_basis([PCA(2), 3], 0)


def test_generator_as_seed_moves_on():
    generator = np.random.RandomState(0)
    one, other = (features(as_basis([RBFSampler(n_components=3)], generator)) for _ in range(2))
    assert not np.array_equal(one, other)


def test_regressor_makes_its_basis_here():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = ncl(3, 4, basis="orthogonal", lam=0.5).fit(X, X[:, 0])
    assert model.basis_.orthogonal
    assert model.basis_.n_members_ == 3


def test_parameters_of_a_basis_are_reached_through_the_estimator():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = NCLRegressor(FourierFeatures(4, 3), lam=0.5).set_params(basis__gamma=0.25)
    assert model.fit(X, X[:, 0]).basis_.gamma_ == 0.25
    given = FourierFeatures(4, 3)
    changed = NCLRegressor("fourier", lam=0.5).set_params(basis=given, basis__gamma=0.25)
    assert changed.basis is given
    assert given.gamma == 0.25


@pytest.mark.parametrize("name", ["auto", *KINDS])
def test_parameters_of_a_basis_that_is_a_string_are_refused_with_the_object_to_use(name):
    kind = "AutoBasis" if name == "auto" else KINDS[name].__name__
    model = NCLRegressor(name)
    words = rf"basis__gamma: basis='{name}' is a string; .* {kind}\(gamma=…\), whose parameters"
    with pytest.raises(ValueError, match=words):
        model.set_params(lam=0.5, basis__gamma=0.25)
    assert model.lam == "auto"
    with pytest.raises(ValueError, match=rf"basis='{name}' is a string"):
        NCLRegressor(FourierFeatures()).set_params(basis=name, basis__gamma=0.25)
