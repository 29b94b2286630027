"""All experiments by name, in the order of the page."""

from __future__ import annotations

from types import ModuleType

from negcorr.paper.beyond import (
    bias_variance_covariance,
    diversity_dof,
    dof_per_epoch,
    held_out_error,
    optimal_gap,
    split,
)
from negcorr.paper.figures import figure1, figure3, figure4, figure5, figure7, figure8, table1

__all__ = ["BEYOND", "COMPANIONS", "DEEP", "EXPERIMENTS", "PAPER"]

#: Of the paper.
PAPER: dict[str, ModuleType] = {
    module.NAME: module for module in (figure1, figure3, figure4, figure5, figure7, figure8, table1)
}

#: Ours.
BEYOND: dict[str, ModuleType] = {
    module.NAME: module
    for module in (
        dof_per_epoch,
        held_out_error,
        diversity_dof,
        optimal_gap,
        bias_variance_covariance,
        split,
    )
}

#: Those that train deep networks: minutes on a GPU, a day or more without.
DEEP = ("figure7", "figure8", "dof-per-epoch", "held-out-error")

#: What comes for nothing with another one, being drawn from the same pieces.
COMPANIONS = {"figure7": "dof-per-epoch", "figure8": "held-out-error"}

EXPERIMENTS: dict[str, ModuleType] = PAPER | BEYOND
