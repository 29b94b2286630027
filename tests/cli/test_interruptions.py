"""Ctrl-C and kill -9: what is finished stays, and a second run ends as if nothing had happened."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy_data
from toy_data import contents

from negcorr._common.files import remove_leftovers

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

REQUEST = ("reproduce", "table1", "figure4", "--quick", "--no-times", "--sets", "machine,slump")
PIECES = 2 * 10 + 15


class Run:
    """``python -m negcorr`` in a process group of its own."""

    def __init__(self, home, out, jobs):
        self.out = Path(out)
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "negcorr", *REQUEST),
                *("--data", str(home), "--out", str(out), "--jobs", str(jobs)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
        )

    @property
    def pieces(self):
        return sorted(self.out.glob("pieces/*/*.json"))

    def wait_for_pieces(self, n):
        deadline = time.monotonic() + 100.0
        while len(self.pieces) < n and self.process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def stop(self, number, to=os.killpg):
        to(self.process.pid, number)
        return self.process.communicate(timeout=100)


@pytest.fixture
def run(toy_home, tmp_path):
    runs = []

    def start(jobs):
        runs.append(Run(toy_home, tmp_path / "killed", jobs))
        return runs[-1]

    yield start
    for one in runs:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.communicate()


@pytest.fixture
def completed(negcorr, toy_home):
    """Bytes of a run that nobody interrupts, in this process."""

    def complete(folder):
        assert negcorr(*REQUEST, "--data", toy_home, "--out", folder, "--jobs", 1).code == 0
        return contents(folder)

    return complete


def ages(paths):
    return {path: path.stat().st_mtime_ns for path in paths}


def leftovers(folder):
    """Of the run, and of the file that it was writing."""
    return sorted(left for left in folder.rglob(".negcorr-*") if left.suffix in (".part", ".lock"))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("to", [os.killpg, os.kill], ids=["all", "first"])
@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")]
)
def test_what_is_finished_is_kept_and_said(run, jobs, to, number, name):
    """A terminal sends Ctrl-C to all processes of the command, ``kill`` a signal to the first."""
    running = run(jobs)
    running.wait_for_pieces(3)
    _, err = running.stop(number, to)
    assert running.process.returncode == 128 + number, err
    said = rf"negcorr: stopped by {name}; (\d+) of (\d+) pieces are stored in "
    stored, of = re.search(said, err).groups()
    assert int(of) == PIECES
    # Ctrl-C may come between a file and its count.
    assert 3 <= len(running.pieces) < PIECES
    assert int(stored) in (len(running.pieces) - 1, len(running.pieces))
    assert f"{running.out / 'pieces'}: the same command goes on from there." in err
    for path in running.pieces:
        json.loads(path.read_bytes())
    # Workers are killed, and a signal may come before anything can be cleared: what is left then is
    # removed by the next run.
    for left in leftovers(running.out):
        remove_leftovers(left.parent)
    assert leftovers(running.out) == []
    # A worker that Ctrl-C meets while it starts may say so itself; none of our code does.
    assert not re.search(r"negcorr/(cli|paper)/\w+\.py", err)
    if jobs == 1:
        assert "Traceback" not in err
    assert "Warning" not in err


def test_a_killed_run_goes_on_and_ends_in_the_same_bytes(run, completed, tmp_path):
    running = run(2)
    running.wait_for_pieces(4)
    running.stop(signal.SIGKILL)
    assert running.process.returncode == -signal.SIGKILL
    finished = running.pieces
    assert 4 <= len(finished) < PIECES
    for path in finished:
        json.loads(path.read_bytes())
    before = ages(finished)
    assert completed(running.out) == completed(tmp_path / "whole")
    assert ages(finished) == before


#: The command at toy size, on a machine that goes down as a file is written.
KILLED_WHILE_WRITING = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(toy_data.__file__).parent)!r})
writes, fsync = [0], os.fsync
def killed(handle):
    writes[0] += 1
    if writes[0] == LAST:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(handle)
os.fsync = killed
import toy_data
import negcorr.cli.reproducing
negcorr.cli.reproducing.QUICK = toy_data.SIZE
from negcorr.cli import main
main()
"""


@pytest.mark.parametrize("at", [9, PIECES + 3])
def test_a_run_killed_in_the_middle_of_a_file_leaves_it_under_another_name(
    shell, toy_home, tmp_path, completed, monkeypatch, at
):
    """At a piece, and at a table or figure."""
    monkeypatch.setattr("negcorr.cli.reproducing.QUICK", toy_data.SIZE)
    folder = tmp_path / "killed"
    code = KILLED_WHILE_WRITING.replace("LAST", str(at))
    result = shell(*REQUEST, "--data", toy_home, "--out", folder, "--jobs", 1, code=code)
    assert result.code == -signal.SIGKILL
    expected = completed(tmp_path / "whole")
    found = contents(folder)
    assert len(leftovers(folder)) == 4
    names = {name for name in found if ".negcorr-" not in name}
    assert len(names) == at - 1
    assert all(found[name] == expected[name] for name in names)
    before = ages(folder / name for name in names if name.startswith("pieces"))
    assert completed(folder) == expected
    assert ages(before) == before


#: A command that is stopped while a library runs code that it has made of text.
WITHIN_TEXT = """
import signal
import sys
import negcorr.cli

entry = sys.modules["negcorr.cli.main"]

def run(arguments):
    exec("signal.raise_signal(signal.SIGTERM)", {"signal": signal})

entry._run = run
entry.main([])
"""


def test_a_signal_within_code_made_of_text_has_its_exit_code(tmp_path):
    """Python ends ``python -m`` as by SIGINT, whatever the exit code, after such an interrupt."""
    (tmp_path / "stopped_within_text.py").write_text(WITHIN_TEXT, encoding="utf-8")
    command = [sys.executable, "-m", "stopped_within_text"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stderr == "negcorr: stopped by SIGTERM; no file is half-written.\n"
    assert ended.returncode == 128 + signal.SIGTERM
