"""Slow, obvious oracles: the formulas of the paper, written as they are printed.

No oracle shares code with the package. Targets are always (n, outputs) and weights always
(n,); an intercept is fitted by centring features and target at their weighted means. The
last section only hands a problem to the package.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import mpmath
import numpy as np
from sklearn.base import clone

from negcorr.moments.moments import FactorMoments, GramMoments
from negcorr.spectrum.factorise import factorise

#: Eigenvalues below this fraction of the largest are zeros of a pseudo-inverse.
RCOND = 1e-13

#: Gaps at which fast answers are compared with literal ones.
GAPS = (1.0, 0.6, 0.1, 1e-3)

#: Ways from rows to a spectrum: form of the moments, and route.
ROUTES = ("gram moments", "factor moments, gram", "factor moments, qr")


# ---------------------------------------------------------------------------------------
# Problems
# ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Features of all members side by side, targets, frequencies and block borders."""

    features: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    starts: np.ndarray

    @property
    def n_members(self):
        return len(self.starts) - 1

    @property
    def blocks(self):
        return [slice(int(a), int(b)) for a, b in itertools.pairwise(self.starts)]

    def take(self, index):
        return replace(
            self, features=self.features[index], y=self.y[index], weight=self.weight[index]
        )


def make_problem(kind="tall", seed=0):
    """One of :data:`KINDS`: small data that a fast route could get wrong."""
    return _MAKERS[kind](np.random.default_rng([seed, sum(kind.encode())]))


def random_problem(rng, n, widths, outputs=1, weighted=False):
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
    q = int(starts[-1])
    # Members share part of their information, as members of a real ensemble do.
    common = rng.normal(size=(n, 3))
    features = rng.normal(size=(n, q)) + common @ rng.normal(size=(3, q)) + rng.normal(size=q)
    y = np.sin(common @ rng.normal(size=(3, outputs))) + 0.3 * rng.normal(size=(n, outputs)) + 2.0
    weight = rng.uniform(0.2, 3.0, size=n) if weighted else np.ones(n)
    return Problem(features, y, weight, starts)


def _tall(rng):
    return random_problem(rng, 40, [3, 3, 3, 3])


def _unequal_blocks(rng):
    return random_problem(rng, 40, [1, 4, 2, 5])


def _one_member(rng):
    return random_problem(rng, 25, [4])


def _wide(rng):
    return random_problem(rng, 14, [4, 4, 4, 4, 4])


def _weighted(rng):
    problem = random_problem(rng, 40, [3, 3, 3], weighted=True)
    weight = problem.weight.copy()
    weight[::9] = 0.0
    return replace(problem, weight=weight)


def _multi_output(rng):
    return random_problem(rng, 35, [3, 2, 4], outputs=3, weighted=True)


def _rank_deficient(rng):
    """Duplicate, constant, zero and linearly dependent columns inside blocks and across."""
    problem = random_problem(rng, 30, [4, 4, 4], weighted=True)
    features = problem.features.copy()
    features[:, 1] = features[:, 0]
    features[:, 2] = 3.0
    features[:, 5] = features[:, 4] - 2.0 * features[:, 6]
    features[:, 7] = 0.0
    features[:, 8] = features[:, 3]
    return replace(problem, features=features)


def _identical_blocks(rng):
    one = random_problem(rng, 25, [3])
    return replace(one, features=np.tile(one.features, 3), starts=np.array([0, 3, 6, 9]))


def _interpolating_blocks(rng):
    """Blocks with more columns than there are rows."""
    return random_problem(rng, 6, [9, 8])


_MAKERS = {
    "tall": _tall,
    "unequal blocks": _unequal_blocks,
    "one member": _one_member,
    "wide": _wide,
    "weighted": _weighted,
    "multi-output": _multi_output,
    "rank-deficient": _rank_deficient,
    "identical blocks": _identical_blocks,
    "interpolating blocks": _interpolating_blocks,
}

KINDS = tuple(_MAKERS)


