"""Quasi-random draws of beliefs, and nodes on single columns."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import Beliefs, GaussianDensity, MixtureDensity
from absentia.beliefs.column_trials import column_trials, number_columns, trapezoidal
from absentia.beliefs.draws import DrawPoints, draw_rows, map_draws
from absentia.tables import Table

DENSITIES = [GaussianDensity(), MixtureDensity(n_components=2, n_init=1, random_state=0)]


def example(n=60, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 4 * rng.integers(0, 2, size=(n, 1))
    holes = np.where(rng.random((n, d)) < 0.4, np.nan, X)
    holes[0], holes[1] = X[0], np.nan
    return holes


@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: type(density).__name__)
def test_draws_have_the_moments_of_the_beliefs(density):
    holes = example()
    beliefs = density.fit(holes).condition(holes)
    draws = draw_rows(beliefs, DrawPoints.sobol(4096, 4, seed=0))
    observed = ~np.isnan(holes)
    assert (draws.transpose(0, 2, 1)[observed] == holes[observed][:, None]).all()
    spread = np.sqrt(np.diagonal(density.prior_.covariance()))
    # Errors of quasi-random averages, a fraction of 1/sqrt(4096) = 0.016.
    np.testing.assert_allclose((draws.mean(axis=1) - beliefs.mean()) / spread, 0.0, atol=0.01)
    centred = (draws - draws.mean(axis=1, keepdims=True)) / spread
    found = np.einsum("nmi,nmj->nij", centred, centred) / draws.shape[1]
    wanted = beliefs.covariance() / np.outer(spread, spread)
    np.testing.assert_allclose(found, wanted, atol=0.02)


def test_components_are_drawn_in_proportion():
    holes = example()
    beliefs = DENSITIES[1].fit(holes).condition(holes)
    points = DrawPoints.sobol(64, 4, seed=0)
    weights = beliefs.weights()
    counts = (points.component[None] > weights[:, :1]).mean(axis=1)
    # A Sobol sequence has one point in each of 64 equal intervals.
    assert np.abs(counts - weights[:, 1]).max() <= 1 / 64


@pytest.mark.parametrize("n_draws", [2, 3, 7, 64, 100])
def test_any_number_of_points_is_finite_and_the_first_are_the_same(n_draws):
    points = DrawPoints.sobol(n_draws, 5, seed=1)
    assert len(points) == n_draws
    assert np.isfinite(points.normals).all()
    more = DrawPoints.sobol(128, 5, seed=1).first(n_draws)
    np.testing.assert_array_equal(points.normals, more.normals)


def test_the_error_falls_faster_than_that_of_random_draws():
    beliefs = Beliefs.from_moments(np.zeros((1, 3)), np.eye(3)[None])

    def error(n_draws):
        truth = np.exp(-1 / 4) * np.cos(0.0)
        weights = np.full(3, 1 / np.sqrt(6))
        averages = [
            np.cos(draw_rows(beliefs, DrawPoints.sobol(n_draws, 3, seed))[0] @ weights).mean()
            for seed in range(20)
        ]
        return np.sqrt(np.mean((np.array(averages) - truth) ** 2))

    # E cos(w'x) = exp(-|w|^2/2). Sixteen times the points: random draws would gain a factor of 4.
    assert error(1024) < error(64) / 8


def test_map_draws_covers_every_row_in_order(monkeypatch):
    holes = example()
    density = GaussianDensity().fit(holes)
    points = DrawPoints.sobol(8, 4, seed=0)
    whole = draw_rows(density.condition(holes), points)
    monkeypatch.setattr(
        "absentia.beliefs.draws.bounded_slices",
        lambda n, floats: [slice(i, min(i + 7, n)) for i in range(0, n, 7)],
    )
    for n_jobs in (None, 2):
        parts = map_draws(lambda draws, _: draws, density.condition, holes, points, n_jobs)
        np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("density", DENSITIES, ids=lambda density: type(density).__name__)
def test_nodes_of_a_column_have_its_moments(density):
    holes = example()
    beliefs = density.fit(holes).condition(holes)
    columns = number_columns(["a", "b", "c", "d"])
    table = Table(holes)
    trials = column_trials(beliefs, table, columns, np.isnan(holes), trapezoidal(0))
    np.testing.assert_allclose(trials.expected(np.ones(len(trials.weights))), 1.0, rtol=1e-12)
    lines = np.arange(len(trials.table))
    nodes = trials.table.array[lines, np.repeat(trials.column, trials.counts)]
    mean = trials.expected(nodes)
    variance = trials.expected((nodes - np.repeat(mean, trials.counts)) ** 2)
    np.testing.assert_allclose(mean, beliefs.mean()[trials.row, trials.column], rtol=1e-10)
    wanted = beliefs.covariance()[trials.row, trials.column, trials.column]
    # Nodes end at five deviations, beyond which lie 2e-6 of the variance.
    np.testing.assert_allclose(variance, wanted, rtol=1e-5)
    first = trials.table.array[trials.starts]
    # Everything but the value of the column is the row as it was.
    mask = np.isnan(first)
    rest = np.isnan(holes[trials.row])
    rest[np.arange(len(trials.row)), trials.column] = False
    np.testing.assert_array_equal(mask, rest)


@pytest.mark.parametrize("n_columns", [1, 5, 16])
def test_matched_points_have_the_moments_of_a_normal_distribution(n_columns):
    points = DrawPoints.sobol(32, n_columns, seed=3).matched()
    np.testing.assert_allclose(points.normals.mean(axis=0), 0.0, atol=1e-14)
    covariance = points.normals.T @ points.normals / 32
    np.testing.assert_allclose(covariance, np.eye(n_columns), atol=1e-13)


@pytest.mark.parametrize(("n_draws", "n_columns"), [(8, 5), (1, 3), (4, 0), (32, 300)])
def test_few_points_are_matched_column_by_column(n_draws, n_columns):
    points = DrawPoints.sobol(n_draws, n_columns, seed=3).matched()
    points.validate()
    assert points.normals.shape == (n_draws, n_columns)
    if n_draws > 1 and n_columns:
        np.testing.assert_allclose(points.normals.std(axis=0), 1.0)
