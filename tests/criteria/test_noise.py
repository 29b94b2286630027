"""Estimates of σ², and NaN with a warning where there is nothing to estimate it from."""

import numpy as np
import polars as pl
import pytest
from models import ncl
from numpy.testing import assert_allclose
from reference import (
    ROUTES,
    Problem,
    literal_fit,
    make_problem,
    random_problem,
    separate_member_fits,
    spectrum_of,
)
from toy_tables import homes

from negcorr import difference_noise_variance, ncl_path
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.criteria.noise import paper_noise_variance, residual_noise_variance
from negcorr.exceptions import NoiseVarianceWarning


@pytest.mark.parametrize("kind", ["tall", "weighted", "multi-output", "rank-deficient"])
def test_the_papers_estimate_is_the_error_of_separate_members_over_its_freedom(kind):
    problem = make_problem(kind)
    ensemble = separate_member_fits(problem).mean(axis=0)
    rss = problem.weight @ (ensemble - problem.y) ** 2
    wanted = rss / (problem.weight.sum() - literal_fit(problem, 1.0).dof)
    assert_allclose(paper_noise_variance(spectrum_of(problem)), wanted, rtol=1e-9)


@pytest.mark.parametrize("gap", [1.0, 0.1, 1e-3, 0.0])
@pytest.mark.parametrize("kind", ["tall", "weighted", "multi-output"])
def test_the_residual_estimate_divides_by_n_minus_2_tr_s_plus_tr_s_squared(kind, gap):
    problem = make_problem(kind)
    literal = literal_fit(problem, gap)
    S, n = literal.smoothing, problem.weight.sum()
    wanted = n * literal.train_error / (n - 2 * np.trace(S) + np.trace(S @ S))
    assert_allclose(residual_noise_variance(spectrum_of(problem), gap), wanted, rtol=1e-9)


def test_the_residual_estimate_may_have_one_gap_per_output():
    spectrum = spectrum_of(make_problem("multi-output"))
    own = residual_noise_variance(spectrum, [1.0, 0.1, 1e-3])
    for j, gap in enumerate([1.0, 0.1, 1e-3]):
        assert own[j] == pytest.approx(residual_noise_variance(spectrum, gap)[j])


@pytest.mark.parametrize("gap", [1.0, 0.1, 0.0])
def test_the_residual_estimate_is_unbiased_for_pure_noise(gap):
    """μ constant, so no bias at any λ. Draws are outputs; four standard errors."""
    rng = np.random.default_rng(0)
    design = random_problem(rng, 30, [3, 3, 3])
    y = 5.0 + 0.7 * rng.normal(size=(30, 3000))
    problem = Problem(design.features, y, design.weight, design.starts)
    spectrum = spectrum_of(problem)
    estimates = spectrum.weight * spectrum.train_error(gap=gap) / spectrum.residual_dof(gap=gap)
    standard_error = estimates.std() / np.sqrt(3000)
    assert abs(estimates.mean() - 0.49) < 4 * standard_error
    first = residual_noise_variance(
        spectrum_of(Problem(design.features, y[:, :3], design.weight, design.starts)), gap
    )
    assert_allclose(first, estimates[:3], rtol=1e-10)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("seed", range(3))
def test_members_that_interpolate_leave_nothing_for_the_papers_estimate(route, seed):
    spectrum = spectrum_of(make_problem("interpolating blocks", seed), route)
    with pytest.warns(NoiseVarianceWarning, match=r"no residual degrees of freedom at lam=0"):
        estimate = paper_noise_variance(spectrum)
    assert np.isnan(estimate).all()


@pytest.mark.parametrize("gap", [1.0, 0.5, 0.0])
def test_members_that_interpolate_leave_nothing_at_any_lam(gap):
    spectrum = spectrum_of(make_problem("interpolating blocks"))
    with pytest.warns(NoiseVarianceWarning, match="at the chosen lam"):
        assert np.isnan(residual_noise_variance(spectrum, gap)).all()


@pytest.mark.parametrize("n", [8, 11, 14, 17])
def test_an_ensemble_that_interpolates_at_lam_1_leaves_nothing_there(n):
    problem = random_problem(np.random.default_rng(n), n, [4] * 6)
    path = ncl_path(problem.features, problem.y[:, 0], problem.starts, lam=1.0)
    assert np.isnan(path.residual_noise_variance())
    assert path.at(gap=0.5).residual_noise_variance() > 0


