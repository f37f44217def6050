"""Pooled inference: one estimate with honest intervals from several completed tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_consistent_length

from absentia.densities.fit_density import DensityLike
from absentia.densities.imputation import multiple_imputations
from absentia.parameters import COUNT, RandomState, numbers
from absentia.tables import FloatArray, column_names
from absentia.tables.phrases import html_table, listed
from absentia.tables.reading import as_frame, is_frame, native_frame

if TYPE_CHECKING:
    import pandas as pd

_TARGET = "pooled target"
#: Condition number of columns in units of their size from which coefficients have no digits.
_SINGULAR = 1e14


@dataclass(frozen=True, eq=False)
class PooledEstimates:
    """Estimates that were pooled by Rubin's rules; made by :func:`pool` and :func:`pooled`.

    Attributes
    ----------
    names : list of str
    estimates : ndarray of shape (p,)
        Means over the imputations.
    covariance : ndarray of shape (p, p)
        ``T = U + (1 + 1/m) B``: within imputations, and between them.
    within, between : ndarray of shape (p, p)
        ``U`` and ``B``.
    degrees_of_freedom : ndarray of shape (p,)
        After Barnard and Rubin (1999), or Rubin (1987) where those of complete data are unknown.
    increase : ndarray of shape (p,)
        Relative increase in variance due to missing values, ``(1 + 1/m) B / U``.
    missing_information : ndarray of shape (p,)
        Fraction of the information that is missing.
    m : int
        The number of imputations.
    complete_freedom : float
        Degrees of freedom of complete data, infinite if they are unknown.

    Examples
    --------
    >>> from absentia import pool
    >>> pool([[1.0], [1.2], [0.9]], [[0.04], [0.05], [0.04]]).interval(0.9).round(2)
    array([[0.55, 1.52]])
    """

    names: list[str]
    estimates: FloatArray
    covariance: FloatArray
    within: FloatArray
    between: FloatArray
    degrees_of_freedom: FloatArray
    increase: FloatArray
    missing_information: FloatArray
    m: int
    complete_freedom: float = np.inf

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each estimate."""
        return np.sqrt(np.diagonal(self.covariance))

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p-value of each estimate, against zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = np.abs(self.estimates) / self.standard_errors
        return 2 * t_distribution.sf(statistics, self.degrees_of_freedom)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return the intervals that hold each parameter with a probability, shape (p, 2)."""
        if not 0 < level < 1:
            raise ValueError(f"level must be a number between 0 and 1, found {level!r}.")
        reach = t_distribution.ppf(0.5 + level / 2, self.degrees_of_freedom) * self.standard_errors
        return np.column_stack([self.estimates - reach, self.estimates + reach])

    def wald_test(self, names: Sequence[str] | None = None) -> tuple[float, float]:
        """Test whether several parameters are all zero (the test D1).

        With ``k`` parameters and ``r = (1 + 1/m) tr(B inv(U)) / k`` the statistic ``q' inv(U) q /
        (k (1 + r))`` is compared with an F distribution (Li, Raghunathan and Rubin, 1991; where the
        degrees of freedom of complete data are known, Reiter, 2007).

        Parameters
        ----------
        names : sequence of str, optional
            The parameters; by default all.

        Returns
        -------
        statistic, p_value : float
        """
        names = self.names if names is None else list(names)
        unknown = [name for name in names if name not in self.names]
        if unknown or not names:
            raise ValueError(
                f"names must be among the parameters {', '.join(self.names)}, found "
                f"{', '.join(map(repr, unknown)) or 'none'}."
            )
        at = [self.names.index(name) for name in names]
        k, U, B = len(at), self.within[np.ix_(at, at)], self.between[np.ix_(at, at)]
        q = self.estimates[at]
        try:
            solved, ratio = np.linalg.solve(U, q), np.trace(np.linalg.solve(U, B))
        except np.linalg.LinAlgError:
            raise ValueError(
                f"The covariance of {', '.join(names)} within imputations is singular: leave out "
                "parameters that the others determine."
            ) from None
        r = (1 + 1 / self.m) * float(ratio) / k
        statistic = float(q @ solved) / (k * (1 + r))
        second = denominator_freedom(k, k * (self.m - 1), r, self.complete_freedom)
        return statistic, float(f_distribution.sf(statistic, k, second))

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a pandas frame with one line per parameter, and intervals of a level."""
        import pandas as pd

        return pd.DataFrame(self._columns(level), index=self.names)

    def _columns(self, level: float = 0.95) -> dict[str, FloatArray]:
        low, high = self.interval(level).T
        return {
            "estimate": self.estimates,
            "std. error": self.standard_errors,
            "df": self.degrees_of_freedom,
            "p-value": self.p_values,
            f"lower {level:.0%}": low,
            f"upper {level:.0%}": high,
            "fmi": self.missing_information,
        }

    def _lines(self) -> list[list[str]]:
        columns = self._columns()
        pairs = zip(self.names, np.column_stack([*columns.values()]).tolist(), strict=True)
        return [["", *columns], *([name, *map("{:.4g}".format, row)] for name, row in pairs)]

    def __str__(self) -> str:
        lines = self._lines()
        wide = max(len(name) for name, *_ in lines)
        text = (f"{name:<{wide}}" + "".join(f"{cell:>12}" for cell in row) for name, *row in lines)
        return "\n".join([f"Pooled over {self.m} imputations", *text])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *lines = self._lines()
        return f"<p>Pooled over {self.m} imputations</p>{html_table(head, lines, 'th')}"


