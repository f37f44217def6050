"""Similarities of categories (``p'Sq``) against enumeration, in kernels, features and machines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from absentia import (
    SVC,
    CategoryKernel,
    ExpectedRBF,
    FourierFeatures,
    GaussianProcessRegressor,
    GenRBF,
    MixedDensity,
    Nystroem,
    load,
    save,
)
from absentia.kernels.category import ordered_similarity
from densities.mixed_examples import fitted, mixed_table
from oracles.mixed import expected_kernel, row_belief, similar_categories

WEIGHTS = [0.7, 1.3]
S = np.array([[1.0, 0.6, 0.1], [0.6, 1.0, 0.4], [0.1, 0.4, 1.0]])
#: As they are given, and written out for the oracle.
GIVEN = [S, None]
MATRICES = [S, np.eye(2)]


@pytest.fixture(scope="module", params=[1, 3])
def example(request):
    X = mixed_table(20, missing=0.35)
    density = fitted(X, request.param)
    prior = density.prior_
    codes = np.where(np.isnan(X[:, [1, 3]]), -1, X[:, [1, 3]] - [0, 10]).astype(int)
    parameters = prior.weights, prior.means, prior.covariances, prior.probabilities
    rows = [row_belief(x, code, *parameters) for x, code in zip(X[:, [0, 2]], codes, strict=True)]
    return density.condition(X), rows


def oracle(rows):
    return np.array([[expected_kernel(p, q, 0.4, WEIGHTS, MATRICES) for q in rows] for p in rows])


def test_rbf_kernels_sum_over_components_and_categories(example):
    beliefs, rows = example
    settings = {"gamma": 0.4, "category_weight": WEIGHTS, "category_similarities": GIVEN}
    K = ExpectedRBF(**settings)(beliefs)
    expected = oracle(rows)
    np.testing.assert_allclose(K, expected, rtol=1e-10)
    np.testing.assert_allclose(ExpectedRBF(**settings).diag(beliefs), np.diag(expected), rtol=1e-10)
    norms = np.sqrt(np.diag(expected))
    K = GenRBF(**settings)(beliefs)
    np.testing.assert_allclose(K, expected / norms / norms[:, None], rtol=1e-10)
    assert (K == K.T).all()
    assert np.linalg.eigvalsh(K)[0] > -1e-10
    across = GenRBF(**settings)(beliefs[:9], beliefs[9:])
    np.testing.assert_allclose(across, K[:9, 9:], rtol=1e-10)


def test_the_kernel_of_categories_alone(example):
    beliefs, rows = example
    expected = [
        [
            sum(
                p[0][c] * q[0][e] * similar_categories(p[3][c], q[3][e], WEIGHTS, MATRICES)
                for c in range(len(p[0]))
                for e in range(len(q[0]))
            )
            for q in rows
        ]
        for p in rows
    ]
    kernel = CategoryKernel(WEIGHTS, similarities={0: S})
    np.testing.assert_allclose(kernel(beliefs), expected, rtol=1e-10)


def test_the_identity_changes_nothing_and_a_large_weight_leaves_the_matrix(example):
    beliefs = example[0]
    same = GenRBF(category_similarities=[np.eye(3), np.eye(2)])(beliefs)
    np.testing.assert_allclose(same, GenRBF()(beliefs), rtol=1e-12)
    X = np.array([[0.0], [1.0], [2.0]])
    P = MixedDensity(1, categories=[0]).fit(X).condition(X)
    np.testing.assert_allclose(CategoryKernel(1e9, [S])(P), S, atol=1e-15)
    np.testing.assert_allclose(CategoryKernel(0.0, [S])(P), 1.0)


@pytest.mark.parametrize("n_categories", [1, 2, 3, 7, 100])
def test_an_order_is_positive_semidefinite(n_categories):
    matrix = ordered_similarity(n_categories)
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12
    assert (np.diag(matrix) == 1).all()


def test_scale_counts_what_is_alike():
    prior = fitted(mixed_table()).prior_
    kernel = GenRBF(category_similarities=[S, "ordered"]).resolve(prior)
    shares = [prior.weights @ table for table in prior.probabilities]
    differing = sum(1 - p @ M @ p for p, M in zip(shares, MATRICES, strict=True))
    numbers = 2 * kernel.gamma * np.trace(prior.covariance())
    assert kernel.category_weight * differing + numbers == pytest.approx(2)


@pytest.mark.parametrize("kind", [ExpectedRBF, GenRBF])
def test_derivatives_by_the_weights(example, kind):
    beliefs = example[0]
    weights = np.random.default_rng(0).normal(size=(len(beliefs), len(beliefs)))
    found = kind(0.4, category_weight=np.array(WEIGHTS), category_similarities=GIVEN).gradient(
        beliefs, weights
    )["category_weight"]
    step = 1e-5
    for j in range(2):
        sums = []
        for sign in (1, -1):
            moved = np.array(WEIGHTS)
            moved[j] *= np.exp(sign * step)
            K = kind(0.4, category_weight=moved, category_similarities=GIVEN)(beliefs)
            sums.append((weights * K).sum())
        # Differences of this step have some nine digits.
        assert found[j] == pytest.approx((sums[0] - sums[1]) / (2 * step), rel=1e-6, abs=1e-8)


def test_features_approach_the_kernel(example):
    beliefs = example[0]
    settings = {"category_weight": WEIGHTS, "category_similarities": GIVEN}
    K = GenRBF(0.4, **settings)(beliefs)
    Z = FourierFeatures(40_000, gamma=0.4, random_state=0, **settings).fit_transform(beliefs)
    # The error of 20 000 frequencies is about 0.01.
    np.testing.assert_allclose(Z @ Z.T, K, atol=0.05)
    landmarks = Nystroem(len(beliefs), kernel=GenRBF(0.4, **settings), random_state=0)
    Z = landmarks.fit_transform(beliefs)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-8)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("order", "must be .*'ordered'.*, found 'order'"),
        ([S], "for each of the 2 columns"),
        ({5: S}, "given for column 5, but these beliefs have columns of categories 0 to 1"),
        ([np.eye(2), None], r"shape \(3, 3\).*found shape \(2, 2\)"),
        ([S - 0.2, None], "numbers from 0 to 1, found -0.1"),
        ([S * np.nan, None], "numbers from 0 to 1, found nan"),
        ([[["a"] * 3] * 3, None], "a matrix of numbers"),
        ([np.triu(S), None], "symmetric, with ones on the diagonal"),
        (
            [np.array([[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]]), None],
            "positive semidefinite, but their lowest eigenvalue is -0.27",
        ),
    ],
)
def test_what_is_no_similarity_gets_a_sentence(example, given, sentence):
    for kernel in (CategoryKernel(similarities=given), GenRBF(category_similarities=given)):
        with pytest.raises(ValueError, match=sentence):
            kernel(example[0])


def test_kernels_with_similarities_compare_print_and_clone():
    kernel = GenRBF(1.0, category_similarities={0: S, 1: "ordered"})
    assert clone(kernel) == kernel
    assert hash(clone(kernel)) == hash(kernel)
    assert kernel != GenRBF(1.0, category_similarities={0: np.eye(3), 1: "ordered"})
    assert kernel != GenRBF(1.0)
    assert CategoryKernel(1.0, [S, None]) == CategoryKernel(1.0, (S.copy(), None))
    assert repr(kernel) == (
        "GenRBF(gamma=1, category_similarities={0: <array of shape (3, 3)>, 1: 'ordered'})"
    )
    # Nested lists of numbers are one matrix, as they were.
    assert GenRBF(metric=[[2.0, 0.0], [0.0, 1.0]]) == GenRBF(metric=np.diag([2.0, 1.0]))


def test_machines_learn_and_save_similarities(tmp_path):
    rng = np.random.default_rng(0)
    grade = rng.integers(5, size=80)
    frame = pd.DataFrame({"grade": np.array(list("abcde"))[grade], "x": rng.normal(size=80)})
    y = grade + 0.5 * rng.normal(size=80)
    frame.loc[rng.random(80) < 0.2, "grade"] = None
    kernel = GenRBF(category_similarities="ordered")
    machine = SVC(kernel=kernel, density=MixedDensity(1)).fit(frame, y > 2)
    path = tmp_path / "machine.absentia"
    save(machine, path)
    np.testing.assert_array_equal(
        load(path).decision_function(frame), machine.decision_function(frame)
    )
    # A process learns the weight beside the similarities, which stay as they are.
    kernel = ExpectedRBF(category_similarities="ordered", diagonal="same")
    process = GaussianProcessRegressor(kernel=kernel, density=MixedDensity(1)).fit(frame, y)
    assert "category_weight" in process.hyperparameter_names_
    np.testing.assert_array_equal(process.kernel_.category_similarities[0], ordered_similarity(5))
    assert process.score(frame, y) > 0.7
