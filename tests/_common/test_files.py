"""Files are there in full or not at all."""

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from negcorr._common.files import (
    check_replaceable,
    in_use,
    replacing,
    staged,
    write_atomically,
)
from negcorr.exceptions import FolderInUseError

FULL_DISK = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


FOUR = ["a", "b", "c", "d"]


def files_in(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def four_files(folder, content, names=FOUR):
    folder.mkdir()
    for name in names:
        (folder / name).write_bytes(content)
    return folder


def stage_four(folder):
    with staged(folder) as stage:
        for name in FOUR:
            (stage / name).write_bytes(b"new")


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
    assert len(set(seen)) == 4
    assert all(re.fullmatch(r"\.negcorr-[0-9a-f]{16}\.(part|lock)", name) for name in seen)


@pytest.mark.parametrize("ending", [".part", ".lock"])
def test_a_link_by_the_name_of_the_neighbour_is_not_followed(tmp_path, monkeypatch, ending):
    (tmp_path / "mine").write_bytes(b"mine")
    monkeypatch.setattr("negcorr._common.files.secrets.token_hex", lambda n: "0" * 2 * n)
    link = tmp_path / f".negcorr-{'0' * 16}{ending}"
    link.symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match=r"File exists|cannot write there"):
        write_atomically(tmp_path / "file", b"new")
    assert link.is_symlink()
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

    @pytest.mark.parametrize("at", range(4))
    def test_a_folder_in_the_place_of_a_file_changes_nothing(self, tmp_path, at):
        out = four_files(tmp_path / "out", b"old")
        (out / FOUR[at]).unlink()
        (out / FOUR[at] / "below").mkdir(parents=True)
        before = files_in(out)
        with pytest.raises(IsADirectoryError, match=f"{FOUR[at]} is a folder"):
            stage_four(out)
        assert files_in(out) == before
        assert names_in(out) == FOUR

    @pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
    @pytest.mark.parametrize("old", [[], FOUR[1:3], FOUR], ids=len)
    @pytest.mark.parametrize("error", [FULL_DISK, KeyboardInterrupt()], ids=repr)
    def test_a_failure_at_any_name_puts_the_old_files_back(
        self, tmp_path, monkeypatch, links, old, error
    ):
        """Every renaming of the four fails once, and every one that keeps an old file."""
        out = four_files(tmp_path / "out", b"old", old)
        if not links:
            monkeypatch.setattr(os, "link", raiser(OSError(errno.EPERM, "no hard links")))
        replace, count, failed = Path.replace, 0, 0

        def fail_once(source, target):
            nonlocal count
            count -= 1
            if count == 0:
                raise error
            return replace(source, target)

        for count in range(1, 20):
            at = count
            with monkeypatch.context() as patch:
                patch.setattr(Path, "replace", fail_once)
                try:
                    stage_four(out)
                except type(error):
                    failed += 1
                else:
                    break
            assert files_in(out) == dict.fromkeys(old, b"old"), at
            assert names_in(out) == old
        assert files_in(out) == dict.fromkeys(FOUR, b"new")
        assert names_in(out) == FOUR
        assert failed == 5 + (0 if links else len(old))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
    @pytest.mark.parametrize("old", [[], FOUR[1:3], FOUR], ids=len)
    def test_what_a_killed_run_has_begun_is_undone_by_the_next(self, tmp_path, links, old):
        """A child is killed at each step of the renaming."""
        found = []
        for step in range(1, 30):
            out = four_files(tmp_path / str(step), b"old", old)
            ended = not killed_at(step, out, links)
            write_atomically(out / "other", b"1")
            is_new = files_in(out) == dict.fromkeys(FOUR, b"new") | {"other": b"1"}
            expected = dict.fromkeys(FOUR, b"new") if is_new else dict.fromkeys(old, b"old")
            assert files_in(out) == expected | {"other": b"1"}, step
            assert names_in(out) == sorted([*expected, "other"])
            found.append(is_new)
            if ended:
                break
            stage_four(out)
            assert files_in(out) == dict.fromkeys(FOUR, b"new") | {"other": b"1"}
        # Once all names are in place, the new files count.
        n_undone = 6 + len(old) * (1 if links else 2)
        assert found == [False] * n_undone + [True] * (len(found) - n_undone)
        assert len(found) > n_undone

    def test_links_of_the_user_are_replaced_and_put_back_as_such(self, tmp_path):
        (tmp_path / "far").write_bytes(b"far")
        out = tmp_path / "out"
        out.mkdir()
        (out / "a").symlink_to(tmp_path / "far")
        (out / "b").mkdir()
        with pytest.raises(IsADirectoryError):
            stage_four(out)
        assert (out / "a").is_symlink()
        (out / "b").rmdir()
        stage_four(out)
        assert not (out / "a").is_symlink()
        assert (tmp_path / "far").read_bytes() == b"far"


