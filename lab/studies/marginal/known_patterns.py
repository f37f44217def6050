"""A model trained on NaN and three missing patterns: as trained, or averaged?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold

from absentia import MarginalClassifier
from lab.studies.marginal.trials import TABLES, means_by_way, scores


@means_by_way
def rows(
    name: str, n_folds: int = 3, repeats: int = 2
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield accuracy and log loss for rows with a pattern of training, and with a new one."""
    X, y = TABLES[name](return_X_y=True)
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        patterns = rng.random((6, X.shape[1])) < 0.4
        patterns[0] = False
        trained, new = patterns[:3], patterns[3:]
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=repeat)
        for train, test in folds.split(X, y):
            holes = np.where(trained[rng.integers(0, 3, len(train))], np.nan, X[train])
            model = HistGradientBoostingClassifier(random_state=0).fit(holes, y[train])
            wrapper = MarginalClassifier(FrozenEstimator(model), random_state=0).fit(holes)
            for kind, masks in (("known", trained[1:]), ("new", new)):
                rows_ = np.where(masks[rng.integers(0, len(masks), len(test))], np.nan, X[test])
                for way, answers in (
                    ("as trained", model.predict_proba(rows_)),
                    ("averaged", wrapper.predict_proba(rows_)),
                ):
                    outcome = scores(y[test], answers)
                    yield f"{kind} patterns, {way}", outcome
