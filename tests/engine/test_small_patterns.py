"""The NumPy twins of compiled loops give the same numbers, whatever a pattern misses."""

import numpy as np
import pytest

from absentia.beliefs import Prior
from absentia.beliefs.conditioning import condition, group_rows
from absentia.engine.principal import (
    add_principal,
    conditional_covariances,
    invert_principal,
    log_determinants_and_lengths,
    multiply_principal,
    principal_log_determinants,
)
from absentia.missingness import Patterns


def _matrix(rng, d):
    root = rng.normal(size=(d, d))
    return root @ root.T / d + 0.2 * np.eye(d)


def _masks(rng, n, d, rate):
    mask = rng.random((n, d)) < rate
    mask[0], mask[1] = True, False
    return mask


def _blocks(rng, rate):
    X = rng.normal(size=(40, 5))
    X[_masks(rng, 40, 5, rate)] = np.nan
    return [(block, X[block.rows]) for block in group_rows(Patterns.of_mask(np.isnan(X)))]


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.9])
def test_steps_on_the_rows_of_patterns(rate):
    rng = np.random.default_rng(0)
    A, mean = _matrix(rng, 5), rng.normal(size=5)
    for block, X in _blocks(rng, rate):
        shape = block.members, block.sizes, block.starts
        results = []
        for road in ("compiled", "plain"):
            centred, solved = np.nan_to_num(X - mean), np.zeros(X.shape)
            n_patterns, most = block.members.shape
            inverses = np.full((n_patterns, most, most), np.nan)
            log_determinants, quadratics = np.empty(n_patterns), np.empty(len(X))
            total = np.ones((5, 5))
            getattr(invert_principal, road)(A, *shape[:2], inverses, log_determinants)
            getattr(multiply_principal, road)(inverses, *shape, centred, solved, quadratics)
            weights = np.arange(1.0, n_patterns + 1)
            getattr(add_principal, road)(inverses, *shape[:2], weights, total)
            results.append((solved, quadratics, log_determinants, total))
        for ours, twins in zip(*results, strict=True):
            np.testing.assert_allclose(twins, ours, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_missing", [0, 1, 4, 5, 9, 10])
@pytest.mark.parametrize("n_rows", [1, 3])
def test_rows_of_one_pattern_are_conditioned_as_among_others(n_missing, n_rows):
    # Loops of NumPy over all patterns at once, or LAPACK for one: up to rounding.
    rng = np.random.default_rng(n_missing)
    prior = Prior(np.ones(1), rng.normal(size=(1, 10)), _matrix(rng, 10)[None])
    X = rng.normal(size=(n_rows, 10))
    X[:, rng.permutation(10)[:n_missing]] = np.nan
    others = rng.normal(size=(6, 10))
    others[rng.random(others.shape) < 0.5] = np.nan
    alone, scores = condition(prior, X)
    among, all_scores = condition(prior, np.vstack([X, others]))
    np.testing.assert_allclose(alone.mean(), among.mean()[:n_rows], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(alone.covariance(), among.covariance()[:n_rows], atol=1e-12)
    np.testing.assert_allclose(scores, all_scores[:n_rows], rtol=1e-12)


def test_a_twin_reads_nothing_beyond_the_size_of_a_pattern():
    members, sizes = np.array([[1, 0], [0, 1]]), np.array([1, 2])
    inverses = np.full((2, 2, 2), np.nan)
    inverses[0, 0, 0], inverses[1] = 2.0, np.eye(2)
    solved, quadratics, total = np.zeros((2, 3)), np.empty(2), np.zeros((3, 3))
    V = np.array([[np.nan, 3.0, np.nan], [1.0, 2.0, np.nan]])
    multiply_principal.plain(inverses, members, sizes, np.array([0, 1, 2]), V, solved, quadratics)
    add_principal.plain(inverses, members, sizes, np.array([1.0, 10.0]), total)
    np.testing.assert_array_equal(solved, [[0, 6, 0], [1, 2, 0]])
    np.testing.assert_array_equal(quadratics, [18, 5])
    np.testing.assert_array_equal(total, np.diag([10.0, 12.0, 0.0]))


@pytest.mark.parametrize("rate", [0.2, 0.8])
def test_covariances_and_determinants_of_patterns(rate):
    rng = np.random.default_rng(1)
    S = _matrix(rng, 6)
    G, masks = np.linalg.inv(S), _masks(rng, 30, 6, rate)
    out = [np.zeros((30, 6, 6)) for _ in range(2)]
    assert conditional_covariances.compiled(S, G, masks, out[0])
    assert conditional_covariances.plain(S, G, masks, out[1])
    np.testing.assert_allclose(out[1], out[0], rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(out[1], out[1].transpose(0, 2, 1))
    np.testing.assert_allclose(
        principal_log_determinants.plain(S, masks),
        principal_log_determinants.compiled(S, masks),
        rtol=1e-10,
        atol=1e-13,
    )
    matrices = np.stack([_matrix(rng, 6) for _ in range(4)])
    arguments = matrices, rng.integers(4, size=20), rng.normal(size=(20, 6))
    for ours, twins in zip(
        log_determinants_and_lengths.compiled(*arguments),
        log_determinants_and_lengths.plain(*arguments),
        strict=True,
    ):
        np.testing.assert_allclose(twins, ours, rtol=1e-10)


def test_twins_report_what_is_not_positive_definite_alike():
    S = np.diag([1.0, -1.0, 2.0])
    masks = np.array([[True, False, True], [False, True, False], [False, False, False]])
    expected = principal_log_determinants.compiled(S, masks)
    np.testing.assert_array_equal(np.isnan(expected), [False, True, False])
    np.testing.assert_allclose(principal_log_determinants.plain(S, masks), expected, rtol=1e-12)
    out = np.zeros((3, 3, 3))
    assert not conditional_covariances.compiled(S, S, masks, out)
    assert not conditional_covariances.plain(S, S, masks, out)
