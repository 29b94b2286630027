"""Degrees of freedom of any regressor by Monte Carlo (Section 8)."""

from negcorr.monte_carlo.estimate import monte_carlo_dof
from negcorr.monte_carlo.result import MonteCarloDof
from negcorr.monte_carlo.step import StepCheck

__all__ = ["MonteCarloDof", "StepCheck", "monte_carlo_dof"]
