"""``negcorr datasets``: a table of the data sets."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Column, Table

from negcorr.datasets import DATASETS, available

__all__ = ["print_datasets"]

_WORDS = {"here": "at hand", "download": "on OpenML", "missing": "not at hand"}


def print_datasets(data: Path | None, as_json: bool) -> None:
    """Print name, size, origin and place of every set.

    Parameters
    ----------
    data : Path or None
        Folder to look at first.
    as_json : bool
        A JSON list instead of a table.
    """
    places = available(data)
    if as_json:
        rows = [
            asdict(DATASETS[place.name])
            | {"status": place.status, "path": None if place.path is None else str(place.path)}
            for place in places
        ]
        print(json.dumps(rows, indent=2))
        return
    right = [Column(name, justify="right") for name in ("rows", "features", "targets")]
    table = Table("name", *right, "available", "predicts", box=box.SIMPLE_HEAD, pad_edge=False)
    for place in places:
        entry = DATASETS[place.name]
        sizes = map(str, (entry.n_samples, entry.n_features, entry.n_targets))
        table.add_row(entry.name, *sizes, _WORDS[place.status], entry.predicts)
    console = Console()
    console.print(table)
    here = sum(place.status == "here" for place in places)
    console.print(
        f"{here} of {len(places)} are at hand. Sets are looked for in --data, $NEGCORR_DATA and "
        "the user cache.",
        highlight=False,
    )
