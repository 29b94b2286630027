"""Rows per second and memory of fits from files, beside what the bare products reach.

    python benchmarks/scale/scale.py [--rows 100000 1000000 10000000]

On an idle machine. Parquet files of 10 inputs are written once, and fitted with 50 members of 10
features:

* by one process with all cores, in a process of its own for its peak memory;
* by a local Dask cluster of two worker processes with one thread each, in turn with one process;
* on a GPU, with ``--gpu``, where there is one: rows that are on the device already;
* bare: features and their Gram product of rows in memory, and nothing else, in the fastest of a few
  configurations (``scale_bare.py``), in turn with the fits.

Wanted: under 1.2 GB at 10⁷ rows, rows per second there at least 0.8 times those at 10⁶, at least
60 % of the bare rate, two Dask workers at most 1.25 times the time of one process. All is stored in
``scale.json``, from which ``docs/benchmark_pages/scale_page.py`` writes the page.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np
from scale_bare import Configuration, bare_seconds, configuration_rates, rates
from scale_limits import lines

INPUTS, MEMBERS, WIDTH = 10, 50, 10
ROWS = (100_000, 1_000_000, 10_000_000)
FILE_ROWS, GROUP_ROWS = 1_000_000, 250_000
BARE_ROWS = 1_000_000

#: As it was when this was started, and as every new process gets it.
ENVIRONMENT = dict(os.environ)

#: In the names of tasks whose results are moments, or looks at rows.
RESULTS = ("_worked_on", "_added")


def write_rows(folder: Path, n_rows: int, group_rows: int = GROUP_ROWS) -> None:
    """Parquet files of at most a million rows each."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        path = folder / f"part-{number:04}.parquet"
        if path.exists():
            continue
        X, y = made_rows(min(FILE_ROWS, n_rows - start), number)
        columns = {f"x{j}": X[:, j] for j in range(INPUTS)} | {"y": y}
        # Hidden until it is whole: a run that was stopped must not leave half a file behind.
        hidden = folder / f".{path.name}"
        pyarrow.parquet.write_table(pyarrow.table(columns), hidden, row_group_size=group_rows)
        hidden.rename(path)


def made_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, INPUTS))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * rng.normal(size=n_rows)


def model() -> Any:
    from negcorr import NCLRegressor
    from negcorr.bases import FourierFeatures

    return NCLRegressor(FourierFeatures(MEMBERS, WIDTH))


def streamed(folder: Path, n_rows: int) -> dict[str, Any]:
    """One fit with all cores; libraries are loaded by a small one before."""
    from negcorr import scale
    from negcorr._common.threads import blas_threads

    small = folder.parent / "small"
    scale.fit(model(), small, target="y").lam_  # noqa: B018
    base = memory("VmRSS")
    before = perf_counter()
    fitted = scale.fit(model(), folder, target="y")
    read = perf_counter() - before
    lam = float(fitted.lam_)
    seconds = perf_counter() - before
    if fitted.path_.spectrum.weight != n_rows:
        raise RuntimeError(f"{folder} holds {fitted.path_.spectrum.weight:.0f} rows: remove it.")
    return {
        "seconds": seconds,
        "tuning_seconds": seconds - read,
        "base_bytes": base,
        "peak_bytes": memory("VmHWM"),
        "lam": lam,
        "threads": blas_threads(),
    }


def bare(n_rows: int, how: Configuration, n_threads: int) -> dict[str, Any]:
    X = np.random.default_rng(0).normal(size=(n_rows, INPUTS))
    bare_seconds(X[:50_000], MEMBERS * WIDTH, how, n_threads)
    return {"seconds": bare_seconds(X, MEMBERS * WIDTH, how, n_threads)}


def on_gpu(n_rows: int, repeats: int) -> dict[str, Any]:
    """Fits of rows that are on the device, after one that warms up."""
    import torch
    from sklearn import config_context

    X, y = (torch.asarray(part, device="cuda") for part in made_rows(n_rows, 0))
    seconds = []
    with config_context(array_api_dispatch=True):
        for _ in range(1 + repeats):
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
            before = perf_counter()
            fitted = model().fit(X, y)
            lam = float(fitted.lam_)
            torch.cuda.synchronize()
            seconds.append(perf_counter() - before)
    return {
        "rows": n_rows,
        "seconds": seconds[1:],
        "rows_per_second": n_rows / statistics.median(seconds[1:]),
        "solver": fitted.path_.solver,
        "peak_device_bytes": torch.cuda.max_memory_allocated(),
        "device": torch.cuda.get_device_name(),
        "lam": lam,
    }


