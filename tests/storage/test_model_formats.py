"""Files of older and newer versions: each is read, or refused with the exact reason."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from forging import members_of, resealed, write_members

from negcorr import NCLRegressor, load
from negcorr.exceptions import ModelFileError
from negcorr.storage.model_files import ENVELOPE, FORMAT, SCHEMA
from negcorr.storage.save_load import describe

GOLDEN = Path(__file__).parent / "golden"

#: What the models in the golden files answered when they were written (``make_golden.py``).
WANTED = json.loads((GOLDEN / f"format{FORMAT}.json").read_text(encoding="utf-8"))
INPUTS, PREDICTED = np.array(WANTED["inputs"]), WANTED["predicted"]


def with_envelope(file, change):
    """The file with what it says about itself changed."""
    members = members_of(file)
    members[ENVELOPE] = json.dumps(change(json.loads(members[ENVELOPE]))).encode()
    return write_members(file, resealed(members))


@pytest.fixture
def file(tmp_path):
    return shutil.copy(GOLDEN / f"format{FORMAT}.skops", tmp_path / "model.skops")


@pytest.mark.parametrize("name", [f"format{FORMAT}.skops", f"format{FORMAT}-full.skops"])
def test_models_in_golden_files_predict_as_they_did(name):
    model = load(GOLDEN / name)
    assert isinstance(model, NCLRegressor)
    np.testing.assert_allclose(model.predict(INPUTS), PREDICTED, rtol=1e-10)
    np.testing.assert_allclose(model.predict_interval(INPUTS, 0.8), WANTED["intervals"], rtol=1e-9)
    about = describe(GOLDEN / name)
    assert (about.format, about.notes) == (FORMAT, {"target": "y"})


def test_a_full_model_in_a_golden_file_has_its_curves_and_takes_rows():
    model = load(GOLDEN / f"format{FORMAT}-full.skops")
    curves = model.path_.curves([1.0, 0.1])
    np.testing.assert_allclose(curves["dof"], WANTED["dof"], rtol=1e-8)
    np.testing.assert_allclose(curves["kfold"], WANTED["kfold"], rtol=1e-6)
    assert model.partial_fit(INPUTS, PREDICTED).path_.spectrum.weight == WANTED["rows"] + 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 0}, r"format 0, of an older negcorr \(0.1.0\); this version reads format 3"),
        ({"format": 1}, r"format 1, of an older negcorr.*fit again here"),
        ({"format": -3}, "format -3, of an older"),
        ({"format": 4}, r"format 4, of a newer negcorr \(0.1.0\).*Update"),
        ({"format": 4, "versions": 3}, "format 4, of a newer negcorr; this"),
        ({"format": True}, r"has \['format'\] of another kind"),
        ({"format": "1"}, r"has \['format'\] of another kind"),
        ({"kind": 3, "notes": []}, r"has \['kind', 'notes'\] of another kind"),
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
    np.testing.assert_allclose(load(file).predict(INPUTS), PREDICTED, rtol=1e-10)
    assert describe(file).versions == versions


def test_what_cannot_be_built_names_the_versions_that_differ(file):
    def change(envelope):
        return envelope | {"versions": envelope["versions"] | {"numpy": "1.0"}}

    with_envelope(file, change)
    members = members_of(file)
    members[SCHEMA] = members[SCHEMA].replace(b'"chosen_gap"', b'"gap_chosen"')
    write_members(file, resealed(members))
    with pytest.raises(ModelFileError, match=r"other versions \(numpy 1.0, here"):
        load(file)
