"""Conformal regions: against the slow formula, in simulation, at the corners, with bad input."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import (
    SVC,
    AutoClassifier,
    AutoRegressor,
    ConformalClassifier,
    ConformalRegressor,
    GaussianDensity,
    GaussianProcessRegressor,
    KernelRidge,
    LogisticRegression,
)
from absentia.machines.search import kernel_family
from absentia.predictions.calibration import (
    Calibration,
    Comparison,
    PredictionIntervals,
    PredictionSets,
)
from oracles import conformal as oracle

METHODS = ("exact", "nested", "nested*", "split")
QUICK = GaussianDensity(max_iter=3, tol=1e3)


def example(n=160, d=3, rate=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ np.linspace(2.0, 0.5, d) + 0.5 * rng.normal(size=n)
    X[rng.random(X.shape) < rate] = np.nan
    return X, y


@pytest.fixture(scope="module")
def linear():
    return make_pipeline(SimpleImputer(), LinearRegression()).fit(*example(seed=1))


@parametrize_with_checks(
    [
        ConformalRegressor(KernelRidge(density=QUICK), random_state=0),
        ConformalRegressor(KernelRidge(density=QUICK), method="cross", cv=2, random_state=0),
        ConformalClassifier(LogisticRegression(density=QUICK), random_state=0),
    ],
    expected_failed_checks=lambda _: {},
)
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("conformity_score", ["absolute", "normalised", "quantile"])
def test_intervals_are_those_of_the_slow_formula(method, conformity_score, linear):
    X, y = example(40)
    X_new, _ = example(5, seed=2)
    learned = example(60, seed=3)
    if conformity_score == "normalised":
        model = GaussianProcessRegressor(gamma="scale").fit(*learned)
        estimator = FrozenEstimator(model)

        def predict(rows):
            mean, spread = model.predict(rows, return_std=True)
            return np.column_stack([mean, mean, spread])
    elif conformity_score == "quantile":
        pair = [
            make_pipeline(SimpleImputer(), QuantileRegressor(quantile=q, alpha=0)).fit(*learned)
            for q in (0.1, 0.9)
        ]
        estimator = tuple(FrozenEstimator(model) for model in pair)

        def predict(rows):
            ends = np.sort([model.predict(rows) for model in pair], axis=0)
            return np.column_stack([*ends, np.ones(len(rows))])
    else:
        estimator = FrozenEstimator(linear)

        def predict(rows):
            mean = linear.predict(rows)
            return np.column_stack([mean, mean, np.ones(len(rows))])

    machine = ConformalRegressor(
        estimator, method=method, conformity_score=conformity_score, coverage=0.8, subsample=15
    ).fit(X, y)
    found = machine.predict_interval(X_new)
    for i, row in enumerate(X_new):
        expected = oracle.interval(predict, X, y, row, method, 0.8, 15)
        np.testing.assert_allclose((found.lower[i], found.upper[i]), expected, rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("conformity_score", ["lac", "aps"])
def test_label_sets_are_those_of_the_slow_formula(method, conformity_score):
    rng = np.random.default_rng(0)
    X, signal = example(180)
    y = np.digitize(signal + rng.normal(size=180), [-1.0, 1.0])
    model = make_pipeline(SimpleImputer(), PlainLogistic()).fit(X[:100], y[:100])

    def scores(rows):
        p = model.predict_proba(rows)
        if conformity_score == "lac":
            return 1 - p
        return np.array([[1 - row[row < value].sum() for value in row] for row in p])

    machine = ConformalClassifier(
        FrozenEstimator(model), method=method, conformity_score=conformity_score, subsample=25
    ).fit(X[100:150], y[100:150])
    found = machine.predict_set(X[170:], coverage=0.75)
    for i, row in enumerate(X[170:]):
        expected = oracle.label_set(scores, X[100:150], y[100:150], row, method, 0.75, 25)
        assert found.members[i].tolist() == expected


def test_cross_conformal_is_cv_plus():
    X, y = example(50)
    X_new, _ = example(5, seed=2)
    template = make_pipeline(SimpleImputer(), LinearRegression())
    machine = ConformalRegressor(template, method="cross", cv=4, random_state=0).fit(X, y)
    models, which = machine.calibration_.models, machine.calibration_.model_of_row
    found = machine.predict_interval(X_new)
    for i in range(len(X_new)):
        residuals = [abs(y[k] - models[which[k]][0].predict(X[[k]])[0]) for k in range(50)]
        centres = [models[which[k]][0].predict(X_new[[i]])[0] for k in range(50)]
        ends = np.sort(np.add(centres, residuals)), np.sort(np.subtract(centres, residuals))
        # r = ceil(0.9 * 51) = 46: the 46th smallest, and the 46th largest.
        np.testing.assert_allclose((found.upper[i], found.lower[i]), (ends[0][45], ends[1][4]))
    # Every row was left out of the model that it calibrates.
    assert sorted(np.bincount(which)) == [12, 12, 13, 13]
    np.testing.assert_allclose(machine.predict(X_new), template.fit(X, y).predict(X_new))


def coverages(method, linear, repeats=60, n=200, n_test=40):
    """Return coverage and its expectation by repetition and mask, values missing at random."""
    masks = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)], dtype=bool)
    found = np.empty((repeats, len(masks)))
    expected = np.empty_like(found)
    rng = np.random.default_rng(0)
    for repeat in range(repeats):
        X, y = example(n, rate=0.4, seed=1000 + repeat)
        machine = ConformalRegressor(FrozenEstimator(linear), method=method).fit(X, y)
        X_new, y_new = example(n_test * len(masks), rate=0.0, seed=rng.integers(1 << 30))
        X_new[np.repeat(masks, n_test, axis=0)] = np.nan
        intervals = machine.predict_interval(X_new)
        found[repeat] = intervals.covers(y_new).reshape(len(masks), n_test).mean(axis=1)
        kept = intervals.n_calibration[::n_test]
        expected[repeat] = np.ceil(0.9 * (kept + 1) - 1e-9) / (kept + 1)
    return found, expected, masks.sum(axis=1)


def test_exact_covers_for_every_mask_where_split_fails(linear):
    found, expected, n_missing = coverages("exact", linear)
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    # r / (n + 1) is the coverage of an exact rank; it is the nominal level but for rounding up.
    assert (np.abs(found.mean(axis=0) - expected.mean(axis=0)) < 3 * errors).all()
    assert (np.abs(expected - 0.9) < 0.05).all()
    plain, _, _ = coverages("split", linear, repeats=20)
    assert plain.mean() == pytest.approx(0.9, abs=0.04)  # four standard errors, over equal masks
    assert plain[:, n_missing == 3].mean() < 0.75
    assert plain[:, n_missing == 0].mean() > 0.95


@pytest.mark.parametrize("method", ["nested", "nested*"])
def test_nested_covers_for_every_mask(method, linear):
    found, _, _ = coverages(method, linear, repeats=20)
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (found.mean(axis=0) > 0.9 - 3 * errors).all()


def test_label_sets_cover_for_every_mask():
    rng = np.random.default_rng(0)
    X, signal = example(6000, rate=0.0)
    y = (signal + rng.normal(size=6000) > 0).astype(int)
    X[rng.random(X.shape) < 0.4] = np.nan
    model = make_pipeline(SimpleImputer(), PlainLogistic()).fit(X[:500], y[:500])
    machine = ConformalClassifier(FrozenEstimator(model), method="exact").fit(
        X[500:3000], y[500:3000]
    )
    covered = machine.predict_set(X[3000:]).covers(y[3000:])
    n_missing = np.isnan(X[3000:]).sum(axis=1)
    for k in range(4):
        part = covered[n_missing == k]
        # Calibration rows are drawn too: their part of the error is at most that of the test rows.
        assert part.mean() > 0.9 - 3 * np.sqrt(2 * 0.09 / len(part))


def test_too_few_rows_give_infinite_intervals_and_full_sets(linear):
    X, y = example(40)
    machine = ConformalRegressor(FrozenEstimator(linear), method="exact").fit(X, y)
    n_complete = int((~np.isnan(X).any(axis=1)).sum())
    level = 1 - 0.5 / (n_complete + 1)
    intervals = machine.predict_interval([[0.0, 0.0, 0.0], [np.nan] * 3], coverage=level)
    assert intervals.n_calibration.tolist() == [n_complete, 40]
    assert intervals.without_guarantee.tolist() == [True, 41 * level > 40]
    assert np.isinf(intervals.lower[0])
    assert np.isinf(intervals.upper[0])
    assert intervals.covers([1e9, 0.0])[0]
    assert "infinite" in repr(intervals)
    labels = (y > 0).astype(int)
    model = make_pipeline(SimpleImputer(), PlainLogistic()).fit(X, labels)
    sets = ConformalClassifier(FrozenEstimator(model), method="exact").fit(X, labels)
    found = sets.predict_set([[5.0, 5.0, 5.0]], coverage=level)
    assert found.members.all()
    assert found.n_without_guarantee == 1
    assert found[0].tolist() == [0, 1]


def test_nobody_to_compare_with():
    X, y = example(30)
    X[:, 0] = np.nan
    X_train, y_train = example(30, seed=3)
    model = make_pipeline(SimpleImputer(), LinearRegression()).fit(X_train, y_train)
    machine = ConformalRegressor(FrozenEstimator(model), method="exact").fit(X, y)
    intervals = machine.predict_interval([[0.0, np.nan, np.nan]])
    assert intervals.n_calibration.tolist() == [0]
    assert intervals.n_without_guarantee == 1


def test_rows_do_not_depend_on_their_company(linear):
    X, y = example(80)
    X_new, _ = example(20, seed=4)
    machine = ConformalRegressor(FrozenEstimator(linear), method="nested*", subsample=30).fit(X, y)
    together = machine.predict_interval(X_new)
    apart = [machine.predict_interval(X_new[[i]]) for i in range(20)]
    np.testing.assert_allclose(together.lower, [a.lower[0] for a in apart], rtol=1e-10)
    np.testing.assert_allclose(together.upper, [a.upper[0] for a in apart], rtol=1e-10)


def test_quantile_estimators_are_made_from_one():
    X, y = example(200)
    boosted = HistGradientBoostingRegressor(loss="quantile", quantile=0.5, max_iter=20)
    machine = ConformalRegressor(boosted, conformity_score="quantile", random_state=0).fit(X, y)
    assert [model.quantile for model in machine.estimator_] == pytest.approx([0.05, 0.95])
    lower, upper = machine.predict_interval(X[:5])
    assert (lower <= upper).all()
    middle = np.mean([model.predict(X[:5]) for model in machine.estimator_], axis=0)
    np.testing.assert_allclose(machine.predict(X[:5]), middle)


def test_frames_in_and_frames_out():
    X, y = example(120)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    machine = ConformalRegressor(KernelRidge(density=QUICK), random_state=0).fit(frame, y)
    found = machine.predict_interval(frame[:5]).to_frame()
    assert found.columns.tolist() == ["lower", "upper", "n_calibration"]
    array = ConformalRegressor(KernelRidge(density=QUICK), random_state=0).fit(X, y)
    np.testing.assert_allclose(found["lower"], array.predict_interval(X[:5]).lower)
    lazy = ConformalRegressor(KernelRidge(density=QUICK), random_state=0)
    lazy.fit(pl.DataFrame(frame).fill_nan(None), y)
    again = lazy.predict_interval(pl.DataFrame(frame[:5]).fill_nan(None))
    np.testing.assert_allclose(found["upper"], again.upper)
    with pytest.raises(ValueError, match="feature names"):
        machine.predict_interval(frame[["c", "b", "a"]])
    with pytest.warns(UserWarning, match="lacks 'b'"):
        shorter = machine.predict_interval(frame[["a", "c"]][:5])
    whole = machine.predict_interval(frame[:5].assign(b=np.nan))
    np.testing.assert_array_equal(shorter.lower, whole.lower)
    labels = np.where(y > 0, "yes", "no")
    sets = ConformalClassifier(LogisticRegression(density=QUICK), random_state=0).fit(frame, labels)
    assert sets.predict_set(frame[:3]).to_frame().columns.tolist() == ["no", "yes", "n_calibration"]


def test_frames_with_words_may_have_their_columns_in_any_order():
    X, y = example(120)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(c=np.where(X[:, 2] > 0, "x", "y"))
    machine = ConformalRegressor(KernelRidge(density=QUICK), random_state=0).fit(frame, y)
    expected = machine.predict_interval(frame[:5])
    other = frame[["c", "b", "a"]].assign(further="z")
    np.testing.assert_array_equal(machine.predict_interval(other[:5]).lower, expected.lower)
    with pytest.warns(UserWarning, match="lacks 'a'"):
        shorter = machine.predict_interval(frame[["c", "b"]][:5])
    whole = machine.predict_interval(frame[:5].assign(a=np.nan))
    np.testing.assert_array_equal(shorter.lower, whole.lower)


def test_bad_input(linear):
    X, y = example(40)
    with pytest.raises(ValueError, match=r"method must be .* or 'cross', found 'jackknife'"):
        ConformalRegressor(linear, method="jackknife").fit(X, y)
    with pytest.raises(ValueError, match="conformity_score must be 'lac' or 'aps'"):
        ConformalClassifier(linear, conformity_score="absolute").fit(X, y > 0)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        ConformalRegressor(linear, coverage=90).fit(X, y)
    with pytest.raises(ValueError, match="leaves 0 rows to calibrate with"):
        ConformalRegressor(linear, calibration_size=0.01).fit(X, y)
    with pytest.raises(ValueError, match=r"SVC has no predict_proba.*CalibratedClassifierCV"):
        ConformalClassifier(SVC()).fit(X, y > 0)
    with pytest.raises(ValueError, match="Pipeline has neither"):
        ConformalRegressor(linear, conformity_score="normalised").fit(X, y)
    with pytest.raises(ValueError, match="parameter 'quantile'"):
        ConformalRegressor(linear, conformity_score="quantile").fit(X, y)
    with pytest.raises(ValueError, match="rows with known targets that it was not trained on"):
        ConformalRegressor(FrozenEstimator(LinearRegression())).fit(pd.DataFrame({"a": []}), [])
    with pytest.raises(ValueError, match="cannot be fitted again in folds"):
        ConformalRegressor(FrozenEstimator(linear), method="cross").fit(X, y)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        ConformalRegressor(FrozenEstimator(linear)).fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        ConformalRegressor(FrozenEstimator(linear)).fit(pd.DataFrame(X[:0]), y[:0])
    model = make_pipeline(SimpleImputer(), PlainLogistic()).fit(X, y > 0)
    with pytest.raises(ValueError, match="calibration rows have the label"):
        ConformalClassifier(FrozenEstimator(model)).fit(X, np.full(40, 7))
    machine = ConformalRegressor(FrozenEstimator(linear)).fit(X, y)
    with pytest.raises(ValueError, match="2 features, but ConformalRegressor is expecting 3"):
        machine.predict_interval(X[:, :2])
    before = dict(vars(machine))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        machine.fit(X, y[:5])
    assert vars(machine) == before


def test_calibration_rows_that_were_trained_on_are_seen():
    X, y = example(60)
    X[[1, 2, 50, 51]] = np.nan  # alike, but that says nothing
    model = KernelRidge(density=QUICK).fit(X[:40], y[:40])
    with pytest.warns(UserWarning, match="10 of the 30 calibration rows were used to train"):
        ConformalRegressor(FrozenEstimator(model)).fit(X[30:], y[30:])


class Shares(ClassifierMixin, BaseEstimator):
    """Knows the shares of the classes alone, up to a rounding that depends on the batch."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        rounding = 1e-16 * (len(X) % 7)
        return np.tile(self.shares_ + np.array([-rounding, rounding]), (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_scores_that_differ_by_rounding_are_ties():
    X, y = np.zeros((100, 1)), np.r_[np.zeros(60), np.ones(40)]
    sets = ConformalClassifier(FrozenEstimator(Shares().fit(X, y))).fit(X, y)
    for n in range(1, 8):  # 40 of 100 rows are of the rarer class, so that 0.9 needs both
        assert sets.predict_set(X[:n]).members.all()


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("method", ["nested*", "cross"])
def test_a_class_that_only_calibrates_is_named_as_the_reason(method):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.r_[np.zeros(39), 1]
    # With seed 0 a single split holds the only row of the class out; folds always do.
    model = ConformalClassifier(
        LogisticRegression(), method=method, calibration_size=0.9, random_state=0
    )
    with pytest.raises(ValueError, match="training rows are all of one class"):
        model.fit(X, y)


def test_polars_frames_with_words_are_those_of_pandas():
    frame = pl.DataFrame({"a": [0.1, None, 0.2, 0.3] * 20, "word": ["x", "y"] * 40})
    found = [
        ConformalClassifier(LogisticRegression(), random_state=0).fit(X, [0, 1] * 40).predict_set(X)
        for X in (frame, frame.to_pandas())
    ]
    np.testing.assert_array_equal(found[0].members, found[1].members)


class _Ends(RegressorMixin, BaseEstimator):
    """One end of a band about 0 for rows with the value, about 100 for rows without it."""

    def __init__(self, end=10.0):
        self.end = end

    def fit(self, X, y):
        self.n_features_in_ = 1
        return self

    def predict(self, X):
        return np.where(np.isnan(np.asarray(X, dtype=float)[:, 0]), 100.0, 0.0) + self.end


def test_bounds_that_cross_meet_in_the_middle():
    """Half of the calibration rows say 0, those with a hidden value 100: 20 % lie between them."""
    X = np.where(np.arange(40) < 20, 0.5, np.nan)[:, None]
    y = np.where(np.arange(40) < 20, 0.0, 100.0)
    pair = tuple(FrozenEstimator(_Ends(end).fit(X, y)) for end in (-10.0, 10.0))
    model = ConformalRegressor(pair, conformity_score="quantile", method="nested", coverage=0.2)
    intervals = model.fit(X, y).predict_interval([[0.5]])
    np.testing.assert_array_equal([intervals.lower, intervals.upper], [[50.0], [50.0]])


@pytest.mark.parametrize("method", ["exact", "nested", "nested*"])
@pytest.mark.parametrize("score", ["lac", "aps"])
def test_label_sets_cover_for_every_mask_method_and_score(method, score):
    """Of complete, half-known and unknown rows alike, 80 % of the labels are in their set."""
    covered, masks = [], [[False, False], [False, True], [True, False], [True, True]]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1400, 2))
        y = np.digitize(X @ [1.0, 0.6] + 0.5 * rng.normal(size=1400), [-0.7, 0.7])
        X[rng.random(X.shape) < 0.3] = np.nan
        model = make_pipeline(SimpleImputer(add_indicator=True), PlainLogistic())
        model.fit(X[:300], y[:300])
        sets = ConformalClassifier(
            FrozenEstimator(model), method=method, conformity_score=score, coverage=0.8
        ).fit(X[300:700], y[300:700])
        new, labels = X[700:], y[700:]
        inside = sets.predict_set(new).covers(labels)
        covered.append([inside[(np.isnan(new) == mask).all(axis=1)] for mask in masks])
    for group in zip(*covered, strict=True):
        inside = np.concatenate(group)
        # Of the rows of a mask, and of the calibration rows that they are compared with.
        error = np.sqrt(0.8 * 0.2 * (1 / len(inside) + 4 / (4 * 90)))
        assert inside.mean() > 0.8 - 3 * error


