"""Files that are small and would take much memory or time: read or refused, in a child process."""

import gzip
import io
import lzma
import subprocess
import sys
import zipfile

import pyarrow
import pyarrow.parquet
import pytest
from hostile.large_contents import (
    attributes,
    feather,
    gzip_of,
    parquet,
    same_text,
    sheet_with,
    wide,
    with_part,
    workbook,
    zeros,
)

from negcorr.exceptions import TableError
from negcorr.reading import TableChunks, limits, read_table
from negcorr.reading.limits import Budget, damage_as_table_error

#: Address space of the child, of which pandas and pyarrow map a good part, and its seconds of work
#: for each file.
ADDRESS_SPACE, SECONDS = 3 * 2**30, 60

#: Peak resident memory that the child may take beyond its imports.
MOST_KILOBYTES = 2 * 2**20

CHILD = """
import resource, sys, time
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import pandas, pyarrow.parquet, pyarrow.feather, pyarrow.csv, openpyxl
from negcorr import read_table
from negcorr.exceptions import TableError
from negcorr.reading import TableChunks
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for file, how in zip(sys.argv[2::2], sys.argv[3::2]):
    began = time.process_time()
    try:
        if how == "whole":
            said = read_table(file).frame.shape
        else:
            said = sum(len(frame) for frame in TableChunks.open(file))
    except TableError as error:
        said = error
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(time.process_time() - began, taken, said)
"""

SMALL = "x,y\n" + "1,2\n" * 300
ROWS = b"1,2\n" * 2**18

