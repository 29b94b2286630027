"""What a path is made with, validated once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from negcorr._common.types import FloatArray
from negcorr.path.path import CRITERIA
from negcorr.spectrum.gap import resolve_gap

__all__ = ["PathSettings", "given_gap"]


@dataclass(frozen=True)
class PathSettings:
    """What a path is made with; see :class:`negcorr.NCLRegressor` for the meaning.

    Attributes
    ----------
    gap : ndarray or None
        A given gap, or None to choose one by ``criterion``.
    criterion : str
    noise_variance : float, array, "paper", "difference" or None
    alpha : float
    fit_intercept : bool
    solver : {"auto", "gram", "qr"}
    """

    gap: FloatArray | None = None
    criterion: str = "kfold"
    noise_variance: Any = None
    alpha: float = 0.0
    fit_intercept: bool = True
    solver: str = "auto"

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(
                f"criterion={self.criterion!r} is unknown; allowed are {list(CRITERIA)}."
            )
        if self.solver not in ("auto", "gram", "qr"):
            raise ValueError(
                f"solver={self.solver!r} is unknown; allowed are 'auto', 'gram' and 'qr'."
            )
        number = isinstance(self.alpha, (int, float, np.number)) and self.alpha is not True
        if not number or not np.isfinite(self.alpha) or self.alpha < 0:
            raise ValueError(f"alpha={self.alpha!r} must be a finite number of at least 0.")
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise TypeError(f"fit_intercept={self.fit_intercept!r} must be True or False.")


def given_gap(lam: npt.ArrayLike | Literal["auto"], gap: npt.ArrayLike | None) -> FloatArray | None:
    """The gap that a user fixed by ``lam`` or ``gap``, or None for "auto"."""
    if isinstance(lam, str):
        if lam != "auto":
            raise ValueError(f"lam={lam!r} is unknown; give a number in [0, 1] or 'auto'.")
        return None if gap is None else resolve_gap(gap=gap)
    return resolve_gap(lam=lam, gap=gap)
