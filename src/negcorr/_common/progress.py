"""Progress of long runs, shown by whatever the user has: scikit-learn's callbacks, rich or tqdm.

Nothing here is imported before somebody asks for a bar: rich, tqdm and scikit-learn's
callbacks are all optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from time import monotonic
from typing import Any, Protocol

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

__all__ = ["Advance", "is_bar", "progress_bar"]


class Advance(Protocol):
    """Tells that something is done."""

    def __call__(self, units: int = 1) -> None:
        """One piece of work, which may be many units."""


@contextmanager
def progress_bar(
    progress: Any, total: int | None, title: str, unit: str | None = None
) -> Iterator[Advance]:
    """Show how far a long run has come, for as long as the block lasts.

    The block gets a function ``advance()``, to be called once for each finished piece of work.
    Where a ``unit`` is named, ``advance(units)`` tells how many of them a piece was, and the bar
    shows how many there are in a second. The bar is taken down when the block is left, also by an
    exception or Ctrl-C; then it stays where it was, for only a block that ends normally counts as
    finished.

    Parameters
    ----------
    progress : bool, None or scikit-learn callback
        What the user asked for. False and None show nothing. True shows scikit-learn's
        ``ProgressBar`` where scikit-learn has it (since 1.9) and rich is installed, else a bar
        of tqdm; with a ``unit`` a bar of rich, else of tqdm. An instance that follows
        scikit-learn's ``FitCallback`` protocol is told of one task named ``title`` and of a
        subtask for each finished piece; its answer whether to stop is ignored.
    total : int or None
        Number of pieces, of units where there are some, None where it is not known. What is
        beyond it is not shown.
    title : str
        Name of the work.
    unit : str, optional
        What is counted, in the plural. Callbacks hear of pieces only.

    Yields
    ------
    advance : callable
        Takes a number of units, 1 by default; belongs to the thread that entered the block.

    Raises
    ------
    TypeError
        If ``progress`` is anything else.
    ImportError
        If ``progress`` is True and nothing that draws a bar is installed.

    Examples
    --------
    >>> from negcorr._common.progress import progress_bar
    >>> with progress_bar(False, total=3, title="folds") as advance:
    ...     for fold in range(3):
    ...         advance()
    """
    if is_bar(progress) and not progress:
        yield _show_nothing
        return
    if is_bar(progress):
        bar = _best_bar(total, title) if unit is None else _unit_bar(total, title, unit)
    elif _is_callback(progress):
        bar = _callback_bar(progress, total, title)
    else:
        raise TypeError(
            f"progress={progress!r} must be True, False, None or an instance that follows "
            f"scikit-learn's FitCallback protocol, got {type(progress).__name__}; callbacks need "
            f"scikit-learn 1.9 or newer (installed: {sklearn.__version__})."
        )
    with bar as advance:
        yield _at_most(total, advance)


def is_bar(progress: Any) -> bool:
    """Whether ``progress`` asks for a bar of ours or for none, and is no callback.

    Examples
    --------
    >>> from negcorr._common.progress import is_bar
    >>> is_bar(True), is_bar(None), is_bar("bar")
    (True, True, False)
    """
    return progress is None or isinstance(progress, bool | np.bool_)


def _show_nothing(units: int = 1) -> None:
    """Stand in for ``advance()`` where no bar is wanted."""


def _at_most(total: int | None, advance: Advance) -> Advance:
    """``advance()`` up to ``total``, then nothing: callbacks refuse more."""
    done = 0

    def advance_if_expected(units: int = 1) -> None:
        nonlocal done
        expected = units if total is None else min(units, total - done)
        done += units
        if expected > 0:
            advance(expected)

    return advance_if_expected


def _best_bar(total: int | None, title: str) -> AbstractContextManager[Advance]:
    """The best bar that the installed libraries can draw."""
    try:
        from sklearn.callback import ProgressBar

        # Making one raises ImportError as well, where rich is missing.
        return _callback_bar(ProgressBar(), total, title)
    except ImportError:
        pass
    return _tqdm_bar(
        f"rich (with scikit-learn 1.9 or newer; installed: {sklearn.__version__})", total, title
    )


def _unit_bar(total: int | None, title: str, unit: str) -> AbstractContextManager[Advance]:
    """A bar with units per second, by rich or else by tqdm."""
    try:
        import rich.progress  # noqa: F401
    except ImportError:
        return _tqdm_bar("rich", total, title, unit=f" {unit}", unit_scale=True)
    return _rich_bar(total, title, unit)


def _is_callback(progress: Any) -> bool:
    """Whether scikit-learn would accept ``progress`` as a callback."""
    try:
        from sklearn.callback import FitCallback
    except ImportError:
        return False
    # A class has the methods as well, so the protocol alone would let it pass.
    return isinstance(progress, FitCallback) and not isinstance(progress, type)


def _tqdm_bar(
    better: str, total: int | None, title: str, **options: Any
) -> AbstractContextManager[Advance]:
    """Let tqdm draw the bar, where ``better`` is not there."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            f"progress=True needs a library that draws bars: install {better} or tqdm, or leave "
            "progress=False."
        ) from None
    return _drawn_by_tqdm(tqdm, total, title, options)


