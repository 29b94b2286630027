"""
Pictures of a fitted ensemble
=============================

Four displays, which work as scikit-learn's do: the path in λ, the ambiguity decomposition along it,
the members themselves, and degrees of freedom. Each is one line; this example explains them
on the diabetes data of scikit-learn.
"""

# %%
# What chooses λ
# --------------
# λ = 0 is at the left; the axis is logarithmic in the gap 1 − λ, which stands below λ. The K-fold
# error, which chose λ here, agrees with SURE and GCV about where the minimum is. The training error
# falls all the way.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from negcorr import (
    DiversityDisplay,
    DofDisplay,
    MembersDisplay,
    NCLRegressor,
    PathDisplay,
    degrees_of_freedom,
)

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
model = NCLRegressor(basis="fourier").fit(X_train, y_train)

PathDisplay.from_estimator(model)
plt.show()

# %%
# Member error − diversity = ensemble error
# -----------------------------------------
# Left on the training rows, right on rows that were held out. Members err more and more as λ nears
# 1, and diversity nearly cancels it. What is left falls along the path on the training rows; on the
# others it rises.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
DiversityDisplay.from_estimator(model, ax=axes[0])
DiversityDisplay.from_estimator(model, X_test, y_test, ax=axes[1])
plt.show()

# %%
# The members
# -----------
# Ensemble and members along one input, the others at their medians: at the chosen λ, and near
# λ = 1, where only the average predicts. The spread of the curves is diversity. It says nothing
# about how sure the prediction is.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
MembersDisplay.from_estimator(model, X_train, "bmi", y=y_train, ax=axes[0])
wild = model.with_lam(gap=1e-3)
MembersDisplay.from_estimator(wild, X_train, "bmi", y=y_train, ax=axes[1])
plt.show()

# %%
# Degrees of freedom
# ------------------
# The curve is exact (Theorem 5). The dots are computed without it: they come from refits on
# perturbed targets, as for any other regressor, and agree within their standard errors.

ridge = degrees_of_freedom(Ridge(1.0), X_train, y_train)
DofDisplay.from_estimator(
    model, X_train, y_train, others={"ridge regression": ridge}, random_state=0
)
plt.show()
