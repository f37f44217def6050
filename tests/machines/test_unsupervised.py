"""Components, clusters and spreading labels against scikit-learn, given the same matrices."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
import sklearn.decomposition
import sklearn.semi_supervised
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from absentia import (
    ExpectedLinear,
    GaussianDensity,
    GenRBF,
    KernelKMeans,
    KernelPCA,
    LabelSpreading,
    MaskKernel,
    SpectralClustering,
)
from machines.contract import MachineContract, table, targets_of
from oracles.kmeans import relative_distances


class TestKernelPCA(MachineContract):
    targets = None

    def make(self, **params):
        return KernelPCA(**{"n_components": 3, "kernel": "genrbf", **params})

    def oracle(self, K, y, K_new):
        theirs = sklearn.decomposition.KernelPCA(n_components=3, kernel="precomputed")
        return theirs.fit(K).transform(K_new)


class TestKernelKMeans(MachineContract):
    targets = None

    def make(self, **params):
        return KernelKMeans(**{"n_clusters": 3, "random_state": 0, **params})

    def output(self, model, X):
        """Return distances to the means, clusters in the order of their first rows."""
        distances = model._relative_distances(X)
        _, firsts = np.unique(model.labels_, return_index=True)
        return distances[:, model.labels_[np.sort(firsts)]]

    @pytest.mark.parametrize("kernel", [GenRBF(gamma=0.1), GenRBF(gamma=0.1) * MaskKernel(0.1)])
    def test_output_is_that_of_scikit_learn_on_an_explicit_matrix(self, kernel):
        """Clusters that are apart, so that ten starts and thousands find the same."""
        X, new = two_blobs(15)[0], two_blobs(6, seed=1)[0]
        model = self.fitted(X, kernel=kernel, n_clusters=2)
        density = GaussianDensity().fit(X)
        P, Q = density.condition(X), density.condition(new)
        expected = relative_distances(kernel(P), 2, kernel(Q, P))
        np.testing.assert_allclose(self.output(model, new), expected, rtol=1e-10, atol=1e-10)


class TestLabelSpreading(MachineContract):
    def make(self, **params):
        return LabelSpreading(**params)

    def output(self, model, X):
        return model.predict_proba(X)

    def oracle(self, K, y, K_new):
        return spread(K, y, K_new, alpha=0.2)[1]

    def test_leave_one_out_needs_targets(self):
        with pytest.raises(ValueError, match="gamma must be a positive number"):
            self.fitted(gamma="loo")


def spread(K, y, K_new, alpha):
    """Return what scikit-learn makes of an explicit matrix, which it reads by index."""
    m = len(K_new)
    both = np.block([[K, K_new.T], [K_new, np.full((m, m), np.nan)]])

    def kernel(a, b):
        return both[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))]

    theirs = sklearn.semi_supervised.LabelSpreading(
        kernel=kernel, alpha=alpha, max_iter=10_000, tol=1e-13
    )
    theirs.fit(np.arange(len(K))[:, None], y)
    new = np.arange(len(K), len(both))[:, None]
    return theirs.label_distributions_, theirs.predict_proba(new)


@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_few_labels_spread_as_in_scikit_learn(alpha):
    X, y = table(), targets_of("classes")
    y[4:] = -1
    model = LabelSpreading(alpha=alpha, gamma=0.5).fit(X, y)
    P, Q = model.beliefs_, model.density_.condition(table(6, seed=1))
    distributions, probabilities = spread(model.kernel_(P), y, model.kernel_(Q, P), alpha)
    np.testing.assert_allclose(model.label_distributions_, distributions, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(Q), probabilities, atol=1e-10)
    np.testing.assert_array_equal(model.transduction_, distributions.argmax(axis=1))


def test_rows_that_nothing_reaches_get_the_shares_of_the_classes():
    X = np.array([[0.0], [0.1], [0.2], [1e4]])
    model = LabelSpreading(gamma=10.0).fit(X, [0, 0, 1, -1])
    np.testing.assert_allclose(model.label_distributions_[3], [2 / 3, 1 / 3])
    # The average of what was spread, which is a little off the shares of the labels.
    np.testing.assert_allclose(model.predict_proba([[-1e4]]), [[2 / 3, 1 / 3]], atol=1e-3)
    with pytest.raises(ValueError, match="Label at least one row"):
        LabelSpreading().fit(X, [-1, -1, -1, -1])
    with pytest.raises(ValueError, match="alpha must be"):
        LabelSpreading(alpha=1.0).fit(X, [0, 0, 1, -1])


def two_blobs(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(-2, 1, size=(n, 4)), rng.normal(2, 1, size=(n, 4))])
    X[:, :2][rng.random((2 * n, 2)) < 0.3] = np.nan
    return X, np.repeat([0, 1], n)


def test_spectral_clusters_are_those_of_scikit_learn():
    X, truth = two_blobs()
    model = SpectralClustering(2, random_state=0)
    labels = model.fit_predict(X)
    assert adjusted_rand_score(truth, labels) > 0.9
    theirs = sklearn.cluster.SpectralClustering(2, affinity="precomputed", random_state=0)
    np.testing.assert_array_equal(labels, theirs.fit_predict(model.kernel_(model.beliefs_)))
    model.fit(model.beliefs_)
    np.testing.assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize("kind", [SpectralClustering, KernelKMeans])
def test_there_can_be_as_many_clusters_as_rows_and_no_more(kind):
    X = np.nan_to_num(two_blobs(4)[0])
    assert len(set(kind(8, random_state=0).fit(X).labels_)) == 8
    with pytest.raises(ValueError, match="n_samples=8 should be at least n_clusters=9"):
        kind(9).fit(X)


@pytest.mark.parametrize("machine", [SpectralClustering(2), LabelSpreading()])
def test_graphs_need_similarities_that_are_not_negative(machine):
    X, truth = two_blobs()
    with pytest.raises(ValueError, match="negative"):
        machine.set_params(kernel=ExpectedLinear()).fit(X - np.nanmean(X, axis=0), truth)


def test_kernel_means_with_a_linear_kernel_are_those_of_scikit_learn():
    X = np.nan_to_num(two_blobs()[0])
    ours = KernelKMeans(3, kernel=ExpectedLinear(), random_state=0, n_init=20).fit(X)
    theirs = sklearn.cluster.KMeans(3, random_state=0, n_init=20).fit(X)
    assert adjusted_rand_score(theirs.labels_, ours.labels_) == 1.0
    np.testing.assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-8)
    new = np.nan_to_num(two_blobs(seed=1)[0])
    assert adjusted_rand_score(theirs.predict(new), ours.predict(new)) == 1.0
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)


def test_no_cluster_is_left_without_rows():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    assert len(np.unique(KernelKMeans(4, gamma=1.0, random_state=0).fit(X).labels_)) == 4
    with pytest.raises(ValueError, match="n_samples=3"):
        KernelKMeans(4).fit(X[:3])
    with pytest.raises(ValueError, match="n_init must be"):
        KernelKMeans(2, n_init=0).fit(X)


def test_components_reproduce_the_centred_matrix():
    X = table()
    model = KernelPCA(kernel="genrbf")
    components = model.fit_transform(X)
    K = model.kernel_(model.beliefs_)
    H = np.eye(len(K)) - 1 / len(K)
    np.testing.assert_allclose(components @ components.T, H @ K @ H, atol=1e-10)
    np.testing.assert_allclose(model.transform(X), components, atol=1e-7)
    assert list(model.get_feature_names_out())[:2] == ["kernelpca0", "kernelpca1"]
    complete = np.nan_to_num(X)
    gamma = 0.3
    theirs = sklearn.decomposition.KernelPCA(2, kernel="precomputed")
    expected = theirs.fit_transform(rbf_kernel(complete, gamma=gamma))
    got = KernelPCA(2, kernel="rbf", gamma=gamma).fit_transform(complete)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-8)


@pytest.mark.parametrize(
    "wrong", [{"n_init": 2**63}, {"n_init": 10**400}, {"eigen_tol": 10**400}, {"n_components": 0}]
)
def test_parameters_of_spectral_clustering_are_checked(wrong):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        SpectralClustering(n_clusters=2, **wrong).fit(X)


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({"kernel": GenRBF([1.0, 2.0, 3.0])}, r"parameters \(gamma\)"),
        ({"kernel": GenRBF(metric="mahalanobis")}, r"parameters \(metric\)"),
        ({"kernel": "genrbf", "mask_weight": [0.1, 0.2, 0.3]}, r"parameters \(right__weight\)"),
        ({"kernel": ExpectedLinear(centre=[0.0, 0.0, 0.0])}, r"parameters \(centre\)"),
        ({"alpha": 0}, "alpha=0 is too small"),
    ],
)
def test_the_inverse_map_needs_a_kernel_that_can_compare_components(parameters, found):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=found):
        KernelPCA(2, fit_inverse_transform=True, **parameters).fit(X)


@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, dtype=object)])
def test_words_are_spread_as_numbers_are(kind):
    X = table()
    numbers = np.full(len(X), -1)
    numbers[:6] = [0, 1, -1, 1, 0, 0]
    words = [{0: "no", 1: "yes", -1: -1}[number] for number in numbers.tolist()]
    by_word, by_number = LabelSpreading().fit(X, kind(words)), LabelSpreading().fit(X, numbers)
    assert by_word.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(by_word.predict_proba(X), by_number.predict_proba(X))
    words[4] = None
    with pytest.raises(ValueError, match="first in row 4"):
        LabelSpreading().fit(X, kind(words))
