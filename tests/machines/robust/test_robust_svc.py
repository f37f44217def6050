"""RobustSVC: the ordinary machine at tau = 0, a general optimiser's answer elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import (
    SVC,
    ExpectedLinear,
    ExpectedRBF,
    GaussianDensity,
    GenRBF,
    MaskKernel,
    RobustSVC,
    kernel_variance,
)
from absentia.machines.robust import cone as robust_cone
from absentia.machines.robust import robust_svc as robust
from absentia.machines.robust.cone import RobustSolution, robust_objective, solve_robust
from absentia.machines.robust.interior_point import (
    _cones,
    _divided,
    _is_inside,
    _longest_step,
    _product,
    _Scaling,
)
from absentia.progress import SolverStatus
from machines.contract import MachineContract, table, targets_of
from oracles.robust import robust_minimum, robust_minimum_by_cones

ACROSS_METHODS = 1e-6


class TestRobustSVC(MachineContract):
    """The contract of all machines, with imputed rows, where any kernel will do."""

    def make(self, **params):
        defaults = {"uncertainty": "spherical", "kernel": "genrbf", "tau": 0.1}
        return RobustSVC(**{**defaults, **params})

    def test_output_is_that_of_scikit_learn_on_an_explicit_matrix(self):
        """There is no robust machine in scikit-learn: a general optimiser, on explicit matrices."""
        X, new = table(), table(12, seed=1)
        model = self.fitted(X, gamma=0.4, tol=1e-7)
        density = GaussianDensity().fit(X)
        complete, filled = density.impute(X), density.impute(new)
        K, K_new = (rbf_kernel(rows, complete, gamma=0.4) for rows in (complete, filled))
        signs = np.where(self.y == 1, 1.0, -1.0)
        minimum, c, b = robust_minimum(K, np.ones_like(K), signs, np.ones(len(K)), 0.1)
        assert model.objective_[0] == pytest.approx(minimum, rel=ACROSS_METHODS)
        # An objective within 1e-7 of its minimum fixes the decision function to the root of that.
        np.testing.assert_allclose(model.decision_function(new), K_new @ c + b, atol=5e-4)


@pytest.fixture(scope="module")
def data():
    return table(60, seed=3), targets_of("classes", 60, seed=3)


KERNELS = [
    ExpectedRBF(gamma=0.2),
    ExpectedRBF(gamma=0.2, diagonal="same"),
    ExpectedLinear(diagonal="same"),
    ExpectedRBF(gamma=0.2) * MaskKernel(0.5),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_tau_zero_is_the_ordinary_machine(data, kernel):
    X, y = data
    new = table(40, seed=4)
    ordinary = SVC(kernel=kernel, tol=1e-8).fit(X, y)
    strict = RobustSVC(kernel=kernel, tau=0.0, tol=1e-8).fit(X, y)
    # An objective within 1e-8 of its minimum fixes the decision function to the root of that.
    np.testing.assert_allclose(
        strict.decision_function(new), ordinary.decision_function(new), atol=1e-4
    )
    assert strict.n_cones_ == 0


def small_problem(seed, n=8):
    X = table(n, seed=seed)
    beliefs = GaussianDensity().fit(table(60, seed=seed)).condition(X)
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    signs[:2] = [-1, 1]
    return beliefs, signs, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("kernel", [ExpectedRBF(gamma=0.3), ExpectedLinear(diagonal="same")])
@pytest.mark.parametrize("tau", [0.1, 0.7])
def test_optimum_is_that_of_a_general_optimiser(kernel, tau):
    beliefs, signs, penalties = small_problem(1)
    K = kernel(beliefs)
    V = kernel_variance(kernel, beliefs, diagonal=kernel.diagonal)
    ours = solve_robust(K, V, signs, penalties, tau)
    assert ours.status is SolverStatus.CONVERGED
    minimum, _, _ = robust_minimum(K, V, signs, penalties, tau)
    assert ours.objective == pytest.approx(minimum, rel=ACROSS_METHODS)
    assert abs(ours.relative_gap) < ACROSS_METHODS


@pytest.mark.parametrize("uncertainty", ["kernel", "spherical"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_minimum_is_that_of_a_general_conic_solver(data, uncertainty, C):
    pytest.importorskip("clarabel")
    X, y = data
    # Rounding leaves a gap of 2e-7 at C=100 on some processors.
    settings = {"C": C, "tau": 0.2, "gamma": 0.2, "uncertainty": uncertainty, "tol": 5e-7}
    model = RobustSVC(**settings).fit(X, y)
    P = model.beliefs_
    K, V = model.kernel_(P), np.ones((60, 60))
    if uncertainty == "kernel":
        V = kernel_variance(model.kernel_, P, diagonal="independent")
    signs = np.where(y == 1, 1.0, -1.0)
    minimum, _, _ = robust_minimum_by_cones(K, V, signs, np.full(60, C), 0.2)
    assert model.objective_[0] == pytest.approx(minimum, rel=ACROSS_METHODS)
    assert np.abs(model.relative_gap_).max() < ACROSS_METHODS
    assert model.n_cones_ == 60


@pytest.mark.parametrize("tau", [0.1, 0.7])
def test_no_variances_say_the_same_as_identities_in_every_row(tau):
    beliefs, signs, penalties = small_problem(2)
    K = 5.0 * ExpectedRBF(gamma=0.3)(beliefs)
    shared = solve_robust(K, None, signs, penalties, tau)
    separate = solve_robust(K, np.ones_like(K), signs, penalties, tau)
    # An objective within 1e-8 of its minimum fixes the coefficients to the root of that.
    np.testing.assert_allclose(shared.coefficients, separate.coefficients, atol=1e-4)
    assert shared.objective == pytest.approx(separate.objective, rel=ACROSS_METHODS)


def test_the_machine_solves_what_the_paper_writes(data):
    """c, b of the fitted machine, put into Eq. (5) with matrices made here."""
    X, y = data
    model = RobustSVC(C=2.0, tau=0.5, gamma=0.2).fit(X, y)
    kernel = ExpectedRBF(gamma=0.2)
    P = GaussianDensity().fit(X).condition(X)
    V = kernel_variance(kernel, P, diagonal="independent")
    signs, penalties = np.where(y == 1, 1.0, -1.0), np.full(60, 2.0)
    here = robust_objective(
        kernel(P), V, signs, penalties, 0.5, model.dual_coef_[0], model.intercept_[0]
    )
    assert here == pytest.approx(model.objective_[0], rel=1e-10)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2, 1e-1):  # nowhere near is better
        moved = model.dual_coef_[0] + scale * rng.standard_normal(60)
        assert here <= robust_objective(
            kernel(P), V, signs, penalties, 0.5, moved, model.intercept_[0]
        )


def test_complete_rows_are_no_cones_and_certain_pairs_no_entries():
    X = table(40, seed=5)
    X[:25] = np.nan_to_num(X[:25])
    y = targets_of("classes", 40)
    model = RobustSVC().fit(X, y)
    holes = np.isnan(X).any(axis=1)
    # A complete row is certain about complete rows, not about the others: it has a short cone.
    assert model.n_cones_[0] == 40
    P = model.density_.condition(X)
    V = kernel_variance(model.kernel_, P, diagonal="independent")
    entries = (V > robust_cone._NEGLIGIBLE).sum()
    assert entries == 40 * 40 - (~holes).sum() ** 2
    filled = np.nan_to_num(X)
    assert RobustSVC().fit(filled, y).n_cones_[0] == 0


def test_on_complete_rows_tau_does_not_matter():
    X, y = np.nan_to_num(table(50, seed=6)), targets_of("classes", 50)
    loose, tight = RobustSVC(tau=0.0).fit(X, y), RobustSVC(tau=2.0).fit(X, y)
    np.testing.assert_array_equal(loose.dual_coef_, tight.dual_coef_)


def test_more_tau_costs_more(data):
    X, y = data
    objectives = [RobustSVC(tau=tau).fit(X, y).objective_[0] for tau in (0.0, 0.2, 0.5, 1.0)]
    assert (np.diff(objectives) > 0).all()


def test_classes_are_separated_one_against_the_rest():
    X = table(45, seed=7)
    labels = np.array(["ant", "bee", "cat"])[np.arange(45) % 3]
    model = RobustSVC(tau=0.2, gamma=0.3).fit(X, labels)
    values = model.decision_function(X)
    assert values.shape == (45, 3)
    for k, name in enumerate(["ant", "bee", "cat"]):
        alone = RobustSVC(tau=0.2, gamma=0.3).fit(X, labels == name)
        np.testing.assert_allclose(values[:, k], alone.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])


def test_weights_multiply_the_penalty(data):
    X, y = data
    P = GaussianDensity().fit(X).condition(X)  # so that the density has no part in this
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    model = RobustSVC(C=2.0, tau=0.3, gamma=0.2).fit(P, y, sample_weight=weights)
    kernel = ExpectedRBF(gamma=0.2)
    V = kernel_variance(kernel, P, diagonal="independent")
    signs = np.where(y == 1, 1.0, -1.0)
    alone = solve_robust(kernel(P), V, signs, 2.0 * weights, 0.3, tol=1e-6)
    np.testing.assert_array_equal(model.dual_coef_[0], alone.coefficients)


@pytest.mark.parametrize("uncertainty", ["kernel", "spherical"])
def test_a_row_of_weight_zero_counts_as_left_out(data, uncertainty):
    X, y = data
    P = GaussianDensity().fit(X).condition(X)  # so that the density has no part in this
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    kept = np.flatnonzero(weights)
    machine = RobustSVC(gamma=0.2, uncertainty=uncertainty)
    found = machine.fit(P, y, sample_weight=weights).decision_function(P)
    assert not machine.dual_coef_[:, weights == 0].any()
    expected = machine.fit(P[kept], y[kept], sample_weight=weights[kept]).decision_function(P)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("uncertainty", ["kernel", "spherical"])
def test_tau_by_cross_validation_is_the_best_of_its_scores(data, uncertainty):
    from sklearn.model_selection import cross_val_score

    X, y = data
    taus = (0.0, 0.3, 3.0)
    model = RobustSVC(tau="cv", taus=taus, cv=3, gamma=0.2, uncertainty=uncertainty).fit(X, y)
    fixed = {"gamma": 0.2, "uncertainty": uncertainty}
    fixed["density"] = FrozenEstimator(GaussianDensity().fit(X))
    by_hand = [cross_val_score(RobustSVC(tau=tau, **fixed), X, y, cv=3).mean() for tau in taus]
    np.testing.assert_allclose(model.tau_scores_, by_hand)
    assert model.tau_ == taus[int(np.argmax(by_hand))]
    again = RobustSVC(tau=model.tau_, gamma=0.2, uncertainty=uncertainty).fit(X, y)
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)


def test_tau_by_cross_validation_on_beliefs(data):
    X, y = data
    P = GaussianDensity().fit(X).condition(X)
    assert RobustSVC(tau="cv", taus=(0.0, 0.5), cv=2).fit(P, y).tau_ in (0.0, 0.5)


@parametrize_with_checks(
    [RobustSVC(tau=0.3)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": (
            "equal up to the tolerance of the cone solver, 2e-6 here; the check asks for 1e-7"
        )
    },
)
def test_estimator_checks(estimator, check):
    check(estimator)


# What goes wrong is said ---------------------------------------------------------------------


def test_a_solver_that_stops_early_raises(data):
    model = RobustSVC(max_iter=2)
    with pytest.raises(RuntimeError, match=r"out of iterations\) after 2 steps"):
        model.fit(*data)
    assert not hasattr(model, "dual_coef_")


def test_an_inaccurate_solution_warns(data, monkeypatch):
    X, y = data

    def almost(K, *args, **settings):
        return RobustSolution(np.zeros(len(K)), 0.0, 1.0, 1e-3, 5, SolverStatus.ALMOST, 0)

    monkeypatch.setattr(robust, "solve_robust", almost)
    with pytest.warns(ConvergenceWarning, match="relative 0.001"):
        RobustSVC().fit(X, y)


@pytest.mark.parametrize("tol", [1e-12, 1e-14, 1e-100])
def test_more_digits_than_rounding_allows_give_the_best_there_is(data, tol):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="less accurately than tol"):
        machine = RobustSVC(tol=tol).fit(X, y)
    assert abs(machine.relative_gap_[0]) < 1e-6
    np.testing.assert_allclose(machine.objective_, RobustSVC(tol=1e-6).fit(X, y).objective_, 1e-5)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"tau": -1.0}, "tau must be"),
        ({"tau": "best"}, "tau must be"),
        ({"tau": "cv", "taus": ()}, "at least one"),
        ({"tau": "cv", "taus": (0.1, -2.0)}, "taus must be"),
        ({"C": 0.0}, "C must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"uncertainty": "cubic"}, "'kernel' or 'spherical'"),
    ],
)
def test_wrong_parameters_get_a_sentence(data, params, sentence):
    with pytest.raises(ValueError, match=sentence):
        RobustSVC(**params).fit(*data)


def test_a_kernel_without_a_known_variance_is_refused(data):
    with pytest.raises(TypeError, match="ExpectedLinear and ExpectedRBF"):
        RobustSVC(kernel=GenRBF()).fit(*data)


def test_progress_is_printed(data, capfd):
    RobustSVC(verbose=True).fit(*data)
    printed = capfd.readouterr().out
    assert "robust SVM: 60 rows, 60 cones with " in printed
    assert "residual" in printed


def test_a_step_to_the_boundary_is_as_long_as_it_can_be():
    rng = np.random.default_rng(0)
    tails = rng.standard_normal((6, 4))
    heads = np.linalg.norm(tails, axis=1) + rng.uniform(0.1, 1.0, 6)
    point = _cones(heads, tails, rng.uniform(0.1, 1.0, 6))
    for _ in range(20):
        direction = rng.standard_normal((6, 6))
        step = _longest_step(point, direction)
        assert _is_inside(point + 0.999 * step * direction)
        assert not _is_inside(point + 1.001 * step * direction)


def test_scaling_maps_the_multiplier_to_the_slack():
    rng = np.random.default_rng(1)
    tails = rng.standard_normal((2, 6, 4))
    heads = np.linalg.norm(tails, axis=2) + rng.uniform(0.1, 1.0, (2, 6))
    s, z = (_cones(heads[k], tails[k], rng.uniform(0.1, 2.0, 6)) for k in range(2))
    scaling = _Scaling(s, z)
    twice = scaling.times(scaling.times(z))
    np.testing.assert_allclose(twice, s, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(scaling.inverse_square(s), z, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(_product(s, _divided(z, s)), z, rtol=1e-10, atol=1e-12)


def linear_program(unit, n=30, seed=0):
    """Return a program of the linear kernel whose classes have 10 and 20 rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    order = np.argsort(X[:, 0] + 0.3 * rng.normal(size=n))
    signs = np.ones(n)
    signs[order[: 2 * n // 3]] = -1.0
    X[rng.random(X.shape) < 0.2] = np.nan
    beliefs = GaussianDensity().fit(unit * X).condition(unit * X)
    kernel = ExpectedLinear()
    return kernel(beliefs), kernel_variance(kernel, beliefs), signs, np.ones(n)


@pytest.mark.parametrize("tau", [0.0, 0.5])
@pytest.mark.parametrize("unit", [1e-30, 1e-8, 1e-5, 1e-2, 1.0, 1e5])
def test_certificates_hold_whatever_the_unit_of_the_columns(unit, tau):
    """Where the penalties are tiny beside the kernel, only the bias is left to choose."""
    program = linear_program(unit)
    found = solve_robust(*program, tau)
    assert found.status in (SolverStatus.CONVERGED, SolverStatus.ALMOST)
    # Never below zero by more than rounding: a bound above what is attained is false.
    assert -1e-12 < found.relative_gap < 1e-4
    # All rows in the larger class: a slack of two in each of the ten others.
    assert found.objective <= robust_objective(*program, tau, np.zeros(30), -1.0) * (1 + 1e-7)
    if unit < 1e-3:
        assert found.objective == pytest.approx(20.0, rel=ACROSS_METHODS)


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e5])
def test_a_bound_from_a_loose_tolerance_is_one(unit, tol):
    for seed in range(4):
        K, variances, signs, penalties = linear_program(unit, seed=seed)
        for tau, spread in [(0.0, variances), (0.3, variances), (0.3, None)]:
            found = solve_robust(K, spread, signs, 100 * penalties, tau, tol=tol)
            exact = solve_robust(K, spread, signs, 100 * penalties, tau, tol=1e-9)
            assert found.relative_gap > -1e-12
            bound = found.objective * (1 - found.relative_gap)
            assert bound <= exact.objective * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "value"), [("C", 1e308), ("C", 1e90), ("tau", 1e308), ("C", 1e-300)]
)
@pytest.mark.parametrize("uncertainty", ["kernel", "spherical"])
def test_numbers_beyond_all_range_are_refused_by_name(name, value, uncertainty):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    X[::4, 1] = np.nan
    machine = RobustSVC(uncertainty=uncertainty, **{name: value})
    with pytest.raises(ValueError, match=f"{name} times the kernel is"):
        machine.fit(X, y)


def test_rows_of_no_weight_do_not_choose_tau():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=90) > 0).astype(int)
    weights = np.where(np.arange(90) % 3 == 0, 0.0, 1.0)
    y[weights == 0] = rng.integers(0, 2, size=30)
    X[rng.random(X.shape) < 0.2] = np.nan
    counting = np.flatnonzero(weights)
    fold = np.arange(90) % 4
    all_rows = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    place = np.cumsum(weights > 0) - 1
    some_rows = [tuple(place[part[weights[part] > 0]] for part in split) for split in all_rows]
    density = FrozenEstimator(GaussianDensity().fit(X[counting]))

    def scores(rows, labels, cv, **fit):
        machine = RobustSVC(tau="cv", taus=(0.0, 1.0, 3.0), cv=cv, gamma=0.2, density=density)
        return machine.fit(rows, labels, **fit).tau_scores_

    weighted = scores(X, y, all_rows, sample_weight=weights)
    np.testing.assert_allclose(weighted, scores(X[counting], y[counting], some_rows), atol=1e-12)
