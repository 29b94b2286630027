"""What an ensemble leaves to the data is chosen by its rows, and can be overruled."""

import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from models import auto, ncl
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler

import negcorr
from negcorr import NCLRegressor, load, save
from negcorr.bases import (
    AutoBasis,
    FourierFeatures,
    KernelFeatures,
    NestedFeatures,
    NystroemFeatures,
    TreeFeatures,
)
from negcorr.bases import kernel_features as kernel
from negcorr.bases.input_maps import fit_input_map
from negcorr.bases.kernel_features import STAGE, ridge_gap
from negcorr.exceptions import IdenticalMembersWarning, NotLinearError, SearchBoundaryWarning
from negcorr.rows.keys import row_keys
from negcorr.rows.rows import Rows
from negcorr.selection import choose as choosing
from negcorr.selection.choose import FEWEST_ROWS, ROWS_TO_GROW, USUAL_FEATURES, feature_counts
from negcorr.selection.space import ALPHAS, Candidate, search_space

#: Of kernels' own functions, where none is given.
RIDGE = KernelFeatures.usual_ridge

RNG = np.random.default_rng(4)
X = RNG.normal(size=(90, 4))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=90)
NOISY = Y + np.random.default_rng(3).normal(size=90)
NEW = np.random.default_rng(1).normal(size=(30, 4))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))


def candidates(model):
    return [trial.candidate for trial in model.choice_.trials]


def members(model):
    """The bases of members that are ensembles themselves, or the one that there is."""
    return getattr(model.basis_, "bases_", [model.basis_])


@pytest.fixture(scope="module")
def fitted():
    return auto().fit(X, Y)


class TestDefaults:
    def test_leave_basis_bandwidth_and_size_to_the_data(self):
        given = NCLRegressor().get_params()
        assert given["basis"] == given["lam"] == "auto"
        assert given["alpha"] is None
        searched = AutoBasis().get_params()
        names = ("n_members", "gamma", "relevance", "subspace")
        assert {searched[name] for name in names} == {"auto"}
        assert searched["budget"] == 2000
        assert searched["n_components"] == 10

    def test_are_those_of_an_auto_basis(self):
        one, other = (NCLRegressor(basis).fit(X, Y) for basis in ("auto", AutoBasis()))
        np.testing.assert_array_equal(one.predict(NEW), other.predict(NEW))

    def test_take_every_row_for_a_landmark_where_there_are_few(self):
        model = NCLRegressor().fit(X, Y)
        assert isinstance(model.basis_, NestedFeatures)
        for basis in members(model):
            assert type(basis) is KernelFeatures
            assert len(basis.landmarks_) == 90
        assert model.basis_.nesting_.counts(model.basis_.block_starts_) == [9] * len(members(model))
        assert model.score(X, Y) > 0.9

    @pytest.mark.parametrize(
        "basis",
        [
            "fourier",
            "trees",
            NystroemFeatures(gamma=0.2),
            KernelFeatures(gamma=0.2, n_components=1),
            RBFSampler(n_components=2, gamma=0.2),
            AutoBasis("fourier", gamma=0.2, kernels="rbf", inputs="clip", relevance=False),
        ],
        ids=str,
    )
    def test_are_a_hundred_members_where_kernels_are_not_searched_for(self, basis):
        rows = np.random.default_rng(2).normal(size=(120, 4))
        model = NCLRegressor(basis, lam=0.5).fit(rows, rows[:, 0])
        assert model.basis_.n_members_ == 100

    @pytest.mark.parametrize(
        ("basis", "ridge"),
        [
            ("auto", RIDGE),
            (AutoBasis(gamma=0.3), RIDGE),
            (AutoBasis("kernel"), RIDGE),
            (KernelFeatures(10, 5, gamma=0.3), RIDGE),
            (KernelFeatures(10, 5, inputs="none"), RIDGE),
            (AutoBasis("fourier"), 0.0),
            (FourierFeatures(10, 5), 0.0),
            (AutoBasis("trees"), 0.0),
            (TreeFeatures(10, 5), 0.0),
            (NystroemFeatures(10, 5, inputs="none"), 0.0),
        ],
        ids=str,
    )
    def test_have_a_ridge_that_suits_the_basis(self, basis, ridge):
        model = NCLRegressor(basis, lam=0.5).fit(X, Y)
        same, other = (
            NCLRegressor(basis, lam=0.5, alpha=alpha).fit(X, Y) for alpha in (ridge, RIDGE - ridge)
        )
        np.testing.assert_array_equal(model.predict(NEW), same.predict(NEW))
        assert not np.allclose(model.predict(NEW), other.predict(NEW), rtol=1e-3)
        assert RIDGE == 10.0


