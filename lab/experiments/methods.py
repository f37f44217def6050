"""The methods that are compared: those of the registry, tuned in the same way.

Kernel methods share penalties, widths, folds and solver, see
:mod:`lab.experiments.inner_search`; what has no kernel is tuned over the grid that the registry
gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from absentia.machines.targets import Task
from absentia.tables import FloatArray, Table
from lab.baselines import Comparator, registry
from lab.data.sources import BeliefSource, GramSource, source_of
from lab.experiments.inner_search import (
    Grid,
    Learner,
    Trained,
    search_estimator,
    search_kernel,
    support_vector_machine,
)

Kind = Literal["absentia", "imputation", "kernel", "learner"]
#: Many fits, cone programs, for wide tables, or the settings of one paper: only where a protocol
#: asks for them by name.
_ONLY_ON_DEMAND = (
    "automatic", "genrbf-low-rank", "expected-linear", "robust", "robust-linear",
    "robust-spherical", "knn-10", "svr-imputation-0.001",
)  # fmt: skip


@dataclass(frozen=True)
class Method:
    """A method of the registry, and how it is tuned."""

    entry: Comparator

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return self.entry.name

    @property
    def description(self) -> str:
        """A few words on what it does about missing values."""
        return self.entry.description

    @property
    def kind(self) -> Kind:
        """Beliefs, imputation, a kernel of its own, or a learner that accepts NaN."""
        if self.entry.own:
            return "absentia"
        if not self.entry.handles_nan:
            return "imputation"
        return "learner" if self.entry.probabilistic else "kernel"

    def estimator(self, task: Task, seed: int, **parameters: Any) -> BaseEstimator:
        """Return the ordinary estimator, with some of its tuned parameters set (``C=1.0``)."""
        estimator = self.entry.make(task, seed)
        names = {name.split("__")[-1]: name for name in self.entry.grid(task)}
        known = {names[name]: value for name, value in parameters.items() if name in names}
        return estimator.set_params(**known)

    def source(self, task: Task, seed: int) -> GramSource | None:
        """Return where its Gram matrices come from, or None where it is no kernel method."""
        weights = [
            values
            for name, values in self.entry.grid(task).items()
            if name.endswith("__mask_weight")
        ]
        return source_of(self.entry.make(task, seed), *weights)

    @property
    def takes_limits(self) -> bool:
        """Whether limits of values are part of what it learns from; to others they are missing."""
        if not self.entry.own:
            return False
        source = self.source(next(iter(self.entry.grids)), 0)
        return self.entry.name == "automatic" or isinstance(source, BeliefSource)

    def train(
        self,
        X: FloatArray | Table,
        y: np.ndarray,
        X_test: FloatArray | Table,
        task: Task,
        grid: Grid,
        seed: int,
        learner: Learner = support_vector_machine,
    ) -> Trained:
        """Choose parameters on the training rows, train, and predict the test rows."""
        source = self.source(task, seed)
        if not self.takes_limits:
            X, X_test = np.asarray(X), np.asarray(X_test)
        if source is not None:
            return search_kernel(source, X, y, X_test, task, grid, seed, learner)
        parameters = {
            name: _thinned(values, grid.candidates)
            for name, values in self.entry.grid(task).items()
        }
        return search_estimator(
            self.entry.make(task, seed), parameters, X, y, X_test, task, grid, seed
        )


def methods_for(task: Task, names: Sequence[str] | None = None) -> list[str]:
    """Return the names of the methods that can do a task and are installed, in registry order.

    Cone programs, what is for wide tables and one paper's settings are left out unless named.
    """
    able = [name for name, entry in registry(task, available=True).items()]
    if names is None:
        return [name for name in able if name not in _ONLY_ON_DEMAND]
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(
            f"There is no method {unknown[0]!r}; the methods are {', '.join(METHODS)}."
        )
    return [name for name in names if name in able]


def _thinned(values: Sequence[Any], most: int | None) -> list[Any]:
    """Return at most a given number of the values, evenly spread."""
    if most is None or len(values) <= most:
        return list(values)
    # The middle of as many equal parts: the ends of a grid are seldom the best.
    places = ((np.arange(most) + 0.5) * len(values) / most).astype(int)
    return [values[k] for k in places]


#: All methods by name.
METHODS: dict[str, Method] = {name: Method(entry) for name, entry in registry().items()}
