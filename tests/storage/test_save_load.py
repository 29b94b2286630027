"""Files of models: the same bits come back, and nothing in a file is ever run."""

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import skops.io
from forging import members_of, resealed, write_members
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

import negcorr
from negcorr import ContentKFold, NCLRegressor, SURESearch, load, save
from negcorr.bases import (
    AutoBasis,
    BlockFeatures,
    ClonedFeatures,
    FourierFeatures,
    LinearFeatures,
    NystroemFeatures,
    TreeFeatures,
)
from negcorr.columns.frame_encoder import FrameEncoder
from negcorr.exceptions import ModelFileError, UntrustedModelError
from negcorr.storage.allowlist import IDS, TRUSTED, type_name
from negcorr.storage.encoding import to_file_form
from negcorr.storage.model_files import ENVELOPE, SCHEMA
from negcorr.storage.save_load import describe

#: Ensembles of few features may ask for λ = 1.
pytestmark = pytest.mark.filterwarnings("ignore::negcorr.exceptions.SearchBoundaryWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=150)
BOTH = np.column_stack([Y, X[:, 0] - 2.0 * Y])
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
MIXED = FRAME.assign(
    town=pd.Categorical(np.where(X[:, 0] > 0, "Bonn", "Köln"), categories=["Köln", "Bonn", "Ulm"]),
    word=np.where(X[:, 1] > 0, "up", "down"),
    count=pd.array((10 * X[:, 2]).astype(int), dtype="Int64"),
)
COLUMNS = MIXED.assign(
    gaps=np.where(X[:, 0] > 1.0, np.nan, X[:, 0]),
    day=pd.date_range("2024-01-01", periods=150).astype(str),
)
WEIGHT = RNG.integers(0, 3, size=150)


def fourier(n_members=6, n_components=4, **parameters):
    return FourierFeatures(n_members, n_components, **parameters)


def ncl(basis=None, **parameters):
    return NCLRegressor(fourier() if basis is None else basis, **parameters)


def streamed(**parameters):
    model = ncl(**parameters)
    for start in range(0, 150, 50):
        model.partial_fit(X[start : start + 50], Y[start : start + 50])
    return model


def asked(model):
    """A stream whose λ somebody has asked for."""
    assert model.lam_ is not None
    return model


def columns():
    return ColumnTransformer(
        [
            ("number", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
            ("town", OneHotEncoder(), make_column_selector(dtype_include=["category"])),
        ],
        remainder="drop",
    )


#: A name, what makes a fitted model, and the table to predict from.
MODELS = {
    "default": lambda: (ncl().fit(X, Y), X),
    "large": lambda: (
        NCLRegressor("fourier").fit(X, Y),
        X,
    ),
    "unfitted": lambda: (ncl(cv=KFold(3), random_state=np.random.RandomState(3)), None),
    "drawn": lambda: (ncl().draw(X), None),
    "streamed": lambda: (streamed(), X),
    "streamed and asked": lambda: (asked(streamed()), X),
    "streamed qr": lambda: (asked(streamed(solver="qr")), X),
    "merged": lambda: (
        ncl().draw(X).partial_fit(X[:50], Y[:50]).merge(ncl().draw(X).partial_fit(X, Y)),
        X,
    ),
    "compact": lambda: (ncl().fit(X, Y).compact(), X),
    "compact stream": lambda: (streamed().compact(), X),
    "with_lam": lambda: (ncl().fit(X, Y).with_lam(0.3), X),
    "with gap": lambda: (ncl(solver="qr").fit(X, Y).with_lam(gap=1e-12), X),
    "given lam": lambda: (ncl(lam=0.25).fit(X, Y), X),
    "gram": lambda: (ncl(solver="gram").fit(X, Y), X),
    "qr": lambda: (ncl(solver="qr").fit(X, Y), X),
    "few rows": lambda: (
        NCLRegressor(fourier(30, 4), solver="qr").fit(X, Y),
        X,
    ),
    "orthogonal": lambda: (ncl(fourier(orthogonal=True)).fit(X, Y), X),
    "nystroem": lambda: (ncl(NystroemFeatures(6, 4)).fit(X, Y), X),
    "sparse nystroem": lambda: (ncl(NystroemFeatures(6, 4)).fit(SPARSE, Y), SPARSE),
    "sparse fourier": lambda: (ncl().fit(SPARSE, Y), SPARSE),
    "trees": lambda: (ncl(TreeFeatures(6, 4)).fit(X, Y), X),
    "stumps": lambda: (ncl(TreeFeatures(6, 1), criterion="sure").fit(X, Y), X),
    "linear": lambda: (ncl(LinearFeatures(6, 2)).fit(X, Y), X),
    "clipped": lambda: (ncl(fourier(inputs="clip", relevance=[1.0, 0.5, 2.0])).fit(X, Y), X),
    "ranked": lambda: (ncl(NystroemFeatures(6, 4, inputs="rank")).fit(FRAME, Y), FRAME),
    "chosen": lambda: (ncl("auto").fit(X, Y), X),
    "mixed columns": lambda: (ncl().fit(COLUMNS, Y), COLUMNS),
    "mixed columns streamed": lambda: (ncl().partial_fit(COLUMNS, Y), COLUMNS),
    "mixed columns chosen": lambda: (ncl("auto").fit(COLUMNS, Y).compact(path=True), COLUMNS),
    "encoder": lambda: (make_pipeline(FrameEncoder(), Ridge()).fit(COLUMNS, Y), COLUMNS),
    "huber": lambda: (ncl(loss="huber").fit(X, Y), X),
    "compact huber": lambda: (ncl(loss="huber").fit(X, Y).compact(), X),
    "chosen ridge": lambda: (
        ncl(AutoBasis("trees", n_components=4, n_members=6), alpha="auto").fit(X, Y),
        X,
    ),
    "chosen stream": lambda: (streamed(basis="auto"), X),
    "chosen stream and asked": lambda: (asked(streamed(basis="auto")), X),
    "laplace": lambda: (ncl(fourier(5, 3, kernel="laplacian")).fit(X, Y), X),
    "basis object": lambda: (ncl(basis=NystroemFeatures(5, 3, random_state=1)).fit(X, Y), X),
    "cloned": lambda: (ncl(basis=RBFSampler(n_components=4)).fit(X, Y), X),
    "cloned nystroem": lambda: (
        ncl(basis=ClonedFeatures(Nystroem(n_components=4), 5)).fit(X, Y),
        X,
    ),
    "list": lambda: (
        ncl(basis=[("poly", PolynomialFeatures()), ("spline", SplineTransformer())]).fit(X, Y),
        X,
    ),
    "blocks": lambda: (
        ncl(basis=BlockFeatures([PolynomialFeatures(), RBFSampler(random_state=0)])).fit(X, Y),
        X,
    ),
    "outputs": lambda: (ncl().fit(X, BOTH), X),
    "outputs at two gaps": lambda: (ncl().fit(X, BOTH).with_lam(gap=[0.5, 1e-3]), X),
    "weights": lambda: (ncl().fit(X, Y, sample_weight=WEIGHT), X),
    "names": lambda: (ncl().fit(FRAME, Y), FRAME),
    "float32": lambda: (ncl().fit(X.astype(np.float32), Y), X.astype(np.float32)),
    "loo": lambda: (ncl(criterion="loo").fit(X, Y), X),
    "sure": lambda: (ncl(criterion="sure", noise_variance="difference").fit(X, Y), X),
    "splitter": lambda: (ncl(cv=RepeatedKFold(n_splits=2, n_repeats=2)).fit(X, Y), X),
    "content splitter": lambda: (ncl(cv=ContentKFold(3)).fit(X, Y), X),
    "indices": lambda: (ncl(cv=[(np.arange(75), np.arange(75, 150))]).fit(X, Y), X),
    "ridge without intercept": lambda: (ncl(alpha=0.1, fit_intercept=False).fit(X, Y), X),
    "pandas rows": lambda: (ncl(ClonedFeatures(columns(), 1)).partial_fit(MIXED, Y), MIXED),
    "polars rows": lambda: (
        ncl(basis=RBFSampler(n_components=4)).partial_fit(pl.DataFrame(FRAME.to_dict("list")), Y),
        pl.DataFrame(FRAME.to_dict("list")),
    ),
    "pipeline": lambda: (make_pipeline(SimpleImputer(), "passthrough", ncl()).fit(X, Y), X),
    "columns": lambda: (make_pipeline(columns(), ncl()).fit(MIXED, Y), MIXED),
    "logarithm": lambda: (
        TransformedTargetRegressor(ncl(), func=np.log1p, inverse_func=np.expm1).fit(X, Y**2),
        X,
    ),
    "scaled target": lambda: (
        TransformedTargetRegressor(ncl(), transformer=StandardScaler()).fit(X, Y),
        X,
    ),
    "sure search": lambda: (
        SURESearch(ncl(lam=0.5), {"basis__gamma": [0.1, 0.3]}, noise_variance=1.0).fit(X, Y),
        X,
    ),
    "compact with every lam": lambda: (ncl().fit(X, Y).compact(path=True), X),
    "compact loo with every lam": lambda: (
        ncl(criterion="loo").fit(X, Y).compact(path=True),
        X,
    ),
    "search": lambda: (GridSearchCV(ncl(), {"basis__gamma": [0.1, 0.3]}, cv=2).fit(X, Y), X),
}


def made(name):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()


def inner(model):
    """The ensemble in a model, however it is wrapped."""
    for name in ("best_estimator_", "regressor_"):
        model = getattr(model, name, model)
    return model.steps[-1][1] if hasattr(model, "steps") else model


def answers(model, table):
    """Everything that a model can be asked, by name, with errors as their words."""
    core = inner(model)
    questions = {
        "predict": lambda: model.predict(table),
        "lam": lambda: core.lam_,
        "dof": lambda: core.dof_,
        "noise": lambda: core.noise_variance_,
        "coef": lambda: core.coef_,
        "curves": lambda: core.path_.curves([1.0, 0.1, 1e-3]),
        "other": lambda: core.with_lam(0.4).coef_,
        "kfold": lambda: core.path_.kfold(gap=[0.5, 0.01]),
        "loo": lambda: core.path_.loo(0.5),
        "criterion": lambda: core.path_.values,
        "repr": lambda: repr(model).partition(" at 0x")[0],
    }
    if core is model:
        questions |= {
            "std": lambda: core.predict(table, return_std=True),
            "interval": lambda: core.predict_interval(table, coverage=0.8),
            "members": lambda: core.predict_members(table),
            "other interval": lambda: core.with_lam(0.4).predict_interval(table, coverage=0.8),
        }
    found = {}
    for name, question in questions.items():
        try:
            found[name] = question()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_answers_with_the_same_bits(name, tmp_path):
    model, table = made(name)
    copy = load(save(model, tmp_path / "model.skops"))
    assert type(copy) is type(model)
    before, after = answers(model, table), answers(copy, table)
    if name in ("given lam", "loo", "sure", "sure search"):
        # What the folds say at other λ is exact until the model is stored, and tabulated then.
        for found in (before, after):
            found["tabulated"] = [found.pop("kfold"), found["curves"].pop("kfold")]
            found["tabulated"].append(found.pop("other interval", 0.0))
        for one, other in zip(before.pop("tabulated"), after.pop("tabulated"), strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)
    np.testing.assert_equal(after, before)
    if table is not None:
        assert not isinstance(before["predict"], str), before["predict"]
    if name not in ("default", "streamed", "qr", "outputs"):
        return
    # Once more, after everything has been asked: caches are there now, and are left out.
    again = load(save(model, tmp_path / "model.skops"))
    np.testing.assert_equal(answers(again, table), before)


@pytest.mark.parametrize(
    "name", ["streamed", "streamed and asked", "drawn", "pandas rows", "polars rows"]
)
def test_rows_can_be_added_to_a_loaded_model(name, tmp_path):
    model, table = made(name)
    table = X if table is None else table
    copy = load(save(model, tmp_path / "model.skops"))
    one, other = (m.partial_fit(table[:40], Y[:40]) for m in (model, copy))
    assert np.array_equal(one.predict(table), other.predict(table))


def types_within(thing, seen):
    """Full names of all types of the objects that an object holds."""
    if id(thing) in seen or isinstance(thing, type):
        return
    seen[id(thing)] = thing
    parts = []
    if isinstance(thing, dict):
        parts = [*thing.values()]
    elif isinstance(thing, list | tuple | set):
        parts = [*thing]
    elif isinstance(thing, np.ndarray) and thing.dtype == object:
        parts = thing.ravel().tolist()
    elif hasattr(thing, "__dict__") and not callable(getattr(thing, "__array__", None)):
        state = thing.__getstate__()
        parts = [*state.values()] if isinstance(state, dict) else []
    for part in parts:
        types_within(part, seen)


#: Ids in files that users may have: after a release none may ever go, or stand for another class.
PUBLISHED = """
    ContentKFold DeepNCLRegressor NCLPath NCLRegressor SURESearch basis.auto basis.blocks
    basis.clones basis.fourier basis.input_map basis.kernel basis.linear basis.nested
    basis.nested.nesting basis.nystroem basis.trees columns.category_part columns.date_part
    columns.encoding columns.frame_encoder columns.input_cells columns.number_part
    criterion.leave_one_out curve_table ensemble.answers ensemble.drawn ensemble.fitted
    ensemble.held_out ensemble.huber_targets ensemble.kept_rows ensemble.solution ensemble.stream
    frame moments.factor moments.gram path.settings reading.column reading.schema rows rows.folds
    rows.keys selection.candidate selection.choice selection.chosen selection.trial
    spectrum.banded spectrum.curves spectrum.dense spectrum.from_rows
    spectrum.nested_whitening spectrum.tridiagonal spectrum.whitening spline
"""


def test_no_id_is_lost():
    assert set(PUBLISHED.split()) <= set(IDS)


def test_every_id_stands_for_one_class_that_exists():
    assert len(set(IDS.values())) == len(IDS)
    for name in TRUSTED:
        module, _, kind = name.rpartition(".")
        __import__(module)
        assert isinstance(getattr(sys.modules[module], kind), type), name


@pytest.mark.filterwarnings("ignore")
def test_every_class_of_ours_in_a_fitted_model_has_an_id_and_every_id_is_used():
    seen = {}
    for name in MODELS:
        types_within(to_file_form(made(name)[0]), seen)
    ours = {type(thing) for thing in seen.values() if type(thing).__module__.startswith("negcorr.")}
    assert {type_name(kind) for kind in ours} <= {f"negcorr.{name}" for name in IDS}
    unused = {f"negcorr.{name}" for name in IDS} - {type_name(kind) for kind in ours}
    assert unused == {"negcorr.DeepNCLRegressor"}


def for_each_type(change):
    """A change of a schema: of each part that names a type, in place."""

    def changed(node):
        if isinstance(node.get("__module__"), str):
            change(node)
        return node

    return lambda schema: json.loads(json.dumps(schema), object_hook=changed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["default", "chosen", "streamed and asked", "pandas rows"])
def test_a_file_names_no_module_of_ours(name, tmp_path):
    named = set()
    note = for_each_type(lambda node: named.add((node["__module__"], node["__class__"])))
    rewritten(save(made(name)[0], tmp_path / "model.skops"), schema=note)
    assert ("negcorr", "NCLRegressor") in named
    assert not [module for module, _ in named if module.startswith("negcorr.")]


class Unlisted(BaseEstimator):
    """What a class of ours would be that nobody has given an id."""


Unlisted.__module__ = "negcorr.bases.unlisted"


def test_a_class_of_ours_without_an_id_is_not_written(tmp_path):
    with pytest.raises(ModelFileError, match=r"\['negcorr.bases.unlisted.Unlisted'\] have no id"):
        save(make_pipeline(Unlisted(), ncl()), tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_functions_of_ours_must_be_trusted_as_those_of_others(tmp_path):
    model = make_pipeline(
        FunctionTransformer(negcorr.criteria.noise.difference_noise_variance), ncl()
    )
    file = save(model, tmp_path / "model.skops")
    name = "negcorr.criteria.noise.difference_noise_variance"
    with pytest.raises(UntrustedModelError, match=name):
        load(file)
    assert load(file, trusted=[name])[0].func is model[0].func


def test_arrays_that_two_attributes_share_are_stored_once_and_caches_are_not(tmp_path):
    model = streamed(basis=fourier(20))
    model.predict(X, return_std=True)
    model.predict_interval(X, coverage=0.8)
    file = save(model, tmp_path / "model.skops")
    cells = sum(
        part.nbytes
        for cell in model._state.stream.cells
        for part in vars(cell).values()
        if isinstance(part, np.ndarray)
    )
    reduction = 81 * 81 * 8
    assert file.stat().st_size < cells + 2 * reduction + 60_000
    copy = load(file)
    assert copy._state.stream.basis is copy.basis_
    assert copy.path_.cells[0] is copy._state.stream.cells[0]
    small = save(model.compact(), tmp_path / "small.skops")
    assert small.stat().st_size < 40_000


# ----------------------------------------------------------------------------------------
# Notes and versions


def test_notes_and_versions_are_read_without_the_model(tmp_path):
    notes = {"targets": ["price"], "columns": {"a": "float64"}, "rows": 150, "sha": None}
    file = save(ncl().fit(X, Y), tmp_path / "deep" / "er" / "model.skops", notes=notes)
    assert isinstance(file, Path)
    rewritten(file, schema=lambda _: {"nothing": "to build"})
    about = describe(str(file))
    assert about.notes == notes
    assert (about.format, about.kind) == (3, "negcorr.NCLRegressor")
    assert set(about.versions) == {"negcorr", "numpy", "scikit-learn", "skops"}
    assert about.versions["numpy"] == np.__version__
    assert about.n_bytes == file.stat().st_size


@pytest.mark.parametrize("notes", [["a"], "text", {"a": {1, 2}}, {"a": object()}, {("a", 1): 2}])
def test_notes_that_json_cannot_hold_are_refused(notes, tmp_path):
    with pytest.raises(TypeError, match="notes="):
        save(ncl(), tmp_path / "model.skops", notes=notes)
    assert not list(tmp_path.iterdir())


def test_importing_negcorr_imports_neither_skops_nor_onnx():
    code = "import sys, negcorr; print(sorted({'skops', 'onnx'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_without_skops_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match="pip install skops"):
        save(ncl(), tmp_path / "model.skops")


# ----------------------------------------------------------------------------------------
# What cannot be saved


def outside(x):
    return x * 2.0


class OwnScaler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.scale_ = np.abs(X).max(axis=0)
        return self

    def transform(self, X):
        return X / self.scale_


@pytest.mark.parametrize("model", [NCLRegressor, "model", None, np.ones(3)])
def test_only_estimators_are_saved(model, tmp_path):
    with pytest.raises(TypeError, match="must be an estimator"):
        save(model, tmp_path / "model.skops")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (make_pipeline(FunctionTransformer(lambda x: x), ncl()), "cannot be found again"),
        (ncl(cv=(pair for pair in [])), "generator"),
        (ncl(cv={("a", 1): 2}), "keys must be"),
    ],
)
def test_what_a_file_cannot_hold_is_named_and_leaves_no_file(model, words, tmp_path):
    with pytest.raises(ModelFileError, match=words) as caught:
        save(model, tmp_path / "model.skops")
    assert caught.value.path == tmp_path / "model.skops"
    assert not list(tmp_path.iterdir())


def test_a_column_of_objects_is_named(tmp_path):
    frame = FRAME.assign(when=pd.Timestamp("2020-01-01", tz="UTC"))
    few = ColumnTransformer([("few", StandardScaler(), ["a", "b"])])
    model = ncl(ClonedFeatures(few, 1)).partial_fit(frame, Y)
    with pytest.raises(ModelFileError, match=r"column 'when'.*compact\(\)"):
        save(model, tmp_path / "model.skops")
    copy = load(save(model.compact(), tmp_path / "model.skops"))
    assert np.array_equal(copy.predict(frame), model.predict(frame))


def test_a_model_on_a_device_says_to_take_it_to_numpy(tmp_path):
    torch = pytest.importorskip("torch")
    model = ncl().fit(X, Y)
    model.basis_.frequencies_ = torch.asarray(model.basis_.frequencies_)
    with pytest.raises(ModelFileError, match=r"to_numpy\(\)"):
        save(model, tmp_path / "model.skops")
    copy = model.to_numpy()
    assert np.array_equal(load(save(copy, tmp_path / "m.skops")).predict(X), copy.predict(X))


def test_a_file_of_safetensors_is_sent_to_its_own_method(tmp_path):
    file = tmp_path / "deep.safetensors"
    file.write_bytes((2).to_bytes(8, "little") + b'{"')
    with pytest.raises(ModelFileError, match=r"DeepNCLRegressor\.load"):
        load(file)


@pytest.mark.parametrize("step", ["write", "replace"])
def test_an_interrupted_save_keeps_the_old_file_and_leaves_nothing_else(
    step, tmp_path, monkeypatch
):
    file = save(ncl(), tmp_path / "model.skops", notes={"which": "old"})

    def interrupt(*_):
        raise KeyboardInterrupt

    target = (os, "fsync") if step == "write" else (Path, "replace")
    monkeypatch.setattr(*target, interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(ncl().fit(X, Y), file, notes={"which": "new"})
    assert list(tmp_path.iterdir()) == [file]
    assert describe(file).notes == {"which": "old"}


# ----------------------------------------------------------------------------------------
# Files that are something else


def rewritten(file, schema=lambda s: s, envelope=lambda e: e, arrays=lambda name, data: data):
    """Change a file of a model in place, as somebody who forges one would."""
    members = members_of(file)
    for name, data in members.items():
        change = {SCHEMA: schema, ENVELOPE: envelope}.get(name)
        if change is None:
            members[name] = arrays(name, data)
        else:
            members[name] = json.dumps(change(json.loads(data))).encode()
    return write_members(file, resealed(members))


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in members.items():
            file.writestr(name.replace("_", "."), data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (pickle.dumps({"a": 1}), "is a pickle"),
        (b"PK\x03\x04 and no more", "damaged, cut short"),
        (b"a,b\n1,2\n", "no file of a model"),
        (zipped(word_xml=b"<xml>"), "is a zip file, but was not written by"),
        (skops.io.dumps(StandardScaler()), "is a file of skops, but was not written by"),
        (zipped(negcorr_json=b"{"), "is damaged"),
        (zipped(negcorr_json=b"[]"), "does not say what it should"),
        (zipped(negcorr_json=b'{"format": 3}'), "does not say what it should"),
        (zipped(negcorr_json=b'{"format": "2", "kind": 3}'), "does not say what it should"),
        (zipped(negcorr_json=b'{"format": 7}'), "format 7, of a newer negcorr"),
    ],
)
def test_other_files_are_refused_with_the_reason(content, words, tmp_path):
    file = tmp_path / "model.skops"
    file.write_bytes(content)
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=words) as caught:
            read(file)
        assert caught.value.path == file
        assert str(file) in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(ModelFileError, match="there is no such file"):
        load(tmp_path / "nowhere.skops")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_short_is_refused(share, tmp_path):
    file = save(ncl().fit(X, Y), tmp_path / "model.skops")
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    with pytest.raises(ModelFileError, match="cut short"):
        load(file)


