"""Rows of a chunk from a budget of memory: the arithmetic, and real fits that stay below."""

import json
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from models import ncl
from sklearn.kernel_approximation import RBFSampler

from negcorr import NCLRegressor, scale
from negcorr.bases import ClonedFeatures
from negcorr.scale import planning
from negcorr.scale.chunks import TEXT_NUMBERS, ArraySource, IterableSource, Width
from negcorr.scale.planning import (
    BASE_BYTES,
    FEWEST_ROWS,
    MOST_ROWS,
    Budget,
    Costs,
    chunks_within,
    costs_of_first_pass,
    costs_of_fit,
    known_columns,
    known_features,
)

WIDTH = Width(n_inputs=10, n_outputs=1, n_numbers=11)


class TestCosts:
    def test_of_chunks_grow_with_their_rows_and_features_up_to_a_block(self):
        costs = Costs(moments=0, reading=0, row=10, feature_row=100, most_feature_rows=50)
        assert costs.total(0) == BASE_BYTES
        assert costs.total(40) - BASE_BYTES == 1.25 * 40 * 110
        assert costs.total(80) - BASE_BYTES == 1.25 * (80 * 10 + 50 * 100)

    def test_of_moments_are_those_of_all_folds_three_times(self):
        few = costs_of_fit(WIDTH, 500, n_folds=5, n_threads=1)
        more = costs_of_fit(WIDTH, 500, n_folds=9, n_threads=1)
        assert more.moments - few.moments == 4 * 3 * 8 * 502**2

    def test_grow_with_threads_outputs_and_accuracy(self):
        least = costs_of_fit(WIDTH, 500, n_folds=5, n_threads=1).total(5000)
        wider = Width(n_inputs=10, n_outputs=40, n_numbers=50, reading=10**6)
        for other in (
            costs_of_fit(WIDTH, 500, 5, n_threads=4),
            costs_of_fit(WIDTH, 500, 5, 1, accurate=True),
            costs_of_fit(wider, 500, 5, 1),
        ):
            assert other.total(5000) > least

    def test_of_features_are_bounded_by_the_blocks_of_threads(self):
        costs = costs_of_fit(WIDTH, 1000, n_folds=5, n_threads=3)
        assert costs.feature_row * costs.most_feature_rows < 3 * 1.6 * 32 * 2**20

    def test_of_the_first_pass_have_a_sample(self):
        assert costs_of_first_pass(WIDTH).moments >= 20_000 * 10 * 8

    def test_grow_with_text_and_with_the_columns_that_it_becomes(self):
        numbers = costs_of_fit(WIDTH, 500, 5, 1)
        encoded = costs_of_fit(replace(WIDTH, n_encoded=300), 500, 5, 1)
        assert encoded.row - numbers.row == 300 * 8
        assert encoded.feature_row > numbers.feature_row
        assert encoded.moments > numbers.moments
        text = replace(WIDTH, n_numbers=10 + TEXT_NUMBERS, row_of_text=200)
        for costs in (costs_of_first_pass, lambda width: costs_of_fit(width, 500, 5, 1)):
            more = costs(text).row - costs(WIDTH).row
            assert more == 8 * 7 * (TEXT_NUMBERS - 1) + 2 * 200

    @pytest.mark.parametrize("budget", [0, 40 * 2**20, 50 * 2**20, 2**28, 2**40])
    def test_rows_are_the_most_that_fit(self, budget):
        costs = Costs(
            moments=2**20, reading=2**20, row=3000, feature_row=800, most_feature_rows=999
        )
        found = costs.most_rows(budget)
        if found is None:
            assert costs.total(FEWEST_ROWS) > budget
        else:
            assert FEWEST_ROWS <= found <= MOST_ROWS
            assert costs.total(found) <= budget
            assert found == MOST_ROWS or costs.total(2 * found) > budget