class TestChoice:
    def test_is_none_where_nothing_is_open(self):
        model = NCLRegressor("fourier").fit(X, Y)
        assert model.choice_ is None
        assert type(model.basis_) is FourierFeatures
        by_hand = NCLRegressor(FourierFeatures(random_state=0)).fit(X, Y)
        np.testing.assert_array_equal(model.predict(NEW), by_hand.predict(NEW))
        assert model.lam_ == by_hand.lam_

    def test_has_all_candidates_and_the_model_is_that_of_the_best(self, fitted):
        choice = fitted.choice_
        assert choice.n_rows == 90
        assert {c.basis for c in candidates(fitted)} == {"kernel", "fourier", "trees"}
        assert {c.kernel for c in candidates(fitted)} == {"laplacian", "rbf", "linear", None}
        assert {c.inputs for c in candidates(fitted)} == {"clip", "standard", "rank"}
        errors = [trial.error for trial in choice.trials]
        assert errors == sorted(errors)
        assert choice.candidate.relevant
        assert isinstance(fitted.basis_, NestedFeatures)
        assert len(members(fitted)) == len(choice.members) == 2
        assert choice.members[0].candidate == choice.candidate
        assert len({replace(chosen.candidate, multiple=1.0) for chosen in choice.members}) == 2
        for basis, chosen in zip(members(fitted), choice.members, strict=True):
            assert chosen.candidate in candidates(fitted)
            assert chosen.candidate.relevant
            assert type(basis) is KernelFeatures
            assert basis.gamma_ == chosen.gamma
            assert basis.kernel == chosen.candidate.kernel
            assert basis.n_members_ == 10 // 2
            assert basis.inputs == chosen.candidate.inputs
            np.testing.assert_array_equal(basis.relevance, chosen.relevance)

    def test_is_made_by_hand_in_the_same_way(self, fitted):
        drawn = np.random.RandomState(fitted.choice_.seed).randint(np.iinfo(np.int32).max, size=6)
        seeds = [0, drawn[1]]
        bases, gaps = [], []
        for chosen, seed in zip(fitted.choice_.members, seeds, strict=True):
            given = {"kernel": chosen.candidate.kernel, "gamma": chosen.gamma}
            given |= {"inputs": chosen.candidate.inputs, "relevance": chosen.relevance}
            bases.append(KernelFeatures(5, 5, **given, random_state=seed))
            gaps.append(ridge_gap(chosen.strength, 90, 25, 5, 10.0))
        assert fitted.basis_.gaps == pytest.approx(gaps)
        by_hand = NCLRegressor(basis=NestedFeatures(bases, gaps), alpha=10.0).fit(X, Y)
        np.testing.assert_allclose(fitted.predict(NEW), by_hand.predict(NEW), rtol=1e-9)
        assert fitted.lam_ == pytest.approx(by_hand.lam_)

    def test_of_one_basis_is_made_by_hand_in_the_same_way(self):
        model = auto(bases="nystroem", relevance=True).fit(X, Y)
        candidate, choice = model.choice_.candidate, model.choice_
        given = {"kernel": candidate.kernel, "gamma": choice.gamma}
        given |= {"inputs": candidate.inputs, "relevance": choice.relevance}
        basis = NystroemFeatures(10, 5, **given)
        by_hand = NCLRegressor(basis=basis).fit(X, Y)
        np.testing.assert_array_equal(model.predict(NEW), by_hand.predict(NEW))

    def test_takes_together_what_the_rows_cannot_distinguish(self, monkeypatch):
        assert len(auto().fit(X, NOISY).choice_.members) == AutoBasis().max_members == 6
        assert len(auto(max_members=3).fit(X, NOISY).choice_.members) == 3
        three = auto(n_members=3).fit(X, NOISY)
        assert [basis.n_members_ for basis in members(three)] == [1, 1, 1]
        monkeypatch.setattr(choosing, "ROWS_TO_GROW", 90)
        assert len(auto().fit(X, NOISY).choice_.members) == choosing.MOST_OF_MANY_ROWS == 4

    @pytest.mark.parametrize(
        "closed",
        [
            {"criterion": "loo"},
            {"criterion": "loo", "lam": 0.5},
            {"n_members": 1},
            {"max_members": 1},
        ],
        ids=str,
    )
    def test_is_one_ensemble_of_plain_members_where_several_make_no_sense(self, closed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SearchBoundaryWarning)
            model = auto(**closed).fit(X, Y)
        assert len(model.choice_.members) == 1
        assert model.choice_.members[0].candidate == model.choice_.candidate
        assert type(model.basis_) is KernelFeatures
        assert model.basis_.n_members_ == closed.get("n_members", 10)

    def test_is_better_than_what_is_plain(self, fitted):
        truth = np.sin(2.0 * NEW[:, 0]) + 0.3 * NEW[:, 1]
        plain = ncl(10, 5).fit(X, Y)
        errors = [np.mean((model.predict(NEW) - truth) ** 2) for model in (fitted, plain)]
        assert errors[0] < 0.5 * errors[1]

    @pytest.mark.parametrize("name", ["bases", "gamma"])
    def test_is_made_where_one_thing_is_open(self, name):
        given = {"bases": "fourier", "gamma": "kwok-tsang"}
        given |= {"kernels": "rbf", "inputs": "standard", "relevance": False, "subspace": 1.0}
        del given[name]
        model = auto(**given).fit(X, Y)
        bases = {c.basis for c in candidates(model)}
        multiples = {c.multiple for c in candidates(model)}
        assert (bases == {"fourier"}) == (name == "gamma")
        assert (multiples == {1.0}) == (name == "bases")

    def test_of_a_ridge_is_what_the_path_is_made_with(self):
        model = auto(bases="trees", n_components=30, alpha="auto").fit(X, NOISY)
        assert {c.alpha for c in candidates(model)} == set(ALPHAS)
        alpha = model.choice_.candidate.alpha
        assert alpha > 0
        same = auto(bases="trees", n_components=30, alpha=alpha).fit(X, NOISY)
        np.testing.assert_array_equal(model.predict(NEW), same.predict(NEW))

    def test_of_another_fit_does_not_linger(self):
        model = auto(bases="trees", n_components=30, alpha="auto").fit(X, NOISY)
        assert model.choice_.candidate.alpha > 0
        few = model.set_params(basis__n_components=3, lam=0.0).fit(X[:20], Y[:20])
        assert few.choice_ is None
        plain = NCLRegressor(TreeFeatures(10, 3), lam=0.0).fit(X[:20], Y[:20])
        np.testing.assert_array_equal(few.predict(NEW), plain.predict(NEW))