def test_flipped_bytes_never_give_a_model_of_other_numbers(tmp_path):
    model = ncl().fit(X, Y)
    whole = save(model, tmp_path / "model.skops").read_bytes()
    file = tmp_path / "damaged.skops"
    for at in np.random.default_rng(1).integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        file.write_bytes(damaged)
        try:
            copy = load(file)
        except ModelFileError:
            continue
        assert np.array_equal(copy.predict(X), model.predict(X))  # a byte that says nothing


def without(name, kind):
    """A change of the schema that takes a field from all objects of a class."""

    def change(node):
        if node["__class__"] == kind and isinstance(node.get("content"), dict):
            held = node["content"].get("content", {})
            if name in held:
                node["content"]["key_types"]["content"].pop(list(held).index(name))
                del held[name]

    return for_each_type(change)


@pytest.mark.parametrize(
    ("name", "kind"), [("alpha", "NCLRegressor"), ("condition", "NCLPath"), ("count", "rows.folds")]
)
def test_fields_that_older_versions_did_not_have_get_their_defaults(name, kind, tmp_path):
    model = streamed()
    file = rewritten(save(asked(model), tmp_path / "m.skops"), schema=without(name, kind))
    copy = load(file)
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.alpha is None
    assert copy.path_.condition == (0.0 if name == "condition" else model.path_.condition)


