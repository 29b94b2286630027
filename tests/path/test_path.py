"""One path answers at every λ: shapes, the chosen λ, and every curve by its definition."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import KINDS, literal_fit, make_problem, refitted_kfold, refitted_loo
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold as RowKFold

from negcorr import ncl_path
from negcorr.exceptions import NoiseVarianceWarning
from negcorr.path.path import CRITERIA

LAMS = np.array([0.0, 0.3, 0.9, 0.999])


def path_of(kind="tall", one_output=True, **settings):
    problem = make_problem(kind)
    y = problem.y[:, 0] if one_output else problem.y
    settings = {"lam": 0.5, "sample_weight": problem.weight, **settings}
    return problem, ncl_path(problem.features, y, problem.starts, **settings)


CURVES = ("train_error", "member_error", "diversity", "sure", "gcv", "aic", "aicc", "bic", "cp")


@pytest.mark.parametrize("name", [*CURVES, "dof", "kfold"])
def test_one_output_gives_curves_of_the_shape_of_lam(name):
    _, path = path_of()
    curve = getattr(path, name)
    assert isinstance(curve(0.5), float)
    assert isinstance(curve(), float)
    assert curve(LAMS).shape == (4,)
    assert curve(LAMS.reshape(2, 2)).shape == (2, 2)
    assert_allclose(curve(LAMS)[1], curve(0.3), rtol=1e-12)
    assert_allclose(curve(LAMS.reshape(2, 2)).ravel(), curve(LAMS), rtol=1e-12)
    assert_allclose(curve(), curve(0.5), rtol=1e-12)
    assert_allclose(curve(gap=0.25), curve(0.75), rtol=1e-12)


@pytest.mark.parametrize("name", [*CURVES, "kfold"])
def test_several_outputs_add_an_axis_and_speak_of_their_own_choice(name):
    _, path = path_of("multi-output", one_output=False, lam="auto", gap=[1.0, 0.1, 1e-2])
    curve = getattr(path, name)
    assert curve(0.5).shape == (3,)
    assert curve(LAMS).shape == (4, 3)
    own = [curve(gap=g)[j] for j, g in enumerate([1.0, 0.1, 1e-2])]
    assert_allclose(curve(), own, rtol=1e-10)


def test_dof_is_shared_by_outputs_except_at_their_own_choice():
    _, path = path_of("multi-output", one_output=False, lam="auto", gap=[1.0, 0.1, 1e-2])
    assert isinstance(path.dof(0.5), float)
    assert path.dof(LAMS).shape == (4,)
    assert_allclose(path.dof(), path.dof(gap=[1.0, 0.1, 1e-2]), rtol=1e-12)


def test_the_choice_has_one_number_for_one_output_and_an_array_for_several():
    _, one = path_of()
    assert isinstance(one.gap, float)
    assert isinstance(one.lam, float)
    assert (one.gap, one.lam) == (0.5, 0.5)
    _, several = path_of("multi-output", one_output=False)
    assert several.gap.shape == several.lam.shape == (3,)


def test_a_column_of_y_is_an_output_axis():
    problem = make_problem("tall")
    path = ncl_path(problem.features, problem.y, problem.starts, lam=0.5)
    assert path.gap.shape == (1,)
    assert path.train_error(LAMS).shape == (4, 1)
    assert path.coef().shape == (1, 12)


@pytest.mark.parametrize("solver", ["gram", "qr"])
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "interpolating blocks"])
def test_curves_and_coefficients_are_literal(kind, solver):
    problem, path = path_of(kind, one_output=False, solver=solver)
    for lam in LAMS:
        literal = literal_fit(problem, 1.0 - lam)
        assert_allclose(path.dof(lam), literal.dof, rtol=1e-9)
        assert_allclose(path.train_error(lam), literal.train_error, rtol=1e-9, atol=1e-11)
        assert_allclose(path.member_error(lam), literal.member_error, rtol=1e-9)
        assert_allclose(path.diversity(lam), literal.diversity, rtol=1e-9, atol=1e-10)
        coef = path.coef(lam)
        fitted = problem.features @ coef.T + path.spectrum.intercept(coef)
        assert_allclose(fitted, literal.fitted, atol=1e-9)


def test_criteria_are_their_formulas_on_literal_numbers():
    problem, path = path_of("weighted", noise_variance=0.3)
    n = problem.weight.sum()
    for lam in LAMS:
        literal = literal_fit(problem, 1.0 - lam)
        error, dof = literal.train_error[0], literal.dof
        assert_allclose(path.sure(lam), error + 0.3 * (2 * dof / n - 1), rtol=1e-9)
        assert_allclose(path.cp(lam), n * error / 0.3 - n + 2 * dof, rtol=1e-9)
        assert_allclose(path.gcv(lam), error / (1 - dof / n) ** 2, rtol=1e-9)
        assert_allclose(path.gcv(lam, inflation=1.4), error / (1 - 1.4 * dof / n) ** 2, rtol=1e-9)
        aic = n * np.log(error) + 2 * (dof + 1)
        assert_allclose(path.aic(lam), aic, rtol=1e-9)
        correction = 2 * (dof + 1) * (dof + 2) / (n - dof - 2)
        assert_allclose(path.aicc(lam), aic + correction, rtol=1e-9)
        assert_allclose(path.bic(lam), n * np.log(error) + np.log(n) * (dof + 1), rtol=1e-9)


def test_kfold_and_loo_are_refits():
    problem = make_problem("tall")
    cv = RowKFold(4)
    path = ncl_path(problem.features, problem.y[:, 0], problem.starts, criterion="loo", cv=cv)
    splits = list(cv.split(problem.features))
    for gap in (1.0, 0.1):
        assert_allclose(path.kfold(gap=gap), refitted_kfold(problem, splits, gap), rtol=1e-9)
        residuals = refitted_loo(problem, gap)
        assert_allclose(path.loo(gap=gap), np.mean(residuals**2), rtol=1e-8)


@pytest.mark.parametrize("lam", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_tikhonov_equivalent_is_scikit_learns_ridge_on_whitened_features(lam, fit_intercept):
    problem, path = path_of("weighted", fit_intercept=fit_intercept)
    equivalent = path.tikhonov_equivalent(lam)
    m = problem.n_members
    assert equivalent.gamma == pytest.approx((1 - lam) / (m * lam))
    assert equivalent.scale == pytest.approx(lam)
    spectrum = path.spectrum
    q = spectrum.n_features
    psi = spectrum.whitening.rows(problem.features - spectrum.centre[:q])
    target = problem.y[:, 0] - spectrum.centre[q]
    ridge = Ridge(alpha=equivalent.ridge_alpha, fit_intercept=False)
    ridge.fit(psi, target, sample_weight=problem.weight)
    coef = path.coef(lam)
    ensemble = (problem.features - spectrum.centre[:q]) @ coef
    assert_allclose(ridge.predict(psi), lam * ensemble, atol=1e-9)


def test_the_tikhonov_equivalent_at_the_ends():
    _, path = path_of()
    assert path.tikhonov_equivalent(0.0).gamma == np.inf
    assert path.tikhonov_equivalent(1.0).gamma == 0.0
    assert path.tikhonov_equivalent() == path.tikhonov_equivalent(0.5)
    near = path.tikhonov_equivalent(gap=1e-20)
    assert near.gamma == pytest.approx(1e-20 / 4)


def test_theorem_7_is_refused_with_a_ridge_of_its_own():
    _, path = path_of(alpha=0.5)
    with pytest.raises(ValueError, match=r"Theorem 7 .* alpha=0\.5"):
        path.tikhonov_equivalent(0.5)


def test_another_choice_shares_everything_else():
    _, path = path_of("multi-output", one_output=False)
    folds = path.cross_validation
    other = path.at(gap=1e-3)
    assert_array_equal(other.gap, [1e-3] * 3)
    assert_array_equal(path.gap, [0.5] * 3)
    assert other.spectrum is path.spectrum
    assert other.cross_validation is folds
    assert_array_equal(path.at(gap=[0.1, 0.2, 0.3]).gap, [0.1, 0.2, 0.3])


def test_another_choice_forgets_what_chose_the_first():
    problem = make_problem("tall")
    path = ncl_path(problem.features, problem.y[:, 0], problem.starts, criterion="sure")
    assert path.criterion == "sure"
    assert path.at(gap=0.1).criterion is None
    assert not path.at(gap=0.1).at_small_end.any()


@pytest.mark.parametrize("gap", [[0.1, 0.2], [[0.1]]])
def test_a_choice_that_does_not_match_the_outputs_is_named(gap):
    _, path = path_of()
    with pytest.raises(ValueError, match=r"gap.*output"):
        path.at(gap)
    with pytest.raises(ValueError, match=r"gap.*output"):
        path.coef(gap=gap)


def test_a_pickled_path_answers_alike_without_its_folds_fits():
    _, path = path_of()
    before = path.kfold(LAMS)
    with_folds = path.cross_validation
    copy = pickle.loads(pickle.dumps(path))
    assert "cross_validation" not in copy.__dict__
    assert path.cross_validation is with_folds
    assert_allclose(copy.kfold(LAMS), before, rtol=1e-12)
    assert_array_equal(copy.coef(), path.coef())


def test_curves_are_one_table():
    _, path = path_of()
    table = path.curves([0.5, 1e-3, 1e-9])
    names = [
        "gap",
        "lam",
        "dof",
        "train_error",
        "member_error",
        "diversity",
        "sure",
        "gcv",
        "kfold",
    ]
    assert list(table) == names
    assert all(len(column) == 3 for column in table.values())
    assert_allclose(table["lam"], [0.5, 0.999, 1 - 1e-9])
    assert_allclose(table["gcv"][1], path.gcv(gap=1e-3), rtol=1e-12)


def test_curves_are_by_default_where_the_criterion_was_evaluated():
    problem = make_problem("tall")
    chosen = ncl_path(problem.features, problem.y[:, 0], problem.starts, criterion="gcv")
    assert_array_equal(chosen.curves()["gap"], chosen.gaps)
    assert_allclose(chosen.curves()["gcv"], chosen.values, rtol=1e-12)
    _, given = path_of()
    gaps = given.curves()["gap"]
    assert gaps[0] == 1.0
    assert gaps[-1] <= given.spectrum.smallest_useful_gap * 10**0.2
    assert_allclose(np.diff(np.log10(gaps)), -0.2, rtol=1e-9)


def test_curves_leave_kfold_out_where_rows_could_not_be_split():
    features = np.ones((4, 2)) * np.array([1.0, 2.0])
    path = ncl_path(features, np.ones(4), [0, 1, 2], lam=0.5)
    assert "kfold" not in path.curves()
    with pytest.raises(ValueError, match=r"no folds.*more distinct rows"):
        path.kfold(0.5)


def test_loo_without_rows_says_how_to_get_them():
    _, path = path_of()
    with pytest.raises(ValueError, match=r"loo needs the rows.*criterion='loo'"):
        path.loo(0.5)


def test_an_unknown_criterion_is_named_with_what_is_allowed():
    _, path = path_of()
    with pytest.raises(ValueError, match=r"criterion='press' is unknown; allowed are .*'kfold'"):
        path.criterion_curve("press", np.array([0.5]))


@pytest.mark.parametrize("name", [c for c in CRITERIA if c != "loo"])
def test_a_criterion_by_name_is_the_method_of_that_name(name):
    _, path = path_of()
    gaps = np.array([[1.0, 0.1], [1e-2, 1e-3]])
    by_name = path.criterion_curve(name, gaps)
    assert by_name.shape == (2, 2, 1)
    assert_allclose(by_name[..., 0], getattr(path, name)(gap=gaps), rtol=1e-12)


@pytest.mark.parametrize("bad", [{"lam": 1.5}, {"gap": -1.0}, {"lam": 0.5, "gap": 0.5}])
@pytest.mark.parametrize("name", [*CURVES, "dof", "kfold", "coef"])
def test_every_curve_refuses_a_bad_lam(name, bad):
    _, path = path_of()
    with pytest.raises(ValueError, match=r"outside \[0, 1\]|exactly one of lam and gap"):
        getattr(path, name)(**bad)


def test_a_noise_variance_that_cannot_be_estimated_makes_sure_nan():
    problem = make_problem("interpolating blocks")
    path = ncl_path(problem.features, problem.y[:, 0], problem.starts, lam=0.5, cv=2)
    assert np.isnan(path.noise_variance).all()
    with pytest.warns(NoiseVarianceWarning, match="noise_variance as a number"):
        assert np.isnan(path.sure(0.5))
    assert "sure" not in path.curves([0.5, 0.1])


def test_curves_of_several_outputs_have_a_flat_column_for_each():
    _, path = path_of("multi-output", one_output=False)
    table = path.curves([0.5, 0.1])
    assert {"gap", "lam", "dof", "train_error_0", "kfold_2", "sure_1"} <= set(table)
    assert all(column.shape == (2,) for column in table.values())


def test_what_is_shown_of_a_path_fits_a_line():
    for one_output in (True, False):
        _, path = path_of("multi-output", one_output=one_output)
        assert len(repr(path)) < 300
        assert "dof=" in repr(path)


def test_the_qr_route_is_trusted_at_every_gap_and_the_gram_route_is_not():
    _, by_qr = path_of("wide", solver="qr")
    _, by_gram = path_of("wide", solver="gram")
    assert by_qr.smallest_trusted_gap == 0.0
    assert by_qr.resolves_choice
    assert by_gram.resolves_choice
    assert 0.0 <= by_gram.smallest_trusted_gap < 1e-3


class TestTabulated:
    """What a fitted model keeps of a path."""

    @pytest.mark.parametrize("one_output", [True, False])
    @pytest.mark.parametrize("solver", ["gram", "qr"])
    def test_without_moments_kfold_is_exact_where_it_was_and_near_between(self, one_output, solver):
        _, path = path_of(one_output=one_output, lam="auto", solver=solver)
        small = path.without_moments()
        assert small.cells == ()
        assert small.without_moments() is small
        assert_array_equal(small.kfold(gap=path.gaps), path.values)
        between = np.sqrt(path.gaps[1:] * path.gaps[:-1])
        moved = np.ptp(path.values, axis=0).max()
        found, exact = small.kfold(gap=between), path.kfold(gap=between)
        assert_allclose(found, exact, rtol=0, atol=1e-5 * moved)
        assert_allclose(small.kfold(), path.kfold(), rtol=1e-12)
        for name in (*CURVES, "dof", "coef"):
            for lam in (None, 0.3, 1.0):
                assert_array_equal(getattr(small, name)(lam), getattr(path, name)(lam))

    @pytest.mark.parametrize("criterion", ["gcv", "sure"])
    def test_without_moments_kfold_has_a_table_though_something_else_chose(self, criterion):
        _, path = path_of(lam="auto", criterion=criterion)
        small = path.without_moments()
        gaps = np.logspace(0, np.log10(small.tabulated_gaps[-2]), 37)
        exact = path.kfold(gap=gaps)
        assert_allclose(small.kfold(gap=gaps), exact, rtol=0, atol=1e-5 * np.ptp(exact))
        assert_array_equal(small.gcv(LAMS), path.gcv(LAMS))

    @pytest.mark.parametrize("kind", ["tall", "weighted"])
    def test_compact_keeps_every_curve_and_no_coefficients(self, kind):
        _, path = path_of(kind, lam="auto")
        small = path.compact()
        assert small.chosen_gap == path.chosen_gap
        for name in (*CURVES, "kfold", "dof"):
            exact = getattr(path, name)(LAMS)
            tolerance = 1e-5 * np.ptp(exact)
            assert_allclose(getattr(small, name)(LAMS), exact, rtol=1e-9, atol=tolerance)
        again = pickle.loads(pickle.dumps(small))
        assert_array_equal(again.kfold(LAMS), small.kfold(LAMS))
        for name in ("coef", "member_coef", "tikhonov_equivalent"):
            with pytest.raises(ValueError, match="compact"):
                getattr(small, name)()
        assert len(pickle.dumps(small)) < len(pickle.dumps(path))

    def test_without_rows_coefficients_stay_and_loo_is_a_table(self):
        problem, path = path_of(lam="auto", criterion="loo")
        small = path.without_rows()
        assert small.cells == ()
        assert_array_equal(small.loo(gap=path.gaps), path.values)
        assert_array_equal(small.coef(0.3), path.coef(0.3))
        stored = pickle.dumps(small)
        assert problem.features[:, 0].tobytes() not in stored
        assert problem.features.tobytes() not in stored

    def test_of_rows_that_could_not_be_split_has_no_kfold(self):
        features = np.ones((4, 2)) * np.array([1.0, 2.0])
        path = ncl_path(features, np.ones(4), [0, 1, 2], lam=0.5)
        for small in (path.without_moments(), path.without_rows(), path.compact()):
            assert small.kfold_table is None
            assert "kfold" not in small.curves()
            with pytest.raises(ValueError, match=r"no folds.*more distinct rows"):
                small.kfold(0.5)
