"""Two backends for the same steps: one computes in NumPy, the other writes a graph.

What an ensemble does is written once, as nodes of ONNX. The first backend computes each node in
its type, so it shows what a graph of that type will compute. The second records the nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from negcorr._common.types import AnyArray

__all__ = ["INT64", "Backend", "Graph", "NumpyBackend"]

#: Operators of this version are known to every runtime of the last years.
OPSET, IR_VERSION = 17, 8

#: Shapes by name.
Shapes: TypeAlias = dict[str, list[int | str]]

#: What ONNX calls integers of 64 bits.
INT64 = 7


def _rounded(values: Any, dtype: Any) -> AnyArray:
    """Numbers as an array of a type; integers and booleans keep theirs."""
    array = np.asarray(values)
    kinds = {"b": np.bool_, "i": np.int64, "u": np.int64}
    return array.astype(kinds.get(array.dtype.kind, dtype), order="C", copy=False)


#: Functions of NumPy by the names of ONNX, which are often the same.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name.lower()) for name in ("Abs", "Add", "Cos", "Exp", "IsNaN", "MatMul")},
    **{name: getattr(np, name.lower()) for name in ("Reciprocal", "Sqrt", "Where")},
    "Cast": lambda values, to: values.astype({INT64: np.int64}[to]),
    "Concat": lambda *columns, axis: np.concatenate(columns, axis=axis),
    "Div": np.divide,
    "Gather": np.take,
    "GreaterOrEqual": np.greater_equal,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "ReduceSum": lambda values, axes, keepdims: np.sum(values, axis=tuple(axes), keepdims=keepdims),
    "Round": np.rint,
    "Squeeze": lambda values, axes: np.squeeze(values, axis=tuple(axes)),
    "Sub": np.subtract,
}


class NumpyBackend:
    """Computes nodes in NumPy, in the precision of a graph of ``dtype``.

    Parameters
    ----------
    dtype : type
        float32 or float64.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.storage.onnx.backends import NumpyBackend
    >>> single = NumpyBackend(np.float32)
    >>> float(single.node("Sub", 1.0 + 1e-9, 1.0))
    0.0
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> Any:
        """The value of one operator of ONNX.

        Inputs are values, or constants: numbers, which are rounded to the backend's type, and
        integers, which are indices, axes or shapes. A name for the output is of no use here.
        """
        return _FUNCTIONS[kind](*(_rounded(each, self.dtype) for each in inputs), **attributes)


class Graph:
    """Records nodes and their constants, all of one type, as a graph of ONNX.

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
        self.constants: dict[Any, Any] = {}

    def node(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> str:
        """Record one operator; returns the name of its value, ``output`` if that is given."""
        names = []
        for each in inputs:
            if isinstance(each, str):
                names.append(each)
                continue
            # What is too large for the type was seen by the trial, and warned of.
            with np.errstate(over="ignore"):
                array = _rounded(each, self.dtype)
            name = f"constant_{len(self.constants)}"
            # Scalars that every column needs are stored once.
            key = (array.dtype, array.item()) if array.ndim == 0 else name
            if key not in self.constants:
                self.constants[key] = self.onnx.numpy_helper.from_array(array, name)
            names.append(self.constants[key].name)
        value = output or f"{kind.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(kind, names, [value], name=value, **attributes)
        self.nodes.append(node)
        return value

    def model(self, inputs: Shapes, outputs: Shapes, about: dict[str, str]) -> Any:
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
        graph = helper.make_graph(self.nodes, "negcorr", *ends, list(self.constants.values()))
        proto = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="negcorr",
            producer_version=about["negcorr_version"],
        )
        helper.set_model_props(proto, about)
        return proto


#: What takes nodes; values are arrays for one and names for the other.
Backend: TypeAlias = NumpyBackend | Graph
