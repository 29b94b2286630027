"""MembersDisplay: members as curves around the ensemble."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from negcorr._common.arrays import to_host
from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import check_positive_int, target_columns
from negcorr.diversity.decompositions import USELESS_ALONE, USELESS_NOTE, ambiguity_decomposition
from negcorr.diversity.inner_model import inner_model
from negcorr.diversity.members import members_of
from negcorr.path.curve_view import evenly
from negcorr.plots.colours import COLOURS, GREY
from negcorr.plots.drawing import axes_for, curve, legend, require_matplotlib
from negcorr.plots.input_slices import Slice
from negcorr.plots.models import check_output, label_of_output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["MembersDisplay"]

#: Points of data that are drawn at most.
MOST_POINTS = 1000

#: The picture is at most this many times as high as the range of ensemble and data.
MOST_ROOM = 4.0

#: Letters for each inch of a small title.
LETTERS = 16


@dataclass(kw_only=True, eq=False, repr=False)
class MembersDisplay:
    """Members as curves around their ensemble, along one input.

    The other inputs have fixed values. The spread of the members is the diversity of the ensemble:
    NCL rewards it, and it does not show how certain a prediction is (for that use
    :meth:`NCLRegressor.predict_interval`). Make one by :meth:`from_estimator`; all parameters are
    kept as attributes.

    Parameters
    ----------
    x : ndarray of shape (k,)
        Values of the input.
    ensemble : ndarray of shape (k,)
        Predictions of the ensemble.
    members : ndarray of shape (m, k)
        Predictions of the members that are drawn.
    n_members : int, optional
        Members of the ensemble; by default those drawn are all.
    feature_name : str, default="x"
        What the input is called.
    others : str, optional
        The fixed values of the other inputs, in words.
    points : tuple of two ndarrays of shape (p,), optional
        Values of the input and targets of data, drawn as dots.
    member_error_ratio : float, optional
        Average member error over the variance of y. Above 1 the picture says that the members
        are useless alone.
    name : str, optional
        What is drawn, for the label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The ensemble.
    member_lines_ : list of matplotlib Line2D
        The members drawn.
    points_ : matplotlib PathCollection or None
        Data, where given.

    See Also
    --------
    members_of : Members of scikit-learn's ensembles, which can be drawn too.
    DiversityDisplay : The size of the spread against λ.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr import MembersDisplay, NCLRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = NCLRegressor(basis="fourier").fit(X, y)
    >>> display = MembersDisplay.from_estimator(model, X, "bmi", y=y, n_members=12)
    >>> display.members.shape, display.ax_.get_xlabel()
    ((12, 100), 'bmi (other inputs: medians)')
    """

    x: FloatArray
    ensemble: FloatArray
    members: FloatArray
    n_members: int | None = None
    feature_name: str = "x"
    others: str | None = None
    points: tuple[FloatArray, FloatArray] | None = None
    member_error_ratio: float | None = None
    name: str | None = None

    ax_: Axes = field(init=False)
    figure_: Figure | SubFigure = field(init=False)
    line_: Line2D = field(init=False)
    member_lines_: list[Line2D] = field(init=False)
    points_: PathCollection | None = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Table,
        feature: int | str = 0,
        *,
        y: Any = None,
        row: Any = None,
        n_members: int = 20,
        n_points: int = 100,
        output: int = 0,
        ax: Axes | None = None,
        line_kw: dict[str, Any] | None = None,
        member_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Predict along one input and draw.

        Parameters
        ----------
        estimator : regressor
            Fitted ensemble that :func:`members_of` takes: an NCLRegressor, a compact one too, a
            forest and so on, alone or at the end of a pipeline or a search.
        X : {array-like, sparse matrix, data frame} of shape (n, d)
            Rows that set the range of the input and the fixed values of the other inputs.
        feature : int or str, default=0
            The input, by number or, for data frames, by name. It must be numeric.
        y : array-like of shape (n,) or (n, outputs), optional
            Targets of the rows, drawn as dots (at most 1000 of them). Other inputs of a dot are
            its own.
        row : array-like of shape (d,), optional
            Fixed values of the other inputs; by default their medians over X. Inputs of a data
            frame that are not numeric get their most frequent value.
        n_members : int, default=20
            Members drawn at most, evenly from the first to the last.
        n_points : int, default=100
            Values of the input.
        output : int, default=0
            Which output, of several.
        ax : Axes, optional
            Where to draw; by default on a new figure.
        line_kw, member_kw : dict, optional
            Handed to ``Axes.plot`` for the ensemble, and for the members.

        Returns
        -------
        MembersDisplay
        """
        require_matplotlib(f"{cls.__name__}.from_estimator")
        check_positive_int("n_members", n_members)
        check_positive_int("n_points", n_points)
        along = Slice.of(X, feature, row, n_points)
        members = _with_outputs(members_of(estimator, along.rows), 2)
        output = check_output(output, members.shape[2])
        ensemble = _with_outputs(to_host(estimator.predict(along.rows)), 1)
        shown = evenly(len(members), n_members)
        points, ratio = None, None
        if y is not None:
            target = target_columns(y, X, members.shape[2])[:, output]
            drawn = evenly(len(target), MOST_POINTS)
            points = along.column[drawn], target[drawn]
            on_rows = _with_outputs(members_of(estimator, X), 2)[:, :, output]
            error = float(ambiguity_decomposition(on_rows, target).member_error)
            ratio = error / float(target.var()) if target.var() > 0.0 else None
        else:
            path = getattr(inner_model(estimator)[0], "path_", None)
            if path is not None and (variance := float(to_host(path.spectrum.total)[output])) > 0.0:
                ratio = float(np.atleast_1d(to_host(path.member_error()))[output]) / variance
        return cls(
            x=along.x,
            ensemble=ensemble[:, output],
            members=members[shown, :, output],
            n_members=len(members),
            feature_name=along.name,
            others=along.others,
            points=points,
            member_error_ratio=ratio,
            name=label_of_output(output, members.shape[2]),
        ).plot(ax, line_kw=line_kw, member_kw=member_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        line_kw: dict[str, Any] | None = None,
        member_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where; by default on a new figure.
        line_kw, member_kw : dict, optional
            Handed to ``Axes.plot`` for the ensemble, and for the members.

        Returns
        -------
        MembersDisplay
            Itself, with the artists as attributes.
        """
        require_matplotlib(f"{type(self).__name__}.plot")
        ax = axes_for(ax, height=4.4)
        self.ax_, self.figure_, self.points_ = ax, ax.figure, None
        if self.points is not None:
            look: dict[str, Any] = {"s": 12, "color": GREY, "alpha": 0.35, "linewidths": 0}
            self.points_ = ax.scatter(*self.points, **look, label="data")
        total = len(self.members) if self.n_members is None else self.n_members
        drawn = "" if total == len(self.members) else f"{len(self.members)} of "
        label = f"{drawn}{total} members: spread is diversity"
        look = {"color": COLOURS[5], "linewidth": 0.9, "alpha": 0.75, **(member_kw or {})}
        self.member_lines_ = ax.plot(self.x, self.members.T, **look)
        self.member_lines_[0].set_label(label)
        look = {"color": COLOURS[1], "linewidth": 2.4, "label": "ensemble"}
        self.line_ = curve(ax, self.x, self.ensemble, line_kw, **look)
        core = self.ensemble if self.points is None else np.append(self.ensemble, self.points[1])
        low, high = float(core.min()), float(core.max())
        centre, room = 0.5 * (low + high), high - low
        reach = float(np.abs(self.members - centre).max())
        notes = []
        if self.member_error_ratio is not None and self.member_error_ratio > USELESS_ALONE:
            notes.append(
                f"{USELESS_NOTE}: their average error is {self.member_error_ratio:.3g} times the "
                "variance of y."
            )
        # Members that are only a little beyond are shown.
        if reach > 0.75 * MOST_ROOM * room > 0.0:
            ax.set_ylim(centre - 0.5 * MOST_ROOM * room, centre + 0.5 * MOST_ROOM * room)
            ends = [f"{float(f'{end(self.members):.2g}'):g}" for end in (np.min, np.max)]
            notes.append(f"Members go from {ends[0]} to {ends[1]}, beyond this picture.")
        if notes:
            inches = ax.get_window_extent().width / ax.figure.dpi
            width = max(int(LETTERS * inches), 24)
            ax.set_title(textwrap.fill(" ".join(notes), width), fontsize="small", loc="left")
        still = "" if self.others is None else f" (other inputs: {self.others})"
        ax.set_xlabel(f"{self.feature_name}{still}")
        ax.set_ylabel("prediction" if self.name is None else f"prediction, {self.name}")
        legend(ax)
        return self


def _with_outputs(values: Any, ndim: int) -> FloatArray:
    """Predictions with an axis of outputs at the end, also for a single output."""
    array = np.asarray(values, dtype=np.float64)
    return array[..., np.newaxis] if array.ndim == ndim else array
