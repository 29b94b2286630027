"""Every figure and table of the paper, and what lies beyond it.

One module for each: ``run(study)`` gives a tidy table, ``plot(table)`` draws it from that table
alone, and ``claims(table)`` says which of the paper's statements the numbers bear out. ``negcorr
reproduce`` runs them from the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from negcorr.experiments.claims import Claim
from negcorr.experiments.pieces import Piece, Store
from negcorr.experiments.setup import FULL, QUICK, Setup, Size
from negcorr.experiments.study import Study

__all__ = ["FULL", "QUICK", "Claim", "Piece", "Setup", "Size", "Store", "Study"]

_MODULES = (
    "bias_variance_covariance",
    "diversity_dof",
    "dof_per_epoch",
    "figure1",
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "figure6",
    "figure7",
    "figure8",
    "held_out_error",
    "optimal_gap",
    "split",
    "table1",
)


def __getattr__(name: str) -> Any:
    """Experiments are loaded when they are asked for."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
