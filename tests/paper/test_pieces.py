"""Rows of finished pieces, kept in files that other settings never meet."""

import dataclasses
import importlib
import importlib.metadata
import inspect
import json
import math
import warnings

import numpy as np
import pytest
from toy_data import noted, toy_setup

from negcorr.exceptions import StoredPieceWarning
from negcorr.paper import pieces, timing
from negcorr.paper.pieces import Piece, Store

SETUP = toy_setup()
PIECE = Piece("kind", noted, (("name", "machine"), ("fold", 3)), fingerprint="abc", effort=2.0)
ROWS = [{"a": 1, "b": 0.1}, {"a": 2, "b": 1.0 / 3.0}]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "pieces")


def stored(store, piece=PIECE, setup=SETUP, rows=ROWS):
    store.write(piece, setup, rows)
    return store.path(piece, setup)


def test_a_piece_that_was_never_stored_is_none_without_a_word(store):
    assert store.read(PIECE, SETUP) is None
    assert not store.folder.exists()


def test_rows_come_back_exactly(store):
    values = [0.1, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, -0.0, 1e-20, 2**53 + 1, "Größe", None]
    stored(store, rows=[{"value": value} for value in values])
    back = [row["value"] for row in store.read(PIECE, SETUP)]
    assert back == values
    assert math.copysign(1.0, back[4]) == -1.0


def test_random_doubles_come_back_bit_for_bit(store):
    bits = np.random.default_rng(0).integers(0, 2**63 - 2**53, size=500, dtype=np.uint64)
    values = bits.view(np.float64)
    values = values[np.isfinite(values)]
    stored(store, rows=[{"value": float(value)} for value in values])
    back = np.array([row["value"] for row in store.read(PIECE, SETUP)])
    np.testing.assert_array_equal(back.view(np.uint64), values.view(np.uint64))


def test_what_is_no_number_comes_back_too(store):
    stored(store, rows=[{"a": math.inf, "b": -math.inf, "c": math.nan}])
    (row,) = store.read(PIECE, SETUP)
    assert (row["a"], row["b"]) == (math.inf, -math.inf)
    assert math.isnan(row["c"])


def test_order_of_columns_and_no_rows_at_all_are_kept(store):
    stored(store, rows=[{"z": 1, "a": 2}])
    assert list(store.read(PIECE, SETUP)[0]) == ["z", "a"]
    stored(store, rows=[])
    assert store.read(PIECE, SETUP) == []


def test_file_says_for_people_what_it_is(store):
    path = stored(store)
    assert path.parent == store.folder / "kind"
    assert path.name.startswith("machine-3-")
    assert PIECE.title == "kind machine 3"
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["identity"]["choice"] == {"name": "machine", "fold": 3}
    assert content["identity"]["setup"] == json.loads(json.dumps(dataclasses.asdict(SETUP)))


