"""What is open is chosen by leave-one-out; what is given is left alone."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.rows.rows import Rows
from negcorr.selection import choose as choosing
from negcorr.selection import sample as sampling
from negcorr.selection.choose import (
    FAR_OFF,
    INNER_GAPS,
    MOST_RESCORED,
    STANDARD_ERRORS,
    WORTH_RESCORING,
    Choice,
    Chosen,
    _not_clearly_worse,
    _validated,
    choose,
)
from negcorr.selection.relevance import Relevance
from negcorr.selection.sample import PARTS, SearchSample, Trial
from negcorr.selection.search import (
    FEWEST_COLUMNS,
    LATTICE,
    LINES_FOR_RELEVANCE,
    START,
    WIDE,
    WORTH_FOLLOWING,
    at,
)
from negcorr.selection.space import ALPHAS, LINES, Candidate, SearchSpace

#: Everything closed.
CLOSED = {
    "bases": ("kernel",),
    "kernels": ("rbf",),
    "inputs": ("standard",),
    "gamma": "kwok-tsang",
    "relevance": (False,),
}

#: What is open in every way.
ALL_ALPHAS = (10.0, *ALPHAS)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Candidates one after the other, so that what is asked comes in an order."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("choose", "search"):
            patch.setattr(
                f"negcorr.selection.{module}.spread", lambda work, items: [work(e) for e in items]
            )
        yield


class Table:
    """A sample whose errors are a function of the candidate, the same on all parts and rows."""

    def __init__(self, error, strength=1.0):
        self.error, self.strength = error, strength
        self.tried, self.prepared, self.tried_again = [], [], []
        self.weight, self.n_rows, self.seed = np.ones(100), 100, 0
        self.n_distinct, self.larger, self.X = 100, None, np.empty((100, 3))

    def prepare(self, candidates):
        self.prepared.append(list(candidates))

    def trial_of(self, candidate, by_own_rows=False):
        (self.tried_again if by_own_rows else self.tried).append(candidate)
        error = self.error(candidate)
        parts = np.full((1, PARTS), 100.0 * error / PARTS)
        return Trial(candidate, parts, np.full(100, error), error, self.strength)

    def relevance_of(self, candidate, learnt_from):
        assert learnt_from == "all"
        columns = np.array([1.0, 0.5])
        return Relevance(columns, 0.1, np.empty(0)) if candidate.relevant else None

    def gamma(self, candidate, learnt_from):
        assert learnt_from == "all"
        return 0.1 * candidate.multiple


def chosen(sample, weight=None, **space):
    """The choice of one candidate, unless more are asked for, from a space with all else open."""
    space = SearchSpace(**{"max_members": 1, "n_components": 8} | space)
    if isinstance(sample, Table):
        sample.space = space
        return choose(sample, weight)
    return choose(replace(sample, space=space), weight)


def log_multiple(candidate):
    return round(2.0 * np.log10(candidate.multiple))


def steps(tried, **which):
    """Points of the lattice that were tried, of those candidates."""
    return [log_multiple(c) for c in tried if all(getattr(c, k) == v for k, v in which.items())]


def real_sample(kind, n=100, order=None, seed=3):
    rng = np.random.default_rng(3)
    if kind == "one useful column":
        X = rng.normal(size=(n, 5))
        y = np.sin(2.5 * X[:, :1]) + 0.05 * rng.normal(size=(n, 1))
    else:  # linear in many columns
        X = rng.normal(size=(n, 8))
        y = X @ rng.normal(size=(8, 1)) + rng.normal(size=(n, 1))
    if order is not None:
        X, y = X[order], y[order]
    return SearchSample.of(Rows(X, y), SearchSpace(n_components=8), seed)


class TestLines:
    def names(self, basis, **closed):
        return [(c.kernel, c.inputs) for c in SearchSpace(**closed).lines(basis)]

    def test_of_kernels_are_those_that_suit_each_other(self):
        assert self.names("kernel") == list(LINES)

    @pytest.mark.parametrize(
        ("closed", "expected"),
        [
            ({"kernels": ("laplacian",)}, [("laplacian", "clip"), ("laplacian", "rank")]),
            ({"kernels": ("rbf",)}, [("rbf", "clip"), ("rbf", "standard")]),
            ({"kernels": ("linear",)}, [("linear", "standard")]),
            (
                {"inputs": ("clip",)},
                [("laplacian", "clip"), ("rbf", "clip"), ("linear", "clip")],
            ),
            ({"kernels": ("linear",), "inputs": ("rank",)}, [("linear", "rank")]),
            ({"kernels": ("rbf",), "inputs": ("rank",)}, [("rbf", "rank")]),
            (
                {"kernels": ("cauchy",)},
                [("cauchy", "clip"), ("cauchy", "standard"), ("cauchy", "rank")],
            ),
            (
                {"inputs": ("none",)},
                [("laplacian", "none"), ("rbf", "none"), ("linear", "none")],
            ),
        ],
        ids=str,
    )
    def test_of_kernels_are_all_that_is_left_where_none_of_these_is(self, closed, expected):
        assert self.names("kernel", **closed) == expected

    @pytest.mark.parametrize("basis", ["nystroem", "fourier"])
    def test_of_other_features_have_no_linear_kernel(self, basis):
        assert self.names(basis) == [pair for pair in LINES if pair[0] != "linear"]
        few = self.names(basis, inputs=("none",))
        assert few == [("laplacian", "none"), ("rbf", "none")]

    def test_of_orthogonal_frequencies_are_of_the_gaussian_kernel(self):
        expected = [("rbf", "clip"), ("rbf", "standard")]
        assert self.names("orthogonal") == expected

    def test_of_other_features_need_no_linear_kernel_to_leave_out(self):
        few = self.names("fourier", kernels=("laplacian", "rbf"), inputs=("clip",))
        assert few == [("laplacian", "clip"), ("rbf", "clip")]

    @pytest.mark.parametrize("basis", ["kernel", "fourier", "orthogonal"])
    def test_are_at_the_heuristic_with_the_first_ridge(self, basis):
        for relevance, relevant in (((True,), True), ((False,), False), ((False, True), False)):
            for line in SearchSpace(relevance=relevance, alphas=(3.0, 0.0)).lines(basis):
                assert line.basis == basis
                assert line.multiple == 1.0
                assert line.alpha == 3.0
                assert line.relevant == relevant

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(data=st.data())
    def test_are_never_of_what_is_closed(self, data):
        def some(values):
            return tuple(data.draw(st.lists(st.sampled_from(values), min_size=1, unique=True)))

        kernels, inputs = some(SearchSpace().kernels), some((*SearchSpace().inputs, "none"))
        basis = data.draw(st.sampled_from(["kernel", "nystroem", "fourier"]))
        if basis != "kernel":
            kernels = (*kernels, "linear") if "linear" not in kernels else kernels
        names = self.names(basis, kernels=kernels, inputs=inputs)
        assert names
        assert len(set(names)) == len(names)
        assert {kernel for kernel, _ in names} <= set(kernels)
        assert {kind for _, kind in names} <= set(inputs)
        assert basis == "kernel" or kernels == ("linear",) or "linear" not in dict(names)


class TestWalk:
    @pytest.mark.parametrize("best", LATTICE)
    def test_finds_the_best_bandwidth_and_stops_one_step_behind(self, best):
        sample = Table(lambda c: 1.0 + 0.01 * abs(log_multiple(c) - best))
        choice = chosen(sample, **CLOSED | {"gamma": None})
        assert log_multiple(choice.candidate) == best
        assert choice.gamma == 0.1 * 10.0 ** (best / 2.0)
        tried = sorted(steps(sample.tried))
        near = {i for i in (best - 1, best, best + 1) if i in LATTICE}
        between = set(range(min(*START, best), max(*START, best) + 1))
        assert set(tried) == near | between
        assert len(set(tried)) == len(tried)

    def test_does_not_go_on_with_a_line_that_is_far_behind(self):
        def error(candidate):
            far = WORTH_FOLLOWING + 0.1 if candidate.kernel == "rbf" else 1.0
            return far - 0.001 * log_multiple(candidate)

        sample = Table(error)
        given = CLOSED | {"kernels": ("laplacian", "rbf"), "inputs": ("clip",)}
        choice = chosen(sample, **given | {"gamma": None})
        assert choice.candidate.kernel == "laplacian"
        assert sorted(steps(sample.tried, kernel="rbf")) == sorted(START)
        assert max(steps(sample.tried, kernel="laplacian")) == max(LATTICE)

    def test_goes_on_with_a_line_that_is_close_behind_and_overtakes(self):
        def error(candidate):
            i = log_multiple(candidate)
            return 1.1 + 0.2 * i if candidate.kernel == "rbf" else 1.0

        sample = Table(error)
        given = CLOSED | {"kernels": ("laplacian", "rbf"), "inputs": ("clip",)}
        choice = chosen(sample, **given | {"gamma": None})
        line = Candidate("kernel", "rbf", inputs="clip")
        assert choice.candidate == at(line, min(LATTICE))

    def test_leaves_a_linear_kernel_alone(self):
        sample = Table(lambda c: 1.0 - 0.1 * log_multiple(c) - 0.01 * (c.kernel == "linear"))
        chosen(sample, bases=("kernel",))
        assert steps(sample.tried, kernel="linear") == [0]
        assert max(steps(sample.tried, kernel="laplacian")) == max(LATTICE)

    def test_leaves_relevance_at_the_bandwidth_that_comes_with_it(self):
        sample = Table(lambda c: 1.0 - 0.1 * log_multiple(c))
        choice = chosen(sample, bases=("kernel",), relevance=(True,))
        assert set(steps(sample.tried)) == {0}
        assert len(sample.tried) == len(LINES)
        assert choice.candidate.relevant

    def test_leaves_the_bandwidths_alone_that_are_given(self):
        sample = Table(lambda c: 1.0 - 0.1 * log_multiple(c))
        chosen(sample, gamma="kwok-tsang")
        assert set(steps(sample.tried)) == {0}
        sample = Table(lambda c: 1.0 - 0.1 * log_multiple(c))
        choice = chosen(sample, **CLOSED | {"gamma": 0.7})
        assert steps(sample.tried) == [0]
        assert choice.candidate.multiple == 1.0

    def test_asks_nothing_twice_and_prepares_all_that_it_asks(self):
        rng = np.random.default_rng(0)
        sample = Table(lambda c: rng.uniform(1.0, 1.1))
        choice = chosen(sample, alphas=ALL_ALPHAS)
        assert len(set(sample.tried)) == len(sample.tried) == len(choice.trials)
        assert list(itertools.chain(*sample.prepared)) == sample.tried

    def test_takes_two_steps_a_decade(self):
        line = Candidate("kernel", "laplacian", inputs="clip")
        assert at(line, 0) == line
        multiples = [at(line, i).multiple for i in LATTICE]
        np.testing.assert_allclose(np.diff(np.log10(multiples)), 0.5)
        assert (min(multiples), max(multiples)) == pytest.approx((0.01, 10.0**1.5))


class TestQuestions:
    def test_all_open_ones_are_asked(self):
        def error(c):
            return 1.0 - 0.1 * (c.kernel == "rbf") - 0.3 * (c.basis == "trees")

        sample = Table(error)
        chosen(sample, alphas=ALL_ALPHAS)
        asked = {
            name: {getattr(c, name) for c in sample.tried}
            for name in ("basis", "kernel", "inputs", "relevant", "alpha")
        }
        assert asked == {
            "basis": set(SearchSpace().bases),
            "kernel": {"laplacian", "rbf", "linear", None},
            "inputs": set(SearchSpace().inputs),
            "relevant": {False, True},
            "alpha": set(ALL_ALPHAS),
        }

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 10**6), data=st.data())
    def test_closed_ones_stay_closed(self, seed, data):
        def some(values):
            return tuple(data.draw(st.lists(st.sampled_from(values), min_size=1, unique=True)))

        names = ("kernel", "nystroem", "fourier", "orthogonal", "linear", "trees")
        bases = data.draw(st.sampled_from([SearchSpace().bases, *zip(names)]))
        kernels = data.draw(st.sampled_from([SearchSpace().kernels, *zip(("laplacian", "rbf"))]))
        given = {
            "bases": bases,
            "kernels": ("rbf",) if bases == ("orthogonal",) else kernels,
            "inputs": some(("clip", "standard", "rank", "none")),
            "gamma": data.draw(st.sampled_from([None, "kwok-tsang", 0.4])),
            "relevance": data.draw(st.sampled_from([(False,), (True,), (False, True)])),
            "alphas": data.draw(st.sampled_from([(0.0,), (0.3,), ALL_ALPHAS])),
        }
        rng = np.random.default_rng(seed)
        sample = Table(lambda c: rng.uniform(0.9, 1.1))
        choice = chosen(sample, **given)
        kernelled = [c for c in sample.tried if c.basis not in ("linear", "trees")]
        space = sample.space
        assert {c.basis for c in sample.tried} <= set(space.bases)
        assert {c.inputs for c in sample.tried} <= set(space.inputs)
        assert {c.alpha for c in sample.tried} <= set(space.alphas)
        for c in kernelled:
            assert c.kernel in space.kernels
            assert c.kernel == "rbf" or c.basis != "orthogonal"
            assert c.kernel != "linear" or c.basis == "kernel"
            assert c.relevant in space.relevance
            assert space.gamma is None or c.multiple == 1.0
        assert choice.best.error == min(t.error for t in choice.trials)
        assert (choice.relevance is not None) == choice.candidate.relevant

    def test_relevance_is_tried_for_the_best_lines_at_its_own_bandwidth(self):
        order = list(LINES[:4])

        def error(candidate):
            if candidate.kernel == "linear":
                return 0.95
            line = order.index((candidate.kernel, candidate.inputs))
            far = 0.03 * abs(log_multiple(candidate) - line % 2)
            return 1.0 + 0.01 * line + far - 0.7 * candidate.relevant

        sample = Table(error)
        choice = chosen(sample, bases=("kernel",))
        relevant = [c for c in sample.tried if c.relevant]
        expected = [Candidate("kernel", k, 1.0, i, relevant=True) for k, i in order]
        assert relevant == expected[:LINES_FOR_RELEVANCE]
        assert choice.candidate == expected[0]
        np.testing.assert_array_equal(choice.relevance, [1.0, 0.5])

    def wide(self, error, n_columns=WIDE):
        sample = Table(error)
        sample.X = np.empty((100, n_columns))
        return sample

    def test_subspaces_are_halved_while_that_pays(self):
        def error(candidate):
            best = {1.0: 0, 0.5: 1, 0.25: 1, 0.125: 1, 0.0625: 1}[candidate.subspace]
            share = abs(np.log2(candidate.subspace) + 2.0)
            return 1.0 + 0.1 * share + 0.01 * abs(log_multiple(candidate) - best)

        sample = self.wide(error, 40)
        given = CLOSED | {"gamma": None, "subspace": None}
        choice = chosen(sample, **given)
        shares = [c.subspace for c in sample.tried if c.subspace < 1.0]
        assert sorted(set(shares), reverse=True) == [0.5, 0.25, 0.125]
        assert choice.candidate == at(Candidate("kernel", "rbf", subspace=0.25), 1)
        # Each share is tried at the bandwidth of the one before, and one that is rougher.
        assert [log_multiple(c) for c in sample.tried if c.subspace == 0.5] == [0, 1]
        assert [log_multiple(c) for c in sample.tried if c.subspace == 0.25] == [1, 2]

    def test_subspaces_have_few_columns_in_the_end(self):
        sample = self.wide(lambda c: c.subspace)
        chosen(sample, **CLOSED | {"subspace": None})
        shares = [c.subspace for c in sample.tried]
        assert shares == [1.0, 0.5, 0.25, 0.125]
        assert WIDE * shares[-1] >= FEWEST_COLUMNS > WIDE * shares[-1] / 2

    @pytest.mark.parametrize(
        ("n_columns", "given"),
        [
            (WIDE - 1, {}),
            (WIDE, {"subspace": 1.0}),
            (WIDE, {"kernels": ("laplacian",)}),
            (WIDE, {"relevance": (True,)}),
            (WIDE, {"bases": ("orthogonal",)}),
        ],
        ids=str,
    )
    def test_subspaces_are_for_wide_tables_and_the_gaussian_kernel(self, n_columns, given):
        sample = self.wide(lambda c: c.subspace, n_columns)
        chosen(sample, **CLOSED | {"subspace": None} | given)
        assert {c.subspace for c in sample.tried} == {1.0}

    def test_a_given_share_is_that_of_all_features_that_know_one(self):
        sample = self.wide(lambda c: 1.0)
        chosen(sample, subspace=0.3)
        assert {c.basis for c in sample.tried} == {"kernel", "fourier"}
        assert {c.kernel for c in sample.tried} == {"rbf", "laplacian"}
        assert {c.subspace for c in sample.tried} == {0.3}

    def test_other_bases_start_where_the_best_stands_and_walk_if_better(self):
        def error(candidate):
            base = {"kernel": 1.0, "fourier": 0.9, "orthogonal": 2.0}[candidate.basis]
            best = -3 if candidate.basis == "fourier" else 0
            return base + 0.01 * abs(log_multiple(candidate) - best)

        sample = Table(error)
        given = {"bases": ("kernel", "fourier", "orthogonal"), "gamma": None}
        choice = chosen(sample, **CLOSED | given)
        assert steps(sample.tried, basis="fourier")[0] == 0
        assert choice.candidate == at(Candidate("fourier", "rbf"), -3)
        assert steps(sample.tried, basis="orthogonal") == [-3]

    def test_other_bases_do_not_walk_if_they_are_not_better(self):
        sample = Table(lambda c: 1.0 + 0.1 * (c.basis == "fourier") - 0.01 * log_multiple(c))
        given = CLOSED | {"bases": ("kernel", "fourier"), "gamma": None}
        chosen(sample, **given)
        assert steps(sample.tried, basis="fourier") == [max(LATTICE)]

    def test_other_bases_are_not_tried_where_a_linear_kernel_is_best(self):
        sample = Table(lambda c: 1.0 - 0.1 * (c.kernel == "linear"))
        chosen(sample)
        assert {c.basis for c in sample.tried} == {"kernel", "trees"}

    def test_there_are_orthogonal_frequencies_of_the_gaussian_kernel_alone(self):
        sample = Table(lambda c: 1.0 - 0.1 * (c.kernel == "laplacian"))
        chosen(sample)
        assert "orthogonal" not in {c.basis for c in sample.tried}

    def test_ridges_are_tried_for_the_best_candidate_alone(self):
        sample = Table(lambda c: 1.0 - 0.2 * (c.basis == "trees") + abs(c.alpha - 0.01))
        choice = chosen(sample, gamma="kwok-tsang", alphas=ALPHAS)
        assert choice.candidate.basis == "trees"
        assert choice.candidate.alpha == 0.01
        assert {c.basis for c in sample.tried if c.alpha > 0} == {"trees"}

    def test_ridges_are_not_tried_for_kernels_which_have_their_own(self):
        sample = Table(lambda c: 1.0 - 0.2 * (c.basis == "kernel"))
        chosen(sample, alphas=ALL_ALPHAS)
        assert {c.alpha for c in sample.tried} == {10.0}

    def test_a_given_ridge_is_everyone_s(self):
        sample = Table(lambda c: 1.0)
        chosen(sample, alphas=(0.3,))
        assert {c.alpha for c in sample.tried} == {0.3}

    def test_linear_members_see_standard_columns_and_trees_any(self):
        sample = Table(lambda c: 1.0)
        chosen(sample, bases=("linear", "trees"), inputs=("rank", "clip"))
        assert sample.tried == [
            Candidate("linear", inputs="clip"),
            Candidate("trees", inputs="rank"),
        ]

    def test_linear_members_alone_have_as_many_columns_as_components(self):
        sample = Table(lambda c: 1.0)
        chosen(sample, bases=("linear",), inputs=("rank",), n_components=4)
        assert sample.tried == [Candidate("linear", inputs="rank", columns=4)]


def trial_of(candidate, losses, error=None, strength=1.0):
    losses = np.asarray(losses, dtype=float)
    error = float(losses.mean()) if error is None else error
    return Trial(candidate, np.zeros((1, PARTS)), losses, error, strength)


LAPLACE = Candidate("kernel", "laplacian", inputs="clip")

#: Lines of their own.
OTHERS = [Candidate("kernel", "rbf", inputs=kind) for kind in ("clip", "standard", "rank")]


#: What is drawn at random.
RANDOM = [Candidate("fourier", "laplacian", inputs="clip"), Candidate("trees")]


class TestClearlyWorse:
    #: Half of the rows are worse by one, half better: a standard error of 1/√n.
    NOISE = np.tile([1.0, -1.0], 50)

    def trial(self, excess, noise=NOISE):
        return trial_of(OTHERS[0], 10.0 + excess + noise)

    @pytest.mark.parametrize("share", [-3.0, 0.0, 0.99, 1.01, 5.0])
    def test_are_those_that_are_worse_by_two_standard_errors(self, share):
        best = trial_of(LAPLACE, np.full(100, 10.0))
        trial = self.trial(share * STANDARD_ERRORS / np.sqrt(100))
        assert _not_clearly_worse(trial, best, np.ones(100)) == (share < 1.0)

    def test_are_compared_row_by_row(self):
        rows = 10.0 + 50.0 * np.random.default_rng(0).random(100)
        best, trial = trial_of(LAPLACE, rows), trial_of(OTHERS[0], rows + 0.01)
        assert not _not_clearly_worse(trial, best, np.ones(100))
        noisy = trial_of(OTHERS[0], rows + 0.01 + self.NOISE)
        assert _not_clearly_worse(noisy, best, np.ones(100))

    @pytest.mark.parametrize("factor", [0.99 * FAR_OFF, 1.01 * FAR_OFF])
    def test_are_those_that_are_worse_by_a_factor_whatever_the_spread(self, factor):
        best = trial_of(LAPLACE, np.full(100, 10.0))
        trial = self.trial(10.0 * (factor - 1.0), 1e3 * self.NOISE)
        assert trial.error == pytest.approx(10.0 * factor)
        assert _not_clearly_worse(trial, best, np.ones(100)) == (factor < FAR_OFF)

    def test_count_rows_by_what_they_stand_for(self):
        excess = np.where(np.arange(100) < 10, 1.0, -0.05)
        best, trial = trial_of(LAPLACE, np.full(100, 10.0)), trial_of(OTHERS[0], 10.0 + excess)
        assert _not_clearly_worse(trial, best, np.ones(100))
        assert not _not_clearly_worse(trial, best, np.where(np.arange(100) < 10, 50.0, 1.0))
        # Their scale does not matter.
        assert _not_clearly_worse(trial, best, np.full(100, 1e-3))

    def test_are_never_equal_candidates(self):
        best = trial_of(LAPLACE, np.full(100, 10.0))
        assert _not_clearly_worse(best, best, np.ones(100))
        assert _not_clearly_worse(trial_of(OTHERS[0], best.losses), best, np.ones(100))


def finalists(ranking, sample, n_members):
    """What is taken of a ranking, between a fewest and a most number of candidates."""
    fewest, most = n_members
    sample.space = SearchSpace(max_members=most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "FEWEST_MEMBERS", fewest)
        patch.setattr(choosing, "run_search", lambda _: SimpleNamespace(ranking=lambda: ranking))
        return choose(sample).members


def names(taken):
    return [each.candidate for each in taken]


def line_of(candidate):
    """What is the same at all bandwidths, and for all subspaces."""
    return replace(candidate, multiple=1.0, subspace=1.0 if candidate.subspace == 1.0 else 0.5)


class Finals(Table):
    """A sample on which trials by own rows have these losses."""

    def __init__(self, again=None):
        super().__init__(None)
        self.again, self.asked = again or {}, []

    def trial_of(self, candidate, by_own_rows=False):
        assert by_own_rows
        self.asked.append(candidate)
        return trial_of(candidate, self.again[candidate], strength=7.0)


class TestFinalists:
    #: Candidates that are not clearly worse than the first, and one that is.
    CLOSE = 10.0 + np.tile([1.0, -0.98], 50)
    FAR = np.full(100, 12.0)

    def ranking(self, *candidates, losses=None):
        best = trial_of(LAPLACE, np.full(100, 10.0))
        return [best, *(trial_of(c, self.CLOSE if losses is None else losses) for c in candidates)]

    def test_are_all_that_are_not_clearly_worse_than_the_best(self):
        ranking = [*self.ranking(*OTHERS[:2]), trial_of(OTHERS[2], self.FAR)]
        assert names(finalists(ranking, Finals(), (1, 6))) == names(ranking[:3])

    def test_are_as_many_as_are_wanted_at_least(self):
        ranking = self.ranking(*OTHERS, losses=self.FAR)
        assert names(finalists(ranking, Finals(), (1, 6))) == names(ranking[:1])
        assert names(finalists(ranking, Finals(), (2, 6))) == names(ranking[:2])
        assert names(finalists(ranking, Finals(), (3, 6))) == names(ranking[:3])
        assert names(finalists(ranking, Finals(), (9, 9))) == names(ranking)

    def test_are_no_more_than_are_wanted(self):
        ranking = self.ranking(*OTHERS)
        for most in (2, 3, 4, 5):
            assert names(finalists(ranking, Finals(), (1, most))) == names(ranking[:most])

    def test_of_one_are_the_best_without_another_trial(self):
        relevant = replace(LAPLACE, relevant=True)
        ranking = [trial_of(relevant, self.CLOSE), *self.ranking(*OTHERS)]
        assert names(finalists(ranking, Finals(), (1, 1))) == names(ranking[:1])

    def test_are_the_best_of_their_line_alone(self):
        ranking = self.ranking(at(LAPLACE, 1), OTHERS[0], at(OTHERS[0], -2), at(OTHERS[0], 2))
        assert names(finalists(ranking, Finals(), (1, 6))) == names([ranking[0], ranking[2]])

    def test_are_never_other_features_behind_a_kernel(self):
        ranking = self.ranking(*RANDOM, OTHERS[0])
        assert names(finalists(ranking, Finals(), (3, 6))) == names([ranking[0], ranking[3]])

    @pytest.mark.parametrize("other", RANDOM, ids=str)
    def test_are_kernels_where_these_are_not_clearly_worse_than_other_features(self, other):
        # Better by a trifle that two standard errors cover.
        ranking = [trial_of(other, self.CLOSE - 0.02), *self.ranking(OTHERS[0])]
        assert names(finalists(ranking, Finals(), (1, 1))) == names([ranking[1]])
        assert names(finalists(ranking, Finals(), (1, 6))) == names(ranking[1:])
        assert names(finalists(ranking, Finals(), (3, 6))) == names(ranking[1:])

    @pytest.mark.parametrize("other", RANDOM, ids=str)
    def test_are_other_features_where_the_best_kernel_is_clearly_worse(self, other):
        ranking = [trial_of(other, np.full(100, 9.0)), *self.ranking(OTHERS[0])]
        assert names(finalists(ranking, Finals(), (1, 1))) == names(ranking[:1])
        assert names(finalists(ranking, Finals(), (1, 6))) == names(ranking[:1])
        assert names(finalists(ranking, Finals(), (2, 6))) == names(ranking[:2])

    def test_beside_other_features_are_kernels_that_are_not_clearly_worse(self):
        # The best kernel is clearly worse than them, a noisier one is not.
        noisy = trial_of(OTHERS[0], 10.0 + np.tile([8.0, -7.9], 50))
        ranking = [trial_of(RANDOM[1], np.full(100, 9.9)), *self.ranking(), noisy]
        assert names(finalists(ranking, Finals(), (1, 6))) == names([ranking[0], noisy])

    def test_may_be_of_other_features_alone(self):
        ranking = [trial_of(c, self.CLOSE) for c in RANDOM]
        assert names(finalists(ranking, Finals(), (2, 6))) == names(ranking[:1])

    def test_with_relevance_are_tested_on_their_own_rows_too(self):
        relevant = replace(OTHERS[0], relevant=True)
        for losses, again, taken in (
            (self.FAR, self.CLOSE, True),
            (self.FAR, self.FAR, False),
            (self.CLOSE, self.FAR, True),
        ):
            ranking = [*self.ranking(), trial_of(relevant, losses)]
            sample = Finals({relevant: again})
            found = finalists(ranking, sample, (1, 6))
            assert sample.asked == [relevant]
            assert names(found) == [LAPLACE, relevant][: 1 + taken]
            # Its strength is that of all rows.
            assert [t.strength for t in found] == [1.0, 7.0][: 1 + taken]

    def test_with_relevance_may_be_the_best(self):
        relevant = replace(LAPLACE, relevant=True)
        ranking = [trial_of(relevant, np.full(100, 9.9)), *self.ranking(OTHERS[0])]
        sample = Finals({relevant: np.full(100, 5.0)})
        found = finalists(ranking, sample, (1, 6))
        # Others are compared with what was tested fairly.
        assert names(found) == [relevant, OTHERS[0]]
        assert [t.strength for t in found] == [7.0, 1.0]


class TestRescored:
    """With many rows the best of every line is tried again, on rows beyond the search."""

    @pytest.fixture
    def sample(self, monkeypatch):
        for name, value in (("ROWS", 60), ("MANY_ROWS", 200), ("MORE_ROWS", 200)):
            monkeypatch.setattr(sampling, name, value)
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, size=(300, 3))
        y = np.sin(3 * X[:, :1]) + 0.1 * rng.normal(size=(300, 1))
        return SearchSample.of(Rows(X, y), SearchSpace(), 0, most_rows=60)

    def test_lines_are_the_best_kernels_of_the_search(self, sample):
        choice = chosen(sample, max_members=4)
        again = [trial.candidate for trial in choice.rescored]
        assert all(candidate.basis == "kernel" for candidate in again)
        assert len({replace(c, multiple=1.0) for c in again}) == len(again) <= MOST_RESCORED
        kernels = [t for t in choice.trials if t.candidate.basis == "kernel"]
        for trial in choice.trials:
            if trial.candidate in again:
                assert trial.error <= WORTH_RESCORING * kernels[0].error
                line = [t for t in kernels if line_of(t.candidate) == line_of(trial.candidate)]
                assert line[0] is trial

    def test_members_are_those_that_not_clearly_worse_from_the_best_by_them(self, sample):
        choice = chosen(sample, max_members=4)
        weight = sample.larger.weight[60:]
        close = [t for t in choice.rescored if _not_clearly_worse(t, choice.rescored[0], weight)]
        assert [m.candidate for m in choice.members] == [t.candidate for t in close[:4]]
        assert [m.strength for m in choice.members] == [t.strength for t in close[:4]]
        assert choice.best is choice.rescored[0]
        assert [t.error for t in choice.rescored] == sorted(t.error for t in choice.rescored)

    def test_error_is_validated_by_rows_beyond_the_search(self, sample):
        choice = chosen(sample, max_members=4)
        expected = _validated(choice.rescored) / sample.larger.weight[60:].sum()
        assert choice.validated == pytest.approx(expected, rel=1e-12)
        assert choice.validated >= choice.best.error

    def test_is_said(self, sample):
        choice = chosen(sample, max_members=4)
        said = f", the best {len(choice.rescored)} lines again on 140 others"
        assert choice.lines()[-2].endswith(said)
        assert repr(choice).endswith("on 60 rows, rescored on 140 others)")
        text = str(choice)
        assert "the best of them on 140 other rows:" in text
        assert f"{choice.rescored[0].error:8.4f}  {choice.rescored[0].candidate}" in text

    def test_nothing_is_where_rows_are_few_or_kernels_are_not_best(self, sample):
        assert chosen(replace(sample, larger=None)).rescored == ()
        assert chosen(sample, bases=("trees",)).rescored == ()


class TestMembers:
    def test_are_made_of_finalists(self):
        sample = real_sample("linear")
        choice = chosen(sample, max_members=4)
        assert 2 <= len(choice.members) <= 4
        assert choice.members[0].candidate == choice.candidate == choice.best.candidate
        lines = {replace(m.candidate, multiple=1.0) for m in choice.members}
        assert len(lines) == len(choice.members)
        for member in choice.members:
            assert member.gamma == sample.gamma(member.candidate)
            expected = sample.relevance_of(member.candidate, "all")
            if expected is None:
                assert member.relevance is None
            else:
                np.testing.assert_array_equal(member.relevance, expected.columns)

    def test_of_one_is_the_best(self):
        choice = chosen(real_sample("linear"))
        assert [m.candidate for m in choice.members] == [choice.candidate]
        assert choice.members[0].strength == choice.best.strength
        assert (choice.gamma, choice.relevance) == (choice.members[0].gamma, None)

    @pytest.mark.parametrize(
        ("strength", "weight", "expected"),
        [
            (0.01, None, 0.01),
            (0.01, 100.0, 0.01),
            (0.01, 400.0, 0.0025),
            (0.01, 50.0, 0.01),
            (1.0, None, INNER_GAPS[1]),
            (1e-10, 1e4, INNER_GAPS[0]),
        ],
    )
    def test_of_features_have_gaps_scaled_to_the_rows_of_the_fit(self, strength, weight, expected):
        sample = Table(lambda c: 1.0, strength)
        choice = chosen(sample, weight=weight, bases=("trees",))
        assert choice.members[0].strength == pytest.approx(expected, rel=1e-12)
        assert choice.best.strength == strength

    @pytest.mark.parametrize("weight", [None, 50.0, 1e4])
    def test_of_kernels_have_ridges_that_stay(self, weight):
        sample = Table(lambda c: 1.0, strength=3.0)
        choice = chosen(sample, weight=weight, **CLOSED)
        assert choice.members[0].strength == 3.0


def made_choice():
    trees, line = Candidate("trees"), at(LAPLACE, -1)
    trials = (trial_of(line, np.full(4, 0.125)), trial_of(trees, np.full(4, 0.25)))
    members = tuple(Chosen(t.candidate, 0.3, None, 1.0) for t in trials)
    return Choice(members, trials, validated=0.15625, n_rows=4, n_distinct=4, seed=0)


class TestChoice:
    def test_error_is_validated_by_parts_that_had_no_part_in_it(self):
        sample = real_sample("one useful column")
        choice = chosen(sample, bases=("kernel", "trees"), gamma="kwok-tsang")
        total = 0.0
        for part in range(PARTS):
            best, there = np.inf, None
            for trial in choice.trials:
                for row in trial.by_part:
                    others = sum(row[k] for k in range(PARTS) if k != part)
                    if others < best:
                        best, there = others, row[part]
            total += there
        assert choice.validated == pytest.approx(total / sample.weight.sum(), rel=1e-9)
        assert choice.validated >= choice.trials[0].error
        assert choice.optimism == choice.validated - choice.best.error

    def test_error_is_that_of_the_best_where_all_parts_agree(self):
        sample = Table(lambda c: 1.0 + 0.1 * c.multiple)
        choice = chosen(sample, **CLOSED | {"gamma": None})
        assert choice.validated == pytest.approx(choice.best.error, rel=1e-12)
        assert choice.optimism == pytest.approx(0.0, abs=1e-12)

    def test_trials_come_with_the_best_first(self):
        choice = chosen(real_sample("one useful column"), gamma="kwok-tsang")
        errors = [trial.error for trial in choice.trials]
        assert errors == sorted(errors)
        assert choice.n_rows == 100

    def test_speaks_of_the_first_of_its_members(self):
        choice = made_choice()
        other = replace(choice, members=choice.members[::-1])
        assert choice.best is choice.trials[0]
        assert other.best is choice.trials[1]
        assert other.candidate == Candidate("trees")
        assert other.optimism == 0.15625 - 0.25

    def test_says_in_lines_what_it_is_made_of(self):
        assert made_choice().lines() == [
            "kernel laplacian, gamma x0.32, inputs clip",
            "trees, inputs standard",
            "by leave-one-out, 2 trials on 4 rows",
            "error 0.125 of var(y), 0.1562 if the search is held out",
        ]

    def test_shows_the_best_in_one_line(self):
        assert repr(made_choice()) == (
            "Choice(kernel laplacian, gamma x0.32, inputs clip; error 0.125, validated 0.1562, "
            "of 2 on 4 rows)"
        )

    def test_prints_all_candidates(self):
        assert str(made_choice()).splitlines() == [
            "2 candidates on 4 rows, leave-one-out error relative to the variance of y:",
            "    0.1250  kernel laplacian, gamma x0.32, inputs clip",
            "    0.2500  trees, inputs standard",
            "error validated for the search: 0.1562",
        ]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), trials=st.integers(1, 6), gaps=st.integers(1, 4))
def test_error_of_the_search_is_never_below_that_of_the_best(seed, trials, gaps):
    table = np.random.default_rng(seed).exponential(size=(trials, gaps, PARTS))
    tried = [Trial(Candidate("trees"), part, np.zeros(1), 0.0, 1.0) for part in table]
    assert _validated(tried) >= table.sum(axis=2).min() * (1 - 1e-12)


class TestData:
    def test_with_one_useful_column_choose_relevance(self):
        sample = real_sample("one useful column")
        choice = chosen(sample)
        assert choice.candidate.relevant
        assert choice.relevance.argmax() == 0
        assert choice.relevance[1:].max() < 0.5
        np.testing.assert_array_equal(
            choice.relevance, sample.relevance_of(choice.candidate, "all").columns
        )
        assert choice.candidate.basis == "kernel"
        kernels = [t for t in choice.trials if t.candidate.basis == "kernel"]
        plain = min(t.error for t in kernels if not t.candidate.relevant)
        assert choice.best.error < 0.9 * plain
        assert choice.gamma == sample.gamma(choice.candidate)

    def test_that_are_linear_in_many_columns_choose_a_linear_kernel(self):
        choice = chosen(real_sample("linear"))
        assert choice.candidate == Candidate("kernel", "linear")
        assert choice.relevance is None
        assert choice.validated < 0.3

    @pytest.mark.parametrize("max_members", [1, 4])
    def test_in_any_order_choose_the_same(self, max_members):
        order = np.random.default_rng(9).permutation(100)
        one, moved = (
            chosen(real_sample("one useful column", order=each), max_members=max_members)
            for each in (None, order)
        )
        same_choice(one, moved)

    def test_and_a_seed_choose_the_same_again(self):
        given = {"bases": ("fourier",), "gamma": "kwok-tsang"}
        one, again, other = (
            chosen(real_sample("one useful column", seed=seed), **given) for seed in (3, 3, 4)
        )
        same_choice(one, again)
        assert one.best.error != other.best.error

    def test_have_kernels_tried_without_a_seed(self):
        given = {"bases": ("kernel",), "gamma": "kwok-tsang"}
        same_choice(
            *(chosen(real_sample("one useful column", seed=seed), **given) for seed in (3, 4))
        )


def same_choice(one, other):
    """To the last bit."""
    assert one.validated == other.validated
    for mine, theirs in zip(one.members, other.members, strict=True):
        assert mine.candidate == theirs.candidate
        assert (mine.gamma, mine.strength) == (theirs.gamma, theirs.strength)
        np.testing.assert_array_equal(mine.relevance, theirs.relevance)
    for mine, theirs in zip(one.trials, other.trials, strict=True):
        assert mine.candidate == theirs.candidate
        np.testing.assert_array_equal(mine.by_part, theirs.by_part)
