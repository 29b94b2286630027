"""Other methods on the same features."""

import numpy as np
import pytest

from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.columns.samples import Samples
from negcorr.tables.baselines import fit_baselines


@pytest.mark.parametrize("constant", [0.1, 1 / 3, -7.3, 123456.789])
def test_constant_columns_with_fractional_weights_give_no_warning(constant):
    # The weighted variance of a constant may be a little less than zero.
    rng = np.random.default_rng(0)
    for n in range(20, 40):
        X = np.column_stack([np.full(n, constant), rng.normal(size=n)])
        rows = Samples(X, X[:, 1], rng.uniform(0.2, 2.0, size=n), None, np.arange(n))
        (found,) = fit_baselines(["ridge"], FrameEncoder().fit(X), rows, X)
        np.testing.assert_allclose(found.predicted, X[:, 1], atol=0.1)
