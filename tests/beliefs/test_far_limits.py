"""Several limits far outside a density, against integration around the most likely point."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import GaussianDensity, bounded
from absentia.beliefs.limits import truncated_to
from absentia.beliefs.truncated_normal import nearest_within
from oracles.truncated import far_moments
from oracles.truncated import nearest_within as searched

INF = np.inf


def alike(correlation, q):
    return (1 - correlation) * np.eye(q) + correlation


UNITS = np.array([1e-6, 1.0, 1e6])
CASES = {
    "equal limits": (alike(0.3, 2), [1, 1], [INF, INF]),
    "negative correlation": (alike(-0.6, 2), [1, 2], [INF, INF]),
    "one follows from the other": (alike(0.8, 2), [1, 0.5], [INF, INF]),
    "one just follows": (alike(0.8, 2), [1, 0.8], [INF, INF]),
    "nearly the same column": (alike(0.999, 2), [1, 1], [INF, INF]),
    "nearly the same, unequal": (alike(0.999, 2), [1, 0.9995], [INF, INF]),
    "above and below": (alike(0.5, 2), [1, -INF], [INF, -1]),
    "intervals": (alike(0.5, 2), [1, 1], [1.5, 1.5]),
    "three": (alike(0.3, 3), [1, 1, 1], [INF] * 3),
    "three, one of them below": (alike(0.6, 3), [1, -INF, 0.3], [INF, -0.5, INF]),
    "three nearly the same": (alike(0.999, 3), [1, 1, 1], [INF] * 3),
    "three units": (alike(0.5, 3) * np.outer(UNITS, UNITS), UNITS, [INF] * 3),
}


@pytest.mark.parametrize("far", [1e2, 1e3, 1e4, 1e6])
@pytest.mark.parametrize("name", CASES)
def test_far_limits_agree_with_integration(name, far):
    S, lower, upper = (np.asarray(part, dtype=float) for part in CASES[name])
    lower, upper = far * lower, far * upper
    log_mass, point, offset, spread = far_moments(S, lower, upper, n_nodes=60)
    found = truncated_to(np.zeros((1, 1, len(S))), S[None, None], lower[None], upper[None])
    found_mass, found_mean, found_spread = (part[0, 0] for part in found)
    deviations = np.sqrt(np.diag(spread))
    # Expectation propagation is exact in the limit of steep slopes. Nearer it is off by the
    # curvature over the square of the slopes: columns that are nearly the same have least slope.
    near = far <= 100 or (far <= 1000 and "same" in name)
    assert found_mass == pytest.approx(log_mass, rel=1e-6 if near else 1e-12)
    # A mean has the digits of a number of the size of its limit.
    tolerance = (0.01 if near else 1e-6) * deviations + 4 * np.spacing(np.abs(point))
    assert (np.abs(found_mean - point - offset) <= tolerance).all()
    error = (found_spread - spread) / np.outer(deviations, deviations)
    np.testing.assert_allclose(error, 0, atol=0.05 if near else 1e-6)


def test_columns_without_limits_follow_those_with_far_ones():
    S = np.array([[1.0, 0.3, 0.5], [0.3, 2.0, -0.4], [0.5, -0.4, 1.5]])
    lower = np.array([1e5, 1e5, -INF])
    _, mean, spread = truncated_to(
        np.zeros((1, 1, 3)), S[None, None], lower[None], np.full((1, 3), INF)
    )
    gain = np.linalg.solve(S[:2, :2], S[:2, 2])
    np.testing.assert_allclose(mean[0, 0, 2], gain @ mean[0, 0, :2], rtol=1e-12)
    left = S[2, 2] - gain @ S[:2, 2]
    np.testing.assert_allclose(spread[0, 0, 2, 2], left, rtol=1e-8)
    np.testing.assert_allclose(spread[0, 0, 2, :2], spread[0, 0, :2, :2] @ gain, rtol=1e-8)


def test_scores_of_rows_with_far_limits():
    X = np.exp(np.random.default_rng(0).normal(size=(40, 3)))
    density = GaussianDensity().fit(X)
    row = bounded(np.array([[np.nan, np.nan, 2.0]]), lower=5e4)
    S, mean = density.covariance_, density.mean_
    seen = S[:2, 2] / S[2, 2]
    centre = mean[:2] + seen * (2.0 - mean[2])
    given = S[:2, :2] - np.outer(seen, S[:2, 2])
    expected = far_moments(given, 5e4 - centre, np.full(2, INF))[0]
    expected -= 0.5 * ((2.0 - mean[2]) ** 2 / S[2, 2] + np.log(2 * np.pi * S[2, 2]))
    np.testing.assert_allclose(density.score_samples(row), expected, rtol=1e-10)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_nearest_points_are_those_of_a_search_through_all_faces(q):
    rng = np.random.default_rng(q)
    for _ in range(20):
        root = rng.normal(size=(q, q + 1))
        S = root @ root.T
        R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
        lower = np.where(rng.random(q) < 0.3, -INF, rng.normal(scale=5, size=q))
        upper = np.where(rng.random(q) < 0.3, INF, lower + rng.exponential(size=q))
        upper = np.where(np.isinf(lower), rng.normal(scale=5, size=q), upper)
        point, pull = searched(R, lower, upper)
        found, multipliers = nearest_within(R[None], lower[None], upper[None])
        np.testing.assert_allclose(found[0], point, atol=1e-8)
        np.testing.assert_allclose(multipliers[0], pull, rtol=1e-6, atol=1e-8)


def test_limits_that_contradict_a_singular_covariance_stay_sound():
    S = np.ones((1, 1, 2, 2))
    for far in (20.0, 1e5, 1e9):
        lower, upper = np.array([[far, -INF]]), np.array([[INF, -far]])
        log_mass, mean, spread = truncated_to(np.zeros((1, 1, 2)), S, lower, upper)
        assert np.isfinite(log_mass).all()
        assert (log_mass < 0).all()
        assert ((mean >= lower) & (mean <= upper)).all()
        assert (np.diagonal(spread[0, 0]) >= 0).all()


@pytest.mark.parametrize("q", [4, 10])
def test_nearest_points_of_many_rows_at_once(q):
    """Rows need different numbers of steps, and some let columns go again."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(300, q, q + 1))
    S = root @ root.swapaxes(1, 2)
    deviations = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
    R = S / deviations[:, :, None] / deviations[:, None, :]
    lower = rng.normal(scale=5, size=(300, q))
    lower[rng.random(lower.shape) < 0.3] = -INF
    upper = np.where(rng.random(lower.shape) < 0.5, INF, np.fmax(lower, -9.0) + 1.0)
    points, pulls = nearest_within(R, lower, upper)
    alone = [nearest_within(R[i : i + 1], lower[i : i + 1], upper[i : i + 1]) for i in range(300)]
    np.testing.assert_allclose(points, [point[0] for point, _ in alone], rtol=1e-9, atol=1e-12)
    # Optimal: within the limits, R times the pulls, and pulled by no column away from its limit.
    np.testing.assert_allclose((R @ pulls[..., None])[..., 0], points, atol=1e-9)
    assert (points >= lower - 1e-9).all()
    assert (points <= upper + 1e-9).all()
    assert (np.abs(points - lower)[pulls > 1e-9] < 1e-9).all()
    assert (np.abs(points - upper)[pulls < -1e-9] < 1e-9).all()


