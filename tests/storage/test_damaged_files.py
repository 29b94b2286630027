"""Files of models that are damaged or crafted: refused in a sentence, soon, in little memory."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from forging import members_of, resealed, write_members
from hostile import crafts
from hostile.valid_models import MODELS, valid

from negcorr import load, save
from negcorr.exceptions import ModelFileError
from negcorr.storage.model_files import ENVELOPE, SCHEMA
from negcorr.storage.save_load import describe

#: Reads a file with 3 GiB of address space, and says what came of it and how much memory it took.
CHILD = """
import resource, sys, time
import numpy, scipy.stats, sklearn.ensemble
from negcorr.storage.model_files import skops_io
skops_io()
from negcorr import load, save
from negcorr.exceptions import ModelFileError
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before, start = peak(), time.perf_counter()
try:
    load(sys.argv[1])
except ModelFileError as error:
    print(peak() - before, time.perf_counter() - start, str(error).partition(": ")[2], sep="|")
"""


def refused_in_child(file):
    """Mebibytes and seconds that a refusal took, and its words."""
    run = subprocess.run(
        [sys.executable, "-c", CHILD, file], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    grown, seconds, words = run.stdout.strip().split("|")
    return float(grown), float(seconds), words


def changed(file, name="fourier", schema=None, envelope=None, more=None):
    """A valid model's file with its texts changed in place, or with more members, sealed again."""
    members = valid(name).members | (more or {})
    for text, change in ((SCHEMA, schema), (ENVELOPE, envelope)):
        if change is not None:
            held = json.loads(members[text])
            change(held)
            members[text] = json.dumps(held).encode()
    return write_members(file, resealed(members), zipfile.ZIP_STORED)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.skops"


@pytest.mark.parametrize("name", MODELS)
def test_valid_files_load(name, file):
    if name == "deep":
        pytest.importorskip("torch")
    file.write_bytes(valid(name).bytes)
    load(file)


# ----------------------------------------------------------------------------------------
# Little that asks for much


def test_a_small_file_of_150_megabytes_of_text_is_refused_at_once(file):
    wide = json.dumps(crafts._json_node(1))
    text = json.dumps({"content": []})[:-2] + ",".join([wide] * 1_500_000) + "]}"
    assert len(text) > 120e6
    members = valid("fourier").members
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ENVELOPE, members[ENVELOPE])
        archive.writestr(SCHEMA, text)
    assert file.stat().st_size < 700_000
    grown, seconds, words = refused_in_child(file)
    assert words.startswith("is beyond the limit on texts: schema.json unpacks to 1")
    assert grown < 100
    assert seconds < 5


def laughing(schema):
    """Lists of ten times the same list, thirty times over, in less than a page of text."""
    node = crafts._list_node(crafts._json_node(1), __id__=1)
    for k in range(2, 32):
        node = crafts._list_node(node, *({"__id__": k - 1} for _ in range(9)), __id__=k)
    schema["content"]["content"]["cv"] = node


def reading_often(schema):
    """One array read under a hundred thousand names."""
    read = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
    read |= {"type": "numpy", "file": "0000.npy"}
    names = range(10**9, 10**9 + 100_000)
    schema["content"]["content"]["cv"] = crafts._list_node(*(read | {"__id__": n} for n in names))


def deep_within(schema):
    schema["content"]["content"]["cv"] = crafts.deep(300)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (laughing, "two parts have the id"),
        (reading_often, "two parts read '0000.npy'"),
        (deep_within, "is beyond the limit on nesting"),
    ],
)
def test_parts_that_grow_when_they_are_followed_are_refused_at_once(change, words, file):
    changed(file, schema=change)
    grown, seconds, told = refused_in_child(file)
    assert words in told
    assert grown < 500
    assert seconds < 20


def npy(descr, shape, content=b""):
    out = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + content


@pytest.mark.parametrize(
    "array",
    [
        npy("<f8", (10**12,)),
        npy("<f8", (2,), b"x" * 8),
        npy("<f8", (1,), b"x" * 16),
        npy("|V0", (10**15,)),
        npy("|S1000000000", (1,)),
        npy("|O", (1,), b"x" * 8),
    ],
)
def test_arrays_that_say_other_than_they_are_are_refused(array, file):
    with pytest.raises(ModelFileError, match="is damaged"):
        load(changed(file, more={"0000.npy": array}))


def test_a_sparse_matrix_that_unpacks_to_gigabytes_is_refused(file):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("data", "indices"):
            archive.writestr(f"{name}.npy", npy("|i1", (10**8,), bytes(10**8)))
    changed(file, more={"0000.npz": out.getvalue()})
    assert file.stat().st_size < 10**7 / 4
    with pytest.raises(ModelFileError, match="is beyond the limit on packed arrays: sparse"):
        load(file)


