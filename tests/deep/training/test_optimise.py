"""Steps against the optimisers of torch, the schedule against a literal loop."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from negcorr.deep.training.optimise import OPTIMISERS, Schedule, Steps


def tensors_of(state):
    return {name: value for name, value in vars(state).items() if torch.is_tensor(value)}


#: The same examples in every run, however slow the machine.
repeatable = settings(derandomize=True, deadline=None)

E, M, SIZE, MANY = 3, 2, 7, 200
RATES = torch.tensor([1e-3, 0.05, 1.0], dtype=torch.float64)
TORCH = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


def start(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(E * M, SIZE, generator=generator, dtype=torch.float64).to(dtype)


def gradients(steps=MANY):
    """Of very different sizes, some of them 0."""
    generator = torch.Generator().manual_seed(1)
    drawn = torch.randn(steps, E * M, SIZE, generator=generator, dtype=torch.float64)
    drawn *= torch.logspace(-6, 3, SIZE, dtype=torch.float64)
    drawn[:, :, 0] = 0.0
    return drawn


def moved(kind, grads, rate=RATES, dtype=torch.float64, **kwargs):
    theta = start(dtype)
    steps = Steps.start(theta, kind, **kwargs)
    for gradient in grads:
        steps.move(theta, gradient.to(dtype), rate.to(dtype), E)
    return theta


def moved_by_torch(kind, grads, shorten=lambda leaf: None, dtype=torch.float64, **kwargs):
    """An optimiser of torch for each ensemble."""
    leaves = [part.clone().requires_grad_() for part in start(dtype).split(M)]
    optimisers = [
        TORCH[kind]([leaf], lr=float(rate), **kwargs)
        for leaf, rate in zip(leaves, RATES, strict=True)
    ]
    for gradient in grads:
        parts = gradient.to(dtype).split(M)
        for leaf, part, optimiser in zip(leaves, parts, optimisers, strict=True):
            leaf.grad = part.clone()
            shorten(leaf)
            optimiser.step()
    return torch.cat(leaves).detach()


def shortened(gradient, longest):
    """Each ensemble's gradient cut to the longest allowed norm."""
    parts = gradient.clone().split(M)
    factors = [min(1.0, longest / float(part.square().sum().sqrt())) for part in parts]
    return torch.cat([factor * part for factor, part in zip(factors, parts, strict=True)])


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", OPTIMISERS)
def test_steps_are_those_of_torch_for_each_ensemble(kind, weight_decay):
    grads = gradients() * (1.0 if kind == "adam" else 1e-3)
    found = moved(kind, grads, weight_decay=weight_decay)
    expected = moved_by_torch(kind, grads, weight_decay=weight_decay)
    assert (expected - start()).abs().max() > 0.1
    torch.testing.assert_close(found, expected, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_single_precision_steps_are_those_of_torch(kind):
    grads = gradients() * (1.0 if kind == "adam" else 1e-3)
    found = moved(kind, grads, dtype=torch.float32)
    assert found.dtype == torch.float32
    expected = moved_by_torch(kind, grads, dtype=torch.float32)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_first_step_of_adam_is_the_rate_whatever_the_gradient_in_single_precision_too():
    # Corrections of the averages in single precision would be off by 10⁻⁵ here.
    theta = torch.zeros(E * M, SIZE)
    Steps.start(theta, "adam").move(theta, torch.full_like(theta, 3.0), RATES.float(), E)
    expected = -RATES.float().repeat_interleave(M).unsqueeze(1).expand(-1, SIZE)
    torch.testing.assert_close(theta, expected, rtol=3e-7, atol=0)


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", OPTIMISERS)
@pytest.mark.parametrize("longest", [0.5, 900.0])
def test_long_gradients_are_shortened_for_each_ensemble_before_decay_is_added(
    kind, longest, weight_decay
):
    grads = gradients()
    norms = grads.reshape(MANY, E, -1).norm(dim=2)
    assert bool((norms > longest).any())
    cut = [shortened(gradient, longest) for gradient in grads]
    expected = moved_by_torch(kind, cut, weight_decay=weight_decay)
    found = moved(kind, grads, clip=longest, weight_decay=weight_decay)
    scale = float(expected.abs().max())
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13 * scale)


