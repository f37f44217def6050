"""Base classes of feature maps: rows in any form in, features in the same form out."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.beliefs import Beliefs
from absentia.densities.fit_density import DensityLike, believe, fit_density, prior_of
from absentia.kernels.metric import warn_of_gross_values
from absentia.parameters import GAMMA, GAMMAS, Rule, check_parameters, declared, words
from absentia.tables import (
    FloatArray,
    Learned,
    MemoryRows,
    TableLike,
    WordsAs,
    open_known,
    open_rows,
    set_fitted,
)
from absentia.tables.column_plan import ShowsColumns
from absentia.tables.rows import TakesMissing
from absentia.tables.stored import InconsistentError
from absentia.tables.streams import Stream

#: No fit leaves larger numbers behind: frequencies are roots of widths, which end at 1e300.
_LARGEST = 1e200


def require_moderate(**fitted: FloatArray | float | None) -> None:
    """Refuse numbers of a damaged model file, which would make features of nothing."""
    for name, values in fitted.items():
        if values is not None and not np.abs(values).max(initial=0.0) < _LARGEST:
            raise InconsistentError(f"{name} holds a number that is NaN or beyond {_LARGEST:g}.")


class MapsRows(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TakesMissing, ShowsColumns):
    """Base class of transformers that map each row to ``_n_features_out`` numbers.

    A subclass defines ``fit`` and :meth:`of_rows`.
    """

    _n_features_out: int

    def transform(self, X: TableLike) -> Any:
        """Return the features of rows, (n_samples, n_components), lazy ones of a lazy table."""
        check_is_fitted(self)
        return open_known(X, self).map_rows(self.of_rows, self._n_features_out)

    @abstractmethod
    def of_rows(self, rows: FloatArray | MemoryRows) -> FloatArray:
        """Return the features of rows that were checked before, (n_samples, n_components)."""


class BeliefFeatures(MapsRows):
    """Base class of feature maps of beliefs.

    A subclass declares its parameters (``density`` among them) and defines ``_learn``, which
    returns fitted attributes by name and does not touch ``self``, and ``_features``, from beliefs
    to an array of ``_n_features_out`` columns. Rows may be a table in memory, :class:`Beliefs`,
    :class:`Chunks` or a Dask array or frame; the features are returned in the same kind.
    """

    density: DensityLike
    density_: BaseEstimator | None
    _n_belief_columns: int

    _rules: ClassVar[dict[str, Rule]] = {"gamma": GAMMA | GAMMAS | words("scale")}

    def fit(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the density to the rows, and the features to the density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), Beliefs, Chunks, or Dask array or frame
            NaN where a value is missing.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts in the density. Weights of chunks come with the chunks.
        """
        check_parameters(self)
        rows = open_rows(X, None, sample_weight, words=self._words())
        density = fit_density(self.density, rows, sample_weight if rows.in_memory else None)
        if self._widths_from_variance():
            warn_of_gross_values(rows, self.density, sample_weight)
        learned = self._learn(density, rows)
        prior = prior_of(density, rows)
        learned |= {
            "density_": density,
            # Fewer than the table's where a column was missing in every row of training.
            "_n_belief_columns": prior.n_features,
        }
        set_fitted(self, rows, learned)
        return self

    def _words(self) -> WordsAs:
        """Return what columns of words in a frame become."""
        return "indicators"

    def _widths_from_variance(self) -> bool:
        """Return whether the spread of the columns decides how wide the kernel is."""
        gamma = getattr(self, "gamma", None)
        return isinstance(gamma, str) and gamma == "scale"

    def of_rows(self, rows: FloatArray | MemoryRows) -> FloatArray:
        """Return the features of rows that were checked before, (n_samples, n_components)."""
        if not len(rows):
            return np.empty((0, self._n_features_out))
        return self._features(believe(self.density_, rows))

    @abstractmethod
    def _learn(self, density: BaseEstimator, rows: MemoryRows | Stream) -> Learned:
        """Return the fitted attributes by name; ``density`` is None where the rows are beliefs."""

    @abstractmethod
    def _features(self, beliefs: Beliefs) -> FloatArray:
        """Return the features of beliefs, (n_samples, n_components)."""


@declared
class BeliefMeans(BeliefFeatures):
    """Means of beliefs: their inner products are the expected linear kernel."""

    density: DensityLike = "gaussian"

    def _learn(self, density: BaseEstimator, rows: MemoryRows | Stream) -> Learned:
        return {"_n_features_out": prior_of(density, rows).n_features}

    def _features(self, beliefs: Beliefs) -> FloatArray:
        return beliefs.mean()
