"""Clusters of incomplete rows, and labels that spread over a graph of them."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Self

import numpy as np
import sklearn.cluster
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

import absentia.parameters as rules
from absentia.hidden_warnings import hidden_warnings
from absentia.machines.base import KernelMachine, UnsupervisedMachine
from absentia.machines.documentation import documented
from absentia.machines.targets import ClassifierTargets
from absentia.machines.validation import checked_labels
from absentia.parameters import FloatMatrix, FloatVector, IntVector, RandomState, Rule, declared
from absentia.tables import FloatArray, IntArray, Learned, TableLike


@declared
class _Clustering(ClusterMixin, UnsupervisedMachine):
    """Base class of the clustering machines."""

    _rules: ClassVar[dict[str, Rule]] = {"n_clusters": rules.COUNT, "n_init": rules.COUNT}

    labels_: IntVector = field(init=False)

    n_clusters: int = field(default=8, kw_only=False)
    n_init: int = 10
    random_state: RandomState = None

    def _check_enough_rows(self, K: FloatArray) -> None:
        if len(K) < int(self.n_clusters):
            raise ValueError(
                f"n_samples={len(K)} should be at least n_clusters={self.n_clusters}: each cluster "
                "needs at least one row."
            )


@documented
class SpectralClustering(_Clustering):
    """Spectral clustering of rows with missing values.

    The kernel matrix is the affinity matrix of a graph. Its normalised Laplacian's
    first eigenvectors are coordinates in which clusters of any shape separate, and are
    partitioned by scikit-learn's :class:`~sklearn.cluster.SpectralClustering`. There is no
    ``predict``: for new rows see :class:`KernelKMeans`.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of eigenvectors; by default the number of clusters.
    eigen_solver : {"arpack", "lobpcg", "amg"} or None, default=None
    eigen_tol : float or "auto", default="auto"
    assign_labels : {"kmeans", "discretize", "cluster_qr"}, default="kmeans"
        How the coordinates are partitioned.
    n_init : int, default=10
        Runs of ``"kmeans"``, of which the best is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import SpectralClustering
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(-3, 1, size=(20, 3)), rng.normal(3, 1, size=(20, 3))])
    >>> X[:, :2][rng.random((40, 2)) < 0.2] = np.nan
    >>> labels = SpectralClustering(n_clusters=2, random_state=0).fit_predict(X)
    >>> sorted(np.bincount(labels).tolist())
    [20, 20]
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": rules.COUNT | rules.words(None),
        "eigen_solver": rules.words("arpack", "lobpcg", "amg", None),
        "eigen_tol": rules.NOT_NEGATIVE | rules.words("auto"),
        "assign_labels": rules.words("kmeans", "discretize", "cluster_qr"),
    }

    n_components: int | None = None
    eigen_solver: str | None = None
    eigen_tol: float | str = "auto"
    assign_labels: str = "kmeans"

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        self._check_enough_rows(K)
        check_similarities(K, self)
        names = ("n_components", "eigen_solver", "eigen_tol", "assign_labels", "n_init")
        theirs = sklearn.cluster.SpectralClustering(
            self.n_clusters,
            affinity="precomputed",
            random_state=self.random_state,
            **self._params(*names),
        )
        # As many clusters as rows take all eigenvectors, hence a dense solver, as it should be.
        with hidden_warnings("k >= N for N", RuntimeWarning):
            return {"labels_": theirs.fit_predict(K).astype(np.intp)}


