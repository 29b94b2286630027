"""
How complex is a forest, really?
================================

Degrees of freedom count parameters in least squares. :func:`~negcorr.monte_carlo_dof` extends the
count to any regressor: it moves the targets a little, fits again, and measures how far the
fitted values follow. This example does so for a random forest, for gradient boosting, and for
an NCL ensemble, whose degrees of freedom are known exactly.
"""

# %%
# Measure
# -------
# The targets of the diabetes data measure the progression of the disease, with a noise of about
# 54 units. Trees split differently when targets move, so their fits jump, and a step of the size of
# the noise averages over the jumps. The same step is used for all models here.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from negcorr import NCLRegressor, difference_noise_variance, monte_carlo_dof

X, y = load_diabetes(return_X_y=True)
noise = difference_noise_variance(X, y) ** 0.5
print(f"noise: {noise:.0f} units of the target, whose standard deviation is {y.std():.0f}")


def measure(estimators):
    """dof and standard error of each."""
    runs = [
        monte_carlo_dof(estimator, X, y, eps=noise / 2, n_probes=8, random_state=0)
        for estimator in estimators
    ]
    return np.array([run.dof for run in runs]), np.array([run.std_error for run in runs])


depths = np.array([1, 2, 3, 4, 6, 8, 12])
forest = measure(RandomForestRegressor(30, max_depth=depth) for depth in depths)
rounds = np.array([5, 10, 20, 40, 80, 160, 320])
boosting = measure(GradientBoostingRegressor(n_estimators=n, max_depth=3) for n in rounds)

# %%
# NCL needs no probes: one fit knows the degrees of freedom at every λ. The dots check it.

model = NCLRegressor(basis="fourier").fit(X, y)
gaps = np.logspace(0, -4, 121)
dots = np.logspace(0, -4, 7)
ncl = measure(NCLRegressor(basis="fourier", gap=gap) for gap in dots)

# %%
# Compare
# -------
# Each of the three has one parameter that raises its complexity, and degrees of freedom are one
# scale on which they can be compared. A forest of depth 4 has about as many degrees of freedom as
# 20 rounds of boosting. The fitted values of a forest of deep trees follow, on average, more than
# half of every movement of a target.

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"
plt.rcParams["font.size"] = 11
plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False

fig, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")


def dotted(ax, x, measured, colour, label=None, line=True):
    ax.errorbar(
        x,
        measured[0],
        yerr=2 * measured[1],
        fmt="o-" if line else "o",
        color=colour,
        linewidth=1.5,
        markersize=6,
        capsize=3,
        label=label,
    )


dotted(axes[0], depths, forest, GREEN)
axes[0].set(title="random forest", xlabel="greatest depth of a tree", xticks=[1, 2, 4, 6, 8, 12])
dotted(axes[1], rounds, boosting, ORANGE)
axes[1].set(title="gradient boosting", xlabel="rounds, trees of depth 3", xscale="log")
axes[1].set_xticks(rounds, rounds)
axes[1].minorticks_off()
axes[2].plot(gaps, model.path_.dof(gap=gaps), color=BLUE, linewidth=2, label="exact")
dotted(axes[2], dots, ncl, BLUE, "Monte Carlo", line=False)
axes[2].set(title="NCL ensemble", xlabel="λ", xscale="log", xlim=(1.3, 0.75e-4))
ticks = [1.0, 1e-1, 1e-2, 1e-3, 1e-4]
axes[2].set_xticks(ticks, [f"{1 - gap:.4g}" for gap in ticks])
axes[2].minorticks_off()
axes[2].axvline(model.gap_, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
axes[2].text(model.gap_ * 0.8, 150, f"λ = {model.lam_:.2f}\nchosen", color=GREY, va="bottom")
axes[2].legend(frameon=False, loc="upper left", bbox_to_anchor=(0.2, 1.0))
for ax in axes:
    ax.set_ylim(0, None)
    ax.grid(axis="y", color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
axes[0].set_ylabel("degrees of freedom\n(of 442 patients)")
fig.suptitle("Complexity of three models on one scale (bars: two standard errors)", fontsize=12)
plt.show()

# %%
# Degrees of freedom only rise with these parameters: no step down is larger than its error bars.

for name, (dof, error) in {"forest": forest, "boosting": boosting, "NCL": ncl}.items():
    steps = np.diff(dof)
    slack = 3 * np.hypot(error[1:], error[:-1])
    monotone = "monotone" if (steps > -slack).all() else "not monotone"
    print(f"{name:8s} dof {dof[0]:5.1f} to {dof[-1]:5.1f}, {monotone}")
