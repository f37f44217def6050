"""The uncertainty of a kernel machine: its answers at draws of what the rows could be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from absentia.beliefs import Beliefs
from absentia.beliefs.conditioning import condition
from absentia.beliefs.draws import DrawPoints
from absentia.machines.uncertainty.over_draws import uncertainty_over_draws
from absentia.machines.uncertainty.parts import Uncertainty
from absentia.tables import FloatArray, TableLike, plan_of

if TYPE_CHECKING:
    from absentia.machines.base import KernelMachine

__all__ = ["kept_names", "machine_uncertainty", "one_output_flat", "rows_of"]


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
    beliefs = machine._believe(X)
    beliefs.require_numbers("An uncertainty over draws")
    table = rows_of(beliefs)

    def believe(rows: FloatArray) -> Beliefs:
        return condition(beliefs.prior, rows)[0]

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

    def answer(rows: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        if hasattr(machine, "_proba_and_noise"):
            both: tuple[FloatArray, FloatArray] = machine._proba_and_noise(believe(rows))
            return both
        if not with_variance:
            return np.reshape(ask(believe(rows)), (len(rows), -1)), None
        mean, std = ask(believe(rows), return_std=True, include_noise=False)
        return mean.reshape(len(rows), -1), std.reshape(len(rows), -1) ** 2

    return one_output_flat(
        uncertainty_over_draws(
            answer,
            believe,
            table,
            DrawPoints.sobol(n_draws, table.shape[1], random_state),
            "entropy" if method == "predict_proba" else "variance",
            kept_names(machine),
            noise=noise,
            by_column=by_column,
        ),
        method == "predict" and np.ndim(ask(beliefs[:1])) == 1,
    )


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


def rows_of(beliefs: Beliefs) -> FloatArray:
    """Return the rows that beliefs are about, NaN where a value is missing."""
    return np.where(beliefs.patterns.mask, np.nan, beliefs.mean())


def kept_names(machine: Any) -> tuple[str, ...]:
    """Return the names of the columns that the beliefs of a machine are about."""
    plan = plan_of(machine)
    names = getattr(machine, "feature_names_in_", None) if plan is None else plan.labels
    if names is None:
        names = [f"x{j}" for j in range(machine.n_features_in_)]
    kept = getattr(machine.density_, "columns_", None)
    return tuple(str(names[j]) for j in (range(len(names)) if kept is None else kept))