def test_fields_of_another_version_are_named(tmp_path):
    for name, kind, id_, model in (
        ("solver", "NCLPath", "NCLPath", ncl().fit(X, Y)),
        ("drawn", "FittedState", "ensemble.fitted", streamed()),
    ):
        file = save(model, tmp_path / "m.skops")
        rewritten(file, schema=without(name, id_))
        with pytest.raises(
            ModelFileError, match=rf"is damaged, since.*{kind}, lacks field\(s\) \['{name}'\]"
        ):
            load(file)
    file = save(ncl().fit(X, Y), tmp_path / "m.skops")
    text = lambda s: json.loads(json.dumps(s).replace('"given_noise"', '"noise_given"'))  # noqa: E731
    rewritten(file, schema=text)
    with pytest.raises(ModelFileError, match="given_noise"):
        load(file)


def renamed(name):
    """A change of the schema that gives every NCLPath another type, as module/class."""

    def change(node):
        if (node["__module__"], node["__class__"]) == ("negcorr", "NCLPath"):
            node["__module__"], _, node["__class__"] = name.rpartition("/")

    return for_each_type(change)


def test_an_unknown_id_is_a_matter_of_versions(tmp_path):
    file = save(ncl().fit(X, Y), tmp_path / "m.skops")
    rewritten(file, schema=renamed("negcorr/path.path.NCLPath"))
    with pytest.raises(ModelFileError, match=r"\['negcorr.path.path.NCLPath'\], .* does not have"):
        load(file)
    file = save(ncl().fit(X, Y), tmp_path / "m.skops")
    rewritten(file, schema=renamed("negcorr/OldPath"))
    with pytest.raises(
        ModelFileError,
        match=r"\['negcorr.OldPath'\], which negcorr .* does not have: it is damaged",
    ):
        load(file)
    older = lambda e: e | {"versions": e["versions"] | {"negcorr": "0.0.3"}}  # noqa: E731
    rewritten(file, envelope=older)
    with pytest.raises(ModelFileError, match=r"other versions \(negcorr 0.0.3, here"):
        load(file)


