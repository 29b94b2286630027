"""Deep ensembles on one fold: rows against trainings one after another."""

import os

import numpy as np
import pytest
import toy_data
from toy_data import toy_setup, toy_study

torch = pytest.importorskip("torch")

from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.networks import Architecture
from negcorr.deep.training.perturbed_copies import draw_probes
from negcorr.deep.training.rates import RATES
from negcorr.paper import deep_training
from negcorr.paper import study as study_module
from negcorr.paper.deep_study import deep_pieces, deep_table
from negcorr.paper.deep_training import DeepSize, size_of
from negcorr.paper.pieces import Store
from negcorr.paper.protocol import task
from negcorr.paper.setup import FULL, QUICK, Setup, Size

COLUMNS = [
    "set",
    "depth",
    "fold",
    "n_train",
    "rate",
    "trained_on",
    "epoch",
    "lam",
    "dof",
    "dof_std_error",
    "train_error",
    "member_error",
    "test_error",
    "test_member_error",
]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def tiny(tiny_deep):
    """All of these tests are of toy size."""


def rows_of(home, name="machine", depth=2, fold=1, setup=None):
    setup = toy_setup() if setup is None else setup
    return deep_training.deep_training(setup, str(home), name, depth, fold, "cpu")


def tensors(setup, home, name, fold):
    data = task(setup, str(home), name, fold)
    return [
        torch.tensor(array, dtype=torch.float32)
        for array in (data.X, data.Y, data.X_test, data.Y_test)
    ]


# ---------------------------------------------------------------------------------------
# Sizes
# ---------------------------------------------------------------------------------------


def test_full_size_is_the_papers_with_a_fine_grid_of_lambda():
    full = DeepSize()
    assert full == deep_training.FULL_DEEP
    assert (full.members, full.width, full.depths) == (30, 5, (3, 4, 5))
    assert full.stops[-1] == 1000
    assert full.lams == tuple(float(f"{0.05 * k:.2f}") for k in range(21))
    assert DeepSize(steps=3).lams == (0.0, 0.3333333333, 0.6666666667, 1.0)


def test_full_size_is_for_runs_on_all_rows():
    assert size_of(Setup(size=FULL)) is deep_training.FULL_DEEP
    assert size_of(Setup(size=QUICK)) is deep_training.QUICK_DEEP
    assert size_of(Setup(size=Size(max_rows=25))) is deep_training.QUICK_DEEP


# ---------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["machine", "slump"])
def test_a_piece_has_a_row_for_each_stop_and_lambda(toy_home, name):
    rows = rows_of(toy_home, name)
    assert [(row["epoch"], row["lam"]) for row in rows] == [
        (epoch, lam) for epoch in (1, 2) for lam in (0.0, 0.5, 1.0)
    ]
    for row in rows:
        assert list(row) == COLUMNS
        assert (row["set"], row["depth"], row["fold"], row["n_train"]) == (name, 2, 1, 32)
        assert row["trained_on"] == f"a CPU (torch {torch.__version__})"
        numbers = [value for value in row.values() if not isinstance(value, str)]
        assert all(type(value) in (int, float) and np.isfinite(value) for value in numbers)
        assert row["dof_std_error"] > 0
        # By Jensen's inequality; strictly, for members differ.
        assert row["train_error"] < row["member_error"]
        assert row["test_error"] < row["test_member_error"]


def test_rows_are_the_same_when_they_are_computed_again(toy_home):
    first = rows_of(toy_home)
    torch.manual_seed(12345)
    deep_training._rate.cache_clear()
    assert rows_of(toy_home) == first


@pytest.mark.parametrize("change", [{"seed": 1}, {"shuffle": True}, {"fold": 2}, {"depth": 1}])
def test_rows_depend_on_what_they_are_of(toy_home, change):
    where = {key: change[key] for key in change if key in ("fold", "depth")}
    setup = toy_setup(**{key: change[key] for key in change if key not in where})
    first, second = rows_of(toy_home), rows_of(toy_home, setup=setup, **where)
    for column in COLUMNS[8:]:
        assert not any(a[column] == b[column] for a, b in zip(first, second, strict=True))


