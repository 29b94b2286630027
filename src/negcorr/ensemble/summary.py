"""The summary of a fitted ensemble, as text and as HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.number_text import listed, shortened
from negcorr._common.types import BoolArray
from negcorr.diversity.decompositions import USELESS_ALONE, USELESS_NOTE
from negcorr.ensemble.huber import HuberTargets
from negcorr.path.path import NCLPath
from negcorr.path.sketch import path_sketch_or_nothing
from negcorr.reading.schema import Schema

__all__ = ["Summary", "output_names", "summarise"]


_COLUMN_TITLES = {
    "gap = 1 - lam": "gap",
    "degrees of freedom": "dof",
    "sigma (residual)": "sigma",
    "training error": "training",
    "average member error": "members",
    "variance of y": "var(y)",
    "robust sd of residuals": "robust sd",
}

#: Criteria that are mean squared errors on rows that were held out.
HELD_OUT = ("kfold", "loo")

#: A held-out error above this multiple of the variance of y is reported in a note.
WORSE_THAN_CONSTANT = 1.2

#: Note for models whose features were chosen by the training rows.
CHOSEN_NOTE = (
    "Features were chosen, and scales of columns learnt, by the same rows. Degrees of freedom, "
    "sigma and held-out errors take them as given; the error with the search held out does not."
)

#: Note for models with Huber targets.
HUBER_NOTE = (
    "Huber targets take the place of y. Degrees of freedom, sigma, errors and the variance of y "
    "are about these; intervals are about targets as they were given."
)

#: Outputs that a note names.
MOST_NAMES = 5

#: Columns of the inputs that are listed.
MOST_COLUMNS = 20


@dataclass(frozen=True)
class Summary:
    """Rows of a table with one column for each output.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        What holds for the whole ensemble.
    header : tuple of str
        Names of the outputs, empty for one.
    rows : tuple of (str, tuple of str)
        A quantity and its value for each output.
    notes : tuple of str
        Warnings in plain words.
    sketch : str
        SVG of the path for notebooks, shown as it is; may be empty.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]
    sketch: str = ""

    def __repr__(self) -> str:
        left = max(len(name) for name, _ in self.facts) + 2
        body = [name.ljust(left) + value for name, value in self.facts]
        if self.header:  # one output a line, a column for every quantity
            names = max(len(name) for name in self.header) + 2
            table = [" " * names, *(name.ljust(names) for name in self.header)]
            for name, values in self.rows:
                column = [_COLUMN_TITLES.get(name, name), *values]
                wide = max(len(cell) for cell in column) + 2
                table = [text + cell.rjust(wide) for text, cell in zip(table, column, strict=True)]
        else:  # one quantity a line
            names = max(len(name) for name, _ in self.rows) + 2
            wide = max(len(values[0]) for _, values in self.rows)
            table = [name.ljust(names) + values[0].rjust(wide) for name, values in self.rows]
        line = "-" * max(len(text) for text in [*body, *table])
        notes = [textwrap.fill(note, max(len(line), 72)) for note in self.notes]
        return "\n".join([self.title, line, *body, line, *table, line, *notes])

    def _repr_html_(self) -> str:
        name, cell = "<tr><th style='text-align:left'>", "<td style='text-align:right'>"
        facts = "".join(f"{name}{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in self.facts)
        head = "".join(f"<th>{escape(h)}</th>" for h in self.header)
        rows = "".join(
            f"{name}{escape(n)}</th>{''.join(f'{cell}{escape(v)}</td>' for v in values)}</tr>"
            for n, values in self.rows
        )
        header = f"<tr><th></th>{head}</tr>" if head else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<div><strong>{escape(self.title)}</strong><table>{facts}</table>"
            f"<table>{header}{rows}</table>{self.sketch}{notes}</div>"
        )


