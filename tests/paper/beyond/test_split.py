"""Splits of the same features against the regressor, the ridge against scikit-learn's."""

import itertools

import numpy as np
import pandas as pd
import pytest
from models import ncl
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from toy_data import toy_setup, toy_study

from negcorr.bases import FourierFeatures
from negcorr.paper.beyond import split
from negcorr.paper.protocol import distance_between_columns_gamma, folds_of, task

SETUP = toy_setup(n_features=20, max_rows=60)


@pytest.fixture(scope="module")
def rows(toy_home):
    return split.split(SETUP, str(toy_home), "machine", 1)


@pytest.fixture(scope="module")
def data(toy_home):
    return task(SETUP, str(toy_home), "machine", 1)


def one(rows, method, members):
    (row,) = [r for r in rows if (r["method"], r["members"]) == (method, members)]
    return row


def inner_folds(data):
    return folds_of(len(data.X), SETUP, data.name, data.fold, "inner")


def features_of(data):
    seed = SETUP.seed_for("features", data.name, data.fold, "split")
    gamma = distance_between_columns_gamma(data.X)
    basis = FourierFeatures(1, 20, gamma=gamma, random_state=seed, inputs="none").fit(data.X)
    return basis.transform(data.X), basis.transform(data.X_test)


# ---------------------------------------------------------------------------------------
# Fits
# ---------------------------------------------------------------------------------------


def test_splits_divide_the_features():
    assert split.splits_of(1000) == (2, 5, 10, 25, 100, 1000)
    assert split.splits_of(200) == (2, 5, 10, 25, 100, 200)
    assert split.splits_of(12) == (2, 12)
    assert split.splits_of(10) == (2, 5, 10)


