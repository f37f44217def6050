"""Base class of the large-scale machines: features of rows, a linear model on sums over chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

import absentia.parameters as rules
from absentia.densities.fit_density import DensityLike, words_for
from absentia.features import FourierFeatures, Nystroem
from absentia.kernels.metric import Widths, warn_of_gross_values
from absentia.kernels.named_kernels import CategoryWeight, MaskWeight
from absentia.machines.large_scale.learned_metric import learn_metric
from absentia.machines.large_scale.summed_optimum import (
    SLICE_ROWS,
    CodesOf,
    DesignOf,
    QuadraticPenalty,
    curvature_of,
    in_slices,
    minimise_sum,
)
from absentia.machines.losses import Loss
from absentia.machines.validation import warn_of_other_order, warn_of_unequal_ranges
from absentia.parameters import FloatMatrix, FloatStack, FloatVector, RandomState, declared
from absentia.tables import (
    FloatArray,
    Learned,
    TableLike,
    WordsAs,
    open_known,
    open_rows,
    plan_of,
    set_fitted,
)
from absentia.tables.column_plan import ShowsColumns
from absentia.tables.rows import row_weights
from absentia.tables.streams import MemoryStream, Stream

_TRANSFORMER = rules.Rule(
    ("a transformer such as FourierFeatures()",),
    lambda value: (
        not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "transform")
    ),
)


@declared
class LargeScaleMachine(ShowsColumns):
    """Base class of the machines whose cost is linear in the rows.

    A machine declares its parameters, and writes ``_loss``, ``_penalty_weight``, ``_learn_codes``
    and ``_known_codes``.
    """

    features: str | BaseEstimator = field(default="fourier", kw_only=False)
    n_components: int = field(default=512, kw_only=False)
    density: DensityLike = "gaussian"
    gamma: Widths = "scale"
    metric: str | ArrayLike = "euclidean"
    mask_weight: MaskWeight = None
    category_weight: CategoryWeight = "scale"
    fit_intercept: bool = True
    cache_size: float = 1000
    n_jobs: int | None = None
    random_state: RandomState = None

    _rules: ClassVar[dict[str, rules.Rule]] = {
        "features": rules.words("fourier", "nystroem", "passthrough") | _TRANSFORMER,
        "gamma": rules.GAMMA | rules.GAMMAS | rules.words("scale"),
    }

    # Squared error is solved in one pass; machines with other losses have these parameters.
    tol: ClassVar[float] = 1e-6
    max_iter: ClassVar[int] = 1

    #: The loss of codes that were learned, ``alpha`` of the penalty ``alpha |b|^2 / 2``, the
    #: encoding of targets with the fitted attributes that describe it, and the encoding learned
    #: when a stream began.
    _loss: ClassVar[Callable[[Any, CodesOf], Loss]]
    _penalty_weight: ClassVar[Callable[[Any], float]]
    _learn_codes: ClassVar[Callable[[Any, Stream, Any], tuple[Any, Learned]]]
    _known_codes: ClassVar[Callable[[Any], CodesOf]]
    _check_targets: ClassVar[Any]

    features_: BaseEstimator = field(init=False)
    _curvature: FloatStack | None = field(init=False)
    coef_: FloatMatrix = field(init=False)
    intercept_: FloatVector = field(init=False)
    n_iter_: int = field(init=False)

    def fit(self, X: TableLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit density, features and coefficients to incomplete training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Beliefs, Chunks, or Dask array or frame
            NaN where a value is missing. Chunks bring their own targets and weights.
        y : array-like of shape (n_samples,)
            With a Dask table a Dask array or series.
        sample_weight : array-like of shape (n_samples,), optional
        """
        return self._learn(X, y, sample_weight)

    def _learn(
        self,
        X: TableLike,
        y: Any,
        sample_weight: ArrayLike | None,
        classes: Any = None,
        *,
        partial: bool = False,
    ) -> Self:
        """Fit to rows or, with ``partial``, update the model with more rows, which are not kept.

        Earlier rows are kept as a quadratic: ``H``, the sum of the losses' curvatures so far,
        around the coefficients so far. For squared error this is sufficient, and the result is that
        of one fit to all rows; for other losses it is Laplace's approximation, updated with every
        call.
        """
        rules.check_parameters(self)
        warn_of_other_order(X, y)
        known = getattr(self, "_curvature", None) if partial else None
        if known is not None and plan_of(self, X) is not None:
            rows = open_known(X, self)
        else:
            rows = open_rows(X, y, sample_weight, words=self._words() if known is None else None)
        if known is None:
            warn_of_unequal_ranges(rows, self, self.gamma)
        else:
            rows = rows.checked(self)
        if isinstance(rows, Stream):
            chunks = rows
        else:
            y = self._check_targets(y, len(rows))
            weights = row_weights(sample_weight, len(rows))
            chunks = MemoryStream(rows, y, weights, n_jobs=self.n_jobs)
        if known is None:
            features = self._fitted_features(chunks)
            codes_of, attributes = self._learn_codes(chunks, classes)
        else:
            features, codes_of = self.features_, self._known_codes()
        chunks, design_of = self._design(chunks, features)
        if known is None:
            n_columns, n_scores = design_of.n_columns, codes_of.n_scores
            weight = self._penalty_weight()
            penalty = QuadraticPenalty.ridge(weight, n_columns, n_scores, self.fit_intercept)
        else:
            penalty = QuadraticPenalty(known, self._coefficients())
        loss, curvature = self._loss(codes_of), None
        B, n_passes = minimise_sum(
            chunks, design_of, codes_of, loss, penalty, tol=self.tol, max_iter=self.max_iter
        )
        if partial:
            shared = design_of, codes_of, loss, B
            curvature = chunks.map_sum(in_slices, curvature_of, *shared) + penalty.hessians
        learned = {
            "coef_": B[:-1].T.copy() if self.fit_intercept else B.T.copy(),
            "intercept_": B[-1].copy() if self.fit_intercept else np.zeros(B.shape[1]),
            "n_iter_": n_passes,
            "_curvature": curvature,
        }
        if known is None:
            set_fitted(self, rows, attributes | learned | {"features_": features})
        else:
            learned["n_iter_"] = self.n_iter_ + n_passes
            self.__dict__.update(learned)  # in one step, as set_fitted does
        return self

    def _words(self) -> WordsAs:
        """Return the encoding of text columns: codes if density and features take categories."""
        known = isinstance(self.features, str) and self.features in ("fourier", "nystroem")
        return words_for(self.density) if known else "indicators"

    def _fitted_features(self, chunks: Stream) -> BaseEstimator:
        """Return the feature map, fitted to the rows; None if the rows are features already."""
        features = self._make_features()
        if features is None:
            return None
        if self._learns_metric():
            if not isinstance(chunks, MemoryStream):
                raise ValueError(
                    "metric='learned' needs rows in memory. Learn it from some of them, and give "
                    "machine.features_.metric and machine.features_.gamma to the machine for all "
                    "rows."
                )
            if isinstance(self.gamma, str):  # features warn of it themselves, unless given numbers
                warn_of_gross_values(chunks.X, self.density, chunks.sample_weight)
            metric, gamma = learn_metric(self, chunks.X, chunks.y, chunks.sample_weight)
            features.set_params(metric=metric, gamma=gamma)
        if not isinstance(chunks, MemoryStream):
            return features.fit(chunks)
        if not hasattr(features, "of_rows"):  # not of this library: it takes arrays
            return features.fit(np.asarray(chunks.X))
        return features.fit(chunks.X, sample_weight=chunks.sample_weight)

    def _learns_metric(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "learned"

    def _make_features(self) -> BaseEstimator:
        names = ("gamma", "mask_weight", "category_weight", "density", "n_jobs", "random_state")
        shared = {name: getattr(self, name) for name in names}
        if isinstance(self.features, str):
            if self.features == "fourier":
                metric = "euclidean" if self._learns_metric() else self.metric
                return FourierFeatures(self.n_components, metric=metric, **shared)
            rules.require(
                isinstance(self.metric, str) and self.metric == "euclidean",
                f"metric is for Fourier features, found features={self.features!r}. Leave it out, "
                "or use features='fourier'.",
            )
            if self.features == "nystroem":
                return Nystroem(self.n_components, **shared)
            return None
        given = (self.gamma, self.metric, self.category_weight)
        are_words = all(isinstance(one, str) for one in given)  # arrays have no one comparison
        plain = are_words and given == ("scale", "euclidean", "scale")
        if not plain or self.mask_weight is not None:
            raise ValueError(
                "gamma, metric, mask_weight or category_weight was given along with "
                f"features={self.features!r}, which has its own parameters. Set them there."
            )
        return clone(self.features)

    def _design(self, chunks: Stream, features: BaseEstimator) -> tuple[Stream, DesignOf]:
        """Return the rows and a map to their design matrix; features are cached if they fit."""
        if features is None:
            n_features = chunks.n_features
        else:
            n_features = len(features.get_feature_names_out())
        design_of = DesignOf(features, self.fit_intercept, n_features)
        if features is not None and isinstance(chunks, MemoryStream):
            megabytes = 8e-6 * len(chunks.X) * n_features
            if megabytes <= self.cache_size:
                kept = MemoryStream(
                    design_of.of_rows(chunks.X), chunks.y, chunks.sample_weight, n_jobs=self.n_jobs
                )
                return kept, replace(design_of, features=None)
        return chunks, design_of

    def _coefficients(self) -> FloatArray:
        """Return the coefficients as the solver has them, (n_columns, n_scores)."""
        if not self.fit_intercept:
            return self.coef_.T
        return np.concatenate([self.coef_.T, self.intercept_[None]])

    @property
    def _n_belief_columns(self) -> int:
        return int(getattr(self.features_, "_n_belief_columns", self.n_features_in_))

    def _map_scores(self, X: TableLike, of_scores: Any, n_columns: int | None) -> Any:
        """Return ``of_scores`` of the scores of rows, as the kind of table that ``X`` is."""
        check_is_fitted(self)
        outcome_of = _Scored(
            DesignOf(self.features_, False, self.coef_.shape[1]),
            self.coef_.T,
            self.intercept_,
            of_scores,
        )
        return open_known(X, self).map_rows(outcome_of, n_columns)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        named = isinstance(self.features, str)
        tags.input_tags.allow_nan = not (named and self.features == "passthrough")
        return tags


@dataclass(frozen=True, eq=False)
class _Scored:
    """From rows to a function of their scores; small enough to be sent to workers."""

    design_of: DesignOf
    coefficients: FloatArray
    intercept: FloatArray
    of_scores: Any

    def __call__(self, rows: Any) -> Any:
        # In slices, so that the features of all rows are never held at once.
        slices = MemoryStream(rows, chunk_rows=SLICE_ROWS)
        return slices.map_rows(self._of_slice, None) if len(rows) else self._of_slice(rows)

    def _of_slice(self, rows: Any) -> Any:
        return self.of_scores(self.design_of(rows) @ self.coefficients + self.intercept)
