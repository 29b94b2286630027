"""Random problems and settings of an estimator: a fit keeps its promises, warns or refuses.

Each fit is checked by itself and by a literal solution, and by three of these, drawn at random: the
order of rows, weights and repeated rows, units of y, a shift of y, pickle, save and load, rows
predicted alone, threads, products or QR, chunks, a second fit, another λ without a refit, single
precision.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from hostile.attempts import Attempt, attempt
from hostile.invariances import INVARIANCES
from hostile.literal import check_against_literal
from hostile.outcome import Outcome
from hostile.random_problems import Problem, random_problem

CASES = 15_000
SECONDS = 120.0
MEMORY = 6 * 2**30

SEED = 20

#: Invariances that are tried in each case.
TRIED = 3

#: Numbers of the fit are compared to this share of the target's spread.
TOLERANCE = 1e-6


def run(number: int, folder: Path) -> Outcome:
    """One problem."""
    rng = np.random.default_rng([SEED, number])
    problem = random_problem(rng)
    fit = attempt(problem.fitted)
    if fit.refusal:
        return Outcome(problem.kind, "refused", fit.faults)
    if fit.value is None:
        return Outcome(problem.kind, "answered", fit.faults)
    itself = attempt(lambda: own_faults(problem, fit))
    faults = [*fit.faults, *itself.faults, *(itself.value or ())]
    fit.warned |= itself.warned
    possible = [each for each in INVARIANCES if each.applies(problem)]
    for each in rng.choice(np.array(possible, dtype=object), size=TRIED, replace=False):
        seed = int(rng.integers(2**32))
        given = problem, fit, np.random.default_rng(seed), folder
        found = attempt(partial(each.faults, *given))
        words = [*found.faults, *(found.value or ())]
        faults += [f"{each.name}: {fault}" for fault in words]
        if found.refusal:
            faults.append(f"{each.name}: refused: {found.refusal}")
    return Outcome(problem.kind, "warned" if fit.warned else "answered", tuple(faults))


def own_faults(problem: Problem, fit: Attempt) -> list[str]:
    """What is wrong with a fit by itself, on its training rows."""
    model, faults = fit.value, []
    X, y = problem.X[problem.of_weight], problem.y[problem.of_weight]
    found = model.predict(X)
    dof = model.dof_
    if not (np.isfinite(found).all() and np.isfinite(dof).all()):
        return ["predictions or degrees of freedom are not finite"]
    if fit.warned:
        return []
    rows = len(np.unique(X, axis=0))
    if np.min(dof) < -1e-8 or np.max(dof) > rows * (1 + 1e-8):
        faults.append(f"dof {np.max(dof):.9g} where there are {rows} distinct rows")
    scale = problem.scale
    members = model.predict_members(X)
    # The mean of large numbers is known to their rounding.
    rounding = 8 * np.finfo(members.dtype).eps * np.max(np.abs(members), initial=0.0)
    off = np.max(np.abs(members.mean(axis=0) - found) / (TOLERANCE * scale + rounding))
    if off > 1:
        faults.append(f"the members' mean is off by {off:.2g} times what is allowed")
    target = y if model.targets_ is None else model.targets_[problem.of_weight]
    rounding, found = problem.rounding(found) / scale, found.astype(np.float64)
    weight = None if problem.weight is None else problem.weight[problem.of_weight]
    unit = ((target - found) / scale).reshape(len(y), -1)
    seen = np.sqrt(np.average(unit**2, axis=0, weights=weight))
    claimed = np.sqrt(np.atleast_1d(model.path_.train_error())) / scale
    if np.max(np.abs(seen - claimed) - rounding) > TOLERANCE:
        faults.append(
            f"the root mean squared residual is {np.max(seen):.6g} of the spread, the path says "
            f"{np.max(claimed):.6g}"
        )
    return [*faults, *check_against_literal(problem, model, TOLERANCE)]
