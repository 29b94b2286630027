"""Drawn: what is settled before moments are added up."""

from __future__ import annotations

from dataclasses import dataclass

from negcorr.bases import Basis
from negcorr.columns.inputs import InputCells
from negcorr.selection.choose import Choice

__all__ = ["Drawn"]


@dataclass(frozen=True)
class Drawn:
    """What is settled before moments are added up.

    Attributes
    ----------
    cells : InputCells
        How cells become numbers and keys.
    bases : tuple of Basis
        Fitted, from small to large: a stream adds up the moments of the largest.
    choice : Choice or None
        How they were chosen.
    """

    cells: InputCells
    bases: tuple[Basis, ...]
    choice: Choice | None = None
