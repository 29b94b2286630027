"""Every figure and table of the paper, and what lies beyond it.

One module for each: ``run(study)`` gives a tidy table, ``plot(table)`` draws it from that table
alone, and ``claims(table)`` says which of the paper's statements the numbers bear out. ``negcorr
reproduce`` runs them from the command line.
"""

from negcorr.paper.claims import Claim
from negcorr.paper.pieces import Piece, Store
from negcorr.paper.setup import FULL, QUICK, Setup, Size
from negcorr.paper.study import Study

__all__ = ["FULL", "QUICK", "Claim", "Piece", "Setup", "Size", "Store", "Study"]
