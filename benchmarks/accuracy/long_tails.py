"""Whether a power transform of the target, or Huber's loss, helps where targets have long tails.

    python benchmarks/accuracy/long_tails.py [--sets machine electrical]

Five folds of each data set. Squared errors on test rows over the variance of the target, of
``NCLRegressor()`` fitted to the target as it is, to its Yeo-Johnson transform, and with
``loss="huber"``; and the differences of these two from the first, in standard errors over folds.
The last line has the means of the logarithms of the ratios of errors, as percentages.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from accuracy import FOLDS, SETS, arrays
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import KFold
from sklearn.preprocessing import PowerTransformer

from negcorr import NCLRegressor

#: Sets that take seconds.
SMALL = SETS[:12]


def candidates() -> dict[str, Any]:
    """What is compared, the plain one first."""
    plain = NCLRegressor()
    return {
        "as it is": plain,
        "moved": TransformedTargetRegressor(clone(plain), transformer=PowerTransformer()),
        "huber": NCLRegressor(loss="huber"),
    }


def errors(name: str) -> np.ndarray:
    """Of all candidates, for every fold, shape (candidates, folds)."""
    X, y = arrays(name)
    found = np.empty((len(candidates()), FOLDS))
    for fold, (train, test) in enumerate(KFold(FOLDS, shuffle=True, random_state=0).split(X)):
        target = (y - y[train].mean(axis=0)) / y[train].std(axis=0)
        for number, model in enumerate(candidates().values()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                guess = model.fit(X[train], target[train]).predict(X[test])
            # Beyond what the transform has seen its inverse is not defined.
            guess = np.where(np.isnan(guess), target[train].max(axis=0), guess)
            found[number, fold] = np.mean((guess.reshape(target[test].shape) - target[test]) ** 2)
    return found


def in_standard_errors(difference: np.ndarray) -> float:
    """A mean over folds."""
    return float(difference.mean() / (difference.std(ddof=1) / np.sqrt(FOLDS)))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SMALL), metavar="SET")
    options = parser.parse_args(arguments)
    heads = "".join(f"{name:>10}" for name in candidates())
    print(f"{'data set':12}{heads}   moved / se   huber / se")
    ratios = []
    for name in options.sets:
        found = errors(name)
        plain, *others = found
        means = "".join(f"{mean:10.4f}" for mean in found.mean(axis=1))
        apart = "".join(f"{in_standard_errors(other - plain):13.1f}" for other in others)
        print(f"{name:12}{means}{apart}", flush=True)
        ratios.append(np.log(found.mean(axis=1) / plain.mean()))
    percent = 100 * np.expm1(np.mean(ratios, axis=0))
    print(f"{'together':12}" + "".join(f"{value:+9.1f}%" for value in percent))


if __name__ == "__main__":
    main()
