"""What every basis promises, whatever its features are."""

import itertools
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from negcorr.bases import (
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    KernelFeatures,
    NestedFeatures,
    NystroemFeatures,
    TreeFeatures,
)
from negcorr.bases.input_maps import fit_input_map

DRAWN = [
    FourierFeatures(3, 4, random_state=0, inputs="none"),
    FourierFeatures(3, 4, kernel="laplacian", random_state=0, inputs="standard"),
    FourierFeatures(3, 4, kernel="cauchy", random_state=0, inputs="standard"),
    FourierFeatures(3, 4, random_state=0, inputs="standard", orthogonal=True),
    NystroemFeatures(3, 4, random_state=0, inputs="none"),
    NystroemFeatures(3, 4, kernel="laplacian", random_state=0, inputs="standard"),
    NystroemFeatures(3, 4, kernel="cauchy", random_state=0, inputs="standard"),
    KernelFeatures(3, 4, random_state=0, inputs="none"),
    KernelFeatures(3, 4, kernel="laplacian", random_state=0, inputs="standard"),
    KernelFeatures(3, 4, kernel="cauchy", random_state=0, inputs="standard"),
    TreeFeatures(3, 4, random_state=0),
]
MADE = [
    ClonedFeatures(RBFSampler(n_components=4), 3, random_state=0),
    BlockFeatures([PolynomialFeatures(), RBFSampler(n_components=4, random_state=0)]),
]
KERNELS = DRAWN[:-1]
FOURIER = DRAWN[:4]
ORTHOGONAL = FOURIER[-1]


def label(basis):
    return re.sub(r"\s+", "", str(basis).replace(",\n", ","))


every_basis = pytest.mark.parametrize("basis", DRAWN + MADE, ids=label)
every_drawn_basis = pytest.mark.parametrize("basis", DRAWN, ids=label)
every_kernel_basis = pytest.mark.parametrize("basis", KERNELS, ids=label)


