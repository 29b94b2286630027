"""What a page carries is enough for every curve, by formulas that are written out here again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ncl
from numpy.polynomial.chebyshev import Chebyshev

from negcorr import NCLRegressor, ncl_path
from negcorr.bases import FourierFeatures, NestedFeatures
from negcorr.reporting.curves import curve_data

# Curves are compared where products do not resolve them as well.
pytestmark = pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")


def path_of(alpha=0.0, outputs=1, seed=0, **parameters):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(80, 12))
    y = features[:, :outputs] + 0.5 * rng.normal(size=(80, outputs))
    y = y[:, 0] if outputs == 1 else y
    return ncl_path(features, y, [0, 4, 8, 12], alpha=alpha, **parameters)


def recomputed(data, gap, output):
    """Degrees of freedom, training error and diversity from the modes alone."""
    stiffness = np.maximum(data.n_members - data.rho, 0.0) / data.rho
    s = 1.0 / (1.0 + gap * stiffness)
    kappa2 = data.kappa_squared[output]
    train = data.outside[output] + (kappa2 * (gap * stiffness * s) ** 2).sum()
    diversity = (kappa2 * s**2 * stiffness).sum()
    if data.ridge.shape[1]:
        decades = -np.log10(data.smallest_gap)
        nodes = data.ridge.shape[1]
        at = np.cos(np.pi * np.arange(nodes) / (nodes - 1))
        fit = Chebyshev.fit(at, data.ridge[output], nodes - 1, domain=[-1, 1])
        diversity -= fit(1.0 + 2.0 * np.log10(gap) / decades)
    return s.sum() + data.intercept, train, diversity


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    alpha=st.sampled_from([0.0, 1e-6, 1e-2, 3.0]),
    outputs=st.integers(1, 3),
    seed=st.integers(0, 50),
    share=st.floats(0.0, 1.0),
)
def test_curves_follow_from_the_data(alpha, outputs, seed, share):
    path = path_of(alpha, outputs, seed)
    data = curve_data(path)
    gap = 10.0 ** (share * np.log10(data.smallest_gap))
    for j in range(outputs):
        dof, train, diversity = recomputed(data, gap, j)
        assert dof == pytest.approx(path.dof(gap=gap), rel=1e-11)
        assert train == pytest.approx(np.atleast_1d(path.train_error(gap=gap))[j], rel=1e-9)
        wanted = np.atleast_1d(path.diversity(gap=gap))[j]
        assert diversity == pytest.approx(wanted, rel=1e-9, abs=1e-10 * data.total[j])


def test_kfold_is_tabulated_at_the_chosen_gap_too():
    path = path_of()
    data = curve_data(path)
    at = np.flatnonzero(data.kfold_gaps == path.gap)
    assert len(at) == 1
    assert data.kfold[0, at[0]] == pytest.approx(path.kfold(), rel=1e-12)
    assert (np.diff(data.kfold_gaps) < 0).all()


def test_kfold_goes_on_where_the_search_of_a_fitted_model_ended():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=80)
    bases = [FourierFeatures(3, 4), FourierFeatures(2, 4, gamma=0.5)]
    path = NCLRegressor(NestedFeatures(bases, [0.1, 0.5])).fit(X, y).path_
    data = curve_data(path)
    assert data.smallest_gap < 0.1 * path.gaps[-1]
    assert data.kfold_gaps[-1] < 0.1 * path.gaps[-1]
    np.testing.assert_allclose(data.kfold[0], path.kfold(gap=data.kfold_gaps), rtol=1e-12)
    # There the curve still moves, and the table of the model knows it.
    exact = NCLRegressor(NestedFeatures(bases, [0.1, 0.5])).partial_fit(X, y).path_
    beyond = data.kfold_gaps[data.kfold_gaps < path.gaps[-1]]
    np.testing.assert_allclose(path.kfold(gap=beyond), exact.kfold(gap=beyond), rtol=1e-6)


def test_without_folds_there_is_no_kfold():
    model = ncl(n_members=3, n_components=2, lam=0.5)
    path = model.fit(np.ones((3, 2)), np.ones(3)).path_
    assert not path.folds.splits
    assert curve_data(path).kfold.shape == (1, 0)


def test_lam_1_is_where_the_slider_ends():
    data = curve_data(path_of(lam=1.0))
    assert data.smallest_gap > 0
    assert data.chosen_gap[0] == 0.0
