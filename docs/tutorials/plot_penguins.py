"""
What to measure on a penguin
============================

Three species of penguins, four measurements and the sex, recorded in three seasons at Palmer
Station (Gorman, Williams and Fraser, 2014). Some birds got away before everything was written down.
Suppose that the next team wants to name the species with as little handling as possible: a
photograph gives the depth of the bill, a flipper needs the bird in the hand, the balance has to be
carried, and the sex needs a blood sample. What should be measured first, on which bird, and when is
it enough? (The minutes below are invented; the birds are real.)

The file ships with scikit-learn, whose tests read it.
"""

import warnings
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.feature_selection import mutual_info_classif
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import (
    AcquisitionPolicy,
    ConformalClassifier,
    GaussianDensity,
    LogisticRegressionCV,
    MarginalClassifier,
    MixtureDensity,
    describe_missingness,
    measure_next,
)

FILE = "datasets/tests/data/openml/id_42585/data-v1-dl-21854866.arff.gz"
COLUMNS = ["species", "island", "bill length", "bill depth", "flipper", "mass", "sex"]
birds = pd.read_csv(files("sklearn") / FILE, skiprows=88, names=COLUMNS, na_values=["?", "_"])
print(birds.sample(6, random_state=3).to_string(index=False))

# %%
# What is missing
# ---------------
# Two birds have nothing but an island, and the sex of nine more is unknown.

print(describe_missingness(birds))

# %%
# A model of incomplete birds
# ---------------------------
# The island would give two of the species away; leave it out, for the next season is elsewhere.
# Three species are three clouds: a mixture of three Gaussians is a better density than one. Hardly
# any training bird has missing values, so the classifier never learned how unsure to be about them:
# :class:`absentia.MarginalClassifier` averages its probabilities over what a bird could be.

X = birds[["bill length", "bill depth", "flipper", "mass"]].assign(
    male=birds["sex"].map({"MALE": 1.0, "FEMALE": 0.0})
)
X = X[X.notna().any(axis=1)]  # a bird of which nothing is known teaches nothing
y = birds["species"]
train, new = train_test_split(X.index, train_size=200, random_state=0, stratify=y[X.index])
scaler = StandardScaler().set_output(transform="pandas").fit(X.loc[train])
X_train, X_new = scaler.transform(X.loc[train]), scaler.transform(X.loc[new])
density = MixtureDensity(n_components=3, random_state=0)
search = LogisticRegressionCV(density=density, cv=3).fit(X_train, y[train])
machine = MarginalClassifier(FrozenEstimator(search), density=density, random_state=0).fit(X_train)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
pipeline = make_pipeline(StandardScaler(), clone(search.best_estimator_))
scores = cross_val_score(pipeline, X.loc[train], y[train], cv=folds)
print(f"accuracy on {len(train)} birds, five folds: {scores.mean():.3f} ± {scores.std():.3f}")
print(f"on {len(new)} other birds: {machine.score(X_new, y[new]):.3f}")

# %%
# The first bird of the season
# ----------------------------
# Nothing is known. What is each measurement expected to tell, in nats, and per minute of handling?

costs = {"bill length": 2.0, "bill depth": 1.0, "flipper": 3.0, "mass": 4.0, "male": 15.0}
nothing = pd.DataFrame(np.nan, index=[0], columns=X_new.columns)
print(measure_next(machine, nothing, costs=costs).to_frame().round(3).to_string(index=False))

# %%
# Bird by bird
# ------------
# :class:`absentia.AcquisitionPolicy` measures the most worthwhile value of each bird, learns it,
# and asks again, until nothing is expected to bring more than a hundredth of a nat per minute.
# Compare with one order for all birds, that of mutual information per minute on the training birds.

complete = X_new.notna().all(axis=1).to_numpy()
truth, species = X_new[complete], y[new].to_numpy()[complete]
unknown = pd.DataFrame(np.nan, index=truth.index, columns=truth.columns)
trace = AcquisitionPolicy(machine, costs=costs, stop_below=0.01).run(unknown, truth)
print(trace)

filled = GaussianDensity().fit(X_train).impute(X_train)
information = mutual_info_classif(filled, y[train], random_state=0)
minutes = np.array([costs[name] for name in X.columns])
fixed = np.argsort(-information / minutes)
print("the fixed order:", ", ".join(X.columns[j] for j in fixed))


def losses(probabilities):
    """Return the log loss and the share of birds named wrongly."""
    place = np.searchsorted(machine.classes_, species)
    right = probabilities[np.arange(len(species)), place]
    return -np.log(right).mean(), np.mean(probabilities.argmax(axis=1) != place)


spent = [step.mean() for step in trace.spent]
ours = [losses(step) for step in trace.answers]
known, theirs, theirs_spent = unknown.copy(), [], [0.0]
theirs.append(losses(machine.predict_proba(known)))
for j in fixed:
    known.iloc[:, j] = truth.iloc[:, j]
    theirs.append(losses(machine.predict_proba(known)))
    theirs_spent.append(theirs_spent[-1] + minutes[j])
for name, time, found in (("bird by bird", spent, ours), ("fixed order", theirs_spent, theirs)):
    print(name)
    for t, (loss, wrong) in zip(time, found, strict=True):
        print(f"   {t:5.1f} minutes a bird: log loss {loss:.3f}, {wrong:.1%} wrong")

# %%
# When is it enough?
# ------------------
# The team accepts one wrong species in fifty. A conformal classifier says for each bird which
# species cannot be excluded; a bird with one species left is done, whatever was not measured.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the settings are fixed by now; nothing is chosen anew
    guarantee = ConformalClassifier(search.best_estimator_, cv=5, random_state=0)
    guarantee.fit(X_train, y[train])
for name, columns in (
    ("bill depth", ["bill depth"]),
    ("both of the bill", ["bill length", "bill depth"]),
    ("bill and flipper", ["bill length", "bill depth", "flipper"]),
    ("everything", list(X.columns)),
):
    seen = truth.where(truth.columns.isin(columns) & truth.notna())
    sets = guarantee.predict_set(seen, coverage=0.98)
    sizes = np.array([len(sets[i]) for i in range(len(seen))])
    covered = np.mean([species[i] in sets[i] for i in range(len(seen))])
    print(
        f"{name:18} one species left: {np.mean(sizes == 1):4.0%}, truth in the set: {covered:.0%}"
    )

# %%
# The picture for the notebook: what is gained per minute.

figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for name, time, found, colour in (
    ("fixed order", theirs_spent, theirs, "C1"),
    ("bird by bird", spent, ours, "C0"),
):
    values = [loss for loss, _ in found]
    axes.plot(time, values, "o-", color=colour)
    end = (time[-1], values[-1])
    axes.annotate(name, end, xytext=(0, -16), textcoords="offset points", ha="center", color=colour)
axes.set(xlabel="minutes of handling per bird", ylabel="log loss", yscale="log", ylim=(0.008, 1.5))
axes.spines[["top", "right"]].set_visible(False)
