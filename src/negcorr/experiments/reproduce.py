"""From names of experiments to a folder of tables, figures and a page."""

from __future__ import annotations

from collections.abc import Container, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from negcorr._files import remove_leftovers, write_atomically
from negcorr.experiments import figure2, figure6, table1
from negcorr.experiments.catalogue import BEYOND, COMPANIONS, DEEP, EXPERIMENTS, PAPER
from negcorr.experiments.claims import Claim
from negcorr.experiments.differences import explained
from negcorr.experiments.drawing import save
from negcorr.experiments.page import Section, page
from negcorr.experiments.pieces import Piece
from negcorr.experiments.setup import FULL, Setup
from negcorr.experiments.study import Study

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["ALL", "chosen_experiments", "deep_by_default", "experiments_of", "plan", "reproduce"]

#: Stands for every experiment.
ALL = "all"

#: Figures of the paper that are no experiments of their own.
ELSEWHERE = dict.fromkeys(("figure2", "figure6"), "a diagram; 'all' draws it.")


#: Why "all" leaves experiments out.
NO_SETS = "none of their data sets was asked for"
NO_GPU = (
    "they train deep networks, which takes minutes on a GPU (--device cuda) and about a day "
    "without; named one by one they are run anywhere"
)


def chosen_experiments(
    names: Sequence[str], sets: Sequence[str] | None = None, *, deep: bool = True
) -> dict[str, ModuleType]:
    """Experiments by name, with what comes along for nothing; unknown names meet the nearest.

    "all" stands for every one that uses any of ``sets``, and those that are simulated; those that
    train deep networks are among them only with ``deep``.
    """
    chosen: dict[str, ModuleType] = {}
    for name in names:
        if name == ALL:
            chosen |= {
                other: module
                for other, module in EXPERIMENTS.items()
                if (deep or other not in DEEP)
                and (sets is None or module.SETS is None or set(module.SETS) & set(sets))
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


def deep_by_default(study: Study) -> bool:
    """Whether "all" has deep networks: on a GPU, at quick size, or from tables."""
    if all(study.table_elsewhere(name) is not None for name in DEEP):
        return True
    able = find_spec("torch") is not None
    return able and (study.device != "cpu" or study.setup.size.max_rows is not None)


def experiments_of(study: Study, names: Sequence[str]) -> dict[str, ModuleType]:
    """Those that a study is asked for."""
    return chosen_experiments(names, study.sets, deep=deep_by_default(study))


def plan(study: Study, names: Sequence[str], times: bool = True) -> list[Piece]:
    """All pieces that the experiments need, each once."""
    chosen = experiments_of(study, names)
    pieces = [
        piece
        for name, module in chosen.items()
        if study.table_elsewhere(name) is None
        for piece in module.pieces(study)
    ]
    if "table1" in chosen and times:
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
    deep = [] if deep_by_default(study) else [name for name in missing if name in DEEP]
    others = [name for name in missing if name not in deep]
    return {reason: found for reason, found in ((NO_SETS, others), (NO_GPU, deep)) if found}


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
    path = study.table_elsewhere(module.NAME)
    if path is None:
        return module.run(study)
    import pandas

    return pandas.read_csv(path)


def _table1_section(study: Study, table: DataFrame, out: Path, times: bool) -> Section:
    seconds = table1.run_times(study) if times else None
    if seconds is not None:
        _write_table(seconds, out / "tables" / "table1_seconds.csv")
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
