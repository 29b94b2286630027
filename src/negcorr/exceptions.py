"""Warnings of our own, so that a user can filter or raise exactly one of them."""

from __future__ import annotations

__all__ = [
    "CalibrationWarning",
    "FrequencyWarning",
    "IdenticalMembersWarning",
    "NegcorrWarning",
    "NoiseVarianceWarning",
    "PrecisionWarning",
    "SearchBoundaryWarning",
]


class NegcorrWarning(UserWarning):
    """Parent of every warning that negcorr raises itself."""


class SearchBoundaryWarning(NegcorrWarning):
    """The best gap sits at the small end of the search: the criterion asks for λ = 1."""


class IdenticalMembersWarning(NegcorrWarning):
    """Two or more members draw the same features, so they cannot differ."""


class NoiseVarianceWarning(NegcorrWarning):
    """A noise variance has no residual degrees of freedom to be estimated from."""


class CalibrationWarning(NegcorrWarning):
    """Too few out-of-fold residuals for the coverage asked of an interval."""


class FrequencyWarning(NegcorrWarning):
    """Sample weights add up to far less than the number of rows."""


class PrecisionWarning(NegcorrWarning):
    """A gap is smaller than the factorisation can resolve; the QR route can."""
