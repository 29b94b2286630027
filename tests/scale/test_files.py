"""Files and datasets of pyarrow: the same rows from all, and what is wrong with bad ones."""

import decimal
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as ds
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from models import ncl
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import RBFSampler

import negcorr
from negcorr import NCLRegressor, scale
from negcorr.bases import ClonedFeatures
from negcorr.exceptions import ChunkError
from negcorr.scale.chunks import TEXT_NUMBERS, Width
from negcorr.scale.file_sizes import PAGE_BYTES, TEXT_BYTES
from negcorr.scale.files import DatasetSource, as_dataset, open_files
from negcorr.scale.first_pass import look_at_chunks

NAMES = ["a", "b", "c"]


def write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=23)
    elif path.suffix == ".feather":
        pf.write_feather(table, path, chunksize=31)
    else:
        pc.write_csv(table, path)
    return path


def dataset_of(dataset, target, weight, size):
    return DatasetSource(target, weight, size, dataset)


def read_all(source):
    found = list(source.chunks())
    return np.concatenate([c.X for c in found]), np.concatenate([c.y for c in found]), found


@pytest.fixture(scope="module")
def table(rows):
    X, y, w = rows
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    return pa.table({"y": y, **columns, "w": w, "z": np.cos(y)})


@pytest.fixture
def folder(tmp_path):
    """A folder with the same table in two files of a kind."""

    def make(table, ending):
        write(table.slice(0, 100), tmp_path / f"1{ending}")
        write(table.slice(100), tmp_path / f"2{ending}")
        return tmp_path

    return make


