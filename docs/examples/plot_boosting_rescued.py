"""
A boosted model meets missing values for the first time
=======================================================

Gradient boosting accepts NaN, but a model trained on complete rows has never learned what to do
with it. :class:`absentia.MarginalClassifier` wraps the fitted model and averages its predictions
over what each row could be. The model is not trained again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from absentia import GaussianDensity, MarginalClassifier, amputation

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
boosted = HistGradientBoostingClassifier(max_iter=30, random_state=0).fit(X_train, y_train)
density = GaussianDensity().fit(X_train)
averaged = MarginalClassifier(
    FrozenEstimator(boosted), density=FrozenEstimator(density), n_draws=32, random_state=0
).fit(X_train)

# %%
# The same test rows, with more and more values removed.

rates = (0.0, 0.2, 0.4, 0.6)
losses = {"NaN as it comes": [], "conditional mean filled in": [], "averaged": []}
print("accuracy, log loss")
print("missing   " + "".join(f"{name:29}" for name in losses))
for rate in rates:
    rows = amputation.mcar(X_test, rate=rate, random_state=0) if rate else X_test
    answers = (
        boosted.predict_proba(rows),
        boosted.predict_proba(density.impute(rows)),
        averaged.predict_proba(rows),
    )
    line = []
    for name, probabilities in zip(losses, answers, strict=True):
        losses[name].append(log_loss(y_test, probabilities))
        accuracy = accuracy_score(y_test, probabilities.argmax(axis=1))
        line.append(f"{accuracy:.3f}, {losses[name][-1]:.3f}".ljust(29))
    print(f"{rate:7.0%}   " + "".join(line))

# %%
# On complete rows the wrapped model gives exactly the answer of the model itself.

assert np.array_equal(averaged.predict_proba(X_test), boosted.predict_proba(X_test))
figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for name, values in losses.items():
    axes.plot(100 * np.array(rates), values, "o-", label=name)
axes.set(xlabel="missing values in the test rows, %", ylabel="log loss", ylim=(0, None))
axes.legend(frameon=False)
