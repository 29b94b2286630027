"""What an ensemble leaves to the data is chosen by its rows, and can be overruled."""

from models import ncl
import pickle
import warnings
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler

from negcorr import NCLRegressor, degrees_of_freedom, load, save, scale
from negcorr.bases import (
    FourierFeatures,
    KernelFeatures,
    MappedFeatures,
    NestedFeatures,
    NystroemFeatures,
        TreeFeatures,
)
from negcorr.bases import (
    kernel_features as kernel,
)
from negcorr.bases.input_maps import fit_input_map
from negcorr.bases.kernel_features import STAGE, ridge_gap
from negcorr.bases.named import PLAIN_ESTIMATORS, RIDGE
from negcorr.exceptions import IdenticalMembersWarning, NotLinearError, SearchBoundaryWarning
from negcorr.rows.rows import content_hash
from negcorr.scale import first_pass
from negcorr.scale.first_pass import needs_sample, needs_targets
from negcorr.selection import automatic_basis as automatic
from negcorr.selection.automatic_basis import (
    FEWEST_ROWS,
    ROWS_TO_GROW,
    USUAL_FEATURES,
    open_questions,
    sizes_of,
)
from negcorr.selection.candidates import Candidate
from negcorr.selection.choose import ALPHAS
from negcorr.selection.space import KERNELLED, OpenQuestions

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=90)
NOISY = Y + np.random.default_rng(3).normal(size=90)
NEW = np.random.default_rng(1).normal(size=(30, 4))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))


def ncl(**parameters):
    return ncl(**{"n_members": 10, "n_components": 5, "random_state": 0} | parameters)


def candidates(model):
    return [trial.candidate for trial in model.choice_.trials]


def members(model):
    """The bases of members that are ensembles themselves, or the one that there is."""
    return getattr(model.basis_, "bases_", [model.basis_])


def in_parts(model, *parts):
    for part in parts:
        model.partial_fit(X[part], Y[part])
    return model


@pytest.fixture(scope="module")
def fitted():
    return ncl().fit(X, Y)


class TestDefaults:
    def test_leave_basis_bandwidth_and_size_to_the_data(self):
        given = NCLRegressor().get_params()
        names = ("n_estimators", "basis", "gamma", "kernel", "inputs", "relevance", "lam")
        assert {given[name] for name in names} == {"auto"}
        assert given["alpha"] is None
        assert given["budget"] == 2000
        assert given["n_components"] == 10

    def test_take_every_row_for_a_landmark_where_there_are_few(self):
        model = NCLRegressor(random_state=0).fit(X, Y)
        assert isinstance(model.basis_, NestedFeatures)
        for basis in members(model):
            assert type(basis.basis_) is KernelFeatures
            assert len(basis.basis_.landmarks_) == 90
        assert model.basis_.nesting_.counts(model.basis_.block_starts_) == [9] * len(members(model))
        assert model.score(X, Y) > 0.9

    @pytest.mark.parametrize(
        "parameters",
        [
            PLAIN,
            {"basis": "trees"},
            {"basis": "nystroem", "gamma": 0.2},
            {"basis": "kernel", "gamma": 0.2, "n_components": 1},
            {"basis": RBFSampler(n_components=2, gamma=0.2)},
        ],
        ids=str,
    )
    def test_are_a_hundred_members_where_nothing_is_searched_for(self, parameters):
        rows = np.random.default_rng(2).normal(size=(120, 4))
        model = ncl(lam=0.5, **parameters).fit(rows, rows[:, 0])
        assert model.basis_.n_members_ == PLAIN_ESTIMATORS == 100

    @pytest.mark.parametrize(
        ("parameters", "ridge"),
        [
            ({}, RIDGE),
            ({"gamma": 0.3}, RIDGE),
            ({"basis": "kernel"}, RIDGE),
            ({"basis": "kernel", "gamma": 0.3}, RIDGE),
            ({"basis": KernelFeatures(10, 5, inputs="none")}, RIDGE),
            ({"basis": "fourier"}, 0.0),
            (PLAIN, 0.0),
            ({"basis": "trees"}, 0.0),
            ({"basis": NystroemFeatures(10, 5, inputs="none")}, 0.0),
        ],
        ids=str,
    )
    def test_have_a_ridge_that_suits_the_basis(self, parameters, ridge):
        assert ncl().alpha is None
        model = ncl(**parameters, lam=0.5).fit(X, Y)
        same, other = (
            ncl(**parameters, lam=0.5, alpha=alpha).fit(X, Y) for alpha in (ridge, RIDGE - ridge)
        )
        np.testing.assert_array_equal(model.predict(NEW), same.predict(NEW))
        assert not np.allclose(model.predict(NEW), other.predict(NEW), rtol=1e-3)
        assert RIDGE == 10.0


