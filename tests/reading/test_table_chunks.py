"""Chunks of a table hold what read_table reads, whatever the file is like."""

import bz2
import gzip
import io
import lzma
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from negcorr.columns.cells import level_names
from negcorr.columns.kinds import infer_columns
from negcorr.exceptions import TableError
from negcorr.reading import table_chunks as large_files
from negcorr.reading import text_bytes, text_source
from negcorr.reading.number_cells import as_numbers
from negcorr.reading.schema import Schema
from negcorr.reading.table import read_table
from negcorr.reading.table_chunks import TableChunks, is_large

pyarrow = pytest.importorskip("pyarrow")

ODD = {
    "plain": b"a,b\n1,x\n2,\n?,z\n",
    "quotes, newlines and doubled quotes": b'a,b\n1,"x,\n""y"""\n2,z\n',
    "a space before a quote": b'a, b\n1, "x, y"\n2, z\n',
    "a quote within a cell": b'a,b\n1,5" pipe\n2,6" pipe\n',
    "spaces within quotes, and before cells": b'a,b\n1," x"\n2,  y\n',
    "spaces before numbers": b"a,b\n 1,  x\n  ?, y\n",
    "semicolons and decimal commas": b"a;b;c\n1,5;x;1\n1.234,5;y;1.234\n",
    "semicolons and points": b"a;b\n1.5;x\n2.25;y\n",
    "latin-1": "a,b\n1,é\n2,z\n".encode("latin-1"),
    "bytes that windows does not know": b"a,b\n1,\x81\xe9\n2,z\n",
    "utf-8 with a mark": "a,b\n1,é\n".encode("utf-8-sig"),
    "utf-16": "a;b\n1;é\n2;x\n".encode("utf-16"),
    "utf-32": "a|b\n1|é\n2|x\n".encode("utf-32"),
    "no header": b"1,2\n3,4\n",
    "a delimiter at the end of lines": b"a,b\n1,2,\n3,4,\n",
    "a delimiter at the end of all lines": b"a,b,\n1,2,\n3,4,\n",
    "names of rows": b"a,b\nr1,1,2\nr2,3,4\n",
    "a column without a name": b"a,,c\n1,2,3\n4,5,6\n",
    "header only": b"a,b\n",
    "blank lines": b"\n\na,b\n\n1,2\n  \n3,4\n\n",
    "one column": b"a\n1\n\n2\n \n",
    "codes": b"a,b\n007,1\n008,2\n",
    "signs and exponents": b"a,b\n+1,-.5\n-2,1e3\n0,2.\n",
    "infinite": b"a,b\ninf,1\n2,-Infinity\n",
    "spreadsheet errors": b"a,b\n#N/A,1\n2,#DIV/0!\n3,4\n",
    "underscores": b"a,b\n1_000,1\n2,2\n",
    "old line ends": b"a,b\r1,2\r3,4\r",
    "windows line ends": b"a,b\r\n1,2\r\n3,4\r\n",
    "tabs": b"a\tb\n1\tx y\n2\tz\n",
    "money and dates": b'a,b\n"$1,200",2024-01-31\n$5,2024-02-01\n',
    "rows of empty cells": b"a\tb\n\t\n1\tx\n\t\n",
    "marks in text": b"a,b\nNA,1\nword,2\n",
    "no line end": b"a,b\n1,2",
}


def both(path, block=1):
    """The file by both readers, as frames; the second one's columns by the first rows."""
    chunks = TableChunks.open(path, block=block)
    frames = list(chunks)
    assert all(0 < len(frame) <= block for frame in frames)
    empty = pd.DataFrame(columns=list(chunks.names))
    return read_table(path), pd.concat(frames, ignore_index=True) if frames else empty


def read_or_refused(path):
    """The table, or what is wrong with it."""
    try:
        return read_table(path), ""
    except TableError as error:
        return None, str(error)


def assert_same_cells(one, other):
    assert list(one.columns) == list(other.columns)
    assert len(one) == len(other)
    for name in one.columns:
        numeric = one[name].dtype.kind in "if"
        assert numeric == (other[name].dtype.kind == "f") or not len(one), name
        if numeric:
            found = [as_numbers(frame[name], "plain", name) for frame in (one, other)]
            np.testing.assert_array_equal(*found)
        assert level_names(one[name]).tolist() == level_names(other[name]).tolist()


@pytest.mark.parametrize("block", [1, 2, 100])
@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
def test_chunks_hold_what_read_table_reads(tmp_path, content, block):
    file = tmp_path / "data.csv"
    file.write_bytes(content)
    whole, joined = both(file, block)
    assert_same_cells(whole.frame, joined)


