"""The first pass: a look at all rows, the same whatever the chunks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from models import ncl

from negcorr.columns.inputs import FirstLook
from negcorr.exceptions import ChunkError
from negcorr.rows import sample as sampling
from negcorr.scale.chunks import ArraySource, Chunk
from negcorr.scale.first_pass import look_at, look_at_chunks


def look(X, y=None, weight=None, block_size=37):
    y = np.zeros(X.shape[0]) if y is None else y
    return look_at_chunks(ncl(), ArraySource(X, y, weight, block_size).chunks())


def at_once(X, y=None, weight=None):
    y = np.zeros(X.shape[0]) if y is None else y
    return FirstLook.at(X, y[:, np.newaxis], weight, encoded=hasattr(X, "columns"))


def assert_same_rows(one, other):
    order = [np.argsort(each.keys.xy, kind="stable") for each in (one, other)]
    np.testing.assert_array_equal(one.X[order[0]], other.X[order[1]])
    np.testing.assert_allclose(one.y[order[0]], other.y[order[1]], rtol=1e-12)
    np.testing.assert_array_equal(one.weight[order[0]], other.weight[order[1]])


class TestSample:
    @pytest.mark.parametrize("block_size", [1, 7, 10**6])
    def test_of_few_rows_is_all_of_them(self, block_size, rows):
        X, y, w = rows
        found = look(X, y, w + 1.0, block_size).sample
        assert found.is_whole
        assert (found.n_rows, found.weight) == (240, (w + 1.0).sum())
        assert_same_rows(found.rows, at_once(X, y, w + 1.0).sample.rows)

    @pytest.mark.parametrize("block_size", [1, 7, 60, 10**6])
    def test_of_many_does_not_depend_on_chunks_order_or_repeats(
        self, block_size, rows, monkeypatch
    ):
        monkeypatch.setattr(sampling, "SAMPLE_ROWS", 50)
        X, y, _ = rows
        expected = at_once(X, y).sample.rows
        assert expected.X.shape == (50, 3)
        again = look(np.concatenate([X[::-1], X]), np.tile(y, 2), None, block_size).sample
        assert (again.rows.n_rows, again.n_rows, again.weight) == (50, 480, 480.0)
        np.testing.assert_array_equal(again.rows.X, expected.X)
        np.testing.assert_array_equal(again.rows.weight, np.full(50, 2.0))

    def test_has_no_rows_without_weight(self, rows):
        X, _, w = rows
        assert look(X, None, w).sample.rows.n_rows == np.count_nonzero(w)

    def test_does_not_pin_the_chunks(self, rows, monkeypatch):
        monkeypatch.setattr(sampling, "SAMPLE_ROWS", 50)
        sample = look(rows[0]).sample.rows.X
        assert sample.base is None or sample.base.nbytes <= 2 * sample.nbytes


class TestTables:
    def test_names_of_columns_are_kept(self, rows):
        found = look(pd.DataFrame(rows[0], columns=["a", "b", "c"]))
        assert found.named
        assert list(found.sample.rows.X.columns) == ["a", "b", "c"]

    def test_cells_are_counted_in_all_rows(self, rows, monkeypatch):
        monkeypatch.setattr(sampling, "SAMPLE_ROWS", 50)
        frame = pd.DataFrame({"a": rows[0][:, 0], "k": list("pq") * 119 + ["r", None]})
        frame.loc[3:7, "a"] = np.nan
        counts = look(frame, None, np.full(240, 2.0)).counts
        assert counts.weight == 480.0
        assert counts.missing == {"a": 10.0, "k": 2.0}
        assert counts.levels == {"k": {"p": 238.0, "q": 238.0, "r": 2.0}}

    @pytest.mark.parametrize("order", [1, -1])
    def test_numbers_that_lack_none_are_merged_with_those_that_lack_some(self, order, rows):
        X = rows[0].copy()
        X[200, 1] = np.nan
        y = np.zeros(240)
        parts = [look_at(ncl(), X[part], y[part], None) for part in (slice(150), slice(150, 240))]
        assert [part.counts is None for part in parts] == [True, False]
        both = parts[0].merged(parts[1]) if order == 1 else parts[1].merged(parts[0])
        assert not both.named
        assert both.counts.missing == {"x0": 0.0, "x1": 1.0, "x2": 0.0}
        whole = look_at(ncl(), X, y, None)
        learned = [each.learn()[0] for each in (both, whole)]
        assert learned[0].encoding == learned[1].encoding
        np.testing.assert_array_equal(learned[0].smallest, learned[1].smallest)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([[1.0, np.inf, 0.0]]), "contains infinity"),
        (np.zeros((1, 2)), "there are 2 inputs, and were 3"),
        (pd.DataFrame({"a": [1], "b": [2], "c": [3]}), "X comes as arrays and as data frames"),
    ],
)
def test_errors_say_which_rows(bad, message, rows):
    chunks = [Chunk(rows[0], rows[1], None, "one", 0), Chunk(bad, [1.0], None, "other", 240)]
    with pytest.raises(ChunkError, match=rf"^other \(rows 241 to 241\): .*{message}"):
        look_at_chunks(ncl(), chunks)


def test_sparse_rows_are_looked_at_too(rows):
    X = np.where(np.abs(rows[0]) > 1.0, rows[0], 0.0)
    found = look(sp.csr_array(X)).sample.rows
    np.testing.assert_array_equal(found.X.toarray(), X)
