"""Gaussian process regression for incomplete rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh, solve_triangular
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, check_random_state

from absentia.densities.named_densities import DensityLike
from absentia.kernels.named_kernels import KernelLike, MaskWeight
from absentia.kernels.repair import check_psd
from absentia.machines.documentation import documented
from absentia.machines.gaussian_process.evidence import Bounds, Spectrum
from absentia.machines.gaussian_process.evidence_search import GaussianProcess
from absentia.machines.gaussian_process.factored_evidence import FactoredEvidence
from absentia.machines.gaussian_process.process_uncertainty import process_uncertainty
from absentia.machines.missingness_shift import Shift
from absentia.machines.search.kernel_family import KernelFamily, is_free
from absentia.machines.targets import RegressorTargets, spread_of_targets
from absentia.machines.uncertainty.parts import Uncertainty
from absentia.parameters import BOUNDS, POSITIVE, RandomState, Rule, words
from absentia.tables import FloatArray, TableLike

__all__ = ["GaussianProcessRegressor"]


# From so many rows on a search begins with some of them.
_MANY_ROWS = 800
_SOME_ROWS = 400
# The noise that such a search begins with, at least, as a share of the mean square.
_LEAST_NOISE = 0.01


@documented
class GaussianProcessRegressor(RegressorTargets, RegressorMixin, GaussianProcess):
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
    scale : float or "optimize", default="optimize"
        Variance of the process.
    normalize_y : bool, default=True
        Whether targets are centred and brought to unit variance first. ``noise``, ``scale`` and
        the evidence then refer to these targets; predictions are in the user's units.
    noise_bounds : pair of float, default=(1e-6, 10.0)
        Bounds of the search for ``noise``, in multiples of the mean square of the targets.
    scale_bounds : pair of float, default=(1e-3, 1e5)
        The same for ``scale``.
    {process_parameters}

    Attributes
    ----------
    noise_, scale_ : float
        As given, or optimised.
    hyperparameter_names_ : list of str
        The free hyperparameters: those of the kernel, then ``"scale"`` and ``"noise"``.
    theta_ : ndarray of shape (n_hyperparameters,)
        Their logarithms.
    width_prior_ : float
        The deviation of the prior on log-widths, as given or chosen; zero for one width.
    log_marginal_likelihood_value_ : float
        The evidence there.
    dual_coef_ : ndarray of shape (n_samples, n_targets)
        ``inv(S) y``.
    L_ : ndarray of shape (n_samples, n_samples)
        The lower Cholesky factor of ``S``.
    targets_ : ndarray of shape (n_samples, n_targets)
        The training targets, normalised with ``normalize_y=True``.
    {common_attributes}

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

    _multi_output = True
    _rules: ClassVar[dict[str, Rule]] = {
        "noise": POSITIVE | words("optimize"),
        "noise_bounds": BOUNDS,
    }

    noise_: float
    scale_: float
    hyperparameter_names_: list[str]
    theta_: FloatArray
    width_prior_: float
    log_marginal_likelihood_value_: float
    dual_coef_: FloatArray
    L_: FloatArray
    targets_: FloatArray

    def __init__(
        self,
        *,
        noise: float | str = "optimize",
        scale: float | str = "optimize",
        normalize_y: bool = True,
        n_restarts_optimizer: int = 0,
        gamma_bounds: Bounds = (1e-4, 1e4),
        noise_bounds: Bounds = (1e-6, 10.0),
        scale_bounds: Bounds = (1e-3, 1e5),
        random_state: RandomState = None,
        verbose: bool = False,
        density: DensityLike = "gaussian",
        kernel: KernelLike = "expected_rbf",
        gamma: Any = "optimize",
        width_prior: float | str = 0.3,
        mask_weight: MaskWeight = None,
        n_jobs: int | None = None,
        shift: Shift = "ignore",
    ):
        self.noise = noise
        self.scale = scale
        self.normalize_y = normalize_y
        self.n_restarts_optimizer = n_restarts_optimizer
        self.gamma_bounds = gamma_bounds
        self.noise_bounds = noise_bounds
        self.scale_bounds = scale_bounds
        self.random_state = random_state
        self.verbose = verbose
        self.density = density
        self.kernel = kernel
        self.gamma = gamma
        self.width_prior = width_prior
        self.mask_weight = mask_weight
        self.n_jobs = n_jobs
        self.shift = shift

    def fit(self, X: TableLike, y: Any) -> GaussianProcessRegressor:
        """Fit density, kernel and process to incomplete training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Several targets share the kernel, the scale and the noise.

        Returns
        -------
        self
        """
        rows, y, _ = self._open_training(X, y)
        n_samples = len(rows)
        centre, spread = _normalisation(y, self.normalize_y)
        targets = ((y - centre) / spread).reshape(n_samples, -1)
        training = self._prepare(rows, y)
        family = self._family(training)
        deviation = self._resolved_width_prior(rows, y)
        mean_square = float(np.mean(targets**2)) or 1.0
        scale_bounds = _multiplied(self.scale_bounds, mean_square)
        noise_bounds = _multiplied(self.noise_bounds, mean_square)
        given_scale = None if is_free(self.scale) else float(self.scale)
        given_noise = None if is_free(self.noise) else float(self.noise)
        # Of many rows, some of them say about where to look.
        some = np.linspace(0, n_samples - 1, min(n_samples, _SOME_ROWS)).astype(int)
        if n_samples <= _MANY_ROWS:
            some = np.arange(n_samples)
        beliefs = training.beliefs if len(some) == n_samples else training.beliefs[some]

        def settled(
            family: KernelFamily, logarithms: FloatArray
        ) -> tuple[FloatArray, Spectrum, float, float]:
            K = family.at(logarithms)(beliefs, n_jobs=self.n_jobs)
            spectrum = Spectrum.of(K, targets[some])
            scale, noise = spectrum.settle(given_scale, given_noise, scale_bounds, noise_bounds)
            return K, spectrum, scale, noise

        def evidence(family: KernelFamily, logarithms: FloatArray) -> tuple[float, FloatArray]:
            K, spectrum, scale, noise = settled(family, logarithms)
            value, gradient = family.log_prior(logarithms)
            weights = spectrum.kernel_weights(scale, noise)
            gradient += family.gradient(logarithms, beliefs, weights, K, self.n_jobs)
            return value + float(spectrum.log_likelihood(scale, noise)), gradient

        best = self._search(partial(evidence, family), family.start, family.bounds, len(some))
        if deviation > 0:
            # From the best common width: every column may now leave it.
            family = replace(family, kernel=family.at(best))
            family = family.by_column(training.beliefs.prior, deviation)
            best = self._search(
                partial(evidence, family), family.start, family.bounds, len(some), n_restarts=0
            )
        K, _, scale, noise = settled(family, best)
        chosen = {"scale": scale} if is_free(self.scale) else {}
        chosen |= {"noise": noise} if is_free(self.noise) else {}
        if len(some) < n_samples:

            def at(theta: FloatArray) -> tuple[FloatArray, FactoredEvidence]:
                levels = {"scale": scale, "noise": noise}
                levels |= dict(zip(chosen, np.exp(theta[len(family.names) :]), strict=True))
                K = family.at(theta[: len(family.names)])(training.beliefs, n_jobs=self.n_jobs)
                return K, FactoredEvidence.of(K, targets, **levels)

            def of_all_rows(theta: FloatArray) -> tuple[float, FloatArray]:
                try:
                    K, found = at(theta)
                except ValueError:  # not positive definite: rounding, where there is no noise
                    return -np.inf, np.zeros(len(theta))
                logarithms = theta[: len(family.names)]
                value, by_kernel = family.log_prior(logarithms)
                weights = found.kernel_weights()
                by_kernel += family.gradient(logarithms, training.beliefs, weights, K, self.n_jobs)
                free = [name in chosen for name in ("scale", "noise")]
                gradient = np.append(by_kernel, found.gradient()[free])
                return value + found.log_likelihood, gradient

            level_bounds = {"scale": scale_bounds, "noise": noise_bounds}
            limits = np.log([level_bounds[name] for name in chosen]).reshape(-1, 2)
            # Some rows may see no noise where all rows do; and from almost none no gradient leads
            # to more of it.
            least = np.clip(_LEAST_NOISE * mean_square, *noise_bounds)
            start = {name: max(value, least * (name == "noise")) for name, value in chosen.items()}
            theta = self._search(
                of_all_rows,
                np.append(best, np.log(list(start.values()))),
                np.concatenate([family.bounds, limits]),
                n_samples,
                n_restarts=0,
            )
            K, found = at(theta)
            best, scale, noise = theta[: len(family.names)], found.scale, found.noise
            chosen |= {name: {"scale": scale, "noise": noise}[name] for name in chosen}
            check_psd(K, family.kernel)
        else:
            check_psd(K, family.kernel)  # before the evidence, which fails where this warns
            found = FactoredEvidence.of(K, targets, scale, noise)
        solution = {
            "noise_": noise,
            "scale_": scale,
            "hyperparameter_names_": [*family.names, *chosen],
            "theta_": np.append(best, np.log(list(chosen.values()))),
            "log_marginal_likelihood_value_": found.log_likelihood,
            "dual_coef_": found.weights,
            "L_": found.root,
            "targets_": targets,
            "_centre": centre,
            "_spread": spread,
            "width_prior_": deviation,
        }
        self._keep(rows, replace(training, kernel=family.at(best)), solution)
        return self

    def predict(
        self,
        X: TableLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = True,
    ) -> Any:
        """Predict the number, or numbers, of each row, with what it is uncertain by.

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
            K = self._gram(beliefs)
            explained = self._explained(K)
            covariance = self.scale_ * self.kernel_(beliefs, n_jobs=self.n_jobs)
            covariance -= explained.T @ explained
            covariance[np.diag_indices_from(covariance)] += noise
            return self._mean(K), _per_target(covariance, self._spread**2)
        variance = self.scale_ * self.kernel_.diag(beliefs)
        means = []
        for rows, K in self._gram_tiles(beliefs):
            means.append(self._mean(K))
            variance[rows] -= (self._explained(K) ** 2).sum(axis=0)
        mean = np.concatenate(means)
        # The process knows a training row without noise: what rounding left below zero is zero.
        return mean, _per_target(np.sqrt(np.maximum(variance, 0.0) + noise), self._spread)

    def predict_uncertainty(self, X: TableLike, *, by_column: bool = True) -> Uncertainty:
        """Return predictions with their variance taken apart: model, noise, missing values.

        The variance is about the learned function at the true row; see
        :func:`~absentia.machines.gaussian_process.process_uncertainty.process_uncertainty`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
        by_column : bool, default=True
            Whether to compute what each missing column alone would remove.

        Returns
        -------
        Uncertainty
        """
        return process_uncertainty(self, X, by_column=by_column)

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

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False
    ) -> float | tuple[float, FloatArray]:
        """Return the logarithm of the probability of the training targets.

        Parameters
        ----------
        theta : array-like of shape (n_hyperparameters,), optional
            Logarithms of what ``hyperparameter_names_`` lists; ``theta_`` by default.
        eval_gradient : bool, default=False
            Whether to return the derivatives by ``theta`` as well. Those by scale and noise are
            exact, as are those by widths of columns; those by other parameters of the kernel use
            central differences of Gram matrices.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_hyperparameters,), with ``eval_gradient``
        """
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        theta = self.theta_ if theta is None else np.asarray(theta, dtype=np.float64)
        if theta.shape != self.theta_.shape:
            raise ValueError(
                f"theta must hold the logarithms of {self.hyperparameter_names_}, found an array "
                f"of shape {theta.shape}."
            )
        by_name = dict(zip(self.hyperparameter_names_, np.exp(theta), strict=True))
        scale, noise = by_name.pop("scale", self.scale_), by_name.pop("noise", self.noise_)
        family = KernelFamily(self.kernel_, tuple(by_name), np.empty((len(by_name), 2)))
        logarithms = theta[: len(by_name)]
        K = family.at(logarithms)(self.beliefs_, n_jobs=self.n_jobs)
        found = FactoredEvidence.of(K, self.targets_, scale, noise)
        if not eval_gradient:
            return found.log_likelihood
        by_kernel = family.gradient(
            logarithms, self.beliefs_, found.kernel_weights(), n_jobs=self.n_jobs
        )
        free = [name in self.hyperparameter_names_ for name in ("scale", "noise")]
        return found.log_likelihood, np.append(by_kernel, found.gradient()[free])

    def _explained(self, K: FloatArray) -> FloatArray:
        """Return ``inv(L) scale k'``, whose squares sum to what the training rows explain."""
        explained: FloatArray = solve_triangular(
            self.L_, self.scale_ * K.T, lower=True, check_finite=False
        )
        return explained

    def _mean(self, K: FloatArray) -> FloatArray:
        mean = self.scale_ * K @ self.dual_coef_
        if np.ndim(self._centre) == 0:
            mean = mean[:, 0]
        restored: FloatArray = mean * self._spread + self._centre
        return restored

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _normalisation(y: FloatArray, wanted: bool) -> tuple[FloatArray, FloatArray]:
    """Return centre and spread of each target, a number for one and an array for several."""
    if not wanted:
        return np.zeros(y.shape[1:]), np.ones(y.shape[1:])
    return y.mean(axis=0), spread_of_targets(y)


def _multiplied(bounds: Bounds, unit: float) -> Bounds:
    return bounds[0] * unit, bounds[1] * unit


def _per_target(array: FloatArray, factors: FloatArray) -> FloatArray:
    """Return ``array`` in the units of each target, along a last axis where there are several."""
    return np.multiply.outer(array, factors)


def _draws(mean: FloatArray, covariance: FloatArray, n_draws: int, rng: Any) -> FloatArray:
    """Draw from a Gaussian whose covariance may be singular, shape (n_rows, n_draws)."""
    values, vectors = eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn: FloatArray = mean[:, None] + root @ rng.standard_normal((len(mean), n_draws))
    return drawn
