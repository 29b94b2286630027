"""Ensembles of deep networks trained on the NCL loss (Section 8), all members in one program."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "negcorr.deep needs torch, which is not installed: pip install 'negcorr[deep]'"
    ) from error

from negcorr.deep.architecture import Architecture
from negcorr.deep.collusion import Collusion, MemberErrors, collusion, drop_error, warn_if_useless
from negcorr.deep.devices import resolve_device
from negcorr.deep.heads import RefittedHeads, head_features, refit_heads
from negcorr.deep.history import History, LamTable
from negcorr.deep.init import initialise
from negcorr.deep.loss import NCLLoss
from negcorr.deep.networks import EnsembleMLP
from negcorr.deep.rates import RATES, RateChoice, choose_rate
from negcorr.deep.regressor import DeepNCLRegressor
from negcorr.deep.stacking import StackedModule, stack
from negcorr.deep.tangents import Tangents, train_with_tangents
from negcorr.deep.training import Problem, Recipe, Training, train
from negcorr.deep.twins import TwinDof, Twins, draw_probes

__all__ = [
    "RATES",
    "Architecture",
    "Collusion",
    "DeepNCLRegressor",
    "EnsembleMLP",
    "History",
    "LamTable",
    "MemberErrors",
    "NCLLoss",
    "Problem",
    "RateChoice",
    "Recipe",
    "RefittedHeads",
    "StackedModule",
    "Tangents",
    "Training",
    "TwinDof",
    "Twins",
    "choose_rate",
    "collusion",
    "draw_probes",
    "drop_error",
    "head_features",
    "initialise",
    "refit_heads",
    "resolve_device",
    "stack",
    "train",
    "train_with_tangents",
    "warn_if_useless",
]