class TestOverruled:
    @pytest.mark.parametrize(
        ("basis", "kind"),
        [
            ("fourier", FourierFeatures),
            ("orthogonal", FourierFeatures),
            ("nystroem", NystroemFeatures),
            ("kernel", KernelFeatures),
        ],
    )
    def test_basis(self, basis, kind):
        given = {"relevance": False, "inputs": "standard", "max_members": 1}
        model = auto(bases=basis, **given).fit(X, Y)
        assert type(model.basis_) is kind
        assert {c.basis for c in candidates(model)} == {basis}
        assert model.basis_.gamma_ == model.choice_.gamma
        assert model.basis_.inputs == "standard"
        assert getattr(model.basis_, "orthogonal", False) == (basis == "orthogonal")

    @pytest.mark.parametrize("name", ["laplacian", "rbf", "cauchy", "linear"])
    def test_kernel(self, name):
        model = auto(kernels=name).fit(X, Y)
        assert {c.kernel for c in candidates(model)} == {name, None}
        kind = "kernel" if name == "linear" else "nystroem"
        named = auto(bases=kind, kernels=name, relevance=False, max_members=1).fit(X, Y)
        assert named.basis_.kernel == name

    def test_bandwidth_by_a_number(self):
        model = auto(gamma=0.2, kernels="laplacian").fit(X, Y)
        assert model.choice_.gamma == 0.2
        assert {chosen.gamma for chosen in model.choice_.members} == {0.2}

    @pytest.mark.parametrize(
        ("basis", "kind"), [("nystroem", NystroemFeatures), ("kernel", KernelFeatures)]
    )
    def test_bandwidth_by_the_heuristic(self, basis, kind):
        given = {"kernels": "rbf", "inputs": "standard", "relevance": False}
        model = auto(bases=basis, gamma="kwok-tsang", alpha="auto", **given).fit(X, Y)
        plain = kind(random_state=0).fit(X)
        assert model.basis_.gamma_ == pytest.approx(plain.gamma_, rel=1e-6)

    @pytest.mark.parametrize("inputs", ["standard", "clip", "rank", "none"])
    def test_inputs(self, inputs):
        model = auto(inputs=inputs).fit(X, Y)
        assert {c.inputs for c in candidates(model)} == {inputs}

    def test_inputs_that_are_left_as_they_are(self):
        scaled = X * np.array([1.0, 100.0, 1.0, 1.0])
        model = auto(bases="fourier", inputs="none", relevance=False).fit(scaled, Y)
        assert {c.inputs for c in candidates(model)} == {"none"}
        assert model.basis_.inputs == "none"
        np.testing.assert_array_equal(model.basis_.input_map_.scale, np.ones(4))

    def test_inputs_by_a_few(self):
        model = auto(inputs=("rank", "standard"), bases=("kernel", "trees")).fit(X, Y)
        assert {c.inputs for c in candidates(model)} == {"rank", "standard"}
        assert {c.basis for c in candidates(model)} == {"kernel", "trees"}

    def test_relevance_by_a_switch(self):
        on, off = (auto(bases="nystroem", relevance=each).fit(X, Y) for each in (True, False))
        assert all(c.relevant for c in candidates(on))
        assert not any(c.relevant for c in candidates(off))
        assert on.choice_.relevance.argmax() == 0
        assert off.choice_.relevance is None

    @pytest.mark.parametrize(
        "parameters", [{}, {"bases": "fourier", "alpha": "auto"}, {"basis": "fourier"}], ids=str
    )
    def test_relevance_by_numbers(self, parameters):
        given = [1.0, 0.5, 0.0, 0.0]
        model = auto(**parameters, relevance=given).fit(X, Y)
        for basis in members(model):
            np.testing.assert_array_equal(basis.input_map_.relevance, given)
        moved = NEW.copy()
        moved[:, 2:] += 5.0
        np.testing.assert_array_equal(model.predict(moved), model.predict(NEW))
        assert np.abs(model.predict(NEW + 1.0) - model.predict(NEW)).max() > 0.1

    def test_ridge(self):
        model = auto(alpha=0.3).fit(X, Y)
        assert {c.alpha for c in candidates(model)} == {0.3}

    @pytest.mark.parametrize(
        ("given", "gap"), [({"lam": 0.9}, 0.1), ({"gap": 1e-3}, 1e-3), ({"lam": 1.0}, 0.0)], ids=str
    )
    def test_lam_between_members_that_are_ensembles(self, given, gap, fitted):
        model = auto(**given).fit(X, Y)
        assert model.gap_ == pytest.approx(gap)
        assert isinstance(model.basis_, NestedFeatures)
        assert model.basis_.gaps == fitted.basis_.gaps
        assert model.path_.criterion is None
        moved = fitted.with_lam(given["lam"]) if "lam" in given else fitted.with_lam(gap=gap)
        np.testing.assert_allclose(model.predict(NEW), moved.predict(NEW), rtol=1e-6)
        assert not np.allclose(model.predict(NEW), fitted.predict(NEW), rtol=1e-3)

    @pytest.mark.parametrize(
        ("given", "gap"), [({"lam": 0.9}, 0.1), ({"gap": 1e-3}, 1e-3), ({"lam": 1.0}, 1e-10)]
    )
    def test_lam_of_one_ensemble_whose_candidates_are_compared_there(self, given, gap):
        model = auto(bases="fourier", **given).fit(X, Y)
        strengths = [trial.strength for trial in model.choice_.trials]
        assert strengths == pytest.approx([gap] * len(strengths))
        assert model.gap_ == pytest.approx(0.0 if gap == 1e-10 else gap)

    def test_lam_of_each_output(self):
        both = np.column_stack([Y, X[:, 1]])
        model = auto(bases="fourier", gap=[0.1, 0.001]).fit(X, both)
        assert model.choice_.best.strength == pytest.approx(0.01)
        np.testing.assert_array_equal(model.gap_, [0.1, 0.001])
        nested = auto(gap=[0.1, 0.001]).fit(X, both)
        assert isinstance(nested.basis_, NestedFeatures)
        np.testing.assert_array_equal(nested.gap_, [0.1, 0.001])

    def test_number_of_members_which_several_candidates_share(self):
        for n_members, each in ((11, 5), (6, 3)):
            model = auto(n_members=n_members, budget=10).fit(X, Y)
            assert [basis.n_members_ for basis in members(model)] == [each, each]


