r"""Degrees of freedom of deep ensembles without a step ε: derivatives computed during training.

Algorithm 1 trains a second time, on targets moved by ε along b. Here the limit ε → 0 of
Corollary 9 is taken in the training itself. Training is a long composition of steps, each a map
of weights, of the optimiser's averages and of targets. By the chain rule their derivatives along
b (the tangents) follow step by step,

.. math:: \dot g = \frac{\partial^2 L}{\partial\theta^2}\,\dot\theta
          + \frac{\partial^2 L}{\partial\theta\,\partial y}\,b, \qquad
          \dot\theta \leftarrow \dot\theta - \eta\,\dot g

for gradient descent. Products with second derivatives come from differentiating the gradient
once more, since second derivatives are symmetric: no matrix is formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from negcorr.deep.training.loop import Problem, Step, Training, TrainingState, train
from negcorr.deep.training.optimise import BETA_1, BETA_2, EPSILON
from negcorr.deep.training.perturbed_copies import DofEstimate, PerturbedCopies
from negcorr.exceptions import ChaoticTrainingWarning, warn_caller

__all__ = ["Tangents", "train_with_tangents"]

#: Where predictions move more than this many times as far as targets, training is chaotic.
LARGEST_RESPONSE = 3.0


@dataclass(frozen=True, repr=False)
class Tangents:
    """Derivatives of the predictions of E trained ensembles along K directions of the targets.

    Attributes
    ----------
    lams : tensor of shape (E,)
        λ of each ensemble.
    probes : tensor of shape (K, n, p)
        Directions b.
    images : tensor of shape (E, K, n, p)
        Derivatives along them, (∂F(X)/∂y) b, of the average over members at the training inputs,
        with batch norm on the statistics of the training set.
    """

    lams: Tensor
    probes: Tensor
    images: Tensor

    @property
    def responses(self) -> Tensor:
        """Length of every image over that of its probe, shape (E, K); 0 for a probe of zeros."""
        lengths = _lengths(self.images)
        probe_lengths = _lengths(self.probes).to(lengths)
        return lengths / torch.where(probe_lengths > 0, probe_lengths, 1.0)

    def dof(self) -> DofEstimate:
        """Degrees of freedom: mean of bᵀ (∂F(X)/∂y) b over probes, and its standard error.

        The error assumes that entries of probes are signs, as :func:`~negcorr.deep.draw_probes`
        draws them. NaN where an image is NaN.
        """
        # With a step of 1 and originals that predict 0, the differences are the images.
        groups = torch.cat([torch.zeros_like(self.images[:, :1]), self.images], dim=1)
        return PerturbedCopies(self.lams, self.probes, eps=1.0).dof(groups.flatten(0, 1))


def train_with_tangents(
    state: TrainingState, problem: Problem, training: Training, probes: Tensor
) -> Tangents:
    """Train, and differentiate the whole training along directions of the targets.

    Weights, losses and learning rates are those of :func:`~negcorr.deep.train`. Where the
    outcome is a smooth function of targets, the result is the limit of
    :class:`~negcorr.deep.PerturbedCopies` for small steps (Corollary 9), without a choice of the
    step and without its rounding errors.

    Parameters
    ----------
    state : TrainingState
        Just started; changed in place.
    problem : Problem
        One λ for each of the E ensembles.
    training : Training
    probes : tensor of shape (K, n, p)
        Directions b, the same for all ensembles.

    Returns
    -------
    Tangents

    Warns
    -----
    ChaoticTrainingWarning
        Where predictions move more than three times as far as the targets. Tangents are products of
        as many Jacobians as there were steps. If most of them increase lengths, trainings on almost
        equal targets diverge exponentially. The derivative then measures the speed of this
        divergence, not the flexibility of the fit. Use :class:`~negcorr.deep.PerturbedCopies` then:
        a finite step measures their distance at the end. Images are NaN if they are so long that
        rounding of the targets alone changes predictions as much.

    Notes
    -----
    Decisions by comparison (halving of rates, early stopping, the two sides of a relu) have the
    derivative 0 almost everywhere: only finite steps see the jumps of the outcome between one
    decision and another. Nearly the same holds for Adam's first steps, which are signs of gradients
    except for its 10⁻⁸: their dependence on the targets is lost, until later steps outweigh them.

    On a CPU a step costs two to three times as much as a step of an ensemble and K perturbed
    copies, and less without batch norm.

    Examples
    --------
    >>> import torch
    >>> from negcorr.deep import EnsembleMLP, Problem, Training, TrainingState
    >>> from negcorr.deep import draw_probes, initialise
    >>> from negcorr.deep.training.tangents import train_with_tangents
    >>> X = torch.linspace(-1, 1, 20, dtype=torch.float64).reshape(-1, 1)
    >>> problem = Problem(X, torch.sin(3 * X), torch.tensor([0.0, 0.9]))
    >>> network = EnsembleMLP(1, (4,), n_members=3, n_ensembles=2, dtype=torch.float64)
    >>> initialise(network, X, seed=0)
    >>> training = Training(max_epochs=50, optimiser="sgd", batch_size=None)
    >>> state = TrainingState.start(network, torch.tensor([0.1, 0.1]), training, seed=0)
    >>> tangents = train_with_tangents(state, problem, training, draw_probes(8, 20, 1, seed=0))
    >>> tangents.dof().dof.round(2).tolist()
    [[2.94], [2.95]]
    """
    if state.epoch > 0:
        raise ValueError(
            f"training has done {state.epoch} epochs: tangents are computed from the first step "
            "on, so that a training just started is needed (TrainingState.start)."
        )
    n, outputs = problem.Y.shape[-2:]
    if probes.ndim != 3 or len(probes) < 1 or tuple(probes.shape[1:]) != (n, outputs):
        raise ValueError(
            f"probes of shape {tuple(probes.shape)} do not fit Y of shape "
            f"{tuple(problem.Y.shape)}: expected (K, {n}, {outputs}) with K of at least 1."
        )
    step = _TangentStep(state, problem, probes)
    train(state, problem, training, step=step)
    images = step.images()
    # Beyond this length the last digit of the targets moves predictions as far as the images reach.
    limit = _lengths(probes).to(images.device) / torch.finfo(images.dtype).eps
    undetermined = ~(_lengths(images) <= limit)  # NaN as well
    images = images.masked_fill(undetermined[..., None, None], torch.nan)
    tangents = Tangents(problem.lam, probes, images)
    responses = tangents.responses.cpu().nan_to_num(nan=torch.inf).amax(dim=1)
    # Losses already report ensembles that diverged.
    responses = responses.masked_fill(state.diverged, 0.0)
    chaotic = int((responses > LARGEST_RESPONSE).sum())
    if chaotic:
        worst = int(responses.argmax())
        warn_caller(
            f"training is chaotic at {chaotic} of {len(responses)} values of λ: predictions move "
            f"up to {float(responses[worst]):.3g} times as far as targets do (at λ = "
            f"{float(tangents.lams[worst]):.6g}; inf where no digit of the tangents is "
            "determined), which is no measure of flexibility. Use PerturbedCopies with a step of "
            "finite length, a lower learning rate or fewer epochs.",
            ChaoticTrainingWarning,
        )
    return tangents


class _TangentStep(Step):
    """One step on one batch, of weights and of K tangents."""

    def __init__(self, state: TrainingState, problem: Problem, probes: Tensor) -> None:
        super().__init__(state, problem)
        self.probes = probes.to(self.targets)
        zero = self.theta.new_zeros(len(probes), *self.theta.shape)
        # Tangents of the weights, and of Adam's averages of gradients and of their squares.
        self.weights, self.first, self.second = zero, zero.clone(), zero.clone()

    def __call__(self, batch: Tensor | None) -> Tensor:
        network = self.state.network
        inputs, targets, probes = self.inputs, self.targets, self.probes
        if batch is not None:
            inputs, targets, probes = inputs[..., batch], targets[:, batch], probes[:, batch]
        targets = targets.detach().requires_grad_()
        loss: Tensor = self.loss(network.by_ensemble(network.run(inputs, self.layers)), targets)
        parts = torch.autograd.grad(loss.sum(), [*self.leaves, targets], create_graph=True)
        # Second derivatives are symmetric: the derivative of the loss along a tangent,
        # differentiated by the weights, is the derivative of the gradient along the tangent.
        along = [*self._by_leaf(), probes.unsqueeze(1).expand(-1, len(targets), -1, -1)]
        changes = torch.autograd.grad(parts, self.leaves, along, is_grads_batched=True)
        gradient = torch.cat([part.detach().flatten(1) for part in parts[:-1]], dim=1)
        self._move(gradient, torch.cat([change.flatten(2) for change in changes], dim=2))
        return loss.detach()

    def images(self) -> Tensor:
        """Tangents of the fitted values, shape (E, K, n, p)."""
        network = self.state.network
        # With all rows as one batch, batch norm uses the statistics of the training set.
        fitted = network.by_ensemble(network.run(self.inputs, self.layers)).mean(dim=1)
        # Vector-Jacobian products are linear in the vector: their derivative by it is the Jacobian.
        weights = torch.zeros_like(fitted).requires_grad_()
        parts = torch.autograd.grad(fitted, self.leaves, weights, create_graph=True)
        (images,) = torch.autograd.grad(parts, weights, self._by_leaf(), is_grads_batched=True)
        return images.transpose(0, 1)

    def _by_leaf(self) -> list[Tensor]:
        """Tangents of the weights, a tensor of shape (K, ...) for each leaf."""
        layers = self.state.network.layers(self.weights.flatten(0, 1))
        leaves = [value for layer in layers for value in layer.values()]
        return [leaf.view(*self.weights.shape[:2], *leaf.shape[1:]) for leaf in leaves]

    def _move(self, gradient: Tensor, change: Tensor) -> None:
        """Move weights by :meth:`Steps.move`, and tangents by its derivative."""
        steps, rate = self.state.steps, self.state.schedule.rate
        seen, members = gradient, len(self.theta) // len(rate)
        if steps.clip is not None:
            parts = gradient.view(len(rate), -1)
            changes = change.reshape(len(change), len(rate), -1)
            norm = parts.norm(dim=1, keepdim=True)
            length = norm.clamp(min=steps.clip)
            # Where a gradient is shortened, only changes of its direction remain.
            along = (parts / length * changes).sum(dim=2, keepdim=True)
            turned = changes - torch.where(norm > steps.clip, along, 0.0) * (parts / length)
            scale = steps.clip / length
            seen, change = (parts * scale).view_as(seen), (turned * scale).view_as(change)
        if steps.weight_decay > 0:
            seen = seen.add(self.theta, alpha=steps.weight_decay)
            change = change.add(self.weights, alpha=steps.weight_decay)
        steps.move(self.theta, gradient, rate, len(rate))
        per_row = rate.unsqueeze(1).expand(-1, members).reshape(-1, 1)
        if steps.kind == "sgd":
            self.weights.addcmul_(change, per_row, value=-1.0)
            return
        self.first.lerp_(change, 1.0 - BETA_1)
        self.second.mul_(BETA_2).addcmul_(seen, change, value=2.0 * (1.0 - BETA_2))
        first_share = (1.0 - torch.pow(BETA_1, steps.count)).to(rate.dtype)
        second_share = (1.0 - torch.pow(BETA_2, steps.count)).to(rate.dtype)
        root = (steps.second / second_share).sqrt()
        size = root + EPSILON
        # A root of 0 has no derivative, but is multiplied by the first average, which is then 0 as
        # well: all gradients were 0 (or so small that the 10⁻⁸ hides them).
        stretch = torch.where(root > 0, self.second / (2.0 * second_share * root), 0.0)
        turned = (self.first - steps.first * (stretch / size)) / size
        self.weights.addcmul_(turned, per_row / first_share, value=-1.0)


def _lengths(fields: Tensor) -> Tensor:
    """Euclidean lengths over the last two axes, samples and outputs."""
    lengths: Tensor = torch.linalg.vector_norm(fields.double(), dim=(-2, -1))
    return lengths
