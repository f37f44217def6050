"""What every map from beliefs to features is: a density of its own, and rows in any form."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs import Beliefs
from absentia.densities.naming import make_density
from absentia.distributed import RowBlocks, as_row_blocks, map_rows
from absentia.tables import FloatArray, as_table, as_table_like, remember_columns

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

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the density to the rows, and the features to the density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Beliefs, Chunks, or Dask array or frame
            NaN where a value is missing.
        y : ignored

        Returns
        -------
        self
        """
        blocks = as_row_blocks(X)
        rows: FloatArray | Beliefs | RowBlocks
        if isinstance(X, Beliefs):
            density, rows = None, X
        elif blocks is not None:
            density, rows = make_density(self.density).fit(X, None), blocks
        else:
            table = as_table(X)
            density, rows = make_density(self.density).fit(table, None), table
        learned = self._learn(density, rows)
        for name, value in learned.items():
            setattr(self, name, value)
        self.density_ = density
        remember_any_columns(self, X)
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
        return map_rows(X, self._transform_rows, self._n_features_out)

    def _transform_rows(self, X: Any) -> FloatArray:
        return self._features(self._believe(X))

    def _believe(self, X: Any) -> Beliefs:
        """Return the beliefs about rows, checked against training."""
        if isinstance(X, Beliefs):
            if X.n_features != self.n_features_in_:
                raise ValueError(
                    f"X has {X.n_features} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input: these beliefs are about other "
                    "columns than those of training."
                )
            return X
        if self.density_ is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted on Beliefs, so it has no density that "
                "could say what missing values might be. Pass Beliefs here too."
            )
        beliefs: Beliefs = self.density_.condition(as_table_like(self, X))
        return beliefs

    def _learn(self, density: Any, rows: FloatArray | Beliefs | RowBlocks) -> dict[str, Any]:
        """Return the fitted attributes by name; ``density`` is None where the rows are beliefs."""
        raise TypeError(f"{type(self).__name__} does not say how it learns.")

    def _features(self, beliefs: Beliefs) -> FloatArray:
        """Return the features of beliefs, (n_samples, n_components)."""
        raise TypeError(f"{type(self).__name__} does not say what its features are.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def remember_any_columns(estimator: Any, X: Any) -> None:
    """Set ``n_features_in_`` (and the names, for frames) from a table of any kind."""
    blocks = as_row_blocks(X)
    if blocks is None and not isinstance(X, Beliefs):
        remember_columns(estimator, X)
        return
    names = None if blocks is None else blocks.column_names
    estimator.n_features_in_ = X.n_features if blocks is None else blocks.n_features
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
