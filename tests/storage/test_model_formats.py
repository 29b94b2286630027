"""Files of older and newer versions: each is read, or refused with the exact reason."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from negcorr import NCLRegressor, load, save
from negcorr.exceptions import ModelFileError
from negcorr.storage.model_files import ENVELOPE, FORMAT, OLDEST
from negcorr.storage.save_load import describe

GOLDEN = Path(__file__).parent / "golden"

#: Inputs, and what the models in the golden files predicted when they were written.
INPUTS = np.array([[0.0, 0.0], [0.5, -0.5], [-1.0, 1.0]])
PREDICTED = [-1.0145680519341607, -0.08329913080050844, 1.4494994419109606]
INTERVALS = [
    [-1.5313828773031912, -0.6860786810806079],
    [-0.600113956169539, 0.24519024005304435],
    [0.93268461654193, 1.7779888127645134],
]


def with_envelope(file, change):
    """The file with what it says about itself changed."""
    with zipfile.ZipFile(file) as old:
        members = {info: old.read(info) for info in old.infolist()}
    with zipfile.ZipFile(file, "w") as new:
        for info, data in members.items():
            if info.filename == ENVELOPE:
                data = json.dumps(change(json.loads(data)))
            new.writestr(info, data)
    return file


@pytest.fixture
def file(tmp_path):
    return shutil.copy(GOLDEN / "format1.skops", tmp_path / "model.skops")


@pytest.mark.parametrize("name", ["format1.skops", "format1-full.skops"])
def test_models_of_the_first_format_predict_as_they_did(name):
    model = load(GOLDEN / name)
    assert isinstance(model, NCLRegressor)
    np.testing.assert_allclose(model.predict(INPUTS), PREDICTED, rtol=1e-12)
    np.testing.assert_allclose(model.predict_interval(INPUTS, 0.8), INTERVALS, rtol=1e-9)
    about = describe(GOLDEN / name)
    assert (about.format, about.notes, about.keep) == (1, {"target": "y"}, "all")


def test_a_full_model_of_the_first_format_has_its_curves_and_takes_rows():
    model = load(GOLDEN / "format1-full.skops")
    curves = model.path_.curves([1.0, 0.1])
    np.testing.assert_allclose(curves["dof"], [3.0, 3.94266691], rtol=1e-8)
    np.testing.assert_allclose(curves["kfold"], [0.37749416, 0.08142191], rtol=1e-6)
    assert model.partial_fit(INPUTS, PREDICTED).path_.spectrum.weight == 43


def test_every_format_that_is_read_has_a_golden_file():
    for number in range(OLDEST, FORMAT + 1):
        assert describe(GOLDEN / f"format{number}.skops").format == number


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 0}, r"format 0, of an older negcorr \(0.1.0\); this version reads format 1"),
        ({"format": -3}, "format -3, of an older"),
        ({"format": 2}, r"format 2, of a newer negcorr \(0.1.0\).*Update"),
        ({"format": 2, "versions": 3}, "format 2, of a newer negcorr; this"),
        ({"format": True}, r"has \['format'\] of another kind"),
        ({"format": "1"}, r"has \['format'\] of another kind"),
        ({"kind": 3, "notes": []}, r"has \['kind', 'notes'\] of another kind"),
        ({"keep": 3}, r"has \['keep'\] of another kind"),
    ],
)
def test_other_formats_are_refused_with_the_reason(change, words, file):
    with_envelope(file, lambda envelope: envelope | change)
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=words):
            read(file)


@pytest.mark.parametrize("name", ["format", "kind", "versions", "notes"])
def test_a_missing_field_is_named(name, file):
    with_envelope(file, lambda e: {k: v for k, v in e.items() if k != name})
    with pytest.raises(ModelFileError, match=rf"lacks \['{name}'\]"):
        load(file)


@pytest.mark.parametrize("versions", [{}, {"negcorr": "0.0.1", "numpy": "1.0", "skops": "9.9"}])
def test_other_versions_of_packages_alone_are_no_reason(versions, file):
    with_envelope(file, lambda envelope: envelope | {"versions": versions, "later": "field"})
    np.testing.assert_allclose(load(file).predict(INPUTS), PREDICTED, rtol=1e-12)
    assert describe(file).versions == versions


def test_what_cannot_be_built_names_the_versions_that_differ(file):
    def change(envelope):
        return envelope | {"versions": envelope["versions"] | {"numpy": "1.0"}}

    with_envelope(file, change)
    with zipfile.ZipFile(file) as old:
        members = {info: old.read(info) for info in old.infolist()}
    with zipfile.ZipFile(file, "w") as new:
        for info, data in members.items():
            broken = data[:-8] if info.filename.endswith(".npy") else data
            new.writestr(info, broken)
    with pytest.raises(ModelFileError, match=r"other versions \(numpy 1.0, here"):
        load(file)


def test_a_file_says_how_much_it_keeps(tmp_path):
    model = load(GOLDEN / "format1-full.skops")
    for keep in ("all", "path", "predictions"):
        assert describe(save(model, tmp_path / "m.skops", keep=keep)).keep == keep
    with pytest.raises(ValueError, match="keep='some' is unknown; allowed are"):
        save(model, tmp_path / "m.skops", keep="some")
