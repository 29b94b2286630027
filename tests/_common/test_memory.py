"""Bytes as users write them, and what a machine or a container has left."""

import os
import sys

import numpy as np
import pytest

from negcorr._common import memory
from negcorr._common.memory import available_bytes, in_words, parse_bytes


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, 1),
        (np.int64(4096), 4096),
        ("1", 1),
        ("17b", 17),
        ("2GB", 2 * 10**9),
        ("2gb", 2 * 10**9),
        ("512MiB", 512 * 2**20),
        (" 1.5 KiB ", 1536),
        ("0.5TB", 5 * 10**11),
        ("3TiB", 3 * 2**40),
        ("1kB", 1000),
    ],
)
def test_bytes_are_read(given, expected):
    assert parse_bytes(given) == expected


TEXT = ["", "GB", "2G", "2GBs", "-1GB", "+1GB", "1e9", "1,5GB", "1.GB", ".5GB", "0", "0.1B", "nan"]


@pytest.mark.parametrize("given", [*TEXT, "٣GB", 0, -5])
def test_other_text_and_numbers_are_refused(given):
    with pytest.raises(ValueError, match=r"memory=.* must be a number of bytes .*512MiB.*TiB\)"):
        parse_bytes(given)


@pytest.mark.parametrize("given", [True, 1.0, 2e9, None, [1], b"2GB", np.bool_(True)])
def test_other_kinds_are_refused(given):
    with pytest.raises(TypeError, match=rf"must be .*, got {type(given).__name__}"):
        parse_bytes(given)


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (2**20, "1.0 MiB"), (5 * 2**40, "5.0 TiB")],
)
def test_bytes_are_told(n_bytes, words):
    assert in_words(n_bytes) == words


GIB = 2**30


@pytest.fixture
def machine(tmp_path):
    """Files of a Linux machine with 8 GiB left, and whatever else is given."""

    def make(groups="", **files):
        write(tmp_path / "proc/meminfo", f"MemTotal: 99 kB\nMemAvailable:   {8 * 2**20} kB\n")
        write(tmp_path / "proc/self/cgroup", groups)
        for name, text in files.items():
            write(tmp_path / "sys/fs/cgroup" / name, str(text))
        return available_bytes(tmp_path)

    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return make


class TestAvailable:
    def test_is_that_of_the_machine_without_limits(self, machine):
        assert machine() == 8 * GIB
        assert machine("0::/user.slice\n", **{"user.slice/memory.max": "max\n"}) == 8 * GIB

    def test_is_never_more_than_the_machine_has(self, machine):
        files = {"memory.max": 64 * GIB, "memory.current": 0}
        assert machine("0::/\n", **files) == 8 * GIB

    @pytest.mark.parametrize("path", ["/", "/job/step", "/docker/0123"])
    def test_is_what_version_2_leaves_though_paths_are_the_hosts(self, path, machine):
        files = {
            "memory.max": 2 * GIB,
            "memory.current": GIB,
            "memory.stat": f"anon 5\ninactive_file {GIB // 2}\nactive_file 7\n",
        }
        assert machine(f"0::{path}\n", **files) == 3 * GIB // 2

    def test_is_that_of_the_narrowest_group(self, machine):
        files = {
            "a/memory.max": 3 * GIB,
            "a/memory.current": GIB,
            "a/b/memory.max": "max",
            "a/b/memory.high": 5 * GIB,
            "a/b/memory.current": 4 * GIB,
            "a/c/memory.max": 1,  # not ours
            "a/c/memory.current": 0,
        }
        assert machine("0::/a/b\n", **files) == GIB

    def test_is_what_version_1_leaves(self, machine):
        files = {
            "memory/memory.limit_in_bytes": 9223372036854771712,
            "memory/memory.usage_in_bytes": GIB,
            "memory/x/memory.limit_in_bytes": 4 * GIB,
            "memory/x/memory.usage_in_bytes": 3 * GIB,
            "memory/x/memory.stat": f"inactive_file 3\ntotal_inactive_file {GIB}\n",
        }
        assert machine("5:cpu,cpuacct:/\n4:memory:/x\n0::/\n", **files) == 2 * GIB

    def test_of_a_group_that_is_full_is_none_left(self, machine):
        files = {"memory.max": GIB, "memory.current": 2 * GIB}
        assert machine("0::/\n", **files) == 0

    @pytest.mark.parametrize("text", ["", "nonsense", "0::", "\udcff", ":::::"])
    def test_nonsense_in_files_is_no_limit(self, text, machine):
        text = text.encode("utf-8", "surrogateescape").decode("latin-1")
        assert machine(text, **{"memory.max": "many", "memory.current": ""}) == 8 * GIB

    def test_comes_from_psutil_where_files_do_not_tell(self, tmp_path):
        psutil = pytest.importorskip("psutil")
        found = available_bytes(tmp_path)
        assert 0 < found <= psutil.virtual_memory().total

    def test_comes_from_the_system_without_psutil(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "psutil", None)
        assert available_bytes(tmp_path) > 0

    def test_is_unknown_where_nothing_tells(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "psutil", None)
        monkeypatch.setattr(memory, "sys", type("sys", (), {"platform": "plan9"}))
        monkeypatch.delattr(os, "sysconf", raising=False)
        assert available_bytes(tmp_path) is None

    def test_does_not_fail_on_windows_without_its_library(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "psutil", None)
        monkeypatch.setattr(memory, "sys", type("sys", (), {"platform": "win32"}))
        found = available_bytes(tmp_path)
        assert found is None or found > 0

    def test_is_known_here(self):
        assert available_bytes() > 2**20


def test_a_limit_on_the_address_space_counts(machine, tmp_path):
    free, itself = machine(), tmp_path / "proc" / "self"
    limits = "Limit                     Soft Limit           Hard Limit           Units\n"
    (itself / "status").write_text("Name:\tpython\nVmSize:\t    1024 kB\n", encoding="utf-8")
    (itself / "limits").write_text(
        limits + "Max address space         unlimited            unlimited            bytes\n",
        encoding="utf-8",
    )
    assert available_bytes(tmp_path) == free
    (itself / "limits").write_text(
        limits + "Max address space         5242880              unlimited            bytes\n",
        encoding="utf-8",
    )
    assert available_bytes(tmp_path) == 4 * 2**20
