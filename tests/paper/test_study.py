"""A study runs every piece once, in whatever order, and never on other data than was asked for."""

import dataclasses
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import toy_data
from toy_data import after_others, calls, failing, noted, toy_setup, toy_study

from negcorr.datasets import DATASETS, DatasetError, MissingDatasetError
from negcorr.exceptions import StoredPieceWarning
from negcorr.paper.curves import curves, pieces_of
from negcorr.paper.pieces import Store
from negcorr.paper.protocol import fingerprint, prepared
from negcorr.paper.setup import Setup
from negcorr.paper.study import Study


@pytest.fixture
def notes(tmp_path):
    (tmp_path / "notes").mkdir()
    return tmp_path / "notes"


def study_of(n_jobs=1, **settings):
    return Study(toy_setup(), n_jobs=n_jobs, **settings)


def pieces_for(study, notes, function=noted, labels=(0, 1, 2), efforts=None, alone=False):
    efforts = efforts or [1.0] * len(labels)
    return [
        study.piece(function, effort=effort, alone=alone, label=label, notes=str(notes))
        for label, effort in zip(labels, efforts, strict=True)
    ]


def labels_of(rows):
    return [row["label"] for row in rows if row["k"] == 0]


# ---------------------------------------------------------------------------------------
# Pieces and rows
# ---------------------------------------------------------------------------------------


def test_rows_come_in_the_order_of_the_pieces_and_large_pieces_run_first(notes):
    done = []
    study = study_of(on_piece=lambda piece, _: done.append(dict(piece.choice)["label"]))
    pieces = pieces_for(study, notes, labels=(5, 6, 7), efforts=(1.0, 3.0, 2.0))
    assert labels_of(study.rows(pieces)) == [5, 6, 7]
    assert done == [6, 7, 5]
    assert labels_of(study.rows(pieces[::-1])) == [7, 6, 5]


def test_rows_come_in_the_order_of_the_pieces_whoever_finishes_first(notes):
    done = []
    study = study_of(2, on_piece=lambda piece, _: done.append(dict(piece.choice)["label"]))
    rows = study.rows(pieces_for(study, notes, after_others))
    assert done[-1] == 0
    assert labels_of(rows) == [0, 1, 2]


def test_a_piece_runs_once_however_often_it_is_asked_for(notes):
    study = study_of()
    pieces = pieces_for(study, notes)
    rows = study.rows([*pieces, pieces[0]])
    assert labels_of(rows) == [0, 1, 2, 0]
    assert study.rows(pieces_for(study, notes)) == rows[:6]
    assert calls(notes) == [0, 1, 2]


def test_another_setup_gives_other_rows(notes):
    study = study_of()
    pieces = pieces_for(study, notes)
    first = study.rows(pieces)
    study.setup = dataclasses.replace(study.setup, seed=1)
    second = study.rows(pieces)
    assert [row["value"] for row in second] == [row["value"] + 1 for row in first]
    study.setup = toy_setup()
    assert study.rows(pieces) == first
    assert calls(notes) == [0, 0, 1, 1, 2, 2]


def processes(notes, labels):
    return {
        int(path.name.split("-")[2]) for label in labels for path in notes.glob(f"call-{label}-*")
    }


def test_pieces_that_are_to_be_alone_run_here_one_by_one_after_all_others(notes):
    done = []
    study = study_of(2, on_piece=lambda piece, _: done.append(dict(piece.choice)["label"]))
    # However long they take.
    alone = pieces_for(study, notes, efforts=(10.0, 30.0, 20.0), alone=True)
    others = pieces_for(study, notes, labels=(3, 4))
    assert labels_of(study.rows([alone[0], *others, *alone[1:]])) == [0, 3, 4, 1, 2]
    assert processes(notes, (0, 1, 2)) == {os.getpid()}
    assert os.getpid() not in processes(notes, (3, 4))
    assert set(done[:2]) == {3, 4}
    assert done[2:] == [1, 2, 0]
    assert study.n_jobs == 2


def test_pieces_are_not_alone_unless_that_is_asked_for(toy_home):
    study = toy_study(toy_home)
    assert not any(piece.alone for piece in pieces_of(study, ("machine", "slump"), (2, 3)))


