"""Beliefs to try kernels on: every pattern, Gaussians and mixtures, and rows known by moments."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from absentia import Beliefs
from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition

METRIC = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]])
FAMILIES = ("gaussian", "mixture", "moments")


class Row(NamedTuple):
    """One row as the oracles see it."""

    mixture: list  # of (weight, mean, covariance)
    missing: np.ndarray


def rows_of(beliefs):
    """Take beliefs apart into what the oracles read."""
    dense = beliefs.covariances.dense()[beliefs.group_of_row]
    weights = np.exp(beliefs.log_weights)
    return [
        Row(
            list(zip(weights[i], beliefs.means[i], dense[i], strict=True)),
            beliefs.patterns.mask[i],
        )
        for i in range(len(beliefs))
    ]


def random_covariance(d, rng):
    root = rng.normal(size=(d, d + 2))
    return root @ root.T / d


def random_prior(d, k, rng):
    return Prior(
        weights=rng.dirichlet(np.full(k, 5.0)),
        means=rng.normal(size=(k, d)),
        covariances=np.stack([random_covariance(d, rng) for _ in range(k)]),
    )


def beliefs_about(prior, X):
    return condition(prior, X)[0]


def table_with_all_patterns(d, copies, rng):
    masks = np.array(list(product([False, True], repeat=d)) * copies)
    X = rng.normal(size=masks.shape)
    X[masks] = np.nan
    return X


def example(family, seed=0):
    """All patterns of three columns, complete and wholly missing rows among them."""
    rng = np.random.default_rng(seed)
    if family == "moments":
        covariances = np.stack([random_covariance(3, rng) for _ in range(4)])
        covariances[0] = 0
        return Beliefs.from_moments(rng.normal(size=(4, 3)), covariances)
    prior = random_prior(3, 1 if family == "gaussian" else 2, rng)
    return beliefs_about(prior, table_with_all_patterns(3, 2 if family == "gaussian" else 1, rng))


class Case(NamedTuple):
    """A table with holes, and a prior to condition it on."""

    prior: Prior
    X: np.ndarray
    rng: np.random.Generator

    @property
    def beliefs(self):
        return beliefs_about(self.prior, self.X)


@st.composite
def cases(draw, max_rows=9, max_columns=5):
    """Tables of any shape, missing rate and number of components; the seed does the rest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns))
    k = draw(st.sampled_from([1, 1, 2, 3]))
    rate = draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    X = rng.normal(size=(n, d))
    X[rng.uniform(size=(n, d)) < rate] = np.nan
    return Case(random_prior(d, k, rng), X, rng)