@documented
class KernelKMeans(_Clustering):
    """k-means clustering of rows with missing values, in the space of the kernel.

    Each cluster is the mean of its members in the kernel's space, each row belongs to the nearest:
    ``|x - m|^2 = k(x, x) - 2 mean_i k(x, x_i) + mean_ij k(x_i, x_j)`` over the members ``i, j``.
    Starts are drawn as in k-means++, and the best of several runs is kept.

    Parameters
    ----------
    n_init : int, default=10
        Number of runs.
    max_iter : int, default=300
        Maximum number of steps per run; it ends when no row moves.

    Attributes
    ----------
    inertia_ : float
        Sum of the squared distances of the rows to their clusters' means.
    memberships_ : ndarray of shape (n_samples, n_clusters)
        One over the size of the cluster for its members, else zero.
    spreads_ : ndarray of shape (n_clusters,)
        ``mean_ij k(x_i, x_j)`` over the members of each cluster.
    n_iter_ : int
        Steps of the best run.

    Notes
    -----
    O(n^2 n_clusters) per step, after the Gram matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(-3, 1, size=(20, 3)), rng.normal(3, 1, size=(20, 3))])
    >>> X[:, :2][rng.random((40, 2)) < 0.2] = np.nan
    >>> machine = KernelKMeans(n_clusters=2, random_state=0).fit(X)
    >>> a, b, c = machine.predict([[-3.0, np.nan, -3.0], [-2.0, -2.0, np.nan], [3.0, 3.0, np.nan]])
    >>> bool(a == b), bool(a == c)
    (True, False)
    """

    inertia_: float = field(init=False)
    memberships_: FloatMatrix = field(init=False)
    spreads_: FloatVector = field(init=False)
    n_iter_: int = field(init=False)

    max_iter: int = 300

    def predict(self, X: TableLike) -> IntArray:
        """Return the nearest cluster of each row, (n_samples,)."""
        return self._relative_distances(X).argmin(axis=1)

    def _ignores_offsets(self) -> bool:
        return True  # distances between rows and means do

    def _relative_distances(self, X: TableLike) -> FloatArray:
        """Return squared distances to the means, less ``k(x, x)``, which all clusters share."""
        return self._map_gram(X, lambda K: self.spreads_ - 2 * K @ self.memberships_)

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        self._check_enough_rows(K)
        rng = check_random_state(self.random_state)
        runs = [_lloyd(K, int(self.n_clusters), self.max_iter, rng) for _ in range(self.n_init)]
        return min(runs, key=lambda run: run["inertia_"])


@documented
class LabelSpreading(ClassifierTargets, KernelMachine):
    """Semi-supervised classification of rows with missing values.

    Labels spread over the graph whose weights are the kernel ``W`` of all rows, labelled or not,
    as [Williams2005]_ proposes to use it: with ``S = D^(-1/2) W D^(-1/2)``, ``D`` the row sums of
    ``W`` without its diagonal, and ``Y`` the indicators of the labels given,

        ``F = (1 - alpha) inv(I - alpha S) Y``,

    the limit of repeatedly passing a fraction ``alpha`` of each row's label distribution to its
    neighbours. The density learns from the rows without labels as well.

    Parameters
    ----------
    alpha : float, default=0.2
        Between 0 and 1: how much of a row's label comes from its neighbours, given labels
        included. Near 0 the given labels are kept.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The probability of each class for each training row.
    transduction_ : ndarray of shape (n_samples,)
        The most probable class of each training row.

    Notes
    -----
    Exact, by one Cholesky factor, O(n^3 / 3), where scikit-learn's
    :class:`~sklearn.semi_supervised.LabelSpreading` iterates up to a tolerance. Every row is a
    neighbour of every other, so choose ``gamma`` large enough that only near rows count, four to
    ten times ``"scale"`` in trials; ``gamma="loo"``, which suits regression and comes out far
    smaller, is not offered.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LabelSpreading
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(-3, 1, size=(20, 3)), rng.normal(3, 1, size=(20, 3))])
    >>> X[:, :2][rng.random((40, 2)) < 0.2] = np.nan
    >>> y = np.full(40, -1)
    >>> y[0], y[20] = 0, 1
    >>> machine = LabelSpreading(gamma=0.1).fit(X, y)
    >>> np.bincount(machine.transduction_)
    array([20, 20])
    >>> machine.predict([[np.nan, 3.0, 2.0]])
    array([1])
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "gamma": rules.GAMMA | rules.words("scale"),
        "alpha": rules.FRACTION,
    }

    label_distributions_: FloatMatrix = field(init=False)
    transduction_: np.ndarray = field(init=False)

    alpha: float = 0.2

    def fit(self, X: TableLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Spread the labels over all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Class labels, -1 for unlabelled rows.
        """
        return self._fit(X, y)

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Return the probability of each class: the average of the training rows, by similarity.

        A row to which no training row has any similarity gets the average of all."""
        scores = self._map_gram(X, lambda K: K @ self.label_distributions_)
        return _normalised(scores, self.label_distributions_.mean(axis=0))

    def _check_targets(self, y: ArrayLike, n_samples: int) -> np.ndarray:
        given = np.asarray(y)
        if given.dtype.kind in "US" and not hasattr(y, "dtype"):
            given = np.array(y, dtype=object)  # a list of words, in which -1 stays a number
        unlabelled = given == -1
        if given.size and unlabelled.all():
            raise ValueError("No row has a label: y is -1 everywhere. Label at least one row.")
        has_words = given.dtype == object and any(isinstance(label, str) for label in given.flat)
        if has_words and given.shape == (n_samples,) and unlabelled.any():
            checked_labels(self, np.where(unlabelled, "", given), n_samples)  # -1 is no word
            return given
        return super()._check_targets(y, n_samples)

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        check_similarities(K, self)
        labelled = np.flatnonzero(y != -1)
        classes, codes = np.unique(y[labelled], return_inverse=True)
        Y = np.zeros((len(K), len(classes)))
        Y[labelled, codes] = 1.0
        S = K.copy()
        np.fill_diagonal(S, 0.0)
        degrees = S.sum(axis=1)
        roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
        S /= roots[:, None]
        S /= roots
        S *= -self.alpha
        S[np.diag_indices_from(S)] += 1.0
        factor = cho_factor(S, lower=True, overwrite_a=True, check_finite=False)
        spread = np.maximum((1 - self.alpha) * cho_solve(factor, Y, check_finite=False), 0.0)
        distributions = _normalised(spread, Y[labelled].mean(axis=0))
        return {
            "classes_": classes,
            "label_distributions_": distributions,
            "transduction_": classes[distributions.argmax(axis=1)],
        }


def _lloyd(K: FloatArray, n_clusters: int, max_iter: int, rng: np.random.RandomState) -> Learned:
    """Move rows to the nearest mean until none moves; return the fitted attributes of the run."""
    diagonal = np.diagonal(K)
    seeds = _plus_plus(K, n_clusters, rng)
    labels = (diagonal[seeds] - 2 * K[:, seeds]).argmin(axis=1)
    moving, n_iter = True, 0
    while moving and n_iter < max_iter:
        moved = _nearest(_distances(K, labels, n_clusters)[2])
        moving, labels, n_iter = not np.array_equal(moved, labels), moved, n_iter + 1
    memberships, spreads, distances = _distances(K, labels, n_clusters)
    inertia = float(np.maximum(distances[np.arange(len(K)), labels], 0.0).sum())
    return {
        "labels_": labels,
        "inertia_": inertia,
        "memberships_": memberships,
        "spreads_": spreads,
        "n_iter_": n_iter,
    }


def _distances(
    K: FloatArray, labels: IntArray, n_clusters: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return normalised memberships, spreads of the clusters, and all squared distances."""
    memberships = np.eye(n_clusters)[labels]
    memberships /= np.maximum(memberships.sum(axis=0), 1.0)
    similarities = K @ memberships
    spreads = (memberships * similarities).sum(axis=0)
    return memberships, spreads, np.diagonal(K)[:, None] - 2 * similarities + spreads


