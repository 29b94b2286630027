"""Huber's loss by Huber targets: the mathematics, the passes, and what a user sees of them."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from models import ncl
from reference import (
    literal_huber_passes,
    literal_huber_targets,
    literal_quantile,
    random_problem,
)
from sklearn.base import clone
from sklearn.model_selection import KFold, PredefinedSplit, ShuffleSplit, TimeSeriesSplit

from negcorr import (
    ContentKFold,
    NCLRegressor,
    degrees_of_freedom,
    load,
    ncl_path,
    save,
    scale,
)
from negcorr._common.quantiles import weighted_quantile
from negcorr.bases import FourierFeatures
from negcorr.criteria.kfold import HeldOutPredictions, KeptRows
from negcorr.ensemble import fit
from negcorr.ensemble.huber import (
    HuberTargets,
    clipped_at_fences,
    huber_path,
    huber_targets,
    refuse_in_parts,
    threshold_of,
)
from negcorr.ensemble.summary import HUBER_NOTE
from negcorr.exceptions import HuberWarning, NotLinearError, PrecisionWarning
from negcorr.path.tune import GivenFeatures, PathSettings, build_path
from negcorr.rows.folds import make_folds
from negcorr.rows.rows import Rows

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)

SMALL = {"n_members": 12, "n_components": 6}

#: Folds that do not go by targets.
KFOLD = KFold(5)


def huber(**parameters):
    return ncl(**SMALL | {"loss": "huber"} | parameters)


def account(model):
    """How the Huber targets of a fitted model came about."""
    return model._state.answers.huber


def truth(X):
    return np.sin(2 * X[:, 0]) + X[:, 1]


def waves(n=300, share=0.05, seed=0):
    """Inputs, noisy targets, and the same with a share of them replaced by gross errors."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    clean = truth(X) + 0.2 * rng.normal(size=n)
    spoilt = clean.copy()
    bad = rng.choice(n, round(share * n), replace=False)
    spoilt[bad] = 30.0 * rng.normal(size=len(bad))
    return X, clean, spoilt


def root_mean_square(model, n=1000):
    X = np.random.default_rng(99).uniform(-2, 2, size=(n, 2))
    return np.sqrt(np.mean((model.predict(X) - truth(X)) ** 2))


class TestThreshold:
    def test_of_names_and_numbers(self):
        assert threshold_of("squared") is None
        assert threshold_of("huber") == 1.345
        assert threshold_of(np.float32(0.5)) == 0.5
        assert threshold_of(3) == 3.0

    @pytest.mark.parametrize(
        "loss", ["absolute", "Huber", 0, -1, np.nan, np.inf, True, np.True_, None, [1.0], 1j]
    )
    def test_of_anything_else_is_refused_by_name(self, loss):
        X, y, _ = waves(40)
        words = f"loss={loss!r} is unknown; allowed are 'squared', 'huber' and finite numbers > 0"
        for use in (huber(loss=loss).fit, huber(loss=loss).partial_fit):
            with pytest.raises(ValueError, match=re.escape(words)):
                use(X, y)


class TestQuantile:
    @repeatable
    @given(
        hnp.arrays(np.float64, st.integers(1, 30), elements=st.integers(-5, 5).map(float)),
        st.sampled_from([0.25, 0.5, 0.75]),
        st.data(),
    )
    def test_is_the_literal_one_and_that_of_repeated_rows(self, values, fraction, data):
        weight = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(1, 4)))
        (found,) = weighted_quantile(values[:, np.newaxis], weight.astype(float), fraction)
        assert found == literal_quantile(values, weight, fraction)
        repeated = np.repeat(values, weight)
        assert found == np.quantile(repeated, fraction, method="averaged_inverted_cdf")

    def test_of_rows_without_weight_does_not_see_them(self):
        values = np.array([[1.0], [2.0], [3.0], [1e9]])
        assert weighted_quantile(values, np.array([1.0, 1.0, 1.0, 0.0]), 0.75) == 3.0


