"""Gaussian processes against textbook formulas, numerical gradients and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.gaussian_process as theirs
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from absentia import (
    ExpectedRBF,
    GaussianDensity,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    GenRBF,
    Kernel,
    LogisticRegression,
    MixedDensity,
    NotPositiveDefiniteWarning,
)
from absentia.machines.gaussian_process import evidence
from absentia.machines.gaussian_process.evidence import FactoredEvidence, Spectrum
from absentia.machines.gaussian_process.expectation_propagation import (
    Propagation,
    average_sigmoid,
    latent,
    sigmoid_moments,
)
from machines.contract import MachineContract, table, targets_of
from oracles import gaussian_process as oracle

FIXED = {"gamma": "scale", "kernel": "genrbf"}


class TestGaussianProcessRegressor(MachineContract):
    targets = "numbers"

    def make(self, **params):
        fixed = {**FIXED, "scale": 2.0, "noise": 0.3, "normalize_y": False}
        return GaussianProcessRegressor(**{**fixed, **params})

    def oracle(self, K, y, K_new):
        return oracle.posterior(K, y, K_new, np.eye(len(K_new)), 2.0, 0.3)[0]


class TestGaussianProcessClassifier(MachineContract):
    def make(self, **params):
        return GaussianProcessClassifier(**{**FIXED, "scale": 2.0, **params})

    def output(self, model, X):
        return np.column_stack([*model.latent_mean_and_variance(X), model.predict_proba(X)[:, 1]])

    def oracle(self, K, y, K_new):
        # The sites are held to an oracle below; from there on the textbook.
        sites = Propagation.of(2.0 * K, y == 1).sites
        inverse = np.linalg.inv(2.0 * K + np.diag(1 / sites.precisions))
        mean = 2.0 * K_new @ inverse @ (sites.shifts / sites.precisions)
        variance = 2.0 - 4.0 * np.einsum("ij,jk,ik->i", K_new, inverse, K_new)
        return np.column_stack(
            [
                mean,
                variance,
                [oracle.average_sigmoid(*two) for two in zip(mean, variance, strict=True)],
            ]
        )


def incomplete(n=60, d=3, seed=0, rate=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < rate] = np.nan
    return X, y


def test_prediction_is_the_textbook_posterior():
    X, y = incomplete()
    model = GaussianProcessRegressor(kernel=ExpectedRBF(gamma=0.3, diagonal="same"), gamma="scale")
    model.set_params(scale=1.5, noise=0.2).fit(X, y)
    new = incomplete(10, seed=1)[0]
    density = GaussianDensity().fit(X)
    P, Q = density.condition(X), density.condition(new)
    k = model.kernel_
    centred = (y - y.mean()) / y.std()
    mean, covariance = oracle.posterior(k(P), centred, k(Q, P), k(Q), 1.5, 0.2)
    got, got_covariance = model.predict(new, return_cov=True)
    np.testing.assert_allclose(got, mean * y.std() + y.mean(), rtol=1e-9)
    np.testing.assert_allclose(got_covariance, covariance * y.var(), rtol=1e-8, atol=1e-10)
    _, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(std**2, np.diagonal(covariance) * y.var(), rtol=1e-8)
    _, without = model.predict(new, return_std=True, include_noise=False)
    np.testing.assert_allclose(std**2 - without**2, 0.2 * y.var(), rtol=1e-8)
    expected = oracle.log_marginal_likelihood(k(P), centred, 1.5, 0.2)
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, expected, rtol=1e-10)


def test_several_targets_share_a_process_and_keep_their_units():
    X, y = incomplete()
    Y = np.column_stack([y, 100 * y + 7])
    fixed = {"gamma": 0.3, "scale": 1.0, "noise": 0.1}
    both = GaussianProcessRegressor(**fixed).fit(X, Y)
    one = GaussianProcessRegressor(**fixed).fit(X, y)
    mean, std = both.predict(X[:5], return_std=True)
    alone, alone_std = one.predict(X[:5], return_std=True)
    np.testing.assert_allclose(mean, np.column_stack([alone, 100 * alone + 7]))
    np.testing.assert_allclose(std, np.column_stack([alone_std, 100 * alone_std]))
    assert both.predict(X[:5], return_cov=True)[1].shape == (5, 5, 2)
    assert both.sample_y(X[:5], 3).shape == (5, 2, 3)
    assert np.isclose(
        both.log_marginal_likelihood_value_, 2 * one.log_marginal_likelihood_value_, rtol=1e-9
    )


def test_samples_have_the_predicted_moments():
    X, y = incomplete(40)
    model = GaussianProcessRegressor(gamma=0.3, scale=1.0, noise=0.1).fit(X, y)
    mean, covariance = model.predict(X[:3], return_cov=True)
    draws = model.sample_y(X[:3], 20_000, random_state=0)
    z = (draws.mean(axis=1) - mean) / np.sqrt(np.diagonal(covariance) / 20_000)
    assert np.abs(z).max() < 5
    products = (draws - mean[:, None])[:, None] * (draws - mean[:, None])[None]
    z = (products.mean(axis=2) - covariance) / (products.std(axis=2) / np.sqrt(20_000))
    assert np.abs(z).max() < 5


@pytest.mark.parametrize("free", [("scale", "noise"), ("scale",), ("noise",), ()])
def test_scale_and_noise_are_settled_where_the_likelihood_is_highest(free):
    X, y = incomplete(rate=0.0)
    K, Y = rbf_kernel(X, gamma=0.3), (y - y.mean())[:, None]
    spectrum = Spectrum.of(K, Y)
    given = [None if name in free else value for name, value in (("scale", 0.7), ("noise", 0.05))]
    scale, noise = spectrum.settle(*given, (1e-3, 1e3), (1e-6, 1e1))
    best = oracle.log_marginal_likelihood(K, Y, scale, noise)
    np.testing.assert_allclose(spectrum.log_likelihood(scale, noise), best, rtol=1e-10)
    grid = np.exp(np.linspace(-5, 3, 30))
    for a in grid if "scale" in free else [0.7]:
        for b in grid if "noise" in free else [0.05]:
            assert oracle.log_marginal_likelihood(K, Y, a, b) <= best + 1e-9


def test_settled_levels_keep_to_their_bounds():
    X, y = incomplete(rate=0.0)
    spectrum = Spectrum.of(rbf_kernel(X, gamma=0.3), y[:, None])
    for bounds in [((1e-3, 0.01), (1e-6, 1.0)), ((1.0, 2.0), (0.5, 0.6)), ((5.0, 5.0), (0.1, 9.0))]:
        scale, noise = spectrum.settle(None, None, *bounds)
        for value, (low, high) in zip((scale, noise), bounds, strict=True):
            assert low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


@pytest.mark.parametrize("machine", [GaussianProcessRegressor(), GaussianProcessClassifier()])
def test_processes_that_are_not_fitted_say_so(machine):
    with pytest.raises(NotFittedError):
        machine.log_marginal_likelihood()
    with pytest.raises(NotFittedError):
        machine.predict_uncertainty(np.zeros((2, 2)))


def test_bounds_in_half_precision_are_the_numbers_they_say():
    X, y = incomplete(40)
    bounds = {"noise_bounds": np.float16([1e-4, 10]), "scale_bounds": np.float16([1e-3, 6e4])}
    plain = {name: tuple(map(float, pair)) for name, pair in bounds.items()}
    found, expected = (
        GaussianProcessRegressor(gamma=0.3, **params).fit(X, y) for params in (bounds, plain)
    )
    assert (found.scale_, found.noise_) == (expected.scale_, expected.noise_)


def test_gradients_of_the_evidence_are_those_of_differences():
    X, y = incomplete(40)
    model = GaussianProcessRegressor(mask_weight="optimize").fit(X, y)
    assert model.hyperparameter_names_ == ["left__gamma", "right__weight", "scale", "noise"]
    theta = model.theta_ + np.array([0.3, 0.2, -0.4, 0.5])
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    expected = oracle.numerical_gradient(model.log_marginal_likelihood, theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)
    fixed = GaussianProcessRegressor(noise=0.1).fit(X, y)
    assert fixed.log_marginal_likelihood(eval_gradient=True)[1].shape == (2,)
    with pytest.raises(ValueError, match="left__gamma"):
        model.log_marginal_likelihood([0.0])


def test_the_search_ends_on_top():
    X, y = incomplete()
    model = GaussianProcessRegressor().fit(X, y)
    value, gradient = model.log_marginal_likelihood(model.theta_, eval_gradient=True)
    assert np.isclose(value, model.log_marginal_likelihood_value_, rtol=1e-10)
    # The likelihood is flat to 1e-9 of its value here, so its slope is small, not zero.
    assert np.abs(gradient).max() < 1e-2
    for gamma in model.kernel_.gamma * np.array([0.2, 0.7, 1.5, 5.0]):
        other = GaussianProcessRegressor(gamma=gamma).fit(X, y)
        assert other.log_marginal_likelihood_value_ < model.log_marginal_likelihood_value_ + 1e-6
    restarted = GaussianProcessRegressor(n_restarts_optimizer=2, random_state=0).fit(X, y)
    assert restarted.log_marginal_likelihood_value_ >= model.log_marginal_likelihood_value_ - 1e-6


def test_complete_rows_give_the_process_of_scikit_learn():
    X, y = incomplete(80, rate=0.0)
    ours = GaussianProcessRegressor().fit(X, y)
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    them = theirs.GaussianProcessRegressor(kernel, normalize_y=True, alpha=0.0).fit(X, y)
    assert ours.log_marginal_likelihood_value_ >= them.log_marginal_likelihood_value_ - 1e-4
    theta = np.log([ours.scale_, np.sqrt(0.5 / ours.kernel_.gamma), ours.noise_])
    them.set_params(kernel=kernel.clone_with_theta(theta), optimizer=None).fit(X, y)
    np.testing.assert_allclose(
        ours.log_marginal_likelihood_value_, them.log_marginal_likelihood_value_, rtol=1e-9
    )
    new = np.random.default_rng(1).normal(size=(20, 3))
    for got, expected in zip(
        ours.predict(new, return_std=True), them.predict(new, return_std=True), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_errors_of_rows_with_holes_are_as_large_as_predicted():
    X, y = incomplete(400, rate=0.3)
    model = GaussianProcessRegressor().fit(X[:150], y[:150])
    mean, std = model.predict(X[150:], return_std=True)
    z, holes = (y[150:] - mean) / std, np.isnan(X[150:]).any(axis=1)
    # A row that misses values is predicted with a larger error, and says so.
    assert std[holes].mean() > 2 * std[~holes].mean()
    for some in (holes, ~holes):
        assert 0.6 < z[some].std() < 1.5


def test_evidence_finds_out_whether_absence_tells_something():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    hole = rng.random(80) < 0.5
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    X[hole, 1] = np.nan
    told = GaussianProcessRegressor(mask_weight="optimize").fit(X, y + 2 * hole)
    silent = GaussianProcessRegressor(mask_weight="optimize").fit(X, y)
    assert told.kernel_.right.weight > 0.1 > 10 * silent.kernel_.right.weight


@pytest.mark.parametrize("machine", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_the_search_for_a_width_is_in_the_units_of_the_metric(machine):
    X, y = incomplete(40)
    y = y > 0 if machine is GaussianProcessClassifier else y
    kernel = ExpectedRBF(metric="mahalanobis", diagonal="same")
    near = machine(kernel=kernel).fit(X, y)
    # With bounds in the units of the columns, gamma could not leave its start here.
    far = machine(kernel=kernel).fit(1000.0 * X, y)
    # Both searches end where the evidence is flat: gradients of 1e-4, from forward differences.
    np.testing.assert_allclose(far.kernel_.gamma, near.kernel_.gamma, rtol=1e-3)
    np.testing.assert_allclose(far.predict(1000.0 * X), near.predict(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("machine", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_hyphen_and_underscore_name_one_kernel(machine):
    X, y = incomplete(30)
    fixed = {"gamma": 0.2, "scale": 1.0}
    models = [machine(kernel=name, **fixed) for name in ("expected_rbf", "expected-rbf")]
    one, other = (model.fit(X, y > 0).kernel_ for model in models)
    assert one == other == ExpectedRBF(gamma=0.2, diagonal="same")


def test_wrong_parameters_of_processes_get_a_sentence():
    X, y = incomplete(20)
    for params in (
        {"noise": 0},
        {"scale": "auto"},
        {"scale": 1e308},
        {"n_restarts_optimizer": -1},
        {"gamma_bounds": (2.0, 1.0)},
        {"noise_bounds": 3.0},
        {"scale_bounds": (0.0, 1.0)},
    ):
        with pytest.raises(ValueError, match=f"{next(iter(params))} must be"):
            GaussianProcessRegressor(**params).fit(X, y)
    model = GaussianProcessRegressor(gamma=0.3).fit(X, y)
    with pytest.raises(RuntimeError, match="At most one"):
        model.predict(X, return_std=True, return_cov=True)


# Classification --------------------------------------------------------------------------------


def noisy_signs(n, scale, seed=0):
    """Return a covariance of latent values, and labels that a line explains but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    signs = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return scale * rbf_kernel(X, gamma=0.5) + 1e-3 * np.eye(n), signs


