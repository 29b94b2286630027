"""Whether the same rows give the same model, whichever way and in whichever order they come in.

    python benchmarks/one_answer.py             # all sets, doors and machines: about half an hour
    python benchmarks/one_answer.py --quick     # diabetes and the made table: a minute and a half
    python benchmarks/one_answer.py --oldest    # and the oldest releases that are supported

Each fit is compared with one reference, ``NCLRegressor().fit(frame, y)`` in the order of the set,
on the rows of the reference. Wanted are the same candidates, the same λ on its lattice of 50 points
a decade of the gap, dof to 1e-8 (relative to it, or to 1), and predictions to 1e-6 standard
deviations of the target, or 1e-10 where the same numbers reach an estimator in memory. A scaler
before the estimator shows it other numbers: there the reference is the same pipeline in the order
of the set.

The sets (``one_answer_sets.py``): diabetes, a made table, and of the paper abalone, water and
california, where there are files of them. The doors are in ``one_answer_doors.py``, child processes
with other kernels, threads and releases in ``one_answer_machines.py``. Finished cases are stored,
and not run again while the reference is what it was; ``--anew`` forgets them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import traceback
import venv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

# Before SciPy is imported: scikit-learn's dispatch to other array libraries needs it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

from one_answer_doors import DOF, DOORS, PREDICTIONS, Door, of_frame, of_scaled
from one_answer_machines import (
    ENVIRONMENTS,
    REFERENCE,
    SINGLE,
    TABLES,
    CannotRunError,
    answers_in,
    differences,
)
from one_answer_sets import SETS, AnswerSet, load_set

#: Stored cases of another version are run again.
PROTOCOL = 1

#: Orders of diabetes, spread over the doors; orders of each set through each door.
SPREAD, ORDERS = 20, {"diabetes": 3, "made": 3, "abalone": 3, "water": 3, "california": 1}

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Case:
    """A set through a door in an order."""

    table: str
    door: Door
    order: int

    @property
    def key(self) -> str:
        """Under which it is stored."""
        return f"{PROTOCOL} | {self.table} | {self.door.name} | order {self.order}"


def plan(quick: bool) -> list[Case]:
    """Sets × doors × orders; sets that are not there are left out later."""
    cases = []
    for name in ("diabetes", "made") if quick else SETS:
        for number, door in enumerate(DOORS):
            count = int(name in door.quick) if quick else ORDERS[name]
            for k in range(count):
                order = 1 + k + (number if quick else 0)
                if name == "diabetes":
                    order = 1 + (number * count + k) % SPREAD
                cases.append(Case(name, door, order))
    return cases


class Results:
    """What was measured, in a file that is written after every case."""

    def __init__(self, path: Path | None, anew: bool) -> None:
        self.path = path
        stored = path is not None and path.exists() and not anew
        self.cases: dict[str, Any] = json.loads(path.read_text("utf-8")) if stored else {}

    def known(self, key: str, reference: str) -> dict[str, Any] | None:
        """A stored case, if it was compared with the same reference."""
        found = self.cases.get(key)
        return found if found is not None and found["reference"] == reference else None

    def add(self, key: str, found: dict[str, Any]) -> None:
        """Store a case."""
        self.cases[key] = found
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            hidden = self.path.with_suffix(".part")
            hidden.write_text(json.dumps(self.cases, indent=1, sort_keys=True) + "\n", "utf-8")
            hidden.replace(self.path)


def measured(case: Case, table: AnswerSet, reference: dict[str, Any]) -> dict[str, Any]:
    """The differences of a case from the reference; of one that fails, the error."""
    start, cpu = perf_counter(), process_time()
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = case.door.through(table.in_order(case.order), table, Path(folder))
        found = differences(answer, reference)
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}".strip().splitlines()[-1]}
        traceback.print_exc(file=sys.stderr)
    return found | {"seconds": perf_counter() - start, "cpu_seconds": process_time() - cpu}


def holds(found: dict[str, Any], limit: float) -> bool:
    """Whether a case is within all limits."""
    if "error" in found:
        return False
    close = found["lam"] < 1e-6 and found["dof"] <= DOF and found["predictions"] <= limit
    return bool(found["members"] and close)


def digest(answer: dict[str, Any]) -> str:
    """What tells a reference from another one: members, λ and a few digits."""
    dof = ", ".join(f"{dof:.6g}" for dof in answer["dof"])
    gaps = ", ".join(f"{gap:.6g}" for gap in answer["gap"])
    return f"{len(answer['members'])} members, gap {gaps}, dof {dof}"


def doors(results: Results, quick: bool) -> Iterator[tuple[str, str, dict[str, Any], float]]:
    """Set, door, differences and limit of every case, as they become known."""
    cases = plan(quick)
    for name in dict.fromkeys(case.table for case in cases):
        table = load_set(name)
        if table is None:
            print(f"{name}: no file of it, left out", flush=True)
            continue
        references = {False: of_frame(table, table, Path())}
        if table.is_numeric:
            references[True] = of_scaled(table, table, Path())
        for case in cases:
            door = case.door
            if case.table != name or (door.numbers_only and not table.is_numeric):
                continue
            reference = references[door.own_reference]
            found = results.known(case.key, digest(reference))
            if found is None:
                found = measured(case, table, reference) | {"reference": digest(reference)}
                results.add(case.key, found)
            yield name, door.name, found, door.limit


def machines(results: Results, oldest: bool) -> Iterator[tuple[str, str, dict[str, Any], float]]:
    """The same for environments; each is a child process."""
    reference = answers_in(REFERENCE)
    plans = [(environment.name, environment, sys.executable) for environment in ENVIRONMENTS]
    with tempfile.TemporaryDirectory() as folder:
        if oldest:
            python = oldest_releases(Path(folder))
            plans.append(("oldest releases", REFERENCE, python))
        for title, environment, python in plans:
            try:
                answers = answers_in(environment, python)
            except CannotRunError as reason:
                print(f"{title}: left out, {reason}", flush=True)
                continue
            for case, answer in answers.items():
                other = reference[case]
                found = differences(answer, other) | {"reference": digest(other)}
                results.add(f"{PROTOCOL} | {case} | {title}", found)
                yield case.split(",")[0], title, found, PREDICTIONS
    single = answers_in(SINGLE)
    for name in TABLES:
        answer, other = (single[f"{name}, {kind}"] for kind in ("single", "copy"))
        found = differences(answer, other) | {"reference": digest(other)}
        results.add(f"{PROTOCOL} | {name} | {SINGLE.name}", found)
        yield name, SINGLE.name, found, PREDICTIONS


def oldest_releases(folder: Path) -> str:
    """The Python of a new environment with the lower bounds of ``pyproject.toml``, by pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lowest = [each.replace(">=", "==") for each in project["dependencies"]]
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Frames of pandas are read by the release that goes with this NumPy.
    subprocess.run([*pip, *lowest, "pandas>=2.2,<3"], check=True)
    return python


