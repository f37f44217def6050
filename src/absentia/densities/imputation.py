"""Imputation by densities: a transformer for pipelines, and proper multiple imputation."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from absentia.beliefs.completion import conditional_quantiles
from absentia.densities.base import Density
from absentia.densities.fit_density import DensityLike, make_density
from absentia.parameters import (
    COUNT,
    FLAG,
    IntVector,
    RandomState,
    check_parameters,
    declared,
    words,
)
from absentia.tables import BoolArray, FloatArray, Table, TableLike, plan_of, table_as
from absentia.tables.reading import is_frame
from absentia.tables.rows import TakesMissing
from absentia.tables.streams import Stream


@declared
class DensityImputer(TransformerMixin, TakesMissing):
    """Fill in missing values from a density of the table, in front of any model.

    A transformer with the manners of scikit-learn's imputers. Arrays, pandas and polars frames
    come back as what they were; observed values are kept to the last bit, missing words become
    words, whole numbers are whole, and values stay in the support of their column and within
    their limits (see :func:`absentia.bounded`).

    Parameters
    ----------
    density : {"gaussian", "low-rank", "mixture", "mixed"} or density, default="gaussian"
        Fitted to the rows. A density given by name has ``margins="auto"``.
    strategy : {"mean", "median", "mode", "draw"}, default="mean"
        What a missing number becomes: its conditional mean, median or mode, or a draw. A missing
        category becomes the likeliest one, or a draw.
    missing_values : number, str, None or NaN, NaN by default
        A further value that stands for a missing one, besides NaN and None.
    add_indicator : bool, default=False
        Whether to append a column for each column that was incomplete in training: one where the
        value was missing.
    keep_empty_features : bool, default=False
        Whether columns without any observed value in training come back as zeros; otherwise
        arrays come back without them. Frames keep them as they are.
    random_state : int, RandomState instance or None, default=None
        For the draws, and for a density given by name.

    Attributes
    ----------
    density_ : density
    indicated_ : ndarray of int
        The columns that were incomplete in training.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the table had names

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import DensityImputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=500)
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> imputer = DensityImputer(add_indicator=True).fit(X)
    >>> imputer.transform([[1.0, np.nan]]).round(1)
    array([[1. , 0.8, 0. , 1. ]])
    """

    _rules = {  # noqa: RUF012
        "strategy": words("mean", "median", "mode", "draw"),
        "add_indicator": FLAG,
        "keep_empty_features": FLAG,
    }

    density_: BaseEstimator = field(init=False)
    indicated_: IntVector = field(init=False)
    n_features_in_: int = field(init=False)

    density: DensityLike = field(default="gaussian", kw_only=False)
    strategy: Literal["mean", "median", "mode", "draw"] = "mean"
    missing_values: Any = np.nan
    add_indicator: bool = False
    keep_empty_features: bool = False
    random_state: RandomState = None

    def fit(
        self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the density to incomplete rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), Chunks, or Dask array or frame
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight two counts as two rows.

        Returns
        -------
        self
        """
        check_parameters(self)
        X = self._with_nan(X)
        density = density_to_impute(self.density, self.random_state)
        density.fit(X, None, sample_weight)
        rows = density._open(X)
        plan, names = plan_of(density), getattr(density, "feature_names_in_", None)
        if plan is not None:
            names = np.array([name for name, _, _ in plan.groups()], dtype=object)
        nothing, streamed = np.empty(0, dtype=np.intp), isinstance(rows, Stream)
        self.__dict__.pop("feature_names_in_", None)
        self.density_ = density
        self.n_features_in_ = density.n_features_in_ if names is None else len(names)
        if names is not None:
            self.feature_names_in_ = names
        self.indicated_ = nothing if streamed else np.flatnonzero(self._missing(rows).any(axis=0))
        return self

    def transform(self, X: TableLike) -> Any:
        """Return the rows with their missing values filled in.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), Chunks, or Dask array or frame

        Returns
        -------
        table of the kind of ``X``
            Of Chunks and Dask tables a lazy table, for ``strategy="mean"`` without indicators.
        """
        check_is_fitted(self)
        X = self._with_nan(X)
        density = self.density_
        rows = density._open(X)
        if isinstance(rows, Stream):
            if self.strategy != "mean" or self.add_indicator:
                raise ValueError(
                    "Out-of-core tables are imputed by strategy='mean' without indicators, found "
                    f"strategy={self.strategy!r} and add_indicator={self.add_indicator}. Transform "
                    "the chunks one by one."
                )
            return density.impute(X)
        values = self._filled(rows)
        if plan_of(density, X) is None:
            values = self._with_empty_columns(values)
            everything = np.arange(self.n_features_in_)
            places = everything if self.keep_empty_features else density.columns_
            names = getattr(self, "feature_names_in_", None)
            filled = table_as(X, values, places, None if names is None else list(names[places]))
        else:
            filled = density._in_units([values], X)[0]
        return self._with_indicators(filled, rows) if self.add_indicator else filled

    def inverse_transform(self, X: Any) -> Any:
        """Return rows with missing values where their indicators say so.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features + n_indicators)
            As :meth:`transform` returns it with ``add_indicator=True``.

        Returns
        -------
        table of shape (n_samples, n_features) of the kind of ``X``
        """
        check_is_fitted(self)
        if not self.add_indicator:
            raise ValueError(
                "inverse_transform needs the indicators of missing values: fit the imputer with "
                "add_indicator=True."
            )
        indicated = self.indicated_
        if is_frame(X):
            names = list(X.columns)[: len(X.columns) - len(indicated)]
            out = X[names].copy()
            for name in self._names()[indicated]:
                missing = np.asarray(X[f"missingindicator_{name}"], dtype=bool)
                out.loc[missing, name] = None
            return out
        array = np.asarray(X, dtype=np.float64)
        n_columns = array.shape[1] - len(indicated)
        out = array[:, :n_columns].copy()
        kept = (
            np.arange(self.n_features_in_) if self.keep_empty_features else self.density_.columns_
        )
        for at, j in enumerate(indicated):
            if j in kept:
                missing = array[:, n_columns + at] != 0
                out[missing, np.flatnonzero(kept == j)[0]] = np.nan
        return out

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the columns of the transformed table.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names to use where training had none.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        kept = names
        if plan_of(self.density_) is None and not self.keep_empty_features:
            kept = names[self.density_.columns_]
        if not self.add_indicator:
            return kept
        added = [f"missingindicator_{name}" for name in names[self.indicated_]]
        return np.concatenate([kept, np.array(added, dtype=object)])

    def _names(self) -> np.ndarray:
        return _check_feature_names_in(self)

    def _with_nan(self, X: Any) -> Any:
        """Return the table with NaN instead of ``missing_values``."""
        value = self.missing_values
        if value is None or value != value:
            return X
        if is_frame(X):
            return X.replace(value, None)
        array = np.asarray(X)
        return np.where(array == value, np.nan, array.astype(np.float64))

    def _missing(self, rows: Table) -> BoolArray:
        """Return which of the user's cells are missing, (n_samples, n_features_in_)."""
        plan = plan_of(self.density_)
        if plan is None:
            return rows.mask
        missing = np.zeros((len(rows), len(plan.groups())), dtype=bool)
        for at, (_, places, _) in enumerate(plan.groups()):
            missing[:, at] = rows.mask[:, list(places)].any(axis=1)
        return missing

    def _filled(self, rows: Table) -> FloatArray:
        """Return completed rows in the columns of the density."""
        density = self.density_
        if self.strategy == "draw":
            return density._drawn(rows, None, check_random_state(self.random_state))
        filled: FloatArray = density._completed(rows)
        if self.strategy == "mean":
            return filled
        beliefs, limits = density._before_limits(rows)
        limited = beliefs if limits is None else beliefs.within(*limits)
        known = density._known_columns(rows)[0]
        if self.strategy == "median":
            numbers = conditional_quantiles(limited, known, [0.5], limits, beliefs)[0]
        else:
            likeliest = limited.log_weights.argmax(axis=1)
            scores = limited.means[np.arange(len(limited)), likeliest]
            numbers = np.where(np.isnan(known), limited.to_table_units(scores), known)
        own = getattr(density, "number_columns_", density.columns_)
        filled = filled.copy()
        filled[:, np.searchsorted(density.columns_, own)] = numbers[:, : len(own)]
        return filled

    def _with_empty_columns(self, values: FloatArray) -> FloatArray:
        if not self.keep_empty_features:
            return values
        out = np.zeros((len(values), self.n_features_in_))
        out[:, self.density_.columns_] = values
        return out

    def _with_indicators(self, filled: Any, rows: Table) -> Any:
        missing = self._missing(rows)[:, self.indicated_].astype(np.float64)
        if not is_frame(filled):
            return np.hstack([filled, missing])
        names = [f"missingindicator_{name}" for name in self._names()[self.indicated_]]
        out = filled.copy() if hasattr(filled, "copy") else filled.clone()
        for at, name in enumerate(names):
            if hasattr(out, "with_columns"):
                out = out.with_columns(type(out)({name: missing[:, at]})[name])
            else:
                out[name] = missing[:, at]
        return out


