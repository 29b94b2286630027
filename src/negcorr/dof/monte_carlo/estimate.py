r"""Degrees of freedom of any regressor by Monte Carlo (Algorithm 1, Theorem 8).

For random directions b with independent entries of mean 0 and variance 1,
:math:`\mathrm{df} = \lim_{\epsilon\to0} \mathbb{E}[b^\top(\hat\mu(y + \epsilon b) -
\hat\mu(y))]/\epsilon`: the fit is repeated on perturbed targets. No other
property of the fit is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from negcorr._common.progress import progress_bar
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_positive_int, is_number
from negcorr.dof.monte_carlo.precision import Limits, columns, deflate, is_linear, probe_until
from negcorr.dof.monte_carlo.probing import KEPT_DIRECTIONS, Probes, ProbeSource, measured
from negcorr.dof.monte_carlo.refits import Refit
from negcorr.dof.monte_carlo.responses import ResponseMeter
from negcorr.dof.monte_carlo.result import MonteCarloDof
from negcorr.dof.monte_carlo.step_size import SECOND_STEP, StepCheck, check_steps, choose_step
from negcorr.exceptions import (
    NoResponseWarning,
    ProbeError,
    ProbeLimitWarning,
    StepSizeWarning,
    warn_caller,
)

__all__ = ["check_options", "monte_carlo_dof"]

PROBES = ("rademacher", "gaussian")
SCHEMES = ("central", "forward")

#: Probes before the first check of the precision, for ``target_std_error``.
FIRST_LOOK = 16


def monte_carlo_dof(
    estimator: Any,
    X: Table,
    y: Any,
    *,
    eps: Any = "auto",
    n_probes: int = 8,
    probe: Literal["rademacher", "gaussian"] = "rademacher",
    scheme: Literal["central", "forward"] = "central",
    target_std_error: float | None = None,
    max_fits: int = 1000,
    linear: bool | Literal["auto"] = "auto",
    seeding: Literal["per-probe", "shared", "none"] = "per-probe",
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Any = False,
) -> MonteCarloDof:
    r"""Degrees of freedom of any regressor, from refits on perturbed targets.

    Estimates :math:`\mathrm{df} = \sum_n \partial\hat\mu(x_n)/\partial y_n` (Definition 1), how
    much the fitted values change with the targets. For least squares it is the number of
    parameters; it has the same meaning for a forest, a boosted model or a search over models.

    Parameters
    ----------
    estimator : regressor or callable
        Any scikit-learn regressor, pipeline or search object; it is cloned, never changed. Or
        ``fit_predict(X, y)`` that returns the fitted values.
    X : table of shape (n, d)
        Training inputs, in any form that the estimator takes.
    y : array-like of shape (n,) or (n, outputs)
        Training targets. All outputs are perturbed at once, each by its own probe.
    eps : "auto", float or array-like of shape (outputs,), default="auto"
        Step by which the targets are moved, in their units. "auto" is :math:`2\sigma/n^{0.3}`
        with σ from differences of neighbours (from the spread of y where X is not a table of
        numbers), and repeats up to four probes with half of it: where their means or their
        single values differ by more than the spread between probes explains, a
        :class:`~negcorr.exceptions.StepSizeWarning` says so.
    n_probes : int, default=8
        Random directions.
    probe : {"rademacher", "gaussian"}, default="rademacher"
        Entries ±1, with the smaller variance, or Gaussian as in the paper.
    scheme : {"central", "forward"}, default="central"
        Two fits a probe with an error of order ε², or one and the fit to the targets as given
        (shared by all probes, if they share their seeds) with an error of order ε.
    target_std_error : float, optional
        Add probes until the standard error is this small, for all outputs. This makes the
        estimate a little too low where the wanted error is not small compared with dof.
    max_fits : int, default=1000
        Limit on fits for ``target_std_error``; a
        :class:`~negcorr.exceptions.ProbeLimitWarning` says that this limit was reached.
    linear : "auto" or bool, default="auto"
        Whether the fit is linear in y. With True one fit a probe is enough; it is tested only
        where deflation needs it. With ``target_std_error`` and one output, the largest modes of
        a linear fit (declared, or found by two more fits) are measured exactly, which can save
        most of the fits. A fit whose random numbers matter and change between probes never
        counts as linear.
    seeding : {"per-probe", "shared", "none"}, default="per-probe"
        Common random numbers. Every unset ``random_state``, at any depth, gets the same value
        in all fits of a probe, so that their difference is the response to y and not to the
        seed. "per-probe" draws new ones for every probe and so averages over them, "shared"
        keeps one for all; "none" leaves the estimator as it is.
    sample_weight : array-like of shape (n,), optional
        Frequencies, handed to ``fit`` (of the last step, for a pipeline).
    random_state : int, RandomState or None, default=None
        Seed of the probes, and of the seeds handed out.
    n_jobs : int, optional
        Fits at a time, through joblib and so on whichever backend is active.
    progress : bool or callback, default=False
        Show a progress bar: scikit-learn's, which needs rich, or that of tqdm.

    Returns
    -------
    MonteCarloDof
        ``dof``, ``std_error``, ``values`` per probe, ``eps``, ``n_fits`` and more. With few
        probes intervals follow Student's t: for eight, ± 2.4 standard errors cover 95 %.

    Raises
    ------
    ProbeError
        When a fit fails. It names the probe, and its ``partial`` holds the estimate from those
        that had succeeded. Where the fit to y itself fails too, its own error is raised.

    Notes
    -----
    ``probe="gaussian", scheme="forward", n_probes=1`` and a number for ``eps`` is Algorithm 1
    of the paper, after Ramani, Blu and Unser (2008).

    Fits that jump, trees above all, have no derivative; the value is that of the fit averaged
    over perturbations of size ε, which is Ye's (1998) generalised degrees of freedom. Random
    numbers that do not come from a ``random_state`` cannot be held fixed. Folds by content of an
    :class:`~negcorr.NCLRegressor` depend on x alone here.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> from negcorr import monte_carlo_dof
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = monte_carlo_dof(LinearRegression(), X, y, n_probes=50, random_state=0)
    >>> print(f"{result.dof:.1f} ± {result.std_error:.1f} (10 columns and an intercept)")
    11.1 ± 0.7 (10 columns and an intercept)
    """
    check_options(n_probes, probe, scheme, target_std_error, max_fits, linear)
    refit = Refit.of(estimator, X, y, sample_weight, seeding)
    declared = None if isinstance(linear, str) else bool(linear)
    step = choose_step(eps, refit)
    streams = np.random.SeedSequence(check_random_state(random_state).randint(2**31)).spawn(2)
    per_probe = seeding == "per-probe" and refit.has_free_seeds
    directions, seeds = (np.random.default_rng(stream) for stream in streams)
    source = ProbeSource(refit, probe, per_probe, directions, seeds)
    meter = ResponseMeter(refit, step, "forward" if declared else scheme, n_jobs)
    limits = None if target_std_error is None else Limits(float(target_std_error), max_fits)
    may_deflate = limits is not None and declared is not False and refit.y.shape[1] == 1
    run = _Run(
        meter=meter,
        source=source,
        n_probes=n_probes if limits is None else max(n_probes, FIRST_LOOK),
        limits=limits,
        may_deflate=may_deflate and not (seeding == "none" and refit.draws_numbers),
        checks_step=isinstance(eps, str) and not declared,
        scheme=meter.scheme,
        probes=source.no_probes(keeps_derivatives=False),
        linear=declared,
    )
    with progress_bar(progress, run.expected_fits(), "Monte-Carlo dof") as advance:
        meter.advance = advance
        try:
            run.measure()
        except ProbeError as error:
            if run.probes.values:
                error.partial = run.result()
            raise
    result = run.result()
    run.warn_about(result)
    return result


@dataclass
class _Run:
    """One estimate: its settings, and what has been measured so far.

    ``linear`` is None where it is neither declared nor tested.
    """

    meter: ResponseMeter
    source: ProbeSource
    n_probes: int
    limits: Limits | None
    may_deflate: bool
    checks_step: bool
    scheme: Literal["central", "forward"]
    probes: Probes
    linear: bool | None
    n_deflated: int = 0
    step_check: StepCheck | None = None

    @property
    def gains_from_one_seed(self) -> bool:
        """Whether fits are saved if all probes share their seed."""
        return self.may_deflate or (self.scheme == "forward" and self.n_probes > 2)

    def expected_fits(self) -> int | None:
        """Number of fits, None where it cannot be known beforehand."""
        per_probe = self.source.per_probe
        if self.limits is not None or (per_probe and self.gains_from_one_seed):
            return None
        checked = min(KEPT_DIRECTIONS, self.n_probes) if self.checks_step else 0
        if self.scheme == "central":
            return 2 * (self.n_probes + checked)
        return self.n_probes + checked + (self.n_probes if per_probe else 1)

    def measure(self) -> None:
        """Take all probes, check the step, and add what the wanted standard error needs."""
        meter, source, limits = self.meter, self.source, self.limits
        if source.per_probe and self.gains_from_one_seed:
            # One seed is enough if two seeds give the same fit, as with many unset random states.
            both = source.shared_seed, source.shared_seed + 1
            first, second = meter.fit_as_given(both)
            source.per_probe = not np.array_equal(first, second)
            source.ready = list(both)
        deflates = self.may_deflate and not source.per_probe
        self.probes = source.no_probes(keeps_derivatives=deflates)
        self.probes.extend(meter, source, self.n_probes)
        if self.checks_step:
            self.check_step()
        if limits is None or limits.reached(self.probes):
            return
        if deflates and self.linear is None:
            self.linear = is_linear(*columns(self.probes), meter, source.shared_seed)
        if deflates and self.linear:
            deflated = deflate(self.probes.copied(), meter, source, limits)
            if deflated is not None:
                self.probes, deflation = deflated
                self.n_deflated = deflation.directions.shape[1]
                return
            self.linear = False
        # Tests of linearity are made with one-sided differences.
        meter.scheme = self.scheme
        probe_until(self.probes, meter, source, limits)

    def check_step(self) -> None:
        """Repeat the first few probes with a second step."""
        probes, refit = self.probes, self.meter.refit
        repeated = measured(self.meter, probes.directions[:KEPT_DIRECTIONS], 0, SECOND_STEP)
        check = check_steps(
            np.array(probes.values),
            np.array([response.along(direction.vector) for direction, response in repeated]),
            probes.mean_and_error()[1],
            np.mean(probes.rounding, axis=0),
            SECOND_STEP * self.meter.eps,
        )
        per_output = ("eps", "dof", "difference", "std_error")
        shaped: dict[str, Any] = {n: refit.in_shape_of_y(getattr(check, n)) for n in per_output}
        self.step_check = replace(check, **shaped)

    def result(self) -> MonteCarloDof:
        """The estimate from the probes so far."""
        meter, source = self.meter, self.source
        mean, error = self.probes.mean_and_error()
        fitted = None if source.per_probe else meter.given.get(source.shared_seed)
        shaped = meter.refit.in_shape_of_y
        return MonteCarloDof(
            dof=shaped(mean),
            std_error=shaped(error),
            values=shaped(np.array(self.probes.values)),
            eps=shaped(meter.eps),
            n_fits=meter.n_fits,
            n_samples=len(meter.refit.y),
            probe=source.kind,
            scheme=self.scheme,
            linear=self.linear,
            n_deflated=self.n_deflated,
            step_check=self.step_check,
            fitted=None if fitted is None else shaped(fitted.astype(np.float64)),
        )

    def warn_about(self, result: MonteCarloDof) -> None:
        """Warn if no fitted value changed, the step matters, or the precision was not reached."""
        if not self.probes.moved:
            warn_caller(
                f"fitted values did not move with y in any of {len(result.values)} probes, so dof "
                f"is 0: the estimator ignores y, or eps={_short(result.eps)} is too small for it.",
                NoResponseWarning,
            )
        check = result.step_check
        if check is not None and not check.agree:
            first = np.asarray(check.dof) + np.asarray(check.difference)
            warn_caller(
                f"the step matters: the same {check.n_probes} probes give dof {_short(first)} with "
                f"eps={_short(result.eps)} and {_short(check.dof)} with eps={_short(check.eps)}, "
                "and single probes differ as much. The fit has jumps or kinks as y moves, as trees "
                "do; the value is that of the fit smoothed over eps. Give an eps between half the "
                "noise's standard deviation and all of it, and more probes.",
                StepSizeWarning,
            )
        limits = self.limits
        if limits is not None and not limits.reached(self.probes):
            warn_caller(
                f"std_error is {_short(result.std_error)} after {result.n_fits} fits, above "
                f"target_std_error={limits.std_error}; raise max_fits={limits.max_fits}.",
                ProbeLimitWarning,
            )


def _short(value: float | FloatArray) -> str:
    return np.array2string(np.asarray(value), precision=4)


def check_options(
    n_probes: Any,
    probe: Any,
    scheme: Any,
    target_std_error: Any = None,
    max_fits: Any = 1000,
    linear: Any = "auto",
) -> None:
    """Raise unless these options of :func:`monte_carlo_dof` are known and fit together."""
    check_positive_int("n_probes", n_probes)
    for name, value, allowed in (("probe", probe, PROBES), ("scheme", scheme, SCHEMES)):
        if value not in allowed:
            raise ValueError(f"{name}={value!r} is unknown; allowed are {allowed}.")
    check_positive_int("max_fits", max_fits)
    if not (isinstance(linear, (bool, np.bool_)) or (isinstance(linear, str) and linear == "auto")):
        raise ValueError(f"linear={linear!r} is unknown; allowed are 'auto', True and False.")
    if target_std_error is None:
        return
    named = f"target_std_error={target_std_error!r}"
    if not is_number(target_std_error):
        raise TypeError(f"{named} must be a number greater than 0, or None.")
    if not 0.0 < float(target_std_error) < np.inf:
        raise ValueError(f"{named} must be greater than 0 and finite.")
    # The probes, the second step, two fits each for seeds and linearity.
    first_look = 2 * max(int(n_probes), FIRST_LOOK) + 2 * KEPT_DIRECTIONS + 4
    if first_look > max_fits:
        raise ValueError(
            f"max_fits={max_fits!r} leaves no room beyond the first look, which takes up to "
            f"{first_look} fits."
        )
