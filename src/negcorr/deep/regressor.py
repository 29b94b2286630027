"""DeepNCLRegressor: ensembles of deep networks trained on the NCL loss, as an estimator.

It validates, calls :mod:`negcorr.deep.fitting`, keeps the resulting fit and predicts from it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from negcorr._common.types import FloatArray, Table
from negcorr._common.validation import validate_table
from negcorr.columns.cells import as_frame, has_columns, has_names
from negcorr.columns.encoding import Encoding
from negcorr.columns.inputs import FirstLook
from negcorr.deep.checkpoint import read_tensors, write_tensors
from negcorr.deep.fitted import DeepFit, History, LamTable
from negcorr.deep.fitting import (
    TrainingRows,
    chosen,
    continued,
    tensors,
    trained_grid,
    with_new_heads,
)
from negcorr.deep.settings import resolve_device, settings_of, to_be_chosen
from negcorr.deep.stored_parts import KIND, model_from_parts, stored_parts
from negcorr.deep.training.loop import Training
from negcorr.deep.training.networks import EnsembleMLP
from negcorr.diversity.collusion import Collusion, collusion, warn_if_useless
from negcorr.diversity.decompositions import AmbiguityDecomposition, ambiguity_decomposition
from negcorr.exceptions import CheckpointError
from negcorr.reading.schema import Schema

__all__ = ["DeepNCLRegressor"]

#: Rows that are predicted at once.
BLOCK = 8192

#: Squares of larger values would overflow.
LARGEST = 1e150


@dataclass(repr=False, eq=False)
class DeepNCLRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Ensemble of deep networks trained by Negative Correlation Learning (Section 8).

    M networks minimise :math:`(1-\lambda)\frac1M\sum_m (f_m - y)^2 + \lambda(F - y)^2` with F
    their average (equation 3 of the paper), all members in one batched program. With
    ``lam="auto"`` a grid of λ is trained at once, together with copies whose targets are perturbed
    slightly: the change of their predictions gives the degrees of freedom (Algorithm 1). Stein's
    unbiased risk estimate then chooses λ, from the training rows alone.

    Data frames, arrays of objects and arrays with NaN are encoded as by
    :class:`~negcorr.NCLRegressor`. No row is held out: the encoder, the choice of the learning rate
    and of λ, and early stopping see the rows that ``fit`` is given, and no others.

    Parameters
    ----------
    n_members : int, default=30
        Members M.
    hidden_layer_sizes : sequence of int, default=(5, 5, 5)
        Nodes of the hidden layers.
    activation : {"tanh", "relu", "gelu"}, default="tanh"
        After every hidden layer.
    batch_norm : bool, default=True
        Whether hidden layers are normalised, each member for itself.
    lam : float, sequence of float or "auto", default="auto"
        The knob λ in [0, 1]; a grid of values to choose from; or "auto" for a grid of eleven.
    learning_rate : float or "auto", default="auto"
        Initial learning rate. "auto" trains one ensemble with each of 10⁻⁶, …, 1 and takes the
        smallest whose loss is within a tenth of the lowest.
    training : Training or None, default=None
        How networks are trained: epochs, batches, optimiser, penalty, early stopping. None is
        ``Training()``. ``training__max_epochs`` and the like change single options, in
        ``set_params`` and in searches.
    n_probes : int, default=2
        Copies of each ensemble with perturbed targets; 0 for none, and no degrees of freedom.
    eps : float or "auto", default="auto"
        Step ε of Algorithm 1, in standard deviations of the target; "auto" is 0.1.
    noise_variance : float, array-like, "paper", "difference" or None, default=None
        σ² for SURE: known values, the paper's estimate at the smallest λ, or one from differences
        of neighbours. None takes the smallest estimate from residuals, over those values of λ whose
        residuals keep at least half of the degrees of freedom.
    criterion : {"sure", "gcv"}, default="sure"
        Chooses λ; summed over outputs, each in units of its variance.
    standardize : bool, default=True
        Whether columns of X are brought to mean 0 and standard deviation 1. Targets always are.
        Columns of 0 and 1 that stand for categories stay as they are.
    warm_start : bool, default=False
        Whether ``fit`` starts from the weights of the last fit, with its encoding and scales.
    checkpoint : path or None, default=None
        File that stores a training while it runs, written every five seconds. If a fit was killed
        and starts again with the same data and settings, it continues from the file; if it had
        ended, its result is read. Other data or settings, as of another fold, need another file.
        Needs an integer ``random_state``.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where networks are trained.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the networks.
    progress : bool or scikit-learn callback, default=False
        Whether a bar is shown.
    random_state : int, RandomState or None, default=None
        Seed of weights, batches and probes.

    Attributes
    ----------
    lam_ : float
        The chosen λ, one for all outputs.
    dof_, dof_std_error_ : float or ndarray of shape (outputs,)
        Degrees of freedom at this λ and their standard error over probes, NaN without probes (the
        error with one probe as well). They are those of the training at this λ and learning rate,
        without the choice of both.
    noise_variance_ : float or ndarray of shape (outputs,)
        σ² that was used, NaN without probes unless it was given.
    learning_rate_ : float
        Initial learning rate.
    lam_table_ : LamTable
        Errors, degrees of freedom and criteria at every λ of the grid.
    history_ : History
        Loss of every epoch at every λ; ``history_.to_frame()`` is a table.
    network_ : EnsembleMLP
        The networks, for standardised inputs and targets.
    n_epochs_ : int
        Epochs done.
    columns_ : Schema or None
        What was made of every column of X, where it has columns of several kinds.
    n_features_in_ : int
        Number of input columns.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X has string names.

    References
    ----------
    H. W. J. Reeve and G. Brown, "Diversity and degrees of freedom in regression ensembles",
    Neurocomputing (2018), arXiv:1803.00314.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from negcorr.deep import DeepNCLRegressor, Training
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DeepNCLRegressor(
    ...     n_members=5,
    ...     lam=[0, 0.5, 0.9],
    ...     learning_rate=0.01,
    ...     training=Training(max_epochs=20),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> model.lam_ in (0, 0.5, 0.9), 1 < model.dof_ < 200, model.score(X, y) > 0.4
    (True, True, True)
    """

    n_members: int = 30
    hidden_layer_sizes: Sequence[int] = (5, 5, 5)
    activation: str = "tanh"
    batch_norm: bool = True
    lam: npt.ArrayLike | Literal["auto"] = "auto"
    learning_rate: float | Literal["auto"] = "auto"
    training: Training | None = None
    n_probes: int = 2
    eps: float | Literal["auto"] = "auto"
    noise_variance: Any = None
    criterion: str = "sure"
    standardize: bool = True
    warm_start: bool = False
    checkpoint: Any = None
    device: str = "cpu"
    dtype: str = "float32"
    progress: Any = False
    random_state: Any = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``training__…`` also where ``training`` is None.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        self
        """
        parts = any(name.startswith("training__") for name in params)
        if parts and params.get("training", self.training) is None:
            params["training"] = Training()
        super().set_params(**params)
        return self

    def fit(self, X: Table, y: Any) -> Self:
        """Train the ensembles, and choose λ.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs.
        y : array-like of shape (n,) or (n, outputs)
            Targets.

        Returns
        -------
        self
        """
        with self._unchanged_on_failure():
            before = getattr(self, "_fit", None) if self.warm_start else None
            rows = self._validated(X, y, before, reset=True)
            settings = settings_of(self, *rows.Y.shape)
            trained = trained_grid(self, settings, rows, before)
            self._adopt(chosen(trained, settings, rows))
        warn_if_useless(self._members(rows.X), rows.target, self.lam_)
        return self

    def partial_fit(self, X: Table, y: Any) -> Self:
        """Train one epoch on these rows, with unchanged λ, learning rate and scales.

        The first call starts new networks, with the encoding of columns and scales from its rows;
        where λ or the learning rate are to be chosen, it is :meth:`fit`. After ``fit`` the learning
        rate is that of its end, and Adam's averages start from 0. Degrees of freedom are not
        estimated: ``dof_`` is NaN afterwards.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs.
        y : array-like of shape (n,) or (n, outputs)
            Targets.

        Returns
        -------
        self
        """
        before = getattr(self, "_fit", None)
        if before is None and to_be_chosen(self):
            return self.fit(X, y)
        with self._unchanged_on_failure():
            rows = self._validated(X, y, before, reset=before is None)
            settings = settings_of(self, *rows.Y.shape)
            return self._adopt(continued(self, settings, rows))

    def refit_heads(
        self, X: Table, y: Any, criterion: str = "sure", *, lam: Any = "auto", cv: Any = 5
    ) -> Self:
        """The best output layers (heads) for these rows, in closed form (Theorem 4).

        With fixed hidden layers, members are linear in fixed features: the λ that the criterion
        chooses, and the degrees of freedom *of the heads*, are exact (Theorem 5). On the rows of
        the training these are only a part of the degrees of freedom of the whole training.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs, preferably of other rows than those of ``fit``.
        y : array-like of shape (n,) or (n, outputs)
            Targets.
        criterion : str, default="sure"
            As in :class:`~negcorr.NCLRegressor`.
        lam : float or "auto", default="auto"
            λ, or "auto" to choose it.
        cv : int, splitter or iterable, default=5
            Folds for ``criterion="kfold"``.

        Returns
        -------
        DeepNCLRegressor
            A new, fitted estimator; ``path_`` has every curve at every λ.
        """
        found = self._fitted()
        rows = self._validated(X, y, found, reset=False)
        params = self.get_params(deep=False)
        model = type(self)(**params | {"training": copy.copy(self.training)})
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        options = {"criterion": criterion, "lam": lam, "cv": cv}
        heads, path = with_new_heads(found, rows, **options)
        model._adopt(heads)
        model.path_ = path
        return model

    def save(self, path: Any) -> None:
        """Write the fitted model to one file, in the safetensors format with JSON in its header.

        Parameters
        ----------
        path : path
            If the file exists, it is replaced in one step.
        """
        self._fitted()
        write_tensors(Path(path), *stored_parts(self))

    @classmethod
    def load(cls, path: Any, device: str = "cpu") -> Self:
        """A model that :meth:`save` wrote; nothing in the file is run.

        Parameters
        ----------
        path : path
        device : {"cpu", "cuda", "auto"}, default="cpu"
            Device of its networks.
        """
        resolve_device(device)  # a device that is not there is refused before the file is read
        parts, about = read_tensors(Path(path))
        if about.get("kind") != KIND:
            raise CheckpointError(f"{path} holds a {about.get('kind')}, not a {KIND}.")
        try:
            model: Self = model_from_parts(cls, parts, about, device)
        except CheckpointError as error:
            raise CheckpointError(f"{path}: {error}") from error
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise CheckpointError(
                f"{path} is damaged ({type(error).__name__}: {error})."
            ) from error
        return model

    def predict(
        self, X: Table, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Ensemble prediction F(x), and its predictive standard deviation on request.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviation of a new observation, from the noise and the
            variance σ²‖∂F(x)/∂y‖² of the fit, which perturbed copies estimate. With few probes the
            estimate is rough. It has no bias, and no spread of the members.

        Returns
        -------
        y_mean : ndarray of shape (n,) or (n, outputs)
        y_std : ndarray of the same shape
            Only with ``return_std=True``.
        """
        found = self._fitted()
        rows = self._validated_inputs(X)
        mean = found.target.undo(self._run(found.network, rows, average=True))
        if not return_std:
            return self._shaped(mean)
        if found.copies is None or np.isnan(found.noise_variance).any():
            raise ValueError(
                "predict(return_std=True) needs the perturbed copies of a fit with n_probes of at "
                f"least 1 (n_probes={self.n_probes!r}); partial_fit and refit_heads drop them."
            )
        copies = found.copy_scaling.undo(self._run(found.copies, rows, average=True))
        moved = (found.target.undo(copies) - mean) / (found.eps * found.target.scale)
        std = np.sqrt(found.noise_variance * (1.0 + np.mean(moved**2, axis=0)))
        return self._shaped(mean), self._shaped(std)

    def predict_members(self, X: Table) -> FloatArray:
        """Predictions f_m(x) of every member, whose mean is :meth:`predict`.

        Near λ = 1 members are useless alone; their spread is diversity, not uncertainty.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs.

        Returns
        -------
        ndarray of shape (M, n) or (M, n, outputs)
        """
        self._fitted()
        return self._members(self._validated_inputs(X))

    def diversity(self, X: Table, y: Any) -> AmbiguityDecomposition:
        """Ambiguity decomposition of the ensemble on given rows (equation 1).

        Parameters
        ----------
        X : {array-like, data frame} of shape (n, d)
            Inputs.
        y : array-like of shape (n,) or (n, outputs)
            Targets.

        Returns
        -------
        AmbiguityDecomposition
        """
        target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        return ambiguity_decomposition(self.predict_members(X), target)

    def collusion(
        self, X: Table, y: Any, X_test: Table | None = None, y_test: Any = None
    ) -> Collusion:
        """Whether single members predict well, or only their errors cancel (Jeffares et al. 2023).

        Parameters
        ----------
        X, y : array-like
            Training rows.
        X_test, y_test : array-like, optional
            Rows that the ensemble has not seen.

        Returns
        -------
        Collusion
        """
        members_test = None if X_test is None else self.predict_members(X_test)
        return collusion(self.predict_members(X), y, members_test, y_test)

    # ------------------------------------------------------------------------------------

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Restore the fitted model if a new fit fails or is interrupted."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _adopt(self, found: DeepFit) -> Self:
        self.__dict__.pop("path_", None)  # belongs to earlier heads
        self._fit = found
        self.network_: EnsembleMLP = found.network
        self.lam_ = found.lam
        for name in ("dof", "dof_std_error", "noise_variance"):
            value = getattr(found, name)
            setattr(self, f"{name}_", float(value[0]) if found.single else value)
        self.learning_rate_ = found.learning_rate
        self.lam_table_: LamTable | None = found.table
        self.history_: History = found.history
        self.n_epochs_ = found.n_epochs
        self.columns_: Schema | None = None if found.encoding is None else found.encoding.schema
        return self

    def _validated(self, X: Table, y: Any, before: DeepFit | None, *, reset: bool) -> TrainingRows:
        """Rows of a fit: encoded as those before, or as these rows themselves say."""
        encoding: Encoding | None = None
        if has_columns(X) if before is None else before.encoding is not None:
            table = self._table(X, reset=reset)
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but y is None.")
            least = {"ensure_min_samples": 2}
            target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y", **least)
            check_consistent_length(table, target)
            if before is None:
                look = FirstLook.at(table, target.reshape(len(target), -1), None, encoded=True)
                encoding = look.learn()[0].encoding
            else:
                encoding = before.encoding
            assert encoding is not None  # these rows are encoded
            rows = self._encoded(table, encoding)
        else:
            options = {"dtype": np.float64, "multi_output": True, "y_numeric": True}
            rows, target = validate_data(self, X, y, reset=reset, ensure_min_samples=2, **options)
            target = np.asarray(target, dtype=np.float64)
        for name, values in (("X", rows), ("y", target)):
            if np.abs(values).max() > LARGEST:
                raise ValueError(f"{name} has values above {LARGEST:g}, whose squares overflow.")
        return TrainingRows(rows, target.reshape(len(target), -1), target.ndim == 1, encoding)

    def _members(self, rows: FloatArray) -> FloatArray:
        found = self._fit
        return self._shaped(found.target.undo(self._run(found.network, rows)))

    def _fitted(self) -> DeepFit:
        check_is_fitted(self, "_fit")
        return self._fit

    def _validated_inputs(self, X: Table) -> FloatArray:
        encoding = self._fit.encoding
        if encoding is None:
            return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        return self._encoded(self._table(X, reset=False), encoding)

    def _table(self, X: Table, *, reset: bool) -> Table:
        """A table with columns of several kinds, checked."""
        if isinstance(X, (list, tuple)):
            X = np.asarray(X, dtype=object)
        return validate_table(self, X, reset=reset)

    def _run(self, network: EnsembleMLP, rows: FloatArray, average: bool = False) -> FloatArray:
        """Predictions in standardised units: (M, n, outputs), or with an axis of ensembles.

        With ``average`` those of the ensembles, without the axis of members.
        """
        theta = network.theta
        scaled = self._fit.inputs.apply(rows)
        blocks: list[Tensor] = []
        with torch.no_grad():
            for start in range(0, len(scaled), BLOCK):
                (block,) = tensors(theta.dtype, theta.device, X=scaled[start : start + BLOCK])
                members = network(block).to("cpu", torch.float64)
                blocks.append(members.mean(dim=-3) if average else members)
        return np.asarray(torch.cat(blocks, dim=-2).numpy())

    def _shaped(self, per_output: FloatArray) -> FloatArray:
        return per_output[..., 0] if self._fit.single else per_output

    def _encoded(self, table: Table, encoding: Encoding) -> FloatArray:
        """The columns of a table as numbers; without names they go by their positions."""
        frame = as_frame(table)
        if not (has_names(table) and hasattr(self, "feature_names_in_")):
            frame = frame.set_axis([column.name for column in encoding.schema.columns], axis=1)
        return encoding.encode(encoding.typed(frame))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
