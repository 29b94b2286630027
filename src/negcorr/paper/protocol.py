r"""Preprocessing, folds, bandwidth and fits as in Sections 6 and 7 of the paper.

``"printed"`` does what the text says: targets and features of mean 0 and standard deviation 1 over
all rows, random Fourier features with the bandwidth of Kwok and Tsang, no intercept, λ in [0, 1].
``"paper"`` is a reconstruction of what the authors must have run: an inference from the numbers in
Table 1, not knowledge of their code. It differs in two points. λ is at most 0.99: the column shows
0.99 nine times and never 1.00. And γ = 1/(mean Euclidean distance between the *columns* of the
standardised training matrix), about n^(−1/2), as if a routine for pairwise distances had been given
the transposed data, and its result had not been squared.

Brent's method stops within 10⁻⁵ of where it is: under ``"printed"`` it comes no nearer to λ = 1
than about 4·10⁻⁶.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.model_selection import KFold

from negcorr._common.types import FloatArray, IntArray
from negcorr.bases import FourierFeatures
from negcorr.datasets import available, load
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.paper.setup import Setup

__all__ = [
    "FOLDS",
    "SIX_SETS",
    "Task",
    "bandwidth",
    "distance_between_columns_gamma",
    "fingerprint",
    "fit_ncl",
    "folds_of",
    "largest_lam",
    "prepared",
    "task",
]

#: Inputs (n, d) and targets (n, outputs) of a data set.
Data = tuple[FloatArray, FloatArray]

#: The path of a data set's file with its time and size; None if it is to be downloaded.
Source = tuple[str, int, int] | None

#: Number of outer folds, and of inner folds within a training set.
FOLDS = 5

#: The sets of Figures 1, 4, 5, 7 and 8, in the order of their panels.
SIX_SETS = ("machine", "california", "wisconsin", "housing", "triazines", "kinematics")


@dataclass(frozen=True, repr=False)
class Task:
    """The training and test rows of one outer fold of a data set.

    Attributes
    ----------
    name : str
        The data set.
    fold : int
        Which fold is held out.
    X, Y : ndarray of shape (n, d) and (n, outputs)
        Training rows.
    X_test, Y_test : ndarray
        Held-out rows.
    """

    name: str
    fold: int
    X: FloatArray
    Y: FloatArray
    X_test: FloatArray
    Y_test: FloatArray


def prepared(name: str, data_home: str | None, max_rows: int | None) -> Data:
    """Inputs (n, d) and targets (n, outputs) of mean 0 and standard deviation 1 over all rows.

    Constant columns become 0. At most ``max_rows`` rows are used, evenly spaced.
    """
    return _prepared(name, data_home, max_rows, _source(name, data_home))


def _source(name: str, data_home: str | None) -> Source:
    """A data set's file with its time and size; None if it is to be downloaded."""
    path = next(place.path for place in available(data_home) if place.name == name)
    status = None if path is None else path.stat()
    return None if status is None else (str(path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=2)
def _prepared(name: str, data_home: str | None, max_rows: int | None, source: Source) -> Data:
    """The prepared data; ``source`` changes with the content of the file."""
    X, y = load(name, data_home=data_home, return_X_y=True)
    Y = y.reshape(len(y), -1)
    if max_rows is not None and len(X) > max_rows:
        rows = np.linspace(0, len(X) - 1, max_rows).round().astype(int)
        X, Y = X[rows], Y[rows]
    return _standardised(X), _standardised(Y)


def _standardised(columns: FloatArray) -> FloatArray:
    # Not by the standard deviation: that of a constant is rounding if it has no short binary.
    varies = np.ptp(columns, axis=0) > 0
    centred = np.where(varies, columns - columns.mean(axis=0), 0.0)
    return np.asarray(centred / np.where(varies, columns.std(axis=0), 1.0))


def fingerprint(name: str, data_home: str | None, max_rows: int | None) -> str:
    """A hash of the prepared data."""
    return _fingerprint(name, data_home, max_rows, _source(name, data_home))


@lru_cache(maxsize=64)
def _fingerprint(name: str, data_home: str | None, max_rows: int | None, source: Source) -> str:
    digest = hashlib.sha256()
    for array in _prepared(name, data_home, max_rows, source):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def folds_of(n: int, setup: Setup, *labels: object) -> list[tuple[IntArray, IntArray]]:
    """Five folds of consecutive rows, or of shuffled ones."""
    seed = setup.seed_for("folds", *labels) if setup.shuffle else None
    splitter = KFold(FOLDS, shuffle=setup.shuffle, random_state=seed)
    return list(splitter.split(np.empty((n, 1))))


def task(setup: Setup, data_home: str | None, name: str, fold: int) -> Task:
    """Outer fold ``fold`` of a data set."""
    X, Y = prepared(name, data_home, setup.size.max_rows)
    train, test = folds_of(len(X), setup, name)[fold]
    return Task(name, fold, X[train], Y[train], X[test], Y[test])


def distance_between_columns_gamma(X: FloatArray) -> float:
    """1 / mean Euclidean distance between two columns of X: the bandwidth behind Table 1.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised training inputs, d ≥ 2.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.paper.protocol import distance_between_columns_gamma
    >>> distance_between_columns_gamma(np.array([[0.0, 3.0], [0.0, 4.0]]))
    0.2
    """
    return float(1.0 / pdist(X.T).mean())


def largest_lam(setup: Setup) -> float:
    """The upper end of Brent's interval: 0.99 to follow the paper's numbers, 1 its text."""
    return 0.99 if setup.protocol == "paper" else 1.0


def bandwidth(setup: Setup, X: FloatArray) -> float | str:
    """γ for training inputs X under a protocol, or the name of the heuristic that computes it."""
    return distance_between_columns_gamma(X) if setup.protocol == "paper" else "kwok-tsang"


def fit_ncl(setup: Setup, task: Task, width: int, solver: str = "qr") -> NCLRegressor:
    """The ensemble of a protocol fitted to a training set; ``path_`` has every λ.

    Parameters
    ----------
    setup : Setup
    task : Task
    width : int
        Features per member, H; there are Q/H members.
    solver : {"qr", "gram", "auto"}, default="qr"
        λ = 1 and gaps down to 10⁻²⁰ need the accurate route.
    """
    gamma, seed = bandwidth(setup, task.X), setup.seed_for("features", task.name, task.fold, width)
    basis = FourierFeatures(setup.members(width), width, gamma=gamma, inputs="none")
    inner = folds_of(len(task.X), setup, task.name, task.fold, "inner")
    return NCLRegressor(
        basis, fit_intercept=False, lam=0.5, cv=inner, solver=solver, random_state=seed
    ).fit(task.X, task.Y)
