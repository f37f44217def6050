"""Base class of the automatic classifier and regressor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

import absentia.parameters as rules
from absentia.automatic.assembly import Assembled, assemble
from absentia.automatic.committee import Committee, MemberTable
from absentia.automatic.folds import Settings
from absentia.automatic.member_specs import MEMBERS
from absentia.automatic.member_tuning import ROWS_FOR_THREADS, LearningRows, as_rows
from absentia.densities.fit_density import DensityLike
from absentia.densities.missing_values import MissingValues
from absentia.densities.training_rows import warn_of_lost_columns
from absentia.hidden_warnings import hidden_warnings
from absentia.machines.averaging import uncertainty_over_draws
from absentia.machines.uncertainty import Uncertainty
from absentia.machines.validation import warn_of_other_order
from absentia.parameters import FloatMatrix, FloatVector, RandomState, check_parameters, declared
from absentia.predictions.wrapped_model import require_one_target
from absentia.tables import (
    FloatArray,
    IntArray,
    Learned,
    Table,
    TableLike,
    open_known,
    open_memory,
    set_fitted,
)
from absentia.tables.column_plan import ShowsColumns
from absentia.tables.columns.training_columns import warn_of_sentinels
from absentia.tables.encoder import TableEncoder
from absentia.tables.reading import has_columns_of_words, is_frame, native_frame
from absentia.tables.rows import TakesMissing, row_weights

#: Up to this many rows folds are cut twice, and out-of-fold predictions averaged.
_ROWS_FOR_REPEATS = 400
#: Cells for which a second of a budget should suffice, rows for which any must, and by how much
#: less a second does beyond ``ROWS_FOR_THREADS`` rows, where trees are larger.
_CELLS_PER_SECOND, _FEWEST_ROWS, _LARGER = 40_000, 200, 4
_SETTINGS = [each.name for each in fields(Settings) if each.name != "seed"]


def _is_shares(value: Any) -> bool:
    try:
        shares = [rules.finite(share) for share in value]
    except TypeError:
        return False
    increasing = shares == sorted(set(shares), key=lambda share: share or 0.0)
    return increasing and all(share is not None and 0 < share < 1 for share in shares)


@declared
class AutoMachine(TakesMissing, ShowsColumns):
    """Base class of the automatic machines: read a table, assemble a committee, predict."""

    committee_: Committee = field(init=False)
    members_: MemberTable = field(init=False)
    density_: BaseEstimator = field(init=False)
    score_: float = field(init=False)
    score_error_: float = field(init=False)
    baseline_: float = field(init=False)
    out_of_fold_: FloatVector | FloatMatrix = field(init=False)
    encoder_: TableEncoder | None = field(init=False)

    _rules: ClassVar[dict[str, rules.Rule]] = {
        "members": MEMBERS,
        "time_budget": rules.POSITIVE | rules.words(None),
        "hidden": rules.Rule(("increasing numbers between 0 and 1",), _is_shares),
        "n_splits": rules.count_from(2),
        "n_repeats": rules.COUNT | rules.words(None),
        "on_interrupt": rules.words("raise", "keep"),
    }

    #: Validated targets; the rows with targets in codes, and the fitted attributes that decode
    #: them; scores of the out-of-fold predictions, by name of the fitted attribute.
    _check_targets: ClassVar[Any]
    _learning_rows: ClassVar[Callable[..., tuple[LearningRows, Learned]]]
    _scores: ClassVar[Callable[[Any, LearningRows, Assembled, Learned], Learned]]

    members: Any = "default"
    time_budget: float | None = None
    hidden: Any = (0.3, 0.6)
    density: DensityLike = "gaussian"
    n_splits: int = 5
    n_repeats: int | None = None
    on_interrupt: str = "raise"
    progress: bool = False
    random_state: RandomState = None
    n_jobs: int | None = None

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Try members, weight them by their out-of-fold predictions, and keep their average.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            NaN where a value is missing. Words, categories and dates of a frame are encoded by
            :class:`~absentia.TableEncoder`. Limits of values (``<0.5`` in a frame, or
            :func:`absentia.bounded`) are learned from by the members on beliefs; the others see the
            conditional mean within the limits.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, in fitting and in scoring members.
        groups : array-like of shape (n_samples,), optional
            Rows of one group (a patient, a site) are never on both sides of a fold.
        """
        check_parameters(self)
        require_one_target(self, y)
        encoder, opened = _encoded(X, y)
        table = _numbers_with_limits(opened)
        n_samples, note = len(table), ""
        warn_of_other_order(X, y)
        targets = self._check_targets(y, len(table))
        if len(table) < 2:
            raise ValueError(
                f"Found array with {len(table)} sample(s), while a minimum of 2 is required: folds "
                "need rows on both sides."
            )
        weights = row_weights(sample_weight, len(table))
        if groups is not None:
            groups = np.asarray(groups)
            check_consistent_length(table.array, groups)
        # Rows of no weight count as absent.
        counted = np.arange(n_samples) if weights is None else np.flatnonzero(weights)
        used = self._affordable(counted, targets, table.shape[1])
        if len(used) < len(counted):
            note = f"learned from {len(used):,} of {len(counted):,} rows, for want of time"
        if len(used) < n_samples:
            table = table[used]
            targets = self._check_targets(targets[used], len(table))
            weights = None if weights is None else weights[used]
            groups = None if groups is None else groups[used]
        given = {name: getattr(self, name) for name in _SETTINGS}
        given["hidden"] = tuple(float(share) for share in self.hidden)
        given["n_repeats"] = self.n_repeats or 1 + (len(table) <= _ROWS_FOR_REPEATS)
        seed = int(check_random_state(self.random_state).randint(2**31 - 100))
        rows, codes = self._learning_rows(table, targets, weights)
        names = opened.labels if encoder is None else encoder.get_feature_names_out().tolist()
        warn_of_lost_columns(np.asarray((~table.unknown).any(axis=0)), names)
        # Once is enough, and with names, which the arrays of members do not have.
        with hidden_warnings("Left out of the density", UserWarning):
            found = assemble(rows, Settings(**given, seed=seed), groups)
        scores = self._scores(rows, found, codes)
        out_of_fold = np.full((n_samples, found.out_of_fold.shape[2]), np.nan)
        learned = codes | scores | {"committee_": found.committee}
        out_of_fold[used] = self._decoded(found.out_of_fold[0], rows.table, learned)[0]
        learned["out_of_fold_"] = (
            out_of_fold if isinstance(self, ClassifierMixin) else out_of_fold[:, 0]
        )
        remarks = tuple(remark or note for remark in found.table.remarks)
        learned["members_"] = replace(found.table, remarks=remarks)
        learned |= {"density_": found.committee.density, "encoder_": encoder}
        if encoder is not None:  # the columns are those of the frame, not of the numbers
            names = np.asarray(encoder.columns_, dtype=object)
            learned |= {"n_features_in_": len(names), "feature_names_in_": names}
            learned["columns_"] = encoder.plan_
        set_fitted(self, opened, learned)
        return self

    def predict_uncertainty(self, X: TableLike, *, by_column: bool = True) -> Uncertainty:
        """Return predictions with a decomposition of their uncertainty.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        by_column : bool, default=True
            Whether to compute what each missing column alone would remove.

        Returns
        -------
        Uncertainty
            For the columns of the frame, also where they are words. The noise of a regressor is the
            mean squared error of its out-of-fold predictions, less the part of their missing
            values.
        """
        table = self._table(X)
        plan = None if self.encoder_ is None else self.encoder_.plan_
        names = getattr(self, "feature_names_in_", None)
        labels = [f"x{j}" for j in range(table.n_features)] if names is None else list(names)
        return uncertainty_over_draws(
            lambda rows, _: self._with_noise(rows),
            MissingValues.of(self.density_, labels, table.n_features, plan),
            table,
            self.committee_.points.matched(),
            self,
            noise=self._noise(),
            by_column=by_column,
            n_jobs=self.n_jobs,
            one_output=isinstance(self, RegressorMixin),
        )

    def _affordable(self, rows: IntArray, targets: np.ndarray, n_columns: int) -> IntArray:
        """Return the rows to learn from: all, or a sample if the time budget is short."""
        seconds = np.inf if self.time_budget is None else self.time_budget
        most = seconds * _CELLS_PER_SECOND / max(1, n_columns)
        most = max(_FEWEST_ROWS, min(most, max(ROWS_FOR_THREADS, most / _LARGER)))
        if len(rows) <= most:
            return rows
        order = check_random_state(self.random_state).permutation(rows)
        chosen = order[: int(most)]
        if isinstance(self, ClassifierMixin):  # two rows of every class at least
            for label in np.unique(targets[rows]):
                chosen = np.union1d(chosen, order[targets[order] == label][:2])
        return np.sort(chosen)

    def _table(self, X: TableLike) -> Table:
        check_is_fitted(self)
        if self.encoder_ is None:
            rows = open_known(X, self)
            assert isinstance(rows, Table)
            return _numbers_with_limits(rows)
        table = as_rows(self.encoder_.transform(X))
        if not len(table):
            raise ValueError(
                f"Found 0 sample(s) of {self.n_features_in_} columns while a minimum of 1 is "
                "required."
            )
        return table

    def _decoded(
        self, answers: FloatArray, rows: Table, codes: Learned
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return predictions of members in the units of the target, as :meth:`_with_noise` does."""
        return answers, None

    def _with_noise(self, table: FloatArray | Table) -> tuple[FloatArray, FloatArray | None]:
        """Return predictions, and the variance of the target about each where that differs."""
        return self._decoded(self.committee_.answer(table), as_rows(table), self.__dict__)

    def _noise(self) -> float | None:
        """Return the variance of the target about all predictions, None where it differs."""
        return 0.0


def _numbers_with_limits(rows: Table) -> Table:
    """Return numbers and their limits without names and plan."""
    return Table(rows.array, lower=rows.lower, upper=rows.upper, columns_checked=True)


def _encoded(X: TableLike, y: ArrayLike) -> tuple[TableEncoder | None, Table]:
    """Return a table as numbers, with the encoder where a frame has words or dates."""
    if type(X).__module__.startswith("dask"):
        raise TypeError(
            "A Dask table was passed, but the automatic machines need rows in memory: use "
            "X.compute() on a sample, or LargeScaleLogisticRegression or LargeScaleRidge, which "
            "learn from Dask tables."
        )
    X = native_frame(X)
    if is_frame(X) and has_columns_of_words(X):
        encoder = TableEncoder(limits=True)
        numbers = encoder.fit_transform(X, y)
        # The encoder has it in its notes, which nobody reads after fitting a machine.
        warn_of_sentinels(encoder.plan_.by_name)
        return encoder, numbers
    opened = open_memory(X, words="indicators")
    if not isinstance(opened, Table):
        raise TypeError("The automatic machines take rows, not beliefs: each member makes its own.")
    return None, opened
