r"""Theorem 6 in numbers: how far below 1 the best λ is, and what decides on it.

With fixed features and a known mean μ the expected error is a sum over modes,

.. math:: R(g) = R_\perp + \sum_q m_q^2 (g a_q s_q)^2 + \frac{\sigma^2}{n} \sum_q s_q^2,
          \qquad s_q = \frac{1}{1 + g a_q},

with m_q the component of μ/√n along mode q, a_q = (M − ρ_q)/ρ_q its stiffness, and R_⊥ the part
of μ outside all modes. Since d(gas)²/dg = 2ga²s³ and ds²/dg = −2as³, the best gap solves

.. math:: g = \frac{\sigma^2}{n} \cdot \frac{\sum_q a_q s_q^3}{\sum_q m_q^2 a_q^2 s_q^3}.

At s = 1 the right side is a prediction g₁ in closed form: positive if and only if σ is, which is
the theorem. It is good while g₁a ≪ 1 in the stiffest mode: the noise there is below the signal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from negcorr._common.types import FloatArray
from negcorr.bases import FourierFeatures, kwok_tsang_gamma
from negcorr.moments.moments import FactorMoments
from negcorr.paper.figure_style import COLOURS, GREY, new_figure, style
from negcorr.paper.page import TEXTS, Claim, theorem
from negcorr.paper.pieces import Piece, Row
from negcorr.paper.setup import Setup
from negcorr.paper.study import Study
from negcorr.paper.types import DataFrame, Figure
from negcorr.spectrum.factorise import factorise
from negcorr.spectrum.gap import LATTICE_PER_DECADE, lattice

__all__ = ["KnownRisk", "claims", "pieces", "plot", "run", "simulated"]

NAME = "optimal-gap"

TITLE, CAPTION = TEXTS[NAME].values()

#: No data set is needed: the data are simulated.
SETS = None

#: Simulated functions.
DESIGNS = {
    "friedman": "Friedman, 10 inputs",
    "kinks": "kinks, 5 inputs",
    "waves": "waves, 3 inputs",
}

#: The values of the three knobs, the centre last: σ over the standard deviation of μ (at 0 the
#: best λ is 1 by the theorem), n over Q, and γ over that of Kwok and Tsang.
SIGMAS = (0.0, *(float(10.0 ** (k / 4)) for k in (*range(-12, -2), *range(-1, 3), -2)))
ROWS = (0.25, 0.5, 1.0, 4.0, 8.0, 2.0)
BANDWIDTHS = (*(4.0**k for k in (-3, -2, -1, 1, 2, 3)), 1.0)
KNOBS = {
    "sigma": "noise σ (standard deviation of μ = 1)",
    "n": "rows n",
    "gamma": "bandwidth γ (Kwok and Tsang = 1)",
}

#: The largest g₁a of the stiffest mode for which the leading order should be right within a
#: factor of 2.
GENTLE = 0.1


#: Columns with the quartiles of the gaps that SURE chooses, and with the risk at the best gap, at
#: λ = 1, at λ = 0 and at the leading order.
SURE_QUARTILES = ("sure_gap_low", "sure_gap", "sure_gap_high")
RISKS = ("risk", "risk_lam1", "risk_lam0", "risk_leading")


@dataclass(frozen=True, repr=False)
class KnownRisk:
    """The risk R(g) for a known μ: stiffness a and signal m of the modes, R_⊥, and n rows."""

    stiffness: FloatArray
    signal: FloatArray
    outside: float
    n: float

    def excess(self, gaps: FloatArray, sigma: float) -> FloatArray:
        """R(g) − R(0), not computed as a difference, so that a gain of 10⁻²⁰ keeps its sign."""
        shrunk = self._shrunk(gaps)
        lost = (shrunk * (2.0 - shrunk)).sum(axis=-1)
        return np.asarray(shrunk**2 @ self.signal**2 - sigma**2 / self.n * lost)

    def risk(self, gaps: FloatArray, sigma: float) -> FloatArray:
        """The risk R(g)."""
        least_squares = self.outside + sigma**2 * len(self.stiffness) / self.n
        return least_squares + self.excess(gaps, sigma)

    def leading_order(self, sigma: float) -> float:
        """g₁ = (σ²/n) Σ a / Σ m²a²."""
        return self._right_side(0.0, sigma)

    def lattice(self, sigma: float) -> FloatArray:
        """Gaps down to where the leading order holds, and λ = 1."""
        smallest = min(0.01 / float(self.stiffness.max()), 0.1 * self.leading_order(sigma) or 1.0)
        return np.append(lattice(min(smallest, 0.1)), 0.0)

    def best_gap(self, sigma: float) -> float:
        """The gap of least risk on the lattice."""
        gaps = self.lattice(sigma)
        return float(gaps[self.excess(gaps, sigma).argmin()])

    def self_consistent_gap(self, sigma: float) -> float:
        """The best gap at which the derivative becomes positive; 1 if there is none."""
        if sigma == 0.0:
            return 0.0

        def slope(log_gap: float) -> float:
            """A number with the sign of dR/dg, on a scale that suits a root finder."""
            return log_gap - float(np.log10(self._right_side(10.0**log_gap, sigma)))

        logs = np.log10(self.lattice(sigma)[-2::-1])
        slopes = np.array([slope(log) for log in logs])
        turns = np.flatnonzero((slopes[:-1] < 0) & (slopes[1:] >= 0))
        roots = [10.0 ** brentq(slope, logs[k], logs[k + 1]) for k in turns]
        candidates = np.array(roots + ([1.0] if slopes[-1] < 0 else []))
        return float(candidates[self.excess(candidates, sigma).argmin()])

    def sure_gaps(self, noise: FloatArray, sigma: float) -> FloatArray:
        """The gap that SURE chooses on the lattice for each of k draws of unit noise, (r, k)."""
        gaps = self.lattice(sigma)
        shrunk = self._shrunk(gaps)
        energy = (self.signal[:, np.newaxis] + sigma * noise) ** 2
        # SURE less its value at λ = 1, for the same reason as in the risk.
        penalty = 2.0 * sigma**2 / self.n * shrunk.sum(axis=1)
        return np.asarray(gaps[(shrunk**2 @ energy - penalty[:, np.newaxis]).argmin(axis=0)])

    def losses(self, gaps: FloatArray, noise: FloatArray, sigma: float) -> FloatArray:
        """Error against μ of each draw, each at its own gap."""
        shrunk = self._shrunk(gaps).T
        distance = (1.0 - shrunk) * sigma * noise - shrunk * self.signal[:, np.newaxis]
        return np.asarray(self.outside + (distance**2).sum(axis=0))

    def _shrunk(self, gaps: FloatArray) -> FloatArray:
        """1 − s, shape (gaps, r)."""
        ga = np.multiply.outer(gaps, self.stiffness)
        return np.asarray(ga / (1.0 + ga))

    def _right_side(self, gap: float, sigma: float) -> float:
        """The right side of the equation that the best gap solves."""
        weight = self.stiffness / (1.0 + gap * self.stiffness) ** 3
        bias = (weight * self.stiffness) @ self.signal**2
        return float(sigma**2 / self.n * weight.sum() / bias)


def simulated(design: str, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Inputs and μ of one of :data:`DESIGNS`, with mean 0 and standard deviation 1."""
    if design == "friedman":
        X = rng.uniform(size=(n, 10))
        mu = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        mu += 10 * X[:, 3] + 5 * X[:, 4]
    elif design == "kinks":
        X = rng.normal(size=(n, 5))
        mu = np.abs(X[:, 0]) + np.maximum(X[:, 1], X[:, 2])
    else:
        X = rng.uniform(size=(n, 3))
        mu = np.sin(2 * np.pi * X[:, 0]) * np.cos(2 * np.pi * X[:, 1]) + X[:, 2]
    return (X - X.mean(axis=0)) / X.std(axis=0), (mu - mu.mean()) / mu.std()


