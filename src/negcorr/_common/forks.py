"""What threads share, made so that a process can be forked while they work.

A child of a fork has one thread, and the locks as they were. A lock that another thread held is
never released there, so whoever asks for it waits for ever.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["OwnLock", "late", "lock_before_forks"]

Value = TypeVar("Value")


class late(Generic[Value]):  # noqa: N801 - a decorator, as property is
    """A property that is computed at first use and then kept with the object.

    It is :func:`functools.cached_property` without a lock: until Python 3.12 that one holds a lock
    for all objects of the class while it computes. Threads that ask at the same time may each
    compute the value; all of them get the one that was kept first.

    Examples
    --------
    >>> from negcorr._common.forks import late
    >>> class Sum:
    ...     @late
    ...     def value(self):
    ...         print("adding")
    ...         return 1 + 1
    >>> total = Sum()
    >>> total.value, total.value
    adding
    (2, 2)
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__
        self.__module__ = compute.__module__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> late[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> late[Value] | Value:
        if instance is None:
            return self
        # At first use only: later the object's own value is found before the class is asked.
        return vars(instance).setdefault(self.name, self.compute(instance))


def lock_before_forks() -> Any:
    """A re-entrant lock that a fork waits for: for short work that must be finished in the child.

    The thread that forks holds it during the fork.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        release = lock.release
        os.register_at_fork(before=lock.acquire, after_in_parent=release, after_in_child=release)
    return lock


class OwnLock:
    """A re-entrant lock that is a new one in every forked child: for work that may take long.

    What it protects must be whole at any time, since the thread that held the lock does not go on
    in the child.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()
