"""Stacked modules against a Python loop over the same modules."""

import copy
import pickle
import warnings

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn.utils import parametrizations

from negcorr.deep.training.loss import NCLLoss
from negcorr.deep.training.stacking import StackedModule, stack
from negcorr.exceptions import IdenticalMembersWarning

M = 3


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def made(factory, n_members=M, seed=0):
    """Plain modules in double precision with random weights everywhere, and their stack."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        modules = [factory().double() for _ in range(n_members)]
        for module in modules:
            for value in module.parameters():
                value.data += 0.3 * torch.randn_like(value)
    given = iter(modules)
    return stack(lambda: next(given), n_members), modules


def assert_same(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)


def assert_same_state(stacked, modules):
    """Parameters and buffers, one by one."""
    for name, value in stacked.each.state_dict().items():
        assert_same(value, torch.stack([module.state_dict()[name] for module in modules]))


def assert_same_training(factory, shape, steps=4, mode=True):
    """Outputs, gradients, weights and buffers over several steps on changing batches."""
    stacked, modules = made(factory)
    loop = [parameter for module in modules for parameter in module.parameters()]
    optimisers = [torch.optim.SGD(stacked.parameters(), 0.05), torch.optim.SGD(loop, 0.05)]
    loss = NCLLoss(0.7)
    for part in (stacked, *modules):
        part.train(mode)
    for step in range(steps):
        X = 1.0 + 2.0 * random(*shape, seed=step)
        outs = stacked(X), torch.stack([module(X) for module in modules])
        assert_same(*outs)
        for out, optimiser in zip(outs, optimisers, strict=True):
            optimiser.zero_grad()
            loss(out, torch.ones_like(out[0])).backward()
        for name, value in stacked.each.named_parameters():
            assert_same(value.grad, torch.stack([m.get_parameter(name).grad for m in modules]))
        assert_same_state(stacked, modules)
        for optimiser in optimisers:
            optimiser.step()
    X = random(*shape, seed=99)
    assert_same(stacked.eval()(X), torch.stack([module.eval()(X) for module in modules]))
    assert_same_state(stacked, modules)


def mlp(**kwargs):
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5, **kwargs), nn.Tanh(), nn.Linear(5, 1))


def norm_twice(**kwargs):
    norm = nn.BatchNorm1d(4, **kwargs)
    return nn.Sequential(nn.Linear(4, 4), norm, nn.Tanh(), nn.Linear(4, 4), norm)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(4, 4), nn.Linear(4, 4)
        self.decode.weight = self.encode.weight

    def forward(self, X):
        return self.decode(torch.tanh(self.encode(X)))


class Remembers(nn.Module):
    """Buffers that are replaced, updated in place, not saved, and of integers."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
        self.register_buffer("average", torch.zeros(3))
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("largest", torch.zeros(3), persistent=False)

    def forward(self, X):
        out = self.inner(X)
        with torch.no_grad():
            self.average = 0.9 * self.average + 0.1 * out.mean(dim=0)
            self.calls += 1
            self.largest.copy_(torch.maximum(self.largest, out.amax(dim=0)))
        return out - self.average * self.calls + self.largest


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(inplace=True))
            for _ in range(2)
        )
        self.scale = nn.Parameter(torch.ones(3, 1, 1))
        self.head = nn.Linear(3, 2)

    def forward(self, X):
        for block in self.blocks:
            X = X + self.scale * block(X)
        return self.head(X.mean(dim=(2, 3)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, X):
        return self.attention(X, X, X)[0]


ROWS, IMAGES, SEQUENCES = (7, 4), (6, 3, 5, 5), (6, 5, 4)

FACTORIES = {
    "batch norm": (mlp, ROWS),
    "cumulative": (lambda: mlp(momentum=None), ROWS),
    "untracked": (lambda: mlp(track_running_stats=False), ROWS),
    "not affine": (lambda: mlp(affine=False), ROWS),
    "cumulative, not affine": (lambda: mlp(momentum=None, affine=False), ROWS),
    "momentum 1": (lambda: mlp(momentum=1.0), ROWS),
    "norm first": (lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 1)), ROWS),
    "cumulative norm first": (
        lambda: nn.Sequential(nn.BatchNorm1d(4, momentum=None, affine=False), nn.Linear(4, 1)),
        ROWS,
    ),
    "norm used twice": (norm_twice, ROWS),
    "cumulative norm used twice": (lambda: norm_twice(momentum=None), ROWS),
    "norm of sequences": (lambda: nn.Sequential(nn.Conv1d(5, 3, 2), nn.BatchNorm1d(3)), SEQUENCES),
    "norm of images": (Residual, IMAGES),
    "norm first of images": (
        lambda: nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(75, 1)),
        IMAGES,
    ),
    "groups": (
        lambda: nn.Sequential(nn.Conv2d(3, 6, 3, groups=3), nn.GroupNorm(2, 6), nn.MaxPool2d(2)),
        IMAGES,
    ),
    "instance norm": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
        ),
        IMAGES,
    ),
    "layer norm": (lambda: nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 3), nn.RMSNorm(3)), ROWS),
    "frozen norm": (lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3).eval()), ROWS),
    "tied": (Tied, ROWS),
    "buffers": (Remembers, ROWS),
    "attention": (Attention, SEQUENCES),
    "orthogonal": (lambda: parametrizations.orthogonal(nn.Linear(4, 3)), ROWS),
}