@contextmanager
def _drawn_by_tqdm(
    tqdm: Any, total: int | None, title: str, options: dict[str, Any]
) -> Iterator[Advance]:
    with tqdm(total=total, desc=title, **options) as bar:

        def advance(units: int = 1) -> None:
            bar.update(units)

        yield advance


@contextmanager
def _rich_bar(total: int | None, title: str, unit: str) -> Iterator[Advance]:
    """Let rich draw a bar with units, units per second, and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    # Beside what a program prints, as tqdm does.
    with Progress(*columns, console=Console(stderr=True)) as bar:
        start = monotonic()
        task = bar.add_task(title, total=total, **_in_words(0, total, unit, 0.0))
        done = 0

        def advance(units: int = 1) -> None:
            nonlocal done
            done += units
            bar.update(task, advance=units, **_in_words(done, total, unit, monotonic() - start))

        yield advance
        if total is None:
            bar.update(task, total=done)


def _in_words(done: int, total: int | None, unit: str, seconds: float) -> dict[str, Any]:
    """Units so far, in a second, and the time that is left."""
    of = "" if total is None else f"/{_short(total)}"
    rate = done / seconds if done and seconds > 0 else 0.0
    left = ""
    if total is not None and rate and done < total:
        minutes, rest = divmod(round((total - done) / rate), 60)
        hours, minutes = divmod(minutes, 60)
        left = f"{hours}:{minutes:02}:{rest:02} left"
    return {
        "count": f"{_short(done)}{of} {unit}",
        "rate": f"{_short(rate)} {unit}/s" if rate else "",
        "left": left,
    }


def _short(number: float) -> str:
    """Three digits and a power of thousand."""
    for letter in ("", "k", "M", "G"):
        if number < 999.5:
            digits = 0 if not letter or number >= 99.95 else 1 if number >= 9.995 else 2
            return f"{number:.{digits}f}{letter}"
        number /= 1000
    return f"{number:.3g}T"


@contextmanager
def _callback_bar(callback: Any, total: int | None, title: str) -> Iterator[Advance]:
    """Tell a scikit-learn callback of the work as if it were the fit of an estimator."""
    driver = _driver_class()().set_callbacks(callback)
    try:
        task = driver.fit(total, title)

        def advance(units: int = 1) -> None:
            # Pieces may run side by side, so that one begins for the callback when it ends.
            piece = task.subcontext(task_name="piece").call_on_fit_task_begin(estimator=driver)
            piece.call_on_fit_task_end(estimator=driver)

        yield advance
        task.call_on_fit_task_end(estimator=driver)
    finally:
        driver.take_down()


@cache
def _driver_class() -> type[Any]:
    """The estimator in whose name callbacks are called; bars show the name of its class.

    It is made on demand because older releases of scikit-learn have no callbacks.
    """
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    class Negcorr(CallbackSupportMixin, BaseEstimator):
        """Opens and closes the task, around work that is done elsewhere."""

        def fit(self, total: int | None, title: str) -> Any:
            """Set the callbacks up and open the task."""
            task = self._init_callback_context(task_name=title, max_subtasks=total)
            return task.call_on_fit_task_begin(estimator=self)

        # The decorator takes callbacks down when a method is left, whatever the method did.
        take_down = with_callbacks(lambda self: None)

    return Negcorr
