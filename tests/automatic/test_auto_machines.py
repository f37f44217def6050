"""The automatic machines: what they promise about tables, seeds, weights, groups and files."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from absentia import AutoClassifier, AutoRegressor, load, measure_next, predict_uncertainty, save
from absentia.automatic import assembly, folds, member_tuning
from absentia.automatic.committee import hide_cells
from absentia.automatic.folds import Settings
from absentia.automatic.member_specs import plan_members
from absentia.automatic.member_tuning import LearningRows

QUICK = ("boosting", "beliefs")
RNG = np.random.default_rng(0)
COMPLETE = RNG.multivariate_normal(np.zeros(4), 0.4 * np.eye(4) + 0.6, size=160)
TARGET = COMPLETE[:, 0] + COMPLETE[:, 1] + 0.3 * RNG.normal(size=160)
CLASSES = np.where(TARGET > 0, "up", "down")
HOLES = np.where(RNG.random(COMPLETE.shape) < 0.2, np.nan, COMPLETE)


@pytest.fixture(scope="module")
def classifier():
    return AutoClassifier(members=QUICK, random_state=0, n_repeats=1).fit(HOLES, CLASSES)


@pytest.fixture(scope="module")
def regressor():
    return AutoRegressor(members=QUICK, random_state=0, n_repeats=1).fit(HOLES, TARGET)


def test_scores_are_those_of_rows_left_out(classifier, regressor):
    assert classifier.baseline_ + 0.2 < classifier.score_ < 0.98
    assert 0.005 < classifier.score_error_ < 0.05
    assert classifier.log_loss_ < 0.45
    assert 0.5 < regressor.score_ < 0.95
    assert 0 < regressor.score_error_ < 0.2
    assert "beliefs" in str(classifier.members_)
    answers = classifier.classes_[classifier.out_of_fold_.argmax(axis=1)]
    assert (answers == CLASSES).mean() == pytest.approx(classifier.score_)
    explained = 1 - np.mean((regressor.out_of_fold_ - TARGET) ** 2) / TARGET.var()
    assert explained == pytest.approx(regressor.score_)
    assert "R²" in str(regressor.members_)
    pd.DataFrame(regressor.members_.to_dict())


def test_the_same_seed_gives_the_same_bits(classifier):
    again = clone(classifier).fit(HOLES, CLASSES)
    np.testing.assert_array_equal(again.predict_proba(HOLES), classifier.predict_proba(HOLES))


def test_an_answer_does_not_depend_on_the_rows_beside_it(classifier):
    rows = np.vstack([hide_cells(COMPLETE[:6], 0.6, 0), HOLES[:6]])
    alone = np.vstack([classifier.predict_proba(row[None]) for row in rows])
    np.testing.assert_allclose(classifier.predict_proba(rows), alone, atol=1e-12)


@pytest.mark.parametrize("fixture", ["classifier", "regressor"])
def test_a_file_holds_trees_and_beliefs(fixture, request, tmp_path):
    model = request.getfixturevalue(fixture)
    save(model, tmp_path / "model.absentia")
    again = load(tmp_path / "model.absentia")
    method = "predict_proba" if fixture == "classifier" else "predict_interval"
    rows = np.vstack([HOLES[:9], np.full((1, 4), np.nan)])
    np.testing.assert_array_equal(getattr(again, method)(rows), getattr(model, method)(rows))


def test_trees_average_over_rows_with_new_holes():
    trees = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    train, test = slice(0, 120), slice(120, None)
    model = AutoClassifier(members=[("trees", trees)], n_repeats=1, random_state=0)
    model.fit(COMPLETE[train], CLASSES[train])
    rows = hide_cells(COMPLETE[test], 0.6, seed=3)
    plain = trees.fit(COMPLETE[train], CLASSES[train]).predict_proba(rows)
    ours = model.predict_proba(rows)
    assert log_loss(CLASSES[test], ours) < log_loss(CLASSES[test], plain) - 0.05


def test_intervals_widen_with_what_is_missing_and_cover(regressor):
    width = np.ptp(regressor.predict_interval(COMPLETE[:20]), axis=1)
    hidden = np.ptp(regressor.predict_interval(hide_cells(COMPLETE[:20], 0.7, 0)), axis=1)
    assert hidden.mean() > width.mean()
    rng = np.random.default_rng(5)
    X = rng.multivariate_normal(np.zeros(4), 0.4 * np.eye(4) + 0.6, size=300)
    y = X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=300)
    X[rng.random(X.shape) < 0.2] = np.nan
    low, high = regressor.predict_interval(X, coverage=0.8).T
    # Of 160 errors and 300 rows: a standard error of about four points of coverage.
    assert 0.7 < ((low <= y) & (y <= high)).mean() < 0.9


def test_uncertainty_and_what_to_measure(classifier, regressor):
    rows = np.full((2, 4), np.nan)
    rows[:, 3] = [0.0, 2.0]
    for model in (classifier, regressor):
        doubt = predict_uncertainty(model, rows)
        assert (doubt.missing > 0.05 * doubt.total).all()
        best = measure_next(model, rows[:1]).best
        assert set(np.ravel(best)) <= {0, 1, 2, "x0", "x1", "x2"}


def test_weights_groups_and_rare_classes():
    doubled = np.r_[np.arange(80), np.arange(80)]
    groups = doubled  # copies of a row stay together
    model = AutoClassifier(members=("beliefs",), hidden=(), n_repeats=1, random_state=0)
    # Labels without meaning: copies on both sides of a fold would look like knowledge.
    noise = np.random.default_rng(3).integers(0, 2, 80)[doubled]
    leaky = clone(model).fit(HOLES[doubled], noise).score_
    fair = clone(model).fit(HOLES[doubled], noise, groups=groups).score_
    assert leaky > fair + 0.05
    weights = np.where(CLASSES == "up", 1.0, 0.0)
    weights[:5] = 1.0
    weighted = clone(model).fit(HOLES, CLASSES, sample_weight=weights)
    assert (weighted.predict(HOLES) == "up").mean() > 0.8
    rare = CLASSES.astype("<U6")
    rare[7] = "single"
    assert "single" in clone(model).fit(HOLES, rare).classes_


def test_frames_with_words_and_empty_columns():
    frame = pd.DataFrame(HOLES, columns=list("abcd"))
    frame["word"] = np.where(TARGET > 0.5, "high", "low")
    frame.loc[::5, "word"] = None
    model = AutoRegressor(members=QUICK, n_repeats=1, hidden=(0.5,), random_state=0)
    assert model.fit(frame, TARGET).score_ > 0.5
    assert np.isfinite(model.predict(frame.head(3))).all()
    empty = np.column_stack([HOLES, np.full(160, np.nan)])
    model = AutoClassifier(members=QUICK, n_repeats=1, hidden=(0.5,), random_state=0)
    with pytest.warns(UserWarning, match="Left out of the density"):
        model.fit(empty, CLASSES)
    assert np.isfinite(model.predict_proba(hide_cells(empty, 0.5, 0))).all()


def test_trees_average_where_a_fold_lacks_a_column():
    rare = np.full((160, 1), np.nan)
    rare[[3, 90], 0] = [1.0, 2.0]  # some fold learns from rows without any of them
    model = AutoClassifier(members=("boosting",), n_repeats=1, random_state=0)
    model.fit(np.hstack([HOLES, rare]), CLASSES)
    assert model.members_.remarks == ("",)


def test_a_budget_leaves_members_out_and_says_so():
    model = AutoRegressor(
        members=("boosting", "beliefs", "forest"), time_budget=1e-6, n_repeats=1, random_state=0
    ).fit(HOLES, TARGET)
    assert [bool(remark) for remark in model.members_.remarks] == [False, True, True]
    assert "time was up" in str(model.members_)


@pytest.mark.parametrize(
    ("budget", "rows"), [(1.0, 1333), (15.0, 20_000), (60.0, 20_000), (300.0, 100_000)]
)
def test_seconds_buy_fewer_of_many_rows(budget, rows):
    # Trees of more than 20 000 rows are larger: a million rows must not end with the first member.
    machine = AutoClassifier(time_budget=budget, random_state=0)
    affordable = machine._affordable(np.arange(1_000_000), np.zeros(1_000_000), 30)
    assert len(affordable) == rows
    assert len(machine._affordable(np.arange(1000), np.zeros(1000), 30)) == 1000


def test_a_short_budget_grows_fewer_boosted_trees():
    rows = LearningRows(np.zeros((10_000, 30)), np.zeros(10_000), None, None)
    found = {}
    for budget in (None, 100.0, 10.0, 0.1):
        settings = Settings(["boosting"], time_budget=budget, seed=0)
        found[budget] = plan_members(rows, settings)[0].stages
    assert found[None] == found[100.0] == (25, 50, 100, 200)
    assert found[10.0] == (25, 50)
    assert found[0.1] == (25,)


def test_a_short_budget_takes_a_sample_with_all_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.where(X[:, 0] > 0, "up", "down").astype("<U4")
    y[[17, 900]] = "rare"
    model = AutoClassifier(members=["linear"], time_budget=0.1, random_state=0).fit(X, y)
    assert "rare" in model.classes_
    assert model.members_.remarks[0].startswith("learned from 1,3")
    assert np.isfinite(model.out_of_fold_).all(axis=1).sum() < 1400
    assert model.score(X, y) > 0.95


@pytest.fixture
def slow(monkeypatch):
    """Return how to make members that take a number of seconds, and how often each was fitted."""
    clock, fits = [0.0], {}

    class Slow(DummyClassifier):
        def __init__(self, name="", seconds=1.0):
            super().__init__()
            self.name, self.seconds = name, seconds

        def fit(self, X, y):
            clock[0] += self.seconds
            fits[self.name] = fits.get(self.name, 0) + 1
            return super().fit(X, y)

    def fitted(budget, **seconds):
        fits.clear()
        clock[0] = 0.0
        members = [(name.replace("_", "-"), Slow(name, each)) for name, each in seconds.items()]
        model = AutoClassifier(
            members=members, time_budget=budget, n_splits=3, n_repeats=1, random_state=0
        )
        return model.fit(np.arange(12.0).reshape(-1, 1), [0, 1] * 6), clock[0], dict(fits)

    for module in (assembly, folds, member_tuning):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return fitted


def test_a_member_that_would_come_too_late_is_given_up(slow):
    # Each takes four fits of a second, so that the third would be ready after twelve: its first
    # fit shows that.
    model, _, fits = slow(10, a=1.0, b=1.0, c=1.0)
    assert fits == {"a": 4, "b": 4, "c": 1}
    assert model.members_.remarks[2] == "left out, the time was up"
    # None is begun after the deadline.
    assert slow(10, a=0.5, b=20.0, c=1.0)[2] == {"a": 4, "b": 1}


def test_a_short_budget_is_not_spent_on_the_forest_alone(slow):
    model, _, fits = slow(10, forest=2.5, linear=0.25)
    assert fits == {"linear": 4, "forest": 1}
    assert model.members_.names == ("forest", "linear")  # in the order that was asked for
    assert model.members_.remarks == ("left out, the time was up", "")


def test_a_budget_that_suffices_changes_nothing(slow):
    members = {"beliefs": 1.0, "forest": 2.0, "linear": 1.0}
    limited, _, fits = slow(1000, **members)
    free, _, all_fits = slow(None, **members)
    assert fits == all_fits
    assert list(fits) == ["linear", "beliefs", "forest"]
    assert list(all_fits) == ["beliefs", "forest", "linear"]
    rows = np.arange(12.0).reshape(-1, 1)
    np.testing.assert_array_equal(limited.predict_proba(rows), free.predict_proba(rows))
    assert limited.members_.names == free.members_.names


@pytest.mark.parametrize("keep", [False, True])
def test_an_interrupt_keeps_members_only_if_asked_for(keep):
    class Interrupted(DummyClassifier):
        def fit(self, X, y):
            raise KeyboardInterrupt

    members = ["linear", ("stopped", Interrupted()), "boosting"]
    model = AutoClassifier(members=("linear",), hidden=(), n_repeats=1, random_state=0)
    model.fit(HOLES, CLASSES)
    before, chances = model.committee_, model.predict_proba(HOLES)
    model.set_params(members=members, on_interrupt="keep" if keep else "raise")
    if not keep:
        with pytest.raises(KeyboardInterrupt):
            model.fit(HOLES, CLASSES)
        assert model.committee_ is before
        return
    model.fit(HOLES, CLASSES)
    assert model.members_.remarks == ("", *["left out, the fit was interrupted"] * 2)
    np.testing.assert_allclose(model.predict_proba(HOLES), chances)
    with pytest.raises(KeyboardInterrupt):  # nothing to keep yet
        model.set_params(members=members[1:]).fit(HOLES, CLASSES)


def test_a_member_that_fails_is_left_out_and_all_failing_is_an_error():
    from sklearn.linear_model import LogisticRegression  # takes no NaN

    broken = ("linear", LogisticRegression())
    model = AutoClassifier(members=[broken, "boosting"], n_repeats=1, random_state=0)
    model.fit(HOLES, CLASSES)
    assert model.members_.remarks[0].startswith("failed")
    with pytest.raises(ValueError, match="No member could be fitted"):
        AutoClassifier(members=[broken]).fit(HOLES, CLASSES)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"members": "all"}, "members must be 'default'"),
        ({"members": ["nothing"]}, r"members must be .*found \['nothing'\]"),
        ({"members": []}, r"at least one of linear, .*found \[\]"),
        ({"hidden": (0.6, 0.3)}, "hidden must be increasing"),
        ({"hidden": 0.3}, "hidden must be increasing"),
        ({"time_budget": 0}, "time_budget must be"),
    ],
)
def test_bad_parameters_get_a_sentence(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        AutoClassifier(**parameters).fit(HOLES, CLASSES)


def test_no_rows_get_a_sentence():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "w": rng.choice(["u", "v"], 40)})
    quick = {"members": ["linear"], "n_splits": 2, "n_repeats": 1, "random_state": 0}
    for X in (frame, frame[["a"]], frame[["a"]].to_numpy()):
        model = AutoRegressor(**quick).fit(X, frame["a"])
        with pytest.raises(ValueError, match=r"Found 0 sample\(s\)"):
            model.predict(X[:0])


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e300])
def test_targets_of_any_unit_are_learned(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    quick = {"members": ["linear", "boosting"], "n_splits": 2, "n_repeats": 1, "random_state": 0}
    expected = AutoRegressor(**quick).fit(X, X[:, 0]).predict(X)
    found = AutoRegressor(**quick).fit(X, unit * X[:, 0]).predict(X)
    np.testing.assert_allclose(found / unit, expected, rtol=1e-6, atol=1e-8)
