"""Files of less than ten megabytes that would take far more memory or time than they show."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable

import numpy as np

__all__ = [
    "LARGE",
    "attributes",
    "feather",
    "gzip_of",
    "parquet",
    "same_text",
    "sheet_with",
    "wide",
    "with_part",
    "workbook",
    "zeros",
]

SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def gzip_of(piece: bytes, times: int) -> bytes:
    """A piece that is repeated, in gzip, made without holding all of it."""
    pack = zlib.compressobj(1, wbits=31)
    parts = [pack.compress(piece) for _ in range(times)]
    return b"".join([*parts, pack.flush()])


def workbook(cells: dict[str, object]) -> bytes:
    """A workbook of some cells."""
    import openpyxl

    book, stream = openpyxl.Workbook(), io.BytesIO()
    for place, value in cells.items():
        book.active[place] = value
    book.save(stream)
    return stream.getvalue()


def sheet_with(rows: str) -> bytes:
    """A workbook whose sheet is made of some XML."""
    return with_part(
        "xl/worksheets/sheet1.xml",
        f'<worksheet xmlns="{SHEETS}"><sheetData>{rows}</sheetData></worksheet>'.encode(),
    )


def with_part(name: str, data: bytes) -> bytes:
    """A workbook with another part in place of one."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook({"A1": "x", "A2": 1}))) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for part in old.namelist():
            new.writestr(part, data if part == name else old.read(part))
    return stream.getvalue()


def zip_of(piece: bytes, times: int) -> bytes:
    """A piece that is repeated, in a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.csv", piece * times)
    return stream.getvalue()


def parquet(columns: dict[str, object], times: int = 1) -> bytes:
    """Parquet of some columns, several times below each other."""
    import pyarrow
    import pyarrow.parquet

    stream, table = io.BytesIO(), pyarrow.table(columns)
    kept = {"compression": "zstd", "store_schema": False}
    with pyarrow.parquet.ParquetWriter(stream, table.schema, **kept) as writer:
        for _ in range(times):
            writer.write_table(table)
    return stream.getvalue()


def feather(columns: dict[str, object]) -> bytes:
    """Feather of some columns, compressed."""
    import pyarrow
    import pyarrow.feather

    stream = io.BytesIO()
    pyarrow.feather.write_feather(pyarrow.table(columns), stream, compression="zstd")
    return stream.getvalue()


def same_text(length: int, times: int) -> object:
    """A column of one long text, held once."""
    import pyarrow

    codes = pyarrow.array(np.zeros(times, dtype=np.int32))
    return pyarrow.DictionaryArray.from_arrays(codes, ["z" * length])


def zeros(n: int) -> object:
    """A column of zeros, which are the same bytes in all columns."""
    import pyarrow

    return pyarrow.array(ZEROS[:n])


def attributes(n: int) -> bytes:
    """The head of an ARFF file of many numbers."""
    return b"@relation r\n" + b"".join(b"@attribute x%d real\n" % k for k in range(n)) + b"@data\n"


#: Zeros, which take no memory until they are read.
ZEROS = np.zeros(2**26)

MEBIBYTE = b"1,2\n" * 2**18

#: Ending, and what makes the bytes.
LARGE: tuple[tuple[str, Callable[[], bytes]], ...] = (
    (".csv.gz", lambda: gzip_of(MEBIBYTE, 300)),
    (".csv.gz", lambda: gzip_of(b"\n" * 2**20, 300)),
    (".csv.gz", lambda: gzip_of(b"x" * 2**20, 200)),
    (".csv.gz", lambda: gzip_of("é".encode() * 2**19, 200)),
    (".csv.gz.gz", lambda: gzip.compress(gzip_of(MEBIBYTE, 300))),
    (".csv.gz", lambda: gzip.compress(b"x,y\n1,2\n") + b"\0" * 5_000_000),
    (".csv.bz2", lambda: bz2.compress(MEBIBYTE) * 300),
    (".csv.xz", lambda: lzma.compress(MEBIBYTE, preset=0) * 300),
    (".csv.zip", lambda: zip_of(MEBIBYTE, 300)),
    (".zip.gz", lambda: gzip.compress(zip_of(MEBIBYTE, 300))),
    (".xlsx", lambda: workbook({"A1": "x", "A2": 1, "XFD1048576": 1})),
    (".xlsx", lambda: workbook({"A1": "x", "A1048576": 1})),
    (".xlsx", lambda: sheet_with('<row r="1">' + "<c/>" * 2**23 + "</row>")),
    (".xlsx", lambda: sheet_with("<row/>" * 2**22)),
    (".xlsx", lambda: sheet_with('<row r="999999999999"><c><v>1</v></c></row>')),
    (".xlsx", lambda: with_part("xl/styles.xml", b"<styleSheet>" + b"<xf/>" * 2**20)),
    (".xlsx", lambda: with_part("xl/workbook.xml", entities() + b"<a>&z9;</a>")),
    (".xlsx", lambda: sheet_with("<!--" + "x<" * 25_000_000 + "-->")),
    (".xlsx", lambda: sheet_with(f'<row r="{"x" * 50_000_000}"/>')),
    (".csv", lambda: wide(99_999, 45)),
    (".csv", lambda: b"x,y\n1," + b"z" * 9_000_000 + b"\n2,b\n"),
    (".csv", lambda: b"x,y\n1,\xc3\xa9" + b"z" * 9_000_000 + b"\n2,b\n"),
    (".csv", lambda: b'x,y\n1,"' + b"z\n" * 4_000_000),
    (".csv", lambda: b"\n" * 5_000_000),
    (".csv", lambda: b"x,y\n" + b",\n" * 500_000),
    (".csv", lambda: b"," * 5_000_000),
    (".csv", lambda: b";".join(b"%x" % k for k in range(40_000)) + b"\n"),
    (".csv", lambda: b"x\n" + b" 07\n" * 500_000),
    (".arff", lambda: attributes(2_000) + b"{}\n" * 200_000),
    (".arff", lambda: attributes(120_000)),
    (".arff", lambda: b"@relation r\n@attribute x {" + b"a," * 500_000 + b"}\n@data\na\n" * 2),
    (".parquet", lambda: parquet({"x": np.zeros(2**21), "y": np.ones(2**21)}, 60)),
    (".parquet", lambda: parquet({f"c{k}": [1.0] for k in range(5_000)})),
    (".parquet", lambda: parquet({"x": same_text(1_000_000, 4_000)})),
    (".feather", lambda: feather({name: zeros(2**26) for name in "abcd"})),
)


def wide(n_columns: int, n_rows: int) -> bytes:
    """Many columns of ones."""
    header = b",".join(b"c%d" % k for k in range(n_columns))
    return b"\n".join([header, *[b",".join([b"1"] * n_columns)] * n_rows]) + b"\n"


def entities() -> bytes:
    """Entities of XML that double each other."""
    lines = [b"<!DOCTYPE a [<!ENTITY z0 '" + b"z" * 1000 + b"'>"]
    lines += [b"<!ENTITY z%d '" % k + b"&z%d;" % (k - 1) * 20 + b"'>" for k in range(1, 10)]
    return b"".join(lines) + b"]>"
