"""Rows of a fit, and which of them stand for rows like them."""

import numpy as np

from negcorr.rows.rows import Rows


def test_distinct_rows_are_the_same_with_weights_as_repeated():
    # Numbers that differ by less than 26 bits can show are one x, but not one number.
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 1)), 4, axis=0) * (1.0 + 1e-9 * rng.normal(size=(80, 1)))
    y, weight = rng.normal(size=(80, 1)), rng.integers(0, 4, size=80)
    weighted = Rows(X, y, weight.astype(float))
    repeated = Rows(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    for order in (np.arange(80), np.argsort(weight), np.argsort(-weight)):
        moved = weighted.take(order)
        chosen = moved.take(moved.distinct)
        np.testing.assert_array_equal(chosen.X, repeated.take(repeated.distinct).X)
        assert len(chosen.X) < 30
