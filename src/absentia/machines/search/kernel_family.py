"""Hyperparameters of a kernel as one vector of logarithms, and the relevance of its columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.optimize import minimize
from sklearn.utils import check_random_state

from absentia.beliefs import Beliefs, Prior
from absentia.kernels.base import Kernel, with_params
from absentia.kernels.category import shares_that_differ
from absentia.kernels.metric import resolve_gamma
from absentia.parameters import COUNT, RandomState
from absentia.pictures import FAINT, INK, MODEL, pyplot, tidy
from absentia.tables import FloatArray, plan_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from absentia.machines.base import KernelMachine

#: Weights of the mask kernel that are looked at: from no effect to patterns that never meet.
_WEIGHT_BOUNDS = (1e-3, 30.0)
#: A tighter prior on widths is no different from this one, and its square may be no number.
_LEAST_DEVIATION = 1e-3


@dataclass(frozen=True, eq=False)
class KernelFamily:
    """A kernel as a function of the logarithms of some of its parameters.

    ``kernel`` is resolved; a search starts at its values. ``names`` are the free parameters, by the
    names of ``kernel.set_params``; ``"gamma[0]"`` is the first of one number per column.
    ``bounds``, (n_parameters, 2), are those of the logarithms, and ``deviation`` is that of the
    normal prior on the logarithms of one number per column, around their mean.
    """

    kernel: Kernel
    names: tuple[str, ...]
    bounds: FloatArray
    deviation: float = 1.0

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        prior: Prior,
        *,
        free_gamma: bool,
        free_mask_weight: bool,
        free_category_weight: bool = False,
        gamma_bounds: tuple[float, float],
    ) -> KernelFamily:
        """Find the free parameters of a resolved kernel, also inside of sums and products.

        Free are every ``gamma`` in the kernel, within multiples of the ``gamma="scale"`` of
        ``prior`` in the kernel's metric; the weight of the mask kernel, which is the last factor;
        and, if there are categories, every weight of theirs that is one number.
        """
        params = kernel.get_params(deep=True)
        bounds: dict[str, tuple[float, float]] = {}
        if free_gamma:
            for name in sorted(params):
                *path, last = name.split("__")
                if last == "gamma" and isinstance(params[name], float):
                    start = params[name]
                    metric = params.get("__".join([*path, "metric"]), "euclidean")
                    unit = resolve_gamma("scale", prior, metric)
                    low, high = gamma_bounds[0] * unit, gamma_bounds[1] * unit
                    bounds[name] = min(low, start), max(high, start)
        if free_category_weight and prior.probabilities:
            for name in sorted(params):
                if name.split("__")[-1] == "category_weight" and isinstance(params[name], float):
                    low, high = _WEIGHT_BOUNDS
                    bounds[name] = min(low, params[name] or low), max(high, params[name])
        if free_mask_weight:
            bounds["right__weight"] = _WEIGHT_BOUNDS
        limits = np.array(list(bounds.values())).reshape(len(bounds), 2)
        return cls(kernel, tuple(bounds), np.log(limits))

    def by_column(self, prior: Prior, deviation: float) -> KernelFamily:
        """Return the family in which each column has a width of its own.

        Weights of categories become free as well, one per column of categories; other parameters
        stay. ``deviation`` is that of the normal prior on the logarithms around their mean.
        """
        params = self.kernel.get_params(deep=True)
        names: list[str] = []
        bounds: list[FloatArray] = []
        for name, limits in zip(self.names, self.bounds, strict=True):
            *path, last = name.split("__")
            metric = params.get("__".join([*path, "metric"]), "euclidean")
            if last == "category_weight":
                continue  # one per column, beside the widths
            if last != "gamma":
                names.append(name)
                bounds.append(limits)
                continue
            if not (isinstance(metric, str) and metric == "euclidean"):
                raise ValueError(
                    "One width per column can be learned only in the Euclidean metric. Leave out "
                    "the metric of the kernel, or do without gamma='ard' and gamma='loo-ard'."
                )
            names += [f"{name}[{j}]" for j in range(prior.n_features)]
            bounds += [limits] * prior.n_features
            weight = "__".join([*path, "category_weight"])
            if prior.probabilities and weight in params:
                n_columns = len(prior.probabilities)
                names += [f"{weight}[{j}]" for j in range(n_columns)]
                bounds += [np.log(_WEIGHT_BOUNDS)] * n_columns
        if not self.kernel.has_gradient or not any(name.endswith("]") for name in names):
            raise ValueError(
                "One width per column can be learned only for ExpectedRBF and GenRBF (and their "
                f"products with MaskKernel), found {self.kernel!r}. Use kernel='genrbf' or "
                "kernel='expected-rbf', or one gamma."
            )
        deviation = max(float(deviation), _LEAST_DEVIATION)
        return KernelFamily(self.kernel, tuple(names), np.array(bounds), deviation)

    @property
    def start(self) -> FloatArray:
        """The logarithms of the kernel's own values of the free parameters."""
        params = self.kernel.get_params(deep=True)
        found = []
        for name in self.names:
            base, column = _place(name)
            value = np.asarray(params[base], dtype=np.float64)
            found.append(float(value if column is None or not value.ndim else value[column]))
        return np.log(np.maximum(found, np.exp(self.bounds[:, 0]) if len(found) else 0.0))

    def at(self, logarithms: FloatArray) -> Kernel:
        """Return the kernel with these values of its free parameters."""
        if not self.names:
            return self.kernel
        new: dict[str, Any] = {}
        for name, value in zip(self.names, np.exp(logarithms), strict=True):
            base, column = _place(name)
            if column is None:
                new[base] = float(value)
            else:
                new.setdefault(base, []).append(float(value))
        new = {name: np.array(v) if isinstance(v, list) else v for name, v in new.items()}
        return with_params(self.kernel, **new)

    def log_prior(self, logarithms: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-density of the prior on numbers of columns, and its derivatives.

        ``-sum_j (l_j - mean l)^2 / (2 deviation^2)``, up to a constant. The common mean is free.
        """
        gradient = np.zeros(len(logarithms))
        value = 0.0
        bases = [_place(name)[0] if name.endswith("]") else "" for name in self.names]
        for base in set(bases) - {""}:
            columns = [j for j, other in enumerate(bases) if other == base]
            offsets = logarithms[columns] - logarithms[columns].mean()
            value -= 0.5 * float(offsets @ offsets) / self.deviation**2
            gradient[columns] = -offsets / self.deviation**2
        return value, gradient

    def gradient(
        self,
        logarithms: FloatArray,
        beliefs: Beliefs,
        weights: FloatArray,
        K: FloatArray | None = None,
        n_jobs: int | None = None,
    ) -> FloatArray:
        """Return the derivatives of ``(weights * K).sum()`` by all free parameters.

        In closed form where each column has a number. One or two parameters are quicker by
        differences of Gram matrices: with the Gram matrix ``K`` at this point forward ones (six
        digits, enough for a search), without it central ones (nine digits).
        """
        gradient = np.empty(len(self.names))
        if any(name.endswith("]") for name in self.names):
            found = self.at(logarithms).gradient(beliefs, weights, K=K, n_jobs=n_jobs)
            for j, name in enumerate(self.names):
                base, column = _place(name)
                gradient[j] = found[base] if column is None else found[base][column]
            return gradient
        step = 1e-4 if K is None else 1e-6
        for j, direction in enumerate(step * np.eye(len(self.names))):
            D = self.at(logarithms + direction)(beliefs, n_jobs=n_jobs)
            D -= K if K is not None else self.at(logarithms - direction)(beliefs, n_jobs=n_jobs)
            D /= step if K is not None else 2 * step
            gradient[j] = np.vdot(weights, D)
        return gradient


def _place(name: str) -> tuple[str, int | None]:
    """Take ``"gamma[3]"`` apart into parameter and column; other names have no column."""
    if not name.endswith("]"):
        return name, None
    base, column = name[:-1].split("[")
    return base, int(column)


def maximise(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: FloatArray,
    n_restarts: int,
    random_state: RandomState,
    ftol: float = 1e-9,
) -> FloatArray:
    """Return where an objective with its gradient is highest, by L-BFGS-B from several starts.

    The first start is given, the others are drawn evenly within the bounds. ``ftol`` is the
    relative gain of a step at which a search ends.
    """

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(point)
        return -value, -gradient

    rng = check_random_state(random_state)
    starts = [np.clip(start, bounds[:, 0], bounds[:, 1])]
    starts += [rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(n_restarts)]
    options = {"ftol": ftol, "gtol": 1e-4, "maxiter": 100}
    ends = [
        minimize(loss, x, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
        for x in starts
    ]
    return min(ends, key=lambda end: end.fun).x


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
