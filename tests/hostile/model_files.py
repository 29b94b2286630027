"""Crafted files of models: loaded, asked, and given to ``negcorr predict``.

A file whose bytes were changed is refused, or answers as it did: its checksum notices. A file that
was forged, with the right checksum of what it holds now, is refused, or answers, or says in our
words why it does not: a forger may put other numbers into a model, but nothing that runs, hangs, or
fails where nobody expects it. What a file holds of scikit-learn's own estimators, beside trees and
sparse matrices, is scikit-learn's to check.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hostile.crafts import CRAFTS, Craft
from hostile.outcome import Outcome
from hostile.valid_models import MODELS, TABLE, Valid, answers, valid
from sklearn.exceptions import NotFittedError

from negcorr import load
from negcorr.cli.main import main
from negcorr.exceptions import ModelFileError
from negcorr.storage.save_load import describe

__all__ = ["CASES", "MEMORY", "SECONDS", "run"]

CASES = 1000
SECONDS = 60.0
MEMORY: int | None = 6 * 2**30

SEED = 20_261_119

#: Seconds in which a small file is refused or answers.
SOON = 20.0

#: One case in so many goes through the command line as well.
ON_COMMAND_LINE = 12

#: Errors that nobody has thought of, whoever raises them.
INTERNAL = (
    *(AssertionError, AttributeError, IndexError, KeyError, RecursionError, MemoryError),
    *(ZeroDivisionError, OverflowError, NotImplementedError, StopIteration),
)


def run(number: int, folder: Path) -> Outcome:
    """Craft file ``number`` of a random valid model, and see what comes of it."""
    rng = np.random.default_rng([SEED, number])
    on_command_line = number % ON_COMMAND_LINE == 0
    model = valid("cli" if on_command_line else str(rng.choice(list(MODELS))))
    names = list(CRAFTS)
    weights = np.array([CRAFTS[name].share for name in names], dtype=float)
    name = str(rng.choice(names, p=weights / weights.sum()))
    craft = CRAFTS[name]
    file, witness = folder / "model.skops", folder / "was run"
    file.write_bytes(craft.make(rng, model.bytes, model.members, witness))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer, faults = _ask(file, model, craft)
        if on_command_line:
            faults += _on_command_line(file, folder, answer == "refused")
    if (took := time.perf_counter() - start) > SOON:
        faults += (f"it took {took:.0f} s.",)
    if witness.exists():
        faults += ("the file ran a command.",)
    return Outcome(name, answer, faults)


def _ask(file: Path, model: Valid, craft: Craft) -> tuple[str, tuple[str, ...]]:
    """Load a file and ask its model everything; how it answered, and what is wrong with that."""
    with contextlib.suppress(ModelFileError):
        describe(file)
    try:
        loaded = load(file)
    except ModelFileError as error:
        wrong = [] if _is_sentence(str(error)) else [f"no plain sentence: {str(error)!r}"]
        return "refused", tuple(wrong)
    if craft.refused:
        return "answered", ("the file should have been refused.",)
    found = answers(loaded, model.table)
    return "answered", tuple(_faults(found, model.answers, forged=craft.forged))


def _is_sentence(text: str) -> bool:
    """Whether a message is one line of printable text."""
    return text.isprintable() and text.endswith(".") and len(text) < 3000


def _faults(found: dict[str, Any], wanted: dict[str, Any], *, forged: bool) -> list[str]:
    faults = []
    for question, answer in found.items():
        before = wanted.get(question)
        if isinstance(answer, Exception):
            same = type(answer) is type(before)
            if not same and (not forged or not _is_ours(answer)):
                where = "".join(traceback.format_exception(answer)[-3:-1]).strip()
                faults.append(f"{question}: {type(answer).__name__}: {answer}; {where}")
        elif not forged and not _same(answer, before):
            faults.append(f"{question} is another than before.")
        elif len(wanted) > 1 and not _is_finite(answer) and _is_finite(before):
            faults.append(f"{question} is not finite.")  # of a model of this library itself
    return faults


def _same(one: Any, other: Any) -> bool:
    try:
        np.testing.assert_equal(one, other)
    except AssertionError:
        return False
    return True


def _is_finite(answer: Any) -> bool:
    """Whether an answer has no infinity, and no value that lacks."""
    if isinstance(answer, dict):
        return all(_is_finite(part) for part in answer.values())
    if isinstance(answer, tuple):
        return all(_is_finite(part) for part in answer)
    return isinstance(answer, str) or bool(np.isfinite(answer).all())


def _is_ours(error: Exception) -> bool:
    """Whether an error was raised on purpose, or by an estimator of scikit-learn alone.

    What the estimators of other libraries hold is not looked at when a file is loaded.
    """
    frames = traceback.extract_tb(error.__traceback__)
    library = [frame for frame in frames if "negcorr" in Path(frame.filename).parts]
    if not library or isinstance(error, NotFittedError):
        return True
    last = frames[-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    meant = line.startswith("raise") and not isinstance(error, INTERNAL)
    return meant and bool({"negcorr", "sklearn"} & set(Path(last.filename).parts))


def _on_command_line(file: Path, folder: Path, refused: bool) -> tuple[str, ...]:
    """Predict with the file by ``negcorr predict``; what is wrong with the answer."""
    table, made = folder / "homes.csv", folder / "made.csv"
    TABLE.to_csv(table, index=False)
    said = io.StringIO()
    code: Any = 0
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            main(["predict", str(file), str(table), "--out", str(made)])
    except SystemExit as ended:
        code = ended.code or 0
    except Exception as error:
        where = "".join(traceback.format_exception(error)[-3:-1]).strip()
        return (f"negcorr predict raised {type(error).__name__}: {error}; {where}",)
    faults = []
    lines = [line for line in said.getvalue().splitlines() if line.startswith("negcorr: ")]
    left = sorted(set(os.listdir(folder)) - {"model.skops", "homes.csv"})
    if code == 0 and (refused or left != ["made.csv"]):
        faults.append(f"negcorr predict ended with 0 and left {left}.")
    if code != 0 and (code != 1 or len(lines) != 1 or left):
        faults.append(f"negcorr predict ended with {code}, said {lines}, and left {left}.")
    return tuple(faults)
