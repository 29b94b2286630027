"""A folder of tables, figures and a page: the same bytes however it came about."""

import csv
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_data import contents, toy_study

from negcorr import _files, experiments
from negcorr.experiments import Store, Study, table1
from negcorr.experiments.catalogue import BEYOND, EXPERIMENTS, PAPER
from negcorr.experiments.page import Section
from negcorr.experiments.reproduce import ALL, chosen_experiments, plan, reproduce

NAMES = ("figure1", "figure5", "table1")
SETS = ("machine", "slump")
PAGE = "figure1-figure5-table1.md"


def study_in(home, folder=None, **settings):
    store = None if folder is None else Store(Path(folder) / "pieces")
    return toy_study(home, SETS, store=store, **settings)


def verdicts_on(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(("- ✓", "- ✗"))]


def stub_section(study, module, out, times):
    return Section(module.TITLE, module.CAPTION)


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("figure2", "a diagram; 'all' draws it."),
        ("figure6", "a diagram; 'all' draws it."),
        ("figure7", "deep networks are not part of this version."),
        ("figure8", "deep networks are not part of this version."),
    ],
)
def test_figures_that_are_no_experiments_say_why(name, message):
    with pytest.raises(ValueError, match=rf"^experiment '{name}': {message}$"):
        chosen_experiments(["figure1", name])


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


LAZY = """
import sys
import negcorr.experiments as package
names = {"bias_variance_covariance", "diversity_dof", "optimal_gap", "split", "table1"}
names |= {f"figure{k}" for k in range(1, 7)}
loaded = [name for name in names if f"{package.__name__}.{name}" in sys.modules]
assert not loaded, loaded
assert "matplotlib" not in sys.modules
assert names <= set(dir(package)), dir(package)
assert set(package.__all__) <= set(dir(package))
assert "negcorr.experiments.figure5" not in sys.modules  # a list loads nothing
assert package.figure5.NAME == "figure5"
assert {getattr(package, name).__name__ for name in names} == {
    f"negcorr.experiments.{name}" for name in names
}
"""


def test_experiments_are_listed_and_loaded_only_when_asked_for():
    done = subprocess.run(
        [sys.executable, "-c", LAZY], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_experiment_is_an_attribute_and_others_are_not():
    for module in EXPERIMENTS.values():
        assert getattr(experiments, module.__name__.rpartition(".")[2]) is module
        assert module.__name__.rpartition(".")[2] in dir(experiments)
    with pytest.raises(AttributeError, match=r"'negcorr.experiments' has no attribute 'figure9'"):
        _ = experiments.figure9


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
    assert page == folder / PAGE
    return folder


def test_a_run_writes_page_tables_and_figures(once):
    names = {name for name in contents(once) if not name.startswith("pieces")}
    assert names == {
        PAGE,
        "figures/figure1.png",
        "figures/figure1.svg",
        "figures/figure5.png",
        "figures/figure5.svg",
        "tables/figure1.csv",
        "tables/figure5.csv",
        "tables/table1.csv",
    }


def test_the_page_has_a_section_for_each_experiment(once):
    text = (once / PAGE).read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("##")]
    assert headings == [
        "## Figures and tables of the paper",
        f"### {EXPERIMENTS['figure1'].TITLE}",
        f"### {EXPERIMENTS['figure5'].TITLE}",
        f"### {table1.TITLE}",
    ]
    assert "Made by `a command`" in text
    assert "A quick look, not a reproduction" in text
    verdicts = verdicts_on(once / PAGE)
    assert all(line.endswith(".*") for line in verdicts)
    # Of Figures 1 and 5 and Table 1, those that are not about the paper's numbers.
    assert len(verdicts) == 1 + 1 + 2
    good = sum(line.startswith("- ✓") for line in verdicts)
    assert f"**Statements that were checked: 4. {good} hold, {4 - good} do not.**" in text


def test_every_picture_on_the_page_is_there(once):
    text = (once / PAGE).read_text(encoding="utf-8")
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
    # Two that are not about the paper's numbers, and the one about seconds.
    assert len(verdicts_on(page)) == 3


