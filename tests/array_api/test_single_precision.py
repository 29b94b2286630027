"""Inputs in single precision: computed in double, rounded once, at the end."""

import numpy as np
import pytest
from models import ncl
from places import SMALL, apart, problem

from negcorr._common.arrays import to_host

#: Half a unit in the last place of single precision: what rounding a prediction costs.
ROUNDING = 2.0**-24

X, Y = (part.astype(np.float32) for part in problem(outputs=2))


@pytest.mark.parametrize("criterion", ["kfold", "loo"])
@pytest.mark.parametrize("basis", ["fourier", "orthogonal", "nystroem"])
@pytest.mark.parametrize("single", [True, False])
def test_only_the_output_is_rounded(place, criterion, basis, single):
    y = Y[:, 0] if single else Y
    options = SMALL | {"criterion": criterion, "basis": basis}
    there = ncl(**options).fit(place.put(X, np.float32), place.put(y, np.float32))
    double = ncl(**options).fit(X.astype(np.float64), y.astype(np.float64))
    np.testing.assert_array_equal(to_host(there.lam_), double.lam_)
    assert there.coef_.dtype == place.xp.float64
    assert apart(there.coef_, double.coef_) < 1e-9
    inputs, same = place.put(X, np.float32), X.astype(np.float64)
    for method in ("predict", "predict_members", "predict_interval"):
        found = getattr(there, method)(inputs)
        assert place.has(found)
        assert found.dtype == place.xp.float32
        # An interval is a rounded mean and an end, rounded again.
        bound = (3 if method == "predict_interval" else 1) * 1.01 * ROUNDING
        assert apart(found, getattr(double, method)(same)) < bound
    std = there.predict(inputs, return_std=True)[1]
    assert std.dtype == place.xp.float32
    assert apart(std, double.predict(same, return_std=True)[1]) < 1.01 * ROUNDING


def test_it_is_what_numpy_does_with_single_precision(place):
    there = ncl(**SMALL).fit(place.put(X, np.float32), place.put(Y, np.float32))
    home = ncl(**SMALL).fit(X, Y)
    np.testing.assert_array_equal(to_host(there.lam_), home.lam_)
    found, wanted = to_host(there.predict(place.put(X, np.float32))), home.predict(X)
    assert found.dtype == wanted.dtype == np.float32
    # The same number but for those that lie between two of single precision.
    assert np.mean(found == wanted) > 0.99
    np.testing.assert_allclose(found, wanted, rtol=2.0**-22, atol=2.0**-22)


def test_a_model_takes_both_precisions(place):
    model = ncl(**SMALL).fit(place.put(X), place.put(Y))
    single, double = model.predict(place.put(X, np.float32)), model.predict(place.put(X))
    assert single.dtype == place.xp.float32
    assert double.dtype == place.xp.float64
    assert apart(single, double) < 1.01 * ROUNDING


def test_half_precision_is_computed_in_double(torch):
    model = ncl(**SMALL).fit(torch.put(X).half(), torch.put(Y).bfloat16())
    assert model.predict(torch.put(X).half()).dtype == torch.xp.float64
    rounded = torch.put(X).half().double()
    same = ncl(**SMALL).fit(rounded, torch.put(Y).bfloat16().double())
    assert apart(model.coef_, same.coef_) == 0.0