def memory(field: str) -> float:
    """VmRSS (now) or VmHWM (the most so far) of this process, in bytes.

    Not ``ru_maxrss``: that of a new process starts from what its parent had.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024.0 * float(next(line for line in lines if line.startswith(field)).split()[1])


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """In a new process, so that its memory is its own.

    Dask sets variables here for its workers, one thread of BLAS among them, and leaves them behind:
    the new process does not get them.
    """
    with (
        mock.patch.dict(os.environ, ENVIRONMENT, clear=True),
        multiprocessing.get_context("spawn").Pool(1) as pool,
    ):
        return pool.apply(function, arguments)


def against_bare(
    folder: Path, n_rows: int, how: Configuration, n_threads: int, repeats: int
) -> dict[str, Any]:
    """Bare loop and fit in turn."""
    bare_rows = min(n_rows, BARE_ROWS)
    bares, fits = [], []
    for _ in range(repeats):
        bares.append(apart(bare, bare_rows, how, n_threads))
        fits.append(apart(streamed, folder, n_rows))
    bare_rate = bare_rows / median(bares, "seconds")
    rate = n_rows / median(fits, "seconds")
    return {
        "rows": n_rows,
        "seconds": [fit["seconds"] for fit in fits],
        "tuning_seconds": [fit["tuning_seconds"] for fit in fits],
        "rows_per_second": rate,
        "bare_rows_per_second": bare_rate,
        "share_of_bare": rate / bare_rate,
        "peak_bytes": max(fit["peak_bytes"] for fit in fits),
        "base_bytes": median(fits, "base_bytes"),
        "threads": fits[-1]["threads"],
        "file_bytes": sum(path.stat().st_size for path in folder.glob("*.parquet")),
        "lam": fits[-1]["lam"],
    }


def median(parts: list[dict[str, Any]], name: str) -> float:
    return float(statistics.median(part[name] for part in parts))


def against_dask(folder: Path, n_rows: int, repeats: int) -> dict[str, Any]:
    """One process with all cores and two workers with one thread each, in turn."""
    import dask.dataframe
    from distributed import Client, LocalCluster

    from negcorr import scale

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):

        def fit(source: Path) -> Any:
            frame = dask.dataframe.read_parquet(source, split_row_groups=True)
            return float(scale.fit(model(), frame, target="y").lam_)

        fit(folder.parent / "small")
        bases = client.run(memory, "VmRSS").values()
        alone, together, travelled = [], [], []
        for _ in range(repeats):
            alone.append(apart(streamed, folder, n_rows))
            known = sum(client.run(received).values())
            before = perf_counter()
            lam = fit(folder)
            together.append(perf_counter() - before)
            travelled.append(sum(client.run(received).values()) - known)
        peaks = client.run(memory, "VmHWM").values()
        frame = dask.dataframe.read_parquet(folder, split_row_groups=True)
    seconds, single = statistics.median(together), median(alone, "seconds")
    return {
        "rows": n_rows,
        "seconds": together,
        "one_process_seconds": [part["seconds"] for part in alone],
        "one_process_threads": alone[-1]["threads"],
        "ratio": seconds / single,
        "workers": 2,
        "tasks": frame.npartitions,
        "worker_peak_bytes": max(peaks),
        "worker_base_bytes": max(bases),
        "travelled_results": max(travelled),
        "lam": lam,
    }


def received(dask_worker: Any) -> int:
    """Results of blocks, and sums of them, that a worker has got from others so far.

    Not bytes: Dask's own count of them does not look into objects.
    """
    keys = [str(key) for entry in dask_worker.transfer_incoming_log for key in entry["keys"]]
    return sum(any(name in key for name in RESULTS) for key in keys)


_meeting: Any = None


def _set_meeting(barrier: Any) -> None:
    global _meeting
    _meeting = barrier


def _rates(folder: Path) -> dict[str, float]:
    return rates(folder, INPUTS, MEMBERS, WIDTH, _meeting.wait)


def rates_per_core(folder: Path, cores: int) -> dict[str, float]:
    """Rates of one core while the others do the same: one process for each."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(cores, _set_meeting, (context.Barrier(cores),)) as pool:
        found = pool.map(_rates, [folder] * cores, chunksize=1)
    return {name: median(found, name) for name in found[0]}


