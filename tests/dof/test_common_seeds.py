"""Common random numbers: every unset seed set, at any depth, and nothing else touched."""

import numpy as np
import pytest
from models import ncl
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from negcorr import ContentKFold, NCLRegressor
from negcorr.bases import ClonedFeatures, FourierFeatures, NystroemFeatures
from negcorr.dof.common_seeds import free_seeds, seeded

GRID = {"max_depth": [1, 3]}


def tree(**settings):
    return DecisionTreeRegressor(max_depth=3, max_features=1, **settings)


def search(cv, **settings):
    return GridSearchCV(tree(**settings), GRID, cv=cv)


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (LinearRegression(), []),
        (tree(), ["random_state"]),
        (tree(random_state=0), []),
        (tree(random_state=np.random.RandomState(0)), []),
        (BaggingRegressor(tree()), ["estimator__random_state", "random_state"]),
        (BaggingRegressor(tree(), random_state=0), ["estimator__random_state"]),
        (
            make_pipeline(RBFSampler(), BaggingRegressor(ExtraTreesRegressor(random_state=1))),
            ["baggingregressor__random_state", "rbfsampler__random_state"],
        ),
        (
            VotingRegressor([("a", tree()), ("b", Ridge(random_state=0)), ("c", tree())]),
            ["a__random_state", "c__random_state"],
        ),
        (TransformedTargetRegressor(tree(random_state=0)), []),
        (search(KFold(3, shuffle=True)), ["cv", "estimator__random_state"]),
        (search(KFold(3, shuffle=True, random_state=0), random_state=0), []),
        (search(ShuffleSplit(3), random_state=0), ["cv"]),
        (search(RepeatedKFold(), random_state=0), ["cv"]),
        (search(3, random_state=0), []),
    ],
    ids=lambda v: repr(v)[:40] if not isinstance(v, list) else "",
)
def test_unset_seeds_are_found_at_any_depth(estimator, names):
    assert free_seeds(estimator) == names


@pytest.mark.parametrize(
    ("basis", "inside"),
    [
        (FourierFeatures(n_members=3), ["basis__random_state"]),
        (NystroemFeatures(3, 2), ["basis__random_state"]),
        (
            ClonedFeatures(RBFSampler(n_components=2), n_members=3),
            ["basis__random_state", "basis__transformer__random_state"],
        ),
        ("fourier", []),
    ],
    ids=lambda v: repr(v)[:20],
)
@pytest.mark.parametrize("seed", [0, None])
def test_a_basis_without_a_seed_gets_that_of_its_ensemble(basis, inside, seed):
    model = NCLRegressor(basis, lam=0.5, random_state=seed)
    names = [*inside, "random_state"] if seed is None else []
    assert free_seeds(model) == names
    in_pipeline = [f"nclregressor__{name}" for name in names]
    assert free_seeds(make_pipeline(model)) == in_pipeline
    X, y = data()
    same = np.ptp([seeded(model, s).fit(X, y).predict(X)[0] for s in (1, 2)]) == 0.0
    assert same == (seed == 0)


STOCHASTIC = {
    "tree": tree(),
    "bagging": BaggingRegressor(tree(), n_estimators=3),
    "features, then bagged trees": make_pipeline(
        RBFSampler(n_components=5), BaggingRegressor(tree(), n_estimators=3)
    ),
    "search over shuffled folds": search(KFold(3, shuffle=True)),
    "search over random splits": search(ShuffleSplit(2)),
    "vote": VotingRegressor([("a", tree()), ("b", ExtraTreesRegressor(2, max_depth=2))]),
    "target transformed": TransformedTargetRegressor(tree()),
    "ncl": ncl(n_members=3, n_components=2, random_state=None),
}


@pytest.mark.parametrize("name", STOCHASTIC)
def test_one_seed_gives_one_fit_and_another_seed_another(name):
    X, y = data()
    fits = [seeded(STOCHASTIC[name], s).fit(X, y).predict(X) for s in (7, 7, 8)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 1e-3


@pytest.mark.parametrize("name", STOCHASTIC)
def test_no_seed_is_left_unset_and_no_two_are_equal(name):
    free = free_seeds(STOCHASTIC[name])
    copied = seeded(STOCHASTIC[name], 3)
    assert free_seeds(copied) == []
    params = copied.get_params()
    values = [params[k] if k.endswith("random_state") else params[k].random_state for k in free]
    assert all(type(value) is int for value in values)
    assert len(set(values)) == len(free) > 0


@pytest.mark.parametrize("name", STOCHASTIC)
def test_estimator_is_left_as_it_was(name):
    estimator = clone(STOCHASTIC[name])
    before = {k: (id(v), repr(v)) for k, v in estimator.get_params().items()}
    free = free_seeds(estimator)
    seeded(estimator, 0).fit(*data())
    assert {k: (id(v), repr(v)) for k, v in estimator.get_params().items()} == before
    assert free_seeds(estimator) == free


def test_splitters_deal_the_same_rows_in_every_fit():
    X, y = data()
    model = seeded(search(KFold(3, shuffle=True), random_state=0), 5)
    first, again = ([test.tolist() for _, test in model.cv.split(X, y)] for _ in range(2))
    other = [test.tolist() for _, test in seeded(model, 6).cv.split(X, y)]
    assert first == again == other
    assert first != [test.tolist() for _, test in KFold(3).split(X)]
    assert (model.cv.n_splits, model.cv.shuffle) == (3, True)


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1])
def test_integer_seeds_are_untouched(seed):
    forest = RandomForestRegressor(2, random_state=11)
    model = make_pipeline(RBFSampler(random_state=12), BaggingRegressor(forest))
    params = seeded(model, seed).get_params()
    assert params["rbfsampler__random_state"] == 12
    assert params["baggingregressor__estimator__random_state"] == 11
    assert isinstance(params["baggingregressor__random_state"], int)


