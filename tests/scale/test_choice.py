"""Features that are chosen by chunks of rows, or by a sample of them."""

from copy import deepcopy

import numpy as np
import pytest
from models import auto

from negcorr import scale
from negcorr.bases import kernel_features
from negcorr.rows import sample as sampling
from negcorr.rows.keys import content_hash
from negcorr.selection import choose

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=90)
NEW = np.random.default_rng(1).normal(size=(30, 4))


def in_parts(model, *parts):
    for part in parts:
        model.partial_fit(X[part], Y[part])
    return model


@pytest.fixture(scope="module")
def fitted():
    return auto().fit(X, Y)


class TestFromChunks:
    CHUNKS = ((X[:40], Y[:40]), (X[40:], Y[40:]))

    def drawn(self, X, y, **parameters):
        model = auto().draw(X, y=y, **parameters)
        return in_parts(model, slice(0, 40), slice(40, 90))

    def test_all_rows_choose(self, fitted):
        model = scale.fit(auto(), list(self.CHUNKS))
        assert model.choice_.n_rows == 90
        assert model.choice_.candidate == fitted.choice_.candidate
        drawn = self.drawn(X, Y)
        np.testing.assert_allclose(model.predict(NEW), drawn.predict(NEW), rtol=1e-9)
        np.testing.assert_allclose(model.predict(NEW), fitted.predict(NEW), rtol=1e-6)

    def test_their_order_does_not_matter(self):
        one, other = (scale.fit(auto(), list(self.CHUNKS)[::step]) for step in (1, -1))
        assert str(one.choice_) == str(other.choice_)
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-9)

    def test_a_sample_chooses_where_there_are_many(self, monkeypatch):
        monkeypatch.setattr(sampling, "SAMPLE_ROWS", 60)
        model = scale.fit(auto(), list(self.CHUNKS))
        assert model.choice_.n_rows == 60
        assert model.path_.spectrum.weight == 90.0
        chosen = np.argsort(content_hash(X))[:60]
        drawn = self.drawn(X[chosen], Y[chosen], n_rows=90)
        np.testing.assert_allclose(model.predict(NEW), drawn.predict(NEW), rtol=1e-9)
        fitted = auto().fit(X, Y)
        assert str(model.choice_) == str(fitted.choice_)
        np.testing.assert_allclose(model.predict(NEW), fitted.predict(NEW), rtol=1e-6)

    def test_features_grow_as_in_memory(self, monkeypatch):
        monkeypatch.setattr(choose, "ROWS_TO_GROW", 100)
        for room in (choose, kernel_features):
            monkeypatch.setattr(room, "STAGE", 20)
        rng = np.random.default_rng(2)
        rows = rng.normal(size=(400, 2))
        waves = np.sin(4.0 * rows).sum(axis=1) + 0.05 * rng.normal(size=400)
        open_size = {"n_members": "auto", "n_components": 5, "bases": "kernel", "max_members": 1}
        fitted = auto(**open_size).fit(rows, waves)
        parts = list(zip(np.split(rows, 4), np.split(waves, 4), strict=True))
        model = scale.fit(auto(**open_size), parts)
        sizes = [int(basis.block_starts_[-1]) for basis in model._state.drawn.bases]
        assert sizes == [40, 80, 160]
        grown = [each.basis_.block_starts_[-1] for each in (model, fitted)]
        assert grown[0] == grown[1] > 40
        np.testing.assert_allclose(model.predict(rows), fitted.predict(rows), atol=1e-6)

    def test_several_outputs_are_kept(self):
        both = np.column_stack([Y, X[:, 1]])
        model = scale.fit(auto(), [(X[:40], both[:40]), (X[40:], both[40:])])
        whole = auto().fit(X, both)
        assert model.choice_.candidate == whole.choice_.candidate
        np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-6, atol=1e-8)

    def test_that_can_be_read_once_the_first_chooses(self):
        model = scale.fit(auto(), iter(self.CHUNKS))
        assert model.choice_.n_rows == 40
        first = auto().fit(*self.CHUNKS[0])
        np.testing.assert_array_equal(model.basis_.transform(NEW), first.basis_.transform(NEW))

    def test_a_basis_that_was_drawn_stays(self):
        drawn = auto().draw(X[:60], y=Y[:60])
        model = scale.fit(deepcopy(drawn), list(self.CHUNKS))
        assert model.choice_.n_rows == 60
        np.testing.assert_array_equal(model.basis_.transform(NEW), drawn.basis_.transform(NEW))

    def test_equal_rows_of_several_targets_choose_in_any_order(self):
        parts = [(X, Y), (X, Y + np.random.default_rng(9).normal(size=90))]
        one, other = (scale.fit(auto(), parts[::step]) for step in (1, -1))
        assert str(one.choice_) == str(other.choice_)