def test_several_targets_are_refused_with_the_way(linear):
    X, y = example(40)
    for machine, several in (
        (ConformalRegressor(linear), np.c_[y, y]),
        (ConformalClassifier(LogisticRegression()), np.c_[y, y] > 0),
        (AutoRegressor(), np.c_[y, y]),
        (AutoClassifier(), np.c_[y, y] > 0),
    ):
        kind = "Classifier" if is_classifier(machine) else "Regressor"
        with pytest.raises(ValueError, match=f"1d array.*MultiOutput{kind}"):
            machine.fit(X, several)
    both = MultiOutputRegressor(ConformalRegressor(linear, random_state=0)).fit(X, np.c_[y, -y])
    assert [len(one.predict_interval(X)) for one in both.estimators_] == [40, 40]


def test_intervals_end_where_the_support_does(linear):
    X, y = example()
    plain = ConformalRegressor(linear, random_state=0).fit(X, np.exp(y))
    machine = ConformalRegressor(linear, support=(0, np.inf), random_state=0).fit(X, np.exp(y))
    expected = plain.predict_interval(X)
    assert (expected.lower < 0).any()
    found = machine.predict_interval(X)
    np.testing.assert_array_equal(found.lower, np.maximum(expected.lower, 0.0))
    np.testing.assert_array_equal(found.upper, np.maximum(expected.upper, 0.0))
    assert machine.predict_interval(X[:2], coverage=0.999).n_without_guarantee == 2
    auto = AutoRegressor(members=["linear"], log_target=True, random_state=0)
    learned = ConformalRegressor(auto, random_state=0).fit(X, np.exp(y))
    assert (learned.predict_interval(X).lower >= 0).all()

    class Counts(LinearRegression):
        target_least_ = 0.0

    own = ConformalRegressor(Counts(), random_state=0).fit(np.nan_to_num(X), np.exp(y))
    assert own.predict_interval(np.nan_to_num(X)).lower.min() == 0
    with pytest.raises(ValueError, match="support must be None or a pair of increasing numbers"):
        ConformalRegressor(linear, support=(1, 0)).fit(X, y)


