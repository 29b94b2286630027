"""Rescoring: the best kernels are tried again on more rows than those of the search.

The best candidate for 500 rows may not be the best for many: with more rows, scales of columns
lower the error more.
"""

from __future__ import annotations

from negcorr.bases.kernel_functions import kernel_values
from negcorr.criteria.quick_leave_one_out import span_losses
from negcorr.selection.sample import SEARCH_RIDGES, SearchSample, Trial
from negcorr.selection.space import Candidate

__all__ = ["rescored"]


def rescored(sample: SearchSample, candidate: Candidate) -> Trial:
    """The trial of a kernel on the larger sample.

    It is kernel ridge regression in the span of kernels at the rows of the search (the Nyström
    method). Its leave-one-out error is exact and cheap. Only the errors of rows that the search did
    not use count.

    Parameters
    ----------
    sample : SearchSample
        That of the search, with a ``larger`` one.
    candidate : Candidate
        With ``basis="kernel"``; bandwidth and relevance are those learnt from ``sample``.

    Returns
    -------
    Trial
        ``losses`` and ``by_part`` are those of the rows beyond the search.

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr.rows.rows import Rows
    >>> from negcorr.selection.rescoring import rescored
    >>> from negcorr.selection.sample import SearchSample
    >>> from negcorr.selection.space import Candidate, SearchSpace
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(2500, 2))
    >>> sample = SearchSample.of(Rows(X, np.sin(X[:, :1])), SearchSpace(), seed=0)
    >>> trial = rescored(sample, Candidate("kernel", "rbf"))
    >>> trial.losses.shape, trial.error < 1e-3
    ((2000,), True)
    """
    larger = sample.larger
    if larger is None:
        raise ValueError("there are no more rows than those of the search.")
    beyond = slice(sample.n_rows, None)
    rows = larger.rows_for(candidate, sample.relevance_of(candidate))
    landmarks, gamma = rows[: sample.n_rows], sample.gamma(candidate)
    kernel = str(candidate.kernel)
    between = kernel_values(kernel, landmarks, landmarks, gamma, candidate.subspace)
    values = kernel_values(kernel, rows, landmarks, gamma, candidate.subspace)
    losses = span_losses(values, between, larger.y, larger.weight, SEARCH_RIDGES)[:, beyond]
    return Trial.of(candidate, losses, larger.weight[beyond], SEARCH_RIDGES)
