"""Ensembles of deep networks trained on the NCL loss (Section 8), all members in one program."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "negcorr.deep needs torch, which is not installed: pip install 'negcorr[deep]'"
    ) from error

from negcorr.deep.closed_form_heads import RefittedHeads, head_features, refit_heads
from negcorr.deep.fitted import History, LamTable
from negcorr.deep.regressor import DeepNCLRegressor
from negcorr.deep.settings import resolve_device
from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.loss import NCLLoss
from negcorr.deep.training.networks import Architecture, EnsembleMLP, initialise
from negcorr.deep.training.perturbed_copies import DofEstimate, PerturbedCopies, draw_probes
from negcorr.deep.training.rates import RATES, RateChoice, choose_rate
from negcorr.deep.training.stacking import StackedModule, stack
from negcorr.deep.training.tangents import Tangents, train_with_tangents
from negcorr.diversity.collusion import (
    Collusion,
    MemberErrors,
    collusion,
    drop_error,
    warn_if_useless,
)

__all__ = [
    "RATES",
    "Architecture",
    "Collusion",
    "DeepNCLRegressor",
    "DofEstimate",
    "EnsembleMLP",
    "History",
    "LamTable",
    "MemberErrors",
    "NCLLoss",
    "PerturbedCopies",
    "Problem",
    "RateChoice",
    "RefittedHeads",
    "StackedModule",
    "Tangents",
    "Training",
    "TrainingState",
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
