"""What every map from rows to features is: rows in any form, features in the same."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.tables import FloatArray, MemoryRows, TableLike, open_known
from absentia.tables.column_plan import ShowsColumns
from absentia.tables.rows import TakesMissing

__all__ = ["MapsRows"]


class MapsRows(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TakesMissing, ShowsColumns):
    """Base of transformers that turn a row into ``_n_features_out`` numbers, row by row.

    A map writes ``fit`` and :meth:`of_rows`.
    """

    n_features_in_: int
    _n_features_out: int

    def transform(self, X: TableLike) -> Any:
        """Return the features of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Beliefs, Chunks, or Dask array or frame

        Returns
        -------
        ndarray of shape (n_samples, n_components), or a lazy table of the kind of ``X``
        """
        check_is_fitted(self)
        return open_known(X, self).map_rows(self.of_rows, self._n_features_out)

    @abstractmethod
    def of_rows(self, rows: FloatArray | MemoryRows) -> FloatArray:
        """Return the features of rows that were checked before, (n_samples, n_components)."""
