"""An AutoBasis describes what may be chosen; its mistakes are named with what is allowed."""

import numpy as np
import pytest
import scipy.sparse as sp
from models import auto

from negcorr import NCLRegressor
from negcorr.bases import AutoBasis, FourierFeatures
from negcorr.bases.named import BASES
from negcorr.selection.space import ALPHAS, SearchSpace, search_space

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=90)
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))


class TestSpace:
    def test_has_everything_open_by_default_but_the_ridge(self):
        assert search_space(AutoBasis(), None) == SearchSpace(alphas=(10.0,))
        assert search_space(AutoBasis(), "auto") == SearchSpace(alphas=(10.0, *ALPHAS))

    @pytest.mark.parametrize(
        ("given", "lines"),
        [
            ({}, 5),
            ({"kernels": ("rbf", "cauchy")}, 2 + 3),
            ({"kernels": "cauchy", "inputs": ("none", "rank")}, 2),
            ({"kernels": ("rbf", "laplacian"), "inputs": ("none", "rank")}, 2 + 1),
            ({"inputs": "none"}, 3),
        ],
        ids=str,
    )
    def test_tries_every_kernel_that_it_has(self, given, lines):
        space = search_space(AutoBasis(**given), None)
        found = space.lines("kernel")
        assert {line.kernel for line in found} == set(space.kernels)
        assert {line.inputs for line in found} <= set(space.inputs)
        assert len(found) == len(set(found)) == lines

    @pytest.mark.parametrize("basis", BASES)
    def test_of_one_basis_has_the_ridge_that_suits_it(self, basis):
        alpha = 10.0 if basis == "kernel" else 0.0
        expected = SearchSpace(bases=(basis,), alphas=(alpha,))
        assert search_space(AutoBasis(basis), None) == expected

    @pytest.mark.parametrize(
        ("basis", "alphas"),
        [("fourier", ALPHAS), ("kernel", (10.0, *ALPHAS))],
    )
    def test_of_a_ridge_alone_has_single_values_for_all_else(self, basis, alphas):
        given = {"kernels": "rbf", "inputs": "standard", "gamma": "kwok-tsang"}
        found = search_space(AutoBasis(basis, **given, relevance=False, subspace=1.0), "auto")
        assert found == SearchSpace(
            bases=(basis,),
            kernels=("rbf",),
            inputs=("standard",),
            gamma="kwok-tsang",
            relevance=(False,),
            alphas=alphas,
            subspace=1.0,
        )

    @pytest.mark.parametrize(
        ("given", "closed"),
        [
            ({"bases": ("trees", "kernel", "trees")}, {"bases": ("trees", "kernel")}),
            ({"kernels": "cauchy"}, {"kernels": ("cauchy",)}),
            ({"kernels": ["linear"]}, {"kernels": ("linear",)}),
            ({"kernels": ("rbf", "laplacian")}, {"kernels": ("rbf", "laplacian")}),
            ({"inputs": "rank"}, {"inputs": ("rank",)}),
            ({"inputs": ("none", "clip")}, {"inputs": ("none", "clip")}),
            ({"relevance": True}, {"relevance": (True,)}),
            ({"relevance": np.False_}, {"relevance": (False,)}),
            ({"subspace": 0.25}, {"subspace": 0.25}),
            ({"subspace": 1}, {"subspace": 1.0}),
            ({"gamma": 0.1}, {"gamma": 0.1}),
            ({"gamma": 2}, {"gamma": 2.0}),
            ({"gamma": np.float32(0.5)}, {"gamma": 0.5}),
            ({"gamma": "kwok-tsang"}, {"gamma": "kwok-tsang"}),
            ({"n_members": 7, "n_components": 3}, {"n_members": 7, "n_components": 3}),
            ({"max_members": 1}, {"max_members": 1}),
            ({"budget": np.int64(50)}, {"budget": 50}),
        ],
        ids=str,
    )
    def test_has_no_choice_where_a_single_value_is_given(self, given, closed):
        expected = SearchSpace(**{"alphas": (10.0,)} | closed)
        assert search_space(AutoBasis(**given), None) == expected

    @pytest.mark.parametrize("alpha", [0.3, 0, np.float64(2.0)])
    def test_has_a_given_ridge(self, alpha):
        assert search_space(AutoBasis(), alpha).alphas == (float(alpha),)

    @pytest.mark.parametrize("relevance", [[1.0, 0.0, 1.0, 2.0], np.ones(4)], ids=str)
    def test_with_given_relevance_learns_none(self, relevance):
        space = search_space(AutoBasis(relevance=relevance), None)
        assert space.relevance == (False,)
        assert space.given_relevance is relevance

    def test_takes_several_candidates_together_where_there_are_kernels_of_their_own(self):
        assert SearchSpace().several
        assert not SearchSpace(max_members=1).several
        assert not SearchSpace(bases=("fourier", "trees")).several