def pieces(study: Study) -> list[Piece]:
    """One piece for each function and knob."""
    effort = 3e-9 * study.setup.size.n_features**3
    return [study.piece(sweep, effort, design=d, knob=knob) for d in DESIGNS for knob in KNOBS]


def run(study: Study) -> DataFrame:
    """Gaps and risks, one row for each function, knob and value."""
    return study.table(pieces(study))


def sweep(setup: Setup, data_home: str | None, design: str, knob: str) -> list[Row]:
    """Best, predicted and chosen gaps of a simulated function as one knob varies."""
    rows = []
    for times in sorted(ROWS) if knob == "n" else ROWS[-1:]:
        for gamma in sorted(BANDWIDTHS) if knob == "gamma" else BANDWIDTHS[-1:]:
            # More rows than a member has features, or no member would lose by λ < 1.
            n = max(2 * setup.size.width, round(times * setup.size.n_features))
            known, noise = known_risk(setup, design, n, gamma)
            for sigma in sorted(SIGMAS) if knob == "sigma" else SIGMAS[-1:]:
                place = {"sigma": sigma, "n": n, "gamma": gamma}
                best, leading = known.best_gap(sigma), known.leading_order(sigma)
                chosen = known.sure_gaps(noise, sigma)
                quartiles = np.quantile(chosen, [0.25, 0.5, 0.75])
                risks = known.risk(np.array([best, 0.0, 1.0, min(leading, 1.0)]), sigma)
                numbers = {
                    "best_gap": best,
                    "self_consistent_gap": known.self_consistent_gap(sigma),
                    "leading_gap": leading,
                    "leading_stiffest": leading * known.stiffness.max(),
                    **dict(zip(SURE_QUARTILES, quartiles, strict=True)),
                    "gain": -known.excess(np.array([best]), sigma)[0],
                    **dict(zip(RISKS, risks, strict=True)),
                    "best_loss": known.losses(np.full(noise.shape[1], best), noise, sigma).mean(),
                    "sure_loss": known.losses(chosen, noise, sigma).mean(),
                }
                row = {"design": design, "knob": knob, "value": float(place[knob]), **place}
                rows.append(row | {name: float(number) for name, number in numbers.items()})
    return rows


