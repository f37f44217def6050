"""Any model on incomplete rows: its answers averaged over what the missing values could be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter

from absentia.beliefs import Beliefs
from absentia.beliefs.draws import DrawPoints, map_draws, rows_by_pattern
from absentia.densities.believing import believe
from absentia.densities.named_densities import DensityLike, make_density
from absentia.machines.uncertainty.machine_draws import one_output_flat
from absentia.machines.uncertainty.over_draws import uncertainty_over_draws
from absentia.machines.uncertainty.parts import Uncertainty
from absentia.missingness import Patterns
from absentia.parameters import THREADS, RandomState, Rule, check_parameters, count_from, words
from absentia.predictions.training_draws import fit_on_draws, fit_weighted
from absentia.predictions.wrapped_model import RowFormat, WrappedModel
from absentia.tables import (
    BoolArray,
    FloatArray,
    IntArray,
    Table,
    TableLike,
    set_fitted,
)

__all__ = ["MarginalModel", "joined", "tags_of"]


class MarginalModel(BaseEstimator):
    """What both wrappers share: fit a density, predict draws with a model, average.

    Fitted attributes: ``estimator_``, ``density_``, ``patterns_`` (masks of the training rows),
    ``n_features_in_`` and, for frames, ``feature_names_in_``.
    """

    estimator: Any
    density: DensityLike
    n_draws: int
    known: Literal["average", "model"]
    random_state: RandomState
    n_jobs: int | None

    estimator_: Any
    density_: Any
    patterns_: BoolArray
    n_features_in_: int

    _rules: ClassVar[dict[str, Rule]] = {
        "n_draws": count_from(2),
        "known": words("average", "model"),
        "n_jobs": THREADS,
    }

    _method: str
    _wrapped: WrappedModel
    _columns: IntArray
    _points: DrawPoints

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        density: DensityLike = "gaussian",
        n_draws: int = 64,
        known: Literal["average", "model"] = "average",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ):
        self.estimator = estimator
        self.density = density
        self.n_draws = n_draws
        self.known = known
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: TableLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the density and, where the estimator is not fitted already, the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with or without NaN, in the kind of table that the model takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Targets, for an estimator that is to be trained; ignored where it comes as
            :class:`~sklearn.frozen.FrozenEstimator`.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight two counts as two rows, in the density and in the estimator.

        Returns
        -------
        self
        """
        self._check_parameters()
        opened = Table.of(X)
        table = opened.array
        frozen = isinstance(self.estimator, FrozenEstimator)
        targets = None if frozen else self._check_targets(y, len(table))
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, table, ensure_non_negative=True)
        density = make_density(self.density)
        weighs = weights is not None and has_fit_parameter(density, "sample_weight")
        density.fit(X, None, **({"sample_weight": weights} if weighs else {}))
        columns = np.asarray(getattr(density, "columns_", np.arange(table.shape[1])))
        if frozen and len(columns) < table.shape[1]:
            raise ValueError(
                f"The model takes {table.shape[1]} columns, but only {len(columns)} of them have a "
                "value in the rows given to fit, so that nothing is known about the others. Fit "
                "on rows that have every column at least once, such as those the model was "
                "trained on."
            )
        row_format = RowFormat.of(X, columns)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        points = DrawPoints.sobol(self.n_draws, len(columns), seed)
        if frozen:
            model = self.estimator
        elif self.known == "model":
            rows = row_format.rows(table[:, columns])
            model = fit_weighted(clone(self.estimator), rows, targets, weights)
        else:
            model = fit_on_draws(
                clone(self.estimator), table, targets, weights, density, row_format, seed
            )
        wrapped = WrappedModel.of(model, self._method, row_format)
        nothing_known = np.full((1, table.shape[1]), np.nan)
        outputs = self._describe_answer(wrapped, wrapped.check(_mean(density, nothing_known)[0]))
        learned = {
            "estimator_": model,
            "density_": density,
            "patterns_": Patterns.of(opened).masks,
            "_wrapped": wrapped,
            "_columns": columns,
            "_points": points,
        }
        set_fitted(self, opened, outputs | learned)
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
            Entropies of classes or variances of numbers. The model part is zero, except for
            regressors whose ``predict`` takes ``return_std``; the noise of a regressor is not
            known, and zero. Every incomplete row is averaged, whatever ``known`` says.
        """
        check_is_fitted(self)
        table = Table.of(X).checked(self).array[:, self._columns]
        names = getattr(self, "feature_names_in_", None)
        columns = tuple(f"x{j}" if names is None else str(names[j]) for j in self._columns)
        unit: Any = "entropy" if self._method == "predict_proba" else "variance"

        def believe(rows: FloatArray) -> Beliefs:
            full = np.full((len(rows), self.n_features_in_), np.nan)
            full[:, self._columns] = rows
            return self._believe(full)

        doubt = uncertainty_over_draws(
            self._wrapped.answer_with_variance,
            believe,
            table,
            self._points,
            unit,
            columns,
            by_column=by_column,
            n_jobs=self.n_jobs,
        )
        return one_output_flat(doubt, unit == "variance" and getattr(self, "_single", False))

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

    def _describe_answer(self, wrapped: WrappedModel, answer: FloatArray) -> dict[str, Any]:
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
        table, asked = self._read(X)
        parts = []
        as_they_are, drawn = np.flatnonzero(~asked), np.flatnonzero(asked)
        if len(as_they_are):
            parts.append((as_they_are, plain(self._own_rows(X, table, as_they_are))))
        if len(drawn):
            drawn = drawn[rows_by_pattern(table[drawn])]
            means = map_draws(
                lambda draws, _: self._answers(draws).mean(axis=1),
                self._believe,
                table[drawn],
                self._points,
                self.n_jobs,
            )
            parts.append((drawn, averaged(np.concatenate(means))))
        return parts

    def _believe(self, rows: FloatArray) -> Beliefs:
        return believe(self.density_, rows)

    def _read(self, X: TableLike) -> tuple[FloatArray, BoolArray]:
        """Return the table, and which of its rows are to be averaged over draws."""
        opened = Table.of(X).checked(self)
        table, mask = opened.array, opened.mask
        asked: BoolArray = np.atleast_1d(mask[:, self._columns].any(axis=1))
        if self.known == "model" and asked.any():
            pattern = Patterns.of_mask(np.concatenate([self.patterns_, mask])).pattern_of_row
            n_known = len(self.patterns_)
            asked &= ~np.isin(pattern[n_known:], pattern[:n_known])
        return table, asked

    def _own_rows(self, X: Any, table: FloatArray, rows: IntArray) -> Any:
        """Return rows for the model as the user gave them: for complete ones, its own answer."""
        kind = self._wrapped.format.kind
        if kind != "array" and hasattr(X, "columns"):
            chosen = X[rows] if kind == "polars" else X.iloc[rows]
            lost = len(self._columns) < table.shape[1]
            return chosen[list(self._wrapped.format.names)] if lost else chosen
        return self._wrapped.format.rows(table[np.ix_(rows, self._columns)])

    def _answers(self, draws: FloatArray) -> FloatArray:
        """Return the model's answers to draws, (n, m, d) to (n, m, n_outputs)."""
        n, m, d = draws.shape
        return self._wrapped.answer(draws.reshape(n * m, d)).reshape(n, m, -1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        inner = tags_of(self.estimator)
        if inner is not None:
            tags.target_tags = inner.target_tags
            tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
            tags.regressor_tags = inner.regressor_tags or tags.regressor_tags
        return tags


def tags_of(estimator: Any) -> Tags | None:
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


def _mean(density: Any, table: FloatArray) -> FloatArray:
    return believe(density, table).mean()