def test_pieces_that_are_to_be_alone_are_kept_like_all_others(notes, tmp_path):
    first = study_of(store=tmp_path / "pieces")
    rows = first.rows(pieces_for(first, notes, alone=True))
    again = study_of(store=tmp_path / "pieces")
    assert again.rows(pieces_for(again, notes, alone=True)) == rows
    assert calls(notes) == [0, 1, 2]


def test_no_pieces_are_no_rows(notes):
    assert study_of().rows([]) == []


def test_every_finished_piece_is_told_once_also_those_of_the_store(notes, tmp_path):
    first = study_of(store=tmp_path / "pieces")
    first.rows(pieces_for(first, notes, labels=(0, 1)))
    told = []
    again = study_of(store=tmp_path / "pieces", on_piece=lambda *what: told.append(what))
    pieces = pieces_for(again, notes)
    again.rows(pieces)
    again.rows(pieces)
    assert told == list(zip(pieces, (True, True, False), strict=True))


@pytest.mark.parametrize("as_type", [str, Path, Store])
def test_a_study_started_again_goes_on_from_its_store(notes, tmp_path, as_type):
    folder = tmp_path / "pieces"
    first = study_of(store=as_type(folder))
    rows = first.rows(pieces_for(first, notes, labels=(0, 1)))
    again = study_of(store=as_type(folder))
    assert again.rows(pieces_for(again, notes)) == [*rows, *noted(toy_setup(), None, 2, tmp_path)]
    assert calls(notes) == [0, 1, 2]


def test_a_damaged_file_is_computed_again_and_mended(notes, tmp_path):
    first = study_of(store=tmp_path / "pieces")
    pieces = pieces_for(first, notes)
    rows = first.rows(pieces)
    path = first.store.path(pieces[1], first.setup)
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    again = study_of(store=tmp_path / "pieces")
    with pytest.warns(StoredPieceWarning):
        assert again.rows(pieces) == rows
    assert calls(notes) == [0, 1, 1, 2]
    assert path.read_bytes() == whole


def test_another_seed_does_not_meet_stored_rows(notes, tmp_path):
    first = study_of(store=tmp_path / "pieces")
    first.rows(pieces_for(first, notes))
    other = Study(toy_setup(seed=1), store=tmp_path / "pieces")
    rows = other.rows(pieces_for(other, notes))
    assert [row["value"] for row in rows][:2] == [1.0, 2.0]
    assert calls(notes) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_piece_that_fails_is_heard_of_and_finished_ones_stay(notes, tmp_path, n_jobs):
    study = study_of(n_jobs, store=tmp_path / "pieces")
    pieces = pieces_for(study, notes, failing, efforts=(9.0, 1.0, 5.0))
    study.rows(pieces[:1])
    with pytest.raises(ZeroDivisionError, match="label 1 cannot be computed"):
        study.rows(pieces)
    assert not study.store.path(pieces[1], study.setup).exists()
    (notes / "mended").touch()
    again = study_of(store=tmp_path / "pieces")
    assert labels_of(again.rows(pieces)) == [0, 1, 2]
    assert calls(notes).count(0) == 1


def test_what_finished_before_a_failure_is_stored(notes, tmp_path):
    study = study_of(store=tmp_path / "pieces")
    pieces = pieces_for(study, notes, failing, efforts=(9.0, 1.0, 5.0))
    with pytest.raises(ZeroDivisionError):
        study.rows(pieces)
    there = [study.store.path(piece, study.setup).exists() for piece in pieces]
    assert there == [True, False, True]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_store_that_cannot_be_written_is_an_error_without_a_half_file(notes, tmp_path, n_jobs):
    (tmp_path / "pieces").write_text("a file, not a folder", encoding="utf-8")
    study = study_of(n_jobs, store=tmp_path / "pieces")
    with pytest.raises(OSError, match="pieces"):
        study.rows(pieces_for(study, notes))


def test_two_processes_give_the_rows_of_one(toy_home):
    tables = []
    for n_jobs in (1, 2):
        study = toy_study(toy_home, n_jobs=n_jobs)
        tables.append(study.rows(pieces_of(study, ("machine", "slump"), (2, 3))))
    assert json.dumps(tables[0]) == json.dumps(tables[1])
    assert len(tables[0]) > 100


