"""Sensitivity analysis: predictions under shifts of the missing values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from absentia.beliefs import Beliefs
from absentia.beliefs.draws import DrawPoints, draw_rows
from absentia.decisions.acquisition import wanted_columns
from absentia.decisions.trial_model import RowsRead, TrialModel, read_rows
from absentia.engine.threads import bounded_slices
from absentia.parameters import DRAWS, number_between, numbers
from absentia.pictures import FAINT, INK, pyplot, tidy
from absentia.tables import BoolArray, FloatArray, Table, TableLike
from absentia.tables.reading import native_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_POSITIVE = number_between(0, expected="a finite number above 0", open_ends=True)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Predictions of each row over shifts of its missing values.

    Attributes
    ----------
    deltas : ndarray of shape (n_deltas,)
        Shifts in standard deviations of the belief about a value, or of the log-odds of a category.
    columns : tuple of str
        The columns that were shifted, one at a time; ``"smoker = yes"`` for a category.
    missing : ndarray of bool, shape (n_samples, n_columns)
        Where a row misses the column; its predictions are constant elsewhere.
    predictions : ndarray of shape (n_columns, n_deltas, n_samples, n_outputs)
        Probabilities of the classes, or one number.
    classes : tuple
        Labels of the classes; empty for a regressor.
    """

    deltas: FloatArray
    columns: tuple[str, ...]
    missing: BoolArray
    predictions: FloatArray
    classes: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return len(self.missing)

    def __repr__(self) -> str:
        ends = self.predictions.max(axis=1) - self.predictions.min(axis=1)
        widest = float(ends.max(initial=0.0))
        return (
            f"Sensitivity of {len(self)} row{'s' * (len(self) != 1)} to shifts from "
            f"{self.deltas.min():g} to {self.deltas.max():g} deviations in {len(self.columns)} "
            f"columns: predictions move by up to {widest:.3g}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame, one line per row, missing column and shift."""
        import pandas as pd

        row, column = np.nonzero(self.missing)
        cell, delta = (at.ravel() for at in np.indices((len(row), len(self.deltas))))
        found = self.predictions[column[cell], delta, row[cell]]
        names = [f"probability_{label}" for label in self.classes] or ["prediction"]
        data = {
            "row": row[cell],
            "column": [self.columns[j] for j in column[cell]],
            "delta": self.deltas[delta],
        }
        return pd.DataFrame(data | dict(zip(names, found.T, strict=True)))

    def plot(self, row: int = 0) -> Figure:
        """Draw the predictions of one row over the shifts of each column that it misses."""
        figure, axes = pyplot().subplots(figsize=(6.5, 3.6), layout="constrained")
        axes.axvline(0.0, color=FAINT, linewidth=1.0)
        output = 1 if len(self.classes) == 2 else 0
        for j in np.flatnonzero(self.missing[row]):
            curve = self.predictions[j, :, row, output]
            axes.plot(self.deltas, curve, linewidth=1.8, label=self.columns[j])
        if len(self.classes) == 2:
            axes.axhline(0.5, color=INK, linestyle=":", linewidth=1.0)
        label = f"probability of {self.classes[output]}" if self.classes else "prediction"
        axes.set(xlabel="shift of the missing value, in its deviations", ylabel=label)
        if self.missing[row].any():
            axes.legend(frameon=False, fontsize="small")
        tidy(axes)
        return figure


@dataclass(frozen=True, eq=False)
class TippingPoints:
    """The smallest shifts of missing values at which the decision about a row changes.

    Attributes
    ----------
    columns : tuple of str
    delta : ndarray of shape (n_samples, n_columns)
        The shift of the column alone that is nearest to zero, with its sign; NaN where none up to
        the largest changes the decision, or the value is not missing.
    worst : ndarray of shape (n_samples,)
        The radius of the smallest ball of shifts of all missing columns of numbers together that
        holds a change, along the direction of steepest change, or the smallest ``delta`` of a
        column alone; NaN where there is none.
    direction : ndarray of shape (n_samples, n_columns)
        That direction, of length one.
    decision : ndarray of shape (n_samples,)
        The present class, or the present prediction.
    """

    columns: tuple[str, ...]
    delta: FloatArray
    worst: FloatArray
    direction: FloatArray
    decision: np.ndarray

    def __len__(self) -> int:
        return len(self.worst)

    def __repr__(self) -> str:
        found = self.worst[~np.isnan(self.worst)]
        least = f", the first at {found.min():.2g} deviations" if len(found) else ""
        rows = f"{len(self)} row{'s' * (len(self) != 1)}"
        return f"TippingPoints of {rows}: {len(found)} can change{least}"

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with a line per row: decision, worst case, shift per column."""
        import pandas as pd

        data = {"decision": self.decision, "worst": self.worst}
        return pd.DataFrame(
            data | {f"delta_{n}": d for n, d in zip(self.columns, self.delta.T, strict=True)}
        )


def sensitivity(
    model: BaseEstimator,
    X: TableLike,
    *,
    deltas: ArrayLike = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0),
    columns: Sequence[Any] | None = None,
    density: BaseEstimator | None = None,
    n_draws: int = 256,
    random_state: int = 0,
) -> Sensitivity:
    """Predict incomplete rows under shifts of their missing values.

    Everything else in the library takes values to be missing at random: given what was observed,
    a missing value has the law of observed ones. If high values tend to be missing, it is higher.
    Here each missing column in turn is tilted (:meth:`Beliefs.tilted`) by ``delta`` standard
    deviations of its belief, columns that are correlated with it move along, and the model's
    predictions are averaged over draws of the tilted belief. A category of a density with
    categories (:class:`~absentia.MixedDensity`) has its log-odds moved by ``delta``; of two
    categories the second. The data cannot say which ``delta`` is right; the range must come from
    knowledge of why values are missing.

    Parameters
    ----------
    model : fitted classifier with probabilities, or fitted regressor
        A machine, a marginal model, an automatic machine, or any model with ``density``.
    X : array-like or frame of shape (n_samples, n_features)
    deltas : array-like, default from -2 to 2
        Shifts in deviations.
    columns : sequence of names or indices, optional
        The columns to shift; by default all that some row misses. Columns of words behind a
        density without categories are left out.
    density : fitted density, optional
        What missing values could be, for a model that has no density of its own.
    n_draws : int, default=256
        Draws per row; the same for all shifts, so that curves are smooth.
    random_state : int, default=0
        Scrambles the quasi-random points.

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelRidge, sensitivity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> machine = KernelRidge(kernel="linear").fit(X, 3 * X[:, 0] + X[:, 1])
    >>> found = sensitivity(machine, [[np.nan, 0.0]], deltas=[-1, 0, 1])
    >>> found.predictions[0, :, 0, 0].round(0)
    array([-3., -0.,  3.])
    """
    shifts = np.sort(np.atleast_1d(numbers("deltas", deltas, "finite numbers")))
    if shifts.ndim != 1 or not np.isfinite(shifts).all():
        raise ValueError("deltas must be finite numbers in one dimension.")
    setting = _Setting.of(model, X, density, n_draws, random_state)
    chosen = setting.chosen(columns)
    found = [[setting.predictions(delta * setting.unit(t))[0] for delta in shifts] for t in chosen]
    shape = (len(chosen), len(shifts), *setting.predictions_shape)
    predictions = np.array(found).reshape(shape)
    names = tuple(setting.shifts[t].name for t in chosen)
    missing = setting.missing[:, chosen]
    return Sensitivity(shifts, names, missing, predictions, setting.classes)


def tipping_point(
    model: BaseEstimator,
    X: TableLike,
    *,
    by: float | None = None,
    columns: Sequence[Any] | None = None,
    largest: float = 3.0,
    n_steps: int = 12,
    density: BaseEstimator | None = None,
    n_draws: int = 256,
    random_state: int = 0,
) -> TippingPoints:
    """Return the smallest shift of missing values at which the decision about a row changes.

    Parameters
    ----------
    model, X, columns, density, n_draws, random_state
        As in :func:`sensitivity`.
    by : float, optional
        For a regressor, the change of its prediction that counts; classifiers count a change of the
        most probable class.
    largest : float, default=3.0
        The largest shift to try, in deviations.
    n_steps : int, default=12
        Shifts to try on either side; the crossing is interpolated between them.

    Returns
    -------
    TippingPoints

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegression, tipping_point
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> machine = LogisticRegression(C=10.0).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> found = tipping_point(machine, [[np.nan, 1.0], [np.nan, 2.0], [1.0, 1.0]])
    >>> found.delta[:, 0].round(0)
    array([-1., -2., nan])
    """
    _POSITIVE.check("largest", largest)
    setting = _Setting.of(model, X, density, n_draws, random_state)
    if bool(setting.classes) == (by is not None):
        raise ValueError(
            "by is the change of the prediction that counts: a regressor needs it, and a "
            f"classifier has none, found by={by!r}."
        )
    if by is not None:
        _POSITIVE.check("by", by)
    chosen = setting.chosen(columns)
    now, slopes = setting.predictions(np.zeros(setting.missing.shape), by, slopes=True)
    margin = setting.margin(now, now, by)
    grid = np.linspace(0.0, largest, int(n_steps) + 1)[1:]
    delta = np.full((len(now), len(chosen)), np.nan)
    for at, t in enumerate(chosen):
        for sign in (-1.0, 1.0):
            found = sign * setting.crossing(sign * setting.unit(t), grid, now, margin, by)
            nearer = np.abs(found) < np.nan_to_num(np.abs(delta[:, at]), nan=np.inf)
            delta[:, at] = np.where(nearer & setting.missing[:, t], found, delta[:, at])
    away = np.zeros_like(slopes)
    away[:, chosen] = slopes[:, chosen]
    length = np.sqrt((away**2).sum(axis=1, keepdims=True))
    away = np.divide(away, length, out=np.zeros_like(away), where=length > 0)
    worst = setting.crossing(away, grid, now, margin, by)
    if by is not None:  # either way counts
        worst = np.fmin(worst, setting.crossing(-away, grid, now, margin, by))
    # A single column is one direction of the ball.
    worst = np.fmin(worst, np.fmin.reduce(np.abs(delta), axis=1, initial=np.nan))
    decision = now[:, 0] if by is not None else np.array(setting.classes)[now.argmax(axis=1)]
    names = tuple(setting.shifts[t].name for t in chosen)
    return TippingPoints(names, delta, worst, away[:, chosen], decision)


class _Shift(NamedTuple):
    """A missing value that is shifted: a number, or the log-odds of one category of a column."""

    name: str
    column: int  # among those of the user
    option: int | None


@dataclass(frozen=True, eq=False)
class _Setting:
    """Rows, the belief about their missing values, and the model that predicts draws of them."""

    rows: RowsRead
    trial: TrialModel
    classes: tuple[Any, ...]
    points: DrawPoints
    shifts: tuple[_Shift, ...]

    @classmethod
    def of(
        cls, model: BaseEstimator, X: TableLike, density: Any, n_draws: int, random_state: int
    ) -> _Setting:
        DRAWS.check("n_draws", n_draws)
        X = native_frame(X)
        rows = read_rows(model, X, density)
        trial = TrialModel.of(model, X, rows)
        classes = tuple(getattr(model, "classes_", ())) if trial.classifies else ()
        points = DrawPoints.sobol(n_draws, rows.unknowns.n_drawn, random_state).matched()
        return cls(rows, trial, classes, points, tuple(_shifts(rows)))

    @property
    def missing(self) -> BoolArray:
        """Return whether each shift concerns a missing value of a row, (n_samples, n_shifts)."""
        cells = self.rows.unknowns.missing(self.rows.table.array)
        return cells[:, [shift.column for shift in self.shifts]]

    @property
    def predictions_shape(self) -> tuple[int, int]:
        return len(self.rows.table), max(len(self.classes), 1)

    def chosen(self, columns: Sequence[Any] | None) -> list[int]:
        """Return the shifts to try."""
        names = [column.name for column in self.rows.unknowns.columns]
        named = wanted_columns(columns, names, "columns")[[s.column for s in self.shifts]]
        return np.flatnonzero(named & self.missing.any(axis=0)).tolist()

    def unit(self, shift: int) -> FloatArray:
        """Return a shift by one, in every row."""
        return np.tile(np.arange(len(self.shifts)) == shift, (len(self.rows.table), 1)).astype(
            float
        )

    def margin(self, found: FloatArray, now: FloatArray, by: float | None) -> FloatArray:
        """Return how far predictions are from a change of the decision, negative beyond it."""
        if by is not None:
            return by - np.abs(found - now)[:, 0]
        first = now.argmax(axis=1)[:, None]
        others = found.copy()
        np.put_along_axis(others, first, -np.inf, axis=1)
        return np.take_along_axis(found, first, axis=1)[:, 0] - others.max(axis=1)

    def crossing(
        self,
        direction: FloatArray,
        grid: FloatArray,
        now: FloatArray,
        margin: FloatArray,
        by: float | None,
    ) -> FloatArray:
        """Return the first length along a direction at which the margin is zero, NaN for none."""
        length, before, at = np.full(len(now), np.nan), margin, 0.0
        for step in grid:
            after = self.margin(self.predictions(step * direction)[0], now, by)
            crossed = np.isnan(length) & (after <= 0) & (before > 0)
            share = np.divide(before, before - after, out=np.zeros_like(before), where=crossed)
            length = np.where(crossed, at + share * (step - at), length)
            before, at = after, step
        return length

    def predictions(
        self, shift: FloatArray, by: float | None = None, *, slopes: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return average predictions (n_samples, n_outputs) under shifts (n_samples, n_shifts).

        With ``slopes`` also the direction in which the decision weakens most: the derivative of
        ``E f`` by the shift of a column is ``cov(f, x_j) / s_j`` over the draws, with ``f`` the
        prediction, or how far the most probable class is ahead of the second.
        """
        table, unknowns = self.rows.table, self.rows.unknowns
        n, d = table.shape
        m = self.points.normals.shape[0]
        means, weaker = np.empty(self.predictions_shape), np.zeros(self.missing.shape)
        for part in bounded_slices(n, m * d):
            some = table[part]
            draws = draw_rows(self._tilted(some, shift[part]), self.points)
            complete = unknowns.completed(some, draws)
            origin = np.repeat(np.arange(n)[part], m)
            flat = Table(complete.reshape(-1, d), columns_checked=True)
            answers = self.trial(flat, origin, spread=False)[:, : means.shape[1]]
            answers = answers.reshape(len(some), m, -1)
            means[part] = answers.mean(axis=1)
            if slopes:
                weaker[part] = self._weaker(answers, draws, means[part], by)
        return means, np.where(self.missing, weaker, 0.0)

    def _weaker(
        self, answers: FloatArray, draws: FloatArray, means: FloatArray, by: float | None
    ) -> FloatArray:
        lead = answers[:, :, 0]
        if by is None:
            second, first = np.argsort(means, axis=1)[:, -2:].T
            rows = np.arange(len(means))
            lead = answers[rows, :, second] - answers[rows, :, first]
        centred = draws - draws.mean(axis=1, keepdims=True)
        spread = centred.std(axis=1)
        covariances = np.einsum("im,imj->ij", lead - lead.mean(axis=1, keepdims=True), centred)
        found = np.divide(covariances, spread, out=np.zeros_like(spread), where=spread > 0)
        columns = self.rows.unknowns.columns
        return np.column_stack(
            [  # the odds of a category are the same for all rows, which a direction is not
                found[:, columns[shift.column].numbers[0]]
                if shift.option is None
                else 0.0 * lead[:, 0]
                for shift in self.shifts
            ]
        )

    def _tilted(self, rows: Table, shift: FloatArray) -> Beliefs:
        """Return the beliefs about rows, tilted before their limits are applied."""
        unknowns = self.rows.unknowns
        free = unknowns.before_limits(rows) or unknowns.believe(rows)
        of_belief, log_odds = np.zeros(free.shape), dict[int, FloatArray]()
        for at, (_, j, option) in enumerate(self.shifts):
            column = unknowns.columns[j]
            if option is None:
                of_belief[:, column.numbers[0]] = shift[:, at]
            elif shift[0, at] and column.options is not None and column.category is not None:
                log_odds[column.category] = shift[0, at] * (
                    np.arange(len(column.options)) == option
                )
        tilted = free.tilted(of_belief, log_odds)
        limits = rows.limits_of(unknowns.numbers)
        if limits is None:
            return tilted
        lower, upper = limits
        if free.margins is not None:
            lower, upper = free.margins.forward_limits(lower, upper)
        return tilted.within(lower, upper)


def _shifts(rows: RowsRead) -> Iterator[_Shift]:
    """Yield what can be shifted: numbers, and categories; of two categories the second."""
    plan = rows.table.plan
    for j, column in enumerate(rows.unknowns.columns):
        if column.options is None and column.numbers:
            yield _Shift(column.name, j, None)
        elif column.options is not None and column.category is not None:
            words = [f"{value:g}" for value in column.options[:, 0]]
            if plan is not None and plan.by_name[column.name].categories:
                words = [str(word) for word in plan.by_name[column.name].categories]
            for k in range(int(len(words) == 2), len(words)):
                yield _Shift(f"{column.name} = {words[k]}", j, k)
