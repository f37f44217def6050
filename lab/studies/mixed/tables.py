"""Tables with categories, as frames: columns of few different values are categories."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

#: Tables in which columns with at most six different values are categories (written as text).
MIXED = (
    "titanic",
    "cylinder_bands",
    "chronic_kidney_disease",
    "hepatitis",
    "soybean",
    "house_votes_84",
    "horse_colic",
    "heart_cleveland",
    "heart_four_sites",
    "mammographic",
    "australian",
    "abalone",
    "forest_fires",
    "hypothyroid",
    "heart_hungarian",
    "heart_switzerland",
    "heart_va",
    "heart_statlog",
    "auto_mpg",
    "echo_months",
    "diabetes_130_hospitals",
    "physionet2012_mean",
    "beijing_multisite_air",
)
_FEW = 6
_MOST_CATEGORIES = 30


def read(folder: Path, name: str, most_rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return rows drawn at random, and their targets."""
    found = [folder / f"{name}.csv", folder / f"{name}.csv.gz"]
    frame = pd.read_csv(next(path for path in found if path.exists()), low_memory=False)
    if len(frame) > most_rows:
        frame = frame.sample(most_rows, random_state=seed)
    frame = frame.reset_index(drop=True)
    target = frame.pop("target")
    for column in frame.columns:
        values = frame[column]
        if values.nunique() < 2:
            frame = frame.drop(columns=column)
        elif pd.api.types.is_numeric_dtype(values):
            if values.nunique() <= _FEW:
                frame[column] = values.map(lambda value: f"c{value:g}", na_action="ignore")
        elif values.nunique() > _MOST_CATEGORIES:
            frame = frame.drop(columns=column)
    return frame, target
