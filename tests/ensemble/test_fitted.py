"""What a fitted model holds, what it answers from that, and what compact() leaves."""

import pickle

import numpy as np
import pytest
from models import ncl
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

from negcorr import NCLRegressor, PathDisplay, ncl_path
from negcorr.reporting.curves import curve_data

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * RNG.normal(size=160)
BOTH = np.column_stack([Y, X[:, 0] - 2.0 * Y])

#: Gaps of which only the first and the last are among those of the tables.
GAPS = np.array([1.0, 0.7, 0.123, 0.0314, 2.7e-3, 1e-3])

#: Curves that follow from the spectrum alone.
CURVES = ("dof", "train_error", "sure", "gcv", "aic", "aicc", "bic", "cp")

#: Settings that keep different things; the last two have fewer rows than features.
SETTINGS = {
    "kfold": {},
    "sure": {"criterion": "sure"},
    "given": {"lam": 0.9},
    "loo": {"criterion": "loo"},
    "ridge": {"alpha": 1e-2},
    "huber": {"loss": "huber"},
    "wide": {"n_members": 20, "n_components": 12, "gap": 0.05},
    "kernel": {"n_components": None, "basis": "kernel"},
}

settings = pytest.mark.parametrize("name", SETTINGS)
outputs = pytest.mark.parametrize("y", [Y, BOTH], ids=["one", "two"])


def small(**parameters):
    return ncl(**{"n_members": 8, "n_components": 4} | parameters)


def with_settings(name):
    given = {"n_members": 8, "n_components": 4} | SETTINGS[name]
    return ncl(**{key: value for key, value in given.items() if value is not None})


def pickled(model):
    return pickle.loads(pickle.dumps(model))


def size(model):
    return len(pickle.dumps(model))