def trained(X, Y, lam, depth, rate, epochs, seed):
    """One ensemble alone, trained without a stop."""
    network = Architecture((5,) * depth, 3).started(X, Y.shape[1], 1, seed)
    training = Training(max_epochs=epochs, batch_size=None)
    state = TrainingState.start(network, torch.tensor([rate]), training, seed)
    train(state, Problem(X, Y, torch.tensor([lam])), training)
    return network.eval()


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", ["machine", "slump"])
def test_degrees_of_freedom_and_errors_are_those_of_trainings_one_by_one(toy_home, name, lam):
    setup = toy_setup()
    rows = [row for row in rows_of(toy_home, name) if row["lam"] == lam]
    seed = setup.seed_for("deep", name, 1)
    X, Y, X_test, Y_test = tensors(setup, toy_home, name, 1)
    assert len(rows) == 2
    for row in rows:
        settings = (lam, 2, row["rate"], row["epoch"], seed)
        network = trained(X, Y, *settings)
        with torch.no_grad():
            fitted, held_out = network(X)[0].double(), network(X_test)[0].double()
        values = []
        for b in draw_probes(2, len(X), Y.shape[1], seed):
            moved = trained(X, Y + 0.1 * b.float(), *settings)(X)[0].detach().double()
            values.append((b * (moved.mean(dim=0) - fitted.mean(dim=0))).sum(dim=0) / 0.1)
        assert row["dof"] == pytest.approx(float(torch.stack(values).mean()), rel=1e-3)
        for column, predictions, targets in (
            ("train_error", fitted, Y),
            ("test_error", held_out, Y_test),
        ):
            errors = [float(((member - targets) ** 2).mean()) for member in predictions]
            assert len(errors) == 3
            average = sum(predictions) / 3
            assert row[column] == pytest.approx(float(((average - targets) ** 2).mean()), rel=1e-4)
            of_members = column.replace("train_error", "member_error")
            of_members = of_members.replace("test_error", "test_member_error")
            assert row[of_members] == pytest.approx(np.mean(errors), rel=1e-4)


# ---------------------------------------------------------------------------------------
# Learning rates
# ---------------------------------------------------------------------------------------


@pytest.fixture
def choices(monkeypatch):
    """Arguments of every choice of a learning rate, as they come."""
    seen, choose = [], deep_training.choose_rate

    def noted(architecture, X, Y, training, *, seed):
        seen.append((architecture, X, Y, training, seed))
        return choose(architecture, X, Y, training, seed=seed)

    monkeypatch.setattr(deep_training, "choose_rate", noted)
    return seen


def test_the_rate_is_one_of_the_papers_and_chosen_once_for_a_set_and_depth(toy_home, choices):
    found = {}
    for name in ("machine", "housing"):
        for depth in (1, 2):
            rates = {row["rate"] for fold in (3, 0) for row in rows_of(toy_home, name, depth, fold)}
            (found[name, depth],) = rates
    assert set(found.values()) <= set(RATES)
    assert len(choices) == 4
    assert [choice[0].hidden_layer_sizes for choice in choices] == [(5,), (5, 5)] * 2


def test_the_training_rows_of_the_first_fold_decide_on_the_rate(toy_home, choices):
    rows_of(toy_home, fold=3)
    ((architecture, X, Y, training, seed),) = choices
    expected = tensors(toy_setup(), toy_home, "machine", 0)
    assert torch.equal(X, expected[0])
    assert torch.equal(Y, expected[1])
    assert architecture == Architecture((5, 5), 3)
    assert training == Training(max_epochs=2, batch_size=None)
    assert seed == toy_setup().seed_for("rate", "machine")


def test_the_rate_is_what_is_trained_with(toy_home, monkeypatch):
    started, start = [], TrainingState.start

    def noted(network, rate, training, seed):
        started.append(rate)
        return start(network, rate, training, seed)

    monkeypatch.setattr(deep_training, "_rate", lambda *_: 0.125)
    monkeypatch.setattr(deep_training.TrainingState, "start", noted)
    rows = rows_of(toy_home)
    (rates,) = started
    assert rates.tolist() == [0.125] * 9  # three λ, each with two perturbed copies
    assert {row["rate"] for row in rows} == {0.125}