def _nearest(distances: FloatArray) -> IntArray:
    """Return the nearest cluster of each row; no cluster is left empty.

    An empty cluster takes the row that is farthest from the mean of its own.
    """
    rows = np.arange(len(distances))
    labels: IntArray = distances.argmin(axis=1)
    sizes = np.bincount(labels, minlength=distances.shape[1])
    for empty in np.flatnonzero(sizes == 0):
        own = np.where(sizes[labels] > 1, distances[rows, labels], -np.inf)
        row = own.argmax()
        sizes[labels[row]] -= 1
        labels[row] = empty
        sizes[empty] = 1
    return labels


def _plus_plus(K: FloatArray, n_clusters: int, rng: np.random.RandomState) -> IntArray:
    """Draw rows to start from, each with a chance that grows with its distance to the others."""
    diagonal = np.diagonal(K)
    seeds = [int(rng.randint(len(K)))]
    nearest = np.full(len(K), np.inf)
    for _ in range(1, n_clusters):
        last = seeds[-1]
        nearest = np.minimum(nearest, np.maximum(diagonal - 2 * K[last] + diagonal[last], 0.0))
        nearest[seeds] = 0.0
        total = nearest.sum()
        if total > 0:
            seeds.append(int(rng.choice(len(K), p=nearest / total)))
        else:  # all remaining rows equal a seed
            seeds.append(int(np.setdiff1d(np.arange(len(K)), seeds)[0]))
    return np.array(seeds)


def check_similarities(K: FloatArray, machine: KernelMachine) -> None:
    """Raise ValueError where a kernel matrix cannot be the weights of a graph."""
    if (K < 0).any():
        raise ValueError(
            f"{type(machine).__name__} uses the kernel as the weights of a graph, but some are "
            f"negative (the lowest is {K.min():.3g}). Use a kernel that is positive everywhere, "
            "such as GenRBF."
        )


def _normalised(scores: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return rows normalised to sum to one; all-zero rows become the given default."""
    totals = scores.sum(axis=1, keepdims=True)
    empty = totals[:, 0] <= 0
    normalised = scores / np.where(totals > 0, totals, 1.0)
    normalised[empty] = otherwise
    return normalised
