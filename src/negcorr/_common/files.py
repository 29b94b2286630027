"""Files that are there in full or not at all, whenever the run is killed."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["check_writable", "remove_leftovers", "staged", "write_atomically"]

#: Half-written files; no other program's have such names.
_PREFIX, _SUFFIX = ".negcorr-", ".part"

#: Seconds after which no run can still be at work on files that are to appear together.
OLD_STAGE = 3600.0


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
    >>> from negcorr._common.files import write_atomically
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


def check_writable(folder: Path) -> None:
    """Fail now where a folder cannot be made or written to, rather than after a long fit.

    Parameters
    ----------
    folder : Path
        It need not exist.

    Raises
    ------
    OSError
        Naming the folder, or the one that it would be in.
    """
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(f"{folder}: cannot write there, {place} is no folder.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder}: cannot write there, {place} may not be written to.")


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A place for files that are to appear in a folder together, or not at all.

    Parameters
    ----------
    folder : Path
        Where the files go when the block ends well; made where needed, and gone again where the
        block fails and it was not there before.

    Yields
    ------
    Path
        An empty folder beside them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr._common.files import staged
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with staged(Path(home, "out")) as stage:
    ...         _ = (stage / "a.txt").write_text("a", encoding="utf-8")
    ...         _ = (stage / "b.txt").write_text("b", encoding="utf-8")
    ...         before = Path(home, "out", "a.txt").exists()
    ...     before, sorted(file.name for file in Path(home, "out").iterdir())
    (False, ['a.txt', 'b.txt'])
    """
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder, older_than=OLD_STAGE, within=False)
    stage = folder / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    try:
        stage.mkdir()
        yield stage
        for file in sorted(stage.iterdir()):
            file.replace(folder / file.name)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        for parent in made:
            with suppress(OSError):  # something else has come into it
                parent.rmdir()
        raise
    stage.rmdir()


def remove_leftovers(folder: Path, older_than: float = 5.0, within: bool = True) -> None:
    """Remove what killed runs have left half written, under any name but its own.

    Parameters
    ----------
    folder : Path
        Where to look.
    older_than : float, default=5.0
        Seconds. Younger files may be those of another run, which writes at this moment.
    within : bool, default=True
        Whether folders in it are searched too.
    """
    now = time.time()
    pattern = f"{_PREFIX}*{_SUFFIX}"
    for file in list(folder.rglob(pattern) if within else folder.glob(pattern)):
        with suppress(FileNotFoundError):  # its run has given it its name just now
            if now - file.stat().st_mtime <= older_than:
                continue
            if file.is_dir():
                shutil.rmtree(file)
            else:
                file.unlink()
