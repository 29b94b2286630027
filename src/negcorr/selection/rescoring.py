"""A second look at kernels, by more rows than those that candidates were tried on.

What is best for 500 rows need not be best for many: scales of columns pay the more, the more rows
there are. So the best of every line is asked again, as kernel ridge regression on some thousands
of rows, in the span of kernels at the rows of the search (the Nyström method). Its leave-one-out
is exact and cheap, and the errors that count are those of rows that had no part in the search.
"""

from __future__ import annotations

import numpy as np

from negcorr.bases.random_subspaces import kernel_values
from negcorr.criteria.quick_leave_one_out import span_losses
from negcorr.selection.candidates import Candidate
from negcorr.selection.sample import PARTS, SEARCH_RIDGES, ProvingGround, Trial

__all__ = ["judged"]


def judged(ground: ProvingGround, candidate: Candidate) -> Trial:
    """What leave-one-out on more rows says of a kernel.

    Parameters
    ----------
    ground : ProvingGround
        That of the search, with ``more`` rows.
    candidate : Candidate
        With ``basis="kernel"``; bandwidth and relevance are what the rows of the search taught.

    Returns
    -------
    Trial
        ``losses`` and ``by_part`` are those of the rows beyond the search.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.selection.candidates import Candidate
    >>> from negcorr.selection.rescoring import judged
    >>> from negcorr.selection.sample import ProvingGround
    >>> from negcorr.rows.rows import Rows
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2500, 2))
    >>> ground = ProvingGround.of(Rows(X, np.sin(X[:, :1])), n_components=10, seed=0)
    >>> trial = judged(ground, Candidate("kernel", "gaussian"))
    >>> trial.losses.shape, trial.error < 1e-3
    ((2000,), True)
    """
    more, beyond = ground.more, slice(ground.n_rows, None)
    if more is None:
        raise ValueError("there are no more rows than those of the search.")
    rows = more.seen_as(candidate, ground.learnt_relevance(candidate))
    landmarks, gamma = rows[: ground.n_rows], ground.searched_gamma(candidate)
    kernel = str(candidate.kernel)
    between = kernel_values(kernel, landmarks, landmarks, gamma, candidate.subspace)
    values = kernel_values(kernel, rows, landmarks, gamma, candidate.subspace)
    losses = span_losses(values, between, more.y, more.weight, SEARCH_RIDGES)[:, beyond]
    weight = more.weight[beyond]
    parts = np.arange(len(weight)) % PARTS
    weighted = losses * weight
    by_part = np.stack([weighted[:, parts == k].sum(axis=1) for k in range(PARTS)], axis=1)
    errors = by_part.sum(axis=1) / weight.sum()
    best = int(np.argmin(errors))
    strength = float(SEARCH_RIDGES[best])
    return Trial(candidate, by_part, losses[best], float(errors[best]), strength)
