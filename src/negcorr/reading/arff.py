"""ARFF, the format of Weka and OpenML: numbers, levels, text, dates; sparse rows too."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.delimited import CELL_BYTES, ROW_BYTES
from negcorr.reading.limits import Budget, check_n_columns
from negcorr.reading.number_cells import plain_number

__all__ = ["Attribute", "parse_arff"]

_TOKEN = re.compile(
    r"""\s*(?:'(?P<single>(?:[^'\\]|\\.)*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<bare>[^,'"{}]*))\s*"""
)
_DECLARATION = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.*)""",
    re.IGNORECASE | re.DOTALL,
)
# No table has attributes whose number has more digits.
_INDEX = re.compile(r"\s*(\d{1,9})\s+", re.ASCII)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"
_JAVA = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%f"}
_JAVA_PART = re.compile(r"'([^']*)'|([a-zA-Z])\2*|[^a-zA-Z']+")


@dataclass(frozen=True)
class Attribute:
    """A column as the header declares it.

    Attributes
    ----------
    name : str
    kind : {"numeric", "nominal", "string", "date"}
    levels : dict of str to None
        Values that a nominal one may have, in their order.
    pattern : str
        How dates are written, in Python's letters.
    """

    name: str
    kind: str
    levels: dict[str, None] = field(default_factory=dict)
    pattern: str = ""

    @classmethod
    def declared(cls, line: str, where: str) -> Attribute:
        """What a line of the header declares; ``where`` is for errors."""
        match = _DECLARATION.fullmatch(line)
        if match is None or not match[2].strip():
            raise TableError(f"{where}: {shortened(line)} must be @attribute, a name and a type.")
        name, given = _unquoted(match[1]), match[2].strip()
        if given.startswith("{"):
            if "}" not in given:
                raise TableError(f"{where}: the levels of {name!r} do not end with a brace.")
            levels = _tokens(given[1 : given.rindex("}")], where)
            return cls(name, "nominal", dict.fromkeys(level for level, _ in levels))
        given = given.partition("%")[0].strip() or given
        word = given.split(None, 1)[0].lower()
        if word in ("numeric", "real", "integer", "string"):
            return cls(name, "string" if word == "string" else "numeric")
        if word == "date":
            pattern = _python_pattern(_unquoted(given[4:].strip()) or _DEFAULT_DATE, where)
            return cls(name, "date", pattern=pattern)
        known = "read are numeric, real, integer, string, date and levels in braces"
        raise TableError(f"{where}: attribute {name!r} is of type {shortened(given)}; {known}.")

    def value(self, cell: tuple[str, bool], where: str) -> Any:
        """The value of a cell, of which we know whether it was in quotes."""
        text, quoted = cell
        if text == "?" and not quoted:
            return None
        value: Any = text
        problem = ""
        if self.kind == "numeric":
            value = plain_number(text)
            problem = f"{shortened(text)} is no number" if value is None else ""
        elif self.kind == "nominal" and text not in self.levels:
            known = ", ".join(map(shortened, list(self.levels)[:10]))
            problem = f"{shortened(text)} is not among its levels {known}"
        elif self.kind == "date":
            try:
                value = datetime.datetime.strptime(text, self.pattern)
            except ValueError:
                problem = f"{shortened(text)} is no date as the header says they are written"
        if problem:
            raise TableError(f"{where}, attribute {self.name!r}: {problem}.")
        return value

    @property
    def default(self) -> Any:
        """What a sparse row has where it lists no value: zero or the first level."""
        if self.kind == "nominal":
            return next(iter(self.levels))
        return 0.0 if self.kind == "numeric" else None

    def column(self, values: list[Any]) -> Any:
        """Values as a column of a data frame."""
        import pandas

        if self.kind == "nominal":
            return pandas.Categorical(values, categories=list(self.levels))
        if self.kind == "date":
            return pandas.Series(values, dtype="datetime64[us]")
        # None becomes NaN among numbers.
        return np.array(values, dtype=np.float64 if self.kind == "numeric" else object)


def parse_arff(
    text: str, path: Path, budget: Budget | None = None
) -> tuple[list[Attribute], list[list[Any]]]:
    r"""Attributes and columns of values of an ARFF text.

    Parameters
    ----------
    text : str
    path : Path
        For errors.
    budget : Budget, optional
        For the values.

    Returns
    -------
    attributes : list of Attribute
    columns : list of list
        Floats, text or datetimes; None where a value is missing.

    Raises
    ------
    TableError
        Naming the line that is no ARFF, or the limit.

    Examples
    --------
    >>> from pathlib import Path
    >>> from negcorr.reading.arff import parse_arff
    >>> text = "@relation r\n@attribute x real\n@attribute c {a,'b c'}\n@data\n1,'b c'\n?,a\n"
    >>> parse_arff(text, Path("data.arff"))[1]
    [[1.0, None], ['b c', 'a']]
    """
    lines = (
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.strip().startswith("%")
    )
    attributes: list[Attribute] = []
    for number, line in lines:
        where = f"{path}, line {number}"
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            if not attributes:
                raise TableError(f"{where}: @data before any @attribute.")
            break
        if word == "@attribute":
            attributes.append(Attribute.declared(line, where))
        elif word != "@relation":
            known = "neither @relation, @attribute nor @data"
            raise TableError(f"{where}: {shortened(line)} is {known}.")
    else:
        raise TableError(f"{path} has no @data: it is no ARFF file, or cut off.")
    check_n_columns(len(attributes), path)
    defaults = [a.default for a in attributes]
    rows = []
    for number, line in lines:
        if budget is not None:
            budget.take(ROW_BYTES + CELL_BYTES * len(attributes), "its values")
        rows.append(_row(line, attributes, defaults, f"{path}, line {number}"))
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in attributes]
    return attributes, columns


def _row(line: str, attributes: list[Attribute], defaults: list[Any], where: str) -> list[Any]:
    """Values of a row; what a sparse one, in braces, does not list is zero or the first level."""
    if not line.startswith("{"):
        cells = list(_tokens(line, where))
        if len(cells) != len(attributes):
            raise TableError(f"{where}: {len(cells)} values for {len(attributes)} attributes.")
        return [a.value(cell, where) for a, cell in zip(attributes, cells, strict=True)]
    if not line.endswith("}"):
        raise TableError(f"{where}: a sparse row must end with a brace.")
    row, inside = list(defaults), line[1:-1].strip()
    at: int | None = 0 if inside else None
    while at is not None:
        index = _INDEX.match(inside, at)
        if index is None or int(index[1]) >= len(attributes):
            wanted = f"a number from 0 to {len(attributes) - 1} and a value"
            raise TableError(f"{where}: {shortened(inside[at:].strip())} must be {wanted}.")
        cell, at = _token(inside, index.end(), where)
        row[int(index[1])] = attributes[int(index[1])].value(cell, where)
    return row


def _tokens(text: str, where: str) -> Iterator[tuple[str, bool]]:
    """Values between commas, and whether each was in quotes."""
    at: int | None = 0
    while at is not None:
        cell, at = _token(text, at, where)
        yield cell


def _token(text: str, at: int, where: str) -> tuple[tuple[str, bool], int | None]:
    """The value at a place, and the place behind the comma after it; None where none follows."""
    match = _TOKEN.match(text, at)
    assert match is not None  # it matches the empty text
    at = match.end()
    quoted = match["bare"] is None
    value = match["single"] if match["single"] is not None else match["double"]
    cell = (_unescaped(value), True) if quoted else (match["bare"].strip(), False)
    if at >= len(text) or text[at] == "%":
        return cell, None
    if text[at] != ",":
        raise TableError(f"{where}: {shortened(text[at:])} where a comma should be.")
    return cell, at + 1


def _unquoted(text: str) -> str:
    """Text without the quotes around it."""
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return _unescaped(text[1:-1])
    return text


def _unescaped(text: str) -> str:
    """Quoted text with its escapes resolved."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)


def _python_pattern(java: str, where: str) -> str:
    """A pattern of dates in Java's letters as one in Python's."""
    parts = []
    for match in _JAVA_PART.finditer(java):
        letters, is_text = match[0], match[2] is None
        if not is_text and letters not in _JAVA:
            read = ", ".join(_JAVA)
            raise TableError(
                f"{where}: {shortened(letters)} in the dates {java!r}; read are {read}."
            )
        text = letters if match[1] is None else match[1]
        parts.append(text.replace("%", "%%") if is_text else _JAVA[letters])
        if not is_text and parts.count(parts[-1]) > 1:
            raise TableError(f"{where}: {letters} stands twice in the dates {shortened(java)}.")
    return "".join(parts)
