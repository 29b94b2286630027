"""Fitting in parts: the estimator's promises, chunk by chunk, merged and taken apart."""

import copy
import gc
import itertools
import pickle
import threading
import warnings
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ncl
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from negcorr import NCLRegressor
from negcorr.ensemble import stream as streaming
from negcorr.exceptions import (
    FrequencyWarning,
    NegcorrWarning,
    PrecisionWarning,
    SearchBoundaryWarning,
    TableError,
)
from negcorr.rows.keys import content_hash

SMALL = {"n_members": 8, "n_components": 5}
LAZY = ("path_", "lam_", "gap_", "dof_", "noise_variance_", "coef_", "intercept_")

repeatable = settings(derandomize=True, deadline=None, max_examples=25)


def data(n=300, d=3, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, -1] + 1.0 * rng.normal(size=n)
    if outputs is None:
        return X, y
    more = rng.normal(size=(n, outputs - 1)) + X[:, :1] ** 2
    return X, np.column_stack([y, more])


def taken(table, index):
    if hasattr(table, "iloc"):
        return table.iloc[index]
    return table[index]


def cuts(n, sizes):
    """Row numbers of chunks of these sizes, again and again until all rows are in one."""
    start, chunks = 0, []
    while start < n:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(np.arange(start, min(start + size, n)))
        start += size
    return chunks


def streamed(model, X, y, weight=None, chunks=(70,)):
    """A copy of a model that has a basis, after partial_fit of every chunk."""
    model = copy.copy(model)
    if not isinstance(chunks[0], np.ndarray):
        chunks = cuts(len(y), chunks)
    for index in chunks:
        part = None if weight is None else weight[index]
        model = model.partial_fit(taken(X, index), y[index], part)
    return model


def kept_by(model):
    """The rows that a model fitted in parts keeps for its intervals, and their hashes."""
    stream = model._state.stream
    return stream.kept, stream.keys


def assert_same_kept(one, other):
    (rows, keys), (wanted, wanted_keys) = kept_by(one), kept_by(other)
    np.testing.assert_array_equal(keys, wanted_keys)
    np.testing.assert_array_equal(rows.X, wanted.X)