# ---------------------------------------------------------------------------------------
# Theorems 4 and 5
# ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Literal:
    """A fit by Theorem 4 and all that follows from it by definition."""

    coef: np.ndarray  # (outputs, Q)
    intercept: np.ndarray  # (outputs,)
    dof: float
    smoothing: np.ndarray  # (n, n)
    problem: Problem
    fit_intercept: bool
    feature_mean: np.ndarray
    target_mean: np.ndarray

    def predict(self, features):
        """F, (n, outputs)."""
        return features @ self.coef.T + self.intercept

    def predict_members(self, features):
        """f_m, (M, n, outputs), with weights w_m = M β_m and intercepts ȳ − φ̄_mᵀw_m."""
        m = self.problem.n_members
        return np.stack(
            [
                self.target_mean + (features - self.feature_mean)[:, b] @ (m * self.coef[:, b].T)
                for b in self.problem.blocks
            ]
        )

    @property
    def fitted(self):
        return self.predict(self.problem.features)

    @property
    def train_error(self):
        return np.average((self.fitted - self.problem.y) ** 2, axis=0, weights=self.problem.weight)

    @property
    def member_error(self):
        errors = (self.predict_members(self.problem.features) - self.problem.y) ** 2
        return np.average(errors.mean(axis=0), axis=0, weights=self.problem.weight)

    @property
    def diversity(self):
        members = self.predict_members(self.problem.features)
        spread = ((members - members.mean(axis=0)) ** 2).mean(axis=0)
        return np.average(spread, axis=0, weights=self.problem.weight)

    @property
    def leverage(self):
        return np.diagonal(self.smoothing)


def centred(problem, fit_intercept=True):
    """Centred features and target, and the means removed."""
    if not fit_intercept:
        q, p = problem.features.shape[1], problem.y.shape[1]
        return problem.features, problem.y, np.zeros(q), np.zeros(p)
    mean = np.average(problem.features, axis=0, weights=problem.weight)
    target_mean = np.average(problem.y, axis=0, weights=problem.weight)
    return problem.features - mean, problem.y - target_mean, mean, target_mean


def gram_and_diagonal(problem, fit_intercept=True):
    """G = ΦᵀΦ/n and its block diagonal D."""
    phi = centred(problem, fit_intercept)[0]
    G = (phi * problem.weight[:, None]).T @ phi / problem.weight.sum()
    D = np.zeros_like(G)
    for b in problem.blocks:
        D[b, b] = G[b, b]
    return G, D


def pinv(matrix):
    return np.linalg.pinv(matrix, rcond=RCOND, hermitian=True)


def literal_fit(problem, gap, *, alpha=0.0, fit_intercept=True):
    """Theorem 4, Theorem 5 and Corollary 11 with a pseudo-inverse; ridge: D + αI for D."""
    phi, target, mean, target_mean = centred(problem, fit_intercept)
    n, m = problem.weight.sum(), problem.n_members
    G, D = gram_and_diagonal(problem, fit_intercept)
    c = phi.T @ (target * problem.weight[:, None]) / n
    inverse = pinv(m * gap * (D + alpha * np.eye(len(D))) + (1.0 - gap) * G)
    beta = inverse @ c
    smoothing = (phi @ inverse @ phi.T + fit_intercept) * problem.weight / n
    return Literal(
        coef=beta.T,
        intercept=target_mean - mean @ beta,
        dof=float(np.trace(G @ inverse)) + fit_intercept,
        smoothing=smoothing,
        problem=problem,
        fit_intercept=fit_intercept,
        feature_mean=mean,
        target_mean=target_mean,
    )


def literal_whitened_gram(problem, fit_intercept=True):
    """P = D^(−1/2) G D^(−1/2) of Lemma 13 and the ranks of the blocks."""
    G, D = gram_and_diagonal(problem, fit_intercept)
    root, ranks = np.zeros_like(D), []
    for b in problem.blocks:
        values, vectors = np.linalg.eigh(D[b, b])
        kept = values > RCOND * max(values.max(), 1e-300)
        ranks.append(int(kept.sum()))
        root[b, b] = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
    return root @ G @ root, ranks