def known_risk(setup: Setup, design: str, n: int, factor: float) -> tuple[KnownRisk, FloatArray]:
    """The risk on the first n rows of a design, and draws of unit noise along its modes.

    The bandwidth is ``factor`` times that of Kwok and Tsang.
    """
    # All inputs are drawn for every n, so that more rows contain the fewer ones.
    rng = np.random.default_rng(setup.seed_for(NAME, design))
    X, mu = simulated(design, round(max(ROWS) * setup.size.n_features), rng)
    n_members, width = setup.members(setup.size.width), setup.size.width
    gamma, seed = factor * kwok_tsang_gamma(X), setup.seed_for(NAME, design, "features")
    basis = FourierFeatures(n_members, width, gamma=gamma, random_state=seed).fit(X)
    draws = np.random.default_rng(setup.seed_for(NAME, design, "noise", n))
    noise = draws.normal(size=(n, setup.size.repeats))
    z = np.column_stack([basis.transform(X[:n]), mu[:n], noise])
    moments = FactorMoments.from_rows(z, np.ones(n), n_outputs=1 + setup.size.repeats)
    spectrum = factorise(moments, basis.block_starts_, fit_intercept=False, route="qr")
    stiffness = np.maximum(spectrum.n_members - spectrum.rho, 0.0) / spectrum.rho
    signal, noise = spectrum.kappa[:, 0], spectrum.kappa[:, 1:]
    return KnownRisk(stiffness, signal, float(spectrum.outside[0]), float(n)), noise


def plot(table: DataFrame) -> Figure:
    """One panel for each knob, one colour for each function, from the table alone."""
    noisy = table[table["sigma"] > 0]
    circles = {"ls": "", "marker": "o", "markerfacecolor": "white", "markersize": 4}
    dashes = {"ls": "--", "lw": 1.1}
    with style():
        figure = new_figure(8.6, 4.2)
        grid = figure.subplots(1, len(KNOBS), sharey=True)
        for axes, (knob, label) in zip(grid, KNOBS.items(), strict=True):
            for colour, (design, title) in zip(COLOURS, DESIGNS.items(), strict=False):
                part = noisy[(noisy["knob"] == knob) & (noisy["design"] == design)]
                x, low, high = part["value"], part["sure_gap_low"], part["sure_gap_high"]
                axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
                axes.plot(x, part["leading_gap"], color=colour, **dashes)
                axes.plot(x, part["best_gap"], color=colour, label=title)
                axes.plot(x, part["self_consistent_gap"], color=colour, **circles)
            others = [name for name in KNOBS if name != knob]
            centre = noisy.loc[noisy["knob"] == others[0], knob].iloc[0]
            axes.axvline(centre, color=GREY, ls=":", lw=1.0, zorder=0)
            axes.set(xscale="log", yscale="log", ylim=(1e-20, 3.0), xlabel=label)
            if knob != "sigma":
                ticks = sorted(set(noisy.loc[noisy["knob"] == knob, "value"]))
                axes.set_xticks(ticks, [f"{t:g}" if t >= 1 else f"1/{1 / t:g}" for t in ticks])
                axes.minorticks_off()
        grid[0].set_ylabel("gap 1 − λ")
        names = grid[0].get_legend_handles_labels()
        figure.legend(*names, loc="outside upper center", ncols=len(DESIGNS))
        kinds = {"found": {}, "self-consistent": circles, "leading order": dashes}
        kinds["SURE, quartiles"] = {"alpha": 0.2, "lw": 8}
        lines = [grid[0].plot([], [], color=GREY, **look)[0] for look in kinds.values()]
        figure.legend(lines, list(kinds), loc="outside lower center", ncols=len(kinds))
    return figure


