"""The Gaussian density of a table with holes, by EM (first version, to be accelerated)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs import Beliefs
from absentia.densities.conditioning import condition
from absentia.gaussians import Prior
from absentia.tables import FloatArray, as_table, as_table_like, remember_columns

__all__ = ["GaussianDensity"]


class GaussianDensity(BaseEstimator):
    """Gaussian density by EM."""

    def __init__(self, *, max_iter: int = 200, tol: float = 1e-6):
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any = None) -> GaussianDensity:
        """Fit the density to rows with holes."""
        table = as_table(X)
        mean = np.nanmean(table, axis=0)
        covariance = np.diag(np.nanvar(table, axis=0) + 1e-9)
        history: list[float] = []
        for _ in range(self.max_iter):
            beliefs, scores = condition(Prior(np.ones(1), mean[None], covariance[None]), table)
            history.append(float(scores.sum()))
            centres = beliefs.mean()
            mean = centres.mean(axis=0)
            centred = centres - mean
            covariance = (centred.T @ centred + beliefs.covariance().sum(axis=0)) / len(table)
            covariance += 1e-6 * np.diag(np.diagonal(covariance))
            if len(history) > 1 and history[-1] - history[-2] < self.tol * len(table):
                break
        self.mean_, self.covariance_ = mean, covariance
        self.prior_ = Prior(np.ones(1), mean[None], covariance[None])
        self.log_likelihoods_ = np.array(history)
        self.n_iter_ = len(history)
        remember_columns(self, X)
        return self

    def condition(self, X: Any) -> Beliefs:
        """Return what each row could have been, given what was observed of it."""
        check_is_fitted(self)
        return condition(self.prior_, as_table_like(self, X))[0]

    def score_samples(self, X: Any) -> FloatArray:
        """Return the log-likelihood of what was observed of each row."""
        check_is_fitted(self)
        return condition(self.prior_, as_table_like(self, X))[1]

    def impute(self, X: Any) -> FloatArray:
        """Return the conditional mean of each row."""
        return self.condition(X).mean()
