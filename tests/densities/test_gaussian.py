"""One Gaussian from incomplete rows: against derivatives, direct maximisation and limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from absentia import GaussianDensity, amputation
from absentia.densities.em import expectation
from densities.examples import gaussian_table, tables, with_holes
from oracles import densities as oracles
from oracles import exact

LIKELIHOOD = {"shrinkage": 0.0, "reg_covar": 0.0, "max_iter": 5000}


def likelihood_of(X, density):
    return oracles.log_likelihood(X, np.ones(1), density.mean_[None], density.covariance_[None])


def test_the_gradient_vanishes_at_convergence():
    X = gaussian_table(np.random.default_rng(0), 150, 4, 0.3)
    density = GaussianDensity(**LIKELIHOOD, tol=1e-10).fit(X)
    by_mean, by_covariance = oracles.gaussian_gradient(X, density.mean_, density.covariance_)
    scale = np.sqrt(np.diagonal(density.covariance_))
    # In units of the columns' scales, beside 150 rows whose terms are of order one.
    assert np.abs(by_mean * scale).max() < 1e-5
    assert np.abs(by_covariance * scale[:, None] * scale).max() < 1e-4
    moved = GaussianDensity(**LIKELIHOOD, tol=0.5).fit(X)  # the check can fail
    gradient = oracles.gaussian_gradient(X, moved.mean_, moved.covariance_)[1]
    assert np.abs(gradient * scale[:, None] * scale).max() > 1


@pytest.mark.parametrize("seed", range(2))
def test_same_optimum_as_direct_maximisation(seed):
    X = gaussian_table(np.random.default_rng(seed), 40, 3, 0.3)
    X = X[~np.isnan(X).all(axis=1)]
    lower = np.tril_indices(3)
    centres, scales = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    Z = (X - centres) / scales

    def loss(parameters):
        mean, root = parameters[:3], np.zeros((3, 3))
        root[lower] = parameters[3:]
        S = root @ root.T
        by_mean, by_covariance = oracles.gaussian_gradient(Z, mean, S)
        gradient = np.concatenate([by_mean, 2 * (by_covariance @ root)[lower]])
        return -oracles.log_likelihood(Z, np.ones(1), mean[None], S[None]), -gradient

    start = np.concatenate([np.zeros(3), np.eye(3)[lower]])
    best = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6})
    root = np.zeros((3, 3))
    root[lower] = best.x[3:]
    density = GaussianDensity(**LIKELIHOOD, tol=1e-9).fit(X)
    jacobian = -((~np.isnan(X)) @ np.log(scales)).sum()
    assert density.log_likelihoods_[-1] == pytest.approx(-best.fun + jacobian, abs=1e-6)
    np.testing.assert_allclose((density.mean_ - centres) / scales, best.x[:3], atol=1e-6)
    np.testing.assert_allclose(
        density.covariance_ / scales[:, None] / scales, root @ root.T, atol=1e-6
    )


def test_the_last_objective_is_the_likelihood_of_the_parameters():
    X = gaussian_table(np.random.default_rng(1), 60, 4, 0.3)
    density = GaussianDensity(**LIKELIHOOD).fit(X)
    assert density.log_likelihoods_[-1] == pytest.approx(likelihood_of(X, density), rel=1e-10)
    assert density.score_samples(X).sum() == pytest.approx(likelihood_of(X, density), rel=1e-10)
    assert density.score(X) == pytest.approx(likelihood_of(X, density) / len(X), rel=1e-10)


@given(tables(), st.sampled_from(["auto", 0.0, 0.3, 1.0]), st.booleans())
def test_never_falls_and_is_finite_whatever_the_table(X, shrinkage, accelerate):
    density = GaussianDensity(shrinkage=shrinkage, max_iter=60, accelerate=accelerate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a degenerate table may need more
        density.fit(X)
    assert (np.diff(density.log_likelihoods_) >= 0).all()
    assert len(density.log_likelihoods_) == density.n_iter_ <= 60
    assert np.isfinite(density.covariance_).all()
    assert np.isfinite(density.mean_).all()
    assert np.array_equal(density.covariance_, density.covariance_.T)
    np.linalg.cholesky(density.covariance_)
    assert np.isfinite(density.score_samples(X)).all()
    assert np.isfinite(density.impute(X)).all()


def test_complete_rows_give_the_textbook_moments():
    X = gaussian_table(np.random.default_rng(0), 50, 4, 0.0)
    density = GaussianDensity(**LIKELIHOOD).fit(X)
    np.testing.assert_allclose(density.mean_, X.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(
        density.covariance_, np.cov(X, rowvar=False, bias=True), rtol=1e-10, atol=1e-10
    )
    assert density.n_iter_ == 2
    shrunk = GaussianDensity(shrinkage=0.25, reg_covar=0.01).fit(X)
    scale = X.std(axis=0)
    correlation = np.corrcoef(X, rowvar=False)
    expected = 0.75 * (correlation + 0.01 * np.eye(4)) + 0.25 * np.eye(4)
    np.testing.assert_allclose(shrunk.covariance_, expected * scale[:, None] * scale, rtol=1e-8)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_moves_with_the_units_and_the_order_of_columns(seed):
    rng = np.random.default_rng(seed)
    X = gaussian_table(rng, 60, 4, 0.3)
    scale, shift, order = rng.uniform(0.1, 10, 4), rng.normal(size=4), rng.permutation(4)
    rows = rng.permutation(60)
    density = GaussianDensity(tol=1e-8).fit(X)
    moved = GaussianDensity(tol=1e-8).fit((scale * X + shift)[rows][:, order])
    # Two different runs to a residual of 1e-8 agree to about the square root of that.
    np.testing.assert_allclose(moved.mean_, (scale * density.mean_ + shift)[order], atol=1e-4)
    expected = (density.covariance_ * scale[:, None] * scale)[np.ix_(order, order)]
    assert np.abs(moved.covariance_ - expected).max() < 1e-4 * np.abs(expected).max()
    assert moved.shrinkage_ == pytest.approx(density.shrinkage_, rel=1e-8)


def test_weights_count_rows():
    rng = np.random.default_rng(0)
    X = gaussian_table(rng, 40, 3, 0.3)
    counts = rng.integers(0, 4, 40)
    weighted = GaussianDensity(tol=1e-9).fit(X, sample_weight=counts)
    repeated = GaussianDensity(tol=1e-9).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-6, atol=1e-8)
    assert weighted.log_likelihoods_[-1] == pytest.approx(repeated.log_likelihoods_[-1], rel=1e-9)
    assert weighted.shrinkage_ == pytest.approx(repeated.shrinkage_, rel=1e-9)


@pytest.mark.parametrize("n", [12, 30])
def test_automatic_shrinkage_beats_maximum_likelihood_on_new_rows_when_rows_are_few(n):
    rng = np.random.default_rng(n)
    loadings = rng.standard_normal((15, 3))
    X = rng.standard_normal((n + 500, 3)) @ loadings.T + 0.5 * rng.standard_normal((n + 500, 15))
    X = with_holes(rng, X, 0.2)
    train, test = with_holes(rng, X[:n], 0.0), X[n:]
    automatic = GaussianDensity().fit(train)
    assert 0 < automatic.shrinkage_ < 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # which is half of the point
        likeliest = GaussianDensity(shrinkage=0.0).fit(train)
    assert likeliest.score(train) > automatic.score(train)
    assert automatic.score(test) > likeliest.score(test) + 10
    fixed = [GaussianDensity(shrinkage=s).fit(train).score(test) for s in (0.1, 0.2, 0.4, 0.6)]
    assert automatic.score(test) > max(fixed) - 2


def test_automatic_shrinkage_fades_with_the_rows_and_stays_where_columns_are_unrelated():
    rng = np.random.default_rng(0)
    related = with_holes(rng, rng.standard_normal((5000, 2)) @ np.array([[1, 0.9], [0, 0.5]]), 0.3)
    assert GaussianDensity().fit(related).shrinkage_ < 0.01
    unrelated = with_holes(rng, rng.standard_normal((200, 10)), 0.3)
    assert GaussianDensity().fit(unrelated).shrinkage_ > 0.5
    assert GaussianDensity().fit(related[:, :1]).shrinkage_ == 0.0
    never_together = np.kron(np.eye(2), rng.standard_normal((20, 1)))
    never_together[never_together == 0] = np.nan
    assert GaussianDensity().fit(never_together).shrinkage_ == 1.0


@pytest.mark.parametrize("shrinkage", ["auto", 0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    "X",
    [
        pytest.param([[1.0, 5.0, 0.0], [2.0, 5.0, 0.0], [4.0, np.nan, 0.0]], id="constant"),
        pytest.param([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [np.nan, 1.0]], id="collinear"),
        pytest.param(np.random.default_rng(0).normal(size=(3, 7)), id="n < d"),
        pytest.param([[1.0, 2.0]], id="one row"),
        pytest.param([[np.nan, np.nan], [1.0, 2.0], [np.nan, 3.0]], id="a row with nothing"),
        pytest.param(
            np.random.default_rng(0).normal(size=(30, 2)) * [1e-8, 1e8], id="scales apart"
        ),
        pytest.param([[1e8, 1.0], [1e8, 2.0], [1e8, 2.5]], id="constant and large"),
    ],
)
def test_degenerate_tables(X, shrinkage):
    X = np.asarray(X)
    density = GaussianDensity(shrinkage=shrinkage).fit(X)
    assert np.isfinite(density.covariance_).all()
    assert (np.diagonal(density.covariance_) > 0).all()
    # Near the means of what was observed, and not there: incomplete rows move it.
    np.testing.assert_allclose(density.mean_, np.nanmean(X, axis=0), rtol=0.5)
    imputed = density.impute(np.full((1, X.shape[1]), np.nan))
    np.testing.assert_allclose(imputed[0], density.mean_)
    assert np.isfinite(density.score_samples(2 * X + 1)).all()
    assert np.isfinite(density.condition(X).covariance()).all()


def test_a_constant_column_is_certain_beside_the_others():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(50), np.full(50, 1e4)])
    density = GaussianDensity().fit(X)
    assert density.mean_[1] == 1e4
    assert 0 < density.covariance_[1, 1] < 1e-6 * density.covariance_[0, 0]


def test_a_row_with_nothing_observed_teaches_nothing():
    X = gaussian_table(np.random.default_rng(0), 30, 3, 0.3)
    padded = np.concatenate([X, np.full((20, 3), np.nan)])
    density, same = GaussianDensity().fit(X), GaussianDensity().fit(padded)
    np.testing.assert_allclose(same.covariance_, density.covariance_, rtol=1e-12)


def test_samples_have_the_moments_of_the_density():
    X = gaussian_table(np.random.default_rng(0), 100, 3, 0.3)
    density = GaussianDensity().fit(X)
    draws = density.sample(20_000, random_state=0)
    scale = np.sqrt(np.diagonal(density.covariance_))
    z = (draws.mean(axis=0) - density.mean_) / scale * np.sqrt(len(draws))
    assert np.abs(z).max() < 5
    correlation = density.covariance_ / scale[:, None] / scale
    found = np.cov(draws, rowvar=False) / scale[:, None] / scale
    z = (found - correlation) / np.sqrt((1 + correlation**2) / len(draws))
    assert np.abs(z).max() < 5


def test_singular_without_any_regularisation_is_refused_with_advice():
    with pytest.raises(ValueError, match="reg_covar"):
        GaussianDensity(**LIKELIHOOD).fit([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])


def test_warns_when_stopped_early_and_says_what_to_do():
    X = gaussian_table(np.random.default_rng(0), 50, 4, 0.5)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        density = GaussianDensity(max_iter=2, shrinkage=0.0).fit(X)
    assert not density.converged_
    assert density.n_iter_ == 2


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(expectation, "_ROWS_PER_BATCH", 50)
    X = gaussian_table(np.random.default_rng(0), 300, 6, 0.5)
    alone, together = GaussianDensity().fit(X), GaussianDensity(n_jobs=2).fit(X)
    assert np.array_equal(alone.covariance_, together.covariance_)


@pytest.mark.parametrize("seed", [0, 4, 9])
@pytest.mark.parametrize("accelerate", [False, True])
def test_the_objective_of_redundant_columns_is_the_true_one(seed, accelerate):
    """Proportions that sum to one, hardly regularised: the inflation is about 1e8."""
    rng = np.random.default_rng(seed)
    X = amputation.mcar(rng.dirichlet(np.full(5, 3.0), size=300), 0.15, random_state=seed)
    density = GaussianDensity(shrinkage=0.0, reg_covar=1e-9, accelerate=accelerate).fit(X)
    assert density.converged_
    assert density.prior_.inflation > 1e7
    likelihood = sum(exact.log_density(x, density.mean_, density.covariance_) for x in X)
    scales = np.nanstd(X, axis=0)
    traces = np.trace(np.linalg.inv(density.covariance_ / scales / scales[:, None]))
    objective = likelihood - 0.5 * len(X) * 1e-9 * traces
    # 300 rows, each with an error of about 5e-16 times the inflation.
    assert density.log_likelihoods_[-1] == pytest.approx(objective, abs=1e-3)


def proportions(n_rows, seed):
    rng = np.random.default_rng(seed)
    return amputation.mcar(rng.dirichlet(np.full(5, 3.0), size=n_rows), 0.15, random_state=seed)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("reg_covar", [1e-9, 3e-11])
def test_plain_and_accelerated_steps_end_at_one_optimum_of_redundant_columns(seed, reg_covar):
    """What the others leave of a column is 3e-5 of its deviation: steps count beside that."""
    X = proportions(300, seed)
    settings = {"shrinkage": 0.0, "reg_covar": reg_covar}
    quick = GaussianDensity(**settings).fit(X)
    plain = GaussianDensity(**settings, accelerate=False).fit(X)
    long = GaussianDensity(**settings, tol=1e-9, max_iter=2000).fit(X)
    assert quick.converged_
    assert plain.converged_
    best = long.log_likelihoods_[-1]
    # Nats over 300 rows; a test in the columns' units alone stopped up to 34 below.
    assert quick.log_likelihoods_[-1] == pytest.approx(best, abs=2e-3)
    assert plain.log_likelihoods_[-1] == pytest.approx(best, abs=2e-3)


@pytest.mark.parametrize("accelerate", [False, True])
def test_the_true_objective_of_redundant_columns_never_falls(accelerate):
    """In exact arithmetic, at the parameters after each step."""
    X = proportions(30, 3)
    scales = np.nanstd(X, axis=0)
    settings = {"shrinkage": 0.0, "reg_covar": 1e-9, "accelerate": accelerate}
    objectives, noise = [], 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        n_steps = GaussianDensity(**settings).fit(X).n_iter_
        for max_iter in range(1, n_steps + 1):
            density = GaussianDensity(**settings, max_iter=max_iter).fit(X)
            likelihood = sum(exact.log_density(x, density.mean_, density.covariance_) for x in X)
            traces = np.trace(np.linalg.inv(density.covariance_ / scales / scales[:, None]))
            objectives.append(likelihood - 0.5 * len(X) * 1e-9 * traces)
            noise = max(noise, 1e-15 * len(X) * density.prior_.inflation)
    assert n_steps > 10
    assert noise < 1e-3
    assert np.diff(objectives).min() > -2 * noise
    assert objectives[-1] - objectives[0] > 100


def test_the_order_of_columns_matters_less_than_the_tolerance_of_em():
    """A wide table: sums in another order move EM within the distance that it stops short by."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 90)) + 0.5 * rng.normal(size=(30, 90))
    X[rng.random(X.shape) < 0.2] = np.nan
    order = rng.permutation(90)
    back = np.argsort(order)

    def difference(tol):
        first = GaussianDensity(tol=tol, max_iter=2000).fit(X).covariance_
        second = GaussianDensity(tol=tol, max_iter=2000).fit(X[:, order]).covariance_
        scales = np.sqrt(np.diagonal(exact))
        second = second[np.ix_(back, back)]
        errors = (np.abs(C / scales / scales[:, None] - correlations) for C in (first, second))
        between = np.abs(first - second) / scales / scales[:, None]
        return between.max(), max(error.max() for error in errors)

    exact = GaussianDensity(tol=1e-10, max_iter=5000).fit(X).covariance_
    correlations = exact / np.sqrt(np.outer(np.diagonal(exact), np.diagonal(exact)))
    for tol, most in ((GaussianDensity().tol, 1e-4), (1e-6, 1e-5), (1e-8, 1e-6)):
        between, from_the_limit = difference(tol)
        assert between <= 2 * from_the_limit
        assert between < most
