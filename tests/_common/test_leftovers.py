"""What killed runs leave behind is removed, and nothing else."""

import contextlib
import os
import time

from negcorr._common.files import remove_leftovers, write_atomically


def left_by_a_killed_run(folder, monkeypatch, age):
    """The neighbour of a file, as a kill between writing and naming leaves it."""

    def killed(handle):
        raise SystemExit

    folder.mkdir(parents=True, exist_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", killed)
        patch.setattr("pathlib.Path.unlink", lambda *arguments, **keywords: None)
        with contextlib.suppress(SystemExit):
            write_atomically(folder / "file", b"half")
    (left,) = set(folder.iterdir()) - {folder / "file"}
    os.utime(left, (time.time() - age,) * 2)
    return left


def test_old_leftovers_go_from_all_folders(tmp_path, monkeypatch):
    lefts = [
        left_by_a_killed_run(tmp_path / name, monkeypatch, age=60.0) for name in ("a", "b/c", "b/d")
    ]
    assert all(left.exists() for left in lefts)
    remove_leftovers(tmp_path)
    assert not any(left.exists() for left in lefts)


def test_young_ones_may_be_another_runs_and_stay(tmp_path, monkeypatch):
    left = left_by_a_killed_run(tmp_path, monkeypatch, age=0.0)
    remove_leftovers(tmp_path, older_than=60.0)
    assert left.exists()


def test_files_of_other_programs_stay(tmp_path):
    others = [tmp_path / name for name in ("film.mkv.part", ".film.part", "notes.txt", ".hidden")]
    for other in others:
        other.touch()
        os.utime(other, (0, 0))
    write_atomically(tmp_path / "pieces.json", b"1")
    os.utime(tmp_path / "pieces.json", (0, 0))
    remove_leftovers(tmp_path)
    assert all(other.exists() for other in others)
    assert (tmp_path / "pieces.json").exists()


def test_there_need_be_no_folder(tmp_path):
    remove_leftovers(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