def test_seconds_are_measured_one_by_one_after_all_else(toy_home, tmp_path, monkeypatch):
    asked, told = [], []
    rows = Study.rows

    def noted(self, pieces, one_by_one=False):
        asked.append(({piece.kind for piece in pieces}, one_by_one))
        return rows(self, pieces, one_by_one)

    monkeypatch.setattr(Study, "rows", noted)
    study = study_in(toy_home, on_piece=lambda piece, stored: told.append(piece.kind))
    reproduce(study, ["table1", "figure1"], tmp_path)
    assert asked[:2] == [({"curves", "selection"}, False), ({"timing"}, True)]
    assert told.index("timing") == len(told) - 2
    assert told[-2:] == ["timing"] * 2


@pytest.mark.parametrize(
    ("full", "shuffle", "comparable"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
def test_words_about_the_papers_numbers_are_for_full_runs_in_the_order_of_the_files(
    toy_home, tmp_path, monkeypatch, full, shuffle, comparable
):
    study = study_in(toy_home, shuffle=shuffle)
    if full:
        monkeypatch.setattr("negcorr.experiments.reproduce.FULL", study.setup.size)
    page = reproduce(study, ["figure1", "table1"], tmp_path, times=False)
    assert ("Why the two protocols differ" in page.read_text(encoding="utf-8")) == comparable
    claims = [
        claim
        for module in (EXPERIMENTS["figure1"], table1)
        for claim in module.claims(module.run(study))
    ]
    about = [claim for claim in claims if claim.about_paper]
    assert len(about) == 3 + 1
    found = "\n".join(verdicts_on(page))
    assert len(verdicts_on(page)) == len(claims) - (0 if comparable else len(about))
    for claim in claims:
        assert (claim.statement in found) == (comparable or not claim.about_paper)


def test_sets_that_were_not_asked_for_are_told_from_those_not_at_hand(toy_home, tmp_path):
    page = reproduce(study_in(toy_home), ["table1"], tmp_path, times=False)
    text = page.read_text(encoding="utf-8")
    assert text.count("| not asked for |") == 2 * 18
    assert "data not at hand" not in text


@pytest.mark.parametrize(
    ("names", "page"),
    [
        (["table1", "figure1"], "figure1-table1.md"),
        (["optimal-gap"], "optimal-gap.md"),
        (["figure1", "figure1"], "figure1.md"),
        (["figure1", ALL], "reproduction.md"),
    ],
)
def test_pages_of_few_experiments_do_not_take_the_place_of_the_whole(
    toy_home, tmp_path, monkeypatch, names, page
):
    monkeypatch.setattr("negcorr.experiments.reproduce._section", stub_section)
    monkeypatch.setattr(Study, "rows", lambda *arguments, **keywords: [])
    assert reproduce(study_in(toy_home), names, tmp_path, times=False) == tmp_path / page
    assert [path.name for path in tmp_path.glob("*.md")] == [page]


def test_all_says_what_it_has_left_out(toy_home, tmp_path, monkeypatch):
    monkeypatch.setattr("negcorr.experiments.reproduce._section", stub_section)
    monkeypatch.setattr(Study, "rows", lambda *arguments, **keywords: [])

    def lines(sets, names):
        page = reproduce(toy_study(toy_home, sets), names, tmp_path, times=False)
        text = page.read_text(encoding="utf-8")
        return [line for line in text.splitlines() if line.startswith("Left out")]

    (line,) = lines(("slump",), [ALL])
    assert line.endswith(": figure1, figure3, figure4, figure5, split.")
    assert lines(("slump",), ["table1"]) == []
    assert lines(("slump", "kinematics", "machine"), [ALL]) == []


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
            _files.write_atomically(folder / "x.json", b"half")
    (left,) = folder.iterdir()
    os.utime(left, (0, 0))
    reproduce(study_in(toy_home, tmp_path), NAMES, tmp_path, times=False, command="a command")
    assert contents(tmp_path) == contents(once)