def sizes(n_rows, n_lines, **parameters):
    """Landmarks of each line, from small to large."""
    line = SimpleNamespace(candidate=Candidate("kernel", "rbf"))
    choice = SimpleNamespace(members=(line,) * n_lines, n_distinct=n_rows)
    return feature_counts(choice, search_space(AutoBasis(**parameters), None))


class TestSizes:
    @pytest.mark.parametrize(("n_lines", "each"), [(1, 1500), (2, 1000), (4, 375), (6, 250)])
    def test_share_the_budget(self, n_lines, each):
        assert sizes(1500, n_lines) == (each,)

    @pytest.mark.parametrize(("n_lines", "each"), [(2, 500), (3, 333), (4, 250)])
    def test_share_another_budget(self, n_lines, each):
        assert sizes(1500, n_lines, budget=1000) == (each,)

    def test_are_all_rows_for_two_lines_and_shared_by_more(self):
        assert sizes(900, 2) == (900,)
        assert sizes(700, 3) == (USUAL_FEATURES // 3,) == (500,)
        assert sizes(700, 4) == (375,)
        assert sizes(500, 4) == (500,)

    @pytest.mark.parametrize("budget", [1, 100, 1200])
    def test_are_never_above_the_budget(self, budget):
        assert sizes(1500, 4, budget=budget) == (max(1, budget // 4),)

    @pytest.mark.parametrize("n_rows", [30, 299, 300])
    def test_are_not_above_the_rows(self, n_rows):
        assert sizes(n_rows, 2) == (n_rows,)

    def test_double_from_a_stage_on_where_there_are_many_rows(self):
        assert (STAGE, ROWS_TO_GROW) == (500, 2000)
        assert sizes(ROWS_TO_GROW - 1, 2) == (1000,)
        assert sizes(ROWS_TO_GROW, 2) == (500,)
        assert sizes(10_000, 1) == (1000, 2000)  # one line begins with two stages
        assert sizes(10_000, 1, budget=700) == (700,)
        assert sizes(10_000, 2) == (500, 1000)
        assert sizes(10_000, 4) == (500,)
        assert sizes(10_000, 2, budget=10_000) == (500, 1000, 2000)

    def test_stay_within_half_of_the_rows(self):
        assert sizes(2000, 1, budget=10**6) == (1000,)
        assert sizes(1_999 * 4, 1, budget=10**6) == (1000, 2000)
        assert sizes(2000, 4, budget=10**6) == (250,)

    def test_stay_within_a_small_budget(self):
        assert sizes(10_000, 2, budget=300) == (150,)
        assert sizes(10_000, 4, budget=3) == (1,)

    @pytest.mark.parametrize("n_rows", [90, 10_000])
    @pytest.mark.parametrize(("n_lines", "each"), [(1, 35), (2, 15), (3, 10), (8, 5)])
    def test_follow_from_a_given_number_of_members(self, n_rows, n_lines, each):
        given = {"n_members": 7, "n_components": 5, "budget": 1}
        assert sizes(n_rows, n_lines, **given) == (each,)


class TestGrowth:
    """With numbers of rows and stages that are small enough for a test."""

    rng = np.random.default_rng(2)
    X = rng.normal(size=(240, 3))
    y = np.sin(2.0 * X[:, 0]) + np.cos(3.0 * X[:, 1]) + 0.05 * rng.normal(size=240)

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr(choosing, "ROWS_TO_GROW", 240)
        monkeypatch.setattr(choosing, "USUAL_FEATURES", 15)
        monkeypatch.setattr(choosing, "STAGE", 10)
        monkeypatch.setattr(kernel, "STAGE", 10)

    def model(self, **parameters):
        return NCLRegressor(
            AutoBasis(**{"bases": "kernel", "n_components": 5, "gamma": 0.3} | parameters)
        )

    def widths(self, model):
        return np.diff(model.basis_.block_starts_).tolist()

    def sizes(self, model):
        return feature_counts(model.choice_, search_space(model.basis, None))

    def test_begins_with_so_many_rows(self):
        model = self.model(budget=100).fit(self.X, self.y)
        n_lines = len(model.choice_.members)
        assert n_lines in (2, 3)
        assert len(self.sizes(model)) > 1
        assert self.widths(model) == [self.sizes(model)[-1]] * n_lines
        by_hand = NCLRegressor(basis=clone(model.basis_), alpha=RIDGE).fit(self.X, self.y)
        assert model.lam_ == pytest.approx(by_hand.lam_)
        np.testing.assert_allclose(model.predict(self.X), by_hand.predict(self.X), rtol=1e-6)

    def test_does_not_begin_with_fewer(self):
        model = self.model(budget=60).fit(self.X[1:], self.y[1:])
        assert self.widths(model) == [60 // len(members(model)) // 5 * 5] * len(members(model))

    @pytest.mark.parametrize("budget", [20, 60, 100])
    def test_ends_with_the_budget(self, budget):
        model = self.model(budget=budget).fit(self.X, self.y)
        assert sum(self.widths(model)) <= budget < 3 * sum(self.widths(model))

    def test_ends_with_half_of_the_rows(self):
        model = self.model(budget=10**6).fit(self.X, self.y)
        assert 120 // 4 < sum(self.widths(model)) <= 120

    def test_is_not_for_a_given_number_of_members(self):
        model = self.model(n_members=4).fit(self.X, self.y)
        assert self.widths(model) == [4 // len(members(model)) * 5] * len(members(model))

    def test_does_not_depend_on_the_order_of_rows(self):
        order = np.random.default_rng(2).permutation(240)
        one = self.model().fit(self.X, self.y)
        other = self.model().fit(self.X[order], self.y[order])
        assert self.widths(one) == self.widths(other)
        assert max(self.widths(one)) > 10
        np.testing.assert_allclose(one.predict(NEW[:, :3]), other.predict(NEW[:, :3]), rtol=1e-6)

    def test_is_over_when_features_are_drawn_for_a_stream(self):
        model = self.model().draw(self.X, y=self.y)
        assert self.widths(model) == [self.sizes(model)[-1]] * len(model.choice_.members)


class TestTooLittle:
    def test_to_search_by_gives_plain_features(self):
        for rows, y in ((FEWEST_ROWS - 1, Y), (90, np.full(90, 0.1))):
            model = auto(alpha="auto", lam=0.5).fit(X[:rows], y[:rows])
            assert model.choice_ is None
            plain = NCLRegressor(FourierFeatures(10, 5), lam=0.5).fit(X[:rows], y[:rows])
            np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))

    def test_is_counted_in_distinct_rows_of_positive_weight(self):
        few = np.tile(X[: FEWEST_ROWS - 1], (3, 1))
        assert auto().fit(few, np.tile(Y[: FEWEST_ROWS - 1], 3)).choice_ is None
        weight = np.where(np.arange(90) < FEWEST_ROWS - 1, 1.0, 0.0)
        assert auto().fit(X, Y, sample_weight=weight).choice_ is None
        enough = auto()
        assert enough.fit(X[:FEWEST_ROWS], Y[:FEWEST_ROWS]).choice_ is not None

    @pytest.mark.parametrize("weight", [None, "some"])
    def test_is_a_target_that_does_not_vary_whatever_the_weights(self, weight):
        w = None if weight is None else np.random.default_rng(2).uniform(0.5, 3.0, 180)
        twice, y = np.tile(X, (2, 1)), np.full(180, 0.1)
        assert auto(lam=0.5).fit(twice, y, sample_weight=w).choice_ is None

    def test_has_a_hundred_members_where_their_number_is_open(self):
        model = NCLRegressor(lam=0.5).fit(X[:20], Y[:20])
        assert type(model.basis_) is FourierFeatures
        assert model.basis_.n_members_ == 100

    def test_keeps_what_is_given(self):
        relevance = [1.0, 0.0, 1.0, 1.0]
        given = {"kernels": "laplacian", "inputs": "rank", "relevance": relevance}
        model = auto(**given, gamma=0.7, subspace=0.5).fit(X[:20], Y[:20])
        expected = {"kernel": "laplacian", "inputs": "rank", "relevance": relevance}
        expected |= {"gamma": 0.7, "subspace": 0.5, "n_members": 10, "n_components": 5}
        for name, value in expected.items():
            assert getattr(model.basis_, name) == value
        assert type(auto(bases=("trees", "linear")).fit(X[:20], Y[:20]).basis_) is TreeFeatures

    @pytest.mark.parametrize("relevance", [True, np.True_])
    def test_learns_no_relevance_either(self, relevance):
        model = auto(relevance=relevance).fit(X[:20], Y[:20])
        assert type(model.basis_) is FourierFeatures
        assert model.basis_.relevance is None
        assert model.basis.relevance is relevance


class TestSameAnswer:
    def test_for_rows_in_another_order(self, fitted):
        for seed in range(2):
            order = np.random.default_rng(seed).permutation(90)
            moved = auto().fit(X[order], Y[order])
            assert moved.choice_.candidate == fitted.choice_.candidate
            np.testing.assert_allclose(moved.predict(NEW), fitted.predict(NEW), rtol=1e-9)

    def test_for_repeated_rows_in_another_order(self):
        index = np.random.default_rng(4).integers(0, 60, 120)
        y = Y[index] + 0.1 * np.random.default_rng(5).normal(size=120)
        one = auto().fit(X[index], y)
        order = np.random.default_rng(6).permutation(120)
        other = auto().fit(X[index][order], y[order])
        assert one.choice_.gamma == other.choice_.gamma
        np.testing.assert_array_equal(one.choice_.relevance, other.choice_.relevance)
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-9)

    def test_for_weights_and_repeats(self):
        weight = np.random.default_rng(7).integers(0, 3, 90)
        one = auto().fit(X, Y, sample_weight=weight)
        other = auto().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
        assert one.choice_.candidate == other.choice_.candidate
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("rows_to_grow", [100, 1000])
    def test_for_weights_and_repeats_of_an_open_size(self, rows_to_grow, monkeypatch):
        monkeypatch.setattr(choosing, "ROWS_TO_GROW", rows_to_grow)
        weight = np.random.default_rng(7).integers(0, 4, 90)
        one = NCLRegressor().fit(X, Y, sample_weight=weight)
        other = NCLRegressor().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
        np.testing.assert_array_equal(one.basis_.block_starts_, other.basis_.block_starts_)
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-6, atol=1e-8)

    def test_for_a_seed_and_another_for_another(self, fitted):
        np.testing.assert_array_equal(clone(fitted).fit(X, Y).predict(NEW), fitted.predict(NEW))
        other = auto(random_state=1).fit(X, Y)
        assert not np.allclose(other.predict(NEW), fitted.predict(NEW))

    def test_for_copies_in_memory_and_in_files(self, fitted, tmp_path):
        copies = [
            pickle.loads(pickle.dumps(fitted)),
            load(save(fitted, tmp_path / "model.skops")),
        ]
        for copy in copies:
            np.testing.assert_array_equal(copy.predict(NEW), fitted.predict(NEW))
            assert copy.choice_.candidate == fitted.choice_.candidate
            assert str(copy.choice_) == str(fitted.choice_)
            assert repr(copy.choice_) == repr(fitted.choice_)
            for one, other in zip(copy.choice_.members, fitted.choice_.members, strict=True):
                assert one.candidate == other.candidate
                assert (one.gamma, one.strength) == (other.gamma, other.strength)
                np.testing.assert_array_equal(one.relevance, other.relevance)
            assert not hasattr(copy, "partial_fit")

    def test_for_single_precision(self):
        single = X.astype(np.float32)
        one = auto().fit(single, Y)
        other = auto().fit(single.astype(np.float64), Y)
        assert one.choice_.candidate == other.choice_.candidate
        assert one.predict(single).dtype == np.float32
        np.testing.assert_allclose(one.predict(single), other.predict(single), rtol=1e-3, atol=1e-3)


class TestKindsOfInput:
    def test_sparse(self):
        model = auto().fit(SPARSE, Y)
        assert {c.inputs for c in candidates(model)} == {"standard"}
        assert not any(c.relevant for c in candidates(model))
        assert {c.kernel for c in candidates(model)} == {"laplacian", "rbf", "linear", None}
        assert model.score(SPARSE, Y) > 0.5

    @pytest.mark.parametrize("name", ["rbf", "laplacian", "cauchy", "linear"])
    def test_sparse_or_dense_rows_to_a_model_of_sparse_ones(self, name):
        model = auto(kernels=name).fit(SPARSE, Y)
        dense = model.predict(SPARSE.toarray())
        np.testing.assert_allclose(model.predict(SPARSE), dense, rtol=1e-6, atol=1e-8)

    def test_sparse_with_given_relevance(self):
        given = [1.0, 1.0, 0.0, 0.5]
        model = auto(bases="nystroem", kernels="rbf", relevance=given).fit(SPARSE, Y)
        np.testing.assert_array_equal(model.basis_.input_map_.relevance, given)
        dense = model.predict(SPARSE.toarray())
        np.testing.assert_allclose(model.predict(SPARSE), dense, rtol=1e-6, atol=1e-8)

    def test_sparse_to_a_model_of_dense_rows(self, fitted):
        np.testing.assert_allclose(fitted.predict(sp.csr_array(NEW)), fitted.predict(NEW))

    def test_several_outputs_share_one_choice(self):
        both = np.column_stack([Y, X[:, 1], np.full(90, 3.0)])
        model = auto().fit(X, both)
        assert model.predict(NEW).shape == (30, 3)
        np.testing.assert_allclose(model.predict(NEW)[:, 2], 3.0)
        assert model.choice_.relevance is None or model.choice_.relevance[:2].min() > 0.1

    @pytest.mark.parametrize("n_components", [1, 60])
    def test_one_column_and_members_of_any_size(self, n_components):
        model = auto(n_components=n_components, n_members=20, lam=0.5).fit(X[:, :1], Y)
        assert model.choice_ is not None
        assert model.score(X[:, :1], Y) > 0.5

    def test_one_column_of_linear_members_says_what_they_are(self):
        with pytest.warns(IdenticalMembersWarning, match="all 1 columns"):
            auto(bases="linear", alpha="auto").fit(X[:, :1], Y)

    def test_columns_that_do_not_vary(self):
        constant = np.column_stack([X, np.full(90, 0.1), np.zeros(90)])
        model = auto().fit(constant, Y)
        assert model.score(constant, Y) > 0.9


@pytest.mark.parametrize("inputs", ["clip", "rank", "none"])
def test_trees_that_are_chosen_are_those_that_were_tried(inputs):
    tailed = np.random.default_rng(8).standard_cauchy(size=(90, 4))
    model = auto(bases="trees", inputs=inputs, n_members=50).fit(tailed, Y)
    assert model.choice_.candidate == Candidate("trees", inputs=inputs)
    learnt = fit_input_map(inputs, tailed)
    mapped = learnt(tailed)
    rows = Rows(mapped, Y[:, np.newaxis], None, row_keys(tailed, Y[:, np.newaxis]))
    tried = TreeFeatures(50, 5, inputs="none", random_state=0).fit_rows(rows).transform(mapped)
    np.testing.assert_array_equal(model.basis_.transform(tailed), tried)


def test_a_linear_kernel_can_be_chosen():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(120, 12))
    y = wide @ rng.normal(size=12) + rng.normal(size=120)
    model = auto(n_components=8).fit(wide, y)
    assert model.choice_.candidate == Candidate("kernel", "linear", alpha=10.0)
    first = members(model)[0]
    assert type(first) is KernelFeatures
    assert first.kernel == "linear"
    assert int(first.block_starts_[-1]) == 12
    assert "kernel linear, inputs standard" in str(model.choice_)