class TestTheSameRows:
    @pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
    @pytest.mark.parametrize("block_size", [7, 10**6])
    def test_of_files_come_in_order_in_chunks_of_any_size(
        self, ending, block_size, folder, table, rows
    ):
        path = folder(table, ending)
        source = open_files(path, "y", "w", block_size)
        X, y, found = read_all(source)
        # A CSV has the digits that print a number exactly.
        np.testing.assert_array_equal(X[:, :3], rows[0])
        np.testing.assert_array_equal(y, rows[1])
        np.testing.assert_array_equal(np.concatenate([c.weight for c in found]), rows[2])
        assert max(c.n_rows for c in found) <= block_size
        sizes = [c.n_rows for c in found]
        assert [c.first_row for c in found] == np.cumsum([0, *sizes[:-1]]).tolist()

    @pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
    @pytest.mark.parametrize("weight", [None, "w"])
    def test_of_folders_make_the_same_model(
        self, ending, weight, folder, table, rows, small, in_memory, same
    ):
        X, y, w = rows
        path = folder(table.drop_columns(["z"] if weight else ["z", "w"]), ending)
        model = scale.fit(ncl(**small), path, target="y", sample_weight=weight, block_size=50)
        same(model, in_memory if weight is None else ncl(**small).fit(X, y, w), X)

    @pytest.mark.parametrize("block_size", [1, 7])
    def test_with_weights_of_zero_make_the_same_model_in_small_chunks(
        self, block_size, folder, table, rows, small, same
    ):
        X, y, w = (part[:120] for part in rows)
        path = folder(table.drop_columns(["z"]).slice(0, 120), ".parquet")
        model = scale.fit(ncl(**small), path, target="y", sample_weight="w", block_size=block_size)
        same(model, ncl(**small).fit(X, y, w), X)

    def test_with_several_targets_make_the_same_model(self, folder, table, rows, small, same):
        X, y, _ = rows
        path = folder(table.drop_columns(["w"]), ".parquet")
        model = scale.fit(ncl(**small), path, target=("y", "z"))
        same(model, ncl(**small).fit(X, np.column_stack([y, np.cos(y)])), X)

    def test_of_datasets_and_tables_make_the_same_model(
        self, folder, table, rows, small, in_memory, same
    ):
        plain = table.drop_columns(["w", "z"])
        path = folder(plain, ".parquet")
        for given in (
            ds.dataset(path),
            ds.dataset([ds.dataset(path / "1.parquet"), ds.dataset(path / "2.parquet")]),
            ds.dataset(plain),
            plain,
            plain.combine_chunks().to_batches()[0],
            str(path),
        ):
            same(scale.fit(ncl(**small), given, target="y"), in_memory, rows[0])

    def test_of_a_filtered_dataset_are_those_that_pass(self, folder, table, rows, small, same):
        X, y, _ = rows
        path = folder(table.drop_columns(["w", "z"]), ".parquet")
        kept = X[:, 0] > 0
        given = ds.dataset(path).filter(ds.field("a") > 0)
        model = scale.fit(ncl(**small), given, target="y")
        same(model, ncl(**small).fit(X[kept], y[kept]), X)

    def test_of_a_partitioned_dataset_have_its_folders_as_columns(self, table, tmp_path):
        part = pa.array(np.arange(table.num_rows) % 2)
        ds.write_dataset(
            table.append_column("part", part),
            tmp_path,
            format="parquet",
            partitioning=ds.partitioning(pa.schema([("part", pa.int32())]), flavor="hive"),
        )
        source = dataset_of(ds.dataset(tmp_path, partitioning="hive"), "y", None, 1000)
        X, y, _ = read_all(source)
        assert source.inputs[-1] == "part"
        order = np.argsort(part.to_numpy(), kind="stable")
        np.testing.assert_array_equal(X[:, -1], np.sort(part.to_numpy()))
        np.testing.assert_array_equal(y, table["y"].to_numpy()[order])

    @pytest.mark.parametrize("ending", [".parquet", ".feather"])
    def test_numbers_of_every_kind_are_read_as_numbers(self, ending, tmp_path):
        values = np.arange(40) % 7
        decimals = [decimal.Decimal(int(v)) / 4 for v in values]
        given = pa.table(
            {
                "whole": pa.array(values, pa.int8()),
                "large": pa.array(values + 2**60, pa.uint64()),
                "truth": pa.array(values > 3),
                "single": pa.array(values / 8, pa.float32()),
                "decimal": pa.array(decimals, pa.decimal128(10, 2)),
                "y": values * 1.0,
            }
        )
        source = open_files(write(given, tmp_path / f"a{ending}"), "y", None, 9)
        cells, rows = look_at_chunks(ncl(), source.chunks()).learn()
        X = np.concatenate([cells.numbers(chunk.X) for chunk in source.chunks()])
        assert rows.n_rows == 40
        expected = [values, values + 2.0**60, values > 3, values / 8, values / 4]
        np.testing.assert_array_equal(X, np.column_stack(expected))

    @pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
    def test_whole_numbers_in_the_first_file_do_not_round_those_of_others(self, ending, tmp_path):
        write(pa.table({"x": [1, 2], "y": [0, 1]}), tmp_path / f"1{ending}")
        write(pa.table({"x": [2.5, 3.25], "y": [0.5, 2.0]}), tmp_path / f"2{ending}")
        X, y, _ = read_all(open_files(tmp_path, "y", None, 100))
        assert X.ravel().tolist() == [1.0, 2.0, 2.5, 3.25]
        assert y.tolist() == [0.0, 1.0, 0.5, 2.0]

    def test_of_a_csv_may_be_fractions_after_a_megabyte_of_whole_numbers(self, tmp_path):
        lines = ["x,y", *(["1,2"] * 300_000), "0.5,0.25"]
        (tmp_path / "a.csv").write_text("\n".join(lines))
        X, y, _ = read_all(open_files(tmp_path, "y", None, 10**6))
        assert (len(X), X[-1, 0], y[-1]) == (300_001, 0.5, 0.25)

    def test_files_without_rows_and_hidden_ones_are_passed_over(self, folder, table):
        path = folder(table, ".parquet")
        write(table.slice(0, 0), path / "0.parquet")
        (path / "_SUCCESS").touch()
        (path / ".cache").mkdir()
        (path / ".cache" / "notes.txt").write_text("nothing")
        assert len(read_all(open_files(path, "y", None, 100))[0]) == 240

    def test_a_file_may_be_named_as_hidden_ones_are(self, table, tmp_path):
        path = write(table, tmp_path / "_rows.parquet")
        assert len(read_all(open_files(path, "y", None, 100))[0]) == 240

    def test_columns_of_a_later_file_may_be_in_another_order(self, table, tmp_path):
        write(table, tmp_path / "1.parquet")
        write(table.select(table.column_names[::-1]), tmp_path / "2.parquet")
        X, y, _ = read_all(open_files(tmp_path, "y", "w", 100))
        np.testing.assert_array_equal(X[:240], X[240:])
        np.testing.assert_array_equal(y[:240], y[240:])


