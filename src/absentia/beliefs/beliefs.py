"""Beliefs: the rows of a table as distributions.

A complete row is a point. An incomplete row is the density of the data conditioned on the observed
values: a Gaussian, or a mixture of Gaussians, on the missing columns. Rows with known measurement
error have the same form (:meth:`Beliefs.from_moments`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from absentia.beliefs.construction import moments_by_row
from absentia.beliefs.covariances import CovarianceTable
from absentia.beliefs.display import draw_row, html_table
from absentia.beliefs.draws import sampled
from absentia.beliefs.limits import limited, tilted
from absentia.beliefs.prior import Prior, check_codes
from absentia.beliefs.row_mixtures import RowMixtures
from absentia.missingness import Patterns
from absentia.parameters import RandomState
from absentia.tables import FloatArray
from absentia.tables.margins import Margins
from absentia.tables.phrases import counted
from absentia.tables.stored import assume_valid

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs(RowMixtures):
    """An array of distributions, one per row of a table.

    Row ``i`` is the mixture ``sum_c exp(log_weights[i, c]) N(means[i, c], S[group_of_row[i], c])``
    with ``S`` the covariance table, zero on every observed column. Made by ``density.condition(X)``
    or :meth:`from_moments`.

    Attributes
    ----------
    log_weights : ndarray of shape (n_samples, n_components)
        Logarithms of the responsibilities of the components for each row.
    means : ndarray of shape (n_samples, n_components, n_features)
        Observed entries are the observed values, to the last bit, in every component.
    covariances : CovarianceTable
        One covariance for each group of rows and each component.
    group_of_row : ndarray of int, shape (n_samples,)
        Group in the covariance table of each row; its pattern, for beliefs from a density.
    patterns : Patterns
        Which columns are missing, all of them observed for beliefs from moments.
    prior : Prior
        The density; ``gamma="scale"`` and ``metric="mahalanobis"`` use its overall covariance.
    codes : ndarray of int, shape (n_samples, n_category_columns), or None
        Categories of each row, -1 where missing. None for tables of numbers.
    margins : Margins or None
        Curves from the table's numbers to the normal scores that these beliefs describe, if any.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianDensity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=500)
    >>> density = GaussianDensity().fit(X)
    >>> beliefs = density.condition([[1.0, np.nan], [1.0, 2.0]])
    >>> beliefs.mean().round(1)
    array([[1. , 0.9],
           [1. , 2. ]])
    >>> beliefs.covariance().round(1)[0]
    array([[0. , 0. ],
           [0. , 0.2]])
    """

    @classmethod
    def from_moments(
        cls,
        means: ArrayLike,
        covariances: ArrayLike | None = None,
        *,
        variances: ArrayLike | None = None,
        prior: Prior | None = None,
    ) -> Beliefs:
        """Make beliefs from rows that were measured with known error.

        Parameters
        ----------
        means : array-like of shape (n_samples, n_features)
            What was measured.
        covariances : array-like, optional
            The covariance of the errors, of shape (n_samples, n_features, n_features) for one
            matrix per row, or (1, n_features, n_features) or (n_features, n_features) for one
            that all rows share.
        variances : array-like, optional
            Instead of ``covariances``, for independent errors: anything that broadcasts
            to (n_samples, n_features).
        prior : Prior, optional
            By default the Gaussian of all rows. Give new rows the ``prior`` of the training rows.

        Returns
        -------
        Beliefs
            With one component.

        Examples
        --------
        >>> from absentia import Beliefs
        >>> measured = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        >>> Beliefs.from_moments(measured, [[0.1, 0.0], [0.0, 0.2]])
        Beliefs of 3 rows in 2 columns, 1 component, from moments
        >>> Beliefs.from_moments(measured, variances=0.1).covariance()[0]
        array([[0.1, 0. ],
               [0. , 0.1]])
        """
        return assume_valid(cls(*moments_by_row(means, covariances, variances, prior)))

    def validate(self) -> None:
        """Raise ValueError unless all parts, and the indices between them, are consistent."""
        kinds = {"patterns": Patterns, "covariances": CovarianceTable, "prior": Prior}
        for name, kind in kinds.items():
            self._require_type(name, kind)
            getattr(self, name).ensure_valid()
        self._require_array("means", np.float64, (len(self.patterns), None, None))
        n, k, d = self.means.shape
        self._require_array("log_weights", np.float64, (n, k))
        self._require_array("group_of_row", np.intp, (n,))
        table, masks = self.covariances, self.patterns.masks
        self._require_indices("group_of_row", table.n_groups)
        self._require_finite("means")
        if np.isnan(self.log_weights).any() or (self.log_weights == np.inf).any():
            raise ValueError("Beliefs.log_weights must be finite or minus infinity.")
        columns = (masks.shape[1], table.n_features, self.prior.n_features)
        if columns != (d, d, d) or not k or table.n_components != k:
            raise ValueError(
                f"Beliefs about {d} columns with {k} components have patterns, covariances and a "
                f"prior about {columns} columns, and covariances of {table.n_components}."
            )
        # The prior has as many as its weights; arrays without rows may say any number.
        if k not in (1, self.prior.n_components):
            raise ValueError(
                f"Beliefs with {k} components, {self.prior.n_components} in the prior."
            )
        table.validate_groups(self.patterns, self.group_of_row)
        if self.codes is not None or self.prior.probabilities:
            check_codes(self.codes, n, self.prior.n_categories)
        if self.margins is not None:
            self._require_type("margins", Margins)
            self.margins.ensure_valid()
            if len(self.margins.curves) != d:
                raise ValueError(f"Beliefs about {d} columns have margins of other columns.")

    def __repr__(self) -> str:
        conditioned = self.covariances.is_conditioned
        origin = counted(self.covariances.n_groups, "pattern") if conditioned else "from moments"
        return (
            f"Beliefs of {counted(len(self), 'row')} in {counted(self.n_features, 'column')}, "
            f"{counted(self.n_components, 'component')}, {origin}"
        )

    def checked(self, estimator: BaseEstimator) -> Beliefs:
        """Return the beliefs after checking their number of columns against training."""
        # Fewer than the table's where a column was missing in every row of training.
        expected = getattr(estimator, "_n_belief_columns", estimator.n_features_in_)
        if self.n_features != expected:
            raise ValueError(
                f"X has {self.n_features} features, but {type(estimator).__name__} is expecting "
                f"{expected} features as input: these beliefs are about other columns."
            )
        self.ensure_valid()
        return self

    def require_numbers(self, user: str) -> None:
        """Raise ValueError where there are columns of categories, which ``user`` cannot take."""
        if self.codes is not None:
            raise ValueError(
                f"{user} works on numbers, but these beliefs have columns of categories. Make "
                "indicator columns of them: density='gaussian' or 'mixture' in a machine that is "
                "given a frame, or TableEncoder."
            )

    def to_frame(self, index: object = None) -> pd.DataFrame:
        """Return a completed table with error bars, as a pandas frame.

        For each column its mean and, in ``<column> ±``, its standard deviation, which is zero
        where it was observed. These are the columns that kernels see: indicators for words, and
        standardised numbers. :meth:`Density.impute` returns the user's own columns.

        Parameters
        ----------
        index : sequence of length n_samples, optional
            Names of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from absentia import GaussianDensity
        >>> X = pd.DataFrame({"height": [1.7, 1.8, np.nan], "weight": [70.0, 80.0, 75.0]})
        >>> list(GaussianDensity().fit(X).condition(X).to_frame().columns)
        ['height', 'height ±', 'weight', 'weight ±']
        """
        import pandas as pd

        values = np.stack([self.mean(), self.spread()], axis=2).reshape(len(self), -1)
        names = [name for label in self.labels for name in (label, f"{label} ±")]
        return pd.DataFrame(values, columns=names, index=index)

    def _repr_html_(self) -> str:
        return html_table(self)

    def plot(self, row: int, *, max_columns: int = 24) -> Figure:
        """Draw a row: known values as points, missing ones as densities.

        Parameters
        ----------
        row : int
        max_columns : int, default=24
            The most columns to draw, missing ones first.

        Returns
        -------
        matplotlib.figure.Figure
            A panel per column, over the density of all rows in grey.
        """
        return draw_row(self, row, max_columns)

    def sample(self, size: int | None = None, random_state: RandomState = None) -> FloatArray:
        """Draw completed rows.

        Parameters
        ----------
        size : int, optional
            How many tables to draw.
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        ndarray of shape (n_samples, n_features), or (size, n_samples, n_features)
            Observed entries are the same in every draw, to the last bit. Columns of categories
            come after those of numbers, as codes. Censored values are drawn from the Gaussian that
            replaces the truncated one (:meth:`within`), so some draws lie beyond a limit.
        """
        return sampled(self, size, random_state)

    def within(self, lower: ArrayLike, upper: ArrayLike) -> Beliefs:
        """Return the beliefs about the rows given limits on their missing numbers.

        The belief about a censored or rounded value is the truncated Gaussian, replaced by the
        Gaussian of the same mean and covariance. The moments are exact for one such column of a
        row; those of several are approximated by expectation propagation. The variance of a value
        does not fall below about 1e-10 of that without its limits.

        Parameters
        ----------
        lower, upper : array-like that broadcasts to (n_samples, n_features)
            ``-inf`` and ``inf`` where there is no limit; ``lower < upper``.

        Returns
        -------
        Beliefs

        Examples
        --------
        >>> import numpy as np
        >>> from absentia import GaussianDensity
        >>> X = np.random.default_rng(0).normal(size=(1000, 1))
        >>> belief = GaussianDensity().fit(X).condition([[np.nan]]).within(-np.inf, 0.0)
        >>> belief.mean().round(1), belief.spread().round(1)
        (array([[-0.8]]), array([[0.6]]))
        """
        return limited(self, lower, upper)

    def tilted(self, shift: ArrayLike, log_odds: Mapping[int, ArrayLike] | None = None) -> Beliefs:
        """Return the beliefs about missing values that are not missing at random.

        A value that is the more likely to be missing the larger it is has the density of the
        belief times ``exp(g x)``. With ``g = shift / s``, ``s`` the standard deviation of the
        belief, the mean of the value moves by ``shift`` deviations, and values that are correlated
        with it move along. Nothing in the data says how large a shift is.

        Parameters
        ----------
        shift : array-like that broadcasts to (n_samples, n_features)
            In deviations of each missing value; observed values stay. Apply limits afterwards
            (:meth:`within`): the tilt of a truncated Gaussian is the truncated tilt.
        log_odds : dict of int to array-like, optional
            For a column of categories, by its position among them: what is added to the
            logarithm of the odds of each category where it is missing.

        Returns
        -------
        Beliefs

        Examples
        --------
        >>> import numpy as np
        >>> from absentia import GaussianDensity
        >>> X = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 1000)
        >>> beliefs = GaussianDensity().fit(X).condition([[np.nan, np.nan], [0.0, np.nan]])
        >>> beliefs.tilted([0.0, 1.0]).mean().round(0)
        array([[1., 1.],
               [0., 1.]])
        """
        return tilted(self, shift, log_odds)
