"""Support vector machines far from the units that libsvm expects: same answers, or a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from absentia.machines.gram_matrices import most_iterations

# The stopping rule of libsvm leaves this much of the range of the answers, in any unit.
TOLERANCE = 5e-3


def answers(machine, rows):
    return getattr(machine, "decision_function", machine.predict)(rows)


def noisy_table(machine, *, holes=False):
    """Return rows, targets and new rows; off the origin, since one class is told from there."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(40, 3))
    z = X @ [1.0, -2.0, 0.5] + 0.7 * rng.normal(size=80) + 0.3
    if isinstance(machine, OneClassSVM):
        X, new = X + 3.0, new + 3.0
    if holes:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, (z if isinstance(machine, SVR | NuSVR) else z > 0), new


MACHINES = [SVC(), NuSVC(nu=0.6), SVR(), NuSVR(), OneClassSVM(nu=0.2)]


@pytest.mark.parametrize("scale", [1e-12, 1e-4, 1e-2, 0.1, 1e3, 1e8])
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
@pytest.mark.parametrize("holes", [False, True])
def test_a_linear_machine_in_other_units_is_the_same_machine(machine, scale, holes):
    X, y, new = noisy_table(machine, holes=holes)
    linear = clone(machine).set_params(kernel="linear")
    expected = answers(clone(linear).set_params(tol=1e-7).fit(X, y), new)
    if hasattr(machine, "C"):
        linear.set_params(C=scale**-2.0)
    found = answers(linear.fit(scale * X, y), scale * new)
    if isinstance(machine, OneClassSVM):
        found = found / scale**2
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.ptp(expected))


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3])
@pytest.mark.parametrize("machine", MACHINES[1::3], ids=lambda machine: type(machine).__name__)
def test_a_polynomial_machine_in_other_units_is_the_same_machine(machine, scale):
    X, _, new = noisy_table(machine)
    y = (X**2).sum(axis=1) > 2.5 + np.random.default_rng(1).normal(size=len(X))
    machine = clone(machine).set_params(kernel="poly", degree=2, gamma=1.0)
    expected = answers(clone(machine).set_params(tol=1e-7).fit(X, y), new)
    found = answers(clone(machine).fit(scale * X, y), scale * new)
    if isinstance(machine, OneClassSVM):
        found = found / scale**4
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.ptp(expected))


@pytest.mark.parametrize("machine", [SVR(), NuSVR()], ids=["SVR", "NuSVR"])
@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1e6])
def test_a_regression_of_small_targets_is_that_of_large_ones(machine, scale):
    X, y, new = noisy_table(machine)
    tube = {"epsilon": 0.1 * scale} if isinstance(machine, SVR) else {}
    expected = clone(machine).set_params(tol=1e-7).fit(X, y).predict(new)
    small = clone(machine).set_params(C=scale, **tube).fit(X, scale * y)
    # Targets that vary by less than a tenth have a tolerance of a hundredth of that.
    atol = 2e-2 * np.ptp(expected)
    np.testing.assert_allclose(small.predict(new) / scale, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("shift", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("machine", MACHINES[:4], ids=lambda machine: type(machine).__name__)
def test_columns_far_from_zero_give_the_machine_of_centred_ones(machine, shift):
    # In single precision, which the solver computes in, they are all alike.
    X, y, new = noisy_table(machine)
    linear = clone(machine).set_params(kernel="linear")
    expected = answers(clone(linear).set_params(tol=1e-7).fit(X, y), new)
    found = answers(linear.fit(X + shift, y), new + shift)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.ptp(expected))


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.7)], ids=["SVC", "NuSVC"])
def test_several_classes_far_from_zero(machine):
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(90, 3)), rng.normal(size=(30, 3))
    y = np.argmax(X + 0.8 * rng.normal(size=X.shape), axis=1)
    linear = clone(machine).set_params(kernel="linear", decision_function_shape="ovo")
    expected = answers(clone(linear).set_params(tol=1e-7).fit(X, y), new)
    found = answers(linear.fit(X + 1e5, y), new + 1e5)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.ptp(expected))


def test_a_width_far_above_the_data_is_the_linear_machine():
    # exp(-g d^2) is 1 - g d^2 for small g: one in single precision.
    X, y, new = noisy_table(SVC())
    linear = SVC(kernel="linear", tol=1e-7).fit(X, y)
    wide = SVC(kernel="rbf", gamma=1e-9, C=0.5e9, tol=1e-7).fit(X, y)
    expected = linear.decision_function(new)
    np.testing.assert_allclose(
        wide.decision_function(new), expected, rtol=0, atol=TOLERANCE * np.ptp(expected)
    )


