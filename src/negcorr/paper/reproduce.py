"""Reproduction of experiments by name: writes a folder of tables, figures and a page."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from negcorr._common.files import remove_leftovers, write_atomically
from negcorr.datasets import DatasetError
from negcorr.paper.catalogue import ALL, BEYOND, PAPER, experiments_of, left_out
from negcorr.paper.figure_style import save
from negcorr.paper.figures import figure2, figure6, table1
from negcorr.paper.page import Section, checkable, comparable, page
from negcorr.paper.pieces import Piece
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame

__all__ = ["plan", "reproduce"]

#: Name of the table with the seconds of Table 1.
SECONDS = "table1_seconds"


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
    """Compute, draw, check and write experiments.

    Parameters
    ----------
    study : Study
        Settings, data, and what has been computed already.
    names : sequence of str
        Experiments, or "all".
    out : Path
        Folder for the page, ``figures/`` and ``tables/``. The page is called ``reproduction.md``
        for "all", else by the names of the experiments. Each file is written in one step.
    times : bool, default=True
        Whether Table 1 is timed. Without, two runs give the same bytes.
    command : str
        The command that makes the page, which the page names.

    Returns
    -------
    Path
        The page.
    """
    experiments = experiments_of(study, names)
    for name in (*experiments, *([SECONDS] if times and "table1" in experiments else [])):
        _table_from_elsewhere(study, name)  # an unreadable table is an error before anything runs
    for folder in (out / "tables", out / "figures", *out.glob("pieces/*")):
        remove_leftovers(folder)
    study.rows(plan(study, names, times))
    sections = {name: _section(study, module, out, times) for name, module in experiments.items()}
    diagrams = []
    for diagram in (figure2, figure6) if ALL in names else ():
        save(diagram.plot(), out / "figures" / diagram.NAME)
        picture = f"figures/{diagram.NAME}.svg"
        diagrams.append(Section(diagram.TITLE, diagram.CAPTION, picture))
    groups = {
        "Figures and tables of the paper": [sections[name] for name in PAPER if name in sections],
        "Beyond the paper": [sections[name] for name in BEYOND if name in sections],
        "The two diagrams": diagrams,
    }
    path = out / f"{'reproduction' if ALL in names else '-'.join(experiments)}.md"
    text = page(study.setup, groups, command, left_out(study, names))
    write_atomically(path, text.encode())
    return path


def _section(study: Study, module: ModuleType, out: Path, times: bool) -> Section:
    """The section of an experiment; its table and figure are written to the folder."""
    table = _table_from_elsewhere(study, module.NAME)
    tables = {module.NAME: module.run(study) if table is None else table}
    table, figure = tables[module.NAME], None
    claims = module.claims(table)
    body = module.remarks(table) if hasattr(module, "remarks") else ""
    if module is table1:
        seconds = None
        if times:
            seconds = _table_from_elsewhere(study, SECONDS)
            tables[SECONDS] = seconds = table1.run_times(study) if seconds is None else seconds
            claims += table1.time_claims(seconds)
        body = table1.table(table, seconds, study.sets)
        body += "\n" + table1.explained(table) if comparable(study.setup) else ""
    for name, one in tables.items():
        text = one.to_csv(index=False, lineterminator="\n").encode()
        write_atomically(out / "tables" / f"{name}.csv", text)
    if module is not table1:
        save(module.plot(table), out / "figures" / module.NAME)
        figure = f"figures/{module.NAME}.svg"
    claims = checkable(study.setup, claims)
    return Section(module.TITLE, module.CAPTION, figure, body, claims)


def _table_from_elsewhere(study: Study, name: str) -> DataFrame | None:
    """A table that was computed elsewhere, exact to the last digit, or None."""
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
        # Some versions of pandas lose the last digit, Python does not.
        table[column] = [float(value) for value in text[column]]
    if study.sets is not None and "set" in table:
        table = table[table["set"].isin(study.sets)].reset_index(drop=True)
    if table.empty:
        which = "" if study.sets is None else f" of {list(study.sets)}"
        raise DatasetError(f"{path} has no rows{which}.")
    return table
