"""A folder of tables, figures and a page: the same bytes however it came about."""

import csv
import errno
import gzip
import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import toy_data
from toy_data import LAMS, contents, deep_rows, toy_study

from negcorr._common import files as _files
from negcorr.datasets import DatasetError
from negcorr.paper.catalogue import (
    ALL,
    DEEP,
    EXPERIMENTS,
    NO_GPU,
    NO_SETS,
    NO_TORCH,
    deep_by_default,
    experiments_of,
)
from negcorr.paper.figures import table1
from negcorr.paper.page import Section
from negcorr.paper.pieces import Store
from negcorr.paper.reproduce import plan, reproduce
from negcorr.paper.study import Study

NAMES = ("figure1", "figure5", "table1")
SETS = ("machine", "slump")
PAGE = "figure1-figure5-table1.md"
TORCH = importlib.util.find_spec("torch") is not None


def study_in(home, folder=None, **settings):
    store = None if folder is None else Store(Path(folder) / "pieces")
    return toy_study(home, SETS, store=store, **settings)


def verdicts_on(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(("- ✓", "- ✗"))]


def stub_section(study, module, out, times):
    return Section(module.TITLE, module.CAPTION)


def test_the_plan_has_each_piece_once_and_seconds_only_if_wanted(toy_home):
    study = study_in(toy_home)
    pieces = plan(study, NAMES)
    assert len(pieces) == len(set(pieces))
    assert {piece.kind for piece in pieces} == {"curves", "lam_choice", "timing"}
    without = plan(study, NAMES, times=False)
    assert {piece.kind for piece in without} == {"curves", "lam_choice"}
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
    compute = Study._compute

    def noted(self, pieces, n_jobs):
        asked.append(({piece.kind for piece in pieces}, n_jobs))
        return compute(self, pieces, 1)

    monkeypatch.setattr(Study, "_compute", noted)
    study = study_in(toy_home, n_jobs=2, on_piece=lambda piece, _: told.append(piece.kind))
    reproduce(study, ["table1", "figure1"], tmp_path)
    assert [call for call in asked if call[0]] == [({"curves", "lam_choice"}, 2), ({"timing"}, 1)]
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
        monkeypatch.setattr("negcorr.paper.page.FULL", study.setup.size)
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
    monkeypatch.setattr("negcorr.paper.reproduce._section", stub_section)
    monkeypatch.setattr(Study, "rows", lambda *arguments, **keywords: [])
    assert reproduce(study_in(toy_home), names, tmp_path, times=False) == tmp_path / page
    assert [path.name for path in tmp_path.glob("*.md")] == [page]


def test_all_says_what_it_has_left_out(toy_home, tmp_path, monkeypatch):
    monkeypatch.setattr("negcorr.paper.reproduce._section", stub_section)
    monkeypatch.setattr(Study, "rows", lambda *arguments, **keywords: [])

    def lines(sets, names):
        page = reproduce(toy_study(toy_home, sets), names, tmp_path, times=False)
        text = page.read_text(encoding="utf-8")
        return [line for line in text.splitlines() if line.startswith("Left out")]

    (line,) = lines(("slump",), [ALL])
    simple = "figure1, figure3, figure4, figure5"
    assert line == f"Left out, since {NO_SETS}: {simple}, {', '.join(DEEP)}, split."
    assert lines(("slump",), ["table1"]) == []
    if TORCH:
        assert lines(("slump", "kinematics", "machine"), [ALL]) == []


def without_torch(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "negcorr.paper.catalogue.find_spec",
        lambda name: None if name == "torch" else find(name),
    )


@pytest.mark.parametrize(
    ("max_rows", "device", "torch", "reason"),
    [
        (None, "cpu", True, NO_GPU),
        (None, "cuda", True, None),
        (None, "cuda:1", True, None),
        (40, "cpu", True, None),
        (40, "cuda", True, None),
        (None, "cpu", False, NO_TORCH),
        (40, "cpu", False, NO_TORCH),
    ],
)
def test_all_has_deep_networks_where_they_take_minutes_and_says_why_not_elsewhere(
    toy_home, tmp_path, monkeypatch, max_rows, device, torch, reason
):
    if torch:
        pytest.importorskip("torch")
    else:
        without_torch(monkeypatch)
    monkeypatch.setattr("negcorr.paper.reproduce._section", stub_section)
    monkeypatch.setattr(Study, "rows", lambda *arguments, **keywords: [])
    sets = ("machine", "kinematics")
    study = toy_study(toy_home, sets, max_rows=max_rows, device=device)
    assert set(experiments_of(study, [ALL])) == set(EXPERIMENTS) - (set(DEEP) if reason else set())
    kinds = {piece.kind for piece in plan(study, [ALL], times=False)}
    assert ("deep_training" in kinds) == (reason is None)
    text = reproduce(study, [ALL], tmp_path, times=False).read_text(encoding="utf-8")
    found = [line for line in text.splitlines() if line.startswith("Left out")]
    assert found == ([f"Left out, since {reason}: {', '.join(DEEP)}."] if reason else [])


