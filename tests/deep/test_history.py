"""Tables of a training, row by row."""

import numpy as np
import pytest

pytest.importorskip("torch")
pandas = pytest.importorskip("pandas")

from negcorr.deep.fitted import History, LamTable

LAMS = np.array([0.0, 0.5, 1.0])


def table(outputs=2, chosen=1):
    rng = np.random.default_rng(0)
    shape = (len(LAMS), outputs)
    arrays = [rng.normal(size=shape) for _ in range(5)]
    return LamTable(LAMS, *arrays, noise_variance=rng.uniform(size=outputs), chosen=chosen)


def test_history_has_a_row_for_each_lam_and_epoch():
    losses = np.random.default_rng(0).uniform(size=(4, 3))
    history = History(LAMS, losses, np.full(3, 0.01))
    frame = history.to_frame()
    assert frame.columns.tolist() == ["lam", "epoch", "loss"]
    expected = [
        (lam, epoch + 1, losses[epoch, g]) for g, lam in enumerate(LAMS) for epoch in range(4)
    ]
    assert list(frame.itertuples(index=False, name=None)) == expected
    assert history.n_epochs == 4
    assert repr(history) == "History(4 epochs, 3 values of λ)"


def test_history_of_no_epoch_has_no_row():
    frame = History(LAMS, np.empty((0, 3)), np.ones(3)).to_frame()
    assert frame.shape == (0, 3)


@pytest.mark.parametrize("outputs", [1, 2])
def test_table_has_a_row_for_each_lam_and_output(outputs):
    found = table(outputs)
    frame = found.to_frame()
    names = ["train_error", "dof", "dof_std_error", "sure", "gcv"]
    assert frame.columns.tolist() == ["lam", "output", *names, "chosen"]
    expected = [
        (lam, p, *(getattr(found, name)[g, p] for name in names), g == 1)
        for g, lam in enumerate(LAMS)
        for p in range(outputs)
    ]
    assert list(frame.itertuples(index=False, name=None)) == expected
    assert frame["chosen"].dtype == bool


def test_repr_of_a_table_says_what_was_chosen():
    assert repr(table(chosen=1)) == "LamTable(3 values, lam=0.5 chosen)"