def test_other_data_of_the_same_name_have_a_rate_of_their_own(tmp_path, choices):
    path = toy_data.write_set(tmp_path, "machine")
    rows_of(tmp_path)
    status = path.stat()
    toy_data.write_set(tmp_path, "machine", seed=1)
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns + 10**9))
    rows_of(tmp_path)
    assert len(choices) == 2
    assert not torch.equal(choices[0][1], choices[1][1])
    rows_of(tmp_path, fold=4)
    assert len(choices) == 2


def test_another_setup_has_a_rate_of_its_own(toy_home, choices):
    for setup in (toy_setup(), toy_setup(seed=1), toy_setup(shuffle=True)):
        rows_of(toy_home, setup=setup)
    assert len(choices) == 3


# ---------------------------------------------------------------------------------------
# Pieces
# ---------------------------------------------------------------------------------------


def test_there_is_a_piece_for_each_set_depth_and_fold(toy_home):
    study = toy_study(toy_home, sets=("slump", "kinematics", "machine"))
    pieces = deep_pieces(study)
    assert [piece.choice for piece in pieces] == [
        (("name", name), ("depth", depth), ("fold", fold), ("device", "cpu"))
        for name in ("machine", "kinematics")
        for depth in (1, 2)
        for fold in range(5)
    ]
    assert {piece.kind for piece in pieces} == {"deep_training"}
    assert all(piece.fingerprint for piece in pieces)


def test_on_a_gpu_pieces_are_alone_and_others_than_on_a_cpu(toy_home, tmp_path):
    cpu, cuda, second = (
        toy_study(toy_home, sets=("machine",), device=device)
        for device in ("cpu", "cuda", "cuda:1")
    )
    assert not any(piece.alone for piece in deep_pieces(cpu))
    assert all(piece.alone for piece in deep_pieces(cuda))
    assert {dict(piece.choice)["device"] for piece in deep_pieces(cuda)} == {"cuda"}
    store = Store(tmp_path)
    paths = {store.path(deep_pieces(one)[0], one.setup) for one in (cpu, cuda, second)}
    assert len(paths) == 3


def test_long_pieces_are_known_to_be_long(toy_home):
    def efforts(**settings):
        study = toy_study(toy_home, sets=("machine", "kinematics"), **settings)
        return {
            (choice["name"], choice["depth"]): piece.effort
            for piece in deep_pieces(study)
            for choice in [dict(piece.choice)]
        }

    whole = efforts(max_rows=None)
    assert whole["machine", 3] < whole["machine", 5] < whole["kinematics", 3]
    on_gpu = efforts(max_rows=None, device="cuda")
    assert all(on_gpu[key] < whole[key] for key in whole)
    assert all(effort < whole["machine", 3] for effort in efforts().values())


def test_a_study_of_deep_networks_goes_on_from_its_store(toy_home, tmp_path, monkeypatch):
    first = toy_study(toy_home, sets=("machine",), store=tmp_path)
    table = deep_table(first, ("dof", "test_error"))
    assert len(list(tmp_path.rglob("*.json"))) == 10
    common = ["set", "depth", "fold", "epoch", "lam", "rate", "n_train", "trained_on"]
    assert list(table) == [*common, "dof", "test_error"]
    assert len(table) == 10 * 2 * 3

    def computed(*arguments):
        raise AssertionError("a stored piece was computed again")

    monkeypatch.setattr(study_module, "_computed", computed)
    again = deep_table(
        toy_study(toy_home, sets=("machine",), store=tmp_path), ("dof", "test_error")
    )
    assert again.equals(table)


def test_the_identity_of_a_piece_has_the_version_of_torch(toy_home):
    study = toy_study(toy_home, sets=("machine",))
    code = deep_pieces(study)[0].identity(study.setup)["code"]
    assert "torch" in code
    other = study.piece(toy_data.noted, label=1)
    assert "torch" not in other.identity(study.setup)["code"]
