"""scikit-learn's own checks of the deep estimator, all of them, with no expected failure."""

import pytest

torch = pytest.importorskip("torch")

from models import deep_ncl
from sklearn.utils.estimator_checks import parametrize_with_checks

# The checks fit on toy data of a few rows, which networks interpolate.
pytestmark = pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")

SMALL = {
    "n_members": 3,
    "hidden_layer_sizes": (4,),
    "max_epochs": 15,
    "learning_rate": 0.01,
    "random_state": 0,
}

ESTIMATORS = [
    deep_ncl(**SMALL, lam=(0.0, 0.9), n_probes=1),
    deep_ncl(**SMALL, lam=0.5, n_probes=0, batch_norm=False),
]

checks = parametrize_with_checks(ESTIMATORS)
names, cases = checks.args
# This one does nothing unless an environment variable was set before SciPy was imported.
cases = [case for case in cases if "array_api" not in str(case[1])]


@pytest.mark.parametrize(names, cases, **checks.kwargs)
def test_regressor_keeps_scikit_learns_conventions(estimator, check):
    check(estimator)
