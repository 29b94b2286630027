"""What is known of each data set of Appendix E: names, sizes, sources and citations, not data."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any, Self

__all__ = ["DATASETS", "DatasetInfo", "info"]


@dataclass(frozen=True)
class DatasetInfo:
    """One data set of Table E.2.

    Attributes
    ----------
    name : str
        The name by which it is loaded, in lower case.
    title : str
        The name in the paper.
    n_samples, n_features : int
        Rows and feature columns, as in the source. A categorical feature counts once.
    target_names : tuple of str
        The columns to predict.
    categorical : tuple of str
        Feature columns that hold categories.
    categories : tuple of tuple of str
        The allowed values of each of them, sorted.
    predicts : str
        What the targets are.
    citation : str
        Whom to cite.
    origin : str
        Its public name, collection and file.
    openml_id : int or None
        Number at OpenML; None where no copy there is known to be the same.
    sha256 : str or None
        Checksum of the file ``<name>.csv.gz``; None if no copy was available.
    paper_shape : tuple of int
        Rows, features and outputs according to Table E.2.
    notes : str
        Errors of the paper about it, and other cautions; may be empty.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    target_names: tuple[str, ...]
    categorical: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    predicts: str
    citation: str
    origin: str
    openml_id: int | None
    sha256: str | None
    paper_shape: tuple[int, int, int]
    notes: str

    @classmethod
    def of_stored(cls, fields: dict[str, Any]) -> Self:
        """From an entry of the registry's file, which has the values of each categorical column."""
        values = fields["categorical"]
        tuples = {n: tuple(fields[n]) for n in ("categorical", "target_names", "paper_shape")}
        categories = tuple(tuple(sorted(each)) for each in values.values())
        return cls(**fields | tuples, categories=categories)

    @property
    def n_targets(self) -> int:
        """Number of columns to predict."""
        return len(self.target_names)

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """Allowed values of each categorical column, by its name."""
        return dict(zip(self.categorical, self.categories, strict=True))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, features and targets of the data, to compare with ``paper_shape``."""
        return self.n_samples, self.n_features, self.n_targets


def info(name: str) -> DatasetInfo:
    """What is known of a data set.

    Parameters
    ----------
    name : str
        A key of ``DATASETS``.

    Returns
    -------
    DatasetInfo

    Raises
    ------
    ValueError
        If there is no such data set; the message has the nearest name.

    Examples
    --------
    >>> from negcorr.datasets import info
    >>> bank = info("bank")
    >>> bank.shape, bank.paper_shape
    ((8192, 8, 1), (8192, 9, 1))
    >>> bank.notes
    'The paper has 9 features, in the table and in words; there are 8, and 9 columns with the
    target.'
    """
    if not isinstance(name, str):
        raise TypeError(f"name={name!r} must be a string, got {type(name).__name__}.")
    if name not in DATASETS:
        near = difflib.get_close_matches(name.lower(), DATASETS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"name={name!r} is no data set{hint} Allowed are {', '.join(DATASETS)}.")
    return DATASETS[name]


#: The data sets by name, in the order of Table E.2.
_STORED = resources.files("negcorr.datasets").joinpath("registry.json").read_text("utf-8")
DATASETS: Mapping[str, DatasetInfo] = MappingProxyType(
    {fields["name"]: DatasetInfo.of_stored(fields) for fields in json.loads(_STORED)}
)
