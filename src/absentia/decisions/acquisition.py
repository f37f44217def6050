"""Acquisition: which missing value of a row to measure next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from absentia.decisions.expected_gains import Setting, gains_from_draws, gains_of_one
from absentia.decisions.measurements import Costs, Measurements, read_costs, unknown_column
from absentia.decisions.trial_model import LOSSES, Loss, TrialModel, read_rows
from absentia.densities.missing_values import MissingValues
from absentia.machines.base import KernelMachine
from absentia.parameters import FINITE, INFINITE, MOST_DRAWS, SHARE, count_from, number_between
from absentia.predictions.marginal import marginal_model, unwrapped
from absentia.predictions.wrapped_model import row_key
from absentia.tables import BoolArray, FloatArray, IntArray, Table, TableLike
from absentia.tables.reading import native_frame
from absentia.tables.rows import TakesMissing

LossName = Literal["log", "brier", "variance", "width", "size"]
Lookahead = Literal[1, 2, "auto"]
_BUDGET = number_between(0, expected="a number of at least 0") | INFINITE
#: Draws of a row whose pairs of columns are tried.
_DRAWS_OF_PAIRS = 512
#: The gain of the best candidate where the model expects none.
_NEXT_TO_NOTHING = 1e-12


def measure_next(
    model: BaseEstimator,
    X: TableLike,
    *,
    costs: Costs = None,
    loss: LossName | Loss | None = None,
    lookahead: Lookahead = 1,
    among: Sequence[Any] | None = None,
    budget: float | None = None,
    stop_below: float = 0.0,
    density: BaseEstimator | None = None,
    worth: Costs = None,
    worth_share: float = 0.5,
    n_draws: int | None = None,
) -> Measurements:
    """Rank the missing values of each row by what measuring them is expected to gain.

    For a missing column ``j`` the belief about ``x_j`` is replaced by points ``v`` with weights
    (nodes of a trapezoidal rule for each component of the density; for a column of words its
    categories with their probabilities); each is filled in, the row is conditioned on it, and the
    model answers ``a_v``. Measuring ``x_j`` is worth

        ``gain_j = L(sum_v w_v a_v) - sum_v w_v L(a_v)``,

    where ``L(a)`` is the expected loss of a prediction ``a``, if it is right: that of the average
    prediction less the average over the predictions after measuring. For ``"log"`` this is the
    mutual information between the value and the class in nats, for ``"variance"`` the part of the
    variance that the value explains. Columns are ranked by gain per cost.

    Parameters
    ----------
    model : fitted classifier with probabilities, or fitted regressor
        A machine, a marginal or conformal model, or any model that takes NaN (with ``density``).
    X : array-like or frame of shape (n_samples, n_features)
        Rows, NaN where a value is missing. Frames may have columns of words, where the model or
        the density was fitted to such a frame; gains are of the columns of the frame.
    costs : dict of column to cost, or sequence of n_features costs, optional
        One per column, not negative; columns that a dict leaves out cost 1.
    loss : {"log", "brier", "variance", "width", "size"} or callable, optional
        The loss to lower; by default ``"log"`` for classifiers and ``"variance"`` for regressors.
        ``"width"`` and ``"size"`` are for conformal predictors: how much narrower the interval, or
        smaller the set of classes, is expected to be than now (it may grow). A
        callable takes answers (probabilities of shape (n_samples, n_classes), or the mean and
        variance of a regressor, shape (n_samples, 2)) and returns the expected loss of each; it
        should be concave in the answers, as what a best decision expects to lose is.
    lookahead : {1, 2, "auto"}, default=1
        With 2, columns that are informative together but not alone are found: the gain includes by
        how much measuring the column would raise what the next measurement gains, over all pairs
        of columns (by ``n_draws`` draws of the row, or 512). "auto" looks two steps ahead in the
        rows where the best single column gains less than a tenth of what all missing values
        together would gain, and one step in the others.
    among : sequence of column names or indices, optional
        Consider only these.
    budget : float, optional
        The most to spend on a row; columns beyond it are left out.
    stop_below : float, default=0.0
        Recommend "stop" where no column gains more than this per unit of cost.
    density : fitted density, optional
        What missing values could be, in place of the model's own density; needed for a model that
        has none.
    worth : sequence of n_features numbers, or dict of column to number, optional
        The worth of columns on rows with known targets, as of :func:`held_out_worth` and
        :func:`column_worth`. A part of the gain then comes from it, in the units of the largest
        gain of the row, which corrects an overconfident model.
    worth_share : float, default=0.5
        How large that part is, from 0 to 1.
    n_draws : int, optional
        Compute the gains of all columns from this many draws of the whole row, a power of two such
        as 512, instead of trying each column by itself. Much faster for rows that miss many values
        and for marginal models, which average over draws at every trial; other models are taken to
        answer the average over what a row could be. At least 16.

    Returns
    -------
    Measurements

    Notes
    -----
    Rules of step 1 and 1/2 (in deviations, 11 and 21 nodes) are compared, and the step is halved up
    to 1/8 where they differ by more than 2 % of the largest gain of the row. The error is then well
    below that, except for models with jumps: 2 % on average for a single tree, at most 10 %.
    Regions are not refined beyond 1/2.

    All trial rows of a call go through the model in batches of some thousand. One row with 20
    missing columns and a Gaussian density is 420 trial rows, of which a marginal model makes
    ``420 * 64`` complete rows; with ``n_draws=512`` it is 512 complete rows.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianProcessRegressor, measure_next
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> machine = GaussianProcessRegressor(gamma=0.1).fit(X, 3 * X[:, 0] + X[:, 1])
    >>> row = [[np.nan, np.nan]]
    >>> measure_next(machine, row).best
    ['x0']
    >>> measure_next(machine, row, costs=[20.0, 1.0]).best
    ['x1']
    >>> measure_next(machine, row, costs=[20.0, 1.0], budget=0.5).best
    ['stop']
    """
    X = native_frame(X)
    rows = read_rows(model, X, density)
    table, unknowns = rows.table, rows.unknowns
    trial_model = TrialModel.of(model, X, rows, loss)
    inner = getattr(unwrapped(model), "best_estimator_", unwrapped(model))
    averages = isinstance(inner, KernelMachine | TakesMissing) and trial_model.region is None
    if density is not None and averages and n_draws is None:
        # By itself the model would average trial rows over what its own density says.
        trial_model = TrialModel.of(marginal_model(inner, density, X), X, rows)
    names = tuple(column.name for column in unknowns.columns)
    prices = read_costs(costs, names)
    risk = _read_loss(loss, trial_model.classifies)
    if lookahead not in (1, 2, "auto"):
        raise ValueError(f"lookahead must be 1, 2 or 'auto', found {lookahead!r}.")
    if trial_model.region is not None and (n_draws is not None or lookahead != 1):
        raise ValueError(
            "lookahead and n_draws average predictions, but regions cannot be averaged: leave both "
            f"out with loss={loss!r}."
        )
    if n_draws is not None:
        count_from(16, MOST_DRAWS).check("n_draws", n_draws)
    SHARE.check("worth_share", worth_share)
    FINITE.check("stop_below", stop_below)
    candidates = unknowns.missing(table.array) & wanted_columns(among, names, "among")
    if budget is not None:
        _BUDGET.check("budget", budget)
        candidates &= prices <= budget
    # Equal rows, such as those of which nothing is known, are tried once.
    first, which = _distinct(table, unknowns)
    few = Setting(trial_model, unknowns, table, candidates, risk, prices, budget)[first]
    if n_draws is not None:
        gain, found = gains_from_draws(few, n_draws, lookahead)
    else:
        found = gains_of_one(few)
        gain = found.gain
        if lookahead != 1:
            both, one = gains_from_draws(few, _DRAWS_OF_PAIRS, lookahead)
            gain = gain + (both - one.gain)
    if worth is not None:
        known = read_costs(worth, names, "worth", missing=0.0)
        gain = _blended_gain(gain, known, few.candidates, worth_share)
    after = found.after
    if loss == "variance" or (loss is None and not trial_model.classifies):
        after = np.sqrt(np.maximum(after, 0.0))
    return Measurements(
        names, gain[which], prices, found.before[which], after[which], float(stop_below)
    )


def _blended_gain(
    gain: FloatArray, worth: FloatArray, candidates: BoolArray, share: float
) -> FloatArray:
    """Return gains of which a share comes from the worth of columns on known rows.

    ``(1 - share) g_j + share w_j max(g) / max(w)``, the maxima over the candidates of the row:
    worth has its own units, and is brought to those of the gains. Where the model expects no gain
    of any candidate, worth ranks them, at a tiny gain.
    """
    known = np.where(candidates, worth, 0.0)
    largest = known.max(axis=1, keepdims=True)
    unit = np.where(candidates, gain, 0.0).max(axis=1, keepdims=True, initial=_NEXT_TO_NOTHING)
    part = np.divide(known, largest, out=np.zeros_like(known), where=largest > 0)
    mixed = (1.0 - share) * gain + share * part * unit
    return np.where(largest > 0, mixed, gain)


def _read_loss(loss: Any, classifies: bool) -> Loss:
    if loss is None:
        loss = "log" if classifies else "variance"
    if callable(loss):
        return _checked_loss(loss)
    fitting = ("log", "brier", "size") if classifies else ("variance", "width")
    if loss not in LOSSES:
        raise ValueError(
            "loss must be 'log', 'brier', 'variance', 'width', 'size' or a callable, found "
            f"{loss!r}."
        )
    if loss not in fitting:
        kind = "a classifier" if classifies else "a regressor"
        raise ValueError(
            f"loss={loss!r} does not suit {kind}; use {' or '.join(repr(word) for word in fitting)}"
            ", or a callable."
        )
    return LOSSES[loss]


def _checked_loss(loss: Loss) -> Loss:
    """Return a user's loss, what it returns checked."""

    def checked(answers: FloatArray) -> FloatArray:
        losses = np.asarray(loss(answers), dtype=np.float64)
        if losses.shape != (len(answers),):
            raise ValueError(
                f"loss must return one number per row, an array of shape ({len(answers)},) for "
                f"answers of shape {answers.shape}, found shape {losses.shape}."
            )
        return losses

    return checked


def wanted_columns(among: Sequence[Any] | None, names: Sequence[str], what: str) -> BoolArray:
    """Return which columns are meant by their names or indices, all where none are."""
    if among is None:
        return np.ones(len(names), dtype=np.bool_)
    wanted = np.zeros(len(names), dtype=np.bool_)
    for column in [among] if isinstance(among, str) else among:
        if str(column) in names:
            wanted[list(names).index(str(column))] = True
        elif isinstance(column, int | np.integer) and -len(names) <= column < len(names):
            wanted[column] = True
        else:
            raise unknown_column(f"{what} names", column, names)
    return wanted


def _distinct(table: Table, unknowns: MissingValues) -> tuple[IntArray, IntArray]:
    """Return the first of each kind of row, and which kind each row is."""
    if any(not column.places for column in unknowns.columns):
        # The model may look at a column that the plan leaves out.
        return np.arange(len(table)), np.arange(len(table))
    parts = [part for part in (table.array, table.lower, table.upper) if part is not None]
    keys = np.array([row_key(row) for row in np.hstack(parts)], dtype=object)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which
