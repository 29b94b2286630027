"""Ensembles grow while the criterion falls, and are what a fit of their last size would be."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from negcorr import NCLRegressor
from negcorr.bases import AutoBasis, KernelFeatures, NestedFeatures
from negcorr.bases import kernel_features as kernel_module
from negcorr.ensemble import fit as fitting
from negcorr.moments.moments import GramMoments
from negcorr.path import grow as growing
from negcorr.path.grow import FULL, WORTH_GROWING, _least_error, grown_path, path_in_memory
from negcorr.path.tune import PathSettings, build_path
from negcorr.rows.folds import make_folds
from negcorr.rows.rows import Rows
from negcorr.selection import choose as choosing

SIZES = (20, 40, 80, 160)


@pytest.fixture(autouse=True)
def short_stages(monkeypatch):
    monkeypatch.setattr(kernel_module, "STAGE", 20)
    monkeypatch.setattr(choosing, "STAGE", 20)


def rough(n=400, outputs=1, weighted=False):
    """Many landmarks serve better."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    y = np.sin(5.0 * X[:, :1]) * np.cos(4.0 * X[:, 1:]) + np.arange(outputs) * X[:, 1:]
    y = y + 0.05 * rng.normal(size=(n, outputs))
    return Rows(X, y, rng.uniform(0.2, 2.0, n) if weighted else None)


