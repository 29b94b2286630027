"""Files that are written completely or not at all, even if the run is killed."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["check_writable", "remove_leftovers", "staged", "write_atomically"]

#: Names of our unfinished files begin and end with these; those of other programs do not.
_PREFIX, _SUFFIX = ".negcorr-", ".part"

#: Unfinished folders of this age in seconds belong to runs that were killed.
OLD_STAGE = 3600.0


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content`` in one step; its folder is made where needed.

    The bytes go to a temporary file beside it and reach the disk before that file gets the name.
    If that fails (disk full, no permission), the temporary file is removed and the old file stays.

    Parameters
    ----------
    path : Path
        What to write.
    content : bytes
        The whole content of the file.

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
    temporary = path.parent / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    file = temporary.open("xb")
    try:
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(folder: Path) -> None:
    """Raise an error if a folder cannot be made or written to; called before a long fit.

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
    """A temporary folder for files that appear in a folder together, or not at all.

    Parameters
    ----------
    folder : Path
        Where the files go when the block ends normally. It is made if it does not exist. If it was
        made here and the block fails, it is removed.

    Yields
    ------
    Path
        The temporary folder, empty, inside it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr._common.files import staged
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with staged(Path(parent, "out")) as stage:
    ...         _ = (stage / "a.txt").write_text("a", encoding="utf-8")
    ...         _ = (stage / "b.txt").write_text("b", encoding="utf-8")
    ...         before = Path(parent, "out", "a.txt").exists()
    ...     before, sorted(file.name for file in Path(parent, "out").iterdir())
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
            with suppress(OSError):  # it has other files by now
                parent.rmdir()
        raise
    stage.rmdir()


def remove_leftovers(folder: Path, older_than: float = 5.0, within: bool = True) -> None:
    """Remove unfinished files of killed runs.

    Parameters
    ----------
    folder : Path
        Where to look.
    older_than : float, default=5.0
        Age in seconds. Younger files may belong to another run that is writing now.
    within : bool, default=True
        Whether folders in it are searched too.
    """
    now = time.time()
    pattern = f"{_PREFIX}*{_SUFFIX}"
    for file in list(folder.rglob(pattern) if within else folder.glob(pattern)):
        with suppress(FileNotFoundError):  # its run has just renamed it
            if now - file.stat().st_mtime <= older_than:
                continue
            if file.is_dir():
                shutil.rmtree(file)
            else:
                file.unlink()
