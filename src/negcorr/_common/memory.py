"""Bytes: as users write them, as people read them, and how many the machine has left."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

__all__ = ["available_bytes", "in_words", "parse_bytes"]

#: Units by their names in small letters: powers of 1000, and those of 1024 with an i.
UNITS = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000 ** (k + 1) for k, letter in enumerate("kmgt")},
    **{f"{letter}ib": 1024 ** (k + 1) for k, letter in enumerate("kmgt")},
}

#: Limits of control groups above this are no limits.
NO_LIMIT = 2**60


def parse_bytes(value: Any, argument: str = "memory") -> int:
    """A number of bytes from an integer or from text such as "2GB" and "512 MiB".

    Parameters
    ----------
    value : int or str
        At least 1 byte.
    argument : str, default="memory"
        Name of the argument, for errors.

    Returns
    -------
    int

    Examples
    --------
    >>> from negcorr._common.memory import parse_bytes
    >>> parse_bytes("2GB"), parse_bytes("1.5 KiB"), parse_bytes(4096)
    (2000000000, 1536, 4096)
    """
    allowed = (
        'a number of bytes of at least 1, or text such as "2GB" and "512MiB" (B, kB, MB, GB, TB; '
        "KiB, MiB, GiB, TiB)"
    )
    if isinstance(value, str):
        parts = re.fullmatch(r"\s*(\d+|\d+\.\d+)\s*([A-Za-z]*)\s*", value, flags=re.ASCII)
        if parts is None or parts[2].lower() not in UNITS:
            raise ValueError(f"{argument}={value!r} must be {allowed}.")
        found = int(float(parts[1]) * UNITS[parts[2].lower()])
    elif isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{argument}={value!r} must be {allowed}, got {type(value).__name__}.")
    else:
        found = int(value)
    if found < 1:
        raise ValueError(f"{argument}={value!r} must be {allowed}.")
    return found


def in_words(n_bytes: float) -> str:
    """A number of bytes for people.

    Examples
    --------
    >>> from negcorr._common.memory import in_words
    >>> in_words(1536), in_words(3 * 2**30)
    ('1.5 KiB', '3.0 GiB')
    """
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} bytes" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"


def available_bytes(root: Path = Path("/")) -> int | None:
    """Memory that this process could take now, without swapping or being killed for it.

    That of the machine, or less where a container or another control group allows less.

    Parameters
    ----------
    root : Path, default=Path("/")
        Where the folders ``proc`` and ``sys`` of Linux are.

    Returns
    -------
    int or None
        None where nothing is known of it.
    """
    known = [_of_machine(root), *_left_in_groups(root)]
    return min((found for found in known if found is not None), default=None)


def _of_machine(root: Path) -> int | None:
    lines = _lines(root / "proc" / "meminfo")
    for line in lines:
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            with suppress(ValueError, IndexError):
                return 1024 * int(amount.split()[0])
    with suppress(ImportError):
        import psutil

        return int(psutil.virtual_memory().available)
    return _of_windows() if sys.platform == "win32" else _of_pages()


def _of_pages() -> int | None:
    """Free pages of the machine or, where the system does not tell, half of all."""
    for name, share in (("SC_AVPHYS_PAGES", 1.0), ("SC_PHYS_PAGES", 0.5)):
        with suppress(AttributeError, OSError, ValueError):
            n_pages = os.sysconf(name)
            if n_pages > 0:
                return int(share * n_pages * os.sysconf("SC_PAGE_SIZE"))
    return None


def _of_windows() -> int | None:
    import ctypes

    # The structure MEMORYSTATUSEX: two numbers of 32 bits, then seven of 64.
    status = (ctypes.c_uint64 * 8)()
    status[0] = ctypes.sizeof(status)
    with suppress(AttributeError, OSError):
        windows: Any = ctypes
        if windows.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return int(status[2])
    return None


def _left_in_groups(root: Path) -> Iterator[int]:
    """What the control groups of this process, and those around them, have left."""
    mounted = root / "sys" / "fs" / "cgroup"
    for line in _lines(root / "proc" / "self" / "cgroup"):
        _, kinds, path = [*line.split(":", 2), "", ""][:3]
        if kinds == "":  # version 2
            limits, usage = ["memory.max", "memory.high"], "memory.current"
            files = "inactive_file"
            tops = [mounted, mounted / "unified"]
        elif "memory" in kinds.split(","):
            limits, usage = ["memory.limit_in_bytes"], "memory.usage_in_bytes"
            files = "total_inactive_file"
            tops = [mounted / "memory", mounted / kinds]
        else:
            continue
        # Inside a container the path is that of the host, and the container's group is the top.
        inner = PurePosixPath(path.lstrip("/"))
        for place in {top / each for top in tops for each in (inner, *inner.parents)}:
            for limit in limits:
                left = _left_in_group(place, limit, usage, files)
                if left is not None:
                    yield left


def _left_in_group(group: Path, limit: str, usage: str, files: str) -> int | None:
    """Limit less usage, in which pages of files do not count: the kernel drops them for others."""
    most, used = _number(group / limit), _number(group / usage)
    if most is None or most >= NO_LIMIT or used is None:
        return None
    for line in _lines(group / "memory.stat"):
        name, _, amount = line.partition(" ")
        if name == files:
            with suppress(ValueError):
                used -= int(amount)
    return max(most - max(used, 0), 0)


def _number(file: Path) -> int | None:
    with suppress(ValueError, IndexError):
        return int(_lines(file)[0])  # "max" is no number, and no limit
    return None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