@pytest.mark.parametrize(
    "name", ["negcorr.criteria.kfold/KFold", "negcorr.OldPath/Part", "negcorr...os/system"]
)
def test_a_module_of_ours_is_not_trusted(name, tmp_path):
    file = rewritten(save(ncl().fit(X, Y), tmp_path / "m.skops"), schema=renamed(name))
    with pytest.raises(UntrustedModelError, match="not trusted") as caught:
        load(file)
    assert caught.value.types == (name.replace("/", "."),)


def test_a_file_that_holds_another_kind_than_it_says_is_refused(tmp_path):
    file = save(ncl(), tmp_path / "m.skops")
    rewritten(file, envelope=lambda e: e | {"kind": "sklearn.pipeline.Pipeline"})
    with pytest.raises(ModelFileError, match="holds none"):
        load(file)


# ----------------------------------------------------------------------------------------
# Trust


def test_types_of_a_user_are_named_and_can_be_trusted(tmp_path):
    model = make_pipeline(OwnScaler(), FunctionTransformer(outside), ncl(lam=0.5)).fit(X, Y)
    file = save(model, tmp_path / "model.skops")
    names = [f"{OwnScaler.__module__}.OwnScaler", f"{OwnScaler.__module__}.outside"]
    with pytest.raises(UntrustedModelError, match="trusted=") as caught:
        load(file)
    assert caught.value.types == tuple(names)
    with pytest.raises(UntrustedModelError) as caught:
        load(file, trusted=[OwnScaler])
    assert caught.value.types == (names[1],)
    for trusted in (names, [OwnScaler, names[1]]):
        assert np.array_equal(load(file, trusted=trusted).predict(X), model.predict(X))


