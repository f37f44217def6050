"""K-means imputation, a rival in [Struski2016]_."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from sklearn.utils import check_random_state

from absentia.parameters import COUNT, RandomState, declared
from absentia.tables import FloatArray, IntArray
from lab.baselines.imputers.imputer import Imputer


@declared
class KMeansImputer(Imputer):
    """Fill a missing value with that of the centre of the row's cluster.

    K-means that works on incomplete rows: a row belongs to the centre that is nearest over the
    columns that it has, and a centre is, column by column, the mean of what its rows have. Both
    steps lower ``sum over observed x[i,j] of (x[i,j] - centre[label[i], j])^2``. The settings of
    [Struski2016]_ are the defaults: 10 clusters, at most 100 iterations. The clusters start at
    random training rows; of ``n_init`` starts the one with the lowest sum wins.

    Columns should be on one scale (``StandardScaler`` first).

    Parameters
    ----------
    n_clusters : int, default=10
        Fewer where there are fewer training rows.
    max_iter : int, default=100
    n_init : int, default=4
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    inertia_ : float
        The sum of squares above, on the training rows.
    n_iter_ : int
        Iterations of the start that won.

    Notes
    -----
    O(n k d) an iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import KMeansImputer
    >>> X = [[0.0, 0.0], [0.2, 0.2], [9.0, 5.0], [9.2, np.nan]]
    >>> KMeansImputer(n_clusters=2, random_state=0).fit_transform(X)[3]
    array([9.2, 5. ])
    """

    cluster_centers_: FloatArray = field(init=False)
    inertia_: float = field(init=False)
    n_iter_: int = field(init=False)

    n_clusters: int = field(default=10, kw_only=False)
    max_iter: int = 100
    n_init: int = 4
    random_state: RandomState = None

    def _learn(self, table: FloatArray) -> dict[str, object]:
        for name in ("n_clusters", "max_iter", "n_init"):
            COUNT.check(name, getattr(self, name))
        rng = check_random_state(self.random_state)
        runs = [self._run(table, rng) for _ in range(self.n_init)]
        centres, inertia, n_iter = min(runs, key=lambda run: run[1])
        return {"cluster_centers_": centres, "inertia_": inertia, "n_iter_": n_iter}

    def _run(self, table: FloatArray, rng: np.random.RandomState) -> tuple[FloatArray, float, int]:
        """Return centres, sum of squares and iterations from one random start."""
        observed = ~np.isnan(table)
        values = np.where(observed, table, 0.0)
        k = min(self.n_clusters, len(table))
        means = values.sum(axis=0) / observed.sum(axis=0)
        start = rng.choice(len(table), k, replace=False)
        centres = np.where(observed[start], table[start], means)
        labels = np.full(len(table), -1)
        n_iter = 0
        while n_iter < self.max_iter:
            n_iter += 1
            previous, labels = labels, _nearest(values, observed, centres)
            if np.array_equal(labels, previous):
                break
            members = np.eye(k)[labels].T
            counts = members @ observed
            # A centre keeps its value in columns that none of its rows has.
            centres = np.where(counts > 0, members @ values / np.maximum(counts, 1), centres)
        residuals = np.where(observed, values - centres[labels], 0.0)
        return centres, float((residuals**2).sum()), n_iter

    def _fill(self, table: FloatArray) -> FloatArray:
        observed = ~np.isnan(table)
        values = np.where(observed, table, 0.0)
        labels = _nearest(values, observed, self.cluster_centers_)
        return np.where(observed, table, self.cluster_centers_[labels])


def _nearest(values: FloatArray, observed: np.ndarray, centres: FloatArray) -> IntArray:
    """Return the nearest centre of each row, over the columns that the row has.

    ``|x - c|^2`` without ``|x|^2``, which is the same for all centres: ``|c[O]|^2 - 2 x[O]'c[O]``.
    """
    labels: IntArray = np.argmin(observed @ (centres**2).T - 2 * values @ centres.T, axis=1)
    return labels
