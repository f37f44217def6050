"""The program of the authors of genRBF beside the library, where a built checkout is at hand.

``ABSENTIA_GENRBF`` names a checkout of ``lstruski/genRBF-missing`` whose extension has been built
as its README says. It is no part of this repository, and nothing else needs it.
"""

import os

import numpy as np
import pytest

from absentia import GenRBF
from absentia.densities import GaussianDensity

CHECKOUT = os.environ.get("ABSENTIA_GENRBF")
GAMMA = 0.5


@pytest.mark.skipif(not CHECKOUT, reason="ABSENTIA_GENRBF names no checkout of genRBF-missing")
def test_the_program_subtracts_where_the_equation_adds(monkeypatch):
    monkeypatch.syspath_prepend(CHECKOUT)
    program = pytest.importorskip("genRBF_source.RBFkernel", exc_type=ImportError)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    X[rng.random(X.shape) < 0.4] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    density = GaussianDensity().fit(X)
    beliefs = density.condition(X)
    ours = GenRBF(GAMMA, metric="mahalanobis")(beliefs)

    # It fills in the rows that it is given.
    kernel = program.RBFkernel(beliefs.prior.mean(), beliefs.prior.covariance(), X.copy())
    rows = np.arange(len(X))
    theirs = np.asarray(kernel.kernelTrain(GAMMA, rows, kernel.S, kernel.completeDataId))

    missing = np.isnan(X)
    complete = ~missing.any(axis=1)
    same = (missing[:, None] == missing).all(axis=2) | complete[:, None] | complete
    assert same.sum() > 2 * len(X)
    difference = np.abs(theirs - ours)
    assert difference[same].max() < 4e-15
    assert difference[~same].max() > 0.3
    assert np.linalg.eigvalsh(theirs)[0] < -0.2
    assert np.linalg.eigvalsh(ours)[0] > -1e-10

    # With w'Rw = -log(ours / Z) / gamma - (x_i - x_j)'G(x_i - x_j), the minus turns one exponent
    # into the other: the product of both is Z² exp(-2 gamma (x_i - x_j)'G(x_i - x_j)).
    filled, G = density.impute(X), np.linalg.inv(beliefs.prior.covariance())
    apart = filled[:, None] - filled
    plain = np.einsum("ijk,kl,ijl->ij", apart, G, apart)
    log_Z = log_factors(missing, G)
    with np.errstate(divide="ignore"):
        product = np.log(theirs) + np.log(ours)
    np.testing.assert_allclose(
        product[~same], (2 * log_Z - 2 * GAMMA * plain)[~same], rtol=0, atol=1e-9
    )


def log_factors(missing, G):
    """Log of the factor before the exponential of Eq. (D.25), for each pair of rows."""
    logs = np.zeros((len(missing), len(missing)))
    for i, j in np.ndindex(logs.shape):
        Ji, Jj = np.flatnonzero(missing[i]), np.flatnonzero(missing[j])
        U = np.union1d(Ji, Jj)
        Q = np.eye(len(U))
        for J in (Ji, Jj):
            if len(J):
                Q[np.isin(U, J)] += 2 * GAMMA * np.linalg.solve(G[np.ix_(J, J)], G[np.ix_(J, U)])
        size = (len(Ji) + len(Jj)) / 4
        logs[i, j] = size * np.log(1 + 4 * GAMMA) - np.linalg.slogdet(Q)[1] / 2
    return logs
