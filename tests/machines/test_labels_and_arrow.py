"""Classes keep the type of the labels, pyarrow tables are frames, unequal ranges are said."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import (
    SVC,
    SVCCV,
    AutoClassifier,
    GaussianDensity,
    GaussianProcessClassifier,
    KernelRidge,
    LargeScaleLogisticRegression,
    LargeScaleSVC,
    LogisticRegression,
    MarginalClassifier,
)

X = np.random.default_rng(0).normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int) + 3


@pytest.mark.parametrize(
    "machine",
    [
        *(SVC(), LogisticRegression(), LargeScaleLogisticRegression(n_components=8)),
        AutoClassifier(members=["linear"], n_repeats=1),
        MarginalClassifier(DummyClassifier(), n_draws=4),
    ],
    ids=lambda machine: type(machine).__name__,
)
@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (pd.Series(Y, dtype="Int64"), "i"),
        (pd.Series(Y, dtype="Int32"), "i"),
        (pd.Series(Y > 3, dtype="boolean"), "b"),
        (pd.Series(Y, dtype="int64[pyarrow]"), "i"),
        (pl.Series(Y), "i"),
        (Y.astype(float), "f"),
    ],
)
def test_classes_keep_the_type_of_the_labels(machine, labels, kind):
    machine.fit(X, labels)
    assert machine.classes_.dtype.kind == kind
    assert machine.predict(X[:5]).dtype.kind == kind


def test_labels_that_miss_a_value_are_refused_by_name():
    labels = pd.Series(Y, dtype="Int64")
    labels[3] = pd.NA
    with pytest.raises(ValueError, match="first in row 3"):
        SVC().fit(X, labels)


@pytest.mark.parametrize("words", [True, False])
def test_tables_of_pyarrow_are_frames(words):
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1]})
    if words:
        frame["w"] = np.where(X[:, 1] > 0, "a", "b")
    table = pa.Table.from_pandas(frame)
    for machine in (
        *(SVC(), KernelRidge(), AutoClassifier(members=["linear"], n_repeats=1)),
        MarginalClassifier(DummyClassifier(), n_draws=4),
    ):
        found = machine.fit(table, Y).predict(table)
        np.testing.assert_array_equal(found, machine.fit(frame, Y).predict(frame))
    density = GaussianDensity().fit(table)
    assert list(density.plan_.names) == list(frame.columns)
    assert len(density.impute(table)) == 60


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_very_different_ranges_are_warned_of_in_frames_alone(make):
    columns = {"proline": 1000 * X[:, 0], "hue": X[:, 1]}
    common = (
        *(SVC(), SVC(gamma="loo"), SVCCV(Cs=[1.0], gammas=2), LargeScaleSVC(n_components=8)),
        GaussianProcessClassifier(),
    )
    for machine in common:
        with pytest.warns(UserWarning, match="'proline' is .* that of 'hue'") as caught:
            machine.fit(make(columns), Y)
        assert sum("StandardScaler" in str(warning.message) for warning in caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(np.column_stack(list(columns.values())), Y)  # as scikit-learn does
        SVC(gamma=[1e-6, 1.0]).fit(make(columns), Y)
        AutoClassifier(members=["linear"], n_repeats=1).fit(make(columns), Y)  # scales them
        SVC().fit(make({**columns, "w": np.where(X[:, 1] > 0, "a", "b")}), Y)  # standard units
        make_pipeline(StandardScaler(), SVC()).fit(make(columns), Y)
