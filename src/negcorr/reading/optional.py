"""import_optional: an optional package, or an error that says how to install it."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["import_optional"]


def import_optional(name: str, need: str) -> Any:
    """A module by name.

    Parameters
    ----------
    name : str
    need : str
        What it is needed for, as a sentence that ends with its name.

    Raises
    ------
    ImportError
        With the need and the command that installs it.

    Examples
    --------
    >>> from negcorr.reading.optional import import_optional
    >>> import_optional("openpixel", "Sheets are read by openpixel")
    Traceback (most recent call last):
        ...
    ImportError: Sheets are read by openpixel, which is not installed: pip install 'negcorr[cli]'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{need}, which is not installed: pip install 'negcorr[cli]'") from error
