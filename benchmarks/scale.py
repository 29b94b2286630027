"""Rows per second and memory of fits from files, beside what the bare products reach.

``python benchmarks/scale.py [--rows 1000000 10000000] [--dask]``: Parquet files with 10 inputs are
written once, and fitted with 50 members of 10 features each in a process of its own, whose peak
memory is measured. Beside it, on rows in memory: random Fourier features and their product ΦᵀΦ, and
nothing else. Wanted: under 1.2 GB, rows per second at 10 million within 20 % of those at 1 million,
and at least 60 % of the bare rate; two Dask workers at most 1.25 times the time of one process.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

INPUTS, MEMBERS, WIDTH = 10, 50, 10
GROUP = 1_000_000


def write_rows(folder: Path, n_rows: int) -> None:
    """Parquet files of a million rows each."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, GROUP)):
        path = folder / f"part-{number:04}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        X = rng.normal(size=(min(GROUP, n_rows - start), INPUTS))
        y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * rng.normal(size=len(X))
        columns = {f"x{j}": X[:, j] for j in range(INPUTS)} | {"y": y}
        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=250_000)


def model() -> Any:
    from negcorr import NCLRegressor

    return NCLRegressor(n_estimators=MEMBERS, n_components=WIDTH, random_state=0)


def streamed(folder: Path, n_rows: int) -> dict[str, Any]:
    from negcorr import scale

    before = perf_counter()
    fitted = scale.fit(model(), folder, target="y")
    read = perf_counter() - before
    lam = float(fitted.lam_)
    seconds = perf_counter() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "rows": n_rows,
        "seconds": seconds,
        "seconds_before_tuning": read,
        "rows_per_second": n_rows / seconds,
        "peak_bytes": peak,
        "lam": lam,
    }


def bare(n_rows: int) -> dict[str, Any]:
    """Features and their product, block by block, on all cores."""
    from negcorr.bases import FourierFeatures

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, INPUTS))
    basis = FourierFeatures(MEMBERS, WIDTH, random_state=0).fit(X[:1000])
    size, block = MEMBERS * WIDTH, 8192
    gram, features = np.zeros((size, size)), np.empty((block, size))
    before = perf_counter()
    for start in range(0, n_rows, block):
        rows = X[start : start + block]
        basis.fill(rows, features[: len(rows)])
        gram += features[: len(rows)].T @ features[: len(rows)]
    seconds = perf_counter() - before
    return {"rows": n_rows, "seconds": seconds, "rows_per_second": n_rows / seconds}


def on_dask(folder: Path, n_rows: int) -> dict[str, Any]:
    """Two worker processes of one thread each."""
    import dask.dataframe
    from distributed import Client, LocalCluster

    from negcorr import scale

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        frame = dask.dataframe.read_parquet(folder, split_row_groups=True)
        before = perf_counter()
        fitted = scale.fit(model(), frame, target="y")
        lam = float(fitted.lam_)
        seconds = perf_counter() - before
    return {"rows": n_rows, "seconds": seconds, "rows_per_second": n_rows / seconds, "lam": lam}


def apart(function: Any, *arguments: Any) -> dict[str, Any]:
    """In a new process, so that its memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: dict[str, Any] = pool.apply(function, arguments)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "negcorr-rows")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--dask", action="store_true")
    options = parser.parse_args()
    report: dict[str, Any] = {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "bare": apart(bare, 1_000_000),
        "streamed": [],
        "dask": [],
    }
    for n_rows in options.rows:
        folder = options.folder / str(n_rows)
        write_rows(folder, n_rows)
        report["streamed"].append(apart(streamed, folder, n_rows))
        if options.dask:
            report["dask"].append(on_dask(folder, n_rows))
    first, last = report["streamed"][0], report["streamed"][-1]
    report["last_over_first_rate"] = last["rows_per_second"] / first["rows_per_second"]
    report["share_of_bare"] = last["rows_per_second"] / report["bare"]["rows_per_second"]
    for part in (report["bare"], *report["streamed"], *report["dask"]):
        print({name: round(value, 3) for name, value in part.items()})
    print(f"rate at the last over the first: {report['last_over_first_rate']:.2f}")
    print(f"share of the bare rate: {report['share_of_bare']:.2f}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "scale.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
