"""A fitted deep ensemble: networks, scales and numbers, between fitting and predicting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from negcorr._common.types import FloatArray
from negcorr.deep.history import History, LamTable
from negcorr.deep.scaling import Scaling
from negcorr.deep.training.loop import Training
from negcorr.deep.training.networks import EnsembleMLP

__all__ = ["DeepFit"]


@dataclass(frozen=True, repr=False)
class DeepFit:
    """A fitted ensemble; errors and variances are in the units of the target.

    Attributes
    ----------
    network : EnsembleMLP
        One ensemble, for standardised inputs and targets.
    twins : EnsembleMLP or None
        The K twins at the same λ.
    twin_centre, twin_scale : ndarray of shape (K, 1, outputs)
        Bring predictions of twins to the standardised units of the ensemble.
    inputs, target : Scaling
        Of X and of y.
    lam : float or ndarray of shape (outputs,)
    dof, dof_std_error, noise_variance : ndarray of shape (outputs,)
    learning_rate, last_rate : float
        Initial learning rate, and what halvings have left of it.
    eps : float
        Step ε in standard deviations of the target.
    table : LamTable or None
        What λ was chosen from.
    history : History
    n_epochs : int
    training : Training or None
        Where :meth:`DeepNCLRegressor.partial_fit` goes on.
    single : bool
        Whether y had one dimension.
    """

    network: EnsembleMLP
    twins: EnsembleMLP | None
    twin_centre: FloatArray
    twin_scale: FloatArray
    inputs: Scaling
    target: Scaling
    lam: float | FloatArray
    dof: FloatArray
    dof_std_error: FloatArray
    noise_variance: FloatArray
    learning_rate: float
    last_rate: float
    eps: float
    table: LamTable | None
    history: History
    n_epochs: int
    training: Training | None
    single: bool

    def in_units(self, predictions: FloatArray) -> FloatArray:
        """Predictions (K, n, outputs) of the twins in the standardised units of the ensemble."""
        return np.asarray(predictions * self.twin_scale + self.twin_centre)
