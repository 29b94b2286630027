"""Whether a power transform of the target helps where targets have long tails.

    python benchmarks/long_tails.py [--sets machine electrical]

Five folds of each data set. Squared errors on test rows over the variance of the target, of
``NCLRegressor()`` fitted to the target as it is and to its Yeo-Johnson transform, and the
difference in standard errors over folds.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from accuracy import FOLDS, SETS, arrays
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import KFold
from sklearn.preprocessing import PowerTransformer

from negcorr import NCLRegressor

#: Sets that take seconds.
SMALL = SETS[:12]


def errors(name: str) -> np.ndarray:
    """Of both ways, for every fold, shape (2, folds)."""
    X, y = arrays(name)
    found = np.empty((2, FOLDS))
    for fold, (train, test) in enumerate(KFold(FOLDS, shuffle=True, random_state=0).split(X)):
        target = (y - y[train].mean(axis=0)) / y[train].std(axis=0)
        plain = NCLRegressor(random_state=0)
        moved = TransformedTargetRegressor(
            NCLRegressor(random_state=0), transformer=PowerTransformer()
        )
        for number, model in enumerate((plain, moved)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                guess = model.fit(X[train], target[train]).predict(X[test])
            # Beyond what the transform has seen its inverse is not defined.
            guess = np.where(np.isnan(guess), target[train].max(axis=0), guess)
            found[number, fold] = np.mean((guess.reshape(target[test].shape) - target[test]) ** 2)
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SMALL), metavar="SET")
    options = parser.parse_args(arguments)
    print(f"{'data set':12} {'as it is':>9} {'moved':>9} {'difference / standard error':>28}")
    for name in options.sets:
        plain, moved = errors(name)
        difference = moved - plain
        error = difference.std(ddof=1) / np.sqrt(FOLDS)
        print(
            f"{name:12} {plain.mean():9.4f} {moved.mean():9.4f} {difference.mean() / error:28.1f}"
        )


if __name__ == "__main__":
    main()
