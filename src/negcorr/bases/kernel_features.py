"""Random functions of a kernel's own space, dealt out to members: all together they are it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from negcorr._common.arrays import place_of, rows_at, to_host
from negcorr._common.forks import late
from negcorr._common.threads import our_own_threads
from negcorr._common.types import FloatArray, Table
from negcorr.bases.fourier import resolve_gamma
from negcorr.bases.kernel_functions import KERNEL_VALUES, check_share, kernel_values
from negcorr.bases.nystroem import NOISE, NystroemFeatures
from negcorr.rows.rows import Rows

__all__ = ["STAGE", "KernelFeatures", "ridge_gap"]

#: Landmarks of one stage; features are scaled to a mean square of one in the first.
STAGE = 500

#: The share below which directions of a later stage count as rounding errors: they are what remains
#: beside the features of the stages before, which near ``NOISE`` are exact to some 1e-8 only.
NOISE_BESIDE_FEATURES = 1e-7


@dataclass(frozen=True)
class Stage:
    """Features of some landmarks, beyond what those before them can express.

    Attributes
    ----------
    first : int
        Number of the first of these landmarks.
    weights : ndarray of shape (landmarks so far, features)
        Weights of the kernels at all landmarks up to these, for features that are orthonormal in
        the kernel's space, and to those of the stages before. Features that were subtracted as such
        would bring their rounding with them, which is a thousand times larger.
    """

    first: int
    weights: FloatArray


class KernelFeatures(NystroemFeatures):
    r"""Blocks of random orthonormal functions in the span of kernels at landmarks.

    With k_L(x) the kernel between x and Q landmarks, φ(x) = R K_L^(-1/2) k_L(x) for a random
    rotation R, so that ⟨φ(x), φ(x')⟩ = k(x, x') wherever the landmarks reach. Members get H of
    these functions each. With a ridge inside the blocks (``alpha``), an NCL ensemble of them runs
    from an average of small kernel machines to kernel ridge regression with all landmarks.

    Parameters
    ----------
    n_members : int, default=100
        Number of members M.
    n_components : int, default=10
        Features per member H; M·H landmarks are drawn from the distinct rows of X. If there are
        fewer rows, all are used and there are fewer members. If kernels at the landmarks are nearly
        dependent, there are fewer features.
    gamma : float or "kwok-tsang", default="kwok-tsang"
        Inverse bandwidth.
    kernel : {"rbf", "laplacian", "cauchy", "linear"}, default="rbf"
        Kernel, as in :class:`FourierFeatures`; "linear" is γ⟨x, x'⟩.
    inputs : {"standard", "clip", "rank", "none"}, default="standard"
        What is done to the columns of X first, as in :class:`FourierFeatures`.
    relevance : array-like of shape (d,), optional
        What columns are multiplied by after that.
    subspace : float, default=1.0
        Below 1, the kernel is what members see on average that see every column with this
        probability, with γ over it (:mod:`negcorr.bases.kernel_functions`): no subspace is drawn,
        as if there were infinitely many of them. Not for the linear kernel.
    random_state : int, RandomState or None, default=None
        Seed of landmarks and rotations. Within an estimator None is the estimator's.

    Attributes
    ----------
    landmarks_ : {ndarray, sparse matrix} of shape (Q', d)
        Landmarks, mapped.
    gamma_ : float
        The bandwidth used.
    input_map_ : InputMap
        What was learnt from the columns.
    stage_ranks_ : list of int
        How many features the landmarks of each stage make.
    block_starts_ : ndarray of shape (M' + 1,)
        Where each member's columns begin.

    Notes
    -----
    Landmarks come in stages of 500. The features of a stage represent the part of its kernels that
    earlier stages do not contain (the Schur complement of K), so a larger ensemble of the same seed
    begins with the members of a smaller one, and moments of features can be extended.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.bases import KernelFeatures
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> basis = KernelFeatures(4, 5, gamma=0.5, inputs="none", random_state=0)
    >>> features = basis.fit_transform(X)
    >>> kernel = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    >>> features.shape, bool(np.allclose(features @ features.T / 20, kernel))
    ((20, 20), True)
    """

    #: With it an ensemble is near to kernel ridge regression.
    usual_ridge = 10.0

    def _draw(self, rows: Rows, rng: np.random.RandomState) -> None:
        if self.kernel not in KERNEL_VALUES:
            raise ValueError(
                f"kernel={self.kernel!r} is unknown; allowed are {sorted(KERNEL_VALUES)}."
            )
        check_share(self.subspace, self.kernel)
        mapped = self.input_map_(rows.X)
        # The linear kernel depends on Euclidean lengths, like the Gaussian kernel.
        like = "rbf" if self.kernel == "linear" else self.kernel
        self.gamma_ = resolve_gamma(self.gamma, like, mapped, rows.weight)
        chosen = rng.permutation(self._distinct(rows))[: self.n_members * self.n_components]
        self.landmarks_ = rows_at(mapped, chosen)
        if self.kernel == "linear" and sp.issparse(rows.X):
            # Products depend on the centre; distances do not.
            self.landmarks_ = self.input_map_(rows.X[chosen].toarray())
        self.rotation_seed_ = int(rng.randint(np.iinfo(np.int32).max))
        self.stage_ranks_ = None
        self.__dict__.pop("stages_", None)
        self.stage_ranks_ = [int(stage.weights.shape[1]) for stage in self.stages_]
        # One member for every H landmarks; members of a stage share its features.
        starts, first = [np.zeros(1, dtype=np.intp)], 0
        for stage, rank in zip(self.stages_, self.stage_ranks_, strict=True):
            n_landmarks = stage.weights.shape[0] - stage.first
            count = min(max(1, round(n_landmarks / self.n_components)), rank)
            if rank:
                borders = np.linspace(0, rank, count + 1).astype(np.intp)
                starts.append(first + borders[1:])
            first += rank
        self.block_starts_ = np.concatenate(starts)

    @late
    def stages_(self) -> list[Stage]:
        """How kernels at the landmarks become features, 500 landmarks at a time.

        It follows from landmarks and seed, so it is made again rather than stored.
        """
        n_landmarks, place = self.landmarks_.shape[0], place_of(self.landmarks_)
        # On one BLAS thread, as within a fit: what is made again has the same bits.
        with our_own_threads():
            values = to_host(self._kernel(self.landmarks_, self.landmarks_))
            rng = np.random.RandomState(self.rotation_seed_)
            stages = _stages(values, float(min(n_landmarks, STAGE)), rng, self.stage_ranks_)
        return [Stage(stage.first, place.floats(stage.weights)) for stage in stages]

    @property
    def terms_(self) -> FloatArray | None:
        """Lengths of the weights of the kernels, which are at most 1; None for a linear one."""
        if self.kernel == "linear":
            return None
        xp = place_of(self.landmarks_).xp
        return xp.concat([xp.linalg.vector_norm(stage.weights, axis=0) for stage in self.stages_])

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickling, without the stages."""
        return {name: part for name, part in super().__getstate__().items() if name != "stages_"}

    def _kernel(self, X: Table, Z: Table) -> FloatArray:
        return kernel_values(self.kernel, X, Z, self.gamma_, float(self.subspace))

    def fill(self, X: Table, out: FloatArray) -> None:
        rows, linear = self.input_map_(X), self.kernel == "linear"
        landmarks = self.landmarks_ if linear else self._landmarks(rows)
        values = self._kernel(rows, landmarks)
        if linear and sp.issparse(rows):
            values -= self.gamma_ * (landmarks @ self.input_map_.offset)
        begin = 0
        for stage in self.stages_:
            end = begin + stage.weights.shape[1]
            out[:, begin:end] = values[:, : stage.weights.shape[0]] @ stage.weights
            begin = end


def _stages(
    values: FloatArray, square: float, rng: np.random.RandomState, ranks: list[int] | None
) -> list[Stage]:
    """Stages from the kernel between all landmarks; features have a mean square near one.

    Directions that consist of rounding errors are left out. If the number of directions is known
    from a fit, the same number is kept: on another machine rounding could change it.
    """
    stages: list[Stage] = []
    known, so_far = np.empty((0, len(values))), np.empty((0, 0))
    largest = float(np.max(np.diagonal(values), initial=0.0))
    for first in range(0, len(values), STAGE):
        last = min(first + STAGE, len(values))
        inside, size = slice(first, last), last - first
        # Features carry the factor √square, so products of them carry the square.
        explained = known[:, inside] / square
        rest = values[inside, inside] - explained.T @ known[:, inside]
        strength, vectors = np.linalg.eigh((rest + rest.T) / 2.0)
        noise = NOISE_BESIDE_FEATURES if first else NOISE
        least = noise * largest if largest > 0 else 1.0
        kept = strength > max(least, noise * float(strength[-1]))
        if not (kept.any() or stages):
            kept[-1] = True  # a basis has a feature, even where rows do not differ
        if ranks is not None:
            kept = np.arange(size) >= size - ranks[len(stages)]
        root = vectors[:, kept] * np.sqrt(square / np.maximum(strength[kept], least))
        # A random rotation of what the vectors span, whatever their signs and their order.
        drawn, triangle = np.linalg.qr(vectors[:, kept].T @ rng.standard_normal((size, kept.sum())))
        mixing = root @ (drawn * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))
        weights = np.concatenate([-so_far @ (explained @ mixing), mixing])
        stages.append(Stage(first, weights))
        if last < len(values):
            # Features at all landmarks, as rows will have them.
            known = np.concatenate([known, weights.T @ values[:last]])
            so_far = np.hstack([np.pad(so_far, ((0, size), (0, 0))), weights])
    return stages


def ridge_gap(ridge: float, weight: float, n_landmarks: int, n_members: int, alpha: float) -> float:
    r"""The gap at which an ensemble of these features is nearest to kernel ridge regression.

    With A = Mg(D + αI) + (1 − g)G (Theorem 4 with a ridge) and D near its mean d̄, coefficients are
    those of ridge regression with :math:`\mathrm{ridge}\cdot s^2 = n M (\alpha + \bar d)\,g/(1-g)`,
    s² the square of the features' scale.

    Parameters
    ----------
    ridge : float
        That is added to the diagonal of the kernel matrix.
    weight : float
        Σw, the number of rows.
    n_landmarks, n_members : int
        Of the basis.
    alpha : float
        Ridge inside the blocks.

    Returns
    -------
    float

    Examples
    --------
    >>> from negcorr.bases.kernel_features import ridge_gap
    >>> round(ridge_gap(0.1, weight=1000, n_landmarks=500, n_members=50, alpha=9.0), 6)
    0.0001
    """
    square = min(n_landmarks, STAGE)
    odds = ridge * square / (weight * n_members * (alpha + square / n_landmarks))
    return odds / (1.0 + odds)
