"""A method that can be compared: how to make it, what it can do, what is worth tuning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from sklearn.base import BaseEstimator

from absentia.machines.targets import Task
from absentia.parameters import RandomState

ParameterGrid = Mapping[str, Sequence[Any]]
TAGS = ("handles_nan", "multiclass", "probabilistic", "stochastic", "own")


@dataclass(frozen=True)
class Comparator:
    """One method, ready to be made, tuned and compared.

    Attributes
    ----------
    name : str
    description : str
        A few words on what it does about missing values.
    reference : str
        Where it comes from.
    builder : callable
        From task and random state to an estimator.
    grids : mapping
        By task: what to search, in the names that ``estimator.set_params`` takes.
    handles_nan : bool
        Whether the learner itself sees which values are missing; False where they are filled in
        first. Every estimator in the registry takes NaN, one way or the other.
    multiclass : bool
        Whether it handles more than two classes.
    probabilistic : bool
        Whether the classifier has ``predict_proba``.
    stochastic : bool
        Whether the result depends on ``random_state``.
    own : bool
        Whether it is absentia's own, not a rival.
    extra : str or None
        The extra of absentia that brings what it needs; None where nothing more is needed.
    requires : str or None
        The module that must be importable.
    """

    name: str
    description: str
    reference: str
    builder: Callable[[Task, RandomState], BaseEstimator] = field(repr=False)
    grids: Mapping[Task, ParameterGrid] = field(repr=False)
    handles_nan: bool = False
    multiclass: bool = True
    probabilistic: bool = False
    stochastic: bool = False
    own: bool = False
    extra: str | None = None
    requires: str | None = None

    @property
    def classification(self) -> bool:
        """Whether it classifies."""
        return "classification" in self.grids

    @property
    def regression(self) -> bool:
        """Whether it predicts numbers."""
        return "regression" in self.grids

    @property
    def tags(self) -> frozenset[str]:
        """Names of its tags."""
        names = (*TAGS, "classification", "regression")
        return frozenset(name for name in names if getattr(self, name))

    def make(
        self, task: Task = "classification", random_state: RandomState = None
    ) -> BaseEstimator:
        """Return the estimator, unfitted, with default parameters.

        Parameters
        ----------
        task : {"classification", "regression"}
        random_state : int, RandomState instance or None, default=None
            Methods without randomness leave it aside.
        """
        self._check_task(task)
        return self.builder(task, random_state)

    def grid(self, task: Task = "classification") -> dict[str, list[Any]]:
        """Return the parameters worth tuning, for ``GridSearchCV``."""
        self._check_task(task)
        return {name: list(values) for name, values in self.grids[task].items()}

    def is_available(self) -> bool:
        """Return whether its dependencies are installed."""
        if self.requires is None:
            return True
        return find_spec(self.requires) is not None

    def _check_task(self, task: str) -> None:
        if task not in self.grids:
            able = " and ".join(self.grids)
            raise ValueError(f"{self.name} does {able}, found task={task!r}.")
