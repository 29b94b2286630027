"""negcorr.scale.fit: the same model from rows in chunks as from all rows in memory."""

import copy
import pickle
import sys
import threading
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from models import ncl
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import OneHotEncoder

from negcorr import NCLRegressor, scale
from negcorr.bases import ClonedFeatures
from negcorr.exceptions import ChunkError
from negcorr.rows import sample as sampling


class Counted:
    """A list of chunks that counts how often it is read."""

    def __init__(self, parts):
        self.parts = parts
        self.reads = 0

    def __iter__(self):
        self.reads += 1
        yield from self.parts


def parts_of(*arrays, cuts=(50, 51, 140)):
    return list(zip(*(np.split(array, cuts) for array in arrays), strict=True))


#: Inputs of the table of several kinds.
KINDS = ["size", "kind", "grade", "day"]


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(11)
    n = 240
    table = pd.DataFrame(
        {
            "size": rng.gamma(2.0, 2.0, n),
            "kind": rng.choice(list("abcd"), n, p=[0.5, 0.3, 0.19, 0.01]),
            "grade": pd.Categorical(rng.integers(1, 5, n)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    waves = np.log(table["size"]) + (table["kind"] == "a") + table["grade"].astype(float) % 2
    table["y"] = waves + 0.3 * rng.normal(size=n)
    for name in ("size", "kind", "day"):
        table.loc[rng.random(n) < 0.08, name] = None
    return table


@pytest.fixture(scope="module")
def frame(rows):
    X, y, w = rows
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, w=w)


class TestTheSameModel:
    @pytest.mark.parametrize("cuts", [(50, 51, 140), (2,), tuple(range(5, 240, 5)), ()])
    def test_from_chunks_of_any_size(self, cuts, rows, small, in_memory, same):
        X, y, _ = rows
        model = scale.fit(ncl(**small), parts_of(X, y, cuts=cuts))
        same(model, in_memory, X)

    def test_from_weighted_chunks(self, rows, small, same):
        X, y, w = rows
        model = scale.fit(ncl(**small), parts_of(X, y, w))
        same(model, ncl(**small).fit(X, y, w), X)

    @pytest.mark.parametrize("block_size", [7, 100, None])
    def test_from_arrays(self, block_size, rows, small, same):
        X, y, w = rows
        both = np.column_stack([y, np.cos(y)])
        expected = ncl(**small).fit(X, both, w)
        names = ["a", "b", "c"]
        for given in (X, X.tolist(), pd.DataFrame(X, columns=names), pl.DataFrame(X, names)):
            model = ncl(**small)
            scale.fit(model, given, both, sample_weight=w, block_size=block_size)
            assert model.n_features_in_ == 3
            np.testing.assert_allclose(model.dof_, expected.dof_, rtol=1e-9)
        same(scale.fit(ncl(**small), X, both, sample_weight=w), expected, X)

    def test_from_data_frames_whose_names_are_numbers(self, rows, small, in_memory, same):
        X, y, _ = rows
        same(scale.fit(ncl(**small), pd.DataFrame(X), y), in_memory, X)

    def test_from_data_frames(self, frame, small, same):
        plain = frame.drop(columns="w")
        inputs = frame[["a", "b", "c"]]
        cut = [plain[:100], plain[100:]]
        expected = ncl(**small).fit(inputs, frame["y"])
        weighted = ncl(**small).fit(inputs, frame["y"], frame["w"])
        for given in (plain, cut, Counted(cut)):
            same(scale.fit(ncl(**small), given, target="y"), expected, inputs)
        for given in (frame, [frame[:3], frame[3:]], pa.table(frame)):
            model = scale.fit(ncl(**small), given, target="y", sample_weight="w")
            np.testing.assert_allclose(model.dof_, weighted.dof_, rtol=1e-9)
        polars = [pl.from_pandas(part) for part in cut]
        model = scale.fit(ncl(**small), polars, target="y")
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        same(model, expected, inputs)

    @pytest.mark.parametrize("basis", ["fourier", "orthogonal"])
    @pytest.mark.parametrize(
        "given",
        [
            {},
            {"gamma": 0.3},
            {"inputs": "none"},
            {"relevance": [1.0, 0.0, 0.3]},
            {"random_state": 5},
        ],
        ids=str,
    )
    def test_and_the_same_basis(self, basis, given, rows, small):
        X, y, _ = rows
        settings = {**small, "basis": basis, "lam": 0.5, **given}
        expected = ncl(**settings).fit(X, y)
        model = scale.fit(ncl(**settings), parts_of(X, y))
        one, other = expected.basis_.transform(X), model.basis_.transform(X)
        np.testing.assert_allclose(other, one, atol=1e-11)

    @pytest.mark.parametrize(
        "given",
        [
            {"basis": "trees"},
            {"basis": "nystroem"},
            {"basis": "kernel", "relevance": [1.0, 0.0, 0.3]},
            {"inputs": "clip"},
            {"inputs": "rank"},
            {"kernel": "laplacian"},
        ],
        ids=str,
    )
    def test_with_a_basis_of_rows_that_repeat(self, given, rows, small, same):
        X, y, _ = rows
        X = X[np.arange(240) % 200]
        settings = {**small, "alpha": 0.1, **given}
        same(scale.fit(ncl(**settings), parts_of(X, y)), ncl(**settings).fit(X, y), X)

    def test_from_a_generator_with_the_basis_of_its_first_chunk(self, rows, small, same):
        X, y, w = rows
        expected = ncl(**small).draw(X[:50], w[:50]).partial_fit(X, y, w)
        model = scale.fit(ncl(**small), iter(parts_of(X, y, w)))
        same(model, expected, X)

    def test_from_a_reader_of_pyarrow_that_can_be_read_once(self, frame, small, same):
        reader = pa.table(frame.drop(columns="w")).to_reader(max_chunksize=90)
        inputs = frame[["a", "b", "c"]]
        expected = ncl(**small).draw(inputs[:90]).partial_fit(inputs, frame["y"])
        same(scale.fit(ncl(**small), reader, target="y"), expected, inputs)

    def test_for_fitted_models_which_start_anew(self, rows, small, in_memory, same):
        X, y, _ = rows
        other = ncl(**small).fit(X[:90] * 2.0, y[:90] + 5.0)
        same(scale.fit(other, parts_of(X, y)), in_memory, X)
        same(scale.fit(other, parts_of(X, y)), in_memory, X)
        first = clone(other).draw(X[:50]).partial_fit(X, y)
        same(scale.fit(other, iter(parts_of(X, y))), first, X)

    def test_for_models_with_parameters_of_the_basis_that_were_set_later(self, rows, small, same):
        X, y, _ = rows
        model = ncl(**small).set_params(basis__gamma=0.2, basis__n_components=3)
        expected = ncl(**{**small, "gamma": 0.2, "n_components": 3}).fit(X, y)
        same(scale.fit(model, parts_of(X, y)), expected, X)

    def test_chunks_without_rows_or_weight_change_nothing(self, rows, small, same):
        X, y, w = rows
        nothing = [(X[:9] + 99.0, y[:9], np.zeros(9)), (X[:0], y[:0], w[:0])]
        parts = [*nothing, *parts_of(X, y, w), *nothing]
        expected = ncl(**small).fit(X, y, w)
        same(scale.fit(ncl(**small), parts), expected, X)


class TestTablesOfSeveralKinds:
    """Frames with numbers, categories and dates, some of them missing, in chunks and in memory."""

    @pytest.fixture
    def check(self, mixed, small, same):
        def check(frame, parts, **given):
            y = given.pop("y", mixed["y"])
            weight = given.pop("weight", None)
            expected = ncl(**small).fit(frame, y, weight)
            model = scale.fit(ncl(**small), parts, **given)
            same(model, expected, frame)
            assert str(model.columns_) == str(expected.columns_)
            return model

        return check

    @pytest.mark.parametrize("size", [1, 50, 1000])
    def test_in_chunks_of_any_size(self, size, mixed, check):
        starts = range(0, len(mixed), size)
        model = check(mixed[KINDS], [mixed[k : k + size] for k in starts], target="y")
        assert [column.role for column in model.columns_.columns] == [
            "number",
            "category",
            "category",
            "date",
        ]

    def test_in_any_order(self, mixed, check):
        other = mixed.sample(frac=1.0, random_state=1)
        check(mixed[KINDS], [other[:11], other[11:170], other[170:]], target="y")

    def test_cut_from_a_frame(self, mixed, check):
        check(mixed[KINDS], mixed, target="y", block_size=70)
        # polars has no categories that are numbers.
        plain = mixed.drop(columns="grade")
        check(plain.drop(columns="y"), pl.from_pandas(plain), target="y", block_size=70)

    def test_with_weights_and_several_targets(self, mixed, small, same):
        weight = np.random.default_rng(0).integers(0, 3, len(mixed)).astype(float)
        table = mixed.assign(z=mixed["y"] ** 2, w=weight)
        expected = ncl(**small).fit(mixed[KINDS], table[["y", "z"]].to_numpy(), weight)
        parts = [table[:100], table[100:]]
        model = scale.fit(ncl(**small), parts, target=["y", "z"], sample_weight="w")
        np.testing.assert_array_equal(model.gap_, expected.gap_)
        np.testing.assert_allclose(
            model.predict(mixed[KINDS]), expected.predict(mixed[KINDS]), rtol=1e-8, atol=1e-9
        )
        assert str(model.columns_) == str(expected.columns_)

    @pytest.mark.parametrize("first", [False, True])
    def test_a_column_may_lack_all_values_in_a_chunk(self, first, mixed, check):
        table = mixed.copy()
        table.loc[table.index[80:160], ["size", "kind", "day"]] = None
        parts = [table[:80], table[80:160].assign(size=None, kind=np.nan, day=None), table[160:]]
        if first:
            parts = [parts[1], parts[0], parts[2]]
        check(table[KINDS], parts, target="y")

    def test_each_chunk_may_know_categories_of_its_own(self, mixed, check):
        few = mixed["grade"].isin([1, 2])
        parts = [mixed[few], mixed[~few]]
        parts = [part.assign(grade=part["grade"].cat.remove_unused_categories()) for part in parts]
        assert parts[0]["grade"].dtype != parts[1]["grade"].dtype
        check(mixed[KINDS], parts, target="y")

    def test_a_sample_settles_the_columns_of_many_rows(self, mixed, check, monkeypatch):
        monkeypatch.setattr(sampling, "SAMPLE_ROWS", 90)
        parts = [mixed[:40], mixed[40:140], mixed[140:]]
        model = check(mixed[KINDS], parts, target="y")
        check(mixed[KINDS], parts[::-1], target="y")
        monkeypatch.undo()
        whole = ncl(n_members=6, n_components=4).fit(mixed[KINDS], mixed["y"])
        assert str(model.columns_["size"]) != "" != str(whole.columns_["size"])
        medians = [each._state.drawn.cells.encoding.parts[0].median for each in (model, whole)]
        assert medians[0] != medians[1]

    @pytest.mark.parametrize("order", [1, -1])
    def test_arrays_may_lack_values_in_some_chunks_only(self, order, rows, small, same):
        X, y, _ = rows
        lacking = X.copy()
        lacking[200:230, 1] = np.nan
        expected = ncl(**small).fit(lacking, y)
        model = scale.fit(ncl(**small), parts_of(lacking, y)[::order])
        same(model, expected, lacking)
        assert not hasattr(model, "feature_names_in_")

    def test_what_a_later_chunk_alone_lacks_is_refused_where_rows_are_read_once(self, rows, small):
        X, y, _ = rows
        lacking = X.copy()
        lacking[200, 1] = np.nan
        with pytest.raises(ChunkError, match=r"chunk 3 \(rows 141 to 240\): X contains NaN"):
            scale.fit(ncl(**small), iter(parts_of(lacking, y)))

    def test_columns_must_stay_the_same(self, mixed, small):
        model = ncl(**small)
        before = dict(vars(model))
        for change, message in (
            (lambda t: t[t.columns[::-1]], r"columns are .* and were .* one order"),
            (lambda t: t.rename(columns={"day": "date"}), r"columns are .*'date'"),
            (lambda t: t.drop(columns="day"), "there are 3 inputs, and were 4"),
        ):
            with pytest.raises(ChunkError, match=rf"chunk 1 \(rows 101 to 240\): {message}"):
                scale.fit(model, [mixed[:100], change(mixed[100:])], target="y")
            assert vars(model) == before
        arrays = (np.zeros((9, 4)), np.zeros(9))
        with pytest.raises(ChunkError, match="X comes as arrays and as data frames"):
            scale.fit(model, [(mixed[KINDS], mixed["y"]), arrays])

    def test_by_dask(self, mixed, check):
        pytest.importorskip("dask")
        import dask
        import dask.dataframe as dd

        with dask.config.set(scheduler="synchronous"):
            check(mixed[KINDS], dd.from_pandas(mixed, npartitions=4), target="y")


class TestMoments:
    def test_stay_in_the_model_so_that_it_can_go_on(self, rows, small, same):
        X, y, _ = rows
        drawn = ncl(**small).draw(X)
        one = scale.fit(copy.copy(drawn), parts_of(X[:200], y[:200]))
        other = scale.fit(copy.copy(drawn), parts_of(X[200:], y[200:], cuts=(10,)))
        expected = copy.copy(drawn).partial_fit(X, y)
        same(one.merge(other), expected, X)
        same(one.partial_fit(X[200:], y[200:]), expected, X)

    @pytest.mark.parametrize("path", [False, True])
    def test_are_dropped_by_compact(self, path, rows, small):
        X, y, _ = rows
        model = scale.fit(ncl(**small), parts_of(X, y))
        compact = model.compact(path=path)
        assert compact.path_.cells == ()
        # With the path there are held-out predictions at every λ, which outweigh 24 features.
        assert path or len(pickle.dumps(compact)) < len(pickle.dumps(model)) / 2
        np.testing.assert_array_equal(compact.predict(X), model.predict(X))
        np.testing.assert_array_equal(compact.predict_interval(X), model.predict_interval(X))
        assert hasattr(model, "partial_fit")
        assert not hasattr(compact, "partial_fit")
        with pytest.raises(ValueError, match=r"no moments.* compact\(\) drops them"):
            model.merge(compact)


class TestPasses:
    def test_there_are_two(self, rows, small):
        parts = Counted(parts_of(*rows))
        model = ncl(**small)
        assert scale.fit(model, parts) is model
        assert parts.reads == 2

    def test_a_drawn_model_needs_one(self, rows, small, same):
        X, y, _ = rows
        parts = Counted(parts_of(X, y))
        drawn = ncl(**small).draw(X[:30])
        expected = copy.deepcopy(drawn).partial_fit(X, y)
        same(scale.fit(drawn, parts), expected, X)
        assert parts.reads == 1

    def test_rows_that_are_gone_at_the_second_are_an_error(self, rows, small):
        shared = iter(parts_of(*rows))

        class Once:
            def __iter__(self):
                return (part for part in shared)

        model = ncl(**small)
        with pytest.raises(ChunkError, match="X, read for a second time, has no rows"):
            scale.fit(model, Once())
        assert not hasattr(model, "basis_")


class TestErrors:
    def test_in_a_later_chunk_leave_what_came_before(self, rows, small, same):
        X, y, _ = rows
        bad = y.copy()
        bad[200] = np.nan
        cuts = (50, 120, 180, 220)
        model = ncl(**small).draw(X)
        expected = copy.copy(model)
        with pytest.raises(ChunkError, match=r"chunk 3 \(rows 181 to 220\): Input y contains NaN"):
            scale.fit(model, parts_of(X, bad, cuts=cuts))
        for start, stop in ((0, 50), (50, 120), (120, 180)):
            expected.partial_fit(X[start:stop], y[start:stop])
        same(model, expected, X)
        rest = slice(180, None)
        same(model.partial_fit(X[rest], y[rest]), expected.partial_fit(X[rest], y[rest]), X)

    def test_in_the_first_pass_leave_the_model_as_it_was(self, rows, small):
        X, y, _ = rows
        model = ncl(**small).fit(X, y)
        before = model.predict(X)
        infinite = X.copy()
        infinite[7, 1] = np.inf
        for bad in ((infinite, y), (X, y * np.nan)):
            with pytest.raises(
                ChunkError, match=r"chunk 1 \(rows 241 to 480\): .*contains (NaN|inf)"
            ):
                scale.fit(model, [(X, y), bad])
            np.testing.assert_array_equal(model.predict(X), before)

    def test_in_the_first_chunk_leave_no_basis_that_looks_drawn(self, rows, small):
        X, y, _ = rows
        for parts in ([(X * 9.0, y * np.nan)], iter([(X * 9.0, y * np.nan)])):
            model = ncl(**small)
            with pytest.raises(ChunkError, match="chunk 0"):
                scale.fit(model, parts)
            assert not hasattr(model, "basis_")
        drawn = ncl(**small).draw(X)
        with pytest.raises(ChunkError, match="chunk 0"):
            scale.fit(drawn, [(X, y * np.nan)])
        assert hasattr(drawn, "basis_")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X, y, w: (X[:, :2], y, w), "there are 2 inputs, and were 3"),
            (lambda X, y, w: (X, np.column_stack([y, y]), w), r"there are 2 targets, and were 1"),
            (lambda X, y, w: (X, y[:3], w), r"inconsistent numbers of samples"),
            (lambda X, y, w: (X, y, w[:3]), r"sample_weight.shape == \(3,\)"),
            (lambda X, y, w: (X, y, -w), "Negative values"),
            (lambda X, y, w: (X, None, w), "y to be passed|y cannot be None|y is None"),
        ],
    )
    def test_in_a_chunk_say_which(self, change, message, rows, small):
        with pytest.raises(ChunkError, match=rf"^chunk 1 \(rows 241 to 480\): .*({message})"):
            scale.fit(ncl(**small), [rows, change(*rows)])

    def test_of_the_users_iterable_come_through(self, rows, small):
        def broken():
            yield rows
            raise ZeroDivisionError("somewhere else")

        model = ncl(**small)
        with pytest.raises(ZeroDivisionError, match="somewhere else"):
            scale.fit(model, broken())
        assert model.path_.spectrum.weight == rows[2].sum()

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"criterion": "loo"}, "criterion='loo' needs all rows at once"),
            ({"noise_variance": "difference"}, "noise_variance='difference' needs all rows"),
            ({"cv": "x"}, "cv='x' needs all rows at once"),
            ({"lam": 2.0}, "lam=2.0 is outside"),
        ],
    )
    def test_in_parameters_come_before_any_row_is_read(self, settings, message, rows):
        parts = Counted([rows])
        with pytest.raises(ValueError, match=message):
            scale.fit(ncl(**settings), parts)
        assert parts.reads == 0

    def test_in_progress_come_before_any_row_is_read(self, rows, small):
        parts = Counted([rows])
        with pytest.raises(TypeError, match="progress='bar' must be"):
            scale.fit(ncl(**small), parts, progress="bar")
        assert parts.reads == 0


