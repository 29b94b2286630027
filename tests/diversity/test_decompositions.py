"""The identities behind diversity: equations 1, 2 and 3, and bias-variance-covariance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from negcorr import ambiguity_decomposition, bias_variance_covariance, ncl_loss

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)

VALUES = st.floats(-1e3, 1e3, allow_nan=False, width=64)
TERMS = ("ensemble_error", "member_error", "diversity")


@st.composite
def ensembles(draw, draws=False):
    """Member predictions, members first, and targets, with one or several outputs."""
    n_members, n_samples = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    outputs = draw(st.sampled_from([(), (1,), (3,)]))
    before = (draw(st.integers(1, 5)), n_members) if draws else (n_members,)
    members = draw(hnp.arrays(np.float64, (*before, n_samples, *outputs), elements=VALUES))
    target = draw(hnp.arrays(np.float64, (n_samples, *outputs), elements=VALUES))
    return members, target


def close(left, right, scale=1e6):
    return np.allclose(left, right, rtol=1e-9, atol=1e-12 * scale)


@repeatable
@given(ensembles())
def test_ensemble_error_is_member_error_minus_diversity_for_every_sample(case):
    terms = ambiguity_decomposition(*case)
    assert terms.diversity_per_sample.shape == case[1].shape
    assert close(
        terms.ensemble_error_per_sample,
        terms.member_error_per_sample - terms.diversity_per_sample,
    )


@repeatable
@given(ensembles(), st.data())
def test_ensemble_error_is_member_error_minus_diversity_in_total_with_any_weights(case, data):
    weight = data.draw(
        hnp.arrays(np.float64, len(case[1]), elements=st.floats(0.25, 8.0, allow_nan=False))
    )
    for terms in (ambiguity_decomposition(*case), ambiguity_decomposition(*case, weight)):
        assert np.shape(terms.diversity) == case[1].shape[1:]
        assert close(terms.ensemble_error, terms.member_error - terms.diversity)


@repeatable
@given(ensembles())
def test_terms_are_the_plain_loops_over_samples_and_members(case):
    members, target = case
    terms = ambiguity_decomposition(members, target)
    for i in range(len(target)):
        average = sum(members[:, i]) / len(members)
        assert close(terms.ensemble_error_per_sample[i], (average - target[i]) ** 2)
        assert close(
            terms.member_error_per_sample[i],
            sum((f - target[i]) ** 2 for f in members[:, i]) / len(members),
        )
        assert close(
            terms.diversity_per_sample[i],
            sum((f - average) ** 2 for f in members[:, i]) / len(members),
        )


@repeatable
@given(ensembles(), st.floats(-2.0, 3.0))
def test_penalty_form_equals_combined_form_at_any_lam(case, lam):
    penalty = ncl_loss(*case, lam)
    combined = ncl_loss(*case, lam, form="combined")
    assert np.shape(penalty) == case[1].shape[1:]
    assert close(penalty, combined)


@repeatable
@given(ensembles())
def test_loss_is_member_error_at_zero_and_ensemble_error_at_one(case):
    terms = ambiguity_decomposition(*case)
    for form in ("penalty", "combined"):
        assert close(ncl_loss(*case, 0.0, form=form), terms.member_error)
        assert close(ncl_loss(*case, 1.0, form=form), terms.ensemble_error)


@repeatable
@given(ensembles(), st.data())
def test_integer_weights_equal_repeated_samples(case, data):
    members, target = case
    weight = data.draw(hnp.arrays(np.int64, len(target), elements=st.integers(0, 4)))
    weight[0] += 1
    repeated = np.repeat(members, weight, axis=1), np.repeat(target, weight, axis=0)
    weighted, plain = ambiguity_decomposition(*case, weight), ambiguity_decomposition(*repeated)
    for name in TERMS:
        assert close(getattr(weighted, name), getattr(plain, name))
    for form in ("penalty", "combined"):
        assert close(
            ncl_loss(*case, 0.7, form=form, sample_weight=weight),
            ncl_loss(*repeated, 0.7, form=form),
        )


@repeatable
@given(ensembles())
def test_weights_leave_the_terms_of_single_samples_alone(case):
    weight = np.arange(1.0, len(case[1]) + 1.0)
    weighted, plain = ambiguity_decomposition(*case, weight), ambiguity_decomposition(*case)
    for name in TERMS:
        np.testing.assert_array_equal(
            getattr(weighted, f"{name}_per_sample"), getattr(plain, f"{name}_per_sample")
        )


@repeatable
@given(ensembles())
def test_outputs_are_decomposed_apart(case):
    members, target = case
    together = (
        ambiguity_decomposition(members[..., np.newaxis], target[..., np.newaxis])
        if (target.ndim == 1)
        else ambiguity_decomposition(members, target)
    )
    columns = [target] if target.ndim == 1 else list(target.T)
    stacks = [members] if target.ndim == 1 else [members[..., j] for j in range(target.shape[1])]
    for j, (stack, column) in enumerate(zip(stacks, columns, strict=True)):
        alone = ambiguity_decomposition(stack, column)
        for name in TERMS:
            assert close(getattr(together, name)[j], getattr(alone, name))


def member_weights(draw, n_members, elements):
    """Weights of the members, at least one of them not zero."""
    weight = draw(hnp.arrays(np.float64, n_members, elements=elements))
    weight[draw(st.integers(0, n_members - 1))] += 1.0
    return weight


@repeatable
@given(ensembles(), st.data())
def test_identity_holds_with_weights_of_members_and_of_samples(case, data):
    share = member_weights(data.draw, len(case[0]), st.floats(0.0, 1e3))
    weight = np.arange(1.0, len(case[1]) + 1.0)
    terms = ambiguity_decomposition(*case, weight, member_weight=share)
    assert terms.diversity_per_sample.shape == case[1].shape
    assert (terms.diversity_per_sample >= 0.0).all()
    assert close(
        terms.ensemble_error_per_sample,
        terms.member_error_per_sample - terms.diversity_per_sample,
    )
    assert close(terms.ensemble_error, terms.member_error - terms.diversity)


@repeatable
@given(ensembles(), st.data())
def test_weighted_terms_are_the_plain_loops_over_members(case, data):
    members, target = case
    share = member_weights(data.draw, len(members), st.floats(0.0, 1e3))
    terms = ambiguity_decomposition(members, target, member_weight=share)
    parts = share / sum(share)
    average = sum(w * f for w, f in zip(parts, members, strict=True))
    assert close(terms.ensemble_error_per_sample, (average - target) ** 2)
    for name, centre in (("member_error", target), ("diversity", average)):
        expected = sum(w * (f - centre) ** 2 for w, f in zip(parts, members, strict=True))
        assert close(getattr(terms, f"{name}_per_sample"), expected)


@repeatable
@given(ensembles(), st.sampled_from([1e-308, 0.3, 1.0, 1e308]))
def test_equal_weights_of_members_are_no_weights(case, value):
    plain = ambiguity_decomposition(*case)
    weighted = ambiguity_decomposition(*case, member_weight=np.full(len(case[0]), value))
    for name in TERMS:
        assert close(getattr(weighted, name), getattr(plain, name))


@repeatable
@given(ensembles(), st.data())
def test_integer_weights_of_members_equal_repeated_members(case, data):
    members, target = case
    share = member_weights(data.draw, len(members), st.integers(0, 3).map(float))
    repeated = np.repeat(members, share.astype(int), axis=0)
    weighted = ambiguity_decomposition(members, target, member_weight=share)
    plain = ambiguity_decomposition(repeated, target)
    for name in TERMS:
        assert close(getattr(weighted, name), getattr(plain, name))


def test_weight_on_one_member_leaves_it_alone():
    members, y = [[1.0, 4.0], [7.0, 7.0]], [0.0, 1.0]
    terms = ambiguity_decomposition(members, y, member_weight=[2.0, 0.0])
    assert terms.diversity == 0.0
    assert terms.ensemble_error == terms.member_error == 5.0


def test_one_member_has_no_diversity():
    terms = ambiguity_decomposition([[1.0, 4.0]], [0.0, 1.0])
    assert terms.diversity == 0.0
    assert terms.ensemble_error == terms.member_error == 5.0
    assert ncl_loss([[1.0, 4.0]], [0.0, 1.0], 0.3) == 5.0


def test_totals_of_one_target_are_floats_and_of_several_arrays():
    rng = np.random.default_rng(0)
    single = ambiguity_decomposition(rng.normal(size=(3, 5)), rng.normal(size=5))
    several = ambiguity_decomposition(rng.normal(size=(3, 5, 2)), rng.normal(size=(5, 2)))
    for name in TERMS:
        assert type(getattr(single, name)) is float
        assert getattr(several, name).shape == (2,)


@repeatable
@given(ensembles(draws=True))
def test_error_is_bias_plus_variance_over_m_plus_covariance(case):
    terms = bias_variance_covariance(*case)
    m = terms.n_members
    assert m == case[0].shape[1]
    rebuilt = terms.bias_squared + terms.variance / m + (1 - 1 / m) * terms.covariance
    assert np.shape(terms.error) == case[1].shape[1:]
    assert close(terms.error, rebuilt)


@repeatable
@given(ensembles(draws=True))
def test_terms_over_draws_are_the_plain_loops_over_pairs_of_members(case):
    values, target = case
    n_draws, m = values.shape[:2]
    expected = values.mean(axis=0)
    pairs = [
        sum((values[d, a] - expected[a]) * (values[d, b] - expected[b]) for d in range(n_draws))
        / n_draws
        for a in range(m)
        for b in range(m)
        if a != b
    ]
    covariance = np.mean(pairs, axis=0) if pairs else np.zeros_like(target)
    variance = ((values - expected) ** 2).sum(axis=(0, 1)) / (n_draws * m)
    terms = bias_variance_covariance(values, target)
    assert close(terms.covariance, covariance.mean(axis=0))
    assert close(terms.variance, variance.mean(axis=0))
    assert close(terms.bias_squared, ((expected.mean(axis=0) - target) ** 2).mean(axis=0))


def test_one_member_over_draws_has_no_covariance():
    draws = np.random.default_rng(0).normal(size=(9, 1, 4))
    terms = bias_variance_covariance(draws, np.zeros(4))
    assert terms.covariance == 0.0
    assert terms.error == pytest.approx(terms.bias_squared + terms.variance, rel=1e-12)


def test_one_draw_is_all_bias():
    terms = bias_variance_covariance(np.ones((1, 3, 4)), np.zeros(4))
    assert (terms.error, terms.bias_squared, terms.variance, terms.covariance) == (1, 1, 0, 0)


GOOD = np.zeros((2, 3)), np.zeros(3)


@pytest.mark.parametrize(
    ("members", "y", "says"),
    [
        (np.zeros((2, 4)), np.zeros(3), [r"members", r"\(2, 4\)", r"\(3,\)", r"\(M, n\)"]),
        (np.zeros(3), np.zeros(3), [r"members", r"\(3,\)", r"\(M, n, outputs\)"]),
        (np.zeros((2, 3)), np.zeros((3, 1)), [r"members", r"\(2, 3\)", r"\(3, 1\)"]),
        (np.zeros((2, 3, 1)), np.zeros((3, 1, 1)), [r"y must be", r"\(n,\)", r"\(3, 1, 1\)"]),
        (np.zeros((2, 1)), 0.0, [r"y must be", r"\(n, outputs\)", r"\(\)"]),
        (np.zeros((0, 3)), np.zeros(3), [r"members", r"empty", r"\(0, 3\)"]),
        (np.zeros((2, 0)), np.zeros(0), [r"members", r"empty", r"\(2, 0\)"]),
        (np.full((2, 3), np.nan), np.zeros(3), [r"members", r"finite", r"NaN"]),
        (np.zeros((2, 3)), np.array([0.0, np.inf, 1.0]), [r"y", r"finite", r"infinity"]),
    ],
)
def test_bad_members_or_targets_are_named_with_what_is_allowed(members, y, says):
    for call in (lambda: ambiguity_decomposition(members, y), lambda: ncl_loss(members, y, 0.5)):
        with pytest.raises(ValueError, match=says[0]) as caught:
            call()
        for words in says:
            assert caught.match(words)


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (np.ones(4), [r"sample_weight", r"\(3,\)", r"\(4,\)"]),
        (np.ones((3, 1)), [r"sample_weight", r"\(3,\)", r"\(3, 1\)"]),
        ([1.0, -1.0, 1.0], [r"sample_weight", r"non-negative"]),
        ([1.0, np.nan, 1.0], [r"sample_weight", r"finite"]),
        ([0.0, 0.0, 0.0], [r"sample_weight", r"zero"]),
    ],
)
def test_bad_weights_are_named_with_what_is_allowed(weight, says):
    for call in (
        lambda: ambiguity_decomposition(*GOOD, weight),
        lambda: ncl_loss(*GOOD, 0.5, sample_weight=weight),
    ):
        with pytest.raises(ValueError, match=says[0]) as caught:
            call()
        for words in says:
            assert caught.match(words)


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (np.ones(3), [r"member_weight", r"\(2,\)", r"\(3,\)"]),
        (np.ones((2, 1)), [r"member_weight", r"\(2,\)", r"\(2, 1\)"]),
        (1.0, [r"member_weight", r"\(2,\)", r"\(\)"]),
        ([1.0, -0.5], [r"member_weight", r"non-negative", r"-0\.5 and 1\.0"]),
        ([1.0, np.inf], [r"member_weight", r"finite", r"inf"]),
        ([np.nan, 1.0], [r"member_weight", r"finite", r"nan"]),
        ([0.0, 0.0], [r"member_weight", r"zero", r"0\.0 and 0\.0"]),
    ],
)
def test_bad_weights_of_members_are_named_with_what_is_allowed(weight, says):
    with pytest.raises(ValueError, match=says[0]) as caught:
        ambiguity_decomposition(*GOOD, member_weight=weight)
    for words in says:
        assert caught.match(words)


@pytest.mark.parametrize("lam", [np.nan, np.inf, -np.inf])
def test_lam_that_is_not_finite_is_named(lam):
    with pytest.raises(ValueError, match=rf"lam={lam!r} .*finite"):
        ncl_loss(*GOOD, lam)


@pytest.mark.parametrize("lam", ["half", None, [0.1, 0.2]])
def test_lam_that_is_no_number_is_named(lam):
    with pytest.raises((TypeError, ValueError), match=r"lam="):
        ncl_loss(*GOOD, lam)


def test_unknown_form_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"form='both'.*'penalty' and 'combined'"):
        ncl_loss(*GOOD, 0.5, form="both")


@pytest.mark.parametrize(
    ("predictions", "target", "says"),
    [
        (np.zeros((2, 3)), np.zeros(3), [r"predictions", r"\(2, 3\)", r"\(D, M, n\)"]),
        (np.zeros((5, 2, 4)), np.zeros(3), [r"predictions", r"target", r"\(5, 2, 4\)"]),
        (np.zeros((5, 2, 3)), np.zeros((3, 1, 1)), [r"target must be", r"\(3, 1, 1\)"]),
        (np.zeros((0, 2, 3)), np.zeros(3), [r"predictions", r"empty"]),
        (np.full((5, 2, 3), np.inf), np.zeros(3), [r"predictions", r"finite"]),
    ],
)
def test_bad_draws_are_named_as_the_caller_named_them(predictions, target, says):
    with pytest.raises(ValueError, match=says[-1]) as caught:
        bias_variance_covariance(predictions, target)
    for words in says:
        assert caught.match(words)
