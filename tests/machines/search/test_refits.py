"""Models without some of the rows: against refits of the rows that are left."""

from __future__ import annotations

import numpy as np
import pytest

from absentia.machines.losses import log_probabilities_of, probabilities_of
from absentia.machines.search.left_out import Refits
from oracles.left_out import logistic_without, ridge_without

RNG = np.random.default_rng(0)
N = 40
Z = RNG.normal(size=(N, 3))
WEIGHTS = RNG.uniform(0.5, 2.0, N)
#: Fewer rows than features, more of them, and none.
SETS = [np.arange(2), np.arange(5, 14), np.r_[np.arange(5, 14), np.arange(20, 30)], np.arange(0)]


def scores(coefficients, rows):
    return Z[rows] @ coefficients[:-1] + coefficients[-1]


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_ridge_regressions_are_exact(alpha):
    y = Z[:, 0] + RNG.normal(size=N) + 7.0
    found = Refits(Z, y, WEIGHTS, None, SETS).fit(alpha)
    for rows, coefficients in zip(SETS, found, strict=True):
        expected = ridge_without(Z, y, WEIGHTS, alpha, rows)
        np.testing.assert_allclose(scores(coefficients, rows)[:, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regressions_agree_with_refits(n_classes):
    y = np.digitize(Z[:, 0] + 0.5 * RNG.normal(size=N), [-0.3, 0.6][: n_classes - 1])
    exact, quick = (Refits(Z, y, WEIGHTS, n_classes, SETS) for _ in range(2))
    exact.tol *= 1e-4
    start, rough = None, None
    for C in (0.05, 1.0, 20.0):
        start, rough = exact.fit(C, start), quick.fit(C, rough)
        losses, near = (
            -log_probabilities_of(model.scores(found))[:, np.arange(N), y]
            for model, found in ((exact, start), (quick, rough))
        )
        for place, rows in enumerate(SETS):
            expected = logistic_without(Z, y, WEIGHTS, C, n_classes, rows)
            answers = probabilities_of(scores(start[place], rows))
            # BFGS of the oracle has numerical gradients, and no penalty of the intercept.
            np.testing.assert_allclose(answers, expected, atol=1e-4)
            truth = answers[np.arange(len(rows)), y[rows]]
            np.testing.assert_allclose(losses[place, rows], -np.log(truth))
            kept = np.setdiff1d(np.arange(N), rows)
            assert abs(np.mean(losses[place, kept] - near[place, kept])) < 1e-3


def test_a_set_with_all_rows_of_a_class_leaves_finite_models():
    y = (np.arange(N) < 5).astype(int)
    found = Refits(Z, y, WEIGHTS, 2, [np.arange(5), np.arange(5, 9)]).fit(1.0)
    assert np.isfinite(found).all()
    assert probabilities_of(scores(found[0], np.arange(N)))[:, 1].max() < 0.01
