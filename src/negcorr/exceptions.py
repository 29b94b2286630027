"""Warnings and errors of our own, so that a user can filter or catch exactly one of them."""

from __future__ import annotations

import sys
import warnings
from typing import Any

__all__ = [
    "CalibrationWarning",
    "ChaoticTrainingWarning",
    "CheckpointError",
    "ChunkError",
    "CollusionWarning",
    "DivergenceError",
    "DivergenceWarning",
    "FrequencyWarning",
    "HuberWarning",
    "IdenticalMembersWarning",
    "ModelFileError",
    "NegcorrWarning",
    "NoResponseWarning",
    "NoiseVarianceWarning",
    "NotLinearError",
    "PrecisionWarning",
    "ProbeError",
    "ProbeLimitWarning",
    "SearchBoundaryWarning",
    "StepSizeWarning",
    "StoredPieceWarning",
    "TableError",
    "UntrustedModelError",
    "warn_caller",
]


class NegcorrWarning(UserWarning):
    """Parent of every warning that negcorr raises itself."""


class SearchBoundaryWarning(NegcorrWarning):
    """The best gap sits at the small end of the search: the criterion asks for λ = 1."""


class IdenticalMembersWarning(NegcorrWarning):
    """Two or more members draw the same features, so they cannot differ."""


class CollusionWarning(NegcorrWarning):
    """Members predict worse than a constant, and only their average is of use."""


class ChaoticTrainingWarning(NegcorrWarning):
    """Training answers to its targets by noise: tangents or degrees of freedom are impossible."""


class DivergenceWarning(NegcorrWarning):
    """Training diverged at some values of λ, among which none is then chosen."""


class NoiseVarianceWarning(NegcorrWarning):
    """A noise variance has no residual degrees of freedom to be estimated from."""


class CalibrationWarning(NegcorrWarning):
    """Too few held-out residuals for the coverage asked of an interval."""


class HuberWarning(NegcorrWarning):
    """Targets stay as they are: half of their residuals vanish, so that none counts as large."""


class FrequencyWarning(NegcorrWarning):
    """Sample weights add up to far less than the number of rows."""


class PrecisionWarning(NegcorrWarning):
    """A gap is smaller than the factorisation can resolve; the QR route can."""


class StepSizeWarning(NegcorrWarning):
    """Two step sizes give different degrees of freedom, as they do where a fit jumps."""


class ProbeLimitWarning(NegcorrWarning):
    """The limit on fits was reached before the wanted standard error."""


class NoResponseWarning(NegcorrWarning):
    """Fitted values did not move with the targets at all."""


class StoredPieceWarning(NegcorrWarning):
    """A stored piece of an experiment cannot be read, and is computed again."""


class NotLinearError(ValueError):
    """Why an estimator has no closed form, in words.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso
    >>> from negcorr.exceptions import NotLinearError
    >>> from negcorr.dof.smoothers import linear_smoother
    >>> try:
    ...     linear_smoother(Lasso(), [[0.0], [1.0]], [0.0, 1.0])
    ... except NotLinearError as error:
    ...     print(error)
    Lasso has no closed form here: its fit is not known to be linear in y.
    """


class ProbeError(RuntimeError):
    """A fit on perturbed targets failed; what had been computed is kept.

    Attributes
    ----------
    probe : int or None
        Number of the probe that failed first, from 0; None for the fit on the targets as given.
    partial : MonteCarloDof or None
        The estimate from the probes that succeeded, None if there were none.
    """

    def __init__(self, message: str, probe: int | None = None, partial: Any = None) -> None:
        super().__init__(message)
        self.probe = probe
        self.partial = partial


class ChunkError(ValueError):
    """Rows of a file or a stream cannot be read or used; says which."""


class TableError(ValueError):
    r"""A file is no table that can be used, or a column is not what it is wanted for.

    The message names the file and the line, or the column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from negcorr.exceptions import TableError
    >>> from negcorr import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "sizes.csv").write_text("a,b\n1,2\n3\n", encoding="utf-8")
    ...     try:
    ...         read_table(Path(folder, "sizes.csv"))
    ...     except TableError as error:
    ...         print(str(error).partition(folder)[2])
    /sizes.csv, line 3: 1 cell where the header has 2; the line begins with '3'.
    """


class CheckpointError(ValueError):
    """A file of a stored training or model cannot be used: damaged, or of another one."""


class ModelFileError(ValueError):
    """A file of a model cannot be read or written: missing, damaged, of another kind or version.

    Attributes
    ----------
    path : path or None
        The file.
    reason : str
        Why.
    """

    def __init__(self, path: Any = None, reason: str = "cannot be used") -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class UntrustedModelError(ModelFileError):
    """A file of a model asks for types that nobody has said to trust; nothing of it was built.

    Attributes
    ----------
    path, reason
        As in :class:`ModelFileError`.
    types : tuple of str
        Full names of those types.
    """

    def __init__(
        self, path: Any = None, reason: str = "is not trusted", types: tuple[str, ...] = ()
    ) -> None:
        super().__init__(path, reason)
        self.types = types


class DivergenceError(ArithmeticError):
    """Training of a network left the finite numbers.

    Attributes
    ----------
    epoch : int
        The first epoch whose loss was not finite, counted from 1.
    learning_rate : float
        Initial learning rate.
    network : torch.nn.Module or None
        The networks as they were when the loss was last seen to be finite.
    """

    def __init__(
        self, message: str, epoch: int = 0, learning_rate: float = 0.0, network: Any = None
    ) -> None:
        super().__init__(message)
        self.epoch = epoch
        self.learning_rate = learning_rate
        self.network = network


def warn_caller(message: str, category: type[NegcorrWarning]) -> None:
    """Warn at the line that called into this package, however deep the call went."""
    level, frame = 1, sys._getframe()
    package = __name__.partition(".")[0]
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)
