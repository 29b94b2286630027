"""What stands in a file for objects of other libraries: data frames, splines and networks.

Their own fields change from version to version and hold more than a model needs.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

__all__ = ["StoredDeep", "StoredFrame", "StoredSpline", "deep_kind"]


@dataclasses.dataclass(frozen=True)
class StoredFrame:
    """A data frame as columns.

    Attributes
    ----------
    library : {"pandas", "polars"}
        Whose frame it was.
    names : list
        Of the columns.
    types : list of str
        Of the columns, in words of that library.
    columns : list of ndarray
        Values; labels where a column has categories.
    categories : list
        All labels of a column and whether they have an order, None for other columns.
    """

    library: str
    names: list[Any]
    types: list[str]
    columns: list[Any]
    categories: list[Any]

    @classmethod
    def of(cls, frame: Any) -> StoredFrame:
        """The columns of a frame; row labels, which no model looks at, are left out."""
        library = type(frame).__module__.partition(".")[0]
        names = list(frame.columns)
        if library == "polars":
            columns = [_polars_values(frame[name]) for name in names]
            return cls(library, names, [str(t) for t in frame.dtypes], columns, [None] * len(names))
        parts = [frame.iloc[:, j] for j in range(len(names))]
        kinds = [None if (c := getattr(part, "cat", None)) is None else c for part in parts]
        categories = [
            None if c is None else [c.categories.tolist(), bool(c.ordered)] for c in kinds
        ]
        return cls(
            library, names, [str(p.dtype) for p in parts], [_values(p) for p in parts], categories
        )

    def frame(self) -> Any:
        """The frame once more."""
        if self.library == "polars":
            import polars

            rows = zip(self.names, self.columns, self.types, strict=True)
            return polars.DataFrame(
                [polars.Series(n, v.tolist(), dtype=getattr(polars, t)) for n, v, t in rows]
            )
        import pandas as pd

        made = []
        for kind, values, labels in zip(self.types, self.columns, self.categories, strict=True):
            dtype: Any = kind
            if labels is not None:
                dtype = pd.CategoricalDtype(labels[0], ordered=labels[1])
            made.append(pd.Series(values, dtype=dtype))
        frame = pd.concat(made, axis=1) if made else pd.DataFrame()
        frame.columns = pd.Index(self.names)
        return frame


@dataclasses.dataclass(frozen=True)
class StoredSpline:
    """What makes one of SciPy's splines, whose other fields change with its versions.

    Attributes
    ----------
    knots, coefficients : ndarray
    degree : int
    extrapolate : bool or "periodic"
    axis : int
    """

    knots: Any
    coefficients: Any
    degree: int
    extrapolate: Any
    axis: int

    @classmethod
    def of(cls, spline: BSpline) -> StoredSpline:
        """The numbers of a spline."""
        return cls(spline.t, spline.c, spline.k, spline.extrapolate, spline.axis)

    def spline(self) -> BSpline:
        """The spline once more."""
        return BSpline(self.knots, self.coefficients, self.degree, self.extrapolate, self.axis)


@dataclasses.dataclass(frozen=True)
class StoredDeep:
    """A deep ensemble as arrays and settings, which :mod:`negcorr.deep.stored_parts` understands.

    Attributes
    ----------
    about : str
        Settings, as JSON.
    arrays : dict
        Weights, scales and tables by name; none of an ensemble that is not fitted.
    path : NCLPath or None
        Of heads that were refitted.
    """

    about: str
    arrays: dict[str, Any]
    path: Any

    @classmethod
    def of(cls, model: Any) -> StoredDeep:
        """The numbers of a DeepNCLRegressor, fitted or not."""
        from negcorr.deep.stored_parts import stored_parts

        tensors, about = stored_parts(model)
        arrays = {name: value.detach().cpu().numpy() for name, value in tensors.items()}
        return cls(json.dumps(about, sort_keys=True), arrays, getattr(model, "path_", None))

    def model(self) -> Any:
        """The estimator once more, on the CPU."""
        import torch

        from negcorr.deep.regressor import DeepNCLRegressor
        from negcorr.deep.stored_parts import model_from_parts

        plain = type(self.about) is str and type(self.arrays) is dict
        if not plain or not all(type(a) is np.ndarray for a in self.arrays.values()):
            raise ValueError("a deep ensemble is not made of settings and arrays")
        tensors = {name: torch.tensor(value) for name, value in self.arrays.items()}
        model = model_from_parts(DeepNCLRegressor, tensors, json.loads(self.about), "cpu")
        if self.path is not None:
            model.path_ = self.path
        return model


def _values(column: Any) -> Any:
    """Of a column of pandas, as numbers where they are, else as labels with None for missing."""
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return np.ascontiguousarray(column.to_numpy())
    plain = [_plain(value) for value in column.astype(object).tolist()]
    return _labels(plain, column.name, column.dtype)


def _polars_values(column: Any) -> Any:
    return _labels(column.to_list(), column.name, column.dtype)


def _plain(value: Any) -> Any:
    if type(value).__name__ == "NAType":
        return None
    return value.item() if isinstance(value, np.generic) else value


def _labels(values: list[Any], name: Any, dtype: Any) -> Any:
    if not all(value is None or isinstance(value, str | int | float) for value in values):
        raise TypeError(
            f"training rows have a column {name!r} of type {dtype}, which a file cannot hold; save "
            "model.compact(), which drops the rows."
        )
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def deep_kind(thing: Any) -> type | None:
    """The class DeepNCLRegressor among those of an object, found without importing torch."""
    home = ("negcorr.deep.regressor", "DeepNCLRegressor")
    kinds = type(thing).__mro__
    return next((kind for kind in kinds if (kind.__module__, kind.__name__) == home), None)
