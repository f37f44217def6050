"""The derivatives by all widths of columns, against one Gram matrix of the same kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from absentia import ExpectedRBF, GenRBF
from lab.speed.gram import GAMMA, beliefs_of
from lab.speed.ratio import Row, best_seconds

NOTE = "width gradients: kernel.gradient in all widths, theirs is kernel(P), one gamma"


def rows() -> Iterator[Row]:
    """Yield the comparisons: one component and three, few holes and many."""
    for make in (ExpectedRBF, GenRBF):
        for rate, n_components, bar, aim in (
            (0.3, 1, 5.0, 3.0),
            (0.6, 1, 5.0, 3.0),
            (0.3, 3, None, None),
        ):
            _, P = beliefs_of(500, 20, rate, n_components=n_components)
            weights = np.random.default_rng(0).normal(size=(500, 500))
            own = make(np.full(20, GAMMA))
            gradient = partial(own.gradient, P, weights, K=own(P))
            yield Row(
                f"{make.__name__}, n=500, d=20, {rate:.0%} missing, {n_components} component(s)",
                best_seconds(gradient, 15),
                best_seconds(partial(make(GAMMA), P), 15),
                bar,
                aim,
                NOTE,
            )