def table(n=90, d=3, seed=0):
    """Values that single precision holds exactly, a third of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    return np.where(rng.random((n, d)) < 1 / 3, 0.0, X)


@every_basis
def test_block_starts_say_where_each_members_columns_begin(basis):
    basis = clone(basis).fit(table())
    starts = basis.block_starts_
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    assert starts[-1] == basis.transform(table()).shape[1]
    assert np.issubdtype(starts.dtype, np.integer)
    n_members = getattr(basis, "n_members", 2)
    assert basis.n_members_ == len(starts) - 1 == n_members


@every_basis
def test_second_fit_and_clone_equal_the_first(basis):
    basis, X = clone(basis), table()
    first = basis.fit(X).transform(X)
    np.testing.assert_array_equal(basis.fit(X).transform(X), first)
    np.testing.assert_array_equal(clone(basis).fit_transform(X), first)


@every_basis
def test_transform_draws_nothing(basis):
    X = table()
    basis = clone(basis).fit(X)
    np.testing.assert_array_equal(basis.transform(X), basis.transform(X))


@pytest.mark.parametrize("basis", [*DRAWN, MADE[0]], ids=label)
def test_another_seed_draws_other_features_and_a_generator_moves_on(basis):
    X = table()
    one, other = (clone(basis).set_params(random_state=s).fit_transform(X) for s in (1, 2))
    assert not np.array_equal(one, other)
    shared = np.random.RandomState(1)
    first, second = (
        clone(basis).set_params(random_state=shared).fit(X).transform(X) for _ in range(2)
    )
    np.testing.assert_array_equal(first, one)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("basis", [*DRAWN, MADE[0]], ids=label)
def test_members_differ(basis):
    basis, X = clone(basis), table()
    features = basis.fit_transform(X)
    blocks = [features[:, a:b] for a, b in itertools.pairwise(basis.block_starts_)]
    for one, other in itertools.combinations(blocks, 2):
        assert one.shape != other.shape or not np.allclose(one, other)


@every_basis
def test_targets_are_not_seen(basis):
    X = table()
    np.testing.assert_array_equal(
        clone(basis).fit(X, X[:, 0]).transform(X), clone(basis).fit(X).transform(X)
    )


@every_basis
@pytest.mark.parametrize("sparse", [False, True])
def test_fill_writes_what_transform_returns_into_strided_views_too(basis, sparse):
    X = sp.csr_array(table()) if sparse else table()
    basis = clone(basis).fit(X)
    expected = basis.transform(X)
    n, q = expected.shape
    plain, wide = np.empty((n, q)), np.full((2 * n, 2 * q + 3), -7.0)
    basis.fill(X, plain)
    np.testing.assert_array_equal(plain, expected)
    basis.fill(X, wide[::2, 3::2])
    np.testing.assert_array_equal(wide[::2, 3::2], expected)
    wide[::2, 3::2] = -7.0
    assert (wide == -7.0).all()


@every_basis
def test_features_of_a_row_do_not_depend_on_its_neighbours(basis):
    X = table(150)
    basis = clone(basis).fit(X)
    whole = basis.transform(X)
    for rows in (slice(0, 1), slice(5, 70), slice(60, 150)):
        np.testing.assert_allclose(basis.transform(X[rows]), whole[rows], rtol=0, atol=1e-12)


@every_drawn_basis
def test_single_precision_is_kept_and_close_to_double(basis):
    X = table()
    double = clone(basis).fit_transform(X)
    single = clone(basis).fit_transform(X.astype(np.float32))
    assert double.dtype == np.float64
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=0, atol=2e-5)


@every_drawn_basis
def test_single_precision_sparse_is_kept_and_close_to_double(basis):
    X = table()
    single = clone(basis).fit_transform(sp.csr_array(X.astype(np.float32)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, clone(basis).fit_transform(X), rtol=0, atol=2e-5)


@every_drawn_basis
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])
def test_sparse_rows_have_the_features_of_dense_ones(basis, kind):
    X, new = table(), table(seed=1)
    dense, sparse = clone(basis).fit(X), clone(basis).fit(kind(X))
    np.testing.assert_allclose(sparse.transform(kind(new)), dense.transform(new), atol=1e-9)
    np.testing.assert_allclose(sparse.transform(new), dense.transform(kind(new)), atol=1e-9)


@pytest.mark.parametrize("basis", FOURIER, ids=label)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_fourier_features_never_make_sparse_rows_dense(basis, kind, monkeypatch):
    X = table()
    expected = clone(basis).fit_transform(X)
    sparse = kind(X)

    def not_the_rows(dense):
        def refuse(self, *args, **kwargs):
            assert self.shape[0] != len(X), "a sparse table or one of its columns was made dense"
            return dense(self, *args, **kwargs)

        return refuse

    for family in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(family, method, not_the_rows(getattr(family, method)))
    np.testing.assert_allclose(clone(basis).fit_transform(sparse), expected, atol=1e-9)
    weight = np.arange(1.0, 91.0)
    clone(basis).fit(sparse, sample_weight=weight).transform(sparse)


@every_kernel_basis
@pytest.mark.parametrize("inputs", ["none", "standard"])
@pytest.mark.parametrize("sparse", [False, True])
def test_integer_weights_equal_repeated_rows(basis, inputs, sparse):
    X, rng = table(40), np.random.default_rng(1)
    weight = rng.integers(0, 4, 40)
    wrap = sp.csr_array if sparse else np.asarray
    basis = clone(basis).set_params(inputs=inputs)
    weighted = clone(basis).fit(wrap(X), sample_weight=weight)
    repeated = clone(basis).fit(wrap(np.repeat(X, weight, axis=0)))
    assert weighted.gamma_ == pytest.approx(repeated.gamma_, rel=1e-10)
    np.testing.assert_array_equal(weighted.input_map_.center, repeated.input_map_.center)
    np.testing.assert_array_equal(weighted.input_map_.scale, repeated.input_map_.scale)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-7)


@every_kernel_basis
def test_weights_move_the_bandwidth(basis):
    X = table()
    weight = np.where(np.arange(90) < 10, 100.0, 1.0)
    # Of standardised columns the mean squared distance is the same for all weights.
    basis = clone(basis).set_params(inputs="none")
    assert clone(basis).fit(X, sample_weight=weight).gamma_ != basis.fit(X).gamma_


@every_drawn_basis
@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (-np.ones(90), "[Nn]egative"),
        (np.ones(3), "shape|inconsistent"),
        (np.zeros(90), "zero"),
        (np.full(90, np.nan), "NaN"),
    ],
)
def test_bad_weights_are_refused(basis, weight, says):
    with pytest.raises(ValueError, match=says):
        clone(basis).fit(table(), sample_weight=weight)


@every_kernel_basis
def test_scaling_of_columns_does_not_show_when_standardised(basis):
    X = table()
    basis = clone(basis).set_params(inputs="standard")
    moved = X * [1e-3, 1.0, 1e4] + [5.0, -2.0, 1e3]
    expected, features = clone(basis).fit_transform(X), clone(basis).fit_transform(moved)
    if isinstance(basis, (KernelFeatures, NystroemFeatures)):  # landmarks are drawn by content
        assert features.shape == expected.shape
        assert clone(basis).fit(moved).gamma_ == pytest.approx(clone(basis).fit(X).gamma_)
    else:
        # Bandwidths are rounded to 26 bits.
        np.testing.assert_allclose(features, expected, atol=3e-7)


@every_drawn_basis
@pytest.mark.parametrize("sparse", [False, True])
def test_constant_columns_are_tolerated(basis, sparse):
    X = np.column_stack([table(), np.full(90, 0.1), np.zeros(90), np.full(90, 1e6)])
    wrap = sp.csr_array if sparse else np.asarray
    basis = clone(basis).fit(wrap(X))
    features = basis.transform(wrap(X))
    assert np.isfinite(features).all()
    assert np.ptp(features, axis=0).max() > 0.1
    assert (basis.input_map_.scale[3:] == 1.0).all()


@every_basis
@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_can_be_a_frame_with_the_names_of_the_features(basis, library, frame):
    X = table()
    basis = clone(basis).fit(X)
    plain, names = basis.transform(X), basis.get_feature_names_out()
    assert len(names) == len(set(names)) == plain.shape[1]
    out = clone(basis).set_output(transform=library).fit(X).transform(X)
    assert isinstance(out, frame)
    assert list(out.columns) == list(names)
    np.testing.assert_array_equal(np.asarray(out), plain)


@every_basis
@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_frames_asked_for_everywhere_change_nothing_but_the_container(basis, library, frame):
    X = table()
    plain = clone(basis).fit_transform(X)
    with config_context(transform_output=library):
        out = clone(basis).fit_transform(X)
        filled = np.empty(plain.shape)
        clone(basis).fit(X).fill(X, filled)
    assert isinstance(out, frame)
    np.testing.assert_array_equal(np.asarray(out), plain)
    np.testing.assert_array_equal(filled, plain)


@every_drawn_basis
def test_names_of_features_count_up_after_the_class(basis):
    names = clone(basis).fit(table()).get_feature_names_out()
    prefix = type(basis).__name__.lower()
    assert list(names) == [f"{prefix}{j}" for j in range(len(names))]


@every_basis
def test_names_and_number_of_input_columns_are_remembered_and_checked(basis):
    X = pd.DataFrame(table(), columns=["a", "b", "c"])
    basis = clone(basis).fit(X)
    assert basis.n_features_in_ == 3
    assert list(basis.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        basis.transform(X.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="2 features"):
        clone(basis).fit(table()).transform(table()[:, :2])


@pytest.mark.parametrize("basis", [*DRAWN, MADE[0]], ids=label)
@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (0, ValueError, "=0 must be at least 1"),
        (-1, ValueError, "=-1 must be at least 1"),
        (2.0, TypeError, "=2.0 must be an integer, got float"),
        ("3", TypeError, "='3' must be an integer, got str"),
        (True, TypeError, "=True must be an integer, got bool"),
        (None, TypeError, "=None must be an integer, got NoneType"),
    ],
)
def test_bad_numbers_of_members_or_components_are_named(basis, value, error, says):
    for name in {"n_members", "n_components"} & set(basis.get_params(deep=False)):
        with pytest.raises(error, match=name + says):
            clone(basis).set_params(**{name: value}).fit(table())


@every_kernel_basis
@pytest.mark.parametrize(
    ("gamma", "error", "says"),
    [
        ("scale", ValueError, "gamma='scale'.*'kwok-tsang'"),
        (0.0, ValueError, "gamma=0.0.*greater than 0"),
        (-2, ValueError, "gamma=-2.*greater than 0"),
        (np.nan, ValueError, "gamma=nan.*finite"),
        (np.inf, ValueError, "gamma=inf.*finite"),
        (True, TypeError, "gamma=True.*number > 0 or 'kwok-tsang'"),
        (None, TypeError, "gamma=None.*number > 0 or 'kwok-tsang'"),
        ([1.0], TypeError, r"gamma=\[1.0\].*number > 0 or 'kwok-tsang'"),
    ],
)
def test_bad_bandwidths_are_named_with_what_is_allowed(basis, gamma, error, says):
    with pytest.raises(error, match=says):
        clone(basis).set_params(gamma=gamma).fit(table())


@every_basis
@pytest.mark.parametrize("value", ["yes", 1, None, True])
def test_bad_inputs_are_named_with_what_is_allowed(basis, value):
    words = rf"inputs={value!r} is unknown; allowed are .*'standard', 'clip', 'rank', 'none'"
    with pytest.raises(ValueError, match=words):
        clone(basis).set_params(inputs=value).fit(table())


@pytest.mark.parametrize("basis", [b for b in KERNELS if b is not ORTHOGONAL], ids=label)
@pytest.mark.parametrize("kernel", ["gaussian", None])
def test_unknown_kernel_is_named_with_the_known_ones(basis, kernel):
    with pytest.raises(ValueError, match=rf"kernel={kernel!r}.*cauchy.*laplacian.*rbf"):
        clone(basis).set_params(kernel=kernel).fit(table())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_standardizer_is_the_weighted_mean_and_deviation(sparse, weighted):
    X = np.column_stack([table(), np.full(90, 0.3)])
    weight = np.random.default_rng(2).integers(1, 5, 90).astype(float) if weighted else None
    learnt = fit_input_map("standard", sp.csr_array(X) if sparse else X, weight)
    mean = np.average(X, axis=0, weights=weight)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    np.testing.assert_allclose(learnt.center, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(learnt.scale[:3], deviation[:3], rtol=1e-8)
    assert learnt.scale[3] == 1.0


def test_standardised_features_are_the_features_of_standardised_rows():
    X = table()
    inside = FourierFeatures(3, 4, random_state=0, inputs="standard").fit_transform(X)
    outside = FourierFeatures(3, 4, random_state=0, inputs="none").fit_transform(
        StandardScaler().fit_transform(X)
    )
    np.testing.assert_allclose(inside, outside, atol=1e-7)


@every_kernel_basis
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_rows_of_no_weight_may_hold_anything(basis, convert):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    counts = np.arange(60) % 2 == 1
    wild = np.where(counts[:, None], X, 1e14 * rng.normal(size=X.shape))
    weight = np.where(counts, 2.0, 0.0)
    with_them = clone(basis).fit(convert(wild), sample_weight=weight)
    without = clone(basis).fit(convert(X[counts]), sample_weight=weight[counts])
    np.testing.assert_array_equal(with_them.transform(X), without.transform(X))


class TestTerms:
    """What a feature is added up from bounds its rounding: one row alone, and in a batch."""

    @pytest.mark.parametrize(
        "basis",
        [
            FourierFeatures(5, 4, random_state=0),
            FourierFeatures(5, 4, gamma=1e4, kernel="laplacian", inputs="none", random_state=0),
            NystroemFeatures(5, 10, random_state=0),
            NystroemFeatures(5, 6, subspace=0.5, kernel="laplacian", random_state=0),
            KernelFeatures(5, 10, random_state=0),
            NestedFeatures(
                [FourierFeatures(3, 4, random_state=0), NystroemFeatures(3, 8, random_state=0)],
                gaps=[0.1, 0.1],
            ),
        ],
    )
    def test_bound_the_rounding_of_features(self, basis):
        X = np.random.default_rng(0).normal(size=(80, 2))
        basis.fit(X)
        batch = basis.transform(X)
        alone = np.vstack([basis.transform(X[i : i + 1]) for i in range(len(X))])
        assert basis.terms_.shape == (batch.shape[1],)
        sizes = np.maximum(np.sqrt(np.mean(batch**2, axis=0)), basis.terms_)
        assert (np.abs(alone - batch) <= 64.0 * np.finfo(float).eps * sizes).all()

    def test_are_unknown_where_features_are_no_sums(self):
        X = np.random.default_rng(0).normal(size=(20, 2))
        assert KernelFeatures(3, 4, kernel="linear").fit(X).terms_ is None

    def test_of_cosines_are_those_of_their_angles(self):
        rng = np.random.default_rng(0)
        X, weight = rng.normal(size=(20, 2)), rng.integers(1, 4, size=20).astype(float)
        basis = FourierFeatures(3, 4, inputs="none", random_state=0).fit(X, sample_weight=weight)
        squares = np.average(X**2, axis=0, weights=weight)
        angles = np.sqrt(squares @ basis.frequencies_**2 + basis.phases_**2)
        np.testing.assert_allclose(basis.terms_, angles, rtol=1e-12)
        sparse = clone(basis).fit(sp.csr_array(X), sample_weight=weight)
        np.testing.assert_allclose(sparse.terms_, angles, rtol=1e-12)

    def test_of_sparse_rows_that_are_scaled_include_the_centre(self):
        X = np.random.default_rng(0).normal(size=(20, 2)) + 1e3
        basis = FourierFeatures(3, 4, random_state=0)
        dense, sparse = (clone(basis).fit(rows).terms_ for rows in (X, sp.csr_array(X)))
        assert (sparse > 100.0 * dense).all()
