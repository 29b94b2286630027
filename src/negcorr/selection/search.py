"""The search over candidates: which are tried, in which order, and at which bandwidths.

Bandwidths are on a lattice of two points a decade around the heuristic of Kwok and Tsang. The
search starts there and moves on as long as the error falls. Then relevance, subspaces and other
bases are tried with the best candidate so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from negcorr._common.threads import spread
from negcorr.selection.sample import SearchSample, Trial
from negcorr.selection.space import WITH_KERNEL, Candidate

__all__ = ["Search", "at", "run_search"]

#: Multiples of the heuristic bandwidth are 10^(i/2) for i in this range.
LATTICE = range(-4, 4)

#: The bandwidth of a line is followed while its error is within this factor of the best; it starts
#: with these points.
WORTH_FOLLOWING, START = 1.2, (-1, 0)

#: Lines for which relevance is tried, without and with a larger sample.
LINES_FOR_RELEVANCE, LINES_TO_RESCORE = 3, 4

#: Subspaces are tried where there are as many columns, and have at least as many on average.
WIDE, FEWEST_COLUMNS = 20, 1.5


class Search:
    """Trials of the candidates so far.

    Parameters
    ----------
    sample : SearchSample
        Rows on which candidates are tried, and the space that they are from.
    """

    def __init__(self, sample: SearchSample) -> None:
        self.sample = sample
        self.space = sample.space
        self.trials: dict[Candidate, Trial] = {}

    def run(self, candidates: Iterable[Candidate]) -> None:
        """Try those that have not been tried, several in parallel."""
        new = [c for c in dict.fromkeys(candidates) if c not in self.trials]
        self.sample.prepare(new)
        for trial in spread(self.sample.trial_of, new):
            self.trials[trial.candidate] = trial

    @property
    def best(self) -> Trial:
        """The trial of the smallest error."""
        return min(self.trials.values(), key=lambda trial: trial.rank)

    def ranking(self) -> list[Trial]:
        """All trials, the best first."""
        return sorted(self.trials.values(), key=lambda trial: trial.rank)

    def follow(self, lines: Sequence[Candidate], start: Sequence[int]) -> None:
        """Move each line's bandwidth from the start towards smaller errors."""
        steps = [at(line, i) for line in lines for i in start]
        while True:
            self.run(steps)
            limit = WORTH_FOLLOWING * self.best.error
            steps = []
            for line in lines:
                tried = {i: self.trials.get(at(line, i)) for i in LATTICE}
                known = {i: trial.rank[0] for i, trial in tried.items() if trial is not None}
                best = min(known, key=lambda i: known[i])
                if known[best] <= limit:
                    near = (best - 1, best + 1)
                    steps += [at(line, i) for i in near if i in LATTICE and i not in known]
            if not steps:
                return

    def bandwidths(self, basis: str) -> None:
        """Lines of kernel and inputs of a basis, each at its best bandwidth."""
        lines = self.space.lines(basis)
        # Scaling a linear kernel is the same as another ridge; relevance comes with a bandwidth.
        fixed = [line for line in lines if line.kernel == "linear" or line.relevant]
        self.run(fixed)
        free = [line for line in lines if line not in fixed]
        if self.space.gamma is not None:
            self.run(free)
        elif free:
            self.follow(free, START)

    def relevance(self) -> None:
        """Relevance for the best lines so far, at the bandwidth that is learnt with it."""
        if self.space.relevance != (False, True):
            return
        lines = dict.fromkeys(
            replace(trial.candidate, relevant=True, multiple=1.0)
            for trial in self.ranking()
            if trial.candidate.kernel != "linear"
        )
        few = self.sample.larger is None
        self.run(list(lines)[: LINES_FOR_RELEVANCE if few else LINES_TO_RESCORE])

    def subspaces(self) -> None:
        """Halve the share of columns of the best line as long as the error falls.

        For Gaussian kernels, which change most in subspaces: the Laplacian one is close to a sum
        over columns already.
        """
        n_columns = self.sample.X.shape[1]
        trials = [
            trial
            for trial in self.ranking()
            if trial.candidate.basis in ("kernel", "nystroem", "fourier")
            and trial.candidate.kernel == "rbf"
            and not trial.candidate.relevant
        ]
        if self.space.subspace is not None or not trials or n_columns < WIDE:
            return
        best = trials[0]
        while best.candidate.subspace * n_columns >= 2 * FEWEST_COLUMNS:
            line = replace(best.candidate, subspace=best.candidate.subspace / 2)
            # Only the previous bandwidth and the next rougher one: further differences would be
            # noise.
            i = round(2.0 * float(np.log10(line.multiple)))
            steps = (i, i + 1) if self.space.gamma is None else (i,)
            tried = [at(line, step) for step in steps if step in LATTICE]
            self.run(tried)
            found = min((self.trials[each] for each in tried), key=lambda trial: trial.rank)
            if found.rank[0] >= best.rank[0]:
                return
            best = found

    def other_basis(self, basis: str) -> None:
        """Another basis with a kernel, with all else as in the best candidate so far."""
        best = self.best.candidate
        orthogonal = best.kernel == "rbf" and best.subspace == 1.0
        if best.kernel == "linear" or (basis == "orthogonal" and not orthogonal):
            return
        line = replace(best, basis=basis)
        self.run([line])
        free = self.space.gamma is None and not line.relevant
        if free and self.best.candidate.basis == basis:
            self.follow([line], [])


def run_search(sample: SearchSample) -> Search:
    """Try candidates for everything that is open, one thing after the other.

    Parameters
    ----------
    sample : SearchSample
        Rows on which candidates are tried, and the space that they are from.

    Returns
    -------
    Search
        All trials.
    """
    search, space = Search(sample), sample.space
    with_kernel = [name for name in space.bases if name in WITH_KERNEL]
    if with_kernel:
        search.bandwidths(with_kernel[0])
        search.relevance()
        search.subspaces()
        for name in with_kernel[1:]:
            search.other_basis(name)
    # One kind of inputs is enough for trees, which do not depend on units. Ranks are avoided for
    # linear members, since a model of ranks is not linear in the columns.
    allowed = {"linear": ("standard", "clip"), "trees": space.inputs[:1]}
    for name, kinds in allowed.items():
        if name in space.bases and space.subspace in (None, 1.0):
            suited = [kind for kind in space.inputs if kind in kinds] or space.inputs[:1]
            columns = space.n_components if space.bases == ("linear",) else None
            alpha = space.alphas[0]
            search.run(Candidate(name, inputs=k, alpha=alpha, columns=columns) for k in suited)
    if len(space.alphas) > 1 and search.best.candidate.basis != "kernel":
        search.run(replace(search.best.candidate, alpha=alpha) for alpha in space.alphas[1:])
    return search


def at(line: Candidate, i: int) -> Candidate:
    """A line of candidates at point i of the lattice of bandwidths."""
    return replace(line, multiple=10.0 ** (i / 2.0))
