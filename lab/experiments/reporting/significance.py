"""Significant differences between methods: Friedman's test, Nemenyi's comparison.

The tests are those of SciPy and scikit-posthocs; here a table of scores is brought into the form
that they expect, and their results into one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    import pandas as pd

#: A method with scores in a smaller share of the blocks is not compared.
_ENOUGH = 0.8


@dataclass(frozen=True, eq=False)
class Comparison:
    """The methods by rank, and which of them differ significantly.

    Attributes
    ----------
    ranks : pandas Series
        Mean rank of each method over the blocks, best first; 1 is best.
    p_value : float
        Of Friedman's test that all methods are alike.
    pairwise : pandas DataFrame
        p-values of Nemenyi's test, method by method.
    critical_difference : float
        Mean ranks that differ by less do not differ significantly at ``level``.
    n_blocks : int
    level : float
    left_out : tuple of str
        Methods that had no score in too many blocks.
    """

    ranks: pd.DataFrame
    p_value: float
    pairwise: pd.DataFrame
    critical_difference: float
    n_blocks: int
    level: float
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"Friedman's test over {self.n_blocks} blocks: p = {self.p_value:.3g}; "
            f"critical difference {self.critical_difference:.3f} at {self.level:g}"
        ]
        lines += [f"  {rank:5.2f}  {name}" for name, rank in self.ranks.items()]
        return "\n".join(lines)

    def as_good_as_best(self) -> list[str]:
        """Return the methods that do not differ significantly from the best, including the best."""
        best = self.ranks.index[0]
        return [
            name
            for name in self.ranks.index
            if name == best or self.pairwise.loc[best, name] >= self.level
        ]


def paired_table(scores: pd.DataFrame, metric: str, blocks: Sequence[str]) -> pd.DataFrame:
    """Return a frame of blocks by methods: the mean of a metric over what is not in the block."""
    chosen = scores[scores["metric"] == metric]
    keys = [column for column in blocks if column in chosen.columns]
    return chosen.pivot_table(index=keys, columns="method", values="value", aggfunc="mean")


def means_by(scores: pd.DataFrame, metric: str, rows: Sequence[str]) -> pd.DataFrame:
    """Return a frame of rows by methods: the mean over rates, each rate with the same weight.

    Methods that have scores in less than four fifths of the rows and rates are left out: their
    mean would be one over easier or harder cases than that of the others.
    """
    table = paired_table(scores, metric, [*rows, "rate"])
    table = table.loc[:, table.notna().mean() >= _ENOUGH]
    return table.groupby(level=list(rows)).mean()


def ranks_by_rate(
    scores: pd.DataFrame,
    metric: str,
    blocks: Sequence[str],
    methods: Sequence[str],
    *,
    lower_is_better: bool = False,
) -> pd.DataFrame:
    """Return a frame of rates by methods: mean ranks over the blocks of each rate."""
    keys = [*(column for column in blocks if column != "rate"), "rate"]
    table = paired_table(scores, metric, keys)[list(methods)].dropna()
    ranks = table.rank(axis=1, ascending=lower_is_better)
    return ranks.groupby(level="rate").mean()


def compare_ranks(
    table: pd.DataFrame, *, lower_is_better: bool = False, level: float = 0.05
) -> Comparison | None:
    """Rank methods within each block and test the mean ranks.

    Parameters
    ----------
    table : pandas DataFrame of blocks by methods
        As of :func:`paired_table`. Methods without a score in more than one in five blocks are left
        out; of the rest, blocks that lack a score are.
    lower_is_better : bool, default=False
    level : float, default=0.05

    Returns
    -------
    Comparison, or None where there are fewer than three methods or two blocks to compare.

    Notes
    -----
    Blocks that share a data set are not independent; the papers test them as if they were, and so
    does this. Read small p-values with that in mind.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {"a": [0.9, 0.8, 0.95, 0.9], "b": [0.7, 0.7, 0.8, 0.6], "c": [0.5, 0.6, 0.7, 0.5]}
    ... )
    >>> comparison = compare_ranks(table)
    >>> comparison.ranks.to_dict(), round(comparison.p_value, 3)
    ({'a': 1.0, 'b': 2.0, 'c': 3.0}, 0.018)
    """
    from scikit_posthocs import posthoc_nemenyi_friedman

    known = table.notna().mean()
    left_out = tuple(known.index[known < _ENOUGH])
    table = table.loc[:, known >= _ENOUGH].dropna()
    n_blocks, k = table.shape
    if k < 3 or n_blocks < 2:
        return None
    values = table.to_numpy(dtype=float)
    order = values if lower_is_better else -values
    ranks = stats.rankdata(order, axis=1).mean(axis=0)
    if np.ptp(order, axis=1).max() == 0:
        p_value = 1.0
    else:
        p_value = float(stats.friedmanchisquare(*order.T).pvalue)
    import pandas as pd

    pairwise = posthoc_nemenyi_friedman(pd.DataFrame(order, columns=table.columns))
    quantile = stats.studentized_range.ppf(1 - level, k, np.inf) / np.sqrt(2)
    difference = float(quantile * np.sqrt(k * (k + 1) / (6 * n_blocks)))
    series = pd.Series(ranks, index=table.columns).sort_values(kind="stable")
    return Comparison(series, p_value, pairwise, difference, n_blocks, level, left_out)


def summary_table(
    scores: pd.DataFrame, metric: str, rows: Sequence[str] = ("dataset",)
) -> pd.DataFrame:
    """Return mean and standard deviation of a metric, by rows and methods.

    The standard deviation is over samples of holes (or repetitions), after averaging the folds of
    each, as in the tables of the papers.

    Returns
    -------
    pandas DataFrame
        With the columns of ``rows``, ``method``, ``mean``, ``sd``, ``n``.
    """
    chosen = scores[scores["metric"] == metric]
    by_sample = chosen.groupby([*rows, "method", "sample"])["value"].mean().reset_index()
    grouped = by_sample.groupby([*rows, "method"])["value"]
    return grouped.agg(mean="mean", sd=lambda v: float(np.std(v)), n="count").reset_index()