@pytest.mark.parametrize("trusted", [True, "os.system", [3]])
def test_trusted_must_be_a_list(trusted, tmp_path):
    with pytest.raises(TypeError, match="trusted="):
        load(save(ncl(), tmp_path / "model.skops"), trusted=trusted)


def node(module, name, loader, **rest):
    """A part of a schema of skops."""
    return {"__class__": name, "__module__": module, "__loader__": loader, **rest}


def json_node(value):
    return node("builtins", "str", "JsonNode", content=json.dumps(value), is_json=True)


def tuple_node(*parts):
    return node("builtins", "tuple", "TupleNode", content=list(parts))


def list_node(*parts):
    return node("builtins", "list", "ListNode", content=list(parts))


def dict_node(key_type=("builtins", "str"), **parts):
    keys = list_node(*(node(*key_type, "TypeNode") for _ in parts))
    return node("builtins", "dict", "DictNode", content=parts, key_types=keys)


def payloads(command):
    """Nodes that would run a command if anything were to build them blindly, by name."""
    system = node("os", "system", "FunctionNode")
    call = tuple_node(json_node(command))
    shell = tuple_node(tuple_node(*(json_node(word) for word in ("sh", "-c", command))))
    partial = {"func": system, "args": call, "kwds": dict_node(), "namespace": dict_node()}
    attributes = tuple_node(json_node("system"), json_node(command))
    model = node("negcorr", "NCLRegressor", "ObjectNode", content=dict_node())
    default = {"main": dict_node(), "default_factory": system}
    reduce = "ConstructorFromReduceNode"
    return {
        "constructor": node("os", "system", reduce, content=call),
        "popen": node("subprocess", "Popen", reduce, content=shell),
        "partial": node("functools", "partial", "PartialNode", content=partial),
        "partial under our name": node("negcorr", "NCLPath", "PartialNode", content=partial),
        "methodcaller": node("operator", "methodcaller", "OperatorFuncNode", attrs=attributes),
        "operator under our name": node("negcorr", "NCLPath", "OperatorFuncNode", attrs=call),
        "method": node(
            "negcorr", "NCLRegressor", "MethodNode", content={"func": "fit", "obj": model}
        ),
        "keys": dict_node(("os", "system"), **{command: json_node(1)}),
        "default": node("collections", "defaultdict", "DefaultDictNode", content=default),
        "reduce": node("os", "system", "LossNode", __reduce__={"args": call}, content=dict_node()),
        "list": node("os", "system", "ListNode", content=[json_node(command)]),
        "array": node("numpy", "ndarray", "NdArrayNode", type="numpy", file="payload.npy"),
        "sparse": node(
            "scipy.sparse._csr", "csr_array", "SparseMatrixNode", type="scipy", file="payload.npy"
        ),
        "unknown": node("os", "system", "PickleNode", file="payload.npy"),
    }