class TestOpenQuestions:
    def test_all_but_the_ridge_are_by_default(self):
        assert open_questions(NCLRegressor()) == OpenQuestions(alphas=(10.0,))
        found = open_questions(NCLRegressor(alpha="auto"))
        assert found == OpenQuestions(alphas=(10.0, 0.0, *ALPHAS))

    def test_there_are_none_where_basis_and_bandwidth_are_named(self):
        assert open_questions(ncl()) is None
        given = {"basis": "fourier", "gamma": 0.3, "kernel": "laplacian", "inputs": "rank"}
        assert open_questions(ncl(**given)) is None
        assert open_questions(NCLRegressor(basis=FourierFeatures(inputs="none"))) is None
        assert open_questions(ncl(basis=KernelFeatures(inputs="none"), kernel="laplacian")) is None

    @pytest.mark.parametrize("basis", KERNELLED)
    def test_bandwidth_alone_opens_all_but_the_basis(self, basis):
        alpha = 10.0 if basis == "kernel" else 0.0
        expected = OpenQuestions(bases=(basis,), alphas=(alpha,))
        assert open_questions(ncl(basis=basis, gamma="auto")) == expected

    @pytest.mark.parametrize("basis", ["linear", "trees"])
    def test_there_is_no_bandwidth_to_open_without_a_kernel(self, basis):
        assert open_questions(ncl(basis=basis, gamma="auto")) is None

    @pytest.mark.parametrize("gamma", ["kwok-tsang", 0.3, 2, np.float32(0.5)])
    def test_basis_alone_keeps_the_bandwidth(self, gamma):
        expected = OpenQuestions(bandwidths=(0,), alphas=(10.0,))
        assert open_questions(ncl(basis="auto", gamma=gamma)) == expected

    @pytest.mark.parametrize(
        ("basis", "alphas"),
        [("fourier", (0.0, *ALPHAS)), ("kernel", (10.0, 0.0, *ALPHAS))],
    )
    def test_ridge_alone_keeps_everything_else_plain(self, basis, alphas):
        given = {"basis": basis, "gamma": "kwok-tsang", "alpha": "auto"}
        assert open_questions(ncl(**given)) == OpenQuestions(
            bases=(basis,),
            kernels=("rbf",),
            inputs=("standard",),
            bandwidths=(0,),
            relevance=(False,),
            alphas=alphas,
            subspace=1.0,
        )

    @pytest.mark.parametrize(
        ("given", "closed"),
        [
            ({"basis": "nystroem"}, {"bases": ("nystroem",), "alphas": (0.0,)}),
            ({"basis": "kernel"}, {"bases": ("kernel",)}),
            ({"kernel": "cauchy"}, {"kernels": ("cauchy",)}),
            ({"kernel": "linear"}, {"kernels": ("linear",)}),
            ({"inputs": "rank"}, {"inputs": ("rank",)}),
            ({"inputs": "none"}, {"inputs": ("none",)}),
            ({"standardize": False}, {"inputs": ("none",)}),
            ({"relevance": True}, {"relevance": (True,)}),
            ({"relevance": np.False_}, {"relevance": (False,)}),
            ({"relevance": [1.0, 0.0, 1.0, 2.0]}, {"relevance": (False,)}),
            ({"relevance": np.ones(4)}, {"relevance": (False,)}),
            ({"subspace": 0.25}, {"subspace": 0.25}),
            ({"subspace": 1}, {"subspace": 1.0}),
            ({"alpha": 0.3}, {"alphas": (0.3,)}),
            ({"alpha": 0}, {"alphas": (0.0,)}),
            ({"gamma": 0.1}, {"bandwidths": (0,)}),
        ],
        ids=str,
    )
    def test_every_one_can_be_closed(self, given, closed):
        assert open_questions(ncl(**given)) == OpenQuestions(**{"alphas": (10.0,)} | closed)


