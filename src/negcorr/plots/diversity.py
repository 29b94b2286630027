"""DiversityDisplay: the ambiguity decomposition against λ."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import target_columns
from negcorr.diversity.inner_model import inner_model
from negcorr.exceptions import NoiseVarianceWarning, PrecisionWarning
from negcorr.path.curve_view import positions
from negcorr.path.path import NCLPath
from negcorr.plots.colours import COLOURS, GREY
from negcorr.plots.drawing import axes_for, curve, gap_axis, legend, require_matplotlib
from negcorr.plots.models import label_of_output, output_and_gaps, path_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["DiversityDisplay"]

_TERMS: dict[str, tuple[str, str, str]] = {
    "member_error": ("average member error", COLOURS[1], "-"),
    "diversity": ("diversity", COLOURS[0], "--"),
    "ensemble_error": ("ensemble error = difference", COLOURS[2], "-"),
}


@dataclass(kw_only=True, eq=False, repr=False)
class DiversityDisplay:
    """Ensemble error, average member error and diversity against λ (equation 1).

    Make one by :meth:`from_estimator` or :meth:`from_path`; all parameters are kept as
    attributes.

    Parameters
    ----------
    gaps : ndarray of shape (k,)
        Gaps 1 − λ, descending; a 0 (λ = 1) is drawn at the right end.
    ensemble_error, member_error, diversity : ndarray of shape (k,)
        The three terms; the first is the second minus the third.
    variance : float, optional
        Variance of the targets: the error of a constant. Members above it are useless alone.
    chosen_gap : float, optional
        The gap of the ensemble.
    rows : str, default="training rows"
        What the terms are means over.
    name : str, optional
        What is drawn, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        The terms by name, ``"variance"`` among them where known.
    chosen_line_ : matplotlib Line2D or None
        Mark at the chosen λ.

    See Also
    --------
    ambiguity_decomposition : The terms of any ensemble.
    MembersDisplay : Members as curves.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import DiversityDisplay, NCLRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(basis="fourier")
    >>> model = model.fit(X[:300], y[:300])
    >>> display = DiversityDisplay.from_estimator(model, X[300:], y[300:], gaps=[1, 0.1, 0.01])
    >>> difference = display.member_error - display.diversity
    >>> bool((abs(difference - display.ensemble_error) < 1e-6).all())
    True
    """

    gaps: FloatArray
    ensemble_error: FloatArray
    member_error: FloatArray
    diversity: FloatArray
    variance: float | None = None
    chosen_gap: float | None = None
    rows: str = "training rows"
    name: str | None = None

    ax_: Axes = field(init=False)
    figure_: Figure | SubFigure = field(init=False)
    lines_: dict[str, Line2D] = field(init=False)
    chosen_line_: Line2D | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Table | None = None,
        y: Any = None,
        *,
        gaps: npt.ArrayLike | None = None,
        output: int = 0,
        ax: Axes | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Compute the terms of a fitted model and draw them.

        Parameters
        ----------
        estimator : NCLRegressor, pipeline or search
            Fitted; a pipeline or a search must end in an NCLRegressor.
        X : table of shape (n, d), optional
            Rows to average over, held-out ones for instance; by default the training rows,
            whose terms the path has without a prediction.
        y : array-like of shape (n,) or (n, outputs), optional
            Their targets; with ``X``.
        gaps, output, ax, line_kw
            As in :meth:`from_path`. With ``X`` each gap takes a prediction of all members, so
            there are four a decade by default.

        Returns
        -------
        DiversityDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        path = path_of(estimator)
        if (X is None) != (y is None):
            raise ValueError("Give both X and y, or neither for the training rows.")
        if X is None:
            return cls.from_path(path, gaps=gaps, output=output, ax=ax, line_kw=line_kw)
        output, values = output_and_gaps(path, output, gaps, per_decade=4)
        target = target_columns(y, X)[:, output]
        model, inputs = inner_model(estimator, X)
        found = []
        with warnings.catch_warnings():
            # The first warning is not about predictions; the second was given once for all gaps.
            warnings.simplefilter("ignore", NoiseVarianceWarning)
            warnings.simplefilter("ignore", PrecisionWarning)
            for gap in values:
                terms = model.with_lam(gap=float(gap)).diversity(inputs, y)
                found.append([np.atleast_1d(getattr(terms, name))[output] for name in _TERMS])
        return cls(
            gaps=values,
            **dict(zip(_TERMS, np.array(found, dtype=float).T, strict=True)),
            variance=float(target.var()),
            chosen_gap=float(path.chosen_gap[output]),
            rows=f"{len(target)} given rows",
            name=label_of_output(output, path.spectrum.n_outputs),
        ).plot(ax, line_kw=line_kw)

    @classmethod
    def from_path(
        cls,
        path: NCLPath,
        *,
        gaps: npt.ArrayLike | None = None,
        output: int = 0,
        ax: Axes | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Compute the terms on the training rows of a path and draw them.

        Parameters
        ----------
        path : NCLPath
            From a fitted model (``path_``) or :func:`ncl_path`.
        gaps : array-like, optional
            Gaps to draw at, in [0, 1]; by default from 1 (λ = 0) to where the curves stop
            changing, or to the smallest gap that the factorisation resolves.
        output : int, default=0
            Which output, of several.
        ax : Axes, optional
            Where to draw; by default on a new figure.
        line_kw : dict, optional
            Handed to ``Axes.plot`` for every term.

        Returns
        -------
        DiversityDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_path")
        output, values = output_and_gaps(path, output, gaps)
        spectrum = path.spectrum
        return cls(
            gaps=values,
            ensemble_error=to_host(spectrum.train_error(gap=values))[:, output],
            member_error=to_host(spectrum.member_error(gap=values))[:, output],
            diversity=to_host(spectrum.diversity(gap=values))[:, output],
            variance=float(to_host(spectrum.total)[output]) if spectrum.fit_intercept else None,
            chosen_gap=float(path.chosen_gap[output]),
            name=label_of_output(output, spectrum.n_outputs),
        ).plot(ax, line_kw=line_kw)

    def plot(self, ax: Axes | None = None, *, line_kw: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where; by default on a new figure.
        line_kw : dict, optional
            Handed to ``Axes.plot`` for every term.

        Returns
        -------
        DiversityDisplay
            Itself, with the artists as attributes.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        ax = axes_for(ax, height=4.2)
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, {}
        for term, (label, colour, dashes) in _TERMS.items():
            values = getattr(self, term)
            # A diversity of 0 has no logarithm: the line has a gap there.
            shown = np.where(values > 0.0, values, np.nan)
            look: dict[str, Any] = {"color": colour, "linestyle": dashes, "label": label}
            self.lines_[term] = curve(ax, positions(self.gaps), shown, line_kw, **look)
        if self.variance is not None and self.variance > 0.0:
            label = "variance of y: error of a constant"
            look = {"color": GREY, "linewidth": 1.2, "linestyle": ":", "label": label}
            self.lines_["variance"] = ax.axhline(self.variance, **look)
        self.chosen_line_ = gap_axis(ax, self.gaps, self.chosen_gap)
        terms = np.concatenate([self.ensemble_error, self.member_error, self.diversity])
        positive = terms[np.isfinite(terms) & (terms > 0.0)]
        if len(positive):
            # An error that is almost 0 would make the axis many decades long.
            least = 1e-4 * float(np.nanmax(np.append(self.ensemble_error, self.variance or 0.0)))
            low, high = max(float(positive.min()), least) / 1.5, 1.5 * float(positive.max())
            if ax.get_yscale() == "log":  # of another display, on these axes or beside them
                low, high = min(low, ax.get_ylim()[0]), max(high, ax.get_ylim()[1])
            ax.set_yscale("log")
            ax.set_ylim(low, max(high, 10.0 * low))
        ax.set_ylabel(f"mean square on {self.rows}\n(units of y squared)")
        if self.name is not None:
            ax.set_title(self.name)
        legend(ax)
        return self
