"""The options of ``negcorr fit``, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from negcorr.cli.app import (
    CategoricalOption,
    DataArgument,
    DropOption,
    SeedOption,
    TargetOption,
    command_line,
)
from negcorr.cli.arguments import UsageError, check_choice, check_jobs, check_seed, parts_of

if TYPE_CHECKING:
    from negcorr.bases import AutoBasis, Basis

__all__ = ["BASES", "CRITERIA", "DEEP_CRITERIA", "LOSSES", "RIVALS", "SOLVERS", "FitOptions"]

#: Allowed values. They are repeated here because the modules that define them take a second to
#: load, and help must not wait.
BASES = ("auto", "fourier", "orthogonal", "nystroem", "kernel", "linear", "trees")
CRITERIA = ("kfold", "sure", "gcv", "loo", "aic", "aicc", "bic", "cp")
DEEP_CRITERIA = ("sure", "gcv")
SOLVERS = ("auto", "gram", "qr")
LOSSES = ("squared", "huber")
RIVALS = ("mean", "ridge", "random forest", "gradient boosting")

#: Endings of compressed files.
_ENDINGS = {".gz", ".bz2", ".xz", ".zip"}

#: Options that decide what is written, in the order in which the command is recorded.
_RECORDED = (
    *("data", "target", "drop", "categorical", "out", "weights", "group", "time", "test"),
    *("test_size", "criterion", "basis", "solver", "loss", "members", "components", "seed"),
    *("rivals", "deep", "stream"),
)

_OUT_HELP = "Folder for the files; DATA-negcorr."
_WEIGHTS_HELP = "Column that says how often a row counts."
_GROUP_HELP = "Column of rows that belong together."
_TIME_HELP = "Column that rows follow in: the last are held out."
_TEST_HELP = "Second file for the figures, never fitted to."
_SHARE_HELP = "Share of rows held out for figures; 0.2."
_CRITERION_HELP = f"What chooses λ: {', '.join(CRITERIA)}; kfold, or sure with --deep."
_MEMBERS_HELP = (
    "Members of the ensemble; by default as many as the rows allow with --basis auto, 30 with "
    "--deep, 100 else."
)
_BASIS_HELP = (
    f"Features of members: {', '.join(BASES)}; auto, which lets the data choose. fourier takes "
    "seconds less and often predicts worse."
)
_SOLVER_HELP = "gram is fast, qr accurate near λ = 1; auto moves on where it can."
_LOSS_HELP = (
    f"{', '.join(LOSSES)}, or huber's threshold as a number of standard deviations; squared. "
    "huber is for targets with gross errors, and needs the table in memory."
)
_DEEP_HELP = "Members are deep networks (needs PyTorch)."
_RIVALS_HELP = f"What to compare with: {', '.join(RIVALS)}, or none."
_STREAM_HELP = "Read the file in pieces; by default where it is large."

Text = str | None
Number = int | None


def _one_of(allowed: Sequence[str], words: str) -> Any:
    """An option whose allowed values the shell can complete."""
    return Option(help=words, autocompletion=lambda: list(allowed))


@dataclass(frozen=True)
class FitOptions:
    """A request to fit; its fields are the arguments and options of ``negcorr fit``.

    None stands for an option that is not given; its help says what is done then.
    """

    data: DataArgument
    target: TargetOption = field(default_factory=list)
    out: Annotated[Path | None, Option("--out", "-o", metavar="DIR", help=_OUT_HELP)] = None
    drop: DropOption = field(default_factory=list)
    categorical: CategoricalOption = field(default_factory=list)
    weights: Annotated[Text, Option(metavar="COL", help=_WEIGHTS_HELP)] = None
    group: Annotated[Text, Option(metavar="COL", help=_GROUP_HELP)] = None
    time: Annotated[Text, Option(metavar="COL", help=_TIME_HELP)] = None
    test: Annotated[Path | None, Option(metavar="FILE", help=_TEST_HELP)] = None
    test_size: Annotated[float | None, Option(help=_SHARE_HELP)] = None
    criterion: Annotated[Text, _one_of(CRITERIA, _CRITERION_HELP)] = None
    members: Annotated[Number, Option(min=1, help=_MEMBERS_HELP)] = None
    components: Annotated[Number, Option(min=1, help="Features of each member; 10.")] = None
    basis: Annotated[Text, _one_of(BASES, _BASIS_HELP)] = None
    solver: Annotated[Text, _one_of(SOLVERS, _SOLVER_HELP)] = None
    loss: Annotated[Text, _one_of(LOSSES, _LOSS_HELP)] = None
    deep: Annotated[bool, Option("--deep", help=_DEEP_HELP)] = False
    rivals: Annotated[Text, Option(metavar="NAME,NAME", help=_RIVALS_HELP)] = None
    stream: Annotated[bool | None, Option(help=_STREAM_HELP)] = None
    seed: SeedOption = 0
    jobs: Annotated[Number, Option(help="Cores that rivals may use; by default all.")] = None

    def check(self) -> None:
        """Refuse what cannot be carried out.

        Raises
        ------
        UsageError
            Naming the option, its value and what is allowed.
        """
        check_seed(self.seed)
        check_jobs(self.jobs, "cores")
        choices = [
            *(("--rivals", rival, (*RIVALS, "none")) for rival in self.rivals_named),
            ("--basis", self.basis, BASES),
            ("--solver", self.solver, SOLVERS),
            ("--criterion", self.criterion, DEEP_CRITERIA if self.deep else CRITERIA),
        ]
        for option, value, allowed in choices:
            if value is not None:
                check_choice(option, value, allowed)
        refusals = {
            "--test and --test-size: give one of them.": self.test and self.test_size is not None,
            f"--test-size {self.test_share}: must be between 0 and 1.": not 0 < self.test_share < 1,
            "--group and --time: give one of them.": self.group and self.time,
            f"--loss {self.loss}: allowed are {', '.join(LOSSES)}, numbers > 0.": (
                self.loss is not None and self.loss_value is None
            ),
            f"--stream: {self.needs_memory} needs the whole table in memory.": (
                self.stream and self.needs_memory
            ),
        }
        if self.deep:
            refusals |= {
                f"--{name} {value}: deep networks have none; leave out --deep.": value is not None
                for name in ("basis", "components", "solver", "loss")
                for value in [getattr(self, name)]
            }
            refusals |= {
                "--deep needs PyTorch, which is not installed: pip install 'negcorr[cli,deep]'": (
                    find_spec("torch") is None
                ),
                f"--weights {self.weights}: deep networks take no weights.": self.weights,
            }
        for reason, refused in refusals.items():
            if refused:
                raise UsageError(reason)

    @property
    def needs_memory(self) -> str:
        """The first option that needs the whole table in memory, empty where there is none."""
        asked = {f"--{n}": getattr(self, n) is not None for n in ("group", "time", "test")}
        asked |= {"--deep": self.deep, "--criterion loo": self.criterion == "loo"}
        asked |= {f"--loss {self.loss}": self.loss not in (None, "squared")}
        return next((option for option, given in asked.items() if given), "")

    @property
    def test_share(self) -> float:
        """Share of the rows to hold out."""
        return 0.2 if self.test_size is None else self.test_size

    @property
    def loss_value(self) -> str | float | None:
        """The loss as a parameter of the ensemble; None where it is not given or not allowed."""
        if self.loss is None or self.loss in LOSSES:
            return self.loss
        try:
            threshold = float(self.loss)
        except ValueError:
            return None
        return threshold if 0.0 < threshold < float("inf") else None

    @property
    def rivals_named(self) -> tuple[str, ...]:
        """Names of the methods that the ensemble is compared with."""
        if self.rivals is None:
            return RIVALS
        given = tuple(parts_of(self.rivals))
        return () if given == ("none",) else given

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the ensemble that were given, of deep networks or of closed forms."""
        given = {
            "n_members": self.members if self.deep else None,
            "basis": self.features,
            "criterion": self.criterion,
            "solver": self.solver,
            "loss": self.loss_value,
        }
        return {name: value for name, value in given.items() if value is not None}

    @property
    def features(self) -> Basis | AutoBasis | str | None:
        """The parameter ``basis`` of the ensemble; None where its default is meant."""
        asked = {"n_members": self.members, "n_components": self.components}
        sizes: dict[str, Any] = {name: size for name, size in asked.items() if size is not None}
        if self.deep or not sizes:
            return self.basis
        # Here, for help must not wait for NumPy.
        from negcorr.bases import AutoBasis
        from negcorr.bases.named import named_basis

        if self.basis in (None, "auto"):
            return AutoBasis(**sizes)
        return named_basis(self.basis, **sizes)

    @property
    def folder(self) -> Path:
        """Where the files go: by default into the current folder, named after the data."""
        if self.out is not None:
            return self.out
        name = Path(self.data.name)
        while name.suffix.lower() in _ENDINGS:
            name = name.with_suffix("")
        return Path(f"{name.stem or 'data'}-negcorr")

    @property
    def command(self) -> str:
        """The command that gives the same files."""
        return command_line("fit", self, _RECORDED)
