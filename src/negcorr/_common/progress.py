"""Progress of long runs, shown by scikit-learn's callbacks, rich or tqdm.

All three are optional and imported only when a bar is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Any, Protocol

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

__all__ = ["Advance", "is_bar", "progress_bar"]


class Advance(Protocol):
    """The function that reports finished work."""

    def __call__(self, units: int = 1) -> None:
        """Report one finished piece of work, of so many units."""


@contextmanager
def progress_bar(
    progress: Any, total: int | None, title: str, unit: str | None = None
) -> Iterator[Advance]:
    """Show the progress of a long run while the block lasts.

    The block gets a function ``advance()`` and calls it once for each finished piece of work.
    Where a ``unit`` is named, ``advance(units)`` says how many units the piece had, and the bar
    shows units per second. The bar is closed when the block is left. A block that an exception or
    Ctrl-C ends does not count as finished, and the bar stays where it was.

    Parameters
    ----------
    progress : bool, None or scikit-learn callback
        What the user asked for. False and None show nothing. True shows scikit-learn's
        ``ProgressBar`` where scikit-learn has it (since 1.9) and rich is installed, else a bar
        of tqdm; with a ``unit`` a bar of rich, else of tqdm. An instance that follows
        scikit-learn's ``FitCallback`` protocol gets one task named ``title`` and a subtask for
        each finished piece; its answer whether to stop is ignored.
    total : int or None
        Number of pieces, or of units if there is a ``unit``; None if it is not known. Pieces
        beyond this number are not shown.
    title : str
        Name of the work.
    unit : str, optional
        What is counted, in the plural. Callbacks are called for pieces only.

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
        yield lambda units=1: None
        return
    done = 0

    def advance_up_to_total(units: int = 1) -> None:
        """``advance()`` up to ``total``, then nothing: callbacks refuse more."""
        nonlocal done
        expected = units if total is None else min(units, total - done)
        done += units
        if expected > 0:
            advance(expected)

    bar = _best_bar if is_bar(progress) else _callback_bar
    with bar(progress, total, title, unit) as advance:
        yield advance_up_to_total


def is_bar(progress: Any) -> bool:
    """Whether ``progress`` is True, False or None, and so no callback.

    Examples
    --------
    >>> from negcorr._common.progress import is_bar
    >>> is_bar(True), is_bar(None), is_bar("bar")
    (True, True, False)
    """
    return progress is None or isinstance(progress, bool | np.bool_)


@contextmanager
def _best_bar(progress: bool, total: int | None, title: str, unit: str | None) -> Iterator[Advance]:
    """The best bar that the installed libraries can draw."""
    with ExitStack() as stack:
        try:
            if unit is None:
                from sklearn.callback import ProgressBar

                # Making one raises ImportError as well, where rich is missing.
                bar = _callback_bar(ProgressBar(), total, title, unit)
            else:
                import rich.progress  # noqa: F401

                bar = _rich_bar(total, title, unit)
        except ImportError:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                newer = f" (with scikit-learn 1.9 or newer; installed: {sklearn.__version__})"
                raise ImportError(
                    "progress=True needs a library that draws bars: install "
                    f"rich{'' if unit else newer} or tqdm, or leave progress=False."
                ) from None
            options = {} if unit is None else {"unit": f" {unit}", "unit_scale": True}
            drawn = stack.enter_context(tqdm(total=total, desc=title, **options))
            yield lambda units=1: drawn.update(units)
            return
        yield stack.enter_context(bar)


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
    # On standard error, as tqdm does.
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
    """Texts of the units done, of units per second, and of the time that is left."""
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
    """A number as text with three digits and a letter for a power of 1000."""
    for letter in ("", "k", "M", "G"):
        if number < 999.5:
            digits = 0 if not letter or number >= 99.95 else 1 if number >= 9.995 else 2
            return f"{number:.{digits}f}{letter}"
        number /= 1000
    return f"{number:.3g}T"


@contextmanager
def _callback_bar(
    callback: Any, total: int | None, title: str, unit: str | None
) -> Iterator[Advance]:
    """Tell a scikit-learn callback of the work as if it were the fit of an estimator."""
    try:
        from sklearn.callback import CallbackSupportMixin, FitCallback, with_callbacks

        # A class has the methods as well, so the protocol alone would accept it.
        follows = isinstance(callback, FitCallback) and not isinstance(callback, type)
    except ImportError:  # older releases of scikit-learn have no callbacks
        follows = False
    if not follows:
        raise TypeError(
            f"progress={callback!r} must be True, False, None or an instance that follows "
            f"scikit-learn's FitCallback protocol, got {type(callback).__name__}; callbacks need "
            f"scikit-learn 1.9 or newer (installed: {sklearn.__version__})."
        )

    class Negcorr(CallbackSupportMixin, BaseEstimator):
        """The estimator in whose name the callback is called; bars show the class's name."""

        def fit(self) -> Any:
            """Set the callback up and open the task."""
            task = self._init_callback_context(task_name=title, max_subtasks=total)
            return task.call_on_fit_task_begin(estimator=self)

        # The decorator takes callbacks down when a method is left, whatever the method did.
        take_down = with_callbacks(lambda self: None)

    driver: Any = Negcorr().set_callbacks(callback)
    try:
        task = driver.fit()

        def advance(units: int = 1) -> None:
            # Pieces may run side by side, so that one begins for the callback when it ends.
            piece = task.subcontext(task_name="piece").call_on_fit_task_begin(estimator=driver)
            piece.call_on_fit_task_end(estimator=driver)

        yield advance
        task.call_on_fit_task_end(estimator=driver)
    finally:
        driver.take_down()
