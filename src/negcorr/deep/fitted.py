"""What a fitted deep ensemble can be asked: predictions, members, diversity, collusion."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from negcorr._common.types import FloatArray, Table
from negcorr.deep.deep_fit import DeepFit
from negcorr.deep.fitting import tensors
from negcorr.deep.training.networks import EnsembleMLP
from negcorr.diversity.collusion import Collusion, collusion
from negcorr.diversity.decompositions import AmbiguityDecomposition, ambiguity_decomposition

__all__ = ["FittedDeepMixin"]

#: Rows that are predicted at once.
BLOCK = 8192


class FittedDeepMixin:
    """Predictions of an estimator whose attribute ``_fit`` is a :class:`DeepFit`."""

    _fit: DeepFit
    n_probes: int

    def predict(
        self, X: Table, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Ensemble prediction F(x), with its predictive standard deviation if asked.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviation of a new observation: noise, and the variance
            σ²‖∂F(x)/∂y‖² of the fit, as the twins answer for it. With few probes the latter is
            rough. Bias is not in it, and the members' spread is no part of it.

        Returns
        -------
        y_mean : ndarray of shape (n,) or (n, outputs)
        y_std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        found = self._fitted()
        rows = self._validated_inputs(X)
        mean = found.target.undo(self._run(found.network, rows, average=True))
        if not return_std:
            return self._shaped(mean)
        if found.twins is None or np.isnan(found.noise_variance).any():
            raise ValueError(
                "predict(return_std=True) needs the twins of a fit with n_probes of at least 1 "
                f"(n_probes={self.n_probes!r}), which partial_fit and refit_heads leave behind."
            )
        twins = found.target.undo(found.in_units(self._run(found.twins, rows, average=True)))
        share = np.mean(((twins - mean) / (found.eps * found.target.scale)) ** 2, axis=0)
        std = np.sqrt(found.noise_variance * (1.0 + share))
        return self._shaped(mean), self._shaped(std)

    def predict_members(self, X: Table) -> FloatArray:
        """Predictions f_m(x) of every member, whose mean is :meth:`predict`.

        Near λ = 1 members are useless alone; their spread is diversity, not uncertainty.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs.

        Returns
        -------
        ndarray of shape (M, n) or (M, n, outputs)
        """
        self._fitted()
        return self._members(self._validated_inputs(X))

    def diversity(self, X: Table, y: Any) -> AmbiguityDecomposition:
        """Ambiguity decomposition of the ensemble on given rows (equation 1).

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs.
        y : array-like of shape (n,) or (n, outputs)
            Targets.

        Returns
        -------
        AmbiguityDecomposition
        """
        target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        return ambiguity_decomposition(self.predict_members(X), target)

    def collusion(
        self, X: Table, y: Any, X_test: Table | None = None, y_test: Any = None
    ) -> Collusion:
        """Whether members predict, or only their errors cancel (Jeffares et al. 2023).

        Parameters
        ----------
        X, y : array-like
            Training rows.
        X_test, y_test : array-like, optional
            Rows that the ensemble has not seen.

        Returns
        -------
        Collusion
        """
        members_test = None if X_test is None else self.predict_members(X_test)
        return collusion(self.predict_members(X), y, members_test, y_test)

    def _members(self, rows: FloatArray) -> FloatArray:
        found = self._fit
        return self._shaped(found.target.undo(self._run(found.network, rows)))

    def _fitted(self) -> DeepFit:
        check_is_fitted(self, "_fit")
        return self._fit

    def _validated_inputs(self, X: Table) -> FloatArray:
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _run(self, network: EnsembleMLP, rows: FloatArray, average: bool = False) -> FloatArray:
        """Predictions in standardised units: (M, n, outputs), or with an axis of ensembles.

        With ``average`` those of the ensembles, without the axis of members.
        """
        theta = network.theta
        scaled = self._fit.inputs.apply(rows)
        blocks: list[Tensor] = []
        with torch.no_grad():
            for start in range(0, len(scaled), BLOCK):
                (block,) = tensors(theta.dtype, theta.device, X=scaled[start : start + BLOCK])
                members = network(block).to("cpu", torch.float64)
                blocks.append(members.mean(dim=-3) if average else members)
        return np.asarray(torch.cat(blocks, dim=-2).numpy())

    def _shaped(self, per_output: FloatArray) -> FloatArray:
        return per_output[..., 0] if self._fit.single else per_output
