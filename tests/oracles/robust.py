"""The robust support vector machine by a general-purpose optimiser, for a handful of rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def robust_minimum(K, variances, signs, penalties, tau):
    """Minimise Eq. (5) of Anderson2011 over (c, b, xi) by sequential quadratic programming.

    ``variances[i]`` is the diagonal of S_i. The norm is smoothed by 1e-9 under the root, because
    it has no derivative at zero.
    """
    n = len(signs)

    def objective(z):
        return 0.5 * z[:n] @ K @ z[:n] + penalties @ z[n + 1 :]

    def objective_slope(z):
        return np.concatenate([K @ z[:n], [0.0], penalties])

    def norms(c):
        return np.array([np.sqrt(sum(variances[i] * c**2) + 1e-18) for i in range(n)])

    def margins(z):
        c, b, xi = z[:n], z[n], z[n + 1 :]
        return signs * (K @ c + b) - 1 + xi - tau * norms(c)

    def margin_slopes(z):
        c = z[:n]
        by_c = signs[:, None] * K - tau * variances * c / norms(c)[:, None]
        return np.hstack([by_c, signs[:, None], np.eye(n)])

    found = minimize(
        objective,
        np.concatenate([0.01 * signs, [0.0], np.full(n, 2.0)]),
        jac=objective_slope,
        method="SLSQP",
        bounds=[(None, None)] * (n + 1) + [(0, None)] * n,
        constraints=[{"type": "ineq", "fun": margins, "jac": margin_slopes}],
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    return found.fun, found.x[:n], found.x[n]