def assert_same(one, other, X, rtol=1e-9, interval_rtol=None):
    """Everything that a user can ask for is the same; intervals are so to ten times ``rtol``."""
    interval_rtol = 10 * rtol if interval_rtol is None else interval_rtol
    np.testing.assert_array_equal(one.lam_, other.lam_)
    np.testing.assert_array_equal(one.gap_, other.gap_)
    assert one.path_.criterion == other.path_.criterion
    assert one.path_.spectrum.weight == pytest.approx(other.path_.spectrum.weight, rel=1e-12)
    np.testing.assert_allclose(one.dof_, other.dof_, rtol=rtol)
    np.testing.assert_allclose(one.noise_variance_, other.noise_variance_, rtol=10 * rtol)
    mean = np.asarray(other.predict(X))
    atol = rtol * float(np.abs(mean).max())
    np.testing.assert_allclose(one.predict(X), mean, rtol=rtol, atol=atol)
    for a, b in zip(
        one.predict(X, return_std=True), other.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=10 * rtol, atol=atol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few rows for this coverage, which is the same
        a, b = one.predict_interval(X, 0.9), other.predict_interval(X, 0.9)
    size = float(np.abs(b).max())
    np.testing.assert_allclose(a, b, rtol=interval_rtol, atol=interval_rtol * size)
    gaps = np.array([1.0, 0.1, 1e-2])
    np.testing.assert_allclose(
        one.path_.kfold(gap=gaps), other.path_.kfold(gap=gaps), rtol=10 * rtol
    )
    assert type(one.lam_) is type(other.lam_)
    assert type(one.intercept_) is type(other.intercept_)
    assert np.shape(one.coef_) == np.shape(other.coef_)


def state(model):
    """Identities of all attributes: what a call that fails must leave as it was."""
    return {name: id(value) for name, value in vars(model).items()}


@pytest.fixture
def tunings(monkeypatch):
    """Counts how often λ is chosen."""
    calls = []
    original = streaming.build_path

    def counted(*args, **kwargs):
        calls.append(1)
        return original(*args, **kwargs)

    monkeypatch.setattr(streaming, "build_path", counted)
    return calls


class TestSameAsInMemory:
    @pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv", "aic", "aicc", "bic", "cp"])
    def test_for_every_criterion(self, criterion):
        X, y = data()
        fitted = ncl(**SMALL, criterion=criterion).fit(X, y)
        assert_same(streamed(ncl(**SMALL, criterion=criterion).draw(X), X, y), fitted, X)

    @pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
    @pytest.mark.parametrize("n", [25, 70, 90, 400])
    def test_for_every_solver_with_rows_below_and_above_twice_the_features(self, solver, n):
        X, y = data(n)
        model = ncl(**SMALL, solver=solver)
        fitted = clone(model).fit(X, y)
        assert_same(streamed(model.draw(X), X, y, chunks=(9, 1, 30)), fitted, X)

    @pytest.mark.parametrize(
        "options",
        [
            {"lam": 0.7},
            {"gap": 1e-3},
            {"fit_intercept": False},
            {"alpha": 0.01},
            {"cv": 3},
            {"cv": None},
            {"cv": 12},
            {"gap": 0.01, "criterion": "loo"},
            {"noise_variance": 0.1, "criterion": "cp"},
            {"fit_intercept": False, "solver": "qr", "alpha": 0.1},
        ],
        ids=str,
    )
    def test_for_every_parameter(self, options):
        X, y = data(230)
        model = ncl(**SMALL, **options)
        fitted = clone(model).fit(X, y)
        assert_same(streamed(model.draw(X), X, y, chunks=(11, 50)), fitted, X)

    @pytest.mark.parametrize("basis", ["fourier", "orthogonal", "nystroem", "trees"])
    def test_for_every_basis(self, basis):
        X, y = data()
        model = ncl(**SMALL | {"basis": basis, "alpha": 1e-3})
        fitted = clone(model).fit(X, y)
        assert_same(streamed(model.draw(X), X, y), fitted, X)

    def test_for_several_outputs(self):
        X, Y = data(outputs=3)
        model = ncl(**SMALL)
        fitted = clone(model).fit(X, Y)
        assert_same(streamed(model.draw(X), X, Y), fitted, X)
        assert streamed(model, X, Y[:, :1]).lam_.shape == (1,)

    def test_for_single_precision(self):
        X, y = data()
        X = X.astype(np.float32)
        model = ncl(**SMALL)
        fitted, in_parts = clone(model).fit(X, y), streamed(model.draw(X), X, y)
        assert in_parts.lam_ == fitted.lam_
        assert in_parts.predict(X).dtype == np.float32
        assert_same(in_parts, fitted, X.astype(np.float64))
        # The same numbers in another precision are the same rows.
        chunks = cuts(len(y), (70,))
        mixed = copy.copy(model)
        for k, index in enumerate(chunks):
            mixed.partial_fit(X[index].astype(np.float64 if k % 2 else np.float32), y[index])
        assert_same(mixed, fitted, X.astype(np.float64))

    def test_for_sparse_rows_and_for_sparse_and_dense_ones_in_turn(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 6)), rng.normal(size=300)
        X[np.abs(X) < 0.6] = 0.0
        y += X[:, 0]
        table = sp.csr_array(X)
        model = ncl(**SMALL)
        fitted = clone(model).fit(table, y)
        in_parts = streamed(model.draw(table), table, y)
        assert sp.issparse(kept_by(in_parts)[0].X)
        assert_same(in_parts, fitted, table)
        for first in (0, 1):
            mixed = copy.copy(model)
            for k, index in enumerate(cuts(300, (70,))):
                mixed.partial_fit((table if (k + first) % 2 else X)[index], y[index])
            assert_same(mixed, fitted, X)

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_for_data_frames_that_a_transformer_takes(self, library):
        X, y = data(260)
        table = pd.DataFrame(X, columns=["a", "b", "c"])
        table["kind"] = np.random.default_rng(1).choice(["red", "green", "blue"], 260)
        y = y + (table["kind"] == "red").to_numpy()
        if library == "polars":
            table = pl.from_pandas(table)
        numbers = make_pipeline(StandardScaler(), RBFSampler(n_components=4))
        basis = make_column_transformer(
            (numbers, ["a", "b", "c"]), (OneHotEncoder(sparse_output=False), ["kind"])
        )
        model = ncl(6, basis=basis, alpha=1e-3)
        fitted = clone(model).fit(table, y)
        assert_same(streamed(model.draw(table), table, y), fitted, table)

    def test_for_a_transformer_that_picks_rows_by_their_position(self):
        X, y = data()
        order = np.random.default_rng(0).permutation(len(y))
        model = ncl(6, basis=Nystroem(n_components=5))
        fitted = clone(model).fit(X, y)
        assert_same(streamed(model.draw(X[order]), X, y), fitted, X)
        first = clone(model).partial_fit(X[order], y[order])
        np.testing.assert_array_equal(first.basis_.transform(X), fitted.basis_.transform(X))

    @repeatable
    @given(st.data())
    def test_for_any_chunks_in_any_order(self, draw):
        n = draw.draw(st.integers(12, 200))
        seed = draw.draw(st.integers(0, 1000))
        X, y = data(n, seed=seed)
        if draw.draw(st.booleans()):
            X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
        order = np.random.default_rng(seed).permutation(len(y))
        sizes = draw.draw(st.lists(st.sampled_from([1, 2, 3, 17, 60, 150]), min_size=1))
        weight = None
        if draw.draw(st.booleans()):
            weight = np.random.default_rng(seed + 1).integers(0, 3, size=len(y)).astype(float)
        # Not the criterion: with few rows two valleys may be equal to the last digits.
        model = ncl(4, 4, gap=0.05)
        fitted = clone(model).fit(X, y, weight)
        chunks = [order[index] for index in cuts(len(y), sizes)]
        assert_same(streamed(model.draw(X, weight), X, y, weight, chunks), fitted, X)

    def test_with_more_rows_in_chunks_than_are_kept(self):
        X, y = data(9_000)
        X, y = np.vstack([X, X[:500]]), np.concatenate([y, y[:500]])
        model = ncl(**SMALL)
        fitted = clone(model).fit(X, y)
        for chunks in [(5_000,), (300, 6_000), (9_500,)]:
            in_parts = streamed(model.draw(X), X, y, chunks=chunks)
            assert len(kept_by(in_parts)[0].y) == 4096
            assert_same(in_parts, fitted, X[:300])

    def test_equal_rows_of_different_weights_around_the_last_that_is_kept(self):
        """Which of them are kept must not depend on the order in which they come."""
        X, y = np.repeat(data(40)[0], 150, axis=0), np.repeat(data(40)[1], 150)
        weight = np.tile(np.arange(1.0, 151.0), 40)
        order = np.random.default_rng(0).permutation(len(y))
        model = ncl(4, 4, gap=0.1)
        fitted = clone(model).fit(X, y, weight)
        drawn = model.draw(X, weight)
        in_parts = streamed(drawn, X[order], y[order], weight[order], (1_000,))
        assert_same(in_parts, fitted, X[::150])
        at_once = streamed(drawn, X, y, weight, (len(y),))
        assert_same_kept(in_parts, at_once)
        assert kept_by(in_parts)[0].weight.sum() == kept_by(at_once)[0].weight.sum()


