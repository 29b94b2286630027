"""Pictures of a fitted ensemble, made like scikit-learn's displays (needs matplotlib)."""

from negcorr.plots.diversity import DiversityDisplay
from negcorr.plots.dof import DofDisplay
from negcorr.plots.members import MembersDisplay
from negcorr.plots.path import PathDisplay

__all__ = ["DiversityDisplay", "DofDisplay", "MembersDisplay", "PathDisplay"]