class TestMistakes:
    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"basis": "forest", "gamma": "auto"}, r"basis='forest' is unknown; allowed .*'fou"),
            ({"basis": "forest", "alpha": "auto"}, r"basis='forest' is unknown; allowed .*'fou"),
            ({"kernel": "rbf"}, r"kernel='rbf' is unknown; allowed .*'auto', 'cauchy', 'gauss"),
            ({"kernel": None}, r"kernel=None is unknown; allowed .*'auto'"),
            ({"subspace": 0}, r"subspace=0 must be above 0 and at most 1"),
            ({"subspace": 1.5, "basis": "fourier"}, r"subspace=1.5 must be above 0 and at most 1"),
            (
                {"subspace": 0.5, "basis": "trees", "gamma": "kwok-tsang"},
                r"subspace=0.5 is not known to basis='trees'; allowed are 1, 'auto', and the bases",
            ),
            (
                {"subspace": 0.5, "basis": "orthogonal", "gamma": "auto"},
                r"subspace=0.5 is not known to basis='orthogonal'; allowed are 1, 'auto'",
            ),
            (
                {"subspace": 0.5, "basis": "kernel", "kernel": "linear"},
                r"subspace=0.5 is not known to kernel='linear'",
            ),
            ({"inputs": "log"}, r"inputs='log' is unknown; allowed .*'auto', 'standard', 'clip'"),
            ({"inputs": 3}, r"inputs=3 is unknown; allowed .*'auto', 'standard', 'clip'"),
            ({"gamma": "median"}, r"gamma='median' .*allowed are 'auto', 'kwok-tsang'"),
            ({"gamma": -1.0}, r"gamma=-1\.0 .*allowed .*numbers > 0"),
            ({"gamma": np.nan}, r"gamma=nan .*allowed .*numbers > 0"),
            ({"gamma": None}, r"gamma=None .*allowed are 'auto', 'kwok-tsang'"),
            ({"gamma": True}, r"gamma=True .*allowed are 'auto', 'kwok-tsang'"),
            ({"alpha": "auto", "gamma": [1.0]}, r"gamma=\[1\.0\] .*allowed are 'auto'"),
            ({"alpha": "most"}, r"alpha='most' must be .*number of at least 0"),
            ({"alpha": "auto", "basis": FourierFeatures(inputs="none")}, r"alpha='auto' needs a basis .*named"),
            ({"alpha": -1.0}, r"alpha=-1\.0 must be a finite number of at least 0"),
            ({**PLAIN, "relevance": True}, r"relevance=True .*basis='auto' or gamma='auto'.*each"),
            ({**PLAIN, "relevance": np.True_}, r"relevance=True .*basis='auto' or gamma='auto'"),
            ({"relevance": "all"}, r"relevance='all' .*allowed are 'auto', True, False"),
            ({"relevance": None}, r"relevance=None .*allowed are 'auto', True, False"),
            ({"relevance": [1, 2]}, r"relevance=\[1, 2\] must be 4 finite numbers"),
            ({"relevance": [1, 2, -1, 0]}, r"relevance=\[1, 2, -1, 0\] must be 4 finite numbers"),
            ({"relevance": [0] * 4}, r"relevance is zero for every column"),
            ({"standardize": False, "inputs": "rank"}, r"standardize=False .*inputs='rank"),
            ({"standardize": False, "inputs": "clip"}, r"standardize=False .*inputs='clip"),
            ({"basis": "orthogonal", "gamma": "auto", "kernel": "laplacian"}, r"kernel="laplacian" is"),
            ({**PLAIN, "basis": "orthogonal", "kernel": "laplacian"}, r"kernel="laplacian" is not kn"),
            ({"basis": "fourier", "kernel": "linear"}, r"kernel='linear' .*'cauchy', "rbf""),
            ({**PLAIN, "kernel": "linear"}, r"kernel='linear' .*'cauchy', "rbf", "laplacian""),
            ({"n_components": 0}, r"n_components=0 must be at least 1"),
            ({"n_members": 0}, r"n_estimators=0 must be at least 1"),
            ({**PLAIN, "n_members": -2}, r"n_estimators=-2 must be at least 1"),
            ({"n_members": "many"}, r"n_estimators='many' must be 'auto' or an integer of at"),
            ({**PLAIN, "n_members": "many"}, r"n_estimators='many' must be 'auto' or an int"),
            ({"budget": 0}, r"budget=0 must be at least 1"),
            ({"budget": -3, "n_members": "auto"}, r"budget=-3 must be at least 1"),
        ],
        ids=str,
    )
    def test_are_named_with_what_is_allowed(self, parameters, words):
        model = ncl(**parameters)
        with pytest.raises(ValueError, match=words):
            model.fit(X, Y)
        assert not hasattr(model, "choice_")

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"standardize": 1}, r"standardize=1 must be True or False"),
            ({"n_members": 2.5}, r"n_estimators=2\.5 must be an integer, got float"),
            ({"n_members": True}, r"n_estimators=True must be an integer, got bool"),
            ({"n_members": None}, r"n_estimators=None must be an integer, got NoneType"),
            ({**PLAIN, "n_members": None}, r"n_estimators=None must be an integer"),
            ({"budget": 2.5}, r"budget=2\.5 must be an integer, got float"),
            ({"budget": "auto"}, r"budget='auto' must be an integer, got str"),
            ({"budget": None}, r"budget=None must be an integer, got NoneType"),
        ],
        ids=str,
    )
    def test_of_type_are_named_with_what_is_allowed(self, parameters, words):
        with pytest.raises(TypeError, match=words):
            ncl(**parameters).fit(X, Y)
        with pytest.raises(TypeError, match=words):
            ncl(**parameters).partial_fit(X, Y)

    def test_in_a_ridge_that_is_no_number_are_named(self):
        with pytest.raises((TypeError, ValueError), match=r"alpha=\[1\.0\] must be"):
            ncl(alpha=[1.0]).fit(X, Y)

    @pytest.mark.parametrize("n_rows", [0, -1.0, "all", np.nan, np.inf, True, [3]], ids=str)
    @pytest.mark.parametrize("parameters", [{}, PLAIN], ids=str)
    def test_in_the_rows_of_a_draw_are_named_with_what_is_allowed(self, n_rows, parameters):
        model = ncl(**parameters)
        with pytest.raises(ValueError, match=r"n_rows=.* must be a finite number > 0"):
            model.draw(X, y=Y, n_rows=n_rows)
        assert not hasattr(model, "basis_")

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"inputs": "clip"}, r"inputs='clip' .*allowed for sparse X are 'standard' and 'none'"),
            ({"inputs": "rank"}, r"inputs='rank' .*allowed for sparse X are 'standard' and 'none'"),
            ({"relevance": True}, r"relevance=True .*sparse X; allowed are 'auto', False"),
        ],
        ids=str,
    )
    def test_in_what_sparse_rows_can_have_done_to_them(self, parameters, words):
        with pytest.raises(ValueError, match=words):
            ncl(**parameters).fit(SPARSE, Y)


