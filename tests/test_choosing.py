"""Open questions are answered by leave-one-out, closed ones are left alone."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from negcorr.candidates import Candidate
from negcorr.choosing import (
    ALPHAS,
    LATTICE,
    START,
    WORTH_WALKING,
    OpenQuestions,
    _validated,
    at,
    choose,
)
from negcorr.proving import PARTS, ProvingGround, Rung, Trial
from negcorr.rows import Rows

#: Everything closed.
CLOSED = {
    "bases": ("nystroem",),
    "kernels": ("gaussian",),
    "inputs": ("standard",),
    "bandwidths": (0,),
    "relevance": (False,),
}


class Table:
    """A ground whose errors are a function of the candidate, the same on all parts."""

    def __init__(self, error):
        self.error, self.tried = error, []
        self.weight, self.n_rows = np.ones(100), 100
        self.judges = self.weight

    def prepare(self, candidates):
        pass

    def try_out(self, candidate):
        self.tried.append(candidate)
        error = self.error(candidate)
        return Trial(candidate, np.full((1, PARTS), 100.0 * error / PARTS), error, 1.0)

    def relevance(self, inputs):
        return np.array([1.0, 0.5])

    def gamma(self, candidate):
        return 0.1 * candidate.multiple


def log_multiple(candidate):
    return round(2.0 * np.log10(candidate.multiple))


def steps(tried, **which):
    """Points of the lattice that were tried, of those candidates."""
    return [log_multiple(c) for c in tried if all(getattr(c, k) == v for k, v in which.items())]


def real_ground(kind, n=120, order=None, seed_of_draws=3):
    rng = np.random.default_rng(0)
    if kind == "one useful column":
        X = rng.normal(size=(n, 6))
        y = np.sin(2.5 * X[:, :1]) + 0.05 * rng.normal(size=(n, 1))
    else:  # linear in many columns
        X = rng.normal(size=(n, 12))
        y = X @ rng.normal(size=(12, 1)) + rng.normal(size=(n, 1))
    if order is not None:
        X, y = X[order], y[order]
    return ProvingGround.of(Rows(X, y), n_components=8, seed=seed_of_draws)


class TestWalk:
    @pytest.mark.parametrize("best", LATTICE)
    def test_finds_the_best_bandwidth_and_stops_one_step_behind(self, best):
        ground = Table(lambda c: 1.0 + 0.01 * abs(log_multiple(c) - best))
        choice = choose(ground, OpenQuestions(**CLOSED | {"bandwidths": None}))
        assert log_multiple(choice.candidate) == best
        assert choice.gamma == 0.1 * 10.0 ** (best / 2.0)
        tried = sorted(steps(ground.tried))
        near = {i for i in (best - 1, best, best + 1) if i in LATTICE}
        between = set(range(min(*START, best), max(*START, best) + 1))
        assert set(tried) == near | between
        assert len(set(tried)) == len(tried)

    def test_does_not_go_on_with_a_line_that_is_far_behind(self):
        def error(candidate):
            far = WORTH_WALKING + 0.1 if candidate.kernel == "gaussian" else 1.0
            return far - 0.001 * log_multiple(candidate)

        ground = Table(error)
        questions = CLOSED | {"kernels": ("laplace", "gaussian"), "bandwidths": None}
        choice = choose(ground, OpenQuestions(**questions))
        assert choice.candidate.kernel == "laplace"
        assert sorted(steps(ground.tried, kernel="gaussian")) == sorted(START)
        assert max(steps(ground.tried, kernel="laplace")) == max(LATTICE)

    def test_goes_on_with_a_line_that_is_close_behind_and_overtakes(self):
        def error(candidate):
            i = log_multiple(candidate)
            return 1.1 + 0.2 * i if candidate.kernel == "gaussian" else 1.0

        ground = Table(error)
        questions = CLOSED | {"kernels": ("laplace", "gaussian"), "bandwidths": None}
        choice = choose(ground, OpenQuestions(**questions))
        assert choice.candidate == at(Candidate("nystroem", "gaussian"), min(LATTICE))

    def test_leaves_the_bandwidths_alone_that_are_given(self):
        ground = Table(lambda c: 1.0 - 0.1 * log_multiple(c))
        choose(ground, OpenQuestions(bandwidths=(0,)))
        assert set(steps(ground.tried)) == {0}

    def test_asks_nothing_twice(self):
        rng = np.random.default_rng(0)
        ground = Table(lambda c: rng.uniform(1.0, 1.1))
        choice = choose(ground, OpenQuestions(alphas=(0.0, *ALPHAS)))
        assert len(set(ground.tried)) == len(ground.tried) == len(choice.trials)


class TestQuestions:
    def test_all_open_ones_are_asked(self):
        ground = Table(lambda c: 1.0 - 0.1 * (c.kernel == "gaussian") + 0.01 * abs(c.multiple - 1))
        choose(ground, OpenQuestions(alphas=(0.0, *ALPHAS)))
        asked = {
            name: {getattr(c, name) for c in ground.tried}
            for name in ("basis", "kernel", "inputs", "relevant", "alpha")
        }
        assert asked == {
            "basis": set(OpenQuestions.bases),
            "kernel": {"laplace", "gaussian", None},
            "inputs": set(OpenQuestions.inputs),
            "relevant": {False, True},
            "alpha": {0.0, *ALPHAS},
        }

    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 10**6), data=st.data())
    def test_closed_ones_stay_closed(self, seed, data):
        def some(values):
            return tuple(data.draw(st.lists(st.sampled_from(values), min_size=1, unique=True)))

        bases = data.draw(st.sampled_from([OpenQuestions.bases, *zip(OpenQuestions.bases)]))
        kernels = some(("laplace", "gaussian", "cauchy"))
        questions = OpenQuestions(
            bases=bases,
            kernels=("gaussian",) if bases == ("orthogonal",) else kernels,
            inputs=some(("clip", "standard", "rank", "none")),
            bandwidths=data.draw(st.sampled_from([None, (0,)])),
            relevance=data.draw(st.sampled_from([(False,), (True,), (False, True)])),
            alphas=data.draw(st.sampled_from([(0.0,), (0.3,), (0.0, *ALPHAS)])),
        )
        rng = np.random.default_rng(seed)
        ground = Table(lambda c: rng.uniform(0.9, 1.1))
        choice = choose(ground, questions)
        kernelled = [c for c in ground.tried if c.basis not in ("linear", "trees")]
        assert {c.basis for c in ground.tried} <= set(questions.bases)
        assert {c.inputs for c in ground.tried} <= set(questions.inputs)
        assert {c.alpha for c in ground.tried} <= set(questions.alphas)
        for c in kernelled:
            assert c.kernel in questions.kernels
            assert c.kernel == "gaussian" or c.basis != "orthogonal"
            assert c.relevant in questions.relevance
            assert questions.bandwidths is None or c.multiple == 1.0
        assert choice.best.error == min(t.error for t in choice.trials)
        assert (choice.relevance is not None) == choice.candidate.relevant

    def test_relevance_is_tried_for_the_best_lines_from_where_they_were_best(self):
        order = list(itertools.product(OpenQuestions.inputs, OpenQuestions.kernels))

        def error(candidate):
            line = order.index((candidate.inputs, candidate.kernel))
            far = 0.03 * abs(log_multiple(candidate) - line % 2)
            return 1.0 + 0.01 * line + far - 0.5 * candidate.relevant

        ground = Table(error)
        questions = OpenQuestions(bases=("nystroem",))
        choice = choose(ground, questions)
        relevant = [c for c in ground.tried if c.relevant]
        assert {(c.inputs, c.kernel) for c in relevant} == set(order[:3])
        for line in range(3):
            inputs, kernel = order[line]
            first = steps(relevant, inputs=inputs, kernel=kernel)[0]
            assert first == line % 2
        assert choice.candidate.relevant
        assert choice.candidate.kernel == order[0][1]

    def test_other_bases_start_where_the_best_stands_and_walk_if_better(self):
        def error(candidate):
            base = {"nystroem": 1.0, "fourier": 0.9, "orthogonal": 2.0}[candidate.basis]
            best = -3 if candidate.basis == "fourier" else 0
            return base + 0.01 * abs(log_multiple(candidate) - best)

        ground = Table(error)
        questions = {"bases": ("nystroem", "fourier", "orthogonal"), "bandwidths": None}
        choice = choose(ground, OpenQuestions(**CLOSED | questions))
        assert steps(ground.tried, basis="fourier")[0] == 0
        assert choice.candidate == at(Candidate("fourier", "gaussian"), -3)
        assert steps(ground.tried, basis="orthogonal") == [-3]

    def test_there_are_orthogonal_frequencies_of_the_gaussian_kernel_alone(self):
        ground = Table(lambda c: 1.0 - 0.1 * (c.kernel == "laplace"))
        choose(ground, OpenQuestions())
        assert "orthogonal" not in {c.basis for c in ground.tried}

    def test_ridges_are_tried_for_the_best_candidate_alone(self):
        ground = Table(lambda c: 1.0 - 0.2 * (c.basis == "trees") + abs(c.alpha - 0.01))
        choice = choose(ground, OpenQuestions(bandwidths=(0,), alphas=(0.0, *ALPHAS)))
        assert choice.candidate.basis == "trees"
        assert choice.candidate.alpha == 0.01
        assert {c.basis for c in ground.tried if c.alpha > 0} == {"trees"}

    def test_a_given_ridge_is_everyone_s(self):
        ground = Table(lambda c: 1.0)
        choose(ground, OpenQuestions(alphas=(0.3,)))
        assert {c.alpha for c in ground.tried} == {0.3}


class TestChoice:
    def test_error_is_validated_by_parts_that_had_no_part_in_it(self):
        ground = real_ground("one useful column")
        choice = choose(ground, OpenQuestions(bases=("nystroem", "linear"), bandwidths=(0,)))
        total = 0.0
        for part in range(PARTS):
            best, there = np.inf, None
            for trial in choice.trials:
                for row in trial.by_part:
                    others = sum(row[k] for k in range(PARTS) if k != part)
                    if others < best:
                        best, there = others, row[part]
            total += there
        assert choice.validated == pytest.approx(total / ground.weight.sum(), rel=1e-9)
        assert choice.validated >= choice.best.error
        assert choice.optimism == choice.validated - choice.best.error

    def test_error_is_that_of_the_best_where_all_parts_agree(self):
        ground = Table(lambda c: 1.0 + 0.1 * c.multiple)
        choice = choose(ground, OpenQuestions(**CLOSED | {"bandwidths": None}))
        assert choice.validated == pytest.approx(choice.best.error, rel=1e-12)
        assert choice.optimism == pytest.approx(0.0, abs=1e-12)

    def test_trials_come_with_the_best_first(self):
        choice = choose(real_ground("one useful column"), OpenQuestions(bandwidths=(0,)))
        errors = [trial.error for trial in choice.trials]
        assert errors == sorted(errors)
        assert choice.best is choice.trials[0]
        assert choice.candidate is choice.best.candidate
        assert choice.n_rows == 120

    def test_says_what_it_was_made_of(self):
        choice = choose(real_ground("one useful column"), OpenQuestions(bandwidths=(0,)))
        assert str(choice.candidate) in repr(choice)
        assert "validated" in repr(choice)
        text = str(choice)
        assert f"{len(choice.trials)} candidates on 120 rows" in text
        assert len(text.splitlines()) == len(choice.trials) + 2
        assert all(str(trial.candidate) in text for trial in choice.trials)


class TestData:
    def test_with_one_useful_column_choose_relevance(self):
        ground = real_ground("one useful column")
        choice = choose(ground, OpenQuestions())
        assert choice.candidate.relevant
        assert choice.relevance.argmax() == 0
        assert choice.relevance[1:].max() < 0.5
        np.testing.assert_array_equal(choice.relevance, ground.relevance(choice.candidate.inputs))
        plain = min(t.error for t in choice.trials if not t.candidate.relevant)
        assert choice.best.error < 0.7 * plain
        assert choice.gamma == ground.gamma(choice.candidate)

    def test_that_are_linear_in_many_columns_choose_linear_members(self):
        choice = choose(real_ground("linear"), OpenQuestions())
        assert choice.candidate.basis == "linear"
        assert choice.relevance is None
        assert choice.validated < 0.2

    def test_in_any_order_choose_the_same(self):
        one = choose(real_ground("one useful column"), OpenQuestions())
        order = np.random.default_rng(9).permutation(120)
        moved = choose(real_ground("one useful column", order=order), OpenQuestions())
        same_choice(one, moved)

    def test_and_a_seed_choose_the_same_again(self):
        questions = OpenQuestions(bandwidths=(0,))
        one, again, other = (
            choose(real_ground("one useful column", seed_of_draws=seed), questions)
            for seed in (3, 3, 4)
        )
        same_choice(one, again)
        assert one.best.error != other.best.error


def same_choice(one, other):
    """To the last bit."""
    assert one.candidate == other.candidate
    assert one.gamma == other.gamma
    assert one.validated == other.validated
    np.testing.assert_array_equal(one.relevance, other.relevance)
    for mine, theirs in zip(one.trials, other.trials, strict=True):
        assert mine.candidate == theirs.candidate
        np.testing.assert_array_equal(mine.by_part, theirs.by_part)


class TestLargerGround:
    """The best lines once more, on more rows."""

    def test_decides_and_walks_on(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-3, 3, size=(600, 2))
        y = np.sin(6.0 * X[:, :1]) + 0.05 * rng.normal(size=(600, 1))
        few, many = (
            ProvingGround.of(Rows(X, y), n_components=10, seed=0, rung=Rung(rows, 30))
            for rows in (60, 600)
        )
        questions = OpenQuestions(bases=("nystroem",), relevance=(False,), inputs=("standard",))
        small, both = choose(few, questions), choose(few, questions, larger=many)
        assert both.n_rows == 600
        assert both.n_tried > len(small.trials) == small.n_tried
        assert both.best.error < 0.5 * small.best.error
        assert both.candidate.multiple != small.candidate.multiple

    def test_gaps_are_scaled_to_the_rows_of_the_fit(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(80, 2))
        y = X[:, :1] + 0.5 * rng.normal(size=(80, 1))
        ground = ProvingGround.of(Rows(X, y), n_components=5, seed=0)
        one, four = (choose(ground, OpenQuestions(), weight=w) for w in (None, 320.0))
        assert one.members[0].gap == min(one.best.gap, 0.9)
        assert four.members[0].gap == pytest.approx(one.best.gap / 4)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), trials=st.integers(1, 6), gaps=st.integers(1, 4))
def test_error_of_the_search_is_never_below_that_of_the_best(seed, trials, gaps):
    table = np.random.default_rng(seed).exponential(size=(trials, gaps, PARTS))
    tried = [Trial(Candidate("trees"), part, 0.0, 1.0) for part in table]
    assert _validated(tried) >= table.sum(axis=2).min() * (1 - 1e-12)
