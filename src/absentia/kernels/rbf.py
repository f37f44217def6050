"""The expected RBF kernel, and genRBF, its cosine normalisation.

One closed form serves three papers. With ``A``, ``B`` the covariances of two beliefs, ``d`` the
difference of their means and ``C0 = inv(2 gamma M)``::

    E[k](P, Q) = det(C0)^(1/2) det(C0 + A + B)^(-1/2) exp(-1/2 d' inv(C0 + A + B) d)
    genRBF     = E[k](P, Q) / sqrt(E[k](P, P) E[k](Q, Q))
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from absentia.beliefs import Beliefs, Prior
from absentia.kernels.base import Kernel, with_params
from absentia.kernels.category import (
    CategoryFactor,
    resolve_category_weight,
    resolve_similarities,
    scaled_for_categories,
)
from absentia.kernels.gram.expected import expected_gram, log_self_similarities
from absentia.kernels.gram.frequent_patterns import LogFactor
from absentia.kernels.gram.tiles import origin_of
from absentia.kernels.gram.width_gradients import self_width_gradient, width_gradient
from absentia.kernels.metric import Smoothing, Widths, cached, metric_root
from absentia.parameters import GAMMA, declared
from absentia.tables import FloatArray


class _RBF(Kernel):
    """Base class of the two kernels, which have widths, a metric and weights of categories."""

    gamma: Any
    metric: Any
    category_weight: Any
    category_similarities: Any

    takes_categories = True
    has_gradient = True

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with all parameters resolved to numbers."""
        resolved = super().resolve(prior)
        if not prior.probabilities:
            return resolved
        similarities = resolve_similarities(self.category_similarities, prior)
        weight = resolve_category_weight(self.category_weight, prior, prior.n_numbers, similarities)
        params: dict[str, Any] = {"category_weight": weight, "category_similarities": similarities}
        if isinstance(self.gamma, str):
            params["gamma"] = scaled_for_categories(resolved.get_params()["gamma"], prior)
        return with_params(resolved, **params)

    def _factor(self, P: Beliefs, Q: Beliefs | None) -> CategoryFactor | None:
        if P.codes is None:
            return None
        return CategoryFactor.of(P, Q, self.category_weight, self.category_similarities)

    def _smoothing(self, P: Beliefs) -> Smoothing:
        return Smoothing.of(self.gamma, self.metric, P.n_features)

    def _in_euclidean_metric(self, P: Beliefs) -> tuple[Beliefs, Smoothing]:
        """Return beliefs and smoothing after the map that makes the metric Euclidean."""
        smoothing = self._smoothing(P)
        if smoothing.metric is None:
            return P, smoothing
        root = metric_root(smoothing.metric)
        # Or the map would round far means.
        P = P.in_units(np.ones(P.n_features), origin_of(P.whole.means[:, 0]))
        return P.transform(root), Smoothing(smoothing.gamma, None, P.n_features)

    def _derivatives(
        self,
        P: Beliefs,
        weights: FloatArray,
        n_jobs: int | None,
        *,
        own: FloatArray | None = None,
        scaled: bool = True,
    ) -> dict[str, FloatArray]:
        """Return derivatives by ``log gamma``, where ``c = 1/(2 gamma)``, and by ``log weight``.

        ``own`` are the weights of the self-similarities by which a kernel is normalised.
        """
        factor = self._factor(P, None)
        P, smoothing = self._in_euclidean_metric(P)
        diag = None if factor is None else factor.diag
        logs = None if own is None else log_self_similarities(P, smoothing, log_factor=diag)
        options: dict[str, Any] = {"scaled": scaled, "n_jobs": n_jobs}
        norms = None if logs is None else 0.5 * logs
        by_widths = width_gradient(
            P, smoothing, weights, log_norms=norms, log_factor=factor, **options
        )
        if own is not None:
            by_widths += self_width_gradient(P, smoothing, own, log_factor=diag)
        found = {"gamma": np.asarray(-by_widths.sum() if np.ndim(self.gamma) == 0 else -by_widths)}
        if factor is None:
            return found
        by_weights = np.zeros(len(factor.weights))
        for column in range(len(by_weights)):
            changed = factor.by_weight(column)
            K = expected_gram(P, None, smoothing, log_norms_P=norms, log_factor=changed, **options)
            by_weights[column] = -np.vdot(weights, K)
            if own is not None and logs is not None:
                changed_logs = log_self_similarities(P, smoothing, log_factor=changed.diag)
                by_weights[column] -= own @ np.exp(changed_logs - logs)
        one = np.ndim(self.category_weight) == 0
        found["category_weight"] = np.asarray(by_weights.sum()) if one else by_weights
        return found