class TestClippedAtFences:
    def test_brings_targets_in_to_the_far_fences(self):
        y = np.concatenate([np.arange(1.0, 9.0), [1000.0, -50.0]])[:, np.newaxis]
        found = clipped_at_fences(Rows(y, y)).y
        # Quartiles are 2 and 7: fences at −13 and 22.
        np.testing.assert_array_equal(found.ravel(), [*range(1, 9), 22.0, -13.0])

    def test_leaves_outputs_whose_quartiles_are_equal(self):
        y = np.column_stack([np.r_[np.zeros(9), 5.0], np.r_[np.arange(9.0), 1e6]])
        found = clipped_at_fences(Rows(y, y)).y
        np.testing.assert_array_equal(found[:, 0], y[:, 0])
        assert found[-1, 1] == 7 + 3 * 5


@st.composite
def targets_and_guesses(draw):
    shape = draw(st.tuples(st.integers(1, 20), st.integers(1, 2)))
    numbers = hnp.arrays(np.float64, shape, elements=st.floats(-100, 100, width=16))
    weight = hnp.arrays(np.float64, shape[0], elements=st.integers(1, 3).map(float))
    return draw(numbers), draw(numbers), draw(weight), draw(st.sampled_from([0.5, 1.345, 3.0]))


class TestHuberTargets:
    @repeatable
    @given(targets_and_guesses())
    def test_lies_between_the_target_and_the_guess_and_near_the_guess(self, case):
        y, guess, _, threshold = case
        targets, scale = huber_targets(*case)
        low, high = np.minimum(y, guess), np.maximum(y, guess)
        slack = 1e-13 * (np.abs(y) + np.abs(guess))
        assert ((targets >= low - slack) & (targets <= high + slack)).all()
        movable = scale > 0
        off = np.abs(targets - guess)[:, movable]
        assert (off <= threshold * scale[movable] + slack[:, movable]).all()

    @repeatable
    @given(targets_and_guesses())
    def test_is_the_literal_one(self, case):
        y, guess, weight, threshold = case
        targets, scale = huber_targets(*case)
        for j in np.flatnonzero(scale > 0):
            wanted, s = literal_huber_targets(y[:, j], guess[:, j], weight, threshold)
            assert scale[j] == pytest.approx(s, rel=1e-14)
            np.testing.assert_allclose(targets[:, j], wanted, rtol=1e-12, atol=1e-12)
        for j in np.flatnonzero(scale == 0):
            np.testing.assert_array_equal(targets[:, j], y[:, j])

    @repeatable
    @given(targets_and_guesses(), st.sampled_from([-4.0, 0.5, 2.0]))
    def test_scales_with_the_targets(self, case, factor):
        y, guess, weight, threshold = case
        targets, scale = huber_targets(*case)
        found, found_scale = huber_targets(factor * y, factor * guess, weight, threshold)
        np.testing.assert_array_equal(found, factor * targets)
        np.testing.assert_array_equal(found_scale, abs(factor) * scale)

    @pytest.mark.parametrize("r", [-7.0, -2.0, -0.5, 0.0, 1.999, 2.0, 30.0])
    def test_takes_off_what_minimises_huber_with_its_price(self, r):
        # A single residual of scale 1 beside many: the threshold δ is 2.
        y = np.array([*np.tile([1.0, -1.0], 20), r])[:, np.newaxis]
        targets, _ = huber_targets(y, np.zeros_like(y), np.ones(41), threshold=2.0 / 1.4826)
        taken_off = r - targets[-1, 0]
        offers = np.linspace(-40, 40, 160001)
        prices = (r - offers) ** 2 + 2 * 2.0 * np.abs(offers)
        assert taken_off == pytest.approx(offers[np.argmin(prices)], abs=1e-3)
        twice_huber = r**2 if abs(r) <= 2 else 4 * abs(r) - 4
        assert prices.min() == pytest.approx(twice_huber, abs=1e-5)

    def test_rows_without_a_guess_stay_and_do_not_count(self):
        y = np.array([[1.0], [-1.0], [9.0], [77.0]])
        guess = np.array([[0.0], [0.0], [0.0], [np.nan]])
        targets, scale = huber_targets(y, guess, np.ones(4), 2.0)
        assert scale == pytest.approx(1.4826)
        np.testing.assert_allclose(targets.ravel(), [1.0, -1.0, 2 * 1.4826, 77.0])


def problem_rows(outputs=1, weighted=False, n=60):
    problem = random_problem(np.random.default_rng(5), n, [3, 2, 4], outputs, weighted)
    y = problem.y.copy()
    y[::13] += 40.0
    y[5::17] -= 25.0
    problem = replace(problem, y=y)
    return problem, Rows(problem.features, y, problem.weight if weighted else None)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("solver", ["gram", "qr"])
