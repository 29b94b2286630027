"""How the cells of X become the numbers and keys of rows, in memory and from parts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline

from negcorr import NCLRegressor
from negcorr.columns.inputs import FirstLook, enter
from negcorr.rows import sample as sampling
from negcorr.rows.keys import row_keys, smallest_counted

MOST = 50


@pytest.fixture
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", MOST)


def numbers(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[n // 2 :] = X[: n - n // 2]
    return X, rng.normal(size=(n, 2)), rng.integers(0, 3, size=n).astype(float)


def frame_of(n=120, seed=0):
    X, y, weight = numbers(n, seed)
    rng = np.random.default_rng(seed)
    kind = rng.choice(np.array(["a", "b", None], dtype=object), size=n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 60, size=n), "D")
    frame = pd.DataFrame({"size": X[:, 0], "kind": kind, "day": day, "more": X[:, 1].round(1)})
    frame.loc[::11, "size"] = np.nan
    return frame, y, weight


def learnt_in_parts(X, y, weight, sizes, *, encoded, seed=1):
    index = np.random.default_rng(seed).permutation(len(y))
    look = None
    for part in np.split(index, np.cumsum(sizes)[:-1]):
        rows = X.iloc[part] if encoded else X[part]
        found = FirstLook.at(rows, y[part], weight[part], encoded=encoded)
        look = found if look is None else look.merged(found)
    return look.learn()


def assert_same_rows(one, other):
    """But for their order."""
    a, b = (np.lexsort((rows.weight, rows.keys.xy, rows.keys.x)) for rows in (one, other))
    np.testing.assert_array_equal(one.X[a], other.X[b])
    np.testing.assert_allclose(one.y[a], other.y[b], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.weight[a], other.weight[b])
    np.testing.assert_array_equal(one.keys.x[a], other.keys.x[b])
    np.testing.assert_array_equal(one.as_they_are, other.as_they_are)


class TestNumbers:
    def test_are_handed_on_as_they_are(self):
        X, y, weight = numbers()
        cells, rows, sample = enter(X, y, weight, encoded=False)
        assert rows.X is X
        assert cells.encoding is None
        np.testing.assert_array_equal(cells.smallest, smallest_counted(X[weight > 0]))
        np.testing.assert_array_equal(rows.keys.xy, row_keys(X, y, cells.smallest).xy)
        np.testing.assert_array_equal(sample.X, X[weight > 0])
        assert cells.numbers(X) is X

    @pytest.mark.usefixtures("few_rows_are_many")
    @pytest.mark.parametrize("sizes", [[120], [1, 119], [40, 40, 40], [10] * 12])
    def test_in_parts_give_the_same_cells_and_sample(self, sizes):
        X, y, weight = numbers()
        cells, _, sample = enter(X, y, weight, encoded=False)
        assert sample.n_rows == MOST
        theirs, other = learnt_in_parts(X, y, weight, sizes, encoded=False)
        np.testing.assert_array_equal(theirs.smallest, cells.smallest)
        assert_same_rows(other, sample)


class TestFrames:
    def test_are_encoded_and_keys_are_of_their_cells(self):
        frame, y, weight = frame_of()
        cells, rows, sample = enter(frame, y, weight, encoded=True)
        encoding = cells.encoding
        np.testing.assert_array_equal(rows.X, encoding.encode(encoding.typed(frame)))
        np.testing.assert_array_equal(rows.as_they_are, encoding.as_they_are)
        typed = encoding.typed(frame)
        np.testing.assert_array_equal(rows.keys.xy, row_keys(typed, y, cells.smallest).xy)
        np.testing.assert_array_equal(cells.numbers(frame), rows.X)
        assert sample.n_rows == (weight > 0).sum()

    @pytest.mark.usefixtures("few_rows_are_many")
    @pytest.mark.parametrize("sizes", [[120], [1, 119], [40, 40, 40], [10] * 12])
    def test_in_parts_give_the_same_encoding_and_sample(self, sizes):
        frame, y, weight = frame_of()
        cells, rows, sample = enter(frame, y, weight, encoded=True)
        assert rows.n_rows == 120
        assert sample.n_rows <= MOST
        theirs, other = learnt_in_parts(frame, y, weight, sizes, encoded=True)
        assert theirs.encoding == cells.encoding
        np.testing.assert_array_equal(theirs.smallest, cells.smallest)
        assert_same_rows(other, sample)

    def test_of_numbers_have_the_keys_and_rows_of_the_array(self):
        X, y, weight = numbers()
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        _, one, _ = enter(X, y, weight, encoded=False)
        _, other, _ = enter(frame, y, weight, encoded=True)
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_array_equal(one.keys.x, other.keys.x)
        np.testing.assert_array_equal(one.keys.xy, other.keys.xy)
        assert other.as_they_are is None

    def test_go_by_position_where_columns_have_no_names(self):
        frame, y, weight = frame_of()
        cells, rows, _ = enter(frame.to_numpy(dtype=object), y, weight, encoded=True)
        assert cells.encoding.schema.inputs == ("x0", "x1", "x2", "x3")
        np.testing.assert_array_equal(cells.numbers(frame), rows.X)
        named, _, _ = enter(frame, y, weight, encoded=True)
        np.testing.assert_array_equal(named.numbers(frame.to_numpy(dtype=object)), rows.X)


def test_missing_numbers_that_a_users_transformer_fills():
    """Arrays with missing numbers reach it as they are, in fits and predictions."""
    X, y, weight = numbers()
    X[::7, 0] = np.nan
    imputed = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=5.0),
        RBFSampler(n_components=5, random_state=0),
    )
    for w in (None, weight):
        model = NCLRegressor(imputed, lam=0.5).fit(X, y, sample_weight=w)
        filled = np.where(np.isnan(X), 5.0, X)
        np.testing.assert_allclose(model.predict(X), model.predict(filled), rtol=1e-12)


def test_missing_numbers_of_single_precision_stay_so():
    X, y, _ = numbers()
    model = NCLRegressor("fourier", lam=0.5).fit(X.astype(np.float32), y)
    new = X.astype(np.float32)
    new[3, 1] = np.nan
    assert model.predict(new).dtype == model.predict(X.astype(np.float32)).dtype == np.float32
