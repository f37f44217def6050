"""The kernels other than the RBFs, against scikit-learn's ``rbf_kernel`` of the complete rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sklearn.metrics.pairwise import rbf_kernel

from absentia import (
    ExpectedDistanceRBF,
    ExpectedLinear,
    ExpectedPolynomial,
    GammaRBF,
    MaskKernel,
)
from lab.speed.gram import GAMMA, beliefs_of
from lab.speed.ratio import Row, best_seconds

NOTE = "moment_kernels: theirs is sklearn.metrics.pairwise.rbf_kernel on the complete rows"
KERNELS = {
    "linear": ExpectedLinear(),
    "degree 2": ExpectedPolynomial(2, GAMMA),
    "degree 3": ExpectedPolynomial(3, GAMMA),
    "ESD": ExpectedDistanceRBF(GAMMA),
    "EGK": GammaRBF(GAMMA),
    "EGK, independent columns": GammaRBF(GAMMA, variance="independent"),
    "mask": MaskKernel(),
}


def rows() -> Iterator[Row]:
    """Time each kernel on tables of many patterns, of few, and under a mixture."""
    for name, n, n_patterns, n_components in (
        ("n=2000, d=34, 30 %", 2000, None, 1),
        ("n=2000, d=34, 20 patterns", 2000, 20, 1),
        ("n=1000, d=34, mixture of 3", 1000, None, 3),
    ):
        complete, P = beliefs_of(n, 34, 0.3, n_patterns, n_components)
        theirs = best_seconds(partial(rbf_kernel, complete, gamma=GAMMA))
        for label, kernel in KERNELS.items():
            ours = best_seconds(partial(kernel, P), repeats=3)
            yield Row(f"{label}: {name}", ours, theirs, note=NOTE)
