"""Displays draw the path's own numbers, on any axes, for any fitted model."""

import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models import ncl
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

mpl.use("Agg")

import matplotlib.pyplot as plt
from toy_tables import homes

from negcorr import (
    DiversityDisplay,
    DofDisplay,
    MembersDisplay,
    NCLRegressor,
    PathDisplay,
    ambiguity_decomposition,
    degrees_of_freedom,
    monte_carlo_dof,
)
from negcorr.exceptions import PrecisionWarning
from negcorr.plots.drawing import GAP_LABEL

OF_PATH = [PathDisplay, DiversityDisplay, DofDisplay]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    X, y = load_diabetes(return_X_y=True)
    return X[:150], y[:150]


@pytest.fixture(scope="module")
def model(rows):
    return ncl(12, 4).fit(*rows)


@pytest.fixture(scope="module")
def several(rows):
    X, y = rows
    return ncl(10, 3).fit(X, np.c_[y, X[:, 2], -y])


def lines_of(display):
    """Every curve that a display drew, by name."""
    return getattr(display, "lines_", None) or {"dof": display.line_}


class TestPathDisplay:
    def test_lines_are_the_curves_of_the_path(self, model):
        display = PathDisplay.from_estimator(model)
        path, gaps = model.path_, display.gaps
        wanted = {
            "kfold": path.kfold(gap=gaps),
            "sure": path.sure(gap=gaps) + path.noise_variance[0],
            "gcv": path.gcv(gap=gaps),
            "train_error": path.train_error(gap=gaps),
            "dof": path.dof(gap=gaps),
        }
        assert set(display.lines_) == set(wanted)
        for name, values in wanted.items():
            np.testing.assert_array_equal(display.lines_[name].get_xdata(), gaps)
            np.testing.assert_allclose(display.lines_[name].get_ydata(), values)

    def test_default_gaps_run_from_lam_zero_over_the_choice(self, model):
        gaps = PathDisplay.from_estimator(model).gaps
        assert gaps[0] == 1.0
        assert (np.diff(gaps) < 0).all()
        assert model.gap_ in gaps
        assert gaps[-1] < model.gap_

    def test_axis_shows_lam_and_gap_with_lam_zero_at_the_left(self, model):
        display = PathDisplay.from_estimator(model)
        ax = display.dof_ax_
        assert ax.get_xlabel() == GAP_LABEL
        assert ax.get_xscale() == "log"
        assert ax.xaxis_inverted()
        labels = {t.get_text() for t in ax.get_xticklabels()}
        assert {"0\n1", "0.9\n0.1", "0.99\n0.01"} <= labels
        assert "mean squared error" in display.ax_.get_ylabel()
        assert ax.get_ylabel() == "degrees of freedom"

    def test_choice_is_marked_on_both_axes(self, model):
        display = PathDisplay.from_estimator(model)
        for line in display.chosen_lines_:
            assert set(line.get_xdata()) == {model.gap_}
        texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
        assert any("by kfold" in text and f"{model.lam_:.4g}" in text for text in texts)
        (text,) = [t.get_text() for t in display.dof_ax_.get_legend().get_texts()]
        assert text.startswith(f"{model.dof_:.4g} at")

    def test_one_axes_has_criteria_alone_and_two_have_both(self, model):
        figure, (one, two, three) = plt.subplots(1, 3)
        alone = PathDisplay.from_estimator(model, ax=one)
        assert alone.dof_ax_ is None
        assert "dof" not in alone.lines_
        assert one.get_xlabel() == GAP_LABEL
        both = PathDisplay.from_estimator(model, ax=[two, three])
        assert (both.ax_, both.dof_ax_, both.figure_) == (two, three, figure)
        assert two.get_xlabel() == three.get_xlabel() == GAP_LABEL

    def test_choice_of_outputs(self, several):
        for j in range(3):
            display = PathDisplay.from_estimator(several, output=j)
            assert display.chosen_gap == several.gap_[j]
            drawn = display.lines_["train_error"].get_ydata()
            np.testing.assert_allclose(drawn, several.path_.train_error(gap=display.gaps)[:, j])
            assert display.ax_.get_title() == f"output {j}"

    @pytest.mark.parametrize("criteria", [["aic", "aicc", "bic"], "cp", ("gcv", "kfold")])
    def test_named_criteria(self, model, criteria):
        display = PathDisplay.from_estimator(model, criteria=criteria)
        names = [criteria] if isinstance(criteria, str) else list(criteria)
        assert list(display.curves) == names

    def test_leave_one_out_is_drawn_where_it_chose(self, rows):
        loo = ncl(6, 3, criterion="loo").fit(rows[0][:40], rows[1][:40])
        assert "loo" in PathDisplay.from_estimator(loo).lines_

    def test_criteria_of_different_units_or_unknown_are_refused(self, model):
        with pytest.raises(ValueError, match="different units"):
            PathDisplay.from_estimator(model, criteria=["kfold", "aic"])
        with pytest.raises(ValueError, match="'mse', which is unknown; allowed"):
            PathDisplay.from_estimator(model, criteria=["mse"])
        with pytest.raises(ValueError, match="criteria is empty"):
            PathDisplay.from_estimator(model, criteria=[])

    def test_exploding_curves_leave_the_minimum_readable(self, model):
        display = PathDisplay.from_estimator(model)
        low, high = display.ax_.get_ylim()
        best = np.nanmin(display.curves["kfold"])
        assert low <= 0.9 * best
        assert high < 10 * best

    def test_curves_of_different_size_get_a_logarithmic_axis(self):
        gaps = np.array([1.0, 0.1, 0.01])
        curves = {"kfold": np.array([1e6, 1e7, 1e8]), "train_error": np.array([3.0, 2.0, 1.0])}
        display = PathDisplay(gaps=gaps, curves=curves, dof=gaps).plot()
        assert display.ax_.get_yscale() == "log"
        assert display.chosen_lines_ == []

    def test_wrong_axes_are_refused(self, model):
        with pytest.raises(TypeError, match="ax must be matplotlib axes, got int"):
            PathDisplay.from_estimator(model, ax=3)
        with pytest.raises(ValueError, match="ax has 3 axes"):
            PathDisplay.from_estimator(model, ax=plt.subplots(3)[1])