def test_groups_need_two_and_one_calibration_row_is_too_few(linear):
    X, y = example(40)
    with pytest.raises(ValueError, match="groups has one group only"):
        ConformalRegressor(linear).fit(X, y, groups=np.zeros(40))
    machine = ConformalRegressor(linear, calibration_size=0.025, random_state=0).fit(X, y)
    assert machine.predict_interval(X[:2]).n_without_guarantee == 2


def test_ends_are_covered_and_sizes_are_counted():
    lower, upper = np.array([0.0, -np.inf, 1.0, 2.0]), np.array([1.0, 0.5, np.inf, 2.0])
    intervals = PredictionIntervals(lower, upper, 0.9, np.full(4, 9))
    for targets, covered in (
        (lower, [True, True, True, True]),
        (upper, [True, True, True, True]),
        (np.array([-1e-9, 0.5 + 1e-9, 1 - 1e-9, 2 + 1e-9]), [False] * 4),
        (np.array([0.5, 0.0, 7.0, 1.9]), [True, True, True, False]),
    ):
        np.testing.assert_array_equal(intervals.covers(targets), covered)
    assert intervals.n_without_guarantee == 2
    members = np.array([[True, False, True], [False, True, False], [False, False, False]])
    sets = PredictionSets(members, np.array(list("abc")), 0.9, np.full(3, 9), np.zeros(3, bool))
    np.testing.assert_array_equal(sets.size, [2, 1, 0])
    np.testing.assert_array_equal(sets.covers(["c", "a", "b"]), [True, False, False])
    np.testing.assert_array_equal(sets.covers(["b", "b", "a"]), [False, True, False])
    assert "1 of 3 classes on average" in repr(sets)
    assert sets[0].tolist() == ["a", "c"]


