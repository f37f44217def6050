"""The learned function of a Gaussian process, averaged over an uncertain row in closed form.

The learned function is a sum of Gaussian bumps, one per training row, so its mean and its second
moments under a Gaussian or a mixture are known: Girard et al. 2003 for complete training rows,
with bumps widened by the covariance of the training row for incomplete ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from absentia.beliefs import Beliefs
from absentia.beliefs.draws import covariance_roots
from absentia.beliefs.prior import inverse_and_log_determinant
from absentia.engine.sums import second_moments
from absentia.engine.threads import bounded_slices, n_threads, row_tiles, run_tiles
from absentia.kernels.base import Kernel, Product
from absentia.kernels.mask import MaskKernel
from absentia.kernels.metric import Smoothing
from absentia.kernels.rbf import ExpectedRBF
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.stored import require_array


def has_closed_form(kernel: Kernel) -> bool:
    """Return whether the second moments of a kernel are known: an expected RBF, also with masks."""
    if isinstance(kernel, Product):
        return isinstance(kernel.right, MaskKernel) and has_closed_form(kernel.left)
    return isinstance(kernel, ExpectedRBF) and bool(kernel.scaled)


@dataclass(frozen=True, eq=False)
class Bumps:
    """The kernel as a function of a known row: a Gaussian bump per training row and component.

    ``k_i(x) = exp(height_i - 1/2 (x - b_i)' P_i (x - b_i))`` with ``P_i = inv(C0 + B_i)``, ``B_i``
    the covariance of the training row ``owner[i]``. ``heights`` are logarithms, weights of
    components included. Bumps of one group share ``P``, ``precisions[g]``; ``starts`` says where
    groups begin.
    """

    centres: FloatArray
    heights: FloatArray
    owner: IntArray
    starts: IntArray
    precisions: FloatArray

    @classmethod
    def of(cls, kernel: ExpectedRBF, beliefs: Beliefs) -> Bumps:
        """Return the bumps of an expected RBF kernel around training rows."""
        beliefs.require_numbers("The uncertainty of a Gaussian process in closed form")
        smoothing = Smoothing.of(kernel.gamma, kernel.metric, beliefs.n_features)
        k = beliefs.n_components
        # Components of a complete row coincide: one bump of its whole weight replaces them.
        certain = beliefs.covariances.is_zero()
        groups = [(g, c) for g, zero in enumerate(certain) for c in range(1 if zero else k)]
        table = beliefs.covariances.dense()
        factors = [
            inverse_and_log_determinant(smoothing.covariance + table[g, c]) for g, c in groups
        ]
        rows = [np.flatnonzero(beliefs.group_of_row == g) for g, _ in groups]
        log_weights = np.log(np.maximum(beliefs.weights(), np.finfo(float).tiny))
        return cls(
            centres=np.concatenate(
                [beliefs.means[i, c] for i, (_, c) in zip(rows, groups, strict=True)]
            ),
            heights=np.concatenate(
                [
                    0.5 * (smoothing.log_determinant - log_det)
                    + (np.zeros(len(i)) if certain[g] else log_weights[i, c])
                    for i, (g, c), (_, log_det) in zip(rows, groups, factors, strict=True)
                ]
            ),
            owner=np.concatenate(rows),
            starts=np.cumsum([0] + [len(i) for i in rows]),
            precisions=np.stack([precision for precision, _ in factors]),
        )

    def around(
        self, means: FloatArray, root: FloatArray, missing: BoolArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the bumps as quadratic forms in ``z``, ``x = mean + root z`` on missing columns.

        Forms, (n_groups, size, size), slopes, (n_inputs, n_bumps, size), and heights,
        (n_inputs, n_bumps).
        """
        size = int(missing.sum())
        forms = root.T @ self.precisions[:, missing][:, :, missing] @ root
        slopes = np.empty((len(means), len(self.owner), size))
        heights = np.empty((len(means), len(self.owner)))
        for g, precision in enumerate(self.precisions):
            members = slice(self.starts[g], self.starts[g + 1])
            differences = self.centres[members] - means[:, None]
            pulled = differences @ precision
            slopes[:, members] = pulled[:, :, missing] @ root
            squares = np.einsum("nbd,nbd->nb", pulled, differences)
            heights[:, members] = self.heights[members] - 0.5 * squares
        return forms, slopes, heights


def squared_function(
    kernel: Kernel,
    training: Beliefs,
    inputs: Beliefs,
    L: FloatArray,
    coefficients: FloatArray,
    n_jobs: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return ``E[k(x)' inv(S) k(x)]``, (m,), and ``E[(k(x)' coef)^2]``, (m, n_targets).

    Averages over m uncertain ``inputs``; ``L`` is the lower Cholesky factor of ``S`` of the n
    training rows, ``coefficients`` has shape (n, n_targets). O(n^2 size) per row for training rows
    that share few patterns, O(n^2 size^3) if all differ, ``size`` being the number of missing
    values of the row.
    """
    # Compiled loops trust the shapes, and these arrays may have come out of a file.
    training.ensure_valid()
    inputs.ensure_valid()
    require_array("The Cholesky factor", L, np.float64, (len(training), len(training)))
    require_array("The coefficients", coefficients, np.float64, (len(training), None))
    mask_kernel = None
    if isinstance(kernel, Product):
        mask_kernel, kernel = kernel.right, kernel.left
    assert isinstance(kernel, ExpectedRBF)
    bumps = Bumps.of(kernel, training)
    inverse = cho_solve((L, True), np.eye(len(L)), check_finite=False)
    inverse = (inverse + inverse.T) / 2
    coefficients = np.ascontiguousarray(coefficients)
    out = np.zeros((len(inputs), 1 + coefficients.shape[1]))
    weights, threads = inputs.weights(), n_threads(n_jobs)
    for group in np.unique(inputs.group_of_row):
        rows = np.flatnonzero(inputs.group_of_row == group)
        covariances = inputs.covariances.dense(np.array([group]))[0]
        missing = np.diagonal(covariances, axis1=1, axis2=2).max(axis=0) > 0
        roots = covariance_roots(covariances[:, missing][:, :, missing])
        for c, root in enumerate(roots):
            for chunk in bounded_slices(len(rows), 3 * bumps.centres.size):
                some = rows[chunk]
                forms, slopes, heights = bumps.around(inputs.means[some, c], root, missing)
                if mask_kernel is not None:
                    masks = np.log(mask_kernel(inputs[some], training, n_jobs=n_jobs))
                    heights += masks[:, bumps.owner]
                sums = np.zeros((len(some), out.shape[1]))
                run_tiles(
                    second_moments,
                    row_tiles(0, len(some), threads, 1),
                    threads,
                    *(bumps.starts, forms, slopes, heights, bumps.owner, inverse, coefficients),
                    sums,
                )
                out[some] += weights[some, c, None] * sums
    return out[:, 0], out[:, 1:]
