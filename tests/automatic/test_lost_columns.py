"""Columns without any value are named as the user named them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from absentia import AutoClassifier


def test_an_empty_column_is_warned_of_once_by_its_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["age", "dose", "bmi"])
    y = frame["age"] > 0
    frame["dose"] = np.nan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AutoClassifier(members=["beliefs"], n_splits=2, random_state=0).fit(frame, y)
    lost = [str(w.message) for w in caught if "Left out of the density" in str(w.message)]
    assert len(lost) == 1
    assert "training row: dose." in lost[0]
