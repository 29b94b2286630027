"""Pieces of a study, each a pure function of few settings, and the store that keeps their rows."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from negcorr._common.files import write_atomically
from negcorr.exceptions import StoredPieceWarning
from negcorr.paper.setup import Setup

__all__ = ["Computation", "Piece", "Row", "Store"]

#: One line of a tidy table.
Row = dict[str, Any]

#: Computes the rows of a piece from the setup, the folder of data and the piece's choice.
Computation = Callable[..., list[Row]]


@dataclass(frozen=True)
class Piece:
    """One unit of work of a study: a function and its arguments.

    Attributes
    ----------
    kind : str
        Name of what is computed.
    function : callable
        ``function(setup, data_home, **choice)`` returns the rows: a list of dictionaries of
        strings and numbers, the same for the same arguments, whatever was computed before.
    choice : tuple of (str, value) pairs
        The arguments that differ between pieces of a kind, such as the data set and the fold.
    fingerprint : str
        A hash of the data that it reads.
    effort : float
        About how many seconds it takes. Long pieces start first, and the remaining time is
        estimated from it.
    alone : bool
        Whether it is computed after all others, in the process that asked for it: nothing may
        disturb what measures seconds, and a GPU is not shared.
    """

    kind: str
    function: Computation
    choice: tuple[tuple[str, Any], ...]
    fingerprint: str = ""
    effort: float = 1.0
    alone: bool = False

    @property
    def title(self) -> str:
        """Kind and choice as readable text."""
        return " ".join([self.kind, *(str(value) for _, value in self.choice)])

    def identity(self, setup: Setup) -> dict[str, Any]:
        """Everything that determines the rows: settings, data, code and versions of packages."""
        work = {"kind": self.kind, "choice": dict(self.choice), "data": self.fingerprint}
        return {"code": _code_of(self.function.__module__), **work, "setup": asdict(setup)}


@cache
def _code_of(module: str) -> dict[str, str]:
    """A hash of a module's source with that of the protocol, and the versions of packages."""
    digest = hashlib.sha256()
    for name in sorted({module, "negcorr.paper.protocol", "negcorr.paper.setup"}):
        digest.update(inspect.getsource(sys.modules[name]).encode())
    packages = ["negcorr", "numpy", "scipy", "scikit-learn"]
    if hasattr(sys.modules[module], "torch"):
        packages.append("torch")
    return {"source": digest.hexdigest()[:16], **{name: version(name) for name in packages}}


@dataclass(frozen=True)
class Store:
    """A folder with the rows of finished pieces, one file for each.

    A file's name contains a hash of everything that determines its rows, so that rows are never
    read for other settings or other data. Files are written in one step: a run that is killed
    leaves finished pieces and nothing else.

    Attributes
    ----------
    folder : Path
        The folder of the files.
    """

    folder: Path

    def path(self, piece: Piece, setup: Setup) -> Path:
        """The file of a piece."""
        text = json.dumps(piece.identity(setup), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        name = "-".join(str(value) for _, value in piece.choice)
        return self.folder / piece.kind / f"{name}-{digest}.json"

    def read(self, piece: Piece, setup: Setup) -> list[Row] | None:
        """Rows of a piece, or None if they are not stored.

        A file that cannot be read gives a warning and None.
        """
        path = self.path(piece, setup)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored["identity"] != json.loads(json.dumps(piece.identity(setup))):
                raise ValueError("it is of another piece")
            rows: list[Row] = stored["rows"]
            if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
                raise ValueError("it has no rows")
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            warnings.warn(
                f"{path} is not a stored piece ({error}); it is computed again.",
                StoredPieceWarning,
                stacklevel=2,
            )
            return None
        return rows

    def write(self, piece: Piece, setup: Setup, rows: Sequence[Mapping[str, Any]]) -> None:
        """Store the rows of a piece."""
        content = {"identity": piece.identity(setup), "rows": list(rows)}
        write_atomically(self.path(piece, setup), json.dumps(content, indent=0).encode())
