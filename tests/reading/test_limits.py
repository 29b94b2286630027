"""Files that are small and would take much memory or time: read or refused, in a child process."""

import gzip
import io
import lzma
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from negcorr.exceptions import TableError
from negcorr.reading import TableChunks, limits, read_table
from negcorr.reading.limits import Budget, damage_as_table_error

#: Address space of the child, which pandas and pyarrow take a good part of, and seconds.
ADDRESS_SPACE, SECONDS = 3 * 2**30, 60

#: Peak resident memory that the child may take beyond its imports.
MOST_KILOBYTES = 2 * 2**20

CHILD = """
import resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import pandas, pyarrow.parquet, pyarrow.feather, pyarrow.csv, openpyxl
from negcorr import read_table
from negcorr.exceptions import TableError
from negcorr.reading import TableChunks
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    if sys.argv[3] == "whole":
        print(read_table(sys.argv[2]).frame.shape)
    else:
        print(sum(len(frame) for frame in TableChunks.open(sys.argv[2])))
except TableError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def answer(file, how="whole"):
    """What reading comes to in a process of its own, within the limits."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(ADDRESS_SPACE), str(file), how],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, kilobytes = done.stdout.strip().splitlines()
    assert int(kilobytes) < MOST_KILOBYTES
    return said


def zeros_packed(pack, n_mebibytes):
    """Rows of one cell, packed by a compressor, block by block."""
    return pack.compress(b"x\n") + b"".join(
        [pack.compress(b"1\n" * 2**19) for _ in range(n_mebibytes)] + [pack.flush()]
    )


def gzipped(n_mebibytes):
    import zlib

    return zeros_packed(zlib.compressobj(9, wbits=31), n_mebibytes)


def far_cell():
    import openpyxl

    book, stream = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["x", "y"])
    book.active["XFD1048576"] = 1
    book.save(stream)
    return stream.getvalue()


