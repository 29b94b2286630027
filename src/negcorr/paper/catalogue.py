"""All experiments by name, and which of them a user's request means."""

from __future__ import annotations

from collections.abc import Container, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from types import ModuleType

from negcorr.paper.beyond import (
    bias_variance_covariance,
    diversity_dof,
    dof_per_epoch,
    held_out_error,
    optimal_gap,
    split,
)
from negcorr.paper.figures import figure1, figure3, figure4, figure5, figure7, figure8, table1
from negcorr.paper.page import TEXTS
from negcorr.paper.study import Study

__all__ = [
    "ALL",
    "BEYOND",
    "COMPANIONS",
    "DEEP",
    "EXPERIMENTS",
    "NO_GPU",
    "NO_SETS",
    "NO_TORCH",
    "PAPER",
    "chosen_experiments",
    "deep_by_default",
    "experiments_of",
    "left_out",
]

#: Experiments of the paper, in the order of the page.
PAPER: dict[str, ModuleType] = {
    module.NAME: module for module in (figure1, figure3, figure4, figure5, figure7, figure8, table1)
}

#: Experiments beyond the paper.
BEYOND: dict[str, ModuleType] = {
    module.NAME: module for module in (dof_per_epoch, held_out_error, diversity_dof, optimal_gap)
} | {module.NAME: module for module in (bias_variance_covariance, split)}

EXPERIMENTS: dict[str, ModuleType] = PAPER | BEYOND

#: Experiments that train deep networks: minutes on a GPU, a day or more without.
DEEP = ("figure7", "figure8", "dof-per-epoch", "held-out-error")

#: Experiments that another one includes, because they need the same pieces.
COMPANIONS = {"figure7": "dof-per-epoch", "figure8": "held-out-error"}

#: The name that means every experiment.
ALL = "all"

#: Reasons why "all" leaves experiments out.
NO_SETS = "none of their data sets was asked for"
NO_TORCH = "they train deep networks with torch, not installed (pip install 'negcorr[deep]')"
NO_GPU = TEXTS["page"]["no_gpu"]


def chosen_experiments(
    names: Sequence[str], sets: Sequence[str] | None = None, *, deep: Container[str] = DEEP
) -> dict[str, ModuleType]:
    """Experiments by name, with their companions; an unknown name is an error with the nearest one.

    "all" means every experiment that uses any of ``sets`` or simulated data; of those that train
    deep networks it includes only the names in ``deep``.
    """
    chosen: set[str] = set()
    known = [*EXPERIMENTS, ALL]
    for name in names:
        if name == ALL:
            able = [other for other in EXPERIMENTS if other not in DEEP or other in deep]
            chosen |= {other for other in able if _uses_any(EXPERIMENTS[other], sets)}
        elif name in EXPERIMENTS:
            chosen |= {name, COMPANIONS.get(name, name)}
        elif name in ("figure2", "figure6"):
            raise ValueError(f"experiment {name!r}: a diagram; 'all' draws it.")
        else:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"experiment {name!r} is unknown.{hint} Allowed are {known}.")
    if not chosen:
        raise ValueError(f"name at least one experiment: {known}.")
    return {name: module for name, module in EXPERIMENTS.items() if name in chosen}


def _uses_any(module: ModuleType, sets: Sequence[str] | None) -> bool:
    return sets is None or module.SETS is None or bool(set(module.SETS) & set(sets))


def deep_by_default(study: Study) -> tuple[str, ...]:
    """Deep experiments in "all": every one on a GPU or at quick size, else those with tables."""
    able = find_spec("torch") is not None
    if able and (study.device != "cpu" or study.setup.size.max_rows is not None):
        return DEEP
    return tuple(name for name in DEEP if study.table_elsewhere(name) is not None)


def experiments_of(study: Study, names: Sequence[str]) -> dict[str, ModuleType]:
    """The experiments that a study runs for these names, with their companions."""
    deep = deep_by_default(study)
    wanted = {*names, *(deep if ALL in names else ())}
    # A table from elsewhere has no pieces from which the companion could be drawn.
    without_pieces = {
        other
        for name, other in COMPANIONS.items()
        if study.table_elsewhere(name) is not None and study.table_elsewhere(other) is None
    } - wanted
    chosen = chosen_experiments(names, study.sets, deep=deep)
    return {name: module for name, module in chosen.items() if name not in without_pieces}


def left_out(study: Study, names: Sequence[str]) -> dict[str, list[str]]:
    """Experiments that "all" leaves out, by reason; nothing if the names do not contain "all"."""
    chosen = experiments_of(study, names) if ALL in names else EXPERIMENTS
    missing = [name for name in EXPERIMENTS if name not in chosen]
    deep = [name for name in missing if _uses_any(EXPERIMENTS[name], study.sets)]
    others = [name for name in missing if name not in deep]
    lack = NO_TORCH if find_spec("torch") is None else NO_GPU
    return {reason: found for reason, found in ((NO_SETS, others), (lack, deep)) if found}
