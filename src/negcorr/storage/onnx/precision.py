"""Single or double precision for the graph of an ensemble.

Near λ = 1 coefficients are huge and cancel, and so are the weights of kernels at landmarks: in
single precision a graph can be wrong where the model is right. What single precision would do is
tried out in NumPy, on rows that the model kept, before a graph is made in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.arrays import to_host
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.moments.scan import features_of
from negcorr.storage.onnx.backends import NumpyBackend
from negcorr.storage.onnx.ensemble import Ensemble
from negcorr.storage.onnx.steps import undone

__all__ = ["graph_precision"]

#: Error that a graph may have, in units of the target's standard deviation.
TOLERANCE = 1e-5

#: A trial on some rows must be this much better: other rows, and sums in another order, are worse.
MARGIN = 3.0

#: Rows on which it is tried.
ROWS_TRIED = 256

#: Below this gap single precision is not even tried.
SMALLEST_SINGLE_GAP = 1e-6


def graph_precision(dtype: str, ensemble: Ensemble, model: NCLRegressor) -> Any:
    """The type of all numbers in a graph, float32 or float64.

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
    kept = answers.sample if answers.kept is None else answers.kept.rows.first_used(ROWS_TRIED)
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