def separate_member_fits(problem):
    """Every member's own weighted least squares with intercept: what λ = 0 means, (M, n, p)."""
    root = np.sqrt(problem.weight)[:, None]
    fits = []
    for b in problem.blocks:
        design = np.column_stack([np.ones(len(problem.y)), problem.features[:, b]])
        solution = np.linalg.lstsq(root * design, root * problem.y, rcond=1e-12)[0]
        fits.append(design @ solution)
    return np.stack(fits)


def tikhonov_fit(problem, gamma):
    """Minimiser of mean (G − y)² + γ Σ‖w_m‖² on whitened features (Theorem 7), no intercept.

    Solved as an ordinary least-squares problem of stacked rows.
    """
    n, m = len(problem.y), problem.n_members
    psi = []
    for b in problem.blocks:
        phi = problem.features[:, b]
        values, vectors = np.linalg.eigh(phi.T @ phi / n)
        psi.append(phi @ (vectors / np.sqrt(values)) @ vectors.T)
    design = np.hstack(psi) / m
    q = design.shape[1]
    stacked = np.vstack([design / np.sqrt(n), np.sqrt(gamma) * np.eye(q)])
    target = np.vstack([problem.y / np.sqrt(n), np.zeros((q, problem.y.shape[1]))])
    return design @ np.linalg.lstsq(stacked, target, rcond=None)[0]


def ncl_hessian(problem, lam):
    """Hessian of the averaged NCL loss of linear heads in the weights w (Appendix A)."""
    G, D = gram_and_diagonal(problem, fit_intercept=False)
    m = problem.n_members
    return 2.0 / m * ((1.0 - lam) * D + lam / m * G)


def gradient_descent(problem, lam, steps):
    """The NCL rule on linear heads, full batch, from zero; ensemble predictions (n, p)."""
    n, m = len(problem.y), problem.n_members
    heads = [np.zeros((b.stop - b.start, problem.y.shape[1])) for b in problem.blocks]
    rate = 1.0 / np.linalg.eigvalsh(ncl_hessian(problem, lam)).max()
    for _ in range(steps):
        members = [problem.features[:, b] @ w for b, w in zip(problem.blocks, heads, strict=True)]
        ensemble = sum(members) / m
        for k, b in enumerate(problem.blocks):
            signal = (members[k] - problem.y) - lam * (members[k] - ensemble)
            heads[k] = heads[k] - rate * 2.0 / m * problem.features[:, b].T @ signal / n
    members = [problem.features[:, b] @ w for b, w in zip(problem.blocks, heads, strict=True)]
    return sum(members) / m


# ---------------------------------------------------------------------------------------
# Held-out errors by refits
# ---------------------------------------------------------------------------------------


def refitted_kfold(problem, splits, gap, **settings):
    """Weighted mean squared error on the test rows of every split, (outputs,)."""
    errors, mass = np.zeros(problem.y.shape[1]), 0.0
    for train, test in splits:
        fit = literal_fit(problem.take(train), gap, **settings)
        squares = (problem.y[test] - fit.predict(problem.features[test])) ** 2
        errors += problem.weight[test] @ squares
        mass += problem.weight[test].sum()
    return errors / mass


def literal_quantile(values, weight, fraction):
    """Smallest value with at least this share of the weight up to it, averaged with its mirror."""
    half = []
    for sign, share in ((1.0, fraction), (-1.0, 1.0 - fraction)):
        at_least = [
            v for v in sign * values if weight[sign * values <= v].sum() >= share * weight.sum()
        ]
        half.append(sign * min(at_least))
    return sum(half) / 2


def literal_huber_targets(y, guess, weight, threshold):
    """Each target moved to within c·s of its prediction, and s; one output."""
    off = [abs(a - b) for a, b in zip(y, guess, strict=True)]
    s = 1.4826 * literal_quantile(np.array(off), weight, 0.5)
    return np.array(
        [max(b - threshold * s, min(b + threshold * s, a)) for a, b in zip(y, guess, strict=True)]
    ), s


def literal_huber(residuals, weight, delta):
    """Mean of twice Huber's loss."""
    losses = [r**2 if abs(r) <= delta else 2 * delta * abs(r) - delta**2 for r in residuals]
    return np.average(losses, weights=weight)


