"""Lock files that are held as long as the process lives: the kernel lets go of them at its end.

So a run can tell what a killed run has left behind from what a living one is writing, however old
either is, and however the other one ended.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["HeldFile", "hold"]


class HeldFile:
    """A lock file that this process holds.

    Attributes
    ----------
    path : Path
        The file, which is empty.
    certain : bool
        False where the file system has no locks, so that others may hold the file too.
    """

    def __init__(self, path: Path, file: Any, certain: bool) -> None:
        self.path = path
        self.certain = certain
        self._file = file
        _held.add(self)

    @property
    def is_held(self) -> bool:
        """Whether it is held still; a child that was forked holds nothing."""
        return not self._file.closed

    def let_go(self, remove: bool = True) -> None:
        """Stop holding the file.

        Parameters
        ----------
        remove : bool, default=True
            Whether the file goes.
        """
        if remove and sys.platform != "win32":
            self.path.unlink(missing_ok=True)  # still held: nobody can hold it before it is gone
        self._file.close()
        _held.discard(self)
        if remove and sys.platform == "win32":
            with suppress(OSError):  # open files cannot be removed there, and another run has it
                self.path.unlink(missing_ok=True)

    def close_in_child(self) -> None:
        """Let a forked child not hold what its parent holds, which may end before it."""
        self._file.close()


#: Not weak: Ctrl-C would be lost in a function that Python calls when an object goes.
_held: set[HeldFile] = set()


def _close_in_child() -> None:
    for held in list(_held):
        held.close_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def hold(path: Path, make: bool = True) -> HeldFile | None:
    """Hold a lock file until it is let go or the process ends.

    Parameters
    ----------
    path : Path
        Its folder exists.
    make : bool, default=True
        Whether the file is made where there is none.

    Returns
    -------
    HeldFile or None
        None where it is held already, by another process or this one, or has just been removed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr._common.held_files import hold
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mine = hold(Path(folder, "lock"))
    ...     print(hold(Path(folder, "lock")))
    ...     mine.let_go()
    None
    """
    mode = "ab" if make else "r+b"
    file = open(path, mode, 0, opener=_opened)  # noqa: SIM115 - open while it is held
    try:
        locked = _locked(file.fileno())
        if locked is not False and _is_named(file.fileno(), path):
            return HeldFile(path, file, certain=locked is True)
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _opened(path: str, flags: int) -> int:
    """Open a file, but not what a link points to."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _locked(handle: int) -> bool | None:
    """Lock an open file; False where another has locked it, None where there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        taken = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)
        return False if error.errno in taken else None
    return True


def _is_named(handle: int, path: Path) -> bool:
    """Whether an open file still has its name; who held it before may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False