def test_a_bound_is_the_first_score_that_reaches_the_weight():
    nothing = np.empty((0, 0))
    weights = np.array([0.1, 0.2, 0.1, 0.3])
    part = Comparison(
        np.arange(2), np.arange(4), nothing, nothing, np.arange(4), weights, np.array([0.1, 0.4])
    )
    # Of 0.7 + 0.1, 85 % are 0.68, which the scores have; of 0.7 + 0.4 they have not.
    np.testing.assert_allclose(part.needed(0.85), [0.68, np.inf], rtol=1e-8)
    values = np.array([5.0, 2.0, 7.0, 3.0])  # in order 2, 3, 5, 7: weights 0.2, 0.5, 0.6, 0.7
    for needed, expected in ((0.1, 2), (0.2, 2), (0.21, 3), (0.5, 3), (0.55, 5), (0.69, 7)):
        assert part.bound(values, needed) == expected
    assert part.bound(values, 0.7 * (1 + 1e-15)) == 7  # rounding of the sum


@pytest.mark.parametrize("support", [(0.0, 1.0), [0, np.inf], (-np.inf, 5)])
def test_pairs_of_increasing_numbers_are_a_support(support, linear):
    X = np.random.default_rng(0).normal(size=(60, 5))
    ConformalRegressor(linear, support=support).fit(X, X[:, 0])


