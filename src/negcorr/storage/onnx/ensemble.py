"""The numbers of a fitted ensemble, and the steps that turn rows into its predictions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from negcorr._common.arrays import arrays_to_numpy, place_within, to_host
from negcorr._common.types import FloatArray, IntArray
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.storage.onnx.backends import Backend
from negcorr.storage.onnx.basis import Cosines, KernelValues, parts_of
from negcorr.storage.onnx.steps import Operation, applied

__all__ = ["Ensemble"]


@dataclass(frozen=True)
class Ensemble:
    """Numbers of a model, in the order in which they are used.

    Attributes
    ----------
    operations : tuple of Operation
        Those of the steps of a pipeline, and of the model's own encoding, on their columns.
    parts : tuple of Cosines and KernelValues
        The basis, on the columns after the operations.
    coef : ndarray of shape (outputs, Q)
        Weights of the features.
    intercept : ndarray of shape (outputs,)
    centre : ndarray of shape (Q + outputs,)
        Means of the features and of the targets, from which members count.
    starts : ndarray of shape (M + 1,)
        Where the features of each member begin.
    n_inputs : int
        Columns before the operations.
    single_output : bool
        Whether predictions have no axis of outputs.
    """

    operations: tuple[Operation, ...]
    parts: tuple[Cosines | KernelValues, ...]
    coef: FloatArray
    intercept: FloatArray
    centre: FloatArray
    starts: IntArray
    n_inputs: int
    single_output: bool

    @classmethod
    def of(cls, operations: Sequence[Operation], model: NCLRegressor, name: str) -> Ensemble:
        """The numbers of a fitted model, in NumPy, after operations on its columns.

        Raises
        ------
        ValueError
            Where its basis has no such form; says so of the model of this name.
        """
        solution, basis = model._state.answers.solution, model.basis_
        if not place_within(basis).is_numpy:
            basis = arrays_to_numpy(basis)
        return cls(
            operations=tuple(operations),
            parts=tuple(parts_of(basis, name)),
            coef=np.atleast_2d(to_host(solution.coef)),
            intercept=np.atleast_1d(to_host(solution.intercept)),
            centre=to_host(solution.centre),
            starts=basis.block_starts_,
            n_inputs=operations[0].n_columns if operations else int(model.n_features_in_),
            single_output=solution.coef.ndim == 1,
        )

    @property
    def n_members(self) -> int:
        """Number of members M."""
        return len(self.starts) - 1

    @property
    def output_shape(self) -> list[int | str]:
        """Shape of predictions, "rows" for their number."""
        return ["rows"] if self.single_output else ["rows", len(self.coef)]

    def values(self, backend: Backend, rows: Any) -> list[Any]:
        """Values of the functions of each part."""
        columns = applied(self.operations, backend, rows)
        return [part.values(backend, columns) for part in self.parts]

    def predict(self, backend: Backend, values: list[Any]) -> Any:
        """Node ``y``: predictions of the whole ensemble."""
        mean, intercept = self._weighted(backend, values, self.coef.T), self.intercept
        if self.single_output:
            mean, intercept = backend.node("Squeeze", mean, [1]), intercept[0]
        return backend.node("Add", mean, intercept, output="y")

    def predict_members(self, backend: Backend, values: list[Any]) -> Any:
        """Node ``members``: predictions of every member."""
        (n_outputs, q), m, node = self.coef.shape, self.n_members, backend.node
        known = self.centre[q:][np.newaxis, :]
        if len(self.parts) == 1 and isinstance(self.parts[0], Cosines):
            # Members whose features are the functions themselves, as many for each: sums, rather
            # than a stack of products, on which onnxruntime crashes if there are no rows.
            centred = node("Unsqueeze", node("Sub", values[0], self.centre[:q]), [1])
            # The first 0 stands for the number of rows, whatever it is.
            blocks = node("Reshape", node("Mul", centred, m * self.coef), [0, n_outputs, m, q // m])
            each = node("ReduceSum", blocks, [3], keepdims=0)
            each = node("Transpose", each, perm=[2, 0, 1])
        else:
            # One matrix for each part: a column for each member and output, zero but in the rows
            # of the member's own features.
            owner = np.searchsorted(self.starts, np.arange(q), side="right") - 1
            own = np.zeros((q, m, n_outputs))
            own[np.arange(q), owner] = m * self.coef.T
            weights = own.reshape(q, m * n_outputs)
            known = known - (self.centre[:q] @ weights).reshape(m, 1, n_outputs)
            each = node("Reshape", self._weighted(backend, values, weights), [0, m, n_outputs])
            each = node("Transpose", each, perm=[1, 0, 2])
        if self.single_output:
            each, known = node("Squeeze", each, [2]), known[..., 0]
        return node("Add", each, known, output="members")

    def _weighted(self, backend: Backend, values: list[Any], weights: FloatArray) -> Any:
        """Sum over the parts of values times weights; of features, of shape (Q, k)."""
        ends = np.cumsum([part.basis.block_starts_[-1] for part in self.parts])
        products = (
            backend.node("MatMul", value, part.weights(own))
            for value, part, own in zip(
                values, self.parts, np.split(weights, ends)[:-1], strict=True
            )
        )
        return functools.reduce(functools.partial(backend.node, "Add"), products)
