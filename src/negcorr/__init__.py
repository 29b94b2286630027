"""negcorr: regression ensembles whose diversity is trained, measured and tuned."""

from typing import TYPE_CHECKING, Any

from negcorr.degrees import DegreesOfFreedom, degrees_of_freedom
from negcorr.display import DiversityDisplay, DofDisplay, MembersDisplay, PathDisplay
from negcorr.diversity import (
    AmbiguityDecomposition,
    BiasVarianceCovariance,
    ambiguity_decomposition,
    bias_variance_covariance,
    ncl_loss,
)
from negcorr.folds import ContentKFold
from negcorr.members import members_of
from negcorr.monte_carlo import MonteCarloDof, monte_carlo_dof
from negcorr.noise import difference_noise_variance
from negcorr.onnx_export import to_onnx
from negcorr.optimism import ExcessOptimism, excess_optimism
from negcorr.path import NCLPath
from negcorr.persistence import load, save
from negcorr.random_x import RandomXDof, random_x_dof
from negcorr.regressor import NCLRegressor
from negcorr.reporting import report
from negcorr.scores import aic, aicc, bic, gcv_score, mallows_cp, sure_score
from negcorr.sure_search import SURESearch
from negcorr.tikhonov import TikhonovEquivalent
from negcorr.tuning import ncl_path

if TYPE_CHECKING:
    from negcorr.tabular.pipeline import make_tabular

__version__ = "0.1.0"

__all__ = [
    "AmbiguityDecomposition",
    "BiasVarianceCovariance",
    "ContentKFold",
    "DegreesOfFreedom",
    "DiversityDisplay",
    "DofDisplay",
    "ExcessOptimism",
    "MembersDisplay",
    "MonteCarloDof",
    "NCLPath",
    "NCLRegressor",
    "PathDisplay",
    "RandomXDof",
    "SURESearch",
    "TikhonovEquivalent",
    "aic",
    "aicc",
    "ambiguity_decomposition",
    "bias_variance_covariance",
    "bic",
    "degrees_of_freedom",
    "difference_noise_variance",
    "excess_optimism",
    "gcv_score",
    "load",
    "make_tabular",
    "mallows_cp",
    "members_of",
    "monte_carlo_dof",
    "ncl_loss",
    "ncl_path",
    "random_x_dof",
    "report",
    "save",
    "sure_score",
    "to_onnx",
]

if not TYPE_CHECKING:  # Checkers would take any name for one of ours.

    def __getattr__(name: str) -> Any:
        """What tables need is loaded when it is asked for: few fits start from one."""
        if name == "make_tabular":
            from negcorr.tabular.pipeline import make_tabular

            return make_tabular
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
