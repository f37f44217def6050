"""Base class of the models that average any model's predictions over missing values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

import absentia.parameters as rules
from absentia.beliefs.draws import DrawPoints, draw_rows
from absentia.densities.fit_density import (
    DensityEstimator,
    DensityLike,
    fit_density,
    make_density,
    words_for,
)
from absentia.densities.missing_values import MissingValues
from absentia.machines.averaging import mean_over_draws, uncertainty_over_draws
from absentia.machines.uncertainty import Uncertainty
from absentia.machines.validation import warn_of_other_order
from absentia.missingness import Patterns
from absentia.parameters import BoolMatrix, IntVector, RandomState, Rule, check_parameters, declared
from absentia.predictions import wrapped_model
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
from absentia.tables.column_plan import ColumnPlan, ReadFrame, ShowsColumns
from absentia.tables.reading import has_columns_of_words, is_frame, native_frame
from absentia.tables.rows import TakesMissing, row_weights


@declared
class MarginalModel(wrapped_model.RoutesWeights, TakesMissing, ShowsColumns):
    """Base class of the marginal models: fit a density, predict draws with a model, average."""

    estimator_: BaseEstimator = field(init=False)
    density_: DensityEstimator = field(init=False)
    patterns_: BoolMatrix = field(init=False)
    n_features_in_: int = field(init=False)

    _rules: ClassVar[dict[str, Rule]] = {
        "estimator": Rule(
            ("an estimator", "FrozenEstimator(model) for a model that is fitted already"),
            lambda value: not isinstance(value, type) and hasattr(value, "fit"),
        ),
        "n_draws": rules.DRAWS,
        "known": rules.words("average", "model"),
    }

    _method: str = field(init=False)
    _format: wrapped_model.RowFormat = field(init=False)
    _columns: IntVector = field(init=False)
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
        check_parameters(self)
        X = native_frame(X)
        density = self._unfitted_density(X)
        plan = plan_of(density.estimator) if isinstance(density, FrozenEstimator) else None
        # Numbers are passed to the model as they are; only words need a plan.
        given = None if plan is None else plan.read_frame(X)
        if plan is None and _has_words(X):
            given = ColumnPlan.read_training(X, codes=words_for(density) == "codes")
        rows = self._rows(open_memory(X) if given is None else given.table)
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
        unknowns = MissingValues.of(density, rows.labels, rows.n_features, rows.plan)
        lost = [column for column in unknowns.columns if column.places and not column.believed]
        # A model with a density of its own may miss them in every draw.
        stay = frozen and hasattr(getattr(self.estimator, "estimator", None), "density_")
        if frozen and lost and not stay:
            n = len(unknowns.columns)
            raise ValueError(
                f"The model expects {n} columns, but only {n - len(lost)} of them have a "
                "value in the rows given to fit, so nothing is known about the others. Fit "
                "on rows in which every column has a value at least once, such as those that the "
                "model was trained on."
            )
        kept = np.sort(np.concatenate([[], *(c.places for c in unknowns.columns if c.believed)]))
        columns = kept.astype(np.intp)
        if rows.plan is not None or stay:
            columns = np.arange(rows.n_features)
        given_as = rows.as_given() if rows.plan is None else X
        row_format = wrapped_model.RowFormat.of(given_as, columns, rows.plan)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        model = self.estimator
        if targets is not None:
            weights = self._passed_on(weights)
            own, row = rows.array[:, columns], np.arange(len(rows))
            if self.known == "average":
                n_draws = (
                    wrapped_model.TRAINING_DRAWS if wrapped_model.weight_parameter(model) else 1
                )
                own, row, shares = wrapped_model.stacked_draws(
                    rows, unknowns, columns, n_draws, seed
                )
                if weights is not None or (shares < 1).any():
                    weights = shares if weights is None else shares * weights[row]
            own_rows = row_format.rows(own, given, row)
            model = wrapped_model.fit_weighted(clone(model), own_rows, targets[row], weights)
        unnamed = hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_")
        if unnamed and rows.plan is None:  # what was trained on a plain array gets plain arrays
            row_format = wrapped_model.RowFormat("array")
        points = DrawPoints.sobol(self.n_draws, unknowns.n_drawn, seed)
        draws = draw_rows(unknowns.believe(rows[:1]), points.first(1))
        typical = unknowns.completed(rows[:1], draws)[0, 0, columns]
        one_row = partial(row_format.rows, typical[None], given, np.zeros(1, dtype=np.intp))
        prediction = wrapped_model.first_answer(model, self._method, one_row, len(unknowns.columns))
        learned = {
            "estimator_": model,
            "density_": density,
            "patterns_": Patterns.of(rows).masks,
            "_format": row_format,
            "_columns": columns,
            "_points": points,
            "_noise": 0.0
            if given is not None
            else wrapped_model.noise_of(model, self._method, one_row()),
        }
        set_fitted(self, rows, learned | self._describe_output(model, prediction))
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

        def answer(rows: FloatArray, origin: IntArray) -> tuple[FloatArray, FloatArray | None]:
            own = self._format.rows(rows[:, self._columns], given, origin)
            return wrapped_model.answers_with_variance(self.estimator_, self._method, own)

        return uncertainty_over_draws(
            answer,
            self._unknowns(),
            table,
            self._points,
            self,
            noise=self._noise,
            by_column=by_column,
            n_jobs=self.n_jobs,
            one_output=getattr(self, "_single", False),
        )

    def _unfitted_density(self, X: TableLike) -> BaseEstimator:
        """Return the density to fit; "auto" has categories for words, and draws in the support."""
        if not isinstance(self.density, str) or self.density != "auto":
            return make_density(self.density)
        density = make_density("mixed" if _has_words(X) else "gaussian")
        return density.set_params(margins="auto")

    def _unknowns(self) -> MissingValues:
        plan = plan_of(self)
        names = getattr(self, "feature_names_in_", None)
        width = self.n_features_in_ if plan is None else len(plan.labels)
        labels = [f"x{j}" for j in range(width)] if names is None else list(names)
        return MissingValues.of(self.density_, labels, width, plan)

    def _check_targets(self, y: ArrayLike, n_samples: int) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its targets.")

    def _describe_output(self, model: BaseEstimator, prediction: FloatArray) -> dict[str, object]:
        """Return the fitted attributes that follow from the model's prediction of one row."""
        return {}

    def _averaged(
        self,
        X: TableLike,
        plain: Callable[[Any], np.ndarray] | None = None,
        averaged: Callable[[FloatArray], np.ndarray] = lambda means: means,
    ) -> np.ndarray:
        """Return predictions, by default those of the wrapped model, averaged where needed.

        ``plain`` predicts complete rows as the user gave them, ``averaged`` turns the means over
        draws into predictions of the others.
        """
        check_is_fitted(self)
        table, given, incomplete = self._read(X)
        parts = []
        whole, drawn = np.flatnonzero(~incomplete), np.flatnonzero(incomplete)
        if len(whole):
            rows = self._own_rows(X, table, given, whole)
            parts.append((plain or self._answers)(rows))
        if len(drawn):
            every = len(self._columns) == table.n_features

            def predict(rows: FloatArray, at: IntArray) -> FloatArray:
                values = rows if every else rows[:, self._columns]
                return self._answers(self._format.rows(values, given, drawn[at]))

            means = mean_over_draws(
                predict, self._unknowns(), table[drawn], self._points, self.n_jobs
            )
            parts.append(averaged(means))
        return np.concatenate(parts)[np.argsort(np.concatenate([whole, drawn]))]

    def _answers(self, rows: object) -> FloatArray:
        return wrapped_model.answers_of(self.estimator_, self._method, rows)

    def _opened(self, X: TableLike) -> tuple[Table, ReadFrame | None]:
        """Return new rows as a table and, where there is a plan, as the frame that they were."""
        check_is_fitted(self)
        plan = plan_of(self)
        if plan is not None:
            given = plan.read_frame(X)
            return given.table, given
        return self._rows(open_known(X, self)), None

    def _rows(self, opened: Any) -> Table:
        if not isinstance(opened, Table):
            raise TypeError(
                f"{type(self).__name__} passes rows to its model, but X holds "
                f"{type(opened).__name__.lower()}: pass the rows themselves, with NaN where a "
                "value is missing."
            )
        return opened

    def _read(self, X: TableLike) -> tuple[Table, ReadFrame | None, BoolArray]:
        """Return the rows, and which of them are to be averaged over draws."""
        table, given = self._opened(X)
        incomplete: BoolArray = np.atleast_1d(table.mask[:, self._columns].any(axis=1))
        if self.known == "model" and incomplete.any():
            seen = np.concatenate([self.patterns_, table.mask])
            pattern = Patterns.of_mask(seen).pattern_of_row
            n_known = len(self.patterns_)
            incomplete &= ~np.isin(pattern[n_known:], pattern[:n_known])
        return table, given, incomplete

    def _own_rows(self, X: Any, table: Table, given: ReadFrame | None, rows: IntArray) -> Any:
        """Return rows for the model as the user gave them."""
        row_format = self._format
        if hasattr(X, "columns") and row_format.kind != "array":
            chosen = wrapped_model.take_rows(X, rows)
            if given is None and len(self._columns) < table.n_features:
                return chosen[list(row_format.names)]
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


def _has_words(X: TableLike) -> bool:
    return is_frame(X) and has_columns_of_words(X)
