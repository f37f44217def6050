"""An interior-point method made for the robust support vector machine.

A general solver sees a sparse program of ``n^2`` cone entries and factorises it as such. But every
cone ``(margin_i, tau sqrt(V_i) c)`` adds the same few terms to the normal equations, a diagonal
and two outer products, of its margin's gradient and of its tail. Over all rows these are two
products of dense ``(n, n)`` matrices and one Cholesky factor of size ``n + 1``: what an ordinary
least-squares step costs, whatever the number of cones.

The method is the primal-dual one of Mehrotra with the scaling of Nesterov and Todd, as in
Vandenberghe, *The CVXOPT linear and quadratic cone program solvers* (2010). In its notation
``minimise 1/2 x'Px + q'x`` subject to ``Gx + s = h``, ``s`` in a product of cones, with the
multiplier ``z``. All cones are handled at once: ``heads (n,)`` and ``tails (n, n)`` hold one cone
per row, ``slacks (n,)`` the half-lines ``xi >= 0``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from absentia.engine.solver_status import SolverStatus
from absentia.progress import report
from absentia.tables import FloatArray

#: Share of the way to the boundary of the cones that a step may take.
_STEP = 0.99
#: The most times that a solution of the normal equations is refined.
_REFINEMENTS = 5
#: Less accurate than asked by up to this factor is :attr:`SolverStatus.ALMOST`, and so is this
#: accuracy where rounding allows no better.
_ALMOST, _BEST_OF_ROUNDING = 100, 1e-6


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """The point at which the method stopped, and a lower bound of the minimum."""

    coefficients: FloatArray
    bias: float
    dual_objective: float
    n_iter: int
    status: SolverStatus


@dataclass(eq=False)
class _Cones:
    """A vector in the product of all cones: one second-order cone and one half-line per row."""

    heads: FloatArray
    tails: FloatArray
    slacks: FloatArray

    def dot(self, other: _Cones) -> float:
        tails = np.einsum("ij,ij->", self.tails, other.tails)
        return float(self.heads @ other.heads + tails + self.slacks @ other.slacks)

    def __add__(self, other: _Cones) -> _Cones:
        return _Cones(
            self.heads + other.heads, self.tails + other.tails, self.slacks + other.slacks
        )

    def __rmul__(self, factor: float) -> _Cones:
        return _Cones(factor * self.heads, factor * self.tails, factor * self.slacks)

    def __sub__(self, other: _Cones) -> _Cones:
        return self + -1.0 * other

    def norm(self) -> float:
        return float(np.sqrt(self.dot(self)))

    def determinants(self) -> FloatArray:
        """Return ``head^2 - |tail|^2`` of each row, without cancellation."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.tails, self.tails))
        return (self.heads - lengths) * (self.heads + lengths)

    def is_inside(self) -> bool:
        """Return whether the point is inside all cones by more than rounding."""
        inside = self.determinants() > np.finfo(float).eps * self.heads**2
        return bool(inside.all() and (self.heads > 0).all() and (self.slacks > 0).all())

    def product(self, other: _Cones) -> _Cones:
        """Return the Jordan product."""
        return _Cones(
            self.heads * other.heads + np.einsum("ij,ij->i", self.tails, other.tails),
            self.heads[:, None] * other.tails + other.heads[:, None] * self.tails,
            self.slacks * other.slacks,
        )

    def divided(self, other: _Cones) -> _Cones:
        """Return ``x`` with ``self o x = other``."""
        inner = np.einsum("ij,ij->i", self.tails, other.tails)
        heads = (self.heads * other.heads - inner) / self.determinants()
        tails = (other.tails - heads[:, None] * self.tails) / self.heads[:, None]
        return _Cones(heads, tails, other.slacks / self.slacks)

    def longest_step(self, direction: _Cones) -> float:
        """Return how far one can go from here in a direction before a cone is left."""
        a = direction.heads**2 - np.einsum("ij,ij->i", direction.tails, direction.tails)
        b = self.heads * direction.heads - np.einsum("ij,ij->i", self.tails, direction.tails)
        c = np.maximum(self.determinants(), np.finfo(float).tiny)
        # The smallest positive root of c + 2 b t + a t^2, in the form that does not cancel.
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        falls = -b + root
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where((a < 0) | (b < 0), c / falls, np.inf)
            linear = np.where(direction.slacks < 0, -self.slacks / direction.slacks, np.inf)
        return float(min(np.where(step > 0, step, np.inf).min(), linear.min()))


class _Scaling:
    """The scaling of Nesterov and Todd: ``W z = inv(W) s``, with ``W`` symmetric."""

    def __init__(self, s: _Cones, z: _Cones):
        of_s, of_z = np.sqrt(s.determinants()), np.sqrt(z.determinants())
        s0, s1 = s.heads / of_s, s.tails / of_s[:, None]
        z0, z1 = z.heads / of_z, z.tails / of_z[:, None]
        half = np.sqrt((1 + s0 * z0 + np.einsum("ij,ij->i", s1, z1)) / 2)
        self.w1 = (s1 - z1) / (2 * half[:, None])
        self.w0 = np.sqrt(1 + np.einsum("ij,ij->i", self.w1, self.w1))
        self.eta = np.sqrt(of_s / of_z)
        self.slack = np.sqrt(s.slacks / z.slacks)

    def times(self, u: _Cones, sign: float = 1.0) -> _Cones:
        """Return ``W u``; with ``sign=-1`` the inverse of W times u."""
        inner = np.einsum("ij,ij->i", self.w1, u.tails)
        eta = self.eta**sign
        heads = eta * (self.w0 * u.heads + sign * inner)
        along = inner / (1 + self.w0) + sign * u.heads
        tails = eta[:, None] * (u.tails + along[:, None] * self.w1)
        return _Cones(heads, tails, self.slack**sign * u.slacks)

    def inverse_square(self, u: _Cones) -> _Cones:
        """Return ``inv(W W) u``."""
        inner = 2 * (self.w0 * u.heads - np.einsum("ij,ij->i", self.w1, u.tails))
        heads = (self.w0 * inner - u.heads) / self.eta**2
        tails = (u.tails - inner[:, None] * self.w1) / self.eta[:, None] ** 2
        return _Cones(heads, tails, u.slacks / self.slack**2)


