"""Models without the moments of their folds: what they answer, and what they say they cannot."""

import numpy as np
import pytest
from models import ncl
from negcorr.criteria.tabulated import ErrorTable
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from negcorr import PathDisplay, load, report, save
from negcorr.reporting.curves import curve_data
from negcorr.storage.save_load import describe

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * RNG.normal(size=160)
BOTH = np.column_stack([Y, X[:, 0] - 2.0 * Y])
GAPS = [1.0, 0.3, 1e-3]


def ncl(**parameters):
    small = {"n_members": 8, "n_components": 4, "random_state": 0}
    return ncl(**small | {"basis": "fourier", "gamma": "kwok-tsang"} | parameters)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"criterion": "sure"}, {"lam": 0.9}, {"criterion": "loo"}, {"alpha": 1e-2}, {"lam": 1.0}],
)
@pytest.mark.parametrize("y", [Y, BOTH], ids=["one", "two"])
def test_what_stays_is_as_it_was(parameters, y):
    full = ncl(**parameters).fit(X, y)
    small = full.without_folds()
    assert np.array_equal(small.predict(X), full.predict(X))
    for one, other in zip(
        small.predict(X, return_std=True), full.predict(X, return_std=True), strict=True
    ):
        assert np.array_equal(one, other)
    assert np.array_equal(small.predict_interval(X, 0.8), full.predict_interval(X, 0.8))
    assert np.array_equal(small.predict_members(X), full.predict_members(X))
    assert np.array_equal(small.with_lam(0.3).coef_, full.with_lam(0.3).coef_)
    assert str(small.summary()) == str(full.summary())
    np.testing.assert_allclose(small.path_.kfold(), full.path_.kfold(), rtol=1e-12)
    for name in ("dof", "train_error", "member_error", "diversity", "sure", "gcv", "aic", "bic"):
        one, other = (getattr(model.path_, name)(gap=GAPS) for model in (small, full))
        np.testing.assert_array_equal(one, other)
    if parameters.get("criterion") == "loo":
        assert np.array_equal(small.path_.loo(gap=small.path_.gaps), full.path_.values)
    assert small.path_.cells == ()
    assert small.path_.leave_one_out is None


@pytest.mark.parametrize("parameters", [{}, {"criterion": "gcv"}, {"lam": 0.9}])
def test_the_curves_of_a_report_are_those_of_the_full_model(parameters):
    full = ncl(**parameters).fit(X, BOTH)
    one, other = (curve_data(model.path_) for model in (full, full.without_folds()))
    assert np.array_equal(one.kfold_gaps, other.kfold_gaps)
    np.testing.assert_allclose(one.kfold, other.kfold, rtol=1e-12)
    assert one.smallest_gap == other.smallest_gap


def test_curves_have_kfold_where_it_is_known():
    full = ncl().fit(X, Y)
    path = full.without_folds().path_
    wanted, found = full.path_.curves(), path.curves()
    assert list(found) == list(wanted)
    np.testing.assert_allclose(found["kfold"], wanted["kfold"], rtol=1e-12)
    assert "kfold" not in path.curves([0.123])
    assert path.kfold(gap=path.tables["kfold"].gaps).shape == path.tables["kfold"].gaps.shape


def test_what_is_gone_says_so():
    small = ncl().fit(X, Y).without_folds()
    words = r"saved without the moments of its folds.*keep='all'"
    with pytest.raises(ValueError, match="kfold at gap=0.123 is not known.*" + words):
        small.path_.kfold(gap=[1.0, 0.123])
    with pytest.raises(ValueError, match=words):
        small.partial_fit(X[:9], Y[:9])
    for use in (small.merge, small.subtract):
        with pytest.raises(ValueError, match=words):
            use(ncl().fit(X, Y))
    with pytest.raises(ValueError, match=r"saved without them.*keep='all'"):
        small.with_lam(0.3).predict_interval(X)
    with pytest.raises(ValueError, match=r"saved without them.*keep='all'"):
        small.path_.cross_validation  # noqa: B018
    with pytest.raises(ValueError, match=r"save\(keep='predictions'\)"):
        small.compact().without_folds()
    loo = ncl(criterion="loo").fit(X, Y).without_folds()
    with pytest.raises(ValueError, match=r"loo at gap=0.123 is not known.*keep='all'"):
        loo.path_.loo(gap=0.123)


