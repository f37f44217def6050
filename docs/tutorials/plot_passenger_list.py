"""
A passenger list with holes
===========================

The list of the Titanic's passengers is a real table as they come: words and numbers side by side, a
fifth of the ages and three quarters of the cabins unknown, columns that give the answer away. This
tutorial goes from ``read_csv`` to a decision: an archivist has time to look up twenty ages. Whose?

The file ships with scikit-learn, whose tests read it.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from absentia import (
    LogisticRegressionCV,
    TableEncoder,
    describe_missingness,
    measure_next,
    predict_uncertainty,
)

FILE = "datasets/tests/data/openml/id_40945/data-v1-dl-16826755.arff.gz"
COLUMNS = [
    "class", "survived", "name", "sex", "age", "siblings", "parents", "ticket", "fare", "cabin",
    "port", "boat", "body", "home",
]  # fmt: skip
table = pd.read_csv(files("sklearn") / FILE, skiprows=17, names=COLUMNS, na_values="?")
print(table.drop(columns=["name", "home"]).head(8).to_string(index=False))

# %%
# What is missing
# ---------------
# Two columns must go before anything is learned: the number of the lifeboat and that of the body
# are *known because of* what is to be predicted. Of the cabin only the deck, its first letter, is
# kept.

X = table.drop(columns=["survived", "boat", "body"]).assign(cabin=table["cabin"].str[0])
y = table["survived"].to_numpy()
report = describe_missingness(X)
print(report)
figure = report.plot()

# %%
# A machine on the table as it is
# -------------------------------
# Machines take frames: the plan of the columns says what each is used as. Names, tickets and home
# towns have too many different words to be categories.

train, new = train_test_split(X.index, train_size=600, random_state=0, stratify=y)
machine = LogisticRegressionCV(Cs=(1.0, 8.0, 64.0), gammas=3, cv=3).fit(X.loc[train], y[train])
print(machine.columns_)

# %%
# Is it any good? Compare with the share of survivors, and with boosted trees, which take missing
# values as they come.

encoder = TableEncoder().fit(X.loc[train])
trees = HistGradientBoostingClassifier(max_iter=50, random_state=0)
trees.fit(encoder.transform(X.loc[train]), y[train])
answers = {
    "share of survivors": np.full(len(new), y[train].mean()),
    "boosted trees": trees.predict_proba(encoder.transform(X.loc[new]))[:, 1],
    "kernel logistic regression": machine.predict_proba(X.loc[new])[:, 1],
}
for name, chance in answers.items():
    accuracy = np.mean((chance > 0.5) == y[new])
    print(f"{name:28} accuracy {accuracy:.3f}  log loss {log_loss(y[new], chance):.3f}")

# %%
# How much of the doubt is due to what is missing
# -----------------------------------------------
# The entropy of each answer splits into what the missing values hide and what would remain if they
# were known. For most passengers the age adds little; for some it matters.

unknown_age = X.loc[new][X.loc[new, "age"].isna()]
doubt = predict_uncertainty(machine, unknown_age)
print(doubt)
order = np.argsort(-doubt.missing)
columns = ["class", "sex", "siblings", "parents", "fare", "cabin", "port"]
shown = (
    unknown_age[columns]
    .iloc[order[:5]]
    .assign(
        survived=doubt.prediction[order[:5], 1].round(2), hidden=doubt.missing[order[:5]].round(3)
    )
)
print(shown.to_string(index=False))

# %%
# Whose age is worth looking up?
# ------------------------------
# :func:`absentia.measure_next` ranks the missing values of each row by the expected drop of its
# entropy. Only ages can be looked up here.

found = measure_next(machine, unknown_age, among=["age"])
gains = found.to_frame().set_index("row")["gain"]
best = gains.sort_values(ascending=False).head(20).index
print(unknown_age[columns].iloc[best[:8]].to_string(index=False))

# %%
# Would that have helped? For these passengers nobody knows, so the advice is tried on others: the
# ages of passengers whose age *is* known are hidden, twenty are looked up by the advice, and twenty
# at random, a thousand times.

known_age = X.loc[new][X.loc[new, "age"].notna()]
truth = y[known_age.index]
hidden = known_age.assign(age=np.nan)


def losses(frame):
    """Return the log loss of every row."""
    return -np.log(machine.predict_proba(frame)[np.arange(len(frame)), truth])


before, after = losses(hidden), losses(known_age)
advice = measure_next(machine, hidden, among=["age"]).to_frame().set_index("row")["gain"]
chosen = advice.sort_values(ascending=False).head(20).index.to_numpy()
drop = (before - after)[chosen].sum()
rng = np.random.default_rng(0)
by_chance = [(before - after)[rng.choice(len(truth), 20, replace=False)].sum() for _ in range(1000)]
print(
    f"{len(truth)} passengers: log loss {before.mean():.3f} without ages, {after.mean():.3f} with"
)
print(f"twenty look-ups take off {drop:.2f} nats by advice, {np.mean(by_chance):.2f} at random")

figure, axes = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
axes.hist(by_chance, bins=40, color="0.8")
axes.axvline(drop, color="C1", lw=2.5)
axes.annotate(
    "by advice", (drop, axes.get_ylim()[1] * 0.9), xytext=(6, 0), textcoords="offset points"
)
axes.annotate("at random", (np.median(by_chance), 3), ha="center", color="0.35")
axes.set(xlabel="drop of the log loss by twenty look-ups, nats", yticks=[])
axes.spines[["left", "top", "right"]].set_visible(False)
