"""Errors about data sets: one was not found, or is not what it should be."""

from __future__ import annotations

__all__ = ["DatasetError", "MissingDatasetError"]


class DatasetError(ValueError):
    r"""A file or a download is not the data set that it should be.

    The message names the file, and the column and row, or the line, where there is one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr.datasets import DatasetError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "slump.csv").write_text("Cement,Slag\n273,82\n", encoding="utf-8")
    ...     try:
    ...         load("slump", data_home=folder)
    ...     except DatasetError as error:
    ...         print(str(error).partition(folder)[2])
    /slump.csv lacks the columns 'SLUMP_cm', 'FLOW_cm', 'Compressive_Strength_Mpa' of slump.
    """


class MissingDatasetError(FileNotFoundError):
    """The data set was not found; the message lists the places that were searched, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from negcorr.datasets import MissingDatasetError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         load("scm1d", data_home=folder)
    ...     except MissingDatasetError as error:
    ...         print(str(error).splitlines()[0])
    scm1d is in none of these places, as scm1d.csv.gz or scm1d.csv in a folder:
    """
