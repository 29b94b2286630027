"""Two machines for the same steps: one computes in NumPy, the other writes a graph.

What an ensemble does is said once, as nodes of ONNX. The first machine carries them out at once,
each rounded to its type, so that it is known what a graph of that type will answer; the second
records them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from negcorr._common.types import AnyArray

__all__ = ["INT64", "Graph", "Machine", "Numbers"]

#: Operators of this version are known to every runtime of the last years.
OPSET, IR_VERSION = 17, 8

#: What ONNX calls integers of 64 bits.
INT64 = 7


class Machine(Protocol):
    """What takes nodes; values are arrays for one machine and names for the other."""

    #: Type of all its numbers, float32 or float64.
    dtype: Any

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> Any:
        """The value of one operator of ONNX, named ``output`` if that is given."""

    def constant(self, values: Any) -> Any:
        """Numbers, in the type of the machine."""

    def integers(self, values: Any) -> Any:
        """Indices, axes or shapes."""


def _cast(values: AnyArray, to: int) -> AnyArray:
    return values.astype({INT64: np.int64}[to])


def _concat(*columns: AnyArray, axis: int) -> AnyArray:
    return np.concatenate(columns, axis=axis)


def _sum(values: AnyArray, axes: AnyArray, keepdims: int) -> AnyArray:
    return np.sum(values, axis=tuple(axes.tolist()), keepdims=bool(keepdims))


def _squeeze(values: AnyArray, axes: AnyArray) -> AnyArray:
    return np.squeeze(values, axis=tuple(axes.tolist()))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Add": np.add,
    "Cast": _cast,
    "Concat": _concat,
    "Cos": np.cos,
    "Div": np.divide,
    "Exp": np.exp,
    "Gather": np.take,
    "GreaterOrEqual": np.greater_equal,
    "IsNaN": np.isnan,
    "MatMul": np.matmul,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Reciprocal": np.reciprocal,
    "ReduceSum": _sum,
    "Round": np.rint,
    "Sqrt": np.sqrt,
    "Squeeze": _squeeze,
    "Sub": np.subtract,
    "Where": np.where,
}


class Numbers:
    """Nodes carried out in NumPy, each rounded to ``dtype`` as a graph of that type would.

    Parameters
    ----------
    dtype : type
        float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.storage.onnx.backends import Numbers
    >>> single = Numbers(np.float32)
    >>> float(single.node("Sub", single.constant(1.0 + 1e-9), single.constant(1.0)))
    0.0
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> Any:
        """The value of one operator; its name is of no use here."""
        return _FUNCTIONS[kind](*inputs, **attributes)

    def constant(self, values: Any) -> AnyArray:
        """Numbers, rounded."""
        return np.asarray(values).astype(self.dtype)

    def integers(self, values: Any) -> AnyArray:
        """Integers as they are."""
        return np.asarray(values, dtype=np.int64)


class Graph:
    """A graph under construction: nodes and their constants, all of one type.

    Parameters
    ----------
    onnx : module
        The library.
    dtype : type
        float32 or float64.
    """

    def __init__(self, onnx: Any, dtype: Any) -> None:
        self.onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Record one operator; the name of its value."""
        name = output or f"{kind.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(kind, list(inputs), [name], name=name, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, values: Any) -> str:
        """Store numbers, rounded; their name."""
        # What is too large for the type was seen by the trial, and warned of.
        with np.errstate(over="ignore"):
            return self._stored(np.asarray(values).astype(self.dtype))

    def integers(self, values: Any) -> str:
        """Store integers; their name."""
        return self._stored(np.asarray(values, dtype=np.int64))

    def _stored(self, values: AnyArray) -> str:
        name = f"constant_{len(self.constants)}"
        array = np.array(values, order="C")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def model(
        self,
        inputs: dict[str, list[int | str]],
        outputs: dict[str, list[int | str]],
        about: dict[str, str],
    ) -> Any:
        """All of it as an ``onnx.ModelProto``.

        Parameters
        ----------
        inputs, outputs : dict
            Shapes by name; words stand for what is not known.
        about : dict
            What is said of the model in its metadata, ``negcorr_version`` among it.
        """
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        ends = [
            [helper.make_tensor_value_info(name, kind, shape) for name, shape in side.items()]
            for side in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, "negcorr", *ends, self.constants)
        proto = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="negcorr",
            producer_version=about["negcorr_version"],
        )
        helper.set_model_props(proto, about)
        return proto
