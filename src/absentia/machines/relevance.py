"""Relevance of the columns in a kernel with one width per column, and a picture of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from absentia.kernels.category import shares_that_differ
from absentia.parameters import COUNT
from absentia.pictures import FAINT, INK, MODEL, pyplot, tidy
from absentia.tables import FloatArray, plan_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from absentia.machines.base import KernelMachine


def relevance_of(machine: KernelMachine) -> FloatArray:
    """Return each column's share of the expected squared distance between two rows of the table.

    ``2 gamma_j var_j`` for a number and ``w_j P(different)`` for a category, divided by their sum.
    A column of words that became indicators has the sum of theirs; columns that were left out, or
    that no training row has, have none. AttributeError unless the kernel has a width per column.
    """
    kernel, beliefs, density = machine.kernel_, machine.beliefs_, cast("Any", machine.density_)
    params = kernel.get_params(deep=True)
    paths = [name for name in params if name.split("__")[-1] == "gamma" and np.ndim(params[name])]
    if beliefs is None or not paths:
        raise AttributeError(
            f"This {type(machine).__name__} has one width for all columns, so that no column is "
            "more relevant than another. Fit it with gamma='loo-ard' (Gaussian processes: "
            "gamma='ard') and a width_prior above zero, or with one gamma per column."
        )
    prior, plan = beliefs.prior, plan_of(machine)
    widths = np.sum([params[name] for name in paths], axis=0)
    numbers = 2 * widths * np.diagonal(prior.covariance())
    behind: FloatArray = np.zeros(machine.n_features_in_ if plan is None else len(plan.labels))
    kept = getattr(density, "columns_", None)
    if prior.probabilities:
        path = paths[0].removesuffix("gamma")
        weight = params.get(f"{path}category_weight", 0.0)
        differing = np.array(shares_that_differ(prior, params.get(f"{path}category_similarities")))
        behind[np.asarray(density.category_columns_)] = np.asarray(weight) * differing
        if prior.n_numbers:
            behind[np.asarray(density.number_columns_)] = numbers
    elif kept is not None and len(kept) == len(numbers):
        behind[np.asarray(kept)] = numbers
    else:
        behind[:] = numbers
    if plan is not None:
        counts = [
            len(r.names(n, plan.codes)) for n, r in zip(plan.names, plan.readings, strict=True)
        ]
        owner = np.repeat(np.arange(len(counts)), counts)
        behind = np.asarray(np.bincount(owner, behind, len(counts)), dtype=np.float64)
    total = behind.sum()
    return behind / total if total > 0 else behind


def draw_relevance(machine: KernelMachine, max_columns: int) -> Figure:
    """Draw a dot per column, the most relevant first, and the share of equal columns."""
    COUNT.check("max_columns", max_columns)
    relevance = machine.relevance_
    names = getattr(machine, "feature_names_in_", [f"x{j}" for j in range(len(relevance))])
    plt = pyplot()
    order = np.argsort(-relevance, kind="stable")[: int(max_columns)]
    figure, axes = plt.subplots(figsize=(6.0, 0.9 + 0.26 * len(order)), layout="constrained")
    places = np.arange(len(order))[::-1]
    axes.hlines(places, 0, relevance[order], color=FAINT, linewidth=1.5)
    axes.plot(relevance[order], places, "o", color=MODEL, markersize=6)
    alike = 1 / len(relevance)
    axes.axvline(alike, color=INK, linestyle=":", linewidth=1)
    axes.annotate(
        "if all were alike",
        (alike, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, -2),
        textcoords="offset points",
        va="top",
        fontsize="x-small",
        color=INK,
    )
    axes.set_yticks(places, [str(names[j]) for j in order], parse_math=False)
    axes.set_xlim(left=0)
    axes.set_ylim(-0.7, len(order) - 0.3)
    axes.set_xlabel("share of the squared distance between two rows")
    if len(order) < len(relevance):
        axes.set_title(f"the {len(order)} most relevant of {len(relevance)} columns")
    tidy(axes)
    return figure