class TestWeights:
    def test_integer_weights_are_repeated_rows(self):
        X, y = data()
        weight = np.random.default_rng(0).integers(0, 4, size=300).astype(float)
        index = np.repeat(np.arange(300), weight.astype(int))
        drawn = ncl(**SMALL).draw(X, sample_weight=weight)
        by_weight = streamed(drawn, X, y, weight)
        assert_same(by_weight, streamed(drawn, X[index], y[index]), X)
        assert_same(by_weight, ncl(**SMALL).fit(X, y, weight), X)

    def test_rows_of_no_weight_are_not_kept_and_may_be_whole_chunks(self):
        X, y = data()
        weight = np.ones(300)
        weight[70:140] = 0.0
        weight[3] = 0.0
        drawn = ncl(**SMALL).draw(X)
        used = weight > 0
        in_parts = streamed(drawn, X, y, weight)
        assert len(kept_by(in_parts)[0].y) == used.sum()
        assert_same(in_parts, streamed(drawn, X[used], y[used]), X)

    @pytest.mark.parametrize("solver", ["auto", "qr"])
    def test_the_first_chunk_may_be_of_no_weight_where_the_basis_is_drawn(self, solver):
        X, y = data()
        y = y + 1e6
        drawn = ncl(**SMALL, solver=solver).draw(X)
        nothing = copy.copy(drawn).partial_fit(X[:100], y[:100], np.zeros(100))
        with pytest.raises(NotFittedError):
            nothing.predict(X)
        with pytest.raises(ValueError, match="no row of positive weight so far"):
            _ = nothing.lam_
        assert_same(nothing.partial_fit(X, y), streamed(drawn, X, y), X)

    def test_the_first_chunk_of_all_must_have_weight(self):
        X, y = data()
        with pytest.raises(ValueError, match="zero"):
            ncl(**SMALL).partial_fit(X, y, np.zeros(300))

    def test_chunks_without_weights_count_one_each(self):
        X, y = data()
        drawn = ncl(**SMALL).draw(X)
        mixed = copy.copy(drawn).partial_fit(X[:100], y[:100])
        mixed.partial_fit(X[100:], y[100:], np.full(200, 2.0))
        weight = np.where(np.arange(300) < 100, 1.0, 2.0)
        assert_same(mixed, streamed(drawn, X, y, weight), X)

    def test_relative_weights_are_judged_by_all_rows_not_by_a_chunk(self):
        X, y = data()
        weight = np.where(np.arange(300) < 70, 0.01, 2.0)
        model = streamed(ncl(**SMALL).draw(X), X, y, weight)
        assert model.path_.spectrum.weight == pytest.approx(460.7)
        light = streamed(ncl(**SMALL).draw(X), X, y, np.full(300, 0.09))
        with pytest.warns(FrequencyWarning, match="adds up to 27 for 300 rows") as caught:
            _ = light.lam_
        assert caught[0].filename == __file__


class TestLaziness:
    def test_lam_is_chosen_once_and_not_before_it_is_asked_for(self, tunings):
        X, y = data()
        model = streamed(ncl(**SMALL).draw(X), X, y)
        assert tunings == []
        _ = model.lam_
        assert len(tunings) == 1
        model.predict(X)
        model.predict_interval(X)
        model.summary()
        _ = [getattr(model, name) for name in LAZY]
        assert len(tunings) == 1
        model.partial_fit(X[:50], y[:50])
        assert len(tunings) == 1
        model.predict(X)
        assert len(tunings) == 2

    def test_neither_copies_nor_unfitted_questions_choose(self, tunings):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X, y)
        other = pickle.loads(pickle.dumps(copy.deepcopy(copy.copy(model))))
        clone(model)
        repr(model)
        model.merge(other)
        assert hasattr(model, "partial_fit")
        assert not hasattr(model, "nonsense_")
        assert tunings == []

    def test_neither_a_list_of_attributes_nor_a_notebook_chooses(self, tunings):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X, y)
        assert {"predict", "partial_fit", "basis_", "n_features_in_"} <= set(dir(model))
        assert not set(LAZY) & set(dir(model))
        assert "300 rows so far" in model._repr_mimebundle_()["text/html"]
        assert tunings == []
        _ = model.lam_
        assert set(LAZY) <= set(dir(model))
        assert "degrees of freedom" in model._repr_mimebundle_()["text/html"]

    def test_the_model_is_usable_after_every_chunk(self):
        X, y = data(120)
        drawn = ncl(4, 3).draw(X)
        model = copy.copy(drawn)
        for index in cuts(120, (40,)):
            model.partial_fit(X[index], y[index])
            seen = np.arange(index[-1] + 1)
            assert_same(model, streamed(drawn, X[seen], y[seen], chunks=(25,)), X)

    def test_predictions_leave_the_attributes_alone(self):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X, y)
        before = state(model)
        model.predict(X, return_std=True)
        model.predict_members(X)
        model.predict_interval(X)
        model.diversity(X, y)
        model.score(X, y)
        assert state(model) == before

    def test_lazy_attributes_are_there_for_hasattr(self):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X, y)
        assert all(hasattr(model, name) for name in LAZY)
        for bare in (NCLRegressor(), ncl(**SMALL).draw(X), clone(model)):
            assert not any(hasattr(bare, name) for name in LAZY)

    def test_a_warning_points_at_the_line_that_asked(self):
        X, y = data()
        model = ncl(2, 2, criterion="sure", noise_variance=1e-12).partial_fit(X, y)
        with pytest.warns(SearchBoundaryWarning, match="smallest of the search") as caught:
            _ = model.lam_
        assert caught[0].filename == __file__
        again = copy.copy(model).partial_fit(X, y)
        with pytest.warns(SearchBoundaryWarning) as caught:
            again.predict(X)
        assert caught[0].filename == __file__

    def test_an_error_while_choosing_comes_again_and_goes_with_more_rows(self):
        X, y = data()
        model = ncl(**SMALL).draw(X)
        model.partial_fit(np.repeat(X[:1], 4, axis=0), np.repeat(y[:1], 4))
        for _ in range(2):
            with pytest.raises(ValueError, match="folds can be used"):
                _ = model.lam_
        assert "NCLRegressor" in model._repr_mimebundle_()["text/html"]
        assert "NCLRegressor" in repr(model)
        model.partial_fit(X, y)
        assert 0 <= model.lam_ <= 1

    def test_threads_that_ask_at_once_share_one_choice(self, tunings):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X, y)
        gate, answers = threading.Barrier(4), []

        def ask():
            gate.wait()
            answers.append((id(model.path_), model.predict(X)))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(tunings) == 1
        assert len({path for path, _ in answers}) == 1
        for _, prediction in answers:
            np.testing.assert_array_equal(prediction, answers[0][1])

    def test_parameters_count_from_the_next_chunk_on(self):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X[:200], y[:200])
        lam = model.lam_
        model.set_params(lam=0.25)
        assert model.lam_ == lam
        assert model.partial_fit(X[200:], y[200:]).lam_ == 0.25


