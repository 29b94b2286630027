"""Many small members or few large ones with the same features in all, compared with a ridge.

Q features are drawn once for each fold and divided among M members, H = Q/M each. λ is chosen by
exact K-fold on the training rows, the ridge's penalty by the same folds on the same features. Both
ends are known: M = 1 is least squares for every λ, and with one feature for each member (M = Q)
the ensemble is 1/λ times a ridge regression on features scaled to equal length (Theorem 7).

Ruben et al. (2025) ask whether a fixed number of features is better spent on an ensemble or on one
ridge. They train the members separately (λ = 0); here λ is tuned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from negcorr._common.arrays import thin_svd
from negcorr._common.types import FloatArray
from negcorr.bases import FourierFeatures
from negcorr.criteria.kfold import KFold
from negcorr.criteria.lattice_search import search_lattice
from negcorr.moments.moments import FactorMoments, Moments, total
from negcorr.moments.scan import scan_moments
from negcorr.paper.figure_style import COLOURS, GREY, panels_by_set
from negcorr.paper.page import TEXTS, Claim, titles
from negcorr.paper.pieces import Piece, Row
from negcorr.paper.protocol import FOLDS, SIX_SETS, bandwidth, folds_of, task
from negcorr.paper.setup import Setup
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure, Series
from negcorr.rows.folds import make_folds
from negcorr.rows.rows import Rows
from negcorr.spectrum.factorise import factorise

__all__ = ["claims", "pieces", "plot", "run", "split", "splits_of"]

NAME = "split"

TITLE, CAPTION = TEXTS[NAME].values()

#: Data sets that it can use.
SETS = SIX_SETS

#: Numbers of members. Those that divide Q are used, and Q itself.
SPLITS = (2, 5, 10, 25, 100)

#: Penalties of the ridge relative to the largest eigenvalue of the features' Gram matrix.
ALPHAS = np.power(10.0, 2.0 - np.arange(361) / 20.0)

#: The largest number of features of a small member.
SMALL = 10

#: Ends of the axis of relative errors.
BOTTOM, TOP = 0.5, 8.0


@dataclass(frozen=True, repr=False)
class _Folds:
    """Moments on one outer fold: of the inner folds, and of all training rows."""

    train: tuple[Moments, ...]
    held_out: tuple[Moments, ...]
    whole: Moments


@dataclass(frozen=True, repr=False)
class _Tuned:
    """A tuned fit: coefficients (outputs, Q); the chosen knob, its error and dof by output."""

    coef: FloatArray
    chosen: FloatArray
    cv_error: FloatArray
    dof: FloatArray


def splits_of(n_features: int) -> tuple[int, ...]:
    """Numbers of members among which ``n_features`` can be divided evenly.

    Examples
    --------
    >>> from negcorr.paper.beyond.split import splits_of
    >>> splits_of(40)
    (2, 5, 10, 40)
    """
    return (*(m for m in SPLITS if n_features % m == 0 and m < n_features), n_features)


def pieces(study: Study) -> list[Piece]:
    """One piece for each set and fold."""
    q = study.setup.size.n_features
    return [
        # Singular values of Q columns and at most Q rows are most of the work.
        study.piece(split, name=name, fold=fold, effort=0.5 + 1.7e-8 * q * min(n, q) ** 2)
        for name, n in [(name, study.n_rows(name)) for name in study.datasets(SETS)]
        for fold in range(FOLDS)
    ]


def run(study: Study) -> DataFrame:
    """Errors, one row for each set, fold, output and method.

    Column ``method`` is "ncl" or "ridge" (one member with all features); ``chosen`` is the gap of
    the ensemble or the penalty of the ridge.
    """
    return study.table(pieces(study))


def split(setup: Setup, data_home: str | None, name: str, fold: int) -> list[Row]:
    """Errors of every split and of the ridge, all on the same features."""
    data = task(setup, data_home, name, fold)
    q, gamma = setup.size.n_features, bandwidth(setup, data.X)
    seed = setup.seed_for("features", name, fold, NAME)
    basis = FourierFeatures(1, q, gamma=gamma, inputs="none", random_state=seed).fit(data.X)
    rows = Rows(data.X, data.Y)
    inner = make_folds(folds_of(len(data.X), setup, name, fold, "inner"), rows)
    # Factors, not Gram matrices: kinematics needs gaps of 10⁻¹³, and large members are
    # ill-conditioned. They are computed once for all M.
    cells = scan_moments(rows, basis, list(inner.cells), "factor")
    folds = _Folds(
        tuple(total([cells[i] for i in train]) for train, _ in inner.splits),
        tuple(total([cells[i] for i in test]) for _, test in inner.splits),
        total([cells[i] for i in inner.whole]),
    )
    features = basis.transform(data.X_test)
    fits = {("ridge", 1): tuned_ridge(folds)}
    for members in splits_of(q):
        fits["ncl", members] = tuned_ensemble(folds, members)
    return [
        {
            "set": name,
            "fold": fold,
            "output": output,
            "n_train": len(data.X),
            "method": method,
            "members": members,
            "width": q // members,
            **{c: float(getattr(fit, c)[output]) for c in ("chosen", "dof", "cv_error")},
            "test_error": float(np.mean((features @ fit.coef[output] - target) ** 2)),
        }
        for (method, members), fit in fits.items()
        for output, target in enumerate(data.Y_test.T)
    ]


def tuned_ensemble(folds: _Folds, members: int) -> _Tuned:
    """NCL with this number of members, λ chosen on the lattice by exact K-fold."""
    starts = np.arange(members + 1) * (folds.whole.n_features // members)
    *fits, spectrum = (
        factorise(moments, starts, fit_intercept=False, route="qr")
        for moments in (*folds.train, folds.whole)
    )
    error = KFold(tuple(fits), folds.held_out, tuple(range(len(fits)))).error
    gaps = search_lattice(error, spectrum.smallest_useful_gap).chosen
    return _Tuned(spectrum.coef(gap=gaps), gaps, np.diagonal(error(gaps)), spectrum.dof(gap=gaps))


def tuned_ridge(folds: _Folds) -> _Tuned:
    """Ridge without intercept, ‖y − Φw‖²/n + α‖w‖², all α from one decomposition for each fold."""
    whole, dof, largest = _ridge_path(folds.whole)
    squares = [
        held.squared_error(_ridge_path(train, largest)[0], np.zeros(len(held.mean)))
        for train, held in zip(folds.train, folds.held_out, strict=True)
    ]
    errors = np.sum(squares, axis=0) / sum(held.weight for held in folds.held_out)
    best = errors.argmin(axis=0)
    coef = np.stack([path[:, k] for path, k in zip(whole, best, strict=True)])
    return _Tuned(coef, largest * ALPHAS[best], np.diagonal(errors[best]), dof[best])


def _ridge_path(
    moments: Moments, unit: float | None = None
) -> tuple[FloatArray, FloatArray, float]:
    """Coefficients (outputs, Q, alphas), dof (alphas,), and the unit of the penalties."""
    if not isinstance(moments, FactorMoments):
        raise TypeError("the ridge is computed from factors.")
    rows = moments.factor_about(np.zeros(len(moments.mean))) / np.sqrt(moments.weight)
    features, target = np.split(rows, [moments.n_features], axis=1)
    left, values, right = thin_svd(features)
    unit = float(values[0] ** 2) if unit is None else unit
    denominator = values[:, np.newaxis] ** 2 + unit * ALPHAS
    along = (left.T @ target).T[:, :, np.newaxis] * values[:, np.newaxis]
    dof = (values[:, np.newaxis] ** 2 / denominator).sum(axis=0)
    return right.T @ (along / denominator), dof, unit


def plot(table: DataFrame) -> Figure:
    """One panel for each set: error over that of the ridge against M, from the table alone."""
    label = "members M, each with Q/M of the same Q features"
    blue, wide = COLOURS[0], "as many features in a member as rows"
    with panels_by_set(table, label, "test error (ridge = 1)") as (figure, panels):
        for axes, part in panels:
            ratios = _log_ratios(part).groupby("members")
            mean, error = ratios.mean(), ratios.sem().fillna(0.0)
            means, members = np.exp(mean), mean.index.to_numpy()
            axes.plot(members, means, color=blue, marker="o", markersize=3.5, label="NCL")
            low, high = np.exp(mean - error), np.exp(mean + error)
            axes.fill_between(members, low, high, color=blue, alpha=0.18, linewidth=0)
            axes.set(xscale="log", yscale="log", xlim=(members[0] / 1.7, members[-1] * 1.4))
            axes.set(ylim=(BOTTOM, TOP), xticks=members, yticks=[0.5, 1, 2, 4, 8])
            axes.set(xticklabels=members.astype(str), yticklabels=["0.5", "1", "2", "4", "8"])
            axes.minorticks_off()
            for m, value in means[means > TOP].items():
                axes.plot(m, TOP, marker="^", color=blue, clip_on=False, markersize=5, zorder=5)
                text = f"{value:.0f}" if value < 1e3 else f"10$^{{{np.log10(value):.0f}}}$"
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                place = axes.text(float(m), 0.88 * TOP, text, bbox=box, color=blue, fontsize=8)
                place.set(ha="center", va="top")
            axes.axhline(1.0, color=GREY, ls="--", lw=1.2, label="ridge on the same features")
            n_features = float(part["width"].max() * part["members"].min())
            as_wide_as_rows = n_features / part["n_train"].mean()
            if as_wide_as_rows > 1.0:
                axes.axvline(as_wide_as_rows, color=GREY, ls=":", lw=1.0, zorder=0, label=wide)
    return figure


def _log_ratios(table: DataFrame) -> Series:
    """log(error of NCL / error of the ridge), a value for each set, fold, output and M."""
    key = ["set", "fold", "output"]
    ridge = table[table["method"] == "ridge"].set_index(key)["test_error"]
    ncl = table[table["method"] == "ncl"].set_index([*key, "members"])["test_error"]
    return np.log(ncl / ridge)


def claims(table: DataFrame) -> list[Claim]:
    """Whether ensembles predict as well as the ridge, and whether small members are safe."""
    ratios = _log_ratios(table)
    ncl = table[table["method"] == "ncl"]
    by_set = ratios.groupby(["set", "members"]).mean().unstack()
    widths = ncl.groupby("members")["width"].first()
    small = by_set.loc[:, widths <= SMALL]
    # The ensemble whose M the inner folds chose, fold by fold.
    best = ncl.loc[ncl.groupby(["set", "fold", "output"])["cv_error"].idxmin()]
    tuned = ratios.loc[[tuple(k) for k in best[["set", "fold", "output", "members"]].to_numpy()]]
    tuned_by_set = tuned.groupby("set").mean()
    found = [
        Claim(
            "With λ and M tuned on the training rows, the ensemble predicts as well as a tuned "
            "ridge on the same features: errors agree within a tenth, in the mean of sets.",
            abs(tuned_by_set.mean()) < np.log(1.1),
            f"ratio of errors {np.exp(tuned_by_set.mean()):.3f} (geometric mean of sets), lower on "
            f"{(tuned_by_set < 0).sum()} of {len(tuned_by_set)} sets and {(tuned < 0).sum()} of "
            f"{len(tuned)} folds; "
            + ", ".join(f"{titles([k])} {np.exp(value):.2f}" for k, value in tuned_by_set.items()),
        ),
        Claim(
            f"Small members are safe, with at most {SMALL} features each: on no set is the error a "
            "tenth above the ridge's.",
            (small < np.log(1.1)).all(axis=None),
            f"at most {np.exp(small.max(axis=None)):.3f} times it, of all splits up to "
            f"{np.exp(by_set.max(axis=None)):.2g} times; least at "
            + ", ".join(f"M = {m} ({titles([k])})" for k, m in by_set.idxmin(axis=1).items()),
        ),
    ]
    # Where the error is greatest, on sets with fewer rows than features.
    rows = table.groupby("set")["n_train"].mean()
    few = [name for name in by_set.index if rows[name] < table["width"].max()]
    worst = {name: widths[by_set.loc[name].idxmax()] for name in few}
    nearest = {name: widths[np.abs(np.log(widths / rows[name])).idxmin()] for name in few}
    hits = sum(worst[name] == nearest[name] for name in few)
    if few:
        words = [f"{titles([k])} H = {worst[k]}, n = {rows[k]:.0f}" for k in few]
        peak = Claim(
            "Where features outnumber rows, the worst split is the one whose members have about "
            "as many features as there are rows.",
            hits == len(few),
            f"on {hits} of {len(few)} sets: {', '.join(words)}",
        )
        found.append(peak)
    return found
