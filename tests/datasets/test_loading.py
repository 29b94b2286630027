"""From a name to data, with folders made for the test and with the real one."""

import dataclasses
import pickle
import sys
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

import negcorr
from negcorr.datasets import (
    DATASETS,
    DatasetError,
    MissingDatasetError,
    available,
    info,
    is_available,
    load,
)

REAL = Path(negcorr.__file__).parents[3] / "shared" / "data"

#: Small data sets that stand in for those of the paper.
ONE = dataclasses.replace(
    info("abalone"), name="one", n_samples=3, n_features=2, target_names=("y",), openml_id=None
)
TWO = dataclasses.replace(
    info("slump"), name="two", n_samples=2, n_features=1, target_names=("y", "z")
)


@pytest.fixture(autouse=True)
def no_folders(monkeypatch, tmp_path):
    monkeypatch.delenv("NEGCORR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


@pytest.fixture
def home(monkeypatch, tmp_path):
    entries = MappingProxyType({"one": ONE, "two": TWO, "kinematics": info("kinematics")})
    monkeypatch.setattr("negcorr.datasets.registry.DATASETS", entries)
    monkeypatch.setattr("negcorr.datasets.loading.DATASETS", entries)
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "one.csv").write_text("Sex,b,y\nM,2,3\nF,5,6\nM,8,9\n", encoding="utf-8")
    (folder / "two.csv").write_text("a,y,z\n1,2,3\n4,5,6\n", encoding="utf-8")
    return folder


def test_arrays_hold_categories_one_hot(home):
    one = load("one", data_home=home)
    assert one.feature_names == ("Sex_F", "Sex_I", "Sex_M", "b")
    np.testing.assert_array_equal(one.data, [[0, 0, 1, 2], [1, 0, 0, 5], [0, 0, 1, 8]])
    np.testing.assert_array_equal(one.target, [3, 6, 9])
    assert one.data.dtype == one.target.dtype == np.float64
    assert one.info is ONE
    assert one.source == str(home / "one.csv")


def test_several_targets_are_two_dimensional(home):
    two = load("two", data_home=str(home))
    np.testing.assert_array_equal(two.target, [[2, 3], [5, 6]])
    assert two.target_names == ("y", "z")
    assert repr(two) == f"Dataset(two: 2 rows, 1 features, 2 targets, from {home / 'two.csv'})"


def test_frames_hold_categories(home):
    one = load("one", data_home=home, as_frame=True)
    assert list(one.data) == list(one.feature_names) == ["Sex", "b"]
    assert one.data["Sex"].tolist() == ["M", "F", "M"]
    assert list(one.data["Sex"].cat.categories) == ["F", "I", "M"]
    assert one.data["b"].dtype == np.float64
    assert isinstance(one.target, pd.Series)
    assert one.target.name == "y"
    two = load("two", data_home=home, as_frame=True)
    assert list(two.target) == ["y", "z"]


@pytest.mark.parametrize("as_frame", [False, True])
def test_data_and_target_alone(home, as_frame):
    X, y = load("one", data_home=home, return_X_y=True, as_frame=as_frame)
    whole = load("one", data_home=home, as_frame=as_frame)
    np.testing.assert_array_equal(np.asarray(X), np.asarray(whole.data))
    np.testing.assert_array_equal(y, whole.target)


def test_a_data_set_can_be_sent_to_another_process(home):
    one = pickle.loads(pickle.dumps(load("one", data_home=home)))
    assert one.info == ONE
    assert one.data.shape == (3, 4)


def test_the_variable_and_the_cache_name_folders(home, monkeypatch, tmp_path):
    cache = tmp_path / "xdg" / "negcorr"
    cache.mkdir(parents=True)
    (home / "two.csv").rename(cache / "two.csv")
    monkeypatch.setenv("NEGCORR_DATA", str(home))
    assert load("one").source == str(home / "one.csv")
    assert load("two").source == str(cache / "two.csv")


