"""Acquisition step by step: what is measured, what it costs, when it stops."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import AcquisitionPolicy, LogisticRegression, measure_next


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    y = (2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=240) > 0).astype(int)
    return LogisticRegression(C=5.0).fit(X[:200], y[:200]), X[200:], y[200:]


def test_each_step_is_the_best_of_measure_next(world):
    machine, truth, _ = world
    trace = AcquisitionPolicy(machine).run(np.full_like(truth, np.nan), truth)
    table = np.full_like(truth, np.nan)
    for step, columns in enumerate(trace.measured):
        found = measure_next(machine, table)
        np.testing.assert_array_equal(columns, found.best_column)
        np.testing.assert_allclose(trace.answers[step], machine.predict_proba(table))
        rows = np.flatnonzero(columns >= 0)
        np.testing.assert_allclose(trace.gain[step, rows], found.gain[rows, columns[rows]])
        table[rows, columns[rows]] = truth[rows, columns[rows]]
    np.testing.assert_array_equal(trace.table, table)
    assert len(trace) == 4


def test_the_loss_falls_faster_than_in_a_random_order(world):
    machine, truth, y = world
    trace = AcquisitionPolicy(machine).run(np.full_like(truth, np.nan), truth)
    rng = np.random.default_rng(0)
    table = np.full_like(truth, np.nan)
    random = []
    for order in rng.permuted(np.tile(np.arange(4), (len(y), 1)), axis=1).T:
        random.append(-np.log(machine.predict_proba(table)[np.arange(len(y)), y]).mean())
        table[np.arange(len(y)), order] = truth[np.arange(len(y)), order]
    ours = [-np.log(p[np.arange(len(y)), y]).mean() for p in trace.answers]
    assert ours[0] == pytest.approx(random[0])
    assert ours[1] < random[1] - 0.05
    assert np.mean(ours[:4]) < np.mean(random) - 0.05


def test_budget_counts_what_was_spent(world):
    machine, truth, _ = world
    costs = [3.0, 2.0, 1.0, 1.0]
    trace = AcquisitionPolicy(machine, costs=costs, budget=4.0).run(
        np.full_like(truth, np.nan), truth
    )
    assert (trace.spent <= 4.0).all()
    assert (np.diff(trace.spent, axis=0) >= 0).all()
    frame = trace.to_frame()
    paid = frame.groupby("row")["column"].agg(lambda names: sum(costs[int(n[1])] for n in names))
    np.testing.assert_allclose(paid, trace.spent[-1])
    assert frame.columns.tolist() == ["row", "step", "column", "value", "gain", "spent"]


def test_what_cannot_be_measured_is_left_out(world):
    machine, truth, _ = world
    start = np.full_like(truth, np.nan)
    gaps = truth.copy()
    gaps[:, 0] = np.nan
    known = AcquisitionPolicy(machine).run(start, gaps)
    assert not (known.measured == 0).any()
    asked = []

    def oracle(row, column):
        asked.append((row, column))
        return gaps[row, column]

    found_out = AcquisitionPolicy(machine).run(start, oracle)
    np.testing.assert_array_equal(found_out.table, known.table)
    assert len(asked) == len(set(asked))  # nobody is asked twice


def test_stops_where_nothing_pays(world):
    machine, truth, _ = world
    start = np.full_like(truth, np.nan)
    trace = AcquisitionPolicy(machine, stop_below=10.0).run(start, truth)
    assert len(trace) == 0
    assert trace.answers.shape == (1, 40, 2)
    assert trace.to_frame().empty
    some = AcquisitionPolicy(machine, stop_below=0.02).run(start, truth)
    assert (some.measured[-1] < 0).any()
    assert "values measured" in repr(some)
    assert len(AcquisitionPolicy(machine, max_steps=1).run(start, truth)) == 1