def pool(
    estimates: ArrayLike,
    covariances: ArrayLike,
    *,
    n: int | None = None,
    k: int | None = None,
    names: Sequence[str] | None = None,
) -> PooledEstimates:
    """Pool the estimates of several completed tables by Rubin's rules.

    Parameters
    ----------
    estimates : array-like of shape (m, p), or (m,) for one parameter
        One line per completed table.
    covariances : array-like of shape (m, p, p), or (m, p) for variances
    n : int, optional
        The number of rows. With it, degrees of freedom are those of Barnard and Rubin (1999) for
        complete data with ``n - k`` of them.
    k : int, optional
        The number of parameters that were estimated from the rows, by default ``p``.
    names : sequence of str, optional
        What to call the parameters.

    Returns
    -------
    PooledEstimates

    References
    ----------
    Rubin, D. B. (1987). Multiple Imputation for Nonresponse in Surveys. Wiley.
    Barnard, J. and Rubin, D. B. (1999). Small-sample degrees of freedom with multiple imputation.
    Biometrika 86, 948-955.

    Examples
    --------
    >>> from absentia import pool
    >>> found = pool([1.0, 1.2, 0.9], [0.04, 0.05, 0.04], n=100)
    >>> found.estimates.round(2), found.standard_errors.round(2), found.degrees_of_freedom.round()
    (array([1.03]), array([0.27]), array([10.]))
    """
    Q = numbers("estimates", estimates, "an array of shape (m, p)")
    U = numbers("covariances", covariances, "an array of shape (m, p, p) or (m, p)")
    Q, U = (Q[:, None], U.reshape(len(U), -1)) if Q.ndim == 1 else (Q, U)
    if U.ndim == 2:
        U = U[:, :, None] * np.eye(U.shape[1])
    m, p = Q.shape if Q.ndim == 2 else (len(Q), -1)
    if Q.ndim != 2 or U.shape != (m, p, p):
        raise ValueError(
            f"estimates must have shape (m, p) and covariances (m, p, p) or (m, p), found "
            f"{np.shape(estimates)} and {np.shape(covariances)}."
        )
    _check_m(m)
    if not (np.isfinite(Q).all() and np.isfinite(U).all()):
        raise ValueError("estimates and covariances must be finite, found NaN or infinity.")
    sizes = np.abs(U).max(axis=(1, 2), initial=0.0)
    if (np.linalg.eigvalsh(U).min(axis=1, initial=0.0) < -1e-8 * sizes).any():
        raise ValueError("covariances must be positive semidefinite, found a negative variance.")
    for name, given in (("n", n), ("k", k)):
        if given is not None:
            COUNT.check(name, given)
    own = [f"x{j}" for j in range(p)] if names is None else [str(name) for name in names]
    if len(own) != p:
        raise ValueError(f"names must be one per parameter, found {len(own)} for {p}.")
    complete = np.inf if n is None else float(n - (p if k is None else k))
    if complete <= 0:
        raise ValueError(f"n must exceed the number of parameters, found n={n} and k={k or p}.")
    within, centred = U.mean(axis=0), Q - Q.mean(axis=0)
    between = centred.T @ centred / (m - 1)
    total = within + (1 + 1 / m) * between
    added, left = (1 + 1 / m) * np.diagonal(between), np.diagonal(within)
    with np.errstate(divide="ignore", invalid="ignore"):
        increase = np.where(added > 0, added / left, 0.0)
        share = np.where(added > 0, added / np.diagonal(total), 0.0)
    free = barnard_rubin(m, share, complete)
    with np.errstate(invalid="ignore"):
        missing = (increase + 2 / (free + 3)) / (1 + increase)
    missing = np.where(np.isinf(increase), 1.0, missing)
    q, parts = Q.mean(axis=0), (total, within, between, free, increase, missing)
    return PooledEstimates(own, q, *parts, m, complete)