def density_to_impute(density: DensityLike, random_state: RandomState = None) -> Any:
    """Return an unfitted density; one by name keeps values in the support of their columns."""
    made: Any = make_density(density, random_state)
    if isinstance(density, str):
        made.set_params(margins="auto")
    if not isinstance(made, Density):
        raise TypeError(
            "Imputation needs a density of this library, such as GaussianDensity(), found "
            f"{type(made).__name__}, which cannot complete rows."
        )
    return made


def multiple_imputations(
    density: DensityLike,
    X: TableLike,
    m: int = 20,
    proper: bool = True,
    random_state: RandomState = None,
) -> list[Any]:
    """Return several completed tables, for estimates with honest standard errors.

    Draws at fixed parameters are *improper*: the parameters of the density are estimates
    themselves, and intervals pooled from such draws are too narrow. With ``proper=True`` the
    density is therefore fitted anew for each table, by EM on rows with random weights (the
    Bayesian bootstrap, Rubin 1981), which draws its parameters from about their posterior.

    Parameters
    ----------
    density : {"gaussian", "low-rank", "mixture", "mixed"} or density
        Not fitted; one given by name has ``margins="auto"``.
    X : array-like or frame of shape (n_samples, n_features)
        With all columns of the later analysis in it, its target too.
    m : int, default=20
        The number of tables.
    proper : bool, default=True
        Whether to draw the parameters of the density as well.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    list of m tables
        As :meth:`GaussianDensity.draw` returns them, for :func:`absentia.pool` after an analysis
        of each.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import multiple_imputations
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> X[:30, 0] = np.nan
    >>> tables = multiple_imputations("gaussian", X, m=3, random_state=0)
    >>> len(tables), tables[0].shape, bool(np.isnan(tables[0]).any())
    (3, (100, 2), False)
    """
    COUNT.check("m", m)
    FLAG.check("proper", proper)
    rng = check_random_state(random_state)
    first = density_to_impute(density, rng.randint(2**31))
    if not proper:
        return list(first.fit(X).draw(X, m, rng))
    rows = first._training_table(X, None)
    if isinstance(rows, Stream):
        raise ValueError(
            "Multiple imputations are held in memory, but this table is not. Take a sample of its "
            "rows, or impute it by DensityImputer."
        )
    n_rows = len(rows)
    tables = []
    for _ in range(m):
        shares = rng.standard_exponential(n_rows)
        fitted = clone(first).fit(X, sample_weight=shares * (n_rows / shares.sum()))
        tables.append(fitted.draw(X, random_state=rng))
    return tables
