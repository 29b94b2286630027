r"""Which columns matter: a length scale for each of them, by marginal likelihood.

With rows as draws of a Gaussian process whose kernel is :math:`\exp(-\sum_j \theta_j \delta_j)`,
δ_j the distance along column j (squared for the Gaussian kernel), the θ that make the targets most
likely are large for columns along which targets change, and small for those that do not matter
(automatic relevance determination; Rasmussen and Williams 2006, section 5.1). Columns are then
stretched accordingly and features drawn from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from negcorr._common.lapack import inverse_from_upper
from negcorr._common.threads import stop_if_abandoned
from negcorr._common.types import FloatArray, IntArray

__all__ = ["Relevance", "learn_relevance"]

#: Precision of the prior on log θ about their common level: it limits the θ if there are many
#: columns.
PRIOR = 0.5

#: Widths of the priors on the common level, and on log noise about e⁻⁴; weak ones.
LEVEL_PRIOR, NOISE_PRIOR, NOISE_CENTRE = 0.1, 0.02, -4.0

#: Least and largest log θ about the common level, common level, and log noise.
BOUNDS = ((-6.0, 3.0), (-4.0, 4.0), (float(np.log(1e-4)), float(np.log(30.0))))

#: Largest weight of a row: larger ones would amplify the rounding of distances.
MOST_MASS = 10.0

#: Distances along all columns that are held, eight bytes each.
MOST_DISTANCES = 32_000_000

#: The search ends when a step gains less than this share.
TOLERANCE = 1e-4

#: With fewer rows than this no relevance is learnt.
FEWEST_ROWS = 10

#: Decimals of a relevance and of the logarithms, and digits of a bandwidth.
DECIMALS, DIGITS = 4, 4

#: Bits that the search sees: of the value per row below one, and of the gradient below its largest
#: entry. A search amplifies the rounding of its values from step to step, in which processors
#: differ; without their last bits its steps are the same.
VALUE_BITS, SLOPE_BITS = 26, 16


@dataclass(frozen=True)
class Relevance:
    """Learnt factors of the columns, and the bandwidth for the multiplied columns.

    Attributes
    ----------
    columns : ndarray of shape (d,)
        What columns are multiplied by, at most 1.
    gamma : float
        Bandwidth for columns that were multiplied so.
    logs : ndarray of shape (d + 2,)
        Log θ about their common level, that level, and log noise: a later search can start there.
    """

    columns: FloatArray
    gamma: float
    logs: FloatArray


def learn_relevance(
    rows: FloatArray,
    target: FloatArray,
    kernel: str,
    weight: FloatArray | None = None,
    start: FloatArray | None = None,
    n_steps: int = 25,
) -> Relevance | None:
    """Scales of the columns by marginal likelihood, outputs sharing them.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Inputs, mapped (:mod:`negcorr.bases.input_maps`); the first of them if they are too many.
    target : ndarray of shape (n, outputs)
        Targets of comparable size.
    kernel : {"rbf", "laplacian"}
        Kernel of the process.
    weight : ndarray of shape (n,), optional
        Frequencies: a row that stands for w of them has a w-th of the noise.
    start : ndarray of shape (d + 2,), optional
        ``logs`` to begin at; all columns alike if None.
    n_steps : int, default=25
        Most steps of the search (L-BFGS).

    Returns
    -------
    Relevance or None
        None where there is nothing to learn: fewer than two columns that vary, constant targets,
        or more columns than there is memory for.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.selection.relevance import learn_relevance
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = learn_relevance(X, np.sin(2 * X[:, :1]), "laplacian")
    >>> bool(found.columns[0] == 1.0 and found.columns[1] < 0.2)
    True
    """
    n_rows = min(len(rows), int(np.sqrt(2.0 * MOST_DISTANCES / rows.shape[1])))
    rows, target = rows[:n_rows], target[:n_rows]
    varies = np.ptp(rows, axis=0) > 0
    if n_rows < FEWEST_ROWS or varies.sum() < 2 or not np.ptp(target, axis=0).any():
        return None
    mass = np.ones(n_rows) if weight is None else weight[:n_rows] / weight[:n_rows].mean()
    mass = np.minimum(mass, MOST_MASS)
    unit = float(np.max(np.ptp(rows, axis=0)))
    process = _Process.of(rows / unit, target - mass @ target / mass.sum(), kernel, mass)
    found = minimize(
        process.coarse,
        process.start if start is None else start,
        jac=True,
        method="L-BFGS-B",
        bounds=[BOUNDS[0]] * rows.shape[1] + list(BOUNDS[1:]),
        options={"maxiter": n_steps, "ftol": TOLERANCE},
    )
    logs = np.round(found.x, DECIMALS)
    scales = np.where(varies, np.exp(logs[:-2]), 0.0)
    largest = float(scales.max())
    relative = scales / largest if kernel == "laplacian" else np.sqrt(scales / largest)
    gamma = largest * float(np.exp(process.level + logs[-2])) / unit
    gamma = gamma if kernel == "laplacian" else gamma / unit
    # Landmarks are drawn by the content of rows, which no rounding of sums may change.
    columns = np.maximum(np.round(relative, DECIMALS), 10.0**-DECIMALS)
    return Relevance(columns, float(f"{gamma:.{DIGITS}g}"), logs)


@dataclass(frozen=True)
class _Process:
    """A Gaussian process over the rows, with the size of its targets profiled out.

    ``distances`` are those along each column between all pairs of rows, ``pairs`` where these
    stand in a square matrix, ``level`` the logarithm of one over their mean sum.
    """

    distances: FloatArray
    pairs: tuple[IntArray, IntArray]
    target: FloatArray
    mass: FloatArray
    level: float

    @classmethod
    def of(cls, rows: FloatArray, target: FloatArray, kernel: str, mass: FloatArray) -> _Process:
        pairs = np.triu_indices(len(rows), 1)
        distances = np.empty((rows.shape[1], len(pairs[0])), dtype=np.float64)
        for along, column in zip(distances, rows.T, strict=True):
            difference = column[pairs[0]] - column[pairs[1]]
            along[:] = np.abs(difference) if kernel == "laplacian" else difference**2
        mean = float(np.mean(distances, axis=1).sum())
        return cls(distances, (pairs[0], pairs[1]), target, mass, -float(np.log(mean)))

    @property
    def start(self) -> FloatArray:
        """All columns alike, at the bandwidth of Kwok and Tsang, with a tenth of noise."""
        return np.append(np.zeros(len(self.distances) + 1), np.log(0.1))

    def coarse(self, logs: FloatArray) -> tuple[float, FloatArray]:
        """The negative log posterior and its gradient, without their last bits."""
        value, slopes = self.negative_log_posterior(logs)
        unit = len(self.target) * 2.0**-VALUE_BITS
        _, exponent = np.frexp(np.max(np.abs(slopes)))
        least = np.ldexp(1.0, int(exponent) - SLOPE_BITS)
        return unit * float(np.round(value / unit)), least * np.round(slopes / least)

    def negative_log_posterior(self, logs: FloatArray) -> tuple[float, FloatArray]:
        """Its value, per output, and its gradient in the logarithms."""
        stop_if_abandoned()
        n, outputs = self.target.shape
        theta = np.exp(self.level + logs[-2] + logs[:-2])
        noise = float(np.exp(logs[-1])) / self.mass
        values = np.exp(-(theta @ self.distances))
        covariance = np.empty((n, n))
        covariance[self.pairs] = values
        covariance.T[self.pairs] = values
        covariance[np.diag_indices(n)] = 1.0 + noise
        # NumPy's lower factor is LAPACK's upper one, transposed.
        upper = np.asarray(np.linalg.cholesky(covariance).T, dtype=np.float64)
        solved, _ = lapack.dpotrs(upper, self.target)
        diagonal = np.log(np.diagonal(upper)).sum()
        inverse_from_upper(upper)  # in place of the factor
        size = max(float(np.sum(solved * self.target)) / (n * outputs), 1e-300)
        value = 0.5 * n * np.log(size) + float(diagonal)
        slopes = 0.5 * (upper - solved @ solved.T / (size * outputs))
        # Each pair stands twice in the square.
        along = -2.0 * theta * (self.distances @ (slopes[self.pairs] * values))
        gradient = np.concatenate(
            [along, [along.sum()], [float(np.diagonal(slopes) @ noise)]], dtype=np.float64
        )
        priors = np.concatenate([np.full(len(theta), PRIOR), [LEVEL_PRIOR, NOISE_PRIOR]])
        about = logs - np.append(np.zeros(len(theta) + 1), NOISE_CENTRE)
        return value + 0.5 * float(priors @ about**2), gradient + priors * about