class TestUnfitted:
    def test_nothing_is_known_before_any_rows(self):
        X, _ = data()
        drawn = ncl(**SMALL).draw(X)
        for model in (ncl(**SMALL), drawn):
            with pytest.raises(AttributeError, match="lam_"):
                _ = model.lam_
            for call in (
                lambda m: m.predict(X),
                lambda m: m.predict_interval(X),
                lambda m: m.with_lam(0.5),
                lambda m: m.compact(),
                lambda m: m.summary(),
            ):
                with pytest.raises(NotFittedError):
                    call(model)
        assert drawn.n_features_in_ == 3

    def test_drawing_again_forgets_the_rows(self):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X, y)
        model.draw(X[:, :2])
        assert model.n_features_in_ == 2
        with pytest.raises(NotFittedError):
            model.predict(X)
        fitted = ncl(**SMALL).fit(X, y).draw(X)
        with pytest.raises(NotFittedError):
            fitted.predict(X)
        assert not hasattr(fitted, "path_")

    def test_the_same_seed_draws_the_same_basis_as_a_fit(self):
        X, y = data()
        drawn = ncl(**SMALL).draw(X[::-1])
        fitted = ncl(**SMALL).fit(X, y)
        np.testing.assert_array_equal(drawn.basis_.transform(X), fitted.basis_.transform(X))

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"criterion": "loo"}, "criterion='loo' needs all rows"),
            ({"noise_variance": "difference"}, "noise_variance='difference' needs all rows"),
            ({"cv": KFold(3)}, "cv must be an integer"),
            ({"cv": [([0, 1], [2])]}, "cv must be an integer"),
            ({"cv": True}, "cv must be an integer"),
            ({"cv": 1}, "at least 2"),
        ],
        ids=str,
    )
    def test_no_method_where_parameters_ask_for_all_rows(self, options, why):
        model = ncl(**SMALL, **options)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError, match="partial_fit") as caught:
            _ = model.partial_fit
        assert why in str(caught.value.__cause__)

    def test_leave_one_out_that_is_not_asked_for_does_not_matter(self):
        assert hasattr(ncl(criterion="loo", lam=0.5), "partial_fit")


