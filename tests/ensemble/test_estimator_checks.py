"""scikit-learn's own checks, all of them, with no expected failure."""

import pytest
from models import ncl
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from negcorr import NCLRegressor, SURESearch
from negcorr.bases import FourierFeatures

SMALL = {"n_members": 10, "n_components": 8}

# The checks fit on toy data, where lam = 1 is often best and residuals run out.
pytestmark = pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")


ESTIMATORS = [
    NCLRegressor(),
    ncl(**SMALL, criterion="sure", noise_variance=0.1),
    ncl(**SMALL, criterion="loo"),
    ncl(**SMALL, loss="huber"),
    ncl(4, 6, loss="huber", criterion="loo"),
    ncl(**SMALL, basis="auto", kernel="rbf", inputs="standard", loss=2.0),
    ncl(**SMALL, basis="orthogonal", criterion="gcv"),
    ncl(**SMALL, basis="nystroem", lam=0.9),
    ncl(**SMALL, basis="trees", alpha=0.1),
    ncl(**SMALL, basis="auto", kernel="rbf", inputs="standard"),
    ncl(20, 1, basis="linear"),
    ncl(**SMALL, solver="qr", fit_intercept=False),
    ncl(20, basis=RBFSampler(gamma=0.05, n_components=8), lam=0.9),
    NCLRegressor([FourierFeatures(1, 30, inputs="none"), FourierFeatures(1, 20, inputs="none")]),
    SURESearch(Ridge(), {"alpha": [0.1, 1.0]}),
    SURESearch(Ridge(), {"alpha": [0.1, 1.0]}, noise_variance=0.1),
    SURESearch(Ridge(), {"alpha": [0.1, 1.0]}, method="monte-carlo", random_state=0),
]

checks = parametrize_with_checks(ESTIMATORS)
names, cases = checks.args
# This one does nothing unless an environment variable was set before SciPy was imported.
cases = [case for case in cases if "array_api" not in str(case[1])]


@pytest.mark.parametrize(names, cases, **checks.kwargs)
def test_regressor_keeps_scikit_learns_conventions(estimator, check):
    check(estimator)
