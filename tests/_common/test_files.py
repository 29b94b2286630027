"""Files are there in full or not at all."""

import errno
import os
import re
import stat
from pathlib import Path

import pytest

from negcorr._common.files import check_writable, staged, write_atomically

FULL_DISK = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def raiser(error):
    def fail(*arguments, **keywords):
        raise error

    return fail


@pytest.mark.parametrize("content", [b"", b"two\nlines\r\n\x00\xff", b"x" * 1_000_000])
def test_file_has_every_byte_and_no_neighbour(tmp_path, content):
    write_atomically(tmp_path / "file.txt", content)
    assert (tmp_path / "file.txt").read_bytes() == content
    assert names_in(tmp_path) == ["file.txt"]


def test_folders_are_made(tmp_path):
    write_atomically(tmp_path / "a" / "b" / "file", b"1")
    assert (tmp_path / "a" / "b" / "file").read_bytes() == b"1"


def test_longer_old_content_is_replaced_as_a_whole(tmp_path):
    write_atomically(tmp_path / "file", b"old and long")
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_whoever_has_the_old_file_open_keeps_it(tmp_path):
    write_atomically(tmp_path / "file", b"old")
    with (tmp_path / "file").open("rb") as reader:
        write_atomically(tmp_path / "file", b"new")
        assert reader.read() == b"old"


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o002, 0o664)])
def test_permissions_are_those_that_open_would_give(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", b"")
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_bytes_reach_the_disk_before_the_name_is_taken(tmp_path, monkeypatch):
    seen = []
    fsync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (seen.append((tmp_path / "file").exists()), fsync(handle))
    )
    write_atomically(tmp_path / "file", b"1")
    assert seen == [False]


def test_neighbours_have_names_of_our_own_and_no_two_the_same(tmp_path, monkeypatch):
    seen = []
    fsync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (seen.extend(names_in(tmp_path)), fsync(handle))
    )
    for name in ("a" * 250, "b"):  # a name as long as it may be leaves no room for more
        write_atomically(tmp_path / name, b"1")
        (tmp_path / name).unlink()
    assert len(set(seen)) == 2
    assert all(re.fullmatch(r"\.negcorr-[0-9a-f]{16}\.part", name) for name in seen)


def test_a_link_by_the_name_of_the_neighbour_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "mine").write_bytes(b"mine")
    monkeypatch.setattr("negcorr._common.files.secrets.token_hex", lambda n: "0" * 2 * n)
    (tmp_path / f".negcorr-{'0' * 16}.part").symlink_to(tmp_path / "mine")
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert not (tmp_path / "file").exists()


def test_the_umask_of_other_threads_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", raiser(AssertionError("umask was asked for")))
    write_atomically(tmp_path / "file", b"1")
    assert (tmp_path / "file").read_bytes() == b"1"


class HalfWritten:
    """A file that takes half of what is written, as a disk does that fills up."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        raise FULL_DISK


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path, monkeypatch, old):
    if old is not None:
        (tmp_path / "file").write_bytes(old)
    opened = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *arguments: HalfWritten(opened(*arguments)))
        with pytest.raises(OSError, match="No space left on device"):
            write_atomically(tmp_path / "file", b"new content")
    assert names_in(tmp_path) == ([] if old is None else ["file"])
    if old is not None:
        assert (tmp_path / "file").read_bytes() == old


@pytest.mark.parametrize("error", [FULL_DISK, KeyboardInterrupt(), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("step", ["fsync", "open", "replace"])
def test_an_interruption_at_any_step_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, error, step
):
    (tmp_path / "file").write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(os if step == "fsync" else Path, step, raiser(error))
        with pytest.raises(type(error)):
            write_atomically(tmp_path / "file", b"new")
    assert names_in(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_folder_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_bytes(b"1")
    with pytest.raises(OSError, match="file"):
        write_atomically(tmp_path / "file" / "below", b"2")
    assert names_in(tmp_path) == ["file"]


class TestStaged:
    def test_files_appear_together(self, tmp_path):
        out = tmp_path / "a" / "b"
        with staged(out) as stage:
            (stage / "one").write_bytes(b"1")
            assert not (out / "one").exists()
        assert [file.name for file in out.iterdir()] == ["one"]

    @pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
    def test_failure_leaves_nothing_new(self, tmp_path, kind):
        def broken(out):
            with staged(out) as stage:
                (stage / "one").write_bytes(b"1")
                raise kind

        with pytest.raises(kind):
            broken(tmp_path / "a" / "b")
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "one").write_bytes(b"older")
        with pytest.raises(kind):
            broken(tmp_path / "c")
        assert [file.read_bytes() for file in (tmp_path / "c").iterdir()] == [b"older"]

    def test_old_stages_go_and_young_ones_stay(self, tmp_path):
        for name in (".negcorr-old.part", ".negcorr-young.part"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "x").touch()
        os.utime(tmp_path / ".negcorr-old.part", (0, 0))
        with staged(tmp_path):
            pass
        assert [file.name for file in tmp_path.iterdir()] == [".negcorr-young.part"]


def test_places_that_cannot_be_written_to(tmp_path):
    check_writable(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="is no folder"):
        check_writable(tmp_path / "file" / "folder")
    with pytest.raises(NotADirectoryError, match="is no folder"):
        check_writable(tmp_path / "file")


def test_places_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(PermissionError, match="may not be written to"):
        check_writable(tmp_path)
