"""Chunks: where rows come from, and a thread that reads them ahead."""

import gc
import signal
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from negcorr.exceptions import ChunkError
from negcorr.scale.chunks import (
    ArraySource,
    Chunk,
    IterableSource,
    is_path,
    split_frame,
    usable,
)
from negcorr.scale.passes import read_ahead


def chunk(number, n_rows=4, weight=None):
    return Chunk(np.full((n_rows, 2), number), np.zeros(n_rows), weight, f"chunk {number}", 0)


def numbers(chunks):
    return [each.where for each in chunks]


class TestReadAhead:
    @pytest.mark.parametrize("depth", [0, 1, 2, 5])
    def test_keeps_the_order(self, depth):
        found = numbers(read_ahead((chunk(k) for k in range(30)), depth))
        assert found == [f"chunk {k}" for k in range(30)]

    def test_of_nothing_is_nothing(self):
        assert list(read_ahead(iter([]))) == []

    @pytest.mark.parametrize("kind", [ValueError, KeyError, KeyboardInterrupt])
    def test_tells_errors_of_the_reader_after_the_chunks_before(self, kind):
        def failing():
            yield chunk(0)
            yield chunk(1)
            raise kind("broken")

        stream = read_ahead(failing())
        assert numbers([next(stream), next(stream)]) == ["chunk 0", "chunk 1"]
        with pytest.raises(kind, match="broken"):
            next(stream)

    @pytest.mark.parametrize("depth", [0, 1, 3])
    @pytest.mark.parametrize("slow", ["reader", "consumer"])
    def test_never_has_more_than_depth_and_two_chunks(self, depth, slow):
        alive = weakref.WeakSet()
        most = []

        def reading():
            for k in range(25):
                time.sleep(0.002 * (slow == "reader"))
                yield counted(Held(k))

        def counted(made):
            alive.add(made)
            most.append(len(alive))
            return made

        for _ in read_ahead(reading(), depth):
            time.sleep(0.002 * (slow == "consumer"))
            most.append(len(alive))
        assert max(most) <= depth + 2

    def test_reads_while_the_consumer_works(self):
        read = []

        def reading():
            for k in range(4):
                read.append(k)
                yield chunk(k)

        stream = read_ahead(reading(), depth=2)
        next(stream)
        deadline = time.monotonic() + 5.0
        while len(read) < 3 and time.monotonic() < deadline:
            time.sleep(0.001)
        assert len(read) >= 3
        stream.close()

    def test_thread_ends_when_the_consumer_stops_early(self):
        before = threading.active_count()
        stream = read_ahead(chunk(k) for k in range(10**9))
        next(stream)
        assert threading.active_count() == before + 1
        stream.close()
        assert threading.active_count() == before

    @pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
    def test_thread_ends_when_the_consumer_fails(self, kind):
        before = threading.active_count()

        def consume():
            for _ in read_ahead(chunk(k) for k in range(10**9)):
                raise kind

        with pytest.raises(kind):
            consume()
        gc.collect()
        assert threading.active_count() == before

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers of signals")
    def test_an_interrupt_while_waiting_leaves_no_thread(self):
        def slow():
            yield chunk(0)
            time.sleep(0.3)
            yield chunk(1)

        def interrupt(*_):
            raise KeyboardInterrupt

        before = threading.active_count()
        old = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            with pytest.raises(KeyboardInterrupt):
                list(read_ahead(slow()))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
        gc.collect()
        assert threading.active_count() == before


class Held:
    """Stands for a chunk, and can be counted."""

    def __init__(self, number):
        self.number = number


class TestUsableChunks:
    def test_those_without_rows_or_weight_are_left_out(self):
        given = [chunk(0), chunk(1, 0), chunk(2, weight=np.zeros(4)), chunk(3, weight=np.ones(4))]
        assert numbers(usable(iter(given), "X")) == ["chunk 0", "chunk 3"]

    def test_weights_that_are_none_are_left_for_others_to_refuse(self):
        given = [chunk(0, weight="abcd"), chunk(1, weight=[np.nan, 0, 0, 0])]
        assert numbers(usable(iter(given), "X")) == ["chunk 0", "chunk 1"]

    def test_none_at_all_is_an_error(self):
        with pytest.raises(ChunkError, match=r"^here has no rows\.$"):
            list(usable(iter([chunk(0, 0)]), "here"))
        with pytest.raises(ChunkError, match=r"^here has no rows of positive weight\.$"):
            list(usable(iter([chunk(0, weight=np.zeros(4))]), "here"))