@pytest.mark.parametrize("name", FACTORIES)
@pytest.mark.parametrize("mode", [True, False])
def test_training_is_that_of_a_loop(name, mode):
    assert_same_training(*FACTORIES[name], mode=mode)


def test_one_member():
    stacked, (plain,) = made(mlp, 1)
    X = random(*ROWS)
    assert_same(stacked(X), plain(X).unsqueeze(0))
    assert_same_state(stacked, [plain])


def test_adam_moves_members_as_it_moves_each_alone():
    stacked, modules = made(mlp)
    parts = [stacked, *modules]
    optimisers = [torch.optim.Adam(part.parameters(), 0.01, weight_decay=0.1) for part in parts]
    X = random(*ROWS)
    for _ in range(5):
        for part, optimiser in zip(parts, optimisers, strict=True):
            optimiser.zero_grad()
            (part(X) ** 2).mean(dim=(-1, -2)).sum().backward()
            optimiser.step()
    assert_same_state(stacked, modules)


def test_counts_may_differ_between_members():
    modules = [mlp(momentum=None).double() for _ in range(M)]
    for m, module in enumerate(modules):
        for k in range(m):
            module(random(*ROWS, seed=k))
    stacked = StackedModule(modules)
    X = random(*ROWS, seed=7)
    assert_same(stacked(X), torch.stack([module(X) for module in modules]))
    assert_same_state(stacked, modules)
    assert stacked.each[1].num_batches_tracked.tolist() == [1, 2, 3]


def test_two_forwards_before_a_backward():
    stacked, modules = made(mlp)
    X, Z = random(*ROWS), random(*ROWS, seed=1)
    (stacked(X).sum() ** 2 + stacked(Z).sum() ** 2).backward()
    out = [torch.stack([module(rows) for module in modules]).sum() ** 2 for rows in (X, Z)]
    sum(out).backward()
    for name, value in stacked.each.named_parameters():
        assert_same(value.grad, torch.stack([m.get_parameter(name).grad for m in modules]))


@pytest.mark.parametrize("momentum", [0.1, None])
def test_statistics_in_another_memory_layout_are_updated(momentum):
    stacked, modules = made(lambda: mlp(momentum=momentum))
    state = {
        name: value.t().contiguous().t() if value.ndim == 2 else value
        for name, value in stacked.state_dict().items()
    }
    stacked.load_state_dict(state, assign=True)
    assert not stacked.each[1].running_mean.is_contiguous()
    X = random(*ROWS)
    assert_same(stacked(X), torch.stack([module(X) for module in modules]))
    assert_same_state(stacked, modules)


def test_evaluation_leaves_buffers_alone():
    stacked, _ = made(mlp)
    stacked.eval()
    before = copy.deepcopy(stacked.state_dict())
    stacked(random(*ROWS))
    torch.testing.assert_close(stacked.state_dict(), before, rtol=0, atol=0)


