"""negcorr: regression ensembles whose diversity is trained, measured and tuned."""

from negcorr.diversity import (
    AmbiguityDecomposition,
    BiasVarianceCovariance,
    ambiguity_decomposition,
    bias_variance_covariance,
    ncl_loss,
)
from negcorr.folds import ContentKFold
from negcorr.noise import difference_noise_variance
from negcorr.path import NCLPath
from negcorr.regressor import NCLRegressor
from negcorr.tikhonov import TikhonovEquivalent
from negcorr.tuning import ncl_path

__version__ = "0.1.0"

__all__ = [
    "AmbiguityDecomposition",
    "BiasVarianceCovariance",
    "ContentKFold",
    "NCLPath",
    "NCLRegressor",
    "TikhonovEquivalent",
    "ambiguity_decomposition",
    "bias_variance_covariance",
    "difference_noise_variance",
    "ncl_loss",
    "ncl_path",
]