class TestChoice:
    def test_is_none_where_nothing_is_open_and_features_are_the_plain_ones(self):
        model = ncl(**PLAIN).fit(X, Y)
        assert model.choice_ is None
        assert type(model.basis_) is FourierFeatures
        plain = FourierFeatures(10, 5, random_state=0, inputs="standard")
        by_hand = NCLRegressor(basis=plain, random_state=0).fit(X, Y)
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
            assert isinstance(basis, MappedFeatures)
            assert basis.basis_.gamma_ == chosen.gamma
            assert basis.basis_.kernel == chosen.candidate.kernel
            assert basis.n_members_ == 10 // 2
            assert basis.inputs == chosen.candidate.inputs
            np.testing.assert_array_equal(basis.relevance, chosen.relevance)

    def test_is_made_by_hand_in_the_same_way(self, fitted):
        drawn = np.random.RandomState(fitted.choice_.seed).randint(np.iinfo(np.int32).max, size=6)
        seeds = [0, drawn[1]]
        bases, gaps = [], []
        for chosen, seed in zip(fitted.choice_.members, seeds, strict=True):
            given = {"kernel": chosen.candidate.kernel, "gamma": chosen.gamma}
            bare = KernelFeatures(5, 5, **given, random_state=seed, inputs="none")
            bases.append(MappedFeatures(bare, relevance=chosen.relevance))
            gaps.append(ridge_gap(chosen.strength, 90, 25, 5, 10.0))
        assert fitted.basis_.gaps == pytest.approx(gaps)
        by_hand = NCLRegressor(basis=NestedFeatures(bases, gaps), alpha=10.0).fit(X, Y)
        np.testing.assert_allclose(fitted.predict(NEW), by_hand.predict(NEW), rtol=1e-9)
        assert fitted.lam_ == pytest.approx(by_hand.lam_)

    def test_of_one_basis_is_made_by_hand_in_the_same_way(self):
        model = ncl(basis="nystroem", gamma="auto", relevance=True).fit(X, Y)
        candidate, choice = model.choice_.candidate, model.choice_
        bare = NystroemFeatures(10, 5, kernel=candidate.kernel, gamma=choice.gamma, random_state=0, inputs="none")
        basis = MappedFeatures(bare, inputs=candidate.inputs, relevance=choice.relevance)
        by_hand = NCLRegressor(basis=basis).fit(X, Y)
        np.testing.assert_array_equal(model.predict(NEW), by_hand.predict(NEW))

    def test_takes_together_what_the_rows_cannot_tell_apart(self, monkeypatch):
        assert len(ncl().fit(X, NOISY).choice_.members) == automatic.MOST_MEMBERS == 6
        three = ncl(n_estimators=3).fit(X, NOISY)
        assert [basis.n_members_ for basis in members(three)] == [1, 1, 1]
        monkeypatch.setattr(automatic, "ROWS_TO_GROW", 90)
        assert len(ncl().fit(X, NOISY).choice_.members) == automatic.MOST_OF_MANY_ROWS == 4

    @pytest.mark.parametrize(
        "closed",
        [{"criterion": "loo"}, {"criterion": "loo", "lam": 0.5}, {"n_members": 1}],
        ids=str,
    )
    def test_is_one_ensemble_of_plain_members_where_several_make_no_sense(self, closed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SearchBoundaryWarning)
            model = ncl(**closed).fit(X, Y)
        assert len(model.choice_.members) == 1
        assert model.choice_.members[0].candidate == model.choice_.candidate
        assert isinstance(model.basis_, MappedFeatures)
        assert model.basis_.n_members_ == closed.get("n_estimators", 10)

    def test_is_better_than_what_is_plain(self, fitted):
        truth = np.sin(2.0 * NEW[:, 0]) + 0.3 * NEW[:, 1]
        plain = ncl(**PLAIN).fit(X, Y)
        errors = [np.mean((model.predict(NEW) - truth) ** 2) for model in (fitted, plain)]
        assert errors[0] < 0.5 * errors[1]

    @pytest.mark.parametrize("name", ["basis", "gamma"])
    def test_is_made_where_one_thing_is_open(self, name):
        model = ncl(**PLAIN | {name: "auto"}).fit(X, Y)
        bases = {c.basis for c in candidates(model)}
        multiples = {c.multiple for c in candidates(model)}
        assert (bases == {"fourier"}) == (name == "gamma")
        assert (multiples == {1.0}) == (name == "basis")

    def test_of_a_ridge_is_what_the_path_is_made_with(self):
        model = ncl(basis="trees", n_components=30, alpha="auto").fit(X, NOISY)
        assert {c.alpha for c in candidates(model)} == {0.0, *ALPHAS}
        alpha = model.choice_.candidate.alpha
        assert alpha > 0
        same = ncl(basis="trees", n_components=30, alpha=alpha).fit(X, NOISY)
        np.testing.assert_array_equal(model.predict(NEW), same.predict(NEW))

    def test_of_another_fit_does_not_linger(self):
        model = ncl(basis="trees", n_components=30, alpha="auto").fit(X, NOISY)
        assert model.choice_.candidate.alpha > 0
        few = model.set_params(n_components=3, lam=0.0).fit(X[:20], Y[:20])
        assert few.choice_ is None
        plain = ncl(basis="trees", n_components=3, lam=0.0).fit(X[:20], Y[:20])
        np.testing.assert_array_equal(few.predict(NEW), plain.predict(NEW))