def test_passes_are_those_of_literal_refits(monkeypatch, outputs, weighted, passes, solver):
    monkeypatch.setattr("negcorr.ensemble.huber.MOST_PASSES", passes)
    problem, rows = problem_rows(outputs, weighted)
    basis = GivenFeatures(problem.starts)
    folds, gap = make_folds(KFold(4), rows), np.full(outputs, 0.2)
    wanted = PathSettings(gap=gap, solver=solver)
    first = clipped_at_fences(rows)
    path = build_path(first, basis, folds, wanted, outputs == 1)
    path, targets, found = huber_path(path, rows, first, basis, wanted, 1.5)
    expected = literal_huber_passes(
        problem, list(KFold(4).split(rows.X)), 0.2, threshold=1.5, passes=passes
    )
    np.testing.assert_allclose(targets, expected, atol=1e-8)
    assert (found.passes == 1) if passes == 1 else (2 <= found.passes <= passes)
    # The path is that of the targets.
    again = ncl_path(
        problem.features,
        expected[:, 0] if outputs == 1 else expected,
        problem.starts,
        gap=gap,
        sample_weight=rows.weight,
        solver=solver,
    )
    np.testing.assert_allclose(path.coef(), again.coef(), atol=1e-8)
    np.testing.assert_allclose(path.kfold(), build_path_kfold(rows, expected, basis, folds, wanted))


def build_path_kfold(rows, targets, basis, folds, wanted):
    path = build_path(replace(rows, y=targets), basis, folds, wanted, targets.shape[1] == 1)
    return path.kfold()


def test_held_out_predictions_are_those_of_intervals():
    _, rows = problem_rows(2, weighted=True)
    basis = GivenFeatures(np.array([0, 3, 5, 9]))
    folds = make_folds(ShuffleSplit(3, test_size=0.3, random_state=0), rows)
    path = build_path(rows, basis, folds, PathSettings(gap=np.array([0.1, 0.4])), False)
    every = KeptRows(rows, folds.held_out_in(rows.n_rows))
    fits, gap, none = path.cross_validation, path.chosen_gap, np.empty(0)
    guess, _ = every.predictions(fits, basis, gap, none)
    held = ~np.isnan(guess[:, 0])
    held_out = HeldOutPredictions.of(KeptRows.of(rows, folds), fits, basis, gap, none)
    np.testing.assert_allclose((rows.y - guess)[held], held_out.residuals(gap), atol=1e-12)
    assert 0 < held.sum() < rows.n_rows


def test_rows_that_no_split_holds_out_keep_their_clipped_targets():
    X, _, spoilt = waves(120)
    spoilt[3] = 1e6
    model = huber(cv=TimeSeriesSplit(4)).fit(X, spoilt)
    never = np.arange(24)
    first = clipped_at_fences(Rows(X, spoilt[:, np.newaxis])).y[:, 0]
    np.testing.assert_array_equal(model.targets_[never], first[never])
    assert first[3] < 100


