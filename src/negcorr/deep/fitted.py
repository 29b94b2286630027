"""A fitted deep ensemble as data: scales, tables over λ, networks and numbers.

:mod:`negcorr.deep.fitting` makes a :class:`DeepFit`, and the estimator predicts from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from negcorr._common.types import BoolArray, FloatArray
from negcorr.columns.encoding import Encoding
from negcorr.deep.training.loop import TrainingState
from negcorr.deep.training.networks import EnsembleMLP

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["DeepFit", "History", "LamTable", "Scaling"]


@dataclass(frozen=True, repr=False)
class Scaling:
    """A centre and a scale for each column.

    Attributes
    ----------
    centre, scale : ndarray of shape (columns,), or one that broadcasts to the columns
        Columns that do not vary have scale 1.
    """

    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, columns: FloatArray, as_they_are: BoolArray | None = None) -> Scaling:
        """Mean and standard deviation of an array of shape (n, columns).

        Columns that are marked by ``as_they_are`` get centre 0 and scale 1.
        """
        # The range as well, since the standard deviation of a constant is its rounding error;
        # and the standard deviation, since that of the smallest numbers is 0.
        spread = columns.std(axis=0)
        varies = (np.ptp(columns, axis=0) > 0) & (spread > 0)
        centre = np.where(varies, columns.mean(axis=0), columns[0])
        scale = np.where(varies, spread, 1.0)
        if as_they_are is not None:
            centre, scale = np.where(as_they_are, 0.0, centre), np.where(as_they_are, 1.0, scale)
        return cls(centre, scale)

    @classmethod
    def none(cls, n_columns: int) -> Scaling:
        """Centre 0 and scale 1, which leave columns as they are."""
        return cls(np.zeros(n_columns), np.ones(n_columns))

    def apply(self, columns: FloatArray) -> FloatArray:
        """Standardised columns."""
        return np.asarray((columns - self.centre) / self.scale)

    def undo(self, columns: FloatArray) -> FloatArray:
        """Standardised columns, the last axis, in their own units."""
        return np.asarray(columns * self.scale + self.centre)


@dataclass(frozen=True, repr=False)
class History:
    """Loss of every epoch at every λ of a grid.

    Attributes
    ----------
    lams : ndarray of shape (G,)
        Values of λ.
    losses : ndarray of shape (epochs, G)
        Mean loss over each epoch's batches; targets have variance 1.
    rates : ndarray of shape (G,)
        Learning rates at the end, after halvings; 0 where training was stopped early.
    """

    lams: FloatArray
    losses: FloatArray
    rates: FloatArray

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.losses)} epochs, {len(self.lams)} values of λ)"

    @property
    def n_epochs(self) -> int:
        """Epochs done."""
        return len(self.losses)

    def to_frame(self) -> DataFrame:
        """A data frame with one row for each λ and epoch: ``lam``, ``epoch``, ``loss``."""
        import pandas

        epochs, n_lams = self.losses.shape
        lam, epoch = np.repeat(self.lams, epochs), np.tile(np.arange(1, epochs + 1), n_lams)
        return pandas.DataFrame({"lam": lam, "epoch": epoch, "loss": self.losses.T.ravel()})


@dataclass(frozen=True, repr=False)
class LamTable:
    """The grid that λ was chosen from: one row for each value, errors in units of the targets.

    Attributes
    ----------
    lam : ndarray of shape (G,)
        Values of λ.
    train_error : ndarray of shape (G, outputs)
        Mean squared error on the training rows.
    dof, dof_std_error : ndarray of shape (G, outputs)
        Degrees of freedom by Algorithm 1, NaN without probes.
    sure, gcv : ndarray of shape (G, outputs)
        Stein's unbiased risk estimate (Definition 2), and generalised cross-validation.
    noise_variance : ndarray of shape (outputs,)
        σ² in ``sure``.
    chosen : int
        Row of the chosen λ.
    """

    lam: FloatArray
    train_error: FloatArray
    dof: FloatArray
    dof_std_error: FloatArray
    sure: FloatArray
    gcv: FloatArray
    noise_variance: FloatArray
    chosen: int

    def __repr__(self) -> str:
        best = self.lam[self.chosen]
        return f"{type(self).__name__}({len(self.lam)} values, lam={best:g} chosen)"

    def to_frame(self) -> DataFrame:
        """A data frame with one row for each λ and output."""
        import pandas

        n_lams, outputs = self.dof.shape
        lam, output = np.repeat(self.lam, outputs), np.tile(np.arange(outputs), n_lams)
        names = ("train_error", "dof", "dof_std_error", "sure", "gcv")
        columns = {name: getattr(self, name).ravel() for name in names}
        chosen = np.repeat(np.arange(n_lams) == self.chosen, outputs)
        return pandas.DataFrame({"lam": lam, "output": output, **columns, "chosen": chosen})


#: The scaling of perturbed copies where there are none.
NO_COPIES = Scaling(np.zeros((0, 1, 1)), np.ones((0, 1, 1)))


@dataclass(frozen=True, repr=False, kw_only=True)
class DeepFit:
    """A fitted ensemble; errors and variances are in the units of the target.

    Attributes
    ----------
    network : EnsembleMLP
        One ensemble, for standardised inputs and targets.
    copies : EnsembleMLP or None
        The K perturbed copies at the same λ.
    copy_scaling : Scaling
        Of shape (K, 1, outputs): its ``undo`` brings predictions of the copies to the standardised
        units of the ensemble.
    inputs, target : Scaling
        Of X and of y.
    lam : float or ndarray of shape (outputs,)
    dof, dof_std_error, noise_variance : ndarray of shape (outputs,)
    learning_rate, last_rate : float
        Learning rate at the beginning, and after halvings.
    eps : float
        Step ε in standard deviations of the target.
    table : LamTable or None
        The grid that λ was chosen from.
    history : History
    n_epochs : int
    state : TrainingState or None
        The state that :meth:`DeepNCLRegressor.partial_fit` continues.
    single : bool
        Whether y had one dimension.
    encoding : Encoding or None
        How the columns of a data frame become numbers; None for arrays of numbers.
    """

    network: EnsembleMLP
    copies: EnsembleMLP | None = None
    copy_scaling: Scaling = NO_COPIES
    inputs: Scaling
    target: Scaling
    lam: float | FloatArray
    dof: FloatArray
    dof_std_error: FloatArray
    noise_variance: FloatArray
    learning_rate: float
    last_rate: float
    eps: float
    table: LamTable | None = None
    history: History
    n_epochs: int
    state: TrainingState | None = None
    single: bool
    encoding: Encoding | None = None
