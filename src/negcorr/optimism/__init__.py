"""Corrections of the training error: scores, SURE search, random-X dof, excess optimism."""

from negcorr.optimism.excess import ExcessOptimism, excess_optimism
from negcorr.optimism.random_x import RandomXDof, random_x_dof
from negcorr.optimism.scores import aic, aicc, bic, gcv_score, mallows_cp, sure_score
from negcorr.optimism.sure_search import SURESearch

__all__ = [
    "ExcessOptimism",
    "RandomXDof",
    "SURESearch",
    "aic",
    "aicc",
    "bic",
    "excess_optimism",
    "gcv_score",
    "mallows_cp",
    "random_x_dof",
    "sure_score",
]
