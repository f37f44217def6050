"""The tables of the experiment: samples, splits, and test rows with cells hidden."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from absentia.automatic.committee import hide_cells
from absentia.automatic.member_tuning import LearningRows
from absentia.tables import FloatArray
from lab.data.datasets import load
from lab.experiments.suites.realholes import HOLED_TABLES
from lab.experiments.suites.shift import COMPLETE_TABLES

#: Columns without holes of these tables: nothing is missing before the test.
SHIFT_TABLES = tuple(f"shift-{name}" for name in COMPLETE_TABLES)

#: Rows to learn from; the test rows are a quarter of a sample, at most as many as these.
TRAIN_ROWS, TEST_ROWS = 600, 600
#: Classes with fewer rows in the sample are left out, where two others remain.
_FEWEST_ROWS_OF_A_CLASS = 10
#: Share of the observed cells that is hidden in the second set of test rows.
HIDDEN = 0.6


@dataclass(frozen=True, eq=False)
class Trial:
    """One split of one table.

    Attributes
    ----------
    name : str
    repeat : int
    rows : LearningRows
        Quantities in units of the training rows' spread.
    tests : tuple of ndarray
        Test rows as they are, and with cells hidden.
    y : ndarray
        Targets of the test rows.
    centre, scale : float
        Mean and spread of quantities in the training rows, in the units of the table.
    """

    name: str
    repeat: int
    rows: LearningRows
    tests: tuple[FloatArray, FloatArray]
    y: np.ndarray
    centre: float = 0.0
    scale: float = 1.0

    def in_units(self, y: np.ndarray) -> np.ndarray:
        """Return targets in the units of the table; classes as they are."""
        return y if self.rows.n_classes else self.centre + self.scale * y

    @property
    def seed(self) -> int:
        """Seed of everything random in the trial."""
        return crc32(f"{self.name} {self.repeat}".encode()) % 2**31


def is_for_development(name: str) -> bool:
    """Return whether choices may be made on a table; the other half only judges them."""
    return [*HOLED_TABLES, *SHIFT_TABLES].index(name) % 2 == 0


def trial(name: str, repeat: int, folder: str) -> Trial:
    """Return a split of a table; the same for every caller."""
    data = load(name.removeprefix("shift-"), folder)
    if name in SHIFT_TABLES:
        data = data.columns(np.flatnonzero(~np.isnan(data.X).any(axis=0)))
    if data.task == "classification":
        classes, counts = np.unique(data.y, return_counts=True)
        share = min(1.0, (TRAIN_ROWS + TEST_ROWS) / len(data.y))
        common = classes[counts * share >= _FEWEST_ROWS_OF_A_CLASS]
        if len(common) > 1:
            data = data.rows(np.flatnonzero(np.isin(data.y, common)))
    data = data.sample(TRAIN_ROWS + TEST_ROWS, random_state=repeat)
    n_test = min(TEST_ROWS, max(len(data.y) // 4, len(data.y) - TRAIN_ROWS))
    kind = StratifiedShuffleSplit if data.task == "classification" else ShuffleSplit
    splitter = kind(1, test_size=n_test, random_state=repeat)
    train, test = next(splitter.split(data.X, data.y))
    y, n_classes, centre, scale = data.y, None, 0.0, 1.0
    if data.task == "classification":
        classes, y = np.unique(data.y, return_inverse=True)
        n_classes = len(classes)
    else:
        centre, scale = float(y[train].mean()), float(y[train].std()) or 1.0
        y = (y - centre) / scale
    rows = LearningRows(data.X[train], y[train], None, n_classes)
    seed = crc32(f"hidden {name} {repeat}".encode()) % 2**31
    tests = (data.X[test], hide_cells(data.X[test], HIDDEN, seed))
    return Trial(name, repeat, rows, tests, y[test], centre, scale)