@pytest.mark.parametrize("scale", [4.0, 300.0])
def test_propagation_is_that_of_one_row_after_the_other(scale):
    K, signs = noisy_signs(8, scale)
    ours = Propagation.of(K, signs > 0, tol=1e-10)
    mean, variance, log_evidence = oracle.expectation_propagation(K, signs)
    assert ours.status.converged
    got_mean, got_variance = latent(ours.coefficients, ours.root, ours.factor, K, np.diag(K))
    np.testing.assert_allclose(got_mean, mean, rtol=1e-6)
    np.testing.assert_allclose(got_variance, variance, rtol=1e-6)
    np.testing.assert_allclose(ours.log_evidence, log_evidence, rtol=1e-6)


def test_propagation_comes_close_to_the_posterior_itself():
    K, signs = noisy_signs(6, 100.0, seed=1)
    ours = Propagation.of(K, signs > 0)
    draws = np.random.default_rng(0).standard_normal((400_000, 6)) @ np.linalg.cholesky(K).T
    likelihoods = (1 / (1 + np.exp(-signs * draws))).prod(axis=1)
    # How good the approximation is, not the code: expectation propagation is exact for one row.
    assert ours.log_evidence == pytest.approx(np.log(likelihoods.mean()), abs=0.03)
    mean = likelihoods @ draws / likelihoods.sum()
    np.testing.assert_allclose(K @ ours.coefficients, mean, rtol=0.05, atol=0.1)