def _check_m(m: int) -> None:
    COUNT.check("m", m)
    if m < 2:
        raise ValueError(
            f"Pooling needs at least two imputations, found {m}: one table says nothing about what "
            "its missing values add to the uncertainty. Use m=20."
        )


def denominator_freedom(k: int, t: int, r: float, complete: float) -> float:
    """Return degrees of freedom of the denominator of D1, for ``t = k (m - 1)``.

    Those of Li, Raghunathan and Rubin (1991) or, for ``complete`` degrees of freedom of complete
    data, of Reiter (2007).
    """
    if r <= 0:
        return complete
    if t <= 4:
        return t * (1 + 1 / k) * (1 + 1 / r) ** 2 / 2
    a, c0 = r * t / (t - 2), 1 / (t - 4)
    c1, c2 = (complete * (complete + 1) / (complete + 3) - j * (1 + a) for j in (2, 4))
    if complete == np.inf or c2 <= 0:  # beyond the reach of the correction
        return min(4 + (t - 4) * (1 + (1 - 2 / t) / r) ** 2, complete)
    z = 1 + c0 * a**2 * c1 / (1 + a) ** 2 + 8 * c0 * a**2 * c1 / ((1 + a) * c2)
    z += c0 * 4 * a**2 / (1 + a) + c0 * (4 * a**2 / c1 + 16 * a**2 * c1 / c2**2)
    return float(4 + c2 / (z + 8 * c0 * a**2 / c2))


def barnard_rubin(m: int, share: FloatArray, complete: float = np.inf) -> FloatArray:
    """Return degrees of freedom, Eq. (3) of Barnard and Rubin (1999).

    ``share`` is the part of the variance that missing values cause, ``(1 + 1/m) B / T``, and
    ``complete`` the degrees of freedom of complete data. Without any missing value they are
    ``complete (complete + 1) / (complete + 3)``; for infinite ``complete`` they are ``(m - 1) /
    share^2`` (Rubin, 1987).
    """
    with np.errstate(divide="ignore"):
        if np.isinf(complete):
            return (m - 1) / share**2
        observed = (complete + 1) / (complete + 3) * complete * (1 - share)
        free: FloatArray = (m - 1) * observed / (m - 1 + share**2 * observed)
    return free


def pooled(
    fit: BaseEstimator | Callable[[Any, Any], Any],
    X: Any,
    y: ArrayLike,
    *,
    density: DensityLike = "gaussian",
    m: int = 20,
    proper: bool = True,
    random_state: RandomState = None,
) -> PooledEstimates:
    """Fit a model to several completed tables and pool its coefficients.

    The target takes part in the imputation, without which slopes would be pulled towards zero.

    Parameters
    ----------
    fit : linear model of scikit-learn, or callable
        ``LinearRegression()`` or an unpenalised ``LogisticRegression(penalty=None)`` for two
        classes. A callable takes a completed table and the target, and returns results of
        statsmodels, or a pair of coefficients and their covariance.
    X : array-like or frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Numbers, or two classes. Missing numbers are imputed too.
    density : {"gaussian", "low-rank", "mixture", "mixed"} or density, default="gaussian"
    m : int, default=20
        The number of completed tables.
    proper : bool, default=True
        As in :func:`multiple_imputations`.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    PooledEstimates

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from absentia import pooled
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X @ [1.0, -1.0] + rng.normal(size=200)
    >>> X[rng.random(200) < 0.3, 0] = np.nan
    >>> found = pooled(LinearRegression(), X, y, m=5, random_state=0)
    >>> found.names, found.estimates[1:].round(1)
    (['intercept', 'x0', 'x1'], array([ 0.9, -0.9]))
    """
    _check_m(m)
    target = np.asarray(y)
    codes, classes = target, None
    if target.dtype.kind not in "fiub":
        classes, codes = np.unique(target, return_inverse=True)
    if target.ndim != 1 or (classes is not None and len(classes) != 2):
        found_classes = "" if classes is None else f" and {len(classes)} classes"
        raise ValueError(
            f"y must be one column of numbers or of two classes, found shape {target.shape}"
            f"{found_classes}."
        )
    X = native_frame(X)
    check_consistent_length(X, target)
    if is_frame(X):
        kept = as_frame(X).notna().any().to_numpy()
        joined: Any = X[np.array(X.columns, dtype=object)[kept].tolist()]
        add = joined.with_columns if hasattr(joined, "with_columns") else joined.assign
        joined = add(**{_TARGET: codes.astype(np.float64)})
    else:
        X = np.asarray(X, dtype=np.float64)
        kept = ~np.isnan(X).all(axis=0)
        joined = np.column_stack([X[:, kept], codes.astype(np.float64)])
    own = np.array(column_names(X, X.shape[1]), dtype=object)
    if not kept.all():
        warnings.warn(
            f"Columns without any value have no coefficient: {listed(own[~kept].tolist())}.",
            UserWarning,
            stacklevel=2,
        )
    tables = multiple_imputations(density, joined, m, proper, random_state)
    found, failures = [], []
    for table in tables:
        if is_frame(table):
            inputs = [name for name in table.columns if name != _TARGET]
            completed, values = table[inputs], np.asarray(table[_TARGET], dtype=np.float64)
        else:
            completed, values = table[:, :-1], table[:, -1]
        answers = values if classes is None else classes[values.astype(np.intp)]
        try:
            found.append(_coefficients(fit, completed, answers))
        except Exception as error:  # whatever the user's model raises
            failures.append(error)
    if len(found) < 2:
        raise ValueError(
            f"The model could be fitted to {len(found)} of {m} completed tables, and pooling needs "
            f"two; the first error was: {failures[0] if failures else 'none'}"
        ) from (failures[0] if failures else None)
    if failures:
        warnings.warn(
            f"{len(failures)} of {m} completed tables were left out, because the model failed on "
            f"them: {failures[0]}",
            UserWarning,
            stacklevel=2,
        )
    names = found[0][2]
    if not is_frame(X):  # by the positions of the columns that were given
        places = dict(zip((f"x{j}" for j in range(kept.sum())), own[kept], strict=True))
        names = [places.get(name, name) for name in names]
    estimates, covariances = (np.array([part[at] for part in found]) for at in (0, 1))
    return pool(estimates, covariances, n=len(target), names=names)


