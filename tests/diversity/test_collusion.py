"""Diagnostics of member predictions against brute force over all ways to lose members."""

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from models import ncl

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from negcorr import ambiguity_decomposition
from negcorr.diversity.collusion import VERDICTS, collusion, drop_error, warn_if_useless
from negcorr.exceptions import CollusionWarning


@st.composite
def ensembles(draw, most_members=6):
    """Member predictions and targets, of one output or several."""
    M, n = draw(st.integers(1, most_members)), draw(st.integers(1, 5))
    rest = draw(st.sampled_from([(n,), (n, 1), (n, 2)]))
    values = st.floats(-1e3, 1e3, allow_subnormal=False)
    return draw(hnp.arrays(float, (M, *rest), elements=values)), draw(
        hnp.arrays(float, rest, elements=values)
    )


def close(left, right, scale):
    np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12 * max(scale, 1e-300))


def scale_of(members, y):
    return float(np.max(np.abs(members)) ** 2 + np.max(np.abs(y)) ** 2)


def lost_by_hand(members, y, k):
    """Mean error over every set of M − k members."""
    errors = [
        np.mean((members[list(kept)].mean(axis=0) - y) ** 2, axis=0)
        for kept in itertools.combinations(range(len(members)), len(members) - k)
    ]
    return np.mean(errors, axis=0)


# Identities


@settings(max_examples=80, deadline=None)
@given(ensembles())
def test_expected_error_after_a_loss_is_the_mean_over_all_subsets(case):
    members, y = case
    for k in range(len(members)):
        close(drop_error(members, y, k), lost_by_hand(members, y, k), scale_of(members, y))


@settings(max_examples=80, deadline=None)
@given(ensembles())
def test_a_loss_of_none_and_of_all_but_one_are_the_terms_of_equation_1(case):
    members, y = case
    terms, scale = ambiguity_decomposition(members, y), scale_of(members, y)
    np.testing.assert_array_equal(drop_error(members, y, 0), terms.ensemble_error)
    close(drop_error(members, y, len(members) - 1), terms.member_error, scale)
    errors = [drop_error(members, y, k) for k in range(len(members))]
    assert all((a <= b + 1e-12 * scale).all() for a, b in itertools.pairwise(map(np.array, errors)))


@settings(max_examples=80, deadline=None)
@given(ensembles())
def test_each_member_left_out_and_their_mean(case):
    members, y = case
    errors, scale = collusion(members, y, dropped=()).train, scale_of(members, y)
    assert errors.without_member.shape == (len(members), *y.shape[1:])
    if len(members) == 1:
        assert np.isnan(errors.without_member).all()
        return
    for m in range(len(members)):
        without = np.delete(members, m, axis=0).mean(axis=0)
        close(errors.without_member[m], np.mean((without - y) ** 2, axis=0), scale)
    close(errors.without_member.mean(axis=0), drop_error(members, y, 1), scale)
    np.testing.assert_array_equal(errors.worst_drop, errors.without_member.max(axis=0))


@settings(max_examples=80, deadline=None)
@given(ensembles())
def test_correlation_is_that_of_pairs_of_errors(case):
    members, y = case
    errors = collusion(members, y).train
    deviations, M = members - y, len(members)
    pairs = [deviations[a] * deviations[b] for a, b in itertools.permutations(range(M), 2)]
    square = np.mean(deviations**2, axis=(0, 1))
    # Squares near the smallest numbers have lost their digits.
    usable = (square > np.maximum(1e-6 * scale_of(members, y), 1e-290)) & (M > 1)
    expected = np.mean(pairs, axis=(0, 1)) / np.where(usable, square, 1.0) if pairs else 0.0
    found = np.where(usable, errors.error_correlation, 0.0)
    np.testing.assert_allclose(found, np.where(usable, expected, 0.0), atol=1e-9)
    assert (found <= 1 + 1e-9).all()
    assert (found >= -1.0 / max(M - 1, 1) - 1e-9).all()


@settings(max_examples=40, deadline=None)
@given(ensembles(), st.floats(0.1, 10.0), st.floats(-5.0, 5.0), st.randoms())
def test_units_and_order_of_members_do_not_matter(case, factor, offset, random):
    members, y = np.round(case[0]), np.round(case[1])
    order = list(range(len(members)))
    random.shuffle(order)
    left, right = (
        collusion(members, y),
        collusion(factor * members[order] + offset, factor * y + offset),
    )
    scale = factor**2 * scale_of(members, y) + offset**2
    close(right.train.drop_errors, factor**2 * left.train.drop_errors, scale)
    close(right.train.worst_drop, factor**2 * np.array(left.train.worst_drop), scale)