class TestStreamedModels:
    @pytest.fixture
    def rows(self):
        return data()

    @pytest.fixture
    def model(self, rows):
        return streamed(ncl(**SMALL).draw(rows[0]), *rows)

    @pytest.mark.parametrize("tuned", [False, True])
    @pytest.mark.parametrize(
        "duplicate",
        [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
        ids=["copy", "deepcopy", "pickle"],
    )
    def test_copies_are_the_same_and_go_on_by_themselves(self, model, rows, duplicate, tuned):
        X, y = rows
        if tuned:
            _ = model.lam_
        other = duplicate(model)
        assert_same(other, model, X)
        before = state(model)
        other.partial_fit(X[:100] + 1.0, y[:100])
        assert state(model) == before
        assert other.path_.spectrum.weight == 400
        assert model.path_.spectrum.weight == 300

    def test_a_clone_is_unfitted(self, model):
        assert not hasattr(clone(model), "basis_")
        assert not hasattr(clone(model), "lam_")

    def test_another_lam_is_that_of_a_fit_there(self, model, rows):
        X, y = rows
        lam = model.lam_
        fitted = ncl(**SMALL).fit(X, y)
        # A model of fit has held-out predictions at other λ by splines.
        assert_same(model.with_lam(0.4), fitted.with_lam(0.4), X, interval_rtol=1e-5)
        assert model.with_lam(dof=12.0).gap_ == pytest.approx(fitted.with_lam(dof=12.0).gap_)
        assert model.lam_ == lam

    def test_more_rows_after_another_lam_are_fitted_there(self, model, rows):
        X, y = rows
        moved = model.with_lam(0.4)
        moved.partial_fit(X[:50] + 0.5, y[:50])
        assert moved.lam_ == 0.4
        more = np.vstack([X, X[:50] + 0.5]), np.concatenate([y, y[:50]])
        drawn = ncl(**SMALL, lam=0.4).draw(X)
        assert_same(moved, streamed(drawn, *more), X)
        assert model.path_.spectrum.weight == 300

    @pytest.mark.parametrize("path", [False, True])
    def test_compact_has_no_moments(self, model, rows, path):
        X, y = rows
        for whole in (model, model.with_lam(0.4)):
            small = whole.compact(path=path)
            assert path or len(pickle.dumps(small)) < len(pickle.dumps(whole)) / 3
            np.testing.assert_array_equal(small.predict(X), whole.predict(X))
            np.testing.assert_array_equal(small.predict_members(X), whole.predict_members(X))
            np.testing.assert_array_equal(small.predict_interval(X), whole.predict_interval(X))
            assert small.lam_ == whole.lam_
            assert not hasattr(small, "partial_fit")
            for one, other in ((whole, small), (small, whole)):
                for method in (one.merge, one.subtract):
                    with pytest.raises(ValueError, match=r"no moments.*compact\(\) drops them"):
                        method(other)
            np.testing.assert_array_equal(small.compact().predict(X), whole.predict(X))
        assert model.partial_fit(X, y).path_.spectrum.weight == 600

    def test_summary_and_html_are_those_of_a_fit(self, model, rows):
        fitted = ncl(**SMALL).fit(*rows)
        assert str(model.summary()) == str(fitted.summary())
        html = model._repr_mimebundle_()["text/html"]
        assert "Samples (sum of weights)" in html
        assert repr(model) == repr(fitted)

    def test_members_average_to_the_prediction(self, model, rows):
        members = model.predict_members(rows[0])
        assert members.shape == (8, 300)
        np.testing.assert_allclose(members.mean(axis=0), model.predict(rows[0]), atol=1e-9)

    def test_intervals_need_two_folds(self):
        X, y = data()
        model = ncl(**SMALL, lam=0.5).draw(X).partial_fit(X[:1].repeat(40, 0), [1.0] * 40)
        assert model.compact().lam_ == 0.5
        with pytest.raises(ValueError, match="could not be split into folds"):
            model.predict_interval(X)
        model.partial_fit(X, y)
        assert model.predict_interval(X).shape == (300, 2)


class TestMemory:
    @pytest.mark.parametrize("n", [200, 6000])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_chunks_can_be_overwritten(self, n, weighted):
        X, y = data(n)
        weight = np.full(n, 2.0) if weighted else None
        model = ncl(4, 4).draw(X)
        buffers = X.copy(), y.copy(), None if weight is None else weight.copy()
        for _ in range(2):
            model.partial_fit(*buffers)
        for buffer in buffers:
            if buffer is not None:
                buffer[...] = 9.0
        twice = np.vstack([X, X]), np.tile(y, 2), None if weight is None else np.tile(weight, 2)
        drawn = ncl(4, 4).draw(X)
        assert_same(model, streamed(drawn, *twice, chunks=(3000,)), X[:50])

    def test_chunks_are_not_held(self):
        X, y = data(500)
        chunks = [X[:250].copy(), X[250:].copy()]
        model = ncl(4, 4)
        for chunk, target in zip(chunks, (y[:250], y[250:]), strict=True):
            model.partial_fit(chunk, target)
        alive = [weakref.ref(chunk) for chunk in chunks]
        for chunk in chunks:
            assert not np.shares_memory(kept_by(model)[0].X, chunk)
        del chunk, chunks
        gc.collect()
        assert [ref() for ref in alive] == [None, None]

    def test_a_fixed_number_of_rows_is_kept(self):
        X, y = data(20_000)
        model = ncl(4, 4).partial_fit(X[:5000], y[:5000])
        size = len(pickle.dumps(model))
        for start in range(5000, 20_000, 5000):
            model.partial_fit(X[start : start + 5000], y[start : start + 5000])
        assert len(pickle.dumps(model)) == pytest.approx(size, rel=0.01)

    def test_folds_whose_moments_do_not_fit_are_refused(self, monkeypatch):
        X, y = data()
        monkeypatch.setattr(streaming, "MOST_FOLD_BYTES", 8 * 50 * 41**2)
        model = ncl(**SMALL, cv=50).partial_fit(X, y)
        assert model.cv == 50
        with pytest.raises(ValueError, match=r"cv=51 makes as many sets.*use fewer folds"):
            ncl(**SMALL, cv=51).partial_fit(X, y)
        few = ncl(**SMALL, cv=51).draw(X).partial_fit(X[:60], y[:60])
        before = state(few)
        with pytest.raises(ValueError, match="use fewer folds"):
            few.partial_fit(X, y)
        assert state(few) == before


class TestAfterFit:
    @pytest.mark.parametrize("options", [{}, {"lam": 0.4}, {"criterion": "gcv"}], ids=str)
    def test_no_rows_can_be_added_or_taken_away(self, options):
        X, y = data(120)
        fitted = ncl(**SMALL, **options).fit(X, y)
        in_parts = ncl(**SMALL, **options).partial_fit(X, y)
        before, prediction = state(fitted), fitted.predict(X)
        words = r"no moments.*fit keeps none.*Fit in parts from the start, by partial_fit"
        for one, other in ((fitted, in_parts), (in_parts, fitted)):
            for method in (one.merge, one.subtract):
                with pytest.raises(ValueError, match=words):
                    method(other)
        for model in (fitted, fitted.with_lam(0.2)):
            assert not hasattr(model, "partial_fit")
            with pytest.raises(AttributeError, match="partial_fit") as caught:
                _ = model.partial_fit
            with pytest.raises(ValueError, match=words):
                raise caught.value.__cause__
        assert state(fitted) == before
        np.testing.assert_array_equal(fitted.predict(X), prediction)

    def test_a_draw_starts_anew_with_chunks(self):
        X, y = data()
        model = ncl(**SMALL).fit(X, y).draw(X)
        assert_same(streamed(model, X, y), streamed(ncl(**SMALL).draw(X), X, y), X)


class TestLaterChunks:
    @pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
    @pytest.mark.parametrize("first", [30, 70, 150])
    def test_take_the_route_of_the_first(self, solver, first):
        X, y = data()
        drawn = ncl(**SMALL, solver=solver).draw(X)
        model = streamed(drawn, X, y, chunks=(first, 300 - first))
        assert model.path_.solver == ("qr" if solver == "qr" else "gram")
        assert model._state.stream.form == ("factor" if solver == "qr" else "gram")

    def test_the_accurate_form_can_be_asked_for_while_rows_are_few(self):
        X, y = data()
        model = ncl(**SMALL).draw(X).partial_fit(X[:40], y[:40])
        model.set_params(solver="qr").partial_fit(X[40:], y[40:])
        assert model.path_.solver == "qr"
        assert model._state.stream.form == "factor"

    def test_products_are_not_passed_off_as_accurate(self):
        X, y = data()
        model = ncl(**SMALL).draw(X).partial_fit(X, y)
        model.set_params(solver="qr").partial_fit(X[:40], y[:40])
        assert model.path_.solver == "gram"
        assert model.path_.smallest_trusted_gap >= 0
        accurate = ncl(**SMALL, solver="qr").draw(X).partial_fit(X[:40], y[:40])
        assert accurate.merge(model).path_.solver == "gram"

    def test_after_empty_folds_and_weights(self):
        X, y = data(8)
        weight = np.array([1.0, 0.0, 2.0, 1.0, 3.0, 1.0, 1.0, 2.0])
        drawn = ncl(4, 3, gap=0.1, cv=12).draw(X, weight)
        X2, y2 = data(100, seed=1)
        in_parts = copy.copy(drawn).partial_fit(X, y, weight).partial_fit(X2, y2)
        together = np.vstack([X, X2]), np.concatenate([y, y2]), np.r_[weight, np.ones(100)]
        assert_same(in_parts, copy.copy(drawn).partial_fit(*together), X2)

    def test_after_more_rows_than_are_kept(self):
        X, y = data(9000)
        drawn = ncl(4, 4).draw(X[:6000])
        one, other = (streamed(drawn, X, y, chunks=c) for c in ((6000, 3000), (2500,)))
        assert_same(one, other, X[:100])
        assert_same_kept(one, other)

    def test_with_another_criterion(self):
        X, y = data(150)
        drawn = ncl(4, 4).draw(X)
        model = copy.copy(drawn).partial_fit(X[:100], y[:100]).set_params(criterion="gcv")
        model.partial_fit(X[100:], y[100:])
        assert model.path_.criterion == "gcv"
        assert_same(model, streamed(drawn.set_params(criterion="gcv"), X, y), X)

    @pytest.mark.parametrize("cv", [3, 10])
    def test_another_number_of_folds_is_refused(self, cv):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X, y).set_params(cv=cv)
        before = state(model)
        with pytest.raises(ValueError, match=f"cv={cv}, but the rows before went into 5 folds"):
            model.partial_fit(X, y)
        assert state(model) == before
        assert model.set_params(cv=5).partial_fit(X, y).path_.spectrum.weight == 600

    def test_a_fit_forgets_the_chunks(self):
        X, y = data()
        model = ncl(**SMALL).partial_fit(X + 5.0, y)
        assert_same(model.fit(X, y), ncl(**SMALL).fit(X, y), X)
        model.fit(X[:, :2], y)
        assert model.predict(X[:, :2]).shape == (300,)

    def test_a_fit_that_fails_forgets_nothing(self):
        X, y = data()
        for model in (ncl(**SMALL).fit(X, y), ncl(**SMALL).partial_fit(X, y)):
            before, prediction = state(model), model.predict(X)
            for bad in (np.full((300, 2), np.nan), pd.DataFrame({"a": ["x"] * 300})):
                with pytest.raises(TableError, match="no column is left to predict from"):
                    model.fit(bad, y)
                with pytest.raises(TableError, match="no column is left to predict from"):
                    model.draw(bad)
            assert state(model) == before
            np.testing.assert_array_equal(model.predict(X), prediction)


