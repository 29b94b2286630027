"""Losses, decompositions of the error of an ensemble, and the members of any ensemble."""

from negcorr.diversity.decompositions import (
    AmbiguityDecomposition,
    BiasVarianceCovariance,
    ambiguity_decomposition,
    bias_variance_covariance,
    ncl_loss,
)
from negcorr.diversity.members import members_of

__all__ = [
    "AmbiguityDecomposition",
    "BiasVarianceCovariance",
    "ambiguity_decomposition",
    "bias_variance_covariance",
    "members_of",
    "ncl_loss",
]
