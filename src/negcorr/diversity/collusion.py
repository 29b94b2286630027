"""Signs of collusion in the predictions of the members of any ensemble.

Members that are trained jointly can increase their diversity together with their own errors, which
cancel on the training rows and less so elsewhere (Jeffares, Liu, Crabbé and van der Schaar 2023,
"Joint training of deep ensembles fails due to learner collusion"), as in NCL when λ approaches 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from negcorr._common.types import BoolArray, FloatArray
from negcorr.diversity.decompositions import USELESS_ALONE, ambiguity_decomposition
from negcorr.exceptions import CollusionWarning, warn_caller

__all__ = ["Collusion", "MemberErrors", "collusion", "drop_error", "warn_if_useless"]

#: "Far better than a constant": an ensemble's error below this share of the variance of y.
FAR_BETTER = 0.5

#: Independent errors have a ratio of about M; beyond this multiple of M they cancel.
BEYOND_CHANCE = 2.0

#: Diversity below this share of the variance of y is negligible.
NOTICEABLE = 0.01

#: From the worst to the best.
VERDICTS = (
    "members are useless alone: worse than a constant on their own training rows.",
    "errors cancel on the training rows and not on held-out ones: diversity does not generalise.",
    "errors cancel: the average is far better than that of independent members would be.",
    "no sign of collusion: the average is not better than independent members would make it.",
)


@dataclass(frozen=True, repr=False)
class MemberErrors:
    """Mean squared errors on one set of rows: of members, of their average, and without members.

    Attributes
    ----------
    ensemble_error, member_error, diversity, variance : float or ndarray of shape (outputs,)
        The terms of equation 1, and the variance of y, which is the error of the best constant.
    drop_errors : ndarray of shape (counts,) or (counts, outputs)
        Expected error after the loss of each number of members, see :func:`drop_error`.
    without_member : ndarray of shape (M,) or (M, outputs)
        Error of the average of all but member m; NaN where there is no other.
    """

    ensemble_error: float | FloatArray
    member_error: float | FloatArray
    diversity: float | FloatArray
    variance: float | FloatArray
    drop_errors: FloatArray
    without_member: FloatArray

    @property
    def ratio(self) -> float | FloatArray:
        """Member error over ensemble error: from 1, about M for independent errors."""
        return _ratio(self.member_error, self.ensemble_error)

    @property
    def error_correlation(self) -> float | FloatArray:
        """Mean product of two different members' errors, over the mean square of an error.

        (M/ratio − 1)/(M − 1): 1 for equal errors, about 0 for independent errors, −1/(M − 1)
        where the average has no error. NaN for a single member.
        """
        n_members = len(self.without_member)
        share = np.asarray(_ratio(self.ensemble_error, self.member_error))
        return _ratio(n_members * share - 1.0, n_members - 1.0)

    @property
    def worst_drop(self) -> float | FloatArray:
        """Largest error that the loss of one member can cause."""
        return _plain(np.max(self.without_member, axis=0))


@dataclass(frozen=True, repr=False)
class Collusion:
    """Errors of members and of their average, and a verdict on collusion; prints as a table.

    Attributes
    ----------
    dropped : tuple of int
        Numbers of members lost in ``drop_errors``.
    train, held_out : MemberErrors
        On the training rows, and on held-out ones (None if there are none).
    """

    dropped: tuple[int, ...]
    train: MemberErrors
    held_out: MemberErrors | None

    @property
    def diversity_ratio(self) -> float | FloatArray | None:
        """Diversity on training rows over that on held-out ones; None without the latter.

        Members that were trained separately disagree least on the training rows: the ratio is well
        below 1. Near 1, or above, the training caused the disagreement.
        """
        other = self.held_out
        return None if other is None else _ratio(self.train.diversity, other.diversity)

    @property
    def verdict(self) -> str:
        """The first of ``VERDICTS`` that holds for an output; see also :func:`warn_if_useless`.

        Errors are said to cancel on training rows if ``ratio`` exceeds 2M there and the diversity
        is at least 1 % of the variance of y. They are said not to cancel on held-out rows if
        ``error_correlation`` is positive there.
        """
        train, most = self.train, BEYOND_CHANCE * len(self.train.without_member)
        cancels = np.atleast_1d(train.ratio) > most
        cancels &= np.atleast_1d(_ratio(train.diversity, train.variance)) >= NOTICEABLE
        elsewhere = self.held_out is None or np.atleast_1d(self.held_out.error_correlation) <= 0
        signs = [_useless(train), cancels & np.logical_not(elsewhere), cancels]
        for found, words in zip(signs, VERDICTS, strict=False):
            if found.any():
                where = f"outputs {np.flatnonzero(found).tolist()}: " if len(found) > 1 else ""
                return where + words
        return VERDICTS[-1]

    def summary(self) -> str:
        """A readable table, training rows beside held-out ones, and the verdict."""
        tables = {"training": self._quantities(self.train)}
        if self.held_out is not None:
            tables["held-out"] = self._quantities(self.held_out)
        n_outputs = np.size(self.train.variance)
        columns = [(title, j) for j in range(n_outputs) for title in tables]
        rows = {"": [f"{title} {j}" if n_outputs > 1 else title for title, j in columns]}
        for name in tables["training"]:
            rows[name] = [f"{np.atleast_1d(tables[title][name])[j]:.4g}" for title, j in columns]
        left = max(map(len, rows)) + 2
        lines = [f"{name:{left}}{''.join(f'{cell:>13}' for cell in rows[name])}" for name in rows]
        rule = "-" * len(lines[0])
        return "\n".join(["Members and their average", rule, *lines, rule, self.verdict])

    __repr__ = summary

    def _quantities(self, errors: MemberErrors) -> dict[str, float | FloatArray]:
        M, lost = len(errors.without_member), zip(self.dropped, errors.drop_errors, strict=True)
        return {
            "ensemble error": errors.ensemble_error,
            "average member error": errors.member_error,
            "diversity": errors.diversity,
            "variance of y": errors.variance,
            "member error / ensemble error": errors.ratio,
            "error correlation": errors.error_correlation,
            **{f"error after losing {k} of {M}": error for k, error in lost},
            "error after losing the worst one": errors.worst_drop,
        }


def collusion(
    members_train: npt.ArrayLike,
    y_train: npt.ArrayLike,
    members_test: npt.ArrayLike | None = None,
    y_test: npt.ArrayLike | None = None,
    *,
    dropped: Sequence[float] = (0.1, 0.25, 0.5),
) -> Collusion:
    """Errors of members and of their average, and a verdict on collusion; prints as a table.

    Parameters
    ----------
    members_train, members_test : array-like of shape (M, n) or (M, n, outputs)
        Predictions of every member on the training rows, and on held-out ones if there are any.
    y_train, y_test : array-like of shape (n,) or (n, outputs)
        Targets.
    dropped : sequence of int and float, default=(0.1, 0.25, 0.5)
        How many members are lost: whole numbers from 1 to M − 1, or shares between 0 and 1 of M.

    Examples
    --------
    >>> from negcorr.diversity.collusion import collusion
    >>> found = collusion([[4.0, -3.0, 6.0, -1.0], [-4.0, 5.0, -2.0, 7.0]], [0.0, 1.0, 2.0, 3.0])
    >>> found.train.ensemble_error, found.train.drop_errors, found.verdict[:25]
    (0.0, array([16.]), 'members are useless alone')
    """
    train = _errors(members_train, y_train, dropped)
    counts = _counts(dropped, len(train.without_member))
    if members_test is None and y_test is None:
        return Collusion(counts, train, None)
    if members_test is None or y_test is None:
        raise ValueError("members_test and y_test belong together: give both or neither.")
    held_out = _errors(members_test, y_test, dropped)
    if train.without_member.shape != held_out.without_member.shape:
        shapes = f"{np.shape(members_train)} and {np.shape(members_test)}"
        raise ValueError(f"members_train and members_test differ in M or outputs: {shapes}.")
    return Collusion(counts, train, held_out)


def drop_error(members: npt.ArrayLike, y: npt.ArrayLike, k: Any) -> float | FloatArray:
    """Expected error of the average that is left when k members are lost at random.

    Parameters
    ----------
    members, y : array-like of shape (M, n[, outputs]) and (n[, outputs])
        Predictions of every member, and targets.
    k : int
        Members lost, from 0 to M − 1.

    Returns
    -------
    float or ndarray of shape (outputs,)
        The mean over all ways to lose k of M members, exactly: averages of M − k members drawn
        without replacement have the mean F, and the variance of finite populations, so that it is
        ensemble error + diversity · k/((M − 1)(M − k)). For k = M − 1 this is equation 1.

    Examples
    --------
    >>> from negcorr.diversity.collusion import drop_error
    >>> [drop_error([[0.0, 2.0], [2.0, 2.0], [4.0, 2.0]], [2.0, 1.0], k) for k in (0, 1, 2)]
    [0.5, 0.8333333333333333, 1.8333333333333333]
    """
    terms = ambiguity_decomposition(members, y)
    n = len(np.asarray(members))
    if not isinstance(k, (int, np.integer)) or not 0 <= k < n:
        raise ValueError(f"k={k!r} must be a whole number from 0 to M - 1 = {n - 1}.")
    return terms.ensemble_error + terms.diversity * _share_added(int(k), n)


def warn_if_useless(members: npt.ArrayLike, y: npt.ArrayLike, lam: npt.ArrayLike) -> bool:
    """Raise a CollusionWarning where members are useless alone, and return whether they are.

    Their average error then exceeds the variance of y, which is the error of a constant, and the
    error of the ensemble is below half of it. Give training rows: on others, members that only
    overfit can be as bad. ``members`` and ``y`` are as in :func:`collusion`; the message names
    ``lam``.

    Examples
    --------
    >>> from negcorr.diversity.collusion import warn_if_useless
    >>> warn_if_useless([[0.0, 1.1, 2.0], [0.2, 1.0, 1.9]], [0.0, 1.0, 2.0], lam=0.5)
    False
    """
    errors = _errors(members, y, ())
    useless = _useless(errors)
    if useless.any():
        alone = np.atleast_1d(_ratio(errors.member_error, errors.variance))[useless].max()
        warn_caller(
            f"at lam={np.asarray(lam).tolist()} members are useless alone: their average error is "
            f"{alone:.3g} times the variance of y, while the ensemble's is below {FAR_BETTER} "
            "times. Only the average predicts: do not drop members, and do not read their spread "
            "as uncertainty. A smaller lam gives members that can stand alone.",
            CollusionWarning,
        )
    return bool(useless.any())


def _errors(members: npt.ArrayLike, y: npt.ArrayLike, dropped: Sequence[Any]) -> MemberErrors:
    terms = ambiguity_decomposition(members, y)
    f, target = np.asarray(members, np.float64), np.asarray(y, np.float64)
    F = f.mean(axis=0)
    # The average (M F − f_m)/(M − 1) as F and a correction, since members can be large.
    left = F - (f - F) / (len(f) - 1) if len(f) > 1 else np.full_like(f, np.nan)
    added = [terms.diversity * _share_added(k, len(f)) for k in _counts(dropped, len(f))]
    drops = np.array(added, dtype=np.float64).reshape(-1, *target.shape[1:]) + terms.ensemble_error
    three = terms.ensemble_error, terms.member_error, terms.diversity
    without_member = np.asarray(np.mean((left - target) ** 2, axis=1))
    return MemberErrors(*three, _plain(np.var(target, axis=0)), drops, without_member)


def _share_added(k: int, n_members: int) -> float:
    """Share of the diversity that is added to the error when k members are lost at random."""
    return k / (max(n_members - 1, 1) * (n_members - k))


def _useless(errors: MemberErrors) -> BoolArray:
    variance = np.atleast_1d(errors.variance)
    useless = errors.member_error > USELESS_ALONE * variance
    return useless & (errors.ensemble_error < FAR_BETTER * variance)


def _counts(dropped: Sequence[Any], n_members: int) -> tuple[int, ...]:
    counts = set()
    for value in dropped:
        if isinstance(value, (float, np.floating)) and 0 < value < 1:
            counts.add(min(max(round(value * n_members), 1), n_members - 1))
        elif isinstance(value, (int, np.integer)) and 1 <= value < n_members:
            counts.add(int(value))
        else:
            allowed = f"a whole number from 1 to M - 1 = {n_members - 1}, or a share below 1"
            raise ValueError(f"dropped={dropped!r}: {value!r} must be {allowed}.")
    # A single member cannot be lost.
    return tuple(sorted(counts - {0}))


def _ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> float | FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return _plain(np.divide(above, below))


def _plain(value: npt.ArrayLike) -> float | FloatArray:
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array
