"""A fitted basis as parts: what is done to columns, and functions of them to be weighed.

Features of a kernel are linear in its values at the landmarks, and an ensemble is linear in its
features. So each part of it needs one weight for each landmark and output, however many features
and small members lie between.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray
from negcorr.bases import (
    FourierFeatures,
    KernelFeatures,
    MappedFeatures,
    NestedFeatures,
    OrthogonalFourierFeatures,
)
from negcorr.bases.input_maps import CLIP, DIGITS, InputMap
from negcorr.bases.kernel_features import Stage
from negcorr.storage.onnx.backends import INT64, Machine

__all__ = ["Cosines", "KernelValues", "Part", "parts_of"]


@dataclass(frozen=True)
class Cosines:
    """Fourier features.

    Attributes
    ----------
    center : ndarray of shape (d,)
        What is subtracted from the columns.
    turns : ndarray of shape (d, Q)
        Frequencies, in turns.
    offset : ndarray of shape (Q,)
        Phases, in turns.
    """

    center: FloatArray
    turns: FloatArray
    offset: FloatArray

    @classmethod
    def of(cls, basis: FourierFeatures) -> Cosines:
        """Those of a fitted basis."""
        turns = to_host(basis._turns)
        return cls(to_host(basis.center_), turns[:-1], turns[-1] - np.rint(turns[-1]))

    def values(self, machine: Machine, columns: Any) -> Any:
        """All cosines, of shape (rows, Q)."""
        if self.center.any():
            columns = machine.node("Sub", columns, machine.constant(self.center))
        turns = machine.node("MatMul", columns, machine.constant(self.turns))
        turns = machine.node("Add", turns, machine.constant(self.offset))
        # Whole turns go while they are still exact: runtimes differ in cosines of large angles.
        turns = machine.node("Sub", turns, machine.node("Round", turns))
        return machine.node("Cos", machine.node("Mul", turns, machine.constant(2.0 * math.pi)))

    def weights(self, coef: FloatArray) -> FloatArray:
        """Weights of the values, for weights of the features: the same."""
        return coef


@dataclass(frozen=True)
class KernelValues:
    """Values of a kernel at landmarks.

    Attributes
    ----------
    kernel : {"gaussian", "laplace", "cauchy", "linear"}
    gamma : float
        Inverse bandwidth.
    center, scale : ndarray of shape (d,)
        What is subtracted from the columns, and what they are divided by then.
    landmarks : ndarray of shape (L, d)
        After that.
    stages : tuple of Stage
        How values become features.
    subspace : float
        Share of the columns that a member sees.
    """

    kernel: str
    gamma: float
    center: FloatArray
    scale: FloatArray
    landmarks: FloatArray
    stages: tuple[Stage, ...]
    subspace: float = 1.0

    @classmethod
    def of(cls, basis: KernelFeatures) -> KernelValues:
        """Those of a fitted basis."""
        center, landmarks = to_host(basis.center_), basis.landmarks_
        if sp.issparse(landmarks):
            # They were never centred, nor were the rows that features were made of.
            center, landmarks = np.zeros_like(center), landmarks.toarray()
        return cls(
            kernel=basis.kernel,
            gamma=float(basis.gamma_),
            center=center,
            scale=to_host(basis.scale_),
            landmarks=to_host(landmarks),
            stages=tuple(Stage(to_host(s.explained), to_host(s.mixing)) for s in basis.stages_),
            subspace=float(basis.subspace),
        )

    def values(self, machine: Machine, columns: Any) -> Any:
        """Values of shape (rows, L); for the linear kernel the columns, of shape (rows, d)."""
        columns = _affine(machine, columns, self.center, self.scale)
        if self.kernel == "linear":
            return columns
        if self.subspace < 1.0:
            return self._averaged(machine, columns)
        own = {"gaussian": self._gaussian, "laplace": self._laplace, "cauchy": self._cauchy}
        return own[self.kernel](machine, columns)

    def _averaged(self, machine: Machine, columns: Any) -> Any:
        """Over subspaces: a product over columns of 1 − p + p·k₁ (:mod:`bases.subspaces`)."""
        gamma, total, one = self.gamma / self.subspace, None, machine.constant(1.0)
        share, rest = machine.constant(self.subspace), machine.constant(1.0 - self.subspace)
        for off in self._differences(machine, columns, 1.0):
            size = machine.node("Abs", off) if self.kernel == "laplace" else None
            size = machine.node("Mul", off, off) if size is None else size
            if self.kernel == "cauchy":
                size = machine.node("Add", machine.node("Mul", size, machine.constant(gamma)), one)
                value = machine.node("Reciprocal", size)
            else:
                value = machine.node("Exp", machine.node("Mul", size, machine.constant(-gamma)))
            factor = machine.node("Add", machine.node("Mul", value, share), rest)
            total = factor if total is None else machine.node("Mul", total, factor)
        return total

    def _gaussian(self, machine: Machine, columns: Any) -> Any:
        """By squared lengths and one product; about the middle, where these are smallest."""
        middle = self.landmarks.mean(axis=0)
        landmarks, gamma = self.landmarks - middle, self.gamma
        columns = machine.node("Sub", columns, machine.constant(middle))
        squares = machine.node("Mul", columns, columns)
        lengths = machine.node(
            "MatMul", squares, machine.constant(np.full((len(middle), 1), -gamma))
        )
        exponent = machine.node("MatMul", columns, machine.constant(2.0 * gamma * landmarks.T))
        exponent = machine.node("Add", exponent, lengths)
        known = -gamma * np.sum(landmarks**2, axis=1)
        exponent = machine.node("Add", exponent, machine.constant(known))
        return machine.node("Exp", machine.node("Min", exponent, machine.constant(0.0)))

    def _laplace(self, machine: Machine, columns: Any) -> Any:
        """Column by column, so that nothing is larger than rows times landmarks."""
        total = None
        for off in self._differences(machine, columns, 1.0):
            distance = machine.node("Abs", off)
            total = distance if total is None else machine.node("Add", total, distance)
        return machine.node("Exp", machine.node("Mul", total, machine.constant(-self.gamma)))

    def _cauchy(self, machine: Machine, columns: Any) -> Any:
        """Column by column as well."""
        total, one = None, machine.constant(1.0)
        for off in self._differences(machine, columns, math.sqrt(self.gamma)):
            factor = machine.node("Add", machine.node("Mul", off, off), one)
            total = factor if total is None else machine.node("Mul", total, factor)
        return machine.node("Reciprocal", total)

    def _differences(self, machine: Machine, columns: Any, factor: float) -> Iterator[Any]:
        """For one column after the other, its differences to that of the landmarks."""
        if factor != 1.0:
            columns = machine.node("Mul", columns, machine.constant(factor))
        for j, values in enumerate(self.landmarks.T):
            column = machine.node("Gather", columns, machine.integers([j]), axis=1)
            yield machine.node("Sub", column, machine.constant(factor * values))

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
        left, found = np.array(coef), []
        for stage in reversed(self.stages):
            begin = len(left) - stage.mixing.shape[1]
            weights = stage.mixing @ left[begin:]
            left = left[:begin] - stage.explained @ weights
            found.append(weights)
        weights = np.concatenate(found[::-1])
        return self.gamma * (self.landmarks.T @ weights) if self.kernel == "linear" else weights


@dataclass(frozen=True)
class Part:
    """Some of the features of a basis.

    Attributes
    ----------
    maps : tuple of InputMap
        What is done to the columns, in this order.
    functions : Cosines or KernelValues
        What is made of them.
    n_features : int
        Features that are made of the functions.
    """

    maps: tuple[InputMap, ...]
    functions: Cosines | KernelValues
    n_features: int

    def values(self, machine: Machine, columns: Any) -> Any:
        """Values of the functions, of shape (rows, functions)."""
        for each in self.maps:
            columns = _mapped(machine, columns, each)
        return self.functions.values(machine, columns)


def parts_of(basis: Any, owner: str) -> list[Part]:
    """The parts of a fitted basis, in the order of its features.

    Parameters
    ----------
    basis : Basis
        Fitted.
    owner : str
        Whose basis it is, for errors.

    Raises
    ------
    ValueError
        Names the first basis that has no such form.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import KernelFeatures, MappedFeatures
    >>> from negcorr.storage.onnx.basis import parts_of
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> basis = MappedFeatures(KernelFeatures(4, 5, random_state=0), inputs="rank").fit(X)
    >>> [(part.functions.kernel, part.n_features) for part in parts_of(basis, "this model")]
    [('gaussian', 20)]
    """
    kind = type(basis)
    if kind is NestedFeatures:
        named = [(each, f"member {k} of {owner}") for k, each in enumerate(basis.bases_)]
        return [part for each, name in named for part in parts_of(each, name)]
    if kind is MappedFeatures:
        first = _on_host(basis.input_map_)
        return [replace(part, maps=(first, *part.maps)) for part in parts_of(basis.basis_, owner)]
    if kind not in (KernelFeatures, FourierFeatures, OrthogonalFourierFeatures):
        raise ValueError(
            f"basis {kind.__name__} of {owner} has no form in ONNX here; allowed are "
            "KernelFeatures, FourierFeatures and OrthogonalFourierFeatures, also within "
            "MappedFeatures and NestedFeatures: fit with basis='kernel', 'fourier' or 'orthogonal'."
        )
    width = int(basis.block_starts_[-1])
    functions = KernelValues.of(basis) if kind is KernelFeatures else Cosines.of(basis)
    return [Part((), functions, width)]


def _on_host(inputs: InputMap) -> InputMap:
    return InputMap(
        inputs.kind,
        to_host(inputs.center),
        to_host(inputs.scale),
        to_host(inputs.relevance),
        to_host(inputs.knots),
        to_host(inputs.ranks),
    )


def _affine(machine: Machine, columns: Any, center: FloatArray, scale: FloatArray) -> Any:
    if center.any():
        columns = machine.node("Sub", columns, machine.constant(center))
    if (scale != 1.0).any():
        columns = machine.node("Div", columns, machine.constant(scale))
    return columns


def _mapped(machine: Machine, columns: Any, inputs: InputMap) -> Any:
    """What an input map does to the columns."""
    if inputs.kind == "rank":
        columns = _rounded(machine, _ranked(machine, columns, inputs))
    columns = _affine(machine, columns, inputs.center, inputs.scale)
    if inputs.kind == "clip":
        third = machine.node("Div", columns, machine.constant(CLIP))
        square = machine.node("Add", machine.node("Mul", third, third), machine.constant(1.0))
        columns = _rounded(machine, machine.node("Div", columns, machine.node("Sqrt", square)))
    if (inputs.relevance != 1.0).any():
        columns = machine.node("Mul", columns, machine.constant(inputs.relevance))
    return columns


def _ranked(machine: Machine, columns: Any, inputs: InputMap) -> Any:
    """Interpolation in the step between knots that a value falls into, all columns at once.

    Steps are found by counting the knots that are not above a value. Before the first knot and
    after the last there are steps without a rise.
    """
    count = inputs.knots.shape[1]
    below = []
    for j, knots in enumerate(inputs.knots):
        column = machine.node("Gather", columns, machine.integers([j]), axis=1)
        passed = machine.node("GreaterOrEqual", column, machine.constant(knots))
        passed = machine.node("Cast", passed, to=INT64)
        below.append(machine.node("ReduceSum", passed, machine.integers([1]), keepdims=1))
    step = machine.node("Concat", *below, axis=1)
    step = machine.node("Add", step, machine.integers(np.arange(len(below)) * (count + 1)))
    width = np.pad(np.diff(inputs.knots), ((0, 0), (1, 1)))
    start, level, rise, width = (
        machine.node("Gather", machine.constant(table.ravel()), step, axis=0)
        for table in (
            np.pad(inputs.knots, ((0, 0), (1, 0)), mode="edge"),
            np.pad(inputs.ranks, ((0, 0), (1, 0)), mode="edge"),
            np.pad(np.diff(inputs.ranks), ((0, 0), (1, 1))),
            np.where(width > 0, width, 1.0),
        )
    )
    share = machine.node("Div", machine.node("Sub", columns, start), width)
    # Knots may be nearer to each other than single precision can tell.
    share = machine.node("Min", share, machine.constant(1.0))
    return machine.node("Add", level, machine.node("Mul", share, rise))


def _rounded(machine: Machine, columns: Any) -> Any:
    """As the basis rounds; single precision has no digits beyond these."""
    if np.dtype(machine.dtype).itemsize < 8:
        return columns
    digits = machine.constant(DIGITS)
    return machine.node("Div", machine.node("Round", machine.node("Mul", columns, digits)), digits)