@settings(max_examples=40, deadline=None)
@given(ensembles())
def test_a_summary_can_always_be_printed(case):
    members, y = case
    found = collusion(members, y, members, y)
    assert found.verdict in str(found)
    assert any(words in found.verdict for words in VERDICTS)
    # Warnings are errors here: ratios with nothing below must not raise any.
    assert np.shape(found.diversity_ratio) == y.shape[1:]


# What is reported


def apart(seed=0, M=20, n=400, outputs=()):
    """Members whose errors are independent."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(n, *outputs))
    return y + 0.5 * rng.normal(size=(M, n, *outputs)), y


def cancelling(size, seed=0, M=20, n=400):
    """Members whose errors add up to nearly nothing."""
    members, y = apart(seed, M, n)
    errors = members - y
    return y + size * (errors - 0.999 * errors.mean(axis=0)), y


def test_numbers_for_one_output_are_scalars_and_for_several_have_an_axis():
    members, y = apart(outputs=(2,))
    several = collusion(members, y, members, y, dropped=(1, 5))
    assert several.train.drop_errors.shape == (2, 2)
    for j in range(2):
        one = collusion(members[..., j], y[:, j], members[..., j], y[:, j], dropped=(1, 5))
        np.testing.assert_allclose(one.train.drop_errors, several.train.drop_errors[:, j])
        for name in ("ensemble_error", "member_error", "diversity", "variance", "ratio"):
            value = getattr(one.train, name)
            assert type(value) is float
            np.testing.assert_allclose(value, getattr(several.train, name)[j])
        assert type(one.train.error_correlation) is type(one.train.worst_drop) is float
        assert one.diversity_ratio == 1.0
    header = str(several).splitlines()[2]
    assert header.split() == ["training", "0", "held-out", "0", "training", "1", "held-out", "1"]


def test_counts_and_shares_of_members():
    members, y = apart(M=20)
    assert collusion(members, y).dropped == (2, 5, 10)
    assert collusion(members, y, dropped=(7, 0.01, 0.999, np.int64(3), 0.15)).dropped == (
        1,
        3,
        7,
        19,
    )
    assert collusion(members[:2], y).dropped == (1,)
    assert collusion(members[:1], y).dropped == ()
    found = collusion(members, y, dropped=(4, 0.5)).train
    np.testing.assert_array_equal(found.drop_errors, [drop_error(members, y, k) for k in (4, 10)])


def test_the_summary_shows_both_sets_of_rows():
    members, y = apart()
    new, y_new = apart(seed=1)
    text = str(collusion(members, y, new, y_new))
    header = text.splitlines()[2].split()
    assert header == ["training", "held-out"]
    assert f"{np.var(y):.4g}" in text
    assert "error after losing 10 of 20" in text
    alone = collusion(members, y)
    assert alone.held_out is None
    assert alone.diversity_ratio is None
    assert "held-out" not in str(alone)
    assert repr(alone) == str(alone) == alone.summary()


def test_verdicts():
    independent, y = apart()
    subtle, _ = cancelling(1.0)
    wild, _ = cancelling(20.0)
    tiny, _ = cancelling(0.05)
    new, y_new = apart(seed=1)
    subtle_new, _ = cancelling(1.0, seed=1)
    similar = y + 0.5 * np.random.default_rng(2).normal(size=400) + 0.1 * (independent - y)
    useless, training_only, cancel, none = VERDICTS
    assert collusion(wild, y).verdict == useless
    assert collusion(wild, y, new, y_new).verdict == useless
    # Held-out errors that have something in common.
    common = new + 0.3 * np.random.default_rng(3).normal(size=400)
    assert collusion(subtle, y, common, y_new).verdict == training_only
    assert collusion(subtle, y, subtle_new, y_new).verdict == cancel
    assert collusion(subtle, y).verdict == cancel
    assert collusion(tiny, y).verdict == none
    assert collusion(independent, y, new, y_new).verdict == none
    assert collusion(similar, y).verdict == none
    both = np.stack([independent, wild], axis=2)
    assert collusion(both, np.stack([y, y], axis=1)).verdict == f"outputs [1]: {useless}"


@pytest.mark.parametrize("seed", range(20))
def test_independent_errors_are_not_taken_for_collusion_by_chance(seed):
    members, y = apart(seed, M=10, n=50)
    new, y_new = apart(seed + 100, M=10, n=50)
    assert collusion(members, y, new, y_new).verdict == VERDICTS[-1]


def test_a_closed_form_ensemble_near_one_is_found_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=400)
    model = ncl(n_members=20, lam=0.0).fit(X[:200], y[:200])
    verdicts, held_out, shares = [], [], []
    for gap in (1.0, 0.1, 1e-4):
        moved = model.with_lam(gap=gap)
        found = collusion(
            moved.predict_members(X[:200]), y[:200], moved.predict_members(X[200:]), y[200:]
        )
        verdicts.append(found.verdict)
        held_out.append(found.held_out.drop_errors[-1] / found.held_out.ensemble_error)
        shares.append(found.diversity_ratio)
        np.testing.assert_allclose(found.train.diversity, moved.path_.diversity(), rtol=1e-6)
    assert verdicts[0] == VERDICTS[-1]
    assert verdicts[-1] == VERDICTS[0]
    # Half of the members lost: hardly noticed when trained apart, a disaster near λ = 1.
    assert held_out[0] < 1.1
    assert held_out[-1] > 10
    assert shares[0] < shares[-1]


# The warning


def test_useless_members_are_announced_with_what_to_do():
    members, y = cancelling(20.0)
    ratio = ambiguity_decomposition(members, y).member_error / np.var(y)
    with pytest.warns(CollusionWarning) as caught:
        assert warn_if_useless(members, y, 0.999) is True
    text = str(caught[0].message)
    assert caught[0].filename == __file__
    for part in ("lam=0.999", f"{ratio:.3g} times the variance of y", "do not drop", "smaller lam"):
        assert part in text
    several = np.stack([members, np.broadcast_to(y, members.shape)], axis=2)
    with pytest.warns(CollusionWarning, match=r"lam=\[0\.5, 0\.9\]"):
        warn_if_useless(several, np.stack([y, y], axis=1), np.array([0.5, 0.9]))


def test_the_two_conditions_of_the_warning():
    members, y = cancelling(1.0)
    variance = np.var(y)
    errors = members - members.mean(axis=0)
    errors *= np.sqrt(variance / np.mean(errors**2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollusionWarning)
        # Members: just below and just above the variance, around a perfect average.
        assert not warn_if_useless(y + 0.999 * errors, y, 0.9)
        assert warn_if_useless(y + 1.001 * errors, y, 0.9)
        # The average: errors of just below and just above half of it.
        for factor, expected in ((0.999, True), (1.001, False)):
            offset = np.sqrt(0.5 * variance) * factor
            assert warn_if_useless(y + offset + 2.0 * errors, y, 0.9) is expected
        # A target that does not vary has no constant to be worse than.
        assert not warn_if_useless(errors, np.zeros_like(y), 0.9)


# Errors, and what is imported


def test_errors_name_the_argument_and_what_is_allowed():
    members, y = apart(M=4)
    cases = [
        (lambda: drop_error(members, y, 4), r"k=4 must be a whole number from 0 to M - 1 = 3"),
        (lambda: drop_error(members, y, -1), "k=-1 must be"),
        (lambda: drop_error(members, y, 0.5), r"k=0\.5 must be"),
        (lambda: collusion(members, y, dropped=(4,)), r"4 must be a whole .* 1 to M - 1 = 3"),
        (lambda: collusion(members, y, dropped=(0,)), "0 must be a whole number"),
        (lambda: collusion(members, y, dropped=(1.0,)), r"1\.0 must be .*share below 1"),
        (lambda: collusion(members, y, dropped=("all",)), "'all' must be a whole number"),
        (lambda: collusion(members, y, members), "members_test and y_test belong together"),
        (lambda: collusion(members, y, y_test=y), "members_test and y_test belong together"),
        (lambda: collusion(members, y, members[:3], y), r"\(4, 400\) and \(3, 400\)"),
        (lambda: collusion(members, y[:5]), "members must be"),
        (lambda: collusion(members * np.nan, y), "must be finite"),
        (lambda: warn_if_useless(y, y, 0.5), "members must be"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_the_module_by_itself_needs_no_torch():
    file = sys.modules["negcorr.diversity.collusion"].__file__
    code = (
        "import sys, importlib.util as u; "
        f"spec = u.spec_from_file_location('alone', {file!r}); "
        "alone = sys.modules['alone'] = u.module_from_spec(spec); spec.loader.exec_module(alone); "
        "print(alone.drop_error([[1.0], [3.0]], [1.0], 1), 'torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["2.0", "False"]
