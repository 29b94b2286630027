"""Features that are chosen by the first chunk, or by a draw, stay for all later rows."""

import numpy as np
import pytest
from models import auto, ncl
from sklearn.base import clone

from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures, KernelFeatures, LinearFeatures, TreeFeatures

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=90)
NEW = np.random.default_rng(1).normal(size=(30, 4))
NOISY = Y + np.random.default_rng(3).normal(size=90)


def in_parts(model, *parts):
    for part in parts:
        model.partial_fit(X[part], Y[part])
    return model


@pytest.fixture(scope="module")
def fitted():
    return auto().fit(X, Y)


class TestInParts:
    def test_the_first_chunk_chooses(self):
        model = auto()
        for start in (0, 45):
            model.partial_fit(X[start : start + 45], Y[start : start + 45])
        first = auto().fit(X[:45], Y[:45])
        assert model.choice_.candidate == first.choice_.candidate
        assert model.choice_.n_rows == 45
        np.testing.assert_array_equal(model.basis_.transform(NEW), first.basis_.transform(NEW))
        assert model.path_.spectrum.weight == 90.0

    def test_all_rows_in_one_chunk_are_a_fit(self, fitted):
        model = auto().partial_fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), fitted.predict(NEW), rtol=1e-6)

    def test_a_first_chunk_that_is_too_little_gives_plain_features(self):
        model = in_parts(auto(), slice(0, 20), slice(20, 90))
        assert model.choice_ is None
        plain = in_parts(NCLRegressor(FourierFeatures(10, 5)), slice(0, 20), slice(20, 90))
        np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))

    def test_rows_are_added_to_a_choice_and_not_to_a_fit(self, fitted):
        more = NEW, np.sin(2.0 * NEW[:, 0])
        model = clone(fitted).partial_fit(X, Y).partial_fit(*more)
        assert model.path_.spectrum.weight == 120.0
        assert model.choice_.candidate == fitted.choice_.candidate
        assert np.abs(model.predict(NEW) - fitted.predict(NEW)).max() > 0.01
        with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as error:
            clone(fitted).fit(X, Y).partial_fit(*more)
        assert "this model has no moments" in str(error.value.__cause__)

    def test_the_ridge_of_the_first_chunk_stays(self):
        parameters = {"bases": "trees", "n_components": 30}
        model = auto(**parameters, alpha="auto").partial_fit(X[:60], NOISY[:60])
        alpha = model.choice_.candidate.alpha
        assert alpha > 0
        model.partial_fit(X[60:], NOISY[60:])
        inputs = model.choice_.candidate.inputs
        same = NCLRegressor(TreeFeatures(10, 30, inputs=inputs), alpha=alpha).draw(X[:60])
        same.partial_fit(X[:60], NOISY[:60]).partial_fit(X[60:], NOISY[60:])
        np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), rtol=1e-9)

    @pytest.mark.parametrize(
        "parameters",
        [{}, {"bases": "fourier"}, {"gamma": 0.3}, {"bases": "fourier", "alpha": "auto"}],
        ids=str,
    )
    def test_a_draw_needs_targets(self, parameters):
        model = auto(**parameters)
        with pytest.raises(
            ValueError, match=r"AutoBasis\(.*is chosen by targets: give draw y as w"
        ):
            model.draw(X)
        assert not hasattr(model, "basis_")

    def test_a_draw_with_targets_chooses(self, fitted):
        model = auto().draw(X, y=Y)
        assert model.choice_.candidate == fitted.choice_.candidate
        one, other = (clone(model).draw(X, y=Y) for _ in range(2))
        both = one.partial_fit(X[:30], Y[:30]).merge(other.partial_fit(X[30:], Y[30:]))
        assert both.choice_.candidate == fitted.choice_.candidate
        np.testing.assert_allclose(both.predict(NEW), fitted.predict(NEW), rtol=1e-6)
        rest = both.subtract(other)
        assert rest.choice_.candidate == fitted.choice_.candidate

    def test_a_draw_needs_no_targets_where_all_is_named(self):
        basis = KernelFeatures(10, 5, gamma=0.3)
        drawn = NCLRegressor(basis).draw(X)
        assert drawn.choice_ is None
        model = in_parts(drawn, slice(0, 30), slice(30, 90))
        whole = NCLRegressor(basis).fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-6)

    @pytest.mark.parametrize("n_rows", [90, 90.0, np.int64(90)])
    def test_a_draw_for_as_many_rows_as_it_is_from_is_the_usual_one(self, n_rows, fitted):
        model = auto().draw(X, y=Y, n_rows=n_rows)
        assert model.basis_.gaps == fitted.basis_.gaps

    def test_a_draw_for_more_rows_has_smaller_gaps(self, fitted):
        model = auto().draw(X, y=Y, n_rows=900)
        assert model.choice_.candidate == fitted.choice_.candidate
        np.testing.assert_allclose(model.basis_.gaps, np.array(fitted.basis_.gaps) / 10, rtol=1e-3)

    @pytest.mark.parametrize(
        "basis",
        [
            FourierFeatures(10, 3, inputs="clip"),
            FourierFeatures(10, 3, relevance=np.array([1.0, 2.0, 0.5, 1.0])),
            LinearFeatures(10, 3),
        ],
        ids=str,
    )
    def test_mapped_columns_that_are_given_can_be_streamed(self, basis):
        model = NCLRegressor(basis).draw(X)
        for start in range(0, 90, 30):
            model.partial_fit(X[start : start + 30], Y[start : start + 30])
        whole = NCLRegressor(basis).fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-6, atol=1e-9)
        assert model.choice_ is None

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("basis__inputs", "rank", "inputs='rank', but the basis was drawn with inputs='clip'"),
            ("basis__gamma", 9.0, "gamma=9.0, but the basis was drawn with gamma='kwok-tsang'"),
            (
                "basis__n_components",
                2,
                "n_components=2, but the basis was drawn with n_components=5",
            ),
            ("basis__relevance", np.ones(4), r"relevance=array.* was drawn with relevance=array"),
            ("basis", "nystroem", r"basis=Nystroem.*basis that was drawn before is a Fourier"),
        ],
        ids=str,
    )
    def test_mapped_columns_cannot_be_changed_after_the_draw(self, name, value, words):
        given = {"inputs": "clip", "relevance": np.array([1.0, 2.0, 0.5, 1.0])}
        model = ncl(10, 5, **given).partial_fit(X, Y).set_params(**{name: value})
        with pytest.raises(ValueError, match=f"(?s){words}"):
            model.partial_fit(X, Y)

    @pytest.mark.parametrize("n_rows", [0, -1.0, "all", np.nan, np.inf, True, [3]], ids=str)
    @pytest.mark.parametrize("basis", ["auto", "fourier"])
    def test_mistakes_in_the_rows_of_a_draw_are_named_with_what_is_allowed(self, n_rows, basis):
        model = NCLRegressor(basis)
        with pytest.raises(ValueError, match=r"n_rows=.* must be a finite number > 0"):
            model.draw(X, y=Y, n_rows=n_rows)
        assert not hasattr(model, "basis_")
