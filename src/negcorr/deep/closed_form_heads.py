r"""Output layers (heads) in closed form, by Theorems 4 and 5, on fixed hidden layers.

A member's output is a linear map of the signals of its last hidden layer, :math:`f_m(x) =
w_m^\top \phi_m(x) + b_m`. With fixed hidden layers the :math:`\phi_m` are fixed basis functions:
the heads that minimise the NCL loss, and their exact degrees of freedom, follow at every λ from
one factorisation of the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from negcorr._common.types import FloatArray
from negcorr.criteria.noise import difference_noise_variance
from negcorr.deep.training.networks import EnsembleMLP
from negcorr.exceptions import PrecisionWarning, warn_caller
from negcorr.path.path import NCLPath
from negcorr.path.tune import ncl_path

__all__ = ["RefittedHeads", "head_features", "refit_heads"]

#: Largest root mean square, in standard deviations of y, of rounding errors of F without a warning.
TOLERATED_ROUNDING = 1e-3


@dataclass(frozen=True, repr=False)
class RefittedHeads:
    """An ensemble whose heads are those of Theorem 4 at one λ, and the path that they come from.

    Numbers are scalars for y of shape (n,), and one for each output for (n, p).

    Attributes
    ----------
    network : EnsembleMLP
        A copy of the ensemble with the new heads, in evaluation mode, without an axis of ensembles.
    path : NCLPath
        Every curve over λ, for the same features.
    """

    network: EnsembleMLP
    path: NCLPath

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(lam={self.lam!r}, dof={self.dof!r}, "
            f"criterion={self.path.criterion!r}, n_members={self.network.n_members})"
        )

    @property
    def lam(self) -> float | FloatArray:
        """The chosen λ (1.0 where the gap is below the resolution of a float)."""
        return self.path.lam

    @property
    def gap(self) -> float | FloatArray:
        """The chosen gap 1 − λ."""
        return self.path.gap

    @property
    def dof(self) -> float | FloatArray:
        """Degrees of freedom of the heads at the chosen λ (Theorem 5), the intercept included."""
        return self.path.dof()

    @property
    def noise_variance(self) -> float | FloatArray:
        """σ² from the residuals at the chosen λ; SURE uses ``path.noise_variance``."""
        return self.path.residual_noise_variance()


def head_features(network: EnsembleMLP, X: Any, *, ensemble: int | None = None) -> FloatArray:
    """Signals of the last hidden layer: the basis functions of the output layers.

    Parameters
    ----------
    network : EnsembleMLP
        Trained; it is evaluated with the statistics of its training set, and is not changed.
    X : array-like or tensor of shape (n, d)
        Inputs.
    ensemble : int or None, default=None
        Which of E ensembles; None where there is only one.

    Returns
    -------
    ndarray of shape (n, M·H)
        Columns m·H to (m + 1)·H − 1 are member m's; without hidden layers, the inputs for each
        member. Computed in double precision even for a network of single precision: where signals
        nearly depend on each other, their rounding errors would act as further features.

    Examples
    --------
    >>> import torch
    >>> from negcorr.deep import EnsembleMLP, initialise
    >>> from negcorr.deep.closed_form_heads import head_features
    >>> X = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    >>> network = EnsembleMLP(3, (6, 4), n_members=5)
    >>> initialise(network, X, seed=0)
    >>> network.calibrate(X)
    >>> head_features(network, X).shape
    (50, 20)
    """
    alone = _one_ensemble(network, ensemble).to("cpu", torch.float64)
    inputs = _inputs(network, X)
    members, width = alone.n_members, alone.widths[-2]
    layers = alone.layers(alone.theta.detach())
    # With the identity in place of the heads, outputs are the signals of the last hidden layer.
    identity = torch.eye(width, dtype=torch.float64).expand(members, -1, -1)
    layers[-1] = {"weight": identity, "bias": identity.new_zeros(members, width, 1)}
    with torch.no_grad():
        signals = alone.run(inputs.T, layers)
    features = signals.permute(2, 0, 1).reshape(len(inputs), members * width).numpy()
    if not np.isfinite(features).all():
        raise ValueError(
            "the signals of the last hidden layer are not finite: the training has diverged, or "
            "X is far outside of what the network was trained on."
        )
    return np.ascontiguousarray(features)


def refit_heads(
    network: EnsembleMLP,
    X: Any,
    y: Any,
    *,
    criterion: str = "sure",
    lam: npt.ArrayLike | Literal["auto"] = "auto",
    gap: npt.ArrayLike | None = None,
    noise_variance: Any = None,
    cv: Any = 5,
    sample_weight: npt.ArrayLike | None = None,
    alpha: float = 0.0,
    solver: str = "qr",
    ensemble: int | None = None,
) -> RefittedHeads:
    r"""The best output layers (heads) of a trained ensemble, with their exact degrees of freedom.

    Parameters
    ----------
    network : EnsembleMLP
        Trained; it is not changed.
    X : array-like or tensor of shape (n, d)
        Inputs.
    y : array-like or tensor of shape (n,) or (n, p)
        Targets.
    criterion : {"sure", "kfold", "gcv", "loo", "aic", "aicc", "bic", "cp"}, default="sure"
        What chooses λ.
    lam, gap : float, array-like of shape (p,), "auto" or None
        A λ, or 1 − λ, to be used instead.
    noise_variance, cv, sample_weight, alpha
        As in :func:`negcorr.ncl_path`; ``noise_variance="difference"`` compares neighbours in X.
    solver : {"qr", "gram", "auto"}, default="qr"
        As there; the signals of a hidden layer often nearly depend on each other.
    ensemble : int or None, default=None
        Which of E ensembles; None where there is only one.

    Returns
    -------
    RefittedHeads
        A new network and its path. A :class:`~negcorr.exceptions.PrecisionWarning` says where the
        network's precision is not enough: near λ = 1 the weights of heads are large, with
        predictions that cancel.

    Notes
    -----
    Theorems 4 and 5 need basis functions that do not depend on y. If X and y are the rows that the
    network was trained on, then

    - ``dof`` is that of the heads alone, given the hidden layers. Another part of that of the whole
      training (which :class:`~negcorr.deep.PerturbedCopies` estimates) is missing: how the features
      depend on y. It is usually far too small (but no lower bound, since the other part may have
      either sign);
    - SURE, GCV and all other criteria are optimistic, since they count too few degrees of freedom;
      ``"kfold"`` and ``"loo"`` as well, since the hidden layers were trained on held-out rows too.

    For rows that the network was not trained on, all of it is exact. With ``alpha=0`` no other
    heads on these hidden layers have a lower NCL loss on these rows, at the chosen λ.

    Examples
    --------
    >>> import torch
    >>> from negcorr.deep import EnsembleMLP, Problem, Training, TrainingState
    >>> from negcorr.deep import initialise, refit_heads, train
    >>> X, noise = torch.randn(2, 200, 3, generator=torch.Generator().manual_seed(0)).double()
    >>> y = torch.sin(2 * X[:, :1]) + 0.3 * noise[:, :1]
    >>> network = EnsembleMLP(3, (5,), n_members=4, dtype=torch.float64)
    >>> initialise(network, X, seed=0)
    >>> training = Training(max_epochs=50, batch_size=None)
    >>> state = TrainingState.start(network, torch.tensor([0.02]), training, seed=0)
    >>> _ = train(state, Problem(X[:100], y[:100], torch.tensor([0.5])), training)

    The heads are fitted on the other 100 rows, which the network has not seen:

    >>> heads = refit_heads(network, X[100:], y[100:, 0])
    >>> heads.path.dof([0.0, 1.0]).round(6), 6 < heads.dof < 21
    (array([ 6., 21.]), True)
    >>> heads.network(X).shape
    torch.Size([4, 200, 1])
    """
    inputs = _inputs(network, X)
    features = head_features(network, inputs, ensemble=ensemble)
    target, n, p = _numbers(y), len(inputs), network.widths[-1]
    allowed = [(n,), (n, 1)] if p == 1 else [(n, p)]
    if target.shape not in allowed:
        raise ValueError(
            f"y must have the shape {' or '.join(map(str, allowed))}, for {n} rows of X and a "
            f"network of {p} outputs, got {target.shape}."
        )
    if isinstance(noise_variance, str) and noise_variance == "difference":
        # Neighbours in the inputs, not in the features, which may depend on the targets.
        noise_variance = difference_noise_variance(inputs.numpy(), target, sample_weight)
    starts = network.widths[-2] * np.arange(network.n_members + 1)
    choice: dict[str, Any] = {"criterion": criterion, "lam": lam, "gap": gap, "cv": cv}
    choice |= {"noise_variance": noise_variance, "sample_weight": sample_weight}
    path = ncl_path(features, target, starts, alpha=alpha, solver=solver, **choice)
    refitted = _one_ensemble(network, ensemble)
    weights = path.spectrum.member_coef(gap=path.chosen_gap)
    by_member = weights.reshape(p, network.n_members, -1).transpose(1, 0, 2)
    biases = path.spectrum.member_intercepts(weights)
    head = refitted.layers(refitted.theta.detach())[-1]
    head["weight"].copy_(torch.from_numpy(np.ascontiguousarray(by_member)))
    head["bias"].copy_(torch.from_numpy(biases).unsqueeze(2))
    with torch.no_grad():
        average = refitted(inputs.to(refitted.theta)).mean(dim=0).cpu().to(torch.float64).numpy()
    coef = path.spectrum.coef(gap=path.chosen_gap)
    rounding = average - (features @ coef.T + path.spectrum.intercept(coef))
    spread = np.sqrt(path.spectrum.total)
    share = np.sqrt(np.mean(rounding**2, axis=0)) / np.where(spread > 0, spread, 1.0)
    # Not "share > …": predictions that overflow are NaN.
    if not bool((share <= TOLERATED_ROUNDING).all()):
        warn_caller(
            f"the refitted heads at gap={float(path.chosen_gap.min()):.1e} are too large for "
            f"{refitted.theta.dtype}: rounding moves the average of the members by "
            f"{float(share.max()):.1e} standard deviations of y. Refit network.double(), a larger "
            "gap, or with alpha > 0.",
            PrecisionWarning,
        )
    return RefittedHeads(refitted, path)


def _one_ensemble(network: EnsembleMLP, ensemble: int | None) -> EnsembleMLP:
    """A copy of one ensemble, in evaluation mode and without an axis of ensembles."""
    n_ensembles = network.n_rows // network.n_members
    number = 0 if ensemble is None and n_ensembles == 1 else ensemble
    if not isinstance(number, (int, np.integer)) or not 0 <= number < n_ensembles:
        last = n_ensembles - 1
        raise ValueError(f"ensemble={ensemble!r} must be a whole number from 0 to {last}.")
    return network.pick(int(number))


def _inputs(network: EnsembleMLP, X: Any) -> Tensor:
    rows, d = _numbers(X), network.widths[0]
    if rows.ndim != 2 or rows.shape[1] != d or len(rows) == 0:
        raise ValueError(f"X must have the shape (n, {d}), as the network has, got {rows.shape}.")
    return torch.from_numpy(rows)


def _numbers(values: Any) -> FloatArray:
    """A copy as a float64 array on the CPU."""
    if isinstance(values, Tensor):
        values = values.detach().to("cpu", torch.float64).numpy()
    return np.array(values, dtype=np.float64)
