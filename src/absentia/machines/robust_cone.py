"""The robust support vector machine as a second-order cone program, Eq. (5) of [Anderson2011]_.

Arrays in, arrays out; Clarabel solves. The problem in its variables ``(c, b, xi)``:

    minimise    1/2 c'Kc + penalties' xi
    subject to  signs[i] (k_i'c + b) >= 1 - xi[i] + tau |S_i^(1/2) c|,   xi >= 0

Each row whose ``S_i`` is not zero is one cone. Two things keep the program small. A variance that
is zero (both rows complete) leaves no entry in the cone of its row, and a row without any leaves
the cones for the ordinary inequalities. And where all ``S_i`` are the identity, all rows share one
cone: ``t >= |c|`` once, and ``tau t`` in each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from absentia.tables import FloatArray

__all__ = ["RobustSolution", "robust_objective", "solve_robust"]

# Variances below this part of a squared kernel value count as zero. They are no larger than what
# rounding leaves of a difference, and their roots move a margin by less than a millionth.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class RobustSolution:
    """What the solver found, and how good it is.

    Attributes
    ----------
    coefficients : ndarray of shape (n_samples,)
        ``c``.
    bias : float
    objective : float
        Of ``c`` and ``b`` themselves, with the slack that they need: what is attained.
    relative_gap : float
        How far the objective can be from the minimum at most, relative to it: the solver's dual
        value is a lower bound.
    n_iter : int
    status : str
        The solver's word: "Solved", "AlmostSolved", ...
    n_cones : int
        Rows that made a cone.
    n_nonzeros : int
        Entries of the constraints.
    """

    coefficients: FloatArray
    bias: float
    objective: float
    relative_gap: float
    n_iter: int
    status: str
    n_cones: int
    n_nonzeros: int


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

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite.
    variances : ndarray of shape (n, n), or None
        Row i is the diagonal of ``S_i``; None means that every ``S_i`` is the identity.
    signs : ndarray of shape (n,)
        +1 and -1.
    penalties : ndarray of shape (n,)
        ``C`` times the weight of each row.
    tau : float
    tol : float, default=1e-8
        Of feasibility and duality gap.
    max_iter : int, default=200
    verbose : bool, default=False
        Print what is being solved, and a line for each step of the solver.

    Returns
    -------
    RobustSolution
    """
    clarabel = _clarabel()
    # In units of a typical kernel value all numbers of the program are near 1: with K = u K',
    # c = c' / u, the objective is that of (K', c', u penalties) divided by u.
    unit = float(np.mean(np.diagonal(K))) or 1.0
    K_unit = (K + K.T) / (2 * unit)
    if variances is None:
        program = _with_shared_cone(K_unit, signs, tau / unit)
    else:
        program = _with_row_cones(K_unit, variances / unit**2, signs, tau)
    n = len(signs)
    linear = np.zeros(program.constraints.shape[1])
    linear[n + 1 : 2 * n + 1] = penalties * unit
    quadratic = sparse.block_diag(
        [np.triu(K_unit), sparse.csc_matrix((len(linear) - n, len(linear) - n))], format="csc"
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = verbose
    # One thread: the threaded solver is no faster here, and much slower on a busy machine.
    settings.direct_solve_method = "qdldl"
    settings.max_iter = max_iter
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    if verbose:
        print(
            f"robust SVM: {n} rows, {program.n_cones} cones, {program.constraints.nnz} non-zeros",
            flush=True,
        )
    cones = [clarabel.NonnegativeConeT(program.n_inequalities)]
    cones += [clarabel.SecondOrderConeT(int(size)) for size in program.cone_sizes]
    found = clarabel.DefaultSolver(
        quadratic, linear, program.constraints, program.bounds, cones, settings
    ).solve()
    solution = np.asarray(found.x)
    coefficients, bias = solution[:n] / unit, float(solution[n])
    objective = robust_objective(K, variances, signs, penalties, tau, coefficients, bias)
    lower = float(found.obj_val_dual) / unit
    return RobustSolution(
        coefficients=coefficients,
        bias=bias,
        objective=objective,
        relative_gap=(objective - lower) / max(abs(objective), np.finfo(float).tiny),
        n_iter=int(found.iterations),
        status=str(found.status),
        n_cones=program.n_cones,
        n_nonzeros=int(program.constraints.nnz),
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


@dataclass(frozen=True, eq=False)
class _Program:
    """``bounds - constraints x`` in the inequalities first, then in the cones, one by one."""

    constraints: Any
    bounds: FloatArray
    n_inequalities: int
    cone_sizes: np.ndarray
    n_cones: int


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


def _with_row_cones(
    K: FloatArray, variances: FloatArray, signs: FloatArray, tau: float
) -> _Program:
    """Give each uncertain row a cone: its margin, then ``tau sqrt(variance) c``."""
    n = len(signs)
    margins = _margins(K, signs)
    counted = (variances > _NEGLIGIBLE) & (tau > 0)
    uncertain = np.flatnonzero(counted.any(axis=1))
    certain = np.setdiff1d(np.arange(n), uncertain)
    sizes = 1 + counted[uncertain].sum(axis=1)
    # Rows of the cones, each the margin and then its tail; tails have one entry to a row.
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cone_of, column = np.nonzero(counted[uncertain])
    is_tail = np.ones(starts[-1], dtype=bool)
    is_tail[starts[:-1]] = False
    roots = -tau * np.sqrt(variances[uncertain[cone_of], column])
    tails = sparse.csr_matrix(
        (roots, (np.flatnonzero(is_tail), column)), shape=(starts[-1], 2 * n + 1)
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
        n_cones=len(uncertain),
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
        n_cones=1,
    )


def _clarabel() -> Any:
    try:
        import clarabel
    except ImportError as error:
        raise ImportError(
            "RobustSVC solves a cone program and needs Clarabel: pip install 'absentia[robust]'."
        ) from error
    return clarabel