def test_transformers_of_the_user_are_not_searched_for():
    model = NCLRegressor(RBFSampler(n_components=4, gamma=0.2)).fit(X, Y)
    assert model.choice_ is None


def test_a_failed_fit_leaves_the_choice_as_it_was(fitted):
    model = clone(fitted).fit(X, Y)
    before = model.choice_
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(90, np.nan))
    assert model.choice_ is before


def test_summary_says_what_was_chosen_and_how(fitted):
    text = str(fitted.summary())
    for chosen in fitted.choice_.members:
        assert str(chosen.candidate) in text
    choice = fitted.choice_
    assert f"by leave-one-out, {len(choice.trials)} trials on 90 rows" in text
    assert f"{choice.best.error:.4g} of var(y), {choice.validated:.4g} if the search is" in text
    note = "Features were chosen, and scales of columns learnt, by the same rows."
    assert note in " ".join(text.split())
    plain = " ".join(str(ncl(10, 5).fit(X, Y).summary()).split())
    assert "Chosen" not in plain
    assert note not in plain


def test_what_was_chosen_is_said_in_all_ways(fitted):
    choice = fitted.choice_
    assert repr(choice).startswith(f"Choice({choice.candidate}; error {choice.best.error:.4g}")
    assert str(choice).count("\n") == len(choice.trials) + 1
    assert choice.optimism == choice.validated - choice.best.error
    assert choice.lines()[: len(choice.members)] == [str(c.candidate) for c in choice.members]


def test_given_columns_of_linear_members_are_kept():
    model = auto(bases="linear", alpha="auto", n_components=2).fit(X, Y)
    assert members(model)[0].block_starts_.tolist() == list(range(0, 21, 2))


def test_a_search_is_not_linear_in_y():
    with pytest.raises(NotLinearError, match="basis is 'auto' or an AutoBasis is not linear in y"):
        negcorr.degrees_of_freedom(auto(lam=0.5), X, Y, method="exact")