def test_inside_of_other_transforms():
    """Jacobians in evaluation mode, as degrees of freedom need them."""
    stacked, modules = made(mlp)
    X = random(*ROWS)
    stacked(X)
    stacked.eval()
    actual = torch.func.jacrev(stacked)(X)
    expected = torch.autograd.functional.jacobian(stacked.member(1), X)
    assert_same(actual[1], expected)
    assert len(modules) == M


@pytest.mark.parametrize("momentum", [0.1, None])
def test_stacks_can_be_stacked(momentum):
    """Ensembles of members, for a loss with one λ for each ensemble."""
    stacked, ensembles = made(lambda: stack(lambda: mlp(momentum=momentum), M), 2)
    X = random(*ROWS)
    for _ in range(2):
        out = stacked(X)
        assert_same(out, torch.stack([ensemble(X) for ensemble in ensembles]))
    assert out.shape == (2, M, 7, 1)
    assert_same_state(stacked, ensembles)
    assert NCLLoss([0.1, 0.9])(out, random(2, 7, 1)).shape == (2,)


def test_forwards_of_users_own_are_not_replaced():
    class Twice(nn.BatchNorm1d):
        def forward(self, X):
            return 2.0 * super().forward(X)

    factory = lambda: nn.Sequential(nn.Linear(4, 3), Twice(3, momentum=None))  # noqa: E731
    stacked, modules = made(factory)
    X = random(*ROWS)
    with pytest.raises(RuntimeError, match=r"Twice \('1' of a member\) works for one"):
        stacked(X)
    stacked.eval()
    assert_same(stacked(X)[0], modules[0].eval()(X))


def test_several_inputs():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.Linear(4, 2), nn.Linear(3, 2)

        def forward(self, X, Z):
            return self.one(X) * self.other(Z)

    stacked, modules = made(Two)
    X, Z = random(7, 4), random(7, 3)
    assert_same(stacked(X, Z), torch.stack([module(X, Z) for module in modules]))


def test_dropout_is_drawn_for_each_member():
    stacked = stack(lambda: nn.Dropout(0.5), 4)
    torch.manual_seed(0)
    out = stacked(torch.ones(400, 10))
    assert set(out.unique().tolist()) == {0.0, 2.0}
    correlations = torch.corrcoef(out.flatten(1)) - torch.eye(4)
    assert float(correlations.abs().max()) < 0.08
    assert bool((stacked.eval()(torch.ones(5, 2)) == 1.0).all())


def test_modes_reach_every_part():
    stacked, _ = made(lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3).eval()))
    assert stacked.training
    assert not stacked.each[1].training
    assert not any(part.training for part in stacked.eval().modules())
    assert all(part.training for part in stacked.train().modules())
    assert not stack(lambda: mlp().eval(), M).training


