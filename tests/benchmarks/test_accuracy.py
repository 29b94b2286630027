"""The comparison with rivals: its tables say what the stored lines say, and runs can be resumed."""

import json

import numpy as np
import pytest
from benchmark_programs import program
from sklearn.linear_model import Ridge

from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures

rivals, accuracy, table = map(program, ("accuracy_rivals", "accuracy", "accuracy_table"))

Piece = accuracy.Piece


def line(name, method, error, seed=0, fold=0, **more):
    found = {"set": name, "seed": seed, "fold": fold, "method": method, "error": error}
    times = {"n": 100, "fit_seconds": 1.0, "jobs": 1, "idle": True}
    return found | times | more


def lines_of(errors, methods, **more):
    """Five folds for each set with the same errors, so that means are those given."""
    return [
        line(name, method, [error], fold=fold, **more)
        for name, row in errors.items()
        for method, error in zip(methods, row, strict=True)
        for fold in range(5)
    ]


THREE = ("random forest", "kernel ridge", "ridge")
ERRORS = {
    "machine": (0.2, 0.1, 0.4),  # ranks 2, 1, 3; over best 2, 1, 4
    "housing": (0.3, 0.3, 0.6),  # ranks 1.5, 1.5, 3; over best 1, 1, 2
    "slump": (0.5, 0.4, 0.4),  # ranks 3, 1.5, 1.5; over best 1.25, 1, 1
}


def toy(name):
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(60, 3))
    y = np.stack([X[:, 0] + 0.1 * rng.normal(size=60), 100 * np.sin(X[:, 1])], axis=1)
    return X, y if name == "two" else y[:, :1]


def test_ranks_share_ties_and_means_are_geometric():
    found = table.compared(lines_of(ERRORS, THREE), THREE)
    assert found.sets == ("machine", "housing", "slump")
    assert found.methods == THREE
    np.testing.assert_allclose(found.errors, list(ERRORS.values()))
    np.testing.assert_allclose(found.average_ranks, np.array([6.5, 4.0, 7.5]) / 3)
    np.testing.assert_allclose(found.geometric_means, [2.5 ** (1 / 3), 1.0, 2.0])


def test_friedman_with_ties_as_by_hand():
    # Σ(R_j − N(k+1)/2)² · 12/(Nk(k+1)) over 1 − ties/(Nk(k²−1)), with two pairs of ties.
    sums = np.array([6.5, 4.0, 7.5])
    plain = 12 / (3 * 3 * 4) * ((sums - 6.0) ** 2).sum()
    expected = plain / (1 - 2 * (2**3 - 2) / (3 * 3 * 8))
    statistic, p = table.compared(lines_of(ERRORS, THREE), THREE).friedman
    assert statistic == pytest.approx(expected)
    assert p == pytest.approx(np.exp(-expected / 2))  # χ² with two degrees of freedom


@pytest.mark.parametrize(("n_methods", "q"), [(2, 1.960), (3, 2.343), (7, 2.949), (10, 3.164)])
def test_critical_difference_as_in_the_published_table(n_methods, q):
    expected = q * np.sqrt(n_methods * (n_methods + 1) / (6 * 19))
    assert table.critical_difference(n_methods, 19) == pytest.approx(expected, rel=5e-4)


def test_groups_are_the_largest_ones():
    assert table.groups([1.0, 4.0, 1.5, 2.4], 1.0) == [(0, 2), (2, 3)]
    assert table.groups([1.0, 4.0, 1.5, 2.4], 0.4) == []
    assert table.groups([2.0, 1.0, 3.0], 2.0) == [(1, 0, 2)]


def test_errors_are_means_over_outputs_and_pieces_and_later_lines_count():
    lines = [line("machine", "ridge", [9.0, 9.0])]
    lines += [line("machine", "ridge", [0.1 * fold, 0.3], fold=fold) for fold in range(5)]
    found = table.compared(lines, ["ridge"])
    assert found.errors[0, 0] == pytest.approx((0.2 + 0.3) / 2)
    assert found.n_pieces == (5,)
    assert found.friedman is None