def test_the_same_lam_keeps_its_intervals_and_further_steps_change_nothing():
    full = ncl().fit(X, Y)
    small = full.without_folds()
    wanted = full.predict_interval(X)
    assert np.array_equal(small.with_lam(gap=small.gap_).predict_interval(X), wanted)
    assert np.array_equal(small.without_folds().predict_interval(X), wanted)
    assert np.array_equal(small.compact().predict_interval(X), wanted)
    assert full.path_.cells  # left as it was
    assert full._calibration is not None


def test_streams_have_it_too():
    stream = ncl().partial_fit(X[:80], Y[:80]).partial_fit(X[80:], Y[80:])
    small = stream.without_folds()
    assert np.array_equal(small.predict(X), stream.predict(X))
    assert small._lazy is None


@pytest.mark.filterwarnings("ignore")  # rows that are all equal
def test_rows_that_were_not_split_leave_no_table():
    full = ncl(lam=0.5).fit(np.repeat(X[:1], 9, axis=0), np.ones(9))
    assert not full.path_.folds.splits
    small = full.without_folds()
    assert small.path_.tables == {}
    assert np.array_equal(small.predict(X), full.predict(X))


def test_pictures_are_drawn_from_the_tables():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    small = ncl().fit(X, Y).without_folds()
    display = PathDisplay.from_estimator(small)
    assert "kfold" in display.lines_
    assert set(display.gaps) <= set(small.path_.tables["kfold"].gaps)
    assert "kfold" not in PathDisplay.from_estimator(small, gaps=[0.5, 0.123]).lines_
    with pytest.raises(ValueError, match="kfold at gap"):
        PathDisplay.from_estimator(small, gaps=[0.123], criteria=["kfold"])
    pyplot.close("all")


@pytest.mark.parametrize("wrap", ["alone", "pipeline", "search"])
def test_save_keeps_what_it_is_told_to(wrap, tmp_path):
    model = ncl(n_estimators=20)
    if wrap == "pipeline":
        model = make_pipeline(StandardScaler(), model)
    if wrap == "search":
        model = GridSearchCV(model, {"gamma": [0.2, 0.4]}, cv=2)
    model = model.fit(X, Y)
    files = {
        k: save(model, tmp_path / f"{k}.skops", keep=k) for k in ("all", "path", "predictions")
    }
    sizes = [file.stat().st_size for file in files.values()]
    assert sizes[0] > 2 * sizes[1] > 2 * sizes[2]
    for keep, file in files.items():
        copy = load(file)
        assert np.array_equal(copy.predict(X), model.predict(X))
        assert describe(file).keep == keep
        core = getattr(copy, "best_estimator_", copy)
        core = core[-1] if wrap == "pipeline" else core
        assert hasattr(core, "path_") == (keep != "predictions")
        assert (core._calibration is not None) == (keep == "all")
    core = getattr(model, "best_estimator_", model)
    core = core[-1] if wrap == "pipeline" else core
    assert core.path_.cells  # the model itself is left as it was


def test_a_report_is_written_from_a_file(tmp_path):
    model = make_pipeline(StandardScaler(), ncl()).fit(X[:120], Y[:120])
    copy = load(save(model, tmp_path / "m.skops", keep="path"))
    page = report(copy, X[120:], Y[120:], path=tmp_path / "page.html")
    assert "id='knob'" in page.read_text(encoding="utf-8")
    moved = report(copy[-1].with_lam(0.3), path=tmp_path / "page.html")
    assert "id='knob'" in moved.read_text(encoding="utf-8")


def test_what_is_compact_or_not_fitted_is_saved_as_it_is(tmp_path):
    small = ncl().fit(X, Y).compact()
    copy = load(save(small, tmp_path / "m.skops", keep="path"))
    assert np.array_equal(copy.predict_interval(X), small.predict_interval(X))
    for keep in ("path", "predictions"):
        drawn = load(save(ncl().draw(X), tmp_path / "m.skops", keep=keep))
        assert np.array_equal(drawn.fit(X, Y).predict(X), ncl().fit(X, Y).predict(X))


def test_a_table_finds_values_in_any_order():
    table = ErrorTable(np.array([1.0, 0.5, 0.1]), np.array([[1.0], [2.0], [3.0]]))
    np.testing.assert_array_equal(table.at(np.array([0.1, 1.0, 0.5]), "kfold").ravel(), [3, 1, 2])