WRONG = {
    "too few cells": b"a,b\n1,2\n3\n",
    "too many cells": b"a,b\n1,2\n3,4,5\n",
    "quotes without end": b'a,b\n1,"2\n3,4\n',
    "text after quotes": b'a,b\n1,"2"x\n3,4\n',
    "a comma in half a quote": b'a,b\n1,"a,"b"\n2,"a,"b"\n',
    "a NUL byte": b"a,b\n1,\0\n",
    "names twice": b"a,a\n1,2\n",
    "blanks": b"   \n",
    "nothing": b"",
    "a web page": b"<!DOCTYPE html><html></html>",
    "a broken mark": b"\xef\xbb\xbfa,b\n1,\xff\n",
    "half of gzip": gzip.compress(b"a,b\n" + b"1,2\n" * 5000)[:-20],
    "gzip of nothing": gzip.compress(b""),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_errors_are_those_of_read_table(tmp_path, content):
    file = tmp_path / "data.csv"
    file.write_bytes(content)
    with pytest.raises(TableError) as expected:
        read_table(file)
    with pytest.raises(TableError) as found:
        list(TableChunks.open(file))
    assert str(found.value) == str(expected.value)


def test_paths_that_are_no_files(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    for name in ("dat.csv", "."):
        with pytest.raises(TableError) as expected:
            read_table(tmp_path / name)
        with pytest.raises(TableError) as found:
            is_large(tmp_path / name)
        assert str(found.value) == str(expected.value)


def test_a_width_that_changes_far_down_names_the_line(tmp_path, monkeypatch):
    monkeypatch.setattr(text_source, "HEAD_BYTES", 100)
    file = tmp_path / "data.csv"
    file.write_text('a,b\n1,"x\ny"\n' + "1,2\n" * 500 + "3\n" + "1,2\n" * 500)
    with pytest.raises(TableError, match=r"line 504: 1 cell where the header has 2"):
        list(TableChunks.open(file))


CELLS = st.one_of(
    st.sampled_from(["", " ", "NA", "?", "x", "007", "1,5", "-", "0", "é", "a b", " q", '"', "\n"]),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, width=32).map(str),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
)


def test_points_among_decimal_commas_are_text_in_settled_chunks_too(tmp_path, monkeypatch):
    file = tmp_path / "data.csv"
    file.write_text("name 0;name 1\n;\n;1,5\n;0.0\n")
    monkeypatch.setattr(text_bytes, "BLOCK_BYTES", 7)
    monkeypatch.setattr(text_source, "HEAD_ROWS", 2)
    settled = TableChunks.open(file, block=2).settled()
    assert_same_cells(read_table(file).frame, pd.concat(list(settled), ignore_index=True))


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(1, 3).flatmap(lambda d: st.lists(st.tuples(*[CELLS] * d), min_size=1, max_size=6)),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-16"]),
    st.booleans(),
)
def test_any_table_is_read_alike(tmp_path, rows, delimiter, end, encoding, always):
    import csv

    stream = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if always else csv.QUOTE_MINIMAL
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow([f"name {j}" for j in range(len(rows[0]))])
    writer.writerows(rows)
    file = tmp_path / "data.csv"
    file.write_bytes(stream.getvalue().encode(encoding))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_bytes, "BLOCK_BYTES", 7)
        whole, message = read_or_refused(file)
        if whole is None:
            with pytest.raises(TableError, match=re.escape(message)):
                list(TableChunks.open(file))
            return
        chunks = TableChunks.open(file, block=2)
        frames = list(chunks)
        if len(whole.frame):
            assert_same_cells(whole.frame, pd.concat(frames, ignore_index=True))
        # The first rows alone may show other kinds of columns than all rows have.
        patched.setattr(text_source, "HEAD_ROWS", 2)
        settled = TableChunks.open(file, block=2).settled()
        if len(whole.frame):
            assert_same_cells(whole.frame, pd.concat(list(settled), ignore_index=True))


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text('a", \n', max_size=24))
def test_any_quotes_are_read_alike_or_refused_alike(tmp_path, body):
    file = tmp_path / "data.csv"
    file.write_text("p,q\n" + body, encoding="utf-8", newline="")
    whole, message = read_or_refused(file)
    if whole is None:
        with pytest.raises(TableError, match=re.escape(message)):
            list(TableChunks.open(file))
        return
    frames = list(TableChunks.open(file, block=3))
    assert len(whole.frame) == sum(map(len, frames))
    if frames:
        assert_same_cells(whole.frame, pd.concat(frames, ignore_index=True))


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress], ids=lambda f: f.__module__
)
def test_archives_are_taken_apart_on_the_way(tmp_path, pack):
    file = tmp_path / "data.csv.gz"
    file.write_bytes(pack(ODD["semicolons and decimal commas"]))
    whole, joined = both(file, 2)
    assert_same_cells(whole.frame, joined)
    assert set(whole.notes[:-1]) <= set(TableChunks.open(file).notes)


