"""
A table with words, dates and censored numbers
==============================================

Tables rarely come as numbers. :class:`absentia.TableEncoder` reads numbers written as text, dates,
ordered and unordered categories, and says in one line per column what it did. What it cannot read
counts as missing, and stays uncertain.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import LogisticRegression, TableEncoder, describe_missingness

# %%
# A synthetic clinic: the laboratory writes "<0.5" below its limit and "-" where it has nothing.

rng = np.random.default_rng(0)
n = 240
lead = rng.lognormal(0.3, 0.8, n)
ward = rng.choice(["north", "south", "west"], n)
pain = rng.integers(0, 3, n)
seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
ill = np.log(lead) + 0.8 * (ward == "west") + 0.6 * pain + 0.7 * rng.normal(size=n) > 1.2
written = [f"{value:.1f}" if value >= 0.5 else "<0.5" for value in lead]
table = pd.DataFrame(
    {
        "patient": np.arange(1, n + 1),
        "lead": np.where(rng.random(n) < 0.15, "-", written),
        "ward": pd.Series(ward).mask(rng.random(n) < 0.2),
        "pain": pd.Categorical.from_codes(
            np.where(rng.random(n) < 0.2, -1, pain), ["none", "some", "severe"], ordered=True
        ),
        "seen": pd.Series(seen.strftime("%Y-%m-%d")).mask(rng.random(n) < 0.1),
    }
)
print(table.head().to_string())

# %%
# How each column was read, and how much of it is missing then:

encoder = TableEncoder().fit(table)
for note in encoder.notes_:
    print(note)
numbers = pd.DataFrame(encoder.transform(table), columns=encoder.get_feature_names_out())
print()
print((100 * numbers.isna().mean()).round(1).rename("missing, %").to_string())

# %%
# In a pipeline the encoder is fitted on the training rows of each fold. The baseline predicts the
# more frequent class.

model = make_pipeline(TableEncoder(), StandardScaler(), LogisticRegression())
scores = cross_val_score(model, table, ill)
baseline = max(ill.mean(), 1 - ill.mean())
print(f"accuracy {scores.mean():.3f} +- {scores.std():.3f}, baseline {baseline:.3f}")

# %%
# What is missing, and what goes missing together (indicators of one column always do):

figure = describe_missingness(numbers).plot()
plt.show()
