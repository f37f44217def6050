"""Beliefs as tables: completed values with their spread, for data frames and notebooks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Self

import numpy as np

from absentia.beliefs.priors.covariances import CovarianceTable
from absentia.tables import FloatArray, MemoryRows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ShownBeliefs"]

_SHOWN_ROWS, _SHOWN_COLUMNS = 8, 20


class ShownBeliefs(MemoryRows):
    """How beliefs are named, printed and shown: as a line, a frame, a table of a notebook."""

    covariances: CovarianceTable

    @property
    @abstractmethod
    def n_components(self) -> int:
        """The number of components of each row's mixture."""

    @abstractmethod
    def mean(self) -> FloatArray:
        """Return the mean of each row, shape (n_samples, n_features)."""

    @abstractmethod
    def spread(self) -> FloatArray:
        """Return the standard deviation of each value, shape (n_samples, n_features)."""

    @property
    def labels(self) -> list[str]:
        """What to call the columns: the names that the density was fitted with, if any."""
        given: list[str] | None = self.__dict__.get("_labels")
        return super().labels if given is None else given

    def labelled(self, names: Sequence[str] | None) -> Self:
        """Give the columns names for pictures and frames; returns the same beliefs.

        Names are no part of what is believed: they are not written to model files.
        """
        self.__dict__["_labels"] = None if names is None else [str(name) for name in names]
        return self

    def __repr__(self) -> str:
        n, d = len(self), self.n_features
        k = self.n_components
        n_patterns = self.covariances.n_groups
        origin = (
            f"{n_patterns} pattern{'s' * (n_patterns != 1)}"
            if self.covariances.is_conditioned
            else "from moments"
        )
        return (
            f"Beliefs of {n} row{'s' * (n != 1)} in {d} column{'s' * (d != 1)}, "
            f"{k} component{'s' * (k != 1)}, {origin}"
        )

    def to_frame(self, index: object = None) -> pd.DataFrame:
        """Return a completed table with error bars, as a pandas frame.

        For each column its mean and, in ``<column> ±``, the standard deviation of what it could
        be: zero where it was observed. Of a frame with columns of words these are the columns
        that kernels see, indicators for words and numbers in units of their deviation;
        :meth:`Density.impute` and :meth:`Density.quantiles` have the user's own.

        Parameters
        ----------
        index : sequence of length n_samples, optional
            Names of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> from absentia import GaussianDensity
        >>> rng = np.random.default_rng(0)
        >>> X = pd.DataFrame(rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=500))
        >>> X.columns = ["height", "weight"]
        >>> density = GaussianDensity().fit(X)
        >>> X.loc[0, "weight"] = np.nan
        >>> list(density.condition(X).to_frame().columns)
        ['height', 'height ±', 'weight', 'weight ±']
        """
        import pandas as pd

        values = np.stack([self.mean(), self.spread()], axis=2).reshape(len(self), -1)
        names = [name for label in self.labels for name in (label, f"{label} ±")]
        return pd.DataFrame(values, columns=names, index=index)

    def _repr_html_(self) -> str:
        """Return the first rows as a table for notebooks: a missing value as mean ± spread.

        Every name is escaped.
        """
        few = self[:_SHOWN_ROWS]
        wide = few.n_features > _SHOWN_COLUMNS
        head = "".join(f"<th>{escape(name)}</th>" for name in few.labels[:_SHOWN_COLUMNS])
        lines = []
        for i, (means, spreads) in enumerate(zip(few.mean(), few.spread(), strict=True)):
            cells = "".join(
                f"<td><b>{mean:.4g} ± {spread:.2g}</b></td>" if spread else f"<td>{mean:.4g}</td>"
                for mean, spread in list(zip(means, spreads, strict=True))[:_SHOWN_COLUMNS]
            )
            lines.append(f"<tr><th>{i}</th>{cells}{'<td>…</td>' if wide else ''}</tr>")
        more = "<p>…</p>" if len(self) > len(few) else ""
        return (
            f"<div><p>{escape(repr(self))}; what is uncertain in bold, mean ± standard deviation"
            f"</p><table><thead><tr><th></th>{head}{'<th>…</th>' if wide else ''}</tr></thead>"
            f"<tbody>{''.join(lines)}</tbody></table>{more}</div>"
        )
