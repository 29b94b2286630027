import bz2
import contextlib
import csv
import datetime
import gzip
import io
import lzma
import sys
import threading
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from negcorr.exceptions import TableError
from negcorr.reading.file_format import TableFile
from negcorr.reading.table import Table, read_table, text_columns

PLAIN = b"x,y\n1,2.5\n3,4\n"


@pytest.fixture
def read(tmp_path):
    def write_and_read(content, name="data.csv"):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(file)

    return write_and_read


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return buffer.getvalue()


def assert_plain(table, *notes):
    assert table.frame.to_dict("list") == {"x": [1, 3], "y": [2.5, 4.0]}
    assert table.frame["x"].dtype == np.int64
    assert len(table.notes) == len(notes)
    for note, part in zip(table.notes, notes, strict=True):
        assert part in note


def test_plain_file_has_no_notes(read):
    table = read(PLAIN)
    assert isinstance(table, Table)
    assert_plain(table)
    assert repr(table) == "Table(data.csv: 2 rows, 2 columns)"
    assert table.path.name == "data.csv"


@pytest.mark.parametrize(
    ("pack", "ending"), [(gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")]
)
def test_compressed(read, pack, ending):
    assert_plain(read(pack(PLAIN), "data.csv" + ending))
    assert_plain(read(pack(PLAIN)), "whatever its ending says")
    assert_plain(read(PLAIN, "data.csv" + ending), "is text, whatever its ending says")
    with pytest.raises(TableError, match="damaged"):
        read(pack(PLAIN * 100)[:-9], "data.csv" + ending)


def test_zip(read):
    assert_plain(read(zipped(data__csv=PLAIN), "data.zip"))
    assert_plain(read(zipped(data__csv=PLAIN)), "data.csv is a zip archive")
    with pytest.raises(TableError, match=r"must hold one file; it is a zip archive of a\.csv, b"):
        read(zipped(a__csv=PLAIN, b__csv=PLAIN), "data.zip")
    with pytest.raises(TableError, match="archive of nothing"):
        read(zipped(), "data.zip")
    with pytest.raises(TableError, match="damaged"):
        read(zipped(data__csv=PLAIN)[:40], "data.zip")
    with pytest.raises(TableError, match="empty inside"):
        read(zipped(data__csv=b""), "data.zip")


def test_archives_in_archives_end(read):
    data = PLAIN
    for _ in range(8):
        data = gzip.compress(data)
    with pytest.raises(TableError, match="archive in an archive"):
        read(data, "data.csv.gz")


def test_archive_that_grows_without_end(read, monkeypatch):
    monkeypatch.setattr("negcorr.reading.limits.LEAST_UNPACKED", 1000)
    with pytest.raises(TableError, match="unpacks to more than the limit"):
        read(gzip.compress(b"1\n" * 10**6), "data.csv.gz")


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_arrow_files(tmp_path, kind):
    frame = pd.DataFrame({"x": [1, 3], "y": [2.5, 4.0]})
    file = tmp_path / f"data.{kind}"
    getattr(frame, f"to_{kind}")(file)
    assert_plain(read_table(file))
    other = tmp_path / "data.csv"
    other.write_bytes(file.read_bytes())
    assert_plain(read_table(other), f"is {kind.title()}, whatever its ending says")
    other.write_bytes(file.read_bytes()[:60])
    with pytest.raises(TableError, match="damaged"):
        read_table(other)


def test_parquet_keeps_types_and_stored_indices(tmp_path):
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["a", "b"]),
            "t": pd.to_datetime(["2024-01-31"] * 2).tz_localize("UTC"),
        },
        index=pd.Index(["r", "s"], name="row"),
    )
    frame.to_parquet(tmp_path / "data.parquet")
    found = read_table(tmp_path / "data.parquet").frame
    assert found["row"].tolist() == ["r", "s"]
    assert found["c"].dtype == "category"
    assert str(found["t"].dt.tz) == "UTC"
    frame.iloc[:0].to_parquet(tmp_path / "none.parquet")
    assert read_table(tmp_path / "none.parquet").notes == ("there is no row.",)


def workbook(tmp_path, rows, *others):
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in others:
        book.create_sheet(title)
    file = tmp_path / "data.xlsx"
    book.save(file)
    return file


def test_excel(tmp_path):
    day = datetime.datetime(2024, 1, 31)
    rows = [["x", "y", "kind", "day"], [1, 2.5, "a", day], [3, "NA", None, None]]
    table = read_table(workbook(tmp_path, rows, "other"))
    assert table.frame["x"].tolist() == [1, 3]
    np.testing.assert_array_equal(table.frame["y"], [2.5, np.nan])
    assert table.frame["kind"].tolist() == ["a", None]
    assert table.frame["day"].dtype.kind == "M"
    assert "others: other" in table.notes[0]
    assert "1 'NA' read as missing" in table.notes[1]


