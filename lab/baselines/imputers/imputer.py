"""Base class of the imputers: transformers that learn from incomplete rows and fill new ones.

scikit-learn has mean and k-NN imputation, and those are used as they are. The papers' other
rivals share the bookkeeping below: columns that were never observed, tables in and tables out, and
a failed fit that leaves the imputer as it was.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from absentia.parameters import MANY, RandomState
from absentia.tables import FloatArray, Table, TableLike, set_fitted
from absentia.tables.rows import TakesMissing


class Imputer(OneToOneFeatureMixin, TransformerMixin, TakesMissing, ABC):
    """Base of the imputers: ``fit`` on training rows, ``transform`` fills any rows.

    The author of an imputer writes ``_learn`` (what is taken from the training table, as a
    dictionary of fitted attributes) and ``_fill``. Columns that no training row has are named in a
    warning, kept, and filled with zero; neither method sees them.

    Attributes
    ----------
    observed_columns_ : ndarray of bool, shape (n_features_in_,)
        Which columns have a value in at least one training row.
    """

    observed_columns_: np.ndarray

    def fit(self, X: TableLike, y: ArrayLike | None = None) -> Self:
        """Learn from the training rows how to impute.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, NaN where a value is missing.
        y : ignored

        Returns
        -------
        self
        """
        table = Table.of(X)
        observed = ~table.mask.all(axis=0)
        if not observed.all():
            names = np.array(table.labels)[~observed]
            warnings.warn(
                f"Columns {', '.join(names)} are missing in every training row: there is nothing "
                "to learn about them, and they are filled with zero. Drop them, or collect them.",
                UserWarning,
                stacklevel=2,
            )
        learned = self._learn(table.array[:, observed])
        set_fitted(self, table, learned | {"observed_columns_": observed})
        return self

    def transform(self, X: TableLike) -> FloatArray:
        """Return the rows with every missing value imputed; what was observed stays as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        table = Table.of(X).checked(self).array
        out = np.where(np.isnan(table), 0.0, table)
        some = table[:, self.observed_columns_]
        if np.isnan(some).any():
            out[:, self.observed_columns_] = self._fill(some)
        return out

    @abstractmethod
    def _learn(self, table: FloatArray) -> dict[str, object]:
        """Return the fitted attributes by name; each column has an observed value."""

    @abstractmethod
    def _fill(self, table: FloatArray) -> FloatArray:
        """Return the completed table; it may be written to."""


class RandomImputer(Imputer):
    """Base of the imputers that fill in random draws, once or several times.

    The author writes ``_learn`` (which sets ``seed_`` to :meth:`_seed`) and ``_draw``. A fitted
    imputer draws from a seed of its own, so that filling the same table twice gives the same
    values.

    Attributes
    ----------
    seed_ : int
        Drawn from ``random_state`` when fitted.
    """

    random_state: RandomState
    seed_: int

    def draws(self, X: TableLike, n_draws: int) -> FloatArray:
        """Return several completions of the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_draws : int

        Returns
        -------
        ndarray of shape (n_draws, n_samples, n_features)
            Observed entries are the same in every draw.
        """
        check_is_fitted(self)
        MANY.check("n_draws", n_draws)
        table = Table.of(X).checked(self).array
        out = np.stack([np.where(np.isnan(table), 0.0, table)] * int(n_draws))
        known = self.observed_columns_
        some = table[:, known]
        if np.isnan(some).any():
            out[:, :, known] = self._draw(some, n_draws, self._stream())
        return out

    def _fill(self, table: FloatArray) -> FloatArray:
        drawn: FloatArray = self._draw(table, 1, self._stream())[0]
        return drawn

    @abstractmethod
    def _draw(self, table: FloatArray, n_draws: int, rng: np.random.RandomState) -> FloatArray:
        """Return completed tables, shape (n_draws, n_samples, n_known_features)."""

    def _stream(self) -> np.random.RandomState:
        return np.random.RandomState(self.seed_)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


def other_columns(state: FloatArray, j: int) -> FloatArray:
    """Return all columns but ``j``; a constant where there are no others."""
    others = np.delete(state, j, axis=1)
    return others if others.shape[1] else np.zeros((len(state), 1))
