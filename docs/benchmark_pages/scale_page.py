"""The page about scale with its figure, from the stored measurements alone.

python docs/benchmark_pages/scale_page.py [--from benchmarks/results/scale.json]
    [--page docs/scale.md]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import scale_figure
from scale_model import (
    BLOCK_BYTES,
    CHUNK_ROWS,
    FAN_IN,
    Rates,
    Shape,
    cluster_cost,
    device_line,
    moment_bytes,
    one_process_memory,
    one_process_seconds,
    result_bytes,
    row_parts,
    row_work,
    travelling_results,
    tuning_seconds,
)
from scale_words import (
    count_text,
    duration_text,
    error_text,
    gigabytes,
    grouped,
    megabytes,
    most_text,
    rate_text,
    seconds_text,
    table,
    unit_text,
)

sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "scale"))

from scale_limits import lines

__all__ = ["page", "stored_device", "with_device"]

#: The large fit that is predicted, and the clusters.
PREDICTED_ROWS, CLUSTERS = 10**9, (2, 16, 64, 256)

Report = Mapping[str, Any]


def page(report: Report) -> str:
    """The page, in Markdown.

    Parameters
    ----------
    report : mapping
        ``scale.json``, with the fits on a GPU where one was measured (:func:`with_device`).
    """
    sections = [
        _head(report),
        _measurements(report),
        _must_hold(report),
        _cost_model(report),
        _check(report),
        _billion(report),
        _not_counted(),
    ]
    return "\n\n".join(sections) + "\n"


def stored_device(folder: Path) -> Mapping[str, Any] | None:
    """``gpu.json`` of a folder of results, None where no GPU was measured."""
    path = folder / "gpu.json"
    gpu: Mapping[str, Any] = json.loads(path.read_text()) if path.exists() else {"device": "cpu"}
    return None if gpu["device"] == "cpu" else gpu


def with_device(report: Report, gpu: Mapping[str, Any] | None) -> Report:
    """A report with the fits on a GPU of ``gpu.json``, where it has none of its own."""
    if gpu is None or report["gpu"]:
        return report
    return {**report, "gpu": gpu.get("by_rows", [])}


def _head(report: Report) -> str:
    made, shape = report["provenance"], _shape(report)
    packages = ", ".join(f"{name} {number}" for name, number in made["packages"].items())
    return "\n\n".join(
        [
            "# Time and memory of one machine, and of a cluster",
            "Rows per second and memory of fits from files ([More rows than fit memory]"
            "(guide/scale.rst)), compared with the least work of any such fit, and from that what "
            "10⁹ rows would take. Measured by",
            f"```console\n{made['command']}\n```",
            "and this page was written from the stored results by",
            "```console\npython docs/benchmark_pages/scale_page.py\n```",
            f"on {made['cores']} cores ({made['cpu']}), Python {made['python']}, "
            f"{'; '.join(made['blas'])}, {packages}. Files are Parquet of {shape.inputs} inputs "
            f"and a target; ensembles have {shape.members} members of {shape.width} random Fourier "
            f"features each, Q = {shape.features}, tuned by exact {shape.folds}-fold. Times are "
            f"medians of {len(report['streamed'][0]['seconds'])} rounds, from the call until λ is "
            "known, in processes that have loaded their libraries; files come from the system's "
            "cache.",
        ]
    )


def _measurements(report: Report) -> str:
    rows = [
        [
            count_text(each["rows"]),
            seconds_text(statistics.median(each["seconds"])),
            rate_text(each["rows_per_second"]),
            rate_text(each["bare_rows_per_second"]),
            f"{100 * each['share_of_bare']:.0f} %",
            megabytes(each["peak_bytes"]),
        ]
        for each in report["streamed"]
    ]
    best, shape = report["bare"]["fastest"], _shape(report)
    text = [
        "## Measured",
        "![Rows per second and peak memory against the number of rows](figures/scale.svg)",
        table(
            ["rows", "time", "rows/s", "bare rows/s", "share", "peak memory"],
            rows,
        ),
        "*Bare* is the work that every fit must do: the features cos(X·W + b) and their product "
        "ΦᵀΦ, of rows in memory, and nothing else; no files, no folds, no target, no λ. It runs in "
        "turn with the fits, on as many threads as there are cores, with one BLAS thread and "
        "buffers of its own each, by symmetric rank-k updates. Of "
        f"{len(report['bare']['configurations'])} configurations tried in the same run the "
        f"fastest is taken: cosines by {_cosine(best['cosine'])}, {best['rows_in_cache']} rows of "
        f"features at a time, {best['rows_per_block']} rows in a product "
        f"({_others(report['bare']['configurations'])}).",
    ]
    if report["dask"]:
        dask = [
            [
                count_text(each["rows"]),
                seconds_text(statistics.median(each["seconds"])),
                seconds_text(statistics.median(each["one_process_seconds"])),
                f"{each['ratio']:.2f}",
                megabytes(each["worker_peak_bytes"]),
                str(each["tasks"]),
                f"{each['travelled_results']} of at most "
                f"{2 * travelling_results(each['tasks'], each['workers'])}",
            ]
            for each in report["dask"]
        ]
        text += [
            "A local Dask cluster of two worker processes with one thread each, and one process "
            "with both cores, in turn; the start of the cluster is not counted. Results of blocks "
            f"are added up {FAN_IN} at a time; those that are sent go from one worker to the other "
            "in either of the two passes, and are compared with what the model below allows.",
            table(
                [
                    "rows",
                    "Dask",
                    "one process",
                    "ratio",
                    "peak of a worker",
                    "blocks",
                    "results sent",
                ],
                dask,
            ),
        ]
    if report["gpu"]:
        device = [
            [
                count_text(each["rows"]),
                seconds_text(statistics.median(each["seconds"])),
                rate_text(each["rows_per_second"]),
                megabytes(each["peak_device_bytes"]),
            ]
            for each in report["gpu"]
        ]
        text += [
            f"Rows that are on a GPU already ({report['gpu'][0]['device']}, "
            "`python benchmarks/scale/gpu.py`), tuned by 5-fold as above, by the route that "
            '`solver="auto"` takes:',
            table(["rows", "time", "rows/s", "peak on the device"], device),
        ]
    text.append(
        f"Of a row {grouped(row_work(shape)['row_bytes'])} bytes are read; the files above have "
        f"{report['streamed'][-1]['file_bytes'] / report['streamed'][-1]['rows']:.0f} bytes for "
        "each."
    )
    return "\n\n".join(text)


def _must_hold(report: Report) -> str:
    marks = {True: "✓", False: "✗", None: "·"}
    found = lines(report)
    text = [
        f"- {marks[line.held]} **{line.verdict}**: {line.claim}. *{line.value}*" for line in found
    ]
    return "## What must hold\n\n" + "\n".join(text)


def _cost_model(report: Report) -> str:
    shape, rates = _shape(report), Rates.of(report["rates"])
    work, part = row_work(shape), row_parts(shape, rates)
    read, first, book = rates.read_bytes, rates.summary_bytes, rates.book_bytes
    bytes_of_row = work["row_bytes"]
    parts = [
        _part("reading, one pass", "8(d + p) bytes", bytes_of_row, read, "B", part["read"]),
        _part("first pass", "8(d + p) bytes", bytes_of_row, first, "B", part["summary"]),
        _part("book-keeping", "8(d + p) bytes", bytes_of_row, book, "B", part["book"]),
        _part(
            "X·W + b",
            "2(d + 1)Q flop",
            work["product_flops"],
            rates.product_flops,
            "flop",
            part["product"],
        ),
        _part("cosines", "Q", work["cosines"], rates.cosines, "", part["cosines"]),
        _part(
            "ΦᵀΦ",
            "(Q + p + 1)² flop",
            work["gram_flops"],
            rates.gram_flops,
            "flop",
            part["gram"],
        ),
    ]
    total = 2 * part["read"] + sum(each for name, each in part.items() if name != "read")
    return "\n\n".join(
        [
            "## What a row costs",
            f"d = {shape.inputs} inputs, Q = {shape.features} features, p = {shape.outputs} "
            f"output, K = {shape.folds} folds. Rates are those of one core while the others do "
            "the same, measured in the same run.",
            table(["part", "of a row", "amount", "rate of a core", "core-time of a row"], parts),
            "*First pass*: checks, counts and hashes of the rows, and the sample from which the "
            "basis is drawn. "
            "*Book-keeping*: checks, hashes, folds and gathers of the second pass. ΦᵀΦ takes "
            "(Q + p + 1)² operations, not twice that: BLAS multiplies and adds for one half of a "
            "symmetric matrix, and the target and a constant are two further columns. Rows are "
            f"read twice, so that a row takes {1e6 * total:.2f} µs of one core; "
            f"{100 * (part['gram'] + part['cosines'] + part['product']) / total:.0f} % of it are "
            "features and Gram product.",
            f"Moments of all folds are 8K(Q + p + 1)² bytes, {megabytes(moment_bytes(shape))}, "
            "however many rows there are. To choose λ takes K + 1 reductions to tridiagonal form "
            f"of 4/3·Q³ operations at {unit_text(rates.reduction_flops, 'flop/s')}, and "
            f"{seconds_text(rates.search_seconds)} for the search: "
            f"{seconds_text(tuning_seconds(shape, rates))} in all.",
            "Then, with *r*, *f*, *b*, *x* the core-times of reading, first pass, book-keeping, "
            "and of features with Gram product, and *c* cores:\n\n"
            "- one process: n·(max(r, f) + b + (r + x)/c) + tuning, since a thread reads ahead "
            "while another works, and book-keeping is the work of one;\n"
            "- a cluster of workers with one core each: n·(2r + f + b + x)/c, in whole rounds of "
            "blocks, + sums of moments + tuning;\n"
            f"- memory of one process: its libraries, ten chunks of {grouped(CHUNK_ROWS)} rows "
            "(four that wait or are worked on, three copies of one that is read, and three of "
            "one that is worked on), "
            f"{megabytes(BLOCK_BYTES)} of features for each thread, and c + 2 sets of moments;\n"
            "- memory of a worker: its libraries, four copies of a block, "
            f"{megabytes(BLOCK_BYTES)} of features, two sets of moments, and {FAN_IN + 1} results "
            "that are being added up;\n"
            f"- what is sent: a result of {megabytes(result_bytes(shape, report['task_rows']))} "
            f"for each block (moments, 4096 rows for intervals, the basis), of which {FAN_IN} are "
            "added by one task, and so on up a tree. If sums are made where most of their parts "
            f"are, at most {FAN_IN - 1} of {FAN_IN} are sent.",
        ]
    )


def _check(report: Report) -> str:
    shape, rates = _shape(report), Rates.of(report["rates"])
    cores = int(report["provenance"]["cores"])
    rows, errors, memory_errors = [], [], []
    for each in report["streamed"]:
        seconds = statistics.median(each["seconds"])
        modelled = one_process_seconds(shape, rates, each["rows"], cores)
        memory = one_process_memory(shape, each["base_bytes"], cores)
        errors.append(modelled / seconds - 1)
        memory_errors.append(memory / each["peak_bytes"] - 1)
        rows.append(
            [
                *_compared("one process", each["rows"], seconds, modelled),
                megabytes(each["peak_bytes"]),
                megabytes(memory),
                error_text(memory_errors[-1]),
            ]
        )
    for each in report["dask"]:
        seconds = statistics.median(each["seconds"])
        cost = cluster_cost(
            shape,
            rates,
            each["rows"],
            each["workers"],
            report["task_rows"],
            each["worker_base_bytes"],
        )
        errors.append(cost.seconds / seconds - 1)
        memory_errors.append(cost.worker_bytes / each["worker_peak_bytes"] - 1)
        rows.append(
            [
                *_compared("Dask", each["rows"], seconds, cost.seconds),
                megabytes(each["worker_peak_bytes"]),
                megabytes(cost.worker_bytes),
                error_text(memory_errors[-1]),
            ]
        )
    return "\n\n".join(
        [
            "## How well that fits",
            table(
                [
                    "fit",
                    "rows",
                    "time",
                    "by the model",
                    "error",
                    "peak memory",
                    "by the model",
                    "error",
                ],
                rows,
            ),
            f"No time is off by more than {most_text(errors)}, no memory by more than "
            f"{most_text(memory_errors)}{_one_sided(errors)}. No constant was fitted to these "
            "times: all rates were measured apart. What the libraries take was measured in the "
            "same processes.",
        ]
    )


def _one_sided(errors: Sequence[float]) -> str:
    """A word where a model errs to one side only."""
    if max(errors) < 0:
        return "; the model is always the faster one, for it counts no waiting"
    return "; the model is always the slower one" if min(errors) > 0 else ""


def _slower(report: Report) -> tuple[float, str]:
    """How much longer than the model the largest measured fit took, and which that was."""
    shape, rates = _shape(report), Rates.of(report["rates"])
    if report["dask"]:
        each = max(report["dask"], key=lambda fit: fit["rows"])
        modelled = cluster_cost(
            shape,
            rates,
            each["rows"],
            each["workers"],
            report["task_rows"],
            each["worker_base_bytes"],
        ).seconds
        which = "two Dask workers"
    else:
        each = max(report["streamed"], key=lambda fit: fit["rows"])
        cores = int(report["provenance"]["cores"])
        modelled = one_process_seconds(shape, rates, each["rows"], cores)
        which = "one process"
    ratio = statistics.median(each["seconds"]) / modelled
    return ratio, f"{which} with {count_text(each['rows'])} rows"


def _billion(report: Report) -> str:
    shape, rates = _shape(report), Rates.of(report["rates"])
    slower, which = _slower(report)
    largest = report["streamed"][-1]
    stored = largest["file_bytes"] / largest["rows"] / shape.row_bytes
    base = max(
        [each["worker_base_bytes"] for each in report["dask"]]
        or [each["base_bytes"] for each in report["streamed"]]
    )
    rows = []
    for cores in CLUSTERS:
        cost = cluster_cost(shape, rates, PREDICTED_ROWS, cores, report["task_rows"], base)
        rows.append(
            [
                str(cores),
                duration_text(slower * cost.seconds),
                rate_text(PREDICTED_ROWS / (slower * cost.seconds)),
                megabytes(cost.worker_bytes),
                gigabytes(cost.wire_bytes),
                gigabytes(stored * cost.read_bytes_per_second / slower) + "/s",
            ]
        )
    large = cluster_cost(shape, rates, PREDICTED_ROWS, 256, 4 * report["task_rows"], base)
    text = [
        "## 10⁹ rows",
        f"The same ensemble, predicted: workers of one core such as these, blocks of "
        f"{grouped(report['task_rows'])} rows, "
        f"{gigabytes(stored * PREDICTED_ROWS * shape.row_bytes)} of files that are read twice. "
        f"Times are {slower:.2f} times the model's, as that of {which} was.",
        table(
            ["cores", "time", "rows/s", "memory of a worker", "on the wire", "from storage"],
            rows,
        ),
        "*On the wire* is between workers and to the client, for the whole fit; *from storage* is "
        "what files must deliver so that cores do not wait. Larger blocks send less: of "
        f"{grouped(4 * report['task_rows'])} rows, 256 cores send "
        f"{gigabytes(large.wire_bytes)} and a worker needs {megabytes(large.worker_bytes)}. "
        f"{_tasks(report)}",
    ]
    if len(report["gpu"]) > 1:
        fixed, seconds, size = device_line(report["gpu"])
        text.append(
            f"On one {report['gpu'][0]['device']} 10⁹ rows would take "
            f"{duration_text(fixed + seconds * PREDICTED_ROWS)} by the line through the last two "
            f"rows of its table above, if they were on it: a fit takes {size:.0f} bytes of the "
            "device for each row, so that so many have to come in chunks, by `partial_fit`, and "
            "what brings them there is not counted."
        )
    return "\n\n".join(text)


def _tasks(report: Report) -> str:
    """What the scheduler takes, which is not in the table."""
    blocks = -(-PREDICTED_ROWS // report["task_rows"])
    tasks = 3 * 2 * blocks
    return (
        f"Dask's scheduler takes about a millisecond for each of {grouped(tasks)} tasks, "
        f"{duration_text(1e-3 * tasks)} in all: with many cores larger blocks are better."
    )


def _not_counted() -> str:
    return "\n".join(
        [
            "## What is not counted",
            "",
            "- The network: what is sent is given in bytes, not in seconds. Sums on the last "
            "levels of the tree wait for it.",
            "- Storage that delivers less than the cores read, and the first read of files that "
            "are not in the system's cache.",
            "- Slow workers: a round of blocks lasts as long as the slowest of its workers, and "
            "other users of the machines are not known.",
            "- Cores that share memory with many others may be slower than these, and processors "
            "with other vector units differ by factors: the rates above are those of the "
            "machine that is named, and the command at the top measures others.",
        ]
    )


def _shape(report: Report) -> Shape:
    return Shape(**report["shape"])


def _part(
    name: str, formula: str, amount: float, rate: float, unit: str, seconds: float
) -> list[str]:
    shown = f"{grouped(amount)} {unit}".strip()
    return [name, formula, shown, unit_text(rate, f"{unit}/s"), f"{1e6 * seconds:.2f} µs"]


def _compared(kind: str, n_rows: int, seconds: float, modelled: float) -> list[str]:
    return [
        kind,
        count_text(n_rows),
        seconds_text(seconds),
        seconds_text(modelled),
        error_text(modelled / seconds - 1),
    ]


def _others(tried: Sequence[Mapping[str, Any]]) -> str:
    """The range of each kind of cosine."""
    text = []
    for kind in ("polynomial", "numpy"):
        found = [each["rows_per_second"] for each in tried if each["cosine"] == kind]
        if found:
            text.append(
                f"by {_cosine(kind)} {rate_text(min(found))} to {rate_text(max(found))} rows/s"
                if len(found) > 1
                else f"by {_cosine(kind)} {rate_text(found[0])} rows/s"
            )
    return ", ".join(text)


def _cosine(kind: str) -> str:
    return "`numpy.cos`" if kind == "numpy" else "our polynomial"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    stored = Path("benchmarks/results/scale.json")
    parser.add_argument("--from", dest="stored", type=Path, default=stored)
    parser.add_argument("--page", type=Path, default=Path("docs/scale.md"))
    options = parser.parse_args()
    gpu = stored_device(options.stored.parent)
    report = with_device(json.loads(options.stored.read_text()), gpu)
    figures = options.page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    options.page.write_text(page(report), encoding="utf-8")
    scale_figure.draw(report, figures / "scale.svg")


if __name__ == "__main__":
    main()
