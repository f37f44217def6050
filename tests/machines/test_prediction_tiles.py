"""Predictions hold one tile of the kernel matrix at a time, and are what the whole matrix gives."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest

from absentia import (
    SVC,
    SVR,
    ConjugateGradientRidge,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    GenRBF,
    KernelKMeans,
    KernelPCA,
    KernelRidge,
    LabelSpreading,
    LogisticRegression,
    OneClassSVM,
)
from absentia.engine.threads import bounded_slices
from absentia.kernels.polynomial import ExpectedPolynomial
from absentia.machines import gram_matrices
from absentia.machines.gaussian_process import expectation_propagation as sigmoid
from absentia.machines.gaussian_process import uncertain_inputs

METHODS = ("decision_function", "predict_proba", "predict", "transform", "score_samples")


def rows(n, seed=0, columns=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        SVC(kernel="linear"),
        SVC(kernel="egk"),
        SVC(mask_weight=0.5),
        SVC(density="mixture", random_state=0),
        SVR(),
        OneClassSVM(),
        KernelRidge(),
        ConjugateGradientRidge(random_state=0),
        LogisticRegression(),
        GaussianProcessClassifier(scale=1.0, gamma=0.3),
        GaussianProcessRegressor(scale=1.0, noise=0.1, gamma=0.3),
        KernelPCA(n_components=3),
        KernelKMeans(3, random_state=0),
        LabelSpreading(),
    ],
    ids=lambda machine: repr(machine)[:30],
)
def test_tiles_give_what_the_whole_matrix_gives(machine, monkeypatch):
    X, new = rows(40), rows(700, 1)
    y = np.arange(40) % 3
    machine.fit(X, y)
    methods = [name for name in METHODS if hasattr(machine, name)]
    whole = {name: getattr(machine, name)(new) for name in methods}
    if isinstance(machine, GaussianProcessRegressor):
        methods.append("std")
        machine.std = lambda X: machine.predict(X, return_std=True)[1]
        whole["std"] = machine.std(new)
    monkeypatch.setattr(gram_matrices, "TILE_FLOATS", 40 * gram_matrices.TILE_ROWS)
    assert len(list(machine._gram_tiles(machine._believe(new)))) == 3
    for name in methods:
        tiled = getattr(machine, name)(new)
        if repr(machine) in ("SVC(kernel='linear')", "SVC(kernel='egk')"):
            # These kernels are products by BLAS, which may group sums by the number of rows.
            np.testing.assert_allclose(tiled, whole[name], rtol=1e-10, atol=1e-10)
        else:
            np.testing.assert_array_equal(tiled, whole[name])


@pytest.mark.parametrize("columns", [3, 9])
def test_tiles_are_the_rows_of_the_whole_matrix_to_the_last_bit(columns, monkeypatch):
    X, new = rows(300, columns=columns), rows(2000, 1, columns=columns)
    machine = SVC().fit(X, np.arange(300) % 2)
    whole = machine._gram_rows(new)
    decisions = machine.decision_function(new)
    for floats in (1, 2**17, 2**18):
        monkeypatch.setattr(gram_matrices, "TILE_FLOATS", floats)
        tiles = list(machine._gram_tiles(machine._believe(new)))
        assert len(tiles) == 8
        for part, K in tiles:
            np.testing.assert_array_equal(K, whole[part])
        np.testing.assert_array_equal(machine.decision_function(new), decisions)


def test_rows_in_another_batch_agree_up_to_rounding():
    X, new = rows(300, columns=9), rows(2000, 1, columns=9)
    machine = SVC().fit(X, np.arange(300) % 2)
    decisions = machine.decision_function(new)
    for some in (slice(0, 1), slice(5, 300), slice(1000, 2000)):
        np.testing.assert_allclose(
            machine.decision_function(new[some]), decisions[some], atol=1e-12
        )


def peak_of(function, new):
    function(new[:10])
    tracemalloc.start()
    function(new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_matrix(monkeypatch):
    X, new = rows(600), rows(20_000, 1)
    machine = SVC().fit(X, np.random.default_rng(0).random(600) > 0.5)
    matrix = 8 * len(new) * len(machine.beliefs_)
    monkeypatch.setattr(gram_matrices, "TILE_FLOATS", 2**18)
    assert peak_of(machine.predict, new) < matrix / 4


@pytest.mark.parametrize("mask_weight", [None, 0.5])
def test_memory_of_an_uncertainty_does_not_grow_with_the_matrix(mask_weight, monkeypatch):
    X, new = rows(150), rows(5000, 1)
    given = {"gamma": 0.3, "scale": 1.0, "noise": 0.1, "mask_weight": mask_weight}
    machine = GaussianProcessRegressor(**given).fit(X, np.random.default_rng(0).random(150))
    monkeypatch.setattr(gram_matrices, "TILE_FLOATS", 2**16)
    # Pieces of bumps and slopes are bounded too.
    monkeypatch.setattr(uncertain_inputs, "bounded_slices", partial(bounded_slices, budget=2**14))
    parts = partial(machine.predict_uncertainty, by_column=False)
    assert peak_of(parts, new) < 8 * len(new) * len(X) / 2
    np.testing.assert_array_equal(parts(new[:700]).prediction, machine.predict(new[:700]))


@pytest.mark.parametrize("variance", [0.3, 3.0])
def test_memory_of_average_sigmoids_does_not_grow_with_their_nodes(variance, monkeypatch):
    """45 or 191 nodes for each row, of which a prediction for 64 draws of each row has many."""
    means = np.random.default_rng(0).normal(size=20_000)
    whole = sigmoid.average_sigmoid(means, np.full(len(means), variance))
    monkeypatch.setattr(sigmoid, "bounded_slices", partial(bounded_slices, budget=2**16))
    average = partial(sigmoid.average_sigmoid, variance=variance)
    np.testing.assert_array_equal(average(means), whole)
    assert peak_of(average, means) < 8 * len(means) * 20


def test_memory_of_the_way_back_does_not_grow_with_the_matrix(monkeypatch):
    machine = KernelPCA(n_components=2, kernel="genrbf", fit_inverse_transform=True).fit(rows(600))
    components = machine.transform(rows(20_000, 1))
    whole = machine.inverse_transform(components)
    monkeypatch.setattr(gram_matrices, "TILE_FLOATS", 2**18)
    np.testing.assert_array_equal(machine.inverse_transform(components), whole)
    assert peak_of(machine.inverse_transform, components) < 8 * len(components) * 600 / 4


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "linear"},
        {"kernel": "esd"},
        {"kernel": "egk"},
        {"mask_weight": 0.5},
        {"density": "mixture"},
        {"kernel": GenRBF(metric="mahalanobis")},
        {"kernel": ExpectedPolynomial(2)},
    ],
    ids=str,
)
def test_a_machine_without_support_vectors_answers_with_its_constant(options):
    X = rows(40)
    y = np.random.default_rng(0).normal(size=40)
    machine = SVR(epsilon=100.0, **options).fit(X, y)
    assert len(machine.support_) == 0
    # That of scikit-learn on complete rows: half-way between the extremes.
    np.testing.assert_allclose(machine.predict(X), (y.min() + y.max()) / 2, atol=1e-12)