class _Program:
    """``P``, ``q``, ``G`` and ``h``, as what they do to vectors ``(c, b, xi)``."""

    def __init__(self, K: FloatArray, roots: FloatArray, signs: FloatArray, penalties: FloatArray):
        self.n = len(signs)
        self.K, self.roots, self.signs, self.penalties = K, roots, signs, penalties
        self.margins = np.hstack([signs[:, None] * K, signs[:, None]])

    def split(self, x: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        return x[: self.n], float(x[self.n]), x[self.n + 1 :]

    def G(self, x: FloatArray) -> _Cones:
        c, _, xi = self.split(x)
        return _Cones(-(self.margins @ x[: self.n + 1]) - xi, -self.roots * c, -xi)

    def G_transposed(self, v: _Cones) -> FloatArray:
        out = np.empty(2 * self.n + 1)
        out[: self.n + 1] = -(self.margins.T @ v.heads)
        out[: self.n] -= np.einsum("ij,ij->j", self.roots, v.tails)
        out[self.n + 1 :] = -v.heads - v.slacks
        return out

    def P(self, x: FloatArray) -> FloatArray:
        out = np.zeros_like(x)
        out[: self.n] = self.K @ x[: self.n]
        return out

    def q(self) -> FloatArray:
        return np.concatenate([np.zeros(self.n + 1), self.penalties])

    def h(self) -> _Cones:
        n = self.n
        return _Cones(np.full(n, -1.0), np.zeros((n, n)), np.zeros(n))


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
) -> InteriorPoint:
    """Minimise ``1/2 c'Kc + penalties' xi`` with ``signs (Kc + b) >= 1 - xi + |roots_i * c|``.

    ``roots``, (n, n), is ``tau sqrt(V)``; a row of zeros is an ordinary inequality. ``tol`` is that
    of both residuals and of the gap, relative.
    """
    program = _Program(K, roots, signs, penalties)
    n, h, q = program.n, program.h(), program.q()
    x = np.concatenate([np.zeros(n + 1), np.full(n, 2.0)])
    s = _Cones(np.ones(n), np.zeros((n, n)), np.full(n, 2.0))
    start = np.maximum(penalties, penalties.max(initial=0.0) * 1e-6) / 2
    z = _Cones(start.copy(), np.zeros((n, n)), start.copy())
    identity = _Cones(np.ones(n), np.zeros((n, n)), np.ones(n))
    # Relative to the penalties, however small: against 1 + |q| any point would look dual feasible.
    scale_x, scale_z = max(float(np.linalg.norm(q)), np.finfo(float).tiny), 1 + h.norm()
    best: tuple[float, FloatArray, float] = (np.inf, x, -np.inf)
    status, n_iter = SolverStatus.EXHAUSTED, 0
    for n_iter in range(max_iter + 1):
        residual_x = program.P(x) + q + program.G_transposed(z)
        residual_z = program.G(x) + s - h
        gap = s.dot(z)
        value = float(x @ program.P(x) / 2 + q @ x)
        dual = lower_bound(value + z.dot(residual_z) - gap, residual_x, x, n)
        worst = max(
            float(np.linalg.norm(residual_x)) / scale_x,
            residual_z.norm() / scale_z,
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
        target = -1.0 * scaled.product(scaled)
        _, ds, dz = _direction(program, scaling, equations, scaled, residual_x, residual_z, target)
        step = min(1.0, s.longest_step(ds), z.longest_step(dz))
        sigma = (1 - step) ** 3
        second = scaling.times(ds, -1.0).product(scaling.times(dz))
        target = target - second + sigma * centre * identity
        dx, ds, dz = _direction(program, scaling, equations, scaled, residual_x, residual_z, target)
        step = min(1.0, _STEP * min(s.longest_step(ds), z.longest_step(dz)))
        # Rounding can put a point on the boundary that exact arithmetic keeps inside.
        while step > 1e-8 and not ((s + step * ds).is_inside() and (z + step * dz).is_inside()):
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
    c, b, _ = program.split(x)
    return InteriorPoint(c, b, dual, n_iter, status)


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
    scaled: _Cones,
    residual_x: FloatArray,
    residual_z: _Cones,
    target: _Cones,
) -> tuple[FloatArray, _Cones, _Cones]:
    """Return the Newton step towards ``scaled o (W dz + inv(W) ds) = target``."""
    wanted = scaling.times(scaled.divided(target))
    right = -1.0 * (residual_z + wanted)
    dx = equations.solve(-residual_x + program.G_transposed(scaling.inverse_square(right)))
    moved = program.G(dx)
    dz = scaling.inverse_square(moved - right)
    # From G dx + ds = -residual_z, which keeps the primal residual falling by the step exactly.
    return dx, -1.0 * (residual_z + moved), dz
