"""
Members, ensemble and interval at three λ
=========================================

A noisy sine, and an ensemble of 40 members that have three random Fourier features each. The
members are thin grey lines, their average is a thick blue one, with the interval that
:meth:`~negcorr.NCLRegressor.predict_interval` gives.

With λ = 0 each member is trained for itself: all underfit in the same places, and so does
their average. With λ near 1 only the average is trained: it follows the noise, and the members
are useless alone. In between is the λ that five-fold cross-validation chooses.

With a single input column the features of a member can be almost linearly dependent, and one of
the three λ is very near 1: both need ``solver="qr"``.
"""

import matplotlib.pyplot as plt
import numpy as np

from negcorr import NCLRegressor
from negcorr.bases import FourierFeatures

rng = np.random.default_rng(0)


def mean(x):
    return np.sin(4 * np.pi * x)


def draw(size):
    x = rng.uniform(0, 1, size)
    return x[:, np.newaxis], mean(x) + 0.3 * rng.normal(size=size)


X, y = draw(80)
basis = FourierFeatures(n_members=40, n_components=3, gamma=30)
model = NCLRegressor(basis, solver="qr").fit(X, y)

# %%
# One fit serves all three panels: ``with_lam`` moves it along its path.

BLUE, SKY, ORANGE, GREY = "#0072B2", "#56B4E9", "#D55E00", "#555555"
plt.rcParams["font.size"] = 11
plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False

grid = np.linspace(0, 1, 400)
inputs = grid[:, np.newaxis]
panels = {
    "λ = 0: trained apart": model.with_lam(0.0),
    f"λ = {model.lam_:.3f}: chosen by 5-fold": model,
    "λ = 1 − 10⁻⁶: trained as one": model.with_lam(gap=1e-6),
}

fig, axes = plt.subplots(1, 3, figsize=(12, 4.3), sharey=True, layout="constrained")
for ax, (title, fitted) in zip(axes, panels.items(), strict=True):
    low, high = fitted.predict_interval(inputs, coverage=0.95).T
    ax.fill_between(grid, low, high, color=SKY, alpha=0.3, lw=0, label="95 % interval")
    members = fitted.predict_members(inputs)
    lines = ax.plot(grid, members.T, color=GREY, lw=0.6, alpha=0.3, zorder=1)
    lines[0].set_label("members")
    ax.plot(X[:, 0], y, "o", color="black", markersize=3, label="training rows")
    ax.plot(grid, mean(grid), "--", color=ORANGE, lw=1.8, label="true mean")
    ax.plot(grid, fitted.predict(inputs), color=BLUE, lw=2.4, label="ensemble")
    heading = f"{title}\n{fitted.dof_:.0f} degrees of freedom"
    ax.set_title(heading, loc="left", fontsize=11)
    ax.set(xlim=(0, 1), xticks=[0, 0.5, 1], xlabel="x")
    spread = np.sqrt(fitted.diversity(inputs).diversity)
    ax.text(
        0.98,
        0.02,
        f"spread of members: {spread:.2g}",
        transform=ax.transAxes,
        ha="right",
        color=GREY,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2},
    )
axes[0].set(ylim=(-3, 3), ylabel="y")
handles, labels = axes[0].get_legend_handles_labels()
fig.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
plt.show()

# %%
# How often do the intervals contain new observations? The true mean and the noise are known here,
# so new data can tell. Coverage holds on average over training sets: here are twenty, with 2000 new
# observations each. The interval at λ = 0 is wide because it counts the bias; the one near λ = 1
# is wider than that of the chosen λ because it counts the variance.

found = []
for seed in range(20):
    tuned = NCLRegressor(basis, solver="qr", random_state=seed).fit(*draw(80))
    new_x, new_y = draw(2000)
    for fitted in (tuned.with_lam(0.0), tuned, tuned.with_lam(gap=1e-6)):
        low, high = fitted.predict_interval(new_x, coverage=0.95).T
        found.append((np.mean((low <= new_y) & (new_y <= high)), np.mean(high - low)))

covered, width = np.mean(np.reshape(found, (20, 3, 2)), axis=0).T
names = ["lam = 0", "chosen", "lam = 1 - 1e-6"]
for name, c, w in zip(names, covered, width, strict=True):
    print(f"{name:15} covers {c:.1%} on average, mean width {w:.2f}")