def killed_at(step, out, links):
    """Replace four files in a child that is killed at some step; whether it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            stage_and_die(step, out, links)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def stage_and_die(step, out, links):
    """Replace four files, and die at a step: a link, a rename or a removal."""
    begun = False

    def counted(work, refused=False):
        def do(*arguments, **keywords):
            nonlocal step
            step -= begun
            if step == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            if refused:
                raise OSError("no hard links")
            return work(*arguments, **keywords)

        return do

    os.link, os.rmdir = counted(os.link, refused=not links), counted(os.rmdir)
    Path.replace, Path.unlink = counted(Path.replace), counted(Path.unlink)
    with staged(out) as stage:
        for name in FOUR:
            (stage / name).write_bytes(b"new")
        begun = True


class TestFolderInUse:
    def test_a_second_run_is_refused_by_the_name_of_the_folder(self, tmp_path):
        with staged(tmp_path / "out") as stage:
            (stage / "one").write_bytes(b"1")
            for begin in (staged, in_use):
                with (
                    pytest.raises(FolderInUseError, match=r"out is in use by another run"),
                    begin(tmp_path / "out"),
                ):
                    raise AssertionError
        assert names_in(tmp_path / "out") == ["one"]

    def test_it_is_free_again_after_the_run_and_after_its_failure(self, tmp_path):
        for _ in range(3):
            with in_use(tmp_path):
                pass
            with pytest.raises(KeyError), in_use(tmp_path):
                raise KeyError
        assert names_in(tmp_path) == []

    def test_single_files_may_be_written_meanwhile(self, tmp_path):
        with in_use(tmp_path / "out"):
            write_atomically(tmp_path / "out" / "file", b"1")
        assert names_in(tmp_path / "out") == ["file"]

    def test_another_process_has_it_until_it_is_killed(self, tmp_path):
        code = (
            "import pathlib, sys, time\n"
            "from negcorr._common.files import in_use\n"
            "with in_use(pathlib.Path(sys.argv[1])):\n"
            "    print('in use', flush=True)\n"
            "    time.sleep(60)\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert child.stdout.readline() == "in use\n"
            with pytest.raises(FolderInUseError), in_use(tmp_path):
                raise AssertionError
        finally:
            child.kill()
            child.communicate()
        assert names_in(tmp_path) == [".negcorr-run.lock", ".negcorr-run.part"]
        with in_use(tmp_path):
            pass
        assert names_in(tmp_path) == []

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_a_forked_child_does_not_keep_it(self, tmp_path):
        with in_use(tmp_path):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
        try:
            with in_use(tmp_path):
                pass
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)

    def test_without_locks_a_folder_is_taken_as_long_as_it_looks_so(self, tmp_path, monkeypatch):
        monkeypatch.setattr("negcorr._common.held_files._locked", lambda handle: None)
        with in_use(tmp_path):
            with pytest.raises(FolderInUseError), in_use(tmp_path):
                raise AssertionError
            write_atomically(tmp_path / "file", b"1")
            assert (tmp_path / ".negcorr-run.part").is_dir()
        assert names_in(tmp_path) == ["file"]
        with in_use(tmp_path):
            pass


def test_many_writers_of_one_file_never_mix(tmp_path):
    """Each content has one byte only; a reader looks all the time."""
    file, contents = tmp_path / "file", [bytes([65 + k]) * 200_000 for k in range(4)]
    write_atomically(file, contents[0])
    stop, mixed = threading.Event(), []

    def look():
        while not stop.is_set():
            if file.read_bytes() not in contents:
                mixed.append("a mixture")

    reader = threading.Thread(target=look)
    reader.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda k: write_atomically(file, contents[k % 4]), range(60)))
    finally:
        stop.set()
        reader.join()
    assert mixed == []
    assert names_in(tmp_path) == ["file"]


def test_a_file_that_grows_is_there_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "file"
    with replacing(path) as part, part.open("wb") as file:
        file.write(b"1")
        assert not path.exists()
        file.write(b"2")
    assert path.read_bytes() == b"12"
    assert names_in(path.parent) == ["file"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
def test_what_is_no_ordinary_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, words in (("pipe", "no ordinary file"), ("folder", "is a folder")):
        for check in (check_replaceable, lambda path: write_atomically(path, b"1")):
            with pytest.raises(OSError, match=f"{name} {words}|{name} is {words}"):
                check(tmp_path / name)
    check_replaceable(tmp_path / "nothing")
    assert names_in(tmp_path) == ["folder", "pipe"]


def test_places_that_cannot_be_written_to(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for place in ("file", "file/folder"):
        with pytest.raises(OSError, match=f"{place}: cannot write there"), in_use(tmp_path / place):
            raise AssertionError
    monkeypatch.setattr(os, "mkdir", raiser(PermissionError(errno.EACCES, "Permission denied")))
    with (
        pytest.raises(PermissionError, match=r"new: cannot write there \(Permission denied\)"),
        in_use(tmp_path / "new"),
    ):
        raise AssertionError
    assert names_in(tmp_path) == ["file"]
