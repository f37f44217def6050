"""Gaussian process regression for incomplete rows."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh, solve_triangular
from sklearn.utils import check_random_state

from absentia.beliefs import Beliefs
from absentia.kernels.repair import check_psd
from absentia.machines.base import Training
from absentia.machines.documentation import documented
from absentia.machines.gaussian_process.evidence import Bounds, FactoredEvidence, RegressionEvidence
from absentia.machines.gaussian_process.process import GaussianProcess
from absentia.machines.gaussian_process.uncertain_inputs import has_closed_form, squared_function
from absentia.machines.search.kernel_family import KernelFamily
from absentia.machines.targets import RegressorTargets, centre_of_targets, spread_of_targets
from absentia.machines.validation import is_free
from absentia.parameters import BOUNDS, POSITIVE, FloatMatrix, RandomState, Rule, bounds_of, words
from absentia.tables import FloatArray, Learned, TableLike


@documented
class GaussianProcessRegressor(RegressorTargets, GaussianProcess):
    """Gaussian process regression for rows with missing values.

    Targets are ``y = f(x) + noise`` with ``f`` a Gaussian process of covariance
    ``scale * k(P, Q)`` between the beliefs ``P``, ``Q`` about two rows. For new rows with kernel
    values ``k`` to the training rows, and ``S = scale K + noise I``,

        ``mean = scale k inv(S) y``,   ``variance = scale k(x, x) - scale^2 k inv(S) k' + noise``.

    What is left open (``"optimize"``) is chosen where the evidence, the probability of the
    training targets, is highest. On complete rows this is the process with the covariance
    ``scale * RBF + WhiteKernel(noise)`` of :mod:`sklearn.gaussian_process`.

    Parameters
    ----------
    noise : float or "optimize", default="optimize"
        Variance of the noise.
    normalize_y : bool, default=True
        Whether targets are centred and brought to unit variance first. ``noise``, ``scale`` and
        the evidence then refer to these targets; predictions are in the user's units.
    noise_bounds : pair of float, default=(1e-6, 10.0)
        Bounds of the search for ``noise``, in multiples of the mean square of the targets.
    scale_bounds : pair of float, default=(1e-3, 1e5)
        The same for ``scale``.

    Attributes
    ----------
    noise_, scale_ : float
        As given, or optimised.
    hyperparameter_names_ : list of str
        The free hyperparameters: those of the kernel, then ``"scale"`` and ``"noise"``.
    log_marginal_likelihood_value_ : float
        The evidence there.
    dual_coef_ : ndarray of shape (n_samples, n_targets)
        ``inv(S) y``.
    L_ : ndarray of shape (n_samples, n_samples)
        The lower Cholesky factor of ``S``.
    targets_ : ndarray of shape (n_samples, n_targets)
        The training targets, normalised with ``normalize_y=True``.

    Notes
    -----
    Why ``ExpectedRBF(diagonal="same")``, and not genRBF, is the default kernel: with
    ``X`` the true values of an uncertain row, ``f(X)`` has the variance ``scale``, and the
    covariance ``scale E k(X, Y)`` with the ``f(Y)`` of another row. So the mean is the best linear
    prediction of ``f`` at the true row, and the variance its mean squared error: a row that
    misses much is predicted with a larger error, and weighs less in training, as if its target
    were noisier. genRBF takes every row as one known point: its variances do not grow with what
    is missing. The variance is about all functions that the process held possible beforehand, so
    it also grows where a missing column turned out not to matter; the guide shows how to ask the
    learned function instead. ``ExpectedRBF(diagonal="independent")`` is about the *average* of
    ``f`` over what the row could be. Any kernel may be used; variances take ``k(x, x)`` from
    ``kernel_.diag``.

    One eigendecomposition for each value of the kernel's parameters settles scale and noise, and a
    search by L-BFGS-B with as many dimensions as the kernel has free parameters does the rest:
    some ten Gram matrices twice and O(n^3). With more than 800 rows that is done for 400 of them,
    evenly spaced, and from what they say a search over all hyperparameters at once goes on with
    all rows, by Cholesky factors and gradients; ``verbose=True`` shows every evaluation. A
    prediction costs O(n) per row, its variance O(n^2).

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianProcessRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(80, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> X[::4, 1] = np.nan
    >>> X[1::4, 0] = np.nan
    >>> machine = GaussianProcessRegressor().fit(X, y)
    >>> mean, std = machine.predict([[1.5, 0.0], [np.nan, 0.0]], return_std=True)
    >>> std.round(1)
    array([0.1, 0.5])
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "noise": POSITIVE | words("optimize"),
        "noise_bounds": BOUNDS,
    }

    _multi_output = True
    _squares_targets = True

    noise_: float = field(init=False)
    targets_: FloatMatrix = field(init=False)
    _centre: float | FloatArray = field(init=False)
    _spread: float | FloatArray = field(init=False)

    noise: float | str = "optimize"
    normalize_y: bool = True
    noise_bounds: Bounds = (1e-6, 10.0)

    def _optimised(
        self, training: Training, y: np.ndarray, family: KernelFamily, deviation: float
    ) -> tuple[KernelFamily, FloatArray, Learned]:
        centre, spread = np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        if self.normalize_y:
            centre, spread = centre_of_targets(y), spread_of_targets(y)
        targets = ((y - centre) / spread).reshape(len(y), -1)
        evidence = RegressionEvidence(
            training.beliefs,
            targets,
            scale=None if is_free(self.scale) else float(self.scale),
            noise=None if is_free(self.noise) else float(self.noise),
            scale_bounds=bounds_of(self.scale_bounds),
            noise_bounds=bounds_of(self.noise_bounds),
            n_jobs=self.n_jobs,
        )
        some = evidence.of_some_rows()

        def settled_search(family: KernelFamily, n_restarts: int) -> FloatArray:
            return self._search(
                partial(some.settled, family),
                family.start,
                family.bounds,
                len(some.targets),
                n_restarts,
            )

        prior = training.beliefs.prior
        family, best = self._in_two_stages(settled_search, family, prior, deviation)
        K, _, levels = some.spectrum(family, best)
        theta = np.append(best, np.log([levels[name] for name in self._free_levels()]))
        if some is not evidence:
            start, bounds = evidence.joint_start(family, theta)
            theta = self._search(partial(evidence.joint, family), start, bounds, len(y))
            K = evidence.gram(family, theta)
            levels |= evidence.levels_of(family, theta)
        check_psd(K, family.kernel)  # before the evidence, which fails if this warns
        found = FactoredEvidence.of(K, targets, **levels)
        solution = {
            "noise_": found.noise,
            "scale_": found.scale,
            "log_marginal_likelihood_value_": found.log_likelihood,
            "dual_coef_": found.weights,
            "L_": found.root,
            "targets_": targets,
            "_centre": centre,
            "_spread": spread,
        }
        return family, theta, solution

    def predict(
        self,
        X: TableLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = True,
    ) -> Any:
        """Predict the target, or targets, of each row, with the uncertainty if it is requested.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
        return_std : bool, default=False
            Whether to return the standard deviation of each prediction as well.
        return_cov : bool, default=False
            Whether to return the covariance of all predictions as well.
        include_noise : bool, default=True
            Whether these are about new observations; if not, about the process beneath the noise.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        std : ndarray of the same shape, with ``return_std``
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_targets), with \
                ``return_cov``
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if not (return_std or return_cov):
            return self._map_gram(X, self._mean)
        beliefs = self._believe(X)
        noise = self.noise_ if include_noise else 0.0
        if return_cov:
            K = self.kernel_(beliefs, self.beliefs_, n_jobs=self.n_jobs)
            explained = self._explained(K)
            covariance = self.scale_ * self.kernel_(beliefs, n_jobs=self.n_jobs)
            covariance -= explained.T @ explained
            covariance[np.diag_indices_from(covariance)] += noise
            return self._mean(K), np.multiply.outer(covariance, self._spread**2)
        variance = self.scale_ * self.kernel_.diag(beliefs)
        means = []
        for rows, K in self._gram_tiles(beliefs):
            means.append(self._mean(K))
            variance[rows] -= (self._explained(K) ** 2).sum(axis=0)
        mean = np.concatenate(means)
        # The process knows a training row without noise: what rounding left below zero is zero.
        return mean, np.multiply.outer(np.sqrt(np.maximum(variance, 0.0) + noise), self._spread)

    def _belief_moments(self, beliefs: Beliefs) -> tuple[FloatArray, ...] | None:
        """Return prediction, model variance, noise and variance due to missing values, if known.

        With ``s`` the scale, ``Q`` the second moments of the kernel with the training rows over
        the belief, ``S`` their covariance and ``alpha = inv(S) y``::

            missing = s^2 alpha' Q alpha - mean^2,   model = s - s^2 tr(inv(S) Q)

        None where rounding may exceed 1e-4 of the targets' variance: terms of wide kernels cancel.
        """
        if not has_closed_form(self.kernel_) or self.beliefs_.codes is not None:
            return None
        root = len(self.L_) ** 0.5 / np.diagonal(self.L_).min()
        largest = self.scale_ * max(np.abs(self.dual_coef_).sum(axis=0).max(), root)
        if np.finfo(float).eps * largest**2 > 1e-4:
            return None
        spread = np.atleast_1d(self._spread)
        explained, squares = squared_function(
            self.kernel_, self.beliefs_, beliefs, self.L_, self.dual_coef_, self.n_jobs
        )
        certain = beliefs.covariances.is_zero()[beliefs.group_of_row]
        means, predictions = np.empty_like(squares), []
        for rows, K in self._gram_tiles(beliefs):
            means[rows] = self.scale_ * K @ self.dual_coef_
            predictions.append(self._mean(K).reshape(len(K), -1))
        missing = np.where(certain[:, None], 0.0, self.scale_**2 * squares - means**2) * spread**2
        model = np.maximum(self.scale_ - self.scale_**2 * explained, 0.0)[:, None] * spread**2
        noise = np.broadcast_to(self._noise_variance, model.shape)
        return np.concatenate(predictions), model, noise, missing

    def _with_own_doubt(self, beliefs: Beliefs) -> tuple[FloatArray, FloatArray]:
        """Return predictions and the variances of the process, each (n, n_targets)."""
        mean, std = self.predict(beliefs, return_std=True, include_noise=False)
        return mean.reshape(len(beliefs), -1), std.reshape(len(beliefs), -1) ** 2

    @property
    def _noise_variance(self) -> FloatArray | float:
        """The variance of the noise in the units of the targets."""
        return self.noise_ * self._spread**2

    def sample_y(
        self,
        X: TableLike,
        n_samples: int = 1,
        random_state: RandomState = 0,
        *,
        include_noise: bool = True,
    ) -> FloatArray:
        """Draw what the targets of new rows could be, jointly.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or Beliefs
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=0
        include_noise : bool, default=True
            Whether to draw observations; if not, the process beneath the noise.

        Returns
        -------
        ndarray of shape (n_rows, n_samples) or (n_rows, n_targets, n_samples)
        """
        rng = check_random_state(random_state)
        mean, covariance = self.predict(X, return_cov=True, include_noise=include_noise)
        if mean.ndim == 1:
            return _draws(mean, covariance, n_samples, rng)
        targets = range(mean.shape[1])
        draws = [_draws(mean[:, j], covariance[..., j], n_samples, rng) for j in targets]
        return np.stack(draws, axis=1)

    def _evidence(self, theta: FloatArray, eval_gradient: bool) -> tuple[float, FloatArray]:
        if theta is self.theta_ and not eval_gradient:
            return self.log_marginal_likelihood_value_, np.empty(0)
        by_name = dict(zip(self.hyperparameter_names_, np.exp(theta), strict=True))
        levels = {name: by_name.pop(name, getattr(self, f"{name}_")) for name in ("scale", "noise")}
        family = KernelFamily(self.kernel_, tuple(by_name), np.empty((len(by_name), 2)))
        logarithms = theta[: len(by_name)]
        K = family.at(logarithms)(self.beliefs_, n_jobs=self.n_jobs)
        found = FactoredEvidence.of(K, self.targets_, **levels)
        if not eval_gradient:
            return found.log_likelihood, np.empty(0)
        by_kernel = family.gradient(
            logarithms, self.beliefs_, found.kernel_weights(), n_jobs=self.n_jobs
        )
        free = [name in self.hyperparameter_names_ for name in levels]
        return found.log_likelihood, np.append(by_kernel, found.by_levels()[free])

    def _explained(self, K: FloatArray) -> FloatArray:
        """Return ``inv(L) scale k'``, whose squares sum to what the training rows explain."""
        return solve_triangular(self.L_, self.scale_ * K.T, lower=True, check_finite=False)

    def _mean(self, K: FloatArray) -> FloatArray:
        mean = self.scale_ * K @ self.dual_coef_
        if np.ndim(self._centre) == 0:
            mean = mean[:, 0]
        return mean * self._spread + self._centre


def _draws(
    mean: FloatArray, covariance: FloatArray, n_draws: int, rng: np.random.RandomState
) -> FloatArray:
    """Draw from a Gaussian whose covariance may be singular, shape (n_rows, n_draws)."""
    values, vectors = eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean[:, None] + root @ rng.standard_normal((len(mean), n_draws))
