"""Types of arrays and numbers that several modules use."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]

#: Whatever scikit-learn accepts as a table: array, sparse matrix, data frame.
Table: TypeAlias = Any

#: λ or the gap as a user gives it: a number, several, or nothing.
GapLike: TypeAlias = npt.ArrayLike | None

#: One number, or an array of them.
Number: TypeAlias = float | FloatArray