def test_zip_of_gzip_of_text(tmp_path):
    file = tmp_path / "data.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("inner.csv.gz", gzip.compress(ODD["latin-1"]))
    whole, joined = both(file)
    assert_same_cells(whole.frame, joined)
    assert not is_large(file)


FRAME = pd.DataFrame(
    {
        "n": [1, 2, 3, 4, 5],
        "x": [1.5, None, 3.0, np.inf, 2.0],
        "kind": ["a", None, "b", "", "a"],
        "day": pd.date_range("2024-01-01", periods=5),
        "cat": pd.Categorical(["u", "v", "u", None, "u"]),
        "flag": [True, False, True, True, False],
    }
)


def written(folder, ending):
    file = folder / f"data.{ending}"
    if ending == "parquet":
        FRAME.to_parquet(file, row_group_size=2)
    elif ending == "feather":
        pyarrow.feather.write_feather(FRAME, file, chunksize=2)
    else:
        pytest.importorskip("openpyxl")
        FRAME.to_excel(file, index=False)
    return file


@pytest.mark.parametrize("ending", ["parquet", "feather", "xlsx"])
def test_formats_with_types(tmp_path, ending):
    import pyarrow.feather  # noqa: F401

    file = written(tmp_path, ending)
    whole, joined = both(file, 2)
    for name in FRAME:
        assert level_names(joined[name]).tolist() == level_names(whole.frame[name]).tolist()
    one = infer_columns(whole.frame, "n")
    assert not is_large(file)
    by_schema = TableChunks.open(file, one, block=2)
    assert (by_schema.kinds["kind"], by_schema.kinds["x"]) == ("level", "typed")
    found = np.concatenate([level_names(frame["kind"]) for frame in by_schema])
    assert found.tolist() == level_names(whole.frame["kind"]).tolist()


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_formats_with_types_that_are_damaged(tmp_path, ending):
    import pyarrow.feather  # noqa: F401

    file = written(tmp_path, ending)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(TableError, match="but damaged"):
        TableChunks.open(file)


def test_what_is_large(tmp_path, monkeypatch):
    file = tmp_path / "data.csv"
    file.write_bytes(ODD["plain"] * 10)
    packed = tmp_path / "data.csv.gz"
    packed.write_bytes(b"\x1f\x8b" + b" " * 20)
    parquet = written(tmp_path, "parquet")
    arff = tmp_path / "data.arff"
    arff.write_text("@relation r\n@attribute a numeric\n@data\n" + "1\n" * 100)
    assert not is_large(file)
    monkeypatch.setattr(large_files, "LARGE_TEXT_BYTES", 30)
    monkeypatch.setattr(large_files, "LARGE_CELLS", 29)
    assert is_large(file)
    assert is_large(parquet)
    assert not is_large(arff)


def test_a_schema_says_how_cells_are_read(tmp_path):
    frame = pd.DataFrame(
        {
            "size": [1.5, 2.0, 3.0],
            "zone": [1, 2, 1],
            "word": ["a", "b", "a"],
            "cost": ["$1", "$2", "$3"],
            "y": [1.0, 2.0, 4.0],
        }
    )
    schema = Schema.from_json(infer_columns(frame, "y", categorical=["zone"]).to_json())
    file = tmp_path / "new.csv"
    file.write_text("more;cost;word;zone;size\nx;$5;c;1.0;2\ny;$6;?;X;?\nz;$7; b;;1,5\n")
    new = next(iter(TableChunks.open(file, schema)))
    assert level_names(new["zone"]).tolist() == ["1", "X", "(missing)"]
    assert level_names(new["word"]).tolist() == ["c", "?", "b"]
    np.testing.assert_array_equal(new["size"], [2.0, np.nan, 1.5])
    assert new["cost"].tolist() == ["$5", "$6", "$7"]
    assert new["more"].tolist() == ["x", "y", "z"]


def test_a_cell_that_is_no_number_far_down(tmp_path, monkeypatch):
    monkeypatch.setattr(text_source, "HEAD_ROWS", 50)
    file = tmp_path / "data.csv"
    file.write_text("a,b\n" + "1,2\n" * 300 + "1,two\n" + "1,2\n" * 10)
    with pytest.raises(
        TableError, match=r"row 301: column 'b' holds 'two', which is no number.*drop"
    ):
        list(TableChunks.open(file, block=64))
    frames = list(TableChunks.open(file, block=64).reading({"a": "number", "b": "level"}))
    assert level_names(pd.concat(frames)["b"])[300] == "two"
    file.write_text("a,b\n" + "1,2\n" * 300 + "1,02\n")
    with pytest.raises(TableError, match=r"row 301: column 'b' holds '02'"):
        list(TableChunks.open(file, block=64))