@pytest.mark.parametrize("mean", [-5000.0, -40.0, -3.0, 0.0, 2.0, 500.0])
@pytest.mark.parametrize("variance", [0.01, 0.5, 1.0, 1.001, 100.0, 1e4])
def test_moments_of_a_gaussian_times_a_sigmoid(mean, variance):
    got = sigmoid_moments(np.array([mean]), np.array([variance]))
    log_z, slope, bend = (value[0] for value in got)
    expected_log_z, tilted_mean, tilted_variance = oracle.tilted(mean, variance, 1.0)
    # The oracle's sum of 20 000 terms has lost some digits to differences of large numbers.
    np.testing.assert_allclose(log_z, expected_log_z, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(mean + variance * slope, tilted_mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(variance - variance**2 * bend, tilted_variance, rtol=1e-7)


@pytest.mark.parametrize("mean", [-12.0, -1.0, 0.0, 2.0, 30.0])
@pytest.mark.parametrize("variance", [1e-4, 0.5, 1.0, 1.001, 20.0, 1e4])
def test_average_of_the_sigmoid(mean, variance):
    got = average_sigmoid(np.array([mean]), np.array([variance]))[0]
    np.testing.assert_allclose(got, oracle.average_sigmoid(mean, variance), atol=1e-11)
    assert average_sigmoid(np.array([mean]), np.array([0.0]))[0] == pytest.approx(
        1 / (1 + np.exp(-mean))
    )


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_iris])
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_probabilities_are_as_good_as_those_of_logistic_regression(load, rate):
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))[:240]
    X, y = StandardScaler().fit_transform(X)[rows], y[rows]
    X[rng.random(X.shape) < rate] = np.nan
    half = len(y) // 2
    losses = [
        log_loss(y[half:], model.fit(X[:half], y[:half]).predict_proba(X[half:]))
        for model in (GaussianProcessClassifier(), LogisticRegression(C=10.0))
    ]
    assert losses[0] < 1.3 * losses[1]


