"""The uncertainty of a Gaussian process regression in parts, in closed form where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from absentia.beliefs import Beliefs
from absentia.beliefs.column_trials import missing_cells
from absentia.machines.gaussian_process.uncertain_inputs import has_closed_form, squared_function
from absentia.machines.uncertainty.machine_draws import (
    machine_uncertainty,
    one_output_flat,
    unknowns_of,
)
from absentia.machines.uncertainty.over_draws import first_order_parts
from absentia.machines.uncertainty.parts import Uncertainty
from absentia.tables import FloatArray, IntArray, Table, TableLike

if TYPE_CHECKING:
    from absentia.machines.gaussian_process.regression import GaussianProcessRegressor

__all__ = ["process_uncertainty"]


def process_uncertainty(
    machine: GaussianProcessRegressor, X: TableLike, *, by_column: bool = True
) -> Uncertainty:
    """Return the parts of the variance of new observations.

    With ``s`` the scale, ``Q`` the second moments of the kernel with the training rows over what
    the row could be, ``S`` their covariance and ``alpha = inv(S) y``::

        missing = s^2 alpha' Q alpha - mean^2,   model = s - s^2 tr(inv(S) Q)

    Other kernels than the expected RBF, and tables with categories, are averaged over draws.
    """
    if not has_closed_form(machine.kernel_) or machine.beliefs_.codes is not None:
        return machine_uncertainty(machine, X, by_column=by_column)
    table, unknowns = unknowns_of(machine, X)
    beliefs = X if isinstance(X, Beliefs) else unknowns.believe(table)
    scale, spread = machine.scale_, np.atleast_1d(machine._spread)

    def average(rows: Table, _: IntArray) -> FloatArray:
        # The mean of this kernel is the average of the learned function, without draws.
        averages: FloatArray = machine.predict(unknowns.believe(rows)).reshape(len(rows), -1)
        return averages

    explained, squares = squared_function(
        machine.kernel_, machine.beliefs_, beliefs, machine.L_, machine.dual_coef_, machine.n_jobs
    )
    certain = beliefs.covariances.is_zero()[beliefs.group_of_row]
    means = np.empty_like(squares)
    predictions = []
    for rows, K in machine._gram_tiles(beliefs):
        means[rows] = scale * K @ machine.dual_coef_
        predictions.append(machine._mean(K).reshape(len(K), -1))
    missing = np.where(certain[:, None], 0.0, scale**2 * squares - means**2) * spread**2
    model = np.maximum(scale - scale**2 * explained, 0.0)[:, None] * spread**2
    columns = unknowns.believed()
    cells = missing_cells(table.array, columns)
    shares = np.where(cells[:, :, None], np.nan, np.zeros((1, 1, len(spread))))
    if by_column:
        shares = first_order_parts(average, unknowns, table, np.maximum(missing, 0.0), "variance")
    doubt = Uncertainty.of_parts(
        np.concatenate(predictions),
        model,
        np.broadcast_to(machine.noise_ * spread**2, model.shape),
        missing,
        shares,
        tuple(column.name for column in columns),
        "variance",
    )
    return one_output_flat(doubt, np.ndim(machine._centre) == 0)
