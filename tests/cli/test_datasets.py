"""``negcorr datasets``: what there is, and where."""

import json
from pathlib import Path

import pytest
import toy_data

import negcorr as package
from negcorr.datasets import DATASETS

REAL = Path(package.__file__).parents[3] / "shared" / "data"


def lines_by_name(text):
    lines = [line.split() for line in text.splitlines()]
    return {words[0]: words for words in lines if words and words[0] in DATASETS}


def test_every_set_has_a_line(negcorr, toy_home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    result = negcorr("datasets", "--data", toy_home)
    assert (result.code, result.err) == (0, "")
    lines = lines_by_name(result.out)
    assert list(lines) == list(DATASETS)
    for name, entry in DATASETS.items():
        assert tuple(map(int, lines[name][1:4])) == entry.shape
        status = "at hand" if name in toy_data.SETS else "not at hand"
        if name not in toy_data.SETS and entry.openml_id is not None:
            status = "on OpenML"
        assert " ".join(lines[name][4:]).startswith(status)
    assert "7 of 20 are at hand" in result.out


def test_without_a_folder_nothing_is_at_hand(negcorr):
    result = negcorr("datasets")
    assert result.code == 0
    assert "0 of 20 are at hand" in result.out


def test_the_variable_is_looked_at(negcorr, toy_home, monkeypatch):
    monkeypatch.setenv("NEGCORR_DATA", str(toy_home))
    assert "7 of 20 are at hand" in negcorr("datasets").out


def test_json_is_for_machines(negcorr, toy_home):
    result = negcorr("datasets", "--json", "--data", toy_home)
    assert (result.code, result.err) == (0, "")
    rows = json.loads(result.out)
    assert [row["name"] for row in rows] == list(DATASETS)
    for row in rows:
        entry = DATASETS[row["name"]]
        assert row["n_samples"] == entry.n_samples
        assert tuple(row["target_names"]) == entry.target_names
        if row["name"] in toy_data.SETS:
            assert row["status"] == "here"
            assert row["path"] == str(toy_home / f"{row['name']}.csv")
        else:
            assert row["status"] == ("missing" if entry.openml_id is None else "download")
            assert row["path"] is None


@pytest.mark.parametrize("kind", ["nowhere", "file"])
def test_a_home_that_is_no_folder_is_named(negcorr, tmp_path, kind):
    (tmp_path / "file").touch()
    result = negcorr("datasets", "--data", tmp_path / kind)
    assert (result.code, result.out) == (2, "")
    said = " ".join(result.err.replace("│", " ").split())
    assert "Invalid value for '--data'" in said
    assert {"nowhere": "does not exist", "file": "is a file"}[kind] in said
    assert "Traceback" not in result.err


def test_a_variable_that_names_no_folder_is_named(negcorr, tmp_path, monkeypatch):
    monkeypatch.setenv("NEGCORR_DATA", str(tmp_path / "nowhere"))
    result = negcorr("datasets", "--json")
    assert (result.code, result.out) == (1, "")
    assert "$NEGCORR_DATA" in result.complaint()


@pytest.mark.skipif(not REAL.is_dir(), reason="no folder shared/data beside the project")
def test_the_real_folder_has_all_sets_with_a_public_copy(negcorr):
    result = negcorr("datasets", "--json", "--data", REAL)
    assert result.code == 0
    here = [row["name"] for row in json.loads(result.out) if row["status"] == "here"]
    assert here == [name for name, entry in DATASETS.items() if entry.sha256 is not None]