def with_part(name, data):
    """A workbook with another part in place of one."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(far_cell())) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for part in old.namelist():
            new.writestr(part, data if part == name else old.read(part))
    return stream.getvalue()


def long_parquet():
    import pyarrow
    import pyarrow.parquet

    stream, table = io.BytesIO(), pyarrow.table({"x": np.zeros(10**6), "y": np.zeros(10**6)})
    with pyarrow.parquet.ParquetWriter(stream, table.schema) as writer:
        for _ in range(200):
            writer.write_table(table)
    return stream.getvalue()


FAR_NUMBER = '<worksheet xmlns="{}"><sheetData><row r="1">{}</row></sheetData></worksheet>'
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

SMALL = "x,y\n" + "1,2\n" * 300

#: Names, contents, how they are read, and what comes of it.
FILES = {
    "tiny gzip": ("a.csv.gz", lambda: gzip.compress(SMALL.encode()), "whole", "(300, 2)"),
    "gzip of gzip": (
        "a.csv.gz",
        lambda: gzip.compress(gzipped(512)),
        "whole",
        "limit of 256.0 MiB",
    ),
    "gzip": ("a.csv.gz", lambda: gzipped(512), "whole", "limit of 256.0 MiB"),
    "gzip in chunks": ("a.csv.gz", lambda: gzipped(512), "chunks", "limit of 256.0 MiB"),
    "gzip of rows": ("a.csv.gz", lambda: gzipped(128), "whole", "its cells take it over the limit"),
    "xz": (
        "a.csv.xz",
        lambda: zeros_packed(lzma.LZMACompressor(preset=0), 512),
        "whole",
        "limit of 256.0 MiB",
    ),
    "gzip of one line": (
        "a.csv.gz",
        lambda: gzip.compress(b"x,y\n1," + b"z" * 2**27),
        "chunks",
        "longer than the limit of 64.0 MiB",
    ),
    "far cell": ("a.xlsx", far_cell, "whole", "up to the last cell take it over the limit"),
    "many cells": (
        "a.xlsx",
        lambda: with_part(
            "xl/worksheets/sheet1.xml", FAR_NUMBER.format(SHEETS, "<c/>" * 2**24).encode()
        ),
        "whole",
        "its cells take it over the limit",
    ),
    "many styles": (
        "a.xlsx",
        lambda: with_part("xl/styles.xml", b"<styleSheet>" + b"<xf/>" * 10**6 + b"</styleSheet>"),
        "whole",
        "the limit is 200000",
    ),
    "long cell": ("a.csv", lambda: b"x,y\n1," + b"z" * 10**7 + b"\n2,b\n", "whole", "(2, 2)"),
    "blank cells": ("a.csv", lambda: b"x,y\n" + b",\n" * 10**5, "whole", "(100000, 2)"),
    "blank lines": ("a.csv", lambda: b"\n" * 204_000, "whole", "nothing in it but blanks"),
    "long header": ("a.csv", lambda: b"," * 82_000, "whole", "(0, 82001)"),
    "longer header": ("a.csv", lambda: b"," * 10**7, "whole", "the limit is 100000"),
    "rows of parquet": ("a.parquet", long_parquet, "whole", "its cells take it over the limit"),
    "cells of parquet": ("a.parquet", long_parquet, "chunks", "is 268435456 cells"),
    "sparse rows": (
        "a.arff",
        lambda: (
            b"@relation r\n" + b"@attribute x%d real\n" * 0 + many_attributes() + b"{}\n" * 10**5
        ),
        "whole",
        "its values take it over the limit",
    ),
}


def many_attributes():
    names = b"".join(b"@attribute x%d real\n" % k for k in range(2000))
    return names + b"@data\n"


@pytest.mark.parametrize("name", FILES)
def test_a_small_file_takes_little(tmp_path, name):
    ending, make, how, said = FILES[name]
    file = tmp_path / ending
    file.write_bytes(make())
    assert file.stat().st_size <= 10**7 + 100
    assert said in answer(file, how)


def test_a_budget_follows_the_file_and_the_machine(tmp_path, monkeypatch):
    file = tmp_path / "a.csv"
    file.write_bytes(b"")
    monkeypatch.setattr(limits, "available_bytes", lambda: 2**40)
    assert Budget.of(file).most == 3 * 2**29
    with file.open("wb") as stream:
        stream.truncate(10**9)
    assert Budget.of(file).most == 150 * 10**9
    monkeypatch.setattr(limits, "available_bytes", lambda: 24 * 10**9)
    assert Budget.of(file).most == 0.8 * 24e9
    monkeypatch.setattr(limits, "available_bytes", lambda: None)
    assert Budget.of(file).most == 150 * 10**9


def test_a_table_larger_than_memory_is_read_in_chunks_alone(tmp_path, monkeypatch):
    file = tmp_path / "a.csv"
    file.write_text("x,y\n" + "1.5,2.5\n" * 10_000, encoding="utf-8")
    monkeypatch.setattr(limits, "available_bytes", lambda: 10**6)
    with pytest.raises(TableError, match="too much memory to be read whole"):
        read_table(file)
    assert sum(len(frame) for frame in TableChunks.open(file)) == 10_000


@pytest.mark.parametrize("error", [RecursionError("deep"), KeyError("a"), OverflowError()])
def test_any_error_of_a_library_names_the_file(tmp_path, error):
    file = tmp_path / "a.csv"
    with pytest.raises(TableError, match=r"a\.csv is gzip but damaged: ") as found:
        with damage_as_table_error(file, "gzip"):
            raise error
    assert found.value.__cause__ is error


def test_memory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TableError, match="needs more memory"):
        with damage_as_table_error(tmp_path / "a.csv", "gzip"):
            raise MemoryError


def test_a_package_that_is_missing_is_no_damage(tmp_path):
    with pytest.raises(ImportError, match="pip"):
        with damage_as_table_error(tmp_path / "a.csv", "gzip"):
            raise ImportError("pip")


def test_a_zip_archive_inside_gzip_is_read(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.csv", SMALL)
    file = tmp_path / "a.csv.zip.gz"
    file.write_bytes(gzip.compress(stream.getvalue()))
    assert len(read_table(file).frame) == 300


def test_columns_without_names_are_counted(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("," * 99 + "\n" + "1," * 99 + "1\n", encoding="utf-8")
    notes = read_table(file).notes
    assert len(notes) == 21
    assert notes[-1] == "80 more columns have no name."
