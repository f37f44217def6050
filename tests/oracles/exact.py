"""Gaussians on rows with holes in exact rational arithmetic: nothing is rounded but the result."""

from __future__ import annotations

import math
from fractions import Fraction


def log_density(x, mean, covariance):
    """Return ``log N(x[O] | mean[O], covariance[O,O])``, O being what was observed of x.

    By elimination on fractions: doubles are fractions, so that no digit is lost however badly
    conditioned the covariance is.
    """
    observed = [j for j in range(len(x)) if not math.isnan(x[j])]
    size = len(observed)
    rows = [
        [Fraction(float(covariance[a, b])) for b in observed]
        + [Fraction(float(x[a])) - Fraction(float(mean[a]))]
        for a in observed
    ]
    log_determinant, quadratic = 0.0, Fraction(0)
    for k in range(size):
        pivot = rows[k][k]
        assert pivot > 0
        log_determinant += math.log(pivot.numerator) - math.log(pivot.denominator)
        quadratic += rows[k][size] ** 2 / pivot
        for r in range(k + 1, size):
            ratio = rows[r][k] / pivot
            for c in range(k, size + 1):
                rows[r][c] -= ratio * rows[k][c]
    return -0.5 * (size * math.log(2 * math.pi) + log_determinant + float(quadratic))
