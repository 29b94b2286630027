"""``negcorr.report``: HTML from what a report says, in one file that needs nothing else.

Nothing that comes from a user's data can become code in the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from negcorr._common.files import write_atomically
from negcorr._common.types import Table
from negcorr.reporting.contents import Contents, ExtraTable, gather

__all__ = ["page", "report"]

#: Numbers beside the slider: their keys in the script, and their names.
QUANTITIES: tuple[tuple[str, str], ...] = (
    ("dof", "degrees of freedom"),
    ("train_error", "training error"),
    ("kfold", "K-fold error"),
    ("sure_new", "SURE + σ²"),
    ("gcv", "GCV"),
    ("member_error", "average member error"),
    ("diversity", "diversity"),
)

#: Numbers that a deep ensemble has too.
OF_NETWORKS = ("dof", "train_error", "sure_new", "gcv")

#: A cell of a column of numbers: it begins with a number, or is empty.
_NUMBER = re.compile(r"([-+−]?[\d.]|$)")

#: Charts against λ; a deep ensemble has the first two.
CHARTS: tuple[tuple[str, str], ...] = (
    ("chart-criteria", "Estimates of the error"),
    ("chart-dof", "Degrees of freedom"),
    ("chart-diversity", "Ambiguity decomposition on the training rows"),
)

HELD_OUT_CHARTS = (("predicted-observed", "Observed against predicted"), ("residuals", "Residuals"))

#: What the page is about: the two kinds of ensembles.
_CLOSED_FORM = (
    "A regression ensemble trained by Negative Correlation Learning: its diversity measured, its "
    "degrees of freedom exact."
)
_NETWORKS = (
    "An ensemble of deep networks trained by Negative Correlation Learning: its diversity "
    "measured, its degrees of freedom estimated from copies with perturbed targets."
)

_SLIDER = """<label for='knob'>λ = <output id='lam-now' for='knob'></output></label>
<button type='button' id='at-choice' hidden>Back to the chosen λ</button>
<input type='range' id='knob' min='0' max='1' value='0' step='1'>
<p class='soft'>From members that are trained apart (λ = 0, left) to one model (λ = 1, right), on a
logarithmic scale of 1 − λ. All numbers are exact at every λ but K-fold, which is interpolated
between tabulated ones.</p>"""

_SLIDER_LEGEND = "The dashed line is where λ was chosen, the other where the slider is."

_GRID_LEGEND = (
    "Points are what was trained, the dashed line is the λ that was chosen. Bars are one standard "
    "error over probes."
)

_BY_ANOTHER = """<p class='soft'>The figures on these rows are
those of the same pipeline fitted without them.</p>"""


def report(
    model: Any,
    X: Table = None,
    y: Any = None,
    *,
    path: str | os.PathLike[str] = "report.html",
    title: str = "Negative Correlation Learning ensemble",
    outputs: Sequence[str] | None = None,
    tables: Sequence[ExtraTable] = (),
    details: Sequence[ExtraTable] | None = None,
    verdict: str = "",
    notes: Sequence[str] = (),
    snippet: str | None = None,
    evaluated: Any = None,
) -> Path:
    """Write one self-contained HTML page about a fitted ensemble.

    A slider moves λ, and degrees of freedom, training error, SURE, GCV and the ambiguity
    decomposition are computed again in the page, exactly. Of deep networks it shows the grid of λ
    that was trained. It opens from disk and asks no network.

    Parameters
    ----------
    model : NCLRegressor, DeepNCLRegressor, or a pipeline or search that ends in one
        Fitted.
    X, y : rows and targets, optional
        Rows that the model has not seen, for predictions beside observations, residuals and the
        importance of inputs.
    path : str or path, default="report.html"
        The file, which is replaced if it is there.
    title : str
        At the top of the page.
    outputs : sequence of str, optional
        Names of the targets.
    tables : sequence of (title, header, rows)
        Further tables, shown first.
    details : sequence of (title, header, rows), optional
        Tables before the settings; by default what was made of the columns of a data frame.
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
    >>> from negcorr.bases import FourierFeatures
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(FourierFeatures(20))
    >>> model = model.fit(X[:300], y[:300])
    >>> with TemporaryDirectory() as folder:
    ...     file = report(model, X[300:], y[300:], path=f"{folder}/diabetes.html")
    ...     text = file.read_text(encoding="utf-8")
    >>> "src=" in text, "id='knob'" in text
    (False, True)
    """
    found = gather(model, X, y, outputs=outputs, evaluated=evaluated)
    details = found.details if details is None else details
    found = replace(found, title=title, verdict=verdict, tables=tables, details=details)
    code = found.snippet if snippet is None else snippet
    contents = replace(found, notes=(*notes, *found.notes), snippet=code)
    file = Path(path)
    # A file name may be no text: its bytes stand there as escapes.
    write_atomically(file, page(contents).encode("utf-8", "backslashreplace"))
    return file


def page(contents: Contents) -> str:
    """The whole page: one file that needs nothing else.

    Parameters
    ----------
    contents : Contents
        What it says.

    Returns
    -------
    str
        HTML, in UTF-8.
    """
    folder = files("negcorr.reporting") / "static"
    names = ("uPlot.iife.min.js", "report.js", "uPlot.min.css", "report.css")
    plot, own, *styles = ((folder / name).read_text(encoding="utf-8") for name in names)
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in (plot, own))
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    shown = ("curves", "grid", "members", "held_out", "outputs")
    everything = asdict(contents)
    told = {name: everything[name] for name in shown}
    data = json.dumps(told, allow_nan=False, default=_doubles)
    # Without < nothing in the data can end the script element.
    for character in "<>&":
        data = data.replace(character, f"\\u{ord(character):04x}")
    body = "\n".join(html for section in SECTIONS if (html := section(contents)))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="negcorr">
<title>{escape(contents.title)}</title>
<style>{styles[0]}
{styles[1]}</style>
</head>
<body>
{body}
<script type="application/json" id="negcorr-data">{data}</script>
<script>{plot}</script>
<script>{own}</script>
</body>
</html>
"""