def literal_huber_passes(problem, splits, gap, threshold, passes, **settings):
    """Targets after so many passes of refits on folds, from clipped ones, at a given gap.

    A pass that does not lower the loss is taken back, and is the last.
    """

    def refitted_without_fold(targets):
        guess = np.empty(len(targets))
        for train, test in splits:
            part = replace(problem, y=targets[:, np.newaxis]).take(train)
            fit = literal_fit(part, gap, **settings)
            guess[test] = fit.predict(problem.features[test])[:, 0]
        return guess

    columns = []
    for y in problem.y.T:
        first, third = (literal_quantile(y, problem.weight, f) for f in (0.25, 0.75))
        reach = 3 * (third - first)
        targets = np.array([max(first - reach, min(third + reach, v)) for v in y])
        guess = refitted_without_fold(targets)
        for _ in range(passes):
            moved, s = literal_huber_targets(y, guess, problem.weight, threshold)
            other = refitted_without_fold(moved)
            before, after = (
                literal_huber(y - g, problem.weight, threshold * s) for g in (guess, other)
            )
            if after >= before:
                break
            targets, guess = moved, other
        columns.append(targets)
    return np.column_stack(columns)


def without_one(problem, i):
    """The problem after one observation of row i has left: of a weight above 1, one copy."""
    weight = problem.weight.copy()
    weight[i] -= min(weight[i], 1.0)
    return replace(problem, weight=weight)


def refitted_loo(problem, gap, **settings):
    """y_i − F₋ᵢ(x_i) by n refits, (n, outputs)."""
    residuals = np.empty_like(problem.y)
    for i in range(len(problem.y)):
        fit = literal_fit(without_one(problem, i), gap, **settings)
        residuals[i] = problem.y[i] - fit.predict(problem.features[[i]])[0]
    return residuals


def held_whitening_loo(problem, gap, *, alpha=0.0):
    """y_i − F₋ᵢ(x_i) by n refits in which D stays that of all rows, and so does n, (n, outputs).

    A row is left out with all of its weight.
    """
    n, m = problem.weight.sum(), problem.n_members
    D = gram_and_diagonal(problem)[1]
    residuals = np.empty_like(problem.y)
    for i in range(len(problem.y)):
        rest = replace(problem, weight=np.where(np.arange(len(problem.y)) == i, 0, problem.weight))
        phi, target, mean, target_mean = centred(rest)
        G = (phi * rest.weight[:, None]).T @ phi / n
        c = phi.T @ (target * rest.weight[:, None]) / n
        beta = pinv(m * gap * (D + alpha * np.eye(len(D))) + (1.0 - gap) * G) @ c
        residuals[i] = problem.y[i] - target_mean - (problem.features[i] - mean) @ beta
    return residuals


# ---------------------------------------------------------------------------------------
# Columns, one value at a time
# ---------------------------------------------------------------------------------------


def literal_standard(column, new, weight):
    """(x − mean)/std, of a constant column zero."""
    mean = np.average(column, weights=weight)
    spread = np.sqrt(np.average((column - mean) ** 2, weights=weight))
    return (new - mean) / (spread if np.ptp(column) > 0 else 1.0)


def literal_clip(column, new, weight):
    """z/√(1 + (z/3)²) of that."""
    z = literal_standard(column, new, weight)
    return z / np.sqrt(1.0 + (z / 3.0) ** 2)


def literal_rank(column, new, weight):
    """Share of rows below and half of those equal, linear in between, standardised."""
    known = sorted(set(column))
    share = {
        v: (weight[column < v].sum() + 0.5 * weight[column == v].sum()) / weight.sum()
        for v in known
    }

    def of(v):
        if v <= known[0] or v >= known[-1]:
            return share[known[0] if v <= known[0] else known[-1]]
        right = next(k for k, value in enumerate(known) if value >= v)
        a, b = known[right - 1], known[right]
        return share[a] + (share[b] - share[a]) * (v - a) / (b - a)

    ranks = np.array([of(v) for v in column])
    return literal_standard(ranks, np.array([of(v) for v in new]), weight)


