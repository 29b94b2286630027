"""Commands about the paper: its data sets, its figures and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from negcorr.cli.app import app, examples

__all__ = ["datasets", "reproduce"]

DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        exists=True,
        file_okay=False,
        help="Folder with data sets, looked at before $NEGCORR_DATA.",
    ),
]


@app.command(epilog=examples("negcorr datasets --data ~/data", "negcorr datasets --json"))
def datasets(
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """List the paper's data sets, and which of them are at hand."""
    from negcorr.cli.listing import print_datasets

    print_datasets(data, as_json)


@app.command(
    epilog=examples(
        "negcorr reproduce figure3 --data ~/data",
        "negcorr reproduce table1 --sets housing,slump --out tables",
        "negcorr reproduce figure7 figure8 --device cuda",
        "negcorr reproduce all --quick",
    )
)
def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="figure1, figure3, figure4, figure5, figure7, figure8, table1, dof-per-epoch, "
            "held-out-error, diversity-dof, optimal-gap, bias-variance-covariance, split, or all.",
        ),
    ],
    data: DataOption = None,
    sets: Annotated[
        str | None, typer.Option("--sets", help="Data sets to use, separated by commas.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder for tables, figures and the page; reproduction, or reproduction-quick.",
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="paper: what the authors must have run, inferred from their numbers; "
            "printed: what the text says.",
        ),
    ] = "paper",
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Shuffle rows before they are split into folds.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Processes; by default one for each core.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of everything random.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few rows and features: a look in a minute.")
    ] = False,
    times: Annotated[
        bool | None,
        typer.Option(
            "--times/--no-times",
            help="Whether Table 1 is timed, its longest part; by default unless --quick.",
        ),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch sets that are not at hand from OpenML.")
    ] = False,
    device: Annotated[
        str,
        typer.Option(
            "--device", help="Where deep networks are trained: cpu, cuda, or auto for the best."
        ),
    ] = "auto",
    tables: Annotated[
        Path | None,
        typer.Option(
            "--tables",
            exists=True,
            file_okay=False,
            help="Folder with tables of experiments that were computed elsewhere, as NAME.csv or "
            "NAME.csv.gz: these are drawn and checked, not computed.",
        ),
    ] = None,
) -> None:
    """Compute figures and tables of the paper, beside the paper's numbers.

    Finished pieces are kept in OUT/pieces: the same command, started again after it was stopped,
    goes on from there.
    """
    from negcorr.cli.reproducing import Request, run_reproduce

    timed = not quick if times is None else times
    folder = out if out is not None else Path("reproduction-quick" if quick else "reproduction")
    run_reproduce(
        Request(
            names=names,
            data=data,
            sets=sets,
            out=folder,
            protocol=protocol,
            shuffle=shuffle,
            jobs=jobs,
            seed=seed,
            quick=quick,
            times=timed,
            download=download,
            device=device,
            tables=tables,
        )
    )
