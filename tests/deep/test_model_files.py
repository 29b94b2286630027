"""Deep ensembles in the files of ``negcorr.save``: the same bits, and nothing that runs."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skops")

from forging import members_of, resealed, write_members
from models import deep_ncl, ncl
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr import load, save
from negcorr.deep.regressor import DeepNCLRegressor
from negcorr.exceptions import ModelFileError
from negcorr.storage.save_load import describe

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.sin(X[:, 0]) + 0.3 * RNG.normal(size=40)
BOTH = np.column_stack([Y, 3.0 * Y - X[:, 1]])


def deep(**parameters):
    small = {"n_members": 3, "hidden_layer_sizes": (3,), "lam": [0.0, 0.6], "max_epochs": 4}
    return deep_ncl(**small | {"learning_rate": 0.02, "random_state": 0} | parameters)


def refitted_heads():
    return deep().fit(X, Y).refit_heads(X, Y)


#: What makes a model, and whether it is fitted.
MODELS = {
    "alone": lambda: deep().fit(X, Y),
    "outputs": lambda: deep().fit(X, BOTH),
    "double, one probe": lambda: deep(dtype="float64", n_probes=1).fit(X, Y),
    "no probes, one lam": lambda: deep(n_probes=0, lam=0.5, batch_norm=False).fit(X, Y),
    "continued": lambda: deep(lam=0.5).fit(X, Y).partial_fit(X, Y),
    "heads": refitted_heads,
    "pipeline": lambda: make_pipeline(StandardScaler(), deep()).fit(X, Y),
    "scaled target": lambda: TransformedTargetRegressor(deep(), transformer=StandardScaler()).fit(
        X, Y
    ),
}


@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_ensemble_answers_with_the_same_bits(name, tmp_path):
    model = MODELS[name]()
    copy = load(save(model, tmp_path / "model.skops"))
    assert type(copy) is type(model)
    assert np.array_equal(copy.predict(X), model.predict(X))
    core, other = (getattr(m, "regressor_", m) for m in (model, copy))
    if name == "pipeline":
        core, other = core[-1], other[-1]
    assert np.array_equal(other.predict_members(X), core.predict_members(X))
    for field in ("lam_", "dof_", "dof_std_error_", "noise_variance_", "learning_rate_"):
        np.testing.assert_array_equal(getattr(other, field), getattr(core, field))
    wanted = core.get_params() | {"device": "cpu"}
    assert repr(other.get_params()) == repr(wanted)
    assert hasattr(other, "path_") == hasattr(core, "path_")
    if name == "heads":
        np.testing.assert_array_equal(other.path_.dof(gap=[0.5]), core.path_.dof(gap=[0.5]))


def test_one_that_is_not_fitted_keeps_its_parameters(tmp_path):
    copy = load(save(deep(activation="relu"), tmp_path / "m.skops"))
    assert not hasattr(copy, "_fit")
    assert copy.hidden_layer_sizes == (3,)
    assert np.array_equal(copy.fit(X, Y).predict(X), deep(activation="relu").fit(X, Y).predict(X))


def test_only_deep_files_load_what_is_deep(tmp_path):
    plain = save(ncl(3, 2, lam=0.5).fit(X, Y), tmp_path / "plain.skops")
    code = (
        f"import sys, negcorr; negcorr.load({str(plain)!r}); "
        "print(sorted({'torch', 'dask', 'negcorr.deep'} & set(sys.modules))); import torch"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_without_torch_the_error_says_what_to_install(tmp_path, monkeypatch):
    file = save(deep(), tmp_path / "m.skops")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"deep ensemble.*pip install 'negcorr\[deep\]'"):
        load(file)
    assert describe(file).kind == "negcorr.DeepNCLRegressor"


def test_classes_of_a_user_are_refused(tmp_path):
    class Own(DeepNCLRegressor):
        pass

    with pytest.raises(ModelFileError, match="a kind of DeepNCLRegressor of your own"):
        save(Own(), tmp_path / "m.skops")


# ----------------------------------------------------------------------------------------
# Contents that do not fit together


def forged(file, about=lambda a: a, arrays=lambda name, array: array):
    """The file with the settings or the arrays of its ensemble changed."""
    members = members_of(file)
    schema = json.loads(members["schema.json"])
    fields = schema["content"]["content"]
    fields["about"]["content"] = json.dumps(
        json.dumps(about(json.loads(json.loads(fields["about"]["content"]))))
    )
    for name, node in fields["arrays"]["content"].items():
        held = np.load(io.BytesIO(members[node["file"]]))
        out = io.BytesIO()
        np.save(out, arrays(name, held))
        members[node["file"]] = out.getvalue()
    members["schema.json"] = json.dumps(schema).encode()
    return write_members(file, resealed(members))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return save(deep().fit(X, BOTH), tmp_path_factory.mktemp("deep") / "m.skops").read_bytes()


@pytest.fixture
def file(whole, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(whole)
    return path


def test_a_forger_who_changes_nothing_is_not_noticed(file):
    assert load(forged(file)).predict(X).shape == (40, 2)


def shape(**changes):
    return lambda about: about | changes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shape(hidden_layer_sizes=[10**12]), "network cannot be built"),
        (shape(hidden_layer_sizes=[4]), "network cannot be built: it has tensors of the shapes"),
        (shape(hidden_layer_sizes=["3"]), "hidden_layer_sizes=.* not of the kind"),
        (shape(n_members=10**15), "network cannot be built"),
        (shape(n_members=0), "cannot be built"),
        (shape(activation="os.system"), "activation='os.system' is unknown"),
        (shape(n_members=True), "n_members=True is not of the kind"),
        (lambda a: a | {"n_epochs": 1.5}, "n_epochs=1.5 is not of the kind"),
        (lambda a: a | {"feature_names_in": [1, 2]}, r"feature_names_in=\[1, 2\] is not"),
        (lambda a: a | {"chosen": 99}, "chosen=99 is no row"),
        (lambda a: a | {"eps": "small"}, "eps='small'"),
        (lambda a: a | {"feature_names_in": ["a"]}, "1 names for 2 columns"),
        (lambda a: a | {"kind": "training"}, "does not say so"),
        (lambda a: a | {"params": a["params"] | {"checkpoint": "training.ckpt"}}, "checkpoint"),
        (lambda a: a | {"params": a["params"] | {"hidden": 3}}, "hidden"),
        (lambda a: a | {"params": a["params"] | {"training": {"rows": 3}}}, "a Training .*rows"),
        (lambda a: a | {"params": a["params"] | {"training": 3}}, "training=3 is not of the kind"),
        (lambda a: {"kind": a["kind"], "params": a["params"]}, "hidden_layer_sizes='missing'"),
        (lambda a: [], "does not say so"),
    ],
)
def test_settings_that_do_not_fit_are_refused(change, words, file):
    with pytest.raises(ModelFileError, match=words):
        load(forged(file, about=change))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("network.theta", lambda a: a[:1]),
        ("network.theta", lambda a: a.astype(int)),
        ("network.statistics", lambda a: a[:, :1]),
        ("network.statistics", lambda a: a.astype(np.float64)),
        ("copies.theta", lambda a: a[:4]),
        ("copy_scaling.scale", lambda a: a[:1]),
        ("copies.statistics", lambda a: a.astype(np.float64)),
        ("inputs.scale", lambda a: a[:1]),
        ("target.centre", lambda a: a[0]),
        ("lam", lambda a: np.ones(3)),
        ("dof", lambda a: a[:1]),
        ("table.sure", lambda a: a[:1]),
        ("history.losses", lambda a: a[:, :1]),
        ("dof", lambda a: np.array(["1", "2"])),
        ("network.theta", lambda a: np.full_like(a, np.nan)),
        ("inputs.scale", lambda a: 0.0 * a),
        ("target.centre", lambda a: a + np.inf),
        ("lam", lambda a: a + 2.0),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change, file):
    def changed(key, array):
        return change(array) if key == name else array

    with pytest.raises(ModelFileError, match="cannot be built"):
        load(forged(file, arrays=changed))
