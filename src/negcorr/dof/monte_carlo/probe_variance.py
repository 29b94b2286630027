r"""The variance of a probe's value, from the images J b rather than from the values bᵀ J b.

The sample variance of a few values has a large error of its own, which is correlated with their
mean: low values are close together, above all where J has few directions. For a fit that averages
y the values are χ² of one degree, and 30 of them miss 3 standard errors in one run of 25.
For a fixed J

.. math:: \operatorname{Var}(b^\top J b) = \lVert J \rVert_F^2 + \operatorname{tr} J^2

with Gaussian entries, and with signs the same for J without its diagonal, which does not vary
there (Avron and Toledo 2011). Both terms have unbiased estimates from the images J b, which every
probe has: ‖J b‖², and b₁ᵀ J b₂ · b₂ᵀ J b₁ for two probes. The second is averaged over all pairs
of a few probes, so its error is small.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from negcorr._common.types import FloatArray

__all__ = ["Spread", "sample_deviation", "variance_from_images"]

#: Probes whose pairs are formed; no more images are in memory at once.
AT_ONCE = 16


def sample_deviation(values: FloatArray) -> FloatArray:
    """Standard deviation between probes, shape (outputs,); NaN for one probe, which has none."""
    if len(values) == 1:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1))


def variance_from_images(vectors: FloatArray, images: FloatArray, signs: bool) -> FloatArray:
    r"""Estimate Var(bᵀ J b) as ‖J‖²_F + tr J², J without its diagonal where entries are signs.

    Parameters
    ----------
    vectors, images : ndarray of shape (probes, n, outputs)
        Directions b and J b, at least two of them.
    signs : bool
        Whether entries of b are ±1; else they are Gaussian.

    Returns
    -------
    ndarray of shape (outputs,)
        Unbiased. Sampling may make it negative.
    """
    count = len(vectors)
    if signs:
        # The mean diagonal is exact for a diagonal J, whose values then have no variance.
        images = images - np.mean(vectors * images, axis=0) * vectors
    size = np.sum(images**2, axis=(0, 1)) / (count - signs)
    crossed = np.einsum("krp,lrp->klp", vectors, images, optimize=True)
    pairs = np.sum(crossed * crossed.transpose(1, 0, 2), axis=(0, 1))
    pairs -= np.sum(np.einsum("kkp->kp", crossed) ** 2, axis=0)
    trace = pairs / (count * (count - 1))
    if signs:
        # Corrects for the error of that mean in the product of a pair, on average.
        trace = (trace + size / count) / (1.0 - 2.0 / count + 2.0 / count**2)
    return np.asarray(size + trace)


@dataclass
class Spread:
    """Variance of a probe's value, from the images of all probes so far.

    Attributes
    ----------
    signs : bool
        Whether entries of directions are ±1.
    """

    signs: bool
    _vectors: list[FloatArray] = field(default_factory=list)
    _images: list[FloatArray] = field(default_factory=list)
    _total: FloatArray | None = None
    _weight: int = 0

    def copied(self) -> Spread:
        """A copy to which other probes can be added."""
        return replace(self, _vectors=list(self._vectors), _images=list(self._images))

    def add(self, vector: FloatArray, image: FloatArray) -> None:
        """Take in one probe; both of shape (n, outputs)."""
        if len(self._vectors) == AT_ONCE:
            self._total, self._weight = self._sums()
            self._vectors, self._images = [], []
        self._vectors.append(vector)
        self._images.append(image)

    def variance(self) -> FloatArray | None:
        """Shape (outputs,); None before the second probe."""
        total, weight = self._sums()
        return None if total is None else total / weight

    def _sums(self) -> tuple[FloatArray | None, int]:
        weight = len(self._vectors) - 1
        if weight < 1:
            return self._total, self._weight
        new = variance_from_images(np.array(self._vectors), np.array(self._images), self.signs)
        total = weight * new if self._total is None else self._total + weight * new
        return total, self._weight + weight
