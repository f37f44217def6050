"""What one missing value could be, as a few nodes of a quadrature: rows with that value filled in.

The belief about a single column is a mixture of Gaussians on a line; Gauss-Hermite nodes of each
component integrate any smooth function of the value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from absentia.beliefs.beliefs import Beliefs
from absentia.tables import FloatArray, IntArray

__all__ = ["ColumnTrials", "column_trials"]


@dataclass(frozen=True, eq=False)
class ColumnTrials:
    """Rows with one of their missing values filled in, one line per missing value and node.

    Attributes
    ----------
    row, column : ndarray of int, shape (n_values,)
        The missing values: which row, which column.
    weights : ndarray of shape (n_values, n_nodes)
        Of the nodes; they sum to one for each value.
    table : ndarray of shape (n_values * n_nodes, n_features)
        The trial rows, NaN where values are still missing; nodes of one value stand together.
    """

    row: IntArray
    column: IntArray
    weights: FloatArray
    table: FloatArray


def column_trials(beliefs: Beliefs, table: FloatArray, n_nodes: int = 5) -> ColumnTrials:
    """Return the trial rows of every missing value of a table.

    Parameters
    ----------
    beliefs : Beliefs
        About the rows of the table.
    table : ndarray of shape (n_samples, n_features)
        NaN where a value is missing.
    n_nodes : int, default=5
        Gauss-Hermite nodes per component; polynomials of degree ``2 n_nodes - 1`` are exact.

    Returns
    -------
    ColumnTrials
    """
    beliefs.require_numbers("A quadrature over missing values")
    row, column = np.nonzero(np.isnan(table))
    standard, share = hermegauss(n_nodes)
    share = share / share.sum()
    component = np.arange(beliefs.n_components)
    variances = beliefs.covariances.diagonals()
    deviations = np.sqrt(variances[beliefs.group_of_row[row, None], component, column[:, None]])
    centres = beliefs.means[row[:, None], component, column[:, None]]
    nodes = (centres[:, :, None] + deviations[:, :, None] * standard).reshape(len(row), -1)
    weights = (beliefs.weights()[row][:, :, None] * share).reshape(len(row), -1)
    trials = np.repeat(table[row], nodes.shape[1], axis=0)
    trials[np.arange(len(trials)), np.repeat(column, nodes.shape[1])] = nodes.ravel()
    return ColumnTrials(row, column, weights, trials)