def with_cell(X, value):
    X = X.copy()
    X[1, 1] = value
    return X


BAD_CHUNKS = {
    "NaN in X": (lambda X, y: (with_cell(X, np.nan), y), "NaN, but the rows .* had no missing"),
    "infinity in X": (lambda X, y: (with_cell(X, np.inf), y), "infinity"),
    "NaN in y": (lambda X, y: (X, np.full(len(y), np.nan)), "NaN"),
    "more columns": (lambda X, y: (np.hstack([X, X]), y), "6 features.*expecting 3"),
    "two outputs": (lambda X, y: (X, np.column_stack([y, y])), r"y has 2 output.*before had 1"),
    "two dimensions": (
        lambda X, y: (X, y[:, None]),
        r"in 2 dimension\(s\), but the rows before had 1 in 1",
    ),
    "lengths": (lambda X, y: (X, y[:-1]), "inconsistent"),
    "no rows": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "huge y": (lambda X, y: (X, y * 1e200), "overflow"),
    "negative weights": (lambda X, y: (X, y, -np.ones(len(y))), "[Nn]egative"),
    "weights of another length": (lambda X, y: (X, y, np.ones(3)), "sample_weight"),
    "no weights of another length": (lambda X, y: (X, y, np.zeros(3)), "sample_weight"),
    "words": (lambda X, y: (np.full(X.shape, "red"), y), "convert"),
}


class TestBadChunks:
    @pytest.mark.parametrize(
        ("start", "kind"),
        [
            (start, kind)
            for start in ("partial_fit", "draw")
            for kind in BAD_CHUNKS
            # After draw nothing is known of y.
            if (start, kind) not in [("draw", "two outputs"), ("draw", "two dimensions")]
        ],
    )
    def test_leave_the_model_as_it_was(self, start, kind):
        X, y = data()
        bad, message = BAD_CHUNKS[kind]
        good = ncl(**SMALL)
        if start == "draw":
            good.draw(X[:100])
            model = copy.copy(good)
        else:
            model = copy.copy(getattr(good, start)(X[:100], y[:100]))
        before = state(model)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(*bad(X[100:200], y[100:200]))
        assert state(model) == before
        for one in (model, good):
            one.partial_fit(X[200:], y[200:])
        assert_same(model, good, X, rtol=1e-14)

    def test_one_dimension_after_two(self):
        X, Y = data(outputs=2)
        model = ncl(**SMALL, lam=0.5).partial_fit(X, Y)
        with pytest.raises(ValueError, match=r"y has 1 output\(s\) in 1 dim.*had 2 in 2"):
            model.partial_fit(X, Y[:, 0])
        assert model.dof_.shape == (2,)

    def test_other_names(self):
        X, y = data()
        table = pd.DataFrame(X, columns=["a", "b", "c"])
        model = ncl(**SMALL).partial_fit(table, y)
        before = state(model)
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(table.rename(columns={"c": "d"}), y)
        with pytest.raises(ValueError, match="same order"):
            model.partial_fit(table[["b", "a", "c"]], y)
        assert state(model) == before
        assert list(model.feature_names_in_) == ["a", "b", "c"]

    def test_tables_of_another_kind(self):
        X, y = data()
        table = pd.DataFrame(X, columns=["a", "b", "c"])
        model = ncl(6, basis=RBFSampler(n_components=4))
        model.partial_fit(table, y)
        before = state(model)
        with pytest.raises(ValueError, match="X comes as pandas data frame and as polars data fr"):
            model.partial_fit(pl.from_pandas(table), y)
        assert state(model) == before

    @pytest.mark.parametrize("kind", ["infinity in X", "NaN in y", "huge y", "lengths"])
    def test_a_first_one_leaves_a_model_that_can_start_anew(self, kind):
        X, y = data()
        bad, message = BAD_CHUNKS[kind]
        model = ncl(**SMALL)
        before = state(model)
        for call in (model.partial_fit, model.fit):
            with pytest.raises(ValueError, match=message):
                call(*bad(X, y))
            assert state(model) == before
        assert not hasattr(model, "n_features_in_")
        with pytest.raises(NotFittedError):
            model.predict(X)
        model.partial_fit(X[:, :2], y)
        assert_same(model, ncl(**SMALL).partial_fit(X[:, :2], y), X[:, :2], rtol=1e-14)

    def test_a_first_chunk_of_one_row_needs_a_basis(self):
        X, y = data()
        with pytest.raises(ValueError, match="minimum of 2"):
            ncl(**SMALL).partial_fit(X[:1], y[:1])
        model = ncl(**SMALL).draw(X)
        for i in range(30):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        assert_same(model, ncl(**SMALL).draw(X).partial_fit(X[:30], y[:30]), X)

    def test_a_draw_that_fails_leaves_what_was_drawn(self):
        X, y = data()
        model = ncl(**SMALL).draw(X)
        before = state(model)
        for bad in (with_cell(np.hstack([X, X]), np.inf), np.empty((0, 3)), X[:1], X[:, 0]):
            with pytest.raises(ValueError, match=r"infinity|0 sample|minimum of 2|2D array"):
                model.draw(bad)
            assert state(model) == before
        basis = model.basis
        model.set_params(basis="nonsense")
        with pytest.raises(ValueError, match="basis='nonsense'"):
            model.draw(X)
        model.set_params(basis=basis).partial_fit(X, y)
        assert model.n_features_in_ == 3