class TestBudget:
    def test_is_a_quarter_of_what_is_available(self, monkeypatch):
        monkeypatch.setattr(planning, "available_bytes", lambda: 4 * 2**30)
        budget = Budget.of(None, None)
        assert (budget.n_bytes, budget.most_bytes, budget.asked_for) == (2**30, 2**32, False)

    def test_that_is_unknown_leaves_chunks_as_large_as_they_may_be(self, monkeypatch):
        monkeypatch.setattr(planning, "available_bytes", lambda: None)
        assert Budget.of(None, None).rows(Costs(2**60, 0, 1)) == MOST_ROWS

    def test_in_rows_is_taken_as_it_is(self):
        assert Budget.of(7, None).rows(Costs(2**60, 0, 1)) == 7

    def test_of_our_own_may_be_passed_before_a_fit_is_refused(self, monkeypatch):
        monkeypatch.setattr(planning, "available_bytes", lambda: 2**30)
        assert Budget.of(None, None).rows(Costs(2**29, 0, 1)) == FEWEST_ROWS
        with pytest.raises(MemoryError, match=r"available memory of 1\.0 GiB is too little"):
            Budget.of(None, None).rows(Costs(2**30, 0, 1))

    def test_of_the_user_is_kept(self):
        message = (
            r"^memory='64MiB' \(64\.0 MiB\) is too little for this fit, which takes 93\.2 MiB: the "
            r"moments of all folds, while others are added to them, 50\.0 MiB, reading the columns "
            r"10\.0 MiB, chunks of 1024 rows and all else 33\.2 MiB\. Use fewer members or "
            r"components \(n_members, n_components\), fewer folds \(cv\), fewer columns, or more"
        )
        with pytest.raises(ValueError, match=message):
            Budget.of(None, "64MiB").rows(Costs(40 * 2**20, 8 * 2**20, 1024))


class TestChunksWithinABudget:
    def source(self, **changes):
        X = np.zeros((3000, 10))
        return ArraySource(**{"X": X, "y": X[:, 0], "weight": None, "block_size": 99, **changes})

    def test_width_of_tables(self):
        assert self.source().width == WIDTH
        both = self.source(y=np.zeros((3000, 2)), weight=np.ones(3000))
        assert both.width == Width(10, 2, 13)
        sparse = sp.csr_array(np.eye(3000, 10))
        assert self.source(X=sparse).width == Width(10, 1, 2)
        frame = pd.DataFrame(np.zeros((3000, 3)), columns=list("abc"))
        assert self.source(X=frame).width == Width(3, 1, 4)
        frame = frame.assign(
            word="a", level=pd.Categorical(["x"] * 3000), day=pd.Timestamp("2020-01-01")
        )
        assert self.source(X=frame).width == Width(6, 1, 6 + TEXT_NUMBERS)
        assert self.source(X=pl.from_pandas(frame[["a", "word"]])).width.n_numbers == 12
        assert IterableSource([], None).width is None

    def test_chunks_fit_both_passes(self):
        model = ncl(n_members=20, n_components=10)
        budget = Budget.of(None, "64MB")
        n_features = known_features(model, drawn=False)
        both = chunks_within(budget, self.source(), model, n_features, first_pass=True)
        costs = costs_of_fit(WIDTH, 200, 5, planning.blas_threads())
        assert both.block_size == costs.most_rows(budget.n_bytes)

    def test_bases_that_tell_their_features_when_drawn_are_planned_twice(self):
        model = NCLRegressor(ClonedFeatures(RBFSampler(n_components=10), 20))
        budget = Budget.of(None, "64MB")
        assert known_features(model, drawn=False) is None
        first = chunks_within(budget, self.source(), model, None, first_pass=True).block_size
        model.draw(np.random.default_rng(0).normal(size=(100, 10)))
        costs = costs_of_fit(WIDTH, 200, 5, planning.blas_threads())
        n_features = known_features(model, drawn=True)
        assert n_features == 200
        second = chunks_within(budget, self.source(), model, n_features).block_size
        assert second == costs.most_rows(budget.n_bytes) < first

    def test_columns_that_words_become_are_known_after_the_first_pass(self):
        rng = np.random.default_rng(0)
        words = rng.choice([f"w{k}" for k in range(90)], 3000)
        source = self.source(X=pd.DataFrame({"a": rng.normal(size=3000), "word": words}))
        model = ncl(n_members=20, n_components=10)
        assert known_columns(model) == 0
        budget = Budget.of(None, "130MB")
        first = chunks_within(budget, source, model, 200, first_pass=True)
        model.draw(source.X)
        assert known_columns(model) == 91
        second = chunks_within(budget, source, model, 200)
        width = replace(source.width, n_encoded=91)
        costs = costs_of_fit(width, 200, 5, planning.blas_threads())
        assert second.block_size == costs.most_rows(budget.n_bytes) != first.block_size

    def test_what_does_not_fit_is_refused_before_a_row_is_read(self):
        class Unread(np.ndarray):
            def __getitem__(self, key):
                raise AssertionError("read")

        X = np.zeros((3000, 10)).view(Unread)
        with pytest.raises(ValueError, match=r"memory='100MB' .* is too little for this fit"):
            scale.fit(ncl(n_members=100, n_components=10), X, X, memory="100MB")

    def test_chunks_of_a_fit_are_those_of_the_budget(self, monkeypatch):
        sizes = []

        def spy(self, X, y, sample_weight=None):
            sizes.append(len(X))
            return partial_fit(self, X, y, sample_weight)

        partial_fit = NCLRegressor.partial_fit
        monkeypatch.setattr(NCLRegressor, "partial_fit", spy)
        X = np.random.default_rng(0).normal(size=(5000, 60))
        model = ncl(n_members=2, n_components=3)
        scale.fit(model, X, X[:, 0], memory="120MB")
        assert sizes == [2048, 2048, 904]


