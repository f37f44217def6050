"""The support vector machines against scikit-learn's, given the same matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.base import clone

from absentia import (
    SVC,
    SVR,
    GaussianDensity,
    GenRBF,
    LogisticRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from machines.contract import MachineContract, table, targets_of

SAME_FORMULA = 1e-10
BALANCED_LOGISTIC = LogisticRegression(class_weight="balanced", tol=1e-8)


class TestSVC(MachineContract):
    def make(self, **params):
        return SVC(**{"C": 2.0, **params})

    def oracle(self, K, y, K_new):
        return sklearn.svm.SVC(kernel="precomputed", C=2.0).fit(K, y).decision_function(K_new)


class TestNuSVC(MachineContract):
    def make(self, **params):
        return NuSVC(**{"nu": 0.4, **params})

    def oracle(self, K, y, K_new):
        return sklearn.svm.NuSVC(kernel="precomputed", nu=0.4).fit(K, y).decision_function(K_new)


class TestSVR(MachineContract):
    targets = "numbers"

    def make(self, **params):
        return SVR(**{"C": 2.0, "epsilon": 0.05, **params})

    def oracle(self, K, y, K_new):
        return sklearn.svm.SVR(kernel="precomputed", C=2.0, epsilon=0.05).fit(K, y).predict(K_new)


class TestNuSVR(MachineContract):
    targets = "numbers"

    def make(self, **params):
        return NuSVR(**{"C": 2.0, "nu": 0.4, **params})

    def oracle(self, K, y, K_new):
        return sklearn.svm.NuSVR(kernel="precomputed", C=2.0, nu=0.4).fit(K, y).predict(K_new)


class TestOneClassSVM(MachineContract):
    targets = None

    def make(self, **params):
        return OneClassSVM(**{"nu": 0.2, **params})

    def oracle(self, K, y, K_new):
        return sklearn.svm.OneClassSVM(kernel="precomputed", nu=0.2).fit(K).decision_function(K_new)

    def test_scores_and_labels_are_those_of_scikit_learn(self):
        X, new = table(), 2 * table(20, seed=1)
        model = self.fitted(X)
        P = model.density_.condition(X)
        K, K_new = model.kernel_(P), model.kernel_(model.density_.condition(new), P)
        theirs = sklearn.svm.OneClassSVM(kernel="precomputed", nu=0.2).fit(K)
        np.testing.assert_allclose(model.score_samples(new), theirs.score_samples(K_new))
        np.testing.assert_array_equal(model.predict(new), theirs.predict(K_new))
        np.testing.assert_allclose(model.offset_, theirs.offset_)
        assert set(model.predict(new)) == {1, -1}


def matrices(n_classes, sample_weight=None):
    """Return rows, labels, new rows, and the matrices scikit-learn is given."""
    X, new = table(80, seed=3), table(40, seed=4)
    labels = np.array(["ant", "bee", "cat", "dog"])[:n_classes]
    scores = np.nan_to_num(X) @ np.random.default_rng(0).normal(size=(3, n_classes))
    y = labels[np.argmax(scores + np.random.default_rng(1).normal(size=scores.shape), axis=1)]
    density = GaussianDensity().fit(X, sample_weight=sample_weight)
    kernel = GenRBF().resolve(density.prior_)
    P, Q = density.condition(X), density.condition(new)
    return X, y, new, kernel(P), kernel(Q, P)


@pytest.mark.parametrize(("ours", "theirs"), [(SVC, sklearn.svm.SVC), (NuSVC, sklearn.svm.NuSVC)])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_classes_votes_and_decisions_are_those_of_scikit_learn(ours, theirs, n_classes, shape):
    weights = np.random.default_rng(2).integers(1, 4, size=80).astype(float)
    for sample_weight in (None, weights) if ours is SVC else (None,):
        X, y, new, K, K_new = matrices(n_classes, sample_weight)
        for break_ties in {False, shape == "ovr"}:
            params = {"decision_function_shape": shape, "break_ties": break_ties}
            if ours is NuSVC:
                params["nu"] = 0.2
            model = ours(**params).fit(X, y, sample_weight=sample_weight)
            expected = theirs(kernel="precomputed", **params).fit(K, y, sample_weight=sample_weight)
            np.testing.assert_allclose(
                model.decision_function(new),
                expected.decision_function(K_new),
                rtol=SAME_FORMULA,
                atol=SAME_FORMULA,
            )
            np.testing.assert_array_equal(model.predict(new), expected.predict(K_new))
            for name in ("support_", "n_support_", "dual_coef_", "intercept_", "classes_"):
                np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
            assert len(model.beliefs_) == len(expected.support_) <= len(X)


def test_class_weight_is_that_of_scikit_learn():
    X, y, new, K, K_new = matrices(3)
    for class_weight in ("balanced", {"ant": 10.0, "bee": 0.1}):
        model = SVC(class_weight=class_weight).fit(X, y)
        expected = sklearn.svm.SVC(kernel="precomputed", class_weight=class_weight).fit(K, y)
        np.testing.assert_array_equal(model.class_weight_, expected.class_weight_)
        np.testing.assert_array_equal(model.predict(new), expected.predict(K_new))


@pytest.mark.parametrize("machine", [SVR, NuSVR, OneClassSVM])
def test_sample_weights_reach_the_solver(machine):
    X, y = table(), targets_of("numbers")
    weights = np.linspace(0.1, 2.0, len(y))
    weighted = machine().fit(X, y, sample_weight=weights)
    K = weighted.kernel_(weighted.density_.condition(X))
    expected = getattr(sklearn.svm, machine.__name__)(kernel="precomputed")
    expected.fit(K, y, sample_weight=weights)
    np.testing.assert_array_equal(weighted.dual_coef_, expected.dual_coef_)


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_rows_of_no_weight_are_as_if_absent_and_of_weight_two_as_two(machine):
    X, y, new = table(40), targets_of("classes", 40), table(9, seed=1)
    weights = np.random.default_rng(0).integers(0, 3, size=40)
    params = {"tol": 1e-12, "density": GaussianDensity(tol=1e-12, max_iter=2000)}
    if hasattr(machine, "nu"):
        params["nu"] = 0.3
    weighted = machine(**params).fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(40), weights)
    repeated = machine(**params).fit(X[rows], y[rows])
    output = "decision_function" if hasattr(machine, "decision_function") else "predict"
    # Across methods: both solvers stop at a tolerance.
    np.testing.assert_allclose(
        getattr(weighted, output)(new), getattr(repeated, output)(new), atol=1e-6
    )
    assert (weights[weighted.support_] > 0).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_complete_rows_are_scikit_learns_own_machine(kernel):
    X = np.nan_to_num(table(60, seed=5))
    y = targets_of("classes", 60)
    ours = SVC(kernel=kernel, gamma=0.3).fit(X, y).decision_function(X)
    theirs = sklearn.svm.SVC(kernel=kernel, gamma=0.3).fit(X, y).decision_function(X)
    # Across methods: the solver stops at a tolerance, and the matrices differ by rounding.
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_parameters_of_the_solver_are_checked_before_anything_is_computed():
    with pytest.raises(ValueError, match="C must be a positive number"):
        SVC(C=-1.0, density="no such density").fit(table(), targets_of("classes"))
    with pytest.raises(ValueError, match="nu must be a number above 0"):
        NuSVR(nu=2.0).fit(table(), targets_of("numbers"))
    with pytest.raises(ValueError, match=r"nu=1.0 is infeasible: .* has 10 rows, the largest 20"):
        NuSVC(nu=1.0).fit(table(), np.arange(30) < 10)
    model = SVC(break_ties=True, decision_function_shape="ovo")
    model.fit(table(), targets_of("classes"))
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(table())


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "requires y to be passed"),
        (np.zeros(30), "got 1 class"),
        (np.linspace(0, 1, 30), "continuous"),
        (np.zeros(29), "inconsistent numbers"),
        (["yes", None, "no"] * 10, "NaN or None, first in row 1"),
        (pd.Series(["yes", "no", pd.NA] * 10, dtype="string"), "NaN or None, first in row 2"),
        ([0.0, 1.0, np.nan] * 10, "NaN or None, first in row 2"),
    ],
)
def test_wrong_targets_get_a_sentence(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        SVC().fit(table(), y)


@pytest.mark.parametrize("y", [[0.5, np.nan, 1.0] * 10, [0.5, None, 1.0] * 10])
def test_a_number_that_is_missing_gets_a_sentence_too(y):
    with pytest.raises(ValueError, match=r"contains NaN, first in row 1: .* Drop such rows"):
        SVR().fit(table(), y)
    with pytest.raises(ValueError, match="infinity"):
        SVR().fit(table(), [0.5, np.inf, 1.0] * 10)


def test_wrong_weights_get_a_sentence():
    X, y = table(), targets_of("classes")
    with pytest.raises(ValueError, match=r"shape \(30,\)"):
        SVC().fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="zero or negative weights"):
        SVC().fit(X, y, sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match="belong to the same class"):
        SVC().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="must not be negative, found -2 in row 7"):
        LogisticRegression().fit(X, y, sample_weight=np.where(np.arange(30) == 7, -2.0, 1.0))


@pytest.mark.parametrize("machine", [SVC(class_weight="balanced", tol=1e-8), BALANCED_LOGISTIC])
def test_balanced_classes_count_a_row_of_weight_two_as_two_rows(machine):
    X, y = table(40, seed=2), targets_of("classes", 40, seed=2)
    weights = np.random.default_rng(0).integers(0, 4, size=40)
    rows = np.repeat(np.arange(40), weights)
    # The density counts rows of weight two as two already; what differs here is the balance.
    weighed = clone(machine).fit(X, y, sample_weight=weights.astype(float))
    repeated = clone(machine).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighed.decision_function(X), repeated.decision_function(X), rtol=0, atol=1e-6
    )
    kept = weights > 0
    without = clone(machine).fit(X[kept], y[kept], sample_weight=weights[kept].astype(float))
    np.testing.assert_allclose(
        weighed.decision_function(X), without.decision_function(X), rtol=1e-10, atol=1e-10
    )


def test_a_mixture_by_name_can_be_repeated():
    X, y = table(60), targets_of("classes", 60)
    one, other = (SVC(density="mixture").fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_row_of_negative_weight_is_left_out_as_in_libsvm():
    X, y = table(), targets_of("classes")
    rows = np.arange(30) != 7
    negative = SVC().fit(X, y, sample_weight=np.where(rows, 2.0, -3.0))
    without = SVC(C=2.0).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        negative.decision_function(X), without.decision_function(X), rtol=1e-10
    )


def test_probabilities_are_refused_with_a_hint():
    with pytest.raises(AttributeError, match="CalibratedClassifierCV"):
        SVC().predict_proba(table())
    assert not hasattr(SVC(), "predict_proba")
    with pytest.raises(ValueError, match="LogisticRegression"):
        SVC(probability=True).fit(table(), targets_of("classes"))


def test_sparse_rows_are_refused_after_a_dense_fit_and_taken_after_a_sparse_one():
    X, y = np.nan_to_num(table(40)), targets_of("classes", 40)
    machine = SVC().fit(X, y)
    with pytest.raises(ValueError, match="was fitted to a table in which NaN means missing"):
        machine.predict(sparse.csr_array(X))
    expected = machine.decision_function(X)
    machine.fit(sparse.csr_array(X), y)
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(machine.decision_function(rows), expected, rtol=SAME_FORMULA)
    assert not hasattr(machine.fit(X, y), "sparse_")


@pytest.mark.parametrize("scale", [1e-40, 1e40])
@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.3), SVR(), OneClassSVM(nu=0.2)])
def test_the_linear_kernel_of_tables_beyond_single_precision(machine, scale):
    # The solver's copy of the matrix is in single precision, where 1e-80 is zero.
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X @ [1.0, -2.0, 0.5]
    y = y if isinstance(machine, SVR) else y > 0
    penalty = {"C": scale**-2.0} if hasattr(machine, "C") else {}
    expected = clone(machine).set_params(kernel="linear", tol=1e-5).fit(X, y)
    found = clone(machine).set_params(kernel="linear", tol=1e-5, **penalty).fit(scale * X, y)
    new = np.random.default_rng(1).normal(size=(20, 3))
    answer = "predict" if isinstance(machine, SVR) else "decision_function"
    unit = scale**2 if isinstance(machine, OneClassSVM) else 1.0
    # Single precision rounds another multiple of the matrix: its digits are all that agree.
    np.testing.assert_allclose(
        getattr(found, answer)(scale * new) / unit,
        getattr(expected, answer)(new),
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_tolerance_below_rounding_is_refused():
    # libsvm would go on for ever.
    with pytest.raises(ValueError, match="tol must be a number of at least 1e-15"):
        SVC(tol=1e-308).fit([[0.0], [1.0]], [0, 1])
