"""Tables of every kind as data frames with names."""

import numpy as np
import pandas as pd
import pytest
from models import ncl

from negcorr.columns.cells import as_frame
from negcorr.exceptions import TableError


def test_columns_without_names_are_those_of_an_array():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[:, 2] = np.arange(60)
    model = ncl(3, 4, lam=0.5).fit(pd.DataFrame(X), X[:, 0])
    assert model.columns_.inputs == ("x0", "x1", "x2")
    np.testing.assert_array_equal(model.predict(X), model.predict(pd.DataFrame(X)))


def test_a_name_that_two_columns_have_is_refused():
    with pytest.raises(TableError, match="several columns 'a'"):
        as_frame(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))