def _doubles(array: Any) -> dict[str, Any]:
    """An array as base64 of doubles, exact to the last bit, NaN and infinities among them."""
    numbers = np.ascontiguousarray(array, dtype="<f8")
    return {"f8": base64.b64encode(numbers.tobytes()).decode(), "shape": list(array.shape)}


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; columns of numbers are aligned to the right."""
    numeric = [all(_NUMBER.match(str(row[k])) for row in rows) for k in range(len(header))]

    def cells(values: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=number' if right else ''}>{escape(str(value))}</{tag}>"
            for value, right in zip(values, numeric, strict=True)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"""<h2>{escape(title)}</h2>
<div class='scroll'><table><thead><tr>{cells(header, "th")}</tr></thead>
<tbody>{body}</tbody></table></div>"""


def _charts(charts: Sequence[tuple[str, str]]) -> str:
    """Empty places that the script draws charts in."""
    figures = "".join(
        f"<figure><figcaption>{title}</figcaption><div id='{key}'></div></figure>"
        for key, title in charts
    )
    return f"<div class='charts'>{figures}</div>"


def _opening(contents: Contents) -> str:
    """Title, verdict, the caller's tables and the notes."""
    kind = _CLOSED_FORM if contents.curves is not None else _NETWORKS
    verdict = f"<p class='verdict'>{escape(contents.verdict)}</p>" if contents.verdict else ""
    return "\n".join(
        [
            f"<header><h1>{escape(contents.title)}</h1>\n<p class='soft'>{kind}</p></header>",
            *([verdict] if verdict else []),
            *(_table(*table) for table in contents.tables),
            *(f"<p class='warning'>{escape(note)}</p>" for note in contents.notes),
        ]
    )