@pytest.mark.parametrize(
    "support", [(1.0, 1.0), (1.0, 0.0), (0.0,), (0.0, 1.0, 2.0, 3.0), "01", {0: 1, 2: 3}, ("0", 1)]
)
def test_what_is_no_support_is_refused(support, linear):
    X = np.random.default_rng(0).normal(size=(60, 5))
    with pytest.raises(ValueError, match="a pair of increasing numbers"):
        ConformalRegressor(linear, support=support).fit(X, X[:, 0])


def test_two_estimators_are_two(linear):
    X = np.random.default_rng(0).normal(size=(60, 5))
    for estimators in ((linear,), (linear, "x"), {linear: 1, "y": 2}, (linear,) * 4):
        with pytest.raises(ValueError, match="two of them, for quantiles"):
            ConformalRegressor(estimators, conformity_score="quantile").fit(X, X[:, 0])


@pytest.mark.parametrize("subsample", [1, 2, 7, 20, 39, 40, 41])
def test_rows_that_hide_least_are_compared(subsample):
    """As many as ``subsample``, and all others that hide as little as the last of them."""
    masks = np.random.default_rng(0).random((40, 4)) < 0.4
    calibration = Calibration(SimpleNamespace(mask=masks), (), np.zeros(40), np.ones(40))
    for mask in np.unique(masks, axis=0):
        for method in ("exact", "nested", "nested*"):
            found = calibration._comparable(mask, method, subsample)
            assert found.tolist() == oracle.comparable_rows(masks, mask, method, subsample)


