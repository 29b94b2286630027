"""Schema: what every column of a table is for, as a readable table and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

from negcorr.exceptions import TableError
from negcorr.rows.sample import is_sampled

__all__ = ["INPUT_ROLES", "LEFT_OUT", "ROLES", "Column", "Schema"]

#: Roles of columns that predictions are made from.
INPUT_ROLES = ("number", "category", "date")

#: Roles of columns that are left out.
LEFT_OUT = ("constant", "identifier", "text", "dropped")

ROLES = (*INPUT_ROLES, *LEFT_OUT, "target", "weights", "group", "time")

#: Longest name and remark that the table shows in full.
_WIDTH = 32


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    role : str
        One of "number", "category" and "date", which are inputs; "constant", "identifier", "text"
        and "dropped", which are left out; "target", "weights", "group" and "time".
    form : str
        How cells of numbers or dates are written, so that new cells are read in the same way.
    n_missing, n_distinct : int
        Cells without a value, and different values of the others: of large tables, different words
        of all rows, but different numbers and dates of a sample.
    remark : str
        Why it is left out, or how it was read.
    made : str
        What a fit has made of an input.
    """

    name: str
    role: str
    form: str = ""
    n_missing: int = 0
    n_distinct: int = 0
    remark: str = ""
    made: str = ""

    @property
    def is_input(self) -> bool:
        """Whether predictions are made from it."""
        return self.role in INPUT_ROLES


@dataclass(frozen=True)
class Schema:
    """What every column of a table is for.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the table.
    n_rows : int
        Rows of the table that it was made from.

    Examples
    --------
    >>> import pandas as pd
    >>> from negcorr.reading import Schema
    >>> from negcorr.tables import infer_columns
    >>> frame = pd.DataFrame({"kind": list("abab"), "size": [1.0, 2.0, 4.0, None], "y": range(4)})
    >>> schema = infer_columns(frame, "y")
    >>> print(schema)
    column  role      missing  distinct  remark
    kind    category        0         2
    size    number          1         3
    y       target          0         4
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...]
    n_rows: int

    def named(self, *roles: str) -> tuple[str, ...]:
        """Names of the columns in some roles, in the order of the table."""
        return tuple(column.name for column in self.columns if column.role in roles)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that predictions are made from."""
        return self.named(*INPUT_ROLES)

    @property
    def targets(self) -> tuple[str, ...]:
        """Columns that are predicted."""
        return self.named("target")

    @property
    def weights(self) -> str | None:
        """Column of frequencies."""
        return next(iter(self.named("weights")), None)

    @property
    def group(self) -> str | None:
        """Column of groups: rows of one group stay on one side of every split."""
        return next(iter(self.named("group")), None)

    @property
    def time(self) -> str | None:
        """Column that rows are ordered by."""
        return next(iter(self.named("time")), None)

    @property
    def distinct_head(self) -> str:
        """What stands above the numbers of different values."""
        return "distinct (sample)" if is_sampled(self.n_rows) else "distinct"

    def __getitem__(self, name: str) -> Column:
        return {column.name: column for column in self.columns}[name]

    def __str__(self) -> str:
        heads = ("column", "role", "missing", self.distinct_head, "remark", "made of it")
        rows = [heads]
        for c in self.columns:
            # Line breaks and the like show as Python writes them.
            name = c.name if c.name.isprintable() else repr(c.name)[1:-1]
            name = name if len(name) <= _WIDTH else name[: _WIDTH - 1] + "…"
            rows.append((name, c.role, str(c.n_missing), str(c.n_distinct), c.remark, c.made))
        # A last column that is empty, as before a fit, is not shown; numbers are to the right.
        shown = [k for k in range(6) if k < 5 or any(row[k] for row in rows[1:])]
        widths = {k: max(len(row[k]) for row in rows) for k in shown}
        sides = ["<", "<", ">", ">", "<", "<"]
        lines = ("  ".join(f"{row[k]:{sides[k]}{widths[k]}}" for k in shown) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    def to_json(self) -> str:
        """As JSON text, for :meth:`from_json`."""
        columns = [asdict(column) for column in self.columns]
        return json.dumps({"n_rows": self.n_rows, "columns": columns}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """A schema from JSON text.

        Parameters
        ----------
        text : str
            What :meth:`to_json` wrote.

        Raises
        ------
        TableError
            If it is something else.
        """
        types = {field.name: int if field.type == "int" else str for field in fields(Column)}
        try:
            stored = json.loads(text)
            n_rows = stored["n_rows"]
            if type(n_rows) is not int:
                raise ValueError(f"n_rows={n_rows!r} must be a whole number")
            for entry in stored["columns"]:
                for key, value in entry.items():
                    if key not in types or type(value) is not types[key]:
                        raise ValueError(f"{key}={value!r} is no entry of a column")
                if entry["role"] not in ROLES:
                    raise ValueError(f"role={entry['role']!r} must be one of {', '.join(ROLES)}")
            columns = tuple(Column(**entry) for entry in stored["columns"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TableError(f"text is no schema as to_json writes it: {error}.") from error
        return cls(columns, n_rows)
