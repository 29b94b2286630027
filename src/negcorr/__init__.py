"""negcorr: regression ensembles whose diversity is trained, measured and tuned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from negcorr.criteria.noise import difference_noise_variance
    from negcorr.diversity.decompositions import (
        AmbiguityDecomposition,
        BiasVarianceCovariance,
        ambiguity_decomposition,
        bias_variance_covariance,
        ncl_loss,
    )
    from negcorr.diversity.members import members_of
    from negcorr.dof.degrees import DegreesOfFreedom, degrees_of_freedom
    from negcorr.dof.monte_carlo.estimate import monte_carlo_dof
    from negcorr.dof.monte_carlo.result import MonteCarloDof
    from negcorr.ensemble.regressor import NCLRegressor
    from negcorr.optimism.excess import ExcessOptimism, excess_optimism
    from negcorr.optimism.random_x import RandomXDof, random_x_dof
    from negcorr.optimism.scores import aic, aicc, bic, gcv_score, mallows_cp, sure_score
    from negcorr.optimism.sure_search import SURESearch
    from negcorr.path.path import NCLPath
    from negcorr.path.tune import ncl_path
    from negcorr.plots.diversity import DiversityDisplay
    from negcorr.plots.dof import DofDisplay
    from negcorr.plots.members import MembersDisplay
    from negcorr.plots.path import PathDisplay
    from negcorr.reading.table import read_table
    from negcorr.reporting import report
    from negcorr.rows.folds import ContentKFold
    from negcorr.spectrum.tikhonov import TikhonovEquivalent
    from negcorr.storage.onnx.export import to_onnx
    from negcorr.storage.save_load import load, save

__version__ = "0.1.0"

#: The module of each public name. Modules are loaded when a name of theirs is first asked for: the
#: command line must not wait for scikit-learn to print its help.
_MODULE_OF = {
    "AmbiguityDecomposition": "diversity",
    "BiasVarianceCovariance": "diversity",
    "ContentKFold": "rows.folds",
    "DegreesOfFreedom": "dof",
    "DiversityDisplay": "plots",
    "DofDisplay": "plots",
    "ExcessOptimism": "optimism",
    "MembersDisplay": "plots",
    "MonteCarloDof": "dof",
    "NCLPath": "path.path",
    "NCLRegressor": "ensemble.regressor",
    "PathDisplay": "plots",
    "RandomXDof": "optimism",
    "SURESearch": "optimism",
    "TikhonovEquivalent": "spectrum.tikhonov",
    "aic": "optimism",
    "aicc": "optimism",
    "ambiguity_decomposition": "diversity",
    "bias_variance_covariance": "diversity",
    "bic": "optimism",
    "degrees_of_freedom": "dof",
    "difference_noise_variance": "criteria.noise",
    "excess_optimism": "optimism",
    "gcv_score": "optimism",
    "load": "storage.save_load",
    "mallows_cp": "optimism",
    "members_of": "diversity",
    "monte_carlo_dof": "dof",
    "ncl_loss": "diversity",
    "ncl_path": "path.tune",
    "random_x_dof": "optimism",
    "read_table": "reading",
    "report": "reporting",
    "save": "storage.save_load",
    "sure_score": "optimism",
    "to_onnx": "storage.onnx.export",
}

#: Packages and modules that are public as such.
_MODULES = (
    "bases",
    "datasets",
    "deep",
    "diversity",
    "dof",
    "exceptions",
    "optimism",
    "reading",
    "scale",
    "storage",
    "tables",
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
    "mallows_cp",
    "members_of",
    "monte_carlo_dof",
    "ncl_loss",
    "ncl_path",
    "random_x_dof",
    "read_table",
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
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"negcorr.{_MODULE_OF[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_MODULES})
