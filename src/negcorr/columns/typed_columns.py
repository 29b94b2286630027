"""TypedColumns: cells of a data frame as the values they mean, by a schema's forms.

A class with plain parameters, as all steps of the pipeline are, so that models can be cloned,
pickled and stored by skops.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from negcorr._common.types import AnyArray, Table
from negcorr.exceptions import TableError
from negcorr.reading.dates import dates
from negcorr.reading.number_cells import as_numbers, missing_cells
from negcorr.reading.schema import Schema

__all__ = ["MISSING_LEVEL", "TypedColumns", "levels", "placing"]


#: The category of rows that have none.
MISSING_LEVEL = "(missing)"


class TypedColumns(TransformerMixin, BaseEstimator):
    """The input columns of a data frame, each in its type.

    New frames may have them in any order and others beside them, which are ignored.

    Parameters
    ----------
    numbers : mapping of str to str
        Columns of numbers, and the form of their text.
    categories : sequence of str
        Columns of categories.
    dates : mapping of str to str
        Columns of dates, and their form.

    Attributes
    ----------
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (d,)
        Their names: numbers, categories, dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.tables import TypedColumns
    >>> frame = pd.DataFrame({"kind": ["a", None], "size": ["1,200", "?"], "other": [0, 0]})
    >>> TypedColumns({"size": "thousands"}, ["kind"], {}).fit_transform(frame)
         size       kind
    0  1200.0          a
    1     NaN  (missing)
    """

    def __init__(
        self, numbers: Mapping[str, str], categories: Sequence[str], dates: Mapping[str, str]
    ) -> None:
        self.numbers = numbers
        self.categories = categories
        self.dates = dates

    @classmethod
    def of_schema(cls, schema: Schema) -> Self:
        """For the inputs of a schema."""
        forms = {column.name: column.form for column in schema.columns}
        return cls(
            numbers={name: forms[name] for name in schema.named("number")},
            categories=list(schema.named("category")),
            dates={name: forms[name] for name in schema.named("date")},
        )

    def fit(self, X: Table, y: Any = None) -> Self:
        """Remember the names; there is nothing to learn.

        Parameters
        ----------
        X : pandas.DataFrame
        y : ignored

        Returns
        -------
        self
        """
        names = [*self.numbers, *self.categories, *self.dates]
        _taken(X, names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def transform(self, X: Table) -> Any:
        """Floats, levels as text, and dates.

        Parameters
        ----------
        X : pandas.DataFrame
            With the columns of the fit at least.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas

        check_is_fitted(self)
        frame = _taken(X, list(self.feature_names_in_))
        made = {n: as_numbers(frame[n], form, n) for n, form in self.numbers.items()}
        made |= {n: levels(frame[n]) for n in self.categories}
        made |= {n: dates(frame[n], form, n).to_numpy() for n, form in self.dates.items()}
        return pandas.DataFrame(made, index=frame.index, columns=list(self.feature_names_in_))

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names of the columns, as they came in.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        return np.asarray(self.feature_names_in_, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def levels(series: Any) -> AnyArray:
    """A column as categories by name; whole numbers are named alike in every type.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.columns.typed_columns import levels
    >>> levels(pd.Series([3.0, None])).tolist(), levels(pd.Series(["a ", ""])).tolist()
    (['3', '(missing)'], ['a', '(missing)'])
    """
    if hasattr(series, "cat"):
        # Each category once: there are few of them, and rows may be millions.
        known = series.cat.categories.to_series().astype(object)
        named = np.append(levels(known), MISSING_LEVEL).astype(object)
        return np.asarray(named[series.cat.codes.to_numpy()])
    names = []
    for value, gone in zip(series.astype(object), missing_cells(series), strict=True):
        is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
        name = str(int(value)) if is_whole else str(value).strip()
        names.append(MISSING_LEVEL if gone else name)
    return np.array(names, dtype=object)


def _taken(X: Table, names: list[str]) -> Any:
    """The columns by name, or an error with those that are not there."""
    if not hasattr(X, "columns"):
        needed = ", ".join(map(repr, names[:10]))
        kind = type(X).__name__
        raise TypeError(
            f"X must be a data frame with named columns, got {kind}; it needs {needed}."
        )
    frame = X if hasattr(X, "iloc") else X.to_pandas()
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        word = "column" if len(lacking) == 1 else "columns"
        lacked, known = (", ".join(map(repr, n)) for n in (lacking, list(frame.columns)[:20]))
        raise TableError(f"X lacks the {word} {lacked}; it has {known}.")
    return frame[names]


@contextmanager
def placing(
    path: Path,
    frame: Any,
    reader: TypedColumns,
    row: int,
    advice: str = "Correct it, leave it empty, take the column as categorical, or drop it.",
) -> Iterator[None]:
    """Let errors about cells say in which row they are; ``row`` rows are before the frame."""
    try:
        yield
    except TableError as error:
        if _fails(reader, frame.iloc[:0]) or not _fails(reader, frame):
            raise
        # The shortest beginning of the frame that fails ends with the row.
        lengths = range(1, len(frame))
        last = bisect_left(lengths, True, key=lambda n: _fails(reader, frame.iloc[:n]))
        raise TableError(f"{path}, row {row + last + 1}: {error} {advice}") from error


def _fails(reader: TypedColumns, frame: Any) -> bool:
    try:
        TypedColumns(reader.numbers, (), reader.dates).fit(frame).transform(frame)
    except TableError:
        return True
    return False
