"""Linear models fitted to the rows that are left, one after the other."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax


def ridge_without(Z, y, weights, alpha, rows):
    """Return scores of the rows left out: ridge regression on targets less their mean."""
    kept = np.setdiff1d(np.arange(len(y)), rows)
    mean = np.average(y[kept], weights=weights[kept])
    weighted = Z[kept] * weights[kept, None]
    hessian = weighted.T @ Z[kept] + alpha * np.eye(Z.shape[1])
    return Z[rows] @ np.linalg.solve(hessian, weighted.T @ (y[kept] - mean)) + mean


def logistic_without(Z, y, weights, C, n_classes, rows):
    """Return probabilities of the rows left out.

    ``sum_i w_i loss_i + |B|^2 / (2 C)`` with an intercept that is not penalised; two classes have
    one score, which is the log-odds of the second.
    """
    kept = np.setdiff1d(np.arange(len(y)), rows)
    n_scores = 1 if n_classes == 2 else n_classes

    def log_probabilities(flat, some):
        B = flat.reshape(Z.shape[1] + 1, n_scores)
        scores = Z[some] @ B[:-1] + B[-1]
        if n_scores == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        return log_softmax(scores, axis=1)

    def objective(flat):
        B = flat.reshape(Z.shape[1] + 1, n_scores)
        likelihood = log_probabilities(flat, kept)[np.arange(len(kept)), y[kept]]
        return -weights[kept] @ likelihood + (B[:-1] ** 2).sum() / (2 * C)

    start = np.zeros((Z.shape[1] + 1) * n_scores)
    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-5})
    return np.exp(log_probabilities(found.x, rows))