def _coefficients(fit: Any, X: Any, y: Any) -> tuple[FloatArray, FloatArray, list[str]]:
    """Return coefficients, their covariance and names of a model fitted to a completed table."""
    if isinstance(fit, BaseEstimator):
        try:
            np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"{type(fit).__name__} takes numbers, but a column has words: give a callable that "
                'codes them, such as lambda X, y: ols("y ~ C(word)", X.assign(y=y)).fit()'
            ) from None
        return _linear_model(clone(fit).fit(X, y), X, y)
    result = fit(X, y)
    if hasattr(result, "cov_params"):
        params = np.asarray(result.params, dtype=np.float64)
        names = getattr(result.params, "index", None)
        covariance = np.asarray(result.cov_params(), dtype=np.float64)
    else:
        try:
            params, covariance = (np.asarray(part, dtype=np.float64) for part in result)
        except (TypeError, ValueError):
            raise TypeError(
                "fit must return results of statsmodels, or a pair of coefficients and their "
                f"covariance, found {type(result).__name__}."
            ) from None
        names = None
    params, covariance = np.atleast_1d(params), np.atleast_1d(covariance)
    own = [f"x{j}" for j in range(len(params))] if names is None else [str(name) for name in names]
    return params, covariance, own


def _linear_model(model: Any, X: Any, y: FloatArray) -> tuple[FloatArray, FloatArray, list[str]]:
    """Return coefficients of scikit-learn's linear models with the covariance of their fit.

    ``s^2 inv(X'X)`` for least squares, the inverse information ``inv(X' diag(p (1 - p)) X)`` for
    two classes.
    """
    coefficients = np.asarray(getattr(model, "coef_", np.nan), dtype=np.float64).ravel()
    design = np.asarray(X, dtype=np.float64)
    if len(coefficients) != design.shape[1]:
        raise TypeError(
            f"{type(model).__name__} has no coefficient per column, whose covariance could be "
            "pooled. Use a linear model for one target or two classes, or a callable that returns "
            "coefficients and their covariance."
        )
    names = column_names(X, design.shape[1])
    if getattr(model, "fit_intercept", True):
        design = np.column_stack([np.ones(len(design)), design])
        coefficients = np.concatenate([np.atleast_1d(model.intercept_).ravel(), coefficients])
        names = ["intercept", *names]
    if is_classifier(model):
        probabilities = model.predict_proba(X)[:, 1]
        information = (design * (probabilities * (1 - probabilities))[:, None]).T @ design
        return coefficients, _inverse(information), names
    residuals = np.asarray(y) - design @ coefficients
    variance = float(residuals @ residuals) / max(1, len(design) - design.shape[1])
    return coefficients, variance * _inverse(design.T @ design), names


def _inverse(information: FloatArray) -> FloatArray:
    """Return the inverse of an information matrix; ValueError where it is singular."""
    units = np.sqrt(np.diagonal(information))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = information / units / units[:, None]
    if not np.isfinite(scaled).all() or np.linalg.cond(scaled) > _SINGULAR:
        raise ValueError(
            "the coefficients are not determined, because a column is constant or given by the "
            "others: leave it out"
        )
    return np.linalg.inv(scaled) / units / units[:, None]
