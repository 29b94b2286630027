"""Steps of training as CUDA graphs: one launch instead of a hundred.

Networks of a few nodes keep a GPU waiting for the next kernel to be started. A step whose shapes
never change is recorded once and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Replayed"]

#: Runs before a step is recorded, in which libraries set themselves up.
WARM_UP = 3


@dataclass(frozen=True, repr=False)
class _Record:
    """A recorded step, where it reads its rows from, and where it leaves the loss."""

    graph: torch.cuda.CUDAGraph
    rows: Tensor | None
    loss: Tensor


class Replayed:
    """A step on a CUDA device, recorded once for each length of a batch.

    Parameters
    ----------
    step : callable
        Takes the rows of a batch, or None for all, and returns losses of shape (E,). All that it
        changes is in ``state``.
    state : sequence of tensor
        Changed by a step in place; put back after the runs that come before a recording.
    """

    def __init__(self, step: Callable[[Tensor | None], Tensor], state: Sequence[Tensor]) -> None:
        self.step = step
        self.state = list(state)
        self._records: dict[int, _Record] = {}

    def __call__(self, batch: Tensor | None) -> Tensor:
        """One step on these rows."""
        length = 0 if batch is None else len(batch)
        if length not in self._records:
            self._records[length] = self._recorded(batch)
        record = self._records[length]
        if record.rows is not None and batch is not None:
            record.rows.copy_(batch)
        record.graph.replay()
        return record.loss.clone()

    def _recorded(self, batch: Tensor | None) -> _Record:
        rows = None if batch is None else batch.clone()
        before = [tensor.clone() for tensor in self.state]
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self.step(rows)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self.step(rows)
        for tensor, value in zip(self.state, before, strict=True):
            tensor.copy_(value)
        return _Record(graph, rows, loss)
