"""A fit on a device is the fit in NumPy: the same λ, the same numbers to rounding."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ncl
from places import SMALL, apart, assert_agrees, problem, somewhere
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold

from negcorr import ContentKFold
from negcorr._common.arrays import place_of, to_host
from negcorr.bases import FourierFeatures, NystroemFeatures
from negcorr.exceptions import NegcorrWarning, NoiseVarianceWarning
from negcorr.rows.keys import content_hash

CRITERIA = ["kfold", "sure", "gcv", "loo", "aic", "aicc", "bic", "cp"]


def both(place, X, y, weight=None, groups=None, **parameters):
    """The model on the device and the one in NumPy."""
    parameters = SMALL | parameters
    there = ncl(**parameters).fit(
        place.put(X), place.put(y), None if weight is None else place.put(weight), groups
    )
    return there, ncl(**parameters).fit(X, y, weight, groups)


@pytest.mark.parametrize(
    ("criterion", "solver"),
    [*((name, "auto") for name in CRITERIA), *itertools.product(["kfold", "sure"], ["gram", "qr"])],
)
def test_every_criterion_and_solver(place, criterion, solver):
    X, y = problem()
    there, home = both(place, X, y, criterion=criterion, solver=solver)
    assert there.path_.solver == home.path_.solver
    np.testing.assert_array_equal(there.path_.gaps, home.path_.gaps)
    assert apart(there.path_.values, home.path_.values) < 1e-9
    assert_agrees(there, home, place, X)


@pytest.mark.parametrize(
    "basis",
    [
        "fourier",
        "orthogonal",
        "nystroem",
        FourierFeatures(8, 5, kernel="laplacian", gamma=0.05, inputs="none"),
        FourierFeatures(8, 5, kernel="cauchy", inputs="standard"),
        NystroemFeatures(8, 5, kernel="laplacian", inputs="standard"),
        NystroemFeatures(8, 5, kernel="cauchy", inputs="none"),
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_basis(place, basis, weighted):
    X, y = problem()
    weight = np.random.default_rng(1).integers(0, 4, size=len(y)).astype(float)
    there, home = both(place, X, y, weight if weighted else None, basis=basis)
    assert there.basis_.gamma_ == pytest.approx(home.basis_.gamma_, rel=1e-12)
    for name in ("center", "scale"):
        found, wanted = (getattr(model.basis_.input_map_, name) for model in (there, home))
        np.testing.assert_array_equal(to_host(found), wanted)
    assert_agrees(there, home, place, X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": 0.3},
        {"alpha": 0.3, "solver": "qr"},
        {"fit_intercept": False},
        {"fit_intercept": False, "solver": "qr", "criterion": "sure"},
        {"lam": 0.9},
        {"gap": 1e-3},
        {"lam": 0.0},
        {"n_members": 1},
        {"n_components": 1},
        {"n_members": 1, "n_components": 1},
        {"n_members": 150, "n_components": 1},
        {"criterion": "sure", "noise_variance": 0.1},
        {"gamma": 0.2, "inputs": "none"},
    ],
    ids=str,
)
def test_every_other_parameter(place, parameters):
    X, y = problem()
    assert_agrees(*both(place, X, y, **parameters), place, X)


@pytest.mark.parametrize("criterion", ["kfold", "gcv"])
@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_several_outputs(place, criterion, alpha):
    X, y = problem(outputs=3)
    there, home = both(place, X, y, criterion=criterion, alpha=alpha)
    assert len(np.unique(home.lam_)) > 1
    assert_agrees(there, home, place, X)
    there, home = both(place, X, y, lam=[0.1, 0.5, 0.9])
    assert_agrees(there, home, place, X)


@pytest.mark.parametrize("criterion", ["kfold", "sure", "loo"])
def test_frequencies_mean_repeated_rows_and_none_means_none(place, criterion):
    X, y = problem(80)
    weight = np.random.default_rng(2).integers(0, 3, size=80).astype(float)
    there, home = both(place, X, y, weight, criterion=criterion)
    assert_agrees(there, home, place, X)
    index = np.repeat(np.arange(80), weight.astype(int))
    repeated = ncl(**SMALL, criterion=criterion).fit(place.put(X[index]), y[index])
    assert there.lam_ == repeated.lam_
    assert apart(there.predict(place.put(X)), repeated.predict(place.put(X))) < 1e-9


@pytest.mark.parametrize(
    "basis", ["fourier", "nystroem", FourierFeatures(8, 5, kernel="laplacian", inputs="none")]
)
def test_rows_of_no_weight_may_hold_anything(place, basis):
    X, y = problem(400)
    rng = np.random.default_rng(3)
    out = np.arange(400) % 8 > 0
    wild = np.where(out[:, None], 1e14 * rng.normal(size=X.shape), X)
    there, home = both(place, wild, y, np.where(out, 0.0, 1.0), basis=basis, lam=0.9)
    without = ncl(**SMALL | {"basis": basis, "lam": 0.9}).fit(X[~out], y[~out])
    assert apart(home.predict(X), without.predict(X)) < 1e-12
    assert apart(there.predict(place.put(X)), without.predict(X)) < 1e-9


@pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
@pytest.mark.parametrize("n", [12, 30, 81])
def test_few_rows(place, n, solver):
    X, y = problem(n)
    assert_agrees(*both(place, X, y, solver=solver, cv=3, lam=0.7), place, X)
    assert_agrees(*both(place, X, y, solver=solver, criterion="kfold", alpha=0.1), place, X)


@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
@pytest.mark.parametrize("solver", ["gram", "qr"])
@pytest.mark.parametrize("n", [2, 3])
def test_hardly_any_rows(place, n, solver):
    X, y = problem(n)
    there, home = both(place, X, y, lam=0.5, solver=solver)
    assert there.dof_ == pytest.approx(home.dof_, rel=1e-9)
    assert apart(there.predict(place.put(X)), home.predict(X)) < 1e-9


@pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
@pytest.mark.parametrize("table", ["doubled", "constant column"])
def test_columns_that_say_nothing_new(place, table, solver):
    X, y = problem()
    X = np.hstack([X, X]) if table == "doubled" else np.hstack([X, np.full((120, 1), 7.0)])
    assert_agrees(*both(place, X, y, solver=solver), place, X)


@pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
@pytest.mark.parametrize("criterion", ["sure", "kfold"])
def test_features_that_are_all_constant_leave_the_mean(place, criterion, solver):
    _, y = problem()
    X = np.ones((120, 2))
    there, home = both(place, X, y, criterion=criterion, solver=solver)
    np.testing.assert_array_equal(there.path_.spectrum.block_ranks, 0)
    assert there.dof_ == home.dof_ == 1.0
    np.testing.assert_allclose(to_host(there.predict(place.put(X))), y.mean(), rtol=1e-12)
    assert apart(there.path_.coef(0.3), home.path_.coef(0.3)) == 0.0


class Deficient(FourierFeatures):
    """Every feature twice, but for the first member, whose features are constant."""

    def _draw(self, rows, rng):
        super()._draw(rows, rng)
        self.block_starts_ = 2 * self.block_starts_
        self._turns[:, : self.n_components] = 0.0
        xp = place_of(self._angles).xp
        self._angles = xp.reshape(xp.stack([self._angles, self._angles], axis=1), (-1,))

    def fill(self, X, out):
        once = place_of(out).empty((out.shape[0], out.shape[1] // 2))
        super().fill(X, once)
        out[:, ::2] = once
        out[:, 1::2] = once


@pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
@pytest.mark.parametrize("criterion", ["kfold", "sure"])
@pytest.mark.parametrize("n", [60, 300])
def test_blocks_that_are_cut(place, n, criterion, solver):
    X, y = problem(n)
    basis = Deficient(6, 4)
    there, home = both(place, X, y, solver=solver, criterion=criterion, basis=basis)
    np.testing.assert_array_equal(there.path_.spectrum.block_ranks, [0, 4, 4, 4, 4, 4])
    assert there.path_.solver == home.path_.solver
    assert_agrees(there, home, place, X)


def test_members_that_are_all_the_same(place):
    X, y = problem(40)
    with pytest.warns(NegcorrWarning, match="share the same landmarks"):
        there, home = both(place, X, y, basis="nystroem", n_components=40, alpha=0.1)
    assert there.dof_ == pytest.approx(home.dof_, rel=1e-9)
    assert apart(there.predict(place.put(X)), home.predict(X)) < 1e-9


def test_a_target_without_variance(place):
    X, _ = problem()
    there, home = both(place, X, np.full(120, 3.0))
    assert there.lam_ == home.lam_
    np.testing.assert_allclose(to_host(there.predict(place.put(X))), 3.0, rtol=1e-12)


class OddAndEven:
    """A splitter that looks at what is in X."""

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2

    def split(self, X, y=None, groups=None):
        left = X[:, 0] < np.median(X[:, 0])
        yield np.flatnonzero(left), np.flatnonzero(~left)
        yield np.flatnonzero(~left), np.flatnonzero(left)


@pytest.mark.parametrize(
    "cv",
    [
        2,
        7,
        None,
        KFold(4),
        ShuffleSplit(3, random_state=0),
        ContentKFold(4, seed=3),
        ContentKFold(4, inputs_only=True),
        [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))],
        [(np.arange(120) % 3 > 0, np.arange(120) % 3 == 0)],
        OddAndEven(),
    ],
    ids=lambda cv: str(cv) if isinstance(cv, int) else type(cv).__name__,
)
def test_every_splitter(place, cv):
    X, y = problem()
    assert_agrees(*both(place, X, y, cv=cv), place, X)


def test_a_splitter_sees_groups_and_targets(place):
    X, y = problem()
    groups = np.arange(120) % 7
    there, home = both(place, X, y, groups=groups, cv=GroupKFold(3))
    assert_agrees(there, home, place, X)
    carried = ncl(**SMALL, cv=GroupKFold(3))
    carried.fit(place.put(X), place.put(y), groups=place.put(groups, np.int64))
    assert carried.lam_ == home.lam_
    classes = np.sign(y)
    assert_agrees(*both(place, X, classes, cv=StratifiedKFold(3)), place, X)


def test_splits_may_be_arrays_of_the_device(place):
    X, y = problem()
    halves = [np.arange(60), np.arange(60, 120)]
    cv = [(halves[0], halves[1]), (halves[1], halves[0])]
    carried = [tuple(place.put(part, np.int64) for part in split) for split in cv]
    there = ncl(**SMALL, cv=carried).fit(place.put(X), y)
    assert there.lam_ == ncl(**SMALL, cv=cv).fit(X, y).lam_


@pytest.mark.parametrize("criterion", ["kfold", "sure", "loo"])
@pytest.mark.parametrize("basis", ["fourier", "nystroem"])
def test_order_of_rows_changes_nothing(place, criterion, basis):
    X, y = problem()
    weight = np.random.default_rng(4).integers(0, 3, size=120).astype(float)
    order = np.random.default_rng(5).permutation(120)
    model = ncl(**SMALL | {"criterion": criterion, "basis": basis})
    first = model.fit(place.put(X), place.put(y), place.put(weight))
    lam, prediction = first.lam_, first.predict(place.put(X))
    model.fit(place.put(X[order]), place.put(y[order]), place.put(weight[order]))
    assert model.lam_ == lam
    assert apart(model.predict(place.put(X)), prediction) < 1e-12


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    n=st.integers(8, 90),
    outputs=st.sampled_from([None, 1, 2]),
    members=st.integers(1, 6),
    width=st.integers(1, 6),
    intercept=st.booleans(),
    alpha=st.sampled_from([0.0, 0.5]),
    solver=st.sampled_from(["auto", "gram", "qr"]),
    weighted=st.booleans(),
    name=st.sampled_from(["torch", "strict"]),
)
@pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
def test_any_small_fit(n, outputs, members, width, intercept, alpha, solver, weighted, name):
    place = somewhere(name)
    X, y = problem(n, d=2, outputs=outputs, seed=n)
    weight = np.random.default_rng(n).integers(0, 3, n) * 1.0 if weighted else None
    shape = {"n_members": members, "n_components": width, "fit_intercept": intercept}
    there, home = both(place, X, y, weight, **shape, alpha=alpha, solver=solver, lam=0.6)
    np.testing.assert_allclose(to_host(there.dof_), home.dof_, rtol=1e-9)
    assert apart(there.predict(place.put(X)), home.predict(X)) < 1e-9


@pytest.mark.parametrize("dtype", [np.int64, np.bool_])
def test_whole_numbers_and_truth_values_are_numbers(place, dtype):
    X, y = problem()
    X = (X * 3).astype(dtype) if dtype is np.int64 else X > 2.0
    target = np.round(3 * y)
    for basis in ("fourier", FourierFeatures(8, 5, inputs="none")):
        home = ncl(**SMALL | {"basis": basis, "lam": 0.5}).fit(X, target)
        there = ncl(**SMALL | {"basis": basis, "lam": 0.5})
        there.fit(place.put(X, dtype), place.put(target, np.int64))
        assert apart(there.predict(place.put(X, dtype)), home.predict(X)) < 1e-9


@pytest.mark.parametrize("kind", ["transposed", "every second", "turned round"])
def test_tensors_that_are_not_contiguous(torch, kind):
    X, y = problem()
    if kind == "transposed":
        rows, target = torch.put(X.T.copy()).T, torch.put(y)
    elif kind == "every second":
        rows, target = torch.put(np.repeat(X, 2, axis=0))[::2], torch.put(np.repeat(y, 2))[::2]
    else:
        rows, target = torch.put(X[:, ::-1].copy()).flip(1), torch.put(y)
    home = ncl(**SMALL).fit(X, y)
    assert_agrees(ncl(**SMALL).fit(rows, target), home, torch, X)


def test_nothing_left_for_the_noise_is_told_alike(place):
    X, y = problem(10)
    there = ncl(**SMALL, lam=1.0).fit(place.put(X), y)
    with pytest.warns(NoiseVarianceWarning, match="the noise variance is NaN"):
        assert np.isnan(there.noise_variance_)
    with pytest.warns(NoiseVarianceWarning, match="the noise variance is NaN"):
        _, std = there.predict(place.put(X), return_std=True)
    assert np.isnan(to_host(std)).all()


def test_more_rows_than_are_kept_for_intervals(place):
    X, y = problem(4200, d=2)
    there, home = both(place, X, y, n_members=4, n_components=3, criterion="sure")
    found, wanted = (model._state.answers.kept for model in (there, home))
    assert found.rows.n_rows == wanted.rows.n_rows == 4096
    np.testing.assert_array_equal(content_hash(found.rows.X), content_hash(wanted.rows.X))
    np.testing.assert_array_equal(found.split, wanted.split)
    assert_agrees(there, home, place, X[:50])


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_huber_targets(place, outputs, weighted):
    X, y = problem(outputs=outputs)
    y[::17] += 30.0
    weight = np.random.default_rng(1).integers(0, 4, size=len(y)).astype(float)
    there, home = both(place, X, y, weight if weighted else None, loss="huber")
    assert place.has(there.targets_)
    assert apart(there.targets_, home.targets_) < 1e-9
    assert_agrees(there, home, place, X)
    assert isinstance(there.to_numpy().targets_, np.ndarray)
    assert str(there.to_numpy().summary()) == str(there.summary())
