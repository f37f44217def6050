"""The robust support vector machine as a second-order cone program, Eq. (5) of [Anderson2011]_.

Arrays in, arrays out. The problem in its variables ``(c, b, xi)``:

    minimise    1/2 c'Kc + penalties' xi
    subject to  signs[i] (k_i'c + b) >= 1 - xi[i] + tau |S_i^(1/2) c|,   xi >= 0

It is solved by the method made for it or by Clarabel, a general conic solver, to which it is posed
sparsely. Each row whose ``S_i`` is not zero is one cone. A variance that is zero (both rows
complete) leaves no entry in the cone of its row, and a row without any leaves the cones for the
ordinary inequalities. Where all ``S_i`` are the identity, all rows share one cone: ``t >= |c|``
once, and ``tau t`` in each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from absentia.engine.solver_status import SolverStatus
from absentia.machines.robust.interior_point import InteriorPoint, lower_bound, solve_interior
from absentia.optional_imports import optional_import
from absentia.progress import report
from absentia.tables import FloatArray

Solver = Literal["interior", "clarabel"]

# Variances below this part of a squared kernel value count as zero. They are no larger than what
# rounding leaves of a difference, and their roots move a margin by less than a millionth.
_NEGLIGIBLE = 1e-12

# A gap of so many tolerances is "almost" whatever the solver says; one beyond the second
# number, relative to the objective, certifies nothing.
_ALMOST = 100
_FALSE = 0.01


#: Beyond these the product of four such numbers leaves the range of numbers.
_SMALLEST, _LARGEST = 1e-200, 1e75

_CLARABEL_STATUS = {
    "Solved": SolverStatus.CONVERGED,
    "AlmostSolved": SolverStatus.ALMOST,
    "MaxIterations": SolverStatus.EXHAUSTED,
    "InsufficientProgress": SolverStatus.STALLED,
}


@dataclass(frozen=True, eq=False)
class RobustSolution:
    """The solution of the cone program, and its accuracy.

    ``objective`` is that of ``coefficients`` and ``bias`` themselves, with the slack that they
    need. ``relative_gap`` is how far it is above the solver's lower bound for the minimum, relative
    to the objective; the bound holds up to rounding, so that a gap of nearly zero can be negative.
    ``n_cones`` is the number of rows that made a cone; the status is
    :attr:`SolverStatus.UNCERTIFIED` if the solver claims a solution but the gap is too large for
    one.
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
    solver: Solver = "interior",
    tol: float = 1e-8,
    max_iter: int = 200,
    verbose: bool = False,
) -> RobustSolution:
    """Solve Eq. (5) of [Anderson2011]_ for one column of signs.

    Row i of ``variances``, (n, n), is the diagonal of ``S_i``; None means that every ``S_i`` is the
    identity. ``penalties`` are ``C`` times the weights of the rows. ``solver="interior"`` is the
    method made for this program, :mod:`absentia.machines.robust.interior_point`, ``"clarabel"`` the
    general conic solver; ``tol`` is that of feasibility and duality gap.
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
    if solver == "interior":
        found = solve_interior(
            K_unit, roots, signs, penalties * unit, tol=tol, max_iter=max_iter, verbose=verbose
        )
    else:
        shared = tau / unit if variances is None and tau > 0 else None
        found = _solve_with_clarabel(
            K_unit, roots, shared, signs, penalties * unit, tol, max_iter, verbose
        )
    coefficients = found.coefficients / unit
    objective = robust_objective(K, variances, signs, penalties, tau, coefficients, found.bias)
    gap = (objective - found.dual_objective / unit) / max(abs(objective), np.finfo(float).tiny)
    return RobustSolution(
        coefficients=coefficients,
        bias=found.bias,
        objective=objective,
        relative_gap=gap,
        n_iter=found.n_iter,
        status=checked_status(found.status, gap, tol),
        n_cones=int(counted.any(axis=1).sum()),
    )


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


def checked_status(status: SolverStatus, gap: float, tol: float) -> SolverStatus:
    """Return the solver's claim where attained objective and lower bound confirm it.

    A bound far above what is attained is as false as one far below.
    """
    if status not in (SolverStatus.CONVERGED, SolverStatus.ALMOST) or abs(gap) <= _ALMOST * tol:
        return status
    return SolverStatus.ALMOST if abs(gap) <= _FALSE else SolverStatus.UNCERTIFIED


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


@dataclass(frozen=True, eq=False)
class _Program:
    """``bounds - constraints x`` in the inequalities first, then in the cones, one by one."""

    constraints: Any
    bounds: FloatArray
    n_inequalities: int
    cone_sizes: np.ndarray


def _solve_with_clarabel(
    K: FloatArray,
    roots: FloatArray,
    shared: float | None,
    signs: FloatArray,
    penalties: FloatArray,
    tol: float,
    max_iter: int,
    verbose: bool,
) -> InteriorPoint:
    """Pose the program sparsely; ``shared`` is the factor of the one norm that all rows share."""
    clarabel = _clarabel()
    n = len(signs)
    # Its tolerances are absolute where the objective is below one: so the largest penalty is made
    # one, and coefficients, which are no larger than penalties, are counted in units of those.
    size = float(penalties.max(initial=0.0)) or 1.0
    shrink = min(1.0, size)
    program = _with_row_cones(shrink * K, shrink * roots, signs)
    if shared is not None:
        program = _with_shared_cone(shrink * K, signs, shrink * shared)
    linear = np.zeros(program.constraints.shape[1])
    linear[n + 1 : 2 * n + 1] = penalties / size
    quadratic = sparse.block_diag(
        [np.triu(shrink**2 / size * K), sparse.csc_matrix((len(linear) - n, len(linear) - n))],
        format="csc",
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = verbose
    # One thread: the threaded solver is no faster here, and much slower on a busy machine.
    settings.direct_solve_method = "qdldl"
    settings.max_iter = max_iter
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    cones = [clarabel.NonnegativeConeT(program.n_inequalities)]
    cones += [clarabel.SecondOrderConeT(int(size)) for size in program.cone_sizes]
    found = clarabel.DefaultSolver(
        quadratic, linear, program.constraints, program.bounds, cones, settings
    ).solve()
    # Its own dual objective is no bound where its multiplier is feasible up to a tolerance only.
    x, z = np.asarray(found.x), np.asarray(found.z)
    curved = (quadratic + sparse.triu(quadratic, 1).T) @ x
    lagrangian = x @ curved / 2 + linear @ x + z @ (program.constraints @ x - program.bounds)
    slope = curved + linear + program.constraints.T @ z
    return InteriorPoint(
        coefficients=shrink * x[:n],
        bias=float(x[n]),
        dual_objective=size * lower_bound(float(lagrangian), slope, x, n),
        n_iter=int(found.iterations),
        status=_CLARABEL_STATUS.get(str(found.status), SolverStatus.FAILED),
    )


def _margins(K: FloatArray, signs: FloatArray) -> Any:
    """Return minus ``signs[i] (k_i'c + b) + xi[i]`` as rows over ``(c, b, xi)``."""
    n = len(signs)
    weights = np.hstack([signs[:, None] * K, signs[:, None]])
    return -sparse.hstack([sparse.csr_matrix(weights), sparse.identity(n)], format="csr")


def _slack_is_not_negative(n: int, n_more: int = 0) -> Any:
    return -sparse.hstack(
        [sparse.csr_matrix((n, n + 1)), sparse.identity(n), sparse.csr_matrix((n, n_more))],
        format="csr",
    )


def _with_row_cones(K: FloatArray, roots: FloatArray, signs: FloatArray) -> _Program:
    """Give each uncertain row a cone: its margin, then ``roots * c``."""
    n = len(signs)
    margins = _margins(K, signs)
    uncertain = np.flatnonzero(roots.any(axis=1))
    certain = np.setdiff1d(np.arange(n), uncertain)
    # Rows of the cones, each the margin and then its tail; tails have one entry per row.
    cone_of, column = np.nonzero(roots[uncertain])
    sizes = 1 + np.bincount(cone_of, minlength=len(uncertain))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    is_tail = np.ones(starts[-1], dtype=bool)
    is_tail[starts[:-1]] = False
    tails = sparse.csr_matrix(
        (-roots[uncertain[cone_of], column], (np.flatnonzero(is_tail), column)),
        shape=(starts[-1], 2 * n + 1),
    )
    heads = sparse.csr_matrix(
        (np.ones(len(uncertain)), (starts[:-1], np.arange(len(uncertain)))),
        shape=(starts[-1], len(uncertain)),
    )
    cones = tails + heads @ margins[uncertain]
    bounds = np.zeros(len(certain) + n + starts[-1])
    bounds[: len(certain)] = -1.0
    bounds[len(certain) + n + starts[:-1]] = -1.0
    return _Program(
        constraints=sparse.vstack([margins[certain], _slack_is_not_negative(n), cones], "csc"),
        bounds=bounds,
        n_inequalities=len(certain) + n,
        cone_sizes=sizes,
    )


def _with_shared_cone(K: FloatArray, signs: FloatArray, tau: float) -> _Program:
    """Give all rows one cone, ``t >= |c|``, and ``tau t`` in each margin."""
    n = len(signs)
    margins = sparse.hstack([_margins(K, signs), np.full((n, 1), tau)], format="csr")
    corner = np.zeros((1, 1))
    corner[0, 0] = -1.0
    norm = sparse.vstack(
        [
            sparse.hstack([sparse.csr_matrix((1, 2 * n + 1)), corner]),
            sparse.hstack([-sparse.identity(n), sparse.csr_matrix((n, n + 2))]),
        ]
    )
    return _Program(
        constraints=sparse.vstack([margins, _slack_is_not_negative(n, 1), norm], "csc"),
        bounds=np.concatenate([-np.ones(n), np.zeros(n + n + 1)]),
        n_inequalities=2 * n,
        cone_sizes=np.array([n + 1]),
    )


def _clarabel() -> Any:
    alternative = "use the solver 'interior', which needs nothing more"
    return optional_import("clarabel", "robust", "solver='clarabel'", alternative)
