"""The numbers of a fitted ensemble, and the steps that turn rows into its predictions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray, IntArray
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.storage.onnx.backends import Machine
from negcorr.storage.onnx.basis import Cosines, Part, parts_of
from negcorr.storage.onnx.steps import Operation, applied

__all__ = ["Ensemble"]


@dataclass(frozen=True)
class Ensemble:
    """Numbers of a model, in the order in which they are used.

    Attributes
    ----------
    operations : tuple of Operation
        What steps of a pipeline do to the columns.
    parts : tuple of Part
        The basis behind them.
    coef : ndarray of shape (outputs, Q)
        Weights of the features.
    intercept : ndarray of shape (outputs,)
    centre : ndarray of shape (Q + outputs,)
        Means of the features and of the targets, which members are about.
    starts : ndarray of shape (M + 1,)
        Where the features of each member begin.
    n_inputs : int
        Columns before the operations.
    single_output : bool
        Whether predictions have no axis of outputs.
    """

    operations: tuple[Operation, ...]
    parts: tuple[Part, ...]
    coef: FloatArray
    intercept: FloatArray
    centre: FloatArray
    starts: IntArray
    n_inputs: int
    single_output: bool

    @classmethod
    def of(cls, operations: Sequence[Operation], model: NCLRegressor, name: str) -> Ensemble:
        """That of a fitted model behind some operations; its name is for errors.

        Raises
        ------
        ValueError
            Where a basis has no such form; names it.
        """
        coef, intercept = (to_host(part) for part in model._coef_and_intercept())
        width = int(model.n_features_in_)
        return cls(
            operations=tuple(operations),
            parts=tuple(parts_of(model.basis_, name)),
            coef=coef,
            intercept=intercept,
            centre=to_host(model._centre),
            starts=np.asarray(model.basis_.block_starts_),
            n_inputs=operations[0].n_columns if operations else width,
            single_output=model.coef_.ndim == 1,
        )

    @property
    def n_members(self) -> int:
        """M."""
        return len(self.starts) - 1

    @property
    def output_shape(self) -> list[int | str]:
        """Shape of predictions, "rows" for their number."""
        return ["rows"] if self.single_output else ["rows", len(self.coef)]

    def values(self, machine: Machine, rows: Any) -> list[Any]:
        """Values of the functions of each part."""
        columns = applied(self.operations, machine, rows)
        return [part.values(machine, columns) for part in self.parts]

    def predict(self, machine: Machine, values: list[Any]) -> Any:
        """Node ``y``: what the whole ensemble says."""
        mean = None
        for value, part, (a, b) in self._with_features(values):
            weights = machine.constant(part.functions.weights(self.coef[:, a:b].T))
            product = machine.node("MatMul", value, weights)
            mean = product if mean is None else machine.node("Add", mean, product)
        if not self.single_output:
            return machine.node("Add", mean, machine.constant(self.intercept), output="y")
        mean = machine.node("Squeeze", mean, machine.integers([1]))
        return machine.node("Add", mean, machine.constant(self.intercept[0]), output="y")

    def predict_members(self, machine: Machine, values: list[Any]) -> Any:
        """Node ``members``: what every member says."""
        if len(self.parts) == 1 and isinstance(self.parts[0].functions, Cosines):
            each, known = self._sums(machine, values[0])
        else:
            each, known = self._products(machine, values)
        each = machine.node("Transpose", each, perm=[1, 0, 2])
        if self.single_output:
            each = machine.node("Squeeze", each, machine.integers([2]))
            known = known[..., 0]
        return machine.node("Add", each, machine.constant(known), output="members")

    def _sums(self, machine: Machine, features: Any) -> tuple[Any, FloatArray]:
        """Members whose features are the functions themselves, as many for each.

        Sums rather than a stack of products, in which onnxruntime dies where there are no rows.
        """
        (n_outputs, q), m = self.coef.shape, self.n_members
        centred = machine.node("Sub", features, machine.constant(self.centre[:q]))
        lone = machine.node("Unsqueeze", centred, machine.integers([1]))
        terms = machine.node("Mul", lone, machine.constant(m * self.coef))
        # The first 0 stands for the number of rows, whatever it is.
        shape = machine.integers([0, n_outputs, m, q // m])
        blocks = machine.node("Reshape", terms, shape)
        each = machine.node("ReduceSum", blocks, machine.integers([3]), keepdims=0)
        return machine.node("Transpose", each, perm=[0, 2, 1]), self.centre[q:][np.newaxis, :]

    def _products(self, machine: Machine, values: list[Any]) -> tuple[Any, FloatArray]:
        """Members by one matrix for each part, with a column for each member and output."""
        (n_outputs, q), m = self.coef.shape, self.n_members
        total = None
        for value, part, (a, b) in self._with_features(values):
            weights = machine.constant(part.functions.weights(m * self._dealt(a, b)))
            product = machine.node("MatMul", value, weights)
            total = product if total is None else machine.node("Add", total, product)
        each = machine.node("Reshape", total, machine.integers([0, m, n_outputs]))
        means = m * (self.centre[:q] @ self._dealt(0, q)).reshape(m, 1, n_outputs)
        return each, self.centre[q:] - means

    def _dealt(self, a: int, b: int) -> FloatArray:
        """Weights of features a to b, for each member and output: zero but for its own."""
        owner = np.searchsorted(self.starts, np.arange(a, b), side="right") - 1
        dealt = np.zeros((b - a, self.n_members, len(self.coef)))
        dealt[np.arange(b - a), owner] = self.coef[:, a:b].T
        return dealt.reshape(b - a, -1)

    def _with_features(self, values: list[Any]) -> Any:
        """Values and parts, each with where its features begin and end."""
        ends = itertools.accumulate((part.n_features for part in self.parts), initial=0)
        return zip(values, self.parts, itertools.pairwise(ends), strict=True)