def test_a_table_has_a_line_for_each_row_and_gaps_where_rows_have_none():
    def uneven(setup, data_home):
        return [{"a": 1, "b": 2.5}, {"a": 3}]

    study = study_of()
    table = study.table([study.piece(uneven)])
    assert list(table) == ["a", "b"]
    assert table["a"].tolist() == [1, 3]
    assert table["b"].isna().tolist() == [False, True]


def test_pieces_know_the_data_that_they_read(toy_home, tmp_path):
    study = toy_study(toy_home)
    piece = study.piece(curves, name="machine", width=3, fold=0)
    assert piece.kind == "curves"
    assert piece.fingerprint != study.piece(curves, name="slump", width=3, fold=0).fingerprint
    toy_data.write_set(tmp_path, "machine", seed=1)
    other = toy_study(tmp_path, sets=None).piece(curves, name="machine", width=3, fold=0)
    assert other.fingerprint != piece.fingerprint
    assert study.piece(noted, label=1).fingerprint == ""


def rewritten(path, text):
    """The file with another content and another time."""
    before = path.stat().st_mtime_ns
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before, before + 10**9))


def machine_rows(home):
    study = toy_study(home, sets=("machine",))
    return study.rows(pieces_of(study, ("machine",), (3,))[:1])


def errors(rows):
    return [row["test_error"] for row in rows]


def test_a_file_that_is_written_again_is_read_again(tmp_path):
    path = toy_data.write_set(tmp_path, "machine")
    first, text = errors(machine_rows(tmp_path)), path.read_text(encoding="utf-8")
    (tmp_path / "other").mkdir()
    other = toy_data.write_set(tmp_path / "other", "machine", seed=1)
    rewritten(path, other.read_text(encoding="utf-8"))
    second = errors(machine_rows(tmp_path))
    assert second == errors(machine_rows(tmp_path / "other")) != first
    rewritten(path, text)
    assert errors(machine_rows(tmp_path)) == first


def swapped(text):
    """As long as before, with another first row."""
    header, first, second, rest = text.split("\n", 3)
    return "\n".join([header, second, first, rest])


@pytest.mark.parametrize("read", [fingerprint, lambda *where: prepared(*where)[0].tobytes()])
def test_time_alone_or_length_alone_tells_of_another_content(tmp_path, read):
    path = toy_data.write_set(tmp_path, "machine")
    text, status = path.read_text(encoding="utf-8"), path.stat()
    first = read("machine", str(tmp_path), None)
    rewritten(path, swapped(text))
    assert path.stat().st_size == status.st_size
    second = read("machine", str(tmp_path), None)
    header, rows = text.split("\n", 1)
    path.write_text(f"{header}\n1{rows}", encoding="utf-8")
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    third = read("machine", str(tmp_path), None)
    assert len({first, second, third}) == 3


@pytest.mark.usefixtures("no_other_homes")
def test_another_home_in_the_environment_is_noticed(tmp_path, monkeypatch):
    found = []
    for seed in (0, 1, 0):
        home = tmp_path / f"home-{seed}"
        home.mkdir(exist_ok=True)
        if not (home / "machine.csv").exists():
            toy_data.write_set(home, "machine", seed=seed)
        monkeypatch.setenv("NEGCORR_DATA", str(home))
        found.append(errors(machine_rows(None)))
        assert found[-1] == errors(machine_rows(home))
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_file_that_changes_while_a_study_runs_is_an_error(tmp_path, n_jobs):
    path = toy_data.write_set(tmp_path, "machine")
    study = toy_study(tmp_path, sets=("machine",), n_jobs=n_jobs, store=tmp_path / "pieces")
    pieces = pieces_of(study, ("machine",), (3,))
    (tmp_path / "other").mkdir()
    other = toy_data.write_set(tmp_path / "other", "machine", seed=1)
    rewritten(path, other.read_text(encoding="utf-8"))
    message = r"^the file of machine was changed while the study ran; start again\.$"
    with pytest.raises(DatasetError, match=message):
        study.rows(pieces)
    assert not list((tmp_path / "pieces").rglob("*.json"))
    again = toy_study(tmp_path, sets=("machine",))
    assert errors(again.rows(pieces_of(again, ("machine",), (3,))[:1])) == errors(
        machine_rows(tmp_path / "other")
    )