class TestFit:
    @pytest.mark.parametrize("model", [NCLRegressor(), ncl(**SMALL)], ids=["auto", "fourier"])
    def test_gross_errors_count_for_little(self, model):
        X, clean, spoilt = waves()
        alone = root_mean_square(model.fit(X, clean))
        hurt = root_mean_square(model.fit(X, spoilt))
        robust = root_mean_square(clone(model).set_params(loss="huber").fit(X, spoilt))
        assert hurt > 8 * robust
        assert robust < 2 * alone

    def test_gaussian_noise_costs_little(self):
        errors = np.array(
            [
                [
                    root_mean_square(huber(loss=loss).fit(*waves(300, seed=seed)[:2]))
                    for loss in ("squared", "huber")
                ]
                for seed in range(8)
            ]
        )
        squared, robust = np.sqrt((errors**2).mean(axis=0))
        assert robust < 1.06 * squared

    @pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv", "loo", "bic"])
    def test_every_criterion(self, criterion):
        X, _, spoilt = waves()
        model = huber(criterion=criterion, n_components=3)
        hurt = root_mean_square(clone(model).set_params(loss="squared").fit(X, spoilt))
        assert root_mean_square(model.fit(X, spoilt)) < hurt / 5
        assert model.path_.criterion == criterion

    @pytest.mark.parametrize("lam", [0.5, 0.99])
    def test_a_given_lam(self, lam):
        X, _, spoilt = waves()
        model = huber(lam=lam).fit(X, spoilt)
        assert model.lam_ == lam
        assert np.sum(np.abs(model.targets_ - spoilt) > 1) >= 10

    def test_is_the_plain_ensemble_of_its_targets(self):
        X, _, spoilt = waves()
        model = huber(cv=KFOLD).fit(X, spoilt)
        plain = huber(cv=KFOLD, loss="squared").fit(X, model.targets_)
        assert plain.lam_ == model.lam_
        np.testing.assert_allclose(plain.predict(X), model.predict(X), atol=1e-8)
        np.testing.assert_allclose(plain.dof_, model.dof_, rtol=1e-8)
        np.testing.assert_allclose(plain.noise_variance_, model.noise_variance_, rtol=1e-8)

    @pytest.mark.parametrize("parameters", [{"basis": "auto"}, {}], ids=["auto", "fourier"])
    def test_order_of_rows_does_not_matter(self, parameters):
        X, _, spoilt = waves(150)
        order = np.random.default_rng(3).permutation(150)
        one = huber(**parameters).fit(X, spoilt)
        other = huber(**parameters).fit(X[order], spoilt[order])
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
        np.testing.assert_array_equal(one.targets_[order], other.targets_)

    def test_integer_weights_equal_repeated_rows(self):
        X, _, spoilt = waves(150)
        weight = np.random.default_rng(4).integers(0, 4, 150).astype(float)
        index = np.repeat(np.arange(150), weight.astype(int))
        one = huber().fit(X, spoilt, weight)
        other = huber().fit(X[index], spoilt[index])
        assert one.lam_ == other.lam_
        np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-9)
        np.testing.assert_allclose(one.targets_[index], other.targets_, atol=1e-9)
        assert account(one).n_moved == account(other).n_moved
        assert account(one).n_targets == len(index)

    def test_targets_of_each_output_move_by_themselves(self):
        X, clean, spoilt = waves()
        both = huber(cv=KFOLD).fit(X, np.column_stack([spoilt, 100 * clean]))
        assert both.targets_.shape == (300, 2)
        for j, y in enumerate((spoilt, 100 * clean)):
            alone = huber(cv=KFOLD).fit(X, y)
            assert both.lam_[j] == alone.lam_
            spread = account(alone).scale[0]
            # Passes go on until the targets of all outputs stay.
            np.testing.assert_allclose(both.targets_[:, j], alone.targets_, atol=0.05 * spread)

    @settings(repeatable, max_examples=6)
    @given(st.sampled_from([-50.0, 0.03, 2.0, 1e6]), st.sampled_from([0.0, -7.0, 1e3]))
    def test_moves_and_scales_with_the_targets(self, a, b):
        X, _, spoilt = waves(100)
        one = huber(cv=KFOLD).fit(X, spoilt)
        other = huber(cv=KFOLD).fit(X, a * spoilt + b)
        size = abs(a) + abs(b)
        np.testing.assert_allclose(other.predict(X), a * one.predict(X) + b, atol=1e-6 * size)
        np.testing.assert_allclose(other.targets_, a * one.targets_ + b, atol=1e-6 * size)

    @pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
    def test_does_not_run_away_where_folds_amplify_their_targets(self, monkeypatch):
        rng = np.random.default_rng(4)
        X = rng.uniform(-1, 1, size=(40, 6))
        y = np.sin(3 * X[:, 0]) * np.exp(X[:, 1])
        plain = NCLRegressor(random_state=0).fit(X, y)
        model = NCLRegressor(random_state=0, loss="huber").fit(X, y)
        np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=0.05)
        assert account(model).converged
        # Without the look at the loss of a pass it would.
        better_and_better = iter(range(99, 0, -1))
        monkeypatch.setattr(
            "negcorr.ensemble.huber.mean_loss", lambda *_: np.array([next(better_and_better)])
        )
        astray = NCLRegressor(random_state=0, loss="huber").fit(X, y)
        assert np.abs(astray.predict(X) - plain.predict(X)).max() > 0.5

    def test_no_target_leaves_the_range_of_the_clipped_ones(self):
        """Held-out predictions of an ensemble that interpolates eight rows go a million sd away."""
        X = np.array([[0.6], [-62.0], [-0.5], [-0.3], [-2.0], [-1.0], [-1.4], [2.3]])
        y = np.array([0.6, 1.2, 0.5, 0.2, 0.1, -0.1, 0.7, 0.4])
        basis = FourierFeatures(7, 4, subspace=0.5)
        weight = np.where(y > 1.0, 0.0, 1.0)
        for sample_weight in (None, weight):
            model = NCLRegressor(basis, gap=1e-18, loss=2.0).fit(X, y, sample_weight)
            counts = np.ones(8, dtype=bool) if sample_weight is None else sample_weight > 0
            assert (y[counts].min() <= model.targets_[counts]).all()
            assert (model.targets_[counts] <= y[counts].max()).all()

    def test_an_output_whose_pass_is_taken_back_leaves_the_others_alone(self):
        rng = np.random.default_rng(1)
        X = rng.uniform(-1, 1, size=(60, 6))
        smooth = np.sin(3 * X[:, 0]) * np.exp(X[:, 1])
        noisy = X[:, 0] + 0.3 * rng.normal(size=60)
        noisy[::9] += 20.0
        parameters = {"basis": "kernel", "gamma": 0.1, "kernel": "rbf", "cv": KFOLD}
        model = ncl(loss="huber", **parameters)
        both = clone(model).fit(X, np.column_stack([smooth, noisy]))
        again = clone(model).set_params(loss="squared").fit(X, both.targets_)
        np.testing.assert_allclose(both.predict(X), again.predict(X), atol=1e-8)
        for j, y in enumerate((smooth, noisy)):
            alone = clone(model).fit(X, y)
            np.testing.assert_allclose(both.targets_[:, j], alone.targets_, atol=1e-3)

    def test_a_large_threshold_is_squared_loss(self):
        X, clean, _ = waves()
        plain = huber(loss="squared").fit(X, clean)
        model = huber(loss=1e6).fit(X, clean)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))
        np.testing.assert_array_equal(model.targets_, clean)
        assert str(account(model)).endswith("0 of 300 targets moved, 0 by more than 1 sd")

    def test_intervals_cover_targets_as_they_are(self):
        X, _, spoilt = waves(3000, share=0.1, seed=1)
        model = huber().fit(X[:1500], spoilt[:1500])
        ends = model.predict_interval(X[1500:], 0.95)
        inside = (spoilt[1500:] >= ends[:, 0]) & (spoilt[1500:] <= ends[:, 1])
        assert 0.93 < inside.mean() < 0.97
        # Hardly any Huber target would be outside, and intervals about those would be narrow.
        assert np.ptp(ends[0]) > 4 * 2 * np.sqrt(model.noise_variance_)

    @pytest.mark.filterwarnings("ignore::negcorr.exceptions.SearchBoundaryWarning")
    def test_targets_of_a_grown_ensemble_move_after_it_has_grown(self):
        X, _, spoilt = waves(2400)
        model = ncl(basis="kernel", gamma="auto", kernel="rbf")
        hurt = root_mean_square(model.fit(X, spoilt))
        robust = root_mean_square(clone(model).set_params(loss="huber").fit(X, spoilt))
        assert robust < hurt / 2


