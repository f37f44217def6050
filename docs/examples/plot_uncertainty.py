"""
How much of the doubt is due to missing values?
===============================================

A prediction is uncertain because the target is noisy, because the model has seen few rows, and
because values are missing. ``predict_uncertainty`` separates the three; for a Gaussian process they
are variances in closed form that add up to the total.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from absentia import GaussianProcessRegressor, amputation

table, y = load_diabetes(return_X_y=True, as_frame=True)
table = (table - table.mean()) / table.std()
train = amputation.mcar(table[:200], rate=0.2, random_state=0)
machine = GaussianProcessRegressor().fit(train, y[:200])

# %%
# One patient, whose columns go missing one after the other.

order = ["s5", "bmi", "bp", "s3", "sex", "s1"]
patient = table.iloc[[220]]
stages = [patient.assign(**dict.fromkeys(order[:k], np.nan)) for k in range(len(order) + 1)]
doubts = [machine.predict_uncertainty(stage) for stage in stages]
print("missing      prediction    model    noise  missing    total   (standard deviations)")
for name, doubt in zip(["nothing", *(f"+ {c}" for c in order)], doubts, strict=True):
    parts = [np.sqrt(part[0]) for part in (doubt.model, doubt.noise, doubt.missing, doubt.total)]
    print(f"{name:10} {doubt.prediction[0]:12.0f}" + "".join(f"{part:9.1f}" for part in parts))

# %%
# Left, the three parts as variances; right, the variance that measuring one of the missing columns
# would remove.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
bottom = np.zeros(len(doubts))
for name, colour in (("noise", "0.75"), ("model", "C5"), ("missing", "C1")):
    height = np.array([getattr(doubt, name)[0] for doubt in doubts])
    left.bar(range(len(doubts)), height, bottom=bottom, color=colour, label=name)
    bottom += height
left.set_xticks(range(len(doubts)), ["nothing", *(f"+ {c}" for c in order)], rotation=30)
left.set(ylabel="variance of the prediction", ylim=(0, 1.35 * bottom.max()))
left.legend(frameon=False, ncols=3)
by_column = doubts[-1].by_column[0]
ranked = np.argsort(by_column)[-len(order) :]
right.plot(by_column[ranked], table.columns[ranked], "o", color="C1")
right.set(xlabel="variance removed by measuring it", xlim=(0, None))
