"""The robust support vector machine by general-purpose optimisers."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csc_matrix


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


def robust_minimum_by_cones(K, variances, signs, penalties, tau, tol=1e-9):
    """Minimise the same program with Clarabel, one second-order cone per row.

    In its form ``h - G x`` is in a product of cones, for ``x = (c, b, xi)``: first ``xi >= 0``, and
    for each row the margin above the norm of ``tau sqrt(variances[i]) c``. In units of a typical
    kernel value all numbers of the program are near one.
    """
    import clarabel

    n, unit = len(signs), np.mean(np.diag(K))
    K, variances, penalties = K / unit, variances / unit**2, penalties * unit
    margins = np.hstack([signs[:, None] * K, signs[:, None], np.eye(n)])
    G, h = [np.hstack([np.zeros((n, n + 1)), -np.eye(n)])], [np.zeros(n)]
    for i in range(n):
        tail = np.hstack([-tau * np.diag(np.sqrt(variances[i])), np.zeros((n, n + 1))])
        G.append(np.vstack([-margins[i], tail]))
        h.append(np.concatenate([[-1.0], np.zeros(n)]))
    P = np.zeros((2 * n + 1, 2 * n + 1))
    P[:n, :n] = np.triu(K)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    cones = [clarabel.NonnegativeConeT(n)] + [clarabel.SecondOrderConeT(n + 1) for _ in range(n)]
    q = np.concatenate([np.zeros(n + 1), penalties])
    found = clarabel.DefaultSolver(
        csc_matrix(P), q, csc_matrix(np.vstack(G)), np.concatenate(h), cones, settings
    ).solve()
    x = np.asarray(found.x)
    return found.obj_val / unit, x[:n] / unit, x[n]