class TestMerge:
    @pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
    @pytest.mark.parametrize("cut", [20, 60, 150])
    def test_is_one_stream_of_both(self, solver, cut):
        X, y = data()
        drawn = ncl(**SMALL, solver=solver).draw(X)
        one = streamed(copy.deepcopy(drawn), X[:cut], y[:cut])
        other = streamed(copy.deepcopy(drawn), X[cut:], y[cut:])
        whole = streamed(drawn, X, y)
        before = state(one), state(other)
        assert_same(one.merge(other), whole, X)
        assert_same(other.merge(one), whole, X)
        assert (state(one), state(other)) == before
        assert one.path_.spectrum.weight == cut
        assert one.merge(other) is not one

    @repeatable
    @given(st.lists(st.integers(6, 60), min_size=3, max_size=3), st.integers(0, 99), st.booleans())
    def test_is_associative(self, sizes, seed, weighted):
        X, y = data(sum(sizes), seed=seed)
        weight = np.random.default_rng(seed).uniform(0.5, 2, size=len(y)) if weighted else None
        drawn = ncl(3, 4, gap=0.05).draw(data(50)[0])
        ends = np.cumsum([0, *sizes])
        parts = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
        a, b, c = (streamed(drawn, X, y, weight, [index]) for index in parts)
        left, right = a.merge(b).merge(c), a.merge(b.merge(c))
        whole = streamed(drawn, X, y, weight)
        for merged in (left, right, c.merge(a).merge(b)):
            one, other = merged._state.stream, whole._state.stream
            assert (one.n_rows, one.form) == (other.n_rows, other.form)
            assert_same_kept(merged, whole)
            np.testing.assert_allclose(merged.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)

    def test_keeps_the_parameters_of_the_first(self):
        X, y = data()
        drawn = ncl(**SMALL).draw(X)
        one = copy.copy(drawn).set_params(lam=0.25).partial_fit(X, y)
        other = copy.copy(drawn).partial_fit(X + 1.0, y)
        assert one.merge(other).lam_ == 0.25
        assert other.merge(one).lam_ != 0.25
        assert one.merge(other).partial_fit(X, y).path_.spectrum.weight == 900

    def test_refuses_what_does_not_belong_together(self):
        X, y = data()
        one = ncl(**SMALL).partial_fit(X, y)
        names = pd.DataFrame(X, columns=["a", "b", "c"])
        transformer = ncl(8, basis=RBFSampler(n_components=5))
        others = {
            "same basis": [
                ncl(8, 5, random_state=1).partial_fit(X, y),
                ncl(8, 5).partial_fit(X * 1.001, y),
                ncl(8, 5, basis="orthogonal").partial_fit(X, y),
                ncl(**SMALL).partial_fit(X[:, :2], y),
                ncl(9, 5).partial_fit(X, y),
                clone(transformer).partial_fit(names, y),
            ],
            r"1 and 2 output\(s\)": [ncl(**SMALL).partial_fit(X, np.column_stack([y, y]))],
            r"1 and 2 dimension\(s\)": [ncl(**SMALL).partial_fit(X, y[:, None])],
            "5 and 3 folds": [ncl(**SMALL, cv=3).partial_fit(X, y)],
        }
        for method in (one.merge, one.subtract):
            for message, models in others.items():
                for other in models:
                    with pytest.raises(ValueError, match=message):
                        method(other)
            for other in (ncl(**SMALL), ncl(**SMALL).draw(X)):
                with pytest.raises(NotFittedError):
                    method(other)
                with pytest.raises(NotFittedError):
                    getattr(other, method.__name__)(one)
            with pytest.raises(TypeError, match="got StandardScaler"):
                method(StandardScaler())
        frames = clone(transformer).partial_fit(names, y)
        renamed = clone(transformer).partial_fit(names.rename(columns={"c": "d"}), y)
        with pytest.raises(ValueError, match="same basis"):
            frames.merge(renamed)

    def test_refuses_parameters_that_need_all_rows(self):
        X, y = data(60)
        one = ncl(4, 4).partial_fit(X, y)
        with pytest.raises(ValueError, match="criterion='loo'"):
            copy.copy(one).set_params(criterion="loo").merge(one)