def test_a_set_that_lacks_pieces_is_left_out_and_named():
    lines = lines_of(ERRORS, THREE)
    lines = [each for each in lines if (each["set"], each["method"]) != ("housing", "ridge")]
    lines.pop()  # a fold of ridge on slump
    found = table.compared(lines, [*THREE, "extra trees"])
    assert found.sets == ("machine",)
    words = " ".join(found.missing)
    assert "extra trees: no results at all" in words
    assert "housing is left out: of 5 pieces there lack 5 of ridge" in words
    assert "slump is left out: of 5 pieces there lack 1 of ridge" in words
    assert "no results of wisconsin" in words


def test_folds_that_all_methods_lack_are_missed_too():
    lines = [each for each in lines_of(ERRORS, THREE) if each["fold"] < 3]
    assert table.compared(lines, THREE).sets == ()


def test_the_untuned_forest_has_no_rank():
    lines = lines_of({"machine": (0.1, 0.2)}, ("ridge", rivals.YARDSTICK))
    assert table.compared(lines).methods == ("ridge",)


def ours(name, error, best, constant, fold=0, **more):
    more = {"hindsight_error": best, "over_constant": constant} | more
    return line(name, "negcorr", error, fold=fold, **more)


def test_figures_that_must_hold():
    lines = [
        ours("machine", [0.2, 0.4], [0.1, 0.3], 0.5, fit_seconds=0.7),
        ours("machine", [0.3, 0.3], [0.1, 0.1], 0.9, fold=1, fit_seconds=9.0, jobs=2),
        ours("bank", [0.5], [0.4], 0.7, n=8000, fit_seconds=3.0),
        ours("abalone", [0.5], [0.5], 0.6, n=4000, fit_seconds=2.0),
        ours("abalone", [0.5], [0.5], 0.6, fold=1, n=4000, fit_seconds=50.0),
        ours("elevators", [0.5], [0.5], 0.6, n=16000, fit_seconds=2.0, idle=False),
    ]
    for name, n, seconds in (
        ("machine", 100, 9.0),
        ("bank", 8000, 2.0),
        ("abalone", 4000, 4.0),
        ("elevators", 16000, 1.0),
    ):
        lines.append(line(name, rivals.YARDSTICK, [1.0], n=n, fit_seconds=seconds))
    known = table.must_hold(lines, table.compared(lines))
    # Machine: 0.3 over the mean of 0.2 and 0.1; bank 1.25; the others 1.
    assert known["hindsight"] == pytest.approx(((2.0 * 1.25) ** 0.25, 2.0, "machine"))
    assert known["constant"] == (0.9, "machine", 0, 1)
    assert table.time_ratios(lines) == pytest.approx({"bank": 1.5, "abalone": 0.5})
    assert known["time"] == pytest.approx((1.0, 2))
    assert known["small"] == (0.7, "machine")
    assert "rank" not in known  # no set is whole


def test_what_is_written(tmp_path, capsys):
    path = tmp_path / "lines.jsonl"
    for each in lines_of(ERRORS, THREE):
        accuracy.append(each, path)
    rst, markdown = tmp_path / "t.rst", tmp_path / "t.md"
    table.main([str(path), "--seeds", "0", "--rst", str(rst), "--markdown", str(markdown)])
    printed = capsys.readouterr().out
    assert "0.1000*" in printed
    assert "3 data sets, means over 5 pieces" in printed
    assert "Missing: negcorr: no results at all." in printed
    assert "   * - machine\n     - 100\n     - 0.2000\n     - **0.1000**\n" in rst.read_text(
        "utf-8"
    )
    assert "| slump | 100 | 0.5000 | **0.4000** | **0.4000** |" in markdown.read_text("utf-8")
    assert "| average rank |  | 2.17 | **1.33** | 2.50 |" in markdown.read_text("utf-8")
    with pytest.raises(SystemExit, match="no results"):
        table.main([str(path), "--seeds", "5"])


