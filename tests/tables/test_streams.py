from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from absentia import (
    Chunks,
    FourierFeatures,
    GaussianDensity,
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LargeScaleSVC,
    MaskFeatures,
    MixtureDensity,
    Nystroem,
)
from absentia.tables.streams import pairwise_sum, sample_rows


def table(n=900, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    X[: n // 3] += 4.0
    y = np.sin(X[:, 0]) + X[:, 1]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[5], X[:, 3] = np.nan, X[:, 3] * 1e5 + 1e6
    return X, y


def in_pieces(*arrays, sizes=(1, 0, 450, 7)):
    """Cut arrays unevenly; one piece is empty, and the first has no value of the first column."""
    ends = np.cumsum(sizes)
    pieces = [np.split(array, ends) for array in arrays]
    together = list(zip(*pieces, strict=True))
    return Chunks([parts if len(parts) > 1 else parts[0] for parts in together])


def same_density(one, other):
    assert_allclose(one.prior_.weights, other.prior_.weights, rtol=1e-8, atol=1e-8)
    assert_allclose(one.prior_.means, other.prior_.means, rtol=1e-8, atol=1e-8)
    # Sums in another order: EM stops a little elsewhere, which shows in small correlations.
    assert_allclose(one.prior_.covariances, other.prior_.covariances, rtol=1e-6, atol=1e-8)
    # The objective is a sum of a thousand terms, each with its own rounding.
    assert_allclose(one.log_likelihoods_, other.log_likelihoods_, rtol=1e-8)
    assert one.n_iter_ == other.n_iter_


@pytest.mark.parametrize("density", [GaussianDensity(), MixtureDensity(3, random_state=0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_density_learns_the_same_from_chunks(density, weighted):
    X, y = table()
    X[0, 0] = np.nan
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float) if weighted else None
    pieces = in_pieces(X, y, weights) if weighted else in_pieces(X)
    whole = type(density)(**density.get_params()).fit(X, sample_weight=weights)
    spread = type(density)(**density.get_params()).fit(pieces)
    same_density(spread, whole)
    assert spread.n_features_in_ == 4
    scores = spread.score_samples(pieces).concatenate()
    assert_allclose(scores, whole.score_samples(X), rtol=1e-8, atol=1e-10)
    # 1e-7: what differs by 1e-8 in the density is carried further by the observed values.
    imputed = spread.impute(pieces).concatenate()
    assert_allclose(imputed, whole.impute(X), rtol=1e-8, atol=1e-7)


def test_constant_and_empty_columns_are_treated_alike():
    X, _ = table()
    X = np.column_stack([X, np.full(len(X), 3.7), np.full(len(X), np.nan)])
    X[:500, 4] = np.nan
    with pytest.warns(UserWarning, match="missing in every training row: x5"):
        whole = GaussianDensity().fit(X)
    with pytest.warns(UserWarning, match="missing in every training row: x5"):
        spread = GaussianDensity().fit(in_pieces(X))
    same_density(spread, whole)
    assert_array_equal(spread.columns_, whole.columns_)


def test_each_step_of_em_is_one_pass():
    X, _ = table()
    passes = []

    def read():
        passes.append(0)
        yield from np.array_split(X, 5)

    density = GaussianDensity(accelerate=False).fit(Chunks(read))
    # One to know the columns, one for scales, one for shrinkage, one to a step, one for names.
    assert len(passes) <= density.n_iter_ + 5


def test_only_one_chunk_is_held_at_a_time():
    alive, most = 0, 0

    class Piece(np.ndarray):
        def __del__(self):
            nonlocal alive
            alive -= 1

    def read():
        nonlocal alive, most
        for seed in range(12):
            alive += 1
            most = max(most, alive)
            yield np.random.default_rng(seed).standard_normal((50, 3)).view(Piece)

    GaussianDensity(max_iter=3, tol=1.0).fit(Chunks(read))
    assert most <= 3


@pytest.mark.parametrize(
    "features",
    [FourierFeatures(20, random_state=0), Nystroem(20, random_state=0), MaskFeatures(8)],
    ids=["fourier", "nystroem", "mask"],
)
def test_features_of_chunks_are_those_of_the_rows(features):
    X, _ = table()
    pieces = in_pieces(X)
    features.fit(pieces)
    Z = features.transform(pieces)
    assert isinstance(Z, Chunks)
    # 1e-8: small blocks go through other routines of the matrix library.
    assert_allclose(Z.concatenate(), features.transform(X), atol=1e-8)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", ["ridge", "least squares", "svm", "logistic"])
def test_machines_learn_the_same_from_chunks(kind, k):
    X, y = table()
    shared = {"n_components": 30, "random_state": 0, "gamma": 0.05}
    if kind == "ridge":
        machine = LargeScaleRidge(**shared)
        y = y if k == 2 else np.column_stack([y, y**2])
    else:
        y = np.array(list("abc"))[np.searchsorted(np.quantile(y, np.arange(1, k) / k), y)]
        machine = {
            "least squares": LargeScaleSVC(loss="least_squares", **shared),
            "svm": LargeScaleSVC(**shared),
            "logistic": LargeScaleLogisticRegression(**shared),
        }[kind]
    spread = type(machine)(**machine.get_params()).fit(in_pieces(X, y))
    machine.fit(X, y)
    assert_allclose(spread.coef_, machine.coef_, atol=1e-7)
    predicted = spread.predict(in_pieces(X)).concatenate()
    if kind == "ridge":
        assert_allclose(predicted, machine.predict(X), atol=1e-8)
    else:
        assert_array_equal(predicted, machine.predict(X))
        assert_allclose(
            spread.decision_function(in_pieces(X)).concatenate(),
            machine.decision_function(X),
            atol=1e-7,
        )


def test_parquet_files_are_read_in_batches(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["target"] = y
    for part, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(tmp_path / f"{part}.parquet")
    files = sorted(tmp_path.glob("*.parquet"))
    chunks = Chunks.from_parquet(files, target="target", batch_rows=100)
    machine = LargeScaleRidge(n_components=30, random_state=0).fit(chunks)
    assert list(machine.feature_names_in_) == list("abcd")
    twin = LargeScaleRidge(n_components=30, random_state=0).fit(X, y)
    assert_allclose(machine.predict(frame[list("abcd")]), twin.predict(X), atol=1e-7)
    some = GaussianDensity().fit(Chunks.from_parquet(files, columns=["b", "c"]))
    assert list(some.feature_names_in_) == ["b", "c"]
    with pytest.raises(ValueError, match="at least one"):
        Chunks.from_parquet([])


def test_chunks_that_cannot_be_read_again_are_refused():
    X, _ = table()
    with pytest.raises(TypeError, match="only once"):
        Chunks(iter([X]))
    with pytest.raises(TypeError, match="empty list"):
        Chunks([])
    with pytest.raises(ValueError, match="no chunks"):
        GaussianDensity().fit(Chunks(lambda: iter(())))


def test_chunks_that_do_not_fit_together_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="same columns"):
        GaussianDensity().fit(Chunks([X, X[:, :2]]))
    frames = [pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(X, columns=list("abdc"))]
    with pytest.raises(ValueError, match="same columns"):
        GaussianDensity().fit(Chunks(frames))
    with pytest.raises(ValueError, match="cut at the same rows"):
        LargeScaleRidge().fit(Chunks([(X, y[:-1])]))
    with pytest.raises(ValueError, match="tuple of 4"):
        GaussianDensity().fit(Chunks([(X, y, y, y)]))
    with pytest.raises(ValueError, match="no targets"):
        LargeScaleRidge().fit(Chunks([X]))
    with pytest.raises(ValueError, match="come with the chunks"):
        LargeScaleRidge().fit(Chunks([X]), y)
    with pytest.raises(ValueError, match="Infinity"):
        GaussianDensity().fit(Chunks([np.where(np.isnan(X), np.inf, X)]))
    for model in (GaussianDensity(), LargeScaleRidge()):
        with pytest.raises(ValueError, match="must not be negative, found -1 in row 0"):
            model.fit(Chunks([(X, y, -np.ones(len(X)))]))
    none, all_ = np.zeros(len(X)), np.ones(len(X))
    kept = GaussianDensity().fit(Chunks([(X, y, all_), (X, y, none)]))  # a chunk may count nothing
    assert_allclose(kept.mean_, GaussianDensity().fit(X).mean_)
    density = GaussianDensity().fit(X)
    with pytest.raises(ValueError, match="chunk by chunk"):
        density.condition(Chunks([X]))
    features = FourierFeatures(4).fit(X)
    with pytest.raises(ValueError, match="expecting 4 features"):
        features.transform(Chunks([X[:, :2]]))


def test_a_sample_does_not_depend_on_how_rows_are_cut_into_sums():
    X = np.arange(1000.0)[:, None]
    pieces = Chunks(np.array_split(X, 7))
    rows, weights = sample_rows(pieces, 100, np.random.RandomState(0))
    assert weights is None
    assert len(np.unique(rows)) == 100
    assert (np.diff(rows[:, 0]) > 0).all()
    assert 300 < rows.mean() < 700
    everything, _ = sample_rows(pieces, 5000, np.random.RandomState(0))
    assert_array_equal(everything, X)


def test_neighbours_are_added_first():
    assert pairwise_sum("abcdefg") == "abcdefg"
    assert pairwise_sum([(1, np.ones(2)), (2, np.ones(2)), (3, np.ones(2))])[0] == 6
    with pytest.raises(ValueError, match="no chunks"):
        pairwise_sum([])
