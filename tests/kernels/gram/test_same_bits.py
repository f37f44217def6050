"""Entries have the same bits however many rows are computed together."""

import copy
import gc
import itertools
import pickle
import threading
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from absentia import Beliefs, ExpectedRBF, GenRBF, LowRankDensity
from absentia.beliefs.conditioning import condition
from absentia.kernels import gram_blocks
from absentia.kernels.metric import Smoothing
from kernels.gram.paths import chosen
from kernels.gram.test_expected import _prior

HEIGHTS = (1, 7, 64, 129, 500)


def _table(rng, n, d, kind):
    X = rng.normal(size=(n, d))
    if kind == "few patterns":
        masks = rng.random((5, d)) < 0.4
        masks[0] = False
        X[masks[rng.integers(5, size=n)]] = np.nan
    elif kind == "all patterns":
        X[rng.random((n, d)) < 0.4] = np.nan
    elif kind == "half complete":
        X[::2][rng.random((len(X[::2]), d)) < 0.4] = np.nan
    elif kind == "far rows":
        X[::2][rng.random((len(X[::2]), d)) < 0.3] = np.nan
        X[3:9] += 1e6
        X[100:200, 0] = 1e9 + rng.normal(size=100)
    return X


def _stacked(kernel, P, Q, height):
    return np.vstack([block for _, block in gram_blocks(kernel, P, Q, block_rows=height)])


def _same_bits(kernel, P, Q, expected):
    for height in HEIGHTS:
        # Rows one by one take long, and a hundred say as much as all.
        blocks = itertools.islice(gram_blocks(kernel, P, Q, block_rows=height), 100)
        found = np.vstack([block for _, block in blocks])
        np.testing.assert_array_equal(found, expected[: len(found)])


@pytest.mark.parametrize("kind", ["complete", "few patterns", "all patterns", "half complete"])
@pytest.mark.parametrize(
    ("make", "metric", "k"),  # every pair of choices, with every kind of table
    [
        (GenRBF, "euclidean", 1),
        (GenRBF, "mahalanobis", 2),
        (ExpectedRBF, "euclidean", 2),
        (ExpectedRBF, "mahalanobis", 1),
    ],
)
def test_the_height_of_tiles_changes_no_bit(make, metric, k, kind):
    rng = np.random.default_rng(0)
    d = 6
    prior = _prior(rng, d, k)
    kernel = make(0.1, metric).resolve(prior)
    Q = condition(prior, _table(rng, 300, d, "half complete"))[0]
    P = condition(prior, _table(rng, 500, d, kind))[0]
    _same_bits(kernel, P, Q, kernel(P, Q))


@pytest.mark.parametrize("d", [6, 40])
@pytest.mark.parametrize("k", [1, 2])
def test_what_is_cached_with_columns_is_that_of_the_kernel_that_asks(d, k):
    # Two kernels of one width share what is cached, apart from the norms of genRBF.
    rng = np.random.default_rng(0)
    prior = _prior(rng, d, k)
    X, new = _table(rng, 300, d, "all patterns"), _table(rng, 1, d, "all patterns")
    P, Q = condition(prior, new)[0], condition(prior, X)[0]
    for kernel in (GenRBF(0.1), ExpectedRBF(0.1), GenRBF(0.1), ExpectedRBF(0.2), GenRBF(0.1)):
        np.testing.assert_array_equal(kernel(P, Q), kernel(P, condition(prior, X)[0]))


def test_what_is_cached_does_not_keep_beliefs_alive():
    rng = np.random.default_rng(0)
    prior = _prior(rng, 6, 1)
    P = condition(prior, _table(rng, 1, 6, "all patterns"))[0]
    Q = condition(prior, _table(rng, 300, 6, "all patterns"))[0]
    GenRBF(0.1)(P, Q)
    gone = weakref.ref(Q)
    gc.disable()
    try:
        del Q
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("d", [6, 40])
def test_the_number_of_threads_changes_no_bit_of_a_metric(d):
    found = []
    for threads in (1, 2):
        prior = _prior(np.random.default_rng(1), d, 1)
        with threadpool_limits(threads, user_api="blas"):
            kernel = GenRBF(0.1, "mahalanobis").resolve(prior)
            rng = np.random.default_rng(2)
            Q = condition(prior, _table(rng, 300, d, "half complete"))[0]
            P = condition(prior, _table(rng, 200, d, "complete"))[0]
            found += [kernel(P, Q, n_jobs=1), kernel(P, Q, n_jobs=2)]
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])


