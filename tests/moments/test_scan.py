"""Moments by a scan over blocks of rows are the moments of the whole feature matrix."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from threadpoolctl import threadpool_limits

from negcorr.bases import BlockFeatures, ClonedFeatures, FourierFeatures, TreeFeatures
from negcorr.moments import scan
from negcorr.moments.moments import FactorMoments, GramMoments
from negcorr.moments.scan import features_of, scan_features, scan_moments
from negcorr.rows.keys import content_hash
from negcorr.rows.rows import Rows, canonical_order, joined

FORMS = ["gram", "factor"]


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def n_threads(request):
    with threadpool_limits(request.param, user_api="blas"):
        yield request.param


@pytest.fixture(params=[1, 20_000, 16 * 2**20], ids=["least", "odd", "usual"])
def block_bytes(request, monkeypatch):
    monkeypatch.setattr(scan, "BLOCK_BYTES", request.param)
    return request.param


def data(n=701, outputs=2, weighted=True, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    return Rows(X, rng.normal(size=(n, outputs)) + 50.0, weight)


def fourier(rows, inputs="none"):
    return FourierFeatures(4, 5, inputs=inputs, random_state=0).fit(rows.X)


def groups_of(n, k=3, seed=1):
    order = np.random.default_rng(seed).permutation(n)
    return [np.sort(part) for part in np.array_split(order, k)]


def assert_moments(moments, features, y, weight, form):
    """Against definitions, from all rows at once."""
    z = np.hstack([features, y])
    weight = np.ones(len(z)) if weight is None else weight
    mass = weight.sum()
    mean = weight @ z / mass
    scatter = (z - mean).T @ (weight[:, np.newaxis] * (z - mean))
    assert isinstance(moments, GramMoments if form == "gram" else FactorMoments)
    assert moments.weight == pytest.approx(mass, rel=1e-13)
    assert moments.n_outputs == y.shape[1]
    assert moments.n_features == features.shape[1]
    assert moments.n_rows == np.count_nonzero(weight)
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-11, atol=1e-12)
    if form == "gram":
        ours = moments.scatter
    else:
        factor = moments.factor_about(mean)
        ours = factor.T @ factor
    np.testing.assert_allclose(ours, scatter, atol=1e-12 * max(1.0, np.abs(scatter).max()))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
def test_moments_are_those_of_the_whole_matrix(form, weighted, outputs, n_threads, block_bytes):
    rows = data(outputs=outputs, weighted=weighted)
    basis, groups = fourier(rows), groups_of(len(rows.y))
    features = basis.transform(rows.X)
    for moments, group in zip(scan_moments(rows, basis, groups, form), groups, strict=True):
        weight = None if rows.weight is None else rows.weight[group]
        assert_moments(moments, features[group], rows.y[group], weight, form)


@pytest.mark.parametrize("form", FORMS)
def test_groups_of_any_size_are_scanned(form, n_threads, block_bytes):
    rows = data(300, weighted=False)
    basis = fourier(rows)
    features = basis.transform(rows.X)
    groups = [np.array([7]), np.array([3, 250]), np.arange(64), np.arange(20, 149), np.arange(300)]
    for moments, group in zip(scan_moments(rows, basis, groups, form), groups, strict=True):
        assert_moments(moments, features[group], rows.y[group], None, form)


@pytest.mark.parametrize("form", FORMS)
def test_groups_may_overlap_and_repeat_rows(form, n_threads):
    rows = data(100)
    basis = fourier(rows)
    features = basis.transform(rows.X)
    group = np.array([4, 4, 9, 4, 50])
    for moments in scan_moments(rows, basis, [group, group], form):
        assert_moments(moments, features[group], rows.y[group], rows.weight[group], form)


@pytest.mark.parametrize("form", FORMS)
def test_group_without_rows_or_without_weight_weighs_nothing(form, n_threads):
    rows = data(100)
    rows.weight[:10] = 0.0
    empty, weightless, full = scan_moments(
        rows, fourier(rows), [np.empty(0, dtype=np.intp), np.arange(10), np.arange(100)], form
    )
    for moments in (empty, weightless):
        assert moments.weight == 0.0
        assert moments.n_rows == 0
        assert (moments + full).weight == pytest.approx(full.weight)
    assert full.weight == pytest.approx(rows.weight.sum())


@pytest.mark.parametrize("form", FORMS)
def test_scan_repeats_bit_for_bit(form, n_threads, block_bytes):
    rows = data(2000)
    basis, groups = fourier(rows), groups_of(2000)
    first, second = (scan_moments(rows, basis, groups, form) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        for name in vars(one):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_two_threads_and_small_blocks_are_what_they_say(monkeypatch):
    rows = data(1000)
    basis = fourier(rows)
    seen = []
    fill = FourierFeatures.fill

    def counted(self, X, out):
        seen.append(X.shape[0])
        fill(self, X, out)

    monkeypatch.setattr(FourierFeatures, "fill", counted)
    monkeypatch.setattr(scan, "BLOCK_BYTES", 8 * 23 * 100)
    with threadpool_limits(2, user_api="blas"):
        scan_moments(rows, basis, [np.arange(1000)], "gram")
    blocks = seen[1:]  # the first call finds the provisional centre
    assert sum(blocks) == 1000
    assert len(blocks) == 10
    assert max(blocks) <= 110


@pytest.mark.parametrize("form", FORMS)
def test_number_of_lanes_changes_only_rounding(form):
    rows = data(1500)
    basis = fourier(rows)
    found = []
    for limit in (1, 2, 3):
        with threadpool_limits(limit, user_api="blas"):
            found.append(scan_moments(rows, basis, [np.arange(1500)], form)[0])
    features = basis.transform(rows.X)
    for moments in found:
        assert_moments(moments, features, rows.y, rows.weight, form)


@pytest.mark.parametrize("form", FORMS)
def test_features_far_from_zero_lose_no_digits(form, n_threads):
    rng = np.random.default_rng(0)
    X = rng.integers(-512, 512, size=(640, 2)) / 1024.0 + 2.0**20
    rows = Rows(X, rng.normal(size=(640, 1)))
    basis = BlockFeatures([("same", FunctionTransformer())]).fit(X)
    (moments,) = scan_moments(rows, basis, [np.arange(640)], form)
    expected = np.cov((X - 2.0**20).T, bias=True) * 640
    centre = moments.mean
    if form == "gram":
        ours = moments.scatter[:2, :2]
    else:
        factor = moments.factor_about(centre)[:, :2]
        ours = factor.T @ factor
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9 * expected.max())


def frame_basis():
    return ClonedFeatures(
        make_column_transformer(
            (OneHotEncoder(), ["kind"]), (RBFSampler(n_components=3), ["a", "b"])
        ),
        3,
        random_state=0,
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_rows_of_frames_reach_the_basis_as_frames(form, frame, n_threads, block_bytes):
    rng = np.random.default_rng(0)
    X = frame(
        {
            "kind": rng.choice(["u", "v"], 300).tolist(),
            "a": rng.normal(size=300),
            "b": rng.normal(size=300),
        }
    )
    basis = frame_basis().fit(X)
    features = np.asarray(basis.transform(X))
    rows = Rows(X, rng.normal(size=(300, 1)), rng.integers(0, 3, 300).astype(float))
    groups = groups_of(300)
    for moments, group in zip(scan_moments(rows, basis, groups, form), groups, strict=True):
        assert_moments(moments, features[group], rows.y[group], rows.weight[group], form)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_rows_give_the_moments_of_dense_ones(form, n_threads):
    rows = data(400)
    basis = fourier(rows, inputs="standard")
    sparse = Rows(sp.csr_array(rows.X), rows.y, rows.weight)
    (moments,) = scan_moments(sparse, basis, [np.arange(400)], form)
    assert_moments(moments, basis.transform(rows.X), rows.y, rows.weight, form)


def test_bases_that_are_not_thread_safe_are_scanned_in_one_thread(monkeypatch):
    rows = data(500)
    basis = ClonedFeatures(RBFSampler(n_components=3), 2, random_state=0).fit(rows.X)
    asked = []
    workers = scan.worker_threads
    monkeypatch.setattr(scan, "worker_threads", lambda n: asked.append(n) or workers(n))
    with threadpool_limits(2, user_api="blas"):
        scan_moments(rows, basis, [np.arange(500)], "gram")
        scan_moments(rows, fourier(rows), [np.arange(500)], "gram")
    assert asked == [1, 2]


@pytest.mark.parametrize(
    "wrap", [np.asarray, sp.csr_array, pd.DataFrame], ids=["array", "sparse", "frame"]
)
def test_features_come_in_slices_that_cover_all_rows_once(wrap, n_threads, block_bytes):
    rows = data(333)
    basis = TreeFeatures(3, 4, random_state=0).fit(rows.X)
    expected = basis.transform(rows.X)
    out, times = np.full(expected.shape, np.nan), np.zeros(333, dtype=int)

    def use(block, features):
        out[block] = features
        times[block] += 1

    scan_features(wrap(rows.X), basis, 333, use)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(times, np.ones(333))


@pytest.mark.parametrize("n", [1, 2, 65])
def test_features_of_few_rows_are_scanned(n, n_threads):
    rows = data(n)
    basis = fourier(data(50))
    seen = []
    scan_features(rows.X, basis, n, lambda block, features: seen.append((block, features)))
    seen.sort(key=lambda item: item[0].start)
    assert seen[0][0].start == 0
    assert seen[-1][0].stop == n
    assert all(a.stop == b.start for (a, _), (b, _) in itertools.pairwise(seen))
    features = np.vstack([features for _, features in seen])
    np.testing.assert_allclose(features, basis.transform(rows.X), atol=1e-13)


def test_taken_rows_keep_their_targets_and_weights():
    rows = data(20)
    part = rows.take(np.array([3, 1, 3]))
    np.testing.assert_array_equal(part.X, rows.X[[3, 1, 3]])
    np.testing.assert_array_equal(part.y, rows.y[[3, 1, 3]])
    np.testing.assert_array_equal(part.weight, rows.weight[[3, 1, 3]])
    assert Rows(rows.X, rows.y).take(np.array([0])).weight is None


def test_whole_feature_matrix_is_that_of_transform():
    rows = data(70)
    basis = fourier(rows)
    np.testing.assert_array_equal(features_of(rows, basis), basis.transform(rows.X))


TABLES = {
    "dense": np.asarray,
    "sparse array": sp.csr_array,
    "sparse matrix": sp.csr_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
}


def dense(table):
    return table.toarray() if sp.issparse(table) else np.asarray(table)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("sizes", [[20], [7, 13], [1, 0, 19], [0, 20, 0], [0, 0]])
def test_parts_of_any_table_are_joined_in_their_order(kind, sizes):
    rows = data(sum(sizes))
    ends = np.cumsum([0, *sizes])
    parts = [
        Rows(TABLES[kind](rows.X[a:b]), rows.y[a:b], rows.weight[a:b])
        for a, b in itertools.pairwise(ends)
    ]
    whole = joined(parts)
    assert type(whole.X) is type(parts[0].X)
    np.testing.assert_array_equal(dense(whole.X), rows.X)
    np.testing.assert_array_equal(whole.y, rows.y)
    np.testing.assert_array_equal(whole.weight, rows.weight)
    if hasattr(whole.X, "columns"):
        assert list(whole.X.columns) == ["a", "b", "c"]
    if len(rows.y):
        np.testing.assert_array_equal(content_hash(whole.X, whole.y), content_hash(rows.X, rows.y))


def test_joined_rows_without_weights_count_one_each():
    rows = data(20)
    bare = Rows(rows.X, rows.y)
    assert joined([bare, bare]).weight is None
    weight = joined([bare, rows, bare]).weight
    np.testing.assert_array_equal(weight, np.concatenate([np.ones(20), rows.weight, np.ones(20)]))


@pytest.mark.parametrize("first", [0, 1])
def test_sparse_and_dense_parts_join_to_a_sparse_table(first):
    rows = data(20)
    kinds = [sp.csr_array, np.asarray][:: 1 if first else -1]
    parts = [Rows(wrap(rows.X), rows.y) for wrap in kinds]
    whole = joined(parts)
    assert whole.X.format == "csr"
    np.testing.assert_array_equal(whole.X.toarray(), np.vstack([rows.X, rows.X]))


def test_joined_rows_are_copies():
    rows = data(20)
    for parts in ([rows], [rows, rows]):
        whole = joined(parts)
        assert not np.shares_memory(whole.X, rows.X)
        assert not np.shares_memory(whole.y, rows.y)


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_of_frames_may_have_other_types_in_other_parts(library):
    y = np.zeros((2, 1))
    parts = [
        Rows(library.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [None, None]}), y),
        Rows(library.DataFrame({"a": [0.5, 1.5], "b": ["z", "x"], "c": ["u", "v"]}), y),
    ]
    whole = joined(parts).X
    assert list(whole["a"]) == [1.0, 2.0, 0.5, 1.5]
    assert list(whole["b"]) == ["x", "y", "z", "x"]
    assert list(whole["c"])[2:] == ["u", "v"]


def test_tables_of_different_kinds_are_not_joined():
    rows = data(5)
    frames = [Rows(TABLES[kind](rows.X), rows.y) for kind in ("pandas", "polars", "dense")]
    for one, other in itertools.permutations(frames, 2):
        with pytest.raises(ValueError, match=r"X comes as .* and as .*; give all rows as tables"):
            joined([one, other])


def test_canonical_order_is_that_of_the_content():
    rows = data(50)
    order = np.random.default_rng(0).permutation(50)
    for part in (rows, Rows(rows.X, rows.y)):
        first, second = part.take(canonical_order(part)), part.take(order)
        second = second.take(canonical_order(second))
        np.testing.assert_array_equal(first.X, second.X)
        np.testing.assert_array_equal(first.y, second.y)


def test_targets_do_not_show_in_the_canonical_order_of_inputs():
    rows = data(50)
    other = Rows(rows.X, np.zeros_like(rows.y), rows.weight)
    np.testing.assert_array_equal(canonical_order(rows), canonical_order(other))
