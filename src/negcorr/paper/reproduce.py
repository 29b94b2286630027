"""From names of experiments to a folder of tables, figures and a page."""

from __future__ import annotations

import zlib
from collections.abc import Container, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from negcorr._common.files import remove_leftovers, write_atomically
from negcorr.datasets import DatasetError
from negcorr.paper.catalogue import BEYOND, COMPANIONS, DEEP, EXPERIMENTS, PAPER
from negcorr.paper.claims import Claim
from negcorr.paper.differences import explained
from negcorr.paper.figure_style import save
from negcorr.paper.figures import figure2, figure6, table1
from negcorr.paper.page import Section, page
from negcorr.paper.pieces import Piece
from negcorr.paper.setup import FULL, Setup
from negcorr.paper.study import Study

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["ALL", "chosen_experiments", "deep_by_default", "experiments_of", "plan", "reproduce"]

#: Stands for every experiment.
ALL = "all"

#: Figures of the paper that are no experiments of their own.
ELSEWHERE = dict.fromkeys(("figure2", "figure6"), "a diagram; 'all' draws it.")


#: Why "all" leaves experiments out.
NO_SETS = "none of their data sets was asked for"
NO_TORCH = "they train deep networks with torch, not installed (pip install 'negcorr[deep]')"
NO_GPU = (
    "they train deep networks, which takes minutes on a GPU (--device cuda) and a day or more "
    "without; named one by one they are run anywhere"
)

#: What Table 1 took, as a table of its own.
SECONDS = "table1_seconds"


def chosen_experiments(
    names: Sequence[str], sets: Sequence[str] | None = None, *, deep: Container[str] = DEEP
) -> dict[str, ModuleType]:
    """Experiments by name, with what comes along for nothing; unknown names meet the nearest.

    "all" stands for every one that uses any of ``sets``, and those that are simulated; those that
    train deep networks are among them only if in ``deep``.
    """
    chosen: dict[str, ModuleType] = {}
    for name in names:
        if name == ALL:
            chosen |= {
                other: module
                for other, module in EXPERIMENTS.items()
                if (other not in DEEP or other in deep) and _uses_any(module, sets)
            }
        elif name in EXPERIMENTS:
            together = {name, COMPANIONS.get(name, name)}
            chosen |= {other: EXPERIMENTS[other] for other in together}
        else:
            if name in ELSEWHERE:
                raise ValueError(f"experiment {name!r}: {ELSEWHERE[name]}")
            near = get_close_matches(name, [*EXPERIMENTS, ALL], n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"experiment {name!r} is unknown.{hint} Allowed are {[*EXPERIMENTS, ALL]}."
            )
    if not chosen:
        raise ValueError(f"name at least one experiment: {[*EXPERIMENTS, ALL]}.")
    return {name: module for name, module in EXPERIMENTS.items() if name in chosen}


def _uses_any(module: ModuleType, sets: Sequence[str] | None) -> bool:
    return sets is None or module.SETS is None or bool(set(module.SETS) & set(sets))


def deep_by_default(study: Study) -> tuple[str, ...]:
    """What "all" has of deep networks: everything on a GPU or at quick size, else given tables."""
    able = find_spec("torch") is not None
    if able and (study.device != "cpu" or study.setup.size.max_rows is not None):
        return DEEP
    return tuple(name for name in DEEP if study.table_elsewhere(name) is not None)


def experiments_of(study: Study, names: Sequence[str]) -> dict[str, ModuleType]:
    """Those that a study is asked for, with what comes along for nothing."""
    deep = deep_by_default(study)
    wanted = {*names, *(deep if ALL in names else ())}
    # With a table from elsewhere come no pieces that another one could be drawn from.
    dear = {
        other
        for name, other in COMPANIONS.items()
        if study.table_elsewhere(name) is not None and study.table_elsewhere(other) is None
    } - wanted
    chosen = chosen_experiments(names, study.sets, deep=deep)
    return {name: module for name, module in chosen.items() if name not in dear}


def plan(study: Study, names: Sequence[str], times: bool = True) -> list[Piece]:
    """All pieces that the experiments need, each once."""
    chosen = experiments_of(study, names)
    pieces = [
        piece
        for name, module in chosen.items()
        if study.table_elsewhere(name) is None
        for piece in module.pieces(study)
    ]
    if "table1" in chosen and times and study.table_elsewhere(SECONDS) is None:
        pieces += table1.time_pieces(study)
    return list(dict.fromkeys(pieces))


