"""Densities of frames with words give back what the user's columns hold, in their own units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia import GaussianDensity, LowRankDensity, MixedDensity, MixtureDensity

DENSITIES = [
    GaussianDensity(),
    GaussianDensity(margins="normal-scores"),
    MixtureDensity(2, random_state=0),
    LowRankDensity(1, random_state=0),
    MixedDensity(2, random_state=0),
]


def patients(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.normal(50.0, 12.0, n)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["female", "male"], n),
            "ward": np.select([age < 42, age < 58], ["children", "middle"], "old"),
            "seen": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "dose": 3.0 + 0.1 * age + 0.2 * rng.normal(size=n),
        }
    )


@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: repr(density)[:40])
def test_completed_frames_hold_the_values_of_the_users_columns(density):
    whole = patients()
    holes = whole.copy()
    holes.loc[::5, "age"] = np.nan
    holes.loc[1::7, "ward"] = None
    holes.loc[2::9, "sex"] = None
    holes.loc[3::11, "seen"] = pd.NaT
    fitted = density.fit(holes)
    drawn = fitted.draw(holes, 2, random_state=0)
    for table in (fitted.impute(holes), *drawn, fitted.sample(20, random_state=0)):
        assert list(table.columns) == list(whole.columns)
        assert set(table["sex"]) <= {"female", "male"}
        assert set(table["ward"]) <= {"children", "middle", "old"}
        assert table["seen"].dt.year.between(2023, 2025).all()
    filled = fitted.impute(holes)
    for name in whole:
        known = holes[name].notna()
        found, expected = filled.loc[known, name], holes.loc[known, name]
        if name in ("sex", "ward") or name == "seen":
            assert (found == expected).all()
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    missing = holes["age"].isna()
    error = (filled["age"] - whole["age"])[missing]
    assert np.sqrt((error**2).mean()) < 5.0  # the dose tells the age to within two years
    assert ((filled["ward"] == whole["ward"])[holes["ward"].isna()]).mean() > 0.6
    bounds = fitted.quantiles(holes, [0.05, 0.95])
    ages = bounds[:, missing, 0]
    assert ((ages > 0) & (ages < 110)).all()
    np.testing.assert_allclose(bounds[:, ~missing, 0], [holes["age"][~missing]] * 2, rtol=1e-12)


@pytest.mark.parametrize("density", [GaussianDensity(), MixedDensity(1, random_state=0)])
def test_completed_frames_keep_index_names_and_observed_values(density):
    whole = patients(60).assign(count=np.arange(60) * 7)
    whole.loc[0, "seen"] = pd.Timestamp("9999-12-31")
    holes = whole[whole.index % 2 == 1].copy()
    holes["count"] = holes["count"].astype(float)
    holes.iloc[::4, 0] = np.nan
    fitted = density.fit(pd.concat([holes, whole.iloc[:1]]))
    for found in (fitted.impute(holes), fitted.draw(holes, random_state=0)):
        assert list(found.index) == list(holes.index)
        assert list(found.columns) == list(holes.columns)
        np.testing.assert_array_equal(found["count"], holes["count"])
        assert (found["seen"] == holes["seen"]).all()
        pd.testing.assert_series_equal(holes["age"].fillna(found["age"]), found["age"])
    assert fitted.impute(whole.iloc[:1])["seen"].dt.year.tolist() == [9999]
