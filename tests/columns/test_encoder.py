import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from negcorr.columns.encoder import SquashingScaler


def test_squashing_scaler_is_a_transformer():
    check_estimator(SquashingScaler(), on_skip=None)


def test_squashing_scaler_keeps_order_and_bounds():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), rng.standard_cauchy(size=500), np.full(500, 7.0)])
    scaler = SquashingScaler().fit(X)
    Z = scaler.transform(X)
    assert (np.argsort(Z[:, 1]) == np.argsort(X[:, 1])).all()
    np.testing.assert_allclose(Z[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z[:, :2].std(axis=0), 1.0)
    assert (Z[:, 2] == 0.0).all()
    far = scaler.transform([[1e300, -1e300, 7.0]])
    assert np.isfinite(far).all()
    assert abs(far[0, 0]) < 4.0


def test_squashing_scaler_at_the_ends_of_floats():
    X = np.array([[1.7e308], [-1.7e308], [0.0]])
    assert np.isfinite(SquashingScaler().fit_transform(X)).all()
    tiny = np.array([[1e-300], [3e-300], [2e-300]])
    assert SquashingScaler().fit_transform(tiny).std() == pytest.approx(1.0)


@pytest.mark.parametrize("bound", [0, -1.0, "3", None, float("nan")])
def test_bound_must_be_positive(bound):
    with pytest.raises(ValueError, match="bound="):
        SquashingScaler(bound).fit([[1.0], [2.0]])
