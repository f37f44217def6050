"""A budget of ten seconds against boosting: ``python -m lab.studies.automatic.early FOLDER``.

On the first split of all 31 tables: how often the automatic machine has the smaller loss (log loss,
or the mean squared error in units of the target's variance).
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from absentia import AutoClassifier, AutoRegressor
from absentia.automatic.blending import losses
from absentia.hidden_warnings import hidden_warnings
from lab.experiments.suites.realholes import HOLED_TABLES
from lab.studies.automatic.trials import trial

_BUDGET = 10.0


def main(folder: str) -> None:
    """Print a line per table, and how many were won."""
    won, longest = 0, 0.0
    for name in HOLED_TABLES:
        split = trial(name, 0, folder)
        classes = split.rows.n_classes is not None
        ours = (AutoClassifier if classes else AutoRegressor)(time_budget=_BUDGET, random_state=0)
        trees = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        found = []
        for model in (ours, trees(random_state=0)):
            begun, table = time.perf_counter(), np.asarray(split.rows.table)
            with hidden_warnings(), threadpool_limits(1):
                model.fit(table, split.rows.y)
            seconds = time.perf_counter() - begun
            answers = model.predict_proba if classes else lambda X: model.predict(X)[:, None]  # noqa: B023
            found += [losses(answers(split.tests[0]), split.y, split.rows.task).mean(), seconds]
        won += found[0] < found[2]
        longest = max(longest, found[1])
        print(f"{name}: {found[0]:.4f} in {found[1]:.1f} s, boosting {found[2]:.4f}", flush=True)
    print(f"{won} of {len(HOLED_TABLES)} won; the longest fit took {longest:.1f} s")


if __name__ == "__main__":
    with hidden_warnings():
        AutoClassifier(random_state=0).fit(np.eye(40)[:, :3], np.arange(40) % 2)  # compiles
    main(sys.argv[1])