def test_the_offset_of_one_class_far_from_the_origin():
    X, _, new = noisy_table(OneClassSVM())
    machine = OneClassSVM(kernel="linear", nu=0.2, tol=1e-9).fit(X + 1e4)
    scores = machine.score_samples(new + 1e4) - machine.offset_
    np.testing.assert_allclose(machine.decision_function(new + 1e4), scores, rtol=1e-9)
    # nu is the share outside, which is what a lost digit would change.
    outside = np.mean(machine.predict(X + 1e4) == -1)
    assert abs(outside - 0.2) <= 0.05


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_at_ordinary_scales_the_bits_are_those_of_scikit_learn(machine):
    X, y, _ = noisy_table(machine)
    for kernel in ("rbf", "linear"):
        ours = clone(machine).set_params(kernel=kernel, gamma=0.4).fit(3 * X, y)
        K = ours.kernel_(ours.density_.condition(3 * X))
        theirs = getattr(sklearn.svm, type(machine).__name__)(kernel="precomputed")
        theirs.set_params(**{p: v for p, v in machine.get_params().items() if p in ("nu", "C")})
        theirs.fit(K, y)
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-12)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-12)


@pytest.mark.parametrize(
    "machine",
    [
        SVC(kernel="linear", C=1e30),
        SVC(kernel="linear", C=float("inf")),
        SVC(kernel="poly", coef0=1e6),
    ],
)
def test_a_solver_that_does_not_converge_ends_with_a_sentence(machine, monkeypatch):
    X, y, _ = noisy_table(machine)
    monkeypatch.setattr(
        "absentia.machines.support_vectors.most_iterations", lambda n_samples: 20_000
    )
    with pytest.warns(ConvergenceWarning, match=r"in 20,000 steps.*smaller C"):
        fitted = machine.fit(X, y)
    assert fitted.fit_status_ == 1
    assert np.isfinite(answers(fitted, X)).all()


def test_columns_in_far_units_that_take_many_steps_get_a_hint(monkeypatch):
    """Unscaled columns and a gross value: millions of steps with a linear kernel."""
    monkeypatch.setattr("absentia.machines.support_vectors._MANY_STEPS", 20_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1.0, 10.0, 300.0]
    y = X[:, 0] + 0.2 * rng.normal(size=40) > 0
    X[3, 0] = 1e4
    with pytest.warns(
        ConvergenceWarning, match=r"20,000 steps and goes on.*Standardise the columns"
    ):
        fitted = SVC(kernel="linear").fit(X, y)
    assert fitted.fit_status_ == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X, y)


def test_the_bound_grows_with_the_rows_and_a_given_one_counts():
    assert most_iterations(100) == 100_000_000
    assert most_iterations(2_000_000) == 200_000_000
    X, y, _ = noisy_table(SVC())
    with pytest.warns(ConvergenceWarning, match="max_iter=7"):
        machine = SVC(kernel="linear", C=1e30, max_iter=7).fit(X, y)
    assert machine.n_iter_[0] == 7


@pytest.mark.parametrize("machine", [SVC(), SVR(), NuSVR(), OneClassSVM()])
def test_a_kernel_that_is_the_same_for_all_rows_says_so(machine):
    X, y, new = noisy_table(machine)
    machine = clone(machine).set_params(kernel="poly", coef0=1e100)
    with pytest.warns(UserWarning, match="same value for all pairs"):
        machine.fit(X, y)
    found = answers(machine, new)
    assert np.isfinite(found).all()
    if isinstance(machine, SVR | NuSVR):
        assert y.min() <= found.min() == found.max() <= y.max()


def test_what_has_no_solution_gets_a_sentence():
    X, y, _ = noisy_table(NuSVC())
    constant = pytest.warns(UserWarning, match="same value for all pairs")
    with constant, pytest.raises(ValueError, match="the solution of this problem is beyond double"):
        NuSVC(kernel="poly", coef0=1e100, nu=0.3).fit(X, y)
    with pytest.raises(ValueError, match="C must be a positive number, found inf"):
        NuSVR(C=float("inf")).fit(X, y)


@pytest.mark.parametrize("C", [1e16, 1e308])
def test_nu_svr_refuses_a_penalty_whose_rounding_hides_the_targets(C):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="is too large for 30 rows"):
        NuSVR(C=C).fit(X, X[:, 0] > 0)


def test_nu_svr_ends_where_rounding_is_near_its_tolerance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=30)
    expected, found = (NuSVR(C=C).fit(X, y).predict(X) for C in (1e8, 1e11))
    # The penalty of 1e11 leaves the solver a tolerance of some thousandths.
    np.testing.assert_allclose(found, expected, atol=0.02)
