"""Draws from beliefs: random, and quasi-random with one set of points for all rows.

Scrambled Sobol points fill the unit cube more evenly than random ones, so that an average over
them converges faster than one over the square root of their number (Owen, 1997). They depend on the
seed and on the number of columns alone: all rows share them, and a row has the same average in any
batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats.qmc import Sobol
from sklearn.utils import check_random_state

from absentia.beliefs.prior import draw_codes
from absentia.engine.threads import bounded_slices, map_on_threads, n_threads
from absentia.missingness import Patterns
from absentia.parameters import MOST_DRAWS, RandomState, count_from
from absentia.tables import FloatArray, IntArray, Table
from absentia.tables.stored import Stored

if TYPE_CHECKING:
    from absentia.beliefs.beliefs import Beliefs


_SIZE = count_from(0, MOST_DRAWS)


def sampled(beliefs: Beliefs, size: int | None, random_state: RandomState) -> FloatArray:
    """Draw one table or several; see :meth:`Beliefs.sample`."""
    rng = check_random_state(random_state)
    if size is not None:
        _SIZE.check("size", size)
    n_draws = 1 if size is None else int(size)
    n, d = beliefs.shape
    if beliefs.n_components == 1:
        component = np.zeros((n_draws, n), dtype=np.intp)
    else:
        cumulative = np.cumsum(beliefs.weights(), axis=1)
        uniforms = rng.uniform(size=(n_draws, n, 1)) * cumulative[:, -1:]
        component = (uniforms > cumulative[:, :-1]).sum(axis=2)
    draws = beliefs.means[np.arange(n), component]
    uncertain = np.flatnonzero(~beliefs.covariances.is_zero()[beliefs.group_of_row])
    # Rows of one group stand together, so that few groups' matrices are needed at a time.
    rows_in_order = uncertain[np.argsort(beliefs.group_of_row[uncertain], kind="stable")]
    floats_per_row = d * (n_draws + beliefs.n_components * d)
    for part in bounded_slices(len(rows_in_order), floats_per_row):
        rows = rows_in_order[part]
        groups, local = np.unique(beliefs.group_of_row[rows], return_inverse=True)
        roots = covariance_roots(beliefs.covariances.dense(groups))
        noise = rng.standard_normal((n_draws, len(rows), d)).transpose(1, 2, 0)
        for c in range(beliefs.n_components):
            offsets = (roots[local, c] @ noise).transpose(2, 0, 1)
            draws[:, rows] += np.where((component[:, rows] == c)[:, :, None], offsets, 0.0)
    if beliefs.codes is not None:
        categories = draw_codes(
            beliefs.prior, beliefs.codes, component, lambda _, shape: rng.uniform(size=shape)
        )
        draws = np.concatenate([draws, categories.astype(np.float64)], axis=2)
    return draws[0] if size is None else draws


def covariance_roots(covariances: FloatArray) -> FloatArray:
    """Return ``R`` with ``R R' = covariance`` for a stack, with zero rows where it has them."""
    certain = np.diagonal(covariances, axis1=-2, axis2=-1) <= 0
    filled = covariances + certain[..., None] * np.eye(covariances.shape[-1])
    try:
        roots = np.linalg.cholesky(filled)
    except np.linalg.LinAlgError:  # singular, as after a map to more columns
        eigenvalues, vectors = np.linalg.eigh(filled)
        roots = vectors * np.sqrt(np.maximum(eigenvalues, 0))[..., None, :]
    return np.where(certain[..., None], 0.0, roots)


_BITS = 30


