"""DofDisplay: exact degrees of freedom against λ, beside Monte Carlo and other models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray, Table
from negcorr.diversity.inner_model import inner_model
from negcorr.dof.degrees import degrees_of_freedom
from negcorr.dof.monte_carlo.estimate import monte_carlo_dof
from negcorr.path.curve_view import evenly, positions
from negcorr.path.path import NCLPath
from negcorr.plots.colours import COLOURS
from negcorr.plots.drawing import axes_for, curve, gap_axis, legend, require_matplotlib
from negcorr.plots.models import output_and_gaps, path_of, sorted_gaps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["DofDisplay"]

#: Number of Monte-Carlo estimates by default.
ESTIMATES = 4

_DASHES = ("--", "-.", ":", (0, (5, 1)), (0, (1, 1)))


@dataclass(kw_only=True, eq=False, repr=False)
class DofDisplay:
    """Degrees of freedom against λ: exact, by Monte Carlo, and those of other models.

    Make one by :meth:`from_estimator` or :meth:`from_path`; all parameters are kept as
    attributes.

    Parameters
    ----------
    gaps : ndarray of shape (k,)
        Gaps 1 − λ, descending; a 0 (λ = 1) is drawn at the right end.
    dof : ndarray of shape (k,)
        Exact degrees of freedom (Theorem 5).
    chosen_gap : float, optional
        The gap of the ensemble.
    estimates : dict of float to (float, float), optional
        By gap, a Monte-Carlo estimate and its standard error.
    others : dict of str to (float, float), optional
        By name, degrees of freedom of another model and their standard error, 0 where exact.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The exact curve.
    errorbar_ : matplotlib ErrorbarContainer or None
        The estimates, with bars of two standard errors.
    other_lines_ : dict of str to matplotlib Line2D
        Horizontal lines of the other models.
    chosen_line_ : matplotlib Line2D or None
        Mark at the chosen λ.

    See Also
    --------
    monte_carlo_dof : Where the estimates come from.
    degrees_of_freedom : Degrees of freedom of any regressor.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from negcorr import DofDisplay, NCLRegressor
    >>> from negcorr.bases import FourierFeatures
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(FourierFeatures(20, 5)).fit(X, y)
    >>> display = DofDisplay.from_estimator(
    ...     model, X, y, estimates=[1.0, 0.1], others={"ridge": Ridge(0.1)}, random_state=0
    ... )
    >>> sorted(display.estimates), round(display.others["ridge"][0], 2)
    ([0.1, 1.0], 8.64)
    """

    gaps: FloatArray
    dof: FloatArray
    chosen_gap: float | None = None
    estimates: Mapping[float, tuple[float, float]] | None = None
    others: Mapping[str, tuple[float, float]] | None = None

    ax_: Axes = field(init=False)
    figure_: Figure | SubFigure = field(init=False)
    line_: Line2D = field(init=False)
    errorbar_: ErrorbarContainer | None = field(init=False)
    other_lines_: dict[str, Line2D] = field(init=False)
    chosen_line_: Line2D | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Table | None = None,
        y: Any = None,
        *,
        estimates: npt.ArrayLike | None = None,
        others: Mapping[str, Any] | None = None,
        gaps: npt.ArrayLike | None = None,
        output: int = 0,
        sample_weight: Any = None,
        random_state: Any = None,
        ax: Axes | None = None,
        line_kw: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Compute the curve of a fitted model, estimates beside it, and draw.

        Parameters
        ----------
        estimator : NCLRegressor, pipeline or search
            Fitted; a pipeline or a search must end in an NCLRegressor.
        X : table of shape (n, d), optional
            Training inputs. Without them there are no estimates.
        y : array-like of shape (n,) or (n, outputs), optional
            Training targets; with ``X``.
        estimates : array-like, optional
            Gaps at which a Monte-Carlo estimate is made; by default four over the curve, each
            of about ten fits. An ensemble with an unset ``random_state`` is drawn anew for it.
        others : dict of str to regressor, number or result, optional
            Other models by name: regressors not fitted yet (with ``X`` and ``y``), numbers, or
            what :func:`degrees_of_freedom` and :func:`monte_carlo_dof` return.
        gaps, output, ax, line_kw
            As in :meth:`from_path`.
        sample_weight : array-like of shape (n,), optional
            Frequencies that the model was fitted with.
        random_state : int, RandomState or None, default=None
            Seed of the probes.
        **options
            Handed to :func:`monte_carlo_dof`, ``n_probes`` for instance.

        Returns
        -------
        DofDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        path = path_of(estimator)
        if (X is None) != (y is None):
            raise ValueError("Give both X and y, or neither for the exact curve alone.")
        if X is None and estimates is not None:
            raise ValueError("estimates need the training rows; give X and y too.")
        output, values = output_and_gaps(path, output, gaps)
        options = {"sample_weight": sample_weight, "random_state": random_state, **options}
        known = _others(others, X, y, output, options)
        found: dict[float, tuple[float, float]] | None = None
        if X is not None:
            if estimates is None:
                # A few gaps over the whole range, without λ = 1, where a fit may fail.
                inside = values[values > 0.0] if (values > 0.0).any() else values
                wanted = inside[evenly(len(inside), ESTIMATES)]
            else:
                wanted = sorted_gaps(estimates, "estimates")
            model, _ = inner_model(estimator)
            while hasattr(estimator, "best_estimator_"):
                estimator = estimator.best_estimator_
            found = {}
            for gap in map(float, wanted):
                refitted = clone(model).set_params(lam="auto", gap=gap)
                if isinstance(estimator, Pipeline):  # its other steps are fitted again too
                    last = estimator.steps[-1][0]
                    refitted = clone(estimator).set_params(**{last: refitted})
                found[gap] = _number(monte_carlo_dof(refitted, X, y, **options), output)
        chosen = float(path.chosen_gap[output])
        dof = to_host(path.spectrum.dof(gap=values))
        display = cls(gaps=values, dof=dof, chosen_gap=chosen, estimates=found, others=known)
        return display.plot(ax, line_kw=line_kw)

    @classmethod
    def from_path(
        cls,
        path: NCLPath,
        *,
        others: Mapping[str, Any] | None = None,
        gaps: npt.ArrayLike | None = None,
        output: int = 0,
        ax: Axes | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Compute the curve of a path and draw it.

        Parameters
        ----------
        path : NCLPath
            From a fitted model (``path_``) or :func:`ncl_path`.
        others : dict of str to number or result, optional
            Degrees of freedom of other models by name: numbers, or what
            :func:`degrees_of_freedom` and :func:`monte_carlo_dof` return.
        gaps : array-like, optional
            Gaps to draw at, in [0, 1]; by default from 1 (λ = 0) to where the curves stop
            changing, or to the smallest gap that the factorisation resolves.
        output : int, default=0
            Whose choice is marked, of several outputs; the curve is the same for all.
        ax : Axes, optional
            Where to draw; by default on a new figure.
        line_kw : dict, optional
            Handed to ``Axes.plot`` for the exact curve.

        Returns
        -------
        DofDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_path")
        output, values = output_and_gaps(path, output, gaps)
        return cls(
            gaps=values,
            dof=to_host(path.spectrum.dof(gap=values)),
            chosen_gap=float(path.chosen_gap[output]),
            others=_others(others, None, None, output, {}),
        ).plot(ax, line_kw=line_kw)

    def plot(self, ax: Axes | None = None, *, line_kw: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where; by default on a new figure.
        line_kw : dict, optional
            Handed to ``Axes.plot`` for the exact curve.

        Returns
        -------
        DofDisplay
            Itself, with the artists as attributes.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        ax = axes_for(ax, height=4.2)
        self.ax_, self.figure_, self.errorbar_, self.other_lines_ = ax, ax.figure, None, {}
        look: dict[str, Any] = {"color": COLOURS[0], "label": "exact"}
        self.line_ = curve(ax, positions(self.gaps), self.dof, line_kw, **look)
        for i, (name, (dof, error)) in enumerate((self.others or {}).items()):
            # A leading underscore would hide the name from the legend.
            look = {"linewidth": 1.4, "label": f"{name.lstrip('_') or 'model'}: {dof:.4g}"}
            colour, look["linestyle"] = COLOURS[2:5][i % 3], _DASHES[i % len(_DASHES)]
            self.other_lines_[name] = ax.axhline(dof, color=colour, **look)
            if error > 0.0:
                ax.axhspan(dof - 2.0 * error, dof + 2.0 * error, color=colour, alpha=0.15, lw=0)
        shown = np.append(self.gaps, list(self.estimates or ()))
        if self.estimates:
            dofs, errors = np.array(list(self.estimates.values())).T
            where = positions(shown)[-len(dofs) :]
            look = {"fmt": "o", "color": COLOURS[1], "markersize": 5, "capsize": 3, "zorder": 4}
            label = "Monte Carlo, ± 2 standard errors"
            self.errorbar_ = ax.errorbar(where, dofs, 2.0 * errors, label=label, **look)
        self.chosen_line_ = gap_axis(ax, shown, self.chosen_gap)
        ax.set_ylim(0.0, max(ax.get_ylim()[1], 1.06 * float(np.max(self.dof)), 1.0))
        ax.set_ylabel("degrees of freedom")
        legend(ax)
        return self


def _number(result: Any, output: int) -> tuple[float, float]:
    """Degrees of freedom of one output and their standard error."""
    pair = (np.atleast_1d(np.asarray(v, float)) for v in (result.dof, result.std_error))
    dof, error = (float(values[output if len(values) > 1 else 0]) for values in pair)
    return dof, error


def _others(
    others: Mapping[str, Any] | None, X: Table | None, y: Any, output: int, options: dict[str, Any]
) -> dict[str, tuple[float, float]]:
    found = {}
    for name, model in (others or {}).items():
        if isinstance(model, (int, float, np.number)) and model is not True:
            found[str(name)] = (float(model), 0.0)
        elif hasattr(model, "std_error") and hasattr(model, "dof"):
            found[str(name)] = _number(model, output)
        elif hasattr(model, "fit") and X is not None:
            found[str(name)] = _number(degrees_of_freedom(model, X, y, **options), output)
        else:
            needs = "needs X and y" if hasattr(model, "fit") else "is no model or number"
            raise TypeError(
                f"others[{name!r}] of type {type(model).__name__} {needs}; allowed are numbers, "
                "results of degrees_of_freedom and monte_carlo_dof, and with X and y regressors."
            )
    return found