def test_odd_sheets(tmp_path):
    table = read_table(workbook(tmp_path, [[], ["x", None], [1, None], [], [2, None]]))
    assert table.frame.to_dict("list") == {"x": [1, 2]}
    table = read_table(workbook(tmp_path, [[1, 2], [3, 4]]))
    assert list(table.frame.columns) == ["column_1", "column_2"]
    with pytest.raises(TableError, match="has no cells"):
        read_table(workbook(tmp_path, []))
    with pytest.raises(TableError, match="same name: 'x' in columns 1, 2"):
        read_table(workbook(tmp_path, [["x", "x"], [1, 2]]))
    file = workbook(tmp_path, [["x"], [1]])
    with zipfile.ZipFile(file) as archive:
        broken = zipped(**{"xl/workbook__xml": archive.read("xl/workbook.xml")[:50]})
    file.write_bytes(broken)
    with pytest.raises(TableError, match="Excel file but damaged"):
        read_table(file)
    assert len(read_table(workbook(tmp_path, [["x", "y"]])).frame) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty: 0 bytes"),
        (b" \n\n \n", "nothing in it but blanks"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\xd0\xcf\x11\xe0" + bytes(100), "old Excel"),
        (b"SQLite format 3\0", "SQLite"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"a,b\n1,\x002\n", "line 2: a NUL byte"),
        ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16 without a byte order mark"),
        (b"\xff\xfea\x00,\x00b", "mark of UTF-16 but is not"),
        (b"a,b\n1,2\n3\n", "line 3: 1 cell where the header has 2; the line begins with '3'"),
        (b"a,b\n1,2\n3,4,5\n", "line 3: 3 cells"),
        (b'a,b\n"x\ny",2\n3\n', "line 4: 1 cell"),
        (b'a,b\n1,"2\n3,4\n', "line 2: unexpected end of data"),
        (b'a,b\n1,"2"3\n', "line 2: ',' expected"),
        (b"a,b,a\n1,2,3\n", "same name: 'a' in columns 1, 3. Rename"),
    ],
)
def test_what_is_refused(read, content, message):
    with pytest.raises(TableError, match=message):
        read(content)


def test_places_without_a_file(tmp_path):
    (tmp_path / "data.csv").write_bytes(PLAIN)
    with pytest.raises(TableError, match=r"datq\.csv does not exist; did you mean data\.csv\?"):
        read_table(tmp_path / "datq.csv")
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "no" / "such.csv")
    with pytest.raises(TableError, match=r"is a folder; give .* it holds data\.csv"):
        read_table(tmp_path)
    with pytest.raises(TableError, match="cannot be read"):
        read_table("a\0b")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(read, delimiter):
    table = read(delimiter.join("xyz") + "\n" + delimiter.join(["1", '"a,b;c|d\te"', "2"]) + "\n")
    assert table.frame.to_dict("list") == {"x": [1], "y": ["a,b;c|d\te"], "z": [2]}
    assert len(table.notes) == (delimiter != ",")


def test_tsv_is_cut_by_tabs(read):
    table = read("a,b\tc\n1,5\t2\n", "data.tsv")
    assert list(table.frame.columns) == ["a,b", "c"]
    assert read("x\n1\n", "data.tsv").frame["x"].tolist() == [1]


def test_decimal_commas(read):
    table = read("a;b;c;d;e\n1,5;1.000;x;1.5;0.125\n-2;12.500,25;y;2.5;?\n")
    assert table.frame["a"].tolist() == [1.5, -2.0]
    assert table.frame["b"].tolist() == [1000.0, 12500.25]
    assert table.frame["d"].tolist() == [1.5, 2.5]
    assert table.frame["e"][0] == 0.125
    assert "separated by semicolons" in table.notes[0]
    assert "decimal commas" in table.notes[1]
    headless = read("1,5;2,5\n3,5;4\n")
    assert headless.frame["column_1"].tolist() == [1.5, 3.5]
    # Points that group digits by three do not make numbers of the words beside them.
    assert read("a;b\n1.500;1,5\nword;2\n").frame["a"].tolist() == ["1.500", "word"]
    # Commas between digits are not decimal where they cut cells.
    assert read("a,b\n1,5\n").frame.to_dict("list") == {"a": [1], "b": [5]}


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("latin-1", "line 1 is not UTF-8"),
        ("cp1252", "Windows-1252"),
    ],
)
def test_encodings(read, encoding, note):
    table = read("größe,x\né,1\n".encode(encoding))
    assert table.frame["größe"].tolist() == ["é"]
    assert len(table.notes) == (note is not None)
    assert note is None or note in table.notes[0]


def test_bytes_that_windows_does_not_have(read):
    assert "Latin-1" in read(b"a,b\n\x81\xe9,1\n").notes[0]


def test_odd_cells_and_names(read):
    name, cell = "<img src=x onerror=alert(1)>", '🎉\n"q"'
    buffer = io.StringIO()
    csv.writer(buffer).writerows([[name, "x"], [cell, 1], ["b" * 10**6, 2]])
    table = read(buffer.getvalue())
    assert table.frame[name].tolist() == [cell, "b" * 10**6]
    assert table.notes == ()
    assert csv.field_size_limit() == 131072


