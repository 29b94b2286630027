"""Rows that come in chunks: their moments are added, and λ is chosen when it is needed.

Everything that NCL needs from the rows is in the moments of each fold
(:mod:`negcorr.moments.moments`). Folds go by content, so that a row falls into the same one in
whatever chunk it comes. A few rows, those with the smallest hashes, are kept for intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from negcorr._common.arrays import place_of, to_host
from negcorr._common.threads import our_own_threads
from negcorr._common.types import IntArray
from negcorr.bases import Basis
from negcorr.criteria.kfold import MOST_KEPT_ROWS, KeptRows
from negcorr.moments.moments import (
    FactorMoments,
    Moments,
    as_gram,
    count_rows,
    same_form,
    total,
)
from negcorr.moments.scan import scan_moments
from negcorr.moments.update import difference
from negcorr.path.grow import grown_path, moments_within
from negcorr.path.path import NCLPath
from negcorr.path.tune import MOST_FOLD_BYTES, Form, PathSettings, Route, build_path
from negcorr.rows.folds import Folds
from negcorr.rows.keys import HashArray, on_host
from negcorr.rows.rows import Rows, joined, weight_of
from negcorr.rows.smallest_keys import smallest_keys

__all__ = ["Stream"]


@dataclass(frozen=True, repr=False)
class Stream:
    """Moments and kept rows of all chunks so far.

    Attributes
    ----------
    bases : tuple of Basis
        Fitted, from small to large, the same for all chunks: moments are those of the largest,
        which begins with the features of the others.
    cells : tuple of Moments
        Of the rows of each fold by content, empty ones among them.
    kept : Rows
        The rows of the smallest hashes, at most 4096, in the order of hashes.
    keys : ndarray of shape (k,)
        Their hashes.
    accurate : bool
        Whether moments stay factors, however many rows there are.
    single_output : bool
        Whether y was 1-D.
    cut : uint64 or None
        All rows of smaller hashes are kept, none of larger ones; None where all rows are.
    """

    bases: tuple[Basis, ...]
    cells: tuple[Moments, ...]
    kept: Rows
    keys: HashArray
    accurate: bool
    single_output: bool
    cut: np.uint64 | None = None

    @classmethod
    def of(
        cls,
        bases: tuple[Basis, ...],
        rows: Rows,
        n_folds: int,
        *,
        accurate: bool,
        single_output: bool,
    ) -> Stream:
        """The first chunk; its rows may all be of no weight.

        Parameters
        ----------
        bases : tuple of Basis
            Fitted, from small to large.
        rows : Rows
            With their keys.
        n_folds : int
            Folds by content.
        accurate : bool
            For ``solver="qr"``.
        single_output : bool
            Whether y was 1-D.
        """
        keys = on_host(rows.keys.xy)
        many = rows.n_rows > 2 * int(bases[-1].block_starts_[-1])
        form: Form = "gram" if many and not accurate else "factor"
        cells = tuple(_scanned(rows, bases[-1], keys, n_folds, form))
        kept, kept_keys, cut = _kept(rows, keys, None)
        return cls(bases, cells, kept, kept_keys, accurate, single_output, cut)

    @property
    def basis(self) -> Basis:
        """The largest, whose moments are added up."""
        return self.bases[-1]

    def with_rows(self, rows: Rows) -> Stream:
        """All rows so far and these."""
        if _weightless(rows):
            return self
        keys = on_host(rows.keys.xy)
        added = _scanned(rows, self.basis, keys, len(self.cells), self.form)
        return self._with(added, *_kept(rows, keys, self.cut))

    def merged(self, other: Stream) -> Stream:
        """The rows of both; their bases must be equal."""
        return self._with(other.cells, other.kept, other.keys, other.cut)

    def without(self, other: Stream) -> Stream:
        """All rows but those of the other, which must be among them, with the same weights."""
        cuts = (each for each in (self.cut, other.cut) if each is not None)
        cut = min(cuts, default=None)  # both keep all their rows below it
        gone: Counter[tuple[int, float]] = Counter(
            (key, weight) for key, weight in other._entries() if cut is None or key < cut
        )
        left = []
        for i, (key, weight) in enumerate(self._entries()):
            if cut is not None and key >= cut:
                break
            if gone[key, weight]:
                gone[key, weight] -= 1
            else:
                left.append(i)
        if missing := gone.total():
            raise ValueError(
                f"{missing} of the rows to be taken away are not among those that there are, or "
                "not with the same weight."
            )
        pairs = zip(self.cells, other.cells, strict=True)
        cells = tuple(difference(as_gram(one), as_gram(part)) for one, part in pairs)
        if count_rows(cells) == 0:
            raise ValueError(f"all {self.n_rows} rows would be taken away, and none is left.")
        index = np.array(left, dtype=np.intp)
        return replace(
            self,
            cells=cells,
            kept=self.kept.take(index),
            keys=self.keys[index],
            accurate=False,
            cut=cut,
        )

    def _entries(self) -> list[tuple[int, float]]:
        """Key and weight of every kept row."""
        return list(zip(self.keys.tolist(), weight_of(self.kept).tolist(), strict=True))

    def _with(
        self, cells: Sequence[Moments], rows: Rows, keys: HashArray, cut: np.uint64 | None
    ) -> Stream:
        kept, keys, cut = _kept(
            joined([self.kept, rows]),
            np.concatenate([self.keys, keys]),
            min((each for each in (self.cut, cut) if each is not None), default=None),
        )
        n_features = int(self.basis.block_starts_[-1])
        n_rows = count_rows(self.cells) + count_rows(cells)
        # As in memory: with more rows than that, products are the faster form.
        form = self.form if self.accurate or n_rows <= 2 * n_features else "gram"
        _check_memory(len(cells), n_features + rows.y.shape[1], n_rows, form)
        pairs = [same_form(one, other) for one, other in zip(self.cells, cells, strict=True)]
        added = tuple(total(list(pair)) for pair in pairs)
        if form == "gram":
            added = tuple(as_gram(cell) for cell in added)
        return replace(self, cells=added, kept=kept, keys=keys, cut=cut)

    def __sizeof__(self) -> int:
        """Bytes of its arrays, for schedulers that move streams between machines."""
        arrays = [self.keys, self.kept.X, self.kept.y, self.kept.weight]
        for cell in self.cells:
            arrays += vars(cell).values()
        return sum(int(getattr(array, "nbytes", 0)) for array in arrays)

    @property
    def form(self) -> Form:
        """Form of the moments."""
        return "factor" if isinstance(self.cells[0], FactorMoments) else "gram"

    @property
    def n_rows(self) -> int:
        """Rows of positive weight so far."""
        return count_rows(self.cells)

    @property
    def weight(self) -> float:
        """Σw so far."""
        return float(sum(cell.weight for cell in self.cells))

    @property
    def folds(self) -> Folds:
        """Which cells train and test each split; rows themselves are not known any more."""
        return Folds.from_partition([np.empty(0, dtype=np.intp)] * len(self.cells))

    @property
    def _splittable(self) -> bool:
        """Whether rows of weight are in two folds or more."""
        return sum(cell.weight > 0 for cell in self.cells) >= 2

    @property
    def kept_rows(self) -> KeptRows | None:
        """Rows for intervals; None where they are all in one fold."""
        if len(self.keys) == 0 or not self._splittable:
            return None
        split = (self.keys % np.uint64(len(self.cells))).astype(np.intp)
        return KeptRows(self.kept, split)

    def path(self, settings: PathSettings) -> tuple[Basis, NCLPath]:
        """The basis, as large as pays, every curve over λ, and the λ that the settings ask for.

        Parameters
        ----------
        settings : PathSettings
            They ask for nothing that needs all rows at once.
        """
        if self.n_rows == 0:
            raise ValueError("there is no row of positive weight so far, and nothing to fit.")
        # Products cannot be turned back into factors, whatever solver is asked for by now.
        routes: list[Route] = [(self.form, "gram")]
        if self.form == "factor" and settings.solver != "gram":
            accurate: Route = ("factor", "qr")
            routes = [accurate] if settings.solver == "qr" else [*routes, accurate]
        folds = self.folds
        asked = settings.gap is None and settings.criterion == "kfold"
        if not asked and not self._splittable:
            folds = replace(folds, splits=())

        def path_of(basis: Basis, *_: object) -> tuple[Basis, NCLPath]:
            cells = moments_within(self.cells, basis, self.basis)
            return basis, build_path(
                self.kept,
                basis,
                folds,
                settings,
                self.single_output,
                cells_of=lambda _: cells,
                routes=routes,
            )

        with our_own_threads():
            basis, path = path_of(self.bases[0])
            return grown_path(path, basis, self.bases[1:], path_of)


def _scanned(rows: Rows, basis: Basis, keys: HashArray, n_folds: int, form: Form) -> list[Moments]:
    """Moments of the rows of every fold."""
    size = int(basis.block_starts_[-1]) + rows.y.shape[1]
    _check_memory(n_folds, size, rows.n_rows, form)
    if _weightless(rows):
        place = place_of(rows.y)
        factor = place.empty((0, 1 + size))
        nothing = FactorMoments(0.0, place.zeros((size,)), factor, rows.y.shape[1], 0)
        return [as_gram(nothing) if form == "gram" else nothing] * n_folds
    fold = keys % np.uint64(n_folds)
    groups: list[IntArray] = [np.flatnonzero(fold == k) for k in range(n_folds)]
    with our_own_threads():
        return scan_moments(rows, basis, groups, form)


def _weightless(rows: Rows) -> bool:
    """Whether no row counts."""
    return rows.weight is not None and not to_host(rows.weight).any()


def _check_memory(n_folds: int, size: int, n_rows: int, form: Form) -> None:
    """Refuse folds whose moments would not fit, as a fit in memory does."""
    height = n_folds * size if form == "gram" else min(n_rows, n_folds * size)
    needed = 8 * height * size
    if needed > MOST_FOLD_BYTES:
        raise ValueError(
            f"cv={n_folds} makes as many sets of rows, whose moments would take "
            f"{needed / 2**30:.1f} GiB; use fewer folds."
        )


def _kept(
    rows: Rows, keys: HashArray, cut: np.uint64 | None
) -> tuple[Rows, HashArray, np.uint64 | None]:
    """The rows to keep, their hashes and the cut: none of it depends on chunks or their order."""
    weight = weight_of(rows)
    # Among equal rows the lighter ones first, as in memory.
    found = smallest_keys(keys, MOST_KEPT_ROWS, used=weight > 0, ties=weight, cut=cut)
    return rows.take(found.index), found.keys, found.cut
