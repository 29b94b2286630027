"""Ensembles of deep networks trained on the NCL loss (Section 8), all members in one program."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "negcorr.deep needs torch, which is not installed: pip install 'negcorr[deep]'"
    ) from error

from negcorr.deep.init import initialise
from negcorr.deep.loss import NCLLoss
from negcorr.deep.networks import EnsembleMLP
from negcorr.deep.stacking import StackedModule, stack
from negcorr.deep.training import Problem, Recipe, Training, train
from negcorr.deep.twins import TwinDof, Twins, draw_probes

__all__ = [
    "EnsembleMLP",
    "NCLLoss",
    "Problem",
    "Recipe",
    "StackedModule",
    "Training",
    "TwinDof",
    "Twins",
    "draw_probes",
    "initialise",
    "stack",
    "train",
]
