"""Degrees of freedom of any regressor: closed forms and Monte Carlo (Section 8)."""

from negcorr.dof.degrees import DegreesOfFreedom, degrees_of_freedom
from negcorr.dof.monte_carlo.estimate import monte_carlo_dof
from negcorr.dof.monte_carlo.result import MonteCarloDof
from negcorr.dof.monte_carlo.step_size import StepCheck

__all__ = [
    "DegreesOfFreedom",
    "MonteCarloDof",
    "StepCheck",
    "degrees_of_freedom",
    "monte_carlo_dof",
]
