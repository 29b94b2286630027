"""Stored types: what a file holds instead of data frames, splines and networks.

The fields of those objects change from version to version of their libraries, and hold more than a
model needs. Each stored type is made by ``of`` and makes the object again by ``restored``.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
from scipy.interpolate import BSpline

from negcorr.path.path import NCLPath

__all__ = ["STORED", "StoredDeep", "StoredFrame", "StoredSpline", "deep_kind", "stored_type_of"]


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
        pandas = library == "pandas"
        parts = [frame.iloc[:, j] if pandas else frame[:, j] for j in range(len(names))]
        columns, categories = [], []
        for part in parts:
            labels = getattr(part, "cat", None) if pandas else None
            ordered = None if labels is None else [labels.categories.tolist(), bool(labels.ordered)]
            categories.append(ordered)
            if isinstance(part.dtype, np.dtype) and part.dtype != object:
                columns.append(np.ascontiguousarray(part.to_numpy()))
                continue
            values = part.astype(object).tolist() if pandas else part.to_list()
            values = [None if type(value).__name__ == "NAType" else value for value in values]
            values = [v.item() if isinstance(v, np.generic) else v for v in values]
            if not all(isinstance(value, str | int | float | None) for value in values):
                raise TypeError(
                    f"training rows have a column {part.name!r} of type {part.dtype}, which a file "
                    "cannot hold; save model.compact(), which drops the rows."
                )
            columns.append(np.empty(len(values), dtype=object))
            columns[-1][:] = values
        return cls(library, names, [str(p.dtype) for p in parts], columns, categories)

    def restored(self) -> Any:
        """The frame."""
        if self.library == "polars":
            import polars

            rows = zip(self.names, self.columns, self.types, strict=True)
            return polars.DataFrame(
                [polars.Series(n, v.tolist(), dtype=getattr(polars, t)) for n, v, t in rows]
            )
        import pandas as pd

        types = [
            kind if labels is None else pd.CategoricalDtype(labels[0], ordered=labels[1])
            for kind, labels in zip(self.types, self.categories, strict=True)
        ]
        pairs = zip(self.columns, types, strict=True)
        frame = pd.DataFrame({j: pd.Series(v, dtype=t) for j, (v, t) in enumerate(pairs)})
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

    def restored(self) -> BSpline:
        """The spline."""
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
        Of output layers that were refitted.
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

    def restored(self) -> Any:
        """The estimator, on the CPU."""
        import torch

        from negcorr.deep.regressor import DeepNCLRegressor
        from negcorr.deep.stored_parts import model_from_parts

        plain = type(self.about) is str and type(self.arrays) is dict
        if not plain or not all(type(a) is np.ndarray for a in self.arrays.values()):
            raise ValueError("a deep ensemble is not made of settings and arrays")
        if not isinstance(self.path, NCLPath | None):
            raise ValueError(f"path_ is a {type(self.path).__name__}, not an NCLPath")
        tensors = {name: torch.tensor(value) for name, value in self.arrays.items()}
        model = model_from_parts(DeepNCLRegressor, tensors, json.loads(self.about), "cpu")
        if self.path is not None:
            model.path_ = self.path
        return model


#: All stored types.
STORED = (StoredDeep, StoredFrame, StoredSpline)


def deep_kind(thing: Any) -> type | None:
    """The class DeepNCLRegressor among those of an object, found without importing torch."""
    wanted = ("negcorr.deep.regressor", "DeepNCLRegressor")
    kinds = type(thing).__mro__
    return next((kind for kind in kinds if (kind.__module__, kind.__name__) == wanted), None)


def stored_type_of(thing: Any) -> type[StoredDeep | StoredFrame | StoredSpline] | None:
    """The stored type for an object; None for what a file can hold as it is."""
    library = type(thing).__module__.partition(".")[0]
    if library in ("pandas", "polars") and type(thing).__name__ == "DataFrame":
        return StoredFrame
    if type(thing) is BSpline:
        return StoredSpline
    return None if deep_kind(thing) is None else StoredDeep
