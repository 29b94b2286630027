"""Files that are written completely or not at all, even if the run is killed.

What is written goes to a folder of its own beside its place, ``.negcorr-….part``, and gets its name
when it is complete. Beside that folder is a lock file that the run holds while it lives
(:mod:`negcorr._common.held_files`). The next run that writes there removes what killed runs left.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from negcorr._common.held_files import HeldFile, hold
from negcorr.exceptions import FolderInUseError

__all__ = [
    "check_replaceable",
    "in_use",
    "remove_leftovers",
    "replacing",
    "staged",
    "write_atomically",
]

#: Names of our unfinished files and of their locks; those of other programs differ.
_PREFIX, _SUFFIX, _LOCK = ".negcorr-", ".part", ".lock"

#: In place of the random part of the name, for a run that has the folder for itself.
_RUN = "run"

#: Seconds until a folder counts as in use: others hold its lock for an instant to look at it.
_PATIENCE = 0.5


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content`` in one step; its folder is made where needed.

    The bytes reach the disk under another name before the file gets its own. If that fails (disk
    full, no permission), they are removed and the old file stays. Of several runs that write the
    same file, the last one wins.

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
    with replacing(path) as part, part.open("xb") as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path under which a file is written that replaces another in one step when it is complete.

    Parameters
    ----------
    path : Path
        The file's place when the block ends normally; its folder is made where needed.

    Yields
    ------
    Path
        Where to write it.

    Raises
    ------
    OSError
        Where ``path`` is a folder or a device.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr._common.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "file"
    ...     with replacing(file) as part:
    ...         _ = part.write_text("all of it", encoding="utf-8")
    ...         before = file.exists()
    ...     before, file.read_text(encoding="utf-8")
    (False, 'all of it')
    """
    check_replaceable(path)
    with _stage(path.parent) as stage:
        part = stage / path.name
        yield part
        _to_disk(part)
        check_replaceable(path)
        part.replace(path)


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Have an output folder for this run alone while the block lasts.

    Parameters
    ----------
    folder : Path
        Made if it does not exist; removed again if the block fails and nothing is in it.

    Raises
    ------
    FolderInUseError
        If another run has it.
    """
    with _stage(folder, _RUN):
        yield


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A temporary folder for files that appear in a folder together, or not at all.

    The folder is :func:`in_use` by this run while the block lasts. Old files are kept until all
    new ones have their names. If one of them cannot get its name, the old ones are put back. If
    the run is killed at this point, the next one that writes to the folder puts them back.

    Parameters
    ----------
    folder : Path
        Where the files go when the block ends normally. It is made if it does not exist. If it was
        made here and the block fails, it is removed.

    Yields
    ------
    Path
        The temporary folder, empty, inside it.

    Raises
    ------
    FolderInUseError
        If another run has the folder.

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
    with _stage(folder, _RUN) as stage:
        new = stage / "new"
        new.mkdir()
        yield new
        _put_in_place(stage, folder)


def check_replaceable(path: Path) -> None:
    """Raise an error where a file could not be replaced: the path is a folder, a pipe, a device.

    Parameters
    ----------
    path : Path
        It need not exist.

    Raises
    ------
    OSError
        Naming it.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, and cannot be replaced by a file.")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no ordinary file, and cannot be replaced by one.")


def remove_leftovers(folder: Path) -> None:
    """Remove what killed runs of this user left in a folder; what living runs write stays.

    Parameters
    ----------
    folder : Path
        Where to look; not in folders within it.
    """
    for path in list(folder.glob(f"{_PREFIX}*{_LOCK}")):
        lock = None
        with suppress(OSError):  # it is gone by now, or another user's
            if _is_own(path):
                lock = hold(path, make=False)
        if lock is None:
            continue
        if lock.certain:
            _end(lock)
        else:
            lock.let_go(remove=False)


