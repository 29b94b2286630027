"""Every figure and table of the paper, and experiments beyond it.

Each experiment is a module of :mod:`negcorr.paper.figures` or :mod:`negcorr.paper.beyond`:
``run(study)`` gives a tidy table, ``plot(table)`` draws it from that table alone, and
``claims(table)`` says which statements its numbers confirm. ``negcorr reproduce`` runs them all.
"""

from negcorr.paper.page import Claim
from negcorr.paper.pieces import Piece, Store
from negcorr.paper.setup import FULL, QUICK, Setup, Size
from negcorr.paper.study import Study

__all__ = ["FULL", "QUICK", "Claim", "Piece", "Setup", "Size", "Store", "Study"]
