"""
A deep ensemble, tuned without held-out rows
============================================

Ten small networks are trained on the NCL loss at six values of λ, all in one program. Beside each
ensemble, copies are trained on targets that are perturbed a little: how far their predictions
follow gives the degrees of freedom, with which Stein's unbiased risk estimate (SURE) chooses λ.
"""

# %%
# Friedman's function of five inputs, with noise. Held-out rows are for judging the choice later.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from negcorr.deep import DeepNCLRegressor, Training

X, y = make_friedman1(1300, n_features=5, noise=1.5, random_state=0)
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:], y[300:]

settings = {"n_members": 10, "learning_rate": 0.01, "training": Training(max_epochs=150)}
settings["random_state"] = 0
model = DeepNCLRegressor(lam=[0, 0.4, 0.7, 0.9, 0.97, 1], n_probes=4, **settings)
model.fit(X_train, y_train)
table = model.lam_table_
print(f"λ = {model.lam_:g}: {model.dof_:.0f} ± {model.dof_std_error_:.0f} degrees of freedom")

# %%
# The risk that SURE estimates is the error against the function without noise: adding σ² makes it
# comparable with the held-out error, for which every λ is fitted again.

held_out = []
for lam in table.lam:
    single = DeepNCLRegressor(lam=lam, n_probes=0, **settings)
    # Members near λ = 1 are useless alone, of which fit warns: here that is known.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held_out.append(np.mean((single.fit(X_train, y_train).predict(X_test) - y_test) ** 2))

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained")
left.plot(table.lam, table.train_error[:, 0], label="training error", color="#0072B2")
risk = table.sure[:, 0] + table.noise_variance[0]
left.plot(table.lam, risk, label="SURE + σ²", color="#009E73", ls="--")
left.plot(table.lam, held_out, label="held-out error", color="#D55E00", ls="-.")
left.axvline(model.lam_, color="#5A5A5A", lw=0.8, label="chosen λ")
left.set(xlabel="diversity parameter λ", ylabel="mean squared error", ylim=(0, None))
left.legend(frameon=False)
dof, error = table.dof[:, 0], table.dof_std_error[:, 0]
right.plot(table.lam, dof, color="#0072B2")
right.fill_between(table.lam, dof - error, dof + error, color="#0072B2", alpha=0.2, lw=0)
right.axvline(model.lam_, color="#5A5A5A", lw=0.8)
right.set(xlabel="diversity parameter λ", ylabel="degrees of freedom", ylim=(0, None))
plt.show()
