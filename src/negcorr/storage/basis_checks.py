"""Checks that the arrays of a fitted basis fit together, and a first try of its features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.types import FloatArray, IntArray
from negcorr.bases.basis import Basis
from negcorr.bases.fourier import FourierFeatures
from negcorr.bases.input_maps import INPUTS, InputMap
from negcorr.bases.kernel_features import KernelFeatures
from negcorr.bases.linear import LinearFeatures
from negcorr.bases.named import takes_tables
from negcorr.bases.nested import NestedFeatures
from negcorr.bases.nystroem import NystroemFeatures

__all__ = ["check_basis", "check_indices", "check_shape", "need", "try_features", "widths_of"]

#: Rows on which features are tried.
TRIED = 2


def need(condition: Any, problem: str) -> None:
    """Refuse a model that does not meet a condition."""
    if not condition:
        raise ValueError(problem)


def check_shape(name: str, array: Any, *shape: int | None) -> None:
    """Refuse an array of another shape; None stands for any length."""
    found = np.shape(array)
    fits = len(found) == len(shape) and all(
        b is None or a == b for a, b in zip(found, shape, strict=True)
    )
    need(fits, f"{name} has the shape {found}, not {shape}")


def check_indices(name: str, index: Any, end: int) -> None:
    """Refuse whole numbers of which one is not between 0 and an end."""
    numbers = np.asarray(index)
    need(numbers.dtype.kind in "iu" or not numbers.size, f"{name} are no whole numbers")
    need(((numbers >= 0) & (numbers < end)).all(), f"{name} points beyond {end}")


def widths_of(name: str, starts: IntArray) -> list[int]:
    """Widths of blocks, after a check that one begins where another ends."""
    check_shape(name, starts, None)
    need(len(starts) >= 1 and starts[0] == 0, f"{name} does not begin at 0")
    widths = np.diff(starts)
    need((widths >= 0).all(), f"{name} does not ascend")
    return [int(width) for width in widths]


def check_basis(basis: Basis, n_columns: int) -> None:
    """Refuse a basis whose arrays are of other shapes than its columns and blocks.

    Parameters
    ----------
    basis : Basis
        Fitted.
    n_columns : int
        Inputs that it takes.
    """
    held: Any = vars(basis)
    widths = widths_of("block_starts_", basis.block_starts_)
    found = held.get("n_features_in_")
    need(found == n_columns, f"a basis takes {found!r} columns, and there are {n_columns}")
    mapped = held.get("input_map_")
    if mapped is not None:
        _check_input_map(mapped, n_columns)
    if isinstance(basis, NestedFeatures):
        need(len(basis.bases_) == len(widths), "there are other bases than members")
        for inner, width in zip(basis.bases_, widths, strict=True):
            check_basis(inner, n_columns)
            need(inner.block_starts_[-1] == width, "a basis has another width than its member")
        pairs = zip(basis.bases_, basis.block_starts_[:-1], strict=True)
        small = [b + start for inner, start in pairs for b in inner.block_starts_[:-1].tolist()]
        wanted = [*small, int(basis.block_starts_[-1])]
        need(basis.nesting_.starts.tolist() == wanted, "small members begin elsewhere")
        need(len(basis.nesting_.gaps) == len(widths), "members are nested in others")
    elif isinstance(basis, FourierFeatures):
        _check_fourier(held, n_columns, sum(widths))
    elif isinstance(basis, NystroemFeatures):
        _check_landmarks(basis, widths, n_columns)
    elif isinstance(basis, LinearFeatures):
        check_shape("columns_", basis.columns_, sum(widths))
        check_indices("columns_", basis.columns_, n_columns)


def _check_input_map(mapped: InputMap, n_columns: int) -> None:
    need(mapped.kind in INPUTS, f"inputs are {mapped.kind!r}")
    for name in ("center", "scale", "relevance"):
        check_shape(name, getattr(mapped, name), n_columns)
    need((mapped.scale != 0).all(), "a scale is 0")
    need((mapped.relevance >= 0).all(), "a relevance is negative")
    n_knots = mapped.knots.shape[-1] if mapped.kind == "rank" else 0
    need(n_knots >= 2 or mapped.kind != "rank", "there are no knots")
    for name in ("knots", "ranks"):
        check_shape(name, getattr(mapped, name), n_columns, n_knots)
    need((np.diff(mapped.knots) >= 0).all(), "knots do not ascend")
    if mapped.as_they_are is not None:
        check_shape("as_they_are", mapped.as_they_are, n_columns)


def _check_fourier(held: Any, n_columns: int, n_features: int) -> None:
    frequencies, phases = held.get("frequencies_"), held.get("phases_")
    _check_floats("frequencies_", frequencies, n_columns, n_features)
    _check_floats("phases_", phases, n_features)
    _check_floats("_origin", held.get("_origin"), n_columns)
    _check_floats("_angles", held.get("_angles"), n_features)
    _check_floats("_turns", held.get("_turns"), n_columns + 1, n_features)
    # The turns are the same numbers once more, as predictions use them.
    mapped, whole = held["input_map_"], 0.0
    if mapped.is_affine:
        frequencies = frequencies * mapped.factor[:, np.newaxis]
        whole = (held["_origin"] - mapped.center) @ frequencies / (2.0 * np.pi)
    turns = np.vstack([frequencies, phases]) / (2.0 * np.pi)
    agree = np.allclose(held["_turns"][:-1], turns[:-1], rtol=1e-9, atol=0)
    off = held["_turns"][-1] - turns[-1] - whole
    # Sums in another order differ by the rounding of the turns at the origin.
    agree &= bool((np.abs(off - np.round(off)) <= 1e-9 * (1.0 + np.abs(whole))).all())
    need(agree, "frequencies are not the turns")


def _check_landmarks(basis: NystroemFeatures, widths: list[int], n_columns: int) -> None:
    held = vars(basis)
    landmarks = held.get("landmarks_")
    if isinstance(basis, KernelFeatures):
        _check_floats("landmarks_", landmarks, None, n_columns)
        ranks = held.get("stage_ranks_")
        need(type(ranks) is list and all(type(r) is int and r >= 0 for r in ranks), "no ranks")
        assert isinstance(ranks, list)
        need(sum(ranks) == sum(widths), "stages have other ranks than members")
        return
    width = widths[0] if widths else 0
    need(set(widths) <= {width}, "members have different numbers of landmarks")
    _check_floats("landmarks_", landmarks, sum(widths), n_columns)
    _check_floats("normalization_", held.get("normalization_"), len(widths), width, width)
    subspaces = held.get("subspaces_")
    if subspaces is not None:
        check_shape("subspaces_", subspaces, len(widths), n_columns)
        need(np.asarray(subspaces).dtype == bool, "subspaces_ is no array of bool")


def _check_floats(name: str, array: Any, *shape: int | None) -> None:
    """Refuse what is no array of floats of a shape."""
    kind = isinstance(array, np.ndarray) or sp.issparse(array)
    need(kind and array.dtype in (np.float64, np.float32), f"{name} is no array of floats")
    check_shape(name, array, *shape)


def try_features(basis: Basis, rows: Any) -> FloatArray:
    """The features of some rows, which are not to be had where a basis lacks something.

    Parameters
    ----------
    basis : Basis
        Checked.
    rows : Rows or None
        Some training rows; without them of inputs that are 0.
    """
    n_features = int(basis.block_starts_[-1])
    if rows is not None:
        X = rows.take(np.arange(min(TRIED, rows.n_rows))).X
    elif takes_tables(basis):  # nobody knows what such tables hold
        return np.zeros((0, n_features))
    else:
        X = np.zeros((TRIED, int(basis.n_features_in_)))
    features = np.empty((X.shape[0], n_features))
    basis.fill(X, features)
    need(np.isfinite(features).all(), "features are not finite")
    return features