def summarise(
    path: NCLPath,
    basis_name: str,
    outputs: Sequence[str] | None = None,
    chosen: Sequence[str] = (),
    huber: HuberTargets | None = None,
    columns: Schema | None = None,
) -> Summary:
    """Describe the ensemble at the path's chosen λ.

    Parameters
    ----------
    path : NCLPath
        The fitted path.
    basis_name : str
        What the features are, for the first lines.
    outputs : sequence of str, optional
        Names of several outputs; by default their numbers.
    chosen : sequence of str, optional
        Lines that describe how open parameters were chosen.
    huber : HuberTargets, optional
        What was done to the targets.
    columns : Schema, optional
        What was made of every column of the inputs.

    Returns
    -------
    Summary
    """
    spectrum = path.spectrum
    n_outputs = spectrum.n_outputs
    widths = np.unique(np.diff(path.starts))
    width = str(widths[0]) if len(widths) == 1 else f"{widths[0]} to {widths[-1]}"
    facts = (
        ("Features", f"{basis_name}, M = {spectrum.n_members} members, H = {width} each"),
        ("Samples (sum of weights)", f"{spectrum.weight:.6g}"),
        ("Criterion", path.criterion or "none: lam was given"),
        ("Solver", path.solver),
        *(() if huber is None else (("Loss", str(huber)),)),
        *((("Chosen" if number == 0 else ""), line) for number, line in enumerate(chosen)),
        *((("Columns" if number == 0 else ""), line) for number, line in enumerate(_made(columns))),
    )
    quantities: list[tuple[str, object]] = [
        ("lam", path.lam),
        ("gap = 1 - lam", path.gap),
        ("degrees of freedom", path.dof()),
        ("sigma (residual)", np.sqrt(to_host(path.residual_noise_variance()))),
    ]
    total = to_host(spectrum.total)
    variance = np.where(total > 0, total, np.inf)
    alone, held_out = np.atleast_1d(to_host(path.member_error())) / variance, np.zeros(n_outputs)
    if path.criterion is not None:
        value = np.diagonal(to_host(path.criterion_curve(path.criterion, path.chosen_gap)))
        quantities.append((f"{path.criterion} at lam", value))
        if path.criterion in HELD_OUT:
            held_out = value / variance
            explained = np.where(total > 0, 1.0 - held_out, np.nan)
            quantities.append((f"R2 by {path.criterion}", explained))
    quantities += [
        ("training error", path.train_error()),
        ("average member error", path.member_error()),
        ("diversity", path.diversity()),
        ("variance of y", total),
    ]
    if huber is not None:
        quantities.append(("robust sd of residuals", huber.scale))
    rows = tuple(
        (name, tuple(_number(v) for v in np.atleast_1d(to_host(value))))
        for name, value in quantities
    )
    names = output_names(outputs, n_outputs)
    useless, poor = alone > USELESS_ALONE, held_out > WORSE_THAN_CONSTANT
    notes = {
        f"{USELESS_NOTE}{_which(names, useless)}: their average error is up to {alone.max():.3g} "
        "times the variance of y. Near lam = 1 that is normal: only the average predicts. The "
        "spread of members is no uncertainty; for that, use predict_interval.": useless.any(),
        f"The {path.criterion} error{_which(names, poor)} is {held_out.max():.3g} times the "
        "variance of y: worse than predicting the mean. Features that few rows determine "
        "(splines, one-hot) need a small ridge: try alpha=1e-3.": poor.any(),
        "The best gap is the smallest of the search: the criterion asks for lam = 1.": (
            path.at_small_end.any()
        ),
        "SURE estimates the error against the noise-free function at the training inputs; errors "
        "on new data are larger by sigma^2, and more outside the training cloud.": (
            path.criterion in ("sure", "cp")
        ),
        CHOSEN_NOTE: bool(chosen),
        HUBER_NOTE: huber is not None,
    }
    return Summary(
        title="Negative Correlation Learning ensemble",
        facts=facts,
        header=() if path.single_output else names,
        rows=rows,
        notes=tuple(note for note, holds in notes.items() if holds),
        sketch=path_sketch_or_nothing(path),
    )


def output_names(outputs: Sequence[str] | None, n_outputs: int) -> tuple[str, ...]:
    """Names of the outputs: those given, one for each, or else numbered ones.

    Examples
    --------
    >>> from negcorr.ensemble.summary import output_names
    >>> output_names(None, 2), output_names(["price"], 1)
    (('output 0', 'output 1'), ('price',))
    """
    if outputs is None:
        return tuple(f"output {j}" for j in range(n_outputs))
    if isinstance(outputs, str) or len(outputs) != n_outputs:
        raise ValueError(f"outputs={outputs!r} must name each of the {n_outputs} outputs.")
    return tuple(str(name) for name in outputs)


def _made(columns: Schema | None) -> list[str]:
    """A line for each column of the inputs."""
    every = () if columns is None else columns.columns
    lines = [
        f"{shortened(column.name)}: "
        + (column.made or ", ".join(filter(None, [f"left out, {column.role}", column.remark])))
        for column in every[:MOST_COLUMNS]
    ]
    return lines + [f"and {len(every) - MOST_COLUMNS} more"] * (len(every) > MOST_COLUMNS)


def _number(value: float) -> str:
    return f"{value:.3e}" if value != 0 and abs(value) < 1e-3 else f"{value:.6g}"


def _which(names: tuple[str, ...], some: BoolArray) -> str:
    """The outputs that a note is about, if there are several and it is not about all."""
    if len(names) == 1:
        return ""
    if some.all():
        return " (all outputs)"
    meant = [name for name, chosen in zip(names, some, strict=True) if chosen]
    return f" ({listed(meant, MOST_NAMES)})"
