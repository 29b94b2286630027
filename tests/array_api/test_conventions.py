"""scikit-learn's own checks of estimators that take arrays of other libraries."""

import pytest
from models import ncl
from sklearn.utils import estimator_checks
from sklearn.utils._testing import SkipTest

from negcorr import NCLRegressor
from negcorr.bases import NystroemFeatures

if not hasattr(estimator_checks, "_yield_array_api_checks"):
    pytest.skip("this version of scikit-learn has no such checks", allow_module_level=True)

ESTIMATORS = {
    "default": ncl(n_members=10, n_components=3),
    "sure": ncl(10, 3, criterion="sure", noise_variance=0.1),
    "basis": NCLRegressor(basis=NystroemFeatures(4, 3)),
}

CHECKS = [
    pytest.param(estimator, check, id=f"{name}-{number}")
    for name, estimator in ESTIMATORS.items()
    for number, check in enumerate(estimator_checks._yield_array_api_checks(estimator))
]


# The checks fit on toy data, where lam = 1 is often best and residuals run out.
@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_estimator_keeps_scikit_learns_conventions(estimator, check):
    try:
        check(type(estimator).__name__, estimator)
    except SkipTest as reason:
        pytest.skip(str(reason))
