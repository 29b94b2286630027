"""The command in this process and in one of its own, on toy data."""

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest
import toy_data

from negcorr.cli import main

#: Threads of other processes would fight for the cores; colours and widths are the terminal's.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


@dataclass
class Result:
    """What a command came to."""

    code: int
    out: str
    err: str

    def complaint(self):
        """The one line on stderr."""
        (line,) = self.err.strip().splitlines()
        assert "Traceback" not in self.err
        return line


@pytest.fixture(scope="session")
def toy_home(tmp_path_factory):
    return toy_data.write_home(tmp_path_factory.mktemp("toy") / "home")


@pytest.fixture(autouse=True)
def quiet_place(monkeypatch, tmp_path):
    """No other homes, no terminal, and a current folder where nothing is lost."""
    monkeypatch.delenv("NEGCORR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def negcorr(capsys):
    """``negcorr`` in this process."""

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(left.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def shell():
    """``python -m negcorr``, or other code, in a process of its own."""

    def run(*arguments, code=None):
        start = ["-m", "negcorr"] if code is None else ["-c", code]
        done = subprocess.run(
            [sys.executable, *start, *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
            timeout=120,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def tiny_deep():
    """Deep networks of toy size in quick runs of this process."""
    pytest.importorskip("torch")
    with toy_data.tiny_deep() as training:
        yield training
