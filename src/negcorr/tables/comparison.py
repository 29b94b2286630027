"""An NCL ensemble beside other methods on the same held-out rows, and a verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from negcorr._common.number_text import amount, amount_with_error
from negcorr._common.types import FloatArray
from negcorr.columns.samples import Samples
from negcorr.tables.held_out_errors import Figures, held_out_figures, held_out_mean

__all__ = ["OURS", "Comparison", "Method", "Result", "scored"]

#: Name of the first method.
OURS = "NCL"

#: Differences of fewer standard errors than this are within noise.
NOISE = 2.0


@dataclass(frozen=True, eq=False)
class Result:
    """What one method predicted for the held-out rows.

    Attributes
    ----------
    name : str
    predicted : ndarray of shape (n,) or (n, outputs)
    interval : ndarray of shape (n, 2) or (n, 2, outputs), or None
        Ends of the 95 % interval.
    fit_seconds : float
    """

    name: str
    predicted: FloatArray
    interval: FloatArray | None
    fit_seconds: float


@dataclass(frozen=True)
class Method:
    """One method on the held-out rows.

    Attributes
    ----------
    name : str
    figures : tuple of Figures
        One for each output.
    loss : float
        Mean squared error in units of the training targets' variance, mean over outputs: about 1
        for the mean of the training rows.
    gain, gain_se : float
        Loss of this method less that of NCL on the same rows, and its paired standard error; 0 for
        NCL itself. Positive means that NCL is better.
    fit_seconds : float
        Time of the fit; for other methods than NCL without the time of the features.
    """

    name: str
    figures: tuple[Figures, ...]
    loss: float
    gain: float
    gain_se: float
    fit_seconds: float

    @property
    def within_noise(self) -> bool:
        """Whether it is as good as NCL: a difference of at most two standard errors."""
        return not abs(self.gain) > NOISE * self.gain_se


@dataclass(frozen=True)
class Comparison:
    """Methods on the same held-out rows.

    Attributes
    ----------
    methods : tuple of Method
        NCL first.
    targets : tuple of str
    n_train, n_test : int
        Rows that NCL was fitted to, and held-out rows.
    n_rivals : int or None
        Rows that the others were fitted to, where these are fewer.
    """

    methods: tuple[Method, ...]
    targets: tuple[str, ...]
    n_train: int
    n_test: int
    n_rivals: int | None = None

    def __getitem__(self, name: str) -> Method:
        return {method.name: method for method in self.methods}[name]

    def __str__(self) -> str:
        rows = [["method", "output", "RMSE", "MAE", "R²", "95 % covers", "fit seconds"]]
        for method, f in ((each, f) for each in self.methods for f in each.figures):
            rmse, mae = amount_with_error(f.rmse, f.rmse_se), amount_with_error(f.mae, f.mae_se)
            covers = "" if np.isnan(f.coverage) else f"{f.coverage:.1%}"
            seconds = f"{method.fit_seconds:.2f}"
            rows.append([method.name, f.output, rmse, mae, f"{f.r2:.3f}", covers, seconds])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def verdict(self) -> str:
        """One sentence: who predicts best, by how much, and whether that is more than noise.

        A second one follows where the others had fewer rows to learn from.

        Returns
        -------
        str
        """
        ours, others = self.methods[0], self.methods[1:]
        error = self._error(ours)
        on = f"on {self.n_test} held-out rows"
        if not others:
            return f"NCL has an error of {error} {on}; nothing was compared with it."
        best = min(others, key=lambda method: method.loss)
        theirs = f"{best.name} ({self._error(best)})"
        noise = "(no standard error is known)"
        if best.gain_se > 0:
            noise = f"({abs(best.gain) / best.gain_se:.1f} paired standard errors)"
        mean = next((method for method in others if method.name == "mean"), best)
        if mean is not best and mean.within_noise and not best.within_noise:
            text = (
                f"NCL, with an error of {error} {on}, cannot be told from predicting the mean, and "
                f"{theirs} is better than both {noise}."
            )
        elif best.within_noise:
            text = (
                f"NCL has an error of {error} {on}, and {theirs} is the best of the others: the "
                f"difference is within noise {noise}."
            )
        elif best.gain > 0:
            text = f"NCL predicts best, with an error of {error} {on}; {theirs} comes next {noise}."
        else:
            text = (
                f"NCL loses to {theirs}, with an error of {error} {on} {noise}; prefer the other."
            )
        if self.n_rivals is None or self.n_rivals >= self.n_train:
            return text
        return (
            f"{text} The comparison is not even: the others were fitted to {self.n_rivals} of the "
            f"{self.n_train} rows that NCL had."
        )

    def _error(self, method: Method) -> str:
        if len(self.targets) == 1:
            return f"{amount(method.figures[0].rmse)} RMSE"
        return f"{amount(float(np.sqrt(method.loss)), 3)} standard deviations"


def scored(
    results: Sequence[Result],
    train: Samples,
    test: Samples,
    targets: tuple[str, ...],
    n_train: int | None = None,
) -> Comparison:
    """Methods side by side, by what they predicted for the same held-out rows.

    Parameters
    ----------
    results : sequence of Result
        NCL first.
    train : Samples
        Rows of the fits, for the variance of their targets.
    test : Samples
        Held-out rows.
    targets : tuple of str
    n_train : int, optional
        Rows that NCL was fitted to, where ``train`` is a part of them.
    """
    y = train.y.reshape(len(train.y), -1)
    mean = np.average(y, axis=0, weights=train.weight)
    variance = np.average((y - mean) ** 2, axis=0, weights=train.weight)
    # Outputs that do not vary among the rows of the fit keep their own units.
    unit = np.where(variance > 0, variance, 1.0)
    errors = [(test.y - result.predicted).reshape(len(test.y), -1) for result in results]
    losses = [(error**2 / unit).mean(axis=1) for error in errors]
    methods = []
    for result, loss in zip(results, losses, strict=True):
        gain, gain_se = held_out_mean(loss - losses[0], test.weight, test.groups)
        given = {"interval": result.interval, "weight": test.weight, "groups": test.groups}
        figures = held_out_figures(test.y, result.predicted, targets, **given)
        mean_loss = float(np.average(loss, weights=test.weight))
        methods.append(Method(result.name, figures, mean_loss, gain, gain_se, result.fit_seconds))
    n_rivals = len(train.positions)
    n_known = n_rivals if n_train is None else n_train
    return Comparison(tuple(methods), targets, n_known, len(test.positions), n_rivals)
