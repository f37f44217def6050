"""
Which value should be measured next?
====================================

Of a patient three cheap measurements are known. :func:`absentia.measure_next` ranks the others by
the information that they are expected to give, per unit of cost;
:class:`absentia.AcquisitionPolicy` measures the best one, asks again, and stops when nothing pays.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from absentia import AcquisitionPolicy, LogisticRegression, measure_next

data = load_breast_cancer(as_frame=True)
table = data.data.filter(like="mean")
table = (table - table.mean()) / table.std()
rng = np.random.default_rng(0)
order = rng.permutation(len(table))
train, test = order[:250], order[250:310]
holes = table.iloc[train].mask(rng.random((250, table.shape[1])) < 0.3)
machine = LogisticRegression(C=10.0, kernel="expected-rbf").fit(holes, data.target.iloc[train])

# %%
# One patient. Columns whose name contains "concav" cost five times as much as the others.

truth = table.iloc[test].reset_index(drop=True)
known = ["mean smoothness", "mean symmetry", "mean texture"]
start = truth.mask(np.tile(~truth.columns.isin(known), (len(truth), 1)))
costs = {name: 5.0 if "concav" in name else 1.0 for name in table.columns}
print(f"P(benign) now: {machine.predict_proba(start.iloc[[0]])[0, 1]:.2f}")
print(
    measure_next(machine, start.iloc[[0]], costs=costs).to_frame().round(3).to_string(index=False)
)

# %%
# The step-by-step policy against a random order, over sixty patients. The policy, which also weighs
# the costs, is ahead with the first two values. After three the two are equal, and after four the
# random order, which ignores costs, is a little ahead: these columns are closely related, and a
# greedy step does not see what a later one will add.

steps = 4
trace = AcquisitionPolicy(machine, costs=costs, max_steps=steps).run(start, truth)
labels = data.target.iloc[test].to_numpy()


def mean_loss(probabilities):
    """Return the log loss of the true classes."""
    return -np.log(probabilities[np.arange(len(labels)), labels]).mean()


ours = [mean_loss(answers) for answers in trace.answers]
rows, missing = start.copy(), [name for name in table.columns if name not in known]
sequence = rng.permuted(np.tile(missing, (len(rows), 1)), axis=1)
random = [mean_loss(machine.predict_proba(rows))]
for step in range(steps):
    for i, name in enumerate(sequence[:, step]):
        rows.loc[i, name] = truth.loc[i, name]
    random.append(mean_loss(machine.predict_proba(rows)))
print("values measured   " + "".join(f"{k:8}" for k in range(steps + 1)))
print("log loss, policy  " + "".join(f"{value:8.3f}" for value in ours))
print("log loss, random  " + "".join(f"{value:8.3f}" for value in random))

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(random, "o-", color="0.6", label="random order")
axes.plot(ours, "o-", label="AcquisitionPolicy")
axes.set(xlabel="values measured", ylabel="log loss", ylim=(0, None), xticks=range(steps + 1))
axes.legend(frameon=False)
