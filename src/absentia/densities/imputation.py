"""Imputation by densities: a transformer for pipelines, and proper multiple imputation."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from absentia.densities.associations import bootstrap_fits
from absentia.densities.base import Density
from absentia.densities.fit_density import DensityLike, make_density
from absentia.parameters import COUNT, FLAG, RandomState, Rule, check_parameters, declared, words
from absentia.tables import FloatArray, IntArray, Table, TableLike, plan_of, table_as
from absentia.tables.reading import as_arrow, is_frame, native_frame
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
        Whether columns without any observed value in training come back as zeros; otherwise arrays
        and frames of numbers come back without them. Frames with words keep them as they are.
    random_state : int, RandomState instance or None, default=None
        For the draws, and for a density given by name.

    Attributes
    ----------
    density_ : density
    indicator_ : sklearn.impute.MissingIndicator or None
        The columns that were incomplete in training, with ``add_indicator=True``.
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
        "missing_values": Rule(
            ("one value",), lambda value: isinstance(value, str) or not np.iterable(value)
        ),
    }

    density_: BaseEstimator = field(init=False)
    indicator_: MissingIndicator | None = field(init=False)
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
        X = self._with_nan(native_frame(X))
        density = density_to_impute(self.density, self.random_state)
        density.fit(X, None, sample_weight)
        rows = density._open(X)
        plan, names = plan_of(density), getattr(density, "feature_names_in_", None)
        if plan is not None:
            names = np.array([name for name, _, _ in plan.groups()], dtype=object)
        indicator = None
        if self.add_indicator and not isinstance(rows, Stream):
            indicator = MissingIndicator(error_on_new=False).fit(_holes(density, rows))
        self.__dict__.pop("feature_names_in_", None)
        self.density_ = density
        self.n_features_in_ = density.n_features_in_ if names is None else len(names)
        if names is not None:
            self.feature_names_in_ = names
        self.indicator_ = indicator
        return self

    def transform(self, X: TableLike) -> Any:
        """Return the rows with their missing values filled in.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), Chunks, or Dask array or frame

        Returns
        -------
        table of the kind of ``X``
            Of Chunks and Dask arrays a lazy table, for ``strategy="mean"`` without indicators; of
            a Dask frame a Dask frame, for every strategy but draws.
        """
        check_is_fitted(self)
        lazy: Any = X
        if hasattr(X, "map_partitions") and hasattr(X, "columns") and self.strategy != "draw":
            # A Dask frame stays one; its rows are conditioned where they are.
            meta = self._of_partition(lazy._meta_nonempty)
            return lazy.map_partitions(self._of_partition, meta=meta)
        given, X = X, self._with_nan(native_frame(X))
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
            places, names = self._places, getattr(self, "feature_names_in_", None)
            wide = np.zeros((len(values), self.n_features_in_))
            wide[:, density.columns_] = values
            own = None if names is None else list(names[places])
            filled = table_as(X, wide[:, places], places, own)
            if is_frame(X) and names is not None:  # columns have their types, and whole numbers
                rows_of: Any = X
                known = names[density.columns_].tolist()
                typed = density._in_units([values], rows_of[known])[0]
                add = filled.with_columns if hasattr(filled, "with_columns") else filled.assign
                filled = add(**{name: typed[name] for name in known})
            if isinstance(X, np.ndarray) and X.dtype.kind == "f":
                filled = filled.astype(X.dtype)
        else:
            filled = density._in_units([values], X)[0]
        if self.indicator_ is not None:
            filled = self._with_indicators(filled, rows, self.indicator_)
        return as_arrow([filled], given)[0]

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
        if self.indicator_ is None:
            raise ValueError(
                "inverse_transform needs the indicators of missing values. Fit the imputer with "
                f"add_indicator=True. Got 'add_indicator={self.add_indicator}'."
            )
        names, given, X = _check_feature_names_in(self), X, native_frame(X)
        if is_frame(X):
            out = X[list(X.columns)[: X.shape[1] - len(self.indicator_.features_)]]
            for name in set(names[self.indicator_.features_]) & set(out.columns):
                missing = np.asarray(X[f"missingindicator_{name}"], dtype=bool)
                if hasattr(out, "with_columns"):
                    out = out.with_columns(out[name].scatter(np.flatnonzero(missing), None))
                else:
                    out = out.assign(**{name: out[name].mask(missing)})
            return as_arrow([out], given)[0]
        array = np.asarray(X)
        out, indicators = np.split(array, [array.shape[1] - len(self.indicator_.features_)], axis=1)
        kept = names[self._places]
        for name, missing in zip(names[self.indicator_.features_], indicators.T, strict=True):
            out = np.where((kept == name) & (missing[:, None] != 0), self.missing_values, out)
        return out

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names of the columns of the transformed table.

        ``input_features`` are names to use where training had none.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        kept = names[self._places] if plan_of(self.density_) is None else names
        if self.indicator_ is None:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    def _of_partition(self, part: Any) -> Any:
        return self.transform(part) if len(part) else self.transform(part.reindex([0])).iloc[:0]

    @property
    def _places(self) -> IntArray:
        """The columns that come back in arrays."""
        everything = np.arange(self.n_features_in_)
        return everything if self.keep_empty_features else self.density_.columns_

    def _with_nan(self, X: Any) -> Any:
        """Return the table with NaN instead of ``missing_values``."""
        value = self.missing_values
        if value is None or value != value or issparse(X):  # which the density refuses
            return X
        if hasattr(X, "with_columns"):
            numbers = not isinstance(value, str)
            kinds = ("Int", "UInt", "Float") if numbers else ("String", "Categorical", "Enum")
            own = [name for name in X.columns if str(X[name].dtype).startswith(kinds)]
            return X.with_columns([X[name].replace(value, None) for name in own])
        if is_frame(X):
            return X.replace(value, None)
        array = np.asarray(X)
        return np.where(array == value, np.nan, array.astype(np.float64))

    def _filled(self, rows: Table) -> FloatArray:
        """Return completed rows in the columns of the density."""
        density = self.density_
        if self.strategy == "draw":
            return density._drawn(rows, None, check_random_state(self.random_state))
        filled: FloatArray = density._completed(rows)
        if self.strategy == "mean":
            return filled
        if self.strategy == "median":
            numbers = density._quantiles(rows, [0.5])[0]
        else:
            beliefs, known = density.condition(rows), density._known_columns(rows)[0]
            scores = beliefs.means[np.arange(len(beliefs)), beliefs.log_weights.argmax(axis=1)]
            numbers = np.where(np.isnan(known), beliefs.to_table_units(scores), known)
        own = density._number_columns()
        filled = filled.copy()
        filled[:, np.searchsorted(density.columns_, own)] = numbers[:, : len(own)]
        return filled

    def _with_indicators(self, filled: Any, rows: Table, indicator: MissingIndicator) -> Any:
        missing = indicator.transform(_holes(self.density_, rows)).astype(np.float64)
        if not is_frame(filled):
            return np.hstack([filled, missing.astype(filled.dtype)])
        names = indicator.get_feature_names_out(_check_feature_names_in(self))
        added = dict(zip(names, missing.T, strict=True))
        if hasattr(filled, "with_columns"):
            return filled.with_columns(**added)
        return filled.assign(**added)


def _holes(density: Density, rows: Table) -> FloatArray:
    """Return NaN where a cell of the user's table is missing, zero elsewhere."""
    plan = plan_of(density)
    missing = rows.mask
    if plan is not None:
        places = [list(places) for _, places, _ in plan.groups()]
        missing = np.column_stack([missing[:, at].any(axis=1) for at in places])
    return np.where(missing, np.nan, 0.0)


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
    return [fitted.draw(X, random_state=rng) for fitted in bootstrap_fits(first, X, m, rng)]
