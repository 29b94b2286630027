"""Moments of parts add up to the moments of the whole, in both forms."""

import functools
import operator
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import literal_fit, make_problem, moments_of, random_problem

from negcorr.moments.moments import (
    FactorMoments,
    GramMoments,
    compress,
    merge_products,
    sum_of_squares,
    total,
)
from negcorr.spectrum.factorise import factorise

FORMS = (GramMoments, FactorMoments)


def scatter(moments):
    """Σ w (z − mean)(z − mean)ᵀ in either form."""
    if isinstance(moments, GramMoments):
        return moments.scatter
    factor = moments.factor_about(moments.mean)
    return factor.T @ factor


def assert_same(one, other, rtol=1e-12):
    assert one.weight == pytest.approx(other.weight, rel=1e-14)
    assert one.n_rows == other.n_rows
    assert one.n_outputs == other.n_outputs
    assert_allclose(one.mean, other.mean, rtol=rtol, atol=1e-13)
    size = np.abs(scatter(other)).max()
    assert_allclose(scatter(one), scatter(other), rtol=0, atol=rtol * size)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["tall", "wide", "weighted", "multi-output"])
def test_mean_weight_and_scatter_are_those_of_the_rows(form, kind):
    problem = make_problem(kind)
    moments = moments_of(problem, form)
    z = np.hstack([problem.features, problem.y])
    mean = np.average(z, axis=0, weights=problem.weight)
    wanted = (z - mean).T @ ((z - mean) * problem.weight[:, None])
    assert moments.weight == pytest.approx(problem.weight.sum())
    assert moments.n_rows == np.count_nonzero(problem.weight)
    assert moments.n_features == problem.features.shape[1]
    assert moments.n_outputs == problem.y.shape[1]
    assert_allclose(moments.mean, mean, rtol=1e-12, atol=1e-13)
    assert_allclose(scatter(moments), wanted, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cuts", [[1], [20], [3, 4, 31], [5, 10, 15, 20, 25, 30]])
def test_parts_add_up_to_the_whole(form, cuts):
    problem = make_problem("multi-output")
    parts = [
        moments_of(problem.take(index), form) for index in np.split(np.arange(len(problem.y)), cuts)
    ]
    whole = moments_of(problem, form)
    assert_same(functools.reduce(operator.add, parts), whole)
    assert_same(total(parts), whole)
    assert_same(total(parts[::-1]), whole)
    assert_same(parts[0] + total(parts[1:]), whole)


@pytest.mark.parametrize("form", FORMS)
def test_one_part_alone_is_its_own_total(form):
    moments = moments_of(make_problem("tall"), form)
    assert_same(total([moments]), moments)


@pytest.mark.parametrize("form", FORMS)
def test_adding_leaves_the_parts_as_they_were(form):
    problem = make_problem("tall")
    left, right = (moments_of(problem.take(np.arange(40) % 2 == k), form) for k in (0, 1))
    before = scatter(left).copy(), left.mean.copy()
    total([left, right, left])
    _ = left + right
    assert_array_equal(scatter(left), before[0])
    assert_array_equal(left.mean, before[1])


def test_factors_with_different_shifts_add_up():
    problem = make_problem("weighted")
    z = np.hstack([problem.features, problem.y])
    rng = np.random.default_rng(0)
    shifts = [np.zeros(z.shape[1]), 50.0 * rng.normal(size=z.shape[1]), None]
    parts = [
        FactorMoments.from_rows(z[k::3], problem.weight[k::3], 1, shift=shift)
        for k, shift in enumerate(shifts)
    ]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        assert_same(total([parts[k] for k in order]), moments_of(problem, FactorMoments), 1e-11)


def test_raw_products_with_any_shift_give_the_same_gram_moments():
    problem = make_problem("weighted")
    z = np.hstack([problem.features, problem.y])
    for shift in (np.zeros(z.shape[1]), z[0], np.full(z.shape[1], -3.0)):
        rows = np.column_stack([z - shift, np.ones(len(z))])
        n_rows = int(np.count_nonzero(problem.weight))
        for n_workers in (1, 2, 3):
            parts = [
                rows[k::3].T @ (rows[k::3] * problem.weight[k::3, np.newaxis]) for k in range(3)
            ]
            squares = sum_of_squares(parts)
            for worker in range(n_workers):
                merge_products(parts, n_workers, worker)
            moments = GramMoments.from_merged(parts, shift, 1, n_rows, squares)
            assert_same(moments, moments_of(problem, GramMoments), 1e-11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", [True, False])
def test_a_part_without_weight_changes_nothing(form, first):
    problem = make_problem("tall")
    ghosts = replace(problem, features=problem.features + 9.0, weight=np.zeros(40))
    empty, whole = moments_of(ghosts, form), moments_of(problem, form)
    assert empty.weight == 0
    assert empty.n_rows == 0
    together = [empty, whole] if first else [whole, empty]
    assert_same(total(together), whole)
    assert_same(together[0] + together[1], whole)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [40, 6])
def test_a_part_without_weight_costs_no_digits_where_means_are_large(form, n):
    problem = random_problem(np.random.default_rng(0), n, [2, 2, 2])
    far = replace(problem, features=problem.features + 1e8)
    empty = moments_of(replace(far, weight=np.zeros(n)), form)
    whole = moments_of(far, form)
    alone = factorise(whole, far.starts).dof(gap=0.1)
    assert_allclose(factorise(total([empty, whole]), far.starts).dof(gap=0.1), alone, rtol=1e-13)


def test_different_forms_do_not_add():
    problem = make_problem("tall")
    with pytest.raises(TypeError, match="different forms"):
        total([moments_of(problem, GramMoments), moments_of(problem, FactorMoments)])


@pytest.mark.parametrize("form", FORMS)
def test_two_parts_without_weight_have_none_together(form):
    empty = moments_of(replace(make_problem("tall"), weight=np.zeros(40)), form)
    assert total([empty, empty]).weight == 0
    assert total([empty, empty]).n_rows == 0


def test_raw_products_without_weight_are_empty():
    products = [np.zeros((4, 4))]
    squares = sum_of_squares(products)
    merge_products(products)
    moments = GramMoments.from_merged(products, np.ones(3), 1, 0, squares)
    assert moments.weight == 0
    assert_array_equal(moments.scatter, np.zeros((3, 3)))


@pytest.mark.parametrize("form", FORMS)
def test_integer_weights_are_repeated_rows(form):
    problem = make_problem("multi-output")
    times = np.random.default_rng(1).integers(0, 4, size=len(problem.y))
    weighted = moments_of(replace(problem, weight=times.astype(float)), form)
    again = problem.take(np.repeat(np.arange(len(problem.y)), times))
    repeated = moments_of(replace(again, weight=np.ones(len(again.y))), form)
    assert weighted.weight == repeated.weight
    assert_allclose(weighted.mean, repeated.mean, rtol=1e-12, atol=1e-13)
    assert_allclose(scatter(weighted), scatter(repeated), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_scatter_about_any_centre(form):
    problem = make_problem("weighted")
    z = np.hstack([problem.features, problem.y])
    centre = np.random.default_rng(0).normal(size=z.shape[1])
    wanted = (z - centre).T @ ((z - centre) * problem.weight[:, None])
    moments = moments_of(problem, form)
    if form is GramMoments:
        about = moments.scatter_about(centre)
    else:
        factor = moments.factor_about(centre)
        about = factor.T @ factor
    assert_allclose(about, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_squared_error_is_that_of_predictions_on_the_rows(form):
    problem = make_problem("multi-output")
    q = problem.features.shape[1]
    rng = np.random.default_rng(0)
    coef, centre = rng.normal(size=(3, q, 5)), rng.normal(size=q + 3)
    errors = moments_of(problem, form).squared_error(coef, centre)
    assert errors.shape == (5, 3)
    for j in range(3):
        predicted = centre[q + j] + (problem.features - centre[:q]) @ coef[j]
        squares = (problem.y[:, [j]] - predicted) ** 2
        assert_allclose(errors[:, j], problem.weight @ squares, rtol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_squared_error_of_the_fit_itself_is_its_residual_sum_of_squares(form):
    problem = make_problem("weighted")
    fit = literal_fit(problem, 0.1)
    centre = np.concatenate([fit.feature_mean, fit.target_mean])
    errors = moments_of(problem, form).squared_error(fit.coef[:, :, None], centre)
    assert_allclose(errors[0], problem.weight.sum() * fit.train_error, rtol=1e-10)


def test_the_factor_form_never_turns_a_perfect_fit_into_rounding_of_y():
    """y'y is 1e12 here: the matrix form could not tell an error of 1e-10 from rounding."""
    problem = random_problem(np.random.default_rng(0), 30, [2, 2])
    beta = np.array([[1e6], [2e6], [-1e6], [3e6]])
    exact = replace(problem, y=problem.features @ beta)
    q = 4
    moments = moments_of(exact, FactorMoments)
    error = moments.squared_error(beta.T[:, :, None], np.zeros(q + 1))[0, 0]
    assert 0.0 <= error < 1e-15
    assert moments_of(exact, GramMoments).squared_error(beta.T[:, :, None], np.zeros(q + 1)) >= 0


def test_compress_keeps_the_product_and_is_never_taller_than_wide():
    rng = np.random.default_rng(0)
    for rows in (3, 6, 7, 50):
        factor = rng.normal(size=(rows, 6))
        small = compress(factor)
        assert small.shape[0] <= 6
        assert_allclose(small.T @ small, factor.T @ factor, rtol=1e-11, atol=1e-11)
    few = rng.normal(size=(4, 6))
    assert compress(few) is few


def test_a_factor_of_no_rows_far_away_costs_no_digits():
    z = np.random.default_rng(0).normal(size=(40, 4)) + 1e8
    nothing = FactorMoments(0.0, np.zeros(4), np.empty((0, 5)), 1, 0)
    rows = FactorMoments.from_rows(z, np.ones(40), 1)
    for together in (total([nothing, rows]), total([rows, nothing])):
        assert_array_equal(together.shift, rows.shift)
        assert_allclose(scatter(together), scatter(rows), rtol=1e-12)