class TestOverruled:
    @pytest.mark.parametrize(
        ("basis", "kind"),
        [
            ("fourier", FourierFeatures),
            ("orthogonal", OrthogonalFourierFeatures),
            ("nystroem", NystroemFeatures),
            ("kernel", KernelFeatures),
        ],
    )
    def test_basis(self, basis, kind):
        model = ncl(basis=basis, gamma="auto", relevance=False, inputs="standard").fit(X, Y)
        assert type(model.basis_) is kind
        assert {c.basis for c in candidates(model)} == {basis}
        assert model.basis_.gamma_ == model.choice_.gamma
        assert model.basis_.standardize

    @pytest.mark.parametrize("name", ["laplacian", "rbf", "cauchy", "linear"])
    def test_kernel(self, name):
        model = ncl(kernel=name).fit(X, Y)
        assert {c.kernel for c in candidates(model)} == {name, None}
        kind = "kernel" if name == "linear" else "nystroem"
        named = ncl(basis=kind, gamma="auto", kernel=name, relevance=False).fit(X, Y)
        inner = getattr(named.basis_, "basis_", named.basis_)
        assert inner.kernel == name

    def test_bandwidth_by_a_number(self):
        model = ncl(basis="auto", gamma=0.2, kernel="laplacian").fit(X, Y)
        assert model.choice_.gamma == 0.2
        assert {chosen.gamma for chosen in model.choice_.members} == {0.2}

    @pytest.mark.parametrize(
        ("basis", "kind"), [("nystroem", NystroemFeatures), ("kernel", KernelFeatures)]
    )
    def test_bandwidth_by_the_heuristic(self, basis, kind):
        model = ncl(basis=basis, gamma="kwok-tsang", alpha="auto").fit(X, Y)
        plain = kind(standardize=True, random_state=0).fit(X)
        assert model.basis_.gamma_ == pytest.approx(plain.gamma_, rel=1e-6)

    @pytest.mark.parametrize("inputs", ["standard", "clip", "rank", "none"])
    def test_inputs(self, inputs):
        model = ncl(inputs=inputs).fit(X, Y)
        assert {c.inputs for c in candidates(model)} == {inputs}

    def test_standardizing(self):
        scaled = X * np.array([1.0, 100.0, 1.0, 1.0])
        model = ncl(basis="fourier", gamma="auto", standardize=False, relevance=False)
        model.fit(scaled, Y)
        assert {c.inputs for c in candidates(model)} == {"none"}
        assert not model.basis_.standardize
        np.testing.assert_array_equal(model.basis_.scale_, np.ones(4))

    def test_relevance_by_a_switch(self):
        kernelled = {"basis": "nystroem", "gamma": "auto"}
        on, off = (ncl(**kernelled, relevance=value).fit(X, Y) for value in (True, False))
        assert all(c.relevant for c in candidates(on))
        assert not any(c.relevant for c in candidates(off))
        assert on.choice_.relevance.argmax() == 0
        assert off.choice_.relevance is None

    @pytest.mark.parametrize("parameters", [{}, {**PLAIN, "alpha": "auto"}, PLAIN], ids=str)
    def test_relevance_by_numbers(self, parameters):
        given = [1.0, 0.5, 0.0, 0.0]
        model = ncl(**parameters, relevance=given).fit(X, Y)
        for basis in members(model):
            assert isinstance(basis, MappedFeatures)
            np.testing.assert_array_equal(basis.relevance_, given)
        moved = NEW.copy()
        moved[:, 2:] += 5.0
        np.testing.assert_array_equal(model.predict(moved), model.predict(NEW))
        assert np.abs(model.predict(NEW + 1.0) - model.predict(NEW)).max() > 0.1

    def test_ridge(self):
        model = ncl(alpha=0.3).fit(X, Y)
        assert {c.alpha for c in candidates(model)} == {0.3}

    @pytest.mark.parametrize(
        ("given", "gap"), [({"lam": 0.9}, 0.1), ({"gap": 1e-3}, 1e-3), ({"lam": 1.0}, 0.0)], ids=str
    )
    def test_lam_between_members_that_are_ensembles(self, given, gap, fitted):
        model = ncl(**given).fit(X, Y)
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
        model = ncl(basis="fourier", **given).fit(X, Y)
        strengths = [trial.strength for trial in model.choice_.trials]
        assert strengths == pytest.approx([gap] * len(strengths))
        assert model.gap_ == pytest.approx(0.0 if gap == 1e-10 else gap)

    def test_lam_of_each_output(self):
        both = np.column_stack([Y, X[:, 1]])
        model = ncl(basis="fourier", gap=[0.1, 0.001]).fit(X, both)
        assert model.choice_.best.strength == pytest.approx(0.01)
        np.testing.assert_array_equal(model.gap_, [0.1, 0.001])
        nested = ncl(gap=[0.1, 0.001]).fit(X, both)
        assert isinstance(nested.basis_, NestedFeatures)
        np.testing.assert_array_equal(nested.gap_, [0.1, 0.001])

    def test_number_of_members_which_several_candidates_share(self):
        for n_estimators, each in ((11, 5), (6, 3)):
            model = ncl(n_estimators=n_estimators, budget=10).fit(X, Y)
            assert [basis.n_members_ for basis in members(model)] == [each, each]


def sizes(n_rows, n_lines, **parameters):
    """Landmarks of each line, from small to large."""
    model = ncl(**parameters)
    line = SimpleNamespace(candidate=Candidate("kernel", "rbf"))
    found = sizes_of(model, SimpleNamespace(members=(line,) * n_lines, n_distinct=n_rows))
    assert found.n_components == model.n_components
    return found.landmarks


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

    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.sin(2.0 * X[:, 0]) + np.cos(3.0 * X[:, 1]) + 0.05 * rng.normal(size=240)

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr(OpenQuestions, "bases", ("kernel",))
        monkeypatch.setattr(automatic, "ROWS_TO_GROW", 240)
        monkeypatch.setattr(automatic, "USUAL_FEATURES", 15)
        monkeypatch.setattr(automatic, "STAGE", 10)
        monkeypatch.setattr(kernel, "STAGE", 10)

    def model(self, **parameters):
        return ncl(**{"n_components": 5, "random_state": 0, "gamma": 0.3} | parameters)

    def widths(self, model):
        return np.diff(model.basis_.block_starts_).tolist()

    def sizes(self, model):
        return sizes_of(model, model.choice_).landmarks

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
        model = self.model(n_estimators=4).fit(self.X, self.y)
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
            model = ncl(alpha="auto", lam=0.5).fit(X[:rows], y[:rows])
            assert model.choice_ is None
            plain = ncl(**PLAIN, lam=0.5).fit(X[:rows], y[:rows])
            np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))

    def test_is_counted_in_distinct_rows_of_positive_weight(self):
        few = np.tile(X[: FEWEST_ROWS - 1], (3, 1))
        assert ncl().fit(few, np.tile(Y[: FEWEST_ROWS - 1], 3)).choice_ is None
        weight = np.where(np.arange(90) < FEWEST_ROWS - 1, 1.0, 0.0)
        assert ncl().fit(X, Y, sample_weight=weight).choice_ is None
        enough = ncl()
        assert enough.fit(X[:FEWEST_ROWS], Y[:FEWEST_ROWS]).choice_ is not None

    @pytest.mark.parametrize("weight", [None, "some"])
    def test_is_a_target_that_does_not_vary_whatever_the_weights(self, weight):
        w = None if weight is None else np.random.default_rng(2).uniform(0.5, 3.0, 180)
        twice, y = np.tile(X, (2, 1)), np.full(180, 0.1)
        assert ncl(lam=0.5).fit(twice, y, sample_weight=w).choice_ is None

    def test_has_a_hundred_members_where_their_number_is_open(self):
        model = NCLRegressor(random_state=0, lam=0.5).fit(X[:20], Y[:20])
        assert type(model.basis_) is FourierFeatures
        assert model.basis_.n_members_ == 100

    def test_keeps_what_is_given(self):
        given = {"kernel": "laplacian", "inputs": "rank", "relevance": [1.0, 0.0, 1.0, 1.0]}
        model = ncl(**given).fit(X[:20], Y[:20])
        assert model.basis_.inputs == "rank"
        assert model.basis_.basis_.kernel == "laplacian"

    @pytest.mark.parametrize("relevance", [True, np.True_])
    def test_learns_no_relevance_either(self, relevance):
        model = ncl(relevance=relevance).fit(X[:20], Y[:20])
        assert type(model.basis_) is FourierFeatures
        assert model.relevance is relevance


