"""The first pass: moments and a sample of the inputs, whatever the chunks."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from models import ncl

from negcorr import scale
from negcorr.exceptions import ChunkError
from negcorr.scale import first_pass
from negcorr.scale.chunks import ArraySource, Chunk
from negcorr.scale.first_pass import summarise_inputs, summary_of


def summary(X, weight=None, block_size=37):
    return summarise_inputs(ArraySource(X, np.zeros(len(X)), weight, block_size).chunks())


@pytest.mark.parametrize("block_size", [1, 7, 10**6])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_rows_have_the_moments_of_all(block_size, weighted, rows):
    X, _, w = rows
    weight = w + 1.0 if weighted else None
    two, half = summary(X, weight, block_size).two_rows()
    mean = np.average(X, axis=0, weights=weight)
    variance = np.average((X - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(np.average(two, axis=0, weights=half), mean, rtol=1e-13)
    np.testing.assert_allclose(two.std(axis=0), np.sqrt(variance), rtol=1e-12)
    assert half.sum() == pytest.approx(len(X) if weight is None else weight.sum())


def test_a_column_that_does_not_vary_has_no_spread(rows):
    X = np.column_stack([rows[0], np.full(240, 0.1)])
    two, _ = summary(X, block_size=7).two_rows()
    assert two[0, 3] == two[1, 3] == 0.1


@pytest.mark.parametrize("block_size", [1, 7, 10**6])
def test_the_sample_does_not_depend_on_chunks_order_or_repeats(block_size, rows, monkeypatch):
    monkeypatch.setattr(first_pass, "SAMPLE_ROWS", 50)
    X = rows[0]
    expected = summary(X).sample_rows()
    assert expected.shape == (50, 3)
    again = summary(np.concatenate([X[::-1], X[:60]]), block_size=block_size).sample_rows()
    np.testing.assert_array_equal(again, expected)


def test_rows_without_weight_are_not_in_the_sample(rows):
    X, _, w = rows
    sample = summary(X, w).sample_rows()
    assert len(sample) == np.count_nonzero(w)


def test_the_sample_does_not_pin_the_chunks(rows):
    sample = summary(rows[0]).sample
    assert sample.base is None or sample.base.nbytes <= 2 * sample.nbytes


def test_names_of_columns_are_kept(rows):
    frame = pd.DataFrame(rows[0], columns=["a", "b", "c"])
    found = summary(frame)
    assert list(found.two_rows()[0].columns) == ["a", "b", "c"]
    assert list(found.sample_rows().columns) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([[1.0, np.nan, 0.0]]), "contains NaN"),
        (np.array([[1.0, np.inf, 0.0]]), "contains infinity"),
        (np.array([["red", "1", "2"]], dtype=object), "could not convert string to float: 'red'"),
        (np.zeros((1, 2)), "there are 2 inputs, and were 3"),
        (sp.csr_array(np.ones((1, 3))), r"X is sparse, .* draw the basis before, by model\.draw"),
    ],
)
def test_errors_say_which_rows(bad, message, rows):
    chunks = [Chunk(rows[0], None, None, "one", 0), Chunk(bad, None, None, "other", 240)]
    with pytest.raises(ChunkError, match=rf"^other \(rows 241 to 241\): .*{message}"):
        summarise_inputs(chunks)


def test_a_scheduler_is_told_how_large_a_summary_is():
    rows = np.random.default_rng(0).normal(size=(3000, 4))
    summary = summary_of(rows)
    size = sys.getsizeof(summary)
    assert size >= summary.sample.nbytes + summary.keys.nbytes > 3000 * 8 * 4


def test_names_that_change_are_found_in_the_first_pass():
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame(rng.normal(size=(50, 3)), columns=list(n)) for n in ("aby", "bay")]
    model = ncl(n_members=5)
    before = dict(vars(model))
    with pytest.raises(
        ChunkError, match=r"chunk 1 .*columns are \['b', 'a'\], and were \['a', 'b'"
    ):
        scale.fit(model, frames, target="y")
    assert vars(model) == before