@pytest.mark.parametrize(
    ("X", "given", "kind", "message"),
    [
        (5, {}, TypeError, "X=5 must be a path, a pyarrow dataset, an iterable of chunks"),
        (None, {}, TypeError, "X=None must be a path"),
        ("X", {}, ValueError, "a table in memory needs y, or target .* X a ndarray"),
        ("frame", {}, ValueError, "a table in memory needs y, or target .* X a DataFrame"),
        ("X", {"y": [1.0, 2.0]}, ValueError, r"y must have a value for each of the 240 rows of X"),
        ("X", {"y": np.zeros(480)}, ValueError, r"y must have a value .* shape \(480,\)"),
        ("X", {"y": 3.0}, ValueError, r"y must have a value .* shape \(\)"),
        (
            "X",
            {"y": np.zeros(240), "sample_weight": "w"},
            ValueError,
            r"sample_weight must have a value for each of the 240 rows",
        ),
        ([1.0, 2.0], {"y": [1.0, 2.0]}, ValueError, r"X must be a table of rows, got shape \(2,\)"),
        ("X", {"y": np.zeros(240), "target": "y"}, ValueError, "y and target exclude each other"),
        ("frame", {"target": "q"}, ChunkError, r"X has no column 'q' \(target\)"),
        ("frame", {"target": "y", "sample_weight": "q"}, ChunkError, r"'q' \(sample_weight\)"),
        ("frame", {"target": "y", "sample_weight": [1.0]}, ValueError, "name of a column for"),
        ("table", {}, ValueError, "target=None: name the column, or columns"),
        ("table", {"y": [1.0]}, ValueError, "y is not for files: name the columns"),
        ("table", {"target": "y", "sample_weight": [1.0]}, ValueError, "the name of a column for"),
        ("table", {"target": "y", "sample_weight": "y"}, ValueError, "'y' is a target as well"),
        ("table", {"target": 3}, TypeError, "target=3 must be the name of a column"),
        ("table", {"target": []}, ValueError, r"target=\[\] must be the name of a column"),
        ("table", {"target": [1]}, ValueError, r"target=\[1\] must be the name of a column"),
        ("table", {"target": ["y", "y"]}, ValueError, "names a column twice"),
        ([], {}, ChunkError, "X has no rows"),
        (iter([]), {}, ChunkError, "X has no rows"),
        ([], {"sample_weight": [1.0]}, ValueError, r"belongs into the chunks: \(X, y, weight\)"),
        ([], {"block_size": 0}, ValueError, "block_size=0 must be at least 1"),
        ([], {"block_size": True}, TypeError, "block_size=True must be an integer"),
        ([], {"block_size": 1.5}, TypeError, "block_size=1.5 must be an integer"),
        ([], {"memory": "2 gigs"}, ValueError, "memory='2 gigs' must be a number of bytes"),
        ([], {"memory": 1.5}, TypeError, "memory=1.5 must be a number of bytes"),
        ([], {"memory": "1GB", "block_size": 9}, ValueError, "block_size=9 and memory='1GB' excl"),
        ([], {"memory": "1GB"}, ValueError, "memory='1GB' .* chunks of an iterable are as it has"),
        ("table", {"target": "y", "memory": 10**6}, ValueError, "memory=1000000 .* is too little"),
    ],
)
def test_wrong_arguments_are_named(X, given, kind, message, rows, frame, small):
    known = {"X": rows[0], "frame": frame, "table": pa.table(frame)}
    with pytest.raises(kind, match=message):
        scale.fit(ncl(**small), known[X] if isinstance(X, str) else X, **given)


