"""What basis, number of features, members, criterion and λ do: the pictures of "Choosing".

    python benchmarks/accuracy/choosing.py [--sets housing abalone]
    python benchmarks/accuracy/choosing.py --draw      # the figure alone, from what is stored

Two folds of each data set, at most 4000 training rows; the error is the mean squared error on the
test rows over the variance of the target. Each panel changes one thing and leaves the rest at its
default, but for members and their width, which are shown for plain Fourier features: there they
decide where the path of λ begins.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from accuracy import DATA, arrays
from sklearn.model_selection import KFold

from negcorr import NCLRegressor
from negcorr.bases import AutoBasis, FourierFeatures
from negcorr.paper.figure_style import COLOURS, new_figure, save, style

SETS = ("machine", "housing", "jura", "energy", "abalone", "kinematics", "california")
FOLDS, MOST_ROWS = 2, 4000

#: Panels: what is on their axis, and the parameters of each of its values.
PANELS: dict[str, dict[str, dict[str, Any]]] = {
    "basis": {
        "auto": {},
        **{
            name: {"basis": AutoBasis(name)}
            for name in ("kernel", "nystroem", "fourier", "orthogonal", "linear", "trees")
        },
    },
    "budget": {str(n): {"basis": AutoBasis(budget=n)} for n in (250, 500, 1000, 2000, 4000)},
    "members × width (Fourier)": {
        f"{members}×{width}": {"basis": FourierFeatures(members, width)}
        for members, width in ((500, 2), (200, 5), (100, 10), (40, 25), (10, 100))
    },
    "criterion": {name: {"criterion": name} for name in ("kfold", "sure", "gcv", "aicc")},
}

#: Where the error is taken along the path.
GAPS = np.power(10.0, -np.arange(0.0, 8.25, 0.25))


def split(name: str, fold: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training inputs and targets, test inputs and targets; targets of unit variance."""
    X, y = arrays(name)
    train, test = list(KFold(5, shuffle=True, random_state=0).split(X))[fold]
    # At random: rows of a file may come in an order.
    train = np.random.default_rng(fold).permutation(train)[:MOST_ROWS]
    target = (y - y[train].mean(axis=0)) / y[train].std(axis=0)
    target = target[:, 0] if y.shape[1] == 1 else target
    return X[train], target[train], X[test], target[test]


def error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((model.predict(X) - y) ** 2))


def measured(name: str) -> dict[str, Any]:
    """Mean errors of every panel on one set, and those along the path of the default."""
    found: dict[str, Any] = {panel: {} for panel in PANELS}
    along, chosen = np.zeros(len(GAPS)), []
    for fold in range(FOLDS):
        X, y, new_X, new_y = split(name, fold)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for panel, values in PANELS.items():
                for label, parameters in values.items():
                    model = NCLRegressor(**parameters).fit(X, y)
                    so_far = found[panel].get(label, 0.0)
                    found[panel][label] = so_far + error(model, new_X, new_y) / FOLDS
            model = NCLRegressor().fit(X, y)
            moved = [model.with_lam(gap=float(gap)) for gap in GAPS]
            along += np.array([error(each, new_X, new_y) for each in moved]) / FOLDS
            chosen.append(error(model, new_X, new_y))
    return found | {"path": along.tolist(), "chosen": float(np.mean(chosen))}


def draw(found: Mapping[str, Mapping[str, Any]]) -> Any:
    """A panel for each thing that can be chosen, a line for each set."""
    from matplotlib.ticker import FixedLocator, NullLocator

    with style():
        figure = new_figure(9.0, 6.4)
        axes = figure.subplots(2, 3).ravel()
        for ax, panel in zip(axes, PANELS, strict=False):
            for at, (name, values) in enumerate(found.items()):
                heights = np.array([values[panel][label] for label in PANELS[panel]])
                line = "o" if panel == "basis" else "o-"
                ax.plot(heights / heights.min(), line, color=COLOURS[at], ms=4.5, label=name)
            ax.set_xticks(range(len(PANELS[panel])), list(PANELS[panel]), rotation=35, ha="right")
            ax.set_title(panel)
        for at, values in enumerate(found.values()):
            axes[4].plot(GAPS, np.array(values["path"]) / values["chosen"], color=COLOURS[at])
        axes[4].set_xscale("log")
        axes[4].invert_xaxis()
        axes[4].set_xlabel("gap = 1 − λ")
        axes[4].set_title("λ, over the one that was chosen")
        for ax in axes[:5]:
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(FixedLocator([0.9, 1, 1.2, 1.5, 2, 3, 5]))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_locator(NullLocator())
            top = min(ax.get_ylim()[1], 6.0)
            ax.set_ylim(0.93, max(top, 1.25))
        for ax in (axes[0], axes[3]):
            ax.set_ylabel("test error over the best of the panel")
        axes[5].set_axis_off()
        axes[5].legend(*axes[0].get_legend_handles_labels(), loc="center left", title="data set")
    return figure


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="SET")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/choosing.json"))
    parser.add_argument("--figure", type=Path, default=Path("docs/figures/choosing"))
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    if not DATA.exists() and not options.draw:
        raise SystemExit(f"there are no data sets in {DATA}; NEGCORR_DATA names their folder.")
    found = json.loads(options.out.read_text("utf-8")) if options.out.exists() else {}
    for name in () if options.draw else options.sets:
        found[name] = measured(name)
        options.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        print(f"{name}: {found[name]['chosen']:.4g}", flush=True)
    for path in save(draw(found), options.figure):
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
