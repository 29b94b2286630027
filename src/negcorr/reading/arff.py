"""ARFF, the format of Weka and OpenML: numbers, levels, text, dates; sparse rows too."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from negcorr._common.number_text import shortened
from negcorr.exceptions import TableError
from negcorr.reading.number_cells import plain_number

__all__ = ["Attribute", "parse_arff"]

_NUMERIC = ("numeric", "real", "integer")
_TOKEN = re.compile(
    r"""\s*(?:'(?P<single>(?:[^'\\]|\\.)*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<bare>[^,'"{}]*))\s*"""
)
_NAME = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.*)""",
    re.IGNORECASE | re.DOTALL,
)
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
    levels : tuple of str
        Values that a nominal one may have.
    pattern : str
        How dates are written, in Python's letters.
    """

    name: str
    kind: str
    levels: tuple[str, ...] = ()
    pattern: str = ""


def parse_arff(text: str, path: Path) -> tuple[list[Attribute], list[list[Any]]]:
    r"""Attributes and columns of values of an ARFF text.

    Parameters
    ----------
    text : str
    path : Path
        For errors.

    Returns
    -------
    attributes : list of Attribute
    columns : list of list
        Floats, text or datetimes; None where a value is missing.

    Raises
    ------
    TableError
        Naming the line that is no ARFF.

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
            attributes.append(_attribute(line, where))
        elif word != "@relation":
            raise TableError(
                f"{where}: {shortened(line)} is neither @relation, @attribute nor @data."
            )
    else:
        raise TableError(f"{path} has no @data: it is no ARFF file, or cut off.")
    rows = [_row(line, attributes, f"{path}, line {number}") for number, line in lines]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in attributes]
    return attributes, columns


def _attribute(line: str, where: str) -> Attribute:
    match = _NAME.fullmatch(line)
    if match is None or not match[2].strip():
        raise TableError(f"{where}: {shortened(line)} must be @attribute, a name and a type.")
    name, kind = _unquoted(match[1]), match[2].partition("%")[0].strip() or match[2].strip()
    word = kind.split(None, 1)[0].lower()
    if kind.startswith("{"):
        kind = match[2].strip()
        if "}" not in kind:
            raise TableError(f"{where}: the levels of {name!r} do not end with a brace.")
        levels = [value for value, _ in _tokens(kind[1 : kind.rindex("}")], where)]
        return Attribute(name, "nominal", tuple(levels))
    if word in _NUMERIC:
        return Attribute(name, "numeric")
    if word == "string":
        return Attribute(name, "string")
    if word == "date":
        pattern = _python_pattern(_unquoted(kind[4:].strip()) or _DEFAULT_DATE, where)
        return Attribute(name, "date", pattern=pattern)
    raise TableError(
        f"{where}: attribute {name!r} is of type {shortened(kind)}; read are numeric, real, "
        "integer, string, date and levels in braces."
    )


def _row(line: str, attributes: list[Attribute], where: str) -> list[Any]:
    """Values of a row; what a sparse one, in braces, does not list is zero or the first level."""
    if not line.startswith("{"):
        cells = list(_tokens(line, where))
        if len(cells) != len(attributes):
            raise TableError(f"{where}: {len(cells)} values for {len(attributes)} attributes.")
        return [_value(cell, a, where) for cell, a in zip(cells, attributes, strict=True)]
    if not line.endswith("}"):
        raise TableError(f"{where}: a sparse row must end with a brace.")
    row = [a.levels[0] if a.levels else 0.0 if a.kind == "numeric" else None for a in attributes]
    inside = line[1:-1].strip()
    for part in re.split(r",(?=\s*\d+\s)", inside) if inside else []:
        index, _, value = part.strip().partition(" ")
        if not index.isdigit() or int(index) >= len(attributes):
            raise TableError(
                f"{where}: {shortened(part)} must be a number from 0 to {len(attributes) - 1} and "
                "a value."
            )
        cells = list(_tokens(value, where))
        attribute = attributes[int(index)]
        if len(cells) != 1:
            raise TableError(f"{where}: {len(cells)} values for attribute {attribute.name!r}.")
        row[int(index)] = _value(cells[0], attribute, where)
    return row


def _value(cell: tuple[str, bool], attribute: Attribute, where: str) -> Any:
    text, quoted = cell
    if text == "?" and not quoted:
        return None
    if attribute.kind == "numeric":
        number = plain_number(text)
        if number is None:
            raise TableError(
                f"{where}, attribute {attribute.name!r}: {shortened(text)} is no number."
            )
        return number
    if attribute.kind == "nominal" and text not in attribute.levels:
        raise TableError(
            f"{where}, attribute {attribute.name!r}: {shortened(text)} is not among its levels "
            f"{', '.join(map(shortened, attribute.levels[:10]))}."
        )
    if attribute.kind == "date":
        try:
            return datetime.datetime.strptime(text, attribute.pattern)
        except ValueError as error:
            raise TableError(f"{where}, attribute {attribute.name!r}: {error}.") from error
    return text


def _tokens(text: str, where: str) -> Iterator[tuple[str, bool]]:
    """Values between commas, and whether each was in quotes."""
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        assert match is not None  # it matches the empty text
        at = match.end()
        quoted = match["bare"] is None
        value = match["single"] if match["single"] is not None else match["double"]
        yield (_unescaped(value), True) if quoted else (match["bare"].strip(), False)
        if at >= len(text) or text[at] == "%":
            return
        if text[at] != ",":
            raise TableError(f"{where}: {shortened(text[at:])} where a comma should be.")
        at += 1


def _unquoted(text: str) -> str:
    """Text without the quotes around it."""
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return _unescaped(text[1:-1])
    return text


def _unescaped(text: str) -> str:
    """Quoted text with its escapes resolved."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)


def _python_pattern(java: str, where: str) -> str:
    """Java's letters for dates as Python's."""
    parts = []
    for match in _JAVA_PART.finditer(java):
        letters = match[0]
        if match[1] is not None:
            parts.append(match[1].replace("%", "%%"))
        elif match[2] is None:
            parts.append(letters.replace("%", "%%"))
        elif letters in _JAVA:
            parts.append(_JAVA[letters])
        else:
            raise TableError(
                f"{where}: {shortened(letters)} in the dates {java!r}; read are {', '.join(_JAVA)}."
            )
    return "".join(parts)