class TestDiversityDisplay:
    def test_lines_are_the_terms_of_the_path(self, model):
        display = DiversityDisplay.from_estimator(model)
        path, gaps = model.path_, display.gaps
        for name, values in {
            "ensemble_error": path.train_error(gap=gaps),
            "member_error": path.member_error(gap=gaps),
            "diversity": path.diversity(gap=gaps),
        }.items():
            np.testing.assert_allclose(display.lines_[name].get_ydata(), values)
        assert display.variance == pytest.approx(float(path.spectrum.total[0]))
        assert "training rows" in display.ax_.get_ylabel()
        assert set(display.chosen_line_.get_xdata()) == {model.gap_}

    @pytest.mark.parametrize("output", [0, 2])
    def test_given_rows_are_predicted(self, rows, output):
        X, y = rows
        Y = np.c_[y, y + 100 * X[:, 2], -2 * y]
        fitted = ncl(8, 3).fit(X[:100], Y[:100])
        display = DiversityDisplay.from_estimator(
            fitted, X[100:], Y[100:], gaps=[0.0, 1.0, 1e-3], output=output
        )
        np.testing.assert_array_equal(display.gaps, [1.0, 1e-3, 0.0])
        for i, gap in enumerate(display.gaps):
            members = fitted.with_lam(gap=gap).predict_members(X[100:])
            terms = ambiguity_decomposition(members, Y[100:])
            for name in ("ensemble_error", "member_error", "diversity"):
                assert getattr(display, name)[i] == pytest.approx(getattr(terms, name)[output])
        assert "50 given rows" in display.ax_.get_ylabel()
        assert display.variance == pytest.approx(Y[100:, output].var())

    def test_rows_go_through_the_pipeline(self, rows):
        X, y = rows
        pipe = make_pipeline(StandardScaler(), PCA(4), ncl(6, 3))
        pipe.fit(X[:100], y[:100])
        display = DiversityDisplay.from_estimator(pipe, X[100:], y[100:], gaps=[pipe[-1].gap_])
        error = np.mean((pipe.predict(X[100:]) - y[100:]) ** 2)
        assert display.ensemble_error[0] == pytest.approx(error)

    def test_shared_axes_show_both(self, model, rows):
        _, (one, two) = plt.subplots(1, 2, sharey=True)
        first = DiversityDisplay.from_estimator(model, gaps=[1.0, 1e-4], ax=one)
        DiversityDisplay.from_estimator(model, *rows, gaps=[1.0, 0.5], ax=two)
        low, high = one.get_ylim()
        assert low < first.ensemble_error.min()
        assert high > first.member_error.max()

    def test_x_without_y_is_refused(self, model, rows):
        with pytest.raises(ValueError, match="both X and y"):
            DiversityDisplay.from_estimator(model, rows[0])


