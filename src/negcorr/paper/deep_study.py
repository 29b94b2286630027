"""What Figures 7 and 8 and their companions are drawn from, in pieces and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from negcorr.paper.figure_style import PANELS
from negcorr.paper.pieces import Piece
from negcorr.paper.protocol import FOLDS
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["deep_pieces", "deep_table", "epochs_shown", "trained_on"]


#: Of a row, hidden layer, network and epoch: 626 s for all pieces on an H200, and what
#: benchmarks/deep.py gives for a core.
SECONDS_ON_GPU, SECONDS_ON_CPU = 2e-10, 7e-8


def deep_pieces(study: Study) -> list[Piece]:
    """One piece for each set, depth and fold, on the study's device."""
    from negcorr.paper.deep_training import deep_training, size_of

    on_gpu = study.device != "cpu"
    size = size_of(study.setup)
    return [
        study.piece(
            deep_training,
            _effort(size, study.n_rows(name), depth, on_gpu),
            alone=on_gpu,
            name=name,
            depth=depth,
            fold=fold,
            device=study.device,
        )
        for name in study.datasets(PANELS)
        for depth in size.depths
        for fold in range(FOLDS)
    ]


def _effort(size: Any, n_rows: int, depth: int, on_gpu: bool) -> float:
    networks = size.members * len(size.lams) * (1 + size.probes)
    nodes = float(networks * depth * n_rows * size.stops[-1])
    return 0.5 + (SECONDS_ON_GPU if on_gpu else SECONDS_ON_CPU) * nodes


def deep_table(study: Study, columns: tuple[str, ...]) -> DataFrame:
    """Rows of all pieces with what tells them apart and these columns."""
    table = study.table(deep_pieces(study))
    common = ("set", "depth", "fold", "epoch", "lam", "rate", "n_train", "trained_on")
    return table[[*common, *columns]]


def epochs_shown(table: DataFrame) -> tuple[int, int]:
    """An early epoch, by which no network interpolates yet, and the last: a tenth, and the end."""
    epochs = sorted(table["epoch"].unique())
    last = int(epochs[-1])
    return int(min(epochs, key=lambda epoch: abs(10 * epoch - last))), last


def trained_on(table: DataFrame) -> str:
    """Sentences on where and how the networks were trained, for the page."""
    devices = ", ".join(dict.fromkeys(table["trained_on"]))
    rates = table.groupby("set", sort=False)["rate"].unique()
    chosen = "; ".join(
        f"{name} {', '.join(f'{rate:g}' for rate in sorted(values))}"
        for name, values in rates.items()
    )
    return f"Trained on {devices}. Initial learning rates chosen: {chosen}.\n"