def test_dtype():
    stacked = stack(mlp, M, seed=0)
    stacked.double()
    assert stacked(random(*ROWS)).dtype is torch.float64
    assert stacked.each[1].num_batches_tracked.dtype is torch.int64
    assert stacked.member(0)[0].weight.dtype is torch.float64


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["batch norm", "cumulative", "norm of images", "buffers"])
def test_on_a_gpu(name):
    factory, shape = FACTORIES[name]
    stacked, modules = made(factory)
    stacked.cuda()
    for step in range(3):
        X = random(*shape, seed=step)
        outs = stacked(X.cuda()).cpu(), torch.stack([module(X) for module in modules])
        torch.testing.assert_close(*outs, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(
        stacked.cpu().each.state_dict(),
        StackedModule(modules).each.state_dict(),
        rtol=1e-9,
        atol=1e-9,
    )


def test_members_are_copies():
    stacked, modules = made(Tied)
    members = stacked.members()
    assert_same_state(stacked, members)
    first = members[0]
    assert type(first) is Tied
    assert first.decode.weight is first.encode.weight
    assert isinstance(first.encode.weight, nn.Parameter)
    with torch.no_grad():
        first.encode.weight.zero_()
    assert_same_state(stacked, modules)
    assert_same(stacked.member(-1).encode.bias, modules[-1].encode.bias)


def test_factory_modules_are_left_alone():
    stacked, modules = made(mlp)
    before = copy.deepcopy(modules[0].state_dict())
    stacked(random(*ROWS)).sum().backward()
    torch.optim.SGD(stacked.parameters(), 1.0).step()
    torch.testing.assert_close(modules[0].state_dict(), before, rtol=0, atol=0)


def test_no_such_member():
    with pytest.raises(IndexError, match="m=3 must be a member, from 0 to 2"):
        made(mlp)[0].member(3)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
@pytest.mark.parametrize("factory", [mlp, Tied, Remembers])
def test_copies_and_pickles(copied, factory):
    stacked, _ = made(factory)
    X = random(*ROWS)
    stacked(X)
    duplicate = copied(stacked)
    assert_same(duplicate(X), stacked(X))
    assert_same(duplicate(X), stacked(X))
    with torch.no_grad():
        next(duplicate.parameters()).zero_()
    assert float(next(stacked.parameters()).detach().abs().min()) > 0


def test_state_dict():
    stacked, _ = made(Remembers)
    stacked(random(*ROWS))
    other = stack(lambda: Remembers().double(), M)
    other.load_state_dict(stacked.state_dict())
    assert "each.inner.1.running_mean" in stacked.state_dict()
    assert "each.largest" not in stacked.state_dict()
    assert_same(dict(other.state_dict()), dict(stacked.state_dict()))


def test_repr():
    shown = repr(stack(mlp, M, seed=0))
    assert "n_members=3" in shown
    assert "BatchNorm1d" in shown


@pytest.mark.parametrize("momentum", [0.1, None])
def test_calibrate(momentum):
    factory = lambda: nn.Sequential(  # noqa: E731
        nn.Linear(4, 5), nn.BatchNorm1d(5, momentum=momentum), nn.Dropout(0.5), nn.BatchNorm1d(5)
    )
    stacked, _ = made(factory)
    X = 3.0 + random(50, 4)
    stacked(random(9, 4))
    stacked.calibrate(X)
    assert all(part.training for part in stacked.modules())
    assert stacked.each[1].momentum == momentum
    for m, member in enumerate(stacked.members()):
        signal = member[0](X).detach()
        assert_same(stacked.each[1].running_mean[m], signal.mean(dim=0))
        assert_same(stacked.each[1].running_var[m], signal.var(dim=0))
        # Dropout was off, so that the second norm saw the normalised signal itself.
        signal = member[1](signal).detach()
        assert_same(stacked.each[3].running_mean[m], signal.mean(dim=0))
        assert_same(stacked.each[3].running_var[m], signal.var(dim=0))


def test_calibrate_sets_frozen_norms_and_restores_modes():
    stacked, _ = made(lambda: nn.Sequential(Remembers(), nn.Tanh()))
    stacked(random(*ROWS))
    stacked.each[0].inner.eval()
    before = copy.deepcopy(stacked.each[0].inner[1].running_mean)
    stacked.calibrate(random(*ROWS, seed=1))
    assert not stacked.each[0].inner[1].training
    assert stacked.each[0].training
    assert float((stacked.each[0].inner[1].running_mean - before).abs().min()) > 0


def test_calibrate_of_a_norm_that_is_used_twice():
    stacked, modules = made(lambda: norm_twice(momentum=0.2))
    for module in modules:
        module[1].momentum = None
        module(random(30, 4))
    stacked.calibrate(random(30, 4))
    assert_same_state(stacked, modules)


def test_failed_calibration_changes_nothing():
    stacked, _ = made(mlp)
    stacked(random(*ROWS))
    before = copy.deepcopy(stacked.state_dict())
    with pytest.raises(RuntimeError, match="dimensions"):
        stacked.calibrate(random(7, 3))
    torch.testing.assert_close(stacked.state_dict(), before, rtol=0, atol=0)
    assert stacked.each[1].momentum == 0.1
    assert all(part.training for part in stacked.modules())


def test_calibrate_without_batch_norm():
    stacked, _ = made(Tied)
    stacked.calibrate(random(*ROWS))


def test_seed():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first, again, other = stack(mlp, M, seed=1), stack(mlp, M, seed=1), stack(mlp, M, seed=2)
    assert bool((torch.get_rng_state() == before).all())
    weights = [stacked.each[0].weight.detach() for stacked in (first, again, other)]
    assert bool((weights[0] == weights[1]).all())
    every = torch.cat([weights[0], weights[2]]).flatten(1)
    assert len(every.unique(dim=0)) == 2 * M
    # More members leave those before as they are.
    assert bool((stack(mlp, 5, seed=1).each[0].weight[:M] == weights[0]).all())


def test_no_seed_draws_from_the_global_state():
    torch.manual_seed(5)
    expected = [mlp() for _ in range(M)]
    torch.manual_seed(5)
    assert_same_state(stack(mlp, M), expected)


@pytest.mark.parametrize(
    ("factory", "n_members", "seed", "error", "message"),
    [
        (mlp, 0, None, ValueError, "n_members=0 must be at least 1"),
        (mlp, 2.0, None, TypeError, "n_members=2.0 must be an integer"),
        (mlp, 2, -1, ValueError, "seed=-1 must be an integer of at least 0"),
        (mlp, 2, "a", ValueError, "seed='a' must be"),
        (nn.Linear(2, 2), 2, None, TypeError, "a function that makes a module, got Linear"),
        (3, 2, None, TypeError, "a function that makes a module, got int"),
        (lambda: 3, 2, None, TypeError, "must return a torch.nn.Module, got int"),
        (lambda: nn.LazyLinear(2), 2, None, ValueError, "'weight' is lazy"),
        (lambda: nn.LSTM(2, 2), 2, None, ValueError, "recurrent layers cannot be stacked"),
    ],
)
def test_what_cannot_be_stacked(factory, n_members, seed, error, message):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Lazy modules are a new feature")
        with pytest.raises(error, match=message):
            stack(factory, n_members, seed=seed)


def test_members_must_be_modules_of_their_own():
    shared, norm = nn.Linear(4, 1), nn.BatchNorm1d(4)
    with pytest.raises(ValueError, match="members 0 and 1 share a Linear"):
        stack(lambda: shared, 2)
    with pytest.raises(ValueError, match="members 0 and 1 share a Parameter"):
        stack(lambda: nn.Sequential(norm, nn.Linear(4, 1)), 2)
    activation = nn.Tanh()
    stack(lambda: nn.Sequential(nn.Linear(4, 1), activation), 2)


class Attribute(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.value = value

    def forward(self, X):
        return self.layer(X)


def frozen(linear):
    linear.weight.requires_grad_(False)
    return linear


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (nn.Linear(4, 1), nn.Linear(4, 2), "'out_features': 1 and 2"),
        (nn.Linear(4, 1), nn.Linear(4, 1, bias=False), "'bias'"),
        (nn.Linear(4, 1), nn.Linear(4, 1).double(), "'weight'"),
        (nn.Linear(4, 1), frozen(nn.Linear(4, 1)), "'weight'"),
        (nn.Linear(4, 1), nn.Linear(4, 1).eval(), "'training': True and False"),
        (nn.ReLU(), nn.Tanh(), "'__class__'"),
        (mlp(), mlp(momentum=None), "'1.momentum': 0.1 and None"),
        (nn.Sequential(nn.Tanh()), nn.Sequential(nn.Tanh(), nn.Tanh()), "'1.__class__': absent"),
        (Attribute(random(3)), Attribute(random(3, seed=1)), "'value'"),
        (Attribute({"a": [1, 2]}), Attribute({"a": [1, 3]}), "'value.a.1': 2 and 3"),
        (Attribute(torch.tanh), Attribute(torch.relu), "'value'"),
        (Attribute(lambda x: x), Attribute(lambda x: -x), "'value'"),
        (Attribute(random(3).numpy()), Attribute(random(4).numpy()), "'value'"),
    ],
)
def test_members_may_differ_in_values_alone(first, second, message):
    with pytest.raises(ValueError, match=f"members 0 and 1 differ in {message}"):
        StackedModule([first, second])