def _knob(contents: Contents) -> str:
    """The slider, or for a deep ensemble the values of λ that were trained, and charts."""
    choice, grid = "", contents.grid
    quantities, charts, control, legend = QUANTITIES, CHARTS, _SLIDER, _SLIDER_LEGEND
    if len(contents.outputs) > 1:
        names = enumerate(map(escape, contents.outputs))
        options = "".join(f"<option value='{j}'>{name}</option>" for j, name in names)
        choice = f"<p><label for='output'>Output</label> <select id='output'>{options}</select></p>"
    if contents.curves is None and grid is None:
        return f"<div class='card'>{choice}</div>" if choice else ""
    if grid is not None:
        quantities = tuple(one for one in QUANTITIES if one[0] in OF_NETWORKS)
        n_trained, legend = len(grid.lam), _GRID_LEGEND
        charts = CHARTS[:2] if n_trained > 1 else ()
        others = f"One of {n_trained} values that were trained side by side."
        control = f"""<p><strong>λ = {grid.lam[grid.chosen]:.6g}</strong></p>
<p class='soft'>{others if charts else "No other value was trained."} From members that are trained
apart (λ = 0) to one model (λ = 1).</p>"""
    numbers = "".join(
        f"<div><dt>{escape(title)}</dt><dd data-quantity='{key}'></dd></div>"
        for key, title in quantities
    )
    card = f"""<h2>The knob λ</h2>
<div class='card'>{choice}{control}<dl class='now' aria-live='polite'>{numbers}</dl></div>"""
    if not charts:
        return card
    return f"""{card}
<p class='soft'>{legend} SURE is drawn with σ² added, so that it estimates an error on new targets
as the others do.</p>{_charts(charts)}"""


def _held_out(contents: Contents) -> str:
    """Predictions on rows that the model has not seen."""
    if not contents.held_out:
        return "<h2>Rows held out</h2>\n<p>No rows were held out for this report.</p>"
    drawn = len(contents.held_out[0].observed)
    count = str(drawn) if drawn == contents.n_rows else f"{drawn} of {contents.n_rows}"
    dashed = "" if contents.held_out[0].lower is None else "; dashed: the 95 % interval"
    return f"""<h2>Rows held out</h2>
<p class='soft'>{count} rows, at the chosen λ{dashed}.</p>
{_BY_ANOTHER if contents.by_another else ""}{_charts(HELD_OUT_CHARTS)}"""


def _members(contents: Contents) -> str:
    """What diversity is and what it is not, beside numbers that the script writes."""
    deep = contents.curves is None
    if deep and not contents.members:
        return ""
    return f"""<h2>How members differ</h2>
<p id='members-now'></p>
<p class='soft'>Diversity is what the average gains over its members. It is no measure of how far a
prediction may be off{"" if deep else ": for that there are intervals"}.</p>"""


def _importances(contents: Contents) -> str:
    """A bar for each input."""
    if not contents.importances:
        return ""
    largest = max(max(part.growth for part in contents.importances), 1e-300)
    bars = "".join(
        f"<div class='bar'><span>{escape(part.name)}</span><span class='fill' style='width:"
        f"{100 * max(part.growth, 0.0) / largest:.1f}%'></span><span class='value'>"
        f"{part.growth:.3g} ± {part.spread:.1g}</span></div>"
        for part in contents.importances
    )
    return f"""<h2>Which inputs matter</h2>
<p class='soft'>Growth of the mean squared error on held-out rows when a column is shuffled, over
the variance of the target. Inputs that carry the same information share it.</p>{bars}"""


def _settings(contents: Contents) -> str:
    """The caller's details, settings and versions, and code that rebuilds the model."""
    rows = [*contents.facts, *contents.versions]
    if contents.fingerprint:
        rows.append(("Fingerprint of the rows held out", contents.fingerprint))
    table = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    details = "\n".join(_table(*table) for table in contents.details)
    return f"""{details}
<h2>Settings</h2>
<div class='scroll'><table><tbody>{table}</tbody></table></div>
<p><button type='button' data-copy='snippet'>Copy the code</button></p>
<pre id='snippet'>{escape(contents.snippet)}</pre>"""


#: Sections of the page, in their order; each takes the contents and returns HTML, or nothing.
SECTIONS = (_opening, _knob, _held_out, _members, _importances, _settings)