@declared
class ExpectedRBF(_RBF):
    """The RBF kernel averaged over everything that two rows could have been.

    ``E exp(-gamma |x - y|_M^2)`` for independent ``x ~ P`` and ``y ~ Q``: Eq. (3) of
    [Anderson2011]_ with its ``gamma / 2`` read as ours, Eq. (2) of [Struski2016]_ up to a
    constant, and for mixtures Eq. (4) of [Williams2005]_. On complete rows it is the ordinary RBF
    kernel. A row that misses much is less similar to everything, itself included; where that is
    unwanted, :class:`GenRBF` normalises it away.

    Parameters
    ----------
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        Width of the kernel; ``"scale"`` is one over the trace of the density's covariance. An
        array gives each column a width of its own: the squared distance is
        ``sum_j gamma_j (x_j - y_j)^2``.
    metric : {"euclidean", "mahalanobis"} or array of shape (n_features, n_features)
        ``M`` in the distance. ``"mahalanobis"`` whitens by the density's covariance (Appendix D of
        [Smieja2018]_); an array must be symmetric and positive definite.
    scaled : bool, default=True
        Without scaling the determinants are left out: the unscaled form of [Anderson2011]_, which
        has a unit diagonal but is **not positive definite**, contrary to the paper.
    diagonal : {"independent", "same"}, default="independent"
        Diagonal of ``kernel(P)``: two independent draws of the row, as
        off the diagonal, or one and the same draw, which makes it 1. Both are positive definite.
    category_weight : float, array-like of shape (n_category_columns,) or "scale", default="scale"
        Cost of a difference in a column of categories, as in :class:`CategoryKernel`, where
        beliefs have such columns. They multiply the kernel of the numbers component pair by
        component pair.
    category_similarities : None, "ordered", list or dict, default=None
        How alike different categories are, the ``similarities`` of :class:`CategoryKernel`.

    Notes
    -----
    A pair costs ``min(|L|, |O|)^3 / 6`` multiply-adds, ``L`` and ``O`` being what one of the rows
    misses and has, and less where many rows share a pattern; complete rows cost what scikit-learn's
    ``rbf_kernel`` costs. A metric other than the Euclidean adds ``d^2``. A mixture of ``k``
    components costs ``k^2`` times that. On wide tables in the Euclidean metric a pair costs instead
    about the squares of what each row misses and 5/6 of the cube of what both miss. With
    :class:`LowRankDensity` of ``q`` factors a pair costs about ``q^2 |L| + 2 q d + 3 q^3`` where
    that is less and the metric is diagonal. In both cases pairs of components that would add less
    than 1e-14 of an entry are left out.
    For accuracy's sake a pair costs ``d^3 / 6`` where the other columns leave a column less than a
    millionth of its variance, where the variance of the RBF is less than 1e-5 of a column's, or
    where rows on both sides lie more than some 2000 widths of the RBF from the mean of the density.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import ExpectedRBF, GaussianDensity
    >>> X = np.array([[0.0, 0.0], [1.0, np.nan], [2.0, 1.0], [3.0, 3.0]])
    >>> P = GaussianDensity().fit(X).condition(X)
    >>> ExpectedRBF(gamma=0.5)(P).round(2)
    array([[1.  , 0.42, 0.08, 0.  ],
           [0.42, 0.76, 0.51, 0.02],
           [0.08, 0.51, 1.  , 0.08],
           [0.  , 0.02, 0.08, 1.  ]])
    """

    name = "expected-rbf"
    gamma: Widths = field(default="scale", kw_only=False)
    metric: Any = field(default="euclidean", kw_only=False)
    scaled: bool = True
    diagonal: str = "independent"
    category_weight: float | str | ArrayLike = "scale"
    category_similarities: Any = None

    @property
    def positive_definite(self) -> bool:
        """True for the scaled form only."""
        return bool(self.scaled)

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        smoothing = self._smoothing(P)
        factor = self._factor(P, Q)
        K = expected_gram(P, Q, smoothing, scaled=self.scaled, n_jobs=n_jobs, log_factor=factor)
        if Q is None:
            # By the same code as diag(), so that both agree to the last bit.
            np.fill_diagonal(K, self._diag(P))
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        factor = self._factor(P, None)
        if self.diagonal == "same" or not (self.scaled or P.n_components > 1 or factor):
            return np.ones(len(P))
        log_factor = None if factor is None else factor.diag
        smoothing = self._smoothing(P)
        return np.exp(
            log_self_similarities(P, smoothing, scaled=self.scaled, log_factor=log_factor)
        )

    def _gradient(
        self, P: Beliefs, weights: FloatArray, K: FloatArray | None, n_jobs: int | None
    ) -> dict[str, FloatArray]:
        if self.diagonal == "same":
            weights = weights.copy()
            np.fill_diagonal(weights, 0.0)  # the diagonal is one whatever the width
        return self._derivatives(P, weights, n_jobs, scaled=self.scaled)


