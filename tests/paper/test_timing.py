"""The paper's five folds with refits: its error, and the rows that are timed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_approximation import RBFSampler
from toy_data import toy_setup, toy_study

from negcorr.bases import kwok_tsang_gamma
from negcorr.paper.lam_choice import chosen_lams
from negcorr.paper.protocol import distance_between_columns_gamma, folds_of, task
from negcorr.paper.timing import pieces_of, refitted_error, timing


def literal_error(setup, data, output, lam, gamma):
    """A loop over folds, members and blocks, with a pseudo-inverse."""
    seed = setup.seed_for("features", data.name, data.fold, 3)
    total = 0.0
    for train, test in folds_of(len(data.X), setup, data.name, data.fold, "inner"):
        sampler = RBFSampler(gamma=gamma, n_components=12, random_state=seed)
        phi = sampler.fit(data.X[train]).transform(data.X[train])
        gram = phi.T @ phi / len(train)
        matrix = np.zeros((12, 12))
        for i in range(12):
            for j in range(12):
                same = i // 3 == j // 3
                matrix[i, j] = (lam + 4 * (1 - lam) * same) * gram[i, j]
        beta = np.linalg.pinv(matrix, hermitian=True) @ phi.T @ data.Y[train, output] / len(train)
        for row in test:
            fitted = float((sampler.transform(data.X[row : row + 1]) @ beta)[0])
            total += (fitted - data.Y[row, output]) ** 2
    return total / len(data.X)


@pytest.mark.parametrize("lam", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("protocol", ["paper", "printed"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_error_is_that_of_five_literal_refits(toy_home, lam, protocol, shuffle):
    setup = toy_setup(protocol=protocol, shuffle=shuffle)
    data = task(setup, str(toy_home), "slump", 2)
    bandwidth = distance_between_columns_gamma if protocol == "paper" else kwok_tsang_gamma
    expected = literal_error(setup, data, 1, lam, bandwidth(data.X))
    assert refitted_error(setup, data, 1, lam) == pytest.approx(expected, rel=1e-6)


def test_error_is_that_of_a_pseudo_inverse_where_there_is_no_inverse(toy_home):
    """More features than rows at λ = 1: the matrix of Theorem 4 is singular."""
    setup = toy_setup(n_features=60)
    data = task(setup, str(toy_home), "slump", 0)
    error = refitted_error(setup, data, 0, 1.0)
    seed = setup.seed_for("features", "slump", 0, 3)
    total = 0.0
    for train, test in folds_of(len(data.X), setup, "slump", 0, "inner"):
        sampler = RBFSampler(
            gamma=distance_between_columns_gamma(data.X), n_components=60, random_state=seed
        )
        phi = sampler.fit_transform(data.X[train])
        beta = np.linalg.pinv(phi, rcond=1e-7) @ data.Y[train, 0]
        total += np.sum((sampler.transform(data.X[test]) @ beta - data.Y[test, 0]) ** 2)
    assert np.isfinite(error)
    assert error == pytest.approx(total / len(data.X), rel=1e-3)


@pytest.fixture(scope="module")
def table(toy_home):
    return pd.DataFrame(timing(toy_setup(), str(toy_home), name="slump"))


def test_every_fold_is_timed_but_refits_only_one(table):
    assert list(table) == ["set", "method", "fold", "seconds", "outputs_timed", "lam"]
    counts = {method: sorted(part["fold"]) for method, part in table.groupby("method", sort=False)}
    assert counts == {"sure": [0, 1, 2, 3, 4], "kfold": [0, 1, 2, 3, 4], "refits": [0]}
    assert set(table["set"]) == {"slump"}
    assert (table["seconds"] > 0).all()
    assert table.set_index("method")["outputs_timed"].groupby(level=0).first().to_dict() == {
        "sure": 3,
        "kfold": 3,
        "refits": 1,
    }


def test_refits_choose_a_minimum_of_their_error(table, toy_home):
    data = task(toy_setup(), str(toy_home), "slump", 0)
    lam = table["lam"].dropna().item()
    here = refitted_error(toy_setup(), data, 0, lam)
    for other in (lam - 0.02, lam + 0.02):
        if 0.0 <= other <= 0.99:
            assert here <= refitted_error(toy_setup(), data, 0, other) + 1e-9


def test_refits_are_multiplied_by_the_number_of_outputs(toy_home, monkeypatch):
    """A clock that only refits move."""
    now = [0.0]
    monkeypatch.setattr("negcorr.paper.timing.perf_counter", lambda: now[0])

    def one_second(setup, data, output, lam):
        now[0] += 1.0
        return (lam - 0.5) ** 2

    monkeypatch.setattr("negcorr.paper.timing.refitted_error", one_second)
    rows = timing(toy_setup(), str(toy_home), name="slump")
    assert rows[-1]["method"] == "refits"
    assert rows[-1]["lam"] == pytest.approx(0.5, abs=1e-4)
    assert rows[-1]["seconds"] == 3.0 * now[0]
    assert {row["seconds"] for row in rows[:-1]} == {0.0}


def test_seconds_of_our_own_paths_have_fit_and_choice_in_them(toy_home, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("negcorr.paper.timing.perf_counter", lambda: now[0])

    def slow(path, criterion, largest):
        now[0] += 2.0 if criterion == "sure" else 5.0
        assert largest == 0.99
        return chosen_lams(path, criterion, largest)

    monkeypatch.setattr("negcorr.paper.timing.chosen_lams", slow)
    rows = timing(toy_setup(), str(toy_home), name="slump")
    seconds = {(row["method"], row["fold"]): row["seconds"] for row in rows[:-1]}
    assert {seconds["sure", fold] for fold in range(5)} == {2.0}
    assert {seconds["kfold", fold] for fold in range(5)} == {5.0}


def test_pieces_are_one_for_each_set(toy_home):
    study = toy_study(toy_home)
    pieces = pieces_of(study, ("machine", "slump"))
    assert [dict(piece.choice) for piece in pieces] == [{"name": "machine"}, {"name": "slump"}]
