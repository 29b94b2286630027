"""Members of any ``nn.Module``, evaluated in one batched call."""

from __future__ import annotations

import contextlib
import copy
import functools
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from negcorr._common.validation import check_positive_int
from negcorr.deep.training.module_checks import attributes_of, check_same_structure, tensors_of
from negcorr.exceptions import IdenticalMembersWarning, warn_caller

__all__ = ["StackedModule", "stack"]


def stack(
    module_factory: Callable[[], nn.Module], n_members: int, *, seed: int | None = None
) -> StackedModule:
    """Members of any ``nn.Module``, evaluated in one batched call.

    Parameters
    ----------
    module_factory : callable
        Called without arguments, once for each member; returns a fresh module every time. Members
        may differ in the values of their parameters and buffers, and in nothing else.
    n_members : int
        Members M.
    seed : int or None, default=None
        Of torch's random numbers in the factory: every member gets a stream of its own, and the
        global state is left as it was. None for the global state.

    Returns
    -------
    StackedModule

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from negcorr.deep.training.loss import NCLLoss
    >>> from negcorr.deep.training.stacking import stack
    >>> def small_cnn():
    ...     return nn.Sequential(
    ...         nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 1)
    ...     )
    >>> members = stack(small_cnn, 5, seed=0)
    >>> X = torch.randn(32, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    >>> y = X.mean(dim=(1, 2, 3)).unsqueeze(1)
    >>> loss = NCLLoss(0.5)
    >>> optimiser = torch.optim.Adam(members.parameters(), lr=0.01)
    >>> values = []
    >>> for _ in range(20):
    ...     optimiser.zero_grad()
    ...     values.append(loss(members(X), y))
    ...     values[-1].backward()
    ...     optimiser.step()
    >>> bool(values[-1] < 0.5 * values[0])
    True
    >>> members.calibrate(X)
    >>> members.eval()(X).shape
    torch.Size([5, 32, 1])
    """
    check_positive_int("n_members", n_members)
    if isinstance(module_factory, nn.Module) or not callable(module_factory):
        got = type(module_factory).__name__
        raise TypeError(f"module_factory must be a function that makes a module, got {got}.")
    if seed is not None and (not hasattr(seed, "__index__") or seed < 0):
        raise ValueError(f"seed={seed!r} must be an integer of at least 0, or None.")
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
    modules: list[Any] = []
    owners: dict[int, int] = {}
    with torch.random.fork_rng(devices, enabled=seed is not None):
        for m in range(n_members):
            if seed is not None:
                # Not seed + m, with which the stacks of seeds 0 and 1 would have members in common.
                stream = np.random.SeedSequence(int(seed), spawn_key=(m,))
                torch.manual_seed(int(stream.generate_state(1, np.uint64)[0]))
            modules.append(module_factory())
            if not isinstance(modules[m], nn.Module):
                got = type(modules[m]).__name__
                raise TypeError(f"module_factory must return a torch.nn.Module, got {got}.")
            for part in (modules[m], *tensors_of(modules[m]).values()):
                if (owner := owners.setdefault(id(part), m)) != m:
                    what = f"members {owner} and {m} share a {type(part).__name__}"
                    raise ValueError(f"{what}; module_factory must make new modules at every call.")
    stacked = StackedModule(modules)
    weights = list(stacked.parameters())
    if n_members > 1 and weights and all(bool((w == w[:1]).all()) for w in weights):
        warn_caller(
            f"all {n_members} members start from the same weights, and so have the same gradients; "
            "module_factory should draw new ones at every call.",
            IdenticalMembersWarning,
        )
    return stacked


