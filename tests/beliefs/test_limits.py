"""Limits of missing values against numerical integration and draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, truncnorm

from absentia import SVC, GaussianDensity, GenRBF, MixtureDensity
from absentia.beliefs import truncated_normal
from absentia.beliefs.limits import truncated_to
from absentia.beliefs.truncated_normal import truncated_moments
from oracles.truncated import drawn_within, moments, tail_moments


@pytest.mark.parametrize(
    ("a", "b"),
    [(-np.inf, 0.5), (0.5, np.inf), (-1, 2), (-2, -1.5), (3, 4), (8, np.inf), (-np.inf, -8)],
)
def test_truncated_moments(a, b):
    log_mass, mean, variance = truncated_moments(np.array([float(a)]), np.array([float(b)]))
    exact = truncnorm(a, b)
    # SciPy's own variance in the far tail is good to some 1e-9.
    np.testing.assert_allclose(mean, exact.mean(), rtol=1e-8)
    np.testing.assert_allclose(variance, exact.var(), rtol=1e-6)
    mass = quad(norm.pdf, max(a, -40), min(b, 40), epsabs=0)[0]
    np.testing.assert_allclose(log_mass, np.log(mass), rtol=1e-6)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (30.0, np.inf),
        (1e3, np.inf),
        (-np.inf, -1e6),
        (1e9, np.inf),
        (5.0, 5.0002),
        (1e4, 1e4 + 1e-4),
        (-1e-3, 1e-2),
        (-3.0, 1e9),
    ],
)
def test_far_and_narrow_intervals_keep_their_digits(a, b):
    log_mass, mean, variance = (part[0] for part in truncated_moments(np.array([a]), np.array([b])))
    expected_log_mass, nearer_end, offset, expected_variance = tail_moments(a, b)
    assert log_mass == pytest.approx(expected_log_mass, rel=1e-12, abs=1e-12)
    assert variance == pytest.approx(expected_variance, rel=1e-10)
    # The mean is a number near the end of the interval: it has the digits that are left beside it.
    assert mean - nearer_end == pytest.approx(offset, rel=1e-10, abs=4 * np.spacing(abs(mean)))


def test_an_interval_that_rounding_has_closed_is_a_value():
    a = np.array([1.0, 1e9])
    log_mass, mean, variance = truncated_moments(a, a)
    assert np.isfinite(log_mass).all()
    np.testing.assert_allclose(mean, a, rtol=1e-15)
    assert ((variance > 0) & (variance < 1e-10)).all()


COVARIANCE = np.array([[1.0, 0.6], [0.6, 2.0]])


def narrowed(lower, upper, mean=(0.3, -0.2), covariance=COVARIANCE):
    means, lower, upper = (np.array(part, dtype=float) for part in (mean, lower, upper))
    found = truncated_to(means[None, None], covariance[None, None], lower[None], upper[None])
    return [part[0, 0] for part in found]


def test_one_limit_is_exact():
    lower, upper = np.array([-np.inf, 0.5]), np.array([np.inf, 1.5])
    mass, mean, spread = moments(np.array([0.3, -0.2]), COVARIANCE, lower, upper)
    log_mass, found_mean, found_spread = narrowed(lower, upper)
    # As accurate as the integration.
    np.testing.assert_allclose(log_mass, np.log(mass), atol=1e-8)
    np.testing.assert_allclose(found_mean, mean, atol=1e-8)
    np.testing.assert_allclose(found_spread, spread, atol=1e-8)


@pytest.mark.parametrize(
    ("lower", "upper"), [([0.0, 0.5], [np.inf, 1.5]), ([-np.inf, 0.5], [0.0, np.inf])]
)
def test_two_limits_are_close_and_the_moments_are_derivatives_of_the_mass(lower, upper):
    start = np.array([0.3, -0.2])
    mass, mean, spread = moments(start, COVARIANCE, np.array(lower), np.array(upper))
    log_mass, found_mean, found_spread = narrowed(lower, upper)
    # Expectation propagation: within a hundredth of a standard deviation here.
    assert log_mass == pytest.approx(np.log(mass), abs=0.01)
    np.testing.assert_allclose(found_mean, mean, atol=0.02)
    np.testing.assert_allclose(found_spread, spread, atol=0.02)
    step = 1e-5 * np.eye(2)
    slopes = [
        (narrowed(lower, upper, start + s)[0] - narrowed(lower, upper, start - s)[0]) / 2e-5
        for s in step
    ]
    np.testing.assert_allclose(slopes, np.linalg.solve(COVARIANCE, found_mean - start), atol=1e-6)


@pytest.mark.parametrize("q", [3, 6])
def test_many_limits_are_close_to_draws(q):
    rng = np.random.default_rng(q)
    root = rng.normal(size=(q + 1, q + 1)) / np.sqrt(q)
    covariance = root @ root.T + 0.3 * np.eye(q + 1)
    mean = 0.3 * rng.normal(size=q + 1)
    lower, upper = np.full(q + 1, -np.inf), np.full(q + 1, np.inf)
    lower[:q], upper[1:q] = -0.5, 1.0  # the last column follows the others
    log_mass, found_mean, found_spread = narrowed(lower, upper, mean, covariance)
    share, drawn_mean, drawn_spread = drawn_within(mean, covariance, lower, upper, 400_000)
    # Monte Carlo is good to 0.005 here; the rest is the error of expectation propagation.
    assert log_mass == pytest.approx(np.log(share), abs=0.03)
    np.testing.assert_allclose(found_mean, drawn_mean, atol=0.02)
    np.testing.assert_allclose(found_spread, drawn_spread, atol=0.03)


def test_rows_with_different_numbers_of_limits_do_not_disturb_one_another():
    lower = np.array([[0.0, 0.5], [-np.inf, 0.5], [0.0, -np.inf]])
    upper = np.array([[np.inf, 1.5], [np.inf, np.inf], [0.1, np.inf]])
    means = np.tile([0.3, -0.2], (3, 1))
    together = truncated_to(means[:, None], np.tile(COVARIANCE, (3, 1, 1, 1)), lower, upper)
    for i in range(3):
        for whole, alone in zip(together, narrowed(lower[i], upper[i]), strict=True):
            np.testing.assert_allclose(whole[i, 0], alone, rtol=1e-10, atol=1e-12)


def test_limits_on_nearly_equal_columns_and_narrow_intervals_stay_sound():
    covariance = np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])
    for lower, upper in [([0.0, 0.0], [1e-7, np.inf]), ([5.0, -np.inf], [np.inf, 6.0])]:
        log_mass, mean, spread = narrowed(lower, upper, covariance=covariance)
        assert np.isfinite(log_mass)
        assert ((mean >= lower) & (mean <= upper)).all()
        assert np.linalg.eigvalsh(spread).min() > -1e-12


def example(n_components=1):
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 0, 1], [[1, 0.8, 0.3], [0.8, 1, 0.5], [0.3, 0.5, 2]], size=300)
    density = GaussianDensity() if n_components == 1 else MixtureDensity(2, random_state=0)
    return density.fit(X)


@pytest.mark.parametrize("n_components", [1, 2])
def test_one_limit_has_the_moments_of_draws_that_keep_it(n_components):
    beliefs = example(n_components).condition([[np.nan, np.nan, 0.5]])
    limited = beliefs.within([-np.inf, 0.3, -np.inf], [np.inf, 1.5, np.inf])
    draws = beliefs.sample(200_000, random_state=0)[:, 0]
    kept = draws[(draws[:, 1] > 0.3) & (draws[:, 1] < 1.5)]
    error = kept.std(axis=0) / np.sqrt(len(kept))
    assert (np.abs(limited.mean()[0] - kept.mean(axis=0)) <= 5 * error + 1e-12).all()
    # Of an estimated variance: about its own size times sqrt(2 / n).
    np.testing.assert_allclose(
        limited.covariance()[0], np.cov(kept.T), atol=5 * np.sqrt(2 / len(kept))
    )
    limited.validate()
    assert np.isfinite(GenRBF()(limited)).all()


def test_observed_values_and_other_rows_are_untouched():
    density = example()
    beliefs = density.condition([[0.0, 1.0, np.nan], [0.0, np.nan, 1.0]])
    limited = beliefs.within(-np.inf, [[0.5, 0.5, np.inf], [np.inf, np.inf, np.inf]])
    np.testing.assert_array_equal(limited.means, beliefs.means)


def test_limits_that_make_no_sense_are_refused():
    beliefs = example().condition([[0.0, 1.0, np.nan]])
    with pytest.raises(ValueError, match="below its upper limit"):
        beliefs.within(1.0, 0.0)
    with pytest.raises(ValueError, match="broadcast"):
        beliefs.within([1.0, 2.0], np.inf)


def test_limits_written_in_a_frame_are_used():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    lead = rng.gamma(2.0, size=200)
    y = (lead > 1.5).astype(int)
    text = pd.Series([f"{value:.2f}" if value > 0.5 else "<0.5" for value in lead])
    frame = pd.DataFrame({"lead": text, "noise": rng.normal(size=200)})
    machine = SVC().fit(frame, y)
    assert "are limits" in repr(machine.columns_)
    density = GaussianDensity().fit(frame)
    plan = density.plan_
    low = density.condition(frame).mean()[:, 0] * plan.scales[0] + plan.centres[0]
    assert (low[(text == "<0.5").to_numpy()] <= 0.5).all()
    assert machine.score(frame, y) > 0.9


@pytest.mark.parametrize("far", [1e7, 1e9, 1e12, 1e20, 1e100])
@pytest.mark.parametrize("end", [2.0, np.inf])
def test_limits_beyond_the_last_digit_have_finite_moments(far, end):
    # Mills' ratio: the excess over the limit is exponential with rate ``far``.
    log_mass, mean, variance = truncated_moments(np.array([far]), np.array([far * end]))
    np.testing.assert_allclose(log_mass, -0.5 * far**2, rtol=1e-10)
    np.testing.assert_allclose(mean, far + 1 / far, rtol=1e-15)
    np.testing.assert_allclose(variance, far**-2.0, rtol=1e-6)
    mirrored = truncated_moments(np.array([-far * end]), np.array([-far]))
    np.testing.assert_array_equal(mirrored[1], -mean)


@pytest.mark.parametrize("far", [10.0, 1e3, 1e5, 1e7, 1e9])
@pytest.mark.parametrize("length", [np.inf, 0.1])
def test_several_limits_are_no_likelier_than_one_of_them(far, length):
    both = narrowed([far, far], [far * (1 + length), far * (1 + length)])[0]
    one = narrowed([far, -np.inf], [far * (1 + length), np.inf])[0]
    assert both <= one


def test_short_long_and_far_intervals_side_by_side():
    """Each is computed in the way that keeps its digits, whatever the others are."""
    lower = np.array([-1.0, 0.3, 12.0, 0.0, -np.inf, 0.5])
    upper = np.array([2.0, 0.3001, 14.0, np.inf, -11.0, 9.0])
    together = truncated_moments(lower, upper)
    for i in range(len(lower)):
        alone = truncated_moments(lower[i : i + 1], upper[i : i + 1])
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_allclose(whole[i], part[0], rtol=1e-14)


def test_no_interval_has_more_variance_than_the_line():
    lower = -np.linspace(7.0, 40.0, 2000)
    log_mass, _, variance = truncated_moments(lower, np.linspace(8.0, 30.0, 2000))
    assert (variance <= 1.0).all()
    assert variance.min() > 1 - 1e-8
    assert (log_mass <= 0.0).all()


@pytest.mark.parametrize(("q", "far", "most"), [(2, 0, 7), (2, 200, 3), (5, 0, 10), (5, 200, 4)])
def test_limits_of_several_columns_settle_in_few_sweeps(monkeypatch, q, far, most):
    """Near limits and far ones: the starting point and the steps are those of the theory."""
    rng = np.random.default_rng(q)
    R = 0.6 * np.eye(q) + 0.4
    lower = far * (1 + rng.random((40, 1, q))) if far else rng.normal(size=(40, 1, q))
    calls, sweep = [], truncated_normal._sweep

    def counted(*arguments):
        calls.append(len(arguments[0]))
        return sweep(*arguments)

    monkeypatch.setattr(truncated_normal, "_sweep", counted)
    truncated_normal.propagated(np.tile(R, (40, 1, 1, 1)), lower, np.full(lower.shape, np.inf))
    assert 2 <= len(calls) <= most


@pytest.mark.parametrize("correlation", [0.9, 1 - 1e-6, 1.0])
def test_limits_of_nearly_equal_columns_are_no_likelier_than_the_least_likely(correlation):
    """Rounding made them likelier by a millionth."""
    rng = np.random.default_rng(0)
    lower = rng.normal(size=(2000, 1, 2)) * rng.choice([1, 3, 8, 15], size=(2000, 1, 1))
    width = rng.exponential(size=lower.shape) * rng.choice([0.01, 1, 5], size=(2000, 1, 1))
    upper = np.where(rng.random(lower.shape) < 0.4, np.inf, lower + width)
    R = (1 - correlation) * np.eye(2) + correlation
    found = truncated_normal.propagated(np.tile(R, (2000, 1, 1, 1)), lower, upper).log_masses
    assert (found <= truncated_moments(lower, upper)[0].min(axis=-1)).all()