def provenance(options: argparse.Namespace, cores: int) -> dict[str, Any]:
    """What ran where; no names of machines or folders."""
    from threadpoolctl import threadpool_info

    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    packages = ["negcorr", "numpy", "scipy", "scikit-learn", "pyarrow"]
    if options.dask:
        packages += ["dask", "distributed"]
    return {
        "command": command(options),
        "cores": cores,
        "cpu": names[0] if names else platform.machine(),
        "python": platform.python_version(),
        "packages": {name: package_version(name) for name in packages},
        "blas": sorted(
            {
                f"{each['internal_api']} {each['version']} ({each.get('architecture', '?')})"
                for each in threadpool_info()
                if each["user_api"] == "blas"
            }
        ),
    }


def package_version(name: str) -> str:
    if name == "negcorr":  # a checkout need not be installed
        import negcorr

        return negcorr.__version__
    return version(name)


def command(options: argparse.Namespace) -> str:
    words = ["python benchmarks/scale/scale.py", "--rows", *map(str, options.rows)]
    words += ["--repeats", str(options.repeats)]
    if options.dask and tuple(options.dask_rows) != tuple(dask_rows(options.rows)):
        words += ["--dask-rows", *map(str, options.dask_rows)]
    words += [] if options.dask else ["--no-dask"]
    return " ".join(words + ["--gpu"] * options.gpu)


def dask_rows(rows: list[int]) -> list[int]:
    """The numbers of rows at which Dask is compared unless others are asked for."""
    return [n for n in rows if n == 1_000_000] or [max(rows)]


def measured(options: argparse.Namespace) -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0))
    report: dict[str, Any] = {
        "provenance": provenance(options, cores),
        "shape": {"inputs": INPUTS, "members": MEMBERS, "width": WIDTH, "outputs": 1, "folds": 5},
        "task_rows": GROUP_ROWS,
    }
    write_rows(options.folder / "small", 40_000, group_rows=10_000)
    for n_rows in {*options.rows, *options.dask_rows}:
        write_rows(options.folder / str(n_rows), n_rows)
    largest = options.folder / str(max(options.rows))
    tried = apart(configuration_rates, 200_000, INPUTS, MEMBERS * WIDTH, cores, 2)
    best = max(tried, key=lambda each: each["rows_per_second"])
    report["bare"] = {"configurations": tried, "fastest": best}
    print(f"bare loop, fastest of {len(tried)}: {best}")
    how = Configuration(best["cosine"], best["rows_in_cache"], best["rows_per_block"])
    report["rates"] = rates_per_core(largest, cores)
    print("one core per second:", {k: float(f"{v:.3g}") for k, v in report["rates"].items()})
    report["streamed"] = []
    for n_rows in options.rows:
        folder = options.folder / str(n_rows)
        found = against_bare(folder, n_rows, how, cores, options.repeats)
        report["streamed"].append(found)
        print(
            f"{n_rows} rows: {found['rows_per_second']:.0f} per second, "
            f"{found['share_of_bare']:.0%} of the bare rate, "
            f"{found['peak_bytes'] / 1e6:.0f} MB at most"
        )
    report["dask"] = []
    for n_rows in options.dask_rows if options.dask else ():
        found = against_dask(options.folder / str(n_rows), n_rows, options.repeats)
        report["dask"].append(found)
        print(
            f"{n_rows} rows on two Dask workers: {found['ratio']:.2f} times one process, "
            f"{found['worker_peak_bytes'] / 1e6:.0f} MB at most"
        )
    report["gpu"] = gpu_fits(options) if options.gpu else []
    return report


def gpu_fits(options: argparse.Namespace) -> list[dict[str, Any]]:
    ENVIRONMENT["SCIPY_ARRAY_API"] = "1"  # SciPy looks at it when a new process imports it
    if not apart(has_gpu):
        print("GPU: left out, PyTorch finds none here")
        return []
    found = [apart(on_gpu, n_rows, options.repeats) for n_rows in options.rows]
    for each in found:
        print(f"{each['rows']} rows on {each['device']}: {each['rows_per_second']:.0f} rows/s")
    return found


def has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def rounded(value: Any) -> Any:
    """Six digits of every number: what is measured has no more."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=3, help="rounds, of which medians are taken")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(tempfile.gettempdir()) / "negcorr-rows",
        help="where the files of rows are, or are to be written",
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--dask", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--dask-rows", type=int, nargs="+", help="10⁶ by default")
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    options.rows = sorted(options.rows)
    options.dask_rows = options.dask_rows or dask_rows(options.rows)
    return options


def main() -> None:
    options = parsed()
    report = rounded(measured(options))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "scale.json").write_text(json.dumps(report, indent=1) + "\n")
    for line in lines(report):
        print(line.printed)


if __name__ == "__main__":
    main()