class TestNames:
    @pytest.fixture
    def path(self, folder, table):
        return folder(table.drop_columns(["w", "z"]), ".parquet")

    def test_of_columns_are_those_of_the_files(self, path, rows, small):
        model = scale.fit(ncl(**small), path, target="y")
        assert model.feature_names_in_.tolist() == NAMES
        frame = pd.DataFrame(rows[0], columns=NAMES)
        expected = ncl(**small).fit(frame, rows[1])
        np.testing.assert_allclose(model.predict(frame), expected.predict(frame), rtol=1e-9)

    def test_in_another_order_are_noticed(self, path, rows, small):
        model = scale.fit(ncl(**small), path, target="y")
        frame = pd.DataFrame(rows[0], columns=NAMES)
        with pytest.raises(ValueError, match="Feature names must be in the same order"):
            model.predict(frame[["b", "a", "c"]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(rows[0])

    def test_of_a_drawn_model_must_be_those_of_the_files(self, path, rows, small):
        frame = pd.DataFrame(rows[0], columns=NAMES)
        drawn = ncl(**small).draw(frame[["c", "a", "b"]])
        with pytest.raises(ChunkError, match=r"(?s)1\.parquet.*Feature names must be in the same"):
            scale.fit(drawn, path, target="y")

    def test_reach_transformers(self, path, rows, small):
        columns = ColumnTransformer([("x", RBFSampler(n_components=5), ["a", "c"])])
        model = NCLRegressor(ClonedFeatures(columns, 4), alpha=0.1)
        scale.fit(model, path, target="y", block_size=50)
        frame = pd.DataFrame(rows[0], columns=NAMES)
        before = model.predict(frame)
        np.testing.assert_array_equal(model.predict(frame.assign(b=0.0)), before)
        assert np.ptp(model.predict(frame.assign(a=0.0)) - before) > 0


class TestSizes:
    @pytest.mark.parametrize("ending", [".parquet", ".csv"])
    def test_rows_are_known_before_they_are_read(self, ending, folder, table):
        assert open_files(folder(table, ending), "y", None, 9).count_rows() == 240

    def test_rows_of_feather_are_known_about(self, folder, table):
        assert 240 <= open_files(folder(table, ".feather"), "y", None, 9).count_rows() < 300

    def test_rows_of_text_in_a_dataset_are_not(self, folder, table):
        given = ds.dataset(folder(table, ".csv"), format="csv")
        assert dataset_of(given, "y", None, 9).count_rows() is None

    def test_rows_of_a_filtered_dataset_are_not(self, folder, table):
        given = ds.dataset(folder(table, ".parquet")).filter(ds.field("a") > 0)
        source = dataset_of(given, "y", None, 9)
        assert source.count_rows() is None
        assert source.width.reading == 6 * PAGE_BYTES

    def test_rows_of_damaged_files_are_not(self, folder, table):
        path = folder(table, ".parquet")
        source = dataset_of(ds.dataset(path), "y", None, 9)
        (path / "2.parquet").write_bytes(b"nothing")
        assert source.count_rows() is None

    def test_of_what_is_held_are_bounded_by_pages_and_by_the_file(self, tmp_path):
        values = np.random.default_rng(0).normal(size=(700_000, 2))
        large = pa.table({"x": values[:, 0], "y": values[:, 1]})
        source = open_files(write(large.slice(0, 23), tmp_path / "a.parquet"), "y", None, 9)
        assert 0 < source.width.reading < 10_000
        pq.write_table(large, tmp_path / "a.parquet", row_group_size=700_000)
        source = open_files(tmp_path / "a.parquet", "y", None, 9)
        assert source.width == Width(1, 1, 2, 2 * PAGE_BYTES)

    def test_of_text_and_tables_do_not_depend_on_the_file(self, folder, table, tmp_path):
        assert dataset_of(ds.dataset(table), "y", "w", 9).width == Width(4, 1, 6, 0)
        source = open_files(folder(table, ".csv"), ["y", "z"], None, 9)
        width = source.width
        assert width == Width(4, 2, 6, TEXT_BYTES, width.row_of_text)
        line = (tmp_path / "1.csv").stat().st_size / 100
        assert line < width.row_of_text < line + 9 * 6

    def test_cells_of_text_count_as_several_numbers(self, tmp_path):
        rows = pa.table({"x": [1.0, 2.0], "kind": ["a", "b"], "y": [1.0, 2.0]})
        assert dataset_of(ds.dataset(rows), "y", None, 9).width.n_numbers == 2 + TEXT_NUMBERS
        for ending in (".csv", ".parquet"):
            source = open_files(write(rows, tmp_path / f"a{ending}"), "y", None, 9)
            assert source.width.n_numbers == 2 + TEXT_NUMBERS
        coded = rows.set_column(1, "kind", rows["kind"].dictionary_encode())
        assert dataset_of(ds.dataset(coded), "y", None, 9).width.n_numbers == 3


def test_small_batches_of_text_are_joined(tmp_path):
    lines = ["x,y", *(f"{k},{k}.5" for k in range(300_000))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    sizes = [c.n_rows for c in open_files(tmp_path, "y", None, 200_000).chunks()]
    assert max(sizes) <= 200_000
    assert len(sizes) == 2


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_a_large_file_is_not_held_in_memory(ending, tmp_path):
    values = np.random.default_rng(0).normal(size=(600_000, 4))
    given = pa.table({"y": values[:, 0], **{f"x{j}": values[:, j] for j in range(1, 4)}})
    path = tmp_path / f"a{ending}"
    if ending == ".parquet":
        pq.write_table(given, path, use_dictionary=False)
    else:
        pf.write_feather(given, path, chunksize=10_000)
    size = given.nbytes
    del given, values
    before, most = pa.total_allocated_bytes(), 0
    for _ in open_files(path, "y", None, 10_000).chunks():
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < size / 4


class TestBadFiles:
    @pytest.mark.parametrize("ending", [".parquet", ".feather"])
    @pytest.mark.parametrize("which", ["1", "2"])
    def test_a_truncated_one_is_named(self, ending, which, folder, table, small):
        path = folder(table, ending)
        bad = path / f"{which}{ending}"
        bad.write_bytes(bad.read_bytes()[: bad.stat().st_size // 2])
        with pytest.raises(ChunkError, match=rf"{which}\{ending}"):
            scale.fit(ncl(**small), path, target="y")

    def test_damage_inside_a_compressed_file_is_named(self, folder, table):
        path = folder(table, ".parquet")
        pq.write_table(table, path / "2.parquet", row_group_size=60, compression="zstd")
        group = pq.ParquetFile(path / "2.parquet").metadata.row_group(1)
        bad = bytearray((path / "2.parquet").read_bytes())
        start = group.column(0).dictionary_page_offset or group.column(0).data_page_offset
        bad[start : start + 200] = b"\xff" * 200
        (path / "2.parquet").write_bytes(bytes(bad))
        with pytest.raises(ChunkError, match=r"2\.parquet is Parquet but damaged: "):
            read_all(open_files(path, "y", None, 1000))

    @pytest.mark.parametrize("which", ["1", "2"])
    def test_a_csv_with_a_short_line_is_named(self, which, folder, table, small):
        path = folder(table, ".csv")
        with (path / f"{which}.csv").open("a") as file:
            file.write("1,2\n")
        with pytest.raises(ChunkError, match=rf"{which}\.csv, line \d+: "):
            scale.fit(ncl(**small), path, target="y")

    @pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
    def test_a_column_that_a_later_file_lacks_is_named(self, ending, folder, table, small):
        path = folder(table, ending)
        write(table.drop_columns(["b"]), path / f"2{ending}")
        with pytest.raises(ChunkError, match=rf"2\{ending}: there is no column 'b'; this file has"):
            scale.fit(ncl(**small), path, target="y")

    @pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
    @pytest.mark.parametrize("column", ["y", "w"])
    @pytest.mark.parametrize(
        ("value", "word"), [(None, "missing"), (np.nan, "missing"), (-np.inf, "'-inf'")]
    )
    def test_a_target_or_weight_that_is_no_number_is_named_with_its_row(
        self, ending, column, value, word, folder, table
    ):
        values = table[column].to_pylist()
        values[200] = value
        at = table.column_names.index(column)
        path = folder(table.set_column(at, column, pa.array(values, pa.float64())), ending)
        message = rf"2\{ending}, after row 100: column '{column}' is {word} in row 201 of all, and"
        with pytest.raises(ChunkError, match=message):
            read_all(open_files(path, "y", "w", 10))

    def test_a_target_that_is_text_is_named_with_its_row(self, tmp_path, small):
        (tmp_path / "a.csv").write_text("x,y\n1,2\n2,red\n")
        message = r"a\.csv, after row 0: column 'y' is 'red' in row 2 of all, and must be a number"
        with pytest.raises(ChunkError, match=message):
            scale.fit(ncl(**small), tmp_path, target="y")

    def test_a_target_that_is_text_further_down_is_named_with_its_row(self, tmp_path, small):
        lines = [f"{k % 7},{k % 5}" for k in range(6000)]
        (tmp_path / "a.csv").write_text("\n".join(["x,y", *lines, "1,red"]))
        with pytest.raises(ChunkError, match=r"column 'y' is 'red' in row 6001 of all"):
            scale.fit(ncl(**small), tmp_path, target="y")

    @pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
    def test_a_file_without_a_byte_is_named(self, ending, tmp_path):
        (tmp_path / f"a{ending}").touch()
        with pytest.raises(ChunkError, match=rf"a\{ending}"):
            open_files(tmp_path, "y", None, 100)

    @pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
    def test_files_without_rows_are_an_error(self, ending, table, tmp_path, small):
        path = write(table.slice(0, 0), tmp_path / f"a{ending}")
        with pytest.raises(ChunkError, match=rf"X='.*a\{ending}' has no rows\."):
            scale.fit(ncl(**small), path, target="y")

    @pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
    def test_a_file_that_is_deleted_meanwhile_is_named(self, ending, folder, table):
        path = folder(table, ending)
        chunks = open_files(path, "y", None, 1000).chunks()
        next(chunks)
        (path / f"2{ending}").unlink()
        with pytest.raises(ChunkError, match=rf"2\{ending}"):
            list(chunks)

    def test_two_columns_of_one_name_are_refused(self, tmp_path):
        twice = pa.table([[1.0], [2.0], [3.0]], names=["x", "x", "y"])
        with pytest.raises(ValueError, match="X has several columns 'x'; names must differ"):
            dataset_of(ds.dataset(twice), "y", None, 10)
        write(pa.table({"x": [1.0], "y": [2.0]}), tmp_path / "1.parquet")
        write(twice, tmp_path / "2.parquet")
        with pytest.raises(ChunkError, match=r"2\.parquet has columns of the same name: 'x' in"):
            read_all(open_files(tmp_path, "y", None, 10))


class TestBadNames:
    def test_a_path_that_does_not_exist_is_named(self):
        with pytest.raises(FileNotFoundError, match=r"X='nothing/here\.parquet' does not exist"):
            open_files("nothing/here.parquet", "y", None, 9)

    @pytest.mark.parametrize(
        ("names", "found"),
        [
            ([], "nothing"),
            ([".hidden.csv"], "nothing"),
            (["a.csv", "b.parquet"], r"\.csv, \.parquet"),
            (["a.csv", "b"], r"\.csv, no ending"),
        ],
    )
    def test_a_folder_must_have_files_of_one_known_kind(self, names, found, tmp_path):
        for name in names:
            (tmp_path / name).touch()
        message = rf"X='.*' must be a file, or a folder of files of one kind, .*; found {found}\.$"
        with pytest.raises(ValueError, match=message):
            open_files(tmp_path, "y", None, 100)

    def test_the_content_of_a_file_says_what_it_is(self, tmp_path):
        (tmp_path / "A.CSV").write_text("x,y\n1,2\n")
        assert open_files(tmp_path / "A.CSV", "y", None, 9).names == ["x", "y"]
        (tmp_path / "rows").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
        with pytest.raises(ChunkError, match=r"rows, line 3: a NUL byte"):
            open_files(tmp_path / "rows", "y", None, 9)

    @pytest.mark.parametrize(
        ("target", "weight", "message"),
        [
            ("Y", None, "target='Y' is no column; the columns are "),
            (["y", "q"], None, "target='q' is no column"),
            ("y", "W", "sample_weight='W' is no column"),
            (["y", "a", "b", "c", "z"], "w", "leaves no column of .* as input"),
        ],
    )
    def test_columns_that_are_not_there_are_named(self, target, weight, message, table):
        with pytest.raises(ValueError, match=message):
            dataset_of(ds.dataset(table), target, weight, 10)

    def test_only_datasets_and_tables_of_pyarrow_are_datasets(self, table):
        assert as_dataset(pd.DataFrame()) is None
        assert as_dataset(table.to_reader()) is None
        assert isinstance(as_dataset(table), ds.Dataset)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(3)
    n = 300
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    frame = pd.DataFrame(
        {
            "size": rng.gamma(2.0, 2.0, n).round(3),
            "kind": rng.choice(list("abc"), n),
            "day": day.strftime("%Y-%m-%d"),
        }
    )
    frame["y"] = (np.log(frame["size"]) + (frame["kind"] == "a")).round(4)
    frame["y"] += (0.3 * rng.normal(size=n)).round(4)
    for name in ("size", "kind", "day"):
        frame.loc[rng.random(n) < 0.08, name] = None
    return frame


@pytest.fixture(scope="module")
def of_all_rows(mixed, small):
    return ncl(**small).fit(mixed.drop(columns="y"), mixed["y"])


@pytest.fixture(scope="module")
def whole_numbers():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.integers(0, 6, 5600), "b": rng.normal(size=5600).round(3)})
    return frame.assign(y=np.sin(frame["a"]) + frame["b"])


class TestFilesOfSeveralKinds:
    """Columns of numbers, categories and dates, with missing values: the model of read_table."""

    @pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".csv.gz", ".arff"])
    def test_in_a_folder(self, ending, mixed, of_all_rows, small, same, tmp_path):
        for number, part in enumerate((mixed[:120], mixed[120:])):
            path = tmp_path / f"{number}{ending}"
            if ending == ".arff":
                path.write_text(arff(part))
            elif ".csv" in ending:
                part.to_csv(path, index=False)
            else:
                write(pa.Table.from_pandas(part, preserve_index=False), path)
        model = scale.fit(ncl(**small), tmp_path, target="y", block_size=70)
        same(model, of_all_rows, mixed.drop(columns="y"))
        made = [[c.made for c in each.columns_.columns] for each in (model, of_all_rows)]
        assert made[0] == made[1]

    def test_with_decimal_commas(self, mixed, of_all_rows, small, same, tmp_path):
        path = tmp_path / "a.csv"
        mixed.to_csv(path, index=False, sep=";", decimal=",", quoting=1)
        model = scale.fit(ncl(**small), path, target="y", block_size=70)
        same(model, of_all_rows, mixed.drop(columns="y"))

    def test_in_a_table_of_pyarrow(self, mixed, of_all_rows, small, same):
        given = pa.Table.from_pandas(mixed, preserve_index=False)
        model = scale.fit(ncl(**small), given, target="y", block_size=70)
        same(model, of_all_rows, mixed.drop(columns="y"))


def arff(frame):
    """A frame as text in ARFF."""
    head = ["@relation rows", "@attribute size numeric", "@attribute kind {a,b,c}"]
    head += ["@attribute day string", "@attribute y numeric", "@data"]
    rows = (
        ["?" if cell != cell or cell is None else str(cell) for cell in row]
        for row in frame.itertuples(index=False)
    )
    return "\n".join([*head, *map(",".join, rows), ""])


class TestKindsOfText:
    """The first rows of a text say what is a number; cells further down may say something else."""

    def check(self, path, small, same):
        whole = negcorr.read_table(path).frame
        X = whole.drop(columns="y")
        model = scale.fit(ncl(**small), path, target="y", block_size=2000)
        expected = ncl(**small).fit(X, whole["y"])
        same(model, expected, X)
        assert str(model.columns_) == str(expected.columns_)
        return model

    def test_a_word_makes_a_category(self, whole_numbers, small, same, tmp_path):
        cells = whole_numbers.astype({"a": object})
        cells.loc[5500:5520, "a"] = "many"
        cells.to_csv(tmp_path / "a.csv", index=False)
        model = self.check(tmp_path / "a.csv", small, same)
        assert [column.role for column in model.columns_.columns] == ["category", "number"]

    def test_decimal_commas_after_whole_numbers(self, whole_numbers, small, same, tmp_path):
        cells = whole_numbers.assign(
            a=whole_numbers["a"] + np.where(whole_numbers.index > 5400, 0.5, 0.0)
        )
        text = [
            f"{a:g};{b:g};{y:.4f}".replace(".", ",") for a, b, y in cells.itertuples(index=False)
        ]
        (tmp_path / "a.csv").write_text("\n".join(["a;b;y", *text]))
        model = self.check(tmp_path / "a.csv", small, same)
        assert [column.role for column in model.columns_.columns] == ["number", "number"]

    def test_a_drawn_model_is_told_the_row(self, whole_numbers, small, tmp_path):
        cells = whole_numbers.astype({"a": object})
        cells.loc[5555, "a"] = "many"
        cells.to_csv(tmp_path / "a.csv", index=False)
        drawn = ncl(**small).draw(whole_numbers[["a", "b"]])
        with pytest.raises(ChunkError, match=r"a\.csv, row 5556: column 'a' holds 'many'"):
            scale.fit(drawn, tmp_path / "a.csv", target="y")


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"files are read by pyarrow.*negcorr\[cli\]"):
        open_files(tmp_path, "y", None, 9)
