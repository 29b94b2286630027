"""Columns of text cells of pyarrow in the types that were found for them, for tables in chunks.

A *kind* is how a column of a text file is read: ``"number"`` (floats), ``"comma"`` (floats with
decimal commas), ``"level"`` (categories), ``"number level"`` and ``"comma level"`` (categories that
are numbers, so that 3 and 3.0 are one) or ``"text"`` (as it is). Formats with types of their own
have ``"typed"``, and ``"level"`` for words that are categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.number_text import shortened
from negcorr._common.types import AnyArray, FloatArray
from negcorr.exceptions import TableError
from negcorr.reading.column_types import kind_of_numbers, typed_column, uses_decimal_commas
from negcorr.reading.number_cells import MISSING_MARKS, is_missing_mark, number_in_form
from negcorr.reading.schema import Schema

__all__ = ["as_kind", "kinds_by_schema", "kinds_of_cells"]


#: Kinds of numbers, and how their cells are written.
_FORMS = {"number": "plain", "comma": "comma"}


def kinds_of_cells(
    names: Sequence[str], columns: list[list[str]], delimiter: str
) -> tuple[dict[str, str], dict[str, AnyArray], list[str]]:
    """Kinds of columns by cells of them, these cells in their types, and notes.

    Examples
    --------
    >>> from negcorr.reading.cell_kinds import kinds_of_cells
    >>> kinds_of_cells(["a", "b"], [["1,5", "?"], ["x", ""]], ";")[0]
    {'a': 'comma', 'b': 'text'}
    """
    commas = uses_decimal_commas(columns, delimiter)
    kinds: dict[str, str] = {}
    values: dict[str, AnyArray] = {}
    notes = ["numbers have decimal commas."] if commas else []
    for name, cells in zip(names, columns, strict=True):
        values[name], odd = typed_column(name, cells, commas)
        is_text = values[name].dtype == object
        kinds[name] = "text" if is_text else kind_of_numbers(cells, commas)
        notes += odd
    return kinds, values, notes


def kinds_by_schema(
    schema: Schema, names: Sequence[str], columns: list[list[str]], delimiter: str
) -> dict[str, str]:
    """Kinds of columns by a schema; the cells of the file show its decimal mark.

    Parameters
    ----------
    schema : Schema
        Columns that it does not know are text.
    names : sequence of str
    columns : list of list of str
        First cells of each column.
    delimiter : str
    """
    known = {column.name: column for column in schema.columns}
    commas = uses_decimal_commas(columns, delimiter)
    kinds = {}
    for name, cells in zip(names, columns, strict=True):
        column = known.get(name)
        is_level = column is not None and column.role == "category"
        kinds[name] = "level" if is_level else "text"
        if column is not None and column.form == "plain":
            number = kind_of_numbers(cells, commas)
            kinds[name] = f"{number} level" if is_level else number
    return kinds


def as_kind(cells: Any, kind: str, name: str, path: Path, row: int) -> Any:
    """A column of text cells of pyarrow as a column of pandas.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray of string
    kind : str
    name : str
        Of the column, for errors.
    path : Path
    row : int
        Rows of the file before these.

    Raises
    ------
    TableError
        Naming column, row and cell, where a cell is no number.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pyarrow
    >>> from negcorr.reading.cell_kinds import as_kind
    >>> cells = pyarrow.chunked_array([["1,5", "?"]])
    >>> as_kind(cells, "comma", "size", Path("sizes.csv"), 0).tolist()
    [1.5, nan]
    """
    import pandas

    if kind in _FORMS:
        # All at once where pyarrow understands them, and else one by one, with the same result.
        values = _floats_by_arrow(cells, kind)
        if values is None:
            texts = cells.to_pylist()
            known = {text: number_in_form(text, _FORMS[kind]) for text in set(texts)}
            found = [known[text] for text in texts]
            if None in found:
                bad = found.index(None)
                raise TableError(
                    f"{path}, row {row + bad + 1}: column {name!r} holds {shortened(texts[bad])}, "
                    "which is no number, as cells before are. Correct it, leave it empty, take the "
                    "column as categorical, or drop it."
                )
            values = np.array(found, dtype=np.float64)
        return pandas.Series(values)
    if kind == "text":
        import pyarrow.compute as pc

        blank = np.asarray(pc.equal(pc.utf8_trim_whitespace(cells), "").to_numpy(), dtype=bool)
        return pandas.Series(np.where(blank, None, cells.to_numpy()), dtype=object)
    # Categories: each word is looked at once.
    coded = cells.combine_chunks().dictionary_encode()
    words: dict[str, int] = {}
    codes = []
    number = kind.removesuffix("level").strip()
    for word in map(str.strip, coded.dictionary.to_pylist()):
        # Numbers are named as values, and words among them as they are.
        value = number_in_form(word, _FORMS[number]) if number else None
        is_whole = value is not None and value.is_integer()
        level = word if value is None else str(int(value)) if is_whole else str(value)
        is_missing = is_missing_mark(word) if number else not word
        codes.append(-1 if is_missing else words.setdefault(level, len(words)))
    chosen = np.array(codes, dtype=np.int64)[coded.indices.to_numpy()]
    return pandas.Categorical.from_codes(chosen, categories=pandas.Index(list(words), dtype=object))


def _floats_by_arrow(cells: Any, kind: str) -> FloatArray | None:
    """Cells cast by pyarrow, without blanks and missing marks; None if it cannot."""
    import pyarrow
    import pyarrow.compute as pc

    if kind == "number":
        # Most columns have neither blanks nor missing marks, for which each cell is looked at.
        try:
            values = cells.cast("float64").to_numpy()
        except pyarrow.ArrowInvalid:
            pass
        else:
            return None if _has_codes(cells) else np.array(values, dtype=np.float64)
    cells = pc.utf8_trim_whitespace(cells)
    if kind == "comma":
        if pc.any(pc.match_substring(cells, ".")).as_py():
            return None
        cells = pc.replace_substring(cells, ",", ".")
    if _has_codes(cells):
        return None
    missing = pc.is_in(pc.utf8_lower(cells), value_set=pyarrow.array(sorted(MISSING_MARKS)))
    try:
        present = pc.if_else(missing, pyarrow.scalar(None, pyarrow.string()), cells)
        return np.array(present.cast("float64").to_numpy(), dtype=np.float64)
    except pyarrow.ArrowInvalid:
        return None


def _has_codes(cells: Any) -> bool:
    """Whether a cell begins with a zero before another digit, which makes a code and no number."""
    for chunk in cells.chunks:
        data, start, length = text_buffers(chunk)
        first = data[start]
        signed = (first == ord("+")) | (first == ord("-"))
        at = start + signed
        two = (length - signed >= 2) & (data[at] == ord("0"))
        if (two & (data[at + 1] >= ord("0")) & (data[at + 1] <= ord("9"))).any():
            return True
    return False


def text_buffers(array: Any) -> tuple[Any, Any, Any]:
    """Bytes of an array of text, with 16 zeros behind, and starts and lengths of its cells."""
    import pyarrow

    array = array.cast(pyarrow.large_string())
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    buffer = array.buffers()[2]
    whole = np.frombuffer(b"" if buffer is None else buffer, dtype=np.uint8)
    low, high = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    data = np.zeros(high - low + 16, dtype=np.uint8)
    data[: high - low] = whole[low:high]
    return data, offsets[:-1] - low, np.diff(offsets)