#: Peaks of memory in a process of its own, above what there is after a first small fit.
SCRIPT = textwrap.dedent(
    """
    import json, sys
    import numpy as np, pandas, pyarrow.dataset, pyarrow.parquet
    from negcorr import NCLRegressor, scale
    from negcorr.bases import FourierFeatures

    def peak():
        # Not getrusage: its peak begins with that of the process that started this one.
        with open("/proc/self/status") as file:
            return next(1024 * int(line.split()[1]) for line in file if "VmHWM" in line)

    given = json.loads(sys.argv[2])
    rows = np.random.default_rng(0).normal(size=(100, 3))
    scale.fit(NCLRegressor(FourierFeatures(2, 2)), [(rows, rows[:, 0])] * 3)
    before = peak()
    model = NCLRegressor(FourierFeatures(4, 4))
    scale.fit(model, sys.argv[1], target="y", **given)
    print(peak() - before)
    """
)


#: Bytes, fewer than the files below have.
BUDGET = 140 * 10**6


@pytest.fixture(scope="module", params=[1_000_000, 250_000])
def large_file(request, tmp_path_factory):
    """160 MB in one row group, or in many."""
    path = tmp_path_factory.mktemp("large") / "rows.parquet"
    values = np.random.default_rng(0).normal(size=(20, 1_000_000))
    table = pa.table({("y" if k == 0 else f"x{k}"): each for k, each in enumerate(values)})
    pq.write_table(table, path, row_group_size=request.param, use_dictionary=False)
    assert table.nbytes > BUDGET
    return path


@pytest.fixture(scope="module", params=[".parquet", ".csv"])
def file_of_words(request, tmp_path_factory):
    """Words, text that differs in every row, dates and numbers."""
    path = tmp_path_factory.mktemp("words") / f"rows{request.param}"
    rng, n = np.random.default_rng(0), 500_000
    days = np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]")
    table = pa.table(
        {
            "word": rng.choice([f"level number {k}" for k in range(60)], n),
            "name": [f"row {k} of all rows" for k in range(n)],
            "day": days.astype(str),
            "x": rng.normal(size=n),
            "y": rng.normal(size=n),
        }
    )
    if request.param == ".csv":
        pc.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=100_000)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read as Linux has them")
class TestPeaks:
    def peak(self, path, **given):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path), json.dumps(given)],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return int(done.stdout)

    def test_stay_within_the_budget(self, large_file):
        found = self.peak(large_file, memory=BUDGET)
        assert 10**7 < found < BUDGET
        # What the largest chunks would take.
        assert self.peak(large_file, block_size=MOST_ROWS) > BUDGET

    def test_of_words_stay_within_the_budget(self, file_of_words):
        assert 10**7 < self.peak(file_of_words, memory=2 * BUDGET) < 2 * BUDGET
