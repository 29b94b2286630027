"""What one batched program saves over a Python loop over members, side by side in one run.

    python benchmarks/speed/deep.py [--device cuda]

30 members of three hidden layers of 5 nodes, 404 rows, full batches, Adam and batch norm, on the
CPU or, with ``--device cuda``, on a GPU. Both sides do the same arithmetic and end with the same
predictions. Wanted: one epoch at least 8 times faster, a grid of 21 values of λ at least 12 times
faster than 21 runs.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from time import perf_counter

import torch
from torch import nn

from negcorr.deep.training.loop import Problem, Training, TrainingState, train
from negcorr.deep.training.networks import EnsembleMLP, initialise

ROWS, FEATURES, MEMBERS, HIDDEN, RATE = 404, 13, 30, (5, 5, 5), 0.01


def plain_members(network: EnsembleMLP) -> list[nn.Sequential]:
    """Members of the first ensemble as modules of their own."""
    members = []
    for row in range(MEMBERS):
        parts: list[nn.Module] = []
        for layer in network.layers():
            _, out, before = layer["weight"].shape
            linear = nn.Linear(before, out, bias="bias" in layer)
            parts.append(linear)
            with torch.no_grad():
                linear.weight.copy_(layer["weight"][row])
                if "bias" in layer:
                    linear.bias.copy_(layer["bias"][row, :, 0])
            if "scale" in layer:
                norm = nn.BatchNorm1d(out)
                with torch.no_grad():
                    norm.weight.copy_(layer["scale"][row, :, 0])
                    norm.bias.copy_(layer["shift"][row, :, 0])
                parts += [norm, nn.Tanh()]
        members.append(nn.Sequential(*parts).to(network.theta.device))
    return members


def looped(network: EnsembleMLP, problem: Problem, epochs: int) -> tuple[float, torch.Tensor]:
    """Seconds of an epoch, and predictions, of members in a loop."""
    members = plain_members(network)
    optimiser = torch.optim.Adam([p for m in members for p in m.parameters()], lr=RATE)
    lam = float(problem.lam[0])

    def epoch() -> None:
        optimiser.zero_grad()
        out = torch.stack([member(problem.X) for member in members])
        own = ((out - problem.Y) ** 2).mean()
        ((1 - lam) * own + lam * ((out.mean(0) - problem.Y) ** 2).mean()).backward()
        optimiser.step()

    seconds = timed(epoch, epochs, problem.X.device)
    with torch.no_grad():
        return seconds, torch.stack([member(problem.X) for member in members])


def batched(network: EnsembleMLP, problem: Problem, epochs: int) -> tuple[float, torch.Tensor]:
    """Seconds of an epoch, and predictions, of all members at once."""
    training = Training(max_epochs=epochs, batch_size=None)
    rates = torch.full((len(problem.lam),), RATE, dtype=torch.float64)
    state = TrainingState.start(network, rates, training, seed=0)
    before = now(problem.X.device)
    train(state, problem, training)
    seconds = (now(problem.X.device) - before) / epochs
    network.eval()
    with torch.no_grad():
        return seconds, network(problem.X)


def timed(epoch: object, epochs: int, device: torch.device) -> float:
    before = now(device)
    for _ in range(epochs):
        epoch()  # type: ignore[operator]
    return (now(device) - before) / epochs


def now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    return perf_counter()


def made(lams: torch.Tensor, device: str) -> tuple[EnsembleMLP, Problem]:
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(ROWS, FEATURES, generator=generator)
    Y = torch.sin(X[:, :1]) + 0.1 * torch.randn(ROWS, 1, generator=generator)
    network = EnsembleMLP(FEATURES, HIDDEN, n_members=MEMBERS, n_ensembles=len(lams))
    initialise(network, X, seed=0)
    return network.to(device), Problem(X.to(device), Y.to(device), lams)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=50)
    options = parser.parse_args()
    device, epochs = options.device, options.epochs
    for _ in range(2):  # the first round warms up
        one, problem = made(torch.tensor([0.5]), device)
        loop_seconds, expected = looped(one, problem, epochs)
        seconds, found = batched(one, problem, epochs)
        grid, many = made(torch.linspace(0.0, 1.0, 21), device)
        grid_seconds, _ = batched(grid, many, epochs)
    report = {
        "machine": platform.machine() if device == "cpu" else torch.cuda.get_device_name(),
        "threads": torch.get_num_threads(),
        "looped_ms": 1e3 * loop_seconds,
        "batched_ms": 1e3 * seconds,
        "grid_ms": 1e3 * grid_seconds,
        "epoch_ratio": loop_seconds / seconds,
        "grid_ratio": 21 * loop_seconds / grid_seconds,
        "largest_difference": float((found[0] - expected).abs().max()),
    }
    for name, value in report.items():
        print(f"{name}: {value:.3g}" if isinstance(value, float) else f"{name}: {value}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"deep-{device}.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
