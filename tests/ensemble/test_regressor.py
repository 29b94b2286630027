"""NCLRegressor: what a user sees of the core."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from models import ncl
from reference import Problem, literal_fit
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from negcorr import ContentKFold, NCLPath, NCLRegressor
from negcorr.bases import ClonedFeatures, FourierFeatures
from negcorr.exceptions import (
    FrequencyWarning,
    IdenticalMembersWarning,
    NoiseVarianceWarning,
    PrecisionWarning,
    SearchBoundaryWarning,
)

SMALL = {"n_members": 12, "n_components": 6}


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def two_outputs(diabetes):
    X, y = diabetes
    return X, np.column_stack([y, np.sin(y / 20.0)])


@pytest.fixture(scope="module")
def fitted(diabetes):
    return ncl(**SMALL).fit(*diabetes)


def weighted_and_repeated(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)
    weight = rng.integers(0, 4, size=n).astype(float)
    index = np.repeat(np.arange(n), weight.astype(int))
    return X, y, weight, index


class TestFittedAttributes:
    def test_one_output_has_scalars_and_flat_coefficients(self, fitted):
        for name in ("lam_", "gap_", "dof_", "noise_variance_", "intercept_"):
            assert isinstance(getattr(fitted, name), float)
        assert fitted.coef_.shape == (72,)
        assert isinstance(fitted.path_, NCLPath)
        assert fitted.n_features_in_ == 10
        assert fitted.lam_ == 1.0 - fitted.gap_

    def test_several_outputs_have_one_of_each(self, two_outputs):
        model = ncl(**SMALL).fit(*two_outputs)
        for name in ("lam_", "gap_", "dof_", "noise_variance_", "intercept_"):
            assert getattr(model, name).shape == (2,)
        assert model.coef_.shape == (2, 72)
        assert model.path_.sure([0.1, 0.5, 0.9]).shape == (3, 2)
        assert model.path_.dof([0.1, 0.5, 0.9]).shape == (3,)

    def test_several_outputs_equal_separate_fits(self, two_outputs):
        X, Y = two_outputs
        folds = list(KFold(4).split(X))
        together = ncl(**SMALL, cv=folds).fit(X, Y)
        for j in range(2):
            alone = ncl(**SMALL, cv=folds).fit(X, Y[:, j])
            assert together.gap_[j] == alone.gap_
            np.testing.assert_allclose(together.predict(X)[:, j], alone.predict(X), rtol=1e-9)

    def test_coefficients_are_theorem_4(self, fitted, diabetes):
        X, y = diabetes
        features = fitted.basis_.transform(X)
        problem = Problem(features, y[:, None], np.ones(len(y)), fitted.basis_.block_starts_)
        literal = literal_fit(problem, fitted.gap_)
        np.testing.assert_allclose(
            literal.fitted[:, 0], fitted.predict(X), rtol=1e-9, atol=1e-9 * np.ptp(y)
        )

    def test_parameters_are_left_alone(self, diabetes):
        model = ncl(**SMALL)
        before = {k: repr(v) for k, v in model.get_params().items()}
        model.fit(*diabetes)
        assert {k: repr(v) for k, v in model.get_params().items()} == before

    def test_second_fit_equals_first(self, diabetes):
        X, y = diabetes
        model = ncl(**SMALL)
        first = model.fit(X, y).predict(X)
        model.fit(X[:50], y[:50] ** 2)
        np.testing.assert_array_equal(model.fit(X, y).predict(X), first)


class TestInvariance:
    @pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv", "loo"])
    @pytest.mark.parametrize("basis", ["fourier", "nystroem", "trees"])
    def test_order_of_rows_changes_nothing(self, criterion, basis):
        X, y, _, _ = weighted_and_repeated()
        model = ncl(**SMALL | {"criterion": criterion, "basis": basis})
        order = np.random.default_rng(1).permutation(len(y))
        first = model.fit(X, y)
        gap, prediction = first.gap_, first.predict(X)
        second = clone(model).fit(X[order], y[order])
        assert second.gap_ == gap
        np.testing.assert_allclose(second.predict(X), prediction, rtol=0, atol=1e-10)

    @pytest.mark.parametrize("criterion", ["kfold", "sure", "gcv", "bic", "loo"])
    @pytest.mark.parametrize("solver", ["auto", "qr"])
    def test_integer_weights_equal_repeated_rows(self, criterion, solver):
        X, y, weight, index = weighted_and_repeated()
        model = ncl(**SMALL, criterion=criterion, solver=solver)
        by_weight = clone(model).fit(X, y, sample_weight=weight)
        by_repeats = clone(model).fit(X[index], y[index])
        assert by_weight.gap_ == by_repeats.gap_
        assert by_weight.dof_ == pytest.approx(by_repeats.dof_, rel=1e-9)
        assert by_weight.noise_variance_ == pytest.approx(by_repeats.noise_variance_, rel=1e-8)
        np.testing.assert_allclose(by_weight.predict(X), by_repeats.predict(X), atol=1e-9)
        np.testing.assert_allclose(
            by_weight.predict_interval(X), by_repeats.predict_interval(X), atol=1e-9
        )

    def test_one_and_many_blas_threads_agree(self, diabetes):
        from threadpoolctl import threadpool_limits

        X, y = diabetes
        many = ncl(**SMALL).fit(X, y)
        with threadpool_limits(1):
            one = ncl(**SMALL).fit(X, y)
        assert one.gap_ == many.gap_
        np.testing.assert_allclose(one.predict(X), many.predict(X), rtol=1e-10)


class TestWithLam:
    @pytest.mark.parametrize("gap", [1.0, 0.3, 1e-3, 1e-6])
    def test_equals_a_refit_there(self, fitted, diabetes, gap):
        X, y = diabetes
        moved = fitted.with_lam(gap=gap)
        refit = ncl(**SMALL, gap=gap).fit(X, y)
        assert moved.dof_ == pytest.approx(refit.dof_, rel=1e-9)
        np.testing.assert_allclose(moved.predict(X), refit.predict(X), rtol=1e-8)
        # Held-out predictions at other λ come from splines.
        level = np.abs(refit.predict_interval(X)).max()
        np.testing.assert_allclose(
            moved.predict_interval(X), refit.predict_interval(X), atol=1e-4 * level
        )

    def test_leaves_the_original_alone(self, fitted, diabetes):
        X, _ = diabetes
        before, lam = fitted.predict(X), fitted.lam_
        fitted.with_lam(0.1)
        assert fitted.lam_ == lam
        np.testing.assert_array_equal(fitted.predict(X), before)

    def test_clone_keeps_lam_or_gap(self, fitted):
        by_lam, by_gap = fitted.with_lam(0.25), fitted.with_lam(gap=1e-20)
        assert clone(by_lam).get_params()["lam"] == 0.25
        assert clone(by_gap).get_params()["gap"] == 1e-20
        assert by_gap.lam_ == 1.0
        assert by_gap.gap_ == 1e-20

    def test_dof_finds_its_lam(self, fitted):
        lowest, highest = fitted.path_.dof([0.0, 1.0])
        for wanted in np.linspace(lowest, highest, 7):
            assert fitted.with_lam(dof=wanted).dof_ == pytest.approx(wanted, rel=1e-9)

    def test_dof_out_of_reach_names_the_range(self, fitted):
        with pytest.raises(ValueError, match="cannot be reached"):
            fitted.with_lam(dof=10_000.0)

    def test_one_lam_for_each_output(self, two_outputs):
        model = ncl(**SMALL).fit(*two_outputs)
        moved = model.with_lam([0.2, 0.9])
        np.testing.assert_allclose(moved.lam_, [0.2, 0.9])
        refit = clone(moved).fit(*two_outputs)
        np.testing.assert_allclose(refit.coef_, moved.coef_, rtol=1e-9)

    def test_wrong_number_of_lams(self, fitted):
        with pytest.raises(ValueError, match="one for each of the 1 outputs"):
            fitted.with_lam([0.2, 0.9])

    @pytest.mark.parametrize("arguments", [{}, {"lam": 0.5, "gap": 0.5}, {"lam": 0.5, "dof": 9.0}])
    def test_exactly_one_argument(self, fitted, arguments):
        with pytest.raises(ValueError, match="exactly one"):
            fitted.with_lam(**arguments)

    def test_gap_below_the_gram_route_warns(self, diabetes):
        model = ncl(40, 10, solver="gram").fit(*diabetes)
        with pytest.warns(PrecisionWarning, match="solver='qr'"):
            model.with_lam(gap=1e-18)


class TestPrediction:
    def test_members_average_to_the_ensemble(self, fitted, diabetes):
        X, _ = diabetes
        members = fitted.predict_members(X)
        assert members.shape == (12, len(X))
        np.testing.assert_allclose(members.mean(axis=0), fitted.predict(X), rtol=1e-9)

    def test_members_of_several_outputs(self, two_outputs):
        X, Y = two_outputs
        model = ncl(**SMALL).fit(X, Y)
        members = model.predict_members(X)
        assert members.shape == (12, len(X), 2)
        np.testing.assert_allclose(members.mean(axis=0), model.predict(X), rtol=1e-8)

    def test_members_at_lam_0_are_separate_least_squares(self, diabetes):
        X, y = diabetes
        model = ncl(**SMALL, lam=0.0).fit(X, y)
        features, starts = model.basis_.transform(X), model.basis_.block_starts_
        member = features[:, starts[3] : starts[4]]
        design = np.column_stack([np.ones(len(X)), member])
        fit = design @ np.linalg.lstsq(design, y)[0]
        np.testing.assert_allclose(model.predict_members(X)[3], fit, rtol=1e-8)

    def test_diversity_on_training_rows_is_the_paths(self, fitted, diabetes):
        terms = fitted.diversity(*diabetes)
        assert terms.diversity == pytest.approx(fitted.path_.diversity(), rel=1e-9)
        assert terms.ensemble_error == pytest.approx(fitted.path_.train_error(), rel=1e-9)
        assert terms.member_error == pytest.approx(fitted.path_.member_error(), rel=1e-9)

    def test_diversity_without_targets_has_no_errors(self, fitted, diabetes):
        X, y = diabetes
        terms = fitted.diversity(X)
        assert terms.diversity == pytest.approx(fitted.diversity(X, y).diversity)
        assert np.isnan(terms.ensemble_error)
        assert np.isnan(terms.member_error_per_sample).all()

    def test_std_is_noise_plus_variance_of_the_fit(self, fitted, diabetes):
        X, _ = diabetes
        mean, std = fitted.predict(X, return_std=True)
        features = fitted.basis_.transform(X)
        S = fitted.path_.spectrum.smoothing_matrix(features, gap=fitted.gap_)
        variance = fitted.noise_variance_ * (1.0 + (S**2).sum(axis=1))
        np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-8)
        np.testing.assert_array_equal(mean, fitted.predict(X))

    def test_std_for_several_outputs(self, two_outputs):
        X, Y = two_outputs
        _, std = ncl(**SMALL).fit(X, Y).predict(X, return_std=True)
        assert std.shape == Y.shape
        assert (std > 0).all()

    def test_interval_contains_the_prediction_and_grows_with_coverage(self, fitted, diabetes):
        X, y = diabetes
        narrow, wide = (fitted.predict_interval(X, coverage=c) for c in (0.5, 0.95))
        assert narrow.shape == (len(X), 2)
        assert (wide[:, 0] < narrow[:, 0]).all()
        assert (wide[:, 1] > narrow[:, 1]).all()
        inside = (y > wide[:, 0]) & (y < wide[:, 1])
        assert 0.9 < inside.mean() < 1.0

    def test_interval_for_several_outputs(self, two_outputs):
        X, Y = two_outputs
        assert ncl(**SMALL).fit(X, Y).predict_interval(X[:5]).shape == (5, 2, 2)

    @pytest.mark.parametrize("coverage", [0.0, 1.0, -1, 95, "0.9", None])
    def test_coverage_must_be_a_probability(self, fitted, diabetes, coverage):
        with pytest.raises(ValueError, match="coverage="):
            fitted.predict_interval(diabetes[0], coverage=coverage)


class TestInput:
    def test_pandas_polars_and_arrays_agree(self, diabetes, fitted):
        X, y = diabetes
        names = [f"c{j}" for j in range(X.shape[1])]
        expected = fitted.predict(X)
        for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
            model = ncl(**SMALL).fit(frame, y)
            assert list(model.feature_names_in_) == names
            np.testing.assert_array_equal(model.predict(frame), expected)

    def test_renamed_features_are_refused(self, diabetes):
        X, y = diabetes
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
        model = ncl(**SMALL).fit(frame, y)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame.rename(columns={"c0": "z"}))

    def test_sparse_equals_dense(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 8)) * (rng.uniform(size=(60, 8)) < 0.3)
        y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=60)
        dense = ncl(**SMALL).fit(X, y)
        for kind in (sp.csr_array, sp.csc_matrix):
            sparse = ncl(**SMALL).fit(kind(X), y)
            assert sparse.gap_ == dense.gap_
            np.testing.assert_allclose(sparse.predict(kind(X)), dense.predict(X), rtol=1e-8)

    def test_float32_stays_float32(self, diabetes):
        X, y = diabetes
        double = ncl(**SMALL, lam=0.9).fit(X, y)
        single = ncl(**SMALL, lam=0.9).fit(X.astype(np.float32), y)
        prediction = single.predict(X.astype(np.float32))
        assert prediction.dtype == np.float32
        assert single.predict_members(X.astype(np.float32)).dtype == np.float32
        assert single.coef_.dtype == np.float64
        np.testing.assert_allclose(prediction, double.predict(X), rtol=1e-4)

    def test_frames_reach_user_transformers_untouched(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {"colour": rng.choice(["red", "green"], 60), "size": rng.normal(size=60)}
        )
        frame.loc[3, "size"] = np.nan
        y = (frame["colour"] == "red") + frame["size"].fillna(0.0)
        encode = ColumnTransformer(
            [
                ("hot", OneHotEncoder(), ["colour"]),
                ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
            ]
        )
        members = [make_pipeline(encode, PolynomialFeatures(2)), clone(encode)]
        model = NCLRegressor(members).fit(frame, y)
        assert model.basis_.n_members_ == 2
        assert model.score(frame, y) > 0.9

    def test_inputs_of_user_transformers_stay_as_they_are_unless_asked(self, diabetes):
        X, y = diabetes
        transformer = RBFSampler(n_components=4)
        as_given = ncl(5, basis=transformer, lam=0.5).fit(1e3 * X, y)
        ((_, first), *_) = as_given.basis_.transformers_
        features = as_given.basis_.transform(1e3 * X)
        np.testing.assert_array_equal(features[:, :4], first.transform(1e3 * X))
        scaled = NCLRegressor(ClonedFeatures(transformer, 5, inputs="standard"), lam=0.5)
        one, other = (clone(scaled).fit(c * X, y).predict(c * X) for c in (1e3, 1.0))
        np.testing.assert_allclose(one, other, rtol=1e-7)

    def test_scaling_of_columns_does_not_matter_when_standardized(self, diabetes):
        X, y = diabetes
        scale = np.logspace(-6, 6, 10)
        first = ncl(**SMALL, lam=0.9).fit(X, y).predict(X)
        second = ncl(**SMALL, lam=0.9).fit(X * scale + 1e3 * scale, y)
        np.testing.assert_allclose(second.predict(X * scale + 1e3 * scale), first, rtol=1e-6)

    def test_constant_column_is_tolerated(self, diabetes):
        X, y = diabetes
        model = ncl(**SMALL).fit(np.column_stack([X, np.full(len(X), 7.0)]), y)
        assert np.isfinite(model.predict(np.column_stack([X, np.full(len(X), 7.0)]))).all()

    def test_constant_target_is_predicted_exactly(self, diabetes):
        X, _ = diabetes
        for criterion in ("kfold", "sure", "gcv", "aic"):
            model = ncl(**SMALL, criterion=criterion).fit(X, np.full(len(X), 3.5))
            np.testing.assert_allclose(model.predict(X), 3.5, rtol=1e-12)
            assert model.lam_ == 0.0

    def test_degrees_of_freedom_never_exceed_the_rows(self):
        X = np.random.default_rng(0).uniform(size=(60, 5))
        model = ncl(lam=1.0).fit(X, np.sin(9 * X[:, 0]))
        with pytest.warns(NoiseVarianceWarning):
            assert np.isnan(model.noise_variance_)
        assert model.path_.solver == "qr"
        assert model.dof_ <= 60.0

    def test_gram_route_says_when_it_is_out_of_its_depth(self):
        X = np.linspace(0, 1, 60)[:, np.newaxis]
        with pytest.warns(PrecisionWarning, match="Gram route does not resolve"):
            ncl(lam=0.5, solver="gram").fit(X, np.sin(9 * X[:, 0]))

    def test_more_components_than_rows(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
        model = ncl(3, 40, lam=0.5).fit(X, y)
        with pytest.warns(NoiseVarianceWarning, match="no residual degrees of freedom"):
            assert np.isnan(model.noise_variance_)
        assert np.isfinite(model.predict(X)).all()

    def test_weights_that_add_up_to_too_little(self, diabetes):
        X, y = diabetes
        with pytest.warns(FrequencyWarning, match="0.442 for 442 rows"):
            model = ncl(**SMALL).fit(X, y, sample_weight=np.full(len(y), 1e-3))
        with pytest.warns(NoiseVarianceWarning, match="no residual degrees of freedom"):
            assert np.isnan(model.noise_variance_)
        with (
            pytest.warns(FrequencyWarning),
            pytest.raises(ValueError, match="needs a noise variance"),
        ):
            ncl(**SMALL, criterion="sure").fit(X, y, sample_weight=np.full(len(y), 1e-3))


class TestBadInput:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"lam": 1.5}, r"lam=1.5 is outside \[0, 1\].*diverge"),
            ({"lam": -0.1}, r"lam=-0.1 is outside"),
            ({"lam": "best"}, "lam='best' is unknown"),
            ({"lam": float("nan")}, "lam=nan is outside"),
            ({"gap": 2.0}, r"gap=2.0 is outside"),
            ({"lam": 0.5, "gap": 0.5}, "exactly one of lam and gap"),
            ({"lam": [0.5, 0.5]}, "one for each of the 1 outputs"),
            ({"criterion": "mse"}, "criterion='mse' is unknown; allowed"),
            ({"solver": "cg"}, "solver='cg' is unknown; allowed"),
            ({"basis": "wavelets"}, "basis='wavelets' is unknown; allowed"),
            ({"gamma": "median"}, "gamma='median' is unknown"),
            ({"gamma": -1.0}, "gamma=-1.0 must be"),
            ({"kernel": "tanh"}, "kernel='tanh' is unknown"),
            ({"inputs": "robust"}, "inputs='robust' is unknown"),
            ({"alpha": -1.0}, "alpha=-1.0 must be"),
            ({"alpha": float("inf")}, "alpha=inf must be"),
            ({"noise_variance": -1.0, "criterion": "sure"}, "noise_variance=-1.0 must be"),
            ({"basis": []}, "basis is an empty list"),
            ({"noise_variance": "guess"}, "noise_variance='guess' must be"),
            ({"cv": 1}, "cv=1 must be at least 2"),
            ({"n_members": 0}, "n_members=0 must be at least 1"),
            ({"n_components": -3}, "n_components=-3 must be at least 1"),
        ],
    )
    def test_parameter_value(self, diabetes, parameters, message):
        with pytest.raises(ValueError, match=message):
            ncl(**SMALL | parameters).fit(*diabetes)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"basis": 3}, "basis=3 must be one of"),
            ({"basis": RBFSampler}, "must be one of"),
            ({"basis": ["fourier", "trees"]}, r"basis\[0\]='fourier' is not a transformer"),
            ({"lam": True}, "lam=True must be a number"),
            ({"gamma": None}, "gamma=None must be"),
            ({"n_members": 2.5}, "n_members=2.5 must be an integer"),
            ({"fit_intercept": "no"}, "fit_intercept='no' must be"),
            ({"cv": "five"}, "cv='five' must be"),
        ],
    )
    def test_parameter_type(self, diabetes, parameters, message):
        with pytest.raises(TypeError, match=message):
            ncl(**SMALL | parameters).fit(*diabetes)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_nan_and_infinity(self, diabetes, bad):
        X, y = diabetes
        X_bad, y_bad = X.copy(), y.copy()
        X_bad[3, 2], y_bad[5] = bad, bad
        model = ncl(**SMALL)
        if np.isinf(bad):
            with pytest.raises(ValueError, match="infinity"):
                model.fit(X_bad, y)
            X_bad[4, 2] = np.nan
            with pytest.raises(ValueError, match="infinity"):
                model.fit(X_bad, y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.fit(X, y_bad)
        if np.isinf(bad):
            with pytest.raises(ValueError, match="infinity"):
                model.fit(X, y).predict(X_bad)

    def test_shapes(self, diabetes):
        X, y = diabetes
        model = ncl(**SMALL)
        with pytest.raises(ValueError, match="inconsistent"):
            model.fit(X, y[:-1])
        with pytest.raises(ValueError, match="Expected 2D array"):
            model.fit(X[:, 0], y)
        with pytest.raises(ValueError, match="minimum of 2 is required"):
            model.fit(X[:1], y[:1])
        with pytest.raises(ValueError, match=r"0 sample|minimum"):
            model.fit(X[:0], y[:0])
        with pytest.raises(ValueError, match="10 features"):
            model.fit(X, y).predict(X[:, :3])

    def test_strings(self, diabetes):
        _, y = diabetes
        with pytest.raises(ValueError, match="no column is left to predict from: 'x0' is constant"):
            ncl(**SMALL).fit(np.full((len(y), 2), "a"), y)

    def test_weights(self, diabetes):
        X, y = diabetes
        model = ncl(**SMALL)
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            model.fit(X, y, sample_weight=-np.ones(len(y)))
        with pytest.raises(ValueError, match="zero"):
            model.fit(X, y, sample_weight=np.zeros(len(y)))
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(X, y, sample_weight=np.ones(3))

    def test_targets_whose_squares_overflow(self, diabetes):
        X, y = diabetes
        with pytest.raises(ValueError, match="squares overflow"):
            ncl(**SMALL).fit(X, 1e200 * y)

    def test_transformers_that_ask_for_y_are_told_why_they_get_none(self, diabetes):
        with pytest.raises((TypeError, ValueError)) as caught:
            NCLRegressor(basis=[SelectKBest(k=3)]).fit(*diabetes)
        assert "a basis never sees y" in "".join(caught.value.__notes__)

    def test_groups_need_a_splitter(self, diabetes):
        X, y = diabetes
        with pytest.raises(ValueError, match="GroupKFold"):
            ncl(**SMALL).fit(X, y, groups=np.arange(len(y)))

    def test_equal_rows_cannot_be_split(self):
        with pytest.raises(ValueError, match="'sure' or 'gcv'"):
            ncl(**SMALL).fit(np.ones((8, 2)), np.ones(8))

    def test_unfitted(self, diabetes):
        X, y = diabetes
        model = NCLRegressor()
        for call in (
            lambda: model.predict(X),
            lambda: model.predict_interval(X),
            lambda: model.predict_members(X),
            lambda: model.diversity(X, y),
            lambda: model.with_lam(0.5),
            model.summary,
            model.compact,
        ):
            with pytest.raises(NotFittedError):
                call()

    def test_identical_members_are_warned_about(self, diabetes):
        with pytest.warns(IdenticalMembersWarning, match="only 1 of 4 members differ"):
            ncl(4, basis=PolynomialFeatures(1), lam=0.5).fit(*diabetes)

    def test_small_end_of_the_search_is_warned_about(self):
        X, _ = make_friedman1(300, random_state=0)
        basis = FourierFeatures(4, 6, random_state=0, inputs="none").fit(X)
        y = basis.transform(X) @ np.arange(24.0)
        with pytest.warns(SearchBoundaryWarning, match="lam = 1"):
            model = NCLRegressor(basis=basis, criterion="sure", noise_variance=0.0).fit(X, y)
        assert model.path_.at_small_end.all()


class TestEcosystem:
    def test_pipeline_grid_search_and_cross_validation(self, diabetes):
        X, y = diabetes
        pipe = make_pipeline(StandardScaler(), ncl(**SMALL))
        search = GridSearchCV(pipe, {"nclregressor__basis__gamma": [0.01, 0.1]}, cv=3).fit(X, y)
        assert search.best_score_ > 0.35
        assert (cross_val_score(pipe, X, y, cv=3) > 0.3).all()

    def test_weights_and_groups_are_routed(self, diabetes):
        X, y = diabetes
        rng = np.random.default_rng(0)
        weight, groups = rng.uniform(size=len(y)), rng.integers(0, 20, size=len(y))
        with config_context(enable_metadata_routing=True):
            model = ncl(**SMALL, cv=GroupKFold(4))
            model.set_fit_request(sample_weight=True, groups=True)
            pipe = make_pipeline(model).fit(X, y, sample_weight=weight, groups=groups)
        direct = ncl(**SMALL, cv=GroupKFold(4)).fit(X, y, sample_weight=weight, groups=groups)
        np.testing.assert_array_equal(pipe.predict(X), direct.predict(X))
        assert direct.gap_ != ncl(**SMALL, cv=GroupKFold(4)).fit(X, y, groups=groups).gap_

    @pytest.mark.parametrize(
        "cv", [KFold(3), ShuffleSplit(3, random_state=0), TimeSeriesSplit(3), ContentKFold(4)]
    )
    def test_any_splitter(self, diabetes, cv):
        X, y = diabetes
        model = ncl(**SMALL, cv=cv).fit(X, y)
        assert model.score(X, y) > 0.4
        assert model.predict_interval(X[:3]).shape == (3, 2)

    def test_notebook_shows_the_summary(self, fitted):
        html = fitted._repr_mimebundle_()["text/html"]
        assert "degrees of freedom" in html
        assert "degrees of freedom" not in NCLRegressor()._repr_mimebundle_()["text/html"]

    def test_summary_names_useless_members(self, fitted):
        text = str(fitted.with_lam(gap=1e-8).summary())
        assert "Members are useless alone" in text
        calm = str(fitted.with_lam(lam=0.0).summary())
        assert "useless" not in calm
        for word in ("lam", "gap", "degrees of freedom", "sigma", "training error", "diversity"):
            assert word in calm
