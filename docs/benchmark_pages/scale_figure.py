"""The figure of the page about scale, from the stored measurements alone."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scale_model import Shape, row_work

__all__ = ["draw"]

#: The limit at ten million rows, and from how many rows on it is drawn.
MOST_BYTES, LIMIT_ROWS = 1.2e9, 10_000_000

#: Vermilion squares; one alone has no line to be seen.
_DASK_LOOK: dict[str, Any] = {"color": "#D55E00", "marker": "s", "markersize": 5}

Report = Mapping[str, Any]


def draw(report: Report, path: Path) -> None:
    """The figure: rows per second, with the bare rate, and peak memory, against rows."""
    from negcorr.paper.figure_style import new_figure, style

    with style():
        figure = new_figure(8.0, 3.4)
        speed, memory = figure.subplots(1, 2)
        rows = [each["rows"] for each in report["streamed"]]
        for axes in (speed, memory):
            axes.set_xscale("log")
            axes.set_xlabel("number of rows n")
            axes.set_xlim(min(rows) / 1.6, max(rows) * 1.6)
        _draw_speed(speed, report)
        _draw_memory(memory, report)
        figure.savefig(
            path,
            format=path.suffix[1:],
            metadata={"Date": None} if path.suffix == ".svg" else {"Software": None},
        )


def _draw_speed(axes: Any, report: Report) -> None:
    from negcorr.paper.figure_style import COLOURS, GREY

    fits, dask, gpu = report["streamed"], report["dask"], report["gpu"]
    rows = [each["rows"] for each in fits]
    bare = [each["bare_rows_per_second"] / 1e3 for each in fits]
    axes.plot(rows, bare, color=GREY, linestyle="--", label="bare: features and ΦᵀΦ, in memory")
    rates = [each["rows_per_second"] / 1e3 for each in fits]
    axes.plot(rows, rates, color=COLOURS[0], marker="o", label="one process, all cores, from files")
    if dask:
        at = [each["rows"] for each in dask]
        rates = [each["rows"] / statistics.median(each["seconds"]) / 1e3 for each in dask]
        axes.plot(at, rates, label="two Dask workers", **_DASK_LOOK)
    if gpu:
        at = [each["rows"] for each in gpu]
        found = [each["rows_per_second"] / 1e3 for each in gpu]
        axes.plot(at, found, color=COLOURS[2], marker="^", label=gpu[0]["device"])
        axes.set_yscale("log")
        axes.set_ylim(min(rates) / 2, 8 * max(*bare, *found))
    else:
        axes.set_ylim(0, 1.45 * max(bare))
    axes.set_title("Speed")
    axes.set_ylabel("thousand rows per second")
    axes.legend(loc="upper left")


def _draw_memory(axes: Any, report: Report) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    from negcorr.paper.figure_style import COLOURS, GREY

    fits, dask, shape = report["streamed"], report["dask"], Shape(**report["shape"])
    rows = [each["rows"] for each in fits]
    axes.set_yscale("log")
    for row_bytes, text, line, above in (
        (row_work(shape)["feature_bytes"], "all features at once\n(not done)", "--", True),
        (row_work(shape)["row_bytes"], "the rows\nas doubles", ":", False),
    ):
        sizes = [row_bytes * n / 1e6 for n in (rows[0], rows[-1])]
        axes.plot((rows[0], rows[-1]), sizes, color=GREY, linestyle=line)
        axes.annotate(
            text,
            ((rows[0] * rows[-1]) ** 0.5, (sizes[0] * sizes[1]) ** 0.5),
            xytext=(-6, 5) if above else (8, -4),
            textcoords="offset points",
            ha="right" if above else "left",
            va="bottom" if above else "top",
            color=GREY,
            fontsize=8,
        )
    peaks = [each["peak_bytes"] / 1e6 for each in fits]
    axes.plot(rows, peaks, color=COLOURS[0], marker="o", label="one process, peak")
    if dask:
        at = [each["rows"] for each in dask]
        peaks = [each["worker_peak_bytes"] / 1e6 for each in dask]
        axes.plot(at, peaks, label="each of two Dask workers, peak", **_DASK_LOOK)
    if rows[-1] >= LIMIT_ROWS:
        axes.plot(
            LIMIT_ROWS,
            MOST_BYTES / 1e6,
            color=COLOURS[4],
            marker="v",
            markersize=7,
            linestyle="",
            label="limit at 10⁷ rows: 1.2 GB",
        )
    ticks = {10: "10 MB", 100: "100 MB", 1_000: "1 GB", 10_000: "10 GB", 100_000: "100 GB"}
    axes.yaxis.set_major_locator(FixedLocator(list(ticks)))
    axes.yaxis.set_major_formatter(lambda value, _: ticks.get(round(value), ""))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylim(3, 2e6)
    axes.set_title("Memory")
    axes.set_ylabel("resident memory")
    axes.legend(loc="upper left")