def test_a_file_that_is_only_touched_is_no_other_data(tmp_path):
    path = toy_data.write_set(tmp_path, "machine")
    study = toy_study(tmp_path, sets=("machine",))
    pieces = pieces_of(study, ("machine",), (3,))[:1]
    rewritten(path, path.read_text(encoding="utf-8"))
    assert errors(study.rows(pieces)) == errors(machine_rows(tmp_path))


@pytest.mark.parametrize("constant", [0.1, 1e-9, -12345.678])
def test_a_constant_is_zero_although_its_mean_is_rounded(tmp_path, constant):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(209, 6)), rng.normal(size=209)
    X[:, 3] = constant
    X[:, 4] = np.where(np.arange(209) == 5, 1e-30, 0.0)
    toy_data.write_columns(tmp_path, "machine", X, y)
    scaled = prepared("machine", str(tmp_path), None)[0]
    np.testing.assert_array_equal(scaled[:, 3], 0.0)
    # However small, what varies is kept.
    np.testing.assert_allclose(scaled[:, [0, 1, 2, 4, 5]].std(axis=0), 1.0)


def test_where_data_lie_makes_no_other_piece(toy_home, tmp_path):
    toy_data.write_set(tmp_path, "machine")
    pieces = [
        toy_study(home).piece(curves, name="machine", width=3, fold=0)
        for home in (toy_home, str(toy_home), tmp_path)
    ]
    assert pieces[0] == pieces[1] == pieces[2]


def test_rows_that_are_used_are_counted():
    assert Study(toy_setup()).n_rows("andromeda") == 40
    assert Study(toy_setup(max_rows=None)).n_rows("andromeda") == 49
    assert Study(toy_setup(max_rows=100)).n_rows("andromeda") == 49


# ---------------------------------------------------------------------------------------
# Data sets
# ---------------------------------------------------------------------------------------


def test_sets_must_be_a_sequence_of_names():
    with pytest.raises(TypeError, match=r"sets='machine' must be a sequence of names, or None"):
        Study(sets="machine")
    with pytest.raises(TypeError, match=r"sets=3 must be a sequence of names, or None"):
        Study(sets=3)
    with pytest.raises(ValueError, match=r"name='3' is no data set"):
        Study(sets=[3])


@pytest.mark.parametrize(
    "sets",
    [
        ("Machine", "SLUMP"),
        ["machine", "slump"],
        iter(["machine", "Slump"]),
        {"machine": 1, "slump": 2},
    ],
    ids=["tuple", "list", "iterator", "keys"],
)
def test_sets_may_be_any_iterable_of_names_in_any_case(toy_home, sets):
    study = Study(data_home=toy_home, sets=sets)
    assert study.sets == ("machine", "slump")
    assert study.datasets() == study.datasets() == ("machine", "slump")


@pytest.mark.parametrize("setup", [None, "paper", {"seed": 1}, Setup, toy_data.SIZE])
def test_setup_must_be_a_setup(setup):
    with pytest.raises(TypeError, match=rf"^setup={re.escape(repr(setup))} must be a Setup\.$"):
        Study(setup)


@pytest.mark.parametrize("n_jobs", [0, 1.0, "2", True, False])
def test_n_jobs_must_be_an_integer_other_than_0(n_jobs):
    message = rf"^n_jobs={n_jobs!r} must be an integer other than 0, or None\.$"
    with pytest.raises(ValueError, match=message):
        Study(n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1, -2])
def test_n_jobs_as_in_joblib_are_welcome(n_jobs):
    assert Study(n_jobs=n_jobs).n_jobs == n_jobs


@pytest.mark.parametrize(
    "device", ["gpu", "auto", "CPU", "cuda:", "cuda:x", "mps", "", None, 0, b"cpu"], ids=repr
)
def test_devices_that_no_piece_could_use_are_refused(device):
    message = rf"^device={re.escape(repr(device))} must be 'cpu', 'cuda', or 'cuda:1' and the like"
    with pytest.raises(ValueError, match=message):
        Study(device=device)


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:0", "cuda:12"])
def test_devices_are_named_as_torch_does(device):
    assert Study(device=device).device == device
    assert Study().device == "cpu"


