"""``python -m negcorr.demo``: fit, tune and report on data that ships with scikit-learn."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

from negcorr._typing import AnyArray
from negcorr.path import NCLPath
from negcorr.regressor import NCLRegressor

__all__ = ["draw_path", "main", "write_curves"]

# Okabe and Ito's palette: distinct for colour-blind readers too.
_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#7f7f7f"


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit on the diabetes data, print the summary, write the path as picture and numbers."""
    parser = argparse.ArgumentParser(prog="python -m negcorr.demo", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder to write to")
    out: Path = parser.parse_args(arguments).out
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    model = NCLRegressor(random_state=0, basis="fourier", gamma="kwok-tsang").fit(X_train, y_train)
    print(model.summary())
    _print_held_out(model, X_train, y_train, X_test, y_test)
    out.mkdir(parents=True, exist_ok=True)
    curves = model.path_.curves(np.logspace(0, -7, 71))
    write_curves(curves, out / "path.csv")
    figure = draw_path(model.path_, curves)
    figure.savefig(out / "path.png", dpi=160)
    print(f"\nWrote {out / 'path.png'} and {out / 'path.csv'}.")


def _print_held_out(
    model: NCLRegressor, X: AnyArray, y: AnyArray, X_test: AnyArray, y_test: AnyArray
) -> None:
    ridge = RidgeCV(alphas=np.logspace(-4, 4, 50)).fit(X, y)
    interval = model.predict_interval(X_test)
    inside = np.mean((y_test >= interval[:, 0]) & (y_test <= interval[:, 1]))
    rows = {
        "the mean": np.mean((y.mean() - y_test) ** 2),
        "RidgeCV on the inputs": np.mean((ridge.predict(X_test) - y_test) ** 2),
        "NCL, lam = 0 (members apart)": np.mean(
            (model.with_lam(0.0).predict(X_test) - y_test) ** 2
        ),
        "NCL, lam chosen by 5-fold": np.mean((model.predict(X_test) - y_test) ** 2),
        "NCL, gap 1e-6 (nearly one model)": np.mean(
            (model.with_lam(gap=1e-6).predict(X_test) - y_test) ** 2
        ),
    }
    print(f"\nRoot mean squared error on {len(y_test)} held-out rows:")
    for name, error in rows.items():
        print(f"  {name:<34}{np.sqrt(error):8.2f}")
    print(f"95 % intervals covered {inside:.1%} of them.")


def write_curves(curves: dict[str, AnyArray], path: Path) -> None:
    """Write a table of curves, as :meth:`negcorr.NCLPath.curves` gives it, to a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(curves)
        writer.writerows(
            [f"{value:.10g}" for value in row] for row in zip(*curves.values(), strict=True)
        )


def draw_path(path: NCLPath, curves: dict[str, AnyArray]) -> Any:
    """Draw errors and degrees of freedom against λ, the gap on a log axis, the choice marked.

    Parameters
    ----------
    path : NCLPath
        A fitted path of one output.
    curves : dict
        Its curves on a grid of gaps.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    gap = curves["gap"]
    noise = float(path.noise_variance[0])
    figure = Figure(figsize=(7.2, 5.6), layout="constrained")
    errors, freedom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    errors.plot(gap, curves["kfold"], color=_ORANGE, lw=2, label="held-out error, exact 5-fold")
    errors.plot(
        gap,
        curves["sure"] + noise,
        color=_GREEN,
        lw=2,
        ls="--",
        label="SURE + σ² (error at the training inputs)",
    )
    errors.plot(gap, curves["train_error"], color=_BLUE, lw=2, label="training error")
    top = 1.25 * max(curves["kfold"][0], curves["train_error"][0])
    errors.set(ylim=(0, top), ylabel="mean squared error")
    freedom.plot(gap, curves["dof"], color="black", lw=2)
    freedom.set(ylabel="degrees of freedom", xlabel="gap 1 − λ   (diversity is rewarded more →)")
    for axes in (errors, freedom):
        axes.axvline(path.chosen_gap[0], color=_GREY, lw=1, ls=":")
        axes.set(xscale="log", xlim=(gap.max(), gap.min()))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    freedom.annotate(
        f"chosen: λ = {path.lam:.3f}\n{path.dof():.1f} degrees of freedom",
        (path.chosen_gap[0], float(np.asarray(path.dof()))),
        xytext=(10, 62),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": _GREY, "relpos": (0.0, 0.0)},
    )
    errors.legend(frameon=False, loc="upper right")
    knob = errors.secondary_xaxis("top")
    decades = np.arange(int(-np.log10(gap.min())) + 1)
    knob.set_xticks(10.0**-decades, ["0"] + [f"0.{'9' * k}" if k < 5 else "" for k in decades[1:]])
    knob.set_xticks([], minor=True)
    knob.set_xlabel("λ")
    knob.spines["top"].set_visible(False)
    figure.suptitle("One factorisation, every λ: the diabetes data", fontsize="large")
    return figure


if __name__ == "__main__":
    main()
