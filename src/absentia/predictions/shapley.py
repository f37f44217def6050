"""Conditional Shapley values of any model that can answer incomplete rows.

The players are the observed columns of a row, and ``v(S) = E[f(x) | x_S]`` is the model's answer
for the row with everything but ``S`` hidden. Values are exact where all coalitions are enumerated
(Shapley 1953); otherwise they are averages over random orders of the columns, each of them taken
forwards and backwards (Mitchell and others 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import absentia.parameters as rules
from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityEstimator
from absentia.kernels import ExpectedLinear, ExpectedPolynomial, ExpectedRBF, Kernel, Scaled, Sum
from absentia.machines.base import KernelMachine
from absentia.parameters import RandomState, declared, shown
from absentia.predictions.explanations import Explanation
from absentia.predictions.hiding_table import HidingTable
from absentia.predictions.marginal import find_density, marginal_model, unwrapped
from absentia.tables import BoolArray, FloatArray, IntArray, TableLike
from absentia.tables.phrases import listed
from absentia.tables.plan_notes import absent_note, warn
from absentia.tables.reading import as_frame, has_columns_of_words, is_frame, native_frame
from absentia.tables.rows import TakesMissing

_OUTPUTS = rules.words("auto", "prediction", "probability", "log-odds", "decision")
_METHODS = rules.words("auto", "exact", "permutations")
#: Hidden rows that a model is asked about at a time.
_BATCH = 4096
#: Orders, each forwards and backwards, between two looks at the standard errors, and at least.
_ORDERS = 8
#: Probabilities at the ends of the scale of log-odds.
_LEAST = 1e-9
_MOST_ENUMERATED = 20


def explain(
    model: BaseEstimator,
    X: TableLike,
    *,
    y: ArrayLike | None = None,
    output: str = "auto",
    method: str = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    density: DensityEstimator | None = None,
    n_draws: int = 64,
    max_coalitions: int = 4096,
    tolerance: float = 0.01,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Explanation:
    """Return how much each observed column of a row contributed to its prediction.

    Conditional Shapley values: with ``v(S) = E[f(x) | x_S]`` the average prediction when only the
    columns in ``S`` are known, the value of a column is what it adds to ``v``, averaged over all
    orders in which the observed columns of the row could become known. What a row misses has no
    value; values and base add up to the prediction.

    Parameters
    ----------
    model : fitted estimator
        A machine of absentia, a :class:`~absentia.MarginalClassifier` or
        :class:`~absentia.MarginalRegressor`, an automatic machine, a search over machines, a
        conformal predictor (the model inside), or any other model together with ``density``.
        Machines whose kernel is an average itself (:class:`~absentia.ExpectedRBF`,
        :class:`~absentia.ExpectedLinear`, :class:`~absentia.ExpectedPolynomial`, sums and
        multiples) answer ``v`` exactly where the output is linear in the kernel. Automatic and
        large-scale machines answer incomplete rows as their ``predict`` does. All others are
        averaged over draws.
    X : array-like of shape (n_samples, n_features)
        Rows to explain.
    y : array-like of shape (n_samples,), optional
        Targets of these rows. The Shapley values of the loss (squared error, or log loss of
        classes) are then computed from the same predictions, and averaged over the rows to
        ``loss_shares``, as SAGE does (Covert and others 2020).
    output : {"auto", "prediction", "probability", "log-odds", "decision"}, default="auto"
        What to explain: ``predict`` of a regressor; of a classifier the probability of a class, the
        log-odds of the averaged probability, or the decision function. By default probabilities,
        and the decision function of a classifier without probabilities. Of two classes the second
        is explained.
    method : {"auto", "exact", "permutations"}, default="auto"
        Enumerate all coalitions of a row, or sample orders of its columns. By default rows of up to
        ``log2(max_coalitions)`` observed columns are enumerated.
    groups : dict of str to list, optional
        Names or numbers of columns that have one value together, by the name of the group. Other
        columns keep their own.
    density : fitted density, optional
        What missing values could be; needed for models that have none of their own.
    n_draws : int, default=64
        Draws per coalition, where draws are needed and the model does not have its own.
    max_coalitions : int, default=4096
        Coalitions per row at most, where orders are sampled.
    tolerance : float, default=0.01
        Sampling stops when no standard error of a row exceeds this share of its largest value.
    random_state : int, RandomState instance or None, default=0
    n_jobs : int, optional
        Threads over chunks of draws, for models that need ``density``.

    Returns
    -------
    Explanation

    Notes
    -----
    Conditional values credit a column for what it tells about others. A column that the model does
    not use has a value where it is correlated with one that it uses.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import ExpectedLinear, KernelRidge, explain
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> machine = KernelRidge(kernel=ExpectedLinear(), alpha=0.01).fit(X, X @ [2.0, 1.0])
    >>> explain(machine, [[1.0, 1.0], [np.nan, 1.0]]).values.round(0)
    array([[2., 1.],
           [0., 1.]])
    """
    _OUTPUTS.check("output", output)
    _METHODS.check("method", method)
    rules.DRAWS.check("n_draws", n_draws)
    rules.COUNT.check("max_coalitions", max_coalitions)
    rules.POSITIVE.check("tolerance", tolerance)
    rng = check_random_state(random_state)
    seed = int(rng.randint(2**31 - 1))
    if isinstance(X, Beliefs):
        raise TypeError("explain hides values of rows, but X holds beliefs: pass the rows.")
    draws = {"n_draws": n_draws, "random_state": seed, "n_jobs": n_jobs}
    game = _Game.of(model, X, output, density, **draws)
    solved = _Solved(game, _players(game.table, groups), None if y is None else game.targets(y))
    counts = solved.players.observed.sum(axis=1)
    most = {"auto": np.log2(max_coalitions), "exact": np.inf, "permutations": 0}[method]
    enumerated = counts <= max(2, most)
    if counts[enumerated].max(initial=0) > _MOST_ENUMERATED:
        raise ValueError(
            f"Row {counts.argmax()} has {counts.max()} observed columns, too many to enumerate "
            "their coalitions: use method='permutations', or groups of columns."
        )
    for count in np.unique(counts[enumerated]):
        solved.enumerate(np.flatnonzero(enumerated & (counts == count)), int(count))
    for row in np.flatnonzero(~enumerated):
        solved.sample(int(row), max_coalitions, tolerance, rng)
    return solved.explanation()


class _Players(NamedTuple):
    """Columns, or groups of columns, that are known or hidden together."""

    names: tuple[str, ...]
    members: BoolArray  # (n_players, n_columns)
    observed: BoolArray  # (n_samples, n_players)
    data: np.ndarray  # (n_samples, n_players), the cells; None where missing and for groups


def _players(table: HidingTable, groups: Mapping[str, Sequence[Any]] | None) -> _Players:
    names = table.labels
    places: dict[str, list[int]] = {}
    group_of: dict[int, str] = {}
    for group, columns in (groups or {}).items():
        for column in columns:
            at = names.index(column) if column in names else column
            if not rules.COUNT_OR_ZERO.admits(at) or at >= len(names):
                raise ValueError(
                    f"Group {group!r} has the column {shown(column)}, which is not among the "
                    f"columns of X: {listed(names)}."
                )
            if at in group_of:
                raise ValueError(
                    f"Column {names[at]!r} is in the groups {group_of[at]!r} and {group!r}, but a "
                    "column can be in one group only."
                )
            group_of[at] = str(group)
            places.setdefault(str(group), []).append(at)
    for j in range(len(names)):
        if j not in group_of and places.setdefault(names[j], [j]) != [j]:
            raise ValueError(f"The group {names[j]!r} needs another name: it is that of a column.")
    known = ~table.mask
    members = np.zeros((len(places), len(names)), dtype=bool)
    data = np.full((len(table), len(places)), None, dtype=object)
    cells = table.values.to_numpy(dtype=object) if hasattr(table.values, "iloc") else table.values
    for player, columns in enumerate(places.values()):
        members[player, columns] = True
        if len(columns) == 1:
            rows = np.flatnonzero(known[:, columns[0]])
            data[rows, player] = cells[rows, columns[0]]
    return _Players(tuple(places), members, known @ members.T, data)


@dataclass(frozen=True, eq=False)
class _Game:
    """A model, the rows to explain, and the output of the model in which values are measured."""

    table: HidingTable
    answer: Callable[[Any], np.ndarray]
    output: str
    classes: np.ndarray | None

    @classmethod
    def of(
        cls,
        model: BaseEstimator,
        X: Any,
        output: str,
        density: DensityEstimator | None,
        **draws: Any,
    ) -> _Game:
        """Make any model answer incomplete rows, where it does not average by itself."""
        model = unwrapped(model)
        if not isinstance(model, KernelMachine):
            model = getattr(model, "best_estimator_", model)
        check_is_fitted(model)
        classes = getattr(model, "classes_", None) if is_classifier(model) else None
        method, output = _method(model, output)
        X = _columns_of(model, X)
        if isinstance(model, KernelMachine):
            averages = method != "predict_proba" and _averages_exactly(model)
        else:
            averages = isinstance(model, TakesMissing)
        if density is not None or not averages:
            density = find_density(model) if density is None else density
            if method == "decision_function":
                model, method = _Scores(model), "predict"
            model = marginal_model(model, density, X, **draws)
        return cls(HidingTable.of(X).checked(model), getattr(model, method), output, classes)

    def targets(self, y: ArrayLike) -> np.ndarray:
        """Return the targets: numbers (n, n_outputs), or the places of the classes, (n,)."""
        given = np.asarray(y)
        if given.shape[:1] != (len(self.table),):
            raise ValueError(f"y must have {len(self.table)} targets, one per row of X.")
        if self.output == "decision":
            raise ValueError(
                "Shares of the loss need probabilities, but the model has none: leave y out, or "
                "wrap the model in sklearn.calibration.CalibratedClassifierCV."
            )
        if self.classes is None:
            return given.astype(np.float64).reshape(len(given), -1)
        unknown = ~np.isin(given, self.classes)
        if unknown.any():
            raise ValueError(f"y has the class {given[unknown][0]}, which the model does not.")
        return np.searchsorted(self.classes, given)

    def predict(self, rows: IntArray, kept: BoolArray) -> FloatArray:
        """Return predictions of rows of which only some columns are known, (n, n_outputs)."""
        parts = []
        for start in range(0, len(rows), _BATCH):
            part = slice(start, start + _BATCH)
            found = np.asarray(self.answer(self.table.take(rows[part], ~kept[part])), dtype=float)
            parts.append(found.reshape(len(found), -1))
        return np.concatenate(parts)

    def scale(self, predictions: FloatArray) -> FloatArray:
        """Return predictions on the scale of the output; of two classes the second."""
        if self.output in ("probability", "log-odds") and predictions.shape[-1] == 2:
            predictions = predictions[..., 1:]
        if self.output == "log-odds":
            return np.asarray(logit(np.clip(predictions, _LEAST, 1 - _LEAST)))
        return predictions


def _columns_of(model: BaseEstimator, X: Any) -> Any:
    """Return a frame with the columns that a model learned from, missing where it has none."""
    X = native_frame(X)
    names, n = list(getattr(model, "feature_names_in_", ())), getattr(model, "n_features_in_", None)
    if not is_frame(X):
        return X
    if not names and n is not None and has_columns_of_words(X):
        raise ValueError(
            f"{type(model).__name__} learned from an array of {n} numbers, but X is a frame with "
            f"columns of words: pass the columns of numbers that the model learned from, in their "
            "order (X[[...]]), or fit it to a frame behind absentia.TableEncoder."
        )
    if not 0 < len({*names} & {*X.columns}) < len({*names, *X.columns}):
        return X
    warn(absent_note([name for name in names if name not in X.columns]))
    return as_frame(X).reindex(columns=names)


@declared
class _Scores(BaseEstimator):
    """A fitted classifier as a regressor: its decision function."""

    model: BaseEstimator = field(kw_only=False)

    def fit(self, X: Any, y: Any = None) -> _Scores:
        """Return the classifier as it is."""
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the decision function."""
        return self.model.decision_function(X)