# ---------------------------------------------------------------------------------------
# Fifty digits
# ---------------------------------------------------------------------------------------


def exact_fit(problem, gaps, *, fit_intercept=True, digits=50):
    """Theorems 4 and 5 in many digits: fitted values (gaps, n, outputs) and dof (gaps,).

    The features are taken as the exact numbers that the floats are. ``gaps`` are floats.
    """
    with mpmath.workdps(digits):
        weight = [mpmath.mpf(float(w)) for w in problem.weight]
        mass = mpmath.fsum(weight)
        phi = _centred_columns(problem.features, weight, mass, fit_intercept)
        targets = _centred_columns(problem.y, weight, mass, fit_intercept)
        q, n, m = len(phi), len(weight), problem.n_members
        weighted = [[w * v for w, v in zip(weight, column, strict=True)] for column in phi]
        G = mpmath.matrix(q, q)
        for i in range(q):
            for j in range(i, q):
                G[i, j] = G[j, i] = mpmath.fdot(weighted[i], phi[j]) / mass
        c = mpmath.matrix(q, len(targets))
        for i in range(q):
            for j, target in enumerate(targets):
                c[i, j] = mpmath.fdot(weighted[i], target) / mass
        member = np.repeat(np.arange(m), np.diff(problem.starts))
        fitted, dof = np.empty((len(gaps), n, len(targets))), np.empty(len(gaps))
        means = [
            mpmath.fdot(weight, [mpmath.mpf(float(v)) for v in column]) / mass * fit_intercept
            for column in problem.y.T
        ]
        for k, gap in enumerate(gaps):
            g = mpmath.mpf(float(gap))
            A = (1 - g) * G
            for i in range(q):
                for j in range(q):
                    if member[i] == member[j]:
                        A[i, j] += m * g * G[i, j]
            inverse = mpmath.inverse(A)
            beta = inverse * c
            trace = mpmath.fsum(G[i, j] * inverse[j, i] for i in range(q) for j in range(q))
            dof[k] = float(trace + fit_intercept)
            for j in range(len(targets)):
                for row in range(n):
                    value = mpmath.fsum(beta[i, j] * phi[i][row] for i in range(q))
                    fitted[k, row, j] = float(value + means[j])
        return fitted, dof


def _centred_columns(matrix, weight, mass, fit_intercept):
    columns = []
    for column in matrix.T:
        exact = [mpmath.mpf(float(v)) for v in column]
        mean = mpmath.fdot(weight, exact) / mass if fit_intercept else mpmath.mpf(0)
        columns.append([v - mean for v in exact])
    return columns


def one_ulp(array, rng):
    """The array with every entry moved by one unit in the last place, up or down."""
    direction = np.where(rng.random(array.shape) < 0.5, -np.inf, np.inf)
    return np.nextafter(array, direction)


# ---------------------------------------------------------------------------------------
# The package on such problems
# ---------------------------------------------------------------------------------------


def moments_of(problem, form=FactorMoments):
    z = np.hstack([problem.features, problem.y])
    return form.from_rows(z, problem.weight, problem.y.shape[1])


def spectrum_of(problem, route="factor moments, qr", **settings):
    form = GramMoments if route == "gram moments" else FactorMoments
    return factorise(
        moments_of(problem, form), problem.starts, route=route.split(", ")[-1], **settings
    )


def fitted_by(spectrum, features, gap):
    coef = spectrum.coef(gap=gap)
    return features @ coef.T + spectrum.intercept(coef)


# ---------------------------------------------------------------------------------------
# Fits that are linear in y
# ---------------------------------------------------------------------------------------


def refitted(estimator, X, y, sample_weight=None):
    """A fitted clone; weights are handed over only where there are some."""
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    return clone(estimator).fit(X, y, **weights)


def jacobian_trace(estimator, X, y, sample_weight=None):
    """Σ ∂F(x_i)/∂y_i by a refit for each row, its targets larger by 1, (outputs,).

    For a fit that is linear in y no step is too long, so only rounding is left.
    """
    y = np.asarray(y, dtype=float)
    before = refitted(estimator, X, y, sample_weight).predict(X).reshape(len(y), -1)
    total = np.zeros(before.shape[1])
    for i in range(len(y)):
        moved = y.copy()
        moved[i] += 1.0
        after = refitted(estimator, X, moved, sample_weight).predict(X).reshape(len(y), -1)
        total += after[i] - before[i]
    return total