@pytest.mark.parametrize("model", ["model", NCLRegressor, None])
def test_models_must_be_those_that_can_stream(model, rows):
    with pytest.raises(TypeError, match=r"model=.* must be an NCLRegressor"):
        scale.fit(model, [rows])


class TestOtherTables:
    def test_sparse_chunks_fit_with_a_drawn_basis_or_from_a_generator(self, rows, small, same):
        X, y, _ = rows
        X = np.where(np.abs(X) > 1.0, X, 0.0)
        parts = [(sp.csr_array(x), t) for x, t in parts_of(X, y)]
        expected = ncl(**small).draw(X[:50]).partial_fit(X, y)
        same(scale.fit(ncl(**small), iter(parts)), expected, X)
        same(scale.fit(ncl(**small).draw(parts[0][0]), parts), expected, X)
        whole = scale.fit(ncl(**small).draw(parts[0][0]), sp.coo_array(X), y, block_size=9)
        same(whole, expected, X)

    def test_frames_are_handed_to_transformers_as_they_are(self, frame, same):
        table = frame.drop(columns="w").assign(s=np.where(frame["a"] > 0, "up", "down"))
        columns = ColumnTransformer(
            [("s", OneHotEncoder(), ["s"]), ("x", RBFSampler(n_components=5), ["a", "c"])]
        )
        model = NCLRegressor(ClonedFeatures(columns, 4), alpha=0.1)
        inputs = table.drop(columns="y")
        expected = clone(model).draw(inputs[:100]).partial_fit(inputs, table["y"])
        parts = [table[:100], table[100:130], table[130:]]
        same(scale.fit(clone(model), iter(parts), target="y"), expected, inputs)
        same(scale.fit(clone(model).draw(inputs[:100]), parts, target="y"), expected, inputs)
        in_memory = clone(model).fit(inputs, table["y"])
        same(scale.fit(clone(model), parts, target="y"), in_memory, inputs)
        assert in_memory.columns_ is None


