"""Forward selection of columns by the loss of rows, and the class of a product by counting."""

from __future__ import annotations

from itertools import product

import numpy as np


def forward_selection(losses, X, costs, n_columns):
    """Return the drop of the mean loss that each column brings when its turn comes.

    ``losses`` maps a table to the loss of each of its rows. Rows without a column say nothing about
    it. Per cost, a drop is never larger than the one before; columns that raise the loss end it.
    """
    chosen, rates = [], [np.inf]
    for _ in range(n_columns):
        known = np.where(np.isin(np.arange(X.shape[1]), chosen), X, np.nan)
        drops = {}
        for j in set(range(X.shape[1])) - set(chosen):
            trial = known.copy()
            trial[:, j] = X[:, j]
            have = ~np.isnan(X[:, j])
            drops[j] = (losses(known) - losses(trial))[have].mean() / costs[j]
        best = max(drops, key=drops.get)
        if drops[best] <= 0:
            break
        chosen.append(best)
        rates.append(min(rates[-1], drops[best]))
    worth = np.zeros(X.shape[1])
    for j, rate in zip(chosen, rates[1:], strict=True):
        worth[j] = rate * costs[j]
    return worth


def counted_probabilities(X, pair=(1, 3)):
    """Return the probabilities of ``x_a x_b <= 0`` and ``> 0`` for rows of signs with holes."""
    found = []
    for row in X:
        options = [(-1.0, 1.0) if np.isnan(value) else (value,) for value in row]
        hits = [full[pair[0]] * full[pair[1]] > 0 for full in product(*options)]
        found.append([1 - np.mean(hits), np.mean(hits)])
    return np.array(found)
