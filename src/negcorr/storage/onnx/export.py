"""Fitted ensembles as ONNX graphs, for programs without Python."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from negcorr._common.arrays import to_host
from negcorr._common.files import write_atomically
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.moments.scan import features_of
from negcorr.storage.onnx.backends import Graph, NumpyBackend
from negcorr.storage.onnx.ensemble import Ensemble
from negcorr.storage.onnx.steps import operations_of, operations_of_encoding, undone

__all__ = ["graph_precision", "to_onnx"]

#: Error that a graph may have, in units of the target's standard deviation.
TOLERANCE = 1e-5

#: A trial on some rows must be this much better: other rows, and sums in another order, are worse.
MARGIN = 3.0

#: Below this gap single precision is not even tried.
SMALLEST_SINGLE_GAP = 1e-6


def to_onnx(
    model: Any,
    path: Any = None,
    *,
    dtype: Literal["auto", "float32", "float64"] = "auto",
    members: bool = False,
) -> Any:
    """A fitted ensemble of kernels or Fourier features as an ONNX graph.

    Parameters
    ----------
    model : NCLRegressor or Pipeline
        Fitted, as it comes by default, or with basis "kernel", "fourier" or "orthogonal". What
        counts is the fitted basis: KernelFeatures and FourierFeatures are allowed, within
        NestedFeatures as well; where basis="auto" has chosen trees, there is no graph. In a
        pipeline the model is the last step, and those before are among StandardScaler,
        MinMaxScaler, RobustScaler, SimpleImputer (mean, median or constant) and "passthrough". Of a
        data frame, all columns that it predicts from are numbers without missing values.
    path : path, optional
        Where to write the graph, in one step.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Precision of inputs, numbers and outputs. "auto" takes float32 where a trial on training
        rows shows that predictions keep within 1e-5 of the target's standard deviation, and float64
        elsewhere: for gaps below 1e-6, and for models that hold no rows, as after ``compact()``.
    members : bool, default=False
        Whether the graph has a second output ``members``, of shape (M, rows) or
        (M, rows, outputs). Precision is not tried on it.

    Returns
    -------
    onnx.ModelProto
        Input ``X`` of shape (rows, d); output ``y`` of shape (rows,) or (rows, outputs). Version,
        λ, gap and names of the inputs are in its ``metadata_props``: of a data frame only the
        columns that the model predicts from.

    Raises
    ------
    ValueError
        For steps and bases that have no such form; names them.

    Warns
    -----
    PrecisionWarning
        Where float32 is asked for and does not hold, or cannot be tried.

    Notes
    -----
    Features of a kernel are not in the graph: it has the kernel's values at the landmarks and one
    weight for each of them, member and output. At most rows times landmarks numbers are held at a
    time, so that rows are best given in batches.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor, to_onnx
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor().fit(X, y)
    >>> graph = to_onnx(model).graph
    >>> [value.name for value in (*graph.input, *graph.output)]
    ['X', 'y']
    """
    if dtype not in ("auto", "float32", "float64"):
        raise ValueError(f"dtype={dtype!r} is unknown; allowed are 'auto', 'float32', 'float64'.")
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError("to_onnx needs onnx: pip install 'negcorr[onnx]'") from error
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    name, last = steps[-1]
    if not isinstance(last, NCLRegressor):
        raise ValueError(
            f"step {name!r} is a {type(last).__name__}; the last one must be an NCLRegressor."
        )
    check_is_fitted(last)
    operations = [op for label, step in steps[:-1] for op in operations_of(label, step)]
    encoding = last._state.drawn.cells.encoding
    first = next(s for _, s in steps if s is not None and s != "passthrough")
    names = getattr(first, "feature_names_in_", None)
    if encoding is not None:
        if names is not None and not operations:
            names = encoding.schema.inputs
        operations += operations_of_encoding(encoding, f"step {name!r}", first=not operations)
    ensemble = Ensemble.of(operations, last, f"step {name!r}")
    precision = graph_precision(dtype, ensemble, last)
    about = {
        "negcorr_version": version("negcorr"),
        "lam": json.dumps(to_host(last.lam_).tolist()),
        "gap": json.dumps(to_host(last.gap_).tolist()),
        "features": json.dumps(ensemble.n_inputs if names is None else [str(n) for n in names]),
        "dtype": np.dtype(precision).name,
    }
    graph = Graph(onnx, precision)
    values = ensemble.values(graph, "X")
    ensemble.predict(graph, values)
    outputs = {"y": ensemble.output_shape}
    if members:
        ensemble.predict_members(graph, values)
        outputs["members"] = [ensemble.n_members, *ensemble.output_shape]
    proto = graph.model({"X": ["rows", ensemble.n_inputs]}, outputs, about)
    onnx.checker.check_model(proto)
    if path is not None:
        write_atomically(Path(path), proto.SerializeToString())
    return proto


def graph_precision(dtype: str, ensemble: Ensemble, model: NCLRegressor) -> Any:
    """The type of all numbers in a graph, float32 or float64.

    Near λ = 1 coefficients are huge and cancel, and so are the weights of kernels at landmarks: in
    single precision a graph can be wrong where the model is right. What single precision would do
    is tried out in NumPy, on rows that the model kept, before a graph is made in it.

    Parameters
    ----------
    dtype : {"auto", "float32", "float64"}
        What the user asks for.
    ensemble : Ensemble
        That of the model.
    model : NCLRegressor
        Fitted. The trial is on the training rows that it holds.

    Warns
    -----
    PrecisionWarning
        Where float32 is asked for and does not hold, or cannot be tried.
    """
    if dtype == "float64" or (
        dtype == "auto" and np.min(to_host(model.gap_)) < SMALLEST_SINGLE_GAP
    ):
        return np.float64
    found = "cannot be tried, since the model keeps no rows"
    answers = model._state.answers
    kept = answers.sample
    if kept is not None:
        features = to_host(features_of(kept, model.basis_))
        exact = features @ ensemble.coef.T + ensemble.intercept
        inputs = kept.X.toarray() if sp.issparse(kept.X) else to_host(kept.X)
        rows = undone(ensemble.operations, inputs.astype(np.float64))
        backend = NumpyBackend(np.float32)
        with np.errstate(all="ignore"):
            values = ensemble.values(backend, rows)
            off = np.abs(ensemble.predict(backend, values).reshape(exact.shape) - exact)
        spread = np.sqrt(to_host(answers.path.spectrum.total))
        error = np.max(off.max(axis=0) / np.where(spread > 0, spread, 1.0))
        error = float(np.nan_to_num(error, nan=np.inf, posinf=np.inf))
        if error * MARGIN <= TOLERANCE:
            return np.float32
        found = f"moves predictions by {error:.1e} standard deviations of the target on some rows"
    if dtype == "auto":
        return np.float64
    warn_caller(f"dtype='float32' {found}; use 'float64' or 'auto'.", PrecisionWarning)
    return np.float32
