"""Incomplete-case k-nearest-neighbour imputation, the rival in [Mesquita]_."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from absentia.missingness import Patterns
from absentia.parameters import COUNT
from absentia.tables import FloatArray
from lab.baselines.imputers.imputer import Imputer


class IncompleteCaseKNNImputer(Imputer):
    """Fill a missing value with the mean of the nearest rows that have all that the row has.

    A training row can give its value of column ``j`` to a row that has the columns ``O`` when it
    has ``j`` and everything in ``O``: it may be incomplete itself, but the distance is never
    guessed from fewer columns. With ``N`` the ``k`` such rows that are nearest on ``O``, the hole
    gets ``sum_{i in N} x[i, j] / |N|``. (scikit-learn's ``KNNImputer`` measures over whatever two
    rows share and rescales.) Van Hulse and Khoshgoftaar, *Incomplete-case nearest neighbor
    imputation in software measurement data*, Information Sciences 259 (2014), 596-610. Where no
    training row qualifies the hole gets the column's mean.

    Columns should be on one scale (``StandardScaler`` first).

    Parameters
    ----------
    n_neighbors : int, default=5
        How many rows are averaged; fewer where fewer qualify.

    Attributes
    ----------
    training_rows_ : ndarray of shape (n_samples, n_features)
        The donors, on the columns that training knew.
    means_ : ndarray
        Mean of each column.

    Notes
    -----
    O(n m d) for m rows to fill and n training rows.

    Which rows may give, five neighbours and the fall back on the column agree with two public
    programs for the method, those of de Bodt and others (2019) and of the MATLAB toolbox
    ``nanclustering_toolbox``; the first averages as is done here, the second takes a median under
    the Euclidean distance. Not checked against the paper's full text: that neighbours weigh the
    same, and what happens where none qualifies, rest on these programs.

    Examples
    --------
    >>> import numpy as np
    >>> from lab.baselines import IncompleteCaseKNNImputer
    >>> X = [[0.0, 1.0, 5.0], [0.1, 3.0, np.nan], [np.nan, 9.0, 7.0]]
    >>> IncompleteCaseKNNImputer(n_neighbors=2).fit(X).transform([[0.0, np.nan, np.nan]])
    array([[0., 2., 5.]])
    """

    training_rows_: FloatArray
    means_: FloatArray

    def __init__(self, n_neighbors: int = 5):
        self.n_neighbors = n_neighbors

    def _learn(self, table: FloatArray) -> dict[str, object]:
        COUNT.check("n_neighbors", self.n_neighbors)
        return {"training_rows_": table.copy(), "means_": np.nanmean(table, axis=0)}

    def _fill(self, table: FloatArray) -> FloatArray:
        patterns = Patterns.of(table)
        available = ~np.isnan(self.training_rows_)
        for mask, rows in zip(patterns.masks, patterns.rows_by_pattern(), strict=True):
            if not mask.any():
                continue
            has, misses = np.flatnonzero(~mask), np.flatnonzero(mask)
            candidates = np.flatnonzero(available[:, has].all(axis=1))
            if not len(has) or not len(candidates):
                table[np.ix_(rows, misses)] = self.means_[misses]
                continue
            distances = euclidean_distances(
                table[np.ix_(rows, has)], self.training_rows_[np.ix_(candidates, has)]
            )
            for j in misses:
                gives = available[candidates, j]
                table[rows, j] = self._mean_of_nearest(
                    distances[:, gives], self.training_rows_[candidates[gives], j], self.means_[j]
                )
        return table

    def _mean_of_nearest(
        self, distances: FloatArray, values: FloatArray, fallback: float
    ) -> FloatArray | float:
        if not len(values):
            return fallback
        k = min(self.n_neighbors, len(values))
        # A stable sort, so that ties go to the earlier training row on every machine.
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
        means: FloatArray = values[nearest].mean(axis=1)
        return means