#: Names, contents, how they are read, and what comes of it.
FILES = {
    "tiny gzip": ("a.csv.gz", lambda: gzip.compress(SMALL.encode()), "whole", "(300, 2)"),
    "gzip of gzip": (
        "b.csv.gz",
        lambda: gzip.compress(gzip_of(ROWS, 260)),
        "whole",
        "limit of 256.0 MiB",
    ),
    "gzip": ("c.csv.gz", lambda: gzip_of(ROWS, 260), "whole", "limit of 256.0 MiB"),
    "gzip in chunks": ("d.csv.gz", lambda: gzip_of(ROWS, 260), "chunks", "limit of 256.0 MiB"),
    "xz": ("e.csv.xz", lambda: lzma.compress(ROWS, preset=0) * 260, "whole", "limit of 256.0 MiB"),
    "one line": ("f.csv.gz", lambda: gzip_of(b"z" * 2**20, 70), "chunks", "limit of 64.0 MiB"),
    "far cell": ("g.xlsx", lambda: workbook({"A1": "x", "XFD1048576": 1}), "whole", "to the last"),
    "many cells": ("h.xlsx", lambda: sheet_with("<c/>" * 2**23), "whole", "its cells take it over"),
    "styles": ("i.xlsx", lambda: with_part("xl/styles.xml", b"<xf/>" * 10**6), "whole", "200000"),
    "long comment": (
        "u.xlsx",
        lambda: sheet_with("<!--" + "x<" * 10**7 + "-->"),
        "whole",
        "longer than the limit of 1.0 MiB",
    ),
    "long attribute": (
        "v.xlsx",
        lambda: sheet_with(f'<row r="{"x" * 10**7}"/>'),
        "whole",
        "longer than the limit of 1.0 MiB",
    ),
    "short comments": (
        "w.xlsx",
        lambda: sheet_with(
            "<!-- < --><![CDATA[ ]]>" * 2**16
            + '<row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="A2"><v>2</v></c></row>'
        ),
        "whole",
        "(2, 1)",
    ),
    "wide in chunks": ("x.csv", lambda: wide(30_000, 30), "chunks", "30"),
    "long cell": ("j.csv", lambda: b"x,y\n1," + b"z" * 10**7 + b"\n2,b\n", "whole", "(2, 2)"),
    "blank cells": ("k.csv", lambda: b"x,y\n" + b",\n" * 10**5, "whole", "(100000, 2)"),
    "blank lines": ("l.csv", lambda: b"\n" * 204_000, "whole", "nothing in it but blanks"),
    "header": ("m.csv", lambda: b";".join(b"%x" % k for k in range(17_000)), "whole", "(0, 17000)"),
    "longer header": ("n.csv", lambda: b"," * 10**6, "whole", "the limit is 100000"),
    "Parquet": (
        "o.parquet",
        lambda: parquet({"x": zeros(2**21), "y": zeros(2**21)}, 70),
        "whole",
        "its cells take it over the limit",
    ),
    "Parquet in chunks": (
        "p.parquet",
        lambda: parquet({"x": zeros(2**21), "y": zeros(2**21)}, 70),
        "chunks",
        "is 268435456 cells",
    ),
    "one text": (
        "q.parquet",
        lambda: parquet({"x": same_text(10**6, 4000)}),
        "whole",
        "its texts take it over the limit",
    ),
    "one text in chunks": (
        "t.parquet",
        lambda: parquet({"x": same_text(10**6, 4000)}),
        "chunks",
        "the texts of some rows take it over the limit",
    ),
    "Feather": (
        "r.feather",
        lambda: feather({name: zeros(2**26) for name in "abcd"}),
        "whole",
        "its columns take it over the limit",
    ),
    "sparse rows": (
        "s.arff",
        lambda: attributes(2000) + b"{}\n" * 10**5,
        "whole",
        "its values take it over the limit",
    ),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What reading each file comes to, in one process with limits."""
    folder = tmp_path_factory.mktemp("small")
    words = []
    for name, make, how, _ in FILES.values():
        (folder / name).write_bytes(make())
        assert (folder / name).stat().st_size <= 10**7 + 100
        words += [str(folder / name), how]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(ADDRESS_SPACE), *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(FILES, done.stdout.strip().splitlines(), strict=True))


@pytest.mark.parametrize("name", FILES)
def test_a_small_file_takes_little(answers, name):
    seconds, kilobytes, said = answers[name].split(maxsplit=2)
    assert FILES[name][3] in said
    assert float(seconds) < SECONDS
    assert int(kilobytes) < MOST_KILOBYTES


def test_cells_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LEAST_BUDGET", 10**6)
    monkeypatch.setattr(limits, "BUDGET_PER_BYTE", 1)
    file = tmp_path / "a.csv"
    file.write_bytes(b"x\n" + b"1\n" * 50_000)
    with pytest.raises(TableError, match="its cells take it over the limit of 976"):
        read_table(file)


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
    with pytest.raises(TableError, match="needs too much memory: its"):
        read_table(file)
    assert sum(len(frame) for frame in TableChunks.open(file)) == 10_000


@pytest.mark.parametrize("error", [RecursionError("deep"), KeyError("a"), OverflowError()])
def test_any_error_of_a_library_names_the_file(tmp_path, error):
    file = tmp_path / "a.csv"
    named = pytest.raises(TableError, match=r"a\.csv is gzip but damaged: ")
    with named as found, damage_as_table_error(file, "gzip"):
        raise error
    assert found.value.__cause__ is error


def test_memory_that_is_not_there_is_named(tmp_path):
    named = pytest.raises(TableError, match="needs more memory")
    with named, damage_as_table_error(tmp_path / "a.csv", "gzip"):
        raise MemoryError


def test_a_package_that_is_missing_is_no_damage(tmp_path):
    with pytest.raises(ImportError, match="pip"), damage_as_table_error(tmp_path / "a.csv"):
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


def test_a_file_without_columns_is_refused_in_chunks_too(tmp_path):
    file = tmp_path / "none.parquet"
    pyarrow.parquet.write_table(pyarrow.table({}), file)
    for read in (read_table, TableChunks.open):
        with pytest.raises(TableError, match=r"none\.parquet has no columns"):
            read(file)


def test_a_name_that_many_columns_have_makes_no_long_message(tmp_path):
    file = tmp_path / "twice.csv"
    file.write_text(",".join(["name"] * 50_000) + "\n")
    with pytest.raises(
        TableError, match=r"'name' in columns 1, 2, 3, 4, 5 and 49995 more"
    ) as found:
        read_table(file)
    assert len(str(found.value)) < 500
