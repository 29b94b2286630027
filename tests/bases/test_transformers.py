"""Any scikit-learn transformer as a basis: cloned per member, or a list of members."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import GaussianRandomProjection

from negcorr.bases import BlockFeatures, ClonedFeatures, FourierFeatures
from negcorr.exceptions import IdenticalMembersWarning


def table(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def houses(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "town": rng.choice(["Aa", "Bee", "Ce"], n).tolist(),
        "area": rng.uniform(20, 200, n).tolist(),
        "rooms": rng.integers(1, 6, n).tolist(),
    }


def mixed():
    return make_column_transformer(
        (OneHotEncoder(), ["town"]),
        (make_pipeline(StandardScaler(), RBFSampler(n_components=4)), ["area", "rooms"]),
    )


class Recorder(TransformerMixin, BaseEstimator):
    """Keeps what it was given, and returns columns of its own."""

    seen = []  # noqa: RUF012 - shared on purpose: fitted copies report here

    def __init__(self, width=1):
        self.width = width

    def fit(self, X, y=None):
        Recorder.seen.append((X, y))
        return self

    def transform(self, X):
        Recorder.seen.append((X, None))
        n = X.shape[0]
        return np.arange(n * self.width, dtype=float).reshape(n, self.width)


class Returns(TransformerMixin, BaseEstimator):
    """Returns what it was told to, whatever comes in."""

    def __init__(self, block=None):
        self.block = block

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.block


# ClonedFeatures


def test_every_clone_has_a_seed_of_its_own():
    basis = ClonedFeatures(RBFSampler(n_components=5), 6, random_state=0).fit(table())
    seeds = [member.random_state for _, member in basis.transformers_]
    assert len(set(seeds)) == 6
    features = basis.transform(table())
    blocks = [features[:, a:b] for a, b in itertools.pairwise(basis.block_starts_)]
    for one, other in itertools.combinations(blocks, 2):
        assert not np.allclose(one, other)


def test_clones_are_the_transformer_itself_with_their_seed():
    X = table()
    basis = ClonedFeatures(RBFSampler(n_components=5, gamma=0.3), 3, random_state=0).fit(X)
    expected = [
        RBFSampler(n_components=5, gamma=0.3, random_state=member.random_state).fit_transform(X)
        for _, member in basis.transformers_
    ]
    np.testing.assert_array_equal(basis.transform(X), np.hstack(expected))
    np.testing.assert_array_equal(basis.block_starts_, [0, 5, 10, 15])


def test_a_seed_that_the_user_fixed_still_gives_every_clone_its_own():
    basis = ClonedFeatures(RBFSampler(n_components=5, random_state=7), 4, random_state=0)
    seeds = {member.random_state for _, member in basis.fit(table()).transformers_}
    assert len(seeds) == 4


def test_every_nested_seed_in_a_pipeline_is_set():
    nested = make_pipeline(GaussianRandomProjection(n_components=2), RBFSampler(n_components=3))
    basis = ClonedFeatures(nested, 5, random_state=0).fit(table())
    seeds = [
        member.get_params()[key]
        for _, member in basis.transformers_
        for key in ("gaussianrandomprojection__random_state", "rbfsampler__random_state")
    ]
    assert None not in seeds
    assert len(set(seeds)) == 10
    again = ClonedFeatures(nested, 5, random_state=0).fit(table())
    np.testing.assert_array_equal(basis.transform(table()), again.transform(table()))


def test_the_transformer_given_is_not_changed():
    sampler = RBFSampler(n_components=4)
    basis = ClonedFeatures(sampler, 3, random_state=0).fit(table())
    assert basis.transformer is sampler
    assert sampler.random_state is None
    assert not hasattr(sampler, "random_weights_")


def test_our_own_bases_can_be_cloned_members():
    basis = ClonedFeatures(FourierFeatures(1, 4, inputs="none"), 3, random_state=0).fit(table())
    np.testing.assert_array_equal(basis.block_starts_, [0, 4, 8, 12])


def test_clones_that_cannot_differ_warn():
    with pytest.warns(IdenticalMembersWarning, match="only 1 of 4 members differ"):
        ClonedFeatures(PolynomialFeatures(), 4, random_state=0).fit(table())


def test_one_member_alone_cannot_be_identical_to_another():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ClonedFeatures(PolynomialFeatures(), 1).fit(table())


def test_names_of_clones_say_member_and_feature():
    basis = ClonedFeatures(RBFSampler(n_components=2), 2, random_state=0).fit(table())
    assert list(basis.get_feature_names_out()) == [
        "member0__rbfsampler0",
        "member0__rbfsampler1",
        "member1__rbfsampler0",
        "member1__rbfsampler1",
    ]


def test_parameters_of_the_transformer_can_be_set_from_outside():
    basis = ClonedFeatures(RBFSampler(n_components=2), 2, random_state=0)
    clone(basis).set_params(transformer__n_components=7)
    assert basis.transformer.n_components == 2
    basis.set_params(transformer__n_components=7)
    assert basis.fit(table()).transform(table()).shape == (60, 14)


# BlockFeatures


def test_blocks_may_have_unequal_widths():
    X = table(d=2)
    members = [PolynomialFeatures(2), SplineTransformer(), RBFSampler(n_components=3)]
    basis = BlockFeatures([*members[:2], members[2].set_params(random_state=0)]).fit(X)
    np.testing.assert_array_equal(basis.block_starts_, [0, 6, 20, 23])
    assert basis.n_members_ == 3
    expected = np.hstack([clone(member).fit_transform(X) for member in members])
    np.testing.assert_array_equal(basis.transform(X), expected)


@pytest.mark.parametrize("n_members", [1, 2, 5])
def test_there_are_as_many_members_as_the_list_is_long(n_members):
    members = [RBFSampler(n_components=2, random_state=s) for s in range(n_members)]
    assert BlockFeatures(members).fit(table()).n_members_ == n_members


def test_names_of_blocks_are_given_or_made_from_class_and_place():
    basis = BlockFeatures(
        [("poly", PolynomialFeatures(1)), RBFSampler(n_components=2, random_state=0)]
    )
    X = pd.DataFrame(table(d=2), columns=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = basis.fit(X).get_feature_names_out()
    assert list(names) == [
        "poly__1",
        "poly__a",
        "poly__b",
        "rbfsampler1__rbfsampler0",
        "rbfsampler1__rbfsampler1",
    ]


def test_features_without_names_are_numbered():
    basis = BlockFeatures([("plain", FunctionTransformer()), ("square", Recorder(2))])
    assert list(basis.fit(table(d=2)).get_feature_names_out()) == [
        "plain__0",
        "plain__1",
        "square__0",
        "square__1",
    ]


def test_transformers_given_are_cloned_never_changed():
    members = [PolynomialFeatures(), ("pca", PCA(2))]
    basis = BlockFeatures(members).fit(table())
    assert basis.transformers is members
    assert not hasattr(members[0], "n_features_in_")
    assert not hasattr(members[1][1], "components_")


def test_equal_blocks_warn_and_say_how_many_differ():
    with pytest.warns(IdenticalMembersWarning, match="only 2 of 3 members differ"):
        BlockFeatures([PCA(2), PolynomialFeatures(), PCA(2)]).fit(table())


def test_blocks_of_equal_values_but_other_width_are_not_identical():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BlockFeatures([Returns(np.zeros((4, 3))), Returns(np.zeros((4, 2)))]).fit(
            np.arange(4.0).reshape(-1, 1)
        )


@pytest.mark.parametrize(
    ("transformers", "error", "says"),
    [
        ([], ValueError, "transformers is an empty list"),
        ([PCA(), ("a", PCA(), 3)], ValueError, r"transformers\[1\].*\(name, transformer\)"),
        ([(3, PCA())], ValueError, r"transformers\[0\].*\(name, transformer\)"),
        ([("a", PCA()), ("a", PCA())], ValueError, r"unique.*\['a', 'a'\]"),
        ([PCA], TypeError, "PCA.*not a transformer instance"),
        ([PCA(), 3], TypeError, "=3 is not a transformer"),
        (["pca"], TypeError, "'pca' is not a transformer"),
        ([("a", None)], TypeError, "a=None is not a transformer"),
        (None, TypeError, "transformers=None.*list"),
        (PCA(), TypeError, r"transformers=PCA\(\).*list"),
        (make_pipeline(PCA()), TypeError, "transformers=Pipeline.*list"),
    ],
)
def test_bad_lists_are_named_with_what_is_allowed(transformers, error, says):
    with pytest.raises(error, match=says):
        BlockFeatures(transformers).fit(table())


@pytest.mark.parametrize("transformer", [PCA, None, "pca", 3, object()])
def test_bad_transformers_are_named_with_what_is_needed(transformer):
    with pytest.raises(TypeError, match=r"transformer=.*needs fit and transform"):
        ClonedFeatures(transformer, 3).fit(table())


# What a member may see and return

SUPERVISED = [
    TargetEncoder(),
    LinearDiscriminantAnalysis(),
    NeighborhoodComponentsAnalysis(),
    RFE(Ridge()),
]
# These need y all the same, but their tags do not say so.
SUPERVISED_IN_SECRET = [
    PLSRegression(),
    SelectKBest(k=1),
    SelectFromModel(Ridge()),
    make_pipeline(TargetEncoder(), StandardScaler()),
    make_pipeline(StandardScaler(), SelectKBest(k=1)),
]


@pytest.mark.parametrize("transformer", SUPERVISED, ids=lambda t: type(t).__name__)
def test_transformers_that_require_targets_are_refused(transformer):
    X = table()
    for basis in (
        ClonedFeatures(transformer, 3),
        BlockFeatures([PCA(2), transformer]),
        BlockFeatures([("named", transformer)]),
    ):
        with pytest.raises(ValueError, match=r"requires y.*X but never y.*degrees of freedom"):
            basis.fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("transformer", SUPERVISED_IN_SECRET, ids=lambda t: type(t).__name__)
def test_transformers_that_need_targets_in_secret_do_not_get_them(transformer):
    X = table()
    for basis in (ClonedFeatures(transformer, 3), BlockFeatures([PCA(2), transformer])):
        with pytest.raises((TypeError, ValueError), match=r"\by\b|got None"):
            basis.fit(X, X[:, 0])


def test_targets_never_reach_a_transformer():
    Recorder.seen.clear()
    X = table()
    BlockFeatures([Recorder(1), Recorder(2)]).fit(X, X[:, 0])
    ClonedFeatures(Recorder(1), 1).fit(X, X[:, 0])
    assert all(y is None for _, y in Recorder.seen)


@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_integer_weights_equal_repeated_rows_for_members_that_take_weights(wrap):
    X, weight = table(), np.random.default_rng(1).integers(0, 4, 60)
    basis = BlockFeatures([StandardScaler(), ("square", PolynomialFeatures())])
    weighted = clone(basis).fit(wrap(X), sample_weight=weight)
    repeated = clone(basis).fit(wrap(np.repeat(X, weight, axis=0)))
    np.testing.assert_allclose(weighted.transform(wrap(X)), repeated.transform(wrap(X)), atol=1e-9)
    assert not np.allclose(weighted.transform(wrap(X)), clone(basis).fit_transform(wrap(X)))


def test_members_that_take_no_weights_are_fitted_without():
    X = table()
    weighted = BlockFeatures([PCA(2)]).fit(X, sample_weight=np.arange(60.0))
    np.testing.assert_array_equal(weighted.transform(X), PCA(2).fit_transform(X))


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (-np.ones(60), "[Nn]egative"),
        (np.ones(3), "shape|inconsistent"),
        (np.zeros(60), "zero"),
        (np.full(60, np.nan), "NaN"),
    ],
)
def test_bad_weights_are_refused_even_where_no_member_takes_them(weight, says):
    with pytest.raises(ValueError, match=says):
        BlockFeatures([PCA(2)]).fit(table(), sample_weight=weight)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_reach_the_transformers_untouched(frame):
    Recorder.seen.clear()
    X = frame(houses())
    basis = BlockFeatures([Recorder(1), Recorder(2)]).fit(X)
    fitted = [x for x, _ in Recorder.seen[:2]]
    assert all(x is X for x in fitted)
    Recorder.seen.clear()
    basis.transform(X)
    assert all(x is X for x, _ in Recorder.seen)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_are_found_by_name_and_strings_are_encoded(frame):
    X = frame(houses())
    basis = ClonedFeatures(mixed(), 3, random_state=0).fit(X)
    np.testing.assert_array_equal(basis.block_starts_, [0, 7, 14, 21])
    members = [member for _, member in basis.transformers_]
    expected = np.hstack([np.asarray(member.transform(X)) for member in members])
    np.testing.assert_array_equal(basis.transform(X), expected)
    assert list(basis.feature_names_in_) == ["town", "area", "rooms"]
    out = np.empty((40, 21))
    basis.fill(X, out)
    np.testing.assert_array_equal(out, expected)
    names = basis.get_feature_names_out()
    assert names[0] == "member0__onehotencoder__town_Aa"


def test_seeds_inside_a_column_transformer_are_set():
    basis = ClonedFeatures(mixed(), 3, random_state=0).fit(pd.DataFrame(houses()))
    assert all(isinstance(member, ColumnTransformer) for _, member in basis.transformers_)
    seeds = {
        member.get_params()["pipeline__rbfsampler__random_state"]
        for _, member in basis.transformers_
    }
    assert len(seeds) == 3
    assert None not in seeds


def test_sparse_outputs_are_set_side_by_side():
    X = table()
    members = [
        KBinsDiscretizer(4, encode="onehot", quantile_method="averaged_inverted_cdf"),
        RandomTreesEmbedding(3, max_depth=2, random_state=0),
        PCA(2),
    ]
    basis = BlockFeatures(members).fit(X)
    blocks = [clone(member).fit_transform(X) for member in members]
    assert sp.issparse(blocks[0])
    assert sp.issparse(blocks[1])
    dense = [b.toarray() if sp.issparse(b) else b for b in blocks]
    features = basis.transform(X)
    assert isinstance(features, np.ndarray)
    np.testing.assert_allclose(features, np.hstack(dense))
    assert list(np.diff(basis.block_starts_)) == [b.shape[1] for b in blocks]


def test_sparse_rows_reach_transformers_that_take_them():
    X = sp.csr_array(np.where(table() > 0, table(), 0.0))
    basis = ClonedFeatures(RBFSampler(n_components=3), 2, random_state=0).fit(X)
    np.testing.assert_allclose(
        basis.transform(X), clone(basis).fit(X.toarray()).transform(X.toarray())
    )


def test_rows_may_be_lists():
    X = table()
    basis = ClonedFeatures(RBFSampler(n_components=3), 2, random_state=0)
    np.testing.assert_array_equal(
        basis.fit(X.tolist()).transform(X.tolist()), clone(basis).fit(X).transform(X)
    )


@pytest.mark.parametrize(
    "member",
    [
        make_pipeline(SimpleImputer(), RBFSampler(n_components=3, random_state=0)),
        ColumnTransformer([("mean", SimpleImputer(), [0, 1]), ("is", MissingIndicator(), [1, 2])]),
        FunctionTransformer(np.nan_to_num),
    ],
    ids=lambda t: type(t).__name__,
)
@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_missing_values_reach_members_that_can_deal_with_them(member, wrap):
    X = table()
    X[3, 1] = np.nan
    expected = clone(member).fit_transform(wrap(X))
    basis = BlockFeatures([member]).fit(wrap(X))
    np.testing.assert_allclose(basis.transform(wrap(X)), expected)


def test_missing_values_are_refused_where_a_member_cannot_take_them():
    X = table()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        BlockFeatures([FunctionTransformer(), PCA(2)]).fit(X)


@pytest.mark.parametrize(
    ("block", "says"),
    [
        (np.ones(4), r"numeric 2-D block, got shape \(4,\)"),
        (np.ones((4, 2, 2)), r"numeric 2-D block, got shape \(4, 2, 2\)"),
        (np.array([["a"]] * 4), "numeric 2-D block.*of type"),
        (np.array([[1.0], [np.nan], [0.0], [0.0]]), "NaN or infinity"),
        (sp.csr_array(np.array([[1.0], [np.inf], [0.0], [0.0]])), "NaN or infinity"),
    ],
)
def test_bad_blocks_are_refused_with_the_name_of_their_transformer(block, says):
    with pytest.raises(ValueError, match=rf"transformer 'odd' .*{says}"):
        BlockFeatures([("odd", Returns(block))]).fit(np.ones((4, 1)))


def test_single_precision_of_all_members_is_kept():
    X = table().astype(np.float32)
    basis = BlockFeatures([PCA(2), ("first", PCA(1))]).fit(X)
    assert basis.transform(X).dtype == np.float32


@pytest.mark.parametrize(
    ("members", "sparse", "nan"),
    [
        ([RBFSampler(), PolynomialFeatures()], True, False),
        ([RBFSampler(), SplineTransformer()], False, False),
        ([StandardScaler(with_mean=False)], True, True),
        ([StandardScaler(), PCA()], False, False),
    ],
)
def test_tags_promise_only_what_all_members_take(members, sparse, nan):
    tags = BlockFeatures(members).__sklearn_tags__()
    assert tags.input_tags.sparse is sparse
    assert tags.input_tags.allow_nan is nan


def test_hashed_features_of_dictionaries_are_not_mistaken_for_columns():
    with pytest.raises((TypeError, ValueError)):
        ClonedFeatures(FeatureHasher(4), 2).fit([{"a": 1}, {"b": 2}])