class Masks:
    """Rows of which nothing is known but what they miss."""

    def __init__(self, mask):
        self.mask = mask

    def __len__(self):
        return len(self.mask)

    def take(self, rows, hidden):
        return rows


def test_weights_of_rows_multiply_those_of_their_masks():
    rng = np.random.default_rng(0)
    known, new = Masks(rng.random((12, 3)) < 0.3), Masks(rng.random((5, 3)) < 0.3)
    weights, of_mask = rng.integers(1, 4, 12) * 1.0, rng.random(24)
    calibration = Calibration(known, ((),), np.zeros(12, dtype=np.intp), weights)
    completed = SimpleNamespace(table=Masks(np.zeros((24, 3), dtype=bool)), row=np.arange(24) // 2)
    weighting = SimpleNamespace(known=completed, of_mask=lambda mask: (of_mask, np.ones(5)))
    answer = lambda fitted, rows: np.zeros((len(rows), 1))  # noqa: E731
    parts = list(calibration.compare(new, "weighted", 9, answer, weighting))
    assert sum(len(part.rows) for part in parts) == 5
    for part in parts:
        np.testing.assert_allclose(part.weights, of_mask * weights[completed.row])


def test_a_gaussian_process_on_a_nearly_empty_table_is_fitted_in_few_steps(monkeypatch):
    """Compiling the loops takes ten seconds, once per machine; the search itself is short."""
    X, y = example(150, 20, 0.9)
    evaluations = []

    def counted(objective, *arguments, **options):
        end = minimize(objective, *arguments, **options)
        evaluations.append(end.nfev)
        return end

    monkeypatch.setattr(kernel_family, "minimize", counted)
    conformal = ConformalRegressor(GaussianProcessRegressor()).fit(X, y)
    assert 1 <= sum(evaluations) <= 60
    assert np.isfinite(conformal.predict_interval(X[:5]).width).all()