@contextmanager
def _stage(folder: Path, name: str | None = None) -> Iterator[Path]:
    """An empty folder within a folder for the time of the block, with a lock beside it.

    Parameters
    ----------
    folder : Path
        Made where needed; what was made is removed if the block fails.
    name : str, optional
        The random part of its name. Where a name is given, there is one such folder at a time.
    """
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        lock = _lock_in(folder, name)
        try:
            remove_leftovers(folder)
            stage = lock.path.with_suffix(_SUFFIX)
            _remove(stage, folder)
            stage.mkdir()
            yield stage
        finally:
            _end(lock)
    except BaseException:
        for parent in made:
            with suppress(OSError):  # it has other files by now
                parent.rmdir()
        raise


def _lock_in(folder: Path, name: str | None) -> HeldFile:
    """A held lock in a folder, which is made where needed."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = hold(folder / f"{_PREFIX}{name or secrets.token_hex(8)}{_LOCK}")
        except OSError as error:
            # Another run may have removed the folder that it had made.
            if not isinstance(error, FileNotFoundError) or time.monotonic() > end:
                reason = error.strerror or error
                raise type(error)(f"{folder}: cannot write there ({reason}).") from error
            continue
        if lock is not None:
            # Where there are no locks, the other run's folder says that it is there.
            if lock.certain or not lock.path.with_suffix(_SUFFIX).exists():
                return lock
            lock.let_go(remove=False)
        if time.monotonic() > end:
            raise FolderInUseError(
                f"{folder} is in use by another run; wait for its end, or name another folder."
            )
        time.sleep(0.02)


def _end(lock: HeldFile) -> None:
    """Remove the folder beside a lock, then the lock, also where a signal comes in between."""
    try:
        _cleared(lock)
    except BaseException:
        _cleared(lock)
        raise


def _cleared(lock: HeldFile) -> None:
    if not lock.is_held:
        return  # in a forked child: the folder is its parent's
    stage = lock.path.with_suffix(_SUFFIX)
    try:
        _remove(stage, lock.path.parent)
    finally:
        # What could not be removed is for the next run.
        lock.let_go(remove=not stage.exists())


def _remove(stage: Path, folder: Path) -> None:
    """Remove a stage, after old files that it keeps were put back."""
    _put_back(stage, folder)
    shutil.rmtree(stage, ignore_errors=True)


def _is_own(path: Path) -> bool:
    """Whether a file is an ordinary one of this user: strangers may not have us move files."""
    about = path.lstat()
    is_ours = sys.platform == "win32" or about.st_uid == os.geteuid()
    return stat.S_ISREG(about.st_mode) and is_ours


def _put_in_place(stage: Path, folder: Path) -> None:
    """Give all new files of a stage their names in its folder, or none."""
    files = sorted(file for file in (stage / "new").iterdir() if file.is_file())
    for file in files:
        _to_disk(file)
        check_replaceable(folder / file.name)
    old, begun = stage / "old", stage / "begun"
    old.mkdir()
    # While this file is there, the old files count; it says what the new ones are.
    (stage / "names").write_text(json.dumps([file.name for file in files]), encoding="utf-8")
    (stage / "names").replace(begun)
    for file in files:
        place = folder / file.name
        if place.exists() or place.is_symlink():
            _keep(place, old / file.name)
        file.replace(place)
    begun.unlink()


def _put_back(stage: Path, folder: Path) -> None:
    """Undo what was begun of :func:`_put_in_place`, if it did not come to its end."""
    begun = stage / "begun"
    if not begun.is_file() or not _is_own(begun):
        return
    for name in map(os.path.basename, json.loads(begun.read_text(encoding="utf-8"))):
        kept, place = stage / "old" / name, folder / name
        if kept.exists() or kept.is_symlink():
            kept.replace(place)
        elif not (stage / "new" / name).exists():
            place.unlink(missing_ok=True)
    begun.unlink()


def _keep(file: Path, aside: Path) -> None:
    """Keep a file under a second name; it keeps the first one too, where this is possible."""
    try:
        os.link(file, aside, follow_symlinks=False)
    except (OSError, NotImplementedError):  # no hard links here
        file.replace(aside)


def _to_disk(path: Path) -> None:
    """Wait until what was written to a file is on the disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