def jacobian(estimator, X, y, rows, sample_weight=None):
    """∂F(row)/∂y_i of every output by a refit for each training row, (outputs, rows, n)."""
    y = np.asarray(y, dtype=float)
    before = refitted(estimator, X, y, sample_weight).predict(rows)
    found = np.empty((y[:1].size, len(before), len(y)))
    for i in range(len(y)):
        moved = y.copy()
        moved[i] += 1.0
        after = refitted(estimator, X, moved, sample_weight).predict(rows)
        found[:, :, i] = (after - before).reshape(len(before), -1).T
    return found


def literal_random_x(estimator, X, y, X_new, weight=None, weight_new=None):
    """Luan, Lee and Zhu (2022): tr H, E‖h*‖² − tr(HᵀH)/n, and tr H + n/2 times that.

    A row of weight w is w rows, each with a share 1/w of its weight h: ‖h‖² is Σ h²/w.
    """
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    w_new = np.ones(len(X_new)) if weight_new is None else np.asarray(weight_new, dtype=float)
    used, n = w > 0, w.sum()
    trace, excess = [], []
    at_training = jacobian(estimator, X, y, X, weight)
    at_new = jacobian(estimator, X, y, X_new, weight)
    for H, H_new in zip(at_training, at_new, strict=True):
        squares = [sum(h[used] ** 2 / w[used]) for h in H]
        squares_new = [sum(h[used] ** 2 / w[used]) for h in H_new]
        trace.append(sum(H[i, i] for i in range(len(y))))
        excess.append(w_new @ squares_new / w_new.sum() - w @ squares / n)
    trace, excess = np.array(trace), np.array(excess)
    return trace, excess, trace + n / 2.0 * excess


# ---------------------------------------------------------------------------------------
# Fits that are not linear in y, and their response to it
# ---------------------------------------------------------------------------------------


def adaptive_kernel_ridge(X, y):
    """Fitted values of kernel ridge whose bandwidth follows y, smoothly.

    Nothing but analytic functions of y, so that y may be complex.
    """
    gamma = 0.5 + 0.4 * np.sin(y @ np.linspace(-1.0, 1.0, len(y)))
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernel = np.exp(-gamma * squares)
    return kernel @ np.linalg.solve(kernel + 0.3 * np.eye(len(y)), y)


def directional_derivative(fit_predict, X, y, direction):
    """J b by a complex step: no difference is taken, so only rounding is left."""
    return fit_predict(X, y + 1e-30j * direction).imag / 1e-30


def complex_step_trace(fit_predict, X, y):
    """Σ ∂μ_i/∂y_i of an analytic fit, one unit direction after the other."""
    units = np.eye(len(y))
    return sum(directional_derivative(fit_predict, X, y, e) @ e for e in units)


def unit_step_trace(fit_predict, X, y, eps):
    """Σ ∂μ_i/∂y_i by central differences along unit directions."""
    total = 0.0
    for e in np.eye(len(y)):
        total += e @ (fit_predict(X, y + eps * e) - fit_predict(X, y - eps * e)) / (2.0 * eps)
    return total


def algorithm_1(fit_predict, X, y, b, eps):
    """Algorithm 1 as printed: bᵀ(μ̂(y + ε b) − μ̂(y))/ε."""
    return b @ (fit_predict(X, y + eps * b) - fit_predict(X, y)) / eps


def smoothing_matrix(kind, n=100, seed=0):
    """A square S whose large modes are few: what a linear fit does to y, (n, n)."""
    rng = np.random.default_rng(seed)
    if kind == "symmetric":
        basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
        return (basis / (1.0 + 0.01 * np.arange(1, n + 1) ** 2)) @ basis.T
    if kind == "low rank":
        return rng.normal(size=(n, 5)) @ rng.normal(size=(5, n)) / np.sqrt(n)
    rows = rng.normal(size=(n, 2))
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    if kind == "neighbours":
        S = np.zeros((n, n))
        np.put_along_axis(S, np.argsort(squares, axis=1)[:, :8], 1.0 / 8.0, axis=1)
        return S
    assert kind == "local means"
    S = np.exp(-2.0 * squares)
    return S / S.sum(axis=1, keepdims=True)