@dataclass(frozen=True, eq=False)
class DrawPoints(Stored):
    """Points of a cube to draw from.

    ``component`` (n_draws,) are uniform numbers that choose the component of a mixture, ``normals``
    (n_draws, n_columns) normal quantiles.
    """

    component: FloatArray
    normals: FloatArray

    def validate(self) -> None:
        """Raise ValueError unless there is one finite point per draw."""
        self._require_array("component", np.float64, (None,))
        self._require_array("normals", np.float64, (len(self.component), None))
        self._require_finite("normals")

    @classmethod
    def sobol(cls, n_draws: int, n_columns: int, seed: int) -> DrawPoints:
        """Return scrambled Sobol points; powers of two are best."""
        sequence = Sobol(n_columns + 1, scramble=True, bits=_BITS, rng=np.random.default_rng(seed))
        # An integer of NumPy has no bits to count.
        points = sequence.random_base2((int(n_draws) - 1).bit_length())[:n_draws]
        points = points + 0.5 ** (_BITS + 1)  # the middle of its cell: never zero, never one
        return cls(points[:, 0], ndtri(points[:, 1:]))

    def matched(self) -> DrawPoints:
        """Return the points with the moments of a normal distribution: mean zero, covariance one.

        Averages over Gaussian draws then give linear functions their mean and variance exactly
        (moment matching), where 32 plain points are off by a tenth of the variance. With fewer than
        two points per column only the variance of each column is one.
        """
        normals = self.normals - self.normals.mean(axis=0)
        n_draws, n_columns = normals.shape
        if n_draws >= 2 * n_columns > 0:
            root = np.linalg.cholesky(normals.T @ normals / n_draws)
            normals = np.linalg.solve(root, normals.T).T
        else:
            spread = normals.std(axis=0)
            normals = normals / np.where(spread > 0, spread, 1.0)
        return DrawPoints(self.component, normals)

    def __len__(self) -> int:
        """Return the number of draws."""
        return len(self.component)

    def first(self, n_draws: int) -> DrawPoints:
        """Return the first few points, which fill the cube evenly too."""
        return DrawPoints(self.component[:n_draws], self.normals[:n_draws])


def draw_rows(beliefs: Beliefs, points: DrawPoints) -> FloatArray:
    """Draw what each row could be: ``mean + root @ normal`` of a component of its belief.

    A component is drawn in proportion to its weight in the row, by inverting the cumulative
    weights at ``points.component``; ``root @ root.T`` is its covariance.

    Draws have the shape (n, n_draws, d), in the units of the table. Observed entries are the
    observed values, to the last bit (up to rounding where the density has margins). Columns of
    categories come after those of numbers and hold codes, as :meth:`Beliefs.sample` returns them;
    a missing category is drawn from the probabilities of the component.
    """
    table, group = beliefs.covariances, beliefs.group_of_row
    roots = covariance_roots(table.dense())
    # (groups, components, draws, columns): rows of one pattern share their offsets.
    offsets = points.normals[:, : beliefs.n_features] @ roots.transpose(0, 1, 3, 2)
    if beliefs.n_components == 1:
        draws: FloatArray = offsets[group, 0]
        draws += beliefs.means[:, :1]
        component = np.zeros((len(beliefs), len(points)), dtype=np.intp)
        return _with_codes(draws, beliefs, points, component)
    cumulative = np.cumsum(beliefs.weights(), axis=1)
    levels = points.component * cumulative[:, -1:]
    component = (levels[:, :, None] > cumulative[:, None, :-1]).sum(axis=2)
    rows = np.arange(len(beliefs))[:, None]
    draws = offsets[group[:, None], component, np.arange(len(points))]
    draws += beliefs.means[rows, component]
    return _with_codes(draws, beliefs, points, component)


def _with_codes(
    draws: FloatArray, beliefs: Beliefs, points: DrawPoints, component: IntArray
) -> FloatArray:
    """Return draws of numbers in the units of the table, with codes of categories after them.

    ``component`` (n, m) is the component that each draw comes from.
    """
    draws = beliefs.to_table_units(draws)
    if beliefs.codes is None:
        return draws
    levels = ndtr(points.normals[:, beliefs.n_features :])

    def uniform(column: int, shape: tuple[int, int]) -> FloatArray:
        return np.broadcast_to(levels[:, column, None], shape)

    codes = draw_codes(beliefs.prior, beliefs.codes, component.T, uniform)
    return np.concatenate([draws, codes.transpose(1, 0, 2)], axis=2)


def map_draws(
    function: Callable[[FloatArray, slice], Any],
    believe: Callable[[Any], Beliefs],
    table: FloatArray | Table,
    points: DrawPoints,
    n_jobs: int | None = None,
) -> list[Any]:
    """Call ``function(draws, rows)`` for chunks of rows that fit into a bounded workspace.

    ``believe`` maps rows with NaN to their beliefs. Rows are best sorted by pattern, so that few
    patterns meet in a chunk. Threads go over chunks; None is one, because the model may use threads
    itself. Returns what the function returned, in the order of the rows.
    """

    def work(rows: slice) -> Any:
        return function(draw_rows(believe(table[rows]), points), rows)

    d, k = table.shape[1], believe(table[:1]).n_components
    chunks = bounded_slices(len(table), d * ((k + 1) * len(points) + k * d))
    return list(map_on_threads(work, chunks, 1 if n_jobs is None else n_threads(n_jobs)))


def rows_by_pattern(table: FloatArray | Table) -> IntArray:
    """Return the order that brings rows of one pattern together."""
    return np.argsort(Patterns.of_mask(np.isnan(np.asarray(table))).pattern_of_row, kind="stable")
