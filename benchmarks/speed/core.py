"""Speed and memory of the core, as ratios measured side by side in one run.

``python benchmarks/speed/core.py --out benchmarks/results`` (or ``make bench``) on an idle machine.
Seconds depend on the machine and are printed for orientation only; the claims are ratios:

a  the whole SURE-tuned fit over the bare product ΦᵀΦ of ready-made features;
b  scikit-learn's RidgeCV with 50 alphas, in its fastest mode, over (a);
c  the default 5-fold fit over (a);
d  moving to another λ by ``with_lam`` over (a);
e  peak memory of a fit above its input, in MB;
f  the fit with twice the rows over (a);
g  the part of (a) in which the fit checks itself, over (a): the median of many fits.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn import __version__ as sklearn_version
from sklearn.linear_model import RidgeCV
from threadpoolctl import threadpool_info

import negcorr
import negcorr.ensemble.fit
import negcorr.ensemble.fitted
from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures

N_ROWS, N_INPUTS, N_MEMBERS, N_COMPONENTS = 20_640, 8, 100, 10
LIMITS = {"a": 1.7, "b": 10.0, "c": 3.0, "d": 0.03, "e": 150.0, "f": 2.3, "g": 0.01}
MEANING = {
    "a": "SURE-tuned fit / bare product of features",
    "b": "RidgeCV, 50 alphas / SURE-tuned fit",
    "c": "default 5-fold fit / SURE-tuned fit",
    "d": "with_lam / SURE-tuned fit",
    "e": "peak memory of the SURE-tuned fit above its input [MB]",
    "e_kfold": "peak memory of the default 5-fold fit above its input [MB]",
    "f": "fit with twice the rows / SURE-tuned fit",
    "g": "self-check within the SURE-tuned fit / that fit",
    "g_kfold": "self-check within the default 5-fold fit / that fit",
}


def make_data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and a noisy smooth target, the shape of the California housing data."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_INPUTS))
    mean = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.5 * X[:, 4]
    return X, mean + rng.normal(size=n_rows)


def regressor(criterion: str = "sure") -> NCLRegressor:
    return NCLRegressor(FourierFeatures(N_MEMBERS, N_COMPONENTS), criterion=criterion)


def best_of(repeats: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def share_of_self_check(repeats: int, fit: Callable[[], object]) -> float:
    """Median share of a fit's time in which it chooses its own rows and predicts them."""
    inside = [0.0]
    places = [(negcorr.ensemble.fit, "checked_rows"), (negcorr.ensemble.fitted, "checked")]
    known = [getattr(*place) for place in places]

    def timed(work: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object) -> object:
            start = time.perf_counter()
            answer = work(*given)
            inside[0] += time.perf_counter() - start
            return answer

        return call

    for place, work in zip(places, known, strict=True):
        setattr(*place, timed(work))
    shares = []
    for _ in range(repeats):
        inside[0], start = 0.0, time.perf_counter()
        fit()
        shares.append(inside[0] / (time.perf_counter() - start))
    for place, work in zip(places, known, strict=True):
        setattr(*place, work)
    return float(np.median(shares))


def fastest_ridge(features: np.ndarray, y: np.ndarray) -> tuple[float, str]:
    """Seconds of RidgeCV in its fastest mode, and the mode."""
    alphas = np.logspace(-6, 6, 50)
    modes = {
        "gcv_mode=auto": {"gcv_mode": "auto"},
        "gcv_mode=svd": {"gcv_mode": "svd"},
        "gcv_mode=eigen": {"gcv_mode": "eigen"},
    }
    if len(y) > 5_000:
        # The other side of the decomposition is an n×n matrix here.
        del modes["gcv_mode=eigen"]
    timed = {
        name: best_of(1, lambda options=options: RidgeCV(alphas, **options).fit(features, y))
        for name, options in modes.items()
    }
    name = min(timed, key=timed.__getitem__)
    return timed[name], name


def peak_memory(criterion: str) -> float:
    """Peak resident memory of one fit above what input and imports take, in a new process."""
    command = [sys.executable, __file__, "--measure-memory", criterion]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_memory(criterion: str) -> None:
    X, y = make_data(N_ROWS)
    # A tiny fit first: libraries load and threads take their buffers.
    NCLRegressor(FourierFeatures(3, 3), criterion=criterion).fit(X[:500], y[:500])
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = _status("VmRSS")
    regressor(criterion).fit(X, y)
    print((_status("VmHWM") - before) / 1024)


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in lines if line.startswith(field)).split()[1])


def measure(repeats: int) -> tuple[dict[str, float], dict[str, float], str]:
    X, y = make_data(N_ROWS)
    X_double, y_double = make_data(2 * N_ROWS)
    model = regressor().fit(X, y)
    features = model.basis_.transform(X)
    seconds = {
        "product": best_of(repeats, lambda: features.T @ features),
        "sure": best_of(repeats, lambda: regressor().fit(X, y)),
        "kfold": best_of(repeats, lambda: regressor("kfold").fit(X, y)),
        "with_lam": best_of(repeats, lambda: model.with_lam(0.5)),
        "double": best_of(repeats, lambda: regressor().fit(X_double, y_double)),
    }
    seconds["ridge"], mode = fastest_ridge(features, y)
    ratios = {
        "a": seconds["sure"] / seconds["product"],
        "b": seconds["ridge"] / seconds["sure"],
        "c": seconds["kfold"] / seconds["sure"],
        "d": seconds["with_lam"] / seconds["sure"],
        "f": seconds["double"] / seconds["sure"],
        "g": share_of_self_check(4 * repeats + 1, lambda: regressor().fit(X, y)),
        "g_kfold": share_of_self_check(2 * repeats + 1, lambda: regressor("kfold").fit(X, y)),
    }
    if sys.platform == "linux":
        ratios["e"] = peak_memory("sure")
        ratios["e_kfold"] = peak_memory("kfold")
    return dict(sorted(ratios.items())), seconds, mode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--measure-memory", choices=["sure", "kfold"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_memory:
        measure_memory(options.measure_memory)
        return
    ratios, seconds, mode = measure(options.repeats)
    for name, value in ratios.items():
        limit = LIMITS[name[0]]
        holds = value >= limit if name == "b" else value <= limit
        sign = ">=" if name == "b" else "<="
        print(f"{name:8} {MEANING[name]:58} {value:8.3f}  ({sign} {limit:g}: {holds})")
    print(
        f"RidgeCV mode: {mode}; seconds: " + ", ".join(f"{k} {v:.3f}" for k, v in seconds.items())
    )
    options.out.mkdir(parents=True, exist_ok=True)
    report = {
        "settings": {"n": N_ROWS, "d": N_INPUTS, "M": N_MEMBERS, "H": N_COMPONENTS},
        "ratios": ratios,
        "limits": LIMITS,
        "seconds": seconds,
        "ridge_mode": mode,
        "versions": {
            "negcorr": negcorr.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn_version,
            "python": platform.python_version(),
        },
        "blas": sorted({f"{i['internal_api']} {i['version']}" for i in threadpool_info()}),
    }
    (options.out / "core.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