class TestMembersDisplay:
    def test_lines_are_predictions_along_one_input(self, model, rows):
        X, y = rows
        display = MembersDisplay.from_estimator(model, X, 2, y=y, n_members=5, n_points=30)
        grid = np.tile(np.median(X, axis=0), (30, 1))
        grid[:, 2] = np.linspace(X[:, 2].min(), X[:, 2].max(), 30)
        np.testing.assert_allclose(display.line_.get_ydata(), model.predict(grid))
        np.testing.assert_allclose(display.line_.get_xdata(), grid[:, 2])
        shown = model.predict_members(grid)[[0, 3, 6, 8, 11]]
        drawn = [line.get_ydata() for line in display.member_lines_]
        np.testing.assert_allclose(drawn, shown)
        np.testing.assert_allclose(display.points_.get_offsets(), np.c_[X[:, 2], y])
        assert display.ax_.get_xlabel() == "input 2 (other inputs: medians)"

    def test_given_row_and_names_of_a_frame(self, rows):
        X, y = rows
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
        fitted = ncl(6, 3).fit(frame, y)
        display = MembersDisplay.from_estimator(fitted, frame, "c3", row=X[7], n_points=11)
        grid = pd.DataFrame(np.tile(X[7], (11, 1)), columns=frame.columns)
        grid["c3"] = display.x
        np.testing.assert_allclose(display.ensemble, fitted.predict(grid))
        assert display.ax_.get_xlabel() == "c3 (other inputs: the given row)"

    def test_categories_stand_at_their_most_frequent_value(self, rows):
        from sklearn.compose import make_column_transformer
        from sklearn.preprocessing import OneHotEncoder

        X, y = rows
        frame = pd.DataFrame(
            {"a": X[:, 2], "k": pd.Categorical(np.where(X[:, 1] > 0, "u", "v")), "b": X[:, 3]}
        )
        prepare = make_column_transformer((OneHotEncoder(), ["k"]), remainder="passthrough")
        pipe = make_pipeline(prepare, ncl(5, 3)).fit(frame, y)
        display = MembersDisplay.from_estimator(pipe, frame, "a", y=y)
        assert display.member_error_ratio > 0
        with pytest.raises(ValueError, match="'k' is not numeric"):
            MembersDisplay.from_estimator(pipe, frame, "k")

    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "objects"])
    def test_tables_with_columns_of_several_kinds(self, library):
        frame = homes(60)
        X, y = frame[["size", "kind", "built"]], frame["price"].to_numpy()
        usual = [X[name].mode()[0] for name in ("kind", "built")]
        grid = pd.DataFrame({"size": np.zeros(9), "kind": usual[0], "built": usual[1]})
        if library == "polars":
            X = pytest.importorskip("polars").from_pandas(X)
        elif library == "pyarrow":
            X = pytest.importorskip("pyarrow").Table.from_pandas(X, preserve_index=False)
        elif library == "objects":
            X, grid = X.to_numpy(dtype=object), grid.to_numpy(dtype=object)
        fitted = ncl(6, 3).fit(X, y)
        display = MembersDisplay.from_estimator(fitted, X, 0, y=y, n_points=9)
        if library == "objects":
            grid[:, 0] = display.x
        else:
            grid["size"] = display.x
        np.testing.assert_allclose(display.ensemble, fitted.predict(grid))
        wanted = fitted.diversity(X, y)
        shown = DiversityDisplay.from_estimator(fitted, X, y, gaps=[1.0, fitted.gap_])
        assert shown.diversity[1] == pytest.approx(wanted.diversity)
        dof = DofDisplay.from_estimator(
            fitted, X, y, estimates=[0.5], others={"other": ncl(4, 3, lam=0.2)}, random_state=0
        )
        assert dof.others["other"][1] == 0.0

    def test_useless_members_are_called_so_and_never_uncertainty(self, model, rows):
        X, y = rows
        calm = MembersDisplay.from_estimator(model.with_lam(0.0), X, y=y)
        assert calm.ax_.get_title(loc="left") == ""
        wild = MembersDisplay.from_estimator(model.with_lam(gap=1e-6), X, y=y)
        assert "useless alone" in wild.ax_.get_title(loc="left")
        narrow = plt.subplots(1, 3)[1][0]
        lines = wild.plot(ax=narrow).ax_.get_title(loc="left").splitlines()
        assert max(map(len, lines)) < 40
        text = " ".join(t.get_text() for t in wild.figure_.findobj(mpl.text.Text))
        assert "diversity" in text
        for word in ("uncertain", "confidence", "std"):
            assert word not in text.lower()
        without = MembersDisplay.from_estimator(model.with_lam(gap=1e-6), X)
        path = model.with_lam(gap=1e-6).path_
        ratio = path.member_error() / float(path.spectrum.total[0])
        assert without.member_error_ratio == pytest.approx(ratio)

    def test_compact_models_forests_sparse_rows_and_constant_inputs(self, model, rows):
        import scipy.sparse as sp

        X, y = rows
        display = MembersDisplay.from_estimator(model, X)
        compact = MembersDisplay.from_estimator(model.compact(), X)
        assert compact.member_error_ratio == pytest.approx(display.member_error_ratio)
        np.testing.assert_array_equal(compact.members, display.members)
        forest = RandomForestRegressor(7, random_state=0).fit(X, y)
        assert MembersDisplay.from_estimator(forest, X, 1, y=y).members.shape == (7, 100)
        dense = MembersDisplay.from_estimator(model, X, 4)
        sparse = MembersDisplay.from_estimator(model, sp.csr_matrix(X), 4)
        np.testing.assert_allclose(dense.members, sparse.members)
        same = X.copy()
        same[:, 0] = 3.0
        assert np.ptp(MembersDisplay.from_estimator(model, same, 0).x) == 1.0

    @pytest.mark.parametrize(
        ("change", "error", "words"),
        [
            ({"feature": 10}, ValueError, "feature=10 does not exist; allowed are 0 to 9"),
            ({"feature": "bmi"}, TypeError, "'bmi' is a name, and X has none"),
            ({"feature": 1.5}, TypeError, "feature=1.5 must be a number or a name"),
            ({"row": [1.0]}, ValueError, r"row has shape \(1,\); it must be \(10,\)"),
            ({"n_members": 0}, ValueError, "n_members=0 must be at least 1"),
            ({"output": 1}, ValueError, "output=1 does not exist"),
            ({"y": np.ones((150, 2))}, ValueError, r"y has 2 output\(s\), the model has 1"),
        ],
    )
    def test_errors_name_the_argument(self, model, rows, change, error, words):
        with pytest.raises(error, match=words):
            MembersDisplay.from_estimator(model, rows[0], **change)


