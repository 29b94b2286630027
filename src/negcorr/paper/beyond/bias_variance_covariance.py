r"""Bias, variance and covariance of the members along λ, where the truth is known.

Ueda and Nakano (1996) split the error of an ensemble at the true μ:
:math:`\mathrm{E}(F-\mu)^2 = \mathrm{bias}^2 + \frac1M\mathrm{variance} +
(1-\frac1M)\mathrm{covariance}`. Expectations here are over the noise in the training targets alone.
Training inputs and features are fixed within a design, as in the paper's theorems; each piece is
another design. The fit is linear in the targets, so that one factorisation serves all draws of the
noise and all λ.
"""

from __future__ import annotations

import re

import numpy as np
from sklearn.datasets import make_friedman1

from negcorr._common.types import FloatArray
from negcorr.bases import FourierFeatures
from negcorr.diversity.decompositions import bias_variance_covariance
from negcorr.ensemble.regressor import NCLRegressor
from negcorr.paper.curves import GRID
from negcorr.paper.figure_style import COLOURS, GREY, band, new_figure, style
from negcorr.paper.page import TEXTS, Claim, theorem
from negcorr.paper.pieces import Piece, Row
from negcorr.paper.setup import Setup
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure

__all__ = ["claims", "pieces", "plot", "run", "simulated", "terms"]

NAME = "bias-variance-covariance"

TITLE, CAPTION = TEXTS[NAME].values()

#: No data set is needed: the data are simulated.
SETS = None

#: Number of columns of X, of which five matter; variance of the noise.
INPUTS, NOISE_VARIANCE = 10, 0.25

#: Training rows; new rows at which errors are taken; pairs of training inputs and features.
ROWS, NEW_ROWS, DESIGNS = 300, 400, 10

#: Mean and standard deviation of Friedman's function, by integration.
CENTRE, SPREAD = 14.4133, 4.8812

#: The grid of λ, which ends with λ = 1, and quarters of decades down to 10⁻⁸.
GAPS = tuple(sorted({*GRID, *(float(f"{10 ** (-k / 4):.3g}") for k in range(5, 33))}, reverse=True))

#: Largest error of an identity that counts as rounding, relative to its largest term.
ROUNDING = 1e-9

#: Three sums that are exact, since moments over draws are those of the population, in words.
IDENTITIES = {
    "error = bias_squared + variance_term + covariance_term": (
        "Ensemble error is bias² + variance/M + (1 − 1/M) covariance."
    ),
    "member_error = error + diversity": "Member error is ensemble error + diversity (equation 1).",
    "diversity = pairs + bias_spread": (
        "Diversity is (1 − 1/M)(variance − covariance) + the spread of member biases."
    ),
}


def pieces(study: Study) -> list[Piece]:
    """One piece for each design."""
    return [study.piece(simulated, effort=1.5, design=design) for design in range(DESIGNS)]