class TestMemory:
    def test_it_does_not_grow_with_the_number_of_chunks(self):
        def peak(n_chunks):
            def chunks():
                for seed in range(n_chunks):
                    X = np.random.default_rng(seed).normal(size=(5000, 10))
                    yield X, X[:, 0]

            tracemalloc.start()
            scale.fit(ncl(2, 3), chunks())
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return most

        assert peak(40) < 1.5 * peak(8)

    def test_rows_that_are_kept_are_copies(self, rows, small):
        X, y, _ = rows
        model = scale.fit(ncl(**small), iter([(X, y)]))
        kept = model._state.stream.kept
        assert not np.shares_memory(kept.X, X)
        assert not np.shares_memory(kept.y, y)


class TestProgress:
    @pytest.fixture(params=["rich", "tqdm"])
    def shown(self, request, monkeypatch, capfd):
        """What was shown by the library that is there."""
        pytest.importorskip(request.param)
        if request.param == "tqdm":
            monkeypatch.setitem(sys.modules, "rich", None)
            monkeypatch.setitem(sys.modules, "rich.progress", None)
        return lambda: capfd.readouterr().err

    def test_a_bar_for_each_pass_counts_rows(self, rows, small, shown):
        scale.fit(ncl(**small), parts_of(*rows), progress=True)
        text = shown()
        assert "pass 1 of 2" in text
        assert "240 rows" in text
        second = text[text.index("pass 2 of 2") :]
        assert "240/240" in second
        assert "rows/s" in second

    def test_rows_of_tables_are_known_in_the_first_pass(self, rows, small, shown):
        scale.fit(ncl(**small), rows[0], rows[1], block_size=50, progress=True)
        assert shown().count("240/240") >= 2

    def test_one_pass_has_one_bar(self, rows, small, shown):
        X, y, _ = rows
        scale.fit(ncl(**small).draw(X), X, y, block_size=50, progress=True)
        text = shown()
        assert "pass 1 of 1" in text
        assert "240/240" in text

    def test_chunks_without_weight_count_as_done(self, rows, small, shown):
        X, y, w = rows
        nothing = (X, y, np.zeros(240))
        scale.fit(ncl(**small), [nothing, (X, y, w), nothing], progress=True)
        assert "480/480" in shown()

    def test_a_last_chunk_without_weight_counts_as_done(self, rows, small, shown):
        X, y, w = rows
        weight = np.where(np.arange(240) < 200, w + 1.0, 0.0)
        model = ncl(**small).draw(X)
        scale.fit(model, X, y, sample_weight=weight, block_size=40, progress=True)
        assert "240/240" in shown()

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
    @pytest.mark.parametrize("in_pass", [1, 2])
    def test_bars_are_taken_down_where_work_fails(self, error, in_pass, rows, small, shown):
        reads = []

        class Failing:
            def __iter__(self):
                reads.append(1)
                yield rows
                if len(reads) == in_pass:
                    raise error
                yield rows

        with pytest.raises(error):
            scale.fit(ncl(**small), Failing(), progress=True)
        assert f"pass {in_pass} of 2" in shown()
        self.check_that_nothing_is_drawn()

    @pytest.mark.parametrize("drawn", [False, True])
    def test_bars_are_taken_down_where_rows_are_refused(self, drawn, rows, small, shown):
        X, y, _ = rows
        model = ncl(**small).draw(X) if drawn else ncl(**small)
        with pytest.raises(ChunkError) as caught:
            scale.fit(model, [(X[:2], y[:2]), (X, y * np.nan)], progress=True)
        # While the error, and with it all that it came through, is still there.
        self.check_that_nothing_is_drawn()
        assert "NaN" in str(caught.value)
        assert f"pass 1 of {1 if drawn else 2}" in shown()

    @staticmethod
    def check_that_nothing_is_drawn():
        for thread in threading.enumerate():
            if "Refresh" in type(thread).__name__:
                thread.join(5.0)
                assert not thread.is_alive()
        if tqdm_auto := sys.modules.get("tqdm.auto"):
            assert not tqdm_auto.tqdm._instances

    def test_a_callback_hears_of_each_chunk_once(self, rows, small):
        pytest.importorskip("sklearn.callback")

        class Recorder:
            def __init__(self):
                self.ended = []

            def setup(self, estimator, context):
                self.total = context.max_subtasks

            def on_fit_task_begin(self, estimator, context):
                pass

            def on_fit_task_end(self, estimator, context):
                self.ended.append(context.task_name)

            def teardown(self, estimator, context):
                pass

        callback = Recorder()
        scale.fit(ncl(**small), parts_of(*rows), progress=callback)
        assert callback.ended == ["piece"] * 4 + ["chunks"]
        assert callback.total == 4