def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "lines.jsonl"
    for each in lines_of(ERRORS, THREE):
        accuracy.append(each, path)
    figure = program("accuracy_figure")
    figure.main([str(path), "--out", str(tmp_path / "accuracy")])
    assert (tmp_path / "accuracy.png").stat().st_size > 10_000
    assert (tmp_path / "accuracy.svg").read_text("utf-8").startswith("<?xml")
    with pytest.raises(SystemExit, match="nothing to draw"):
        figure.main([str(path), "--methods", "ridge", "--out", str(tmp_path / "none")])


def test_a_run_stores_each_piece_and_is_resumed(tmp_path):
    path = tmp_path / "results" / "lines.jsonl"
    pieces = [
        Piece(name, 0, fold, method)
        for name in ("one", "two")
        for method in ("negcorr", "ridge")
        for fold in range(5)
    ]
    assert accuracy.run(pieces[:7], toy, path) == 0
    with path.open("a") as file:
        file.write('{"set": "one", "se')  # as a run leaves it that is stopped while it writes
    left = accuracy.missing(pieces, path)
    assert left == pieces[7:]
    assert accuracy.run(left, toy, path) == 0
    assert accuracy.missing(pieces, path) == []
    found = accuracy.stored(path)
    assert len(found) == 20
    assert len(path.read_text("utf-8").splitlines()) == 21  # with the broken one
    assert {each["jobs"] for each in found} == {1}
    compared = table.compared(found)
    assert compared.sets == ("one", "two")
    assert compared.methods == ("negcorr", "ridge")
    assert compared.average_ranks[0] < 2
    assert "negcorr: average rank" in table.as_text(found, compared)


def test_times_of_a_busy_machine_are_measured_again_on_request(tmp_path):
    path = tmp_path / "lines.jsonl"
    pieces = [Piece("one", 0, fold, "ridge") for fold in range(2)]
    accuracy.run(pieces, toy, path, idle=False)
    assert accuracy.missing(pieces, path) == []
    assert accuracy.missing(pieces, path, retime=True) == pieces
    accuracy.run(pieces[:1], toy, path)
    assert accuracy.missing(pieces, path, retime=True) == pieces[1:]
    assert list(table.fit_seconds(accuracy.stored(path), "ridge")["one"]) == [(0, 0)]


def test_a_failure_is_counted_and_not_stored(tmp_path, capsys):
    def source(name):
        if name == "bad":
            raise OSError("no such set")
        return toy(name)

    path = tmp_path / "lines.jsonl"
    pieces = [Piece("bad", 0, 0, "ridge"), Piece("one", 0, 0, "ridge")]
    assert accuracy.run(pieces, source, path) == 1
    assert accuracy.missing(pieces, path) == pieces[:1]
    assert "OSError: no such set" in capsys.readouterr().out


def test_a_piece_of_negcorr_knows_the_best_gap_in_hindsight():
    X, y = toy("two")
    plain = {"basis": "fourier", "basis__n_members": 90}
    found = accuracy.measured(Piece("two", 0, 1, "negcorr"), X, y, parameters=plain)
    error, best = np.array(found["error"]), np.array(found["hindsight_error"])
    assert (best <= error).all()
    assert found["over_constant"] == pytest.approx(error.mean() / np.mean(found["constant_error"]))
    # The same by refits at the gaps that were best.
    folds = accuracy.KFold(accuracy.FOLDS, shuffle=True, random_state=0)
    train, test = list(folds.split(X))[1]
    scaled = (y - y[train].mean(axis=0)) / y[train].std(axis=0)
    model = NCLRegressor(FourierFeatures(90)).fit(X[train], scaled[train])
    moved = model.with_lam(gap=found["hindsight_gap"])
    again = ((scaled[test] - moved.predict(X[test])) ** 2).mean(axis=0) / scaled.var(axis=0)
    np.testing.assert_allclose(again, best, rtol=1e-6)
    written = json.loads(json.dumps(accuracy.rounded(found)))
    assert written["gap"] == pytest.approx(model.gap_)
    assert written["parameters"] == plain


