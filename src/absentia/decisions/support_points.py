"""What a missing value could be: a few points with weights, and rows with a point filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.densities.believing import believe
from absentia.tables import BoolArray, FloatArray, IntArray

__all__ = ["Trials", "make_trials", "support_points"]


@dataclass(frozen=True, eq=False)
class Trials:
    """Rows of a table, each with one missing value filled in by each of its support points.

    Attributes
    ----------
    row, column : ndarray of int, shape (n_pairs,)
        The cells that are tried.
    weights : ndarray of shape (n_pairs, n_points)
        The probabilities of the support points of each cell.
    table : ndarray of shape (n_pairs * n_points, n_features)
        The trial rows, those of a cell one after the other.
    """

    row: IntArray
    column: IntArray
    weights: FloatArray
    table: FloatArray

    def expected(self, values: FloatArray) -> FloatArray:
        """Return the mean over the support points of each cell, of one value per trial row."""
        shaped = values.reshape(self.weights.shape + values.shape[1:])
        mean: FloatArray = np.einsum("pq,pq...->p...", self.weights, shaped)
        return mean


def support_points(
    density: Any, table: FloatArray, row: IntArray, column: IntArray, n_points: int
) -> tuple[FloatArray, FloatArray]:
    """Return points and weights that stand for the belief about each of some missing cells.

    The belief about one cell is a mixture of Gaussians in one dimension, ``sum_c w_c N(m_c, s_c)``
    with ``w``, ``m`` and ``s`` of the row's belief; each component gets the ``n_points`` nodes of
    Gauss and Hermite, exact for polynomials up to degree ``2 n_points - 1``.

    Parameters
    ----------
    density : fitted density
    table : ndarray of shape (n_samples, n_features)
        NaN where a value is missing.
    row, column : ndarray of int, shape (n_cells,)
        The cells, in the columns of the table.
    n_points : int
        Per component of the density.

    Returns
    -------
    points, weights : ndarray of shape (n_cells, n_components * n_points)
    """
    needed, row = np.unique(row, return_inverse=True)
    beliefs = believe(density, table[needed])
    beliefs.require_numbers("The choice of the next measurement")
    place = np.full(table.shape[1], -1)
    place[density.columns_] = np.arange(len(density.columns_))
    column = place[column]
    group = beliefs.group_of_row[row]
    variances = beliefs.covariances.diagonals()[group, :, column]
    nodes, node_weights = np.polynomial.hermite.hermgauss(n_points)
    spread = np.sqrt(2.0 * np.maximum(variances, 0.0))
    points = beliefs.means[row, :, column][:, :, None] + spread[:, :, None] * nodes
    weights = beliefs.weights()[row][:, :, None] * (node_weights / np.sqrt(np.pi))
    n_cells = len(row)
    return points.reshape(n_cells, -1), weights.reshape(n_cells, -1)


def make_trials(density: Any, table: FloatArray, candidates: BoolArray, n_points: int) -> Trials:
    """Fill each candidate cell with each of its support points, one cell at a time."""
    row, column = np.nonzero(candidates)
    points, weights = support_points(density, table, row, column, n_points)
    trials = np.repeat(table[row], points.shape[1], axis=0)
    trials[np.arange(len(trials)), np.repeat(column, points.shape[1])] = points.ravel()
    return Trials(row, column, weights, trials)