class TestArrays:
    @pytest.mark.parametrize("block_size", [1, 3, 10, 11])
    def test_blocks_are_all_rows_once_in_their_order(self, block_size):
        X, y, w = np.arange(20.0).reshape(10, 2), np.arange(10.0), np.arange(10.0)
        source = ArraySource(X, y, w, block_size)
        found = list(source.chunks())
        assert len(found) == source.n_chunks
        assert source.repeatable
        np.testing.assert_array_equal(np.concatenate([c.X for c in found]), X)
        np.testing.assert_array_equal(np.concatenate([c.y for c in found]), y)
        np.testing.assert_array_equal(np.concatenate([c.weight for c in found]), w)
        assert [c.first_row for c in found] == list(range(0, 10, block_size))


class TestIterables:
    def test_lists_can_be_read_twice_and_generators_once(self):
        parts = [(np.zeros((2, 1)), np.zeros(2))]
        assert IterableSource(parts, None).repeatable
        assert IterableSource(parts, None).n_chunks == 1
        assert not IterableSource(iter(parts), None).repeatable
        assert IterableSource(iter(parts), None).n_chunks is None

    def test_rows_are_numbered_through(self):
        parts = [(np.zeros((n, 1)), np.zeros(n)) for n in (2, 0, 5, 1)]
        source = IterableSource(parts, None)
        assert [c.first_row for c in source.chunks()] == [0, 2, 2, 7]
        assert [c.where for c in source.chunks()] == [f"chunk {k}" for k in range(4)]

    @pytest.mark.parametrize(
        ("part", "target", "message"),
        [
            (np.zeros(3), None, r"chunk 0 is a ndarray; chunks must be \(X, y\)"),
            ((1, 2, 3, 4), None, "chunk 0 is a tuple; chunks must be"),
            (pd.DataFrame({"x": [1]}), None, "chunk 0 is a DataFrame; .* if target names columns"),
            ("a.csv", None, "chunk 0 is a str; .* Files are given as a folder"),
            (Path("a.csv"), "y", "without column names.*target='y'.* Files are given as a folder"),
            ((None, [1.0]), None, "chunk 0: X must be a table of rows, got NoneType"),
            ((np.array(3.0), [1.0]), None, "chunk 0: X must be a table of rows, got ndarray"),
            (np.zeros((2, 2)), "y", "chunk 0 is a ndarray without column names"),
            (pd.DataFrame({"x": [1]}), "y", r"chunk 0 has no column 'y' \(target\); it has \['x'"),
            (pd.DataFrame([[1, 2]], columns=["y", "y"]), "y", "has several columns 'y'"),
            (pd.DataFrame({"y": [1]}), "y", "chunk 0: target='y' leaves no column as input"),
            (pd.DataFrame({"x": [1], "y": ["q"]}), "y", "chunk 0: column 'y' must be numbers"),
        ],
    )
    def test_chunks_of_another_kind_are_refused_by_number(self, part, target, message):
        with pytest.raises(ChunkError, match=message):
            list(IterableSource([part], target).chunks())

    def test_targets_and_weights_of_tables_are_taken_by_name(self):
        frame = pd.DataFrame({"w": [1, 2], "a": [3, 4], "y": [5, 6], "b": [7, 8]})
        for table in (frame, pa.table(frame)):
            (one,) = IterableSource([table], "y", "w").chunks()
            assert list(one.X.columns) == ["a", "b"]
            assert one.y.tolist() == [5.0, 6.0]
            assert one.weight.tolist() == [1.0, 2.0]
        (both,) = IterableSource([frame], ["y", "b"]).chunks()
        assert both.y.tolist() == [[5.0, 7.0], [6.0, 8.0]]
        assert both.weight is None

    def test_a_missing_column_of_weights_is_named(self):
        with pytest.raises(ChunkError, match=r"here has no column 'w' \(sample_weight\)"):
            split_frame(pd.DataFrame({"a": [1], "y": [2]}), "y", "w", "here")

    def test_one_name_makes_y_flat_and_a_list_of_one_does_not(self):
        frame = pd.DataFrame({"a": [3, 4], "y": [5, 6]})
        assert split_frame(frame, "y", None, "here")[1].shape == (2,)
        assert split_frame(frame, ["y"], None, "here")[1].shape == (2, 1)


def test_paths_are_strings_and_path_objects():
    assert is_path("a")
    assert is_path(Path("a"))
    assert not is_path(["a"])


def test_an_error_says_where_it_was_in_numbers_that_start_at_one():
    chunk = Chunk(np.zeros((5, 1)), None, None, "chunk 3", 10)
    with (
        pytest.raises(ChunkError, match=r"^chunk 3 \(rows 11 to 15\): bad$"),
        chunk.placing_errors(),
    ):
        raise ValueError("bad")
