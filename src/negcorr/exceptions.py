"""Warning and error classes of negcorr; a user can filter or catch each of them separately."""

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
    "FolderInUseError",
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
    """The best gap is the smallest gap of the search: the criterion would choose λ = 1."""


class IdenticalMembersWarning(NegcorrWarning):
    """Two or more members draw the same features, so they cannot differ."""


class CollusionWarning(NegcorrWarning):
    """Members predict worse than a constant; only their average is useful."""


class ChaoticTrainingWarning(NegcorrWarning):
    """Training responds chaotically to its targets: no usable tangents or degrees of freedom."""


class DivergenceWarning(NegcorrWarning):
    """Training diverged at some values of λ; none of these values is chosen."""


class NoiseVarianceWarning(NegcorrWarning):
    """No residual degrees of freedom are left to estimate a noise variance."""


class CalibrationWarning(NegcorrWarning):
    """Too few held-out residuals for the requested coverage of an interval."""


class HuberWarning(NegcorrWarning):
    """Targets are not changed: half of the residuals are zero, so none can be called large."""


class FrequencyWarning(NegcorrWarning):
    """Sample weights add up to far less than the number of rows."""


class PrecisionWarning(NegcorrWarning):
    """A fit, or a gap, asks for more digits than the arithmetic has; the message says how many."""


class StepSizeWarning(NegcorrWarning):
    """Two step sizes give different degrees of freedom, for example because a fit has jumps."""


class ProbeLimitWarning(NegcorrWarning):
    """The limit on fits was reached before the wanted standard error."""


class NoResponseWarning(NegcorrWarning):
    """Fitted values did not change at all when the targets were changed."""


class StoredPieceWarning(NegcorrWarning):
    """A stored piece of an experiment cannot be read, and is computed again."""


class NotLinearError(ValueError):
    """An estimator has no closed form; the message gives the reason.

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
    """A fit on perturbed targets failed; the results of the other probes are kept.

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
    """Rows of a file or a stream cannot be read or used; the message names them."""


class TableError(ValueError):
    r"""A file is not a usable table, or a column cannot be used for its purpose.

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


class FolderInUseError(OSError):
    """Another run writes to an output folder; the message names it."""


class CheckpointError(ValueError):
    """A file of a stored training or model is damaged, or belongs to another training or model."""


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
    """A file of a model needs types that the user did not declare trusted; no object was built.

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
    """Training of a network diverged: its loss or weights became infinite or NaN.

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
