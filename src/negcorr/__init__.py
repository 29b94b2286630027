"""negcorr: regression ensembles whose diversity is trained, measured and tuned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from negcorr.tabular.pipeline import make_tabular
    from negcorr.tikhonov import TikhonovEquivalent
    from negcorr.tuning import ncl_path

__version__ = "0.1.0"

#: Where each public name lives. Modules are loaded when a name of theirs is first asked for: the
#: command line must not wait for scikit-learn to print its help.
_HOMES = {
    "AmbiguityDecomposition": "diversity",
    "BiasVarianceCovariance": "diversity",
    "ContentKFold": "folds",
    "DegreesOfFreedom": "degrees",
    "DiversityDisplay": "display",
    "DofDisplay": "display",
    "ExcessOptimism": "optimism",
    "MembersDisplay": "display",
    "MonteCarloDof": "monte_carlo",
    "NCLPath": "path",
    "NCLRegressor": "regressor",
    "PathDisplay": "display",
    "RandomXDof": "random_x",
    "SURESearch": "sure_search",
    "TikhonovEquivalent": "tikhonov",
    "aic": "scores",
    "aicc": "scores",
    "ambiguity_decomposition": "diversity",
    "bias_variance_covariance": "diversity",
    "bic": "scores",
    "degrees_of_freedom": "degrees",
    "difference_noise_variance": "noise",
    "excess_optimism": "optimism",
    "gcv_score": "scores",
    "load": "persistence",
    "make_tabular": "tabular.pipeline",
    "mallows_cp": "scores",
    "members_of": "members",
    "monte_carlo_dof": "monte_carlo",
    "ncl_loss": "diversity",
    "ncl_path": "tuning",
    "random_x_dof": "random_x",
    "report": "reporting",
    "save": "persistence",
    "sure_score": "scores",
    "to_onnx": "onnx_export",
}

#: Packages and modules that are public as such.
_MODULES = (
    "bases",
    "datasets",
    "deep",
    "exceptions",
    "monte_carlo",
    "persistence",
    "scale",
    "tabular",
)

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
        """A public name, from its module."""
        if name in _MODULES:
            return import_module(f"negcorr.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"negcorr.{_HOMES[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_MODULES})