class TestSameAnswer:
    def test_for_rows_in_another_order(self, fitted):
        for seed in range(2):
            order = np.random.default_rng(seed).permutation(90)
            moved = ncl().fit(X[order], Y[order])
            assert moved.choice_.candidate == fitted.choice_.candidate
            np.testing.assert_allclose(moved.predict(NEW), fitted.predict(NEW), rtol=1e-9)

    def test_for_repeated_rows_in_another_order(self):
        index = np.random.default_rng(4).integers(0, 60, 120)
        y = Y[index] + 0.1 * np.random.default_rng(5).normal(size=120)
        one = ncl().fit(X[index], y)
        order = np.random.default_rng(6).permutation(120)
        other = ncl().fit(X[index][order], y[order])
        assert one.choice_.gamma == other.choice_.gamma
        np.testing.assert_array_equal(one.choice_.relevance, other.choice_.relevance)
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-9)

    def test_for_weights_and_repeats(self):
        weight = np.random.default_rng(7).integers(0, 3, 90)
        one = ncl().fit(X, Y, sample_weight=weight)
        other = ncl().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
        assert one.choice_.candidate == other.choice_.candidate
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("rows_to_grow", [100, 1000])
    def test_for_weights_and_repeats_of_an_open_size(self, rows_to_grow, monkeypatch):
        monkeypatch.setattr(automatic, "ROWS_TO_GROW", rows_to_grow)
        weight = np.random.default_rng(7).integers(0, 4, 90)
        one = NCLRegressor(random_state=0).fit(X, Y, sample_weight=weight)
        other = NCLRegressor(random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
        np.testing.assert_array_equal(one.basis_.block_starts_, other.basis_.block_starts_)
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-6, atol=1e-8)

    def test_for_a_seed_and_another_for_another(self, fitted):
        np.testing.assert_array_equal(clone(fitted).fit(X, Y).predict(NEW), fitted.predict(NEW))
        other = ncl(random_state=1).fit(X, Y)
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
            assert copy.partial_fit(X, Y).path_.spectrum.weight == 180.0

    def test_for_single_precision(self):
        single = X.astype(np.float32)
        one = ncl().fit(single, Y)
        other = ncl().fit(single.astype(np.float64), Y)
        assert one.choice_.candidate == other.choice_.candidate
        assert one.predict(single).dtype == np.float32
        np.testing.assert_allclose(one.predict(single), other.predict(single), rtol=1e-3, atol=1e-3)


class TestKindsOfInput:
    def test_sparse(self):
        model = ncl().fit(SPARSE, Y)
        assert {c.inputs for c in candidates(model)} == {"standard"}
        assert not any(c.relevant for c in candidates(model))
        assert {c.kernel for c in candidates(model)} == {"laplacian", "rbf", "linear", None}
        assert model.score(SPARSE, Y) > 0.5

    @pytest.mark.parametrize("name", ["rbf", "laplacian", "cauchy", "linear"])
    def test_sparse_or_dense_rows_to_a_model_of_sparse_ones(self, name):
        model = ncl(kernel=name).fit(SPARSE, Y)
        dense = model.predict(SPARSE.toarray())
        np.testing.assert_allclose(model.predict(SPARSE), dense, rtol=1e-6, atol=1e-8)

    def test_sparse_with_given_relevance(self):
        given = [1.0, 1.0, 0.0, 0.5]
        model = ncl(basis="nystroem", gamma="auto", kernel="rbf", relevance=given)
        model.fit(SPARSE, Y)
        assert isinstance(model.basis_, MappedFeatures)
        dense = model.predict(SPARSE.toarray())
        np.testing.assert_allclose(model.predict(SPARSE), dense, rtol=1e-6, atol=1e-8)

    def test_sparse_to_a_model_of_dense_rows(self, fitted):
        np.testing.assert_allclose(fitted.predict(sp.csr_array(NEW)), fitted.predict(NEW))

    def test_several_outputs_share_one_choice(self):
        both = np.column_stack([Y, X[:, 1], np.full(90, 3.0)])
        model = ncl().fit(X, both)
        assert model.predict(NEW).shape == (30, 3)
        np.testing.assert_allclose(model.predict(NEW)[:, 2], 3.0)
        assert model.choice_.relevance is None or model.choice_.relevance[:2].min() > 0.1

    @pytest.mark.parametrize("n_components", [1, 60])
    def test_one_column_and_members_of_any_size(self, n_components):
        model = ncl(n_components=n_components, n_estimators=5, lam=0.5).fit(X[:, :1], Y)
        assert model.choice_ is not None
        assert model.score(X[:, :1], Y) > 0.5

    def test_one_column_of_linear_members_says_what_they_are(self):
        with pytest.warns(IdenticalMembersWarning, match="all 1 columns"):
            ncl(basis="linear", alpha="auto").fit(X[:, :1], Y)

    def test_columns_that_do_not_vary(self):
        constant = np.column_stack([X, np.full(90, 0.1), np.zeros(90)])
        model = ncl().fit(constant, Y)
        assert model.score(constant, Y) > 0.9


