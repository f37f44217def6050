"""Kernel ridge regression for incomplete rows, by a Cholesky factor or by conjugate gradients.

Conjugate gradients are between the exact machine, whose matrix must fit into memory, and the
features, which approximate the kernel: the kernel is exact and its matrix exists only in tiles,
made as they are needed. A few landmarks approximate the matrix well enough for a preconditioner;
the idea is that of Falkon (Rudi, Carratino and Rosasco, 2017), applied to all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, cho_factor, cho_solve, lstsq
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

import absentia.parameters as rules
from absentia.beliefs import Beliefs
from absentia.engine.threads import cut
from absentia.features.nystroem import candidate_rows, choose_landmarks, inverse_root
from absentia.kernels.base import Kernel
from absentia.machines.base import KernelMachine, TrainingData
from absentia.machines.documentation import documented
from absentia.machines.search.left_out import ridge_left_out
from absentia.machines.targets import RegressorTargets, spread_of_targets
from absentia.parameters import FloatMatrix, FloatVector, RandomState, Rule, finite
from absentia.progress import report
from absentia.tables import FloatArray, IntArray, Learned, TableLike

_TILE_ROWS = 2048


def _are_ridges(alpha: Any) -> bool:
    values = np.asarray(alpha)
    if values.dtype.kind == "O" and isinstance(alpha, int):  # more than 64 bits
        return finite(alpha) is not None and alpha >= 0
    if values.dtype.kind not in "iuf" or values.ndim > 1 or not values.size:
        return False
    return bool((np.isfinite(values) & (values >= 0)).all())


class RidgeMachine(RegressorTargets, KernelMachine):
    """Base class of kernel ridge regression: ``f(x) = sum_i dual_coef[i] k(x, x_i)``."""

    _multi_output = True

    alpha: Any
    dual_coef_: FloatVector | FloatMatrix

    def predict(self, X: TableLike) -> FloatArray:
        """Return the predictions, of shape (n_samples,) or (n_samples, n_targets)."""
        return self._map_gram(X, lambda K: K @ self.dual_coef_)

    def _target_codes(self, y: np.ndarray) -> FloatArray:
        # Not centred: without an intercept their mean has to be learned.
        columns = np.reshape(y, (len(y), -1)).astype(np.float64)
        return columns / spread_of_targets(columns)

    def _own_ridges(self, y: np.ndarray) -> tuple[float, float]:
        return float(np.mean(self.alpha)), float(np.mean(self.alpha))


class KernelRidgeSolver(RidgeMachine):
    """Base class of :class:`KernelRidge` and :class:`KernelRidgeCV`."""

    _rules: ClassVar[dict[str, Rule]] = {
        "alpha": Rule(("a non-negative number", "one number per target"), _are_ridges)
    }

    def _solve(
        self, K: FloatArray, y: np.ndarray, sample_weight: FloatArray | None = None
    ) -> Learned:
        targets = np.reshape(y, (len(y), -1))
        alphas = np.asarray(self.alpha, dtype=np.float64).ravel()
        if len(alphas) not in (1, targets.shape[1]):
            raise ValueError(
                f"alpha must be one number or one per target, found {len(alphas)} for "
                f"{targets.shape[1]} targets."
            )
        rounding = np.finfo(np.float64).eps * float(np.trace(K))
        if np.any((alphas > 0) & (alphas < rounding)):
            warnings.warn(
                f"alpha={self.alpha!r} is below the rounding errors of the kernel matrix "
                f"({rounding:.1g}), so predictions have few correct digits or none. Raise alpha, "
                "or centre the columns if the kernel is linear and they are far from zero.",
                LinAlgWarning,
                stacklevel=3,
            )
        if sample_weight is None:
            coefficients = _ridge(K, targets, alphas)
        else:
            # Weighted least squares is the ordinary kind after rows and columns are scaled.
            root = np.sqrt(np.maximum(sample_weight, 0.0))[:, None]
            coefficients = root * _ridge(root * K * root.T, root * targets, alphas)
        return {"dual_coef_": coefficients.reshape(np.shape(y))}

    def _solve_left_out(
        self,
        K: FloatArray,
        y: np.ndarray,
        sample_weight: FloatArray | None,
        sets: Sequence[IntArray],
        candidates: Sequence[Mapping[str, Any]],
    ) -> list[list[Learned]]:
        targets = np.reshape(y, (len(y), -1))
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        rounding = np.finfo(np.float64).eps * float(np.trace(K))
        found = []
        for candidate in candidates:
            model = self._with(candidate)
            try:
                if np.ndim(model.alpha) or model.alpha < rounding:
                    raise LinAlgError
                left = ridge_left_out(K, targets, weights, float(model.alpha), sets)
            except LinAlgError:  # singular, indefinite, or one penalty per target
                without = [weights * ~np.isin(np.arange(len(y)), rows) for rows in sets]
                found.append([model._solve(K, y, own) for own in without])
            else:
                shape = np.shape(y)
                found.append([{"dual_coef_": c.T.reshape(shape)} for c in left.coefficients])
        return found


@documented
class KernelRidge(KernelRidgeSolver):
    """Kernel ridge regression for rows with missing values.

    Least squares with a penalty: ``f(x) = sum_i dual_coef[i] k(x, x_i)`` with
    ``dual_coef = inv(K + alpha I) y``, one Cholesky factorisation. Several targets (columns of
    ``y``) share it. There is no intercept: centre the targets, for example with
    :class:`sklearn.compose.TransformedTargetRegressor`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        The penalty, non-negative; one for all targets, or one per target.

    See Also
    --------
    KernelRidgeCV : chooses ``alpha``, ``gamma`` and ``mask_weight`` by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X.sum(axis=1)
    >>> X[::3, 0] = np.nan
    >>> KernelRidge(alpha=0.1).fit(X, y).predict([[1.0, 1.0], [-1.0, -1.0]]).round()
    array([ 2., -2.])
    """

    _replaces_scikit_learn = True

    alpha: Any = field(default=1.0, kw_only=False)  # by position, too, as in scikit-learn
    width_prior: float | str = 0.3


def _ridge(K: FloatArray, targets: FloatArray, alphas: FloatArray) -> FloatArray:
    """Solve ``(K + alpha I) coefficients = targets``, for one alpha or one per column."""
    if len(alphas) == 1:
        return _solve_symmetric(K, alphas[0], targets)
    columns = zip(alphas, targets.T, strict=True)
    return np.column_stack([_solve_symmetric(K, alpha, column) for alpha, column in columns])


def _solve_symmetric(K: FloatArray, alpha: float, right: FloatArray) -> FloatArray:
    A = K.copy()
    A[np.diag_indices_from(A)] += alpha
    try:
        factor = cho_factor(A, lower=True, check_finite=False)
        return cho_solve(factor, right, check_finite=False)
    except LinAlgError:
        # Singular (alpha=0 and repeated rows) or an indefinite kernel: the least-squares answer.
        return lstsq(A, right, check_finite=False)[0]


@documented
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

    Attributes
    ----------
    n_iter_ : int
        Steps, each with n^2 / 2 values of the kernel beyond the cache.
    residual_ : float
        The largest relative residual at the end, over the targets.

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
        "alpha": rules.number_between(1e-200, expected="a number of at least 1e-200"),
        "n_landmarks": rules.COUNT,
    }

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
        solved, n_iter, residual = conjugate_gradients(
            product, right, precondition, tol=self.tol, max_iter=self.max_iter
        )
        if residual > self.tol:
            warnings.warn(
                f"Conjugate gradients stopped after {n_iter} steps with a relative residual "
                f"of {residual:.1e} (tol={self.tol:g}). Raise n_landmarks, max_iter or "
                "alpha.",
                ConvergenceWarning,
                stacklevel=4,
            )
        coefficients = np.ldexp(solved if root is None else root * solved, exponent)
        solution = {
            "dual_coef_": coefficients.reshape(np.shape(y)),
            "n_iter_": n_iter,
            "residual_": residual,
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
        self._rows = cut(len(beliefs), tile_rows)
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


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    precondition: Callable[[FloatArray], FloatArray],
    *,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, int, float]:
    """Solve ``A X = B`` for a positive definite ``A``, all columns of ``B`` side by side.

    ``product`` maps ``V``, (n, n_targets), to ``A V``, ``precondition`` to an approximation of
    ``inv(A) V``. The method stops when the residual of every column is at most ``tol`` relative to
    the column. Returned are the solution, the number of steps, and the largest relative residual.
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
    return solution, n_steps, largest
