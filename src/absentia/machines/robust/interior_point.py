"""An interior-point method made for the robust support vector machine.

A general solver sees a sparse program of ``n^2`` cone entries and factorises it as such. But every
cone ``(margin_i, tau sqrt(V_i) c)`` adds the same few terms to the normal equations, a diagonal
and two outer products, of its margin's gradient and of its tail. Over all rows these are two
products of dense ``(n, n)`` matrices and one Cholesky factor of size ``n + 1``: what an ordinary
least-squares step costs, whatever the number of cones.

The method is the primal-dual one of Mehrotra with the scaling of Nesterov and Todd, as in
Vandenberghe, *The CVXOPT linear and quadratic cone program solvers* (2010). In its notation
``minimise 1/2 x'Px + q'x`` subject to ``Gx + s = h``, ``s`` in a product of cones, with the
multiplier ``z``. A vector in the product of all cones is an array (n, n + 2) with one cone per row:
its head in the first column, its tail in the next ``n``, and in the last the half-line ``xi >= 0``.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from absentia.progress import SolverStatus, report
from absentia.tables import FloatArray

#: Share of the way to the boundary of the cones that a step may take.
_STEP = 0.99
#: The most times that a solution of the normal equations is refined.
_REFINEMENTS = 5
#: Less accurate than asked by up to this factor is :attr:`SolverStatus.ALMOST`, and so is this
#: accuracy where rounding allows no better.
_ALMOST, _BEST_OF_ROUNDING = 100, 1e-6


def _cones(heads: FloatArray, tails: FloatArray, slacks: FloatArray) -> FloatArray:
    """Return a vector in the product of all cones."""
    return np.column_stack([heads, tails, slacks])


def _inner(u: FloatArray, v: FloatArray) -> FloatArray:
    """Return the inner products of the tails, row by row."""
    return np.einsum("ij,ij->i", u[:, 1:-1], v[:, 1:-1])


def _determinants(u: FloatArray) -> FloatArray:
    """Return ``head^2 - |tail|^2`` of each row, without cancellation."""
    lengths = np.sqrt(_inner(u, u))
    return (u[:, 0] - lengths) * (u[:, 0] + lengths)


def _is_inside(u: FloatArray) -> bool:
    """Return whether a point is inside all cones by more than rounding."""
    inside = _determinants(u) > np.finfo(float).eps * u[:, 0] ** 2
    return bool(inside.all() and (u[:, [0, -1]] > 0).all())


def _product(u: FloatArray, v: FloatArray) -> FloatArray:
    """Return the Jordan product."""
    tails = u[:, :1] * v[:, 1:-1] + v[:, :1] * u[:, 1:-1]
    return _cones(u[:, 0] * v[:, 0] + _inner(u, v), tails, u[:, -1] * v[:, -1])


def _divided(u: FloatArray, by: FloatArray) -> FloatArray:
    """Return ``x`` with ``by o x = u``."""
    heads = (by[:, 0] * u[:, 0] - _inner(by, u)) / _determinants(by)
    tails = (u[:, 1:-1] - heads[:, None] * by[:, 1:-1]) / by[:, :1]
    return _cones(heads, tails, u[:, -1] / by[:, -1])


def _longest_step(u: FloatArray, direction: FloatArray) -> float:
    """Return how far one can go from a point in a direction before a cone is left."""
    a = direction[:, 0] ** 2 - _inner(direction, direction)
    b = u[:, 0] * direction[:, 0] - _inner(u, direction)
    c = np.maximum(_determinants(u), np.finfo(float).tiny)
    # The smallest positive root of c + 2 b t + a t^2, in the form that does not cancel.
    falls = -b + np.sqrt(np.maximum(b * b - a * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where((a < 0) | (b < 0), c / falls, np.inf)
        linear = np.where(direction[:, -1] < 0, -u[:, -1] / direction[:, -1], np.inf)
    return float(min(np.where(step > 0, step, np.inf).min(), linear.min()))


class _Scaling:
    """The scaling of Nesterov and Todd: ``W z = inv(W) s``, with ``W`` symmetric."""

    def __init__(self, s: FloatArray, z: FloatArray):
        of_s, of_z = np.sqrt(_determinants(s)), np.sqrt(_determinants(z))
        unit_s, unit_z = s / of_s[:, None], z / of_z[:, None]
        half = np.sqrt((1 + unit_s[:, 0] * unit_z[:, 0] + _inner(unit_s, unit_z)) / 2)
        self.w1 = (unit_s - unit_z)[:, 1:-1] / (2 * half[:, None])
        self.w0 = np.sqrt(1 + np.einsum("ij,ij->i", self.w1, self.w1))
        self.eta = np.sqrt(of_s / of_z)
        self.slack = np.sqrt(s[:, -1] / z[:, -1])

    def times(self, u: FloatArray, sign: float = 1.0) -> FloatArray:
        """Return ``W u``; with ``sign=-1`` the inverse of W times u."""
        inner = np.einsum("ij,ij->i", self.w1, u[:, 1:-1])
        eta = self.eta**sign
        heads = eta * (self.w0 * u[:, 0] + sign * inner)
        along = inner / (1 + self.w0) + sign * u[:, 0]
        tails = eta[:, None] * (u[:, 1:-1] + along[:, None] * self.w1)
        return _cones(heads, tails, self.slack**sign * u[:, -1])

    def inverse_square(self, u: FloatArray) -> FloatArray:
        """Return ``inv(W W) u``."""
        inner = 2 * (self.w0 * u[:, 0] - np.einsum("ij,ij->i", self.w1, u[:, 1:-1]))
        heads = (self.w0 * inner - u[:, 0]) / self.eta**2
        tails = (u[:, 1:-1] - inner[:, None] * self.w1) / self.eta[:, None] ** 2
        return _cones(heads, tails, u[:, -1] / self.slack**2)


class _Program:
    """``P``, ``q``, ``G`` and ``h``, as what they do to vectors ``(c, b, xi)``."""

    def __init__(self, K: FloatArray, roots: FloatArray, signs: FloatArray, penalties: FloatArray):
        self.n = len(signs)
        self.K, self.roots, self.signs, self.penalties = K, roots, signs, penalties
        self.margins = np.hstack([signs[:, None] * K, signs[:, None]])

    def G(self, x: FloatArray) -> FloatArray:
        xi = x[self.n + 1 :]
        return -_cones(self.margins @ x[: self.n + 1] + xi, self.roots * x[: self.n], xi)

    def G_transposed(self, v: FloatArray) -> FloatArray:
        out = np.empty(2 * self.n + 1)
        out[: self.n + 1] = -(self.margins.T @ v[:, 0])
        out[: self.n] -= np.einsum("ij,ij->j", self.roots, v[:, 1:-1])
        out[self.n + 1 :] = -v[:, 0] - v[:, -1]
        return out

    def P(self, x: FloatArray) -> FloatArray:
        out = np.zeros_like(x)
        out[: self.n] = self.K @ x[: self.n]
        return out


class _NormalEquations:
    """``P + G' inv(W W) G``, with the slacks eliminated and the rest factorised."""

    def __init__(self, program: _Program, scaling: _Scaling):
        self.program, self.scaling = program, scaling
        n = program.n
        inverse = scaling.eta**-2
        tail = scaling.w1 * program.roots
        # A cone adds, in terms of its margin's gradient a and its tail t, the outer products
        # A aa' + B (at' + ta') + (2/eta^2) tt' and a diagonal; its slack takes a part of each.
        self.A = inverse * (2 * scaling.w0**2 - 1)
        self.B = -2 * scaling.w0 * inverse
        self.of_slack = self.A + scaling.slack**-2
        left = scaling.slack**-2 / self.of_slack
        self.tail = tail
        of_tails = 2 * inverse - self.B**2 / self.of_slack
        M = program.margins.T @ ((self.A * left)[:, None] * program.margins)
        cross = program.margins.T @ ((self.B * left)[:, None] * tail)
        M[:, :n] += cross
        M[:n] += cross.T
        M[:n, :n] += tail.T @ (of_tails[:, None] * tail) + program.K
        M[np.diag_indices(n)] += inverse @ program.roots**2
        self.factor = _factorised(M)

    def solve(self, right: FloatArray) -> FloatArray:
        """Return ``x``, refined against the equations themselves while that helps."""
        x = self._solve(right)
        left = right - self._times(x)
        for _ in range(_REFINEMENTS):
            better = x + self._solve(left)
            left_then = right - self._times(better)
            if not np.linalg.norm(left_then) < np.linalg.norm(left) / 2:
                break
            x, left = better, left_then
        return x

    def _times(self, x: FloatArray) -> FloatArray:
        program = self.program
        return program.P(x) + program.G_transposed(self.scaling.inverse_square(program.G(x)))

    def _solve(self, right: FloatArray) -> FloatArray:
        n = self.program.n
        margins = self.program.margins
        of_slack = right[n + 1 :] / self.of_slack
        reduced = right[: n + 1] - margins.T @ (self.A * of_slack)
        reduced[:n] -= self.tail.T @ (self.B * of_slack)
        x = cho_solve(self.factor, reduced)
        pulled = self.A * (margins @ x) + self.B * (self.tail @ x[:n])
        return np.concatenate([x, of_slack - pulled / self.of_slack])