def test_a_seed_draws_the_same_features_however_they_are_shared_out():
    X = np.random.default_rng(0).normal(size=(9, 3))
    drawn = [
        FourierFeatures(m, 20 // m, gamma=0.3, random_state=5, inputs="none").fit(X).transform(X)
        for m in (1, 2, 5, 20)
    ]
    for features in drawn[1:]:
        assert_array_equal(features, drawn[0])


@pytest.mark.parametrize("members", [2, 5, 10, 20])
def test_every_split_is_the_regressor_tuned_by_kfold(rows, data, members):
    model = ncl(
        n_members=members,
        n_components=20 // members,
        gamma=distance_between_columns_gamma(data.X),
        inputs="none",
        fit_intercept=False,
        criterion="kfold",
        cv=inner_folds(data),
        solver="qr",
        random_state=SETUP.seed_for("features", "machine", 1, "split"),
    ).fit(data.X, data.Y[:, 0])
    row = one(rows, "ncl", members)
    error = np.mean((model.predict(data.X_test) - data.Y_test[:, 0]) ** 2)
    assert row["chosen"] == model.gap_
    assert row["dof"] == pytest.approx(model.dof_)
    assert row["cv_error"] == pytest.approx(model.path_.kfold(gap=model.gap_))
    assert row["test_error"] == pytest.approx(error, rel=1e-8)


def test_the_ridge_is_that_of_scikit_learn_at_the_penalty_the_folds_like_best(rows, data):
    features, features_test = features_of(data)
    y, row = data.Y[:, 0], one(rows, "ridge", 1)

    def fitted(train, alpha):
        model = Ridge(alpha=len(train) * alpha, fit_intercept=False, solver="svd")
        return model.fit(features[train], y[train])

    def cv_error(alpha):
        squares = [
            np.sum((fitted(train, alpha).predict(features[test]) - y[test]) ** 2)
            for train, test in inner_folds(data)
        ]
        return sum(squares) / len(y)

    alphas = split.ALPHAS * np.linalg.norm(features, 2) ** 2 / len(y)
    chosen = int(np.abs(np.log(alphas / row["chosen"])).argmin())
    assert row["chosen"] == pytest.approx(alphas[chosen], rel=1e-9)
    # Coarse steps over the whole path, fine ones near the choice.
    others = {*range(0, len(alphas), 16), *range(chosen - 5, chosen + 6)}
    others &= set(range(len(alphas)))
    assert row["cv_error"] == pytest.approx(min(cv_error(alphas[k]) for k in others), rel=1e-7)
    model = fitted(np.arange(len(y)), row["chosen"])
    error = np.mean((model.predict(features_test) - data.Y_test[:, 0]) ** 2)
    assert row["test_error"] == pytest.approx(error, rel=1e-7)
    hat = features @ np.linalg.solve(
        features.T @ features + len(y) * row["chosen"] * np.eye(20), features.T
    )
    assert row["dof"] == pytest.approx(np.trace(hat), rel=1e-6)


def test_one_feature_for_each_member_is_a_ridge_on_scaled_features(rows, data):
    features, features_test = features_of(data)
    row = one(rows, "ncl", 20)
    lam = 1.0 - row["chosen"]
    scale = np.sqrt(np.mean(features**2, axis=0))
    alpha = len(features) * 20 * row["chosen"] / lam
    ridge = Ridge(alpha=alpha, fit_intercept=False, solver="svd").fit(features / scale, data.Y)
    fitted = ridge.predict(features_test / scale).reshape(-1, 1) / lam
    assert row["test_error"] == pytest.approx(np.mean((fitted - data.Y_test) ** 2), rel=1e-7)


def test_every_output_has_its_own_choice(toy_home):
    rows = split.split(SETUP, str(toy_home), "slump", 0)
    assert {row["output"] for row in rows} == {0, 1, 2}
    for method in ("ncl", "ridge"):
        chosen = [
            [row["chosen"] for row in rows if (row["output"], row["method"]) == (output, method)]
            for output in range(3)
        ]
        assert chosen[0] != chosen[1] or chosen[0] != chosen[2]


def test_a_run_has_every_set_fold_and_method_and_is_repeatable(toy_home):
    tables = [
        split.run(toy_study(toy_home, sets=("machine", "wisconsin"), n_features=10))
        for _ in range(2)
    ]
    pd.testing.assert_frame_equal(*tables)
    found = tables[0].groupby(["set", "fold"])["members"].apply(tuple)
    assert len(found) == 10
    assert set(found) == {(1, 2, 5, 10)}
    assert (tables[0]["members"] * tables[0]["width"] == 10).all()
    split.plot(tables[0]).draw_without_rendering()
    assert len(split.claims(tables[0])) == 2


# ---------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------


def constructed(ratio, cv=lambda name, m, fold: m, n_train=150, sets=("machine", "housing")):
    """Q = 1000; the ridge has errors that differ from fold to fold."""
    result = []
    for name, fold in itertools.product(sets, range(5)):
        ridge = 0.1 + 0.05 * fold
        common = {"set": name, "fold": fold, "output": 0, "n_train": n_train, "chosen": 1.0}
        common |= {"dof": 10.0}
        result.append(
            {**common, "method": "ridge", "members": 1, "width": 1000, "test_error": ridge}
        )
        for m in split.splits_of(1000):
            error = ridge * ratio(name, m, fold)
            row = {"method": "ncl", "members": m, "width": 1000 // m, "test_error": error}
            result.append({**common, **row, "cv_error": cv(name, m, fold)})
    return pd.DataFrame(result)


def holds(table):
    return [claim.holds for claim in split.claims(table)]


def peaked(name, m, fold):
    """Worst where members have 200 features, as good as the ridge where they are small."""
    return {2: 3.0, 5: 50.0, 10: 2.0}.get(m, 1.0 + 0.01 * (fold - 2))


def by_size(name, m, fold):
    return -m


def test_claims_hold_where_they_should():
    table = constructed(peaked, cv=by_size)
    assert holds(table) == [True, True, True]
    against, small, peak = (claim.evidence for claim in split.claims(table))
    assert "lower on 2 of 2 sets and 4 of 10 folds" in against
    assert "1.000 times it, of all splits up to 50 times" in small
    assert "Machine H = 200, n = 150" in peak


def test_m_is_chosen_by_the_inner_folds_and_not_by_the_test_error():
    # The inner folds like M = 5, whose test error is 50 times the ridge's.
    table = constructed(peaked, cv=lambda name, m, fold: abs(m - 5))
    assert holds(table) == [False, True, True]
    assert "ratio of errors 50.000" in split.claims(table)[0].evidence


def test_claims_fail_where_small_members_are_worse():
    table = constructed(
        lambda name, m, fold: 1.2 if (name, m) == ("housing", 100) else peaked(name, m, fold),
        cv=by_size,
    )
    assert holds(table) == [True, False, True]


def test_claims_fail_where_the_peak_is_elsewhere():
    table = constructed(peaked, cv=by_size, n_train=480)
    assert holds(table) == [True, True, False]


def test_nothing_is_said_of_a_peak_where_rows_outnumber_features():
    assert holds(constructed(peaked, cv=by_size, n_train=1001)) == [True, True]


def test_errors_of_folds_that_share_rows_are_counted_and_not_tested():
    claims = split.claims(constructed(lambda name, m, fold: 1.0))
    assert claims[0].holds
    assert claims[0].evidence == (
        "ratio of errors 1.000 (geometric mean of sets), lower on 0 of 2 sets and 0 of 10 folds; "
        "Housing 1.00, Machine 1.00"
    )
    for claim in claims:
        assert "p = " not in claim.evidence
        assert "Wilcoxon" not in str(claim)


@pytest.mark.parametrize(("ratio", "holds"), [(0.92, True), (1.09, True), (0.9, False), (1.11, 0)])
def test_the_ensemble_must_agree_with_the_ridge_within_a_tenth_either_way(ratio, holds):
    claim = split.claims(constructed(lambda name, m, fold: ratio))[0]
    assert claim.holds is bool(holds)


def test_verdicts_are_findings_and_plain_booleans():
    for table in (constructed(peaked, cv=by_size), constructed(peaked, cv=by_size, n_train=480)):
        for claim in split.claims(table):
            assert type(claim.holds) is bool
            assert (claim.nature, claim.about_paper) == ("finding", False)


def test_the_figure_shows_geometric_means_and_what_lies_beyond():
    table = constructed(lambda name, m, fold: {2: 2e5, 5: 50.0}.get(m, 4.0 ** (fold - 2)))
    figure = split.plot(table)
    figure.draw_without_rendering()
    for axes in figure.axes:
        line = next(line for line in axes.get_lines() if line.get_label() == "NCL")
        assert_allclose(line.get_ydata(), [2e5, 50, 1, 1, 1, 1])
        assert [text.get_text() for text in axes.texts] == ["10$^{5}$", "50"]
        assert axes.get_ylim() == (split.BOTTOM, split.TOP)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "NCL",
        "ridge on the same features",
        "as many features in a member as rows",
    ]


def test_the_line_where_members_are_as_wide_as_rows_stands_at_q_over_n():
    figure = split.plot(constructed(peaked, n_train=250, sets=("machine",)))
    (line,) = [
        line for line in figure.axes[0].get_lines() if str(line.get_label()).startswith("as many")
    ]
    assert_allclose(line.get_xdata(), 4.0)