class StackedModule(nn.Module):
    """What :func:`stack` returns: M modules whose parameters and buffers are stacked.

    Its parameters are ordinary ones of shape (M, …), under their names in a member after ``each.``:
    optimisers, ``to``, ``state_dict``, ``train``, copies and pickles work as for any module.

    Attributes
    ----------
    each : nn.Module
        A member whose tensors have the member axis in front. It is not to be called by itself.
    n_members : int
        Members M.

    Notes
    -----
    Members are evaluated by ``torch.func.vmap``. Outputs, gradients and buffers, the statistics of
    batch norm among them, are those of a loop over :meth:`members`. Random numbers, as of dropout,
    are drawn for every member separately. What vmap cannot run raises an error: ``if`` on the
    values of tensors, ``.item()``, torch's recurrent layers, spectral norm while training. In a
    forward, ``requires_grad`` is always False. Norms over a tensor (``clip_grad_norm_``) are
    over all members; SGD, Adam and the like move each as if it were alone.
    """

    each: nn.Module

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        check_same_structure(modules)
        self.n_members = len(modules)
        every = [tensors_of(module) for module in modules]
        values = {name: torch.stack([each[name].detach() for each in every]) for name in every[0]}
        self.each = _with_tensors(modules[0], values)
        self.training = self.each.training

    def extra_repr(self) -> str:
        """Shown by ``repr``."""
        return f"n_members={self.n_members}"

    def forward(self, *inputs: Tensor) -> Tensor:
        """Predictions of all members.

        Parameters
        ----------
        *inputs : tensor of shape (n, ...)
            What a member takes, the same for all of them; it must return one tensor.

        Returns
        -------
        tensor of shape (M, n, ...)
        """

        def one(slots: Any, _: Tensor) -> Any:
            state = dict(slots)
            # By slots, not by ties, which torch does not restore in a module that is used twice.
            out = functional_call(self.each, state, inputs, tie_weights=False)
            # In-place updates change the stacked buffer; ``self.b = …`` does not.
            return out, {name: state[name] for name in slots if state[name] is not slots[name]}

        for buffer in self.each.buffers():
            if not buffer.is_contiguous():
                # Batch norm would update a copy of such statistics, without an error.
                buffer.data = buffer.contiguous()
        # Numbers of members are the axis of vmap for modules without any tensor.
        slots, numbers = _slots(self.each), torch.arange(self.n_members)
        try:
            with _fit_for_vmap(self.each):
                out, rebound = vmap(one, randomness="different")(slots, numbers)
        except Exception as error:
            try:
                self.member(0)(*inputs)
            except Exception:
                # A plain member fails too: vmap is not the cause.
                raise error from None
            names = {id(part): name for name, part in self.each.named_modules()}
            # The innermost frame that belongs to a module shows which one it was.
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            owners = [self.each, *(frame.f_locals.get("self") for frame in frames)]
            culprit = [owner for owner in owners if id(owner) in names][-1]
            place = f" ({names[id(culprit)]!r} of a member)" if culprit is not self.each else ""
            what = f"{type(culprit).__name__}{place} works for one member but not for all at once"
            raise RuntimeError(f"{what}, by torch.func.vmap: {error}") from error
        for name, buffer in rebound.items():
            _rebind(self.each, name, buffer.contiguous())
        new = ((name, tensor) for name, tensor in _slots(self.each).items() if name not in slots)
        for path, leaf in (*attributes_of(self.each), *new):
            # Such a tensor has no meaning outside of vmap.
            if isinstance(leaf, Tensor) and torch._C._functorch.is_batchedtensor(leaf):
                advice = "make it a buffer that is a tensor from the start (register_buffer)."
                raise RuntimeError(f"the forward of a member keeps a tensor in {path!r}; {advice}")
        if not isinstance(out, Tensor):
            raise TypeError(f"a member returned a {type(out).__name__}; it must return one tensor.")
        return out

    def member(self, m: int) -> nn.Module:
        """A plain module with a copy of the present weights and buffers of member m."""
        if not -self.n_members <= m < self.n_members:
            raise IndexError(f"m={m!r} must be a member, from 0 to {self.n_members - 1}.")
        values = {name: each.detach()[m].clone() for name, each in tensors_of(self.each).items()}
        return _with_tensors(self.each, values)

    def members(self) -> list[nn.Module]:
        """All members as plain modules, see :meth:`member`."""
        return [self.member(m) for m in range(self.n_members)]

    def calibrate(self, *inputs: Tensor) -> None:
        """Take the statistics of batch norms from these rows, the whole training set.

        One pass in which batch norms are in training mode and all other modules in evaluation mode,
        so that statistics are those of the signals that ``eval()`` will see. Variances have
        torch's divisor n − 1. Frozen batch norms are set as well.
        """
        norms = _norms(self.each)
        modes = [(part, part.training) for part in self.each.modules()]
        momenta = [norm.momentum for norm in norms]
        before = {name: buffer.clone() for name, buffer in self.each.named_buffers()}
        try:
            self.each.eval()
            for norm in norms:
                norm.train()
                norm.reset_running_stats()
                # Averages over calls: a norm that is used twice gets the mean of both.
                norm.momentum = None
            with torch.no_grad():
                self(*inputs)
        except Exception:
            for name, buffer in before.items():
                _rebind(self.each, name, buffer)
            raise
        finally:
            for norm, momentum in zip(norms, momenta, strict=True):
                norm.momentum = momentum
            for part, mode in modes:
                part.training = mode


