"""The whole λ path of one fit: every curve at every λ, and the λ that was chosen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from negcorr._common.arrays import to_host
from negcorr._common.forks import late
from negcorr._common.lapack import EPS
from negcorr._common.types import AnyArray, BoolArray, FloatArray, GapLike, IntArray, Number
from negcorr.criteria import closed_form as criteria
from negcorr.criteria.kfold import KFold
from negcorr.criteria.leave_one_out import LeaveOneOut
from negcorr.criteria.noise import paper_noise_variance, residual_noise_variance
from negcorr.exceptions import NoiseVarianceWarning, PrecisionWarning
from negcorr.moments.moments import Moments
from negcorr.rows.folds import Folds
from negcorr.spectrum.curve_table import CurvesOnly, CurveTable
from negcorr.spectrum.gap import TABULATED_EVERY, gap_per_output, lattice, one_gap, resolve_gap
from negcorr.spectrum.spectrum import Spectrum
from negcorr.spectrum.tikhonov import TikhonovEquivalent, tikhonov_equivalent
from negcorr.spectrum.tridiagonal import BandedSpectrum

__all__ = ["CRITERIA", "NCLPath"]

#: Names of the criteria that can choose λ.
CRITERIA = ("kfold", "sure", "gcv", "loo", "aic", "aicc", "bic", "cp")

#: Relative error, by its bound, that the fast route may have in the modes that the gap moves.
TRUSTED_ERROR = 1e-7


@dataclass(frozen=True, repr=False)
class NCLPath:
    """Curves over λ from one factorisation.

    Methods take ``lam`` or ``gap``, a scalar or an array of any shape. For a 1-D target they return
    that shape; for several outputs an axis of outputs follows, dof excepted, which all outputs
    share. With no argument they return the value at the chosen λ.

    Attributes
    ----------
    spectrum : Spectrum
        The factorisation.
    gap, lam : float or ndarray of shape (outputs,)
        The chosen value.
    criterion : str or None
        What chose it; None for a λ that was given.
    gaps : ndarray of shape (k,)
        Lattice points at which the criterion was evaluated (empty for a given λ).
    values : ndarray of shape (k,) or (k, outputs)
        The criterion there.
    given_noise : ndarray of shape (outputs,) or None
        σ² as the user has given it.
    solver : {"gram", "qr"}
        The route taken.
    kfold_table : CurveTable or None
        In a fitted model, the K-fold error at ten gaps a decade and those of the search; between
        them splines are accurate to about 1e-5 of what the curve moves. None where the path has
        the moments of the folds, from which the error is exact at every λ.
    terms : ndarray of shape (Q,) or None
        As in :func:`~negcorr.spectrum.factorise.factorise`.
    """

    spectrum: Spectrum
    chosen_gap: FloatArray
    criterion: str | None
    gaps: FloatArray
    all_values: FloatArray
    at_small_end: BoolArray
    given_noise: FloatArray | None
    solver: Literal["gram", "qr"]
    single_output: bool
    starts: IntArray
    folds: Folds
    cells: tuple[Moments, ...]
    leave_one_out: LeaveOneOut | CurveTable | None = None
    kfold_table: CurveTable | None = None
    condition: float = 0.0
    terms: FloatArray | None = None

    def __repr__(self) -> str:
        size = f"n_members={self.spectrum.n_members}, n_features={self.spectrum.n_features}"
        chosen = f"lam={self.lam!r}, dof={self.dof()!r}, criterion={self.criterion!r}"
        return f"{type(self).__name__}({chosen}, solver={self.solver!r}, {size})"

    @property
    def gap(self) -> Number:
        """The chosen gap 1 − λ."""
        return self._squeeze(self.chosen_gap)

    @property
    def lam(self) -> Number:
        """The chosen λ (1.0 where the gap is below the resolution of a float)."""
        return self._squeeze(1.0 - self.chosen_gap)

    @property
    def values(self) -> FloatArray:
        """The criterion at ``gaps``, in NumPy wherever the spectrum is."""
        return self.all_values[:, 0] if self.single_output else self.all_values

    @property
    def noise_variance(self) -> FloatArray:
        """σ² that SURE and C_p use: given, or the paper's estimate at λ = 0.

        It differs from the residual estimate at the chosen λ, which the regressor reports.
        """
        if self.given_noise is not None:
            return self.given_noise
        return paper_noise_variance(self.spectrum, quiet=True)

    @property
    def _condition(self) -> float:
        """Worst condition of a block, in the folds too once they have been factorised."""
        worst = self.condition or self.spectrum.whitening.condition
        if "cross_validation" in self.__dict__:
            worst = max(worst, self.cross_validation.condition)
        return worst

    @property
    def smallest_trusted_gap(self) -> float:
        """Gap down to which this factorisation resolves the modes to about 1e-7."""
        if self.solver == "qr" or self.spectrum.rho.shape[0] == 0:
            return 0.0
        # A mode has denominator ρ + gap·(M − ρ) and an absolute error of eps·M·condition².
        needed = EPS * self._condition**2 / TRUSTED_ERROR
        return max(0.0, needed - float(self.spectrum.rho[0]) / self.spectrum.n_members)

    @property
    def resolves_choice(self) -> bool:
        """Whether the route taken is accurate enough for the chosen λ."""
        if self.solver == "qr":
            return True
        # A residual as small as the rounding error of y'y needs the route without subtraction.
        left = np.diagonal(to_host(self.spectrum.train_error(gap=self.chosen_gap)))
        total = to_host(self.spectrum.total)
        vanishing = left < EPS * self._condition**2 * total * 1e3
        fine = self.chosen_gap >= self.smallest_trusted_gap
        return bool(fine.all() and not (vanishing & (total > 0)).any())

    @late
    def cross_validation(self) -> KFold:
        """Spectra of the folds; made at first use."""
        if not self.folds.splits:
            raise ValueError(
                "this path has no folds: the rows could not be split. Give more distinct rows, "
                "or give cv a splitter."
            )
        if not self.cells:
            raise ValueError(
                "this path has no moments of its folds, which a fitted model does not keep; its "
                "kfold answers at every gap. ncl_path returns a path that has them."
            )
        return KFold.from_cells(
            self.cells,
            self.folds,
            self.starts,
            alpha=self.spectrum.alpha,
            fit_intercept=self.spectrum.fit_intercept,
            route=self.solver,
            nesting=self.spectrum.whitening.nesting,
            terms=self.terms,
        )

    @property
    def tabulated_gaps(self) -> FloatArray:
        """Gaps of tabulated curves: ten a decade, down to where curves no longer change."""
        least = min(self.spectrum.smallest_useful_gap, *self.gaps[-1:], 1.0)
        gaps = lattice(least, TABULATED_EVERY)
        resolved = self.smallest_trusted_gap == 0 and not isinstance(self.spectrum, BandedSpectrum)
        return np.append(gaps, 0.0) if resolved else gaps

    def at(self, lam: GapLike = None, *, gap: GapLike = None) -> NCLPath:
        """The same path with another choice, one or one per output."""
        chosen = gap_per_output(resolve_gap(lam, gap), len(self.chosen_gap)).copy()
        return self.changed(
            chosen_gap=chosen, criterion=None, at_small_end=np.zeros(len(chosen), dtype=bool)
        )

    def changed(self, **fields: Any) -> NCLPath:
        """A copy with some fields changed that shares the folds' spectra, if made already."""
        copy = replace(self, **fields)
        if "cross_validation" in self.__dict__:
            copy.__dict__["cross_validation"] = self.__dict__["cross_validation"]
        return copy

    def without_moments(self) -> NCLPath:
        """The path with its K-fold error as a table, without the moments it was made from."""
        if not self.cells:
            return self
        kfold = None
        if self.folds.splits:
            gaps, known, values = self.tabulated_gaps, np.empty(0), self.all_values[:0]
            if self.criterion == "kfold":
                # The search has evaluated it at some of them.
                gaps, known, values = np.setdiff1d(gaps, self.gaps), self.gaps, self.all_values
            values = np.concatenate([to_host(self.cross_validation.error(gaps)), values])
            gaps = np.append(gaps, known)
            order = np.argsort(-gaps)
            kfold = CurveTable(gaps[order], values[order])
        return replace(self, cells=(), kfold_table=kfold, condition=self._condition, terms=None)

    def compact(self) -> NCLPath:
        """The path with every curve at all λ, without the arrays that coefficients need."""
        excess, gaps = None, self.tabulated_gaps
        if self.spectrum.has_excess:
            excess = CurveTable(gaps, to_host(self.spectrum.excess(gaps)))
        curves = CurvesOnly.of(self.spectrum, excess)
        return replace(self.without_rows(), spectrum=curves)

    def without_rows(self) -> NCLPath:
        """The path without moments of the folds, and without training rows."""
        loo = None if self.leave_one_out is None else CurveTable(self.gaps, self.all_values)
        return replace(
            self.without_moments(),
            spectrum=self.spectrum.without_rows(),
            folds=self.folds.without_rows(),
            leave_one_out=loo,
            condition=self._condition,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Without the folds' spectra, which can be made again."""
        return {k: v for k, v in self.__dict__.items() if k != "cross_validation"}

    def dof(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Degrees of freedom (Theorem 5)."""
        if lam is None and gap is None:
            return self._squeeze(self.spectrum.dof(gap=self.chosen_gap))
        return _scalar(self.spectrum.dof(gap=self._gap(lam, gap)))

    def train_error(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Mean squared training error of the ensemble."""
        return self._answer(self.spectrum.train_error(gap=self._gap(lam, gap)), lam, gap)

    def member_error(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Average mean squared training error of the members."""
        return self._answer(self.spectrum.member_error(gap=self._gap(lam, gap)), lam, gap)

    def diversity(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Mean variance of the members' predictions on the training rows."""
        return self._answer(self.spectrum.diversity(gap=self._gap(lam, gap)), lam, gap)

    def sure(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Stein's unbiased risk estimate: error against the noise-free μ at the training rows."""
        return self._by_name("sure", lam, gap)

    def gcv(
        self,
        lam: GapLike = None,
        *,
        gap: GapLike = None,
        inflation: float = 1.0,
    ) -> Number:
        """Generalised cross-validation, with dof inflated by a factor."""
        g = self._gap(lam, gap)
        error, dof = self.spectrum.train_error(gap=g), self.spectrum.dof(gap=g)[..., np.newaxis]
        return self._answer(criteria.gcv(error, dof, self.spectrum.weight, inflation), lam, gap)

    def aic(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Akaike's criterion."""
        return self._by_name("aic", lam, gap)

    def aicc(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Akaike's criterion corrected for small samples."""
        return self._by_name("aicc", lam, gap)

    def bic(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Schwarz's criterion."""
        return self._by_name("bic", lam, gap)

    def cp(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Mallows' C_p."""
        return self._by_name("cp", lam, gap)

    def kfold(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """K-fold error on held-out rows."""
        return self._by_name("kfold", lam, gap)

    def loo(self, lam: GapLike = None, *, gap: GapLike = None) -> Number:
        """Exact leave-one-out error; needs a path that was made with criterion="loo"."""
        return self._by_name("loo", lam, gap)

    def coef(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Ensemble coefficients β, (Q,) or (outputs, Q), at one λ or one per output."""
        coef = self.spectrum.coef(gap=self._gap(lam, gap))
        return coef[0, :] if self.single_output else coef

    def member_coef(self, lam: GapLike = None, *, gap: GapLike = None) -> FloatArray:
        """Weights of all members, (Q,) or (outputs, Q); those of member m stand in its block."""
        coef = self.spectrum.member_coef(gap=self._gap(lam, gap))
        return coef[0, :] if self.single_output else coef

    def residual_noise_variance(self, *, quiet: bool = True) -> Number:
        """σ² from the residuals at the chosen λ, NaN where nothing is left to estimate it from."""
        return self._squeeze(residual_noise_variance(self.spectrum, self.chosen_gap, quiet=quiet))

    def tikhonov_equivalent(
        self, lam: float | None = None, *, gap: float | None = None
    ) -> TikhonovEquivalent:
        """The ridge regression on whitened features that equals λF_λ (Theorem 7)."""
        return tikhonov_equivalent(self.spectrum, one_gap(lam, gap, self.chosen_gap))

    def criterion_curve(self, name: str, gaps: npt.ArrayLike) -> FloatArray:
        """A criterion by name at an array of gaps, shape (gaps..., outputs)."""
        if name not in CRITERIA:
            raise ValueError(f"criterion={name!r} is unknown; allowed are {list(CRITERIA)}.")
        gaps = resolve_gap(gap=gaps)
        flat = gaps.ravel()
        if name == "kfold":
            table = self.kfold_table
            value = self.cross_validation.error(flat) if table is None else table.at(flat)
        elif name == "loo":
            if self.leave_one_out is None:
                raise ValueError("loo needs the rows: fit with criterion='loo'.")
            known = self.leave_one_out
            value = known.at(flat) if isinstance(known, CurveTable) else known.error(flat)
        else:
            value = self._closed_form(name, flat)
        value = self.spectrum.place.floats(value)
        return self.spectrum.place.xp.reshape(value, (*gaps.shape, self.spectrum.n_outputs))

    def curves(self, gaps: npt.ArrayLike | None = None) -> dict[str, AnyArray]:
        """A table of curves: column name to values, ready for a data frame or a CSV.

        Parameters
        ----------
        gaps : array-like, optional
            Where; by default the points at which the criterion was evaluated, or for a given
            λ five a decade.

        Returns
        -------
        dict
            ``gap``, ``lam``, ``dof``, ``train_error``, ``member_error``, ``diversity``,
            ``sure`` where σ² is known, ``gcv``, and ``kfold`` where there are folds. With several
            outputs all but the first three have a column for each, ``train_error_0`` and so on.
        """
        if gaps is None:
            g = self.gaps
            if len(g) == 0:
                decades = -np.log10(self.spectrum.smallest_useful_gap)
                g = np.power(10.0, -np.arange(0.0, decades + 0.2, 0.2))
        else:
            g = resolve_gap(gap=gaps).ravel()
            if len(g) == 0:
                raise ValueError("gaps is empty; give at least one.")
        names = ["train_error", "member_error", "diversity"]
        if not np.isnan(self.noise_variance).any():
            names.append("sure")
        names.append("gcv")
        if self.folds.splits:
            names.append("kfold")
        self.warn_if_unresolved(g, stacklevel=3)
        table = {"gap": g, "lam": 1.0 - g, "dof": to_host(self.spectrum.dof(gap=g))}
        for name in names:
            if name in CRITERIA:
                values = to_host(self.criterion_curve(name, g))
            else:
                values = to_host(getattr(self.spectrum, name)(gap=g))
            if self.single_output:
                table[name] = values[:, 0]
            else:
                table.update({f"{name}_{j}": column for j, column in enumerate(values.T)})
        return table

    def _closed_form(self, name: str, gaps: FloatArray) -> FloatArray:
        # What is left of targets that are fitted to their rounding is no error: its logarithm would
        # choose.
        xp = self.spectrum.place.xp
        least = self.spectrum.target_rounding**2
        error = xp.maximum(self.spectrum.train_error(gap=gaps), least)
        dof = self.spectrum.dof(gap=gaps)[..., np.newaxis]
        if name in ("sure", "cp") and np.isnan(self.noise_variance).any():
            warnings.warn(
                f"{name} is NaN: at lam=0 nothing is left to estimate the noise variance from. "
                "Give noise_variance as a number.",
                NoiseVarianceWarning,
                stacklevel=5,
            )
        return criteria.by_name(name, error, dof, self.spectrum.weight, self.noise_variance)

    def _by_name(self, name: str, lam: GapLike, gap: GapLike) -> Number:
        return self._answer(self.criterion_curve(name, self._gap(lam, gap)), lam, gap)

    def _gap(self, lam: GapLike, gap: GapLike) -> FloatArray:
        if lam is None and gap is None:
            return self.chosen_gap
        gaps = resolve_gap(lam, gap)
        self.warn_if_unresolved(gaps, stacklevel=4)
        return gaps

    def warn_if_unresolved(self, gaps: FloatArray, stacklevel: int) -> None:
        """Raise a PrecisionWarning where a gap is below ``smallest_trusted_gap``."""
        if (gaps < self.smallest_trusted_gap).any():
            warnings.warn(
                f"gap={float(gaps.min()):.1e} is below what this factorisation resolves "
                f"({self.smallest_trusted_gap:.1e}); refit with solver='qr' for such gaps.",
                PrecisionWarning,
                stacklevel=stacklevel,
            )

    def _answer(self, value: FloatArray, lam: GapLike, gap: GapLike) -> Number:
        if lam is None and gap is None:
            return self._squeeze(np.diagonal(to_host(value)).copy())
        return _scalar(value[..., 0] if self.single_output else value)

    def _squeeze(self, per_output: FloatArray) -> Number:
        place = self.spectrum.place
        return float(per_output[0]) if self.single_output else place.floats(per_output)


def _scalar(value: FloatArray) -> Number:
    return float(value) if value.ndim == 0 else value
