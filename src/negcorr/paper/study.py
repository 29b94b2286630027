"""A study: its settings, its data sets, and the pieces that it computes or reads from a store."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from negcorr.datasets import DATASETS, DatasetError, MissingDatasetError, available, info
from negcorr.paper.pieces import Computation, Piece, Row, Store
from negcorr.paper.protocol import fingerprint
from negcorr.paper.setup import Setup
from negcorr.paper.types import DataFrame

__all__ = ["Study"]


@dataclass(repr=False)
class Study:
    """Computes pieces and keeps their rows, in memory and in a folder.

    Attributes
    ----------
    setup : Setup
        The settings that determine the numbers.
    data_home : str or None
        Folder with data sets, searched before ``$NEGCORR_DATA`` and the user cache.
    sets : tuple of str or None
        Data sets to use, in any case of letters; None for all that have a public copy, which must
        then be available.
    n_jobs : int or None
        Number of processes, as in joblib.
    store : Store or None
        Keeps finished pieces, so that a study that was stopped can be continued.
    download : bool
        Whether sets that are not on this machine may be fetched from OpenML.
    device : str
        Where deep networks are trained: "cpu", "cuda", or "cuda:1" and the like.
    tables : Path or None
        Folder with tables of experiments that were computed elsewhere, as ``NAME.csv`` or
        ``NAME.csv.gz``. They are drawn and checked, and nothing is computed for them.
    on_piece : callable or None
        Called with each finished piece, and whether it was in the store already.

    Examples
    --------
    >>> from negcorr.paper import Setup, Study
    >>> study = Study(Setup(seed=1))
    >>> study.setup.protocol
    'paper'
    """

    setup: Setup = field(default_factory=Setup)
    data_home: str | os.PathLike[str] | None = None
    sets: Sequence[str] | None = None
    n_jobs: int | None = None
    store: Store | Path | str | None = None
    download: bool = False
    device: str = "cpu"
    tables: Path | str | None = None
    on_piece: Callable[[Piece, bool], None] | None = None
    _rows: dict[tuple[Piece, Setup], list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given: dict[str, Any] = vars(self)
        setup, sets, jobs, device = (given[k] for k in ("setup", "sets", "n_jobs", "device"))
        if not isinstance(setup, Setup):
            raise TypeError(f"setup={setup!r} must be a Setup.")
        if isinstance(sets, str) or not isinstance(sets, Iterable | None):
            raise TypeError(f"sets={sets!r} must be a sequence of names, or None.")
        if sets is not None:
            self.sets = tuple(info(str(name).lower()).name for name in sets)
            if not self.sets:
                raise ValueError("sets is empty; name at least one data set, or give None.")
        if jobs is not None and (type(jobs) is not int or jobs == 0):
            raise ValueError(f"n_jobs={jobs!r} must be an integer other than 0, or None.")
        if not isinstance(device, str) or not re.fullmatch(r"cpu|cuda(:\d+)?", device):
            raise ValueError(f"device={device!r} must be 'cpu', 'cuda', or 'cuda:1' and the like.")
        if isinstance(self.store, (str, Path)):
            self.store = Store(Path(self.store))
        if self.tables is not None:
            self.tables = Path(self.tables)
            if not self.tables.is_dir():
                raise ValueError(f"tables={str(self.tables)!r} must be a folder.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.setup!r}, sets={self.sets!r})"

    @property
    def _home(self) -> str | None:
        return None if self.data_home is None else os.fspath(self.data_home)

    def datasets(self, wanted: Iterable[str] | None = None) -> tuple[str, ...]:
        """Names in ``wanted`` (None for all) that the user asked for, checked to be available.

        Sets without a known public copy are left out. Other sets that are not available raise an
        error: a study of fewer sets would not be the one that was asked for.
        """
        names = tuple(DATASETS) if wanted is None else tuple(wanted)
        asked = self.sets is not None
        chosen = [name for name in names if self.sets is None or name in self.sets]
        if not chosen:
            raise ValueError(
                f"sets={self.sets!r} has none of the sets that this needs: {list(names)}."
            )
        status = {place.name: place.status for place in available(self.data_home)}
        lost = [
            name
            for name in chosen
            if (status[name] == "missing" and (asked or info(name).sha256 is not None))
            or (status[name] == "download" and not self.download)
        ]
        if lost:
            raise MissingDatasetError(
                f"data sets {lost} are not at hand. Name a folder that has them (data_home, --data "
                "or NEGCORR_DATA), allow download (download=True, --download) for those on OpenML, "
                "or name the sets to go on with (sets, --sets)."
            )
        return tuple(name for name in chosen if status[name] != "missing")

    def table_elsewhere(self, experiment: str) -> Path | None:
        """The file with an experiment's table in the folder ``tables``, or None."""
        if self.tables is None:
            return None
        places = [Path(self.tables) / f"{experiment}{ending}" for ending in (".csv", ".csv.gz")]
        return next((place for place in places if place.is_file()), None)

    def piece(
        self, function: Computation, effort: float = 1.0, alone: bool = False, **choice: Any
    ) -> Piece:
        """A piece of this study; a ``name`` in ``choice`` is the data set that it reads."""
        data = _fingerprint_of(choice, self.setup, self._home)
        kind = function.__module__.rpartition(".")[2]
        return Piece(kind, function, tuple(choice.items()), data, effort, alone)

    def n_rows(self, name: str) -> int:
        """Number of rows of a data set that are used."""
        n_samples, most = info(name).n_samples, self.setup.size.max_rows
        return n_samples if most is None else min(n_samples, most)

    def rows(self, pieces: Sequence[Piece]) -> list[Row]:
        """Rows of all ``pieces`` in their order; pieces that are not known yet are computed."""
        missing = []
        for piece in dict.fromkeys(pieces):
            if (piece, self.setup) in self._rows:
                continue
            found = self.store.read(piece, self.setup) if isinstance(self.store, Store) else None
            if found is None:
                missing.append(piece)
            else:
                self._finish(piece, found, stored=True)
        missing.sort(key=lambda piece: -piece.effort)
        self._compute([piece for piece in missing if not piece.alone], self.n_jobs)
        self._compute([piece for piece in missing if piece.alone], 1)
        return [row for piece in pieces for row in self._rows[piece, self.setup]]

    def table(self, pieces: Sequence[Piece]) -> DataFrame:
        """Rows of all ``pieces`` as a tidy table."""
        import pandas

        return pandas.DataFrame(self.rows(pieces))

    def _compute(self, pieces: Sequence[Piece], n_jobs: int | None) -> None:
        workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        results = workers(delayed(_computed)(piece, self.setup, self._home) for piece in pieces)
        try:
            for piece, rows in results:
                if isinstance(self.store, Store):
                    self.store.write(piece, self.setup, rows)
                self._finish(piece, rows, stored=False)
        finally:
            # When a study is stopped early, joblib warns that it cancels tasks, as it should.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.close()

    def _finish(self, piece: Piece, rows: list[Row], stored: bool) -> None:
        self._rows[piece, self.setup] = rows
        if self.on_piece is not None:
            self.on_piece(piece, stored)


def _fingerprint_of(choice: Mapping[str, Any], setup: Setup, data_home: str | None) -> str:
    """Fingerprint of the data set that a piece reads; empty for one that reads none."""
    name = choice.get("name")
    return "" if name is None else fingerprint(name, data_home, setup.size.max_rows)


def _computed(piece: Piece, setup: Setup, data_home: str | None) -> tuple[Piece, list[Row]]:
    """A piece and its rows, computed in this process."""
    choice = dict(piece.choice)
    if _fingerprint_of(choice, setup, data_home) != piece.fingerprint:
        raise DatasetError(
            f"the file of {choice['name']} was changed while the study ran; start again."
        )
    # One thread: sums of BLAS depend on the number of threads, and processes share the cores.
    with threadpool_limits(1):
        return piece, piece.function(setup, data_home, **choice)