def test_a_column_without_a_name_that_fills_far_down(tmp_path, monkeypatch):
    monkeypatch.setattr(text_source, "HEAD_ROWS", 50)
    file = tmp_path / "data.csv"
    file.write_text("a,b,\n" + "1,2,\n" * 300 + "1,2,3\n")
    with pytest.raises(TableError, match=r"column 3 has no name .* holds '3' further down"):
        list(TableChunks.open(file))


def test_cells_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(text_source, "BLOCK_BYTES", 2**10)
    monkeypatch.setattr(text_source, "HEAD_BYTES", 2**9)
    file = tmp_path / "data.csv"
    file.write_text("a,b\n" + "1,x\n" * 600 + "2," + "y" * 5000 + "\n3,z\n")
    whole, joined = both(file, 1000)
    assert_same_cells(whole.frame, joined)


def test_block_must_be_a_positive_integer(tmp_path):
    file = tmp_path / "data.csv"
    file.write_bytes(ODD["plain"])
    with pytest.raises(ValueError, match="block=0 must be at least 1"):
        TableChunks.open(file, block=0)
    assert repr(TableChunks.open(file)) == "TableChunks(data.csv: 2 columns)"


@pytest.mark.parametrize(
    ("head", "rest", "kind", "note"),
    [
        ("1\n2\n", "many\n3\n", "text", "column 'a': text, since not all of its cells"),
        ("1\n2\n", "?\n3\n", "number", None),
        ("1,5;x\n2;y\n", "many;z\n", "text", "column 'a': text, since not all of its cells"),
        ("15;x\n2;y\n", "1,5;z\n", "comma", "column 'a': decimal commas."),
    ],
)
def test_kinds_are_settled_by_all_cells(tmp_path, monkeypatch, head, rest, kind, note):
    monkeypatch.setattr(text_source, "HEAD_ROWS", 2)
    monkeypatch.setattr(text_bytes, "BLOCK_BYTES", 4)
    file = tmp_path / "data.csv"
    file.write_text("a\n" + head + rest if ";" not in head else "a;b\n" + head + rest)
    settled = TableChunks.open(file).settled()
    assert settled.kinds["a"] == kind
    assert_same_cells(read_table(file).frame, pd.concat(list(settled), ignore_index=True))
    assert any(note in each for each in settled.notes) if note else not settled.notes[1:]


class TestKindsThatSettle:
    """Of a text whose first rows show less than all of them."""

    @pytest.mark.parametrize(
        ("last", "kind"),
        [("2.5", "number"), ("?", "number"), ("007", "text"), ("-01", "text"), ("red", "text")],
    )
    def test_are_those_of_all_cells(self, last, kind, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("\n".join(["x,y", *["1,2"] * 6000, f"{last},3"]))
        first = TableChunks.open(path, block=4000)
        assert first.kinds == {"x": "number", "y": "number"}
        settled = first.settled()
        assert settled.kinds == {"x": kind, "y": "number"}
        assert (settled is first) == (kind == "number")
        assert settled.settled() is settled
        frames = list(settled)
        assert [len(frame) for frame in frames] == [4000, 2001]
        wanted = {"2.5": 2.5, "?": np.nan}.get(last, last)
        np.testing.assert_equal(frames[-1]["x"].iloc[-1], wanted)

    def test_of_typed_files_are_known(self, tmp_path):
        path = tmp_path / "a.parquet"
        pd.DataFrame({"x": [1.0]}).to_parquet(path)
        chunks = TableChunks.open(path)
        assert chunks.settled() is chunks


@pytest.mark.parametrize("read", [read_table, lambda path: list(TableChunks.open(path))])
def test_damaged_places_of_cells_are_refused(tmp_path, read):
    """Places of cells beyond the text would make pyarrow read what is not there."""
    import pyarrow
    import pyarrow.feather

    file, words = tmp_path / "data.feather", [f"word {k}" for k in range(50)]
    table = pyarrow.table({"word": words})
    pyarrow.feather.write_feather(table, file, compression="uncompressed")
    places = np.cumsum([0, *map(len, words)], dtype=np.int32)
    content = file.read_bytes()
    assert places.tobytes() in content
    damaged = places.copy()
    damaged[10] = 2**30
    file.write_bytes(content.replace(places.tobytes(), damaged.tobytes()))
    with pytest.raises(TableError, match="is Feather but damaged"):
        read(file)