def _factorised(M: FloatArray) -> tuple[FloatArray, bool]:
    """Return a Cholesky factor; where rounding makes M indefinite, of a matrix slightly larger.

    Larger in proportion to its diagonal, whose entries can be many powers of ten apart: that of the
    bias is as small as the penalties.
    """
    lift = 1e-14
    for _ in range(8):
        try:
            return cho_factor(M + np.diag(lift * np.diagonal(M)), lower=True)
        except np.linalg.LinAlgError:
            lift *= 100
    raise np.linalg.LinAlgError("the normal equations cannot be factorised")


def solve_interior(
    K: FloatArray,
    roots: FloatArray,
    signs: FloatArray,
    penalties: FloatArray,
    *,
    tol: float,
    max_iter: int,
    verbose: bool = False,
) -> tuple[FloatArray, float, float, int, SolverStatus]:
    """Minimise ``1/2 c'Kc + penalties' xi`` with ``signs (Kc + b) >= 1 - xi + |roots_i * c|``.

    ``roots``, (n, n), is ``tau sqrt(V)``; a row of zeros is an ordinary inequality. ``tol`` is that
    of both residuals and of the gap, relative. Returned are ``c``, ``b``, a lower bound of the
    minimum, the number of steps and the status.
    """
    program = _Program(K, roots, signs, penalties)
    n, q = program.n, np.concatenate([np.zeros(program.n + 1), penalties])
    none, tails = np.zeros(n), np.zeros((n, n))
    identity, h = _cones(none + 1.0, tails, none + 1.0), _cones(none - 1.0, tails, none)
    x = np.concatenate([np.zeros(n + 1), np.full(n, 2.0)])
    s = _cones(none + 1.0, tails, none + 2.0)
    start = np.maximum(penalties, penalties.max(initial=0.0) * 1e-6) / 2
    z = _cones(start, tails, start)
    # Relative to the penalties, however small: against 1 + |q| any point would look dual feasible.
    scale_x = max(float(np.linalg.norm(q)), np.finfo(float).tiny)
    scale_z = 1 + float(np.linalg.norm(h))
    best: tuple[float, FloatArray, float] = (np.inf, x, -np.inf)
    status, n_iter = SolverStatus.EXHAUSTED, 0
    for n_iter in range(max_iter + 1):
        residual_x = program.P(x) + q + program.G_transposed(z)
        residual_z = program.G(x) + s - h
        gap = float(np.vdot(s, z))
        value = float(x @ program.P(x) / 2 + q @ x)
        dual = lower_bound(value + float(np.vdot(z, residual_z)) - gap, residual_x, x, n)
        worst = max(
            float(np.linalg.norm(residual_x)) / scale_x,
            float(np.linalg.norm(residual_z)) / scale_z,
            gap / max(abs(value), np.finfo(float).tiny),
        )
        report("step %3d  objective %.8g  residual %.1e", n_iter, value, worst, verbose=verbose)
        if worst < best[0]:
            best = (worst, x, dual)
        if worst <= tol:
            status = SolverStatus.CONVERGED
            break
        if n_iter == max_iter:
            break
        # Once rounding rules, residuals grow again: the best point so far is the best there is.
        if worst > 100 * best[0]:
            status = SolverStatus.STALLED
            break
        try:
            scaling = _Scaling(s, z)
            equations = _NormalEquations(program, scaling)
        except (np.linalg.LinAlgError, FloatingPointError):
            status = SolverStatus.FAILED
            break
        scaled = scaling.times(z)
        centre = gap / (3 * n)
        target = -_product(scaled, scaled)
        _, ds, dz = _direction(program, scaling, equations, scaled, residual_x, residual_z, target)
        step = min(1.0, _longest_step(s, ds), _longest_step(z, dz))
        sigma = (1 - step) ** 3
        second = _product(scaling.times(ds, -1.0), scaling.times(dz))
        target = target - second + sigma * centre * identity
        dx, ds, dz = _direction(program, scaling, equations, scaled, residual_x, residual_z, target)
        step = min(1.0, _STEP * min(_longest_step(s, ds), _longest_step(z, dz)))
        # Rounding can put a point on the boundary that exact arithmetic keeps inside.
        while step > 1e-8 and not (_is_inside(s + step * ds) and _is_inside(z + step * dz)):
            step *= 0.8
        if not step > 1e-8:
            status = SolverStatus.STALLED
            break
        x, s, z = x + step * dx, s + step * ds, z + step * dz
    worst, x, dual = best
    allowed = _ALMOST * tol
    if status is not SolverStatus.EXHAUSTED:
        allowed = max(allowed, _BEST_OF_ROUNDING)
    if not status.converged and worst <= allowed:
        status = SolverStatus.ALMOST
    return x[:n], float(x[n]), dual, n_iter, status