class Payload:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("name", payloads(""))
@pytest.mark.parametrize("protocol", [None, 0])
def test_no_file_can_run_anything(name, protocol, tmp_path):
    sentinel = tmp_path / "was run"
    command = f"touch '{sentinel}'"
    planted_node = payloads(command)[name]
    array = io.BytesIO()
    np.save(array, np.array([Payload(command)], dtype=object), allow_pickle=True)

    def planted(schema):
        held = schema["content"]["content"]
        held["cv"] = planted_node
        return schema if protocol is None else schema | {"protocol": protocol}

    file = rewritten(save(ncl(), tmp_path / "model.skops"), schema=planted)
    planted_files = {
        "payload.npy": array.getvalue(),
        "payload.pkl": pickle.dumps(Payload(command)),
    }
    write_members(file, resealed(members_of(file) | planted_files))
    with pytest.raises(ModelFileError):
        load(file)
    assert not sentinel.exists()


def test_the_payload_would_run_if_somebody_trusted_it(tmp_path):
    sentinel = tmp_path / "was run"
    planted_node = payloads(f"touch '{sentinel}'")["constructor"]

    def planted(schema):
        schema["content"]["content"]["cv"] = planted_node
        return schema

    file = rewritten(save(ncl(), tmp_path / "model.skops"), schema=planted)
    with pytest.raises(UntrustedModelError) as caught:
        load(file)
    assert caught.value.types == ("os.system",)
    assert not sentinel.exists()
    assert load(file, trusted=["os.system"]).cv == 0
    assert sentinel.exists()