class TestSubtract:
    @pytest.mark.parametrize("cut", [30, 60, 150, 290])
    @pytest.mark.parametrize("solver", ["auto", "qr"])
    def test_undoes_a_merge(self, cut, solver):
        X, y = data()
        drawn = ncl(**SMALL, solver=solver, gap=0.01).draw(X)
        one, other = streamed(drawn, X[:cut], y[:cut]), streamed(drawn, X[cut:], y[cut:])
        both = one.merge(other)
        before = state(both), state(other)
        assert_same(both.subtract(other), one, X, rtol=1e-7)
        assert_same(both.subtract(one), other, X, rtol=1e-7)
        assert (state(both), state(other)) == before
        assert both.path_.spectrum.weight == 300

    def test_chooses_as_without_the_rows(self):
        X, y = data(500)
        drawn = ncl(**SMALL).draw(X)
        whole, part, rest = (
            streamed(drawn, X[a:b], y[a:b]) for a, b in ((0, 500), (0, 200), (200, 500))
        )
        assert_same(whole.subtract(part), rest, X, rtol=1e-7)

    @repeatable
    @given(st.integers(20, 80), st.integers(5, 80), st.integers(0, 99), st.booleans())
    def test_undoes_any_merge(self, n_left, n_gone, seed, weighted):
        X, y = data(n_left + n_gone, seed=seed)
        weight = np.random.default_rng(seed).integers(0, 3, size=len(y)).astype(float)
        weight[[0, 1, 2, -1]] = 1.0
        weight = weight if weighted else None
        drawn = ncl(3, 4, gap=0.05).draw(data(50)[0])
        left = streamed(drawn, X, y, weight, [np.arange(n_left)])
        gone = streamed(drawn, X, y, weight, [np.arange(n_left, len(y))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)  # a fold may be left with two rows
            rest = left.merge(gone).subtract(gone)
        assert rest.path_.spectrum.weight == pytest.approx(left.path_.spectrum.weight)
        np.testing.assert_allclose(rest.predict(X), left.predict(X), rtol=1e-7, atol=1e-7)
        assert_same_kept(rest, left)

    def test_goes_on_with_more_rows(self):
        X, y = data()
        drawn = ncl(**SMALL).draw(X)
        first = streamed(drawn, X[:100], y[:100])
        rest = streamed(drawn, X[:200], y[:200]).subtract(first)
        wanted = streamed(drawn, X[100:], y[100:])
        assert_same(rest.partial_fit(X[200:], y[200:]), wanted, X, rtol=1e-7)
        with pytest.raises(ValueError, match="100 of the rows to be taken away are not among"):
            rest.subtract(first)

    def test_a_window_slides_over_a_stream(self):
        X, y = data(600)
        drawn = ncl(4, 4, gap=0.05).draw(X)
        parts = [streamed(drawn, X, y, None, [index]) for index in cuts(600, (60,))]
        window = parts[0].merge(parts[1]).merge(parts[2])
        for old, new in zip(parts[:-3], parts[3:], strict=True):
            window = window.merge(new).subtract(old)
        assert_same(window, streamed(drawn, X[-180:], y[-180:]), X, rtol=1e-7)

    def test_takes_one_of_equal_rows(self):
        X, y = data(100)
        drawn = ncl(4, 4, gap=0.05).draw(X)
        once, some = streamed(drawn, X, y), streamed(drawn, X[:40], y[:40])
        rest = once.merge(some).subtract(some)
        assert_same(rest, once, X, rtol=1e-7)
        assert_same_kept(rest, once)

    def test_refuses_rows_that_are_not_there(self):
        X, y = data()
        drawn = ncl(**SMALL).draw(X)
        model = streamed(drawn, X, y)
        elsewhere = streamed(drawn, *data(20, seed=5))
        with pytest.raises(ValueError, match="20 of the rows to be taken away are not among"):
            model.subtract(elsewhere)
        twice = streamed(drawn, np.repeat(X[:9], 2, axis=0), np.repeat(y[:9], 2))
        with pytest.raises(ValueError, match="9 of the rows to be taken away are not among"):
            model.subtract(twice)
        heavy = streamed(drawn, X[:9], y[:9], np.full(9, 0.5))
        with pytest.raises(ValueError, match=r"9 of the rows.*or not with the same weight"):
            model.subtract(heavy)
        assert model.predict(X).shape == (300,)

    def test_refuses_to_leave_nothing(self):
        X, y = data()
        model = streamed(ncl(**SMALL).draw(X), X, y)
        with pytest.raises(ValueError, match="all 300 rows would be taken away"):
            model.subtract(model)

    def test_warns_where_little_is_left(self):
        X, y = data()
        drawn = ncl(**SMALL, gap=0.1).draw(X)
        left, gone = streamed(drawn, X[:100], 1e-6 * y[:100]), streamed(drawn, X[100:], y[100:])
        both = left.merge(gone)
        with pytest.warns(PrecisionWarning, match="lost most of their digits") as caught:
            both.subtract(gone)
        assert {warning.filename for warning in caught} == {__file__}

    def test_keeps_a_fair_sample_of_more_rows_than_fit(self):
        X, y = data(12_000)
        drawn = ncl(4, 4, gap=0.05).draw(X)
        whole = streamed(drawn, X, y, chunks=(4000,))
        first = streamed(drawn, X[:6000], y[:6000])
        rest = whole.subtract(first)
        wanted = streamed(drawn, X[6000:], y[6000:])
        keys = kept_by(rest)[1]
        assert 1500 < len(keys) < 2600
        np.testing.assert_array_equal(keys, kept_by(wanted)[1][: len(keys)])
        # New rows do not crowd out the old ones of which only some were kept.
        more = kept_by(rest.partial_fit(*data(3000, seed=1)))[1]
        assert len(more) == pytest.approx(1.5 * len(keys), rel=0.1)
        assert set(keys.tolist()) <= set(more.tolist())
        # Rows that were not kept can still be taken away.
        second = streamed(drawn, X[6000:9000], y[6000:9000])
        last = rest.subtract(second)
        assert last.path_.spectrum.weight == 6000
        assert last.predict_interval(X[:5]).shape == (5, 2)

    @pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, pd.DataFrame, pl.DataFrame])
    def test_may_leave_rows_of_which_none_was_kept(self, wrap):
        X, y = data(6000)
        order = np.argsort(content_hash(X, y))
        table, y = wrap(X[order]), y[order]
        drawn = ncl(4, basis=RBFSampler(n_components=5), gap=0.1)
        drawn.draw(table)
        gone = streamed(drawn, table[:-4], y[:-4], chunks=(6000,))
        rest = streamed(drawn, table, y, chunks=(6000,)).subtract(gone)
        last = streamed(drawn, table[-4:], y[-4:])
        assert len(kept_by(rest)[1]) == 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NegcorrWarning)  # members interpolate four rows
            assert rest.dof_ == pytest.approx(4.0)
            wanted = last.predict(table[:50])
        np.testing.assert_allclose(rest.predict(table[:50]), wanted, rtol=1e-6, atol=1e-6)
        with pytest.raises(ValueError, match="could not be split into folds"):
            rest.predict_interval(table[:50])
        assert rest.merge(gone).path_.spectrum.weight == 6000
        rest.partial_fit(table[:100], y[:100])
        assert rest.predict_interval(table[:5], 0.5).shape == (5, 2)


def test_a_stream_that_the_fast_route_cannot_resolve_says_so():
    X, y = data(400, d=1)
    model = ncl(10, 8, gap=1e-9).draw(X)
    with pytest.warns(PrecisionWarning, match="Gram route") as caught:
        _ = streamed(model, X, y).lam_
    assert caught[0].filename == __file__
    accurate = ncl(10, 8, gap=1e-9, solver="qr")
    fitted = clone(accurate).fit(X, y)
    in_parts = streamed(accurate.draw(X), X, y)
    assert in_parts.path_.solver == "qr"
    np.testing.assert_allclose(in_parts.predict(X), fitted.predict(X), rtol=1e-3, atol=1e-3)
    # A fit in memory moves on to the accurate route.
    assert ncl(10, 8, gap=1e-9).fit(X, y).path_.solver == "qr"


def test_weights_of_chunks_can_be_routed():
    assert hasattr(NCLRegressor, "set_partial_fit_request")


class TestParametersOfTheBasis:
    @pytest.mark.parametrize(
        ("name", "value"),
        [("n_members", 5), ("n_components", 2), ("gamma", 9.0), ("inputs", "clip")],
    )
    def test_that_are_changed_after_the_draw_are_refused(self, name, value):
        X, y = data(60)
        model = ncl(8, 3).partial_fit(X, y).set_params(**{f"basis__{name}": value})
        with pytest.raises(ValueError, match=rf"{name}={value!r}, but the basis was drawn with"):
            model.partial_fit(X, y)

    def test_that_name_another_kind_are_refused(self):
        X, y = data(60)
        model = ncl(8, 3).partial_fit(X, y).set_params(basis="trees")
        with pytest.raises(ValueError, match=r"basis=TreeFeatures.*drawn before is a FourierFeat"):
            model.partial_fit(X, y)
        assert "fourier" in str(model.summary())

    @pytest.mark.parametrize(
        "parameters", [{"solver": "svd"}, {"lam": 2.0}, {"criterion": "cv"}, {"alpha": -1.0}]
    )
    def test_mistakes_do_not_hide_the_method(self, parameters):
        rng = np.random.default_rng(0)
        (name, value), *_ = parameters.items()
        with pytest.raises(ValueError, match=f"{name}={value!r}"):
            ncl(**parameters).partial_fit(rng.normal(size=(9, 2)), rng.normal(size=9))