def test_equal_attributes_are_welcome():
    def attribute():
        return Attribute(
            [lambda x: x, torch.tanh, random(3), random(2).numpy(), "a", None, object()]
        )

    assert stack(attribute, M)(torch.ones(2, 4)).shape == (M, 2, 4)


@pytest.mark.parametrize("hide", [lambda m: [m.layer.weight], lambda m: {"a": nn.Linear(2, 2)}])
def test_parameters_that_torch_does_not_see(hide):
    def factory():
        module = Attribute(None)
        module.value = hide(module)
        return module

    with pytest.raises(ValueError, match=r"'value\..' of Attribute holds a"):
        stack(factory, 2)


class Decides(nn.Module):
    def forward(self, X):
        return X if X.sum() > 0 else -X


def test_decisions_on_values_are_refused():
    stacked = stack(lambda: nn.Sequential(nn.Linear(4, 1), nn.Sequential(Decides())), M, seed=0)
    with pytest.raises(
        RuntimeError, match=r"Decides \('1.0' of a member\) works for one"
    ) as caught:
        stacked(torch.ones(2, 4))
    assert "data-dependent control flow" in str(caught.value.__cause__)


def test_operations_without_a_rule_are_refused():
    factory = lambda: nn.Sequential(parametrizations.spectral_norm(nn.Linear(4, 3)))  # noqa: E731
    stacked, modules = made(factory)
    with pytest.raises(RuntimeError, match="Batching rule not implemented") as caught:
        stacked(random(*ROWS))
    assert isinstance(caught.value.__cause__, RuntimeError)
    X = random(*ROWS)
    assert_same(stacked.eval()(X), torch.stack([module.eval()(X) for module in modules]))