def test_a_class_that_is_nearly_certain_leaves_finite_probabilities():
    X = np.repeat(np.array([[-50.0], [0.0], [50.0]]), 20, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape)
    model = GaussianProcessClassifier(gamma=1e-3, scale=1e4).fit(X, np.repeat([0, 1, 2], 20))
    probabilities = model.predict_proba([[-50.0], [0.0], [np.nan]])
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert probabilities[0, 0] > 0.95
    assert probabilities[1, 1] > 0.95


def test_the_search_of_the_classifier_ends_on_top_of_a_true_gradient():
    X, _ = incomplete(50)
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0).astype(int)
    y[::9] = 1 - y[::9]
    model = GaussianProcessClassifier(mask_weight="optimize").fit(X, y)
    assert model.hyperparameter_names_ == ["left__gamma", "right__weight", "scale"]
    theta = model.theta_ + np.array([0.2, 0.1, -0.3])
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value < model.log_marginal_likelihood_value_
    expected = oracle.numerical_gradient(model.log_marginal_likelihood, theta, step=1e-4)
    # Differences of step 1e-4 of an evidence that is known to some ten digits.
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="right__weight"):
        model.log_marginal_likelihood([0.0])


def test_rows_that_miss_more_are_less_certain():
    X, _ = incomplete(100, rate=0.0)
    y = X[:, 0] + X[:, 1] > 0
    X[::2, 1] = np.nan
    model = GaussianProcessClassifier(gamma=0.1).fit(X, y)
    complete, holed = model.predict_proba([[1.0, 1.0, 0.0], [1.0, np.nan, 0.0]])[:, 1]
    # The truth is 0.84: what is missing is above -1 with that probability.
    assert 0.75 < holed < 0.95 < complete