@declared
class GenRBF(_RBF):
    """The generalised RBF kernel: the expected RBF, normalised to a unit diagonal.

    ``E[k](P, Q) / sqrt(E[k](P, P) E[k](Q, Q))`` with independent draws in the self-terms: Eq.
    (20)-(21) of [Smieja2018]_, where it is the inner product of smoothed densities in L2. It is
    positive definite, has a unit diagonal, equals the ordinary RBF kernel on complete rows, and
    carries over to mixtures and to beliefs after any affine map (Eq. (2) there). The kernel to
    start with.

    Parameters
    ----------
    gamma : float, "scale" or array-like of shape (n_features,), default="scale"
        Width of the kernel, as in :class:`ExpectedRBF`.
    metric : {"euclidean", "mahalanobis"} or array of shape (n_features, n_features)
        As in :class:`ExpectedRBF`.
    category_weight : float, array-like of shape (n_category_columns,) or "scale", default="scale"
        As in :class:`ExpectedRBF`; the normalisation includes the categories.
    category_similarities : None, "ordered", list or dict, default=None
        As in :class:`ExpectedRBF`.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianDensity, GenRBF
    >>> X = np.array([[0.0, 0.0], [1.0, np.nan], [2.0, 1.0], [3.0, 3.0]])
    >>> P = GaussianDensity().fit(X).condition(X)
    >>> GenRBF(gamma=0.5)(P).round(2)
    array([[1.  , 0.49, 0.08, 0.  ],
           [0.49, 1.  , 0.58, 0.02],
           [0.08, 0.58, 1.  , 0.08],
           [0.  , 0.02, 0.08, 1.  ]])
    """

    name = "genrbf"
    gamma: Widths = field(default="scale", kw_only=False)
    metric: Any = field(default="euclidean", kw_only=False)
    category_weight: float | str | ArrayLike = "scale"
    category_similarities: Any = None

    def _resolved_for(self, P: Beliefs, Q: Beliefs | None) -> Kernel:
        if P.prior.probabilities or not (Q is None or P.prior.equals(Q.prior)):
            return super()._resolved_for(P, Q)
        named = isinstance(self.metric, str) and self.metric == "euclidean"
        if type(self.gamma) is not float or not named:
            return super()._resolved_for(P, Q)
        GAMMA.check("gamma", self.gamma)
        return self  # nothing is left to resolve, so that a machine's kernel need not be copied

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        smoothing = self._smoothing(P)
        other = None
        if Q is not None:
            other = cached(Q, smoothing, "norms", lambda: 0.5 * log_self_similarities(Q, smoothing))
        norms = 0.5 * log_self_similarities(P, smoothing), other
        factor = self._normalised(P, Q, norms, smoothing)
        options: dict[str, Any] = {"n_jobs": n_jobs, "log_factor": factor}
        K = expected_gram(P, Q, smoothing, log_norms_P=norms[0], log_norms_Q=norms[1], **options)
        if Q is None:
            np.fill_diagonal(K, 1.0)
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        return np.ones(len(P))

    def _gradient(
        self, P: Beliefs, weights: FloatArray, K: FloatArray | None, n_jobs: int | None
    ) -> dict[str, FloatArray]:
        weights = weights.copy()
        np.fill_diagonal(weights, 0.0)  # the diagonal is one whatever the width
        K = self._gram(P, None, n_jobs) if K is None else K
        pairs = weights * K
        # Half a self-similarity of either row is subtracted from the logarithm of each pair.
        own = -0.5 * (pairs.sum(axis=0) + pairs.sum(axis=1))
        return self._derivatives(P, weights, n_jobs, own=own)

    def _normalised(
        self,
        P: Beliefs,
        Q: Beliefs | None,
        norms: tuple[FloatArray, FloatArray | None],
        smoothing: Smoothing,
    ) -> LogFactor | None:
        """Return the factor of categories, less what they add to the norms of the numbers."""
        factor = self._factor(P, Q)
        if factor is None:
            return None
        added = []
        for side, own_norms in zip((P, Q), norms, strict=True):
            if side is not None and own_norms is not None:
                own = self._factor(side, None)
                diag = None if own is None else own.diag
                added.append(0.5 * log_self_similarities(side, smoothing, log_factor=diag))
                added[-1] -= own_norms
        left, right = added[0], added[-1]
        return lambda a, b, rows, columns: (
            factor(a, b, rows, columns) - left[rows, None] - right[columns]
        )
