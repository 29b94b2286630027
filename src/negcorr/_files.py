"""Files that are there in full or not at all, whenever the run is killed."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["remove_leftovers", "write_atomically"]

#: Half-written files; no other program's have such names.
_PREFIX, _SUFFIX = ".negcorr-", ".part"


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content`` in one step; its folder is made where needed.

    The bytes go to a neighbour first and reach the disk before the neighbour takes the name.
    Where that fails (disk full, no permission) the neighbour goes and the old file stays.

    Parameters
    ----------
    path : Path
        What to write.
    content : bytes
        All of it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr._files import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "new" / "file", b"all of it")
    ...     (Path(folder) / "new" / "file").read_bytes()
    b'all of it'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    neighbour = path.parent / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    file = neighbour.open("xb")
    try:
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        neighbour.replace(path)
    except BaseException:
        neighbour.unlink(missing_ok=True)
        raise


def remove_leftovers(folder: Path, older_than: float = 5.0) -> None:
    """Remove what killed runs have left half written, under any name but its own.

    Parameters
    ----------
    folder : Path
        Searched with all that is in it.
    older_than : float, default=5.0
        Seconds. Younger files may be those of another run, which writes at this moment.
    """
    now = time.time()
    for file in folder.rglob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(FileNotFoundError):  # its run has given it its name just now
            if now - file.stat().st_mtime > older_than:
                file.unlink()
