"""The way to OpenML, against a server on this machine that answers as OpenML does."""

import dataclasses
import gc
import gzip
import hashlib
import json
import socket
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType

import numpy as np
import pytest
from sklearn.datasets import _openml as client

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
                if self.headers.get("Accept-encoding") == "gzip":
                    self.send_header("Content-Encoding", "gzip")
                    body = gzip.compress(body)
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
        """Answer as OpenML would for this ARFF file; its last attribute is the target."""
        head, _, rows = arff.partition("@DATA\n")
        lines = [line.split(maxsplit=2)[1:] for line in head.splitlines() if "ATTRIBUTE" in line]
        features = [
            {
                "index": str(j),
                "name": name,
                "data_type": "nominal" if kind.startswith("{") else "numeric",
                "is_target": "true" if j == len(lines) - 1 else "false",
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
            for j, (name, kind) in enumerate(lines)
        ]
        quality = {"name": "NumberOfInstances", "value": str(len(rows.splitlines()))}
        about = {
            "id": "7",
            "name": "toy",
            "version": "1",
            "status": "active",
            "format": "ARFF",
            "description": "made for a test",
            "file_id": "70",
            "url": f"{self.url}data/v1/download/70/toy.arff",
            "md5_checksum": md5 or hashlib.md5(arff.encode()).hexdigest(),
            **description,
        }
        for path, content in {
            "data/7": {"data_set_description": about},
            "data/features/7": {"data_features": {"feature": features}},
            "data/qualities/7": {"data_qualities": {"quality": [quality]}},
        }.items():
            self.answers[f"/api/v1/json/{path}"] = (200, json.dumps(content).encode())
        # Versions of the client differ in whether they ask for the name.
        for path in ("/data/v1/download/70/toy.arff", "/data/v1/download/70"):
            self.answers[path] = (200, arff.encode())


@pytest.fixture
def naps(monkeypatch):
    """Seconds that the client would have slept between retries."""
    slept = []
    monkeypatch.setattr(client, "time", types.SimpleNamespace(sleep=slept.append))
    return slept


@pytest.fixture
def openml(monkeypatch, tmp_path, naps):
    monkeypatch.delenv("NEGCORR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    entries = MappingProxyType({"toy": TOY})
    monkeypatch.setattr("negcorr.datasets.registry.DATASETS", entries)
    stub = Stub()
    if hasattr(client, "_OPENML_PREFIX"):  # scikit-learn before 1.9
        monkeypatch.setattr(client, "_OPENML_PREFIX", stub.url)
    else:
        for name in ("_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
            address = getattr(client, name).replace("https://www.openml.org/", stub.url)
            monkeypatch.setattr(client, name, address)
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
            r"column 'Sex': 'X' is not allowed; allowed are 'F', 'I', 'M'",
        ),
        ({"Sex": "Gender"}, r"OpenML 7 lacks the columns 'Sex' of toy"),
        ({"I,0,2,10": "I,?,2,10"}, r"row 3, column 'chas': nan is not a finite number"),
        ({"I,0,2,10": "I,0,?,10"}, r"row 3, column 'length': nan is not a finite number"),
        (
            {"{0,1}": "{no,yes}", ",0,": ",no,", ",1,": ",yes,"},
            r"column 'chas': 'no' is not allowed; allowed are finite numbers",
        ),
        ({",15": ",old"}, r"OpenML 7: a target is not a number"),
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


def test_download_without_a_target(openml):
    path = "/api/v1/json/data/features/7"
    status, body = openml.answers[path]
    openml.answers[path] = (status, body.replace(b'"is_target": "true"', b'"is_target": "false"'))
    with pytest.raises(DatasetError, match=r"OpenML 7 names no target; toy has 1"):
        load("toy")


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("status", [404, 412, 500])
def test_a_refusal_is_told_with_the_places(openml, naps, status):
    openml.answers["/api/v1/json/data/7"] = (status, b"{}")
    with pytest.raises(MissingDatasetError, match=r"OpenML 7 could not be fetched: ") as caught:
        load("toy")
    assert "cache: " in str(caught.value)
    assert "fetch=True" in str(caught.value)
    assert caught.value.__cause__.__cause__ is not None
    assert sum(naps) <= 3
    del caught
    gc.collect()  # the client leaves the answer to 412 open: collected here, ignored above


def test_a_server_that_is_down_is_told_soon(openml, naps):
    openml.stop()
    with pytest.raises(MissingDatasetError, match=r"could not be fetched: URLError: .*refused"):
        load("toy")
    assert sum(naps) <= 3


@pytest.mark.filterwarnings("ignore:Invalid cache:RuntimeWarning")
def test_a_server_that_says_nothing_is_not_waited_for(openml, naps, monkeypatch):
    monkeypatch.setattr("negcorr.datasets.openml._PATIENCE", 0.05)
    silent = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
    if hasattr(client, "_OPENML_PREFIX"):
        monkeypatch.setattr(client, "_OPENML_PREFIX", address)
    else:
        monkeypatch.setattr(client, "_DATA_INFO", address + "{}")
    with silent, pytest.raises(MissingDatasetError, match=r"timed out"):
        load("toy")
    assert socket.getdefaulttimeout() is None


@pytest.mark.filterwarnings("ignore:Invalid cache:RuntimeWarning")
def test_files_that_do_not_fit_their_checksum(openml):
    openml.publish(ARFF, md5="0" * 32)
    with pytest.raises(MissingDatasetError, match=r"ValueError: .*md5 checksum"):
        load("toy")


@pytest.mark.filterwarnings("ignore:Invalid cache:RuntimeWarning")
@pytest.mark.parametrize("body", [b"", b"<html>maintenance</html>"])
def test_answers_that_are_not_json(openml, body):
    openml.answers["/api/v1/json/data/7"] = (200, body)
    with pytest.raises(MissingDatasetError, match=r"could not be fetched: JSONDecodeError"):
        load("toy")


def test_a_damaged_cache_is_fetched_anew_with_a_warning(openml, tmp_path):
    load("toy")
    cached = next((tmp_path / "negcorr").rglob("70*.gz"), None) or next(
        (tmp_path / "negcorr").rglob("toy.arff.gz")
    )
    cached.write_bytes(cached.read_bytes()[:-20])
    with pytest.warns(RuntimeWarning, match="Invalid cache"):
        toy = load("toy")
    assert toy.data.shape == (3, 5)


def test_a_cache_that_cannot_be_written(openml, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(MissingDatasetError, match=r"could not be fetched: NotADirectoryError"):
        load("toy")


def test_warnings_of_openml_are_passed_on(openml):
    openml.publish(ARFF, status="deactivated")
    with pytest.warns(UserWarning, match="is inactive"):
        load("toy")
