"""
Views that are missing as a whole
=================================

Two laboratories, or two instruments, each measure a group of columns, and many rows have been to
only one of them: whole blocks are missing. Deleting incomplete rows leaves few. A density learned
from all rows carries what one view says about the other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as CompleteSVC

from absentia import SVC, GaussianDensity, describe_missingness

# %%
# Handwritten digits of 8 x 8 pixels, reduced to 4 x 4. The upper half is one view, the lower half
# the other; 30 % of the rows have both, 35 % each have only one.

images, y = load_digits(return_X_y=True)
images, y = images[:600], y[:600]
X = images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
kind = np.random.default_rng(0).choice(3, size=len(X), p=[0.3, 0.35, 0.35])
X[kind == 1, 8:] = np.nan
X[kind == 2, :8] = np.nan
print(describe_missingness(X, mcar_test=False))

# %%
# Three ways to train: on all rows as they are; on complete rows only; on all rows with the mean
# filled in. All are asked about the same rows.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
names = ("both views", "upper half only", "lower half only")


def complete_rows_only(train, labels, test):
    """Train on complete rows, and fill in the mean of those in the rows to predict."""
    whole = ~np.isnan(train).any(axis=1)
    filled = np.where(np.isnan(test), train[whole].mean(axis=0), test)
    return CompleteSVC().fit(train[whole], labels[whole]).predict(filled)


def mean_filled_in(train, labels, test):
    """Fill the means of the columns in, in training and prediction."""
    centre = np.nanmean(train, axis=0)
    model = CompleteSVC().fit(np.where(np.isnan(train), centre, train), labels)
    return model.predict(np.where(np.isnan(test), centre, test))


predictions = {"absentia.SVC": cross_val_predict(make_pipeline(SVC()), X, y, cv=folds)}
for name, method in (("mean filled in", mean_filled_in), ("complete rows", complete_rows_only)):
    predictions[name] = np.empty_like(y)
    for train, test in folds.split(X, y):
        predictions[name][test] = method(X[train], y[train], X[test])
print(f"{'accuracy':16}" + "".join(f"{name:>18}" for name in names))
for name, predicted in predictions.items():
    shares = [(predicted == y)[kind == k].mean() for k in range(3)]
    print(f"{name:16}" + "".join(f"{share:18.3f}" for share in shares))

# %%
# What the lower half of a digit could be, given its upper half: the conditional mean and its
# standard deviation.

density = GaussianDensity().fit(X)
chosen = np.flatnonzero(kind == 1)[:4]
beliefs = density.condition(X[chosen])
figure, panels = plt.subplots(3, 4, figsize=(6, 4.6), layout="constrained")
pictures = (X[chosen], beliefs.mean(), beliefs.spread())
for line, values, title in zip(panels, pictures, ("observed", "mean", "spread"), strict=True):
    for axes, picture in zip(line, values, strict=True):
        axes.imshow(picture.reshape(4, 4), cmap="Blues", vmin=0, vmax=16)
        axes.set(xticks=[], yticks=[])
    line[0].set_ylabel(title)
