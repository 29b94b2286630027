"""PathDisplay: what chooses λ, and the degrees of freedom, against λ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray
from negcorr.path.curve_view import far_apart, positions, readable_limits
from negcorr.path.path import CRITERIA, NCLPath
from negcorr.plots.colours import COLOURS
from negcorr.plots.drawing import axes_for, curve, gap_axis, legend, new_axes, require_matplotlib
from negcorr.plots.models import label_of_output, output_and_gaps, path_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["PathDisplay"]

_ERROR = "mean squared error\n(units of y squared)"

_INFORMATION = "information criterion"

#: Curves by name: label, unit, colour and dashes. Curves of one unit fit on one axis, and each has
#: its own colour and dashes, whichever others are drawn.
_CURVES = {
    "kfold": ("K-fold error", _ERROR, COLOURS[1], "-"),
    "loo": ("leave-one-out error", _ERROR, COLOURS[4], "-"),
    "sure": ("SURE + σ²", _ERROR, COLOURS[0], "--"),
    "gcv": ("GCV", _ERROR, COLOURS[3], "-."),
    "train_error": ("training error", _ERROR, COLOURS[2], "-"),
    "aic": ("AIC", _INFORMATION, COLOURS[0], "-"),
    "aicc": ("AICc", _INFORMATION, COLOURS[1], "--"),
    "bic": ("BIC", _INFORMATION, COLOURS[2], "-."),
    "cp": ("C$_p$", "C$_p$ (units of σ²)", COLOURS[0], "-"),
}


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay:
    """Criteria and degrees of freedom against λ, with the chosen λ marked.

    Make one by :meth:`from_estimator` or :meth:`from_path`; all parameters are kept as
    attributes.

    Parameters
    ----------
    gaps : ndarray of shape (k,)
        Gaps 1 − λ, descending; a 0 (λ = 1) is drawn at the right end.
    curves : dict of str to ndarray of shape (k,)
        Values by name: ``"kfold"``, ``"loo"``, ``"sure"``, ``"gcv"``, ``"train_error"``, all of
        them errors; or ``"aic"``, ``"aicc"``, ``"bic"``; or ``"cp"``. SURE has σ² added, so that
        it estimates the error on observed targets, as the others do.
    dof : ndarray of shape (k,)
        Degrees of freedom.
    chosen_gap : float, optional
        The gap of the ensemble.
    criterion : str, optional
        The criterion that chose λ; None for a λ that was given.
    name : str, optional
        What is drawn, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the criteria.
    dof_ax_ : matplotlib Axes or None
        Axes of the degrees of freedom.
    figure_ : matplotlib Figure
        Figure of both.
    lines_ : dict of str to matplotlib Line2D
        Curves by name, ``"dof"`` among them where drawn.
    chosen_lines_ : list of matplotlib Line2D
        Marks at the chosen λ, one on each axes.

    See Also
    --------
    DiversityDisplay : Member error and diversity against λ.
    DofDisplay : Degrees of freedom with Monte-Carlo estimates.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import NCLRegressor, PathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NCLRegressor(basis="fourier").fit(X, y)
    >>> display = PathDisplay.from_estimator(model)
    >>> sorted(display.lines_)
    ['dof', 'gcv', 'kfold', 'sure', 'train_error']
    """

    gaps: FloatArray
    curves: Mapping[str, FloatArray]
    dof: FloatArray
    chosen_gap: float | None = None
    criterion: str | None = None
    name: str | None = None

    ax_: Axes = field(init=False)
    dof_ax_: Axes | None = field(init=False)
    figure_: Figure | SubFigure = field(init=False)
    lines_: dict[str, Line2D] = field(init=False)
    chosen_lines_: list[Line2D] = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        criteria: Sequence[str] | None = None,
        gaps: npt.ArrayLike | None = None,
        output: int = 0,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Compute the curves of a fitted model and draw them.

        Parameters
        ----------
        estimator : NCLRegressor, pipeline or search
            Fitted; a pipeline or a search must end in an NCLRegressor.
        criteria, gaps, output, ax, line_kw
            As in :meth:`from_path`.

        Returns
        -------
        PathDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        path = path_of(estimator)
        return cls.from_path(
            path, criteria=criteria, gaps=gaps, output=output, ax=ax, line_kw=line_kw
        )

    @classmethod
    def from_path(
        cls,
        path: NCLPath,
        *,
        criteria: Sequence[str] | None = None,
        gaps: npt.ArrayLike | None = None,
        output: int = 0,
        ax: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Compute the curves of a path and draw them.

        Parameters
        ----------
        path : NCLPath
            From a fitted model (``path_``) or :func:`ncl_path`.
        criteria : list of str, optional
            Curves, by the names in the class's description, all of one unit. By default the
            errors that this path has: K-fold where there are folds, SURE where σ² is known, GCV
            and the training error, leave-one-out where the path was made for it.
        gaps : array-like, optional
            Gaps to draw at, in [0, 1]; by default from 1 (λ = 0) to where the curves stop
            changing, or to the smallest gap that the factorisation resolves.
        output : int, default=0
            Which output, of several.
        ax : Axes or sequence of two, optional
            One to draw the criteria on, or a second for the degrees of freedom too; by default
            both on a new figure.
        line_kw : dict, optional
            Handed to ``Axes.plot`` for every curve.

        Returns
        -------
        PathDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_path")
        output, values = output_and_gaps(path, output, gaps)
        if criteria is None:
            names = ["kfold"] if path.folds.splits else []
            names += ["loo"] if path.leave_one_out is not None else []
            names += [] if np.isnan(path.noise_variance).any() else ["sure"]
            names += ["gcv", "train_error"]
        else:
            names = _checked(criteria)
        curves = {}
        for name in names:
            if name in CRITERIA:
                curve = path.criterion_curve(name, values)
            else:
                curve = getattr(path.spectrum, name)(gap=values)
            curves[name] = to_host(curve)[:, output]
        if "sure" in curves:
            # SURE is about the noise-free function; with σ² it can be compared with the others.
            curves["sure"] = curves["sure"] + path.noise_variance[output]
        return cls(
            gaps=values,
            curves=curves,
            dof=to_host(path.spectrum.dof(gap=values)),
            chosen_gap=float(path.chosen_gap[output]),
            criterion=path.criterion,
            name=label_of_output(output, path.spectrum.n_outputs),
        ).plot(ax, line_kw=line_kw)

    def plot(self, ax: Any = None, *, line_kw: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or sequence of two, optional
            As in :meth:`from_path`.
        line_kw : dict, optional
            Handed to ``Axes.plot`` for every curve.

        Returns
        -------
        PathDisplay
            Itself, with the artists as attributes.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        _checked(list(self.curves))
        if ax is None:
            ax = new_axes(2, height=5.4, heights=(3.0, 2.0))
        several = isinstance(ax, (Sequence, np.ndarray))
        if several and len(ax) != 2:
            raise ValueError(f"ax has {len(ax)} axes; give one, or two: for criteria and for dof.")
        top = axes_for(ax[0] if several else ax)
        bottom = axes_for(ax[1]) if several else None
        self.ax_, self.dof_ax_, self.figure_ = top, bottom, top.figure
        self.lines_, self.chosen_lines_ = {}, []
        drawn_before = top.has_data()
        where = positions(self.gaps)
        for name, values in self.curves.items():
            label, _, colour, dashes = _CURVES[name]
            look = {"color": colour, "linestyle": dashes, "label": label}
            self.lines_[name] = curve(top, where, values, line_kw, **look)
        if not drawn_before and far_apart(self.curves.values()):
            top.set_yscale("log")
        elif top.get_yscale() != "log":
            low, high = readable_limits(self.curves.values())
            if drawn_before:  # what is shown already stays in the picture
                low, high = min(low, top.get_ylim()[0]), max(high, top.get_ylim()[1])
            top.set_ylim(low, high)
        shared = bottom is not None and top.get_shared_x_axes().joined(top, bottom)
        self._mark_choice(top, "", labelled=not shared)
        top.set_ylabel(_CURVES[next(iter(self.curves))][1])
        if self.name is not None:
            top.set_title(self.name)
        legend(top)
        if bottom is not None:
            look = {"color": "black", "label": "degrees of freedom"}
            self.lines_["dof"] = curve(bottom, where, self.dof, line_kw, **look)
            at_choice = self.dof[self.gaps == self.chosen_gap]
            self._mark_choice(bottom, f"{at_choice[0]:.4g} at " if len(at_choice) else "")
            bottom.set_ylim(0.0, max(bottom.get_ylim()[1], 1.06 * float(np.max(self.dof))))
            bottom.set_ylabel("degrees of freedom")
            if self.chosen_gap is not None:
                legend(bottom, handles=self.chosen_lines_[-1:])
        return self

    def _mark_choice(self, ax: Axes, value: str, *, labelled: bool = True) -> None:
        """Make the horizontal axis one of gaps, with a line at the chosen one."""
        by = "given" if self.criterion is None else f"by {self.criterion}"
        label = f"{value}λ = {{}}, {by}"
        line = gap_axis(ax, self.gaps, self.chosen_gap, label, labelled=labelled)
        self.chosen_lines_ += [] if line is None else [line]


def _checked(criteria: Sequence[str]) -> list[str]:
    """Names of curves, known and of one kind."""
    names = [criteria] if isinstance(criteria, str) else list(dict.fromkeys(criteria))
    if not names:
        raise ValueError(f"criteria is empty; allowed are {list(_CURVES)}.")
    for name in names:
        if name not in _CURVES:
            raise ValueError(f"criteria has {name!r}, which is unknown; allowed: {list(_CURVES)}.")
    if len({_CURVES[name][1] for name in names}) > 1:
        raise ValueError(
            f"criteria={names} have different units, for which one axis is not enough; draw "
            "errors (kfold, loo, sure, gcv, train_error), aic, aicc and bic, and cp apart."
        )
    return names