def table_of(rows: list[tuple[str, str, dict[str, Any], float]]) -> str:
    """Sets × doors, with the largest differences over the orders."""
    groups: dict[tuple[str, str], list[tuple[dict[str, Any], float]]] = {}
    for name, door, found, limit in rows:
        groups.setdefault((name, door), []).append((found, limit))
    head = f"{'set':<11}{'door':<32}{'fits':>4}{'members':>9}{'λ':>9}{'dof':>9}{'F':>9}  holds"
    lines = [head]
    for (name, door), found in groups.items():
        errors = [each["error"] for each, _ in found if "error" in each]
        line = f"{name:<11}{door:<32}{len(found):>4}"
        if errors:
            lines.append(f"{line}  {errors[0][:100]}")
            continue
        same = "same" if all(each["members"] for each, _ in found) else "others"
        most = [max(each[part] for each, _ in found) for part in ("lam", "dof", "predictions")]
        numbers = "".join(f"{value:>9.1e}" for value in most)
        kept = "yes" if all(holds(*each) for each in found) else "NO"
        lines.append(f"{line}{same:>9}{numbers}  {kept}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/one_answer.json")
    parser.add_argument("--quick", action="store_true", help="few sets and orders; nothing stored")
    parser.add_argument("--oldest", action="store_true", help="the oldest releases as well, by pip")
    parser.add_argument("--anew", action="store_true", help="forget what is stored")
    options = parser.parse_args(arguments)
    start = perf_counter()
    results = Results(None if options.quick else options.out, options.anew)
    rows = list(doors(results, options.quick))
    if not options.quick:
        rows += machines(results, options.oldest)
    print(table_of(rows))
    failed = [row for row in rows if not holds(row[2], row[3])]
    print(f"{len(rows)} fits, {len(failed)} beyond a limit; {perf_counter() - start:.0f} s")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
