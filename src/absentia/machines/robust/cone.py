"""The robust support vector machine as a second-order cone program, Eq. (5) of [Anderson2011]_.

Arrays in, arrays out. The problem in its variables ``(c, b, xi)``:

    minimise    1/2 c'Kc + penalties' xi
    subject to  signs[i] (k_i'c + b) >= 1 - xi[i] + tau |S_i^(1/2) c|,   xi >= 0

Each row whose ``S_i`` is not zero is one cone. A variance that is zero (both rows complete) leaves
no entry in the cone of its row, and a row without any entry is an ordinary inequality.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from absentia.machines.robust.interior_point import solve_interior
from absentia.progress import SolverStatus, report
from absentia.tables import FloatArray

# Variances below this part of a squared kernel value count as zero. They are no larger than what
# rounding leaves of a difference, and their roots move a margin by less than a millionth.
_NEGLIGIBLE = 1e-12

#: Beyond these the product of four such numbers leaves the range of numbers.
_SMALLEST, _LARGEST = 1e-200, 1e75


@dataclass(frozen=True, eq=False)
class RobustSolution:
    """The solution of the cone program, and its accuracy.

    ``objective`` is that of ``coefficients`` and ``bias`` themselves, with the slack that they
    need. ``relative_gap`` is how far it is above the solver's lower bound for the minimum, relative
    to the objective; the bound holds up to rounding, so that a gap of nearly zero can be negative.
    ``n_cones`` is the number of rows that made a cone.
    """

    coefficients: FloatArray
    bias: float
    objective: float
    relative_gap: float
    n_iter: int
    status: SolverStatus
    n_cones: int


def solve_robust(
    K: FloatArray,
    variances: FloatArray | None,
    signs: FloatArray,
    penalties: FloatArray,
    tau: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    verbose: bool = False,
) -> RobustSolution:
    """Solve Eq. (5) of [Anderson2011]_ for one column of signs.

    Row i of ``variances``, (n, n), is the diagonal of ``S_i``; None means that every ``S_i`` is the
    identity. ``penalties`` are ``C`` times the weights of the rows; ``tol`` is that of feasibility
    and duality gap.
    """
    # In units of a typical kernel value all numbers of the program are near 1: with K = u K',
    # c = c' / u, the objective is that of (K', c', u penalties) divided by u.
    unit = float(np.mean(np.diagonal(K))) or 1.0
    K_unit = (K + K.T) / (2 * unit)
    if variances is None:
        counted, roots = np.ones_like(K, dtype=bool), np.full_like(K, tau / unit)
    else:
        in_units = variances / unit**2
        counted = in_units > _NEGLIGIBLE
        roots = tau * np.sqrt(np.where(counted, in_units, 0.0))
    counted &= tau > 0
    _check_sizes(penalties, unit, float(roots.max(initial=0.0)))
    report(
        "robust SVM: %d rows, %d cones with %d entries",
        len(signs),
        counted.any(axis=1).sum(),
        counted.sum(),
        verbose=verbose,
    )
    c, bias, bound, n_iter, status = solve_interior(
        K_unit, roots, signs, penalties * unit, tol=tol, max_iter=max_iter, verbose=verbose
    )
    c = c / unit
    objective = robust_objective(K, variances, signs, penalties, tau, c, bias)
    gap = (objective - bound / unit) / max(abs(objective), np.finfo(float).tiny)
    n_cones = int(counted.any(axis=1).sum())
    return RobustSolution(c, bias, objective, gap, n_iter, status, n_cones)


def _check_sizes(penalties: FloatArray, unit: float, root: float) -> None:
    """Refuse numbers whose squares and products leave the range of numbers."""
    advice = "standardise the columns (make_pipeline(StandardScaler(), machine))."
    for name, size in (("C", float(penalties.max(initial=0.0)) * unit), ("tau", root)):
        if not size < _LARGEST:
            raise ValueError(
                f"{name} times the kernel is {size:.3g}, beyond {_LARGEST:g}, so that this problem "
                f"cannot be solved. Use a smaller {name}, or {advice}"
            )
    if penalties.size and not float(penalties.min()) * unit > _SMALLEST:
        raise ValueError(
            f"C times the kernel is {float(penalties.min()) * unit:.3g}, so small that this "
            f"problem cannot be solved. Use a larger C or larger weights, or {advice}"
        )


def robust_objective(
    K: FloatArray,
    variances: FloatArray | None,
    signs: FloatArray,
    penalties: FloatArray,
    tau: float,
    coefficients: FloatArray,
    bias: float,
) -> float:
    """Return the objective of given ``c`` and ``b`` with the least slack that they allow."""
    if variances is None:
        spread = np.full(len(signs), np.linalg.norm(coefficients))
    else:
        spread = np.sqrt(variances @ coefficients**2)
    values = K @ coefficients
    slack = np.maximum(1 + tau * spread - signs * (values + bias), 0.0)
    return float(coefficients @ values / 2 + penalties @ slack)
