"""Commands about the paper: its data sets, its figures and tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from negcorr.cli.app import command, command_line

__all__ = ["ReproduceOptions", "datasets", "reproduce"]

_NAMES_HELP = (
    "figure1, figure3, figure4, figure5, figure7, figure8, table1, dof-per-epoch, "
    "held-out-error, diversity-dof, optimal-gap, bias-variance-covariance, split, or all."
)
_DATA_HELP = "Folder with data sets, looked at before $NEGCORR_DATA."
_OUT_HELP = "Folder for tables, figures and the page; reproduction, or reproduction-quick."
_PROTOCOL_HELP = (
    "paper: what the authors must have run, inferred from their numbers; printed: what the text "
    "says."
)
_TIMES_HELP = "Whether Table 1 is timed, its longest part; by default unless --quick."
_SHUFFLE_HELP = "Shuffle rows before they are split into folds."
_QUICK_HELP = "Few rows and features: a look in a minute."
_DOWNLOAD_HELP = "Fetch sets that are not at hand from OpenML."
_DEVICE_HELP = "Where deep networks are trained: cpu, cuda, or auto for the best."
_TABLES_HELP = (
    "Folder with tables of experiments that were computed elsewhere, as NAME.csv or NAME.csv.gz: "
    "these are drawn and checked, not computed."
)

DataOption = Annotated[Path | None, Option(exists=True, file_okay=False, help=_DATA_HELP)]
JsonOption = Annotated[bool, Option("--json", help="For machines.")]


@command("negcorr datasets --data ~/data", "negcorr datasets --json")
def datasets(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List the paper's data sets, and which of them are on this computer."""
    from negcorr.cli.listing import print_datasets

    print_datasets(data, as_json)


@dataclass(frozen=True)
class ReproduceOptions:
    """A request to reproduce; its fields are the options of ``negcorr reproduce``."""

    names: Annotated[list[str], Argument(metavar="NAME...", help=_NAMES_HELP)]
    data: DataOption = None
    sets: Annotated[str | None, Option(help="Data sets to use, separated by commas.")] = None
    out: Annotated[Path | None, Option(help=_OUT_HELP)] = None
    protocol: Annotated[str, Option(help=_PROTOCOL_HELP)] = "paper"
    shuffle: Annotated[bool, Option("--shuffle", help=_SHUFFLE_HELP)] = False
    jobs: Annotated[int | None, Option(help="Processes; by default one for each core.")] = None
    seed: Annotated[int, Option(help="Of everything random.")] = 0
    quick: Annotated[bool, Option("--quick", help=_QUICK_HELP)] = False
    times: Annotated[bool | None, Option(help=_TIMES_HELP)] = None
    download: Annotated[bool, Option("--download", help=_DOWNLOAD_HELP)] = False
    device: Annotated[str, Option(help=_DEVICE_HELP)] = "auto"
    tables: Annotated[Path | None, Option(exists=True, file_okay=False, help=_TABLES_HELP)] = None

    @property
    def timed(self) -> bool:
        """Whether Table 1 is timed."""
        return not self.quick if self.times is None else self.times

    @property
    def folder(self) -> Path:
        """Where tables, figures and the page go."""
        usual = Path("reproduction-quick" if self.quick else "reproduction")
        return usual if self.out is None else self.out

    @property
    def command(self) -> str:
        """The command that asks for the same numbers; folders and processes do not matter."""
        usual = replace(self, times=self.timed if self.timed is self.quick else None)
        recorded = ("names", "sets", "protocol", "seed", "device", "tables")
        return command_line("reproduce", usual, (*recorded, "shuffle", "quick", "times"))


@command(
    "negcorr reproduce figure3 --data ~/data",
    "negcorr reproduce table1 --sets housing,slump --out tables",
    "negcorr reproduce figure7 figure8 --device cuda",
    "negcorr reproduce all --quick",
)
def reproduce(options: ReproduceOptions) -> None:
    """Compute figures and tables of the paper, beside the paper's numbers.

    Finished pieces are kept in OUT/pieces: the same command, started again after it was stopped,
    does not compute them again.
    """
    from negcorr.cli.reproducing import run_reproduce

    run_reproduce(options)