def test_names_that_are_not_there(read):
    table = read(",x, ,column_4,\n1,2,3,4,\n5,6,7,8,\n")
    assert list(table.frame.columns) == ["column_1", "x", "column_3", "column_4"]
    assert sum("has no name" in note for note in table.notes) == 2
    assert "column 5 has neither a name nor values" in table.notes[-1]
    assert list(read("column_2,\n1,2\n").frame.columns) == ["column_2", "column_2_"]


def test_header_that_is_not_there(read):
    table = read("1,2\n3,NA\n")
    assert table.frame["column_1"].tolist() == [1, 3]
    assert "numbers only" in table.notes[0]
    assert len(read("a,b\n").frame) == 0
    assert read("a,b\n").notes == ("there is a header and no row.",)


def test_row_names_and_delimiters_at_the_end(read):
    table = read("x,y\nr1,1,2\nr2,3,4\n")
    assert table.frame["column_1"].tolist() == ["r1", "r2"]
    assert table.frame["y"].tolist() == [2, 4]
    assert read("x,y\n1,2,\n3,4,\n").frame.to_dict("list") == {"x": [1, 3], "y": [2, 4]}
    with pytest.raises(TableError, match="line 2: 3 cells"):
        read("x,y\n1,1,2\n1,3,4\n")


def test_columns_of_text_need_no_pandas(tmp_path, monkeypatch):
    """They are those of the data frame, and so are the notes."""
    path = tmp_path / "sizes.csv.gz"
    text = "size;n;kind\n1,5;1;a\n\n?;2;\n2;3;-\n"
    path.write_bytes(gzip.compress(text.encode()))
    table = read_table(path)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pandas", None)
        file = TableFile.find(path)
        columns, notes = text_columns(file)
        with pytest.raises(ImportError, match=r"tables are read into data frames of pandas, which"):
            read_table(path)
    assert {name: cells.dtype for name, cells in columns.items()} == dict(table.frame.dtypes)
    for name, cells in columns.items():
        np.testing.assert_array_equal(cells, table.frame[name].to_numpy())
    assert (*file.notes, *notes) == table.notes
    assert len(notes) == 4


def test_blank_lines(read):
    table = read("x,y\r\n\r\n1,2\r\n\r\n3,4\r\n\r\n\r\n")
    assert table.frame["x"].tolist() == [1, 3]
    assert "2 blank lines" in table.notes[0]


def test_marks_of_missing_values(read):
    marks = ["NA", "N/A", "?", "-", "", "null", "NaN"]
    table = read("x,w\n" + "".join(f"{mark},{mark}\n" for mark in marks) + "1.5,word\n")
    assert table.frame["x"].isna().tolist() == [True] * 7 + [False]
    # In text they may be words.
    assert table.frame["w"].tolist() == ["NA", "N/A", "?", "-", None, "null", "NaN", "word"]
    assert "1 '?'" in table.notes[0]
    assert len(table.notes) == 1


def test_columns_that_are_nearly_numbers(read):
    rows = "".join(f"{i},0{i}\n" for i in range(20))
    table = read("x,code\nbad,07\n" + rows)
    assert table.frame["code"].tolist()[:2] == ["07", "00"]
    assert any("'bad' is no number; all others are" in note for note in table.notes)
    assert any("begins with a zero" in note for note in table.notes)


def test_whole_numbers(read):
    frame = read("a,b,c,d\n1,1.0,9007199254740993,\n2,2.0,1,5\n").frame
    assert [str(t) for t in frame.dtypes] == ["int64", "float64", "float64", "float64"]


def test_threads_read_at_once(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text("x,y\n" + "1," + "a" * 200_000 + "\n", encoding="utf-8")
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(len(read_table(file).frame))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8


CELLS = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=6)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5))
def test_text_survives_being_written_and_read(read, rows):
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([["a", "b", "c"], *[["w" + cell for cell in row] for row in rows]])
    frame = read(buffer.getvalue()).frame
    assert frame.to_numpy().tolist() == [["w" + cell for cell in row] for row in rows]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_reason(read, data):
    with contextlib.suppress(TableError):
        assert read(data).frame.shape[1] >= 1


def test_names_that_look_like_values_are_doubted(tmp_path):
    (tmp_path / "bare.csv").write_text("165721,flat\n170000,house\n", encoding="utf-8")
    notes = read_table(tmp_path / "bare.csv").notes
    assert any("'165721' is a number: if it is a row" in note for note in notes)


def test_a_title_above_the_header_of_a_sheet_is_skipped(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Sales of May"], [None], ["size", "price"], [1, 2.5], [3, 4.5]):
        book.active.append(row)
    book.save(tmp_path / "may.xlsx")
    table = read_table(tmp_path / "may.xlsx")
    assert table.frame.to_dict("list") == {"size": [1, 3], "price": [2.5, 4.5]}
    assert any("'Sales of May' stands alone" in note for note in table.notes)
