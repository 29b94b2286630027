"""The same rows give the same model: in any order, after any history, in memory and in chunks."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ncl
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr import NCLRegressor
from negcorr.bases import AutoBasis, kernel_features
from negcorr.rows import sample as sampling
from negcorr.rows.keys import content_hash, smallest_counted
from negcorr.selection import choose as choosing

SMALL = {"n_members": 8, "n_components": 5}

pytestmark = pytest.mark.filterwarnings("ignore::negcorr.exceptions.SearchBoundaryWarning")


def assert_same_answer(one, other, X, y):
    """The same candidates and λ; the rest as far as the order of sums allows."""
    assert (one.choice_ is None) == (other.choice_ is None)
    if one.choice_ is not None:
        mine, theirs = ([t.candidate for t in m.choice_.trials] for m in (one, other))
        assert mine == theirs
        mine, theirs = ([c.candidate for c in m.choice_.members] for m in (one, other))
        assert mine == theirs
    assert one.basis_.block_starts_.tolist() == other.basis_.block_starts_.tolist()
    np.testing.assert_array_equal(one.lam_, other.lam_)
    np.testing.assert_allclose(one.dof_, other.dof_, rtol=1e-8)
    atol = 1e-6 * np.std(y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=0, atol=atol)
    np.testing.assert_allclose(
        one.predict_interval(X), other.predict_interval(X), rtol=0, atol=atol
    )


class TestOrder:
    def in_orders(self, X, y, count=3):
        for seed in range(count):
            order = np.random.default_rng(seed).permutation(len(y))
            yield X[order], y[order]

    def test_has_no_effect(self):
        X, y = load_diabetes(return_X_y=True, scaled=False)
        model = NCLRegressor().fit(X, y)
        for moved in self.in_orders(X, y):
            other = NCLRegressor().fit(*moved)
            assert_same_answer(other, model, X, y)
            np.testing.assert_array_equal(other.predict(X), model.predict(X))

    def test_has_no_effect_on_levels_whose_weights_add_up_to_the_least(self):
        rng = np.random.default_rng(0)
        kind = np.repeat(["p", "q", "r", "s"], [90, 80, 20, 10])
        weight = np.concatenate([np.ones(170), np.tile([0.1, 0.2, 0.3, 0.4], 5), np.full(10, 0.3)])
        X = pd.DataFrame({"a": rng.normal(size=200), "kind": kind})
        y = (X["a"] + 2.0 * (kind == "r") + 0.3 * rng.normal(size=200)).to_numpy()
        model = NCLRegressor("fourier").fit(X, y, sample_weight=weight)
        for seed in (0, 4, 6):
            order = np.random.default_rng(seed).permutation(200)
            other = NCLRegressor("fourier").fit(X.iloc[order], y[order], weight[order])
            assert other.columns_["kind"].made == model.columns_["kind"].made
            assert_same_answer(other, model, X, y)

    def test_has_no_effect_behind_a_scaler(self):
        X, y = load_diabetes(return_X_y=True, scaled=False)
        scaler = StandardScaler().fit(X)
        model = NCLRegressor().fit(scaler.transform(X), y)
        for moved in self.in_orders(X, y):
            pipeline = make_pipeline(StandardScaler(), NCLRegressor()).fit(*moved)
            assert_same_answer(pipeline[-1], model, scaler.transform(X), y)

    @pytest.mark.parametrize(
        "levels", [[-1.0, 0.0, 1.0], [0.1, 0.2, 0.3], [7.1, 7.3, 7.5]], ids=str
    )
    @pytest.mark.parametrize("basis", ["fourier", "nystroem", "trees"])
    def test_has_no_effect_behind_a_scaler_with_a_level_at_the_mean(self, levels, basis):
        rng = np.random.default_rng(0)
        n = 150
        X = np.column_stack([rng.permutation(np.repeat(levels, n // 3)) for _ in range(3)])
        X = np.column_stack([X, rng.normal(size=n)])
        y = X[:, 0] * X[:, 1] + X[:, 3] + 0.3 * rng.normal(size=n)
        scaler = StandardScaler().fit(X)
        model = NCLRegressor(basis).fit(scaler.transform(X), y)
        seen = set()
        for moved in self.in_orders(X, y, 6):
            pipeline = make_pipeline(StandardScaler(), NCLRegressor(basis)).fit(*moved)
            scaled = pipeline[0].transform(X)
            seen.add(scaled.tobytes())
            keys = content_hash(scaled, smallest=smallest_counted(scaled))
            mine = scaler.transform(X)
            np.testing.assert_array_equal(keys, content_hash(mine, smallest=smallest_counted(mine)))
            assert_same_answer(pipeline[-1], model, scaled, y)
        assert len(seen) > 1  # the scaler's last bits did differ

    def test_of_candidates_with_equal_errors_is_that_of_their_names(self):
        # Columns of 0 and 1 as categories make them: no kind of inputs changes them.
        rng = np.random.default_rng(0)
        words = rng.choice(np.array(list("abcdef"), dtype=object), size=(120, 2))
        y = (words == "a").sum(axis=1) + 0.2 * rng.normal(size=120)
        frame = pd.DataFrame(words, columns=["p", "q"])
        model = NCLRegressor().fit(frame, y)
        errors = {}
        for trial in model.choice_.trials:
            errors.setdefault(trial.rank[0], []).append(str(trial.candidate))
        ties = [names for names in errors.values() if len(names) > 1]
        assert ties
        assert all(names == sorted(names) for names in ties)
        order = rng.permutation(120)
        assert_same_answer(NCLRegressor().fit(frame.iloc[order], y[order]), model, frame, y)


def data(n=300, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    noise = rng.normal(size=n if outputs is None else (n, outputs))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * noise.T).T


def seen(model):
    """What a user can see of a fitted model, to the bit."""
    X, _ = data(20, seed=9)
    X = X[:, : model.n_features_in_]
    return (
        np.asarray(model.lam_).tolist(),
        np.asarray(model.dof_).tolist(),
        np.asarray(model.coef_).tolist(),
        model.predict(X).tolist(),
        model.predict_interval(X).tolist(),
        None if model.choice_ is None else str(model.choice_),
        None if model.columns_ is None else str(model.columns_),
        str(model.basis_.get_params()),
    )


MODELS = [NCLRegressor(), ncl(**SMALL), NCLRegressor("nystroem"), ncl(**SMALL, criterion="gcv")]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


class TestState:
    """As if the object were new."""

    @every_model
    def test_a_second_fit(self, model):
        used = clone(model).fit(*data(200, seed=5))
        assert seen(used.fit(*data())) == seen(clone(model).fit(*data()))
        X, y = data()
        assert seen(used.fit(X[:, :2], y)) == seen(clone(model).fit(X[:, :2], y))

    @every_model
    def test_a_clone(self, model):
        used = clone(model).fit(*data(200, seed=5))
        assert seen(clone(used).fit(*data())) == seen(clone(model).fit(*data()))

    def test_a_fit_with_other_parameters(self):
        used = NCLRegressor().fit(*data())
        for other in ({"basis": "fourier"}, {"criterion": "gcv"}, {"basis": AutoBasis("nystroem")}):
            new = clone(NCLRegressor(**used.set_params(**other).get_params(deep=False)))
            assert seen(used.fit(*data())) == seen(new.fit(*data()))

    @every_model
    def test_a_fit_after_chunks(self, model):
        X, y = data()
        used = clone(model).partial_fit(X[:150] + 3.0, y[:150]).partial_fit(X[150:], y[150:])
        assert seen(used.fit(X, y)) == seen(clone(model).fit(X, y))

    @every_model
    def test_chunks_after_a_draw_after_a_fit(self, model):
        X, y = data()
        new = clone(model).draw(X, y=y).partial_fit(X, y)
        used = clone(model).fit(*data(200, seed=5)).draw(X, y=y)
        assert used.choice_ is None or str(used.choice_) == str(new.choice_)
        assert not hasattr(used, "lam_")
        assert seen(used.partial_fit(X, y)) == seen(new)

    @every_model
    def test_a_fit_that_fails(self, model):
        X, y = data()
        used = clone(model).fit(X, y)
        before = seen(used)
        for bad in ((X[:, :2], y[:-1]), (np.full_like(X, np.inf), y), (X, np.full_like(y, np.nan))):
            with pytest.raises(ValueError, match=r"inconsistent|infinity|NaN"):
                used.fit(*bad)
            assert seen(used) == before
            assert used.n_features_in_ == 3

    def test_a_fit_that_fails_late(self, monkeypatch):
        X, y = data()
        used = NCLRegressor().fit(X, y)
        before = seen(used)
        with monkeypatch.context() as patch:
            patch.setattr("negcorr.ensemble.fit.build_path", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                used.fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), y)
        assert seen(used) == before
        assert not hasattr(used, "feature_names_in_")

    def test_frames_and_arrays_in_turn(self):
        X, y = data()
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(y > 0, "p", "q"))
        used = ncl(**SMALL).fit(frame, y)
        assert used.fit(X, y).columns_ is None
        assert seen(used) == seen(ncl(**SMALL).fit(X, y))
        assert str(used.fit(frame, y).columns_) == str(ncl(**SMALL).fit(frame, y).columns_)


def in_chunks(drawn, X, y, sizes, seed=0, weight=None):
    order = np.random.default_rng(seed).permutation(len(y))
    model = copy.deepcopy(drawn)
    for part in np.split(order, np.cumsum(sizes)[:-1]):
        more = {} if weight is None else {"sample_weight": weight[part]}
        rows = X.iloc[part] if hasattr(X, "iloc") else X[part]
        model.partial_fit(rows, y[part], **more)
    return model


class TestChunks:
    """Drawn from all rows, a model of chunks is that of a fit in memory."""

    @settings(derandomize=True, deadline=None, max_examples=15)
    @given(st.lists(st.integers(1, 120), min_size=1, max_size=5), st.sampled_from([None, 2]))
    def test_of_any_size_with_given_features(self, sizes, outputs):
        n = sum(sizes) + 60
        X, y = data(n, outputs=outputs)
        weight = np.random.default_rng(1).integers(0, 3, size=n).astype(float)
        model = ncl(**SMALL).fit(X, y, sample_weight=weight)
        drawn = ncl(**SMALL).draw(X, sample_weight=weight)
        found = in_chunks(drawn, X, y, [*sizes, 60], weight=weight)
        assert_same_answer(found, model, X, y)

    @pytest.mark.parametrize("outputs", [None, 2])
    @pytest.mark.parametrize("sizes", [[300], [1, 99, 200], [60] * 5])
    def test_with_features_that_are_chosen(self, sizes, outputs):
        X, y = data(outputs=outputs)
        model = NCLRegressor().fit(X, y)
        assert_same_answer(in_chunks(NCLRegressor().draw(X, y=y), X, y, sizes), model, X, y)

    def test_of_a_data_frame(self):
        X, y = data()
        rng = np.random.default_rng(3)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        frame["kind"] = rng.choice(np.array(["p", "q", None], dtype=object), size=300)
        frame.loc[::20, "b"] = np.nan
        for model in (NCLRegressor(), ncl(**SMALL)):
            drawn = clone(model).draw(frame, y=y)
            assert_same_answer(in_chunks(drawn, frame, y, [100] * 3), model.fit(frame, y), frame, y)

    def test_of_more_rows_than_features_are_drawn_from(self, monkeypatch):
        monkeypatch.setattr(sampling, "SAMPLE_ROWS", 120)
        X, y = data()
        for model in (NCLRegressor(), NCLRegressor("nystroem")):
            drawn = clone(model).draw(X, y=y)
            assert_same_answer(in_chunks(drawn, X, y, [100] * 3), model.fit(X, y), X, y)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("outputs", [None, 2])
    def test_of_an_ensemble_that_grows(self, weighted, outputs, monkeypatch):
        monkeypatch.setattr(choosing, "ROWS_TO_GROW", 300)
        for room in (choosing, kernel_features):
            monkeypatch.setattr(room, "STAGE", 20)
        rng = np.random.default_rng(0)
        X = rng.uniform(-2.0, 2.0, size=(600, 2))
        y = np.sin(5.0 * X[:, 0]) * np.cos(4.0 * X[:, 1]) + 0.05 * rng.normal(size=600)
        y = y if outputs is None else np.column_stack([y, y + 0.3 * X[:, 0]])
        weight = rng.integers(1, 3, size=600).astype(float) if weighted else None
        basis = AutoBasis("kernel", kernels=("laplacian", "rbf"), n_components=5, budget=160)
        model = NCLRegressor(basis).fit(X, y, sample_weight=weight)
        drawn = NCLRegressor(basis).draw(X, y=y, sample_weight=weight)
        sizes = [int(each.block_starts_[-1]) for each in drawn._drawn.bases]
        assert len(sizes) > 1
        found = in_chunks(drawn, X, y, [200] * 3, weight=weight)
        assert int(model.basis_.block_starts_[-1]) > sizes[0]
        assert_same_answer(found, model, X, y)

    def test_of_thousands_of_rows_with_a_rough_target(self, monkeypatch):
        for room in (choosing, kernel_features):
            monkeypatch.setattr(room, "STAGE", 250)
        closed = {"kernels": "laplacian", "inputs": "standard", "relevance": False, "subspace": 1.0}
        basis = AutoBasis("kernel", **closed, gamma=0.3, budget=1000)
        rng = np.random.default_rng(0)
        X = rng.uniform(-3.0, 3.0, size=(4000, 2))
        y = np.sin(6.0 * X[:, 0]) * np.sin(5.0 * X[:, 1]) + 0.05 * rng.normal(size=4000)
        model = NCLRegressor(basis).fit(X, y)
        drawn = NCLRegressor(basis).draw(X, y=y)
        assert int(model.basis_.block_starts_[-1]) > int(drawn._drawn.bases[0].block_starts_[-1])
        assert_same_answer(in_chunks(drawn, X, y, [1500, 2500]), model, X, y)


class TestPrecision:
    @pytest.mark.parametrize("model", [NCLRegressor(), ncl(**SMALL)], ids=str)
    def test_single_gives_what_its_double_copy_gives(self, model):
        X, y = data()
        X = X.astype(np.float32)
        single, double = clone(model).fit(X, y), clone(model).fit(X.astype(float), y)
        assert_same_answer(single, double, X.astype(float), y)


def test_weights_are_repeated_rows_for_columns_like_row_numbers_too():
    rng = np.random.default_rng(0)
    visits = rng.choice(np.arange(400), size=150, replace=False)
    X = pd.DataFrame({"a": rng.normal(size=150), "visits": visits})
    y = (X["a"] + visits / 100 + 0.3 * rng.normal(size=150)).to_numpy()
    again = np.repeat(np.arange(150), 3)
    weighted = NCLRegressor("fourier").fit(X, y, sample_weight=np.full(150, 3.0))
    repeated = NCLRegressor("fourier").fit(X.iloc[again], y[again])
    assert weighted.columns_["visits"].role == repeated.columns_["visits"].role == "number"
    assert_same_answer(weighted, repeated, X, y)
