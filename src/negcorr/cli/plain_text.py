"""Text of strangers for terminals and spreadsheets: nothing in it is carried out."""

from __future__ import annotations

import json
import math
import re
from typing import Any

__all__ = ["finite", "for_spreadsheets", "json_text", "printable", "without_controls"]

#: Longest name of a column or value that is shown in full.
LONGEST = 60

#: What spreadsheets take for the beginning of a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")

#: Control characters but tabs and ends of lines, which tables may have in their cells.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")

#: Control characters that JSON leaves as they are.
_BEYOND_JSON = re.compile(r"[\x7f-\x9f]")


def printable(text: str, longest: int | None = LONGEST) -> str:
    r"""Text that a terminal shows as it is: without control characters, and cut where it is long.

    Examples
    --------
    >>> from negcorr.cli.plain_text import printable
    >>> printable("a\nb\x1b[31m"), printable("é 🙂"), len(printable("x" * 10**6))
    ('a\\nb\\x1b[31m', 'é 🙂', 60)
    """
    cut = text if longest is None or len(text) <= longest else text[: longest - 1] + "…"
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut)


def without_controls(text: str) -> str:
    r"""Text with control characters as Python writes them; tabs and ends of lines stay.

    Examples
    --------
    >>> from negcorr.cli.plain_text import without_controls
    >>> without_controls("a\nb\x1b[31m")
    'a\nb\\x1b[31m'
    """
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def for_spreadsheets(frame: Any) -> Any:
    """A data frame whose text no spreadsheet takes for a formula, and no terminal for a command.

    Text cells and names of columns that begin like a formula get an apostrophe in front, unless
    they read as numbers; control characters are written as Python writes them.

    Parameters
    ----------
    frame : pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.cli.plain_text import for_spreadsheets
    >>> for_spreadsheets(pd.DataFrame({"@id": ["=1+1", "-3.5", "a"]})).to_dict("list")
    {"'@id": ["'=1+1", '-3.5', 'a']}
    """
    import pandas

    columns = []
    for k in range(frame.shape[1]):
        column = frame.iloc[:, k]
        if getattr(column.dtype, "kind", "O") == "O":
            cells = [_escaped(cell) if isinstance(cell, str) else cell for cell in column]
            column = pandas.Series(cells, index=column.index, dtype=object)
        columns.append(column)
    made = pandas.concat(columns, axis=1) if columns else frame.copy()
    made.columns = [_escaped(str(name)) for name in frame.columns]
    return made


def json_text(value: Any, indent: int) -> str:
    """A value as JSON that is safe to show on a terminal; NaN and infinities become null."""
    text = json.dumps(finite(value), indent=indent, ensure_ascii=False, default=str)
    return _BEYOND_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def finite(value: Any) -> Any:
    """The same value with None for NaN and infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _escaped(cell: str) -> str:
    from negcorr.reading.number_cells import number_form  # the command's help needs no NumPy

    text = without_controls(cell)
    is_formula = cell.startswith(FORMULA_STARTS) and number_form([cell]) is None
    return f"'{text}" if is_formula else text
