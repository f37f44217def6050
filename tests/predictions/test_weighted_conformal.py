"""Weighted conformal regions: against the slow formula, in simulation, and their bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from absentia import (
    ConformalClassifier,
    ConformalRegressor,
    ExpectedLinear,
    GaussianDensity,
    KernelRidge,
    LogisticRegression,
    MixedDensity,
    load,
    save,
)
from absentia.predictions.weighting import Weighting, complete, fit_mechanism
from oracles import conformal as oracle

COVARIANCE = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.4], [0.3, 0.4, 1.0]])
WEIGHTS = np.array([2.0, 1.0, 0.5])


def rows(n, rng):
    X = rng.multivariate_normal(np.zeros(3), COVARIANCE, n)
    return X, X @ WEIGHTS + 0.5 * rng.normal(size=n)


def self_masking(X, mask):
    chances = expit(1.5 * np.asarray(X) - 1.0)
    return np.where(mask, chances, 1 - chances).prod(axis=1)


def with_holes(X, mechanism, rng):
    """Return rows with values missing by a mechanism."""
    chances = {
        "mcar": np.full(X.shape, 0.4),
        "mar": np.column_stack([expit(1.5 * X[:, 2] - 0.5)] * 2 + [np.zeros(len(X))]),
        "mnar": expit(1.5 * X - 1.0),
    }[mechanism]
    return np.where(rng.random(X.shape) < chances, np.nan, X)


def machine(mechanism, rng):
    X, y = rows(600, rng)
    linear = KernelRidge(kernel=ExpectedLinear(), alpha=0.1)
    return FrozenEstimator(linear.fit(with_holes(X, mechanism, rng), y))


@pytest.mark.parametrize("known", [False, True])
def test_intervals_and_weights_are_those_of_the_slow_formula(known):
    rng = np.random.default_rng(0)
    model = machine("mar", rng)
    C, targets = rows(40, rng)
    C = with_holes(C, "mar", rng)
    new = with_holes(rows(5, rng)[0], "mar", rng)
    own = {"mechanism": self_masking} if known else {}
    conformal = ConformalRegressor(model, method="weighted", n_draws=3, coverage=0.8, **own)
    found = conformal.fit(C, targets).predict_interval(new)
    table = conformal.calibration_.table
    draws = complete(conformal.density_, table, targets, 3, 1)
    tests = complete(conformal.density_, type(table).of(new), None, 3, 2)
    assert np.allclose(
        draws.table.values[~np.isnan(C[draws.row])], C[draws.row][~np.isnan(C[draws.row])]
    )

    def probability(x, mask):
        if known:
            return float(self_masking(x[None], mask)[0])
        return oracle.mask_probability(conformal.mechanism_, x, mask)

    def predict(some):
        mean = conformal.predict(some)
        return np.column_stack([mean, mean, np.ones(len(mean))])

    for i, row in enumerate(new):
        mask = np.isnan(row)
        weights = oracle.draw_weights(probability, draws.inputs, draws.row, np.isnan(C), mask)
        test = np.mean([probability(x, mask) for x in tests.inputs[tests.row == i]])
        expected = oracle.weighted_interval(
            predict, draws.table.values, targets[draws.row], weights, row, test, 0.8
        )
        assert np.allclose((found.lower[i], found.upper[i]), expected)


@pytest.mark.parametrize("coverage", [0.7, 0.95])
def test_label_sets_are_those_of_the_slow_formula(coverage):
    rng = np.random.default_rng(1)
    X, y = rows(200, rng)
    labels = np.digitize(y, [-1.0, 1.0])
    model = FrozenEstimator(LogisticRegression().fit(X[:120], labels[:120]))
    C = with_holes(X[120:140], "mcar", rng)
    conformal = ConformalClassifier(model, method="weighted", n_draws=2, coverage=coverage)
    conformal.fit(C, labels[120:140])
    # Of the last two, which miss the same, one has too little weight for 95 %.
    alike = [[-2.0, np.nan, -2.0], [1.0, np.nan, 1.0]]
    new = np.vstack([with_holes(X[160:163], "mcar", rng), alike])
    found = conformal.predict_set(new)
    assert found.without_guarantee[-2:].tolist() == [False, coverage > 0.9]
    table = conformal.calibration_.table
    targets = conformal.calibration_targets_
    draws = complete(conformal.density_, table, targets, 2, 1)
    tests = complete(conformal.density_, type(table).of(new), None, 2, 2)
    weighting = Weighting(draws, tests, np.isnan(C), conformal.mechanism_)
    for i, row in enumerate(new):
        weights, test = weighting.of_mask(np.isnan(row))
        expected = oracle.weighted_set(
            lambda some: 1 - conformal.predict_proba(some),
            draws.table.values, targets[draws.row], weights, row, test[i], coverage,
        )  # fmt: skip
        assert found.members[i].tolist() == expected


# Values missing completely at random need nothing more than exchangeable rows; at random, the
# density and the logistic mechanism, which are right here; not at random, both must be given.
@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
def test_weighted_covers_for_every_mask_and_is_narrower_than_nested(mechanism):
    rng = np.random.default_rng(0)
    model, settings = machine(mechanism, rng), {}
    if mechanism == "mnar":
        law = GaussianDensity(shrinkage=0.0).fit(np.column_stack(rows(3000, rng)))
        settings = {"mechanism": self_masking, "density": FrozenEstimator(law)}
    names = {"weighted": settings, "nested*": {}, "exact": {}}
    hits, widths = {name: {} for name in names}, {name: [] for name in names}
    for _ in range(5):
        C, targets = rows(200, rng)
        C = with_holes(C, mechanism, rng)
        X, y = rows(400, rng)
        new = with_holes(X, mechanism, rng)
        for name, own in names.items():
            found = ConformalRegressor(model, method=name, **own).fit(C, targets)
            intervals = found.predict_interval(new)
            widths[name].append(np.median(intervals.width[~np.isnan(new).any(axis=1)]))
            for mask, hit in zip(np.isnan(new) @ [1, 2, 4], intervals.covers(y), strict=True):
                hits[name].setdefault(mask, []).append(hit)
    for hit in hits["weighted"].values():
        # Calibration adds its own noise: 200 rows, of which a mask has the weight of a fifth.
        error = np.sqrt(0.09 / len(hit) + 0.09 / (5 * 40))
        assert abs(np.mean(hit) - 0.9) < 3 * error + 0.02  # drawn values are not the true ones
    assert np.mean(widths["weighted"]) < 0.8 * np.mean(widths["nested*"])
    assert np.mean(widths["weighted"]) < 1.1 * np.mean(widths["exact"])


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
def test_weighted_sets_cover_for_every_mask(mechanism):
    rng = np.random.default_rng(1)
    X, y = rows(600, rng)
    logistic = LogisticRegression(kernel=ExpectedLinear(), C=10.0)
    model = FrozenEstimator(logistic.fit(with_holes(X, mechanism, rng), np.digitize(y, [-1, 1])))
    settings = {}
    if mechanism == "mnar":
        X, y = rows(2000, rng)
        law = MixedDensity(6, categories=[3], random_state=0)
        law.fit(np.column_stack([X, np.digitize(y, [-1, 1])]))
        settings = {"mechanism": self_masking, "density": FrozenEstimator(law)}
    hits, sizes = {}, []
    for _ in range(5):
        C, targets = rows(200, rng)
        X, y = rows(400, rng)
        found = ConformalClassifier(model, method="weighted", **settings)
        found.fit(with_holes(C, mechanism, rng), np.digitize(targets, [-1, 1]))
        new = with_holes(X, mechanism, rng)
        sets = found.predict_set(new)
        sizes.append(sets.size[~np.isnan(new).any(axis=1)].mean())
        covered = sets.covers(np.digitize(y, [-1, 1]))
        for mask, hit in zip(np.isnan(new) @ [1, 2, 4], covered, strict=True):
            hits.setdefault(mask, []).append(hit)
    for hit in hits.values():  # sets hold whole classes, so that they may cover more
        error = np.sqrt(0.09 / len(hit) + 0.09 / (5 * 40))
        assert np.mean(hit) > 0.9 - 3 * error - 0.02
    assert np.mean(sizes) < 2


def test_a_mechanism_is_learned_from_its_own_rows():
    rng = np.random.default_rng(0)
    X, y = rows(4000, rng)
    holes = with_holes(X, "mar", rng)
    model = ConformalRegressor(LinearRegression(), method="weighted", n_draws=2)
    density = GaussianDensity().fit(np.column_stack([holes, y]))
    table = ConformalRegressor(FrozenEstimator(LinearRegression().fit(X, y)), method="split")
    table = table.fit(holes, y).calibration_.table
    found = fit_mechanism(complete(density, table, y, model.n_draws, 0), np.isnan(holes))
    assert np.allclose(found[0, :4], [-0.5, 0.0, 0.0, 1.5], atol=0.25)
    assert found[2, 0] < -5  # the last column is never missing
    assert not found[2, 1:].any()


def test_too_little_weight_gives_infinite_intervals_and_full_sets():
    rng = np.random.default_rng(0)
    X, y = rows(60, rng)
    X = with_holes(X, "mcar", rng)
    linear = FrozenEstimator(KernelRidge().fit(*rows(60, rng)))
    one = ConformalRegressor(linear, method="weighted", density="gaussian").fit(X[:6], y[:6])
    assert one.predict_interval(X[:2]).n_without_guarantee == 2
    never = ConformalRegressor(linear, method="weighted", mechanism=lambda X, m: np.zeros(len(X)))
    assert np.isinf(never.fit(X, y).predict_interval(X[:2]).width).all()
    labels = y > 0
    classifier = FrozenEstimator(LogisticRegression().fit(X, labels))
    with pytest.warns(UserWarning, match="were used to train"):
        sets = ConformalClassifier(classifier, method="weighted").fit(X[:5], labels[:5])
    assert sets.predict_set(X[:1]).n_without_guarantee == 1
    wrong = ConformalRegressor(linear, method="weighted", mechanism=lambda X, m: 2.0)
    with pytest.raises(ValueError, match="mechanism must return the probability"):
        wrong.fit(X, y).predict_interval(X[:1])


def test_frames_with_words_and_saved_models(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rows(160, rng)
    frame = pd.DataFrame(with_holes(X, "mcar", rng), columns=list("abc"))
    frame["word"] = np.where(rng.random(160) < 0.2, None, np.where(X[:, 0] > 0, "high", "low"))
    model = ConformalRegressor(KernelRidge(), method="weighted", n_draws=2, random_state=0)
    model.fit(frame, y)
    found = model.predict_interval(frame[:20])
    assert np.isfinite(found.width).all()
    assert found.covers(y[:20]).mean() > 0.6
    save(model, tmp_path / "model")
    again = load(tmp_path / "model").predict_interval(frame[:20])
    assert np.array_equal(found.lower, again.lower)


@pytest.mark.parametrize("method", ["exact", "nested*", "split"])
def test_a_row_of_weight_two_counts_as_two(method):
    rng = np.random.default_rng(0)
    X, y = rows(60, rng)
    linear = FrozenEstimator(KernelRidge().fit(*rows(60, rng)))
    weights = rng.integers(1, 4, size=60)
    weighted = ConformalRegressor(linear, method=method).fit(X, y, sample_weight=weights)
    repeated = ConformalRegressor(linear, method=method)
    repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    new = rows(10, rng)[0]
    expected = repeated.predict_interval(new)
    assert np.allclose(weighted.predict_interval(new).upper, expected.upper)


@pytest.mark.parametrize("settings", [{}, {"method": "cross", "cv": 3}])
def test_rows_of_one_group_stay_together(settings):
    seen = []

    class Spy(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(set(X[:, 0]))
            return super().fit(X, y)

    X, y = np.repeat(np.arange(12.0), 4)[:, None], np.random.default_rng(0).normal(size=48)
    ConformalRegressor(Spy(), random_state=0, **settings).fit(X, y, groups=X[:, 0])
    splits = [len(some) for some in seen if len(some) < 12]
    assert splits
    assert set(splits) <= {8, 9}
    with pytest.raises(ValueError, match="inconsistent"):
        ConformalRegressor(Spy()).fit(X, y, groups=[1, 2])
