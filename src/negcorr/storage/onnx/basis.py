"""A fitted basis as parts: functions of the columns that get weights.

Features of a kernel are linear in its values at the landmarks, and an ensemble is linear in its
features. So each part of it needs one weight for each landmark and output, however many features
and members there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.types import FloatArray
from negcorr.bases import FourierFeatures, KernelFeatures, NestedFeatures
from negcorr.bases.input_maps import CLIP, DIGITS, InputMap
from negcorr.storage.onnx.backends import INT64, Backend

__all__ = ["Cosines", "KernelValues", "parts_of"]


@dataclass(frozen=True)
class Cosines:
    """Fourier features.

    Attributes
    ----------
    basis : FourierFeatures
        Fitted, with arrays of NumPy.
    """

    basis: FourierFeatures

    def values(self, backend: Backend, columns: Any) -> Any:
        """All cosines, of shape (rows, Q)."""
        node, inputs, frequencies = backend.node, self.basis.input_map_, self.basis._turns[:-1]
        phases = self.basis._turns[-1] - np.rint(self.basis._turns[-1])
        if not inputs.is_affine:
            columns = _mapped(backend, columns, inputs)
        elif self.basis._origin.any():
            # An affine map's factors are in the frequencies.
            columns = node("Sub", columns, self.basis._origin)
        turns = node("Add", node("MatMul", columns, frequencies), phases)
        # Whole turns are removed while they are exact: runtimes differ in cosines of large angles.
        turns = node("Sub", turns, node("Round", turns))
        return node("Cos", node("Mul", turns, 2.0 * math.pi))

    def weights(self, coef: FloatArray) -> FloatArray:
        """Weights of the values, for weights of the features: the same."""
        return coef


@dataclass(frozen=True)
class KernelValues:
    """Values of a kernel at landmarks.

    Attributes
    ----------
    basis : KernelFeatures
        Fitted, with arrays of NumPy.
    """

    basis: KernelFeatures

    @property
    def landmarks(self) -> FloatArray:
        """The landmarks, of shape (L, d), mapped as dense rows are."""
        found = self.basis.landmarks_
        return found.toarray() - self.basis.input_map_.offset if sp.issparse(found) else found

    def values(self, backend: Backend, columns: Any) -> Any:
        """Values of shape (rows, L); for the linear kernel the columns, of shape (rows, d)."""
        basis, node = self.basis, backend.node
        columns = _mapped(backend, columns, basis.input_map_)
        if basis.kernel == "linear":
            return columns
        if basis.kernel != "rbf" or basis.subspace < 1.0:
            return self._column_by_column(backend, columns)
        # Squared distances by lengths and one product; about the middle of the landmarks, where
        # lengths are smallest.
        gamma, middle = float(basis.gamma_), self.landmarks.mean(axis=0)
        landmarks = self.landmarks - middle
        columns = node("Sub", columns, middle)
        lengths = node("MatMul", node("Mul", columns, columns), np.full((len(middle), 1), -gamma))
        exponent = node("Add", node("MatMul", columns, 2.0 * gamma * landmarks.T), lengths)
        exponent = node("Add", exponent, -gamma * np.sum(landmarks**2, axis=1))
        return node("Exp", node("Min", exponent, 0.0))

    def _column_by_column(self, backend: Backend, columns: Any) -> Any:
        """Kernels that are sums or products over the columns, in rows times landmarks of memory.

        Over subspaces they are averages: products of 1 − p + p·k₁ (:mod:`bases.subspaces`).
        """
        node, kernel, p, total = backend.node, self.basis.kernel, float(self.basis.subspace), None
        gamma, averaged = float(self.basis.gamma_) / p, p < 1.0
        for j, values in enumerate(self.landmarks.T):
            off = node("Sub", node("Gather", columns, [j], axis=1), values)
            term = node("Abs", off) if kernel == "laplacian" else node("Mul", off, off)
            if kernel == "cauchy":
                term = node("Add", node("Mul", term, gamma), 1.0)
                term = node("Reciprocal", term) if averaged else term
            elif averaged:
                term = node("Exp", node("Mul", term, -gamma))
            if averaged:
                term = node("Add", node("Mul", term, p), 1.0 - p)
            joined = "Mul" if averaged or kernel == "cauchy" else "Add"
            total = term if total is None else node(joined, total, term)
        if averaged:
            return total
        if kernel == "cauchy":
            return node("Reciprocal", total)
        return node("Exp", node("Mul", total, -gamma))

    def weights(self, coef: FloatArray) -> FloatArray:
        """Weights of the values, for weights of the features.

        Parameters
        ----------
        coef : ndarray of shape (Q, k)
            What features are multiplied by.

        Returns
        -------
        ndarray of shape (L, k), or (d, k) for the linear kernel
        """
        weights, begin = np.zeros((len(self.landmarks), coef.shape[1])), 0
        for stage in self.basis.stages_:
            n_landmarks, size = stage.weights.shape
            weights[:n_landmarks] += stage.weights @ coef[begin : begin + size]
            begin += size
        if self.basis.kernel == "linear":
            return float(self.basis.gamma_) * (self.landmarks.T @ weights)
        return weights


def parts_of(basis: Any, owner: str) -> list[Cosines | KernelValues]:
    """The parts of a fitted basis, in the order of its features.

    Parameters
    ----------
    basis : Basis
        Fitted, with arrays of NumPy.
    owner : str
        Whose basis it is, for errors.

    Raises
    ------
    ValueError
        Names the first basis that has no such form.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import KernelFeatures
    >>> from negcorr.storage.onnx.basis import parts_of
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> basis = KernelFeatures(4, 5, inputs="rank", random_state=0).fit(X)
    >>> [part.basis.kernel for part in parts_of(basis, "this model")]
    ['rbf']
    """
    kind = type(basis)
    if kind is NestedFeatures:
        named = [(each, f"member {k} of {owner}") for k, each in enumerate(basis.bases_)]
        return [part for each, name in named for part in parts_of(each, name)]
    if kind not in (KernelFeatures, FourierFeatures):
        raise ValueError(
            f"basis {kind.__name__} of {owner} has no form in ONNX here; allowed are "
            "KernelFeatures and FourierFeatures, also within NestedFeatures: fit with "
            "basis='kernel', 'fourier' or 'orthogonal'."
        )
    return [KernelValues(basis) if kind is KernelFeatures else Cosines(basis)]


def _mapped(backend: Backend, columns: Any, inputs: InputMap) -> Any:
    """Columns after an input map."""
    node = backend.node
    if inputs.kind == "rank":
        columns = _rounded(backend, _ranks(backend, columns, inputs))
    if inputs.center.any():
        columns = node("Sub", columns, inputs.center)
    if (inputs.scale != 1.0).any():
        columns = node("Div", columns, inputs.scale)
    if inputs.kind == "clip":
        third = node("Div", columns, CLIP)
        root = node("Sqrt", node("Add", node("Mul", third, third), 1.0))
        columns = _rounded(backend, node("Div", columns, root))
    if (inputs.relevance != 1.0).any():
        columns = node("Mul", columns, inputs.relevance)
    return columns


def _ranks(backend: Backend, columns: Any, inputs: InputMap) -> Any:
    """Interpolation in the step between knots that a value falls into, all columns at once.

    Steps are found by counting the knots that are not above a value. Before the first knot and
    after the last there are steps without a rise.
    """
    node, below = backend.node, []
    for j, knots in enumerate(inputs.knots):
        passed = node("GreaterOrEqual", node("Gather", columns, [j], axis=1), knots)
        below.append(node("ReduceSum", node("Cast", passed, to=INT64), [1], keepdims=1))
    starts_of_columns = np.arange(len(below)) * (inputs.knots.shape[1] + 1)
    step = node("Add", node("Concat", *below, axis=1), starts_of_columns)
    widths = np.pad(np.diff(inputs.knots), ((0, 0), (1, 1)))
    start, level, rise, width = (
        node("Gather", table.ravel(), step, axis=0)
        for table in (
            np.pad(inputs.knots, ((0, 0), (1, 0)), mode="edge"),
            np.pad(inputs.ranks, ((0, 0), (1, 0)), mode="edge"),
            np.pad(np.diff(inputs.ranks), ((0, 0), (1, 1))),
            np.where(widths > 0, widths, 1.0),
        )
    )
    # Knots may be nearer to each other than single precision can tell.
    share = node("Min", node("Div", node("Sub", columns, start), width), 1.0)
    return node("Add", level, node("Mul", share, rise))


def _rounded(backend: Backend, columns: Any) -> Any:
    """As the basis rounds; single precision has no digits beyond these."""
    if np.dtype(backend.dtype).itemsize < 8:
        return columns
    rounded = backend.node("Round", backend.node("Mul", columns, DIGITS))
    return backend.node("Div", rounded, DIGITS)