def test_sweeps_that_do_not_converge_are_told():
    X, y = table(), targets_of("classes")
    with pytest.warns(ConvergenceWarning, match="max_iter_predict=1 "):
        GaussianProcessClassifier(gamma="scale", scale=1e4, max_iter_predict=1).fit(X, y)


class Distances(Kernel):
    """No kernel at all: minus the distance of the means has negative eigenvalues."""

    positive_definite = False

    def __init__(self, factor=0.01):
        self.factor = factor

    def _gram(self, P, Q, n_jobs):
        a, b = P.mean(), (P if Q is None else Q).mean()
        return -self.factor * np.linalg.norm(a[:, None] - b, axis=2)

    def _diag(self, P):
        return np.zeros(len(P))


def test_indefinite_kernels_are_told_or_refused():
    X, y = incomplete(20)
    with pytest.warns(NotPositiveDefiniteWarning):
        GaussianProcessRegressor(kernel=Distances(), gamma="scale", scale=1.0, noise=5.0).fit(X, y)
    with (
        pytest.raises(ValueError, match="Raise noise"),
        pytest.warns(NotPositiveDefiniteWarning),
    ):
        GaussianProcessRegressor(kernel=Distances(), gamma="scale", scale=9.0, noise=0.01).fit(X, y)
    with pytest.warns(NotPositiveDefiniteWarning):
        GaussianProcessClassifier(kernel=Distances(), gamma="scale", scale=1.0).fit(X, y > 0)