def test_errors_of_the_module_itself_are_left_as_they_are():
    stacked, _ = made(mlp)
    with pytest.raises(RuntimeError) as caught:
        stacked(random(7, 3))
    assert "for all at once" not in str(caught.value)
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        stacked(random(1, 4))


class Returns(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.layer, self.how = nn.Linear(4, 1), how

    def forward(self, X):
        return self.how(self.layer(X))


def test_outputs_must_be_tensors():
    with pytest.raises(TypeError, match="a member returned a tuple; it must return one tensor"):
        stack(lambda: Returns(lambda out: (out, out)), M)(torch.ones(2, 4))
    with pytest.raises(RuntimeError, match="must only return Tensors"):
        stack(lambda: Returns(lambda out: 3.0), M)(torch.ones(2, 4))


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.register_buffer("cache", None)
        self.inputs = []

    def forward(self, X):
        out = self.layer(X)
        if X.shape[0] == 2:
            self.cache = out.detach()
        if X.shape[0] == 3:
            self.inputs = [out]
        return out


@pytest.mark.parametrize(("rows", "name"), [(2, "'cache'"), (3, "'inputs.0'")])
def test_tensors_that_are_kept_outside_of_buffers(rows, name):
    stacked = stack(Keeps, M)
    stacked(torch.ones(4, 4))
    with pytest.raises(RuntimeError, match=f"keeps a tensor in {name}"):
        stacked(torch.ones(rows, 4))


def test_nothing_of_ours_stays_behind():
    stacked, _ = made(lambda: nn.Sequential(mlp(momentum=None), Attention()))
    assert torch.backends.mha.get_fastpath_enabled()
    with pytest.raises(RuntimeError):
        stacked(random(7, 3))
    assert torch.backends.mha.get_fastpath_enabled()
    assert "forward" not in vars(stacked.each[0][1])


def test_same_weights_for_all_are_reported():
    with pytest.warns(IdenticalMembersWarning, match="all 3 members start from the same weights"):
        stack(lambda: torch.manual_seed(0) and mlp(), M)


def test_modules_without_any_tensor():
    assert_same(stack(nn.Tanh, M)(random(2, 2)), torch.tanh(random(2, 2)).expand(M, 2, 2))
