"""Every figure and table of the paper with fixed bases, and what lies beyond it.

One module for each: ``run(study)`` gives a tidy table, ``plot(table)`` draws it from that table
alone, and ``claims(table)`` says which of the paper's statements the numbers bear out. ``negcorr
reproduce`` runs them from the command line.
"""

from negcorr.experiments.claims import Claim
from negcorr.experiments.pieces import Piece, Store
from negcorr.experiments.setup import FULL, QUICK, Setup, Size
from negcorr.experiments.study import Study

__all__ = ["FULL", "QUICK", "Claim", "Piece", "Setup", "Size", "Store", "Study"]