def all_signs(n):
    """Every vector of ±1, (2ⁿ, n)."""
    return np.array(list(itertools.product([-1.0, 1.0], repeat=n)))


def nested_coef(features, y, outer, nesting, gap, alpha):
    """β and the centred hat matrix of an ensemble of ensembles, by its normal equations.

    Member k pays β_kᵀ A_k β_k, A_k = M_k g_k (D_k + αI) + (1 − g_k) G_k, and the whole solves
    (K·gap·A + (1 − gap)·G) β = c.
    """
    centred = features - features.mean(axis=0)
    gram = centred.T @ centred / len(y)
    cost = np.zeros_like(gram)
    for k, (a, b) in enumerate(itertools.pairwise(outer)):
        small = [s for s in itertools.pairwise(nesting.starts) if a <= s[0] < b]
        inner = np.zeros((b - a, b - a))
        for c, d in small:
            part = slice(c - a, d - a)
            inner[part, part] = gram[c:d, c:d] + alpha * np.eye(d - c)
        g = nesting.gaps[k]
        cost[a:b, a:b] = len(small) * g * inner + (1.0 - g) * gram[a:b, a:b]
    system = (len(outer) - 1) * gap * cost + (1.0 - gap) * gram
    solver = np.linalg.solve(system, centred.T / len(y))
    return solver @ (y - y.mean(axis=0)), centred @ solver


def subspace_kernel(kernel, X, Z, gamma, share):
    """Mean kernel over all 2^d subspaces, each as likely as coins of probability ``share`` say."""
    total = np.zeros((len(X), len(Z)))
    for seen in itertools.product((False, True), repeat=X.shape[1]):
        chance = np.prod([share if each else 1.0 - share for each in seen])
        difference = (X[:, np.newaxis] - Z)[..., np.array(seen)]
        total += chance * {
            "rbf": lambda d: np.exp(-gamma / share * (d**2).sum(axis=2)),
            "laplacian": lambda d: np.exp(-gamma / share * np.abs(d).sum(axis=2)),
            "cauchy": lambda d: np.prod(1.0 / (1.0 + gamma / share * d**2), axis=2),
        }[kernel](difference)
    return total


def kernel_loo(kernel, target, weight, ridge):
    """Squared residuals of kernel ridge regression with an intercept, refitted row by row.

    Duals a and intercept b solve (K + ridge/W) a + b = y and Σ a = 0.
    """
    losses = np.empty(len(target))
    for i in range(len(target)):
        left = np.arange(len(target)) != i
        n = int(left.sum())
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = kernel[np.ix_(left, left)] + np.diag(ridge / weight[left])
        system[n, n] = 0.0
        solved = np.linalg.solve(system, np.vstack([target[left], np.zeros((1, target.shape[1]))]))
        losses[i] = np.mean((target[i] - kernel[i, left] @ solved[:n] - solved[n]) ** 2)
    return losses


def span_loo(values, between, target, weight, ridge):
    """Squared residuals of kernel ridge regression in the span of landmarks, refitted row by row.

    Weights a of the landmarks and b minimise Σ w (y − k a − b)² + ridge·aᵀKa: normal equations.
    """
    losses = np.empty(len(values))
    ones = np.ones((len(values), 1))
    rows = np.hstack([values, ones])
    penalty = np.zeros((rows.shape[1], rows.shape[1]))
    penalty[:-1, :-1] = ridge * between
    for i in range(len(values)):
        left = np.arange(len(values)) != i
        mine, w = rows[left], weight[left, np.newaxis]
        solved = np.linalg.solve(mine.T @ (w * mine) + penalty, mine.T @ (w * target[left]))
        losses[i] = np.mean((target[i] - rows[i] @ solved) ** 2)
    return losses