def test_weights_that_add_up_to_too_little_are_said_so():
    problem = make_problem("tall")
    tiny = Problem(problem.features, problem.y, np.full(40, 1e-3), problem.starts)
    with pytest.warns(NoiseVarianceWarning, match="sample_weight adds up to too little"):
        assert np.isnan(paper_noise_variance(spectrum_of(tiny))).all()


def test_only_the_outputs_without_freedom_are_nan():
    problem = make_problem("wide")
    two = Problem(
        problem.features, np.hstack([problem.y, problem.y[::-1]]), problem.weight, problem.starts
    )
    with pytest.warns(NoiseVarianceWarning):
        estimate = residual_noise_variance(spectrum_of(two), [0.0, 0.5])
    assert np.isnan(estimate).tolist() == [True, False]


def test_differences_by_hand():
    x = np.array([[0.0], [1.0], [3.0]])
    # Nearest neighbours 1, 0, 1: halves of 4, 4 and 9.
    assert difference_noise_variance(x, [0.0, 2.0, 5.0]) == pytest.approx(8.5 / 3)
    weighted = difference_noise_variance(x, [0.0, 2.0, 5.0], [1.0, 1.0, 2.0])
    assert weighted == pytest.approx((2 + 2 + 2 * 4.5) / 4)


def test_differences_of_several_outputs():
    x = np.array([[0.0], [1.0], [3.0]])
    y = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 1.0]])
    assert_allclose(difference_noise_variance(x, y), [8.5 / 3, 0.0], atol=1e-15)


def test_differences_do_not_depend_on_units():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    scaled = difference_noise_variance(x * [1e-6, 1.0, 1e9], y)
    assert scaled == pytest.approx(difference_noise_variance(x, y), rel=1e-9)


def test_differences_find_the_noise_of_a_smooth_function():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3000, 1))
    y = np.sin(6 * x[:, 0]) + 0.5 * rng.normal(size=3000)
    assert difference_noise_variance(x, y) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0]], [1.0], "minimum of 2 is required"),
        ([[1.0], [2.0]], [1.0, 2.0, 3.0], "inconsistent numbers of samples"),
        ([[1.0], [np.nan]], [1.0, 2.0], "NaN"),
        ([[1.0], [2.0]], [1.0, np.inf], "y contains infinity"),
    ],
)
def test_differences_of_bad_data_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        difference_noise_variance(X, y)


@pytest.mark.parametrize("library", ["pandas", "polars", "objects", "missing"])
def test_differences_in_data_frames_are_those_of_their_encoding(library):
    frame = homes(80)
    y = frame["price"].to_numpy()
    X = frame[["size", "kind", "built"]]
    if library == "missing":
        X = frame[["size"]].assign(age=np.sqrt(np.arange(80.0)))
    encoder = FrameEncoder().fit(X)
    numbers, marks = encoder.transform(X), encoder.encoding_.as_they_are
    scaled = np.where(marks, numbers, (numbers - numbers.mean(axis=0)) / numbers.std(axis=0))
    distances = np.linalg.norm(scaled[:, None] - scaled, axis=2)
    np.fill_diagonal(distances, np.inf)
    wanted = 0.5 * np.mean((y - y[distances.argmin(axis=1)]) ** 2)
    if library == "polars":
        X = pl.from_pandas(X)
    elif library == "objects":
        X = X.to_numpy(dtype=object)
    elif library == "missing":
        X = X.to_numpy()
    assert difference_noise_variance(X, y) == pytest.approx(wanted)
    model = ncl(3, 4, criterion="sure", noise_variance="difference").fit(X, y)
    assert model.path_.noise_variance == pytest.approx([wanted])


@pytest.mark.parametrize("unit", [3.0, 1e-3, 0.7])
def test_differences_have_the_units_of_the_targets(unit):
    """Where inputs are equal, several rows are the nearest; units of y do not choose one."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(60, 2)).astype(float)
    y = rng.normal(size=(60, 2))
    found = difference_noise_variance(X, unit * y)
    np.testing.assert_allclose(found, unit**2 * difference_noise_variance(X, y), rtol=1e-12)