def test_a_pickle_under_our_name_is_not_run(tmp_path):
    sentinel = tmp_path / "was run"
    file = tmp_path / "model.skops"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        file.write_bytes(pickle.dumps(Payload(f"touch '{sentinel}'"), protocol=protocol))
        with pytest.raises(ModelFileError):
            load(file)
    assert not sentinel.exists()


def test_arrays_that_unpack_to_more_are_refused(tmp_path):
    file = save(ncl().fit(X, Y), tmp_path / "model.skops")
    write_members(file, members_of(file), zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match="not written by"):
        load(file)


def forged(file, change):
    """A file with its structured arrays changed by hand."""

    def changed(_, data):
        if not data.startswith(b"\x93NUMPY"):
            return data
        array = change(np.load(io.BytesIO(data)))
        out = io.BytesIO()
        np.save(out, array)
        return out.getvalue()

    return rewritten(file, arrays=changed)


@pytest.mark.parametrize(
    ("field", "value"), [("left_child", 10**6), ("right_child", 0), ("feature", 99)]
)
def test_trees_that_point_outside_are_refused(field, value, tmp_path):
    def change(array):
        if array.dtype.names and field in array.dtype.names:
            array[field][0] = value
        return array

    file = forged(save(ncl(TreeFeatures(6, 4)).fit(X, Y), tmp_path / "model.skops"), change)
    with pytest.raises(ModelFileError, match="damaged"):
        load(file)


def test_sparse_matrices_that_point_outside_are_refused(tmp_path):
    model = ncl(NystroemFeatures(6, 4)).fit(SPARSE, Y)
    file = save(model, tmp_path / "model.skops")

    def change(name, data):
        if not name.endswith(".npz"):
            return data
        with np.load(io.BytesIO(data)) as parts:
            held = dict(parts)
        held["indices"] = held["indices"] + 10**6
        out = io.BytesIO()
        np.savez(out, **held)
        return out.getvalue()

    with pytest.raises(ModelFileError, match="damaged"):
        load(rewritten(file, arrays=change))


def test_the_package_has_both():
    assert negcorr.save is save
    assert negcorr.load is load
