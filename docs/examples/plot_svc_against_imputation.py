"""
A support vector machine against imputation
===========================================

``absentia.SVC`` needs no imputer. Here it is compared with scikit-learn's ``SVC`` after three
ways to impute, on wine data from which 0 to 60 % of the values were removed completely at random.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as CompleteSVC

from absentia import SVC, amputation

X, y = load_wine(return_X_y=True)
models = {
    "absentia.SVC": make_pipeline(StandardScaler(), SVC()),
    "mean, SVC": make_pipeline(StandardScaler(), SimpleImputer(), CompleteSVC()),
    "5 neighbours, SVC": make_pipeline(StandardScaler(), KNNImputer(), CompleteSVC()),
    "mean and mask, SVC": make_pipeline(
        StandardScaler(), SimpleImputer(add_indicator=True), CompleteSVC()
    ),
}
rates = (0.0, 0.3, 0.6)

# %%
# Ten folds per rate, the same for every model. Imputer and density are fitted on the training rows
# of each fold only.

folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
scores = np.empty((len(models), len(rates), 10))
for j, rate in enumerate(rates):
    table = amputation.mcar(X, rate=rate, random_state=1) if rate else X
    for i, model in enumerate(models.values()):
        scores[i, j] = cross_val_score(model, table, y, cv=folds)
print(f"{'accuracy':20}" + "".join(f"{rate:>8.0%}" for rate in rates))
for name, row in zip(models, scores, strict=True):
    print(f"{name:20}" + "".join(f"{value:8.3f}" for value in row.mean(axis=1)))

# %%
# Differences between folds are larger than most differences between methods, so what counts is the
# difference on the same fold. Below zero the imputer is worse than ``absentia.SVC``; bars are two
# standard errors over the ten folds. Where a bar includes zero there is no significant difference;
# the training rows of the folds overlap, so the bars are rather too short than too long.

figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for i, name in enumerate(list(models)[1:], start=1):
    gap = scores[i] - scores[0]
    error = 2 * gap.std(axis=1, ddof=1) / np.sqrt(gap.shape[1])
    where = 100 * np.array(rates) + 1.5 * (i - 2)
    axes.errorbar(where, gap.mean(axis=1), error, fmt="o", capsize=3, label=name)
axes.axhline(0, color="0.6", lw=0.8)
axes.set(xlabel="missing values, %", ylabel="accuracy minus that of absentia.SVC")
axes.legend(frameon=False)
