"""Columns are standardised, clipped or ranked as the slow definitions say, wherever they are."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from places import somewhere
from reference import literal_clip, literal_rank, literal_standard

from negcorr._common.arrays import to_host
from negcorr.bases.input_maps import CLIP, INPUTS, KNOTS, fit_input_map

SLOW = {
    "standard": literal_standard,
    "clip": literal_clip,
    "rank": literal_rank,
    "none": lambda column, new, weight: new,
}

every_kind = pytest.mark.parametrize("kind", INPUTS)


def table(n=60, seed=0):
    """Long tails, ties, a constant, and a column far from zero."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.standard_cauchy(n),
        rng.integers(0, 4, n).astype(float),
        np.full(n, 0.1),
        1e6 + rng.normal(size=n),
    ]
    return np.column_stack(columns)


def slowly(kind, X, new, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return np.column_stack([SLOW[kind](a, b, weight) for a, b in zip(X.T, new.T, strict=True)])


def test_every_kind_has_a_slow_definition():
    assert set(SLOW) == set(INPUTS)


@every_kind
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_what_the_definitions_say_within_the_range_and_beyond(kind, weighted):
    X, rng = table(), np.random.default_rng(1)
    new = np.vstack([X, table(20, seed=2), X.min(axis=0) - 1e3, X.max(axis=0) + 1e3])
    weight = rng.uniform(0.3, 3.0, len(X)) if weighted else None
    found = fit_input_map(kind, X, weight)(new)
    np.testing.assert_allclose(found, slowly(kind, X, new, weight), rtol=1e-7, atol=1e-7)


@every_kind
def test_weights_mean_repeated_rows_and_none_means_none(kind):
    X, rng = table(), np.random.default_rng(1)
    weight = rng.integers(0, 4, len(X)).astype(float)
    new = table(30, seed=3)
    weighted = fit_input_map(kind, X, weight)(new)
    repeated = fit_input_map(kind, np.repeat(X, weight.astype(int), axis=0))(new)
    np.testing.assert_array_equal(weighted, repeated)
    if kind != "none":
        assert np.abs(weighted - fit_input_map(kind, X)(new)).max() > 1e-3


@every_kind
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_order_of_rows_and_columns_does_not_matter(kind, data):
    values = st.floats(-100.0, 100.0, width=16)
    X = data.draw(hnp.arrays(np.float64, (8, 3), elements=values))
    rows = np.array(data.draw(st.permutations(range(8))))
    columns = np.array(data.draw(st.permutations(range(3))))
    one = fit_input_map(kind, X)(X)
    other = fit_input_map(kind, X[rows][:, columns])(X[:, columns])
    np.testing.assert_allclose(other, one[:, columns], rtol=1e-7, atol=1e-7)


@every_kind
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter_to_the_last_bit(kind, seed):
    # What is drawn by the content of mapped rows would else be another draw.
    rng = np.random.default_rng(seed)
    X = table(500, seed)
    weight = rng.uniform(0.1, 3.0, 500)
    for w in (None, weight):
        order = rng.permutation(500)
        one = fit_input_map(kind, X, w)(X)
        other = fit_input_map(kind, X[order], None if w is None else w[order])(X)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["standard", "clip", "rank"])
def test_a_constant_column_is_zero(kind):
    X = np.column_stack([np.full(9, 0.1), np.arange(9.0)])
    weight = np.random.default_rng(0).uniform(0.3, 3.0, 9)
    for w in (None, weight):
        np.testing.assert_allclose(fit_input_map(kind, X, w)(X)[:, 0], 0.0, atol=1e-15)
        alone = fit_input_map(kind, X[:, :1], w)
        np.testing.assert_allclose(alone(X[:, :1]), 0.0, atol=1e-15)


def test_what_is_mapped_has_mean_zero_and_unit_variance():
    X = table()[:, [0, 1, 3]]
    for kind in ("standard", "rank"):
        mapped = fit_input_map(kind, X)(X)
        np.testing.assert_allclose(mapped.mean(axis=0), 0.0, atol=1e-7)
        np.testing.assert_allclose(mapped.std(axis=0), 1.0, rtol=1e-7)


def test_nothing_is_clipped_beyond_three_and_the_middle_hardly_moves():
    X = np.random.default_rng(0).normal(size=(400, 1))
    learnt = fit_input_map("clip", X)
    far = learnt(np.array([[-1e9], [1e9]]))
    np.testing.assert_allclose(far.ravel(), [-CLIP, CLIP], rtol=1e-9)
    near = np.array([[0.2]])
    np.testing.assert_allclose(learnt(near), fit_input_map("standard", X)(near), rtol=0.01)


def test_ranks_survive_any_monotone_change_of_a_column():
    X = np.random.default_rng(0).normal(size=(50, 1))
    one, other = (fit_input_map("rank", Z)(Z) for Z in (X, np.exp(3.0 * X)))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_tied_values_share_the_middle_of_their_ranks():
    X = np.array([[0.0], [0.0], [0.0], [5.0]])
    learnt = fit_input_map("rank", X)
    np.testing.assert_allclose(learnt.ranks, [[0.375, 0.875]])
    np.testing.assert_allclose(learnt(np.array([[2.5]])), 1.0 / np.sqrt(3.0))


