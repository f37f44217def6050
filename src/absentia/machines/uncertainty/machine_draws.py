"""The uncertainty of a kernel machine: its answers at draws of what the rows could be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from absentia.beliefs import Beliefs
from absentia.beliefs.quasi_random import DrawPoints
from absentia.densities.missing_values import Unknowns
from absentia.machines.uncertainty.over_draws import uncertainty_over_draws
from absentia.machines.uncertainty.parts import Uncertainty
from absentia.tables import FloatArray, IntArray, Table, TableLike, open_known, plan_of

if TYPE_CHECKING:
    from absentia.machines.base import KernelMachine

__all__ = ["machine_uncertainty", "one_output_flat", "unknowns_of"]


def machine_uncertainty(
    machine: KernelMachine,
    X: TableLike,
    *,
    n_draws: int = 64,
    by_column: bool = True,
    random_state: int = 0,
) -> Uncertainty:
    """Return the parts of the uncertainty of a fitted machine, by averages over draws.

    Probabilities of a classifier, numbers of any other machine; where ``predict`` knows
    ``return_std`` and the machine a ``noise_``, these are its model part and its noise.
    """
    table, unknowns = unknowns_of(machine, X)
    method = "predict_proba" if is_classifier(machine) else "predict"
    if not hasattr(machine, method):
        raise ValueError(
            f"{type(machine).__name__} has no {method}, from which an uncertainty could be "
            "computed. Use LogisticRegression, or wrap the machine in "
            "sklearn.calibration.CalibratedClassifierCV and that in MarginalClassifier."
        )
    ask = getattr(machine, method)
    with_variance = method == "predict" and hasattr(machine, "noise_")
    noise = machine.noise_ * machine._spread**2 if with_variance else 0.0

    def answer(rows: FloatArray, _: IntArray) -> tuple[FloatArray, FloatArray | None]:
        beliefs = unknowns.believe(Table(rows, columns_checked=True))
        if hasattr(machine, "_proba_and_noise"):
            both: tuple[FloatArray, FloatArray] = machine._proba_and_noise(beliefs)
            return both
        if not with_variance:
            return np.reshape(ask(beliefs), (len(rows), -1)), None
        mean, std = ask(beliefs, return_std=True, include_noise=False)
        return mean.reshape(len(rows), -1), std.reshape(len(rows), -1) ** 2

    return one_output_flat(
        uncertainty_over_draws(
            answer,
            unknowns,
            table,
            DrawPoints.sobol(n_draws, unknowns.n_drawn, random_state),
            "entropy" if method == "predict_proba" else "variance",
            noise=noise,
            by_column=by_column,
        ),
        method == "predict" and np.ndim(ask(unknowns.believe(table[:1]))) == 1,
    ).of_model(machine)


def one_output_flat(doubt: Uncertainty, flat: bool) -> Uncertainty:
    """Return numbers of one output without an axis for outputs."""
    if not flat:
        return doubt
    return Uncertainty.of_parts(
        doubt.prediction[:, 0],
        doubt.model[:, 0],
        doubt.noise[:, 0],
        doubt.missing[:, 0],
        doubt.by_column[:, :, 0],
        doubt.columns,
        doubt.unit,
    )


def unknowns_of(machine: BaseEstimator, X: TableLike) -> tuple[Table, Unknowns]:
    """Return the rows that a machine is asked about, and what it believes about missing values."""
    density = machine.density_
    if density is None or isinstance(X, Beliefs):
        beliefs = machine._believe(X)
        beliefs.require_numbers("An uncertainty of beliefs")
        names = [f"x{j}" for j in range(beliefs.n_features)]
        rows = np.where(beliefs.patterns.mask, np.nan, beliefs.mean())
        return Table(rows, columns_checked=True), Unknowns.of_prior(beliefs.prior, names)
    table = open_known(X, machine)
    assert isinstance(table, Table)
    plan = plan_of(machine)
    return table, Unknowns.of(density, table.labels, table.n_features, plan)