@pytest.mark.parametrize("machine", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_a_verbose_search_prints_the_evidence(machine, capsys):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = (X[:, 0] > 0).astype(int)
    machine().fit(X, y)
    assert capsys.readouterr().out == ""
    machine(verbose=True).fit(X, y)
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"{machine.__name__}: evaluation 1, log evidence")


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_evidence_by_cholesky_is_that_of_the_spectrum(n_outputs):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, n_outputs))
    K = rbf_kernel(X, gamma=0.3)
    spectrum, factored = Spectrum.of(K, Y), FactoredEvidence.of(K, Y, 1.7, 0.2)
    assert factored.log_likelihood == pytest.approx(spectrum.log_likelihood(1.7, 0.2), rel=1e-10)
    by_kernel = spectrum.kernel_weights(1.7, 0.2)
    np.testing.assert_allclose(factored.kernel_weights(), by_kernel, rtol=1e-10, atol=1e-12)
    # By log scale and log noise, written out: dS is scale K and noise I.
    S = 1.7 * K + 0.2 * np.eye(40)
    G = np.linalg.solve(S, Y) @ np.linalg.solve(S, Y).T - n_outputs * np.linalg.inv(S)
    expected = 0.5 * np.array([(G * 1.7 * K).sum(), 0.2 * np.trace(G)])
    np.testing.assert_allclose(factored.by_levels(), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "parameters", [{}, {"noise": 0.05}, {"scale": 2.0}, {"gamma": 0.1}, {"mask_weight": "optimize"}]
)
def test_a_search_that_begins_with_some_rows_ends_where_that_of_all_rows_does(
    monkeypatch, parameters
):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=150)
    X[rng.random(X.shape) < 0.2] = np.nan
    whole = GaussianProcessRegressor(**parameters).fit(X, y)
    monkeypatch.setattr(evidence, "MANY_ROWS", 100)
    monkeypatch.setattr(evidence, "SOME_ROWS", 60)
    begun = GaussianProcessRegressor(**parameters).fit(X, y)
    assert begun.hyperparameter_names_ == whole.hyperparameter_names_
    assert begun.log_marginal_likelihood_value_ == pytest.approx(
        whole.log_marginal_likelihood_value_, abs=1e-3
    )
    # Searches end where the evidence is flat: gradients of 1e-4, from forward differences.
    np.testing.assert_allclose(begun.predict(X[:20]), whole.predict(X[:20]), atol=0.01)