@pytest.mark.parametrize("inputs", ["clip", "rank", "none"])
def test_trees_that_are_chosen_are_those_that_were_tried(inputs, monkeypatch):
    monkeypatch.setattr(OpenQuestions, "bases", ("trees",))
    tailed = np.random.default_rng(8).standard_cauchy(size=(90, 4))
    model = ncl(inputs=inputs, n_estimators=50).fit(tailed, Y)
    assert model.choice_.candidate == Candidate("trees", inputs=inputs, alpha=10.0)
    learnt = fit_input_map(inputs, tailed)
    tried = TreeFeatures(50, 5, random_state=0).fit(learnt(tailed)).transform(learnt(tailed))
    np.testing.assert_array_equal(model.basis_.transform(tailed), tried)


def test_a_linear_kernel_can_be_chosen():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(120, 12))
    y = wide @ rng.normal(size=12) + rng.normal(size=120)
    model = ncl(n_components=8).fit(wide, y)
    assert model.choice_.candidate == Candidate("kernel", "linear", alpha=10.0)
    first = members(model)[0]
    assert type(first) is KernelFeatures
    assert first.kernel == "linear"
    assert int(first.block_starts_[-1]) == 12
    assert "kernel linear, inputs standard" in str(model.choice_)


class TestInParts:
    def test_the_first_chunk_chooses(self):
        model = ncl()
        for start in (0, 45):
            model.partial_fit(X[start : start + 45], Y[start : start + 45])
        first = ncl().fit(X[:45], Y[:45])
        assert model.choice_.candidate == first.choice_.candidate
        assert model.choice_.n_rows == 45
        np.testing.assert_array_equal(model.basis_.transform(NEW), first.basis_.transform(NEW))
        assert model.path_.spectrum.weight == 90.0

    def test_all_rows_in_one_chunk_are_a_fit(self, fitted):
        model = ncl().partial_fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), fitted.predict(NEW), rtol=1e-6)

    def test_a_first_chunk_that_is_too_little_gives_plain_features(self):
        model = in_parts(ncl(), slice(0, 20), slice(20, 90))
        assert model.choice_ is None
        plain = in_parts(ncl(**PLAIN), slice(0, 20), slice(20, 90))
        np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))

    def test_rows_are_added_to_a_fit(self, fitted):
        model = clone(fitted).fit(X, Y).partial_fit(NEW, np.sin(2.0 * NEW[:, 0]))
        assert model.path_.spectrum.weight == 120.0
        assert model.choice_.candidate == fitted.choice_.candidate
        assert np.abs(model.predict(NEW) - fitted.predict(NEW)).max() > 0.01

    def test_the_ridge_of_the_first_chunk_stays(self):
        parameters = {"basis": "trees", "n_components": 30, "alpha": "auto"}
        model = ncl(**parameters).partial_fit(X[:60], NOISY[:60])
        alpha = model.choice_.candidate.alpha
        assert alpha > 0
        model.partial_fit(X[60:], NOISY[60:])
        same = ncl(**parameters | {"alpha": alpha}).draw(X[:60])
        same.partial_fit(X[:60], NOISY[:60]).partial_fit(X[60:], NOISY[60:])
        np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), rtol=1e-9)

    @pytest.mark.parametrize(
        "parameters",
        [{}, {"basis": "fourier"}, {"gamma": 0.3}, {**PLAIN, "alpha": "auto"}],
        ids=str,
    )
    def test_a_draw_needs_targets(self, parameters):
        model = ncl(**parameters)
        with pytest.raises(ValueError, match=r"'auto'.*give draw y as well"):
            model.draw(X)
        assert not hasattr(model, "basis_")

    def test_a_draw_with_targets_chooses(self, fitted):
        model = ncl().draw(X, y=Y)
        assert model.choice_.candidate == fitted.choice_.candidate
        one, other = (clone(model).draw(X, y=Y) for _ in range(2))
        both = one.partial_fit(X[:30], Y[:30]).merge(other.partial_fit(X[30:], Y[30:]))
        assert both.choice_.candidate == fitted.choice_.candidate
        np.testing.assert_allclose(both.predict(NEW), fitted.predict(NEW), rtol=1e-6)
        rest = both.subtract(other)
        assert rest.choice_.candidate == fitted.choice_.candidate

    def test_a_draw_needs_no_targets_where_all_is_named(self):
        drawn = ncl(basis="kernel", gamma=0.3).draw(X)
        assert drawn.choice_ is None
        model = in_parts(drawn, slice(0, 30), slice(30, 90))
        whole = ncl(basis="kernel", gamma=0.3).fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-6)

    @pytest.mark.parametrize("n_rows", [90, 90.0, np.int64(90)])
    def test_a_draw_for_as_many_rows_as_it_is_from_is_the_usual_one(self, n_rows, fitted):
        model = ncl().draw(X, y=Y, n_rows=n_rows)
        assert model.basis_.gaps == fitted.basis_.gaps

    def test_a_draw_for_more_rows_has_smaller_gaps(self, fitted):
        model = ncl().draw(X, y=Y, n_rows=900)
        assert model.choice_.candidate == fitted.choice_.candidate
        np.testing.assert_allclose(model.basis_.gaps, np.array(fitted.basis_.gaps) / 10, rtol=1e-3)

    @pytest.mark.parametrize(
        "parameters",
        [{"inputs": "clip"}, {"relevance": np.array([1.0, 2.0, 0.5, 1.0])}, {"basis": "linear"}],
        ids=str,
    )
    def test_mapped_columns_that_are_named_can_be_streamed(self, parameters):
        parameters = {**PLAIN, "n_components": 3} | parameters
        model = ncl(**parameters).draw(X)
        for start in range(0, 90, 30):
            model.partial_fit(X[start : start + 30], Y[start : start + 30])
        whole = ncl(**parameters).fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-6, atol=1e-9)
        assert model.choice_ is None

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("inputs", "rank", "inputs='rank', but the basis was drawn with inputs='clip'"),
            ("gamma", 9.0, "gamma=9.0, but the basis was drawn with gamma='kwok-tsang'"),
            ("n_components", 2, "n_components=2, but the basis was drawn with n_components=5"),
            ("relevance", np.ones(4), r"relevance=array.* was drawn with relevance=array"),
            ("basis", "nystroem", r"basis=Nystroem.* was drawn with basis=Fourier"),
        ],
        ids=str,
    )
    def test_mapped_columns_cannot_be_changed_after_the_draw(self, name, value, words):
        given = {**PLAIN, "inputs": "clip", "relevance": np.array([1.0, 2.0, 0.5, 1.0])}
        model = ncl(**given).partial_fit(X, Y).set_params(**{name: value})
        with pytest.raises(ValueError, match=f"(?s){words}"):
            model.partial_fit(X, Y)


