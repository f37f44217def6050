"""What holds for every table: no NaN, no infinity, symmetry, eigenvalues, predictions.

``ABSENTIA_FUZZ`` says how many tables to try (500 by default; ``make fuzz`` tries more). A failure
names its seed: ``examine(seed)`` repeats it.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import (
    SVC,
    ExpectedDistanceRBF,
    ExpectedLinear,
    ExpectedRBF,
    FourierFeatures,
    GammaRBF,
    GaussianDensity,
    GenRBF,
    KernelRidge,
    MixtureDensity,
    Nystroem,
)
from absentia.kernels.polynomial import ExpectedPolynomial
from fuzz.generated import examine_all, make

N_TABLES = int(os.environ.get("ABSENTIA_FUZZ", "500"))
PER_TEST = 100

DENSITIES = [
    GaussianDensity(max_iter=30),
    GaussianDensity(shrinkage=0.0, max_iter=30),
    GaussianDensity(shrinkage=0.0, reg_covar=1e-9, max_iter=30),
    GaussianDensity(shrinkage=0.5, accelerate=False, max_iter=15),
    MixtureDensity(2, n_init=1, max_iter=10, random_state=0),
]
KERNELS = [
    GenRBF(),
    GenRBF(0.3),
    GenRBF(metric="mahalanobis"),
    ExpectedRBF(),
    ExpectedRBF(1e-3),
    ExpectedDistanceRBF(),
    ExpectedDistanceRBF(metric="mahalanobis"),
    GammaRBF(),
    ExpectedLinear(),
    ExpectedPolynomial(2),
]
LEARNERS = [
    SVC(),
    KernelRidge(),
    Nystroem(n_components=5, random_state=0),
    FourierFeatures(n_components=8, random_state=0),
]
# Tables that nothing can be done with are refused by name.
REFUSALS = (
    "Measure it in another unit",  # a column of 1e150
    "widths of the kernel",  # a fixed gamma for a column of 1e100
    "needs at least one row per component",  # two components for a single row with values
)


@pytest.mark.parametrize("first", range(0, N_TABLES, PER_TEST))
def test_every_table(first):
    examine_all(examine, range(first, min(first + PER_TEST, N_TABLES)))


def examine(seed):
    """Fit, compare and learn from one table; raise where something does not hold."""
    rng, given, values = make(seed)
    density, kernel = rng.choice(DENSITIES), rng.choice(KERNELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Left out of the density", UserWarning)
        warnings.filterwarnings("ignore", "One value makes up nearly all", UserWarning)
        warnings.filterwarnings("ignore", "The range of column", UserWarning)
        # Tables of one row, many times over.
        warnings.filterwarnings("ignore", "The kernel has the same value", UserWarning)
        try:
            beliefs = examine_density(density, given, values)
            examine_kernel(kernel, beliefs)
            if seed % 4 == 0:
                examine_learner(rng.choice(LEARNERS), given, len(values), rng)
        except ValueError as error:
            if not any(sentence in str(error) for sentence in REFUSALS):
                raise


def examine_density(density, given, values):
    density = density.fit(given)
    values = values[:, density.columns_]
    assert np.isfinite(density.prior_.means).all()
    assert np.isfinite(density.prior_.covariances).all()
    assert (np.diff(density.log_likelihoods_) >= 0).all()
    assert np.isfinite(density.score_samples(given)).all()
    beliefs = density.condition(given)
    seen = ~np.isnan(values)
    assert np.array_equal(beliefs.mean()[seen], values[seen])
    assert np.isfinite(beliefs.mean()).all()
    spread = np.diagonal(beliefs.covariance(), axis1=1, axis2=2)
    assert np.isfinite(spread).all()
    assert (spread >= 0).all()
    assert not spread[seen].any()
    assert np.isfinite(beliefs.sample(random_state=0)).all()
    return beliefs


def examine_kernel(kernel, beliefs):
    K = kernel(beliefs)
    size = np.abs(K).max()
    assert np.isfinite(K).all()
    assert np.array_equal(K, K.T)
    assert np.array_equal(np.diagonal(K), kernel.diag(beliefs))
    if isinstance(kernel, GenRBF | ExpectedRBF | ExpectedDistanceRBF | GammaRBF):
        assert K.min() >= 0
        assert size <= 1 + 1e-8
    if isinstance(kernel, GenRBF):
        assert (np.diagonal(K) == 1).all()
    if kernel.positive_definite:
        # Rounding grows with the inflation of the density, a millionth of which it keeps.
        assert size == 0 or np.linalg.eigvalsh(K / size)[0] > -1e-7 * len(K)
    some = beliefs[: max(1, len(beliefs) // 2)]
    beside = kernel(some, beliefs)
    off_diagonal = ~np.eye(*beside.shape, dtype=bool)
    error = np.abs(beside - K[: len(some)])[off_diagonal]
    assert error.max(initial=0) <= 1e-7 * size


def examine_learner(learner, given, n, rng):
    y = np.arange(n) % 2
    if hasattr(learner, "predict"):
        outputs = learner.fit(given, y).predict(given)
    else:
        outputs = learner.fit(given).transform(given)
    assert len(outputs) == n
    assert np.isfinite(outputs).all()
