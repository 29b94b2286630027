"""Pieces of a study: pure functions of few settings, whose rows are kept as they finish."""

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

__all__ = ["Piece", "Row", "Store"]

#: One line of a tidy table.
Row = dict[str, Any]


@dataclass(frozen=True)
class Piece:
    """One unit of work.

    Attributes
    ----------
    kind : str
        Name of what is computed.
    function : callable
        ``function(setup, data_home, **choice)`` gives the rows: a list of dictionaries of
        strings and numbers, the same for the same arguments, whatever was computed before.
    choice : tuple of (str, value) pairs
        What tells it from others of its kind, such as the data set and the fold.
    fingerprint : str
        Of the data that it reads.
    effort : float
        About how many seconds it takes: long ones start first, and time left is told from it.
    alone : bool
        Whether it is to be computed after all others, in the process that asked for it: seconds
        are measured in quiet, and a GPU is not shared.
    """

    kind: str
    function: Callable[..., list[Row]]
    choice: tuple[tuple[str, Any], ...]
    fingerprint: str = ""
    effort: float = 1.0
    alone: bool = False

    @property
    def title(self) -> str:
        """Kind and choice, for people."""
        return " ".join([self.kind, *(str(value) for _, value in self.choice)])

    def identity(self, setup: Setup) -> dict[str, Any]:
        """All that decides on the rows: settings, data, and the code with what it rests on."""
        return {
            "code": _code_of(self.function.__module__),
            "kind": self.kind,
            "choice": dict(self.choice),
            "data": self.fingerprint,
            "setup": asdict(setup),
        }


@cache
def _code_of(module: str) -> dict[str, str]:
    """Versions of what computes, and a hash of the module's source with its constants."""
    sources = {module, "negcorr.paper.protocol", "negcorr.paper.setup"}
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(inspect.getsource(sys.modules[name]).encode())
    packages = ["negcorr", "numpy", "scipy", "scikit-learn"]
    if hasattr(sys.modules[module], "torch"):
        packages.append("torch")
    versions = {name: version(name) for name in packages}
    return {"source": digest.hexdigest()[:16], **versions}


@dataclass(frozen=True)
class Store:
    """A folder with the rows of finished pieces, one file each.

    A file's name contains a hash of everything that decides on its rows, so that other settings
    or other data never meet rows that are not theirs. Files appear in one step: a run that is
    killed leaves finished pieces and nothing else.

    Attributes
    ----------
    folder : Path
        Where the files are.
    """

    folder: Path

    def path(self, piece: Piece, setup: Setup) -> Path:
        """File of a piece."""
        text = json.dumps(piece.identity(setup), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        name = "-".join(str(value) for _, value in piece.choice)
        return self.folder / piece.kind / f"{name}-{digest}.json"

    def read(self, piece: Piece, setup: Setup) -> list[Row] | None:
        """Rows of a piece, None where they are not there.

        A file that cannot be read is made again, with a warning.
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
        """Keep the rows of a piece."""
        content = {"identity": piece.identity(setup), "rows": list(rows)}
        write_atomically(self.path(piece, setup), json.dumps(content, indent=0).encode())
