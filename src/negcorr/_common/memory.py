"""Bytes of memory: read from text, written as text, and how many are free."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

__all__ = ["available_bytes", "in_words", "parse_bytes"]

#: Bytes of each unit, by its name in small letters.
UNITS = {
    "": 1,
    "b": 1,
    **{f"{letter}b": 1000 ** (k + 1) for k, letter in enumerate("kmgt")},
    **{f"{letter}ib": 1024 ** (k + 1) for k, letter in enumerate("kmgt")},
}

#: A control group without a limit reports a limit of at least this.
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
    """A number of bytes as text.

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
    """Bytes that this process could take now without swapping or being killed.

    The free memory of the machine, or less where a container or another control group allows less.

    Parameters
    ----------
    root : Path, default=Path("/")
        Folder that holds ``proc`` and ``sys`` of Linux.

    Returns
    -------
    int or None
        None where it is not known.
    """
    known = [_left_on_machine(root), *_left_in_control_groups(root)]
    return min((found for found in known if found is not None), default=None)


def _left_on_machine(root: Path) -> int | None:
    """Free memory of the machine; half of all memory where that is not known."""
    kilobytes = _number(root / "proc" / "meminfo", "MemAvailable")
    if kilobytes is not None:
        return 1024 * kilobytes
    with suppress(ImportError):
        import psutil

        return int(psutil.virtual_memory().available)
    if sys.platform == "win32":
        import ctypes

        # The structure MEMORYSTATUSEX: two numbers of 32 bits, then seven of 64.
        status = (ctypes.c_uint64 * 8)()
        status[0] = ctypes.sizeof(status)
        windows: Any = ctypes
        with suppress(AttributeError, OSError):
            if windows.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
                return int(status[2])
    for name, share in (("SC_AVPHYS_PAGES", 1.0), ("SC_PHYS_PAGES", 0.5)):
        with suppress(AttributeError, OSError, ValueError):
            n_pages = os.sysconf(name)
            if n_pages > 0:
                return int(share * n_pages * os.sysconf("SC_PAGE_SIZE"))
    return None


def _left_in_control_groups(root: Path) -> Iterator[int]:
    """Limit less usage, for the control groups of this process and those that contain them."""
    mounted = root / "sys" / "fs" / "cgroup"
    for line in _text(root / "proc" / "self" / "cgroup").splitlines():
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
        for group in {top / each for top in tops for each in (inner, *inner.parents)}:
            used = _number(group / usage)
            if used is None:
                continue
            # Pages of files do not count: the kernel frees them when memory is needed.
            used = max(used - (_number(group / "memory.stat", files) or 0), 0)
            known = [_number(group / limit) for limit in limits]  # None for "max", no limit
            yield from (
                max(most - used, 0) for most in known if most is not None and most < NO_LIMIT
            )


def _number(file: Path, name: str = "") -> int | None:
    """The whole number at the start of a line of a file, behind a name where one is given."""
    found = re.search(rf"^{name}:?[ \t]*(\d+)(?=\s|$)", _text(file), flags=re.ASCII | re.MULTILINE)
    return None if found is None else int(found[1])


def _text(file: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
