"""The automatic machine, its ablations and its controls, from the stored answers of members."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from absentia.automatic.assembly import weigh
from absentia.automatic.blending import (
    losses,
    shrunk_weights,
    stacking_weights,
    tempered,
    weights_of_rows,
)
from absentia.machines.targets import Task
from absentia.tables import FloatArray
from lab.studies.automatic.answers import MemberAnswers, expected_members, folds_of
from lab.studies.automatic.rivals import PROGRAMS
from lab.studies.automatic.trials import Trial

#: Members that know nothing of beliefs.
RIVALS = ("forest", "extra-trees", "boosting", "indicators")
NEW_MEMBERS = ("linear", "extra-trees")
CONTROLS = ("equal average of rivals", "equal average of rivals and CatBoost")


#: From answers (n_members, n_samples, n_outputs), targets, weights of rows and task to weights.
Weighting = Callable[..., FloatArray]
_ROUNDS = 40


def greedy_weights(
    answers: FloatArray, y: np.ndarray, sample_weight: FloatArray, task: Task
) -> FloatArray:
    """Return weights by forward selection with replacement (Caruana and others, 2004).

    The weight of a member, shape (n_members,), is how often it was chosen in the best of the
    rounds.
    """
    total = np.zeros(answers.shape[1:])
    counts = np.zeros(len(answers))
    best, best_loss = counts, np.inf
    for step in range(1, _ROUNDS + 1):
        tried = np.array(
            [
                np.average(losses((total + own) / step, y, task), weights=sample_weight)
                for own in answers
            ]
        )
        chosen = int(tried.argmin())
        total = total + answers[chosen]
        counts = counts + np.eye(len(answers))[chosen]
        if tried[chosen] < best_loss - 1e-12:
            best, best_loss = counts, tried[chosen]
    weights: FloatArray = best / best.sum()
    return weights


def equal_weights(answers: FloatArray, *_: object) -> FloatArray:
    """Return equal weights."""
    return np.full(len(answers), 1.0 / len(answers))


@dataclass(frozen=True, eq=False)
class Answered:
    """Answers of a method in a trial.

    Attributes
    ----------
    tests : sequence of two ndarrays of shape (n_test, n_outputs)
    spreads : sequence of two ndarrays of shape (n_test,), or None
        Deviations of normal distributions around numbers, from errors out of fold.
    """

    tests: Sequence[FloatArray]
    spreads: Sequence[FloatArray] | None


class Scene:
    """A trial with the answers of its members, and what averages need of it."""

    def __init__(self, trial: Trial, members: Mapping[str, MemberAnswers]):
        self.trial, self.members = trial, members
        self.folds = folds_of(trial)
        self.excess = [self.folds.norm.excess(np.isnan(table)) for table in trial.tests]
        self.names = [name for name in expected_members(trial) if name in members]

    def average(
        self,
        *,
        names: Sequence[str] | None = None,
        weighting: Weighting = shrunk_weights,
        temperature: bool = True,
        one_set: str = "",
        plain: bool = False,
    ) -> Answered:
        """Return the weighted average as the automatic machine makes it, or without a part of it.

        Parameters
        ----------
        names : sequence of str, optional
            Members; all by default.
        weighting : callable
        temperature : bool
        one_set : {"", "first", "mean"}
            Weights that depend on what a row misses, or one set for all rows: chosen on rows as
            they are, or the mean of those of all levels.
        plain : bool
            Whether trees get NaN as it comes in place of an average over draws.
        """
        rows, chosen = self.trial.rows, list(names or self.names)
        own = np.stack([self.members[name].out_of_fold for name in chosen])
        _, weights, temperatures, levels = weigh(self.folds, own, weights_of=weighting)
        if one_set == "mean":
            weights = np.tile(weights.mean(axis=0), (len(weights), 1))
            temperatures = np.full_like(temperatures, np.exp(np.log(temperatures).mean()))
        elif one_set == "first":
            weights = np.tile(weights[0], (len(weights), 1))
            temperatures = np.full_like(temperatures, temperatures[0])
        if not temperature:
            temperatures = np.ones_like(temperatures)
        tests = []
        for k, excess in enumerate(self.excess):
            kind = "plain" if plain else "tests"
            each = np.stack([getattr(self.members[name], kind)[k] for name in chosen])
            mean = np.einsum("nk,kno->no", weights_of_rows(excess, levels, weights), each)
            if rows.n_classes is not None:
                mean = tempered(mean, np.exp(np.interp(excess, levels, np.log(temperatures))))
            tests.append(mean)
        return Answered(tests, self._spreads(weights, own, levels))

    def single(self, name: str, *, plain: bool = False) -> Answered:
        """Return the answers of one member."""
        found = self.members[name]
        spreads = self._spreads(
            np.ones((len(found.out_of_fold), 1)), found.out_of_fold[None], None, first=plain
        )
        return Answered(list(found.plain if plain else found.tests), spreads)

    def rivals(self, names: Sequence[str]) -> Answered:
        """Return the equal average of members, NaN as it comes."""
        each = [self.members[name] for name in names]
        shares = np.full((len(each[0].out_of_fold), len(each)), 1 / len(each))
        own = np.stack([one.out_of_fold for one in each])
        tests = np.mean([one.plain for one in each], axis=0)
        return Answered(list(tests), self._spreads(shares, own, None, first=True))

    def _spreads(
        self, weights: FloatArray, own: FloatArray, levels: FloatArray | None, first: bool = False
    ) -> list[FloatArray] | None:
        """Return the errors out of fold at each level, interpolated by what a test row misses."""
        if self.trial.rows.n_classes is not None:
            return None
        if levels is None:
            levels = self._levels()
        errors = []
        for level, shares in enumerate(weights):
            mean = np.tensordot(shares, own[:, level], axes=1)[:, 0]
            errors.append(float(np.sqrt(np.nanmean((mean - self.trial.rows.y) ** 2))))
        if first:
            errors = [errors[0]] * len(errors)
        return [np.interp(excess, levels, errors) for excess in self.excess]

    def _levels(self) -> FloatArray:
        found = [0.0]
        for table in self.folds.tables[1:]:
            mean = float(self.folds.norm.excess(np.isnan(table[self.folds.judged])).mean())
            found.append(max(mean, found[-1] + 1e-3))
        return np.array(found)


def all_methods(scene: Scene) -> dict[str, Callable[[], Answered]]:
    """Return the methods that can be made of the members of a scene, by name."""
    names = scene.names
    without_beliefs = [name for name in RIVALS if name in names]
    old = [name for name in names if name not in NEW_MEMBERS]
    found: dict[str, Callable[[], Answered]] = {
        "automatic": scene.average,
        "greedy weights": lambda: scene.average(weighting=greedy_weights),
        "stacking weights": lambda: scene.average(weighting=stacking_weights),
        "equal weights": lambda: scene.average(weighting=equal_weights),
        "no temperature": lambda: scene.average(temperature=False),
        "equal weights, no temperature": lambda: scene.average(
            weighting=equal_weights, temperature=False
        ),
        "one set of weights": lambda: scene.average(one_set="first"),
        "one set of weights, hidden cells": lambda: scene.average(one_set="mean"),
        "trees: NaN as it comes": lambda: scene.average(plain=True),
        "without members on beliefs": lambda: scene.average(names=without_beliefs, plain=True),
        "without linear and extra-trees": lambda: scene.average(names=old),
        "greedy, old members": lambda: scene.average(names=old, weighting=greedy_weights),
        CONTROLS[0]: lambda: scene.rivals(without_beliefs),
    }
    if "beliefs-mixture" in names:
        rest = [name for name in names if name != "beliefs-mixture"]
        found["without beliefs-mixture"] = lambda: scene.average(names=rest)
    for name in names:
        found[name] = partial(scene.single, name)
    for name in without_beliefs:
        if name != "indicators":
            found[f"{name}, NaN as it comes"] = partial(scene.single, name, plain=True)
    for name in PROGRAMS:
        if name in scene.members:
            found[name] = partial(scene.single, name, plain=True)
    if "catboost" in scene.members:
        found[CONTROLS[1]] = lambda: scene.rivals([*without_beliefs, "catboost"])
    return found
