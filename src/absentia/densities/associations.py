"""Correlations and covariances of incomplete tables, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from absentia.parameters import RandomState, count_from, number_between, words
from absentia.pictures import pyplot
from absentia.tables import FloatArray, TableLike
from absentia.tables.streams import Stream

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_LEVEL = number_between(1e-6, 1 - 1e-6, expected="a level between 0 and 1, such as 0.95")


@dataclass(frozen=True, eq=False)
class Associations:
    """Correlations (or covariances) of columns; made by :meth:`Density.correlation`.

    Attributes
    ----------
    names : list of str
    estimate : ndarray of shape (d, d)
    standard_error, lower, upper : ndarray of shape (d, d), or None
        Of the bootstrap, where an interval was asked for.
    """

    names: list[str]
    estimate: FloatArray
    standard_error: FloatArray | None = None
    lower: FloatArray | None = None
    upper: FloatArray | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one line per pair of columns, the strongest first, as a pandas frame."""
        import pandas as pd

        i, j = np.triu_indices(len(self.names), 1)
        order = np.argsort(-np.abs(self.estimate[i, j]), kind="stable")
        at = i[order], j[order]
        names = np.array(self.names, dtype=object)
        parts = {"first": names[at[0]], "second": names[at[1]]}
        values = ("estimate", "standard_error", "lower", "upper")
        known = [name for name in values if getattr(self, name) is not None]
        return pd.DataFrame(parts | {name: getattr(self, name)[at] for name in known})

    def plot(self) -> Figure:
        """Draw the matrix in colours, without numbers where the interval contains zero."""
        d = len(self.names)
        size = 1.5 + 0.55 * d
        figure, axes = pyplot().subplots(figsize=(size + 1, size), layout="constrained")
        most = float(np.abs(self.estimate).max()) or 1.0
        image = axes.imshow(self.estimate, cmap="RdBu_r", vmin=-most, vmax=most)
        clear = np.ones((d, d), dtype=bool)
        if self.lower is not None and self.upper is not None:
            clear = (self.lower > 0) | (self.upper < 0)
        for i, j in np.argwhere(clear):
            dark = abs(self.estimate[i, j]) > 0.6 * most
            shown = f"{self.estimate[i, j]:.2g}"
            axes.text(j, i, shown, ha="center", va="center", color="w" if dark else "k", fontsize=8)
        axes.set_xticks(range(d), self.names, rotation=90)
        axes.set_yticks(range(d), self.names)
        figure.colorbar(image, ax=axes, shrink=0.7)
        return figure


class Correlated:
    """Base of densities whose columns have correlations."""

    def correlation(
        self: Any,
        X: TableLike | None = None,
        *,
        ci: float | None = None,
        kind: str = "correlation",
        n_bootstrap: int = 100,
        random_state: RandomState = 0,
    ) -> Associations:
        """Return the correlations of the columns of numbers, with intervals on request.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), optional
            The training rows, needed for intervals: the density is fitted to them again with
            random weights (the Bayesian bootstrap, Rubin 1981).
        ci : float, optional
            Level of the intervals, such as 0.95: normal on Fisher's scale ``atanh(r)`` for
            correlations, and normal for covariances.
        kind : {"correlation", "covariance"}, default="correlation"
            With ``margins`` those of scores.
        n_bootstrap : int, default=100
        random_state : int, RandomState instance or None, default=0

        Returns
        -------
        Associations
            With ``estimate``, ``standard_error``, ``lower`` and ``upper`` of shape (d, d),
            ``to_frame()`` and ``plot()``.

        Examples
        --------
        >>> import numpy as np
        >>> from absentia import GaussianDensity
        >>> rng = np.random.default_rng(0)
        >>> X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=500)
        >>> X[rng.random(X.shape) < 0.3] = np.nan
        >>> found = GaussianDensity().fit(X).correlation(X, ci=0.95)
        >>> bool(found.lower[0, 1] < 0.8 < found.upper[0, 1])
        True
        """
        check_is_fitted(self)
        words("correlation", "covariance").check("kind", kind)
        names = self._names() or [f"x{j}" for j in self._number_columns()]
        estimate = _matrix(self, kind)
        if ci is None:
            return Associations(names, estimate)
        _LEVEL.check("ci", ci)
        count_from(2).check("n_bootstrap", n_bootstrap)
        if X is None:
            raise ValueError(
                "Intervals come from fits to the training rows with random weights: pass these "
                "rows, density.correlation(X, ci=0.95)."
            )
        rng = check_random_state(random_state)
        fits = bootstrap_fits(self, X, n_bootstrap, rng)
        found = np.array([_matrix(fitted, kind) for fitted in fits])
        errors, reach = found.std(axis=0, ddof=1), float(ndtri(0.5 + ci / 2))
        if kind == "covariance":
            return Associations(
                names, estimate, errors, estimate - reach * errors, estimate + reach * errors
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            scores, spread = np.arctanh(estimate), np.arctanh(found).std(axis=0, ddof=1)
            ends = [np.tanh(scores + sign * reach * spread) for sign in (-1, 1)]
        lower, upper = (np.where(np.eye(len(estimate), dtype=bool), 1.0, end) for end in ends)
        return Associations(names, estimate, errors, lower, upper)


def _matrix(density: Any, kind: str) -> FloatArray:
    covariance: FloatArray = density.prior_.covariance()
    if kind == "covariance":
        return covariance
    deviations = np.sqrt(np.diagonal(covariance))
    correlation = covariance / deviations / deviations[:, None]
    np.fill_diagonal(correlation, 1.0)
    return np.clip(correlation, -1.0, 1.0)


def bootstrap_fits(
    density: Any, X: TableLike, number: int, rng: np.random.RandomState
) -> Iterator[Any]:
    """Yield a density fitted to rows with random weights: the Bayesian bootstrap."""
    rows = density._training_table(X, None)
    if isinstance(rows, Stream):
        raise ValueError(
            "Rows are weighted at random in memory, where this table is not. Take a sample of its "
            "rows, or impute it by DensityImputer."
        )
    n_rows = len(rows)
    for _ in range(number):
        shares = rng.standard_exponential(n_rows)
        yield clone(density).fit(X, sample_weight=shares * (n_rows / shares.sum()))
