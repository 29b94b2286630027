"""What the user typed after ``negcorr fit``, checked before anything is read."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from negcorr.cli.errors import UsageError
from negcorr.cli.names import check_choice, parts_of

__all__ = ["BASES", "CRITERIA", "DEEP_CRITERIA", "LOSSES", "RIVALS", "SOLVERS", "FitOptions"]

#: Allowed values, written out: what knows them takes a second to load, and help must not wait.
BASES = ("auto", "fourier", "orthogonal", "nystroem", "kernel", "trees")
CRITERIA = ("kfold", "sure", "gcv", "loo", "aic", "aicc", "bic", "cp")
DEEP_CRITERIA = ("sure", "gcv")
SOLVERS = ("auto", "gram", "qr")
LOSSES = ("squared", "huber")
RIVALS = ("mean", "ridge", "random forest", "gradient boosting")

#: Endings that say nothing about a file's name.
_ENDINGS = {".gz", ".bz2", ".xz", ".zip"}


@dataclass(frozen=True)
class FitOptions:
    """A request to fit.

    Attributes
    ----------
    data : Path
    target, drop, categorical : sequence of str
        Columns, as they were typed.
    weights, group, time : str or None
        Columns of such a kind.
    test : Path or None
        Second file to test on.
    test_size : float or None
        Share of rows to hold out.
    criterion, basis, solver, loss : str or None
    members, components : int or None
    seed : int
    deep : bool
    rivals_given : str or None
    jobs : int or None
    stream : bool or None
        Whether the file is read in pieces; None leaves it to its size.
    out : Path or None
    """

    data: Path
    target: Sequence[str]
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    weights: str | None = None
    group: str | None = None
    time: str | None = None
    test: Path | None = None
    test_size: float | None = None
    criterion: str | None = None
    basis: str | None = None
    solver: str | None = None
    loss: str | None = None
    members: int | None = None
    components: int | None = None
    seed: int = 0
    deep: bool = False
    rivals_given: str | None = None
    jobs: int | None = None
    stream: bool | None = None
    out: Path | None = None

    def check(self) -> None:
        """Refuse what cannot be carried out.

        Raises
        ------
        UsageError
            Naming the option, its value and what is allowed.
        """
        if self.test is not None and self.test_size is not None:
            raise UsageError("--test and --test-size: give one of them.")
        if not 0.0 < self.test_share < 1.0:
            raise UsageError(f"--test-size {self.test_share}: must be between 0 and 1.")
        if not 0 <= self.seed < 2**32:
            raise UsageError(f"--seed {self.seed}: must be at least 0 and below 2**32.")
        if self.jobs is not None and (self.jobs == 0 or self.jobs < -1):
            raise UsageError(f"--jobs {self.jobs}: give a number of cores, or -1 for all.")
        if self.group is not None and self.time is not None:
            raise UsageError("--group and --time: give one of them.")
        for rival in self.rivals:
            check_choice("--rivals", rival, (*RIVALS, "none"))
        choices = (("--basis", self.basis, BASES), ("--solver", self.solver, SOLVERS))
        for option, value, allowed in choices:
            if value is not None:
                check_choice(option, value, allowed)
        if self.loss not in (None, *LOSSES) and not _is_threshold(self.loss):
            raise UsageError(f"--loss {self.loss}: allowed are {', '.join(LOSSES)}, numbers > 0.")
        if self.criterion is not None:
            check_choice("--criterion", self.criterion, DEEP_CRITERIA if self.deep else CRITERIA)
        if self.deep:
            self._check_deep()
        if self.stream and self.needs_memory:
            raise UsageError(f"--stream: {self.needs_memory} needs the whole table in memory.")

    @property
    def needs_memory(self) -> str:
        """An option that cannot be followed in pieces, or nothing."""
        asked = {
            "--group": self.group is not None,
            "--time": self.time is not None,
            "--test": self.test is not None,
            "--deep": self.deep,
            "--criterion loo": self.criterion == "loo",
            "--basis auto": self.basis == "auto",
            f"--loss {self.loss}": self.loss not in (None, "squared"),
        }
        return next((option for option, given in asked.items() if given), "")

    def _check_deep(self) -> None:
        given = {
            "--basis": self.basis,
            "--components": self.components,
            "--solver": self.solver,
            "--loss": self.loss,
        }
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} {value}: deep networks have none; leave out --deep.")
        if find_spec("torch") is None:
            raise UsageError(
                "--deep needs PyTorch, which is not installed: pip install 'negcorr[cli,deep]'"
            )
        if self.weights is not None:
            raise UsageError(f"--weights {self.weights}: deep networks take no weights.")

    @property
    def test_share(self) -> float:
        """Share of the rows to hold out."""
        return 0.2 if self.test_size is None else self.test_size

    @property
    def rivals(self) -> tuple[str, ...]:
        """What the ensemble is compared with."""
        if self.rivals_given is None:
            return RIVALS
        given = tuple(parts_of(self.rivals_given))
        return () if given == ("none",) else given

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the ensemble, where they were given."""
        given = {
            "n_estimators": self.members,
            "n_components": self.components,
            "basis": self.basis,
            "criterion": self.criterion,
            "solver": self.solver,
            "loss": self.loss if self.loss in (None, *LOSSES) else float(self.loss),
        }
        return {} if self.deep else {k: v for k, v in given.items() if v is not None}

    @property
    def deep_parameters(self) -> dict[str, Any]:
        """Of an ensemble of deep networks, where they were given."""
        given = {"n_estimators": self.members, "criterion": self.criterion}
        return {k: v for k, v in given.items() if v is not None}

    @property
    def folder(self) -> Path:
        """Where the files go: by default beside the user, named after the data."""
        if self.out is not None:
            return self.out
        name = Path(self.data.name)
        while name.suffix.lower() in _ENDINGS:
            name = name.with_suffix("")
        return Path(f"{name.stem or 'data'}-negcorr")

    @property
    def command(self) -> str:
        """The command that gives the same files."""
        words = ["negcorr", "fit", str(self.data)]
        for option, values in (
            ("--target", self.target),
            ("--drop", self.drop),
            ("--categorical", self.categorical),
        ):
            words += [word for value in values for word in (option, value)]
        single = {
            "--out": self.out,
            "--weights": self.weights,
            "--group": self.group,
            "--time": self.time,
            "--test": self.test,
            "--test-size": self.test_size,
            "--criterion": self.criterion,
            "--basis": self.basis,
            "--solver": self.solver,
            "--loss": self.loss,
            "--members": self.members,
            "--components": self.components,
            "--seed": self.seed or None,
            "--rivals": self.rivals_given,
        }
        for option, value in single.items():
            words += [] if value is None else [option, str(value)]
        words += ["--deep"] if self.deep else []
        if self.stream is not None:
            words.append("--stream" if self.stream else "--no-stream")
        return shlex.join(words)


def _is_threshold(loss: str) -> bool:
    """Whether a word is a finite number above 0."""
    try:
        return 0.0 < float(loss) < float("inf")
    except ValueError:
        return False
