"""Fitted ensembles as ONNX graphs, for programs without Python.

Near λ = 1 coefficients are huge and cancel, so a graph in single precision can be wrong where the
model is right. What single precision would do is tried out in NumPy, on rows that the model kept,
before a graph is made in it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from negcorr._arrays import to_host
from negcorr._files import write_atomically
from negcorr._typing import AnyArray, FloatArray
from negcorr.bases import FourierFeatures, OrthogonalFourierFeatures
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.onnx_steps import Operation, applied, operations_of, undone
from negcorr.regressor import NCLRegressor

__all__ = ["to_onnx"]

#: Operators of this version are known to every runtime of the last years.
OPSET, IR_VERSION = 17, 8

#: Error that a graph may have, in units of the target's standard deviation.
TOLERANCE = 1e-5

#: A trial on some rows must be this much better: other rows, and sums in another order, are worse.
MARGIN = 3.0

#: Below this gap single precision is not even tried.
SMALLEST_SINGLE_GAP = 1e-6

_ROWS_TRIED = 1024


@dataclass(frozen=True)
class _Parts:
    """Numbers of a model, in the order in which a graph uses them."""

    operations: tuple[Operation, ...]
    turns: FloatArray
    offset: FloatArray
    coef: FloatArray
    intercept: FloatArray
    centre: FloatArray
    n_members: int
    n_inputs: int
    single_output: bool

    def predict(self, rows: FloatArray, dtype: Any) -> AnyArray:
        """What the graph would say, each step rounded to ``dtype``."""
        inputs = applied(self.operations, rows, dtype)
        turns = inputs @ self.turns.astype(dtype) + self.offset.astype(dtype)
        angle = (turns - np.rint(turns)) * dtype(2.0 * math.pi)
        return np.cos(angle) @ self.coef.T.astype(dtype) + self.intercept.astype(dtype)


def to_onnx(
    model: Any,
    path: Any = None,
    *,
    dtype: Literal["auto", "float32", "float64"] = "auto",
    members: bool = False,
) -> Any:
    """A fitted ensemble of Fourier features as an ONNX graph.

    Parameters
    ----------
    model : NCLRegressor or Pipeline
        Fitted, with basis "fourier" or "orthogonal" (or such a basis object). In a pipeline it is
        the last step, and those before are among StandardScaler, MinMaxScaler, RobustScaler,
        SimpleImputer (mean, median or constant) and "passthrough".
    path : path, optional
        Where to write the graph, in one step.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of inputs, numbers and outputs. "auto" takes float32 where a trial on training
        rows shows that predictions keep within 1e-5 of the target's standard deviation, and float64
        elsewhere: for gaps below 1e-6, and for models that have no rows to try it on, such as
        compact ones.
    members : bool, default=False
        Whether the graph has a second output ``members``, of shape (M, rows) or
        (M, rows, outputs).

    Returns
    -------
    onnx.ModelProto
        Input ``X`` of shape (rows, d); output ``y`` of shape (rows,) or (rows, outputs). Version,
        λ, gap and names of the inputs are in its ``metadata_props``.

    Raises
    ------
    ValueError
        For steps and bases that have no such form; names them.

    Warns
    -----
    PrecisionWarning
        Where float32 is asked for and does not hold, or cannot be tried.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor, to_onnx
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(basis="fourier", gamma="kwok-tsang", random_state=0)
    >>> graph = to_onnx(model.fit(X, y)).graph
    >>> [value.name for value in (*graph.input, *graph.output)]
    ['X', 'y']
    """
    if dtype not in ("auto", "float32", "float64"):
        raise ValueError(f"dtype={dtype!r} is unknown; allowed are 'auto', 'float32', 'float64'.")
    onnx = _onnx()
    operations, regressor, names = _taken_apart(model)
    parts = _parts(operations, regressor)
    if names is not None:
        names = [str(name) for name in names]
    chosen = _precision(dtype, parts, regressor)
    about = {
        "negcorr_version": version("negcorr"),
        "lam": json.dumps(to_host(regressor.lam_).tolist()),
        "gap": json.dumps(to_host(regressor.gap_).tolist()),
        "features": json.dumps(names if names is not None else parts.n_inputs),
        "dtype": np.dtype(chosen).name,
    }
    proto = _Graph(onnx, parts, chosen).model(members, about)
    onnx.checker.check_model(proto)
    if path is not None:
        write_atomically(Path(path), proto.SerializeToString())
    return proto


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs onnx: pip install 'negcorr[onnx]'") from error
    return onnx


def _taken_apart(model: Any) -> tuple[list[Operation], NCLRegressor, Any]:
    """Operations on the columns, the ensemble behind them, and names of the columns."""
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    name, regressor = steps[-1]
    if not isinstance(regressor, NCLRegressor):
        raise ValueError(
            f"step {name!r} is a {type(regressor).__name__}; the last one must be an NCLRegressor."
        )
    check_is_fitted(regressor)
    if type(regressor.basis_) not in (FourierFeatures, OrthogonalFourierFeatures):
        raise ValueError(
            f"basis {type(regressor.basis_).__name__} of step {name!r} has no form in ONNX here; "
            "allowed are 'fourier' and 'orthogonal'."
        )
    operations: list[Operation] = []
    for label, step in steps[:-1]:
        operations += operations_of(label, step)
    first = next((s for _, s in steps if s is not None and s != "passthrough"), regressor)
    return operations, regressor, getattr(first, "feature_names_in_", None)


def _parts(operations: list[Operation], model: NCLRegressor) -> _Parts:
    basis = model.basis_
    coef, intercept = (to_host(part) for part in model._coef_and_intercept())
    turns, centre = to_host(basis._turns), to_host(basis.center_)
    width = int(model.n_features_in_)
    if centre.any():
        operations = [*operations, Operation("Sub", centre, width)]
    return _Parts(
        operations=tuple(operations),
        turns=turns[:-1],
        offset=turns[-1] - np.rint(turns[-1]),
        coef=coef,
        intercept=intercept,
        centre=to_host(model._centre),
        n_members=basis.n_members_,
        n_inputs=operations[0].n_columns if operations else width,
        single_output=model.coef_.ndim == 1,
    )


def _precision(dtype: str, parts: _Parts, model: NCLRegressor) -> Any:
    """The type of the graph; warns where single precision is asked for and is not enough."""
    if dtype == "float64":
        return np.float64
    error = _single_error(parts, model)
    small = float(np.min(to_host(model.gap_))) < SMALLEST_SINGLE_GAP
    if error is not None and error * MARGIN <= TOLERANCE and not (small and dtype == "auto"):
        return np.float32
    if dtype == "auto":
        return np.float64
    if error is None:
        found = "cannot be tried, since the model keeps no rows"
    else:
        found = f"moves predictions by {error:.1e} standard deviations of the target on some rows"
    warn_caller(f"dtype='float32' {found}; use 'float64' or 'auto'.", PrecisionWarning)
    return np.float32


def _single_error(parts: _Parts, model: NCLRegressor) -> float | None:
    """Largest error of single precision over the target's spread; None where there are no rows."""
    if model._calibration is None or not hasattr(model, "path_"):
        return None
    kept = model._calibration.rows
    kept = kept.take(np.arange(min(_ROWS_TRIED, kept.n_rows)))
    inputs = kept.X.toarray() if sp.issparse(kept.X) else to_host(kept.X)
    # The centre is the basis's own: what it undoes has not been done to these rows.
    own = parts.operations[-1:] if to_host(model.basis_.center_).any() else ()
    before = parts.operations[: len(parts.operations) - len(own)]
    rows = undone(before, inputs.astype(np.float64))
    spread = np.sqrt(to_host(model.path_.spectrum.total))
    exact = parts.predict(rows, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(parts.predict(rows, np.float32) - exact).max(axis=0)
    worst = float(np.max(off / np.where(spread > 0, spread, 1.0)))
    return worst if math.isfinite(worst) else math.inf


class _Graph:
    """A graph under construction: nodes and their constants, all of one type."""

    def __init__(self, onnx: Any, parts: _Parts, dtype: Any) -> None:
        self.onnx, self.parts, self.dtype = onnx, parts, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def model(self, members: bool, about: dict[str, str]) -> Any:
        """All of it."""
        helper, parts = self.onnx.helper, self.parts
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        features = self._features(self._inputs())
        self._ensemble(features)
        n_outputs = [] if parts.single_output else [parts.coef.shape[0]]
        outputs = [helper.make_tensor_value_info("y", kind, ["rows", *n_outputs])]
        if members:
            self._members(features)
            shape = [parts.n_members, "rows", *n_outputs]
            outputs.append(helper.make_tensor_value_info("members", kind, shape))
        inputs = [helper.make_tensor_value_info("X", kind, ["rows", parts.n_inputs])]
        graph = helper.make_graph(self.nodes, "negcorr", inputs, outputs, self.constants)
        proto = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="negcorr",
            producer_version=about["negcorr_version"],
        )
        helper.set_model_props(proto, about)
        return proto

    def _inputs(self) -> str:
        name = "X"
        for operation in self.parts.operations:
            if operation.kind == "Gather":
                name = self._node("Gather", name, self._integers(operation.values), axis=1)
                continue
            values = self._constant(operation.values)
            if operation.kind == "Impute":
                name = self._node("Where", self._node("IsNaN", name), values, name)
            else:
                name = self._node(operation.kind, name, values)
        return name

    def _features(self, inputs: str) -> str:
        parts = self.parts
        turns = self._node("MatMul", inputs, self._constant(parts.turns))
        turns = self._node("Add", turns, self._constant(parts.offset))
        # Whole turns go while they are still exact: runtimes differ in cosines of large angles.
        turns = self._node("Sub", turns, self._node("Round", turns))
        return self._node("Cos", self._node("Mul", turns, self._constant(2.0 * math.pi)))

    def _ensemble(self, features: str) -> None:
        parts = self.parts
        mean = self._node("MatMul", features, self._constant(parts.coef.T))
        if parts.single_output:
            mean = self._node("Squeeze", mean, self._integers([1]))
        intercept = parts.intercept[0] if parts.single_output else parts.intercept
        self._node("Add", mean, self._constant(intercept), output="y")

    def _members(self, features: str) -> None:
        parts = self.parts
        (n_outputs, q), m = parts.coef.shape, parts.n_members
        centred = self._node("Sub", features, self._constant(parts.centre[:q]))
        # Sums rather than a stack of products, in which onnxruntime dies where there are no rows.
        lone = self._node("Unsqueeze", centred, self._integers([1]))
        terms = self._node("Mul", lone, self._constant(m * parts.coef))
        # The first 0 stands for the number of rows, whatever it is.
        blocks = self._node("Reshape", terms, self._integers([0, n_outputs, m, q // m]))
        each = self._node("ReduceSum", blocks, self._integers([3]), keepdims=0)
        each = self._node("Transpose", each, perm=[2, 0, 1])
        if parts.single_output:
            each = self._node("Squeeze", each, self._integers([2]))
        mean = parts.centre[q] if parts.single_output else parts.centre[q:]
        self._node("Add", each, self._constant(mean), output="members")

    def _node(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or f"{kind.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(kind, list(inputs), [name], name=name, **attributes)
        self.nodes.append(node)
        return name

    def _constant(self, values: Any) -> str:
        return self._stored(np.asarray(values, dtype=self.dtype))

    def _integers(self, values: Any) -> str:
        return self._stored(np.asarray(values, dtype=np.int64))

    def _stored(self, values: AnyArray) -> str:
        name = f"constant_{len(self.constants)}"
        array = np.array(values, order="C")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name
