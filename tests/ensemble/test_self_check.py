"""Every fit predicts some of its training rows, and says where they are not what it claims."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import negcorr.ensemble.fitted
from negcorr import NCLRegressor, load, save
from negcorr.bases import FourierFeatures
from negcorr.ensemble.fitted import checked
from negcorr.ensemble.self_check import CHECKED_ROWS, checked_rows, self_check
from negcorr.exceptions import PrecisionWarning
from negcorr.rows.rows import Rows


def small(**settings):
    return NCLRegressor(FourierFeatures(8, 5), **settings)


def table(n=200, d=3, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=(d, outputs)) + rng.standard_t(3, size=(n, outputs))
    return X, y if outputs > 1 else y[:, 0]


def found_in(model):
    return checked(model._state.answers)


def shifted(spectrum, by):
    """A spectrum that claims another training error."""
    return replace(spectrum, outside=spectrum.outside + by)


class TestWhatItFinds:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("outputs", [1, 2])
    @pytest.mark.parametrize("n", [200, 1500])
    def test_an_ordinary_fit_holds(self, n, outputs, weighted):
        X, y = table(n, outputs=outputs)
        weight = np.random.default_rng(1).integers(0, 4, size=n) if weighted else None
        model = small().fit(X, y, sample_weight=weight)
        found = found_in(model)
        assert found.holds
        assert (found.rounding < 1e-12).all()
        used = n if weight is None else np.count_nonzero(weight)
        assert found.n_rows == min(used, CHECKED_ROWS)
        assert found.is_whole == (used <= CHECKED_ROWS)
        if found.is_whole:
            assert_allclose(found.error, found.claimed, rtol=1e-10)
            residuals = y - model.predict(X)
            expected = np.average(residuals**2, axis=0, weights=weight)
            assert_allclose(found.error, np.atleast_1d(expected), rtol=1e-10)
        else:
            assert (found.error != found.claimed).all()

    def test_huber_is_checked_on_the_targets_that_it_was_fitted_to(self):
        X, y = table(outputs=2)
        model = small(loss="huber").fit(X, y)
        found = found_in(model)
        assert found.holds
        moved = np.mean((model.targets_ - model.predict(X)) ** 2, axis=0)
        assert_allclose(found.error, moved, rtol=1e-10)

    def test_a_claim_that_is_off_by_a_millionth_is_found_where_all_rows_are_there(self):
        X, y = table()
        model = small(lam=0.5, solver="qr").fit(X, y)
        answers, solution = model._state.answers, model._state.answers.solution
        spectrum = answers.path.spectrum
        for by, holds in ((1e-8, True), (1e-4, False), (-1e-4, False)):
            path = answers.path.changed(spectrum=shifted(spectrum, by * y.var()))
            found = self_check(
                answers.sample, answers.basis, path, solution.coef, solution.intercept
            )
            assert found.holds == holds

    def test_some_of_the_rows_find_a_claim_that_is_six_standard_errors_too_small(self):
        X, y = table(3000)
        y = X[:, 0] + np.random.default_rng(1).normal(size=3000)
        model = small(lam=0.5, solver="qr").fit(X, y)
        answers, solution = model._state.answers, model._state.answers.solution
        spectrum = answers.path.spectrum
        for factor, holds in ((1.2, True), (0.8, True), (0.01, False)):
            by = (factor - 1.0) * spectrum.train_error(gap=0.5)
            path = answers.path.changed(spectrum=shifted(spectrum, by))
            found = self_check(
                answers.sample, answers.basis, path, solution.coef, solution.intercept
            )
            assert found.holds == holds

    def test_coefficients_that_cancel_are_found(self):
        X, y = table()
        model = small(lam=0.5).fit(X, y)
        answers, solution = model._state.answers, model._state.answers.solution
        coef = solution.coef.copy()
        coef[:2] += 1e10
        found = self_check(answers.sample, answers.basis, answers.path, coef, solution.intercept)
        assert found.rounds.all()
        assert "cancel" in str(found)

    def test_without_an_intercept_rounding_is_compared_to_the_spread_about_the_mean(self):
        X, y = table()
        with pytest.warns(PrecisionWarning, match="terms of the predictions cancel"):
            small(fit_intercept=False, gap=1e-14).fit(X, y + 1e11)

    def test_gross_errors_that_the_rows_miss_are_no_alarm(self):
        X, y = table(20_000, 2)
        keys = Rows(X, y[:, None]).keys.xy
        y[np.argsort(keys)[-20:]] += 1e4
        model = small().fit(X, y)
        assert found_in(model).holds

    def test_repeated_rows_are_no_alarm(self):
        X, y = table(12, 1)
        many = np.repeat(np.arange(12), 400)
        model = small().fit(X[many], y[many])
        assert not found_in(model).is_whole
        assert found_in(model).holds

    def test_a_constant_target_holds(self):
        X, _ = table()
        assert found_in(small().fit(X, np.full(200, 1e9 / 3.0))).holds


class TestRows:
    def test_are_chosen_by_content(self):
        X, y = table(1000)
        rows = Rows(X, y[:, None])
        chosen = checked_rows(rows)
        assert chosen.n_rows == CHECKED_ROWS
        order = np.random.default_rng(0).permutation(1000)
        again = checked_rows(Rows(X[order], y[order, None]))
        assert_allclose(again.X, chosen.X, rtol=0)

    def test_of_a_stream_are_those_of_a_fit(self):
        X, y = table(1000)
        whole = small().fit(X, y)
        model = small().draw(X)
        for part in np.array_split(np.arange(1000), 7):
            model.partial_fit(X[part], y[part])
        one, other = whole._state.answers.sample, model._state.answers.sample
        assert_allclose(one.X, other.X, rtol=0)
        assert_allclose(found_in(model).error, found_in(whole).error, rtol=1e-9)
        assert found_in(model).holds

    def test_are_dropped_by_compact(self, tmp_path):
        X, y = table()
        model = small().fit(X, y)
        kept = model.compact(path=True)
        assert kept._state.answers.sample is None
        assert found_in(kept) is None
        assert kept.with_lam(0.9).predict(X[:1]).shape == (1,)


def doubtful(answers):
    """A self-check that finds something on every route but the accurate one."""
    found = checked(answers)
    return found if answers.path.solver == "qr" else replace(found, rounding=found.rounding + 1.0)


def always_wrong(answers):
    return replace(checked(answers), error=np.array([3.0]), claimed=np.array([2.0]))


class TestWhatFollows:
    def test_auto_takes_the_accurate_route(self, monkeypatch):
        X, y = table(400)
        assert small(lam=0.5).fit(X, y).path_.solver == "gram"
        monkeypatch.setattr(negcorr.ensemble.fitted, "checked", doubtful)
        model = small(lam=0.5).fit(X, y)
        assert model.path_.solver == "qr"

    def test_a_solver_that_was_asked_for_stays_and_warns(self, monkeypatch):
        X, y = table(400)
        monkeypatch.setattr(negcorr.ensemble.fitted, "checked", doubtful)
        with pytest.warns(PrecisionWarning, match=r"cancel.*use solver='qr'"):
            model = small(lam=0.5, solver="gram").fit(X, y)
        assert model.path_.solver == "gram"

    def test_the_warning_has_the_numbers_and_names_the_line_of_the_user(self, monkeypatch):
        X, y = table()
        monkeypatch.setattr(negcorr.ensemble.fitted, "checked", always_wrong)
        with pytest.warns(PrecisionWarning, match=r"residual of 3, where the fit claims 2") as seen:
            small(lam=0.5, solver="qr").fit(X, y)
        assert seen[0].filename == __file__

    def test_a_stream_of_products_warns(self, monkeypatch):
        X, y = table(400)
        monkeypatch.setattr(negcorr.ensemble.fitted, "checked", doubtful)
        model = small(lam=0.5).partial_fit(X, y)
        with pytest.warns(PrecisionWarning, match="cancel"):
            assert model.lam_ == 0.5

    def test_a_stream_of_few_rows_takes_the_accurate_route(self, monkeypatch):
        X, y = table(60)
        monkeypatch.setattr(negcorr.ensemble.fitted, "checked", doubtful)
        assert small(lam=0.5).partial_fit(X, y).path_.solver == "qr"


class TestAnotherLambda:
    @pytest.mark.parametrize("stored", [False, True])
    @pytest.mark.parametrize("method", ["predict", "predict_members", "predict_interval"])
    def test_is_checked_once_before_the_first_prediction(
        self, monkeypatch, method, stored, tmp_path
    ):
        X, y = table()
        model = small(solver="qr").fit(X, y)
        moved = model.with_lam(0.25)
        if stored:
            save(moved, tmp_path / "model.ncl")
            moved = load(tmp_path / "model.ncl")
        monkeypatch.setattr(negcorr.ensemble.fitted, "checked", always_wrong)
        with pytest.warns(PrecisionWarning, match="residual of 3"):
            getattr(moved, method)(X[:2])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            moved.predict(X[:2])
            model.predict(X[:2])

    def test_of_a_model_that_was_loaded_is_checked(self, monkeypatch, tmp_path):
        X, y = table()
        save(small(solver="qr").fit(X, y), tmp_path / "model.ncl")
        loaded = load(tmp_path / "model.ncl")
        monkeypatch.setattr(negcorr.ensemble.fitted, "checked", always_wrong)
        with pytest.warns(PrecisionWarning, match="residual of 3"):
            loaded.with_lam(0.25).predict(X[:2])

    @pytest.mark.parametrize("gap", [1.0, 1e-8, 1e-14, 1e-20, 0.0])
    def test_of_redundant_features_holds(self, gap):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 1))
        y = X[:, 0] + 0.3 * rng.normal(size=200)
        moved = NCLRegressor("fourier", lam=0.5).fit(X, y).with_lam(gap=gap)
        assert moved.score(X, y) > 0.9
        assert found_in(moved).holds