def test_a_damaged_file_is_not_passed_over(home, monkeypatch, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    (first / "two.csv").write_text("a,y,z\n1,2,3\n", encoding="utf-8")
    monkeypatch.setenv("NEGCORR_DATA", str(home))
    with pytest.raises(DatasetError, match=r"first.two\.csv has 1 rows, .* must have 2 rows"):
        load("two", data_home=first)


def test_frames_without_pandas_say_what_to_install(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"as_frame=True, .* needs pandas.*pip install"):
        load("one", data_home=home, as_frame=True)
    assert load("one", data_home=home).data.shape == (3, 4)


@pytest.mark.parametrize("argument", ["as_frame", "return_X_y", "fetch"])
def test_flags_must_be_true_or_false(argument):
    with pytest.raises(TypeError, match=rf"{argument}='yes' must be True or False"):
        load("jura", **{argument: "yes"})


def test_a_set_that_is_nowhere_lists_the_places_and_the_ways_out(tmp_path):
    with pytest.raises(MissingDatasetError) as caught:
        load("scm1d", data_home=tmp_path)
    message = str(caught.value)
    for part in (
        f"data_home: {tmp_path}\n",
        "$NEGCORR_DATA: not set\n",
        f"cache: {tmp_path / 'xdg' / 'negcorr'}\n",
        "OpenML: no copy known\n",
        "put scm1d.csv.gz or scm1d.csv into a folder",
        "data/multi-target/scm1d.arff",
    ):
        assert part in message
    assert "fetch=True" not in message
    assert isinstance(caught.value, FileNotFoundError)


def test_without_fetch_openml_is_not_asked(monkeypatch):
    monkeypatch.setattr("negcorr.datasets.loading.fetch_columns", None)
    with pytest.raises(MissingDatasetError, match=r"OpenML 189: not asked, since fetch=False"):
        load("kinematics", fetch=False)


def test_available_says_where_without_opening(home):
    (home / "one.csv").write_bytes(b"not even text \xff")
    (home / "two.csv").unlink()
    found = available(home)
    assert [one.name for one in found] == ["one", "two", "kinematics"]
    assert [one.status for one in found] == ["here", "missing", "download"]
    assert [one.path for one in found] == [home / "one.csv", None, None]
    assert is_available("one", home)
    assert not is_available("two", home)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found[0].status = "missing"


def test_nothing_is_here_without_folders():
    assert {one.status for one in available()} == {"download", "missing"}
    assert sum(one.status == "download" for one in available()) == 7


@pytest.mark.parametrize("function", [available, lambda home: is_available("jura", home)])
def test_availability_checks_its_arguments(function, tmp_path):
    with pytest.raises(NotADirectoryError, match=r"data_home="):
        function(tmp_path / "nowhere")
    with pytest.raises(TypeError, match=r"data_home="):
        function(3)
    with pytest.raises(ValueError, match=r"did you mean 'jura'"):
        is_available("Jura")


real_data = pytest.mark.skipif(not REAL.is_dir(), reason="no folder shared/data beside the project")


@real_data
@pytest.mark.parametrize("name", [name for name in DATASETS if info(name).sha256 is not None])
def test_real_files_load(name):
    entry = info(name)
    dataset = load(name, data_home=REAL, fetch=False)
    one_hot = sum(len(values) - 1 for values in entry.categories)
    assert dataset.data.shape == (entry.n_samples, entry.n_features + one_hot)
    assert dataset.target.size == entry.n_samples * entry.n_targets
    assert dataset.data.shape[1] == len(dataset.feature_names)
    assert np.isfinite(dataset.data).all()


@real_data
@pytest.mark.parametrize("name", ["abalone", "machine", "jura"])
def test_real_files_are_what_pandas_reads(name):
    frame = pd.read_csv(REAL / f"{name}.csv.gz")
    dataset = load(name, data_home=REAL, as_frame=True, fetch=False)
    target = dataset.target if dataset.target.ndim == 2 else dataset.target.to_frame()
    joined = pd.concat([dataset.data, target], axis=1)
    pd.testing.assert_frame_equal(joined, frame, check_dtype=False, check_categorical=False)
