"""From rows to a path: scan the moments, factorise, choose λ, and check the accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length

from negcorr._common.arrays import place_of, to_host
from negcorr._common.threads import our_own_threads
from negcorr._common.types import FloatArray, IntArray, Table
from negcorr._common.validation import check_weight
from negcorr.bases import Basis
from negcorr.criteria.lattice_search import search_lattice
from negcorr.criteria.leave_one_out import LeaveOneOut
from negcorr.criteria.noise import given_noise_variance
from negcorr.exceptions import PrecisionWarning, SearchBoundaryWarning, warn_caller
from negcorr.moments.moments import FactorMoments, Moments, total
from negcorr.moments.scan import features_of, scan_moments
from negcorr.path.path import CRITERIA, NCLPath
from negcorr.rows.folds import Folds, UnsplittableError, make_folds
from negcorr.rows.rows import Rows, weight_of
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.gap import gap_per_output, resolve_gap

__all__ = [
    "Form",
    "PathSettings",
    "Route",
    "build_path",
    "check_memory",
    "folds_for",
    "given_gap",
    "is_quick",
    "ncl_path",
    "routes_for",
]

#: Where features depend on each other across members, the error of leave-one-out grows as eps/gap;
#: below this gap it is too inaccurate to choose λ.
SMALLEST_LOO_GAP = 1e-10

#: Most memory that the moments of all folds may take.
MOST_FOLD_BYTES = 4 * 2**30

#: Smallest gap that is tried between members that are ensembles: a smaller gap also reduces the
#: regularisation within each member.
SMALLEST_NESTED_GAP = 1e-4

#: n·Q·min(n, Q) up to which a singular value decomposition takes about a millisecond.
QUICK = 3e5

#: Number of rows that are checked for directions that the Gram matrix may have lost.
SAMPLE_ROWS = 128

Form = Literal["gram", "factor"]

Route = tuple[Form, Literal["gram", "qr"]]


@dataclass(frozen=True)
class PathSettings:
    """What a path is made with; see :class:`negcorr.NCLRegressor` for the meaning.

    Attributes
    ----------
    gap : ndarray or None
        A given gap, or None to choose one by ``criterion``.
    criterion : str
    noise_variance : float, array, "paper", "difference" or None
    alpha : float
    fit_intercept : bool
    solver : {"auto", "gram", "qr"}
    """

    gap: FloatArray | None = None
    criterion: str = "kfold"
    noise_variance: Any = None
    alpha: float = 0.0
    fit_intercept: bool = True
    solver: str = "auto"

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(
                f"criterion={self.criterion!r} is unknown; allowed are {list(CRITERIA)}."
            )
        if self.solver not in ("auto", "gram", "qr"):
            raise ValueError(
                f"solver={self.solver!r} is unknown; allowed are 'auto', 'gram' and 'qr'."
            )
        number = isinstance(self.alpha, (int, float, np.number)) and self.alpha is not True
        if not number or not np.isfinite(self.alpha) or self.alpha < 0:
            raise ValueError(f"alpha={self.alpha!r} must be a finite number of at least 0.")
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise TypeError(f"fit_intercept={self.fit_intercept!r} must be True or False.")


def given_gap(lam: npt.ArrayLike | Literal["auto"], gap: npt.ArrayLike | None) -> FloatArray | None:
    """The gap that a user fixed by ``lam`` or ``gap``, or None for "auto"."""
    if isinstance(lam, str):
        if lam != "auto":
            raise ValueError(f"lam={lam!r} is unknown; give a number in [0, 1] or 'auto'.")
        return None if gap is None else resolve_gap(gap=gap)
    return resolve_gap(lam=lam, gap=gap)


def ncl_path(
    features: npt.ArrayLike,
    y: npt.ArrayLike,
    block_starts: npt.ArrayLike,
    *,
    lam: npt.ArrayLike | Literal["auto"] = "auto",
    gap: npt.ArrayLike | None = None,
    criterion: str = "kfold",
    cv: Any = 5,
    groups: Any = None,
    sample_weight: npt.ArrayLike | None = None,
    noise_variance: Any = None,
    alpha: float = 0.0,
    fit_intercept: bool = True,
    solver: str = "auto",
) -> NCLPath:
    """The λ path of an ensemble of linear maps of given features.

    Parameters
    ----------
    features : array-like of shape (n, Q)
        Features of all members, side by side.
    y : array-like of shape (n,) or (n, outputs)
        Targets.
    block_starts : array-like of shape (M + 1,)
        Member m owns columns ``block_starts[m]:block_starts[m + 1]``.
    lam, gap, criterion, cv, groups, sample_weight, noise_variance, alpha, fit_intercept, solver
        As in :class:`negcorr.NCLRegressor`.

    Returns
    -------
    NCLPath

    Examples
    --------
    >>> import numpy as np
    >>> from negcorr import ncl_path
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(60, 12))
    >>> y = features[:, 0] + 0.5 * rng.normal(size=60)
    >>> path = ncl_path(features, y, [0, 4, 8, 12], criterion="sure")
    >>> path.dof([0, 1]).round(6)
    array([ 5., 13.])
    """
    matrix = check_array(features, dtype=np.float64, input_name="features")
    target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(matrix, target)
    starts = np.asarray(block_starts)
    increasing = starts.ndim == 1 and len(starts) >= 2 and np.issubdtype(starts.dtype, np.integer)
    ends = (0, matrix.shape[1])
    if not increasing or (starts[0], starts[-1]) != ends or (np.diff(starts) <= 0).any():
        raise ValueError(
            f"block_starts={block_starts!r} must be increasing integers from 0 to the number of "
            f"features, {matrix.shape[1]}."
        )
    weight = check_weight(sample_weight, matrix)
    rows = Rows(matrix, target.reshape(len(target), -1), weight)
    settings = PathSettings(
        gap=given_gap(lam, gap),
        criterion=criterion,
        noise_variance=noise_variance,
        alpha=alpha,
        fit_intercept=fit_intercept,
        solver=solver,
    )
    folds = folds_for(cv, rows, groups, settings)
    # Reductions on one BLAS thread: on a busy machine, more of them can stall for seconds.
    with our_own_threads():
        basis = GivenFeatures(starts.astype(np.intp))
        return build_path(rows, basis, folds, settings, target.ndim == 1)


class GivenFeatures(Basis):
    """A basis whose input already is the features."""

    def __init__(self, block_starts: IntArray) -> None:
        self.block_starts = block_starts
        self.block_starts_ = block_starts

    def fit(self, X: Table, y: Any = None, sample_weight: Any = None) -> GivenFeatures:
        return self

    def fill(self, X: Table, out: FloatArray) -> None:
        out[...] = X


def folds_for(cv: Any, rows: Rows, groups: Any, settings: PathSettings) -> Folds:
    """Folds for K-fold and intervals; none if rows cannot be split and no folds are required."""
    if groups is not None and (cv is None or isinstance(cv, (int, np.integer))):
        raise ValueError(
            f"groups were given, but cv={cv!r} splits by content and would ignore them; "
            "give a splitter that uses groups, such as GroupKFold."
        )
    asked = settings.gap is None and settings.criterion == "kfold"
    try:
        folds = make_folds(cv, rows, groups)
    except UnsplittableError:
        if asked:
            raise
        return Folds.none(rows.n_rows)
    if not asked and folds.usable_splits(rows.weight) < min(2, len(folds.splits)):
        return Folds.none(rows.n_rows)
    return folds


def build_path(
    rows: Rows,
    basis: Basis,
    folds: Folds,
    settings: PathSettings,
    single_output: bool,
    *,
    cells_of: Callable[[Form], tuple[Moments, ...]] | None = None,
    routes: Sequence[Route] | None = None,
) -> NCLPath:
    """Scan, factorise and choose λ, by the first route that is accurate enough.

    Parameters
    ----------
    rows : Rows
        Training data. Where ``cells_of`` is given they may be some of them: then they are only used
        to detect lost directions. Leave-one-out, and the noise variance by differences, need all.
    basis : Basis
        Fitted.
    folds : Folds
        Sets of rows that are scanned separately.
    settings : PathSettings
    single_output : bool
        Whether y was 1-D.
    cells_of : callable, optional
        Gives the moments of all cells of the folds in one of the two forms; by default a scan of
        the rows.
    routes : sequence of (form, route), optional
        To be tried in this order, by default those that suit ``settings.solver`` and the rows.

    Returns
    -------
    NCLPath
    """
    n_features, n_outputs = int(basis.block_starts_[-1]), int(rows.y.shape[1])
    if routes is None:
        # With few rows the factor is the rows themselves, and both routes start from it.
        few = rows.n_rows <= 2 * n_features
        routes = routes_for(settings.solver, "factor" if few else "gram", rows.n_rows, n_features)
        check_memory(folds, n_features + n_outputs, rows.n_rows)
    if settings.gap is not None:
        gap_per_output(settings.gap, n_outputs)
    given_noise = None
    if settings.noise_variance is not None:
        given_noise = given_noise_variance(settings.noise_variance, rows)
    cells: tuple[Moments, ...] = ()
    form = None
    for number, (wanted_form, route) in enumerate(routes):
        if wanted_form != form:
            form = wanted_form
            if cells_of is None:
                cells = tuple(scan_moments(rows, basis, list(folds.cells), form))
            else:
                cells = cells_of(form)
        spectrum = factorise(
            total([cells[i] for i in folds.whole]),
            basis.block_starts_,
            alpha=float(settings.alpha),
            fit_intercept=bool(settings.fit_intercept),
            route=route,
            nesting=basis.nesting_,
            terms=basis.terms_,
        )
        path = NCLPath(
            spectrum=spectrum,
            chosen_gap=np.ones(n_outputs),
            criterion=None,
            gaps=np.empty(0),
            all_values=np.empty((0, n_outputs)),
            at_small_end=np.zeros(n_outputs, dtype=bool),
            given_noise=given_noise,
            solver=route,
            single_output=single_output,
            starts=basis.block_starts_,
            folds=folds,
            cells=cells,
            terms=basis.terms_,
        )
        last = number == len(routes) - 1
        # Condition numbers are computed from the kept directions, so they do not show lost ones.
        cut = route == "gram" and bool((spectrum.block_ranks < np.diff(path.starts)).any())
        lost = cut and _lost_directions(rows, basis, path)
        if not last and (path.smallest_trusted_gap > 1.0 or lost):
            continue
        path = _choose(path, rows, basis, settings)
        if last or path.resolves_choice:
            break
    way_out = "'qr'" if settings.solver == "auto" else "'auto' or 'qr'"
    # Where there was another route, it has been taken already.
    _warn_about_choice(path, lost and len(routes) == 1, way_out)
    return path


def routes_for(solver: str, form: Form, n_rows: int, n_features: int) -> list[Route]:
    """Routes in the order in which they are tried, of which the first is the fastest.

    Parameters
    ----------
    solver : {"auto", "gram", "qr"}
    form : {"gram", "factor"}
        Form of the moments for the fast route.
    n_rows, n_features : int
    """
    fast: Route = (form, "gram")
    accurate: Route = ("factor", "qr")
    by_solver = {"gram": [fast], "qr": [accurate], "auto": [fast, accurate]}
    if is_quick(n_rows, n_features):
        by_solver["auto"] = [accurate]
    return by_solver[solver]


def is_quick(n_rows: int, n_features: int) -> bool:
    """Whether decompositions take so little time that the accurate one is taken at once."""
    return n_rows * n_features * min(n_rows, n_features) <= QUICK


def check_memory(folds: Folds, size: int, n_rows: int) -> None:
    """Refuse folds whose moments would not fit: one matrix of size² for each."""
    needed = 8 * sum(min(size, cell.shape[0]) * size for cell in folds.cells)
    if n_rows > 2 * size:
        needed = 8 * len(folds.cells) * size**2
    if needed > MOST_FOLD_BYTES:
        raise ValueError(
            f"cv makes {len(folds.cells)} sets of rows, whose moments would take "
            f"{needed / 2**30:.1f} GiB; use fewer folds, or criterion='loo'."
        )


def _lost_directions(rows: Rows, basis: Basis, path: NCLPath) -> bool:
    """Whether the Gram matrix has lost directions that a sample of the rows still shows.

    A sample never has more rank than the whole.
    """
    widest = int(np.diff(path.starts).max())
    sample = rows.first_used(max(SAMPLE_ROWS, 4 * widest))
    place = place_of(sample.y)
    z = place.xp.concat([features_of(sample, basis), sample.y], axis=1)
    accurate = factorise(
        FactorMoments.from_rows(z, place.ones((sample.n_rows,)), sample.y.shape[1]),
        path.starts,
        fit_intercept=path.spectrum.fit_intercept,
        nesting=basis.nesting_,
        terms=basis.terms_,
    )
    return bool((accurate.block_ranks > path.spectrum.block_ranks).any())


def _choose(path: NCLPath, rows: Rows, basis: Basis, settings: PathSettings) -> NCLPath:
    """The path at the given gap, or at the gap with the smallest value of the criterion."""
    if settings.gap is not None:
        return path.at(gap=settings.gap)
    name = settings.criterion
    if name in ("sure", "cp") and not np.isfinite(path.noise_variance).all():
        raise ValueError(
            f"criterion={name!r} needs a noise variance, and the estimate at lam=0 has no residual "
            "degrees of freedom. Give noise_variance as a number, or use criterion='kfold'."
        )
    if name == "cp" and (path.noise_variance == 0).any():
        raise ValueError("criterion='cp' divides by the noise variance, and noise_variance=0.")
    smallest = path.spectrum.smallest_useful_gap
    if name == "loo":
        if basis.nesting_ is not None:
            raise ValueError(
                "criterion='loo' is not known where members are ensembles themselves; use 'kfold'."
            )
        if path.spectrum.rho.shape[0] < path.spectrum.block_ranks.sum():
            smallest = max(smallest, SMALLEST_LOO_GAP)
        # Many small systems for each of few rows: nothing for a device.
        leave_one_out = LeaveOneOut(
            to_host(features_of(rows, basis)),
            to_host(rows.y),
            weight_of(rows),
            basis.block_starts_,
            path.spectrum.alpha,
            path.spectrum.fit_intercept,
        )
        path = path.changed(leave_one_out=leave_one_out)
    floor = 0.0 if basis.nesting_ is None else SMALLEST_NESTED_GAP
    rounding = to_host(path.spectrum.target_rounding) if name in ("kfold", "loo") else None
    found = search_lattice(
        lambda gaps: to_host(path.criterion_curve(name, gaps)), max(smallest, floor), rounding
    )
    return path.changed(
        chosen_gap=found.chosen,
        criterion=name,
        gaps=found.gaps,
        all_values=found.values,
        at_small_end=found.at_small_end & (basis.nesting_ is None),
    )


def _warn_about_choice(path: NCLPath, lost_directions: bool, way_out: str) -> None:
    if path.at_small_end.any():
        which = "" if path.single_output else f" for outputs {np.flatnonzero(path.at_small_end)}"
        advice = (
            "More members or features per member may serve better."
            if path.criterion in ("kfold", "loo")
            else "Where features can interpolate the data that says little; try criterion='kfold'."
        )
        warn_caller(
            f"the best gap found by {path.criterion} is the smallest of the search"
            f"{which} ({path.gaps[-1]:.1e}): the criterion asks for lam = 1, an ensemble trained "
            f"as one model. {advice}",
            SearchBoundaryWarning,
        )
    if not path.resolves_choice:
        warn_caller(
            f"the Gram route does not resolve gap={path.chosen_gap.min():.1e} for features with "
            f"condition {path.spectrum.whitening.condition:.1e}; use solver={way_out}.",
            PrecisionWarning,
        )
    elif lost_directions:
        warn_caller(
            "the Gram route has lost directions of features that are nearly dependent; use "
            f"solver={way_out}.",
            PrecisionWarning,
        )
