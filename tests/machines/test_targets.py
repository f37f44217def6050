"""Targets that nobody means: dates, durations, text, and labels in another order than the rows."""

import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import absentia
from absentia import Chunks, KernelRidge
from absentia.machines.targets import balanced_weights, class_signs, weights_of_present

RNG = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
DAYS = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), unit="D"))

REGRESSORS = [
    absentia.AutoRegressor(members=["linear"]),
    absentia.SVR(),
    absentia.SVRCV(),
    absentia.KernelRidge(),
    absentia.GaussianProcessRegressor(),
    absentia.LargeScaleRidge(n_components=8),
    absentia.MarginalRegressor(LinearRegression()),
    absentia.ConformalRegressor(LinearRegression()),
]
CLASSIFIERS = [
    absentia.AutoClassifier(members=["linear"]),
    absentia.SVC(),
    absentia.SVCCV(),
    absentia.LargeScaleLogisticRegression(n_components=8),
    absentia.LabelSpreading(),
    absentia.MarginalClassifier(LogisticRegression()),
    absentia.ConformalClassifier(LogisticRegression()),
]


def named(machine):
    return type(machine).__name__


@pytest.mark.parametrize("machine", REGRESSORS, ids=named)
def test_regressors_refuse_what_is_no_number(machine):
    for dates in (DAYS, DAYS.to_numpy(), DAYS.dt.tz_localize("UTC"), list(DAYS.dt.date)):
        with pytest.raises(ValueError, match=r"y holds dates, .* days since a fixed date"):
            machine.fit(FRAME, dates)
    with pytest.raises(ValueError, match="y holds durations, which are not supported as targets"):
        machine.fit(FRAME, DAYS - DAYS[0])
    with pytest.raises(ValueError, match="y holds text such as '2218,21', but a regressor"):
        machine.fit(FRAME, ["1.5"] * (N - 1) + ["2218,21"])


@pytest.mark.parametrize("machine", CLASSIFIERS, ids=named)
def test_classifiers_refuse_dates_that_are_no_classes(machine):
    for dates in (DAYS, [date(2020, 1, 1), date(2020, 1, 2)] * (N // 2)):
        with pytest.raises(ValueError, match=r"y holds dates, which .* y.astype"):
            machine.fit(FRAME, dates)
    with pytest.raises(ValueError, match=r"y holds durations, which .* y.astype"):
        machine.fit(FRAME, (DAYS - DAYS[0]) % pd.Timedelta(days=2))


def test_a_few_dates_are_classes():
    years = DAYS.dt.normalize().where(DAYS.index % 2 == 0, pd.Timestamp("2021-01-01"))
    years[years.index % 2 == 0] = pd.Timestamp("2022-01-01")
    machine = absentia.SVC().fit(FRAME, years)
    assert set(machine.predict(FRAME)) <= set(years.to_numpy())
    years[7] = pd.NaT
    with pytest.raises(ValueError, match="first in row 7"):
        absentia.SVC().fit(FRAME, years)


def test_numbers_written_as_text_are_numbers():
    y = FRAME["a"].to_numpy()
    plain, text = (
        absentia.KernelRidge().fit(FRAME, of) for of in (y, [repr(v) for v in y.tolist()])
    )
    np.testing.assert_array_equal(plain.predict(FRAME), text.predict(FRAME))


def test_targets_of_chunks_are_checked_too():
    chunks = Chunks([(FRAME.to_numpy(), DAYS.to_numpy())])
    with pytest.raises(ValueError, match="y holds dates"):
        absentia.LargeScaleRidge(n_components=8).fit(chunks)


@pytest.mark.parametrize("machine", [*REGRESSORS[:1], *REGRESSORS[3:], *CLASSIFIERS], ids=named)
def test_labels_in_another_order_get_one_warning(machine):
    y = FRAME["a"] if machine in REGRESSORS else FRAME["a"] > 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(FRAME, y.iloc[::-1])
    said = [warning for warning in caught if "in another order" in str(warning.message)]
    assert len(said) == 1
    assert said[0].filename == __file__


def test_other_labels_get_no_warning():
    y = FRAME["a"]
    for rows in (y, y.to_numpy(), y.set_axis(y.index + 1), y.set_axis(np.arange(N)[::-1] // 2)):
        absentia.KernelRidge().fit(FRAME, rows)
    absentia.KernelRidge().fit(FRAME.to_numpy(), y.iloc[::-1])


def test_windows_that_overlap_have_no_order():
    windows = pd.IntervalIndex.from_arrays(np.arange(12.0), np.arange(12.0) + 3)
    X = pd.DataFrame({"a": np.arange(12.0)}, index=windows)
    y = pd.Series(np.arange(12.0), index=windows[::-1])
    with pytest.warns(UserWarning, match="in another order"):
        KernelRidge().fit(X, y)


def test_classes_as_signs_and_balanced_weights():
    classes, signs = class_signs(["no", "yes", "no"])
    assert classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(signs, [[-1.0], [1.0], [-1.0]])
    balanced = balanced_weights(["a", "b", "b", "b"], np.array([1.0, 1.0, 2.0, 0.0]))
    np.testing.assert_allclose(balanced, [2.0, 2 / 3, 2 / 3, 2 / 3])
    assert weights_of_present({"a": 2.0, "b": 0.0}, np.array(["a", "c"])) == {"a": 2.0}
