"""What the registry says of each data set."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import negcorr
from negcorr.datasets import DATASETS, info

PAGE = Path(negcorr.__file__).parents[2] / "docs" / "guide" / "datasets.rst"

#: Where Table E.2 and the data differ.
SLIPS = {"california", "bank", "elevators", "andromeda", "water"}


def test_registry_has_the_sets_of_the_table_in_its_order():
    assert len(DATASETS) == 20
    assert list(DATASETS)[:3] == ["kinematics", "machine", "california"]
    assert list(DATASETS)[-2:] == ["electrical", "slump"]


@pytest.mark.parametrize("name", DATASETS)
def test_entry_is_complete(name):
    entry = info(name)
    assert entry.name == name == entry.title.lower()
    assert min(entry.shape) > 0
    assert len(set(entry.target_names)) == entry.n_targets
    assert len(entry.categorical) == len(entry.categories)
    assert entry.predicts
    assert entry.citation.endswith(".")
    assert "github.com/" in entry.origin
    assert entry.openml_id is None or entry.openml_id > 0
    assert name == "scm1d" or len(bytes.fromhex(entry.sha256)) == 32


def test_entries_agree_with_the_table_but_for_the_known_slips():
    assert {name for name, entry in DATASETS.items() if entry.shape != entry.paper_shape} == SLIPS
    assert all(info(name).notes for name in SLIPS)


def test_scm1d_has_the_sizes_of_the_paper_and_no_checksum():
    entry = info("scm1d")
    assert entry.shape == entry.paper_shape == (9803, 280, 16)
    assert entry.sha256 is None


def test_sex_of_abalone_is_the_only_category():
    assert [name for name, entry in DATASETS.items() if entry.categorical] == ["abalone"]
    assert info("abalone").categorical == ("Sex",)
    assert info("abalone").categories == (("F", "I", "M"),)


def test_entries_are_frozen_hashable_and_can_be_copied():
    entry = info("jura")
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.n_samples = 3
    with pytest.raises(TypeError):
        DATASETS["jura"] = entry
    assert {entry: 1}[pickle.loads(pickle.dumps(entry))] == 1
    assert copy.deepcopy(entry) == entry


@pytest.mark.parametrize(
    ("name", "meant"),
    [("OES10", "oes10"), ("abalon", "abalone"), ("kinematic", "kinematics"), ("Scm20D", "scm20d")],
)
def test_unknown_name_suggests_the_nearest(name, meant):
    with pytest.raises(ValueError, match=rf"name='{name}' is no data set; did you mean '{meant}'"):
        info(name)


def test_name_that_is_near_nothing_lists_what_is_allowed():
    with pytest.raises(ValueError, match=r"name='xyzzy' is no data set\. Allowed are kinematics, "):
        info("xyzzy")


@pytest.mark.parametrize("name", [None, 3, b"jura", ["jura"]])
def test_name_must_be_a_string(name):
    with pytest.raises(TypeError, match=r"name=.* must be a string"):
        info(name)


def test_import_opens_no_socket_and_loads_no_pandas():
    code = (
        "import socket, sys\n"
        "import sklearn, sklearn.utils.validation\n"
        "before = set(sys.modules)\n"
        "def refuse(*args, **kwargs): raise AssertionError('a socket')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "import negcorr.datasets\n"
        "negcorr.datasets.available()\n"
        "print(sorted({'pandas', 'polars', 'sklearn.datasets'} & (set(sys.modules) - before)))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def rows_of_the_page():
    """Cells of the guide's table, by name of the data set."""
    cells = {}
    for block in PAGE.read_text(encoding="utf-8").split("   * - ``")[1:]:
        name, _, rest = block.partition("``")
        values = [line.partition("- ")[2].strip() for line in rest.split("\n")[1:6]]
        cells[name] = values
    return cells


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not part of this installation")
def test_the_table_of_the_guide_says_what_the_registry_says():
    rows = rows_of_the_page()
    assert list(rows) == list(DATASETS)
    for name, (n, d, outputs, number, predicts) in rows.items():
        entry = info(name)
        assert (int(n), int(d), int(outputs)) == entry.shape
        assert number == ("" if entry.openml_id is None else str(entry.openml_id))
        assert predicts == entry.predicts