OTHERS = {
    "function": (dataclasses.replace(PIECE, function=timing.timing), SETUP),
    "kind": (dataclasses.replace(PIECE, kind="other"), SETUP),
    "choice": (dataclasses.replace(PIECE, choice=(("name", "machine"), ("fold", 4))), SETUP),
    "word": (dataclasses.replace(PIECE, choice=(("name", "machine"), ("width", 3))), SETUP),
    "data": (dataclasses.replace(PIECE, fingerprint="abd"), SETUP),
    "seed": (PIECE, toy_setup(seed=1)),
    "protocol": (PIECE, toy_setup(protocol="printed")),
    "shuffle": (PIECE, toy_setup(shuffle=True)),
    "features": (PIECE, toy_setup(n_features=13)),
    "rows": (PIECE, toy_setup(max_rows=None)),
    "repeats": (PIECE, toy_setup(repeats=4)),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_piece_is_another_file(store, what):
    path = stored(store)
    assert store.path(*OTHERS[what]) != path
    assert store.read(*OTHERS[what]) is None


def test_other_code_is_another_file(store, monkeypatch):
    path = stored(store)
    changed = PIECE.identity(SETUP)["code"] | {"source": "0" * 16}
    monkeypatch.setattr(pieces, "_code_of", lambda module: changed)
    assert store.path(PIECE, SETUP) != path
    assert store.read(PIECE, SETUP) is None


def fresh_code():
    """What the identity says of the code, computed anew."""
    return pieces._code_of.__wrapped__(noted.__module__)


def test_code_is_versions_and_a_hash_of_the_source():
    code = PIECE.identity(SETUP)["code"]
    assert code == fresh_code()
    assert set(code) == {"source", "negcorr", "numpy", "scipy", "scikit-learn"}
    assert code["numpy"] == np.__version__
    assert len(code["source"]) == 16


@pytest.mark.parametrize(
    ("module", "matters"),
    [
        ("toy_data", True),
        ("negcorr.paper.protocol", True),
        ("negcorr.paper.setup", True),
        ("negcorr.paper.page", False),
    ],
)
def test_source_is_that_of_the_function_the_protocol_and_the_setup(monkeypatch, module, matters):
    before = fresh_code()
    source = inspect.getsource

    def edited(one):
        return source(one) + ("# another line\n" if one.__name__ == module else "")

    monkeypatch.setattr("negcorr.paper.pieces.inspect.getsource", edited)
    assert (fresh_code()["source"] != before["source"]) == matters


@pytest.mark.parametrize("library", ["negcorr", "numpy", "scipy", "scikit-learn"])
def test_another_version_is_other_code(monkeypatch, library):
    before, version = fresh_code(), pieces.version
    monkeypatch.setattr(pieces, "version", lambda name: version(name) + "+1" * (name == library))
    assert {key for key, value in fresh_code().items() if value != before[key]} == {library}


DEEP = "negcorr.paper.deep_training"


def test_torch_is_part_of_the_code_of_what_uses_it_and_of_nothing_else(monkeypatch):
    torch = pytest.importorskip("torch")
    importlib.import_module(DEEP)
    code = pieces._code_of.__wrapped__(DEEP)
    assert set(code) == {"source", "negcorr", "numpy", "scipy", "scikit-learn", "torch"}
    assert code["torch"] == importlib.metadata.version("torch")
    assert torch.__version__.startswith(code["torch"].split("+")[0])
    version = pieces.version
    monkeypatch.setattr(pieces, "version", lambda name: version(name) + "+1" * (name == "torch"))
    changed = pieces._code_of.__wrapped__(DEEP)
    assert {key for key in code if code[key] != changed[key]} == {"torch"}
    assert fresh_code() == PIECE.identity(SETUP)["code"]


def test_being_alone_makes_no_other_file(store):
    stored(store)
    assert store.read(dataclasses.replace(PIECE, alone=True), SETUP) == ROWS


def test_a_seed_of_numpy_is_the_seed(store):
    path = stored(store, setup=toy_setup(seed=3))
    assert store.path(PIECE, toy_setup(seed=np.int64(3))) == path


def test_effort_makes_no_other_piece(store):
    stored(store)
    assert store.read(dataclasses.replace(PIECE, effort=99.0), SETUP) == ROWS


def test_every_cut_of_a_file_is_noticed(store):
    path = stored(store)
    content = path.read_bytes()
    for stop in range(len(content)):
        path.write_bytes(content[:stop])
        with pytest.warns(StoredPieceWarning, match=r"machine-3-\w+\.json is not a stored piece"):
            assert store.read(PIECE, SETUP) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00garbage",
        b"null",
        b"[]",
        b"3",
        b'"text"',
        b"{}",
        b'{"rows": []}',
        b"\x00" * 300,
    ],
)
def test_files_of_something_else_are_computed_again_with_a_warning(store, content):
    path = stored(store)
    path.write_bytes(content)
    with pytest.warns(StoredPieceWarning, match=r"it is computed again"):
        assert store.read(PIECE, SETUP) is None


def test_a_file_without_rows_is_no_piece(store):
    path = stored(store)
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["rows"]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.warns(StoredPieceWarning, match=r"not a stored piece"):
        assert store.read(PIECE, SETUP) is None


@pytest.mark.parametrize(
    "rows", [None, 3, "text", {}, {"a": 1}, [1], [[]], [{"a": 1}, "b"]], ids=str
)
def test_rows_that_are_no_list_of_dictionaries_are_refused(store, rows):
    path = stored(store)
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | {"rows": rows}), encoding="utf-8")
    with pytest.warns(StoredPieceWarning, match=r"it has no rows\); it is computed again"):
        assert store.read(PIECE, SETUP) is None


def test_a_copied_file_does_not_pass_for_another_piece(store):
    other, setup = OTHERS["choice"]
    target = store.path(other, setup)
    stored(store).rename(target)
    with pytest.warns(StoredPieceWarning, match=r"it is of another piece"):
        assert store.read(other, setup) is None


def test_writing_again_mends_a_damaged_file(store):
    path = stored(store)
    path.write_bytes(path.read_bytes()[:40])
    stored(store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.read(PIECE, SETUP) == ROWS


def test_the_same_rows_have_the_same_bytes(store, tmp_path):
    other = Store(tmp_path / "other")
    assert stored(store).read_bytes() == stored(other).read_bytes()
    assert store.path(PIECE, SETUP).name == other.path(PIECE, SETUP).name
