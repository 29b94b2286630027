"""Where files are looked for, and files that are damaged."""

import dataclasses
import gzip
import hashlib
import tracemalloc
from pathlib import Path

import pytest

from negcorr.datasets import DatasetError, info
from negcorr.datasets.folders import cache_folder, data_folders, find_file, read_file

TEXT = "a,b,y\n1,2,3\n4,5,6\n"
PLAIN = TEXT.encode()
PACKED = gzip.compress(PLAIN, mtime=0)
TOY = dataclasses.replace(
    info("machine"),
    name="toy",
    n_samples=2,
    n_features=2,
    target_names=("y",),
    sha256=hashlib.sha256(PACKED).hexdigest(),
)


@pytest.fixture(autouse=True)
def no_folders(monkeypatch, tmp_path):
    monkeypatch.delenv("NEGCORR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


def folder_with(path, name="toy.csv", content=PLAIN):
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_bytes(content)
    return path


def test_folders_are_searched_in_order(monkeypatch, tmp_path):
    first, second = folder_with(tmp_path / "first"), folder_with(tmp_path / "second")
    third = folder_with(tmp_path / "xdg" / "negcorr")
    monkeypatch.setenv("NEGCORR_DATA", str(second))
    for expected in (first, second, third):
        assert find_file(TOY, data_folders(first)) == expected / "toy.csv"
        (expected / "toy.csv").unlink()
    assert find_file(TOY, data_folders(first)) is None


def test_a_folder_without_the_file_is_passed_over(monkeypatch, tmp_path):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("NEGCORR_DATA", str(folder_with(tmp_path / "full")))
    assert find_file(TOY, data_folders(tmp_path / "empty")) == tmp_path / "full" / "toy.csv"


def test_the_compressed_file_comes_first(tmp_path):
    folder_with(folder_with(tmp_path / "home"), "toy.csv.gz", PACKED)
    assert find_file(TOY, data_folders(tmp_path / "home")).name == "toy.csv.gz"


def test_a_folder_by_the_name_of_a_file_is_no_file(tmp_path):
    (tmp_path / "toy.csv.gz").mkdir()
    assert find_file(TOY, data_folders(tmp_path)) is None


def test_folders_may_be_given_as_text_with_a_tilde(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(folder_with(tmp_path / "user")))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "user"))
    assert data_folders("~")[0].folder == tmp_path / "user"
    monkeypatch.setenv("NEGCORR_DATA", "~")
    assert data_folders()[0].folder == tmp_path / "user"


def test_an_empty_variable_counts_as_not_set(monkeypatch):
    monkeypatch.setenv("NEGCORR_DATA", "")
    assert str(data_folders()[0]) == "$NEGCORR_DATA: not set"


@pytest.mark.parametrize("value", ["", "relative/cache"])
def test_a_cache_that_is_no_absolute_path_is_the_default_one(monkeypatch, value):
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert cache_folder() == Path("~/.cache/negcorr").expanduser()


def test_data_home_must_be_a_folder(tmp_path):
    file = folder_with(tmp_path) / "toy.csv"
    for wrong in (file, tmp_path / "nowhere", str(tmp_path / "nowhere"), ""):
        with pytest.raises(
            NotADirectoryError, match=r"data_home='.*' must be a folder that exists"
        ):
            data_folders(wrong)


@pytest.mark.parametrize("wrong", [3, b"data", ["data"], True])
def test_data_home_must_be_a_path(wrong):
    with pytest.raises(TypeError, match=r"data_home=.* must be a string, a path or None"):
        data_folders(wrong)


def test_the_variable_must_name_a_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("NEGCORR_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match=r"\$NEGCORR_DATA='.*nowhere' must be a folder"):
        data_folders()


def test_published_file_is_read(tmp_path):
    path = folder_with(tmp_path, "toy.csv.gz", PACKED) / "toy.csv.gz"
    assert read_file(path, TOY).features.tolist() == [[1, 2], [4, 5]]


def test_plain_file_needs_no_checksum_and_may_carry_a_mark(tmp_path):
    path = folder_with(tmp_path, content=TEXT.replace("6", "7").encode("utf-8-sig")) / "toy.csv"
    assert read_file(path, TOY).targets.tolist() == [[3], [7]]


def test_packed_file_with_another_checksum_is_refused_with_a_way_out(tmp_path):
    other = gzip.compress(TEXT.replace("6", "7").encode())
    path = folder_with(tmp_path, "toy.csv.gz", other) / "toy.csv.gz"
    with pytest.raises(DatasetError, match=r"its SHA-256 is \w{64}, and must be") as caught:
        read_file(path, TOY)
    assert str(path) in str(caught.value)
    assert "unpack it to toy.csv and remove this file" in str(caught.value)


def test_packed_file_with_another_checksum_is_not_unpacked(tmp_path):
    """A small file may unpack to more than there is memory."""
    content = gzip.compress(b"0" * (64 << 20), compresslevel=1)
    path = folder_with(tmp_path, "toy.csv.gz", content) / "toy.csv.gz"
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError, match=r"toy\.csv\.gz is not the published copy of toy"):
            read_file(path, TOY)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


def test_packed_file_without_a_known_checksum_is_read(tmp_path):
    path = folder_with(tmp_path, "toy.csv.gz", gzip.compress(TEXT.encode())) / "toy.csv.gz"
    assert read_file(path, dataclasses.replace(TOY, sha256=None)).targets.tolist() == [[3], [6]]


BROKEN = bytearray(PACKED)
BROKEN[14] ^= 0xFF


@pytest.mark.parametrize("content", [PACKED[:-12], PACKED[:5], bytes(BROKEN), PACKED + b"tail"])
def test_damage_is_named_where_no_checksum_is_known(tmp_path, content):
    path = folder_with(tmp_path, "toy.csv.gz", content) / "toy.csv.gz"
    with pytest.raises(DatasetError, match=r"toy\.csv\.gz is not the published copy of toy"):
        read_file(path, TOY)
    with pytest.raises(DatasetError, match=r"toy\.csv\.gz is gzip but damaged"):
        read_file(path, dataclasses.replace(TOY, sha256=None))


def test_empty_files_are_refused(tmp_path):
    folder_with(folder_with(tmp_path, "toy.csv.gz", b""), "toy.csv", b"")
    with pytest.raises(DatasetError, match=r"toy\.csv\.gz is not the published copy"):
        read_file(tmp_path / "toy.csv.gz", TOY)
    with pytest.raises(DatasetError, match=r"toy\.csv is empty"):
        read_file(tmp_path / "toy.csv", TOY)


def test_files_that_are_no_text_are_refused(tmp_path):
    path = folder_with(tmp_path, content=b"PAR1\0\0") / "toy.csv"
    with pytest.raises(DatasetError, match=r"toy\.csv, line 1: a NUL byte; the file is binary"):
        read_file(path, TOY)