def reproduce(
    study: Study, names: Sequence[str], out: Path, *, times: bool = True, command: str = ""
) -> Path:
    """Compute, draw, check and write.

    Parameters
    ----------
    study : Study
        Settings, data, and what has been computed already.
    names : sequence of str
        Experiments, or "all".
    out : Path
        Folder for the page, ``figures/`` and ``tables/``. The page is called ``reproduction.md``
        for "all", and by the names of the experiments else. Nothing in it is ever half
        written.
    times : bool, default=True
        Whether Table 1 is timed. Without, two runs give the same bytes.
    command : str
        Stands on the page as what made it.

    Returns
    -------
    Path
        The page.
    """
    experiments = experiments_of(study, names)
    for name in (*experiments, *([SECONDS] if times and "table1" in experiments else [])):
        _given(study, name)  # what cannot be read is told before anything is computed
    remove_leftovers(out)
    study.rows(plan(study, names, times))
    sections = {name: _section(study, module, out, times) for name, module in experiments.items()}
    groups = {
        "Figures and tables of the paper": [sections[name] for name in PAPER if name in sections],
        "Beyond the paper": [sections[name] for name in BEYOND if name in sections],
        "The two diagrams": [_diagram(m, out) for m in (figure2, figure6) if ALL in names],
    }
    path = out / f"{'reproduction' if ALL in names else '-'.join(experiments)}.md"
    left_out = _left_out(study, experiments) if ALL in names else {}
    write_atomically(path, page(study.setup, groups, command, left_out).encode())
    return path


def _left_out(study: Study, experiments: Container[str]) -> dict[str, list[str]]:
    """Experiments that "all" left out, by reason."""
    missing = [name for name in EXPERIMENTS if name not in experiments]
    deep = [name for name in missing if _uses_any(EXPERIMENTS[name], study.sets)]
    others = [name for name in missing if name not in deep]
    lack = NO_TORCH if find_spec("torch") is None else NO_GPU
    return {reason: found for reason, found in ((NO_SETS, others), (lack, deep)) if found}


def _checked(setup: Setup, claims: Sequence[Claim]) -> list[Claim]:
    """Without those about the paper's numbers where a run cannot be compared with them."""
    comparable = setup.size == FULL and not setup.shuffle
    return [claim for claim in claims if comparable or not claim.about_paper]


def _section(study: Study, module: ModuleType, out: Path, times: bool) -> Section:
    table = _table(study, module)
    _write_table(table, out / "tables" / f"{module.NAME}.csv")
    if module is table1:
        return _table1_section(study, table, out, times)
    save(module.plot(table), out / "figures" / module.NAME)
    return Section(
        module.TITLE,
        module.CAPTION,
        f"figures/{module.NAME}.svg",
        body=module.remarks(table) if hasattr(module, "remarks") else "",
        claims=_checked(study.setup, module.claims(table)),
    )


def _table(study: Study, module: ModuleType) -> DataFrame:
    """An experiment's table, as it was computed elsewhere or by this study."""
    given = _given(study, module.NAME)
    return module.run(study) if given is None else given


def _given(study: Study, name: str) -> DataFrame | None:
    """A table that was computed elsewhere, to the last digit; None without one."""
    path = study.table_elsewhere(name)
    if path is None:
        return None
    import pandas

    try:
        table, text = pandas.read_csv(path), pandas.read_csv(path, dtype=str)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        what = " ".join(str(error).split())
        raise DatasetError(f"{path} is no table that can be read: {what}") from error
    for column in table.select_dtypes("float"):
        # Some versions of pandas lose the last digit, Python none.
        table[column] = [float(value) for value in text[column]]
    if study.sets is not None and "set" in table:
        table = table[table["set"].isin(study.sets)].reset_index(drop=True)
    if table.empty:
        which = "" if study.sets is None else f" of {list(study.sets)}"
        raise DatasetError(f"{path} has no rows{which}.")
    return table


def _table1_section(study: Study, table: DataFrame, out: Path, times: bool) -> Section:
    seconds = None
    if times:
        given = _given(study, SECONDS)
        seconds = table1.run_times(study) if given is None else given
        _write_table(seconds, out / "tables" / f"{SECONDS}.csv")
    body = table1.table(table, seconds, study.sets)
    if study.setup.size == FULL and not study.setup.shuffle:
        # Words about the paper's numbers are for runs that can be compared with them.
        body += "\n" + explained(table)
    claims = table1.claims(table) + ([] if seconds is None else table1.time_claims(seconds))
    checked = _checked(study.setup, claims)
    return Section(table1.TITLE, table1.CAPTION, body=body, claims=checked)


def _diagram(module: ModuleType, out: Path) -> Section:
    save(module.plot(), out / "figures" / module.NAME)
    return Section(module.TITLE, module.CAPTION, f"figures/{module.NAME}.svg")


def _write_table(table: DataFrame, path: Path) -> None:
    write_atomically(path, table.to_csv(index=False, lineterminator="\n").encode())
