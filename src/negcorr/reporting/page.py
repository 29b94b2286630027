"""HTML from what a report says; nothing that comes from a user's data can become code in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from negcorr.reporting.contents import Contents

__all__ = ["page"]

#: What each of the numbers at the slider is.
QUANTITIES = (
    ("dof", "degrees of freedom"),
    ("train_error", "training error"),
    ("kfold", "K-fold error"),
    ("sure_new", "SURE + σ²"),
    ("gcv", "GCV"),
    ("member_error", "average member error"),
    ("diversity", "diversity"),
)

#: And of those at the λ of a deep ensemble.
GRID_QUANTITIES = (
    ("dof", "degrees of freedom"),
    ("train_error", "training error"),
    ("sure_new", "SURE + σ²"),
    ("gcv", "GCV"),
)

#: What may stand in a column of numbers: a number with its unit, or nothing.
_NUMBER = re.compile(r"([-+−]?[\d.]|$)")

CHARTS = (
    ("chart-criteria", "Estimates of the error"),
    ("chart-dof", "Degrees of freedom"),
    ("chart-diversity", "Ambiguity decomposition on the training rows"),
)


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
    scripts = [_static("uPlot.iife.min.js"), _static("report.js")]
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    body = "\n".join(part for part in _sections(contents) if part)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="negcorr">
<title>{escape(contents.title)}</title>
<style>{_static("uPlot.min.css")}
{_static("report.css")}</style>
</head>
<body>
{body}
<script type="application/json" id="negcorr-data">{_as_json(_payload(contents))}</script>
<script>{scripts[0]}</script>
<script>{scripts[1]}</script>
</body>
</html>
"""