def test_shortening_is_that_of_torch():
    grads = gradients()
    expected = moved_by_torch("sgd", grads, lambda p: torch.nn.utils.clip_grad_norm_([p], 2.0))
    # torch adds 10⁻⁶ to the norm.
    torch.testing.assert_close(moved("sgd", grads, clip=2.0), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_gradients_shorter_than_the_longest_allowed_stay_as_they_are(kind):
    grads = gradients(5)
    assert torch.equal(moved(kind, grads, clip=1e9), moved(kind, grads))


def test_a_gradient_of_0_can_be_clipped():
    theta = start()
    Steps.start(theta, "sgd", clip=1.0).move(theta, torch.zeros_like(theta), RATES, E)
    assert torch.equal(theta, start())


@pytest.mark.parametrize("clip", [None, 1.0])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", OPTIMISERS)
def test_a_rate_of_0_leaves_an_ensemble_untouched_to_the_bit(kind, dtype, weight_decay, clip):
    rate = RATES.clone()
    rate[1] = 0.0
    theta = moved(kind, gradients(20), rate, dtype, weight_decay=weight_decay, clip=clip)
    still = (theta == start(dtype)).view(E, -1)
    assert still[1].all()
    # Gradients of the last parameters are large enough to move the others in any precision.
    assert not still.view(E, M, SIZE)[::2, :, -1].any()


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_ensembles_move_together_as_each_alone(kind):
    grads = gradients(20)
    together = moved(kind, grads, weight_decay=0.01, clip=1.0)
    for e in range(E):
        rows = slice(e * M, (e + 1) * M)
        theta = start()[rows].clone()
        steps = Steps.start(theta, kind, weight_decay=0.01, clip=1.0)
        for gradient in grads:
            steps.move(theta, gradient[rows], RATES[e : e + 1], 1)
        torch.testing.assert_close(theta, together[rows], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_gradients_handed_in_are_not_changed(kind):
    gradient = gradients(1)[0]
    before = gradient.clone()
    theta = start()
    Steps.start(theta, kind, weight_decay=0.1, clip=0.1).move(theta, gradient, RATES, E)
    assert torch.equal(gradient, before)


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_steps_go_on_from_saved_tensors(kind):
    grads = gradients(20)
    theta = start()
    steps = Steps.start(theta, kind)
    for gradient in grads[:10]:
        steps.move(theta, gradient, RATES, E)
    saved = {name: value.clone() for name, value in tensors_of(steps).items()}
    assert set(saved) == {"first", "second", "count"}
    assert float(saved["count"]) == 10
    again = Steps(**saved, kind=kind)
    for gradient in grads[10:]:
        again.move(theta, gradient, RATES, E)
    assert torch.equal(theta, moved(kind, grads))


def test_unknown_optimiser_is_an_error():
    with pytest.raises(ValueError, match=r"'newton' is unknown; allowed are \['adam', 'sgd'\]"):
        Steps.start(start(), "newton")


# ---------------------------------------------------------------------------------------
# Schedule
# ---------------------------------------------------------------------------------------


def literal(losses, rate, patience):
    """The rule in the words of Section 8, for one ensemble: rate, lowest loss, both counters."""
    best, stale, waited = math.inf, 0, 0
    for loss in losses:
        if loss < best:
            best, stale, waited = loss, 0, 0
        else:
            stale += 1
            waited += 1
        if stale == patience:
            rate /= 2
            stale = 0
    return [rate, best, stale, waited]


def seen(losses, rate, patience):
    schedule = Schedule.start(torch.tensor(rate, dtype=torch.float64))
    for row in losses:
        schedule.see(torch.tensor(row, dtype=torch.float64), patience)
    return schedule


FEW = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, math.inf, math.nan])


@repeatable
@given(
    losses=st.lists(st.tuples(FEW, FEW, FEW), max_size=25),
    patience=st.integers(1, 5),
)
def test_schedule_is_the_literal_loop_for_each_ensemble(losses, patience):
    rate = [1.0, 0.1, 0.0]
    schedule = seen(losses, rate, patience)
    for e in range(3):
        found = [float(v[e]) for v in tensors_of(schedule).values()]
        assert found == literal([row[e] for row in losses], rate[e], patience)


def test_rate_is_halved_after_as_many_epochs_without_a_lower_loss_as_patience_has():
    losses = [(1.0,)] * 101
    assert seen(losses[:100], [0.8], 100).rate.tolist() == [0.8]
    assert seen(losses, [0.8], 100).rate.tolist() == [0.4]
    assert seen(losses * 2, [0.8], 100).rate.tolist() == [0.2]


def test_a_lower_loss_starts_the_count_anew_and_an_equal_one_does_not():
    lower = seen([(3.0,), (3.0,), (2.0,), (3.0,), (3.0,)], [1.0], 3)
    assert (lower.rate.tolist(), lower.stale.tolist()) == ([1.0], [2.0])
    equal = seen([(3.0,), (3.0,), (3.0,), (3.0,), (3.0,)], [1.0], 3)
    assert (equal.rate.tolist(), equal.stale.tolist()) == ([0.5], [1.0])
    assert equal.waited.tolist() == [4.0]


def test_the_tensor_of_rates_handed_in_is_not_changed():
    rate = torch.ones(2)
    schedule = Schedule.start(rate)
    for _ in range(3):
        schedule.see(torch.ones(2), 1)
    assert schedule.rate.tolist() == [0.25, 0.25]
    assert rate.tolist() == [1.0, 1.0]


def test_a_schedule_goes_on_from_saved_tensors():
    losses = [(1.0, 2.0), (1.0, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 0.5), (1.0, 0.5)]
    before = seen(losses[:3], [1.0, 1.0], 2)
    again = Schedule(**tensors_of(before))
    for row in losses[3:]:
        again.see(torch.tensor(row, dtype=torch.float64), 2)
    expected = tensors_of(seen(losses, [1.0, 1.0], 2))
    assert set(expected) == {"rate", "best", "stale", "waited"}
    for name, value in tensors_of(again).items():
        assert torch.equal(value, expected[name])
