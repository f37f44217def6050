"""Kernel logistic regression as scikit-learn's linear one, in coordinates of the kernel's space."""

from __future__ import annotations

import warnings

import numpy as np
import sklearn.linear_model
from sklearn.exceptions import ConvergenceWarning


def features(K):
    """Return rows whose inner products are a kernel matrix."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-13 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def linear_scores(K, y, K_new, *, C, weights=None, fit_intercept=True):
    """Return the scores of scikit-learn's logistic regression on explicit features."""
    Phi = features(K)
    weights = np.ones(len(y)) if weights is None else weights
    theirs = sklearn.linear_model.LogisticRegression(
        C=C, solver="newton-cg", tol=1e-13, max_iter=1000, fit_intercept=fit_intercept
    )
    with warnings.catch_warnings():
        # On some processors rounding does not allow this tolerance; the line search then gives up
        # and warns. What counts is how far from the optimum it ended.
        warnings.filterwarnings("ignore", message="(?i).*line search")
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(Phi, y, sample_weight=weights)
    # The penalty makes the objective strongly convex with constant 1: given the intercept, the
    # coefficients are no farther from the optimum than their gradient is long.
    assert np.linalg.norm(gradient(theirs, Phi, y, C * weights)) < 1e-8
    return theirs.decision_function(K_new @ np.linalg.pinv(Phi.T, rcond=1e-14))


def gradient(model, Phi, y, weights):
    """Return the gradient of weighted log loss and half the squared coefficients."""
    residuals = model.predict_proba(Phi) - (y[:, None] == model.classes_)
    residuals = weights[:, None] * (residuals[:, 1:] if len(model.classes_) == 2 else residuals)
    by_coefficients = residuals.T @ Phi + model.coef_
    by_intercepts = residuals.sum(axis=0) if model.fit_intercept else np.zeros(0)
    return np.concatenate([by_coefficients.ravel(), by_intercepts])