def lower_bound(lagrangian: float, slope: FloatArray, x: FloatArray, n: int) -> float:
    """Return a bound of the minimum from a multiplier that is feasible up to a residual.

    Of any ``x`` the Lagrangian is at least its value here plus its slope (the residual of
    ``Px + q + G'z = 0``) times the way there, which is taken to be twice as long as ``x`` at most
    in each of its entries, and that of the bias at least two. Without that term it would bound
    the minimum for a feasible ``z`` only.
    """
    farthest = 2 * np.abs(x)
    farthest[n] = max(farthest[n], 2.0)
    return lagrangian - float(np.abs(slope) @ farthest)


def _direction(
    program: _Program,
    scaling: _Scaling,
    equations: _NormalEquations,
    scaled: FloatArray,
    residual_x: FloatArray,
    residual_z: FloatArray,
    target: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the Newton step towards ``scaled o (W dz + inv(W) ds) = target``."""
    wanted = scaling.times(_divided(target, scaled))
    right = -(residual_z + wanted)
    dx = equations.solve(-residual_x + program.G_transposed(scaling.inverse_square(right)))
    moved = program.G(dx)
    dz = scaling.inverse_square(moved - right)
    # From G dx + ds = -residual_z, which keeps the primal residual falling by the step exactly.
    return dx, -(residual_z + moved), dz
