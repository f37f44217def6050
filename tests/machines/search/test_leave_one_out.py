"""Choosing gamma by leave-one-out, against leaving out one by one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone

from absentia import SVR, ConjugateGradientRidge, GaussianDensity, GenRBF, KernelRidge, NuSVR
from absentia.kernels.metric import resolve_gamma
from absentia.machines.search import widths
from absentia.machines.search.kernel_family import KernelFamily
from absentia.machines.search.widths import GAMMA_BOUNDS, least_error, leave_one_out_errors
from absentia.machines.targets import codes_of_classes, codes_of_numbers
from machines.contract import table, targets_of


def beliefs(n=30, seed=0):
    X = table(n, seed)
    return GaussianDensity().fit(X).condition(X)


def chosen_gamma(P, codes, weights=None, kernel=GenRBF):
    family = KernelFamily.of(
        kernel(0.3), P.prior, free_gamma=True, free_mask_weight=False, gamma_bounds=GAMMA_BOUNDS
    )
    return least_error(family, P, codes, weights).gamma


def test_error_is_that_of_leaving_out_one_by_one():
    K = GenRBF(0.4)(beliefs())
    codes = np.random.default_rng(0).normal(size=(30, 2))
    residuals = []
    for i in range(30):
        others = np.arange(30) != i
        coefficients = np.linalg.solve(K[np.ix_(others, others)] + 0.3 * np.eye(29), codes[others])
        residuals.append(codes[i] - K[i, others] @ coefficients)
    expected = np.mean(np.square(residuals))
    np.testing.assert_allclose(leave_one_out_errors(K, codes, [0.3])[0], expected, rtol=1e-10)


def test_weighted_error_is_that_of_leaving_out_one_by_one():
    K = GenRBF(0.4)(beliefs())
    rng = np.random.default_rng(0)
    codes, weights = rng.normal(size=(30, 2)), rng.uniform(0.1, 3, size=30)
    residuals = []
    for i in range(30):
        others = np.arange(30) != i
        W = np.diag(weights[others])
        inner = K[np.ix_(others, others)]
        coefficients = np.linalg.solve(W @ inner + 0.3 * np.eye(29), W @ codes[others])
        residuals.append(codes[i] - K[i, others] @ coefficients)
    expected = np.sum(weights * np.mean(np.square(residuals), axis=1)) / weights.sum()
    np.testing.assert_allclose(
        leave_one_out_errors(K, codes, [0.3], weights)[0], expected, rtol=1e-10
    )


def test_rows_of_no_weight_have_no_say_in_gamma():
    X, y = table(60), targets_of("numbers", 60)
    y[:20] = 1e3 * np.random.default_rng(0).normal(size=20)
    weights = np.repeat([0.0, 1.0], [20, 40])
    machine = KernelRidge(gamma="loo")
    with_them = machine.fit(X, y, sample_weight=weights).kernel_.gamma
    without = machine.fit(X[20:], y[20:]).kernel_.gamma
    np.testing.assert_allclose(with_them, without, rtol=1e-6)


def test_only_the_ratios_of_weights_matter_for_gamma():
    P, codes = beliefs(60), codes_of_numbers(targets_of("numbers", 60))
    ones, sevens, uneven = (
        chosen_gamma(P, codes, weights)
        for weights in (None, np.full(60, 7.0), np.linspace(0.01, 2, 60))
    )
    np.testing.assert_allclose(sevens, ones, rtol=1e-6)
    assert abs(uneven / ones - 1) > 1e-3


def test_a_matrix_that_cannot_be_factored_is_no_candidate():
    assert leave_one_out_errors(-np.eye(3), np.ones((3, 1)), [0.5])[0] == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_the_search_ends_where_a_fine_grid_is_lowest(seed):
    P = beliefs(60, seed)
    codes = codes_of_numbers(np.sin(3 * P.mean()[:, 0]) + 0.1 * P.mean()[:, 1])

    def best_error(gamma):
        K = GenRBF(gamma)(P)
        return leave_one_out_errors(K, codes, np.logspace(-5, 3, 17)).min()

    chosen = chosen_gamma(P, codes)
    finest = min(best_error(0.3 * 4.0**step) for step in np.arange(-4, 4.1, 0.5))
    # The grid of ridges is coarser here than in the search.
    assert best_error(chosen) <= 1.02 * finest


class Counted(GenRBF):
    sizes: ClassVar[list[int]] = []

    def _gram(self, P, Q, n_jobs):
        self.sizes.append(len(P))
        return super()._gram(P, Q, n_jobs)


def test_few_gram_matrices_are_computed():
    Counted.sizes.clear()
    codes = codes_of_classes(targets_of("classes", 60))
    first = chosen_gamma(beliefs(60), codes, kernel=Counted)
    assert len(Counted.sizes) <= 30
    assert set(Counted.sizes) == {60}
    assert first == chosen_gamma(beliefs(60), codes)


def test_many_rows_are_sampled_always_the_same(monkeypatch):
    monkeypatch.setattr(widths, "MOST_ROWS", 40)
    Counted.sizes.clear()
    codes = codes_of_numbers(targets_of("numbers", 60))
    chosen = [chosen_gamma(beliefs(60), codes, kernel=Counted) for _ in range(2)]
    assert set(Counted.sizes) == {40}
    assert chosen[0] == chosen[1]


def test_a_width_of_noise_stays_within_bounds():
    P = beliefs(60)
    codes = codes_of_numbers(np.random.default_rng(3).normal(size=60))
    scale = resolve_gamma("scale", P.prior, "euclidean")
    assert scale / 512.1 <= chosen_gamma(P, codes) <= scale * 512.1


def test_a_better_gamma_is_found_than_the_scale_of_the_data():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, size=(150, 2))
    y = np.sin(4 * X[:, 0])
    X[rng.random(X.shape) < 0.05] = np.nan
    train, test = slice(0, 100), slice(100, None)
    for machine in (SVR(C=10.0), KernelRidge(alpha=0.01)):
        by_scale = machine.fit(X[train], y[train]).score(X[test], y[test])
        chosen = machine.set_params(gamma="loo").fit(X[train], y[train])
        assert chosen.score(X[test], y[test]) > by_scale + 0.2


def test_codes_are_centred_and_weigh_alike():
    two = codes_of_classes(np.array(["a", "b", "b", "b"]))
    assert two.shape == (4, 1)
    three = codes_of_classes([0, 1, 2, 2])
    numbers = codes_of_numbers(np.array([[1.0, 5.0], [3.0, 5.0]]))
    for codes in (two, three, numbers):
        np.testing.assert_allclose(codes.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(two.std(axis=0), 1)
    np.testing.assert_array_equal(numbers, [[-1, 0], [1, 0]])


def smooth_table(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    t = X[:, 0] + X[:, 1] / 2 + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, t


@pytest.mark.parametrize(
    ("machine", "gamma"),
    [
        (KernelRidge(), "loo"),
        (KernelRidge(), "loo-ard"),
        (ConjugateGradientRidge(), "loo"),
        (SVR(), "loo-ard"),
        (NuSVR(), "loo"),
    ],
    ids=repr,
)
def test_the_width_suits_the_ridge_of_the_machine(machine, gamma):
    """A free ridge goes with a far wider kernel, of which a ridge of one leaves nothing."""
    X, t = smooth_table(500)
    scores = [
        clone(machine).set_params(gamma=g).fit(X[:200], t[:200]).score(X[200:], t[200:])
        for g in ("scale", gamma)
    ]
    assert scores[1] > scores[0] - 0.02


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 8.0, 60)])
def test_kernel_ridge_minimises_its_own_leave_one_out_error(weights):
    X, t = smooth_table(60)
    t = t + 3.0  # there is no intercept: the mean is learned, too
    machine = KernelRidge(alpha=0.5, gamma="loo").fit(X, t, weights)
    beliefs, codes = machine.beliefs_, t[:, None]

    def own_error(gamma):
        return leave_one_out_errors(GenRBF(gamma)(beliefs), codes, [0.5], weights)[0]

    chosen = machine.kernel_.gamma
    assert own_error(chosen) < min(own_error(chosen * 2), own_error(chosen / 2))