class TestDofDisplay:
    def test_curve_estimates_and_other_models(self, model, rows):
        X, y = rows
        known = degrees_of_freedom(Ridge(0.1), X, y)
        probed = monte_carlo_dof(Ridge(1.0), X, y, random_state=0)
        display = DofDisplay.from_estimator(
            model,
            X,
            y,
            estimates=[1.0, 1e-2],
            others={"ridge": Ridge(0.1), "same": known, "probed": probed, "seven": 7},
            random_state=0,
        )
        np.testing.assert_allclose(display.line_.get_ydata(), model.path_.dof(gap=display.gaps))
        for gap, (dof, error) in display.estimates.items():
            assert abs(dof - model.path_.dof(gap=gap)) < 5 * error
        np.testing.assert_array_equal(display.errorbar_[0].get_xdata(), [1.0, 1e-2])
        assert display.others["ridge"] == pytest.approx((known.dof, 0.0))
        assert display.others["same"] == display.others["ridge"]
        assert display.others["probed"] == pytest.approx((probed.dof, probed.std_error))
        assert set(display.other_lines_["seven"].get_ydata()) == {7.0}
        assert display.ax_.get_ylabel() == "degrees of freedom"

    def test_pipelines_are_refitted_whole(self, rows):
        X, y = rows
        pipe = make_pipeline(StandardScaler(), ncl(5, 3)).fit(X, y)
        display = DofDisplay.from_estimator(pipe, X, y, random_state=0, n_probes=4)
        assert len(display.estimates) == 4
        for gap, (dof, error) in display.estimates.items():
            assert abs(dof - pipe[-1].path_.dof(gap=gap)) < 8 * error + 1e-6

    def test_estimates_and_models_need_rows(self, model):
        with pytest.raises(ValueError, match="estimates need the training rows"):
            DofDisplay.from_estimator(model, estimates=[1.0])
        with pytest.raises(TypeError, match=r"others\['ridge'\] of type Ridge needs X and y"):
            DofDisplay.from_estimator(model, others={"ridge": Ridge()})
        with pytest.raises(TypeError, match=r"others\['x'\] of type str is no model"):
            DofDisplay.from_path(model.path_, others={"x": "7"})
        with pytest.raises(ValueError, match=r"estimates must be numbers in \[0, 1\]"):
            DofDisplay.from_estimator(model, [[0.0]], [0.0], estimates=[2.0])


