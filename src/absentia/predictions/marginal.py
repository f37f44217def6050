"""Any model on incomplete rows: its answers averaged over what the missing values could be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs.quasi_random import DrawPoints, map_draws, rows_by_pattern
from absentia.densities.fit_density import (
    DensityEstimator,
    DensityLike,
    fit_density,
    make_density,
    words_for,
)
from absentia.densities.missing_values import Unknowns
from absentia.machines.uncertainty.machine_draws import one_output_flat
from absentia.machines.uncertainty.over_draws import uncertainty_over_draws
from absentia.machines.uncertainty.parts import Uncertainty
from absentia.machines.validation import warn_of_other_order
from absentia.missingness import Patterns
from absentia.parameters import (
    DRAWS,
    THREADS,
    RandomState,
    Rule,
    check_parameters,
    declared,
    words,
)
from absentia.predictions.planned_frames import FrameRows, PlannedFormat
from absentia.predictions.row_format import RowFormat
from absentia.predictions.training_draws import TrainingTable, fit_on_draws, fit_weighted
from absentia.predictions.wrapped_model import WrappedModel
from absentia.tables import (
    BoolArray,
    FloatArray,
    IntArray,
    Table,
    TableLike,
    open_known,
    open_memory,
    plan_of,
    set_fitted,
)
from absentia.tables.column_plan import ShowsColumns
from absentia.tables.reading import has_columns_of_words, is_frame
from absentia.tables.rows import TakesMissing, row_weights

__all__ = ["MarginalModel", "joined", "tags_of"]


@declared
class MarginalModel(TakesMissing, ShowsColumns):
    """What both wrappers share: fit a density, predict draws with a model, average.

    Fitted attributes: ``estimator_``, ``density_``, ``patterns_`` (masks of the training rows),
    ``n_features_in_``, for frames ``feature_names_in_``, and for frames with columns of words
    ``columns_`` (how each is read).
    """

    estimator_: BaseEstimator = field(init=False)
    density_: DensityEstimator = field(init=False)
    patterns_: BoolArray = field(init=False)
    n_features_in_: int = field(init=False)

    _rules: ClassVar[dict[str, Rule]] = {
        "n_draws": DRAWS,
        "known": words("average", "model"),
        "n_jobs": THREADS,
    }

    _method: str = field(init=False)
    _wrapped: WrappedModel = field(init=False)
    _columns: IntArray = field(init=False)
    _points: DrawPoints = field(init=False)
    _noise: FloatArray | float = field(init=False)

    estimator: BaseEstimator = field(kw_only=False)
    density: DensityLike = "auto"
    n_draws: int = 64
    known: Literal["average", "model"] = "average"
    random_state: RandomState = None
    n_jobs: int | None = None

    def fit(self, X: TableLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the density and, where the estimator is not fitted already, the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with or without NaN, in the kind of table that the model takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Targets, for an estimator that is to be trained (again, where it is fitted already);
            ignored where it comes as :class:`~sklearn.frozen.FrozenEstimator`.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight two counts as two rows, in the density and in the estimator.

        Returns
        -------
        self
        """
        self._check_parameters()
        density = self._unfitted_density(X)
        plan = plan_of(density.estimator) if isinstance(density, FrozenEstimator) else None
        # Numbers are passed to the model as they are; only words need a plan.
        words = words_for(density) if _has_words(X) else None
        rows = open_memory(X, words=words) if plan is None else plan.read(X)
        if not isinstance(rows, Table):
            raise TypeError(
                f"{type(self).__name__} asks its model about rows, but X holds beliefs: pass the "
                "rows themselves, with NaN where a value is missing."
            )
        frozen = isinstance(self.estimator, FrozenEstimator)
        if y is None and not frozen:
            name = type(self).__name__
            # scikit-learn's own words first, which its checks of estimators look for.
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None: fit needs y to train "
                "the model. For a model that is fitted already write "
                f"{name}(FrozenEstimator(model)).fit(X), with FrozenEstimator from sklearn.frozen."
            )
        if not frozen:
            warn_of_other_order(X, y)
        targets = None if frozen else self._check_targets(y, len(rows))
        weights = row_weights(sample_weight, len(rows))
        density = fit_density(density, rows, weights)
        unknowns = Unknowns.of(density, rows.labels, rows.n_features, rows.plan)
        lost = [column for column in unknowns.columns if column.places and not column.believed]
        if frozen and lost:
            n = len(unknowns.columns)
            raise ValueError(
                f"The model expects {n} columns, but only {n - len(lost)} of them have a "
                "value in the rows given to fit, so nothing is known about the others. Fit "
                "on rows in which every column has a value at least once, such as those that the "
                "model was trained on."
            )
        kept = np.sort(np.concatenate([[], *(c.places for c in unknowns.columns if c.believed)]))
        columns = kept.astype(np.intp)
        given = None if rows.plan is None else FrameRows.of(X, rows.plan, new=False)
        row_format: RowFormat | PlannedFormat
        if rows.plan is None:
            row_format = RowFormat.of(rows.as_given(), columns)
        else:
            row_format, columns = PlannedFormat.of(X, rows.plan), np.arange(rows.n_features)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        points = DrawPoints.sobol(self.n_draws, unknowns.n_drawn, seed)
        if targets is None:  # trained already
            model = self.estimator
        elif self.known == "model":
            own = row_format.rows(rows.array[:, columns], given, np.arange(len(rows)))
            model = fit_weighted(clone(self.estimator), own, targets, weights)
        else:
            model = fit_on_draws(
                clone(self.estimator),
                TrainingTable(rows, unknowns, columns, row_format, given),
                targets,
                weights,
                seed,
            )
        wrapped = WrappedModel.of(model, self._method, row_format)
        typical = _typical_row(rows[:1], unknowns)
        answer = wrapped.check(typical[columns], given, len(unknowns.columns))
        set_fitted(
            self,
            rows,
            self._describe_answer(wrapped, answer)
            | {
                "estimator_": model,
                "density_": density,
                "patterns_": Patterns.of(rows).masks,
                "_wrapped": wrapped,
                "_columns": columns,
                "_points": points,
                "_noise": 0.0 if given is not None else wrapped.noise(typical[columns]),
            },
        )
        return self

    def predict_uncertainty(self, X: TableLike, *, by_column: bool = True) -> Uncertainty:
        """Return predictions with a decomposition of their uncertainty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        by_column : bool, default=True
            Whether to compute what each missing column alone would remove, which takes about as
            many predictions for each missing value as the rest.

        Returns
        -------
        Uncertainty
            Entropies of classes or variances of numbers, for the columns of the frame as they are
            (a column of words is one column). The model part is zero, except for
            regressors whose ``predict`` takes ``return_std``; so is the noise of a regressor,
            except for those whose ``predict`` takes ``include_noise`` as well (Gaussian processes
            of absentia). Every incomplete row is averaged, whatever ``known`` says.
        """
        table, given = self._opened(X)
        unit: Any = "entropy" if self._method == "predict_proba" else "variance"

        def answer(rows: FloatArray, origin: IntArray) -> tuple[FloatArray, FloatArray | None]:
            return self._wrapped.answer_with_variance(rows[:, self._columns], given, origin)

        doubt = uncertainty_over_draws(
            answer,
            self._unknowns(),
            table,
            self._points,
            unit,
            noise=self._noise,
            by_column=by_column,
            n_jobs=self.n_jobs,
        )
        flat = unit == "variance" and getattr(self, "_single", False)
        return one_output_flat(doubt, flat).of_model(self)

    def _unfitted_density(self, X: TableLike) -> BaseEstimator:
        """Return the density to fit; "auto" knows categories where a frame has words."""
        if not isinstance(self.density, str) or self.density != "auto":
            return make_density(self.density)
        return make_density("mixed" if _has_words(X) else "gaussian")

    def _unknowns(self) -> Unknowns:
        """Return what missing values could be."""
        plan = plan_of(self)
        names = getattr(self, "feature_names_in_", None)
        width = self.n_features_in_ if plan is None else len(plan.labels)
        labels = [f"x{j}" for j in range(width)] if names is None else list(names)
        return Unknowns.of(self.density_, labels, width, plan)

    def _check_parameters(self) -> None:
        """Raise for invalid parameters before anything is computed."""
        check_parameters(self)
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise TypeError(
                "estimator must be an estimator, or FrozenEstimator(model) for a model that is "
                f"fitted already, found {self.estimator!r}."
            )

    def _check_targets(self, y: ArrayLike, n_samples: int) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its targets.")

    def _describe_answer(self, wrapped: WrappedModel, answer: FloatArray) -> dict[str, object]:
        """Return the fitted attributes that follow from the model's answer to one row."""
        return {}

    def _average(self, X: TableLike) -> FloatArray:
        """Return the averaged answers, shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        return joined(self._answered(X, self._wrapped.ask, lambda means: means))

    def _answered(
        self,
        X: TableLike,
        plain: Callable[[Any], np.ndarray],
        averaged: Callable[[FloatArray], np.ndarray],
    ) -> list[tuple[IntArray, np.ndarray]]:
        """Return which rows were answered how, as pairs of rows and answers.

        ``plain`` answers complete rows as the user gave them, ``averaged`` turns the means over
        draws into answers for the others.
        """
        table, given, asked = self._read(X)
        parts = []
        as_they_are, drawn = np.flatnonzero(~asked), np.flatnonzero(asked)
        if len(as_they_are):
            parts.append((as_they_are, plain(self._own_rows(X, table, given, as_they_are))))
        if len(drawn):
            drawn = drawn[rows_by_pattern(table[drawn])]
            incomplete, unknowns = table[drawn], self._unknowns()

            def mean_answer(draws: FloatArray, rows: slice) -> FloatArray:
                n, m, _ = draws.shape
                complete = unknowns.completed(incomplete[rows], draws).reshape(n * m, -1)
                if len(self._columns) < complete.shape[1]:
                    complete = complete[:, self._columns]
                origin = None if given is None else np.repeat(drawn[rows], m)
                answers = self._wrapped.answer(complete, given, origin)
                means: FloatArray = answers.reshape(n, m, -1).mean(axis=1)
                return means

            means = map_draws(mean_answer, unknowns.believe, incomplete, self._points, self.n_jobs)
            parts.append((drawn, averaged(np.concatenate(means))))
        return parts

    def _opened(self, X: TableLike) -> tuple[Table, FrameRows | None]:
        """Return new rows as a table and, where there is a plan, as the frame that they were."""
        check_is_fitted(self)
        plan = plan_of(self)
        if plan is not None:
            given = FrameRows.of(X, plan)
            return given.table, given
        rows = open_known(X, self)
        if not isinstance(rows, Table):
            raise TypeError(
                f"{type(self).__name__} asks its model about rows, but X holds "
                f"{type(rows).__name__}: pass the rows themselves, with NaN where a value is "
                "missing."
            )
        return rows, None

    def _read(self, X: TableLike) -> tuple[Table, FrameRows | None, BoolArray]:
        """Return the rows, and which of them are to be averaged over draws."""
        table, given = self._opened(X)
        asked: BoolArray = np.atleast_1d(table.mask[:, self._columns].any(axis=1))
        if self.known == "model" and asked.any():
            seen = np.concatenate([self.patterns_, table.mask])
            pattern = Patterns.of_mask(seen).pattern_of_row
            n_known = len(self.patterns_)
            asked &= ~np.isin(pattern[n_known:], pattern[:n_known])
        return table, given, asked

    def _own_rows(self, X: Any, table: Table, given: FrameRows | None, rows: IntArray) -> Any:
        """Return rows for the model as the user gave them: for complete ones, its own answer."""
        row_format = self._wrapped.format
        if hasattr(X, "columns") and row_format.kind != "array":
            chosen = X[rows] if type(X).__module__.startswith("polars") else X.iloc[rows]
            if given is None and len(self._columns) < table.n_features:
                return chosen[list(row_format.names)]  # type: ignore[union-attr]
            return chosen
        return row_format.rows(table.array[np.ix_(rows, self._columns)], given, rows)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = tags_of(self.estimator)
        if inner is not None:
            tags.target_tags = inner.target_tags
            tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
            tags.regressor_tags = inner.regressor_tags or tags.regressor_tags
        return tags


def tags_of(estimator: BaseEstimator) -> Tags | None:
    """Return the tags of an estimator, None for one that is not of scikit-learn's kind."""
    try:
        return get_tags(estimator)
    except AttributeError:
        return None


def joined(parts: list[tuple[IntArray, np.ndarray]]) -> np.ndarray:
    """Return the answers of all rows in their order."""
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    joined: np.ndarray = np.concatenate([answers for _, answers in parts])[order]
    return joined


def _has_words(X: TableLike) -> bool:
    return is_frame(X) and has_columns_of_words(X)


def _typical_row(rows: Table, unknowns: Unknowns) -> FloatArray:
    """Return one complete row: the mean of what is believed when nothing is known."""
    nothing = Table(np.full((1, rows.n_features), np.nan), columns_checked=True)
    beliefs = unknowns.believe(nothing)
    likeliest = [
        beliefs.probabilities(at).argmax(axis=1)[:, None] for at in range(len(unknowns.categories))
    ]
    draw = np.concatenate([beliefs.to_table_units(beliefs.mean()), *likeliest], axis=1)[:, None]
    typical: FloatArray = unknowns.completed(nothing, draw)[0, 0]
    return typical
