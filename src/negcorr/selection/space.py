"""What of the features is left to the data: the questions that a search has to answer."""

from __future__ import annotations

from dataclasses import dataclass

from negcorr.selection.candidates import Candidate

__all__ = ["KERNELLED", "LINES", "OpenQuestions"]

#: Kernels and the inputs that suit them: what is tried where both are open.
LINES = (
    ("laplace", "clip"),
    ("laplace", "rank"),
    ("gaussian", "clip"),
    ("gaussian", "standard"),
    ("linear", "standard"),
)

#: Bases with a kernel and a bandwidth.
KERNELLED = ("kernel", "nystroem", "fourier", "orthogonal")


@dataclass(frozen=True)
class OpenQuestions:
    """What may be chosen: a single value closes a question.

    Attributes
    ----------
    bases, kernels, inputs : tuple of str
        Allowed names, the most promising first.
    bandwidths : tuple of int, or None
        Points of the lattice, (0,) for the heuristic alone; None walks all of it.
    relevance : tuple of bool
    alphas : tuple of float
        The first stands unless another is better.
    columns : int or None
        Columns of each linear member; few if None.
    subspace : float or None
        Share of the columns that a member sees; None halves it for as long as that pays.
    """

    bases: tuple[str, ...] = ("kernel", "fourier", "orthogonal", "trees")
    kernels: tuple[str, ...] = ("laplace", "gaussian", "linear")
    inputs: tuple[str, ...] = ("clip", "standard", "rank")
    bandwidths: tuple[int, ...] | None = None
    relevance: tuple[bool, ...] = (False, True)
    alphas: tuple[float, ...] = (0.0,)
    columns: int | None = None
    subspace: float | None = None

    def lines(self, basis: str) -> list[Candidate]:
        """Candidates of a basis with a kernel, each at the bandwidth of the heuristic."""
        kernels = ("gaussian",) if basis == "orthogonal" else self.kernels
        if basis != "kernel" and len(kernels) > 1:
            kernels = tuple(name for name in kernels if name != "linear")
        share = 1.0 if self.subspace is None else self.subspace
        if share < 1.0 and len(kernels) > 1:
            kernels = tuple(name for name in kernels if name != "linear")
        pairs = [(kernel, kind) for kernel in kernels for kind in self.inputs]
        chosen = [pair for pair in LINES if pair in pairs] if len(self.inputs) > 1 else pairs
        return [
            Candidate(
                *(basis, kernel, 1.0, kind, self.relevance == (True,), self.alphas[0]),
                subspace=share,
            )
            for kernel, kind in chosen or pairs
        ]
