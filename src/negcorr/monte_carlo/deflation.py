r"""Fewer fits where the fit is linear in y: the large modes exactly, probes for the rest.

The variance of a probe of S is about 2‖S‖²_F, and most of it sits in the few directions that
the estimator hardly shrinks. With Q an orthonormal basis of what random directions are mapped
to, :math:`\operatorname{tr} S = \operatorname{tr}(Q^\top S Q) +
\operatorname{tr}((I - QQ^\top) S (I - QQ^\top))`: the first part takes one fit for each column of
Q, the second needs few probes. It holds for any square S, symmetric or not (Hutch++, Meyer,
Musco, Musco and Woodruff 2021; the adaptive split is in the spirit of Persson, Cortinovis and
Kressner 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from negcorr._svd import thin_svd
from negcorr._typing import FloatArray

__all__ = ["Deflation", "leftover_share"]


@dataclass(frozen=True, repr=False)
class Deflation:
    """Directions whose trace is known, and what is needed to leave them out of probes.

    Attributes
    ----------
    directions : ndarray of shape (n, k)
        Q, orthonormal columns.
    images : ndarray of shape (n, k)
        S Q.
    """

    directions: FloatArray
    images: FloatArray

    @classmethod
    def none(cls, n_samples: int) -> Deflation:
        """Nothing deflated."""
        return cls(np.empty((n_samples, 0)), np.empty((n_samples, 0)))

    @property
    def trace(self) -> float:
        """Tr(Qᵀ S Q)."""
        return float(np.sum(self.directions * self.images))

    def outside(self, vectors: FloatArray) -> FloatArray:
        """(I − QQᵀ) ``vectors``, projected twice for orthogonality to rounding."""
        for _ in range(2):
            vectors = vectors - self.directions @ (self.directions.T @ vectors)
        return vectors

    def values(self, probes: FloatArray, images: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimates of tr S, one for each probe, and their variance from the images' size.

        Parameters
        ----------
        probes, images : ndarray of shape (n, probes)
            b and S b. No further fit is needed: S(I − QQᵀ)b = S b − (S Q) Qᵀ b.

        Returns
        -------
        values, variances : ndarray of shape (probes,)
            2‖R b‖² for what is left of S, R, has the mean 2‖R‖²_F, which no probe's variance
            exceeds. A few values that happen to lie together have a small variance, and lie low
            more often than high; the images do not go along with that.
        """
        rest = self.outside(images - self.images @ (self.directions.T @ probes))
        values = self.trace + np.sum(self.outside(probes) * rest, axis=0)
        return np.asarray(values), np.asarray(2.0 * np.sum(rest**2, axis=0))

    def new_directions(self, images: FloatArray) -> FloatArray:
        """Orthonormal basis, shape (n, new), of what ``images`` add to the range of Q."""
        rest = self.outside(images)
        basis, triangle, _ = scipy.linalg.qr(rest, mode="economic", pivoting=True)
        size = np.linalg.norm(images, axis=0).max(initial=0.0)
        rank = int(np.count_nonzero(np.abs(np.diagonal(triangle)) > 1e-10 * size))
        return self.outside(basis[:, :rank])

    def extended(self, directions: FloatArray, images: FloatArray) -> Deflation:
        """With further orthonormal directions and their images."""
        return Deflation(
            np.column_stack([self.directions, directions]), np.column_stack([self.images, images])
        )


def leftover_share(deflation: Deflation, images: FloatArray) -> float:
    """Share of the probes' variance that would remain if ``images`` were deflated too.

    Each image is compared with its distance from the span of the others, which predicts how a
    fresh probe would fare after they have been deflated: 1/[(RᵀR)⁻¹]_jj for column j of R.
    """
    rest = deflation.outside(images)
    _, singular, right = thin_svd(rest)
    count = images.shape[1]
    # Nothing is left beyond rounding, or some column lies in the span of the others.
    if len(singular) < count or singular.min() <= 1e-10 * np.linalg.norm(images):
        return 0.0
    distances = 1.0 / np.sum((right / singular[:, np.newaxis]) ** 2, axis=0)
    return float(np.sum(distances) / np.sum(singular**2))
