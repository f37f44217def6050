"""The mixed density against enumeration, and at its corners."""

from __future__ import annotations

import numpy as np
import pytest

from absentia import GaussianDensity, MixedDensity, MixtureDensity
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
    with pytest.raises(ValueError, match="no column of the table"):
        MixedDensity(categories=["colour"]).fit(X)
    with pytest.raises(ValueError, match="from 0 to 3"):
        MixedDensity(categories=[4]).fit(X)
    with pytest.raises(ValueError, match="smoothing"):
        MixedDensity(smoothing=0).fit(X)
