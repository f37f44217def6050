"""Example tables of the studio, made from the data sets of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from absentia.missingness.amputation import mcar

if TYPE_CHECKING:
    import pandas as pd


#: Title and target of each example, by name.
BUNDLED: dict[str, tuple[str, str]] = {
    "wine": ("Wine: which grower, from a laboratory report with a quarter missing", "grower"),
    "diabetes": (
        "Diabetes: progression after a year, from an incomplete examination",
        "progression",
    ),
    "breast-cancer": ("Breast cancer: benign or malignant, from half the measurements", "finding"),
}


def bundled_table(name: str) -> pd.DataFrame:
    """Return a bundled incomplete table, as a pandas frame."""
    if name not in BUNDLED:
        raise ValueError(f"There is no example {name!r}; the examples are {', '.join(BUNDLED)}.")
    from sklearn import datasets

    loaders = {
        "wine": (datasets.load_wine, 0.25),
        "diabetes": (datasets.load_diabetes, 0.2),
        "breast-cancer": (datasets.load_breast_cancer, 0.5),
    }
    load, rate = loaders[name]
    data = load(as_frame=True, **({"scaled": False} if name == "diabetes" else {}))
    target = BUNDLED[name][1]
    frame = mcar(data.data.astype(float), rate, random_state=0)
    frame.columns = [str(column) for column in frame.columns]
    if name == "diabetes":
        # s1 to s6 are blood values; sex comes as 1 and 2.
        frame = frame.rename(
            columns={
                "bp": "blood pressure", "s1": "cholesterol", "s2": "LDL", "s3": "HDL",
                "s4": "cholesterol / HDL", "s5": "log triglycerides", "s6": "blood sugar",
            }
        )  # fmt: skip
        frame["sex"] = frame["sex"].map({1.0: "group 1", 2.0: "group 2"})
        frame[target] = data.target
    elif name == "wine":
        frame[target] = np.array(["first", "second", "third"])[data.target]
    else:
        frame = frame[[column for column in frame.columns if column.startswith("mean ")]]
        frame[target] = np.array(["malignant", "benign"])[data.target]
    return frame