def _with_tensors(module: nn.Module, tensors: dict[str, Tensor]) -> nn.Module:
    """A copy of the module with other tensors in place of its own; tied tensors stay tied."""
    memo: dict[int, Any] = {}
    for name, old in tensors_of(module).items():
        new, is_parameter = tensors[name], isinstance(old, nn.Parameter)
        memo[id(old)] = nn.Parameter(new, old.requires_grad) if is_parameter else new
    wanted = {id(tensor) for tensor in memo.values()}
    # deepcopy takes what is in the memo as copied already.
    made = copy.deepcopy(module, memo)
    if {id(tensor) for tensor in tensors_of(made).values()} != wanted:
        raise TypeError(f"{type(module).__name__} cannot be stacked: copy.deepcopy is its own.")
    return made


def _slots(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by every name they have; a module that is used twice counts once."""
    return {
        f"{name}.{key}".lstrip("."): tensor
        for name, part in module.named_modules()
        for key, tensor in {**part._parameters, **part._buffers}.items()
        if tensor is not None
    }


def _rebind(module: nn.Module, name: str, buffer: Tensor) -> None:
    path, _, last = name.rpartition(".")
    setattr(module.get_submodule(path), last, buffer)


def _norms(module: nn.Module) -> list[Any]:
    """Batch norms that have statistics."""
    return [m for m in module.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]


@contextlib.contextmanager
def _fit_for_vmap(module: nn.Module) -> Iterator[None]:
    """While all members are evaluated, replace two forwards of torch that vmap cannot run."""
    norms = [norm for norm in _norms(module) if norm.training and norm.momentum is None]
    # A forward of a subclass, or in an attribute, is not replaced.
    norms = [n for n in norms if getattr(n.forward, "__func__", None) is _BatchNorm.forward]
    for norm in norms:
        vars(norm)["forward"] = functools.partial(_with_cumulative_average, norm)
    # Attention's fast path has no gradients, and inside vmap no tensor seems to need one.
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for norm in norms:
            del vars(norm)["forward"]


def _with_cumulative_average(norm: Any, signal: Tensor) -> Tensor:
    """Batch norm with momentum None, where torch's forward reads a value, which vmap forbids."""
    norm._check_input_dim(signal)
    norm.num_batches_tracked.add_(1)
    # With momentum 1 these become the statistics of the batch.
    mean, variance = torch.zeros_like(norm.running_mean), torch.zeros_like(norm.running_var)
    out = functional.batch_norm(signal, mean, variance, norm.weight, norm.bias, True, 1.0, norm.eps)
    share = 1.0 / norm.num_batches_tracked.to(mean.dtype)
    norm.running_mean.mul_(1.0 - share).add_(mean * share)
    norm.running_var.mul_(1.0 - share).add_(variance * share)
    return out