def plain(n=400):
    """A few landmarks will do."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(n, 2))
    return Rows(X, X[:, :1] + rng.normal(size=(n, 1)))


def kernels(size, **settings):
    return KernelFeatures(
        size // 5,
        5,
        **{"kernel": "laplacian", "gamma": 1.0, "inputs": "none", "random_state": 0} | settings,
    )


def nested(size):
    second = kernels(size, kernel="rbf", inputs="rank", random_state=1)
    return NestedFeatures([kernels(size), second], gaps=[1e-3, 1e-3])


def grown_from_first(bases, rows, folds, settings):
    first = bases[0].fit(rows.X, sample_weight=rows.weight)
    path = build_path(rows, first, folds, settings, rows.y.shape[1] == 1)
    return grown_path(path, first, bases[1:], path_in_memory(rows, rows, settings))


def grown(rows, bases, **settings):
    settings = PathSettings(**{"alpha": 10.0} | settings)
    folds = make_folds(5, rows)
    basis, path = grown_from_first(bases, rows, folds, settings)
    direct = build_path(
        rows,
        clone(basis).fit(rows.X, sample_weight=rows.weight),
        folds,
        settings,
        rows.y.shape[1] == 1,
    )
    return basis, path, direct


def fitted(bases):
    return [hasattr(basis, "block_starts_") for basis in bases]


def assert_same_path(path, direct):
    np.testing.assert_array_equal(path.chosen_gap, direct.chosen_gap)
    np.testing.assert_array_equal(path.gaps, direct.gaps)
    np.testing.assert_allclose(path.all_values, direct.all_values, rtol=1e-8)
    np.testing.assert_array_equal(path.starts, direct.starts)
    assert (path.solver, path.criterion) == (direct.solver, direct.criterion)
    scale = np.abs(direct.coef()).max()
    np.testing.assert_allclose(path.coef(), direct.coef(), rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(path.dof(), direct.dof(), rtol=1e-8)
    for mine, theirs in zip(path.cells, direct.cells, strict=True):
        assert type(mine) is type(theirs)


class TestGrowth:
    @pytest.mark.parametrize("make", [kernels, nested])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("outputs", [1, 2])
    def test_goes_on_while_it_pays(self, make, weighted, outputs, monkeypatch):
        monkeypatch.setattr(growing, "FULL", 0.0)
        rows = rough(outputs=outputs, weighted=weighted)
        sizes = SIZES if make is kernels else SIZES[:3]
        bases = [make(size) for size in sizes]
        basis, path, direct = grown(rows, bases)
        assert basis is bases[-1]
        assert all(isinstance(cell, GramMoments) for cell in path.cells)
        assert_same_path(path, direct)

    def test_lowers_the_criterion_by_a_share_each_time(self):
        rows = rough()
        levels = [_least_error(grown(rows, [kernels(size)])[1]) for size in SIZES]
        assert all(b < WORTH_GROWING * a for a, b in itertools.pairwise(levels))
        assert _least_error(grown(rows, [kernels(size) for size in SIZES])[1]) == pytest.approx(
            levels[-1]
        )

    def test_does_not_begin_where_features_are_not_used(self):
        bases = [kernels(size, gamma=0.1) for size in SIZES]
        basis, path, direct = grown(plain(), bases)
        assert basis is bases[0]
        assert fitted(bases) == [True, False, False, False]
        assert path.dof() < FULL * SIZES[0]
        assert_same_path(path, direct)

    def test_begins_where_one_output_uses_them(self):
        rows = rough()
        noise = np.random.default_rng(7).normal(size=(400, 1))
        both = Rows(rows.X, np.column_stack([rows.y, noise]))
        bases = [kernels(size) for size in SIZES[:2]]
        basis, _, _ = grown(both, bases)
        assert basis is bases[1]
        first = grown(both, [kernels(SIZES[0])])[1].dof()
        assert first.min() < FULL * SIZES[0] < first.max()

    def test_stops_where_nothing_is_gained(self, monkeypatch):
        monkeypatch.setattr(growing, "FULL", 0.0)
        bases = [kernels(size, gamma=0.1) for size in SIZES]
        basis, path, direct = grown(plain(), bases)
        assert basis is bases[0]
        assert fitted(bases) == [True, True, False, False]
        assert_same_path(path, direct)

    @pytest.mark.parametrize(
        ("noise", "gamma", "taken"), [(1.0, 1.0, 1), (0.3, 0.3, 2)], ids=["worse", "hardly better"]
    )
    def test_stops_half_way(self, noise, gamma, taken, monkeypatch):
        monkeypatch.setattr(growing, "FULL", 0.0)
        rng = np.random.default_rng(8)
        X = rng.uniform(-2.0, 2.0, size=(400, 2))
        rows = Rows(X, np.sin(3.0 * X[:, :1]) + noise * rng.normal(size=(400, 1)))
        bases, alone = (
            [kernels(size, kernel="rbf", gamma=gamma) for size in SIZES] for _ in range(2)
        )
        basis, path, direct = grown(rows, bases)
        assert basis is bases[taken]
        assert fitted(bases) == [True, True, True, False]
        levels = [_least_error(grown(rows, [each])[1]) for each in alone[:3]]
        assert levels[1] < WORTH_GROWING * levels[0]
        assert levels[2] > WORTH_GROWING * levels[1]
        assert (levels[2] < levels[1]) == (taken == 2)
        assert_same_path(path, direct)

    def test_takes_what_is_a_little_better_and_stops(self, monkeypatch):
        monkeypatch.setattr(growing, "WORTH_GROWING", 1e-6)
        bases = [kernels(size) for size in SIZES]
        basis, path, direct = grown(rough(), bases)
        assert basis is bases[1]
        assert fitted(bases) == [True, True, False, False]
        assert_same_path(path, direct)

    def test_of_one_size_is_a_fit(self):
        rows, bases = rough(), [kernels(40)]
        basis, path, direct = grown(rows, bases)
        assert basis is bases[0]
        assert_same_path(path, direct)

    @pytest.mark.parametrize("criterion", ["gcv", "sure", "aicc"])
    def test_is_by_any_criterion(self, criterion):
        bases = [kernels(size) for size in SIZES[:3]]
        basis, path, direct = grown(rough(), bases, criterion=criterion)
        assert basis is bases[-1]
        assert path.criterion == criterion
        assert_same_path(path, direct)

    @pytest.mark.parametrize("gap", [0.3, 1e-6])
    def test_does_not_begin_at_a_given_lam(self, gap):
        bases = [kernels(size) for size in SIZES]
        basis, path, _ = grown(rough(), bases, gap=np.asarray(gap))
        assert basis is bases[0]
        assert fitted(bases) == [True, False, False, False]
        assert path.gap == gap

    def test_goes_on_where_moments_are_made_and_not_extended(self):
        bases = [kernels(size) for size in SIZES]
        basis, path, direct = grown(rough(), bases, solver="qr")
        assert basis is bases[-1]
        assert not any(isinstance(cell, GramMoments) for cell in path.cells)
        assert_same_path(path, direct)

    def test_counts_outputs_alike_and_leaves_out_those_that_do_not_vary(self):
        rows = rough()
        y = rows.y[:, 0]
        both = Rows(rows.X, np.column_stack([y, 1e3 * y, np.full(400, 7.0)]))
        one, several = (
            grown(each, [kernels(20)], solver="gram", criterion="gcv")[1] for each in (rows, both)
        )
        assert _least_error(several) == pytest.approx(_least_error(one), rel=1e-8)

    def test_of_a_target_that_does_not_vary_does_not_go_on(self):
        rows = Rows(rough().X, np.full((400, 1), 0.1))
        bases = [kernels(size) for size in SIZES]
        folds = make_folds(5, rows)
        basis, _ = grown_from_first(bases, rows, folds, PathSettings(alpha=10.0))
        assert basis is bases[0]


def estimator(lam="auto", random_state=0, **settings):
    """Nothing is left open but a bandwidth, so that one line grows."""
    closed = {"bases": "kernel", "kernels": "laplacian", "inputs": "standard", "relevance": False}
    basis = AutoBasis(**closed | {"subspace": 1.0, "n_components": 5, "budget": 160} | settings)
    return NCLRegressor(basis, lam=lam, random_state=random_state)


def places(few, many):
    """Where the features of a basis stand among those of a larger one."""
    if few.nesting_ is None:
        return np.arange(few.block_starts_[-1])
    starts = zip(itertools.pairwise(few.block_starts_), many.block_starts_, strict=False)
    return np.concatenate([np.arange(there, there + b - a) for (a, b), there in starts])


class TestEstimator:
    @pytest.fixture(autouse=True)
    def few_rows_are_many(self, monkeypatch):
        monkeypatch.setattr(choosing, "ROWS_TO_GROW", 300)

    def test_grows_to_its_budget_while_it_pays(self):
        rows = rough()
        model = estimator().fit(rows.X, rows.y[:, 0])
        assert len(model.coef_) == 160
        assert len(estimator(budget=70).fit(rows.X, rows.y[:, 0]).coef_) == 40
        small = estimator(n_members=4).fit(rows.X, rows.y[:, 0])
        assert len(small.coef_) == 20
        assert _least_error(model.path_) < _least_error(small.path_)

    def test_is_what_a_fit_of_the_last_basis_would_be(self):
        rows = rough(outputs=2, weighted=True)
        model = estimator().fit(rows.X, rows.y, sample_weight=rows.weight)
        same = NCLRegressor(basis=clone(model.basis_), alpha=10.0)
        same.fit(rows.X, rows.y, sample_weight=rows.weight)
        np.testing.assert_array_equal(model.lam_, same.lam_)
        np.testing.assert_allclose(model.predict(rows.X), same.predict(rows.X), atol=1e-8)

    def test_does_not_grow_where_that_does_not_pay(self):
        rows = plain()
        assert len(estimator(budget=160).fit(rows.X, rows.y[:, 0]).coef_) < 160

    def test_does_not_grow_at_a_given_lam(self):
        rows = rough()
        model = estimator(lam=0.9).fit(rows.X, rows.y[:, 0])
        assert len(model.coef_) == 40  # two stages

    def test_has_features_for_half_of_the_rows_at_most(self):
        rows = rough(310)
        model = estimator(budget=5000).fit(rows.X, rows.y[:, 0])
        assert len(model.coef_) <= 155

    def test_takes_its_budget_at_once_where_rows_are_few(self, monkeypatch):
        monkeypatch.setattr(choosing, "ROWS_TO_GROW", 500)
        monkeypatch.setattr(choosing, "USUAL_FEATURES", 100)
        rows = rough()
        model = estimator(budget=100).fit(rows.X, rows.y[:, 0])
        assert len(model.coef_) == 100

    @pytest.mark.parametrize(
        "settings",
        [
            {},
            {
                "bases": ("kernel", "trees"),
                "inputs": ("clip", "standard"),
                "kernels": ("laplacian", "rbf"),
            },
            {"random_state": None},
            {"random_state": np.random.RandomState(0)},
        ],
        ids=lambda settings: ", ".join(settings),
    )
    def test_grows_by_bases_that_begin_with_the_ones_before(self, settings, monkeypatch):
        asked, grow = [], fitting.grown_path

        rows = rough()

        def noted(path, first, larger, *given):
            fits = [first, *(basis.fit(rows.X) for basis in larger)]
            asked.append((fits, [basis.transform(rows.X) for basis in fits]))
            return grow(path, first, [], *given)

        monkeypatch.setattr(fitting, "grown_path", noted)
        estimator(**settings).fit(rows.X, rows.y[:, 0])
        bases, features = asked[0]
        assert len(bases) > 1
        for (few, small), (many, large) in itertools.pairwise(zip(bases, features, strict=True)):
            np.testing.assert_allclose(large[:, places(few, many)], small, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize(
        "settings",
        [{"n_components": 7}, {"bases": "fourier"}, {"bases": "nystroem"}, {"lam": 0.5}],
        ids=lambda settings: ", ".join(settings),
    )
    def test_does_not_grow_where_more_features_do_not_begin_with_fewer(self, settings, monkeypatch):
        asked, grow = [], fitting.grown_path

        def noted(path, first, larger, *given):
            # At a given lam there is no criterion to grow by.
            asked.append(len(larger) if "lam" not in settings else 0)
            return grow(path, first, larger, *given)

        monkeypatch.setattr(fitting, "grown_path", noted)
        rows = rough()
        model = estimator(**settings).fit(rows.X, rows.y[:, 0])
        assert sum(asked) == 0
        assert np.isfinite(model.predict(rows.X)).all()
