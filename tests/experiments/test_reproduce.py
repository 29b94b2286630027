"""A folder of tables, figures and a page: the same bytes however it came about."""

import csv
import errno
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_data import contents, toy_study

from negcorr.experiments import Store, files, table1
from negcorr.experiments.catalogue import BEYOND, EXPERIMENTS, PAPER
from negcorr.experiments.reproduce import ALL, chosen_experiments, plan, reproduce

NAMES = ("figure1", "figure5", "table1")
SETS = ("machine", "slump")


def study_in(home, folder=None, **settings):
    store = None if folder is None else Store(Path(folder) / "pieces")
    return toy_study(home, SETS, store=store, **settings)


# ---------------------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------------------


def test_experiments_come_in_the_order_of_the_page_and_once():
    assert list(chosen_experiments(["table1", "figure3", "table1"])) == ["figure3", "table1"]


def test_all_is_every_experiment():
    assert chosen_experiments([ALL]) == EXPERIMENTS
    assert chosen_experiments(["figure1", ALL]) == EXPERIMENTS
    assert {*PAPER, *BEYOND} == set(EXPERIMENTS)
    assert set(PAPER) == {"figure1", "figure3", "figure4", "figure5", "table1"}


def test_all_leaves_out_what_uses_none_of_the_sets():
    chosen = chosen_experiments([ALL], ("slump", "housing"))
    assert set(EXPERIMENTS) - set(chosen) == {"figure3"}
    chosen = chosen_experiments([ALL], ("slump",))
    assert set(EXPERIMENTS) - set(chosen) == {"figure1", "figure3", "figure4", "figure5", "split"}
    # What is asked for by name is not left out in silence.
    assert "figure3" in chosen_experiments([ALL, "figure3"], ("slump",))


@pytest.mark.parametrize(
    ("name", "nearest"), [("figur1", "figure1"), ("tabel1", "table1"), ("splits", "split")]
)
def test_unknown_experiments_are_met_with_the_nearest(name, nearest):
    with pytest.raises(ValueError, match=rf"'{name}' is unknown\. Did you mean '{nearest}'\?"):
        chosen_experiments(["figure3", name])


def test_names_that_are_near_nothing_are_met_with_all():
    with pytest.raises(ValueError, match=r"'xyz' is unknown\. Allowed are \['figure1', .*'all'\]"):
        chosen_experiments(["xyz"])


def test_no_names_are_refused():
    with pytest.raises(ValueError, match=r"name at least one experiment"):
        chosen_experiments([])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_what_the_page_needs(name):
    module = EXPERIMENTS[name]
    assert name == module.NAME
    assert module.TITLE
    assert module.CAPTION
    needed = {"pieces", "run", "claims"} | (set() if module is table1 else {"plot"})
    assert all(callable(getattr(module, function)) for function in needed)


def test_the_plan_has_each_piece_once_and_seconds_only_if_wanted(toy_home):
    study = study_in(toy_home)
    pieces = plan(study, NAMES)
    assert len(pieces) == len(set(pieces))
    assert {piece.kind for piece in pieces} == {"curves", "selection", "timing"}
    without = plan(study, NAMES, times=False)
    assert {piece.kind for piece in without} == {"curves", "selection"}
    assert set(without) < set(pieces)


# ---------------------------------------------------------------------------------------
# Folders
# ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def once(toy_home, tmp_path_factory):
    """A run with everything in its folder."""
    folder = tmp_path_factory.mktemp("once")
    page = reproduce(study_in(toy_home, folder), NAMES, folder, times=False, command="a command")
    assert page == folder / "reproduction.md"
    return folder


def test_a_run_writes_page_tables_and_figures(once):
    names = {name for name in contents(once) if not name.startswith("pieces")}
    assert names == {
        "reproduction.md",
        "figures/figure1.png",
        "figures/figure1.svg",
        "figures/figure5.png",
        "figures/figure5.svg",
        "tables/figure1.csv",
        "tables/figure5.csv",
        "tables/table1.csv",
    }


