"""Types of tables and figures: pandas and matplotlib are loaded only when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame, Series
else:
    Axes = DataFrame = Figure = Series = Any

__all__ = ["Axes", "DataFrame", "Figure", "Series"]
