"""Rubin's rules for one parameter, written out; Barnard and Rubin's degrees of freedom."""

import math


def pooled_scalar(estimates, variances, complete=math.inf):
    """Return mean, total variance, degrees of freedom, increase and missing information."""
    m = len(estimates)
    mean = sum(estimates) / m
    within = sum(variances) / m
    between = sum((q - mean) ** 2 for q in estimates) / (m - 1)
    total = within + between + between / m
    increase = (between + between / m) / within
    share = (between + between / m) / total
    old = (m - 1) * (1 + 1 / increase) ** 2  # Rubin (1987), Eq. (3.1.6)
    free = old
    if complete < math.inf:
        observed = (complete + 1) / (complete + 3) * complete * (1 - share)
        free = 1 / (1 / old + 1 / observed)  # Barnard and Rubin (1999), Eq. (3)
    missing = (increase + 2 / (free + 3)) / (increase + 1)
    return mean, total, free, increase, missing


def wald_statistic(estimates, covariances):
    """Return D1 for two parameters, by sums over entries (Li, Raghunathan and Rubin, 1991)."""
    m = len(estimates)
    q = [sum(e[j] for e in estimates) / m for j in range(2)]
    u = [[sum(c[i][j] for c in covariances) / m for j in range(2)] for i in range(2)]
    b = [
        [sum((e[i] - q[i]) * (e[j] - q[j]) for e in estimates) / (m - 1) for j in range(2)]
        for i in range(2)
    ]
    det = u[0][0] * u[1][1] - u[0][1] * u[1][0]
    inverse = [[u[1][1] / det, -u[0][1] / det], [-u[1][0] / det, u[0][0] / det]]
    trace = sum(b[i][j] * inverse[j][i] for i in range(2) for j in range(2))
    r = (1 + 1 / m) * trace / 2
    quadratic = sum(q[i] * inverse[i][j] * q[j] for i in range(2) for j in range(2))
    return quadratic / (2 * (1 + r))