def test_nearest_points_of_nearly_dependent_columns_are_found():
    """Some searches go round in circles with steps of another length."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(4000, 8, 3))
    S = root @ root.swapaxes(1, 2) + 1e-6 * np.eye(8)
    deviations = np.sqrt(np.diagonal(S, axis1=1, axis2=2))
    R = S / deviations[:, :, None] / deviations[:, None, :]
    lower = rng.normal(size=(4000, 8)) * 10.0 ** rng.integers(0, 6, size=(4000, 8))
    upper = lower + 10.0 ** rng.integers(0, 6, size=(4000, 8))
    points, pulls = nearest_within(R, lower, upper)
    sizes = np.maximum(np.abs(lower), np.abs(upper)).max(axis=1, keepdims=True)
    assert points.any(axis=1).all()
    assert ((points - lower) / sizes > -1e-9).all()
    assert ((points - upper) / sizes < 1e-9).all()
    assert ((np.abs(points - lower) / sizes)[pulls > 1e-6 * sizes] < 1e-9).all()
    assert ((np.abs(points - upper) / sizes)[pulls < -1e-6 * sizes] < 1e-9).all()


def test_one_of_two_equal_columns_is_pulled():
    """Rounding is not taken for a limit that the other one violates."""
    R, c = np.array([[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]), 1e5 / 3
    points, pulls = nearest_within(R, np.array([[c, c, -INF]]), np.full((1, 3), INF))
    np.testing.assert_allclose(points, [[c, c, 0.0]])
    np.testing.assert_allclose(pulls, [[c, 0.0, 0.0]])
    # Limits in the wrong order have no point.
    none, no_pull = nearest_within(R, np.array([[3.0, -INF, -INF]]), np.array([[2.0, INF, INF]]))
    assert not none.any()
    assert not no_pull.any()


def test_one_multiplier_that_is_too_steep_leaves_its_row_where_it_was():
    """Limits that contradict each other on equal columns, beside a column that agrees with all."""
    R = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    lower, upper = np.array([[20.0, -INF, 20.0]]), np.array([[INF, -20.0, INF]])
    points, pulls = nearest_within(R[None], lower, upper)
    np.testing.assert_array_equal(points, np.zeros((1, 3)))
    np.testing.assert_array_equal(pulls, np.zeros((1, 3)))