class TestRowsDecide:
    def test_nothing_where_they_are_dense(self):
        assert SearchSpace().suited_to(X) == SearchSpace()

    def test_that_one_column_makes_no_linear_members(self):
        assert "linear" not in SearchSpace(bases=("linear", "trees")).suited_to(X[:, :1]).bases
        assert SearchSpace(bases=("linear",)).suited_to(X[:, :1]).bases == ("linear",)

    def test_that_sparse_ones_are_mapped_by_what_keeps_them_sparse(self):
        space = SearchSpace(inputs=("clip", "standard", "rank", "none")).suited_to(SPARSE)
        assert space.inputs == ("standard", "none")
        assert space.relevance == (False,)
        assert space.subspace == 1.0
        assert SearchSpace(inputs=("rank",)).suited_to(SPARSE).inputs == ("rank",)
        assert SearchSpace(subspace=0.5).suited_to(SPARSE).subspace == 0.5


class TestMistakes:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"bases": "forest"}, r"bases='forest' is unknown; allowed .*'fourier', 'orthogonal'"),
            ({"bases": ("kernel", "forest")}, r"bases=\('kernel', 'forest'\) is unknown"),
            ({"bases": ()}, r"bases=\(\) is unknown; allowed .*one or several"),
            ({"bases": None}, r"bases=None is unknown"),
            ({"bases": FourierFeatures()}, r"bases=FourierFeatures\(\) is unknown"),
            ({"kernels": "gaussian"}, r"kernels='gaussian' is unknown; .*'rbf', 'laplacian'"),
            ({"kernels": None}, r"kernels=None is unknown; allowed"),
            ({"bases": "orthogonal", "kernels": "laplacian"}, r"kernels='laplacian' has no 'rbf'"),
            ({"subspace": 0}, r"subspace=0 must be above 0 and at most 1"),
            ({"subspace": 1.5, "bases": "fourier"}, r"subspace=1.5 must be above 0 and at most 1"),
            (
                {"subspace": 0.5, "bases": "trees"},
                r"subspace=0.5 is not known to bases='trees'; allowed are 1, 'auto', and the bases",
            ),
            (
                {"subspace": 0.5, "bases": "orthogonal"},
                r"subspace=0.5 is not known to bases='orthogonal'; allowed are 1, 'auto'",
            ),
            (
                {"subspace": 0.5, "bases": "kernel", "kernels": "linear"},
                r"subspace=0.5 is not known to kernel='linear'",
            ),
            ({"inputs": "log"}, r"inputs='log' is unknown; allowed .*'standard', 'clip'"),
            ({"inputs": 3}, r"inputs=3 is unknown; allowed .*'standard', 'clip'"),
            ({"inputs": "auto"}, r"inputs='auto' is unknown; allowed .*'standard', 'clip'"),
            ({"gamma": "median"}, r"gamma='median' .*allowed are 'auto', 'kwok-tsang'"),
            ({"gamma": -1.0}, r"gamma=-1\.0 .*allowed .*numbers > 0"),
            ({"gamma": np.nan}, r"gamma=nan .*allowed .*numbers > 0"),
            ({"gamma": np.inf}, r"gamma=inf .*allowed .*numbers > 0"),
            ({"gamma": None}, r"gamma=None .*allowed are 'auto', 'kwok-tsang'"),
            ({"gamma": True}, r"gamma=True .*allowed are 'auto', 'kwok-tsang'"),
            ({"gamma": [1.0]}, r"gamma=\[1\.0\] .*allowed are 'auto'"),
            ({"relevance": "all"}, r"relevance='all' .*allowed are 'auto', True, False"),
            ({"relevance": None}, r"relevance=None .*allowed are 'auto', True, False"),
            ({"relevance": [1, 2]}, r"relevance=\[1, 2\] must be None or 4 finite numbers"),
            ({"relevance": [1, 2, -1, 0]}, r"relevance=\[1, 2, -1, 0\] must be None or 4 finite"),
            ({"relevance": [0] * 4}, r"relevance is zero for every column"),
            ({"n_components": 0}, r"n_components=0 must be at least 1"),
            ({"n_members": 0}, r"n_members=0 must be at least 1"),
            ({"n_members": "many"}, r"n_members='many' must be 'auto' or an integer of at"),
            ({"max_members": 0}, r"max_members=0 must be at least 1"),
            ({"budget": 0}, r"budget=0 must be at least 1"),
            ({"budget": -3, "n_members": "auto"}, r"budget=-3 must be at least 1"),
        ],
        ids=str,
    )
    def test_are_named_with_what_is_allowed(self, given, words):
        model = NCLRegressor(AutoBasis(**given))
        with pytest.raises(ValueError, match=words):
            model.fit(X, Y)
        assert not hasattr(model, "choice_")

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"n_members": 2.5}, r"n_members=2\.5 must be an integer, got float"),
            ({"n_members": True}, r"n_members=True must be an integer, got bool"),
            ({"n_members": None}, r"n_members=None must be an integer, got NoneType"),
            ({"max_members": "auto"}, r"max_members='auto' must be an integer, got str"),
            ({"subspace": "half"}, r"subspace='half' must be a number"),
            ({"subspace": None}, r"subspace=None must be a number"),
            ({"budget": 2.5}, r"budget=2\.5 must be an integer, got float"),
            ({"budget": "auto"}, r"budget='auto' must be an integer, got str"),
            ({"budget": None}, r"budget=None must be an integer, got NoneType"),
        ],
        ids=str,
    )
    def test_of_type_are_named_with_what_is_allowed(self, given, words):
        for fit in ("fit", "partial_fit"):
            with pytest.raises(TypeError, match=words):
                getattr(NCLRegressor(AutoBasis(**given)), fit)(X, Y)

    @pytest.mark.parametrize("basis", ["auto", AutoBasis("trees"), "fourier", FourierFeatures()])
    @pytest.mark.parametrize("alpha", ["most", -1.0, np.nan, True, [1.0]], ids=str)
    def test_in_the_ridge_are_named_with_what_is_allowed(self, basis, alpha):
        with pytest.raises((TypeError, ValueError), match=r"alpha=.* must be .*of at least 0"):
            NCLRegressor(basis, alpha=alpha).fit(X, Y)

    @pytest.mark.parametrize("basis", ["fourier", "kernel", FourierFeatures()], ids=str)
    def test_are_ridges_to_be_tried_where_nothing_is_searched_for(self, basis):
        words = "alpha='auto' must be None or a .*number.*; 'auto' needs basis='auto' or an AutoB"
        with pytest.raises(ValueError, match=words):
            NCLRegressor(basis, alpha="auto").fit(X, Y)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"inputs": "clip"}, r"inputs='clip' .*allowed for sparse X are 'standard' and 'none'"),
            ({"inputs": "rank"}, r"inputs='rank' .*allowed for sparse X are 'standard' and 'none'"),
            ({"relevance": True}, r"relevance=True .*sparse X; allowed are 'auto', False"),
        ],
        ids=str,
    )
    def test_in_what_sparse_rows_can_have_done_to_them(self, given, words):
        with pytest.raises(ValueError, match=words):
            auto(**given).fit(SPARSE, Y)
