"""The mixed density against enumeration, and at its corners."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from absentia import Chunks, ColumnPlan, GaussianDensity, GenRBF, MixedDensity, MixtureDensity
from densities.mixed_examples import fitted, mixed_table
from oracles.mixed import row_belief


def codes_of(X):
    return np.where(np.isnan(X[:, [1, 3]]), -1, X[:, [1, 3]] - [0, 10]).astype(int)


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_beliefs_and_scores_are_those_of_enumeration(n_components):
    X = mixed_table()
    density = fitted(X, n_components)
    prior = density.prior_
    beliefs, scores = density.condition(X), density.score_samples(X)
    for i in range(len(X)):
        weights, means, _, tables, total = row_belief(
            X[i, [0, 2]],
            codes_of(X)[i],
            prior.weights,
            prior.means,
            prior.covariances,
            prior.probabilities,
        )
        np.testing.assert_allclose(beliefs.weights()[i], weights, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(beliefs.means[i], means, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(scores[i], total, rtol=1e-10, atol=1e-10)
        for j in range(2):
            expected = weights @ np.array([own[j] for own in tables])
            np.testing.assert_allclose(beliefs.probabilities(j)[i], expected, atol=1e-12)


def test_the_fit_is_a_maximum_of_the_penalised_likelihood():
    X = mixed_table(200)
    density = fitted(X, 2, smoothing=1e-6)
    assert (np.diff(density.log_likelihoods_) >= 0).all()
    weights = density.condition(X).weights()
    codes = codes_of(X)
    for j, table in enumerate(density.probabilities_):
        seen = codes[:, j] >= 0
        counts = weights[seen].T @ np.eye(table.shape[1])[codes[seen, j]]
        # The fixed point of EM, reached to its tolerance in roots of probabilities.
        np.testing.assert_allclose(table, counts / counts.sum(axis=1, keepdims=True), atol=1e-4)
    assert density.bic(X) == pytest.approx(density.bics_[0], rel=1e-10)


def test_numbers_alone_are_a_mixture():
    X = mixed_table()[:, [0, 2]]
    mixed = MixedDensity(2, random_state=0).fit(X)
    plain = MixtureDensity(2, random_state=0).fit(X)
    assert mixed.prior_.equals(plain.prior_)
    one = MixedDensity(1, pooling=0).fit(X)
    # Both stop where a step changes a parameter by less than 1e-5.
    np.testing.assert_allclose(one.covariances_[0], GaussianDensity().fit(X).covariance_, rtol=1e-4)


def test_categories_alone_are_latent_classes():
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=400)
    X = np.where(rng.random((400, 6)) < 0.9, kind[:, None], 1 - kind[:, None]).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    density = MixedDensity(categories=range(6), random_state=0).fit(X)
    assert density.n_components_ == 2
    assert density.bic(X) == pytest.approx(density.bics_.min(), rel=1e-10)
    row = np.full((1, 6), np.nan)
    assert density.score_samples(row)[0] == pytest.approx(0, abs=1e-12)
    row[0, 0] = 1
    frequency = density.weights_ @ density.probabilities_[0][:, 1]
    assert density.score_samples(row)[0] == pytest.approx(np.log(frequency), rel=1e-10)
    assert set(density.sample(50, random_state=0).ravel()) == {0.0, 1.0}


def test_imputed_and_drawn_categories_are_categories():
    X = mixed_table()
    density = fitted(X)
    filled, drawn = density.impute(X), density.sample(300, random_state=0)
    seen = ~np.isnan(X)
    assert (filled[seen] == X[seen]).all()
    assert np.isfinite(filled).all()
    for table in (filled, drawn):
        assert set(table[:, 1]) <= {0.0, 1.0, 2.0}
        assert set(table[:, 3]) <= {10.0, 11.0}
    share = (drawn[:, 3] == 11).mean()
    expected = float(density.weights_ @ density.probabilities_[1][:, 1])
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / 300)


def test_draws_of_beliefs_have_the_probabilities_of_their_categories():
    X = mixed_table()
    beliefs = fitted(X).condition(X)
    draws = beliefs.sample(2000, random_state=0)
    assert draws.shape == (2000, len(X), 4)
    for j in range(2):
        p = beliefs.probabilities(j)[:, 1]
        share = (draws[:, :, 2 + j] == 1).mean(axis=0)
        assert (np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / 2000) + 1e-12).all()


def test_beliefs_with_categories_slice_join_and_check_themselves():
    X = mixed_table()
    beliefs = fitted(X).condition(X)
    joined = type(beliefs).concatenate([beliefs[:7], beliefs[7:]])
    assert (joined.codes == beliefs.codes).all()
    joined.validate()
    spoiled = beliefs[:3]
    object.__setattr__(spoiled, "codes", np.full((3, 2), 7))
    with pytest.raises(ValueError, match="codes"):
        spoiled.validate()


def test_weights_are_rows_and_an_unseen_value_is_missing():
    X = mixed_table()
    weights = np.random.default_rng(1).integers(0, 3, size=len(X))
    weighted = fitted(X, 1)
    weighted.fit(X, sample_weight=weights)
    repeated = fitted(np.repeat(X, weights, axis=0), 1)
    for a, b in zip(weighted.probabilities_, repeated.probabilities_, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    row, other = X[:1].copy(), X[:1].copy()
    row[0, 1], other[0, 1] = 99.0, np.nan
    assert weighted.score_samples(row) == weighted.score_samples(other)


def test_corners():
    X = mixed_table()
    X[:, 3] = 10.0  # one category
    assert fitted(X).probabilities_[1].tolist() == [[1.0], [1.0]]
    X[:, 3] = np.nan
    with pytest.warns(UserWarning, match="x3"):
        density = fitted(X)
    assert density.columns_.tolist() == [0, 1, 2]
    X[:, 1] = np.arange(len(X))  # all distinct
    with pytest.warns(UserWarning, match="x3"):
        assert np.isfinite(fitted(X).score(X))
    with pytest.raises(ValueError, match="not among the columns that are learned from"):
        MixedDensity(categories=["colour"]).fit(X)
    with pytest.raises(ValueError, match="from 0 to 3"):
        MixedDensity(categories=[4]).fit(X)
    with pytest.raises(ValueError, match="smoothing"):
        MixedDensity(smoothing=0).fit(X)


@pytest.mark.parametrize("margins", [None, "normal-scores"])
@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [1, 3]])
def test_chunks_are_learned_from_as_a_table_is(columns, margins):
    X = mixed_table(120)[:, columns]
    categories = [columns.index(1), columns.index(3)]
    weights = np.random.default_rng(0).integers(0, 3, size=120).astype(float)
    params = {"n_components": 2, "categories": categories, "random_state": 0, "margins": margins}
    whole = MixedDensity(**params).fit(X, sample_weight=weights)
    cuts = [slice(0, 50), slice(50, 51), slice(51, 120)]
    pieces = Chunks([(X[cut], None, weights[cut]) for cut in cuts])
    streamed = MixedDensity(**params).fit(pieces)
    assert streamed.columns_.tolist() == whole.columns_.tolist()
    # Sums over chunks are rounded in another order.
    np.testing.assert_allclose(streamed.weights_, whole.weights_, atol=1e-8)
    for ours, theirs in zip(streamed.probabilities_, whole.probabilities_, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
    np.testing.assert_allclose(streamed.means_, whole.means_, atol=1e-8)
    assert streamed.bics_[0] == pytest.approx(whole.bics_[0], rel=1e-6)
    np.testing.assert_allclose(
        streamed.score_samples(pieces).concatenate(), streamed.score_samples(X), rtol=1e-10
    )
    np.testing.assert_allclose(
        streamed.impute(pieces).concatenate(), streamed.impute(X), rtol=1e-12
    )


def test_dask_tables_are_learned_from_as_chunks_are():
    da = pytest.importorskip("dask.array")
    X = mixed_table(100)
    params = {"n_components": 2, "categories": [1, 3], "random_state": 0}
    lazy = MixedDensity(**params).fit(da.from_array(X, chunks=(40, 4)))
    pieces = MixedDensity(**params).fit(Chunks([X[:40], X[40:80], X[80:]]))
    assert lazy.prior_.equals(pieces.prior_)


def test_one_component_of_numbers_is_a_gaussian():
    X = mixed_table(80)[:, [0, 2]]
    tight = {"tol": 1e-12, "max_iter": 5000}
    mixed = MixedDensity(1, pooling=0, **tight).fit(X)
    plain = GaussianDensity(**tight).fit(X)
    # EM ends where rounding hides the gain of a step, and a step is the root of its gain, which
    # is 1e-8 for a gain of 1e-16: the two stop 4e-9 apart.
    np.testing.assert_allclose(mixed.means_[0], plain.mean_, rtol=1e-8)
    np.testing.assert_allclose(mixed.covariances_[0], plain.covariance_, rtol=1e-8)
    np.testing.assert_allclose(mixed.score_samples(X), plain.score_samples(X), rtol=1e-8)


def test_ten_thousand_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=3000), rng.integers(10_000, size=3000)])
    X[rng.random(X.shape) < 0.1] = np.nan
    density = MixedDensity(2, categories=[1], random_state=0, max_iter=5, n_init=1, tol=1.0).fit(X)
    assert density.probabilities_[0].shape == (2, len(np.unique(X[~np.isnan(X[:, 1]), 1])))
    assert np.isfinite(density.impute(X)).all()
    assert np.isin(density.sample(100, random_state=0)[:, 1], density.categories_[0]).all()
    K = GenRBF()(density.condition(X[:50]))
    assert np.linalg.eigvalsh(K).min() > -1e-10


def test_several_starts_are_no_worse_than_one():
    X = mixed_table(150)
    one, many = (fitted(X, 3, n_init=n).log_likelihoods_[-1] for n in (1, 8))
    assert many >= one - 1e-6 * abs(one)


def test_bic_finds_the_number_of_components():
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=400)
    X = np.column_stack([rng.normal(5.0 * kind), (kind == 1) ^ (rng.random(400) < 0.05)])
    X[rng.random(X.shape) < 0.2] = np.nan
    density = MixedDensity("bic", categories=[1], random_state=0).fit(X)
    assert density.n_components_ == 3
    assert density.bics_.argmin() == 2


def test_ordered_categories_are_numbers_unless_they_are_named():
    rng = np.random.default_rng(0)
    grade = pd.Categorical(
        rng.choice(["low", "middle", "high"], 120), ["low", "middle", "high"], ordered=True
    )
    frame = pd.DataFrame(
        {"grade": grade, "ward": rng.choice(["north", "south"], 120), "age": rng.normal(size=120)}
    )
    frame.loc[rng.random(120) < 0.2, "grade"] = None
    by_default = MixedDensity(1).fit(frame)
    assert by_default.category_columns_.tolist() == [1]
    named = MixedDensity(1, categories=["grade"]).fit(frame)
    assert named.category_columns_.tolist() == [0, 1]
    assert [len(values) for values in named.categories_] == [3, 2]
    shares = np.sort(frame["grade"].value_counts(normalize=True).to_numpy())
    np.testing.assert_allclose(np.sort(named.probabilities_[0][0]), shares, rtol=1e-10)
    imputed = named.impute(frame)["grade"].dropna()
    assert len(imputed) == 120


def test_columns_that_a_plan_leaves_out_are_no_categories_until_it_keeps_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80), "name": [f"n{k}" for k in range(80)]})
    with pytest.raises(
        ValueError, match=r"'name', which is not among the columns that are learned from.*keep"
    ):
        MixedDensity(1, categories=["name"]).fit(frame)
    plan = ColumnPlan.of(frame, keep_ids=True, max_categories=10_000, codes=True)
    density = MixedDensity(1).fit(plan.read(frame))
    assert density.probabilities_[0].shape == (1, 80)


@pytest.mark.parametrize("n_categories", [1, 80])
def test_one_category_and_all_different_ones(n_categories):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80), np.arange(80) % n_categories])
    X[::5, 0], X[3, 1] = np.nan, np.nan
    density = MixedDensity(2, categories=[1], n_init=1, random_state=0).fit(X)
    filled = density.impute(X)
    assert np.isfinite(filled).all()
    assert set(filled[:, 1]) <= set(range(n_categories))
    K = GenRBF()(density.condition(X))
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_a_category_column_without_a_value_is_left_out_with_a_warning():
    X = np.column_stack([np.random.default_rng(0).normal(size=30), np.full(30, np.nan)])
    with pytest.warns(UserWarning, match="missing in every training row"):
        density = MixedDensity(1, categories=[1]).fit(X)
    assert len(density.category_columns_) == 0
    assert np.isfinite(density.score_samples(X)).all()
