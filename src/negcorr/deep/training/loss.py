"""The NCL loss (equations 2 and 3) on tensors of member predictions."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

__all__ = ["NCLLoss"]


class NCLLoss(nn.Module):
    r"""Negative Correlation Learning loss of one ensemble, or of many side by side.

    Parameters
    ----------
    lam : float or array-like of shape (E,)
        The knob λ in [0, 1], one for all or one for each of E ensembles.
    form : {"combined", "penalty"}, default="combined"
        Equation 3, :math:`(1-\lambda)\frac1M\sum_m (f_m-y)^2 + \lambda (F-y)^2`, or equation 2,
        :math:`\frac1M\sum_m (f_m-y)^2 - \lambda\frac1M\sum_m (f_m-F)^2`. They are equal, and so
        are their gradients; the first does not subtract large numbers near λ = 1.

    Notes
    -----
    The gradient in a member's prediction is
    :math:`\frac{2}{M}\left((f_m - y) - \lambda (f_m - F)\right)`: a step of plain gradient descent
    with rate η on one sample is the update of Liu and Yao with α = 2η/M (Section 2.2).

    Examples
    --------
    >>> import torch
    >>> from negcorr.deep import NCLLoss
    >>> members = torch.tensor([[1.0, 2.0], [3.0, 2.0]])
    >>> float(NCLLoss(0.5)(members, torch.tensor([1.0, 2.0])))
    0.75
    """

    lam: Tensor
    gap: Tensor

    def __init__(self, lam: Any, form: Literal["combined", "penalty"] = "combined") -> None:
        super().__init__()
        if form not in ("combined", "penalty"):
            raise ValueError(f"form={form!r} is unknown; allowed are 'combined' and 'penalty'.")
        self.form = form
        # Double precision, so that 1 − λ is exact; the result has that of the predictions.
        try:
            value = torch.as_tensor(lam, dtype=torch.float64).detach().clone()
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(f"lam={lam!r} must be a number or of shape (E,).") from error
        if value.ndim > 1:
            raise ValueError(f"lam must be a number or of shape (E,), got {tuple(value.shape)}.")
        if not bool(((value >= 0) & (value <= 1)).all()):
            raise ValueError(f"lam={lam!r} must lie in [0, 1].")
        self.register_buffer("lam", value)
        # A separate buffer: .to(torch.float32) may round λ to 1, and 1 − λ would be lost.
        self.register_buffer("gap", 1.0 - value)

    def extra_repr(self) -> str:
        """Shown by ``repr``."""
        lam = self.lam.tolist() if self.lam.numel() <= 4 else f"{self.lam.numel()} values"
        return f"lam={lam}, form={self.form!r}"

    def forward(self, members: Tensor, target: Tensor) -> Tensor:
        """Mean loss over samples and outputs.

        Parameters
        ----------
        members : tensor of shape (M, n, ...) or (E, M, n, ...)
            Predictions of every member; with an axis of ensembles where ``lam`` has one.
        target : tensor of shape (n, ...) or (E, n, ...)
            Targets, the same for all ensembles or one set for each.

        Returns
        -------
        tensor of shape () or (E,)
        """
        several = self.lam.ndim == 1
        axis = 1 if several else 0
        if several and (members.ndim < 3 or members.shape[0] != len(self.lam)):
            raise ValueError(
                f"members of shape {tuple(members.shape)} do not fit lam of shape "
                f"{tuple(self.lam.shape)}: the first axis must be that of the ensembles."
            )
        samples = members.shape[axis + 1 :]
        allowed = [tuple(samples), (*members.shape[:axis], *samples)]
        if tuple(target.shape) not in allowed:
            raise ValueError(
                f"target of shape {tuple(target.shape)} does not fit members of shape "
                f"{tuple(members.shape)}: expected {' or '.join(map(str, dict.fromkeys(allowed)))}."
            )
        y = target.to(members.dtype)
        y = y.unsqueeze(axis) if y.ndim == members.ndim - 1 else y
        lam, gap = self.lam.to(members.dtype), self.gap.to(members.dtype)
        ensemble = members.mean(dim=axis, keepdim=True)
        own = _mean_square(members - y, several)
        if self.form == "combined":
            return gap * own + lam * _mean_square(ensemble - y, several)
        return own - lam * _mean_square(members - ensemble, several)


def _mean_square(difference: Tensor, several: bool) -> Tensor:
    return (difference**2).flatten(1 if several else 0).mean(dim=-1)
