"""What killed runs leave behind is removed by the next run, and nothing else."""

import os
import subprocess
import sys
import time

import pytest

from negcorr._common.files import remove_leftovers, replacing, write_atomically

#: Writes a part of a file, and waits or is killed.
CHILD = """
import os, pathlib, signal, sys, time
from negcorr._common.files import replacing
with replacing(pathlib.Path(sys.argv[1], "file")) as part:
    part.write_bytes(b"half")
    print("half", flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.readline()
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")


def started(folder, fate):
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), fate],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "half\n"
    return child


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("sweep", [remove_leftovers, lambda f: write_atomically(f / "x", b"1")])
def test_leftovers_of_killed_runs_go_however_young(tmp_path, sweep):
    (tmp_path / "file").write_bytes(b"old")
    started(tmp_path, "killed").communicate()
    assert len(names_in(tmp_path)) == 3
    sweep(tmp_path)
    assert [name for name in names_in(tmp_path) if name != "x"] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_files_of_living_runs_stay_however_old(tmp_path):
    child = started(tmp_path, "lives")
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    before = names_in(tmp_path)
    remove_leftovers(tmp_path)
    write_atomically(tmp_path / "other", b"1")
    assert names_in(tmp_path) == sorted([*before, "other"])
    child.communicate("\n")
    assert child.returncode == 0
    assert (tmp_path / "file").read_bytes() == b"half"
    assert names_in(tmp_path) == ["file", "other"]


def test_files_of_this_process_stay(tmp_path):
    with replacing(tmp_path / "file") as part:
        part.write_bytes(b"all")
        remove_leftovers(tmp_path)
        write_atomically(tmp_path / "other", b"1")
    assert (tmp_path / "file").read_bytes() == b"all"


def test_many_runs_that_sweep_do_not_hinder_each_other(tmp_path):
    children = [started(tmp_path, "lives") for _ in range(3)]
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        write_atomically(tmp_path / "other", b"1")
    for child in children:
        child.communicate("\n")
        assert child.returncode == 0
    assert names_in(tmp_path) == ["file", "other"]


def test_files_of_other_programs_stay(tmp_path):
    others = [tmp_path / name for name in ("film.mkv.part", ".film.part", "notes.txt", ".hidden")]
    for other in others:
        other.touch()
        os.utime(other, (0, 0))
    write_atomically(tmp_path / "pieces.json", b"1")
    remove_leftovers(tmp_path)
    assert all(other.exists() for other in others)
    assert (tmp_path / "pieces.json").exists()


def test_files_of_strangers_stay(tmp_path, monkeypatch):
    """Who may write to a folder of many users must not have others move files there."""
    stage = tmp_path / ".negcorr-run.part"
    (stage / "old").mkdir(parents=True)
    (stage / "old" / "file").write_bytes(b"a stranger's")
    (stage / "begun").write_text('["file"]', encoding="utf-8")
    (tmp_path / ".negcorr-run.lock").touch()
    (tmp_path / "file").write_bytes(b"mine")
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 12345)
        remove_leftovers(tmp_path)
        assert stage.exists()
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_names_lead_nowhere_else(tmp_path):
    out = tmp_path / "out"
    stage = out / ".negcorr-run.part"
    (stage / "old").mkdir(parents=True)
    (stage / "old" / "file").write_bytes(b"old")
    (tmp_path / "file").write_bytes(b"mine")
    (stage / "begun").write_text('["../file"]', encoding="utf-8")
    (out / ".negcorr-run.lock").touch()
    remove_leftovers(out)
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert names_in(out) == ["file"]


def test_there_need_be_no_folder(tmp_path):
    remove_leftovers(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