class TestWidthsOfColumns:
    @staticmethod
    def table(n=70, d=4):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=n)
        X[rng.random(X.shape) < 0.15] = np.nan
        return X, y

    @pytest.mark.parametrize("kernel", ["expected_rbf", "genrbf"])
    @pytest.mark.parametrize("make", [GaussianProcessRegressor, GaussianProcessClassifier])
    def test_the_gradient_is_exact(self, make, kernel):
        X, y = self.table()
        y = y if make is GaussianProcessRegressor else np.digitize(y, [-0.5, 0.5])
        machine = make(gamma="ard", kernel=kernel, mask_weight="optimize").fit(X, y)
        theta = machine.theta_ + 0.1
        _, gradient = machine.log_marginal_likelihood(theta, eval_gradient=True)
        step = 1e-4
        for j, derivative in enumerate(gradient):
            direction = step * np.eye(len(theta))[j]
            around = [machine.log_marginal_likelihood(theta + s * direction) for s in (1, -1)]
            # Expectation propagation stops at sites that are right to 1e-6.
            assert derivative == pytest.approx(
                (around[0] - around[1]) / (2 * step), rel=1e-4, abs=1e-4
            )

    def test_the_widths_are_where_evidence_and_prior_are_highest(self):
        X, y = self.table()
        machine = GaussianProcessRegressor(gamma="ard", width_prior=0.5).fit(X, y)
        _, gradient = machine.log_marginal_likelihood(machine.theta_, eval_gradient=True)
        widths = machine.theta_[:4]
        pull = (widths - widths.mean()) / 0.5**2
        # The search ends where the gradient is near zero, not at it.
        np.testing.assert_allclose(gradient[:4], pull, atol=1e-3)
        assert machine.hyperparameter_names_[:2] == ["gamma[0]", "gamma[1]"]
        assert machine.relevance_.argmax() == 0

    def test_no_deviation_is_one_width(self):
        X, y = self.table()
        one = GaussianProcessRegressor().fit(X, y)
        none = GaussianProcessRegressor(gamma="ard", width_prior=0).fit(X, y)
        assert none.kernel_ == one.kernel_
        assert none.width_prior_ == 0

    def test_many_rows_begin_with_some(self, monkeypatch):
        monkeypatch.setattr(evidence, "MANY_ROWS", 50)
        monkeypatch.setattr(evidence, "SOME_ROWS", 40)
        X, y = self.table()
        machine = GaussianProcessRegressor(gamma="ard", width_prior=0.5).fit(X, y)
        monkeypatch.setattr(evidence, "MANY_ROWS", 500)
        whole = GaussianProcessRegressor(gamma="ard", width_prior=0.5).fit(X, y)
        # Two searches, which end near the same top.
        np.testing.assert_allclose(machine.theta_, whole.theta_, atol=1e-3)

    def test_uncertainty_in_closed_form_knows_the_widths(self):
        X, y = self.table()
        machine = GaussianProcessRegressor(gamma="ard").fit(X, y)
        metric = ExpectedRBF(1.0, np.diag(machine.kernel_.gamma), diagonal="same")
        given = GaussianProcessRegressor(
            kernel=metric, gamma="scale", scale=machine.scale_, noise=machine.noise_
        ).fit(X, y)
        ours, theirs = machine.predict_uncertainty(X[:5]), given.predict_uncertainty(X[:5])
        np.testing.assert_allclose(ours.total, theirs.total, rtol=1e-6)
        np.testing.assert_allclose(ours.missing, theirs.missing, rtol=1e-9, atol=1e-12)

    def test_kernels_without_widths_are_refused(self):
        X, y = self.table(n=20)
        with pytest.raises(ValueError, match="ExpectedRBF and GenRBF"):
            GaussianProcessRegressor(gamma="ard", kernel="esd").fit(X, y)
        with pytest.raises(ValueError, match="only in the Euclidean metric"):
            GaussianProcessRegressor(gamma="ard", kernel=GenRBF(metric="mahalanobis")).fit(X, y)


@pytest.mark.parametrize("kind", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_the_weight_of_categories_is_chosen_by_the_evidence(kind):
    rng = np.random.default_rng(0)
    words, x = rng.integers(3, size=60), rng.normal(size=60)
    y = np.sin(x) + 2.0 * (words == 0) + 0.3 * rng.normal(size=60)
    y = y if kind is GaussianProcessRegressor else y > 0.8
    X = np.column_stack([x, words])
    X[rng.random(X.shape) < 0.1] = np.nan
    beliefs = MixedDensity(n_components=1, categories=[1]).fit(X).condition(X)
    free = kind().fit(beliefs, y)
    assert free.hyperparameter_names_[:2] == ["gamma", "category_weight"]
    gamma, weight = np.exp(free.theta_[:2])
    found = free.kernel_.get_params()
    assert (found["gamma"], found["category_weight"]) == (gamma, weight)
    # The highest evidence, beside two other weights with everything else free.
    for factor in (0.5, 2.0):
        fixed = kind(category_weight=float(weight * factor)).fit(beliefs, y)
        assert fixed.log_marginal_likelihood_value_ < free.log_marginal_likelihood_value_
        assert "category_weight" not in fixed.hyperparameter_names_