def assert_same_answers(one, other):
    """Predictions, members and intervals at the chosen λ are the same to the last bit."""
    for name in ("lam_", "gap_", "dof_", "coef_", "intercept_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.noise_variance_, other.noise_variance_, rtol=1e-10)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.predict_members(X), other.predict_members(X))
    np.testing.assert_array_equal(one.predict_interval(X, 0.8), other.predict_interval(X, 0.8))


def assert_near(found, wanted, share):
    """Values are apart by at most a share of what the wanted ones move between."""
    moved = np.ptp(np.asarray(wanted), axis=0).max()
    assert np.abs(np.asarray(found) - wanted).max() <= share * moved


class TestModelOfFit:
    @settings
    def test_has_no_moments_in_its_pickle_and_by_kfold_none_at_all(self, name):
        model = with_settings(name).fit(X, Y)
        assert model._state.stream is None
        assert pickled(model).path_.cells == ()
        assert (model.path_.cells == ()) == (model.path_.criterion == "kfold")

    def test_by_kfold_says_that_it_has_none(self):
        path = small().fit(X, Y).path_
        with pytest.raises(ValueError, match=r"no moments of its folds.*kfold answers at every"):
            _ = path.cross_validation

    @settings
    @outputs
    def test_is_the_same_after_a_pickle_to_the_last_bit(self, name, y):
        model = with_settings(name).fit(X, y)
        copy = pickled(model)
        assert_same_answers(copy, model)
        for one, other in zip(
            copy.predict(X, return_std=True), model.predict(X, return_std=True), strict=True
        ):
            np.testing.assert_array_equal(one, other)
        for gap in (0.3, 1e-3):
            one, other = copy.with_lam(gap=gap), model.with_lam(gap=gap)
            np.testing.assert_array_equal(one.coef_, other.coef_)
            np.testing.assert_array_equal(one.predict(X), other.predict(X))
            np.testing.assert_array_equal(one.dof_, other.dof_)
        for curve in (*CURVES, "member_error", "diversity"):
            one, other = (getattr(each.path_, curve)(gap=GAPS) for each in (copy, model))
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(copy.path_.gaps, model.path_.gaps)
        np.testing.assert_array_equal(copy.path_.values, model.path_.values)
        assert str(copy.summary()) == str(model.summary())
        if model.path_.criterion == "kfold":
            again = pickled(copy)
            for each in (copy, again):
                np.testing.assert_array_equal(
                    each.path_.kfold(gap=GAPS), model.path_.kfold(gap=GAPS)
                )
                np.testing.assert_array_equal(
                    each.with_lam(0.3).predict_interval(X), model.with_lam(0.3).predict_interval(X)
                )

    @pytest.mark.parametrize("name", ["kfold", "ridge", "kernel", "wide"])
    @outputs
    def test_has_the_kfold_error_at_every_gap(self, name, y):
        """Of a path that keeps its moments, and of a stream, it is exact everywhere."""
        folds = list(KFold(4).split(X))
        model = pickled(with_settings(name).set_params(cv=folds).fit(X, y))
        alpha = model.path_.spectrum.alpha
        features, starts = model.basis_.transform(X), model.basis_.block_starts_
        path = ncl_path(features, y, starts, cv=folds, alpha=alpha, gap=0.5)
        table = model.path_.kfold_table
        inside = table.gaps[table.gaps > 1e-4]
        np.testing.assert_allclose(model.path_.kfold(gap=inside), path.kfold(gap=inside), rtol=1e-6)
        between = np.sqrt(inside[1:] * inside[:-1])
        wanted = path.kfold(gap=between)
        np.testing.assert_allclose(model.path_.kfold(gap=between), wanted, rtol=1e-4)
        stream = with_settings(name).draw(X).partial_fit(X, y)
        by_content = with_settings(name).fit(X, y)
        np.testing.assert_allclose(
            pickled(by_content).path_.kfold(gap=GAPS), stream.path_.kfold(gap=GAPS), rtol=1e-4
        )

    @pytest.mark.parametrize("name", ["kfold", "ridge", "kernel", "huber"])
    @outputs
    def test_has_intervals_at_every_lam_near_those_of_a_refit(self, name, y):
        model = pickled(with_settings(name).fit(X, y))
        if name == "huber":
            y = model.targets_
        for gap in (0.8, 0.123, 3e-3):
            moved = model.with_lam(gap=gap)
            refit = clone(moved).set_params(loss="squared").fit(X, y)
            if name != "huber":
                found, wanted = moved.predict_interval(X, 0.9), refit.predict_interval(X, 0.9)
                width = float(np.mean(wanted[:, 1] - wanted[:, 0]))
                assert np.abs(found - wanted).max() < 1e-4 * width
            np.testing.assert_allclose(moved.predict(X), refit.predict(X), atol=1e-7)

    def test_by_another_criterion_is_exact_until_it_is_pickled(self):
        model = small(criterion="gcv").fit(X, Y)
        stream = small(criterion="gcv").draw(X).partial_fit(X, Y)
        wanted = stream.path_.kfold(gap=GAPS)
        np.testing.assert_allclose(model.path_.kfold(gap=GAPS), wanted, rtol=1e-9)
        np.testing.assert_allclose(pickled(model).path_.kfold(gap=GAPS), wanted, rtol=1e-4)
        assert model.path_.cells

    @pytest.mark.filterwarnings("ignore::negcorr.exceptions.NegcorrWarning")
    def test_on_rows_that_are_all_equal_has_no_intervals(self):
        full = small(lam=0.5).fit(np.repeat(X[:1], 9, axis=0), np.ones(9))
        for model in (full, pickled(full), full.compact(), full.compact(path=True)):
            np.testing.assert_array_equal(model.predict(X), full.predict(X))
            assert "kfold" not in model.path_.curves()
            with pytest.raises(ValueError, match="could not be split into folds"):
                model.predict_interval(X)
            with pytest.raises(ValueError, match="this path has no folds"):
                model.path_.kfold(gap=0.3)


class TestSize:
    def test_of_a_default_model(self):
        X, y = load_diabetes(return_X_y=True)
        model = NCLRegressor().fit(X, y)
        assert size(model) <= 4e6
        assert size(model.compact()) <= 0.5e6
        copy = pickled(model)
        for lam in (0.0, 0.1, 0.9):
            np.testing.assert_array_equal(
                copy.with_lam(lam).predict(X), model.with_lam(lam).predict(X)
            )
            assert copy.with_lam(lam).predict_interval(X).shape == (442, 2)

    def test_of_what_is_compact_does_not_grow_with_rows(self):
        sizes = []
        for n in (1000, 4000):
            X, y = RNG.normal(size=(2, n, 1))
            sizes.append(size(small(lam=0.5).fit(X, y[:, 0]).compact()))
        # Residuals that intervals come from are kept, two numbers a row.
        assert sizes[1] - sizes[0] < 3000 * 2 * 8 * 1.1


class TestCompact:
    @settings
    @outputs
    def test_predicts_as_before(self, name, y):
        full = with_settings(name).fit(X, y)
        compact = full.compact()
        for model in (compact, pickled(compact), compact.compact(), compact.compact(path=True)):
            assert_same_answers(model, full)
            assert model.targets_ is None
            assert model.diversity(X, y).diversity == pytest.approx(full.diversity(X, y).diversity)
            found, wanted = (dict(each.summary().rows) for each in (model, full))
            assert list(found) == list(wanted)
            if full.path_.spectrum.has_excess:  # a part of these two is known by splines
                for rows in (found, wanted):
                    del rows["average member error"], rows["diversity"]
            assert found == wanted
        assert_same_answers(full.with_lam(0.3).compact(), full.with_lam(0.3).compact(path=True))

    @settings
    @outputs
    def test_has_every_curve(self, name, y):
        full = with_settings(name).fit(X, y)
        for model in (full.compact(), pickled(full.compact()), full.compact().compact()):
            for curve in CURVES:
                one, other = (getattr(each.path_, curve)(gap=GAPS) for each in (model, full))
                np.testing.assert_allclose(one, other, rtol=1e-12)
            for curve in ("kfold", "member_error", "diversity"):
                one, other = (getattr(each.path_, curve)(gap=GAPS) for each in (model, full))
                assert_near(one, other, 1e-4)
            if name == "loo":
                searched = full.path_.gaps
                np.testing.assert_array_equal(
                    model.path_.loo(gap=searched), full.path_.loo(gap=searched)
                )
                # Between the points of the search, five a decade where it is coarse.
                assert_near(model.path_.loo(gap=GAPS), full.path_.loo(gap=GAPS), 1e-3)
            assert list(model.path_.curves(GAPS)) == list(full.path_.curves(GAPS))
            assert repr(model.path_) == repr(full.path_)

    @pytest.mark.parametrize("start", ["fit", "partial_fit"])
    def test_says_what_it_dropped(self, start):
        compact = getattr(small(), start)(X, Y).compact()
        words = r"needs the factorisation, which compact\(\) has dropped.*compact\(path=True\)"
        for ask in (
            lambda: compact.with_lam(0.3),
            lambda: compact.with_lam(dof=9.0),
            lambda: compact.predict(X, return_std=True),
            lambda: compact.path_.coef(),
            lambda: compact.path_.coef(0.3),
            lambda: compact.path_.member_coef(0.3),
            lambda: compact.path_.tikhonov_equivalent(0.3),
        ):
            with pytest.raises(ValueError, match=words):
                ask()
        assert not hasattr(compact, "partial_fit")
        assert not hasattr(clone(compact), "path_")

    def test_leaves_the_model_as_it_was(self):
        full = small().fit(X, Y)
        state, interval = full._state, full.with_lam(0.3).predict_interval(X)
        full.compact()
        full.compact(path=True)
        assert full._state is state
        np.testing.assert_array_equal(full.with_lam(0.3).predict_interval(X), interval)
        stream = small().partial_fit(X, Y)
        stream.compact()
        assert stream.partial_fit(X, Y).path_.spectrum.weight == 320

    def test_is_drawn_as_before(self):
        pyplot = pytest.importorskip("matplotlib.pyplot")
        full = small().fit(X, Y)
        compact = full.compact()
        one, other = (PathDisplay.from_estimator(model) for model in (compact, full))
        assert list(one.lines_) == list(other.lines_)
        assert "kfold" in one.lines_
        np.testing.assert_array_equal(one.gaps, other.gaps)
        found, wanted = (curve_data(model.path_) for model in (compact, full))
        np.testing.assert_array_equal(found.kfold_gaps, wanted.kfold_gaps)
        np.testing.assert_array_equal(found.kfold, wanted.kfold)
        assert found.smallest_gap == wanted.smallest_gap
        pyplot.close("all")


class TestCompactWithItsPath:
    @settings
    @pytest.mark.parametrize("start", ["fit", "partial_fit"])
    def test_keeps_every_lam(self, name, start):
        if start == "partial_fit" and name in ("loo", "huber"):
            pytest.skip("needs all rows at once")
        full = getattr(with_settings(name), start)(X, Y)
        for model in (full.compact(path=True), pickled(full.compact(path=True))):
            assert_same_answers(model, full)
            assert model.targets_ is None
            assert model.path_.cells == ()
            for one, other in zip(
                model.predict(X, return_std=True), full.predict(X, return_std=True), strict=True
            ):
                np.testing.assert_array_equal(one, other)
            for lam in (0.0, 0.3, 0.99):
                one, other = model.with_lam(lam), full.with_lam(lam)
                np.testing.assert_array_equal(one.coef_, other.coef_)
                with pytest.raises(ValueError, match="known at the chosen lam alone"):
                    one.predict_interval(X, 0.9)
            np.testing.assert_array_equal(model.path_.member_coef(0.3), full.path_.member_coef(0.3))
            assert_near(model.path_.kfold(gap=GAPS), full.path_.kfold(gap=GAPS), 1e-4)
            assert str(model.summary()) == str(full.summary())
            assert not hasattr(model, "partial_fit")

    def test_has_no_training_rows(self):
        row = X[37].tobytes()
        wide = with_settings("wide").fit(X, Y)
        assert row in pickle.dumps(wide)  # fewer than features: the rows are the factor
        for model in (wide, small().fit(X, Y), small().partial_fit(X, Y)):
            for path in (False, True):
                assert row not in pickle.dumps(model.compact(path=path))