def test_parameters_of_negcorr_reach_the_basis_that_is_searched_for():
    def model(**parameters):
        return accuracy.new_model(Piece("one", 3, 0, "negcorr"), 48, 3, 1, parameters)

    assert repr(model()) == "NCLRegressor(basis=AutoBasis(), random_state=3)"
    found = model(basis__subspace=1, criterion="gcv")
    assert (found.basis.subspace, found.criterion) == (1, "gcv")
    with pytest.raises(ValueError, match="Invalid parameter 'gamma' for estimator TreeFeatures"):
        model(basis="trees", basis__gamma=1.0)


def test_predictions_along_the_path_are_the_same_gap_by_gap():
    X, y = toy("one")
    model = NCLRegressor("fourier").fit(X[:40], y[:40, 0])
    guess, gaps = model.predict(X[40:])[:, None], np.array([1e-3, 0.1, 1.0])
    at_once = list(accuracy.along_path(model, X[40:], guess, gaps))
    one_by_one = list(accuracy.along_path(model, X[40:], guess + 1.0, gaps))  # not what is given
    np.testing.assert_allclose(at_once, one_by_one, rtol=1e-6, atol=1e-9)


def test_errors_are_in_variances_of_the_whole_set():
    X, y = toy("two")
    found = accuracy.measured(Piece("two", 3, 0, "ridge"), X, y)
    train, test = next(iter(accuracy.KFold(5, shuffle=True, random_state=3).split(X)))
    expected = ((y[test] - y[train].mean(axis=0)) ** 2).mean(axis=0) / y.var(axis=0)
    np.testing.assert_allclose(found["constant_error"], expected)
    assert found["error"][0] < 0.1
    assert (found["n"], found["n_train"]) == (60, 48)


def test_a_search_uses_some_rows_and_the_fit_all():
    class Counting(Ridge):
        seen: list[int] = []  # noqa: RUF012

        def fit(self, X, y):
            self.seen.append(len(X))
            return super().fit(X, y)

    X, y = toy("two")
    grid = {"alpha": [1e-2, 1e4]}
    tuned = rivals.Tuned(Counting(), grid, 2, 40, seed=0, in_fit={"alpha": 0.5}).fit(X, y)
    assert Counting.seen == [20] * 4 + [60]
    assert tuned.best_params_ == {"alpha": 0.005}
    assert tuned.model_.alpha == 0.005


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bagged_networks_can_be_fitted_where_a_batch_may_have_no_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(201, 2))  # the last batch has a single row
    model = rivals.networks(201, 2, 1, 0)
    model[-1].set_params(n_estimators=3, estimator__max_iter=20)
    assert np.isfinite(model.fit(X, X[:, 0]).predict(X)).all()


@pytest.mark.parametrize("name", ["kernel ridge", "ridge"])
@pytest.mark.parametrize("source", ["one", "two"])
def test_cheap_rivals_predict_every_output(name, source):
    X, y = toy(source)
    target = y[:, 0] if source == "one" else y
    model = rivals.RIVALS[name](60, 3, y.shape[1], 0).fit(X, target)
    assert model.predict(X).shape == target.shape


def test_many_outputs_are_boosted_with_the_searched_rate_halved():
    tuned = rivals.boosting(100, 3, 16, 0)
    rate = "estimator__learning_rate"
    np.testing.assert_allclose(tuned.in_fit[rate] * np.array(tuned.grid[rate]), [0.03, 0.1])
    assert tuned.model.estimator.max_iter == 2 * tuned.in_search["estimator__max_iter"]