@pytest.mark.parametrize("kind", OF_PATH)
class TestAllDisplays:
    def test_path_estimator_pipeline_and_search_draw_the_same(self, kind, rows):
        X, y = rows
        pipe = make_pipeline(StandardScaler(), ncl(6, 3))
        search = GridSearchCV(pipe, {"nclregressor__basis__n_components": [3]}, cv=2).fit(X, y)
        ways = [
            kind.from_path(search.best_estimator_[-1].path_),
            kind.from_estimator(search.best_estimator_[-1]),
            kind.from_estimator(search.best_estimator_),
            kind.from_estimator(search),
        ]
        first = lines_of(ways[0])
        for other in ways[1:]:
            for name, line in lines_of(other).items():
                np.testing.assert_array_equal(line.get_xydata(), first[name].get_xydata())

    @pytest.mark.parametrize("path", [False, True])
    def test_compact_models_draw_the_same(self, kind, path, model):
        whole = lines_of(kind.from_estimator(model))
        compact = lines_of(kind.from_estimator(model.compact(path=path)))
        assert whole.keys() == compact.keys()
        for name, line in compact.items():
            np.testing.assert_allclose(line.get_xydata(), whole[name].get_xydata(), rtol=1e-10)

    def test_axes_are_reused_and_widened(self, kind, model, several):
        ax = plt.figure().add_subplot()
        once = kind.from_estimator(model, gaps=[1.0, 0.1], ax=ax)
        again = kind.from_estimator(several, gaps=[1.0, 1e-3], ax=ax, line_kw={"alpha": 0.5})
        assert once.ax_ is again.ax_ is ax
        assert once.figure_ is ax.figure
        assert ax.get_xlim()[0] > 1.0 > 1e-3 > ax.get_xlim()[1]
        assert all(
            line.get_alpha() == 0.5 for n, line in lines_of(again).items() if n != "variance"
        )
        assert again.plot().ax_ is not ax

    def test_lam_one_stands_at_the_right_end(self, kind, model):
        display = kind.from_estimator(model.with_lam(gap=0.0))
        assert display.gaps[-1] == 0.0
        ax = getattr(display, "dof_ax_", None) or display.ax_
        assert ax.get_xticklabels()[-1].get_text() == "1\n0"
        display.figure_.canvas.draw()

    def test_gaps_too_small_for_the_factorisation_warn_where_given(self, kind, rows):
        wide = ncl(20, 6, gamma=0.01, solver="gram", lam=0.5).fit(*rows)
        least = wide.path_.smallest_trusted_gap
        assert least > 0.0
        assert kind.from_estimator(wide).gaps[-1] >= least
        with pytest.warns(PrecisionWarning, match="refit with solver='qr'") as caught:
            kind.from_estimator(wide, gaps=[1.0, 1e-20])
        assert caught[0].filename == __file__

    def test_not_fitted_and_other_models(self, kind, model, rows):
        with pytest.raises(NotFittedError):
            kind.from_estimator(NCLRegressor())
        with pytest.raises(NotFittedError):
            kind.from_estimator(make_pipeline(StandardScaler(), NCLRegressor()))
        with pytest.raises(TypeError, match="type Ridge has no path in lam; allowed"):
            kind.from_estimator(Ridge().fit(*rows))
        with pytest.raises(TypeError, match="from_path"):
            kind.from_estimator(model.path_)
        with pytest.raises(TypeError, match="from_estimator"):
            kind.from_path(model)

    @pytest.mark.parametrize(
        ("change", "error", "words"),
        [
            ({"output": 3}, ValueError, "output=3 does not exist; allowed are 0 to 2"),
            ({"output": -1}, ValueError, "output=-1 does not exist"),
            ({"output": True}, TypeError, "output=True must be an integer"),
            ({"gaps": [1.0, 1.5]}, ValueError, r"gaps must be numbers in \[0, 1\].*1.5"),
            ({"gaps": [-0.1]}, ValueError, r"gaps must be numbers in \[0, 1\].*-0.1"),
            ({"gaps": ["x"]}, ValueError, "gaps must be numbers"),
            ({"gaps": []}, ValueError, "gaps is empty"),
        ],
    )
    def test_errors_name_the_argument(self, kind, several, change, error, words):
        with pytest.raises(error, match=words):
            kind.from_estimator(several, **change)


