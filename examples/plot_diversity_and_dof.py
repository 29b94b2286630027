"""
Diversity against degrees of freedom
====================================

The ambiguity decomposition splits the error of an averaging ensemble into the error of its
members minus their diversity. The paper's point is that diversity, as NCL trains it, is an inverse
regulariser: more of it means more degrees of freedom. Is this also true of other ensembles?
:func:`~negcorr.members_of` gives the members of a fitted forest, a bagging ensemble, or a boosted
model, and :func:`~negcorr.degrees_of_freedom` its complexity.
"""

# %%
# Four families
# -------------
# Each family varies the parameter that makes it more complex: the size of the leaves for
# forests and bags, the rounds for boosting, λ for NCL. Boosting adds its trees up; as an average
# of M members each tree counts M times, exactly as the weights of NCL's members do.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from negcorr import (
    NCLRegressor,
    ambiguity_decomposition,
    degrees_of_freedom,
    difference_noise_variance,
    members_of,
)

X, y = load_diabetes(return_X_y=True)
eps = difference_noise_variance(X, y) ** 0.5 / 2


def bag(leaf):
    tree = DecisionTreeRegressor(min_samples_leaf=leaf)
    return BaggingRegressor(tree, n_estimators=40, random_state=0)


leaves = (100, 50, 25, 12, 6, 3)
families = {
    "random forest": [
        RandomForestRegressor(40, min_samples_leaf=leaf, max_features=0.4, random_state=0)
        for leaf in leaves
    ],
    "extra trees": [
        ExtraTreesRegressor(40, min_samples_leaf=leaf, max_features=0.4, random_state=0)
        for leaf in leaves
    ],
    "bagged trees": [bag(leaf) for leaf in leaves],
    "boosting": [
        GradientBoostingRegressor(n_estimators=n, max_depth=2, random_state=0)
        for n in (5, 10, 20, 40, 80, 160)
    ],
    "NCL": [NCLRegressor(basis="fourier", gap=gap) for gap in np.logspace(0, -3, 7)],
}

rows = []
for family, estimators in families.items():
    for estimator in estimators:
        dof = degrees_of_freedom(estimator, X, y, eps=eps, n_probes=6, random_state=0)
        fitted = estimator.fit(X, y)
        terms = ambiguity_decomposition(members_of(fitted, X), y)
        rows.append((family, float(dof.dof), float(dof.std_error), terms, dof.method))

for family in families:
    route = next(row[4] for row in rows if row[0] == family)
    print(f"{family:14s} degrees of freedom: {route}")

# %%
# What is traded for what
# -----------------------
# Left, the diversity of the members at the training rows. Where members are trained apart, in
# forests and bags, it hardly changes while the degrees of freedom grow twentyfold. Where they are
# trained together, in boosting and NCL, the two rise together, over orders of magnitude.
# Right, the training error: on this axis the families differ far less, although they work in
# different ways. Degrees of freedom, not diversity, make them comparable.

COLOURS = {
    "random forest": "#009E73",
    "extra trees": "#56B4E9",
    "bagged trees": "#CC79A7",
    "boosting": "#D55E00",
    "NCL": "#0072B2",
}
MARKS = dict(zip(COLOURS, "s^vDo", strict=True))
plt.rcParams["font.size"] = 11
plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False

fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
variance = y.var()
for family, colour in COLOURS.items():
    mine = [row for row in rows if row[0] == family]
    dof = [row[1] for row in mine]
    style = {"color": colour, "marker": MARKS[family], "linewidth": 1.5, "label": family}
    for ax, values in (
        (left, [row[3].diversity / variance for row in mine]),
        (right, [row[3].ensemble_error / variance for row in mine]),
    ):
        ax.errorbar(dof, values, xerr=[2 * row[2] for row in mine], capsize=2, **style)
left.set(yscale="log", ylabel="diversity of the members\n(share of the variance of y)")
right.set(ylabel="training error of the ensemble\n(share of the variance of y)", ylim=(0, 1))
for ax in (left, right):
    ax.set_xlabel("degrees of freedom")
    ax.set_xlim(0, None)
    ax.grid(color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
right.legend(frameon=False, loc="upper right")
fig.suptitle("Five kinds of ensemble on 442 patients (bars: two standard errors)", fontsize=12)
plt.show()