@pytest.mark.parametrize("ties", [0, 300])
def test_many_values_are_ranked_between_knots_to_a_knot_s_width(ties):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_cauchy(700), np.zeros(ties)])[:, np.newaxis]
    learnt = fit_input_map("rank", X)
    assert learnt.knots.shape == learnt.ranks.shape == (1, KNOTS)
    assert (np.diff(learnt.knots) > 0).all()
    found = learnt(X).ravel() * learnt.scale + learnt.center
    slow = np.array([np.mean(v > X) + 0.5 * np.mean(v == X) for v in X.ravel()])
    assert np.abs(found - slow).max() < 1.0 / KNOTS
    assert np.abs(found - slow).max() > 1e-6
    order = np.argsort(X.ravel())
    assert (np.diff(found[order]) >= 0).all()
    outside = learnt(np.array([[-1e9], [1e9]]))
    np.testing.assert_allclose(outside, learnt(np.array([X.min(axis=0), X.max(axis=0)])))


def test_columns_with_fewer_values_keep_their_own_knots_beside_one_with_many():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 3, 400).astype(float)
    both = fit_input_map("rank", np.column_stack([rng.normal(size=400), few]))
    alone = fit_input_map("rank", few[:, np.newaxis])
    new = np.linspace(-1.0, 4.0, 23)
    together = both(np.column_stack([np.zeros(23), new]))[:, 1]
    np.testing.assert_allclose(together, alone(new[:, np.newaxis]).ravel(), rtol=1e-12)


class TestSparse:
    @pytest.mark.parametrize("kind", ["standard", "none"])
    def test_rows_are_scaled_and_stay_sparse(self, kind):
        X = np.where(np.abs(table()[:, :2]) > 1.0, table()[:, :2], 0.0)
        learnt = fit_input_map(kind, sp.csr_array(X), relevance=[2.0, 0.5])
        mapped = learnt(sp.csr_array(X))
        assert sp.issparse(mapped)
        assert mapped.nnz == np.count_nonzero(X)
        scale = X.std(axis=0) if kind == "standard" else np.ones(2)
        np.testing.assert_allclose(mapped.toarray(), X / scale * [2.0, 0.5], rtol=1e-7)
        centred = mapped.toarray() - learnt.offset
        np.testing.assert_allclose(learnt(X), centred, rtol=1e-12, atol=1e-12)

    @every_kind
    def test_rows_are_the_same_as_dense_ones_to_a_map_of_dense_rows(self, kind):
        X = table()
        learnt = fit_input_map(kind, X)
        mapped = learnt(sp.csr_array(X))
        dense = mapped.toarray() - learnt.offset if sp.issparse(mapped) else mapped
        # The last column is far from its scale, so its offset is large.
        np.testing.assert_allclose(dense, learnt(X), rtol=0, atol=1e-9)

    @pytest.mark.parametrize("kind", ["clip", "rank"])
    def test_rows_are_refused_where_they_would_become_dense(self, kind):
        words = rf"inputs='{kind}' .*sparse X dense; allowed .* 'standard' and 'none'"
        with pytest.raises(ValueError, match=words):
            fit_input_map(kind, sp.csr_array(table()))


class TestRelevance:
    @every_kind
    def test_multiplies_what_is_mapped(self, kind):
        X = table()
        plain = fit_input_map(kind, X)(X)
        found = fit_input_map(kind, X, relevance=[1, 0, 3, 0.5])(X)
        np.testing.assert_allclose(found, plain * [1.0, 0.0, 3.0, 0.5], rtol=1e-12)

    @pytest.mark.parametrize(
        "relevance",
        [
            [1.0, 2.0],
            np.ones((4, 1)),
            1.0,
            True,
            [1.0, -0.1, 1.0, 1.0],
            [1.0, np.nan, 1.0, 1.0],
            [1.0, np.inf, 1.0, 1.0],
            ["a", "b", "c", "d"],
            "all",
        ],
        ids=str,
    )
    def test_that_is_no_number_for_each_column_is_shown_with_what_is(self, relevance):
        with pytest.raises(
            ValueError, match=r"(?s)relevance=.* must be None or 4 finite numbers"
        ) as error:
            fit_input_map("standard", table(), relevance=relevance)
        assert repr(relevance) in str(error.value)

    def test_that_lets_no_column_count_is_refused(self):
        with pytest.raises(ValueError, match="relevance is zero for every column"):
            fit_input_map("standard", table(), relevance=np.zeros(4))


@pytest.mark.parametrize("kind", ["ranks", None, True])
def test_an_unknown_kind_is_named_with_the_known_ones(kind):
    with pytest.raises(ValueError, match=rf"inputs={kind!r} .*'standard', 'clip', 'rank', 'none'"):
        fit_input_map(kind, table())


@pytest.mark.parametrize("name", ["torch", "strict", "strict-cpu"])
@every_kind
class TestElsewhere:
    def test_arrays_of_other_libraries_are_mapped_alike_and_where_they_are(self, name, kind):
        place, X = somewhere(name), table(200)
        rng = np.random.default_rng(1)
        weight, relevance = rng.integers(0, 3, 200).astype(float), [1.0, 2.0, 3.0, 0.0]
        new = np.vstack([X, X.min(axis=0) - 1.0, X.max(axis=0) + 1.0])
        there = fit_input_map(kind, place.put(X), place.put(weight), relevance)(place.put(new))
        assert place.has(there)
        home = fit_input_map(kind, X, weight, relevance)(new)
        # Rows that were fitted to the last bit: what is drawn by content is drawn alike.
        np.testing.assert_array_equal(to_host(there)[:200], home[:200])
        np.testing.assert_allclose(to_host(there), home, rtol=1e-12, atol=1e-12)

    def test_a_constant_column_alone(self, name, kind):
        place, X = somewhere(name), np.full((5, 1), 0.1)
        there = fit_input_map(kind, place.put(X))(place.put(X))
        np.testing.assert_array_equal(to_host(there), fit_input_map(kind, X)(X))
