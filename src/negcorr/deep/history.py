"""What happened in training, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from negcorr._common.types import FloatArray

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["History", "LamTable"]


@dataclass(frozen=True, repr=False)
class History:
    """Loss of every epoch, for every λ that was trained.

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
        return pandas.DataFrame(
            {
                "lam": np.repeat(self.lams, epochs),
                "epoch": np.tile(np.arange(1, epochs + 1), n_lams),
                "loss": self.losses.T.ravel(),
            }
        )


@dataclass(frozen=True, repr=False)
class LamTable:
    """What λ was chosen from: one row for each value. Errors are in units of the targets.

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
        σ² in the first of them.
    chosen : int
        Row of the λ that was chosen.
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
        return (
            f"{type(self).__name__}({len(self.lam)} values, lam={self.lam[self.chosen]:g} chosen)"
        )

    def to_frame(self) -> DataFrame:
        """A data frame with one row for each λ and output."""
        import pandas

        n_lams, outputs = self.dof.shape
        columns = {
            name: getattr(self, name).ravel()
            for name in ("train_error", "dof", "dof_std_error", "sure", "gcv")
        }
        return pandas.DataFrame(
            {
                "lam": np.repeat(self.lam, outputs),
                "output": np.tile(np.arange(outputs), n_lams),
                **columns,
                "chosen": np.repeat(np.arange(n_lams) == self.chosen, outputs),
            }
        )
