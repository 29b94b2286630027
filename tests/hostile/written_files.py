"""Whether files that the library writes are complete, and belong together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from toy_tables import homes

import negcorr
from negcorr.cli.fit_files import FILES
from negcorr.storage.save_load import describe

__all__ = ["faults_of_fit", "faults_of_table", "files_in", "inputs", "leftovers", "seed_of_fit"]


def files_in(folder: Path) -> dict[str, bytes]:
    """Content by name of all files below a folder, but for what killed runs leave."""
    if not folder.exists():
        return {}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".negcorr-" not in str(path.relative_to(folder))
    }


def leftovers(folder: Path) -> list[str]:
    """What is left below a folder of runs that did not end."""
    return sorted(path.name for path in folder.rglob(".negcorr-*"))


def inputs() -> Any:
    """Rows to predict."""
    return homes().drop(columns=["price"])


def seed_of_fit(out: Path) -> int:
    """The seed of the fit that wrote a folder, 0 where it is not the command's."""
    words = json.loads((out / "metrics.json").read_bytes())["command"].split()
    return int(words[words.index("--seed") + 1]) if "--seed" in words else 0


def faults_of_fit(out: Path) -> list[str]:
    """What is wrong with the four files of a fit."""
    names = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
    if not set(FILES) <= set(names):
        return [f"a fit left {names}"]
    metrics = json.loads((out / "metrics.json").read_bytes())
    faults = []
    about = describe(out / "model.skops")
    if about.notes["command"] != metrics["command"]:
        faults.append(f"model of {about.notes['command']!r}, figures of {metrics['command']!r}")
    model = negcorr.load(out / "model.skops")
    lam = np.asarray(metrics["model"]["lam"], dtype=float)
    if not np.array_equal(np.asarray(model.lam_, dtype=float), lam):
        faults.append(f"model with λ = {model.lam_}, figures with λ = {lam}")
    page = (out / "report.html").read_text(encoding="utf-8")
    if not page.rstrip().endswith("</html>"):
        faults.append("the report has no end")
    if len(pd.read_csv(out / "path.csv")) < 2:
        faults.append("the path has no rows")
    return faults


def faults_of_table(path: Path, expected: Any) -> list[str]:
    """What is wrong with a table of predictions."""
    found = negcorr.read_table(path).frame
    if list(found.columns) != list(expected.columns) or len(found) != len(expected):
        return [f"{path.name} is {found.shape}, not {expected.shape}"]
    same = np.allclose(found.to_numpy(float), expected.to_numpy(float), rtol=1e-9, equal_nan=True)
    return [] if same else [f"{path.name} has other numbers"]
