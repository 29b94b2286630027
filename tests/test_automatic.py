"""What an ensemble leaves to the data is chosen by its rows, and can be overruled."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler

from negcorr import NCLRegressor, degrees_of_freedom, load, save
from negcorr.automatic import FEWEST_ROWS, open_questions
from negcorr.bases import (
    FourierFeatures,
    LinearFeatures,
    MappedFeatures,
    NestedFeatures,
    NystroemFeatures,
    OrthogonalFourierFeatures,
    TreeFeatures,
)
from negcorr.bases.inputs import fit_input_map
from negcorr.candidates import Candidate
from negcorr.choosing import ALPHAS, OpenQuestions
from negcorr.exceptions import IdenticalMembersWarning, NotLinearError, SearchBoundaryWarning
from negcorr.scale.first_pass import needs_sample

AUTO = {"basis": "auto", "gamma": "auto"}

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=90)
NEW = np.random.default_rng(1).normal(size=(30, 4))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))


def ncl(**parameters):
    return NCLRegressor(**{"n_estimators": 10, "n_components": 5, "random_state": 0} | parameters)


def candidates(model):
    return [trial.candidate for trial in model.choice_.trials]


def members(model):
    """The bases of members that are ensembles themselves, or the one that there is."""
    return getattr(model.basis_, "bases_", [model.basis_])


@pytest.fixture(scope="module")
def fitted():
    return ncl(**AUTO).fit(X, Y)


class TestOpenQuestions:
    def test_nothing_is_open_by_default(self):
        assert open_questions(NCLRegressor()) is None
        assert open_questions(NCLRegressor(gamma=0.3, kernel="laplace", inputs="rank")) is None
        assert open_questions(NCLRegressor(basis=FourierFeatures(), gamma="auto")) is None

    def test_with_basis_and_bandwidth_all_but_the_ridge_are(self):
        assert open_questions(ncl(**AUTO)) == OpenQuestions()
        assert open_questions(ncl(**AUTO, alpha="auto")) == OpenQuestions(alphas=(0.0, *ALPHAS))

    def test_bandwidth_alone_opens_all_but_the_basis(self):
        for basis in ("fourier", "nystroem", "orthogonal"):
            found = open_questions(ncl(basis=basis, gamma="auto"))
            assert found == OpenQuestions(bases=(basis,))

    @pytest.mark.parametrize("basis", ["linear", "trees"])
    def test_there_is_no_bandwidth_to_open_without_a_kernel(self, basis):
        assert open_questions(ncl(basis=basis, gamma="auto")) is None

    @pytest.mark.parametrize("gamma", ["kwok-tsang", 0.3, 2, np.float32(0.5)])
    def test_basis_alone_keeps_the_bandwidth(self, gamma):
        assert open_questions(ncl(basis="auto", gamma=gamma)) == OpenQuestions(bandwidths=(0,))

    def test_ridge_alone_keeps_everything_else_plain(self):
        assert open_questions(ncl(alpha="auto")) == OpenQuestions(
            bases=("fourier",),
            kernels=("gaussian",),
            inputs=("standard",),
            bandwidths=(0,),
            relevance=(False,),
            alphas=(0.0, *ALPHAS),
        )

    @pytest.mark.parametrize(
        ("given", "closed"),
        [
            ({"basis": "nystroem"}, {"bases": ("nystroem",)}),
            ({"kernel": "cauchy"}, {"kernels": ("cauchy",)}),
            ({"inputs": "rank"}, {"inputs": ("rank",)}),
            ({"inputs": "none"}, {"inputs": ("none",)}),
            ({"standardize": False}, {"inputs": ("none",)}),
            ({"relevance": True}, {"relevance": (True,)}),
            ({"relevance": np.False_}, {"relevance": (False,)}),
            ({"relevance": [1.0, 0.0, 1.0, 2.0]}, {"relevance": (False,)}),
            ({"relevance": np.ones(4)}, {"relevance": (False,)}),
            ({"alpha": 0.3}, {"alphas": (0.3,)}),
            ({"gamma": 0.1}, {"bandwidths": (0,)}),
        ],
        ids=str,
    )
    def test_every_one_can_be_closed(self, given, closed):
        assert open_questions(ncl(**AUTO | given)) == OpenQuestions(**closed)


class TestMistakes:
    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"basis": "forest", "gamma": "auto"}, r"basis='forest' is unknown; allowed .*'fou"),
            ({"basis": "forest", "alpha": "auto"}, r"basis='forest' is unknown; allowed .*'fou"),
            ({"kernel": "rbf"}, r"kernel='rbf' is unknown; allowed .*'auto', 'cauchy', 'gauss"),
            ({**AUTO, "kernel": None}, r"kernel=None is unknown; allowed .*'auto'"),
            ({"inputs": "log"}, r"inputs='log' is unknown; allowed .*'auto', 'standard', 'clip'"),
            ({**AUTO, "inputs": 3}, r"inputs=3 is unknown; allowed .*'auto', 'standard', 'clip'"),
            ({**AUTO, "gamma": "median"}, r"gamma='median' .*allowed are 'auto', 'kwok-tsang'"),
            ({**AUTO, "gamma": -1.0}, r"gamma=-1\.0 .*allowed .*numbers > 0"),
            ({**AUTO, "gamma": np.nan}, r"gamma=nan .*allowed .*numbers > 0"),
            ({**AUTO, "gamma": None}, r"gamma=None .*allowed are 'auto', 'kwok-tsang'"),
            ({**AUTO, "gamma": True}, r"gamma=True .*allowed are 'auto', 'kwok-tsang'"),
            ({"alpha": "auto", "gamma": [1.0]}, r"gamma=\[1\.0\] .*allowed are 'auto'"),
            ({"alpha": "most"}, r"alpha='most' must be .*number of at least 0"),
            ({"alpha": "auto", "basis": FourierFeatures()}, r"alpha='auto' needs a basis .*named"),
            ({**AUTO, "alpha": -1.0}, r"alpha=-1\.0 must be a finite number of at least 0"),
            ({"relevance": True}, r"relevance=True .*basis='auto' or gamma='auto'.*each column"),
            ({"relevance": np.True_}, r"relevance=True .*basis='auto' or gamma='auto'"),
            ({**AUTO, "relevance": "all"}, r"relevance='all' .*allowed are 'auto', True, False"),
            ({**AUTO, "relevance": None}, r"relevance=None .*allowed are 'auto', True, False"),
            ({**AUTO, "relevance": [1, 2]}, r"relevance=\[1, 2\] must be 4 finite numbers"),
            ({"relevance": [1, 2, -1, 0]}, r"relevance=\[1, 2, -1, 0\] must be 4 finite numbers"),
            ({**AUTO, "relevance": [0] * 4}, r"relevance is zero for every column"),
            ({**AUTO, "standardize": False, "inputs": "rank"}, r"standardize=False .*inputs='rank"),
            ({"standardize": False, "inputs": "clip"}, r"standardize=False .*inputs='clip"),
            ({"basis": "orthogonal", "gamma": "auto", "kernel": "laplace"}, r"kernel='laplace' is"),
            ({"basis": "orthogonal", "kernel": "laplace"}, r"kernel='laplace' is not known"),
            ({**AUTO, "n_components": 0}, r"n_components=0 must be at least 1"),
        ],
        ids=str,
    )
    def test_are_named_with_what_is_allowed(self, parameters, words):
        model = ncl(**parameters)
        with pytest.raises(ValueError, match=words):
            model.fit(X, Y)
        assert not hasattr(model, "choice_")

    def test_switches_that_are_none(self):
        with pytest.raises(TypeError, match="standardize=1 must be True or False"):
            ncl(**AUTO, standardize=1).fit(X, Y)

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
            ncl(**AUTO, **parameters).fit(SPARSE, Y)


class TestChoice:
    def test_is_none_where_nothing_is_open_and_features_are_the_plain_ones(self):
        model = ncl(basis="fourier", gamma="kwok-tsang").fit(X, Y)
        assert model.choice_ is None
        assert type(model.basis_) is FourierFeatures
        plain = FourierFeatures(10, 5, standardize=True, random_state=0)
        by_hand = NCLRegressor(basis=plain, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(model.predict(NEW), by_hand.predict(NEW))
        assert model.lam_ == by_hand.lam_

    def test_has_all_candidates_and_the_model_is_that_of_the_best(self, fitted):
        choice = fitted.choice_
        assert choice.n_rows == 90
        assert {c.basis for c in candidates(fitted)} >= {"nystroem", "linear", "trees", "fourier"}
        assert choice.candidate.relevant
        assert isinstance(fitted.basis_, NestedFeatures)
        assert len(members(fitted)) == len(choice.members) == 3
        assert choice.members[0].candidate == choice.candidate
        assert len({replace(chosen.candidate, multiple=1.0) for chosen in choice.members}) == 3
        for basis, chosen in zip(members(fitted), choice.members, strict=True):
            assert chosen.candidate in candidates(fitted)
            assert (chosen.relevance is not None) == chosen.candidate.relevant
            assert getattr(basis, "basis_", basis).gamma_ == chosen.gamma
            assert basis.n_members_ == 10 // 3
            if chosen.candidate.relevant:
                assert isinstance(basis, MappedFeatures)
                assert basis.inputs == chosen.candidate.inputs
                np.testing.assert_array_equal(basis.relevance, chosen.relevance)
        assert fitted.basis_.gaps == [chosen.gap for chosen in choice.members]

    @pytest.mark.parametrize(
        "closed", [{"lam": 0.5}, {"criterion": "loo"}, {"n_estimators": 1}], ids=str
    )
    def test_is_one_ensemble_of_plain_members_where_several_make_no_sense(self, closed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SearchBoundaryWarning)
            model = ncl(**AUTO, **closed).fit(X, Y)
        assert len(model.choice_.members) == 1
        assert not isinstance(model.basis_, NestedFeatures)

    def test_is_better_than_what_is_plain(self, fitted):
        truth = np.sin(2.0 * NEW[:, 0]) + 0.3 * NEW[:, 1]
        plain = ncl().fit(X, Y)
        errors = [np.mean((model.predict(NEW) - truth) ** 2) for model in (fitted, plain)]
        assert errors[0] < 0.5 * errors[1]

    @pytest.mark.parametrize("parameters", [{"basis": "auto"}, {"gamma": "auto"}], ids=str)
    def test_is_made_where_one_thing_is_open(self, parameters):
        model = ncl(**parameters).fit(X, Y)
        bases = {c.basis for c in candidates(model)}
        multiples = {c.multiple for c in candidates(model)}
        assert (bases == {"fourier"}) == ("basis" not in parameters)
        assert (multiples == {1.0}) == ("gamma" not in parameters)

    def test_of_a_ridge_is_what_the_path_is_made_with(self):
        noisy = Y + np.random.default_rng(3).normal(size=90)
        model = ncl(basis="trees", n_components=30, alpha="auto").fit(X, noisy)
        assert {c.alpha for c in candidates(model)} == {0.0, *ALPHAS}
        alpha = model.choice_.candidate.alpha
        assert alpha > 0
        same = ncl(basis="trees", n_components=30, alpha=alpha).fit(X, noisy)
        np.testing.assert_array_equal(model.predict(NEW), same.predict(NEW))

    def test_of_another_fit_does_not_linger(self):
        noisy = Y + np.random.default_rng(3).normal(size=90)
        model = ncl(basis="trees", n_components=30, alpha="auto").fit(X, noisy)
        assert model.choice_.candidate.alpha > 0
        few = model.set_params(n_components=3, lam=0.0).fit(X[:20], Y[:20])
        assert few.choice_ is None
        plain = ncl(basis="trees", n_components=3, lam=0.0).fit(X[:20], Y[:20])
        np.testing.assert_array_equal(few.predict(NEW), plain.predict(NEW))

    def test_is_made_by_hand_in_the_same_way(self):
        model = ncl(basis="nystroem", gamma="auto", relevance=True).fit(X, Y)
        candidate, choice = model.choice_.candidate, model.choice_
        bare = NystroemFeatures(10, 5, kernel=candidate.kernel, gamma=choice.gamma, random_state=0)
        basis = MappedFeatures(bare, inputs=candidate.inputs, relevance=choice.relevance)
        by_hand = NCLRegressor(basis=basis).fit(X, Y)
        np.testing.assert_array_equal(model.predict(NEW), by_hand.predict(NEW))


class TestOverruled:
    @pytest.mark.parametrize(
        ("basis", "kind"),
        [
            ("fourier", FourierFeatures),
            ("orthogonal", OrthogonalFourierFeatures),
            ("nystroem", NystroemFeatures),
        ],
    )
    def test_basis(self, basis, kind):
        model = ncl(basis=basis, gamma="auto", relevance=False, inputs="standard").fit(X, Y)
        assert type(model.basis_) is kind
        assert model.basis_.gamma_ == model.choice_.gamma
        assert model.basis_.standardize

    @pytest.mark.parametrize("kernel", ["laplace", "gaussian", "cauchy"])
    def test_kernel(self, kernel):
        model = ncl(**AUTO, kernel=kernel).fit(X, Y)
        assert {c.kernel for c in candidates(model)} <= {kernel, None}
        named = ncl(basis="nystroem", gamma="auto", kernel=kernel, relevance=False).fit(X, Y)
        inner = getattr(named.basis_, "basis_", named.basis_)
        assert inner.kernel == kernel

    def test_bandwidth_by_a_number(self):
        model = ncl(basis="auto", gamma=0.2, kernel="laplace").fit(X, Y)
        assert model.choice_.gamma == 0.2
        assert {chosen.gamma for chosen in model.choice_.members} == {0.2}

    def test_bandwidth_by_the_heuristic(self):
        model = ncl(basis="nystroem", gamma="kwok-tsang", alpha="auto").fit(X, Y)
        plain = NystroemFeatures(standardize=True, random_state=0).fit(X)
        assert model.basis_.gamma_ == pytest.approx(plain.gamma_, rel=1e-6)

    @pytest.mark.parametrize("inputs", ["standard", "clip", "rank", "none"])
    def test_inputs(self, inputs):
        model = ncl(**AUTO, inputs=inputs).fit(X, Y)
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

    @pytest.mark.parametrize("parameters", [AUTO, {"alpha": "auto"}, {}], ids=str)
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
        model = ncl(**AUTO, alpha=0.3).fit(X, Y)
        assert {c.alpha for c in candidates(model)} == {0.3}

    @pytest.mark.parametrize(
        ("given", "gap"), [({"lam": 0.9}, 0.1), ({"gap": 1e-3}, 1e-3), ({"lam": 1.0}, 1e-10)]
    )
    def test_lam(self, given, gap):
        model = ncl(**AUTO, **given).fit(X, Y)
        assert [t.gap for t in model.choice_.trials] == pytest.approx(
            [gap] * len(candidates(model))
        )
        assert model.gap_ == pytest.approx(0.0 if gap == 1e-10 else gap)

    def test_lam_of_each_output(self):
        both = np.column_stack([Y, X[:, 1]])
        model = ncl(**AUTO, gap=[0.1, 0.001]).fit(X, both)
        assert model.choice_.best.gap == pytest.approx(0.01)
        np.testing.assert_array_equal(model.gap_, [0.1, 0.001])


class TestTooLittle:
    def test_to_search_by_gives_plain_features(self):
        for rows, y in ((FEWEST_ROWS - 1, Y), (90, np.full(90, 0.1))):
            model = ncl(**AUTO, alpha="auto", lam=0.5).fit(X[:rows], y[:rows])
            assert model.choice_ is None
            plain = ncl(lam=0.5).fit(X[:rows], y[:rows])
            np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))

    def test_is_counted_in_distinct_rows_of_positive_weight(self):
        few = np.tile(X[: FEWEST_ROWS - 1], (3, 1))
        assert ncl(**AUTO).fit(few, np.tile(Y[: FEWEST_ROWS - 1], 3)).choice_ is None
        weight = np.where(np.arange(90) < FEWEST_ROWS - 1, 1.0, 0.0)
        assert ncl(**AUTO).fit(X, Y, sample_weight=weight).choice_ is None
        enough = ncl(basis="auto")
        assert enough.fit(X[:FEWEST_ROWS], Y[:FEWEST_ROWS]).choice_ is not None

    @pytest.mark.parametrize("weight", [None, "some"])
    def test_is_a_target_that_does_not_vary_whatever_the_weights(self, weight):
        w = None if weight is None else np.random.default_rng(2).uniform(0.5, 3.0, 180)
        twice, y = np.tile(X, (2, 1)), np.full(180, 0.1)
        assert ncl(**AUTO, lam=0.5).fit(twice, y, sample_weight=w).choice_ is None

    def test_keeps_what_is_given(self):
        given = {"kernel": "laplace", "inputs": "rank", "relevance": [1.0, 0.0, 1.0, 1.0]}
        model = ncl(**AUTO, **given).fit(X[:20], Y[:20])
        assert model.basis_.inputs == "rank"
        assert model.basis_.basis_.kernel == "laplace"

    @pytest.mark.parametrize("relevance", [True, np.True_])
    def test_learns_no_relevance_either(self, relevance):
        model = ncl(**AUTO, relevance=relevance).fit(X[:20], Y[:20])
        assert type(model.basis_) is FourierFeatures
        assert model.relevance is relevance


class TestSameAnswer:
    def test_for_rows_in_another_order(self, fitted):
        for seed in range(2):
            order = np.random.default_rng(seed).permutation(90)
            moved = ncl(**AUTO).fit(X[order], Y[order])
            assert moved.choice_.candidate == fitted.choice_.candidate
            np.testing.assert_allclose(moved.predict(NEW), fitted.predict(NEW), rtol=1e-9)

    def test_for_repeated_rows_in_another_order(self):
        index = np.random.default_rng(4).integers(0, 60, 120)
        y = Y[index] + 0.1 * np.random.default_rng(5).normal(size=120)
        one = ncl(**AUTO).fit(X[index], y)
        order = np.random.default_rng(6).permutation(120)
        other = ncl(**AUTO).fit(X[index][order], y[order])
        assert one.choice_.gamma == other.choice_.gamma
        np.testing.assert_array_equal(one.choice_.relevance, other.choice_.relevance)
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-9)

    def test_for_weights_and_repeats(self):
        weight = np.random.default_rng(7).integers(0, 3, 90)
        one = ncl(**AUTO).fit(X, Y, sample_weight=weight)
        other = ncl(**AUTO).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
        assert one.choice_.candidate == other.choice_.candidate
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-6, atol=1e-8)

    def test_for_a_seed_and_another_for_another(self, fitted):
        np.testing.assert_array_equal(clone(fitted).fit(X, Y).predict(NEW), fitted.predict(NEW))
        other = ncl(**AUTO, random_state=1).fit(X, Y)
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
            np.testing.assert_array_equal(copy.choice_.relevance, fitted.choice_.relevance)

    def test_for_single_precision(self):
        single = X.astype(np.float32)
        one = ncl(**AUTO).fit(single, Y)
        other = ncl(**AUTO).fit(single.astype(np.float64), Y)
        assert one.choice_.candidate == other.choice_.candidate
        assert one.predict(single).dtype == np.float32
        np.testing.assert_allclose(one.predict(single), other.predict(single), rtol=1e-3, atol=1e-3)


class TestKindsOfInput:
    def test_sparse(self):
        model = ncl(**AUTO).fit(SPARSE, Y)
        assert {c.inputs for c in candidates(model)} == {"standard"}
        assert not any(c.relevant for c in candidates(model))
        assert "linear" not in {c.basis for c in candidates(model)}
        dense = model.predict(SPARSE.toarray())
        np.testing.assert_allclose(model.predict(SPARSE), dense, rtol=1e-6, atol=1e-8)

    def test_sparse_with_given_relevance(self):
        given = [1.0, 1.0, 0.0, 0.5]
        model = ncl(basis="nystroem", gamma="auto", kernel="gaussian", relevance=given)
        model.fit(SPARSE, Y)
        assert isinstance(model.basis_, MappedFeatures)
        dense = model.predict(SPARSE.toarray())
        np.testing.assert_allclose(model.predict(SPARSE), dense, rtol=1e-6, atol=1e-8)

    def test_sparse_to_a_model_of_dense_rows(self, fitted):
        np.testing.assert_allclose(fitted.predict(sp.csr_array(NEW)), fitted.predict(NEW))

    def test_several_outputs_share_one_choice(self):
        both = np.column_stack([Y, X[:, 1], np.full(90, 3.0)])
        model = ncl(**AUTO).fit(X, both)
        assert model.predict(NEW).shape == (30, 3)
        np.testing.assert_allclose(model.predict(NEW)[:, 2], 3.0)
        assert model.choice_.relevance is None or model.choice_.relevance[:2].min() > 0.1

    @pytest.mark.parametrize("n_components", [1, 60])
    def test_one_column_and_members_of_any_size(self, n_components):
        model = ncl(**AUTO, n_components=n_components, n_estimators=5, lam=0.5)
        assert model.fit(X[:, :1], Y).choice_ is not None
        assert "linear" not in {c.basis for c in candidates(model)}

    def test_one_column_of_linear_members_says_what_they_are(self):
        with pytest.warns(IdenticalMembersWarning, match="all 1 columns"):
            ncl(basis="linear", alpha="auto").fit(X[:, :1], Y)

    def test_columns_that_do_not_vary(self):
        constant = np.column_stack([X, np.full(90, 0.1), np.zeros(90)])
        model = ncl(**AUTO).fit(constant, Y)
        assert np.isfinite(model.predict(constant)).all()


@pytest.mark.parametrize("inputs", ["clip", "rank", "none"])
def test_trees_that_are_chosen_are_those_that_were_tried(inputs, monkeypatch):
    monkeypatch.setattr(OpenQuestions, "bases", ("trees",))
    tailed = np.random.default_rng(8).standard_cauchy(size=(90, 4))
    model = ncl(basis="auto", inputs=inputs, n_estimators=50).fit(tailed, Y)
    assert model.choice_.candidate == Candidate("trees", inputs=inputs)
    learnt = fit_input_map(inputs, tailed)
    tried = TreeFeatures(50, 5, random_state=0).fit(learnt(tailed)).transform(learnt(tailed))
    np.testing.assert_array_equal(model.basis_.transform(tailed), tried)


def test_linear_members_can_be_chosen():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(120, 12))
    y = wide @ rng.normal(size=12) + rng.normal(size=120)
    model = ncl(**AUTO, n_components=8).fit(wide, y)
    assert model.choice_.candidate.basis == "linear"
    first = members(model)[0]
    assert type(getattr(first, "basis_", first)) is LinearFeatures
    assert "linear" in str(model.choice_)


class TestInParts:
    def test_the_first_chunk_chooses(self):
        model = ncl(**AUTO)
        for start in (0, 45):
            model.partial_fit(X[start : start + 45], Y[start : start + 45])
        first = ncl(**AUTO).fit(X[:45], Y[:45])
        assert model.choice_.candidate == first.choice_.candidate
        assert model.choice_.n_rows == 45
        np.testing.assert_array_equal(model.basis_.transform(NEW), first.basis_.transform(NEW))
        assert model.path_.spectrum.weight == 90.0

    def test_all_rows_in_one_chunk_are_a_fit(self, fitted):
        model = ncl(**AUTO).partial_fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), fitted.predict(NEW), rtol=1e-6)

    def test_the_ridge_of_the_first_chunk_stays(self):
        noisy = Y + np.random.default_rng(3).normal(size=90)
        parameters = {"basis": "trees", "n_components": 30, "alpha": "auto"}
        model = ncl(**parameters).partial_fit(X[:60], noisy[:60])
        alpha = model.choice_.candidate.alpha
        assert alpha > 0
        model.partial_fit(X[60:], noisy[60:])
        same = ncl(**parameters | {"alpha": alpha}).draw(X[:60])
        same.partial_fit(X[:60], noisy[:60]).partial_fit(X[60:], noisy[60:])
        np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), rtol=1e-9)

    @pytest.mark.parametrize("parameters", [AUTO, {"gamma": "auto"}, {"alpha": "auto"}], ids=str)
    def test_a_draw_needs_targets(self, parameters):
        model = ncl(**parameters)
        with pytest.raises(ValueError, match=r"'auto'.*give draw y as well"):
            model.draw(X)
        assert not hasattr(model, "basis_")

    def test_a_draw_with_targets_chooses(self, fitted):
        model = ncl(**AUTO).draw(X, y=Y)
        assert model.choice_.candidate == fitted.choice_.candidate
        one, other = (clone(model).draw(X, y=Y) for _ in range(2))
        both = one.partial_fit(X[:30], Y[:30]).merge(other.partial_fit(X[30:], Y[30:]))
        assert both.choice_.candidate == fitted.choice_.candidate
        np.testing.assert_allclose(both.predict(NEW), fitted.predict(NEW), rtol=1e-6)
        rest = both.subtract(other)
        assert rest.choice_.candidate == fitted.choice_.candidate

    @pytest.mark.parametrize(
        "parameters",
        [{"inputs": "clip"}, {"relevance": np.array([1.0, 2.0, 0.5, 1.0])}, {"basis": "linear"}],
        ids=str,
    )
    def test_mapped_columns_that_are_named_can_be_streamed(self, parameters):
        parameters = {"n_components": 3} | parameters
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
        given = {"inputs": "clip", "relevance": np.array([1.0, 2.0, 0.5, 1.0])}
        model = ncl(**given).partial_fit(X, Y).set_params(**{name: value})
        with pytest.raises(ValueError, match=f"(?s){words}"):
            model.partial_fit(X, Y)


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
    assert f"{fitted.choice_.n_tried} trials on 90 rows" in text
    assert "Chosen" not in str(ncl().fit(X, Y).summary())


def test_given_columns_of_linear_members_are_kept():
    model = ncl(basis="linear", alpha="auto", n_components=2).fit(X, Y)
    assert members(model)[0].block_starts_.tolist() == list(range(0, 21, 2))


def test_a_search_is_not_linear_in_y():
    with pytest.raises(NotLinearError, match="'auto' is not linear in y"):
        degrees_of_freedom(ncl(**AUTO, lam=0.5), X, Y, method="exact")


def test_columns_that_are_mapped_need_rows_and_not_moments():
    assert not needs_sample(ncl())
    assert not needs_sample(ncl(gamma=0.3, standardize=False))
    for parameters in ({"inputs": "clip"}, {"kernel": "laplace"}, AUTO, {"gamma": "auto"}):
        assert needs_sample(ncl(**parameters))
