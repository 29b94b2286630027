"""Checks that modules differ only in the values of their tensors, so that they can be stacked."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

__all__ = ["attributes_of", "check_same_structure", "tensors_of"]

#: Attributes that torch gives every module; its mode (``training``) is compared.
OWN_ATTRIBUTES = set(vars(nn.Module())) - {"training"}

#: Plain attributes that can be compared with ==.
COMPARED = (int, float, complex, str, tuple, torch.dtype, torch.device, types.BuiltinFunctionType)


def check_same_structure(modules: Sequence[nn.Module]) -> None:
    """Raise if members differ in more than values: the code of the first one runs all of them."""
    first = _traits(modules[0])
    for m, module in enumerate(modules[1:], start=1):
        other = _traits(module)
        for path in (*first, *other):
            if path not in first or path not in other or not _same(first[path], other[path]):
                raise ValueError(
                    f"members 0 and {m} differ in {path!r}: {first.get(path, 'absent')!s:.60} and "
                    f"{other.get(path, 'absent')!s:.60}. Members may differ in the values of "
                    "parameters and buffers alone (register_buffer makes a buffer of a tensor)."
                )


def _traits(module: nn.Module) -> dict[str, Any]:
    """What members must have in common, by name: classes, plain attributes, and shapes."""
    # Classes by name: torch gives every module with a parametrisation a class of its own.
    traits: dict[str, Any] = {
        f"{name}.__class__".lstrip("."): f"{type(part).__module__}.{type(part).__qualname__}"
        for name, part in module.named_modules()
    }
    tensors = tensors_of(module)
    registered = {id(tensor) for tensor in tensors.values()}
    parts = set(module.modules())
    for path, leaf in attributes_of(module):
        outside = isinstance(leaf, nn.Module) and leaf not in parts
        if outside or isinstance(leaf, nn.Parameter) or id(leaf) in registered:
            raise ValueError(
                f"{path!r} of {type(module).__name__} holds a {type(leaf).__name__} in a plain "
                "attribute, where it cannot be replaced by each member's own; use ModuleList, "
                "ParameterList or register_buffer (torch's recurrent layers cannot be stacked)."
            )
        traits[path] = leaf
    for name, tensor in tensors.items():
        if is_lazy(tensor):
            raise ValueError(f"{name!r} is lazy: call a module once before the factory returns it.")
        kind, shape = type(tensor).__name__, tuple(tensor.shape)
        traits[name] = (kind, shape, tensor.dtype, tensor.device, tensor.requires_grad)
    return traits


def attributes_of(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """Paths and values of the plain attributes of a module and of its submodules."""
    for name, part in module.named_modules():
        for key, value in vars(part).items():
            if key not in OWN_ATTRIBUTES:
                yield from _leaves(value, f"{name}.{key}".lstrip("."))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Paths and values inside of lists, tuples and dictionaries."""
    if isinstance(value, (list, tuple, dict)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, f"{path}.{key}")
    else:
        yield path, value


def _same(one: Any, other: Any) -> bool:
    """Whether plain attributes are equal; objects of other types only need the same class."""
    if type(one).__qualname__ != type(other).__qualname__:
        return False
    if isinstance(one, (Tensor, np.ndarray)):
        return one.shape == other.shape and bool((one == other).all())
    if isinstance(one, COMPARED):
        return bool(one == other)
    # A function that is defined inside the factory is a new object at every call.
    return bool(getattr(one, "__code__", None) == getattr(other, "__code__", None))


def tensors_of(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, tied ones once."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
