"""ESD and EGK, against moments of the squared distance by Isserlis' theorem and by draws."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from absentia import Beliefs, ExpectedDistanceRBF, ExpectedRBF, GammaRBF, MixtureDensity
from kernels.contract import HasATextbookForm, IgnoresTranslation, KernelContract
from kernels.examples import METRIC, beliefs_about, example, random_prior, rows_of
from oracles import kernels as oracles

GAMMA = 0.4


class _OfDistance(HasATextbookForm, IgnoresTranslation, KernelContract):
    def oracle_diag(self, p):
        return 1.0

    def complete(self, X, Y):
        return rbf_kernel(X, Y, gamma=GAMMA)


class TestExpectedDistanceRBF(_OfDistance):
    def make(self):
        return ExpectedDistanceRBF(GAMMA)

    def oracle(self, p, q):
        return oracles.esd(p.mixture, q.mixture, GAMMA)


class TestExpectedDistanceRBFOfTwoDraws(TestExpectedDistanceRBF):
    def make(self):
        return ExpectedDistanceRBF(GAMMA, diagonal="independent")

    def oracle_diag(self, p):
        return self.oracle(p, p)


class TestGammaRBF(_OfDistance):
    independent = False

    def make(self):
        return GammaRBF(GAMMA)

    def oracle(self, p, q):
        return oracles.egk(p.mixture, q.mixture, GAMMA, independent=self.independent)


class TestGammaRBFOfTwoDraws(TestGammaRBF):
    def make(self):
        return GammaRBF(GAMMA, diagonal="independent")

    def oracle_diag(self, p):
        return self.oracle(p, p)


class TestGammaRBFWithIndependentColumns(TestGammaRBFOfTwoDraws):
    independent = True

    def make(self):
        return GammaRBF(GAMMA, variance="independent", diagonal="independent")


@pytest.mark.parametrize("family", ["gaussian", "mixture", "moments"])
@pytest.mark.parametrize("metric", ["mahalanobis", "own"])
def test_a_metric_is_the_oracle_after_a_map(metric, family):
    P = example(family)
    M = METRIC if metric == "own" else np.linalg.inv(P.prior.covariance())
    root = np.linalg.cholesky(M).T
    rows = rows_of(P)
    for make, oracle in ((ExpectedDistanceRBF, oracles.esd), (GammaRBF, oracles.egk)):
        kernel = make(GAMMA, M if metric == "own" else metric, diagonal="independent")
        expected = [[oracle(p.mixture, q.mixture, GAMMA, root) for q in rows] for p in rows]
        np.testing.assert_allclose(kernel(P), expected, rtol=1e-10)


@pytest.mark.parametrize("family", ["gaussian", "mixture"])
def test_the_oracle_has_the_moments_of_many_draws(family):
    rows = rows_of(example(family))
    rng = np.random.default_rng(0)
    for i, j in [(1, 6), (3, 5), (7, 2)]:
        p, q = rows[i].mixture, rows[j].mixture
        x, y = oracles.draws(p, 50_000, rng), oracles.draws(q, 50_000, rng)
        z = ((x - y) ** 2).sum(axis=1)
        mean, variance = oracles.squared_distance_moments(p, q)
        assert abs(oracles.z_score(z, mean)) < 5
        assert abs(oracles.z_score((z - mean) ** 2, variance)) < 5


def test_scale_in_the_mahalanobis_metric_is_one_over_the_number_of_columns():
    resolved = GammaRBF(metric="mahalanobis").resolve(example("mixture").prior)
    assert resolved.gamma == pytest.approx(1 / 3)


def test_the_expected_kernel_is_above_esd_and_egk_is_the_better_approximation():
    P = example("gaussian")
    expected = ExpectedRBF(GAMMA)(P)
    esd = ExpectedDistanceRBF(GAMMA, diagonal="independent")(P)
    egk = GammaRBF(GAMMA, diagonal="independent")(P)
    assert (esd <= expected + 1e-12).all()  # Jensen's inequality
    assert np.abs(egk - expected).max() < np.abs(esd - expected).max() / 4


def test_the_natural_diagonal_of_the_gamma_kernel_is_indefinite():
    # The reason why its default diagonal is 1.
    rng = np.random.default_rng(0)
    smallest = {"same": 0.0, "independent": 0.0}
    for _ in range(20):
        X = rng.normal(size=(40, 3))
        X[rng.uniform(size=X.shape) < 0.5] = np.nan
        P = beliefs_about(random_prior(3, 1, rng), X)
        for diagonal in smallest:
            K = GammaRBF(1.0, diagonal=diagonal)(P)
            smallest[diagonal] = min(smallest[diagonal], np.linalg.eigvalsh(K)[0])
    assert smallest["independent"] < -1e-4
    assert smallest["same"] > -1e-6


def test_the_gamma_kernel_is_indefinite_even_with_a_unit_diagonal():
    # Certain rows close together leave no room for a row that is not quite consistent with them.
    assert not GammaRBF().positive_definite
    rng = np.random.default_rng(0)
    smallest = 0.0
    for _ in range(10):
        means = rng.uniform(-2, 2, size=(45, 1))
        variances = np.where(np.arange(45) < 30, 0, 10 ** rng.uniform(-3, 1.5, size=45))
        K = GammaRBF(1.0)(Beliefs.from_moments(means, variances[:, None]))
        smallest = min(smallest, np.linalg.eigvalsh(K)[0])
    assert smallest < -1e-9


@pytest.mark.parametrize("k", [1, 2])
def test_a_matrix_of_many_blocks_is_the_same(k, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(23, 4))
    X[rng.uniform(size=X.shape) < 0.4] = np.nan
    P = beliefs_about(random_prior(4, k, rng), X)
    whole = GammaRBF(GAMMA)(P)
    monkeypatch.setattr("absentia.kernels.belief_moments._LARGEST_TILE", 5)
    np.testing.assert_allclose(GammaRBF(GAMMA)(P), whole, rtol=1e-12)


def test_certain_and_identical_rows_are_one():
    P = Beliefs.from_moments([[1.0, 2.0]] * 3, np.zeros((2, 2)))
    np.testing.assert_array_equal(GammaRBF(1e8)(P), np.ones((3, 3)))


def test_an_unknown_variance_is_refused():
    with pytest.raises(ValueError, match="variance must be 'exact' or 'independent'"):
        GammaRBF(variance="paper")(example("gaussian"))


def test_egk_of_a_mixture_with_a_gross_outlier_is_its_formula():
    """The variance of the distance is a difference of numbers near 1e36: in sixty digits."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 2))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0] = 1e9, 0.0
    P = MixtureDensity(2, n_init=1, random_state=0).fit(X).condition(X)
    spread = P.covariances.dense(P.group_of_row)
    weights = P.weights()
    K = GammaRBF(gamma=1.0)(P)
    with localcontext() as context:
        context.prec = 60
        for i, j in combinations(range(len(P)), 2):
            total = first = second = Decimal(0)
            for a, b in product(range(2), repeat=2):
                share = Decimal(weights[i, a]) * Decimal(weights[j, b])
                d = [
                    Decimal(x) - Decimal(y)
                    for x, y in zip(P.means[i, a], P.means[j, b], strict=True)
                ]
                V = np.vectorize(Decimal)(spread[i, a]) + np.vectorize(Decimal)(spread[j, b])
                mean = sum(x * x for x in d) + V.trace()
                variance = 2 * (V * V.T).sum() + 4 * (np.outer(d, d) * V).sum()
                total += share
                first += share * mean
                second += share * (variance + mean**2)
            mean = first / total
            r = (second / total - mean**2) / mean
            wanted = (-mean * ((1 + r).ln() / r if r > Decimal("1e-30") else 1)).exp()
            assert abs(float(wanted) - K[i, j]) < 1e-13