def _method(model: BaseEstimator, output: str) -> tuple[str, str]:
    """Return the method that answers, and what its output is."""
    name, has = type(model).__name__, partial(hasattr, model)
    if not is_classifier(model):
        if output not in ("auto", "prediction"):
            raise ValueError(f"output={output!r} is for classifiers, but {name} is none.")
        if not has("predict"):
            raise TypeError(f"{name} has no predict; give a classifier or a regressor.")
        return "predict", "prediction"
    if output == "prediction":
        raise ValueError(
            f"{name} predicts classes, which have no average: use output='probability', "
            "'log-odds' or 'decision'."
        )
    if output == "auto":
        output = "probability" if has("predict_proba") else "decision"
    method = "decision_function" if output == "decision" else "predict_proba"
    if not has(method):
        raise ValueError(
            f"{name} has no {method}: use another output, or wrap it in "
            "sklearn.calibration.CalibratedClassifierCV."
        )
    return method, output


def _averages_exactly(machine: KernelMachine) -> bool:
    """Return whether a machine's answer for beliefs is the average of those for complete rows.

    Votes of support vector machines of more than two classes are not linear in the kernel.
    """
    votes = hasattr(machine, "decision_function_shape") and len(machine.classes_) > 2
    return not votes and _is_average(machine.kernel_)