def _static(name: str) -> str:
    return (files("negcorr.reporting") / "static" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _payload(contents: Contents) -> dict[str, Any]:
    return {
        "curves": None if contents.curves is None else asdict(contents.curves),
        "grid": None if contents.grid is None else asdict(contents.grid),
        "members": list(contents.members),
        "held_out": [asdict(part) for part in contents.held_out],
        "outputs": list(contents.outputs),
    }


def _as_json(value: Any) -> str:
    """JSON in which no ``<`` can end the element that it stands in."""
    text = json.dumps(_plain(value), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(value: Any) -> Any:
    """Arrays as base64 of doubles, exact to the last bit, NaN and infinities among them."""
    if isinstance(value, np.ndarray):
        numbers = np.ascontiguousarray(value, dtype="<f8")
        return {"f8": base64.b64encode(numbers.tobytes()).decode(), "shape": list(value.shape)}
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _sections(contents: Contents) -> list[str]:
    return [
        f"<header><h1>{escape(contents.title)}</h1>\n<p class='soft'>{_opening(contents)}</p>"
        "</header>",
        f"<p class='verdict'>{escape(contents.verdict)}</p>" if contents.verdict else "",
        *(_table(*table) for table in contents.tables),
        *(f"<p class='warning'>{escape(note)}</p>" for note in contents.notes),
        *((_grid(contents),) if contents.curves is None else (_knob(contents), _charts())),
        _held_out(contents),
        _members(contents),
        _importances(contents),
        *(_table(*table) for table in contents.details),
        _settings(contents),
    ]


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; columns of numbers are set against their right edge."""
    numeric = [all(_NUMBER.match(str(row[k])) for row in rows) for k in range(len(header))]

    def cells(values: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=number' if right else ''}>{escape(str(value))}</{tag}>"
            for value, right in zip(values, numeric, strict=True)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f"<h2>{escape(title)}</h2>\n<div class='scroll'><table><thead><tr>{cells(header, 'th')}"
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _opening(contents: Contents) -> str:
    if contents.curves is None:
        return (
            "An ensemble of deep networks trained by Negative Correlation Learning: its diversity "
            "measured, its degrees of freedom estimated from twins with moved targets."
        )
    return (
        "A regression ensemble trained by Negative Correlation Learning: its diversity measured, "
        "its degrees of freedom exact."
    )


def _choice(names: tuple[str, ...]) -> str:
    """Which output is shown, where there are several."""
    if len(names) == 1:
        return ""
    options = "".join(f"<option value='{j}'>{escape(n)}</option>" for j, n in enumerate(names))
    return f"<p><label for='output'>Output</label> <select id='output'>{options}</select></p>"


def _numbers(quantities: tuple[tuple[str, str], ...]) -> str:
    listed = "".join(
        f"<div><dt>{escape(title)}</dt><dd data-quantity='{key}'></dd></div>"
        for key, title in quantities
    )
    return f"<dl class='now' aria-live='polite'>{listed}</dl>"


def _grid(contents: Contents) -> str:
    """The values of λ that were trained, in place of a knob."""
    grid, choice = contents.grid, _choice(contents.outputs)
    if grid is None:
        return f"<div class='card'>{choice}</div>" if choice else ""
    lam = f"{grid.lam[grid.chosen]:.6g}"
    several = len(grid.lam) > 1
    words = (
        f"One of {len(grid.lam)} values that were trained side by side."
        if several
        else "No other value was trained."
    )
    card = (
        f"<h2>The knob λ</h2>\n<div class='card'>{choice}<p><strong>λ = {lam}</strong></p>"
        f"<p class='soft'>{words} From members that are trained apart (λ = 0) to one model (λ = 1)."
        f"</p>{_numbers(GRID_QUANTITIES)}</div>"
    )
    if not several:
        return card
    figures = "".join(
        f"<figure><figcaption>{title}</figcaption><div id='{key}'></div></figure>"
        for key, title in CHARTS[:2]
    )
    return (
        f"{card}<p class='soft'>Points are what was trained, the dashed line is the λ that was "
        "chosen. Bars are one standard error over probes. SURE is drawn with σ² added, so that it "
        "estimates an error on new targets as the others do.</p>"
        f"<div class='charts'>{figures}</div>"
    )


def _knob(contents: Contents) -> str:
    return (
        "<h2>The knob λ</h2>\n<div class='card'>"
        f"{_choice(contents.outputs)}"
        "<label for='knob'>λ = <output id='lam-now' for='knob'></output></label> "
        "<button type='button' id='at-choice' hidden>Back to the chosen λ</button>"
        "<input type='range' id='knob' min='0' max='1' value='0' step='1'>"
        "<p class='soft'>From members that are trained apart (λ = 0, left) to one model (λ = 1, "
        "right), on a logarithmic scale of 1 − λ. All numbers are exact at every λ but K-fold, "
        "which is interpolated between tabulated ones.</p>"
        f"{_numbers(QUANTITIES)}</div>"
    )


def _charts() -> str:
    figures = "".join(
        f"<figure><figcaption>{title}</figcaption><div id='{key}'></div></figure>"
        for key, title in CHARTS
    )
    return (
        "<p class='soft'>The dashed line is where λ was chosen, the other where the slider is. "
        "SURE is drawn with σ² added, so that it estimates an error on new targets as the others "
        "do.</p>"
        f"<div class='charts'>{figures}</div>"
    )


def _held_out(contents: Contents) -> str:
    if not contents.held_out:
        return "<h2>Rows held out</h2>\n<p>No rows were held out for this report.</p>"
    drawn = len(contents.held_out[0].observed)
    count = str(drawn) if drawn == contents.n_rows else f"{drawn} of {contents.n_rows}"
    dashed = "" if contents.held_out[0].lower is None else "; dashed: the 95 % interval"
    other = (
        "<p class='soft'>The figures on these rows are those of the same pipeline fitted without "
        "them.</p>"
        if contents.by_another
        else ""
    )
    return (
        f"<h2>Rows held out</h2>\n<p class='soft'>{count} rows, at the chosen λ{dashed}.</p>{other}"
        "<div class='charts'><figure><figcaption>Observed against predicted"
        "</figcaption><div id='predicted-observed'></div></figure><figure><figcaption>Residuals"
        "</figcaption><div id='residuals'></div></figure></div>"
    )


def _members(contents: Contents) -> str:
    deep = contents.curves is None
    if deep and not contents.members:
        return ""
    instead = "" if deep else ": for that there are intervals"
    return (
        "<h2>How members differ</h2>\n<p id='members-now'></p>\n<p class='soft'>Diversity is what "
        "the average gains over its members. It is no measure of how far a prediction may be off"
        f"{instead}.</p>"
    )


def _importances(contents: Contents) -> str:
    if not contents.importances:
        return ""
    largest = max(max(part.growth for part in contents.importances), 1e-300)
    bars = "".join(
        f"<div class='bar'><span>{escape(part.name)}</span><span class='fill' style='width:"
        f"{100 * max(part.growth, 0.0) / largest:.1f}%'></span><span class='value'>"
        f"{part.growth:.3g} ± {part.spread:.1g}</span></div>"
        for part in contents.importances
    )
    return (
        "<h2>Which inputs matter</h2>\n<p class='soft'>Growth of the mean squared error on "
        "held-out rows when a column is shuffled, over the variance of the target. Inputs that can "
        f"stand in for each other share it.</p>{bars}"
    )


def _settings(contents: Contents) -> str:
    rows = [*contents.facts, *contents.versions]
    if contents.fingerprint:
        rows.append(("Fingerprint of the rows held out", contents.fingerprint))
    table = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return (
        f"<h2>Settings</h2>\n<div class='scroll'><table><tbody>{table}</tbody></table></div>"
        f"<p><button type='button' data-copy='snippet'>Copy the code</button></p>"
        f"<pre id='snippet'>{escape(contents.snippet)}</pre>"
    )