def test_the_page_has_a_section_for_each_experiment(once):
    text = (once / "reproduction.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("##")]
    assert headings == [
        "## Figures and tables of the paper",
        f"### {EXPERIMENTS['figure1'].TITLE}",
        f"### {EXPERIMENTS['figure5'].TITLE}",
        f"### {table1.TITLE}",
    ]
    assert "Made by `a command`" in text
    assert "A quick look, not a reproduction" in text
    for claim in ("✓", "✗"):
        marked = [line for line in text.splitlines() if line.startswith(f"- {claim}")]
        assert all(line.endswith(".*") for line in marked)
    assert sum(line.startswith(("- ✓", "- ✗")) for line in text.splitlines()) == 6


def test_every_picture_on_the_page_is_there(once):
    text = (once / "reproduction.md").read_text(encoding="utf-8")
    pictures = [part.split(")")[0] for part in text.split("](")[1:]]
    assert len(pictures) == 2
    assert all((once / picture).is_file() for picture in pictures)


def test_tables_hold_every_digit(once, toy_home):
    with (once / "tables" / "table1.csv").open(encoding="utf-8", newline="") as file:
        stored = list(csv.DictReader(file))
    fresh = table1.run(study_in(toy_home))
    assert list(stored[0]) == list(fresh)
    for column in ("lam", "dof", "test_error"):
        assert [float(row[column]) for row in stored] == fresh[column].tolist()
    for column in ("set", "protocol", "criterion", "fold", "output"):
        assert [row[column] for row in stored] == fresh[column].astype(str).tolist()


def test_files_end_their_lines_in_one_way(once):
    for name, content in contents(once).items():
        if name.endswith((".csv", ".md")):
            assert b"\r" not in content
            assert content.endswith(b"\n")


def test_every_stored_piece_is_json(once):
    pieces = list((once / "pieces").rglob("*.json"))
    assert len(pieces) == 15 + 20
    for path in pieces:
        assert json.loads(path.read_bytes())["rows"]


def test_another_run_elsewhere_has_the_same_bytes(once, toy_home, tmp_path):
    reproduce(study_in(toy_home, tmp_path), NAMES, tmp_path, times=False, command="a command")
    assert contents(tmp_path) == contents(once)


def test_two_processes_have_the_same_bytes(once, toy_home, tmp_path):
    study = study_in(toy_home, tmp_path, n_jobs=2)
    reproduce(study, NAMES, tmp_path, times=False, command="a command")
    assert contents(tmp_path) == contents(once)


def test_a_run_without_a_store_has_the_same_bytes(once, toy_home, tmp_path):
    reproduce(study_in(toy_home), NAMES, tmp_path, times=False, command="a command")
    expected = {name: c for name, c in contents(once).items() if not name.startswith("pieces")}
    assert contents(tmp_path) == expected


def test_a_run_from_stored_pieces_computes_nothing_and_has_the_same_bytes(once, toy_home):
    before = contents(once)
    ages = {path: path.stat().st_mtime_ns for path in (once / "pieces").rglob("*.json")}
    told = []
    study = study_in(toy_home, once, on_piece=lambda piece, stored: told.append(stored))
    reproduce(study, NAMES, once, times=False, command="a command")
    assert contents(once) == before
    assert told == [True] * 35
    assert {path: path.stat().st_mtime_ns for path in ages} == ages


def test_another_seed_has_other_numbers(once, toy_home, tmp_path):
    reproduce(study_in(toy_home, seed=1), ["table1"], tmp_path, times=False)
    ours = pd.read_csv(tmp_path / "tables" / "table1.csv")
    theirs = pd.read_csv(once / "tables" / "table1.csv")
    assert (ours["set"] == theirs["set"]).all()
    assert not np.isclose(ours["test_error"], theirs["test_error"]).any()


def test_seconds_are_written_where_they_are_wanted(toy_home, tmp_path):
    page = reproduce(study_in(toy_home), ["table1"], tmp_path)
    seconds = pd.read_csv(tmp_path / "tables" / "table1_seconds.csv")
    assert set(seconds["method"]) == {"sure", "kfold", "refits"}
    text = page.read_text(encoding="utf-8")
    assert "**Seconds to tune λ on one training set**" in text
    assert sum(line.startswith(("- ✓", "- ✗")) for line in text.splitlines()) == 4


def test_words_about_the_papers_numbers_are_for_full_runs(toy_home, tmp_path, monkeypatch):
    quick = reproduce(study_in(toy_home), ["table1"], tmp_path / "quick", times=False)
    assert "Why the two protocols differ" not in quick.read_text(encoding="utf-8")
    study = study_in(toy_home)
    monkeypatch.setattr("negcorr.experiments.reproduce.FULL", study.setup.size)
    full = reproduce(study, ["table1"], tmp_path / "full", times=False)
    assert "Why the two protocols differ" in full.read_text(encoding="utf-8")


def test_an_experiment_without_its_data_is_refused_before_anything_is_written(toy_home, tmp_path):
    with pytest.raises(ValueError, match=r"none of the sets that this needs: \['kinematics'\]"):
        reproduce(study_in(toy_home), ["figure1", "figure3"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------------------------
# All, and accidents
# ---------------------------------------------------------------------------------------


def test_all_experiments_run_at_toy_size(toy_home, tmp_path):
    study = toy_study(toy_home, ("kinematics", "machine", "slump"), n_features=24)
    page = reproduce(study, [ALL], tmp_path, times=False)
    text = page.read_text(encoding="utf-8")
    for module in EXPERIMENTS.values():
        assert f"### {module.TITLE}" in text
    found = set(contents(tmp_path))
    names = set(EXPERIMENTS) - {"table1"}
    assert found == {
        "reproduction.md",
        *(f"tables/{name}.csv" for name in EXPERIMENTS),
        *(f"figures/{n}.{kind}" for n in {*names, "figure2", "figure6"} for kind in ("svg", "png")),
    }


@pytest.mark.parametrize("when", [1, 4, 36, 38, 43])
def test_a_full_disk_at_any_file_leaves_whole_files_and_a_folder_to_go_on_from(
    once, toy_home, tmp_path, monkeypatch, when
):
    count = [0]
    fsync = os.fsync

    def full(handle):
        count[0] += 1
        if count[0] == when:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            reproduce(
                study_in(toy_home, tmp_path), NAMES, tmp_path, times=False, command="a command"
            )
    expected = contents(once)
    found = contents(tmp_path)
    assert len(found) == when - 1
    assert all(expected[name] == content for name, content in found.items())
    reproduce(study_in(toy_home, tmp_path), NAMES, tmp_path, times=False, command="a command")
    assert contents(tmp_path) == expected


def test_leftovers_of_killed_runs_go(once, toy_home, tmp_path, monkeypatch):
    folder = tmp_path / "pieces" / "curves"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(SystemExit))
        patch.setattr(Path, "unlink", lambda *arguments, **keywords: None)
        with pytest.raises(SystemExit):
            files.write_atomically(folder / "x.json", b"half")
    (left,) = folder.iterdir()
    os.utime(left, (0, 0))
    reproduce(study_in(toy_home, tmp_path), NAMES, tmp_path, times=False, command="a command")
    assert contents(tmp_path) == contents(once)
