"""All experiments by name, in the order of the page."""

from __future__ import annotations

from types import ModuleType

from negcorr.experiments import (
    bias_variance_covariance,
    diversity_dof,
    figure1,
    figure3,
    figure4,
    figure5,
    optimal_gap,
    split,
    table1,
)

__all__ = ["BEYOND", "EXPERIMENTS", "PAPER"]

#: Of the paper.
PAPER: dict[str, ModuleType] = {
    module.NAME: module for module in (figure1, figure3, figure4, figure5, table1)
}

#: Ours.
BEYOND: dict[str, ModuleType] = {
    module.NAME: module for module in (diversity_dof, optimal_gap, bias_variance_covariance, split)
}

EXPERIMENTS: dict[str, ModuleType] = PAPER | BEYOND
