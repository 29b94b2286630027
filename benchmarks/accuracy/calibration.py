"""Whether 30 probes lie within 3 reported standard errors of the exact degrees of freedom.

    python benchmarks/accuracy/calibration.py --out benchmarks/results

200 seeds for every kind of estimator with a closed form. Wanted are a share of at least 0.97 within
3 standard errors, and a root mean square of the reported errors within 15 % of the spread seen.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from negcorr import NCLRegressor, degrees_of_freedom, monte_carlo_dof
from negcorr.bases import FourierFeatures

ESTIMATORS = [
    LinearRegression(),
    Ridge(random_state=0),
    KernelRidge(kernel="rbf", alpha=0.5),
    KNeighborsRegressor(4),
    GaussianProcessRegressor(RBF(2.0) + WhiteKernel(0.5), optimizer=None, random_state=0),
    NCLRegressor(FourierFeatures(4, 4), lam=0.6),
    DummyRegressor(),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--seeds", type=int, default=200)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = X[:, 0] + rng.normal(size=40)
    settings = {"eps": 0.1, "scheme": "forward", "n_probes": 30}
    report = {}
    for estimator in ESTIMATORS:
        exact = degrees_of_freedom(estimator, X, y, method="exact").dof
        runs = [
            monte_carlo_dof(estimator, X, y, random_state=seed, **settings)
            for seed in range(options.seeds)
        ]
        dof, error = (np.array([getattr(r, name) for r in runs]) for name in ("dof", "std_error"))
        within = float((np.abs(dof - exact) <= 3.0 * error).mean())
        ratio = float(np.sqrt((error**2).mean()) / dof.std(ddof=1))
        holds = within >= 0.97 and abs(ratio - 1.0) <= 0.15
        name = type(estimator).__name__
        report[name] = {"exact": exact, "within": within, "ratio": ratio, "holds": holds}
        print(f"{name:25} within {within:.3f}, reported over seen {ratio:.3f}, holds: {holds}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "calibration.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
