"""Pictures of a fitted ensemble, in the way of scikit-learn's displays (needs matplotlib)."""

from negcorr.display.diversity import DiversityDisplay
from negcorr.display.dof import DofDisplay
from negcorr.display.members import MembersDisplay
from negcorr.display.path import PathDisplay

__all__ = ["DiversityDisplay", "DofDisplay", "MembersDisplay", "PathDisplay"]