def simulated(setup: Setup, data_home: str | None, design: int) -> list[Row]:
    """Every term at every gap, for one design: training inputs and features.

    Parameters
    ----------
    setup : Setup
        There are ``size.repeats`` draws of the noise. Features are ``size.n_features``, but at
        most two thirds of the training rows, so that λ = 1 does not interpolate.
    data_home : str or None
        Not used.
    design : int
        Number of the design, from which inputs and features are drawn.
    """
    n = min(ROWS, setup.size.max_rows or ROWS)
    width = setup.size.width
    n_members = max(2, min(setup.size.n_features, 2 * n // 3) // width)
    seed = setup.seed_for(NAME, "inputs", design)
    X, raw = make_friedman1(n + NEW_ROWS, n_features=INPUTS, noise=0.0, random_state=seed)
    truth = (raw - CENTRE) / SPREAD
    rng = np.random.default_rng(setup.seed_for(NAME, "noise", design))
    noise = np.sqrt(NOISE_VARIANCE) * rng.normal(size=(n, max(2, setup.size.repeats)))
    Y = truth[:n, np.newaxis] + noise
    basis, seed = FourierFeatures(n_members, width), setup.seed_for(NAME, "features", design)
    # λ = 1 and the smallest gaps need the accurate route.
    model = NCLRegressor(basis, lam=0.5, solver="qr", random_state=seed).fit(X[:n], Y)
    spectrum = model.path_.spectrum
    coef = spectrum.coef_path(np.array(GAPS))
    features = model.basis_.transform(X[n:]) - spectrum.centre[: spectrum.n_features]
    blocks = features.reshape(NEW_ROWS, n_members, width).transpose(1, 2, 0)
    known = {"design": design, "members": n_members, "n_train": n, "draws": Y.shape[1]}
    rows = []
    for k, gap in enumerate(GAPS):
        weights = n_members * coef[:, :, k].reshape(-1, n_members, width).transpose(1, 0, 2)
        members = (weights @ blocks).transpose(1, 0, 2) + Y.mean(axis=0)[:, np.newaxis, np.newaxis]
        rows.append({**known, "gap": gap, "lam": 1.0 - gap, **terms(members, truth[n:])})
    return rows


def terms(members: FloatArray, truth: FloatArray) -> Row:
    """All terms for one λ, means over new inputs.

    Covariance is measured on pairs of members, not computed from the identity that is checked.

    Parameters
    ----------
    members : ndarray of shape (draws, M, n), M ≥ 2
        Predictions of every member for every draw of the noise.
    truth : ndarray of shape (n,)
        μ.
    """
    draws, n_members, _ = members.shape
    ueda = bias_variance_covariance(members, truth)
    expected = members.mean(axis=0)
    by_input = np.ascontiguousarray((members - expected).transpose(2, 1, 0))
    products = by_input @ by_input.transpose(0, 2, 1) / draws
    covariance = products[:, ~np.eye(n_members, dtype=bool)].mean()
    variance = float(ueda.variance)
    ensemble = members.mean(axis=1)
    values = {
        "bias_squared": ueda.bias_squared,
        "variance": variance,
        "covariance": covariance,
        "correlation": covariance / variance,
        "variance_term": variance / n_members,
        "covariance_term": (1.0 - 1.0 / n_members) * covariance,
        "ensemble_variance": ensemble.var(axis=0).mean(),
        "error": ueda.error,
        "member_error": ((members - truth) ** 2).mean(),
        "diversity": ((members - ensemble[:, np.newaxis]) ** 2).mean(),
        "bias_spread": expected.var(axis=0).mean(),
    }
    return {name: float(value) for name, value in values.items()}


def run(study: Study) -> DataFrame:
    """Terms at every gap, one row for each design and gap.

    Parameters
    ----------
    study : Study
        Settings and what has been computed already; no data are read.

    Returns
    -------
    DataFrame
        Columns ``design``, ``gap``, ``lam``, ``members``; ``bias_squared``, ``variance`` and
        ``covariance`` with ``variance_term`` and ``covariance_term`` as they enter the error;
        ``error`` of the ensemble and ``member_error`` against μ; ``correlation`` of two members;
        ``diversity``, and ``bias_spread``, the part of it that is there without noise.
    """
    return study.table(pieces(study))


#: Colour, style and name of the curve of a column.
LOOKS = {
    "error": (COLOURS[1], "-", "ensemble error"),
    "bias_squared": (COLOURS[0], "--", "bias²"),
    "ensemble_variance": (COLOURS[2], "-.", "ensemble variance"),
    "variance_term": (COLOURS[4], "-", "variance/M"),
    "correlation": (COLOURS[3], "-", "correlation"),
    "member_error": (COLOURS[0], "--", "member error"),
    "diversity": (COLOURS[3], ":", "diversity"),
}

#: The curves of each panel by its title, and the places of the legends.
PANELS = {
    "ensemble error = bias² + ensemble variance": ("error", "bias_squared", "ensemble_variance"),
    "ensemble variance = variance/M + (1 − 1/M) cov.": ("variance_term", "ensemble_variance"),
    "correlation of two members": ("correlation",),
    "ensemble error = member error − diversity": ("member_error", "diversity", "error"),
}
PLACES = ("upper left", "lower right", "upper right", (0.42, 0.32))


def plot(table: DataFrame) -> Figure:
    """Three ways to split an error and the correlation of members, from the table alone."""
    # λ = 1 has no place on a logarithmic axis.
    drawn, n_members = table[table["gap"] > 0], int(table["members"].iloc[0])
    mean = table.groupby("gap").mean(numeric_only=True)
    with style():
        figure = new_figure(7.6, 5.9)
        (error, parts), (correlation, members) = grid = figure.subplots(2, 2, sharex=True)
        for axes, (title, columns) in zip(grid.flat, PANELS.items(), strict=True):
            axes.set_title(title, fontsize=9.0)
            for column in columns:
                colour, dashes, label = LOOKS[column]
                designs = drawn.pivot(index="design", columns="gap", values=column)
                band(axes, designs, color=colour, ls=dashes, label=label)
        best = float(mean["error"].idxmin())
        marked = {"color": COLOURS[1], "label": f"least, λ = {1.0 - best:.3g}"}
        error.plot(best, mean["error"][best], "o", **marked)
        # The covariance term by its size, dashed where it is negative.
        term = mean["covariance_term"].drop(0.0)
        for sign, dashes, label in ((1, "-", "+(1 − 1/M) cov."), (-1, "--", "−(1 − 1/M) cov.")):
            size = (sign * term).where(sign * term > 0)
            parts.plot(size.index, size, color=COLOURS[3], ls=dashes, label=label)
        correlation.axhline(0.0, color=GREY, lw=0.8)
        least = {"color": GREY, "ls": "--", "lw": 1.2, "label": "least possible, −1/(M − 1)"}
        correlation.axhline(-1.0 / (n_members - 1), **least)
        # Room for the legends: above the curves, and between them.
        error.set(ylim=(0, 1.3 * error.dataLim.ymax), ylabel="mean square")
        parts.set(yscale="log")
        correlation.set_ylabel("correlation over draws of the noise")
        members.set(yscale="log", ylabel="mean square")
        for axes, place in zip(grid.flat, PLACES, strict=True):
            axes.legend(loc=place)
            axes.set(xscale="log", xlim=(1.4, 7e-9))
            axes.set_xticks([10.0**-k for k in range(0, 9, 2)])
            axes.set_xticks([], minor=True)
        figure.supxlabel("gap 1 − λ   (closer to λ = 1 →)", fontsize=9.5)
    return figure


def claims(table: DataFrame) -> list[Claim]:
    """Identities hold; with λ members vary more and correlate less; the best λ is inside."""
    mean = table.groupby("gap").mean(numeric_only=True)[::-1]  # from λ = 0 to λ = 1
    best = float(mean["error"].idxmin())
    until = mean[mean.index >= best]
    rises, falls = np.diff(mean["variance"]) > 0, np.diff(mean["correlation"]) < 0
    least = [part.loc[part["error"].idxmin(), "gap"] for _, part in table.groupby("design")]
    inside = [0.0 < gap < 1.0 for gap in (*least, best)]

    pairs = (1.0 - 1.0 / table["members"]) * (table["variance"] - table["covariance"])
    sums = table.assign(pairs=pairs)
    identities = []
    for equation, statement in IDENTITIES.items():
        whole, *terms_of_sum = re.split(" [=+] ", equation)
        off = (sums[whole] - sums[terms_of_sum].sum(axis=1)).abs()
        worst = float((off / sums[[whole, *terms_of_sum]].abs().max(axis=1)).max())
        off_by = f"off by at most {worst:.0e} of the largest term"
        identities.append(theorem(statement, worst <= ROUNDING, off_by))

    def found(column: str) -> str:
        first, chosen, last = (mean[column][gap] for gap in (1.0, best, 0.0))
        return f"{first:.3g} at λ = 0, {chosen:.3g} at λ = {1.0 - best:.3g}, {last:.3g} at λ = 1"

    return [
        *identities,
        Claim(
            "A member varies the more over draws of the noise, the larger λ.",
            bool(rises.all()),
            f"at {rises.sum()} of {len(rises)} steps; {found('variance')}",
        ),
        Claim(
            "Members correlate the less, the larger λ: positively at λ = 0, negatively at λ = 1.",
            bool(falls.all()) and mean["correlation"][0.0] < 0.0 < mean["correlation"][1.0],
            f"at {falls.sum()} of {len(falls)} steps; {found('correlation')}, where it is at "
            f"least −1/(M − 1) = {-1.0 / (table['members'].iloc[0] - 1):.3g}",
        ),
        Claim(
            "The error of the ensemble is least for a λ strictly between 0 and 1.",
            all(inside),
            f"{found('error')}; so in {sum(inside[:-1])} of {len(least)} designs",
        ),
        Claim(
            "From λ = 0 to the best λ the bias falls and the variance of the ensemble rises.",
            bool((np.diff(until["bias_squared"]) < 0).all())
            and bool((np.diff(until["ensemble_variance"]) > 0).all()),
            f"bias² {found('bias_squared')}; variance {found('ensemble_variance')}",
        ),
        Claim(
            "Where the ensemble is best, its members are worse than at λ = 0.",
            bool(mean["member_error"][best] > mean["member_error"][1.0]),
            found("member_error"),
        ),
    ]