def claims(table: DataFrame) -> list[Claim]:
    """Theorem 6, and how good the predictions are."""
    # The centre of the three sweeps is one case, not three.
    cases = table.drop_duplicates(["design", "sigma", "n", "gamma"])
    noisy, silent = cases[cases["sigma"] > 0], cases[cases["sigma"] == 0]
    below = (noisy["best_gap"] > 0) & (noisy["gain"] > 0)
    one = silent["best_gap"] == 0
    worse = noisy[noisy["knob"] != "sigma"]["risk_lam1"] / noisy["risk"]
    steps = np.abs(np.log10(noisy["best_gap"] / noisy["self_consistent_gap"])) * LATTICE_PER_DECADE
    cost = noisy["sure_loss"] / noisy["best_loss"]
    off = np.abs(np.log10(noisy["leading_gap"] / noisy["best_gap"]))
    gentle = noisy["leading_stiffest"] <= GENTLE
    failing = noisy[(off > np.log10(2.0)) & (noisy["knob"] == "sigma")]
    first = failing.groupby("design", sort=False)["sigma"].min()
    trends = []
    for knob, power, symbol, statement in (
        ("sigma", 2.0, "σ²", "The best gap grows with the noise."),
        ("n", -1.0, "1/n", "The best gap shrinks with the number of rows."),
    ):
        slopes, steady = [], []
        swept = table[(table["sigma"] > 0) & (table["knob"] == knob)]
        for design, part in swept.groupby("design", sort=False):
            x, y = power * np.log10(part["value"]), np.log10(part["best_gap"])
            steady.append(bool((np.diff(y) * np.sign(power) > 0).all()))
            slopes.append(f"{design} {np.polyfit(x, y, 1)[0]:.1f}")
        evidence = f"at every step on {sum(steady)} of {len(steady)} functions; slope of log gap on"
        evidence += f" log {symbol}: {', '.join(slopes)}"
        trends.append(Claim(statement, all(steady) and bool(steady), evidence))
    return [
        theorem(
            "The best λ is strictly below 1 whenever there is noise, and 1 when there is none.",
            bool(below.all() and one.all() and len(noisy) and len(silent)),
            f"{below.sum()} of {len(noisy)} cases with noise, {one.sum()} of {len(silent)} "
            f"without; with σ = {SIGMAS[-1]:.2f} the risk at λ = 1 is {worse.min():.2f} to "
            f"{worse.max():.1f} times the least",
        ),
        theorem(
            "The best gap solves g = (σ²/n) Σas³ / Σm²a²s³ (self-consistent: s = 1/(1 + ga)), to "
            "the resolution of the lattice.",
            (steps <= 1.0).all(),
            f"at most {steps.max():.2f} steps of a fiftieth of a decade apart",
        ),
        Claim(
            "The leading order g₁ = (σ²/n) Σa / Σm²a² is right within a factor of 2 while g₁a is "
            f"at most {GENTLE:g} in every mode.",
            (off[gentle] <= np.log10(2.0)).all() and gentle.any(),
            f"{gentle.sum()} of {len(noisy)} cases, off by {10 ** off[gentle].max():.2f} times or "
            f"less; elsewhere by up to 10^{off.max():.0f}: with more noise it fails"
            + ",".join(f" on {name} from σ = {sigma:.2g}" for name, sigma in first.items()),
        ),
        *trends,
        Claim(
            "With σ known, SURE's choice costs less than a tenth of the least risk.",
            (cost < 1.1).all(),
            f"mean error over that of the best gap: median of all cases {cost.median():.3f}, "
            f"worst {cost.max():.3f}",
        ),
    ]
