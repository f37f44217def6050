"""Machines with densities, kernels and other tools of scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score

from absentia import (
    SVC,
    SVCCV,
    ExpectedRBF,
    GaussianDensity,
    KernelMatrix,
    KernelRidge,
    MixtureDensity,
    NotPositiveDefiniteWarning,
)
from machines.contract import table, targets_of


def test_a_mixture_by_name_or_with_parameters():
    X, y = table(60), targets_of("classes", 60)
    assert isinstance(SVC(density="mixture").fit(X, y).density_, MixtureDensity)
    model = SVC(density=MixtureDensity(n_components=2, random_state=0)).fit(X, y)
    assert model.beliefs_.n_components == 2
    assert np.isfinite(model.decision_function(table(5, seed=1))).all()


def test_calibration_and_cross_validation_work_on_rows_and_beliefs():
    X, y = table(60), targets_of("classes", 60)
    calibrated = CalibratedClassifierCV(SVC(), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    P = GaussianDensity().fit(X).condition(X)
    on_beliefs = cross_val_score(SVC(gamma=0.3), P, y, cv=3)
    assert on_beliefs.shape == (3,)
    assert np.isfinite(on_beliefs).all()


def test_threads_give_the_same_to_the_last_bit():
    X, y = table(80), targets_of("numbers", 80)
    one, two = (KernelRidge(n_jobs=n_jobs).fit(X, y).predict(X) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_an_indefinite_matrix_is_told():
    X, y = 4 * table(60), targets_of("classes", 60)
    kernel = ExpectedRBF(gamma=1.0, scaled=False)
    with pytest.warns(NotPositiveDefiniteWarning, match="smallest eigenvalue"):
        SVC(kernel=kernel).fit(X, y)
    with pytest.warns(NotPositiveDefiniteWarning, match="smallest eigenvalue"):
        KernelMatrix(kernel=kernel).fit_transform(X)


def test_mask_weights_follow_the_columns_that_are_kept():
    X, y = table(), targets_of("classes")
    wide = np.column_stack([np.full(30, np.nan), X])
    new = table(6, seed=1)
    expected = SVC(mask_weight=[0.1, 0.5, 1.0]).fit(X, y).decision_function(new)
    wide_new = np.column_stack([np.zeros(6), new])
    for machine in (
        SVC(mask_weight=[9.0, 0.1, 0.5, 1.0]),
        SVCCV(mask_weights=([9.0, 0.1, 0.5, 1.0],), gammas=None, Cs=(1.0,), cv=2),
    ):
        with pytest.warns(UserWarning, match="x0"):
            machine.fit(wide, y)
        np.testing.assert_allclose(machine.decision_function(wide_new), expected, atol=1e-8)


def test_names_are_missed_once_and_kept_by_the_density():
    frame = pd.DataFrame(table(), columns=["a", "b", "c"])
    model = SVC().fit(frame, targets_of("classes"))
    assert list(model.density_.feature_names_in_) == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="SVC was fitted with feature names") as caught:
        model.predict(table(3))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(model.density_.condition(frame[:3]))


def test_a_density_that_was_fitted_elsewhere_is_held_to_its_names():
    frame, y = pd.DataFrame(table(), columns=["a", "b", "c"]), targets_of("classes")
    frozen = FrozenEstimator(GaussianDensity().fit(frame))
    for machine in (
        SVC(density=frozen),
        SVCCV(density=frozen, gammas=(0.1,), Cs=(1.0,), cv=2),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            machine.fit(frame, y).predict(frame)
        with pytest.raises(ValueError, match="feature names should match"):
            machine.fit(frame.rename(columns={"a": "z"}), y)


def test_a_fitted_density_can_be_kept_and_a_density_may_ignore_weights():
    X, y = table(), targets_of("classes")
    elsewhere = GaussianDensity().fit(table(200, seed=9))
    model = SVC(density=FrozenEstimator(elsewhere)).fit(X, y)
    np.testing.assert_array_equal(model.beliefs_.prior.means, elsewhere.prior_.means)

    class Plain(BaseEstimator):
        def fit(self, X, y=None):
            self.inner_ = GaussianDensity().fit(X)
            return self

        def condition(self, X):
            return self.inner_.condition(X)

    weighted = SVC(density=Plain()).fit(X, y, sample_weight=np.arange(1.0, 31.0))
    np.testing.assert_array_equal(weighted.density_.inner_.mean_, GaussianDensity().fit(X).mean_)
