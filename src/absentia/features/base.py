"""What every map from beliefs to features is: a density of its own, and rows in any form."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs import Beliefs
from absentia.densities.em.streamed_rows import remember_any_columns
from absentia.densities.named_densities import make_density
from absentia.parameters import COUNT, GAMMA, THREADS, Rule, check_parameters, words
from absentia.tables import FloatArray, as_table, as_table_like
from absentia.tables.streams import Stream, as_stream
from absentia.tables.streams.base import check_stream_columns

__all__ = ["BeliefFeatures"]


class BeliefFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the feature maps: rows to beliefs, beliefs to numbers.

    A map writes ``__init__`` (with ``density`` among its parameters), ``_learn``, which returns
    fitted attributes by name and does not touch ``self``, and ``_features``, from beliefs to an
    array of ``_n_features_out`` columns. Rows may be a table in memory, :class:`Beliefs`,
    :class:`Chunks` or a Dask array or frame; the features come back in kind.
    """

    density: Any
    density_: Any
    n_features_in_: int
    _n_features_out: int
    _n_belief_columns: int

    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": COUNT,
        "gamma": GAMMA | words("scale"),
        "n_jobs": THREADS,
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the density to the rows, and the features to the density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Beliefs, Chunks, or Dask array or frame
            NaN where a value is missing.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts in the density. Weights of chunks come with the chunks.

        Returns
        -------
        self
        """
        check_parameters(self)
        blocks = as_stream(X, None, sample_weight)
        rows: FloatArray | Beliefs | Stream
        if isinstance(X, Beliefs):
            density, rows = None, X
        else:
            # Without names, which were checked here: the density meets plain arrays ever after.
            rows = as_table(X) if blocks is None else blocks.without_names()
            weights = (
                {}
                if sample_weight is None or blocks is not None
                else {"sample_weight": sample_weight}
            )
            density = make_density(self.density).fit(rows, None, **weights)
        learned = self._learn(density, rows)
        for name, value in learned.items():
            setattr(self, name, value)
        self.density_ = density
        # Fewer than the table's where a column was missing in every row of training.
        prior = X.prior if density is None else density.prior_
        self._n_belief_columns = prior.n_features
        remember_columns_of(self, X)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Beliefs, Chunks, or Dask array or frame

        Returns
        -------
        ndarray of shape (n_samples, n_components), or a lazy table of the kind of ``X``
        """
        check_is_fitted(self)
        blocks = as_stream(X)
        if blocks is not None:
            check_stream_columns(self, blocks)
            return blocks.map_rows(self.of_rows, self._n_features_out)
        return self.of_rows(X if isinstance(X, Beliefs) else as_table_like(self, X))

    def of_rows(self, rows: FloatArray | Beliefs) -> FloatArray:
        """Return the features of rows that were checked before, (n_samples, n_components)."""
        if isinstance(rows, Beliefs):
            if rows.n_features != self._n_belief_columns:
                raise ValueError(
                    f"X has {rows.n_features} features, but {type(self).__name__} is expecting "
                    f"{self._n_belief_columns} features as input: these beliefs are about other "
                    "columns than those of training."
                )
            return self._features(rows)
        if self.density_ is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted on Beliefs, so it has no density that "
                "could say what missing values might be. Pass Beliefs here too."
            )
        if not len(rows):
            return np.empty((0, self._n_features_out))
        return self._features(self.density_.condition(rows))

    def _learn(self, density: Any, rows: FloatArray | Beliefs | Stream) -> dict[str, Any]:
        """Return the fitted attributes by name; ``density`` is None where the rows are beliefs."""
        raise TypeError(f"{type(self).__name__} does not say how it learns.")

    def _features(self, beliefs: Beliefs) -> FloatArray:
        """Return the features of beliefs, (n_samples, n_components)."""
        raise TypeError(f"{type(self).__name__} does not say what its features are.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def remember_columns_of(estimator: Any, X: Any) -> None:
    """Set ``n_features_in_`` (and the names, for frames) from a table of any kind or beliefs."""
    if not isinstance(X, Beliefs):
        remember_any_columns(estimator, X)
        return
    estimator.n_features_in_ = X.n_features
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