@pytest.mark.parametrize("kind", [*OF_PATH, MembersDisplay])
def test_missing_matplotlib_names_the_extra(kind, model, rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    arguments = (rows[0],) if kind is MembersDisplay else ()
    with pytest.raises(ImportError, match=r"needs matplotlib.*negcorr\[plot\]"):
        kind.from_estimator(model, *arguments)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_fitted_model_is_drawn_without_a_warning(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, d = data.draw(st.integers(3, 60)), data.draw(st.integers(1, 4))
    outputs = data.draw(st.sampled_from([None, 1, 2]))
    scale = 10.0 ** data.draw(st.integers(-8, 8))
    X = rng.normal(size=(n, d))
    y = scale * rng.normal(size=n if outputs is None else (n, outputs))
    gap = data.draw(st.sampled_from([None, 1.0, 0.3, 1e-3, 1e-12, 0.0]))
    alpha = data.draw(st.sampled_from([0.0, 0.1]))
    model = ncl(
        data.draw(st.integers(1, 6)),
        data.draw(st.integers(1, 5)),
        gap=gap,
        alpha=alpha,
        criterion=data.draw(st.sampled_from(["kfold", "bic"])),
        fit_intercept=data.draw(st.booleans()),
        cv=2,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except ValueError:
            return
    output = data.draw(st.integers(0, (outputs or 1) - 1))
    for kind in OF_PATH:
        kind.from_estimator(model, output=output).figure_.draw_without_rendering()
    DiversityDisplay.from_estimator(model, X, y, output=output).figure_.draw_without_rendering()
    MembersDisplay.from_estimator(model, X, y=y, output=output).figure_.draw_without_rendering()
    plt.close("all")