def test_every_fit_starts_from_a_copy_of_a_random_state():
    X, y = data()
    state = np.random.RandomState(4)
    estimator = tree(random_state=state)
    fits = [seeded(estimator, s).fit(X, y).predict(X) for s in (0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert estimator.random_state is state
    assert state.randint(1000) == np.random.RandomState(4).randint(1000)


@pytest.mark.parametrize("cv", [4, np.int64(4), ContentKFold(4), ContentKFold(4, seed=9)])
def test_ncl_deals_its_folds_by_inputs_alone(cv):
    for model, name in (
        (NCLRegressor(cv=cv), "cv"),
        (make_pipeline(RBFSampler(), NCLRegressor(cv=cv)), "nclregressor__cv"),
        (TransformedTargetRegressor(NCLRegressor(cv=cv)), "regressor__cv"),
    ):
        dealt = seeded(model, 0).get_params()[name]
        assert isinstance(dealt, ContentKFold)
        assert (dealt.n_splits, dealt.inputs_only) == (4, True)
        assert dealt.seed == getattr(cv, "seed", 0)
        assert model.get_params()[name] is cv


def test_ncl_without_cv_deals_five_folds_by_inputs_alone():
    dealt = seeded(NCLRegressor(cv=None), 0).cv
    assert repr(dealt) == "ContentKFold(n_splits=5, seed=0, inputs_only=True)"


def test_folds_by_content_of_a_search_are_dealt_by_inputs_alone():
    dealt = seeded(search(ContentKFold(3, seed=2)), 0).cv
    assert repr(dealt) == "ContentKFold(n_splits=3, seed=2, inputs_only=True)"


def test_other_folds_stay():
    splitter = KFold(3)
    splitter.random_state = 0
    assert seeded(search(5), 0).cv == 5
    kept = seeded(NCLRegressor(cv=splitter), 0).cv
    assert (type(kept), kept.n_splits) == (KFold, 3)
    assert seeded(NCLRegressor(cv=[([0, 1], [2])]), 0).cv == [([0, 1], [2])]


@pytest.mark.parametrize("cv", [5, ContentKFold(5)])
def test_choice_of_lam_follows_small_changes_of_y(cv):
    X, y = data(60)
    model = ncl(n_members=5, n_components=4, cv=cv)
    moved = y + 1e-7 * np.random.default_rng(1).normal(size=60)
    apart = [seeded(model, 0).fit(X, t).predict(X) for t in (y, moved)]
    assert np.abs(apart[0] - apart[1]).max() < 1e-4
    redealt = [clone(model).fit(X, t).predict(X) for t in (y, moved)]
    assert np.abs(redealt[0] - redealt[1]).max() > 1e-3


class Draws(RegressorMixin, BaseEstimator):
    """A regressor with numbers of its own, for grids."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.value_ = np.random.RandomState(self.random_state).standard_normal()
        return self

    def predict(self, X):
        return np.full(len(X), self.value_)


@pytest.mark.parametrize(
    "grid",
    [
        {"regressor": [Draws(), Draws()]},
        [{"regressor": [Draws()]}, {"regressor": (Draws(), Draws())}],
        {"regressor": [BaggingRegressor(Draws(), n_estimators=2)]},
    ],
    ids=["dict", "list of dicts", "nested"],
)
def test_estimators_in_a_grid_are_seeded(grid):
    X, y = data()
    model = GridSearchCV(TransformedTargetRegressor(LinearRegression()), grid, cv=2)
    assert free_seeds(model)
    fits = [seeded(model, s).fit(X, y).predict(X) for s in (7, 7, 8)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 1e-9
    assert free_seeds(seeded(model, 0)) == []
    assert model.param_grid is grid
    assert free_seeds(model)
