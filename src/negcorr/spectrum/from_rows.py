"""A spectrum that is stored as the rows it was made from, where those are fewer than features."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

from negcorr._common.threads import our_own_threads
from negcorr._common.types import FloatArray, IntArray
from negcorr.bases import Basis
from negcorr.moments.moments import total
from negcorr.moments.scan import scan_moments
from negcorr.rows.rows import Rows
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.modes import Modes
from negcorr.spectrum.spectrum import Spectrum
from negcorr.spectrum.whitening import Whitening

__all__ = ["RowsSpectrum"]


@dataclass(frozen=True, repr=False)
class RowsSpectrum(Spectrum):
    """A spectrum whose whitening and modes follow from rows and basis.

    A fit with fewer rows than features has its factor in two forms: n·d numbers in the rows, and
    Q·r in the modes. A copy that was stored holds the rows, and makes the modes again, to the same
    bits on the same machine, when something asks for coefficients.

    Attributes
    ----------
    rho, kappa, outside, total, weight, n_members, fit_intercept, centre, alpha
        As in :class:`~negcorr.spectrum.spectrum.Spectrum`.
    rows : Rows
        Training rows, with the targets that the ensemble was fitted to.
    basis : Basis
        Fitted.
    groups : tuple of integer arrays
        Row numbers, in the order in which moments were added.
    route : {"gram", "qr"}
        As in :func:`~negcorr.spectrum.factorise.factorise`.
    """

    rho: FloatArray
    kappa: FloatArray
    outside: FloatArray
    rows: Rows
    basis: Basis
    groups: tuple[IntArray, ...]
    route: Literal["gram", "qr"]

    @classmethod
    def of(cls, spectrum: Spectrum, **source: Any) -> RowsSpectrum:
        """A spectrum together with its rows, basis, groups and route."""
        names = {each.name for each in fields(cls) if each.init} - set(source)
        made = cls(**{name: getattr(spectrum, name) for name in names}, **source)
        made.__dict__["_factorised"] = spectrum
        return made

    def without_rows(self) -> Spectrum:
        """The factorisation itself."""
        return self._factorised

    @cached_property
    def _factorised(self) -> Spectrum:
        # As within a fit, so that the bits are the same.
        with our_own_threads():
            return factorise(
                total(scan_moments(self.rows, self.basis, list(self.groups), "factor")),
                self.basis.block_starts_,
                alpha=self.alpha,
                fit_intercept=self.fit_intercept,
                route=self.route,
                nesting=self.basis.nesting_,
            )

    @cached_property  # type: ignore[misc]  # a field of the parent, found late
    def whitening(self) -> Whitening:
        """W, made again where it was not stored."""
        return self._factorised.whitening

    @cached_property  # type: ignore[misc]
    def modes(self) -> Modes:
        """U, made again where it was not stored."""
        return self._factorised.modes

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the rows."""
        kept = {each.name for each in fields(self) if each.init}
        return {name: part for name, part in vars(self).items() if name in kept}