@pytest.mark.parametrize("kind", ["complete", "few patterns", "all patterns"])
def test_nor_does_it_where_all_is_small(kind):
    rng = np.random.default_rng(0)
    prior = _prior(rng, 4, 2)
    P = condition(prior, _table(rng, 60, 4, kind))[0]
    Q = condition(prior, _table(rng, 40, 4, "few patterns"))[0]
    expected = GenRBF(0.3)(P, Q)
    for height in (1, 7, 59):
        np.testing.assert_array_equal(_stacked(GenRBF(0.3), P, Q, height), expected)


@pytest.mark.parametrize("gamma", [0.1, 1e-30, 1e30])
def test_nor_with_outliers_and_extreme_units(gamma):
    rng = np.random.default_rng(0)
    d = 5
    prior = _prior(rng, d, 1)
    Q = condition(prior, _table(rng, 300, d, "far rows"))[0]
    P = condition(prior, _table(rng, 500, d, "far rows"))[0]
    _same_bits(GenRBF(gamma), P, Q, GenRBF(gamma)(P, Q))


def test_nor_with_measurement_error_on_either_side():
    rng = np.random.default_rng(0)
    d = 5
    prior = _prior(rng, d, 1)
    P = condition(prior, _table(rng, 400, d, "half complete"))[0]
    variances = 0.1 * rng.integers(1, 4, size=300)[:, None] * np.ones(d)
    Q = Beliefs.from_moments(rng.normal(size=(300, d)), variances=variances, prior=prior)
    for rows, columns in ((P, Q), (Q, P)):
        _same_bits(GenRBF(0.1), rows, columns, GenRBF(0.1)(rows, columns))


def test_tiles_of_low_rank_take_one_path_and_have_the_same_bits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 80)) + 0.5 * rng.normal(size=(300, 80))
    X[100:][rng.random((200, 80)) < 0.4] = np.nan
    density = LowRankDensity(3, max_iter=50, tol=1.0, random_state=0).fit(X)
    P, Q = density.condition(X), density.condition(X[150:])
    kernel = GenRBF().resolve(density.prior_)
    smoothing = Smoothing.of(kernel.gamma, kernel.metric, 80)
    assert chosen(P, Q, smoothing) == "factors"
    assert chosen(P.tile(slice(0, 50)), Q, smoothing) == "factors"
    assert chosen(P[:50], P[:50], smoothing) == "lanes"  # cheaper for complete rows
    expected = kernel(P, Q)
    for height in HEIGHTS:
        np.testing.assert_array_equal(_stacked(kernel, P, Q, height), expected)


def test_a_tile_knows_the_rows_it_was_cut_from():
    rng = np.random.default_rng(0)
    P = condition(_prior(rng, 4, 1), _table(rng, 50, 4, "all patterns"))[0]
    part = P.tile(slice(10, 30))
    assert part.whole is P
    assert part.rows_of_whole == slice(10, 30)
    assert P.whole is P
    assert P[10:30].whole is not P
    np.testing.assert_array_equal(part.means, P[10:30].means)
    for again in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part), copy.copy(part)):
        assert again.whole is again


def test_what_is_cached_of_the_columns_stays_with_them_and_out_of_files():
    rng = np.random.default_rng(0)
    prior = _prior(rng, 14, 1)
    P = condition(prior, _table(rng, 300, 14, "all patterns"))[0]
    Q = condition(prior, _table(rng, 300, 14, "all patterns"))[0]
    empty = len(pickle.dumps(Q))
    first = GenRBF(0.1)(P, Q)
    kept = vars(Q)["_cached"]
    np.testing.assert_array_equal(GenRBF(0.1)(P, Q), first)
    assert vars(Q)["_cached"] is kept
    np.testing.assert_array_equal(GenRBF(0.1)(P, pickle.loads(pickle.dumps(Q))), first)
    # Another width takes the place of the first, so that a search does not fill the memory.
    other = GenRBF(0.2)(P, Q)
    assert vars(Q)["_cached"][0] != kept[0]
    assert len(pickle.dumps(Q)) == empty
    assert not np.array_equal(other, first)
    np.testing.assert_array_equal(GenRBF(0.1)(P, Q), first)


def test_threads_with_different_kernels_share_columns():
    rng = np.random.default_rng(0)
    prior = _prior(rng, 14, 1)
    P = condition(prior, _table(rng, 100, 14, "all patterns"))[0]
    Q = condition(prior, _table(rng, 300, 14, "all patterns"))[0]
    gammas = (0.1, 0.2, 0.3)
    expected = {gamma: GenRBF(gamma)(P, Q) for gamma in gammas}
    wrong = []

    def ask(gamma):
        results = [GenRBF(gamma)(P, Q, n_jobs=1) for _ in range(20)]
        if not all(np.array_equal(K, expected[gamma]) for K in results):
            wrong.append(gamma)

    threads = [threading.Thread(target=ask, args=(gamma,)) for gamma in gammas * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
