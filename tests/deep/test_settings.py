"""Parameters of the deep estimator: what is wrong is named, with its value and what is allowed."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

torch = pytest.importorskip("torch")

from models import deep_ncl

from negcorr.deep.regressor import DeepNCLRegressor
from negcorr.deep.settings import LAMS, seed_of, settings_of, to_be_chosen
from negcorr.deep.training.loop import Training

N, OUTPUTS = 40, 2
X = np.random.default_rng(0).normal(size=(N, 3))
Y = X[:, :OUTPUTS] + 1.0

INT = "must be an integer"
ABOVE = "must be a finite number above 0"
AUTO_ABOVE = "must be 'auto', or a finite number above 0"
FLAG = "must be True or False"
VARIANCE = "must be a finite number of at least 0, one for each of 2 output(s), 'paper', "
LAM = "must be 'auto', a number in [0, 1], or a sequence of them"
LAYERS = "must be a sequence of integers"
DECAY = "must be a number of at least 0"

BAD = [
    ("n_members", 0, ValueError, "must be at least 1"),
    ("n_members", -3, ValueError, "must be at least 1"),
    ("n_members", 2.0, TypeError, INT),
    ("n_members", True, TypeError, INT),
    ("n_members", "many", TypeError, INT),
    ("n_members", None, TypeError, INT),
    ("hidden_layer_sizes", (5, 0), ValueError, "must have integers of at least 1 only"),
    ("hidden_layer_sizes", (5, -1), ValueError, "must have integers of at least 1 only"),
    ("hidden_layer_sizes", (5, 2.5), TypeError, "must have integers only"),
    ("hidden_layer_sizes", (True,), TypeError, "must have integers only"),
    ("hidden_layer_sizes", "5", TypeError, LAYERS),
    ("hidden_layer_sizes", 5.0, TypeError, LAYERS),
    ("hidden_layer_sizes", None, TypeError, LAYERS),
    ("activation", "sigmoid", ValueError, "allowed are ['tanh', 'relu', 'gelu']"),
    ("activation", None, ValueError, "allowed are ['tanh', 'relu', 'gelu']"),
    ("activation", ["tanh"], ValueError, "allowed are ['tanh', 'relu', 'gelu']"),
    ("batch_norm", "yes", TypeError, FLAG),
    ("batch_norm", 1, TypeError, FLAG),
    ("lam", 1.5, ValueError, "must lie in [0, 1]"),
    ("lam", -0.1, ValueError, "must lie in [0, 1]"),
    ("lam", np.nan, ValueError, "must lie in [0, 1]"),
    ("lam", (0.5, np.nan), ValueError, "must lie in [0, 1]"),
    ("lam", (0.5, 2), ValueError, "must lie in [0, 1]"),
    ("lam", [], TypeError, LAM),
    ("lam", None, TypeError, LAM),
    ("lam", True, TypeError, LAM),
    ("lam", ["0.5"], TypeError, LAM),
    ("lam", [[0.1, 0.2]], TypeError, LAM),
    ("lam", [[0.1], [0.2, 0.3]], TypeError, LAM),
    ("lam", "best", ValueError, "allowed are 'auto', a number in [0, 1], or a sequence"),
    ("learning_rate", 0.0, ValueError, AUTO_ABOVE),
    ("learning_rate", -1.0, ValueError, AUTO_ABOVE),
    ("learning_rate", np.inf, ValueError, AUTO_ABOVE),
    ("learning_rate", np.nan, ValueError, AUTO_ABOVE),
    ("learning_rate", "fast", ValueError, AUTO_ABOVE),
    ("learning_rate", None, ValueError, AUTO_ABOVE),
    ("learning_rate", True, ValueError, AUTO_ABOVE),
    ("learning_rate", np.array([0.1, 0.2]), ValueError, AUTO_ABOVE),
    ("batch_size", 0, ValueError, "must be at least 1"),
    ("batch_size", 1, ValueError, "give batch_size of at least 2, or batch_norm=False"),
    ("batch_size", 2.5, TypeError, INT),
    ("batch_size", "all", TypeError, INT),
    ("batch_size", np.array([2, 3]), TypeError, INT),
    ("training", 200, TypeError, "must be a Training or None, got int"),
    ("training", {"max_epochs": 200}, TypeError, "must be a Training or None, got dict"),
    ("training", Training, TypeError, "must be a Training or None, got type"),
    ("max_epochs", 0, ValueError, "must be at least 1"),
    ("max_epochs", 1.5, TypeError, INT),
    ("max_epochs", "auto", TypeError, INT),
    ("n_probes", -1, ValueError, "must be at least 0"),
    ("n_probes", 1.5, TypeError, INT),
    ("n_probes", True, TypeError, INT),
    ("n_probes", None, TypeError, INT),
    ("eps", 0, ValueError, AUTO_ABOVE),
    ("eps", -0.1, ValueError, AUTO_ABOVE),
    ("eps", np.inf, ValueError, AUTO_ABOVE),
    ("eps", "small", ValueError, AUTO_ABOVE),
    ("eps", np.array([0.1, 0.2]), ValueError, AUTO_ABOVE),
    ("noise_variance", -1, ValueError, VARIANCE),
    ("noise_variance", np.nan, ValueError, VARIANCE),
    ("noise_variance", np.inf, ValueError, VARIANCE),
    ("noise_variance", [1.0], ValueError, VARIANCE),
    ("noise_variance", [1.0, 2.0, 3.0], ValueError, VARIANCE),
    ("noise_variance", [1.0, -2.0], ValueError, VARIANCE),
    ("noise_variance", [1.0, "a"], ValueError, VARIANCE),
    ("noise_variance", [[1.0], [2.0, 3.0]], ValueError, VARIANCE),
    ("noise_variance", {}, ValueError, VARIANCE),
    ("noise_variance", True, ValueError, VARIANCE),
    ("noise_variance", "best", ValueError, "output(s), 'paper', 'difference' or None"),
    ("criterion", "loo", ValueError, "allowed are ['sure', 'gcv']"),
    ("criterion", None, ValueError, "allowed are ['sure', 'gcv']"),
    ("criterion", np.array(["sure", "gcv"]), ValueError, "allowed are ['sure', 'gcv']"),
    ("optimiser", "lbfgs", ValueError, "allowed are ['adam', 'sgd']"),
    ("optimiser", 1, ValueError, "allowed are ['adam', 'sgd']"),
    ("weight_decay", -1, ValueError, DECAY),
    ("weight_decay", np.nan, ValueError, DECAY),
    ("weight_decay", np.inf, ValueError, DECAY),
    ("weight_decay", None, ValueError, DECAY),
    ("weight_decay", "auto", ValueError, DECAY),
    ("clip", 0, ValueError, ABOVE),
    ("clip", -1.0, ValueError, ABOVE),
    ("clip", np.inf, ValueError, ABOVE),
    ("clip", "auto", ValueError, ABOVE),
    ("patience", 0, ValueError, "must be at least 1"),
    ("patience", 2.5, TypeError, INT),
    ("patience", None, TypeError, INT),
    ("patience", np.array([1, 2]), TypeError, INT),
    ("early_stopping", 0, ValueError, "must be at least 1"),
    ("early_stopping", 1.5, TypeError, INT),
    ("early_stopping", True, TypeError, INT),
    ("standardize", "yes", TypeError, FLAG),
    ("standardize", 0, TypeError, FLAG),
    ("standardize", None, TypeError, FLAG),
    ("warm_start", "no", TypeError, FLAG),
    ("warm_start", 1, TypeError, FLAG),
    ("checkpoint", 5, TypeError, "must be a path or None"),
    ("checkpoint", True, TypeError, "must be a path or None"),
    ("device", "tpu", ValueError, "allowed are 'cpu', 'cuda' and 'auto'"),
    ("device", "meta", ValueError, "allowed are 'cpu', 'cuda' and 'auto'"),
    ("device", 0, TypeError, "must be 'cpu', 'cuda' or 'auto'"),
    ("device", None, TypeError, "must be 'cpu', 'cuda' or 'auto'"),
    ("dtype", "float16", ValueError, "allowed are ['float32', 'float64']"),
    ("dtype", torch.float64, ValueError, "allowed are ['float32', 'float64']"),
    ("progress", "yes", TypeError, "must be True, False, None or an instance"),
    ("progress", 1, TypeError, "must be True, False, None or an instance"),
    ("random_state", "seed", ValueError, "must be None, an integer from 0 to 2**32 - 1, or a"),
    ("random_state", -1, ValueError, "must be None, an integer from 0 to 2**32 - 1, or a"),
    ("random_state", 1.5, ValueError, "must be None, an integer from 0 to 2**32 - 1, or a"),
]


def estimator(**changes):
    small = {"n_members": 2, "hidden_layer_sizes": (2,), "learning_rate": 0.01, "max_epochs": 1}
    return deep_ncl(**{**small, "lam": 0.5, "random_state": 0, **changes})


def settings_for(**changes):
    return settings_of(estimator(**changes), N, OUTPUTS)


@pytest.mark.parametrize(("name", "value", "kind", "allowed"), BAD)
def test_a_wrong_value_is_named_with_what_is_allowed(name, value, kind, allowed):
    with pytest.raises(kind, match=re.escape(allowed)) as error:
        estimator(**{name: value}).fit(X, Y)
    assert str(error.value).startswith(f"{name}={value!r}")


def test_every_parameter_has_a_wrong_value_above():
    given = [*inspect.signature(DeepNCLRegressor).parameters, *Training().get_params()]
    assert {name for name, *_ in BAD} == set(given)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_device_that_is_absent_is_said_to_be():
    with pytest.raises(ValueError, match="device='cuda', but torch sees no CUDA device here"):
        estimator(device="cuda").fit(X, Y)


@pytest.mark.parametrize("lam", ["auto", (0.1, 0.9)])
def test_a_choice_without_probes_is_refused(lam):
    with pytest.raises(ValueError, match="n_probes=0 does not measure; give n_probes of at") as e:
        estimator(lam=lam, n_probes=0).fit(X, Y)
    assert f"lam={lam!r}" in str(e.value)


@pytest.mark.parametrize("sizes", [5, np.int64(5), (5,), [5], np.array([5])])
def test_layers_come_as_a_number_or_any_sequence(sizes):
    assert settings_for(hidden_layer_sizes=sizes).architecture.hidden_layer_sizes == (5,)


@pytest.mark.parametrize(
    ("lam", "lams"),
    [
        (0.3, (0.3,)),
        (1, (1.0,)),
        (np.float32(0.5), (0.5,)),
        (np.array(0.5), (0.5,)),
        ([0, 0.5, 1], (0.0, 0.5, 1.0)),
        (np.array([0.9, 0.1]), (0.9, 0.1)),
        ("auto", LAMS),
    ],
)
def test_lam_is_a_number_a_grid_or_auto(lam, lams):
    assert settings_for(lam=lam).lams == lams


def test_one_member_has_nothing_to_choose():
    assert settings_for(lam="auto", n_members=1, n_probes=0).lams == (0.0,)


def test_no_training_is_one_with_its_defaults():
    assert settings_of(DeepNCLRegressor(), N, 1).training == Training()


def test_parts_of_the_training_are_set_where_there_is_none():
    model = DeepNCLRegressor().set_params(training__max_epochs=7, lam=0.5)
    assert (model.training, model.lam) == (Training(max_epochs=7), 0.5)
    model.set_params(training__clip=1.0)
    assert model.training == Training(max_epochs=7, clip=1.0)
    assert model.set_params(training=None).training is None
    with pytest.raises(ValueError, match="Invalid parameter 'epochs' for estimator Training"):
        model.set_params(training__epochs=7)


def test_a_copy_has_a_training_of_its_own():
    model = estimator(max_epochs=3)
    other = clone(model).set_params(training__max_epochs=4)
    assert (model.training.max_epochs, other.training.max_epochs) == (3, 4)


def test_a_search_goes_over_parts_of_the_training():
    model = DeepNCLRegressor(2, (2,), lam=0.5, learning_rate=0.01, n_probes=0, random_state=0)
    grid = {"training__max_epochs": [1, 30], "n_members": [2, 3]}
    search = GridSearchCV(model, grid, cv=2).fit(X, Y)
    best = search.best_params_
    assert search.best_estimator_.n_epochs_ == best["training__max_epochs"]
    assert search.best_estimator_.network_.n_members == best["n_members"]
    assert model.training is None


@pytest.mark.parametrize(
    ("given", "found"),
    [(0, [0.0, 0.0]), (2.0, [2.0, 2.0]), ([1, 2], [1.0, 2.0]), ("paper", "paper"), (None, None)],
)
def test_noise_variance_is_one_for_each_output(given, found):
    np.testing.assert_equal(settings_for(noise_variance=given).noise_variance, found)


def test_everything_else_goes_where_it_belongs():
    found = settings_for(
        n_members=np.int64(7),
        activation="relu",
        batch_norm=np.False_,
        learning_rate="auto",
        max_epochs=9,
        n_probes=0,
        eps=0.25,
        optimiser="sgd",
        weight_decay=0.1,
        clip=2,
        early_stopping=3,
        criterion="gcv",
        dtype="float64",
        device="cpu",
        batch_size=1,
    )
    assert found.rate is None
    assert (found.n_probes, found.eps, found.criterion) == (0, 0.25, "gcv")
    assert (found.dtype, found.device) == (torch.float64, torch.device("cpu"))
    shape = found.architecture
    assert (shape.n_members, shape.activation, shape.batch_norm) == (7, "relu", False)
    training = found.training
    assert (training.max_epochs, training.optimiser, training.weight_decay) == (9, "sgd", 0.1)
    assert (training.clip, training.early_stopping, training.batch_size) == (2.0, 3, 1)


def test_defaults_are_those_of_the_documentation():
    found = settings_of(DeepNCLRegressor(), N, 1)
    assert (found.eps, found.n_probes, found.rate, found.lams) == (0.1, 2, None, LAMS)
    assert found.architecture.hidden_layer_sizes == (5, 5, 5)
    assert len(LAMS) == 11
    assert (LAMS[0], LAMS[-1]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({}, False),
        ({"lam": np.float64(1.0), "learning_rate": 1}, False),
        ({"lam": "auto"}, True),
        ({"lam": (0.1, 0.9)}, True),
        ({"learning_rate": "auto"}, True),
    ],
)
def test_what_is_no_number_is_to_be_chosen(changes, answer):
    assert to_be_chosen(estimator(**changes)) is answer


def test_seeds_follow_from_the_random_state():
    assert seed_of(estimator(random_state=3)) == seed_of(estimator(random_state=3))
    assert seed_of(estimator(random_state=3)) != seed_of(estimator(random_state=4))
    state = np.random.RandomState(3)
    assert seed_of(estimator(random_state=state)) == seed_of(estimator(random_state=3))
    assert seed_of(estimator(random_state=state)) != seed_of(estimator(random_state=3))
    assert isinstance(seed_of(estimator(random_state=None)), int)