def test_a_file_larger_than_memory_is_refused_before_it_is_read(file, monkeypatch):
    file.write_bytes(valid("fourier").bytes)
    monkeypatch.setattr("negcorr.storage.limits.available_bytes", lambda: 100_000)
    with pytest.raises(ModelFileError, match=r"is beyond the limit on memory: it has .* KiB"):
        load(file)


def test_very_many_members_are_refused(file, monkeypatch):
    file.write_bytes(valid("fourier").bytes)
    monkeypatch.setattr("negcorr.storage.limits.MOST_MEMBERS", 5)
    with pytest.raises(ModelFileError, match="is beyond the limit on members"):
        load(file)


def test_a_model_whose_file_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    file = tmp_path / "model.skops"
    file.write_bytes(valid("fourier").bytes)
    model = load(file)
    monkeypatch.setattr("negcorr.storage.model_files.MOST_TEXT", 10_000)
    with pytest.raises(ModelFileError, match=r"would have more than 9.8 KiB; .*compact\(\)"):
        save(model, tmp_path / "other.skops")
    assert list(tmp_path.iterdir()) == [file]


# ----------------------------------------------------------------------------------------
# Damage


def test_a_text_that_cannot_be_unpacked_is_damage(file):
    damaged = bytearray(valid("fourier").bytes)
    with zipfile.ZipFile(io.BytesIO(damaged)) as archive:
        start = archive.getinfo(SCHEMA).header_offset
    members = valid("fourier").members
    packed = crafts.zipped(members)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        start = archive.getinfo(SCHEMA).header_offset + 30 + len(SCHEMA)
    broken = bytearray(packed)
    broken[start : start + 40] = b"\xff" * 40
    file.write_bytes(broken)
    for read in (load, describe):
        with pytest.raises(ModelFileError, match="is damaged") as caught:
            read(file)
        assert caught.value.__cause__ is not None


@pytest.mark.parametrize("name", [SCHEMA, ENVELOPE, "0000.npy"])
def test_a_changed_member_does_not_match_the_checksum(name, file):
    members = dict(valid("fourier").members)
    members[name] = members[name].replace(b"fourier", b"Fourier").replace(b'"y"', b'"z"')
    if name.endswith(".npy"):
        members[name] = members[name][:-1] + bytes([members[name][-1] ^ 1])
    if name == SCHEMA:
        members[name] += b" "
    write_members(file, members)
    for read in (load, describe):
        with pytest.raises(ModelFileError, match="does not match its checksum"):
            read(file)


def test_a_file_without_a_checksum_is_refused(file):
    members = dict(valid("fourier").members)
    envelope = json.loads(members[ENVELOPE])
    del envelope["sha256"]
    write_members(file, members | {ENVELOPE: json.dumps(envelope).encode()})
    with pytest.raises(ModelFileError, match=r"lacks \['sha256'\]"):
        load(file)


def test_encrypted_files_are_named(file):
    data = bytearray(valid("fourier").bytes)
    data[data.index(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(data)
    with pytest.raises(ModelFileError, match="is encrypted"):
        load(file)


# ----------------------------------------------------------------------------------------
# Forgeries: parts of a state that do not fit together


def node_at(schema, *names):
    """A part of a description, by the names of fields and the numbers of items."""
    node = schema
    for name in names:
        node = node["content"]
        if isinstance(node, dict) and isinstance(name, str) and "content" in node:
            node = node["content"]
        node = node[name]
    return node


def with_array(file, name, names, change):
    """A valid model's file with one array changed, sealed again."""
    members = dict(valid(name).members)
    held = node_at(json.loads(members[SCHEMA]), *names)["file"]
    out = io.BytesIO()
    np.save(out, change(np.load(io.BytesIO(members[held]))))
    return write_members(file, resealed(members | {held: out.getvalue()}))


KNOWN = ("_state", "known")
PATH = (*KNOWN, "path")


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("fourier", (*KNOWN, "solution", "coef")),
        ("fourier", (*KNOWN, "solution", "centre")),
        ("fourier", (*PATH, "chosen_gap")),
        ("fourier", (*PATH, "gaps")),
        ("fourier", (*PATH, "all_values")),
        ("fourier", (*PATH, "starts")),
        ("fourier", (*PATH, "spectrum", "total")),
        ("fourier", (*PATH, "kfold_table", "values")),
        ("fourier", (*KNOWN, "held_out", "weight")),
        ("fourier", (*KNOWN, "held_out", "y")),
        ("fourier", (*KNOWN, "sample", "X")),
        ("fourier", (*KNOWN, "basis", "frequencies_")),
        ("fourier", (*KNOWN, "basis", "input_map_", "scale")),
        ("fourier", ("_state", "drawn", "cells", "smallest")),
        ("nystroem", (*KNOWN, "basis", "landmarks_")),
        ("nystroem", (*KNOWN, "basis", "normalization_")),
        ("nested", (*PATH, "spectrum", "whitening", "inverses", 0)),
        ("compact", (*PATH, "spectrum", "kappa")),
        ("rows", (*PATH, "spectrum", "rows", "y")),
        ("streamed", ("_state", "stream", "cells", 0, "scatter")),
        ("loo", (*PATH, "leave_one_out", "features")),
        ("outputs", (*KNOWN, "solution", "intercept")),
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        lambda a: a[:-1],
        lambda a: np.concatenate([a, a]),
        lambda a: a[..., np.newaxis],
        lambda a: a.astype(np.complex128),
        lambda a: a.astype(str),
    ],
    ids=["shorter", "longer", "one more axis", "complex", "text"],
)
def test_arrays_of_another_shape_or_kind_are_refused(name, names, change, file):
    with pytest.raises(ModelFileError, match="cannot be built") as caught:
        load(with_array(file, name, names, change))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("fourier", (*KNOWN, "solution", "coef")),
        ("fourier", (*KNOWN, "basis", "frequencies_")),
        ("fourier", (*KNOWN, "held_out", "chosen")),
        ("fourier", (*PATH, "kfold_table", "values")),
        ("compact", (*PATH, "spectrum", "rho")),
        ("sparse", (*KNOWN, "basis", "normalization_")),
    ],
)
def test_numbers_that_are_not_finite_are_refused(name, names, bad, file):
    def change(array):
        array.ravel()[0] = bad
        return array

    with pytest.raises(ModelFileError, match="not finite"):
        load(with_array(file, name, names, change))


