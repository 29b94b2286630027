"""``negcorr.report``: a page about a fitted ensemble, written to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from negcorr._common.files import write_atomically
from negcorr._common.types import Table
from negcorr.reporting.contents import ExtraTable, gather
from negcorr.reporting.page import page

__all__ = ["report"]


def report(
    model: Any,
    X: Table = None,
    y: Any = None,
    *,
    path: str | os.PathLike[str] = "report.html",
    title: str = "Negative Correlation Learning ensemble",
    outputs: Sequence[str] | None = None,
    tables: Sequence[ExtraTable] = (),
    details: Sequence[ExtraTable] = (),
    verdict: str = "",
    notes: Sequence[str] = (),
    snippet: str | None = None,
    evaluated: Any = None,
) -> Path:
    """Write one self-contained HTML page about a fitted ensemble.

    A slider moves λ, and degrees of freedom, training error, SURE, GCV and the ambiguity
    decomposition are recomputed in the page, exactly. Of deep networks it shows the grid of λ that
    was trained. It opens from disk and asks no network.

    Parameters
    ----------
    model : NCLRegressor, DeepNCLRegressor or Pipeline
        Fitted; a pipeline ends with one of them.
    X, y : rows and targets, optional
        Rows that the model has not seen, for predictions beside observations, residuals and the
        importance of inputs.
    path : str or path, default="report.html"
        The file, which is replaced if it is there.
    title : str
        At the top of the page.
    outputs : sequence of str, optional
        Names of the targets.
    tables, details : sequence of (title, header, rows)
        Further tables, shown first, and shown before the settings.
    verdict : str
        A sentence below the title.
    notes : sequence of str
        Warnings in plain words, beside those of ``model.summary()``.
    snippet : str, optional
        Code that rebuilds the model; by default made from its parameters.
    evaluated : estimator, optional
        A model fitted without these rows, which predicts them in place of ``model``, whose curves
        are shown: for a model that was fitted to all rows in the end.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor, report
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(20, basis="fourier", gamma="kwok-tsang", random_state=0)
    >>> model = model.fit(X[:300], y[:300])
    >>> with TemporaryDirectory() as folder:
    ...     file = report(model, X[300:], y[300:], path=f"{folder}/diabetes.html")
    ...     text = file.read_text(encoding="utf-8")
    >>> "src=" in text, "id='knob'" in text
    (False, True)
    """
    contents = gather(
        model,
        X,
        y,
        title=title,
        outputs=outputs,
        tables=tables,
        details=details,
        verdict=verdict,
        notes=notes,
        snippet=snippet,
        evaluated=evaluated,
    )
    file = Path(path)
    write_atomically(file, page(contents).encode("utf-8"))
    return file
