"""Where tensors live: names of devices, checked before anything is computed."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["resolve_device"]


def resolve_device(device: Any = "auto") -> torch.device:
    """The torch device of a name.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"} or str or torch.device, default="auto"
        "auto" is "cuda" where there is one, else "cpu"; "cuda:1" and the like name one of several.

    Returns
    -------
    torch.device

    Examples
    --------
    >>> from negcorr.deep import resolve_device
    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not isinstance(device, str | torch.device):
        raise TypeError(
            f"device={device!r} must be 'cpu', 'cuda' or 'auto', got {type(device).__name__}."
        )
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"device={device!r} is unknown; allowed are 'cpu', 'cuda' and 'auto'.")
    if found.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(
                f"device={str(device)!r}, but torch sees no CUDA device here; allowed are 'cpu' "
                "and 'auto'."
            )
        if found.index is not None and found.index >= torch.cuda.device_count():
            raise ValueError(
                f"device={str(device)!r}, but torch sees {torch.cuda.device_count()} CUDA "
                "device(s), counted from 0."
            )
    return found