@pytest.mark.parametrize(
    ("name", "names", "value"),
    [
        ("fourier", (*PATH, "single_output"), "true"),
        ("fourier", (*PATH, "solver"), '"magic"'),
        ("fourier", (*PATH, "criterion"), "3"),
        ("fourier", (*PATH, "condition"), "1e308"),
        ("fourier", (*KNOWN, "solution", "lam"), '"0.5"'),
        ("fourier", (*KNOWN, "solution", "gap"), "0.123"),
        ("fourier", (*PATH, "spectrum", "n_members"), "4"),
        ("fourier", (*PATH, "spectrum", "weight"), "-1.0"),
        ("nystroem", ("_state", "drawn", "bases", 0, "kernel"), '"none"'),
        ("fourier", ("_state", "drawn"), "null"),
        ("fourier", ("n_features_in_",), "2.0"),
        ("frame", ("_state", "drawn", "cells", "encoding", "parts", 0, "name"), '"z"'),
        ("frame", ("_state", "drawn", "cells", "encoding", "parts", 0, "median"), "null"),
    ],
)
def test_values_of_another_kind_are_refused(name, names, value, file):
    def change(schema):
        node = node_at(schema, *names)
        node.clear()
        node.update(crafts._json_node(None) | {"content": value})

    if names[-1] == "single_output":
        name = "outputs"
    with pytest.raises(ModelFileError, match="cannot be built"):
        load(changed(file, name, schema=change))


# ----------------------------------------------------------------------------------------
# Notes


@pytest.mark.parametrize(
    "notes",
    [
        {"schema": 3},
        {"schema": "{"},
        {"schema": '{"n_rows": 3, "columns": []}'},
        {"schema": '{"n_rows": 3, "columns": [{"name": "y", "role": "target"}]}'},
        {"fingerprint": [1]},
        {"fingerprint": {}},
        {"fingerprint": {"n_rows": -1, "total": 0, "mixed": 0, "seed": 0, "smallest": []}},
        {"fingerprint": {"n_rows": 1, "total": 0, "mixed": 0, "seed": 0, "smallest": ["a"]}},
    ],
)
@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_notes_of_the_wrong_type_are_one_sentence_on_the_command_line(
    notes, command, file, tmp_path, capsys
):
    from negcorr.cli.main import main

    changed(file, "cli", envelope=lambda held: held["notes"].update(notes))
    table = tmp_path / "homes.csv"
    table.write_text("a,b,c,y\n1,2,3,4\n2,3,4,5\n5,3,1,0\n", encoding="utf-8")
    out = [] if command == "evaluate" else ["--out", str(tmp_path / "made.html")]
    if command == "predict":
        out = ["--out", str(tmp_path / "made.csv")]
    with pytest.raises(SystemExit) as ended:
        main([command, str(file), str(table), *out])
    assert ended.value.code == 1
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert "model.skops: has notes that are not those of its model" in told[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["homes.csv", "model.skops"]


def test_members_of_a_file_are_its_own(file):
    file.write_bytes(valid("fourier").bytes)
    assert members_of(file) == valid("fourier").members


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_a_device_is_refused_before_it_is_read():
    with pytest.raises(ModelFileError, match="cannot be read: it is no file"):
        load("/dev/zero")
