"""
Every λ from one fit
====================

One fit of :class:`~negcorr.NCLRegressor` knows every curve at every λ. This example draws those
curves for the diabetes data of scikit-learn, shows what the ambiguity decomposition does along
the path, and moves the fitted model to other λ without a refit.

λ is drawn through the *gap* 1 − λ, on a logarithmic axis that runs from λ = 0 at the left to
λ near 1 at the right: the range from 0.99 to 1 needs as much room as the rest.
"""

# %%
# Fit
# ---
# The targets measure the progression of diabetes one year after the baseline, on a scale from 25
# to 346. A third of the 442 patients is kept for testing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from negcorr import NCLRegressor

X, y = load_diabetes(return_X_y=True)
parts = train_test_split(X, y, test_size=1 / 3, random_state=0)
X_train, X_test, y_train, y_test = parts

model = NCLRegressor(basis="fourier").fit(X_train, y_train)
print(model.summary())

# %%
# Errors and degrees of freedom along the path
# --------------------------------------------
# Every method of ``path_`` takes an array of gaps. SURE estimates the error against the
# noise-free function at the training inputs; σ² is added to it here, so that all three curves
# are about errors against observed targets.

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
GREY = "#555555"
plt.rcParams["font.size"] = 11
plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False

path = model.path_
gaps = np.logspace(0, -4, 161)


def gap_axis(ax, *, numbers=True):
    """λ rises from left to right: a logarithmic axis of gaps, largest first."""
    ax.set_xscale("log")
    ax.set_xlim(1.0, gaps[-1])
    ticks = [1.0, 1e-1, 1e-2, 1e-3, 1e-4]
    ax.set_xticks(ticks, [f"{1 - g:.4g}" for g in ticks] if numbers else [])
    ax.minorticks_off()
    ax.axvline(model.gap_, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=0)


fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(7.5, 6.6), height_ratios=[3, 2], sharex=True, layout="constrained"
)
curves = [
    ("5-fold error", path.kfold(gap=gaps), ORANGE),
    ("SURE + σ²", path.sure(gap=gaps) + path.noise_variance, BLUE),
    ("training error", path.train_error(gap=gaps), GREEN),
]
for label, values, colour in curves:
    top.plot(gaps, values, color=colour, linewidth=2, label=label)
top.set_ylim(0, 6500)
top.set_ylabel("mean squared error\n(target units squared)")
top.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.27, 1.0))
gap_axis(top, numbers=False)
top.annotate(
    f"chosen by 5-fold:\nλ = {model.lam_:.2f}",
    (model.gap_, 600),
    xytext=(6, 0),
    textcoords="offset points",
    color=GREY,
    va="center",
)

bottom.plot(gaps, path.dof(gap=gaps), color=PURPLE, linewidth=2)
bottom.plot(model.gap_, model.dof_, "o", color=PURPLE)
bottom.annotate(
    f"{model.dof_:.0f} degrees of freedom",
    (model.gap_, model.dof_),
    xytext=(8, -9),
    textcoords="offset points",
    color=GREY,
    va="center",
)
bottom.set_ylim(0, None)
bottom.set_ylabel("degrees of freedom")
bottom.set_xlabel("λ (logarithmic in the gap 1 − λ)")
gap_axis(bottom)
fig.align_ylabels()
plt.show()

# %%
# More diversity is more freedom: degrees of freedom rise and the training error falls along the
# whole path, as Theorem 5 of the paper says. The two estimates of the error on new
# targets rise again well before λ = 1.
#
# Member error, diversity, ensemble error
# ---------------------------------------
# Equation 1 says that the ensemble's error is the average error of its members minus their
# diversity, at every λ. Along the path both terms on the right grow, and by orders of magnitude:
# near λ = 1 the members are useless alone, and only their average predicts.

fig, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
terms = [
    ("average member error", path.member_error(gap=gaps), ORANGE),
    ("diversity", path.diversity(gap=gaps), BLUE),
    ("ensemble error", path.train_error(gap=gaps), GREEN),
]
for label, values, colour in terms:
    ax.plot(gaps, values, color=colour, linewidth=2, label=label)
ax.axhline(np.var(y_train), color=GREY, linewidth=1, zorder=0)
ax.annotate(
    "variance of the targets:\nthe error of a constant",
    (gaps[-1], np.var(y_train)),
    xytext=(-2, -4),
    textcoords="offset points",
    ha="right",
    va="top",
    color=GREY,
)
ax.set_yscale("log")
ax.set_ylabel("training rows, mean square\n(target units squared)")
ax.set_xlabel("λ (logarithmic in the gap 1 − λ)")
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.18, 1.0))
gap_axis(ax)
plt.show()

# %%
# The same identity for rows that were not used in training, at the chosen λ:

terms = model.diversity(X_test, y_test)
print(f"member error {terms.member_error:8.1f}")
print(f"diversity    {terms.diversity:8.1f}")
print(f"difference   {terms.member_error - terms.diversity:8.1f}")
print(f"ensemble     {terms.ensemble_error:8.1f}")

# %%
# Another λ, without a refit
# --------------------------
# ``with_lam`` gives a fitted copy that shares the factorisation. It takes λ, the gap, or the
# degrees of freedom that the copy shall have.

models = {
    "members apart, lam=0": model.with_lam(0.0),
    "chosen by 5-fold": model,
    "with 100 degrees of freedom": model.with_lam(dof=100),
    "one model, lam=1 - 1e-6": model.with_lam(gap=1e-6),
}
print(f"{'':28}{'lam':>10}{'dof':>8}{'train':>9}{'test':>9}")
for name, moved in models.items():
    train = moved.path_.train_error()
    test = np.mean((moved.predict(X_test) - y_test) ** 2)
    print(f"{name:28}{moved.lam_:10.6f}{moved.dof_:8.1f}{train:9.1f}{test:9.1f}")

# %%
# On these 148 test rows λ = 0 and the chosen λ are alike. The two models with a smaller training
# error are worse.
