"""The way to OpenML, against a server on this machine that answers as OpenML does."""

import dataclasses
import hashlib
import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType

import numpy as np
import pytest

from negcorr.datasets import DatasetError, MissingDatasetError, info, load

TOY = dataclasses.replace(
    info("abalone"), name="toy", n_samples=3, n_features=3, target_names=("rings",), openml_id=7
)
ARFF = """@RELATION toy
@ATTRIBUTE Sex {M,F,I}
@ATTRIBUTE chas {0,1}
@ATTRIBUTE length REAL
@ATTRIBUTE class {9,10,15}
@DATA
M,0,0.5,15
F,1,0.25,9
I,0,2,10
"""


class Stub:
    """An OpenML of one data set. Answers may be changed; requests are remembered."""

    def __init__(self):
        self.answers, self.asked = {}, []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                stub.asked.append(self.path)
                status, body = stub.answers.get(self.path, (404, b"no such page"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                """Keep the output of the tests clean."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self):
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()

    def publish(self, arff, md5=None, **description):
        """Answer as OpenML would for this ARFF file, whose target is called class."""
        about = {
            "id": "7",
            "name": "toy",
            "format": "ARFF",
            "url": f"{self.url}data/v1/download/70/toy.arff",
            "default_target_attribute": "class",
            "md5_checksum": md5 or hashlib.md5(arff.encode()).hexdigest(),
            **description,
        }
        content = json.dumps({"data_set_description": about})
        self.answers["/data/7"] = (200, content.encode())
        self.answers["/data/v1/download/70/toy.arff"] = (200, arff.encode())


@pytest.fixture
def openml(monkeypatch, tmp_path):
    monkeypatch.delenv("NEGCORR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    entries = MappingProxyType({"toy": TOY})
    monkeypatch.setattr("negcorr.datasets.registry.DATASETS", entries)
    stub = Stub()
    monkeypatch.setattr("negcorr.datasets.openml._DESCRIPTION", stub.url + "data/{}")
    stub.publish(ARFF)
    yield stub
    stub.stop()


def test_nominal_columns_become_categories_or_numbers(openml):
    toy = load("toy")
    assert toy.source == "OpenML 7"
    assert toy.feature_names == ("Sex_F", "Sex_I", "Sex_M", "chas", "length")
    expected = [[0, 0, 1, 0, 0.5], [1, 0, 0, 1, 0.25], [0, 1, 0, 0, 2]]
    np.testing.assert_array_equal(toy.data, expected)
    np.testing.assert_array_equal(toy.target, [15, 9, 10])
    assert toy.target_names == ("rings",)


def test_numeric_target_and_frames(openml):
    openml.publish(ARFF.replace("class {9,10,15}", "class NUMERIC"))
    toy = load("toy", as_frame=True)
    assert toy.data["Sex"].tolist() == ["M", "F", "I"]
    assert toy.data["chas"].tolist() == [0.0, 1.0, 0.0]
    assert toy.target.tolist() == [15, 9, 10]
    assert toy.target.name == "rings"


def test_second_load_needs_no_server(openml, tmp_path):
    first = load("toy")
    asked = len(openml.asked)
    openml.stop()
    second = load("toy")
    np.testing.assert_array_equal(first.data, second.data)
    assert len(openml.asked) == asked
    assert (tmp_path / "negcorr" / "openml").is_dir()


def test_a_home_comes_before_openml(openml, tmp_path):
    text = "Sex,b,c,rings\nM,1,2,3\nF,4,5,6\nM,7,8,9\n"
    (tmp_path / "toy.csv").write_text(text, encoding="utf-8")
    assert load("toy", data_home=tmp_path).source == str(tmp_path / "toy.csv")
    assert openml.asked == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"I,0,2,10\n": ""}, r"OpenML 7 has 2 rows, .* toy must have 3 rows"),
        (
            {"@ATTRIBUTE length": "@ATTRIBUTE more REAL\n@ATTRIBUTE length", ",0,": ",0,1,"}
            | {",1,0.25": ",1,1,0.25"},
            r"has 3 rows, 4 features and 1 targets; toy must have 3 rows, 3 features",
        ),
        (
            {"{M,F,I}": "{M,F,I,X}", "I,0,2": "X,0,2"},
            r"column 'Sex', row 3: 'X' is not one of 'F', 'I', 'M'",
        ),
        ({"Sex": "Gender"}, r"OpenML 7 lacks the column 'Sex' of toy"),
        ({"I,0,2,10": "I,?,2,10"}, r"column 'chas', row 3: None is not a finite number"),
        ({"I,0,2,10": "I,0,?,10"}, r"column 'length', row 3: nan is not a finite number"),
        (
            {"{0,1}": "{no,yes}", ",0,": ",no,", ",1,": ",yes,"},
            r"column 'chas', row 1: 'no' is not a finite number",
        ),
        ({"0.5,15": "0.5,old"}, r"line 7, attribute 'class': 'old' is not among its levels"),
        ({",15": ",old"}, r"column 'class', row 1: 'old' is not a finite number"),
    ],
)
def test_downloads_that_are_another_data_set(openml, changes, message):
    arff = ARFF
    for old, new in changes.items():
        arff = arff.replace(old, new)
    openml.publish(arff)
    with pytest.raises(DatasetError, match=message):
        load("toy")


def test_a_category_that_no_row_has_does_no_harm(openml):
    openml.publish(ARFF.replace("{M,F,I}", "{M,F,I,X}"))
    assert load("toy").feature_names[:3] == ("Sex_F", "Sex_I", "Sex_M")


@pytest.mark.parametrize("form", [list, ",".join])
def test_attributes_that_openml_leaves_out(openml, form):
    head, _, rows = ARFF.partition("@DATA\n")
    rows = "".join(f"{k},x,{row}\n" for k, row in enumerate(rows.splitlines()))
    arff = head.replace("toy\n", "toy\n@ATTRIBUTE id NUMERIC\n@ATTRIBUTE note STRING\n", 1)
    openml.publish(arff + "@DATA\n" + rows, row_id_attribute="id", ignore_attribute=form(["note"]))
    assert load("toy").feature_names == ("Sex_F", "Sex_I", "Sex_M", "chas", "length")


def test_download_without_a_target(openml):
    openml.publish(ARFF, default_target_attribute=None)
    with pytest.raises(DatasetError, match=r"OpenML 7 has 3 rows, 4 features and 0 targets; toy"):
        load("toy")


@pytest.mark.parametrize("status", [404, 412, 500])
@pytest.mark.parametrize("path", ["/data/7", "/data/v1/download/70/toy.arff"])
def test_a_refusal_is_told_with_the_places(openml, path, status):
    openml.answers[path] = (status, b"{}")
    with pytest.raises(MissingDatasetError, match=r"OpenML 7 could not be fetched: ") as caught:
        load("toy")
    assert "cache: " in str(caught.value)
    assert "fetch=True" in str(caught.value)
    assert caught.value.__cause__.__cause__ is not None


def test_a_server_that_is_down_is_told(openml):
    openml.stop()
    with pytest.raises(MissingDatasetError, match=r"could not be fetched: URLError: .*refused"):
        load("toy")


def test_a_server_that_says_nothing_is_not_waited_for(openml, monkeypatch):
    monkeypatch.setattr("negcorr.datasets.openml._PATIENCE", 0.05)
    silent = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
    monkeypatch.setattr("negcorr.datasets.openml._DESCRIPTION", address + "{}")
    with silent, pytest.raises(MissingDatasetError, match=r"timed out"):
        load("toy")


def test_files_that_do_not_fit_their_checksum(openml, tmp_path):
    openml.publish(ARFF, md5="0" * 32)
    with pytest.raises(MissingDatasetError, match=r"ValueError: .* has another MD5 than 00"):
        load("toy")
    assert not (tmp_path / "negcorr").exists()


@pytest.mark.parametrize("body", [b"", b"<html>maintenance</html>", b"[]", b"{}", b"\xff"])
def test_answers_that_are_not_those_of_openml(openml, body):
    openml.answers["/data/7"] = (200, body)
    with pytest.raises(MissingDatasetError, match=r"OpenML 7 could not be fetched: "):
        load("toy")


@pytest.mark.parametrize("change", [lambda kept: kept[:-20], lambda kept: b""])
def test_a_damaged_cache_is_fetched_anew(openml, tmp_path, change):
    load("toy")
    kept = tmp_path / "negcorr" / "openml" / "7.arff"
    whole = kept.read_bytes()
    kept.write_bytes(change(whole))
    assert load("toy").data.shape == (3, 5)
    assert kept.read_bytes() == whole


def test_a_cache_that_cannot_be_written(openml, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(MissingDatasetError, match=r"could not be fetched: NotADirectoryError"):
        load("toy")


def test_no_pandas_is_needed_for_arrays(openml, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert load("toy").data.shape == (3, 5)