def test_deep_networks_that_are_named_are_planned_on_any_device(toy_home):
    pytest.importorskip("torch")
    study = toy_study(toy_home, ("machine",), max_rows=None)
    assert deep_by_default(study) == ()
    for name in DEEP:
        pieces = plan(study, [name])
        assert {piece.kind for piece in pieces} == {"deep_training"}
        assert len(pieces) == 3 * 5  # three depths, as in the paper
    # All four are drawn from the same pieces.
    assert plan(study, DEEP) == pieces


def test_an_experiment_without_its_data_is_refused_before_anything_is_written(toy_home, tmp_path):
    with pytest.raises(ValueError, match=r"none of the sets that this needs: \['kinematics'\]"):
        reproduce(study_in(toy_home), ["figure1", "figure3"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------------------------
# Tables from elsewhere
# ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep_run(toy_home, tmp_path_factory):
    """All that deep networks are drawn into, at toy size."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("deep")
    with toy_data.tiny_deep():
        reproduce(study_in(toy_home), ["figure7", "figure8"], folder, times=False)
    return folder


def no_rows(monkeypatch, kinds=None):
    """Pieces of these kinds, or of any, are not to be computed."""
    rows = Study.rows

    def checked(self, pieces):
        assert not [piece for piece in pieces if kinds is None or piece.kind in kinds]
        return rows(self, pieces)

    monkeypatch.setattr(Study, "rows", checked)


def sections_of(page):
    """Headings and all below them, without the head, which tells of the command."""
    return page.read_text(encoding="utf-8").split("\n### ")[1:]


def compressed(folder, target):
    target.mkdir()
    for path in folder.glob("*.csv"):
        (target / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    return target


@pytest.mark.parametrize("kind", ["csv", "csv.gz"])
def test_tables_from_elsewhere_give_the_same_bytes_and_nothing_is_computed(
    deep_run, tmp_path, monkeypatch, kind
):
    tables = deep_run / "tables"
    if kind == "csv.gz":
        tables = compressed(tables, tmp_path / "tables")
    no_rows(monkeypatch)
    # There are no data here: none are needed.
    study = Study(toy_data.toy_setup(), data_home=tmp_path, tables=tables)
    page = reproduce(study, ["figure7", "figure8"], tmp_path / "out", times=False)
    assert contents(tmp_path / "out") == contents(deep_run)
    assert len(sections_of(page)) == 4


def test_a_table_from_elsewhere_keeps_every_digit(deep_run, tmp_path, monkeypatch):
    no_rows(monkeypatch)
    values = np.random.default_rng(0).lognormal(sigma=20.0, size=5 * 2 * 2 * len(LAMS))
    source = iter(values)
    table = deep_rows(["machine"], dof=lambda *_: next(source))
    (tmp_path / "tables").mkdir()
    text = table.to_csv(index=False)
    (tmp_path / "tables" / "figure7.csv").write_text(text, encoding="utf-8")
    monkeypatch.setattr("negcorr.paper.reproduce.save", lambda *_: None)
    reproduce(Study(tables=tmp_path / "tables"), ["figure7"], tmp_path, times=False)
    assert (tmp_path / "tables" / "figure7.csv").read_text(encoding="utf-8") == text


def test_others_are_computed_beside_tables_from_elsewhere(deep_run, toy_home, monkeypatch):
    tables = deep_run / "tables"
    no_rows(monkeypatch, {"deep_training"})
    study = study_in(toy_home, tables=tables, max_rows=None)
    assert {p.kind for p in plan(study, ["figure7", "table1"])} == {"lam_choice", "timing"}
    assert set(experiments_of(study_in(toy_home, tables=tables), [ALL])) >= set(DEEP)
    # On a CPU at full size "all" has what it was given.
    assert deep_by_default(study) == DEEP
    assert set(experiments_of(study, [ALL])) == set(EXPERIMENTS) - {"figure3"}


def given(tmp_path, *names):
    (tmp_path / "tables").mkdir(exist_ok=True)
    for name in names:
        (tmp_path / "tables" / f"{name}.csv").touch()
    return tmp_path / "tables"


def test_all_has_those_deep_networks_whose_tables_are_given(toy_home, tmp_path, monkeypatch):
    tables = given(tmp_path, "figure7", "held-out-error")
    study = toy_study(toy_home, ("machine", "kinematics"), max_rows=None, tables=tables)
    assert deep_by_default(study) == ("figure7", "held-out-error")
    left = {"figure8", "dof-per-epoch"}
    assert set(experiments_of(study, [ALL])) == set(EXPERIMENTS) - left
    without_torch(monkeypatch)
    assert set(experiments_of(study, [ALL])) == set(EXPERIMENTS) - left
    assert not [piece for piece in plan(study, [ALL]) if piece.kind == "deep_training"]


def test_nothing_is_computed_for_what_comes_along_with_a_table(toy_home, tmp_path):
    study = toy_study(toy_home, ("machine",), tables=given(tmp_path, "figure7"))
    assert list(experiments_of(study, ["figure7"])) == ["figure7"]
    assert plan(study, ["figure7"]) == []
    assert list(experiments_of(study, ["figure7", "dof-per-epoch"])) == ["figure7", "dof-per-epoch"]
    assert list(experiments_of(study, ["figure8"])) == ["figure8", "held-out-error"]
    given(tmp_path, "dof-per-epoch")
    assert list(experiments_of(study, ["figure7"])) == ["figure7", "dof-per-epoch"]


def test_what_all_is_asked_for_is_computed_beside_a_table(toy_home, tmp_path):
    pytest.importorskip("torch")
    tables = given(tmp_path, "figure7")
    study = toy_study(toy_home, ("machine", "kinematics"), tables=tables)
    assert set(experiments_of(study, [ALL, "figure7"])) == set(EXPERIMENTS)


def test_only_sets_that_were_asked_for_are_drawn_from_tables(tmp_path, monkeypatch):
    table = deep_rows(["machine", "housing"], dof=lambda name, depth, fold, epoch, lam: 1.0 + lam)
    path = given(tmp_path) / "figure7.csv"
    table.to_csv(path, index=False)
    monkeypatch.setattr("negcorr.paper.reproduce.save", lambda *_: None)
    out = tmp_path / "out"
    reproduce(Study(sets=["housing"], tables=path.parent), ["figure7"], out, times=False)
    pd.testing.assert_frame_equal(
        pd.read_csv(out / "tables" / "figure7.csv"),
        table[table["set"] == "housing"].reset_index(drop=True),
    )
    study = Study(sets=["triazines"], tables=path.parent)
    with pytest.raises(DatasetError, match=r"figure7\.csv has no rows of \['triazines'\]\."):
        reproduce(study, ["figure7"], tmp_path / "other", times=False)


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("csv", b""),
        ("csv", b"\xff\xfe\x00\x01"),
        ("csv", b"a,b\n1,2\n1,2,3\n"),
        ("csv", b"set,depth\n"),
        ("csv.gz", b"set,depth\nmachine,3\n"),
        ("csv.gz", gzip.compress(b"set,depth\nmachine,3\n" * 99)[:40]),
        ("csv.gz", gzip.compress(b"set,depth\nmachine,3\n" * 99)[:20] + b"\xff" * 30),
    ],
    ids=["empty", "bytes", "ragged", "head", "plain", "cut", "damaged"],
)
def test_tables_that_cannot_be_read_are_named_before_anything_is_computed(
    toy_home, tmp_path, monkeypatch, ending, content
):
    path = given(tmp_path) / f"figure8.{ending}"
    path.write_bytes(content)
    no_rows(monkeypatch)
    study = study_in(toy_home, tables=path.parent)
    with pytest.raises(DatasetError) as caught:
        reproduce(study, ["figure1", "figure8"], tmp_path / "out")
    assert str(caught.value).startswith(f"{path} ")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_seconds_from_elsewhere_are_not_measured_again(toy_home, tmp_path, monkeypatch):
    tables = given(tmp_path)
    toy_data.table1_rows().to_csv(tables / "table1.csv", index=False)
    seconds = toy_data.table1_times()
    study = study_in(toy_home, tables=tables)
    assert {piece.kind for piece in plan(study, ["table1"])} == {"timing"}
    seconds.to_csv(tables / "table1_seconds.csv", index=False)
    no_rows(monkeypatch)
    page = reproduce(study, ["table1"], tmp_path / "out")
    assert "**Seconds to tune λ on one training set**" in page.read_text(encoding="utf-8")
    written = pd.read_csv(tmp_path / "out" / "tables" / "table1_seconds.csv")
    asked = seconds[seconds["set"].isin(SETS)].reset_index(drop=True)
    pd.testing.assert_frame_equal(written, asked)


# ---------------------------------------------------------------------------------------
# All, and accidents
# ---------------------------------------------------------------------------------------


def test_all_experiments_run_at_toy_size(toy_home, tmp_path, request):
    if TORCH:
        request.getfixturevalue("tiny_deep")
    study = toy_study(toy_home, ("kinematics", "machine", "slump"), n_features=24)
    page = reproduce(study, [ALL], tmp_path, times=False)
    text = page.read_text(encoding="utf-8")
    expected = [name for name in EXPERIMENTS if TORCH or name not in DEEP]
    for name, module in EXPERIMENTS.items():
        assert (f"### {module.TITLE}" in text) == (name in expected)
    found = set(contents(tmp_path))
    names = set(expected) - {"table1"}
    assert found == {
        "reproduction.md",
        *(f"tables/{name}.csv" for name in expected),
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
