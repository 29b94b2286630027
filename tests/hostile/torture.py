"""Runs the campaigns against the library: many seeded cases each, by workers that may die.

python tests/hostile/torture.py [--only NAME...] [--cases N] [--out FILE.jsonl] [--jobs N]
    [--page FILE]
python tests/hostile/torture.py --only NAME --number K...    (these cases alone, here)

A run appends one line to FILE.jsonl for each case, and skips cases that are in it already: with
--cases 0 it only shows what is stored, and writes the page.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

#: Modules of the campaigns, in the order in which they run.
CAMPAIGNS = (
    "hostile.problems",
    "hostile.mutated_files",
    "hostile.model_files",
    "hostile.kills",
)

#: Seconds that a new worker has until it is ready.
SECONDS_TO_START = 120.0

#: What a case without an outcome counts as.
NO_ANSWER = "no answer"

#: Columns of the table after campaign and kind.
COLUMNS = ("cases", "answered", "warned", "refused", "faults", "longest", "peak")

_TEXT = """\
# Cases that are meant to break it

Random problems, damaged files, crafted models and interruptions, each made from a seed and the
number of the case. A fault is an internal exception, a traceback, a wrong number without a
warning, a limit on time or memory that did not hold, or something half-written. "Refused" is an
error that is meant for users, "warned" an answer with a warning.

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; the exit code is 1 where there are faults."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [name_of(module) for module in CAMPAIGNS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--cases", type=int, help="of each campaign; by default as many as it says")
    parser.add_argument("--out", type=Path, default=Path("build/torture.jsonl"), metavar="FILE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="workers")
    parser.add_argument("--number", nargs="+", type=int, help="run these cases here, store nothing")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page about them")
    given = parser.parse_args(arguments)
    modules = [module for module in CAMPAIGNS if name_of(module) in given.only]
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the processors
    if given.number:
        return max(run_here(module, given.number) for module in modules)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        torture(modules, given.out, cases=given.cases, jobs=given.jobs)
    except KeyboardInterrupt:
        print(f"\nstopped; the same command continues from {given.out}", file=sys.stderr)
        return 130
    results = [line for line in stored(given.out) if line["campaign"] in given.only]
    print(as_text(table(results)))
    if given.page is not None:
        given.page.write_text(page(results), encoding="utf-8")
    for line in results:
        for fault in line["faults"]:
            print(f"{line['campaign']} {line['number']} ({line['kind']}): {fault}")
    return int(any(line["faults"] for line in results))


def name_of(module: str) -> str:
    """The name of a campaign: that of its module."""
    return module.rpartition(".")[2]


def run_here(module: str, numbers: Sequence[int]) -> int:
    """Run single cases in this process, and print what came out; exceptions leave it."""
    campaign, found = importlib.import_module(module), 0
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            outcome = campaign.run(number, Path(folder))
        print(f"{name_of(module)} {number} ({outcome.kind}): {outcome.answer}", *outcome.faults)
        found |= bool(outcome.faults)
    return int(found)


# ---------------------------------------------------------------------------------------
# A run
# ---------------------------------------------------------------------------------------


def torture(
    modules: Sequence[str], out: Path, *, cases: int | None = None, jobs: int = 1
) -> list[dict[str, Any]]:
    """Run the cases of campaigns that are not stored yet.

    Parameters
    ----------
    modules : sequence of str
        Names of the campaigns' modules.
    out : Path
        Where one line of JSON for each case is appended.
    cases : int, optional
        Cases of each campaign, by default as many as it asks for.
    jobs : int, default=1
        Worker processes.

    Returns
    -------
    list of dict
        The new lines.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    _drop_unfinished_line(out)
    known = {(line["campaign"], line["number"]) for line in stored(out)}
    campaigns = {module: importlib.import_module(module) for module in modules}
    new = []
    with out.open("a", encoding="utf-8") as file, tempfile.TemporaryDirectory() as root:
        for module, campaign in campaigns.items():
            name, count = name_of(module), campaign.CASES if cases is None else cases
            left = [number for number in range(count) if (name, number) not in known]
            start, faults = time.monotonic(), 0
            for done, line in enumerate(_results(module, campaign, left, jobs, Path(root)), 1):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                new.append(line)
                faults += bool(line["faults"])
                if line["faults"] or done % 100 == 0 or done == len(left):
                    seconds = (time.monotonic() - start) / done * (len(left) - done)
                    at = f"{name}: {done} of {len(left)} cases, {faults} with faults"
                    print(f"{at}, {seconds / 60:.0f} minutes left", file=sys.stderr, flush=True)
    return new


def _results(
    module: str, campaign: Any, numbers: list[int], jobs: int, root: Path
) -> Iterator[dict[str, Any]]:
    """What came out of each of these cases, as workers finish them."""
    waiting = numbers[::-1]
    free: list[_Worker] = []
    busy: list[_Worker] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                worker = free.pop() if free else _Worker(module, campaign, root)
                worker.begin(waiting.pop())
                busy.append(worker)
            soonest = min(worker.deadline for worker in busy) - time.monotonic()
            wait([worker.connection for worker in busy], timeout=max(soonest, 0.0))
            for worker in list(busy):
                line = worker.result()
                if line is None:
                    continue
                busy.remove(worker)
                if line["faults"]:
                    # What a fault has left behind must not reach other cases.
                    worker.end()
                else:
                    free.append(worker)
                yield line
    finally:
        for worker in [*free, *busy]:
            worker.end()


class _Worker:
    """A process that runs one case after the other, seen from outside.

    Parameters
    ----------
    module : str
        Of the campaign.
    campaign : module
    root : Path
        Where the folder of each case is made.
    """

    def __init__(self, module: str, campaign: Any, root: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.campaign, self.root = campaign, root
        self.connection, far_end = context.Pipe()
        self.process = context.Process(target=_work, args=(far_end, module))
        self.process.start()
        far_end.close()
        if not (self.connection.poll(SECONDS_TO_START) and self._received() == "ready"):
            self.end()
            raise RuntimeError(
                f"a worker for {module} did not start: it ended, or took more than "
                f"{SECONDS_TO_START:g} s."
            )

    def begin(self, number: int) -> None:
        self.number, self.started = number, time.monotonic()
        self.folder = Path(tempfile.mkdtemp(dir=self.root))
        self.deadline = self.started + float(self.campaign.SECONDS)
        with contextlib.suppress(BrokenPipeError):  # died between two cases: no answer will come
            self.connection.send((number, str(self.folder)))

    def result(self) -> dict[str, Any] | None:
        """What came out of the case; None while it runs."""
        late = time.monotonic() > self.deadline
        if not (self.connection.poll() or late):
            return None
        answer = self._received() if self.connection.poll() else None
        if not isinstance(answer, dict):
            self.process.join(timeout=0 if late else 10)
            reason = f"it took more than {self.campaign.SECONDS:g} s"
            if not late:
                reason = f"its process ended with exit code {self.process.exitcode}"
            answer = {"kind": NO_ANSWER, "answer": NO_ANSWER, "faults": [reason], "mebibytes": None}
            self.end()
        shutil.rmtree(self.folder, ignore_errors=True)
        seconds = round(time.monotonic() - self.started, 2)
        name = name_of(self.campaign.__name__)
        return {"campaign": name, "number": self.number, **answer, "seconds": seconds}

    def _received(self) -> Any:
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            return None

    def end(self) -> None:
        """Kill the process and all that it has started, which may outlive it."""
        assert self.process.pid is not None
        with contextlib.suppress(ProcessLookupError):  # it leads no group yet, or nothing is left
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()


def _work(connection: Connection, module: str) -> None:
    """Run the cases that come through the connection, until it is closed."""
    # A group of its own: Ctrl-C reaches the runner alone, which ends this group as a whole.
    os.setsid()
    campaign = importlib.import_module(module)
    if campaign.MEMORY is not None:
        resource.setrlimit(resource.RLIMIT_AS, (campaign.MEMORY, campaign.MEMORY))
    connection.send("ready")
    while True:
        try:
            number, folder = connection.recv()
        except EOFError:
            return
        _forget_peak()
        try:
            answer = dataclasses.asdict(campaign.run(number, Path(folder)))
            answer["faults"] = list(answer["faults"])
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            fault = f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
            answer = {"kind": NO_ANSWER, "answer": NO_ANSWER, "faults": [fault]}
        answer["mebibytes"] = round(_peak() / 2**20)
        connection.send(answer)


def _forget_peak() -> None:
    """Let the largest memory of the process start again from what it has now."""
    with contextlib.suppress(OSError):  # elsewhere than in Linux the peak is that of all cases
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> float:
    """Most resident bytes of this process."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
    return 1024.0 * float(status.partition("VmHWM:")[2].split()[0])


# ---------------------------------------------------------------------------------------
# Stored results
# ---------------------------------------------------------------------------------------


def stored(file: Path) -> list[dict[str, Any]]:
    """The lines of a file of results; none where there is no file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _drop_unfinished_line(file: Path) -> None:
    """Take away a last line that was being written when a run was killed."""
    if file.exists():
        whole = file.read_bytes()
        file.write_bytes(whole[: whole.rfind(b"\n") + 1])


def table(lines: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """One row for each campaign and kind, and one for all, under a row of names."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        groups[line["campaign"], line["kind"]].append(line)
    rows = [("campaign", "kind", *COLUMNS)]
    order = {name_of(module): number for number, module in enumerate(CAMPAIGNS)}
    for campaign, kind in sorted(groups, key=lambda key: (order.get(key[0], len(order)), key)):
        rows.append((campaign, kind, *_counts(groups[campaign, kind])))
    return [*rows, ("all", "", *_counts(lines))]


def _counts(lines: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    answers = [sum(line["answer"] == each for line in lines) for each in COLUMNS[1:4]]
    faults = sum(bool(line["faults"]) for line in lines)
    longest = max((line["seconds"] for line in lines), default=0.0)
    peak = max((line["mebibytes"] or 0 for line in lines), default=0)
    return (*map(str, [len(lines), *answers, faults]), f"{longest:.1f} s", f"{peak} MiB")


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """A table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        words = [cell.ljust(w) for cell, w in zip(row[:2], widths, strict=False)]
        numbers = [cell.rjust(w) for cell, w in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join([*words, *numbers]))
    return "\n".join(lines)


def page(lines: Sequence[Mapping[str, Any]]) -> str:
    """The page that lists what was tried, how often, and with what faults, in Markdown."""
    head, *rows = table(lines)
    marks = ["---", "---", *["--:"] * len(COLUMNS)]
    written = "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *rows])
    tried = "\n".join(f"- {name}: {words}" for name, words in _descriptions(lines))
    faults = [
        f"- {line['campaign']} {line['number']} ({line['kind']}): {'; '.join(line['faults'])}"
        for line in lines
        if line["faults"]
    ]
    left = "\n\nFaults that are left:\n\n" + "\n".join(faults) if faults else ""
    return (
        f"{_TEXT}{tried}\n\n`make torture` runs them and writes this page; `python "
        "tests/hostile/torture.py --only problems --number 17` repeats one case.\n\n"
        f"{written}{left}\n"
    )


def _descriptions(lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The name of each campaign in the results, and what its module says of itself."""
    known = {line["campaign"] for line in lines}
    for module in CAMPAIGNS:
        if name_of(module) in known:
            campaign = importlib.import_module(module)
            yield name_of(module), " ".join((campaign.__doc__ or "").split())


if __name__ == "__main__":
    raise SystemExit(main())
