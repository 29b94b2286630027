"""What degrees of freedom cost and what they show, counted in fits rather than seconds.

``python benchmarks/speed/dof.py --out benchmarks/results`` (or ``make bench``) prints and stores:

deflation  fits that plain probes take over fits with deflation, at the same standard error;
search     true error of what SURESearch chose over the best on the grid, and its fits over
           those of 5-fold cross-validation;
random_x   fixed-X and random-X degrees of freedom of NCL ensembles on data sets of the paper,
           read from ``$NEGCORR_DATA`` or ``../shared/data`` and left out where absent.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import __version__ as sklearn_version
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import negcorr
from negcorr import NCLRegressor, SURESearch, monte_carlo_dof, random_x_dof

DATA = Path(os.environ.get("NEGCORR_DATA", Path(__file__).parents[3] / "shared" / "data"))
GRID = {"alpha": np.logspace(-3, 1, 5), "gamma": np.logspace(-1.5, 0.5, 5)}


def deflation(target_std_error: float, seeds: int = 5) -> dict[str, float]:
    """Ridge on 1000 samples whose singular values fall as 1/k, mean over seeds."""
    rng = np.random.default_rng(0)
    left = np.linalg.qr(rng.normal(size=(1000, 100)))[0]
    X = left / np.arange(1, 101)
    y = left[:, 0] + 0.1 * rng.normal(size=1000)
    ridge = Ridge(alpha=1e-2, fit_intercept=False)
    options = {"eps": 0.1, "target_std_error": target_std_error, "max_fits": 100_000}
    fits = np.array(
        [
            [
                monte_carlo_dof(
                    ridge, X, y, linear=False, scheme="forward", random_state=seed, **options
                ).n_fits,
                monte_carlo_dof(ridge, X, y, random_state=seed, **options).n_fits,
            ]
            for seed in range(seeds)
        ]
    )
    plain, deflated = fits.mean(axis=0)
    return {"plain": plain, "deflated": deflated, "ratio": plain / deflated}


def search(repetitions: int = 50) -> dict[str, float]:
    """Kernel ridge on simulated data with known noise."""
    grid_size = len(GRID["alpha"]) * len(GRID["gamma"])
    ratios: dict[str, list[float]] = {"exact": [], "monte_carlo": [], "five_fold": []}
    fits: dict[str, int] = {"five_fold": 5 * grid_size}
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, size=(400, 2))
        truth = np.sin(3 * X[:, 0]) * np.cos(3 * X[:, 1]) + X[:, 0]
        y = truth + 0.3 * rng.normal(size=400)
        error = {
            (alpha, gamma): np.mean(
                (KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma).fit(X, y).predict(X) - truth)
                ** 2
            )
            for alpha in GRID["alpha"]
            for gamma in GRID["gamma"]
        }
        searches: dict[str, Any] = {
            "exact": SURESearch(KernelRidge(kernel="rbf"), GRID, noise_variance=0.09),
            "monte_carlo": SURESearch(
                KernelRidge(kernel="rbf"),
                GRID,
                noise_variance=0.09,
                method="monte-carlo",
                random_state=seed,
            ),
            "five_fold": GridSearchCV(
                KernelRidge(kernel="rbf"), GRID, scoring="neg_mean_squared_error"
            ),
        }
        for name, searcher in searches.items():
            chosen = searcher.fit(X, y).best_params_
            ratios[name].append(error[chosen["alpha"], chosen["gamma"]] / min(error.values()))
            if name != "five_fold":
                fits[name] = searcher.n_fits_
    report = {f"{name}_error_over_best": float(np.mean(r)) for name, r in ratios.items()}
    return {**report, **{f"{name}_fits": count for name, count in fits.items()}}


def random_x(n_rows: int = 3000) -> list[dict[str, Any]]:
    """NCL ensembles at growing λ, on a set whose inputs have heavy tails and one without."""
    if not DATA.is_dir():
        print(f"no data sets at {DATA}: random_x is left out")
        return []
    import pandas as pd

    entries = {entry["name"]: entry for entry in json.loads((DATA / "datasets.json").read_text())}
    table = []
    for name in ("california", "kinematics"):
        frame = pd.read_csv(DATA / entries[name]["file"])
        rows = np.random.default_rng(0).permutation(len(frame))[:n_rows]
        y = frame[entries[name]["targets"]].to_numpy(dtype=float)[rows, 0]
        X = frame.drop(columns=entries[name]["targets"]).to_numpy(dtype=float)[rows]
        for gap in (1e-2, 1e-4, 1e-6):
            model = NCLRegressor("fourier", gap=gap)
            found = random_x_dof(model, X, y, cv=5, noise_variance="difference", random_state=0)
            table.append(
                {
                    "data": name,
                    "gap": gap,
                    "fixed_x": found.fixed_x,
                    "intrinsic": found.intrinsic,
                    "predictive": found.predictive,
                    "emergent": found.emergent,
                }
            )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    report: dict[str, Any] = {
        "deflation": {str(target): deflation(target) for target in (0.5, 0.25, 0.1)},
        "search": search(),
        "random_x": random_x(),
    }
    for target, found in report["deflation"].items():
        print(
            f"deflation, standard error {target}: {found['plain']:.0f} fits plain, "
            f"{found['deflated']:.0f} deflated, ratio {found['ratio']:.2f}"
        )
    for name, value in report["search"].items():
        print(f"search, {name}: {value:.4g}")
    for row in report["random_x"]:
        print(
            f"random X, {row['data']}, gap {row['gap']:g}: fixed-X {row['fixed_x']:.0f}, "
            f"intrinsic {row['intrinsic']:.0f}, predictive {row['predictive']:.0f}, "
            f"emergent {row['emergent']:.0f}"
        )
    report["versions"] = {
        "negcorr": negcorr.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn_version,
        "python": platform.python_version(),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "dof.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