def _is_average(kernel: Kernel) -> bool:
    if isinstance(kernel, Scaled):
        return _is_average(kernel.kernel)
    if isinstance(kernel, Sum):
        return _is_average(kernel.left) and _is_average(kernel.right)
    scaled = isinstance(kernel, ExpectedRBF) and kernel.scaled
    return scaled or isinstance(kernel, ExpectedLinear | ExpectedPolynomial)


class _Solved:
    """The Shapley values of rows, filled in row by row."""

    def __init__(self, game: _Game, players: _Players, targets: np.ndarray | None) -> None:
        self.game, self.players, self.targets = game, players, targets
        nothing = np.zeros((1, game.table.n_features), dtype=bool)
        n_outputs = game.scale(game.predict(np.zeros(1, dtype=np.intp), nothing)).shape[1]
        n, m = players.observed.shape
        self.values, self.errors = np.zeros((2, n, m, n_outputs))
        self.base, self.prediction = np.zeros((2, n, n_outputs))
        self.losses = np.zeros((n, m))

    def enumerate(self, rows: IntArray, count: int) -> None:
        """Solve rows with ``count`` observed columns by all of their coalitions."""
        coalitions = (np.arange(2**count)[:, None] >> np.arange(count)) % 2 == 1
        weights = shapley_weights(coalitions)
        step = max(1, _BATCH // len(coalitions))
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            kept = np.concatenate([self._kept(row, coalitions) for row in some])
            found = self.game.predict(np.repeat(some, len(coalitions)), kept)
            for row, v in zip(some, found.reshape(len(some), len(coalitions), -1), strict=True):
                values = weights.T @ self.game.scale(v)
                self._keep(row, v[[0, -1]], values, 0.0, self._losses(row, v) @ weights)

    def sample(
        self, row: int, max_coalitions: int, tolerance: float, rng: np.random.RandomState
    ) -> None:
        """Solve a row by random orders of its columns, each forwards and backwards."""
        count = int(self.players.observed[row].sum())
        edges = np.array([np.zeros(count, dtype=bool), np.ones(count, dtype=bool)])
        ends = self.game.predict(np.full(2, row), self._kept(row, edges))
        parts: list[FloatArray] = []  # the mean of both directions of an order, (count, n_outputs)
        lost: list[FloatArray] = []
        while True:
            orders = np.array([rng.permutation(count) for _ in range(_ORDERS)])
            place = np.argsort(np.concatenate([orders, orders[:, ::-1]]), axis=1)
            coalitions = place[:, None, :] < np.arange(1, count)[:, None]
            kept = self._kept(row, coalitions.reshape(-1, count))
            inner = self.game.predict(np.full(len(kept), row), kept)
            v = np.repeat(ends[None, [0] * count + [1]], len(place), axis=0)
            v[:, 1:-1] = inner.reshape(len(place), count - 1, -1)
            gains = _gains(self.game.scale(v), place)
            parts += list((gains[:_ORDERS] + gains[_ORDERS:]) / 2)
            lost += list(_gains(self._losses(row, v)[..., None], place)[..., 0])
            values, n = np.mean(parts, axis=0), len(parts)
            errors = np.std(parts, axis=0, ddof=1) / np.sqrt(n)
            sure = (errors <= tolerance * np.abs(values).max(axis=0)).all()
            if sure or 2 * (n + _ORDERS) * (count - 1) > max_coalitions:
                break
        self._keep(row, ends, values, errors, np.mean(lost, axis=0))

    def _kept(self, row: int, coalitions: BoolArray) -> BoolArray:
        """Return which columns are known in coalitions of a row's players."""
        return coalitions @ self.players.members[self.players.observed[row]]

    def _losses(self, row: int, v: FloatArray) -> FloatArray:
        """Return the losses of predictions, (..., n_outputs), of a row; zeros without targets."""
        if self.targets is None:
            return np.zeros(v.shape[:-1])
        if self.game.classes is None:
            return np.asarray(((v - self.targets[row]) ** 2).sum(axis=-1))
        return np.asarray(-np.log(np.maximum(v[..., self.targets[row]], _LEAST)))

    def _keep(self, row: int, ends: FloatArray, values: Any, errors: Any, losses: Any) -> None:
        own = self.players.observed[row]
        self.base[row], self.prediction[row] = self.game.scale(ends)
        self.values[row, own], self.errors[row, own] = values, errors
        self.losses[row, own] = -losses

    def explanation(self) -> Explanation:
        """Return what was found; outputs have an axis where there are several."""
        n, n_outputs = self.base.shape
        names = tuple(str(k) for k in range(n_outputs)) if n_outputs > 1 else ()
        if self.game.classes is not None and n_outputs in (1, len(self.game.classes)):
            names = tuple(str(label) for label in self.game.classes[-n_outputs:])
        found = (self.values, self.base, self.prediction, self.errors)
        values, base, prediction, errors = (p[..., 0] if n_outputs == 1 else p for p in found)
        shares = share_errors = None
        if self.targets is not None:
            shares = self.losses.mean(axis=0)
            share_errors = np.sqrt(((self.losses - shares) ** 2).sum(axis=0) / max(1, n - 1) / n)
        return Explanation(
            values, base, prediction, errors, self.players.names, self.players.observed,
            self.players.data, self.game.output, names, shares, share_errors,
        )  # fmt: skip


def _gains(v: FloatArray, place: IntArray) -> FloatArray:
    """Return what each player adds to ``v`` at its place in an order, (n_orders, count, k)."""
    return np.take_along_axis(np.diff(v, axis=1), place[..., None], axis=1)


def shapley_weights(coalitions: BoolArray) -> FloatArray:
    """Return the weights of coalitions in the value of each player, the shape of ``coalitions``.

    ``1 / (n C(n - 1, |S| - 1))`` for a player in ``S``, and minus ``1 / (n C(n - 1, |S|))`` for one
    outside.
    """
    n = coalitions.shape[1]
    share = np.array([1 / (n * comb(n - 1, size)) for size in range(n)] + [0.0])
    sizes = coalitions.sum(axis=1)[:, None]
    return np.where(coalitions, share[sizes - 1], -share[sizes])