class TestProducts:
    """Targets follow held-out predictions, and multiply what products of features do not know."""

    @staticmethod
    def path_by(solver, gap=1e-12):
        """Of two members that nearly agree: the mode in which they differ has 4e-7 of M."""
        rng = np.random.default_rng(0)
        one = rng.normal(size=(3000, 12))
        rows = Rows(np.hstack([one, one + 1e-3 * rng.normal(size=one.shape)]), one[:, :1] ** 3)
        basis, settings = (
            GivenFeatures(np.array([0, 12, 24])),
            PathSettings(np.array([gap]), solver=solver),
        )
        folds, first = make_folds(4, rows), clipped_at_fences(rows)
        path = build_path(first, basis, folds, settings, True)
        assert path.resolves_choice
        return path, huber_path(path, rows, first, basis, settings, 1.5)[0]

    def test_auto_takes_the_accurate_route(self):
        plain, path = self.path_by("auto")
        assert (plain.solver, path.solver) == ("gram", "qr")

    def test_a_solver_that_was_asked_for_stays_and_warns(self):
        with pytest.warns(PrecisionWarning, match="held-out predictions.*products of features"):
            assert self.path_by("gram")[1].solver == "gram"

    def test_ordinary_gaps_stay_with_products(self):
        assert self.path_by("auto", gap=1e-3)[1].solver == "gram"


