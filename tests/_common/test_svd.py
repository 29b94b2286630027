"""The decomposition is found by the second driver where the first gives up."""

import numpy as np
import pytest

from negcorr._common.lapack import thin_svd


def give_up(*args, **kwargs):
    raise np.linalg.LinAlgError("SVD did not converge")


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5)])
@pytest.mark.parametrize("fails", [False, True])
def test_both_drivers_give_the_thin_decomposition(shape, fails, monkeypatch):
    matrix = np.random.default_rng(0).normal(size=shape)
    if fails:
        monkeypatch.setattr(np.linalg, "svd", give_up)
    left, values, right = thin_svd(matrix)
    assert left.shape[1] == right.shape[0] == len(values) == min(shape)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose((left * values) @ right, matrix, atol=1e-13)


def test_what_no_driver_can_do_is_an_error():
    with pytest.raises((np.linalg.LinAlgError, ValueError)):
        thin_svd(np.full((3, 3), np.nan))
