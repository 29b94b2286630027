"""NCLLoss against negcorr.ncl_loss, its gradient against the formula of Section 2.2."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from negcorr import ncl_loss

torch = pytest.importorskip("torch")

from negcorr.deep.training.loss import NCLLoss

#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)

FORMS = ("combined", "penalty")
VALUES = st.floats(-1e3, 1e3, allow_nan=False, width=64)
LAMS = st.floats(0.0, 1.0, allow_nan=False, width=64)


@st.composite
def ensembles(draw, several=False):
    """Member predictions (M, n[, p]) or (E, M, n[, p]), and targets for them."""
    n_members, n = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    outputs = draw(st.sampled_from([(), (1,), (3,)]))
    before = (draw(st.integers(1, 4)),) if several else ()
    shared = not several or draw(st.booleans())
    members = draw(hnp.arrays(np.float64, (*before, n_members, n, *outputs), elements=VALUES))
    shape = (n, *outputs) if shared else (*before, n, *outputs)
    return members, draw(hnp.arrays(np.float64, shape, elements=VALUES))


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def gradient(loss, members, target):
    members = members.detach().clone().requires_grad_()
    return torch.autograd.grad(loss(members, target).sum(), members)[0]


@pytest.mark.parametrize("form", FORMS)
@repeatable
@given(case=ensembles(), lam=LAMS)
def test_loss_of_one_ensemble_is_that_of_numpy(form, case, lam):
    members, target = case
    found = NCLLoss(lam, form)(torch.from_numpy(members), torch.from_numpy(target))
    assert found.shape == ()
    for numpy_form in FORMS:
        expected = np.mean(ncl_loss(members, target, lam, form=numpy_form))
        np.testing.assert_allclose(float(found), expected, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@repeatable
@given(case=ensembles(several=True), data=st.data())
def test_losses_of_several_ensembles_are_those_of_each_alone(form, case, data):
    members, target = case
    lam = data.draw(hnp.arrays(np.float64, len(members), elements=LAMS))
    found = NCLLoss(lam, form)(torch.from_numpy(members), torch.from_numpy(target))
    assert found.shape == (len(members),)
    for e, one in enumerate(members):
        y = target if target.ndim == one.ndim - 1 else target[e]
        expected = np.mean(ncl_loss(one, y, lam[e]))
        np.testing.assert_allclose(float(found[e]), expected, rtol=1e-9, atol=1e-6)


@repeatable
@given(case=ensembles(several=True), data=st.data())
def test_gradients_of_both_forms_are_the_formula_of_section_2_2(case, data):
    members, target = map(torch.from_numpy, case)
    lam = torch.from_numpy(data.draw(hnp.arrays(np.float64, len(members), elements=LAMS)))
    y = (target if target.ndim == members.ndim - 2 else target.unsqueeze(1)).expand_as(members)
    knob = lam.reshape(-1, *[1] * (members.ndim - 1))
    average = members.mean(dim=1, keepdim=True)
    entries = members[0].numel()
    expected = 2 / entries * ((members - y) - knob * (members - average))
    for form in FORMS:
        found = gradient(NCLLoss(lam, form), members, target)
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_gradient_of_one_ensemble_is_the_formula_of_section_2_2(form):
    f, y, lam = random(3, 5, 2), random(5, 2, seed=1), 0.7
    expected = 2 / f.numel() * ((f - y) - lam * (f - f.mean(dim=0)))
    torch.testing.assert_close(gradient(NCLLoss(lam, form), f, y), expected, rtol=1e-13, atol=0)


def test_gradient_passes_the_numerical_check():
    loss = NCLLoss([0.2, 0.9])
    members = random(2, 3, 4).requires_grad_()
    assert torch.autograd.gradcheck(loss, (members, random(4, seed=1)))


def test_no_member_pulls_another_at_lam_0_and_all_move_alike_at_lam_1():
    f, y = random(3, 5), random(5, seed=1)
    other = f.clone()
    other[1:] += 1.0
    alone = gradient(NCLLoss(0.0), f, y)[0], gradient(NCLLoss(0.0), other, y)[0]
    torch.testing.assert_close(*alone, rtol=0, atol=0)
    together = gradient(NCLLoss(1.0), f, y)
    torch.testing.assert_close(together, together[:1].expand_as(together), rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("target_dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lam", [0.3, [0.3, 0.8]])
def test_predictions_decide_on_the_precision(dtype, target_dtype, lam):
    members = random(2, 3, 4, dtype=dtype)
    target = random(*(3, 4) if lam == 0.3 else (4,), dtype=target_dtype)
    for form in FORMS:
        found = NCLLoss(lam, form)(members, target)
        assert found.dtype == dtype
        expected = NCLLoss(lam, form)(members.double(), target.double())
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("convert", [lambda loss: loss, lambda loss: loss.to(torch.float32)])
def test_a_gap_far_below_single_precision_is_not_lost(convert):
    # F = y, so that the loss is the gap times the members' own error.
    members = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    loss = convert(NCLLoss(1.0 - 1e-9))
    found = float(loss(members, torch.zeros(2)))
    assert found == pytest.approx(1e-9, rel=1e-6)


def test_buffers_move_with_the_module_and_are_saved():
    loss = NCLLoss([0.25, 0.75])
    assert {"lam", "gap"} == set(loss.state_dict())
    assert loss.to(torch.float32).lam.dtype == torch.float32
    assert loss.to("meta").lam.device.type == "meta"
    other = NCLLoss([0.0, 0.0])
    other.load_state_dict(NCLLoss([0.25, 0.75]).state_dict())
    members, y = random(2, 3, 4), random(4, seed=1)
    expected = NCLLoss([0.25, 0.75])(members, y)
    torch.testing.assert_close(other(members, y), expected, rtol=0, atol=0)
    torch.testing.assert_close(copy.deepcopy(other)(members, y), expected, rtol=0, atol=0)


def test_there_is_nothing_to_train_in_the_loss():
    assert list(NCLLoss(torch.tensor(0.5, requires_grad=True)).parameters()) == []
    assert not NCLLoss(torch.tensor(0.5, requires_grad=True)).lam.requires_grad


def test_a_change_of_the_array_handed_in_changes_no_loss():
    for lam in (np.array([0.5, 0.5]), torch.tensor([0.5, 0.5], dtype=torch.float64)):
        loss = NCLLoss(lam)
        lam[:] = 7.0
        assert loss.lam.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("lam", [-0.1, 1.0 + 1e-9, np.nan, np.inf, [0.5, -1e-300], [0.5, np.nan]])
def test_lam_outside_0_to_1_is_an_error(lam):
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        NCLLoss(lam)


@pytest.mark.parametrize("lam", [0, 1, 0.0, 1.0, [0, 1], np.float32(0.5)])
def test_ends_of_the_range_and_any_kind_of_number_are_allowed(lam):
    assert NCLLoss(lam).lam.dtype == torch.float64


def test_lam_with_two_axes_is_an_error():
    with pytest.raises(ValueError, match=r"shape \(E,\), got \(1, 2\)"):
        NCLLoss([[0.1, 0.2]])


def test_unknown_form_is_an_error():
    with pytest.raises(ValueError, match="allowed are 'combined' and 'penalty'"):
        NCLLoss(0.5, "both")


@pytest.mark.parametrize(
    ("members", "target"),
    [
        ((3, 4), (3,)),
        ((3, 4), (4, 1)),
        ((3, 4), (1,)),
        ((3, 4), (3, 4)),
        ((3, 4), (1, 4)),
        ((3, 4, 1), (4,)),
        ((3, 4, 2), (4, 1)),
        ((4, 4, 1), (4,)),
        ((5, 3, 4, 2), (4, 2)),
        ((5, 3, 4, 2), (5, 4, 2)),
        ((5,), (5,)),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_targets_that_do_not_fit_one_ensemble_are_an_error(members, target, form):
    with pytest.raises(ValueError, match="does not fit members of shape"):
        NCLLoss(0.5, form)(torch.zeros(members), torch.zeros(target))


@pytest.mark.parametrize(
    ("members", "target"),
    [
        ((4, 3, 4), (4, 1)),  # E = n: (n, 1) must not pass for (E, n)
        ((4, 3, 4, 1), (4,)),
        ((4, 3, 4, 1), (4, 4)),
        ((4, 3, 4, 2), (4, 1)),
        ((4, 3, 4, 2), (4, 4, 1)),
        ((4, 3, 5), (3, 5)),
        ((4, 3, 5), (1, 5)),
        ((4, 3, 5), (4, 1, 5)),
        ((4, 3, 5), (4,)),
        ((4, 3, 5), ()),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_targets_that_do_not_fit_several_ensembles_are_an_error(members, target, form):
    with pytest.raises(ValueError, match="does not fit members of shape"):
        NCLLoss([0.5] * 4, form)(torch.zeros(members), torch.zeros(target))


def test_targets_are_told_apart_where_there_are_as_many_ensembles_as_samples():
    members, lam = random(4, 3, 4), [0.1, 0.4, 0.7, 1.0]
    shared, own = random(4, seed=1), random(4, 4, seed=2)
    for e in range(4):
        one = NCLLoss(lam[e])
        torch.testing.assert_close(NCLLoss(lam)(members, shared)[e], one(members[e], shared))
        torch.testing.assert_close(NCLLoss(lam)(members, own)[e], one(members[e], own[e]))


@pytest.mark.parametrize("shape", [(3, 4), (3, 2, 4), (1, 2, 4)])
def test_members_without_the_axis_of_ensembles_are_an_error(shape):
    with pytest.raises(ValueError, match="first axis must be that of the ensembles"):
        NCLLoss([0.1, 0.2])(torch.zeros(shape), torch.zeros(4))


def test_representation_names_few_values_and_counts_many():
    assert repr(NCLLoss(0.5)) == "NCLLoss(lam=0.5, form='combined')"
    assert repr(NCLLoss([0.5] * 9, "penalty")) == "NCLLoss(lam=9 values, form='penalty')"


@pytest.mark.parametrize("lam", ["a", None, {}])
def test_a_lam_that_is_no_number_is_named(lam):
    with pytest.raises(TypeError, match=r"^lam=.* must be a number or of shape \(E,\)\.$"):
        NCLLoss(lam)