class TestSquaredLoss:
    def test_moves_nothing(self, monkeypatch):
        for name in ("clipped_at_fences", "huber_path", "check_splits"):
            monkeypatch.setattr(fit, name, None)
        X, y, _ = waves()
        model = ncl().fit(X, y)
        assert model.targets_ is None
        assert "Loss" not in str(model.summary())

    def test_follows_another_loss(self):
        X, _, spoilt = waves()
        model = huber().fit(X, spoilt).set_params(loss="squared").fit(X, spoilt)
        assert model.targets_ is None
        fresh = huber(loss="squared").fit(X, spoilt)
        np.testing.assert_array_equal(model.predict(X), fresh.predict(X))
        assert str(model.summary()) == str(fresh.summary())

    def test_streams_have_no_other_targets(self):
        X, y, _ = waves()
        model = huber(loss="squared", lam=0.5).partial_fit(X, y)
        assert model.targets_ is None
        assert model.lam_ == 0.5
        assert model.targets_ is None


class TestNoScale:
    def test_targets_stay_with_a_warning(self):
        X = np.random.default_rng(0).normal(size=(90, 1))
        y = np.zeros(90)
        y[:6] = 1.0
        basis = GivenFeatures(np.array([0, 1]))
        # Two folds: rows that vary are in one, so that the other's fit is zero everywhere.
        cv = PredefinedSplit(np.r_[np.zeros(45), np.ones(45)])
        model = NCLRegressor(basis=basis, lam=0.0, loss="huber", cv=cv, fit_intercept=False)
        inputs = np.where(np.arange(90)[:, np.newaxis] < 45, X, 0.0)
        with pytest.warns(HuberWarning, match="targets stay as they are: at least half") as caught:
            model.fit(inputs, y)
        assert caught[0].filename == __file__
        np.testing.assert_array_equal(model.targets_, y)

    def test_outputs_are_named(self):
        X, clean, _ = waves(80)
        rare = np.r_[np.zeros(77), 1.0, 2.0, 3.0]
        Z = np.where(np.arange(80)[:, np.newaxis] < 77, 0.0, X)
        basis = GivenFeatures(np.array([0, 2]))
        model = NCLRegressor(basis=basis, lam=0.0, loss="huber", cv=KFOLD, fit_intercept=False)
        with pytest.warns(HuberWarning, match=r"targets of outputs \[1\] stay as they are"):
            model.fit(Z, np.column_stack([clean, rare]))
        np.testing.assert_array_equal(model.targets_[:, 1], rare)

    def test_constant_targets_are_no_reason_to_warn(self):
        X, _, spoilt = waves()
        with warnings.catch_warnings():
            warnings.simplefilter("error", HuberWarning)
            model = huber(lam=0.9).fit(X, np.column_stack([spoilt, np.full(300, 7.0)]))
        np.testing.assert_array_equal(model.targets_[:, 1], 7.0)


