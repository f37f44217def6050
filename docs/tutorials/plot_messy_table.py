"""
From a messy file to a decision
===============================

A clinic keeps its records in a file with decimal commas, words for numbers, bounds instead of
values and many empty cells. Which patients should be seen by a specialist, and which test should be
done first for those of whom too little is known? This tutorial goes from ``read_csv`` to that
decision.
"""

import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import (
    ConformalClassifier,
    LogisticRegression,
    TableEncoder,
    describe_missingness,
    measure_next,
)


def messy_file(rows, seed):
    """Return the text of the file; the patients are invented."""
    rng = np.random.default_rng(seed)
    age = rng.normal(55, 14, rows).clip(18, 95)
    illness = rng.normal(size=rows) + 0.03 * (age - 55)
    creatinine = np.exp(0.1 + 0.35 * illness + 0.25 * rng.normal(size=rows))
    haemoglobin = 13.5 - 1.1 * illness + rng.normal(size=rows)
    pressure = 130 + 8 * illness + 12 * rng.normal(size=rows)
    protein = np.exp(-1.0 + 0.9 * illness + 0.6 * rng.normal(size=rows))
    swelling = np.digitize(illness + rng.normal(size=rows), [0.5, 1.5])
    chance = 1 / (1 + np.exp(-2.5 * (illness - 0.4)))
    frame = pd.DataFrame(
        {
            "patient_id": np.arange(rows) + 1001,
            "age": age.round().astype(int),
            "creatinine": [f"{value:.2f}".replace(".", ",") for value in creatinine],
            "haemoglobin": [f"{value:.1f}".replace(".", ",") for value in haemoglobin],
            "pressure": pressure.round().astype(int).astype(str),
            "protein": [
                f"{value:.2f}".replace(".", ",") if value >= 0.15 else "<0,15" for value in protein
            ],
            "swelling": np.array(["none", "mild", "strong"])[swelling],
            "specialist": np.where(rng.random(rows) < chance, "yes", "no"),
        }
    )
    # Blood tests are done together or not at all, protein rarely; the rest is forgotten at times.
    frame.loc[rng.random(rows) < 0.35, ["creatinine", "haemoglobin"]] = ""
    frame.loc[rng.random(rows) < 0.5, "protein"] = "-"
    frame.loc[rng.random(rows) < 0.15, "pressure"] = ""
    frame.loc[rng.random(rows) < 0.25, "swelling"] = ""
    return frame.to_csv(index=False, sep=";")


# %%
# Read it, and look at it
# -----------------------
# ``keep_default_na=False`` leaves the word "none" what it is here: an answer.

table = pd.read_csv(
    io.StringIO(messy_file(400, seed=0)), sep=";", keep_default_na=False, na_values=[""]
)
print(table.head(8).to_string(index=False))

# %%
# Most columns are text. :class:`absentia.TableEncoder` reads them, and says how.

severity = pd.CategoricalDtype(["none", "mild", "strong"], ordered=True)
X = table.drop(columns="specialist").astype({"swelling": severity})
y = (table["specialist"] == "yes").to_numpy()
encoder = TableEncoder().fit(X)
for note in encoder.notes_:
    print(note)
numbers = pd.DataFrame(encoder.transform(X), columns=encoder.get_feature_names_out())

# %%
# What is missing, and what goes missing together? About a tenth of the protein values are missing
# because they are low, which is not at random; here they are taken as any other missing value.

report = describe_missingness(numbers)
print(report)
figure = report.plot()

# %%
# Is a model worth anything here?
# -------------------------------
# Compare before going on: with the share of the larger class, and with boosted trees, which take
# NaN as it comes. Five folds, everything fitted on the training rows of each.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
models = {
    "LogisticRegression, beliefs": make_pipeline(
        TableEncoder(), StandardScaler(), LogisticRegression()
    ),
    "boosted trees, NaN": make_pipeline(
        TableEncoder(), HistGradientBoostingClassifier(max_iter=30, random_state=0)
    ),
}
share = y.mean()
baseline = log_loss(y, np.full(len(y), share))
print(f"{'share of classes':28} accuracy {max(share, 1 - share):.3f}  log loss {baseline:.3f}")
for name, model in models.items():
    probabilities = cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]
    accuracy = np.mean((probabilities > 0.5) == y)
    print(f"{name:28} accuracy {accuracy:.3f}  log loss {log_loss(y, probabilities):.3f}")

# %%
# Patients who cannot be decided yet
# ----------------------------------
# A conformal classifier returns the classes that cannot be excluded at 90 %. A set of two means:
# not decided. The rows to learn from are scaled first, as for any kernel method.

train, new = train_test_split(numbers.index, test_size=100, random_state=0, stratify=y)
scaler = StandardScaler().set_output(transform="pandas").fit(numbers.loc[train])
X_train, X_new = scaler.transform(numbers.loc[train]), scaler.transform(numbers.loc[new])
y_train, y_new = y[train], y[new]
machine = LogisticRegression().fit(X_train, y_train)
conformal = ConformalClassifier(LogisticRegression(), random_state=0).fit(X_train, y_train)
sets = conformal.predict_set(X_new)
sizes = np.array([len(sets[i]) for i in range(len(X_new))])
right = np.array([y_new[i] in sets[i] for i in range(len(X_new))])
missing = X_new.isna().sum(axis=1).to_numpy()
print(f"the truth is in the set of {right.mean():.0%} of {len(X_new)} new patients")
for name, which in (
    ("nothing missing", missing == 0),
    ("1 missing", missing == 1),
    ("2 or more missing", missing >= 2),
):
    print(f"{name:18} {which.sum():3} patients, {np.mean(sizes[which] != 1):.0%} not decided")

# %%
# Which test first?
# -----------------
# For the undecided patients, each missing test is ranked by the information about the class that it
# is expected to give, per cost (in euros, say).

costs = {"creatinine": 4.0, "haemoglobin": 4.0, "protein": 9.0, "pressure": 1.0, "swelling": 1.0}
undecided = X_new[(sizes != 1) & (missing > 0)]
found = measure_next(machine, undecided, costs=costs)
frame = found.to_frame()
print(frame.groupby("column")[["gain", "cost", "gain_per_cost"]].mean().round(4).to_string())
print("\nfirst test, number of patients")
print(pd.Series(found.best).value_counts().to_string())

# %%
# The list that goes to the ward: three of the undecided patients, with what is known about them,
# the probability, and the test to do first.

chance = machine.predict_proba(undecided)[:, 1]
for i, row in enumerate(undecided.index[:3]):
    known = ", ".join(
        f"{name} {value}"
        for name, value in X.loc[row].items()
        if not pd.isna(value) and value != "-"
    )
    print(f"{known}\n   specialist {chance[i]:.0%}; first: {found.best[i]}")

# %%
# How the worth of a test differs from patient to patient:

figure, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
gains = frame.groupby("column")["gain"]
order = gains.median().sort_values().index
for place, name in enumerate(order):
    values = gains.get_group(name)
    axes.plot(values, np.full(len(values), place), "|", color="C0", ms=9)
    axes.plot(values.median(), place, "o", color="C1")
axes.set_yticks(range(len(order)), order)
axes.set(xlabel="expected gain of the test, nats (dot: median)", xlim=(0, None))
