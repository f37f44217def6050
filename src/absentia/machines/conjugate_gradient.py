"""Kernel ridge regression on all rows without the Gram matrix: preconditioned conjugate gradients.

Between the exact machines, whose matrix must fit into memory, and the features, which approximate
the kernel: here the kernel is exact and its matrix exists only in tiles, made as they are needed.
A few landmarks approximate the matrix well enough for a preconditioner; the idea is that of Falkon
(Rudi, Carratino and Rosasco, 2017), applied to all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from absentia.beliefs import Beliefs
from absentia.engine.solver_status import SolverStatus
from absentia.features.nystroem import candidate_rows, choose_landmarks, inverse_root
from absentia.kernels.base import Kernel
from absentia.machines.base import TrainingData
from absentia.machines.documentation import documented
from absentia.machines.ridge import RidgeMachine
from absentia.parameters import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    FloatMatrix,
    FloatVector,
    RandomState,
    Rule,
    declared,
    number_between,
)
from absentia.progress import report
from absentia.tables import FloatArray

_TILE_ROWS = 2048


@documented
@declared
class ConjugateGradientRidge(RidgeMachine):
    """Kernel ridge regression on all rows, without ever holding the Gram matrix.

    Solves ``(K + alpha I) a = y`` by conjugate gradients. Each step needs the product of ``K`` with
    a vector, for which the matrix is computed in tiles, each used twice (it is symmetric) and
    dropped. The preconditioner is ``alpha I + K_nm inv(K_mm) K_mn`` with ``m`` landmarks: what it
    leaves out of ``K`` is small relative to ``alpha`` when there are enough of them, and then a
    dozen steps suffice. The outcome is that of :class:`KernelRidge` to the tolerance.

    Parameters
    ----------
    alpha : float, default=1.0
        The penalty, positive.
    n_landmarks : int, default=500
        Rows that the preconditioner is made of. More of them mean fewer steps; the outcome
        is the same.
    landmarks : {"kmeans++", "leverage", "uniform"}, default="kmeans++"
        How they are chosen, as in :class:`Nystroem`.
    tol : float, default=1e-6
        Stop when the residual is this small relative to the targets.
    max_iter : int, default=200
    cache_size : float, default=1000
        Megabytes of tiles to keep between steps; the rest are computed at each step.
    random_state : int, RandomState or None
        Draws the landmarks.
    {common_parameters}

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    n_iter_ : int
        Steps, each with n^2 / 2 values of the kernel beyond the cache.
    residual_ : float
        The largest relative residual at the end, over the targets.
    {common_attributes}

    Notes
    -----
    Memory: the tiles that are kept, and n m numbers for m landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import ConjugateGradientRidge, KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.sin(X).sum(axis=1)
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> streamed = ConjugateGradientRidge(alpha=0.1, n_landmarks=50, random_state=0).fit(X, y)
    >>> exact = KernelRidge(alpha=0.1).fit(X, y)
    >>> bool(abs(streamed.predict(X) - exact.predict(X)).max() < 1e-5)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "alpha": number_between(1e-200, expected="a number of at least 1e-200"),
        "tol": POSITIVE,
        "n_landmarks": COUNT,
        "max_iter": COUNT,
        "cache_size": NOT_NEGATIVE,
    }

    dual_coef_: FloatVector | FloatMatrix = field(init=False)
    n_iter_: int = field(init=False)
    residual_: float = field(init=False)

    _holds_matrix = False

    alpha: float = 1.0
    n_landmarks: int = 500
    landmarks: str = "kmeans++"
    tol: float = 1e-6
    max_iter: int = 200
    cache_size: float = 1000
    random_state: RandomState = None

    def _fit_data(
        self, data: TrainingData, believed: tuple[BaseEstimator, Beliefs] | None = None
    ) -> Self:
        rows, y, weights, _ = data
        training = self._prepare(data, believed)
        root = None if weights is None else np.sqrt(np.maximum(weights, 0.0))[:, None]
        targets = np.reshape(y, (len(rows), -1)).astype(np.float64)
        tiles = GramTiles(training.kernel, training.beliefs, float(self.cache_size), self.n_jobs)
        precondition = self._preconditioner(training.kernel, training.beliefs, root)

        def product(V: FloatArray) -> FloatArray:
            # Weighted least squares is the ordinary kind after rows and columns are scaled.
            KV = tiles @ V if root is None else root * (tiles @ (root * V))
            KV += float(self.alpha) * V
            return KV

        # In a unit of their own, a power of two that changes no digit: squares of 1e200 have no
        # number.
        exponent = int(np.frexp(np.abs(targets).max())[1])
        targets = np.ldexp(targets, -exponent)
        right = targets if root is None else root * targets
        solved = conjugate_gradients(
            product, right, precondition, tol=self.tol, max_iter=self.max_iter
        )
        if not solved.status.converged:
            warnings.warn(
                f"Conjugate gradients stopped after {solved.n_iter} steps with a relative residual "
                f"of {solved.residual:.1e} (tol={self.tol:g}). Raise n_landmarks, max_iter or "
                "alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )
        coefficients = solved.solution if root is None else root * solved.solution
        coefficients = np.ldexp(coefficients, exponent)
        solution = {
            "dual_coef_": coefficients.reshape(np.shape(y)),
            "n_iter_": solved.n_iter,
            "residual_": solved.residual,
        }
        return self._keep(rows, training, solution)

    def _preconditioner(
        self, kernel: Kernel, beliefs: Beliefs, root: FloatArray | None
    ) -> Callable[[FloatArray], FloatArray]:
        """Return the map ``v -> inv(alpha I + Z Z') v`` with ``Z`` the Nystroem features."""
        rng = check_random_state(self.random_state)
        n_landmarks = min(int(self.n_landmarks), len(beliefs))
        candidates = beliefs[candidate_rows(beliefs.patterns, n_landmarks, True, rng)]
        chosen = choose_landmarks(self.landmarks, kernel, candidates, n_landmarks, rng)
        among = candidates[chosen]
        Z = kernel(beliefs, among, n_jobs=self.n_jobs) @ inverse_root(kernel(among, among))
        if root is not None:
            Z *= root
        alpha = float(self.alpha)
        factor = cho_factor(Z.T @ Z + alpha * np.eye(Z.shape[1]), lower=True)

        def apply(V: FloatArray) -> FloatArray:
            return (V - Z @ cho_solve(factor, Z.T @ V)) / alpha

        return apply


class GramTiles:
    """A symmetric Gram matrix as an operator: tiles on and below the diagonal, made when needed.

    The first ``cache_size`` megabytes of tiles are cached.
    """

    def __init__(
        self,
        kernel: Kernel,
        beliefs: Beliefs,
        cache_size: float,
        n_jobs: int | None = None,
        tile_rows: int = _TILE_ROWS,
    ):
        self.kernel = kernel
        self.n_jobs = n_jobs
        starts = range(0, len(beliefs), tile_rows)
        self._rows = [slice(start, min(start + tile_rows, len(beliefs))) for start in starts]
        self._parts = [beliefs[rows] for rows in self._rows]
        self._left = cache_size * 1e6
        self._kept: dict[tuple[int, int], FloatArray] = {}

    def __matmul__(self, V: FloatArray) -> FloatArray:
        out = np.zeros_like(V)
        for i, j, tile in self._tiles():
            rows, columns = self._rows[i], self._rows[j]
            out[rows] += tile @ V[columns]
            if i != j:
                out[columns] += tile.T @ V[rows]
        return out

    def _tiles(self) -> Iterator[tuple[int, int, FloatArray]]:
        for i, left in enumerate(self._parts):
            for j in range(i + 1):
                tile = self._kept.get((i, j))
                if tile is None:
                    right = None if i == j else self._parts[j]
                    tile = self.kernel(left, right, n_jobs=self.n_jobs)
                    if tile.nbytes <= self._left:
                        self._left -= tile.nbytes
                        self._kept[i, j] = tile
                yield i, j, tile


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """The solution of linear systems, and its largest relative residual over the columns."""

    solution: FloatArray
    n_iter: int
    residual: float
    status: SolverStatus


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    precondition: Callable[[FloatArray], FloatArray],
    *,
    tol: float,
    max_iter: int,
) -> LinearSolution:
    """Solve ``A X = B`` for a positive definite ``A``, all columns of ``B`` side by side.

    ``product`` maps ``V``, (n, n_targets), to ``A V``, ``precondition`` to an approximation of
    ``inv(A) V``. The method stops when the residual of every column is at most ``tol`` relative to
    the column.
    """
    solution = np.zeros_like(right)
    residuals = right.copy()
    sizes = np.linalg.norm(right, axis=0)
    sizes[sizes == 0] = 1.0
    z = precondition(residuals)
    directions = z.copy()
    rho = np.einsum("ij,ij->j", residuals, z)
    largest, n_steps = float((np.linalg.norm(residuals, axis=0) / sizes).max()), 0
    while largest > tol and n_steps < max_iter:
        image = product(directions)
        curvature = np.einsum("ij,ij->j", directions, image)
        # A column that is solved has no direction left, and stays as it is.
        length = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        solution += length * directions
        residuals -= length * image
        z = precondition(residuals)
        following = np.einsum("ij,ij->j", residuals, z)
        directions *= np.divide(following, rho, out=np.zeros_like(rho), where=rho > 0)
        directions += z
        rho = following
        n_steps += 1
        largest = float((np.linalg.norm(residuals, axis=0) / sizes).max())
        report("conjugate gradients: step %d, residual %.2g", n_steps, largest)
    status = SolverStatus.CONVERGED if largest <= tol else SolverStatus.EXHAUSTED
    return LinearSolution(solution, n_steps, largest, status)
