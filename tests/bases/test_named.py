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
    KernelFeatures,
    LinearFeatures,
    MappedFeatures,
    NystroemFeatures,
    OrthogonalFourierFeatures,
    TreeFeatures,
)
from negcorr.bases.named import BASES, check_choices, make_basis, takes_device_arrays, usual_ridge

KINDS = {
    "fourier": FourierFeatures,
    "orthogonal": OrthogonalFourierFeatures,
    "nystroem": NystroemFeatures,
    "kernel": KernelFeatures,
    "linear": LinearFeatures,
    "trees": TreeFeatures,
}


def estimator(basis, **changes):
    options = {
        "n_estimators": 3,
        "n_components": 4,
        "gamma": 0.7,
        "standardize": False,
        "random_state": 0,
        "kernel": "auto",
        "inputs": "auto",
        "relevance": "auto",
        "subspace": "auto",
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
    given = vars(estimator(name)) | {"kernel": "gaussian", "subspace": 1.0}
    for key, value in basis.get_params().items():
        if key in given:
            assert value == given[key]
    assert {"n_estimators", "n_components", "random_state"} <= set(basis.get_params())
    assert not hasattr(basis, "block_starts_")


def test_unknown_name_is_named_with_the_known_ones():
    names = "'fourier', 'kernel', 'linear', 'nystroem', 'orthogonal', 'trees'"
    with pytest.raises(ValueError, match=rf"basis='forest'.*\[{names}\]"):
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
        "kernel",
        "linear",
        "trees",
        "auto",
    ],
    ids=lambda g: type(g).__name__ if not isinstance(g, str) else g,
)
def test_seed_of_the_estimator_decides_every_open_seed(given):
    width = {"n_components": 2}  # of three columns, so that linear members differ
    one, same, other = (
        features(make_basis(estimator(given, random_state=s, **width))) for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_what_is_open_is_plain_where_nothing_is_searched_for():
    basis = make_basis(estimator("auto", gamma="auto", standardize=True))
    assert type(basis) is FourierFeatures
    assert basis.gamma == "kwok-tsang"
    assert basis.kernel == "gaussian"
    assert basis.standardize


@pytest.mark.parametrize("kernel", ["laplace", "cauchy"])
def test_kernel_goes_to_the_bases_that_have_one(kernel):
    for name in ("fourier", "nystroem", "kernel"):
        assert make_basis(estimator(name, kernel=kernel)).kernel == kernel
    for name in ("linear", "trees"):
        assert type(make_basis(estimator(name, kernel=kernel))) is KINDS[name]
    with pytest.raises(ValueError, match=rf"kernel='{kernel}' is not known to basis='orthogonal'"):
        make_basis(estimator("orthogonal", kernel=kernel))


def test_linear_kernel_is_for_the_basis_of_kernels():
    basis = make_basis(estimator("kernel", kernel="linear"))
    assert basis.kernel == "linear"
    assert features(basis).shape == (40, 3)
    for name in ("fourier", "nystroem"):
        with pytest.raises(ValueError, match=r"kernel='linear' .*'cauchy', 'gaussian', 'laplace'"):
            features(make_basis(estimator(name, kernel="linear")))
    with pytest.raises(ValueError, match=r"kernel='linear' is not known to basis='orthogonal'"):
        make_basis(estimator("orthogonal", kernel="linear"))


@pytest.mark.parametrize("name", KINDS)
def test_open_number_of_members_is_a_hundred(name):
    assert make_basis(estimator(name, n_estimators="auto")).n_estimators == 100
    mapped = make_basis(estimator(name, n_estimators="auto", inputs="rank", standardize=True))
    assert mapped.basis.n_estimators == 100
    assert make_basis(estimator(PCA(2), n_estimators="auto")).n_estimators == 100


@pytest.mark.parametrize("name", KINDS)
def test_ridge_is_for_kernels_own_functions(name):
    ridge = 10.0 if name == "kernel" else 0.0
    assert usual_ridge(name) == usual_ridge(KINDS[name]()) == ridge


@pytest.mark.parametrize("basis", ["auto", PCA(), [PCA(), PCA()], MappedFeatures(TreeFeatures())])
def test_there_is_no_ridge_otherwise(basis):
    assert usual_ridge(basis) == 0.0


@pytest.mark.parametrize("name", KINDS)
def test_columns_are_mapped_before_the_basis_where_more_than_scaling_is_asked_for(name):
    for inputs in ("clip", "rank"):
        made = make_basis(estimator(name, inputs=inputs, standardize=True))
        assert type(made) is MappedFeatures
        assert made.inputs == inputs
        assert made.relevance is None
        assert type(made.basis) is KINDS[name]
        assert not made.basis.get_params().get("standardize", False)
    given = [1.0, 0.0, 2.0]
    made = make_basis(estimator(name, relevance=given))
    assert made.relevance is given
    assert made.inputs == "none"
    assert make_basis(estimator(name, relevance=given, standardize=True)).inputs == "standard"


@pytest.mark.parametrize("name", ["fourier", "orthogonal", "nystroem", "kernel", "linear"])
@pytest.mark.parametrize("relevance", [False, np.False_, "auto"])
def test_scaling_alone_is_left_to_the_basis(name, relevance):
    for inputs, wanted in (("auto", True), ("standard", True), ("none", False)):
        given = {"inputs": inputs, "standardize": True, "relevance": relevance}
        made = make_basis(estimator(name, **given))
        assert type(made) is KINDS[name]
        assert made.standardize is wanted


@pytest.mark.parametrize("relevance", [True, np.True_])
def test_relevance_is_not_learnt_without_a_search(relevance):
    with pytest.raises(ValueError, match=r"relevance=True is learnt in a search"):
        make_basis(estimator("fourier", relevance=relevance))


def test_columns_that_are_left_alone_cannot_be_ranked():
    with pytest.raises(ValueError, match=r"standardize=False .*inputs='rank' does not"):
        make_basis(estimator("fourier", inputs="rank"))


@pytest.mark.parametrize(
    ("basis", "can"),
    [
        *((name, name != "trees") for name in KINDS),
        ("auto", True),
        (FourierFeatures(), True),
        (TreeFeatures(), False),
        (PCA(), False),
        ([PCA()], False),
        ("forest", False),
    ],
    ids=str,
)
def test_bases_that_make_features_on_devices_are_known_before_they_are_made(basis, can):
    assert takes_device_arrays(estimator(basis)) is can


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
    model = NCLRegressor(3, 4, basis="orthogonal", lam=0.5, random_state=0, gamma="kwok-tsang").fit(
        X, X[:, 0]
    )
    assert isinstance(model.basis_, OrthogonalFourierFeatures)
    assert model.basis_.n_members_ == 3


@pytest.mark.parametrize("name", ["fourier", "nystroem", "kernel"])
def test_subspace_goes_to_the_bases_that_have_one(name):
    assert make_basis(estimator(name, subspace=0.3)).subspace == 0.3


@pytest.mark.parametrize("name", ["orthogonal", "linear", "trees"])
def test_subspace_is_refused_where_there_is_none(name):
    assert "subspace" not in make_basis(estimator(name, subspace=1)).get_params()
    with pytest.raises(ValueError, match=rf"subspace=0.3 is not known to basis='{name}'; allowed"):
        check_choices(estimator(name, subspace=0.3))