@pytest.mark.parametrize("kind", ["nowhere", "file"])
@pytest.mark.parametrize("as_type", [str, Path])
def test_tables_must_be_in_a_folder(tmp_path, kind, as_type):
    (tmp_path / "file").touch()
    path = tmp_path / kind
    with pytest.raises(ValueError, match=rf"^tables={re.escape(repr(str(path)))} must be a folder"):
        Study(tables=as_type(path))


@pytest.mark.parametrize("as_type", [str, Path])
def test_tables_are_found_by_name_plain_ones_first(tmp_path, as_type):
    study = Study(tables=as_type(tmp_path))
    assert study.table_elsewhere("figure7") is None
    (tmp_path / "figure7.csv.gz").touch()
    assert study.table_elsewhere("figure7") == tmp_path / "figure7.csv.gz"
    (tmp_path / "figure7.csv").touch()
    assert study.table_elsewhere("figure7") == tmp_path / "figure7.csv"
    (tmp_path / "figure8.csv").mkdir()
    assert study.table_elsewhere("figure8") is None
    assert Study().table_elsewhere("figure7") is None


def test_unknown_sets_are_met_with_the_nearest():
    with pytest.raises(ValueError, match=r"'machin' is no data set; did you mean 'machine'\?"):
        Study(sets=["slump", "machin"])


def test_no_sets_at_all_are_refused():
    with pytest.raises(ValueError, match=r"sets is empty; name at least one"):
        Study(sets=[])


def test_sets_that_were_asked_for_come_in_the_order_of_what_is_wanted(toy_home):
    study = toy_study(toy_home, sets=("slump", "machine", "housing"))
    assert study.datasets() == ("machine", "housing", "slump")
    assert study.datasets(("slump", "kinematics", "machine")) == ("slump", "machine")


def test_wanting_none_of_those_asked_for_is_an_error(toy_home):
    with pytest.raises(ValueError, match=r"none of the sets that this needs: \['kinematics'\]"):
        toy_study(toy_home, sets=("slump",)).datasets(("kinematics",))


@pytest.mark.usefixtures("no_other_homes")
def test_sets_that_are_not_at_hand_are_named_with_the_ways_out(toy_home):
    study = toy_study(toy_home, sets=("machine", "jura", "bank"))
    with pytest.raises(MissingDatasetError) as caught:
        study.datasets()
    message = str(caught.value)
    assert "'jura'" in message
    assert "'bank'" in message
    assert "machine" not in message
    for way in ("--data", "NEGCORR_DATA", "--download", "--sets"):
        assert way in message


@pytest.mark.usefixtures("no_other_homes")
def test_half_a_home_is_not_studied_as_if_it_were_whole(toy_home):
    with pytest.raises(MissingDatasetError) as caught:
        toy_study(toy_home, sets=None).datasets()
    for name in toy_data.ABSENT:
        assert (f"'{name}'" in str(caught.value)) == (name != "scm1d")


@pytest.mark.usefixtures("no_other_homes")
def test_sets_on_openml_are_at_hand_where_downloads_are_allowed(toy_home):
    allowed = toy_study(toy_home, sets=("machine", "bank"), download=True)
    assert allowed.datasets() == ("machine", "bank")
    with pytest.raises(MissingDatasetError, match=r"\['jura'\]"):
        toy_study(toy_home, sets=("jura", "bank"), download=True).datasets()


@pytest.mark.usefixtures("no_other_homes")
def test_the_set_without_a_public_copy_is_left_out_only_if_nobody_asked(toy_home):
    assert toy_study(toy_home, sets=None).datasets(("machine", "scm1d")) == ("machine",)
    with pytest.raises(MissingDatasetError, match=r"\['scm1d'\]"):
        toy_study(toy_home, sets=("machine", "scm1d")).datasets()


@pytest.mark.usefixtures("no_other_homes")
def test_the_set_without_a_public_copy_is_used_where_the_user_has_it(tmp_path):
    (tmp_path / "scm1d.csv").touch()
    assert Study(data_home=tmp_path).datasets(("scm1d",)) == ("scm1d",)
    assert DATASETS["scm1d"].sha256 is None


def test_a_home_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(NotADirectoryError, match=r"must be a folder that exists"):
        Study(data_home=tmp_path / "nowhere").datasets()