class TestRefusals:
    def test_too_few_folds_name_the_way_out(self):
        X, y, _ = waves(40)
        for model in (
            huber(lam=0.5, cv=[(np.arange(20), np.arange(20, 40))]),
            huber(criterion="sure", cv=[(np.arange(20), np.arange(20, 40))]),
        ):
            with pytest.raises(ValueError, match=r"(?s)loss='huber' needs held-out.*bring more"):
                model.fit(X, y)
        with pytest.raises(ValueError, match=r"at least two folds by cv=5.*or use loss='squared'"):
            huber(lam=0.5).fit(np.ones((9, 2)), np.ones(9))
        alone = np.r_[1.0, np.zeros(39)]
        with pytest.raises(ValueError, match="needs held-out residuals"):
            huber(lam=0.5, cv=KFOLD).fit(X, y, np.r_[alone[:39], 0.0] * 40)

    def test_parts(self):
        X, y, _ = waves()
        model = huber(loss=2.0)
        words = r"loss=2.0 moves targets.*rows cannot come in parts; allowed there is 'squared'"
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError) as error:
            model.partial_fit(X, y)
        assert "loss=2.0 moves targets" in str(error.value.__cause__)
        for use in (
            lambda: model.draw(X),
            lambda: scale.fit(model, X, y),
            lambda: clone(model).fit(X, y).merge(huber(loss="squared").fit(X, y)),
            lambda: clone(model).fit(X, y).subtract(clone(model).fit(X, y)),
        ):
            with pytest.raises(ValueError, match=words):
                use()

    def test_rows_are_not_added_to_huber_targets_under_another_name(self, tmp_path):
        X, y, _ = waves()
        model = huber().fit(X, y).set_params(loss="squared")
        for each in (model, load(save(model, tmp_path / "model.skops"))):
            assert not hasattr(each, "partial_fit")
        plain = huber(loss="squared").partial_fit(X, y)
        with pytest.raises(ValueError, match="this model has no moments"):
            plain.merge(model)

    def test_refuse_in_parts_lets_the_rest_pass(self):
        assert refuse_in_parts("squared") is None

    def test_no_closed_form_of_degrees_of_freedom(self):
        X, y, _ = waves(60)
        model = huber(lam=0.9, cv=ContentKFold(4, inputs_only=True))
        with pytest.raises(NotLinearError, match=r"loss='huber'\) is not linear in y"):
            degrees_of_freedom(model, X, y, method="exact")
        found = degrees_of_freedom(model, X, y, random_state=0, n_probes=4)
        assert found.method == "monte-carlo"


class TestWhatIsKept:
    def test_targets_go_where_rows_go(self, tmp_path):
        X, _, spoilt = waves()
        model = huber().fit(X, spoilt)
        assert model.targets_.shape == (300,)
        for small in (model.compact(), model.compact(path=True)):
            assert small.targets_ is None
            np.testing.assert_array_equal(small.predict_interval(X), model.predict_interval(X))
        copy = load(save(model, tmp_path / "m.skops"))
        np.testing.assert_array_equal(copy.targets_, model.targets_)
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))

    def test_moving_lam_keeps_the_targets(self):
        X, _, spoilt = waves()
        model = huber().fit(X, spoilt)
        moved = model.with_lam(0.3)
        assert moved.targets_ is model.targets_
        path = model.path_
        np.testing.assert_allclose(moved.coef_, path.coef(0.3))

    def test_summary_says_how_many_targets_were_moved(self):
        X, clean, spoilt = waves()
        model = huber(cv=KFOLD).fit(X, spoilt)
        text = str(model.summary())
        off = np.abs(model.targets_ - spoilt)
        far = int((off > account(model).scale).sum())
        wanted = f"linear beyond 1.345 sd: {(off > 0).sum()} of 300 targets moved, {far} by more"
        assert 13 <= far <= 30
        assert wanted in text
        assert "robust sd of residuals" in text
        assert HUBER_NOTE in model.summary().notes
        assert str(model.compact().summary()) == text
        both = huber(cv=KFOLD).fit(X, np.column_stack([spoilt, clean]))
        assert "of 600 targets moved" in str(both.summary())
        assert "robust sd" in str(both.summary())

    def test_account_says_whether_passes_converged(self):
        found = HuberTargets(2.0, np.ones(1), 100.0, 7.0, 3.0, 5, converged=True)
        assert str(found) == (
            "huber, linear beyond 2 sd: 7 of 100 targets moved, 3 by more than 1 sd"
        )
        moving = replace(found, converged=False)
        assert str(moving).endswith("by more than 1 sd, not converged after 5 passes")

    def test_parameter_travels(self):
        model = huber(loss=0.7)
        assert clone(model).get_params()["loss"] == 0.7
        assert NCLRegressor().loss == "squared"


def test_tables_take_it():
    pd = pytest.importorskip("pandas")
    X, _, spoilt = waves()
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    plain = NCLRegressor("fourier").fit(frame, spoilt)
    model = NCLRegressor("fourier", loss="huber").fit(frame, spoilt)
    wanted = truth(X)
    errors = [np.mean((each.predict(frame) - wanted) ** 2) for each in (plain, model)]
    assert errors[1] < errors[0] / 4
    assert model.targets_.shape == (300,)


def test_a_basis_of_the_users_own_is_drawn_once():
    X, _, spoilt = waves()
    basis = FourierFeatures(10, 6, gamma=0.5, random_state=0, inputs="none")
    model = huber(basis=basis).fit(X, spoilt)
    assert root_mean_square(model) < 0.3
