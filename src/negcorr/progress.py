"""Progress of long runs, shown by whatever the user has: scikit-learn's callbacks or tqdm.

Nothing here is imported before somebody asks for a bar: rich, tqdm and scikit-learn's
callbacks are all optional.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(progress: Any, total: int | None, title: str) -> Iterator[Callable[[], None]]:
    """Show how far a long run has come, for as long as the block lasts.

    The block gets a function ``advance()``, to be called once for each finished piece of work.
    The bar is taken down when the block is left, also by an exception or Ctrl-C; then it stays
    where it was, for only a block that ends normally counts as finished.

    Parameters
    ----------
    progress : bool, None or scikit-learn callback
        What the user asked for. False and None show nothing. True shows scikit-learn's
        ``ProgressBar`` where scikit-learn has it (since 1.9) and rich is installed, else a bar
        of tqdm. An instance that follows scikit-learn's ``FitCallback`` protocol is told of
        one task named ``title`` and of a subtask for each finished piece; its answer whether
        to stop is ignored.
    total : int or None
        Number of pieces, None where it is not known. Further pieces are not shown.
    title : str
        Name of the work.

    Yields
    ------
    advance : callable
        Takes no argument; belongs to the thread that entered the block.

    Raises
    ------
    TypeError
        If ``progress`` is anything else.
    ImportError
        If ``progress`` is True and nothing that draws a bar is installed.

    Examples
    --------
    >>> from negcorr.progress import progress_bar
    >>> with progress_bar(False, total=3, title="folds") as advance:
    ...     for fold in range(3):
    ...         advance()
    """
    if progress is None or (isinstance(progress, bool | np.bool_) and not progress):
        yield _show_nothing
        return
    if isinstance(progress, bool | np.bool_):
        bar = _best_bar(total, title)
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


def _show_nothing() -> None:
    """Stand in for ``advance()`` where no bar is wanted."""


def _at_most(total: int | None, advance: Callable[[], None]) -> Callable[[], None]:
    """``advance()`` for the first ``total`` calls, then nothing: callbacks refuse more."""
    pieces = count() if total is None else iter(range(total))

    def advance_if_expected() -> None:
        if next(pieces, None) is not None:
            advance()

    return advance_if_expected


def _best_bar(total: int | None, title: str) -> AbstractContextManager[Callable[[], None]]:
    """The best bar that the installed libraries can draw."""
    try:
        from sklearn.callback import ProgressBar

        # Making one raises ImportError as well, where rich is missing.
        return _callback_bar(ProgressBar(), total, title)
    except ImportError:
        pass
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "progress=True needs a library that draws bars: install rich (with scikit-learn 1.9 "
            f"or newer; installed: {sklearn.__version__}) or tqdm, or leave progress=False."
        ) from None
    return _tqdm_bar(tqdm, total, title)


def _is_callback(progress: Any) -> bool:
    """Whether scikit-learn would accept ``progress`` as a callback."""
    try:
        from sklearn.callback import FitCallback
    except ImportError:
        return False
    # A class has the methods as well, so the protocol alone would let it pass.
    return isinstance(progress, FitCallback) and not isinstance(progress, type)


@contextmanager
def _tqdm_bar(tqdm: Any, total: int | None, title: str) -> Iterator[Callable[[], None]]:
    """Let tqdm draw the bar."""
    with tqdm(total=total, desc=title) as bar:

        def advance() -> None:
            bar.update()

        yield advance


@contextmanager
def _callback_bar(callback: Any, total: int | None, title: str) -> Iterator[Callable[[], None]]:
    """Tell a scikit-learn callback of the work as if it were the fit of an estimator."""
    driver = _driver_class()().set_callbacks(callback)
    try:
        task = driver.fit(total, title)

        def advance() -> None:
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