class TestFromChunks:
    CHUNKS = ((X[:40], Y[:40]), (X[40:], Y[40:]))

    def drawn(self, X, y, **parameters):
        model = ncl().draw(X, y=y, **parameters)
        return in_parts(model, slice(0, 40), slice(40, 90))

    def test_all_rows_choose(self, fitted):
        model = scale.fit(ncl(), list(self.CHUNKS))
        assert model.choice_.n_rows == 90
        assert model.choice_.candidate == fitted.choice_.candidate
        drawn = self.drawn(X, Y)
        np.testing.assert_allclose(model.predict(NEW), drawn.predict(NEW), rtol=1e-9)
        np.testing.assert_allclose(model.predict(NEW), fitted.predict(NEW), rtol=1e-6)

    def test_their_order_does_not_matter(self):
        one, other = (scale.fit(ncl(), list(self.CHUNKS)[::step]) for step in (1, -1))
        assert str(one.choice_) == str(other.choice_)
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-9)

    def test_a_sample_chooses_where_there_are_many(self, monkeypatch):
        monkeypatch.setattr(first_pass, "SAMPLE_ROWS", 60)
        model = scale.fit(ncl(), list(self.CHUNKS))
        assert model.choice_.n_rows == 60
        assert model.path_.spectrum.weight == 90.0
        chosen = np.argsort(content_hash(X))[:60]
        drawn = self.drawn(X[chosen], Y[chosen], n_rows=90)
        np.testing.assert_allclose(model.predict(NEW), drawn.predict(NEW), rtol=1e-9)

    def test_several_outputs_are_kept(self):
        both = np.column_stack([Y, X[:, 1]])
        model = scale.fit(ncl(), [(X[:40], both[:40]), (X[40:], both[40:])])
        whole = ncl().fit(X, both)
        assert model.choice_.candidate == whole.choice_.candidate
        np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), rtol=1e-6, atol=1e-8)

    def test_that_can_be_read_once_the_first_chooses(self):
        model = scale.fit(ncl(), iter(self.CHUNKS))
        assert model.choice_.n_rows == 40
        first = ncl().fit(*self.CHUNKS[0])
        np.testing.assert_array_equal(model.basis_.transform(NEW), first.basis_.transform(NEW))

    def test_a_basis_that_was_drawn_stays(self):
        drawn = ncl().draw(X[:60], y=Y[:60])
        model = scale.fit(deepcopy(drawn), list(self.CHUNKS))
        assert model.choice_.n_rows == 60
        np.testing.assert_array_equal(model.basis_.transform(NEW), drawn.basis_.transform(NEW))

    def test_equal_rows_of_several_targets_choose_in_any_order(self):
        parts = [(X, Y), (X, Y + np.random.default_rng(9).normal(size=90))]
        one, other = (scale.fit(ncl(), parts[::step]) for step in (1, -1))
        assert str(one.choice_) == str(other.choice_)


def test_transformers_of_the_user_are_not_searched_for():
    model = ncl(basis=RBFSampler(n_components=4, gamma=0.2), gamma="auto").fit(X, Y)
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
    plain = " ".join(str(ncl(**PLAIN).fit(X, Y).summary()).split())
    assert "Chosen" not in plain
    assert note not in plain


def test_what_was_chosen_is_told_in_all_ways(fitted):
    choice = fitted.choice_
    assert repr(choice).startswith(f"Choice({choice.candidate}; error {choice.best.error:.4g}")
    assert str(choice).count("\n") == len(choice.trials) + 1
    assert choice.optimism == choice.validated - choice.best.error
    assert choice.lines()[: len(choice.members)] == [str(c.candidate) for c in choice.members]


def test_given_columns_of_linear_members_are_kept():
    model = ncl(basis="linear", alpha="auto", n_components=2).fit(X, Y)
    assert members(model)[0].block_starts_.tolist() == list(range(0, 21, 2))


def test_a_search_is_not_linear_in_y():
    with pytest.raises(NotLinearError, match="'auto' is not linear in y"):
        degrees_of_freedom(ncl(lam=0.5), X, Y, method="exact")


def test_columns_that_are_mapped_need_rows_and_not_moments():
    assert not needs_sample(ncl(**PLAIN))
    assert not needs_sample(ncl(basis="fourier", gamma=0.3, standardize=False))
    for parameters in ({"inputs": "clip"}, {"kernel": "laplacian"}, {"basis": "kernel"}):
        model = ncl(**PLAIN | parameters)
        assert needs_sample(model)
        assert not needs_targets(model)
    for parameters in ({}, {"basis": "fourier"}, {"gamma": 0.3}, {**PLAIN, "alpha": "auto"}):
        model = ncl(**parameters)
        assert needs_sample(model)
        assert needs_targets(model)
