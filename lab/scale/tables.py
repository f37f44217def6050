"""Real tables, and generated rows for the curves."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from absentia.tables import FloatArray


def _folder() -> Path:
    named = os.environ.get("ABSENTIA_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        # Left out with a reason, not failed: the other measurements need no data sets.
        print("Skipped: this measurement needs the optional data sets, set ABSENTIA_DATA.")
        raise SystemExit(0)
    return folder


def beijing() -> tuple[pd.DataFrame, FloatArray]:
    """Read the hourly air of twelve stations; wind direction and station as numbers.

    The wind direction becomes the sine and the cosine of its angle, missing where it was not
    recorded; the station twelve columns of zeros and ones; hour and month points on a circle.
    """
    frame = pd.read_csv(_folder() / "beijing_multisite_air.csv.gz")
    target = frame.pop("target").to_numpy(np.float64)
    names = [
        "N",
        "NNE",
        "NE",
        "ENE",
        "E",
        "ESE",
        "SE",
        "SSE",
        "S",
        "SSW",
        "SW",
        "WSW",
        "W",
        "WNW",
        "NW",
        "NNW",
    ]
    angle = frame.pop("wd").map({name: 2 * np.pi * j / 16 for j, name in enumerate(names)})
    frame["wind_sine"], frame["wind_cosine"] = np.sin(angle), np.cos(angle)
    for column, period in (("hour", 24), ("month", 12)):
        turn = 2 * np.pi * frame.pop(column) / period
        frame[f"{column}_sine"], frame[f"{column}_cosine"] = np.sin(turn), np.cos(turn)
    stations = pd.get_dummies(frame.pop("station"), prefix="station", dtype=float)
    return pd.concat([frame, stations], axis=1).astype(np.float64), target


def physionet() -> tuple[FloatArray, FloatArray]:
    """Read the stays in intensive care: means of the first 48 hours, and who died."""
    frame = pd.read_csv(_folder() / "physionet2012_mean.csv.gz")
    target = frame.pop("target").to_numpy()
    return frame.to_numpy(np.float64), target


def made_rows(n: int, seed: int, d: int = 20, rate: float = 0.05) -> tuple[FloatArray, FloatArray]:
    """Make rows of five hidden causes with noise and holes, and a smooth target of them.

    The causes' loadings do not depend on the seed, so that chunks are of one distribution.
    """
    loadings = np.random.default_rng(12345).standard_normal((5, d))
    rng = np.random.default_rng(seed)
    causes = rng.standard_normal((n, 5))
    X = causes @ loadings / np.sqrt(5) + 0.5 * rng.standard_normal((n, d))
    y = np.sin(2 * causes[:, 0]) + causes[:, 1] * causes[:, 2] + 0.1 * rng.standard_normal(n)
    X[rng.random(X.shape) < rate] = np.nan
    return X, y


def versions() -> str:
    """Say what was measured on."""
    import platform

    import numba
    import scipy
    import sklearn

    import absentia

    return (
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, Numba {numba.__version__}, absentia at version "
        f"{getattr(absentia, '__version__', 'of this checkout')}, {os.cpu_count()} cores"
    )
