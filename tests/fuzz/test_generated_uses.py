"""What holds for every table with limits or words, and for what is done with beliefs.

One for ten tables of ``test_generated_tables.py``; ``examine(seed)`` repeats a failure.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from absentia import (
    SVC,
    SVR,
    AutoClassifier,
    AutoRegressor,
    ConformalClassifier,
    ConformalRegressor,
    GaussianDensity,
    GaussianProcessRegressor,
    GenRBF,
    KernelRidge,
    LogisticRegression,
    LowRankDensity,
    MarginalClassifier,
    MarginalRegressor,
    MixedDensity,
    MixtureDensity,
    bounded,
    measure_next,
    predict_uncertainty,
    sensitivity,
)
from absentia.tables import plan_of
from fuzz.generated import examine_all, frame, limits, numbers, with_holes
from fuzz.test_generated_tables import N_TABLES, REFUSALS, examine_kernel

PER_TEST = 20
N_USES = N_TABLES // 10

# What a wrapper asks of a table, said by name.
MORE_REFUSALS = (
    *REFUSALS,
    "at least",  # rows per class, fold or component
    "n_splits=5",  # scikit-learn's folds, of fewer rows
    "so rare that the split",
    "number of classes",  # one class among the rows that are left for training
    "No column has anything to learn from",
)


@pytest.mark.parametrize("first", range(0, N_USES, PER_TEST))
def test_every_use(first):
    examine_all(examine, range(first, min(first + PER_TEST, N_USES)))


def examine(seed):
    """Try one use of one table; raise where something does not hold."""
    rng = np.random.default_rng([seed, 1])
    X = with_holes(rng, numbers(rng))
    use = USES[seed % len(USES)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Left out of the density", UserWarning)
        warnings.filterwarnings("ignore", "One value makes up nearly all", UserWarning)
        # Tables of one row, many times over.
        warnings.filterwarnings("ignore", "The kernel has the same value", UserWarning)
        warnings.filterwarnings("ignore", ".*(infinite|n_splits=5)", UserWarning)
        warnings.filterwarnings("ignore", "The range of column", UserWarning)
        try:
            use(rng, X)
        except ValueError as error:
            if not any(sentence in str(error) for sentence in MORE_REFUSALS):
                raise


def use_limits(rng, X):
    lower, upper = limits(rng, X)
    table = bounded(X, lower, upper)
    density = rng.choice(
        [GaussianDensity(max_iter=20), MixtureDensity(2, n_init=1, max_iter=10, random_state=0)]
    ).fit(table)
    kept = density.columns_
    beliefs = density.condition(table)
    mean, spread = beliefs.mean(), beliefs.spread()
    assert np.isfinite(density.prior_.means).all()
    assert np.isfinite(density.prior_.covariances).all()
    assert np.isfinite(mean).all()
    assert np.isfinite(spread).all()
    seen = ~np.isnan(table.array[:, kept])
    assert np.array_equal(mean[seen], table.array[:, kept][seen])
    assert not spread[seen].any()
    if table.lower is not None:
        low, high = table.lower[:, kept], table.upper[:, kept]
        slack = 1e-6 * (np.abs(mean) + density.prior_.covariance().diagonal() ** 0.5)
        assert (mean >= low - slack).all()
        assert (mean <= high + slack).all()
    examine_kernel(GenRBF(), beliefs)


def use_words(rng, X):
    table = frame(rng, X)
    density = MixedDensity(rng.integers(1, 3), n_init=1, max_iter=10, random_state=0).fit(table)
    beliefs = density.condition(table)
    assert np.isfinite(beliefs.mean()).all()
    assert np.isfinite(density.score_samples(table)).all()
    for column in range(0 if beliefs.codes is None else beliefs.codes.shape[1]):
        shares = beliefs.probabilities(column)
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    examine_kernel(GenRBF(), beliefs)


def use_frame(rng, X):
    table = frame(rng, X)
    machine = rng.choice([SVC(), KernelRidge(), SVC(density="mixed", random_state=0)])
    outputs = machine.fit(table, np.arange(len(X)) % 2).predict(table)
    assert np.isfinite(outputs).all()
    if plan_of(machine) is not None:  # columns are found by name
        assert np.array_equal(machine.predict(table[table.columns[::-1]]), outputs)


def use_marginal(rng, X):
    # Trees of scikit-learn hold float32.
    X = X / max(1.0, np.abs(np.nan_to_num(X)).max() / 1e9)
    y = np.arange(len(X)) % 2
    model = MarginalClassifier(
        DecisionTreeClassifier(max_depth=3, random_state=0), n_draws=8, random_state=0
    ).fit(X, y)
    shares = model.predict_proba(X)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    model = MarginalRegressor(
        DecisionTreeRegressor(max_depth=3, random_state=0), n_draws=8, random_state=0
    ).fit(X, y * 1.0)
    assert ((model.predict(X) >= -1e-12) & (model.predict(X) <= 1 + 1e-12)).all()


def use_conformal(rng, X):
    y = np.arange(len(X)) % 2
    method = str(rng.choice(["split", "cross", "exact", "nested", "nested*"]))
    intervals = (
        ConformalRegressor(KernelRidge(), method=method, random_state=0)
        .fit(X, y * 1.0)
        .predict_interval(X)
    )
    assert (intervals.lower <= intervals.upper).all()
    sets = ConformalClassifier(LogisticRegression(), method=method, random_state=0)
    sets = sets.fit(X, y).predict_set(X)
    assert sets.members.shape == (len(X), 2)
    assert sets.members[sets.without_guarantee].all()


def use_measurements(rng, X):
    y = np.arange(len(X)) % 2
    kinds = (KernelRidge, LogisticRegression, SVR, GaussianProcessRegressor)
    machine = kinds[rng.integers(len(kinds))]().fit(X, y * 1.0)
    found = measure_next(machine, X[:4], lookahead=int(rng.integers(1, 3)))
    assert not np.isinf(found.gain).any()
    assert np.isnan(found.gain[~np.isnan(X[:4])]).all()
    assert np.isfinite(found.loss_before).all()


def use_sample(rng, X):
    kinds = (GaussianDensity(max_iter=20), MixtureDensity(1, random_state=0), LowRankDensity(1))
    density = kinds[rng.integers(len(kinds))].fit(X)
    made = density.sample(7)
    made = made[0] if isinstance(made, tuple) else made
    assert np.asarray(made).shape == (7, len(density.columns_))
    assert np.isfinite(made).all()
    draws = density.condition(X).sample(3, random_state=0)
    seen = ~np.isnan(X[:, density.columns_])
    assert np.isfinite(draws).all()
    assert np.array_equal(draws[1][seen], X[:, density.columns_][seen])


def use_order(rng, X):
    """The order does not matter for wild tables either; ``test_generated_orders.py`` has more."""
    y = np.arange(len(X)) % 2
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    for kernel in ("genrbf", "expected_rbf", "egk"):
        plain = KernelRidge(kernel=kernel).fit(X, y * 1.0)
        mixed = KernelRidge(kernel=kernel).fit(X[rows][:, columns], y[rows] * 1.0)
        if not (plain.density_.converged_ and mixed.density_.converged_):
            continue
        expected = plain.predict(X)
        found = mixed.predict(X[:, columns])
        # EM stops within its tolerance, and solvers round, in another order of the sums.
        np.testing.assert_allclose(found, expected, atol=0.05 * max(np.ptp(expected), 1e-3))


def use_automatic(rng, X):
    X = X / max(1.0, np.abs(np.nan_to_num(X)).max() / 1e9)
    y = np.arange(len(X)) % 2
    kind = AutoClassifier if rng.random() < 0.5 else AutoRegressor
    more = str(rng.choice(["boosting", "beliefs", "indicators", "beliefs-mask", "beliefs-scores"]))
    model = kind(members=["linear", more], n_splits=2, n_repeats=1, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    doubt = model.predict_uncertainty(X[:2], by_column=False)
    assert np.isfinite(doubt.total).all()
    if kind is AutoRegressor:
        low, high = model.predict_interval(X).T
        assert (low <= high).all()
    else:
        shares = model.predict_proba(X)
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert not np.isinf(measure_next(model, X[:2]).gain).any()


def use_shifts(rng, X):
    machine = KernelRidge().fit(X, np.arange(len(X)) % 2 * 1.0)
    delta = float(rng.choice([0.5, 3.0, 1e9]))
    found = sensitivity(machine, X[:3], deltas=[-delta, delta], n_draws=8)
    assert np.isfinite(found.predictions).all()
    assert np.isfinite(predict_uncertainty(machine, X[:3], n_draws=8).total).all()


USES = [
    use_limits, use_words, use_frame, use_marginal, use_conformal, use_measurements, use_sample,
    use_order, use_automatic, use_shifts,
]  # fmt: skip
