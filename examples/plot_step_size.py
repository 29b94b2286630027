r"""
The step of a Monte-Carlo estimate
==================================

:func:`~negcorr.monte_carlo_dof` measures the response of a fit to a movement of its targets by a
step ε. Theorem 8 of the paper says what happens as ε → 0 if the fit is smooth: the estimate
converges to the degrees of freedom. This example watches it converge, and then shows a
fit that is not smooth.
"""

# %%
# A smooth fit that is not linear
# -------------------------------
# Kernel ridge whose bandwidth depends on the targets is not linear in them. Its
# degrees of freedom are the trace of a matrix of derivatives, which a refit for each of the 80
# targets gives to many digits.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.tree import DecisionTreeRegressor

from negcorr import monte_carlo_dof

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3, 3, size=(80, 1)), axis=0)
y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=80)


def moving_bandwidth(X, y):
    """Kernel ridge; the rougher the targets, the narrower the kernel."""
    width = 1.0 / (1.0 + np.mean(np.diff(y) ** 2))
    kernel = np.exp(-cdist(X, X, "sqeuclidean") / (2.0 * width**2))
    return kernel @ np.linalg.solve(kernel + 0.3 * np.eye(len(y)), y)


def along(fit, vector, step=1e-4):
    """Derivative of the fitted values along a vector, to many digits (Richardson)."""
    coarse = (fit(X, y + step * vector) - fit(X, y - step * vector)) / (2 * step)
    fine = (fit(X, y + step / 2 * vector) - fit(X, y - step / 2 * vector)) / step
    return (4 * fine - coarse) / 3


exact = sum(along(moving_bandwidth, unit)[i] for i, unit in enumerate(np.eye(len(y))))
print(f"degrees of freedom by a derivative for each target: {exact:.4f}")
many = monte_carlo_dof(moving_bandwidth, X, y, eps=1e-3, n_probes=400, random_state=0)
print(f"by 400 probes: {many.dof:.4f} ± {many.std_error:.4f}")

# %%
# For one fixed probe b the limit is bᵀJb, which is known here too. Algorithm 1 takes the fit at
# y + εb and that at y; its error falls as ε. The central difference, y + εb against y − εb,
# falls as ε², until rounding takes over.

steps = np.logspace(-7, 0, 29)
seen = []


def watched(X, y):
    seen.append(y)
    return moving_bandwidth(X, y)


options = {"probe": "gaussian", "n_probes": 1, "random_state": 0}
monte_carlo_dof(watched, X, y, eps=1.0, scheme="forward", **options)
probe = seen[-1] - y
limit = probe @ along(moving_bandwidth, probe)
errors = {
    scheme: [
        abs(monte_carlo_dof(moving_bandwidth, X, y, eps=eps, scheme=scheme, **options).dof - limit)
        for eps in steps
    ]
    for scheme in ("forward", "central")
}

# %%
# A fit that jumps
# ----------------
# The splits of a tree stay where they are for small movements of the targets and jump for larger
# ones. As ε → 0 the value goes to the number of leaves, which counts the choice of the splits
# as free. With steps of the size of the noise that choice is in the value, and this is what
# SURE and similar criteria need. A very small step is no remedy: sometimes it meets a
# jump, and divides it by ε.

tree = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0)
tree_steps = np.logspace(-4, 0.3, 12)
runs = [
    monte_carlo_dof(tree, X, y, eps=eps, probe="gaussian", n_probes=200, random_state=1)
    for eps in tree_steps
]

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"
plt.rcParams["font.size"] = 11
plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False

fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
for scheme, mark, colour, rate in (
    ("forward", "o-", ORANGE, "∝ ε"),
    ("central", "s-", BLUE, "∝ ε²"),
):
    label = "forward (Algorithm 1)" if scheme == "forward" else scheme
    left.loglog(steps, errors[scheme], mark, color=colour, markersize=5, label=label)
    left.text(1.7 * steps[14], 0.35 * errors[scheme][14], rate, color=colour, va="top")
left.set(
    title="smooth: kernel ridge with a moving bandwidth",
    xlabel="step ε",
    ylabel="error of one probe\n(degrees of freedom)",
)
left.legend(frameon=False, loc="upper left")
right.errorbar(
    tree_steps,
    [run.dof for run in runs],
    yerr=[2 * run.std_error for run in runs],
    fmt="o-",
    color=GREEN,
    capsize=3,
    markersize=5,
)
right.axhline(6, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
right.text(tree_steps[0], 7.0, "6 leaves", color=GREY, va="bottom")
right.axvline(0.3, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
right.text(0.27, 1.0, "noise", color=GREY, ha="right")
right.set(title="jumping: a tree of six leaves", xlabel="step ε", ylabel="degrees of freedom")
right.set_xscale("log")
right.set_ylim(0, 22)
for ax in (left, right):
    ax.grid(color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
plt.show()
