"""On a real cluster: two worker processes beside this one, which talk over sockets."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from absentia import (
    FourierFeatures,
    GaussianDensity,
    LargeScaleLogisticRegression,
    LargeScaleRidge,
    LargeScaleSVC,
    MixtureDensity,
)

REASON = "needs the extra absentia[dask]"
dask = pytest.importorskip("dask", reason=REASON)
distributed = pytest.importorskip("distributed", reason=REASON)
da = pytest.importorskip("dask.array", reason=REASON)
dd = pytest.importorskip("dask.dataframe", reason=REASON)
DaskStream = pytest.importorskip("absentia.tables.dask_stream").DaskStream

# What Dask says to itself while workers come and go is not about this library.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.xdist_group("dask"),
]


def table(n=3000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))
    X[: n // 3] += 4.0
    y = np.sin(X[:, 0]) + X[:, 1]
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def in_partitions(X, y=None, rows=800):
    """Cut into partitions; the columns are cut too, as they may come from elsewhere."""
    spread = da.from_array(X, chunks=(rows, 4))
    return spread if y is None else (spread, da.from_array(y, chunks=1000))


@pytest.mark.parametrize(
    "density", [GaussianDensity(), MixtureDensity(2, n_init=1, tol=1e-3, random_state=0)]
)
def test_densities_learn_the_same_on_a_cluster(client, density):
    X, _ = table()
    whole = type(density)(**density.get_params()).fit(X)
    spread = type(density)(**density.get_params()).fit(in_partitions(X))
    assert_allclose(spread.prior_.weights, whole.prior_.weights, atol=1e-8)
    assert_allclose(spread.prior_.means, whole.prior_.means, atol=1e-8)
    assert_allclose(spread.prior_.covariances, whole.prior_.covariances, atol=1e-8)
    scores = spread.score_samples(in_partitions(X))
    assert isinstance(scores, da.Array)
    assert_allclose(scores.compute(), whole.score_samples(X), atol=1e-8)


def test_features_are_lazy_and_come_block_by_block(client):
    X, _ = table()
    spread = in_partitions(X)
    features = FourierFeatures(32, random_state=0).fit(spread)
    Z = features.transform(spread)
    assert isinstance(Z, da.Array)
    assert Z.shape == (3000, 32)
    assert Z.numblocks == (4, 1)
    assert_allclose(Z.compute(), FourierFeatures(32, random_state=0).fit_transform(X), atol=1e-8)


@pytest.mark.parametrize(
    "machine",
    [
        LargeScaleRidge(n_components=40, random_state=0),
        LargeScaleSVC(n_components=40, loss="least_squares", random_state=0),
        LargeScaleLogisticRegression(n_components=40, random_state=0),
    ],
    ids=["ridge", "least squares svm", "logistic"],
)
def test_machines_learn_the_same_on_a_cluster(client, machine):
    X, y = table()
    if hasattr(machine, "C"):
        y = np.where(y > 0.5, "high", "low")
    whole = type(machine)(**machine.get_params()).fit(X, y)
    spread = type(machine)(**machine.get_params()).fit(*in_partitions(X, y))
    assert_allclose(spread.coef_, whole.coef_, atol=1e-8)
    assert_allclose(spread.intercept_, whole.intercept_, atol=1e-8)
    predicted = spread.predict(in_partitions(X))
    assert isinstance(predicted, da.Array)
    if hasattr(machine, "C"):
        assert_array_equal(predicted.compute(), whole.predict(X))
    else:
        assert_allclose(predicted.compute(), whole.predict(X), atol=1e-8)


def test_frames_bring_their_names(client):
    X, y = table(1000)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["target"] = y
    spread = dd.from_pandas(frame, npartitions=3)
    machine = LargeScaleRidge(n_components=20, random_state=0)
    machine.fit(spread[list("abcdef")], spread["target"])
    assert list(machine.feature_names_in_) == list("abcdef")
    twin = LargeScaleRidge(n_components=20, random_state=0).fit(X, y)
    predicted = machine.predict(spread[list("abcdef")]).compute()
    assert_allclose(predicted, twin.predict(X), atol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        machine.predict(spread[list("bacdef")])


def test_the_table_stays_where_it_is(client, monkeypatch):
    X, y = table(40000)
    spread = da.from_array(X, chunks=(5000, 6))
    spread, targets = dask.persist(spread, da.from_array(y, chunks=5000))
    distributed.wait([spread, targets])

    def bytes_received(dask_worker):
        return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)

    gathered = []
    gather = DaskStream._gather

    def watched(self, value):
        outcome = gather(self, value)
        gathered.append(len(distributed.protocol.pickle.dumps(outcome)))
        return outcome

    monkeypatch.setattr(DaskStream, "_gather", watched)
    before = client.run(bytes_received)
    machine = LargeScaleRidge(n_components=16, random_state=0).fit(spread, targets)
    after = client.run(bytes_received)
    assert_allclose(
        machine.coef_, LargeScaleRidge(n_components=16, random_state=0).fit(X, y).coef_, atol=1e-8
    )
    # What came to this process, in all passes together: statistics of a few kilobytes each.
    assert max(gathered) < X.nbytes / 100
    assert sum(gathered) < X.nbytes / 3
    # And between the workers: partial sums, not rows in every pass. A block may move once, when
    # an idle worker takes it from a busy one.
    assert len(gathered) > 6
    assert sum(after.values()) - sum(before.values()) < 3 * X.nbytes


def test_a_worker_that_is_killed_in_the_middle_is_no_matter(client, monkeypatch):
    X, y = table(6000)
    whole = LargeScaleRidge(n_components=24, random_state=0)
    whole.fit(X, y)

    # Rows are made on the workers, and slowly, so that the kill falls into the fit. A function of
    # its own to this test travels to them as it is; those of a test module cannot be imported.
    def slowly(rows):
        time.sleep(0.02)
        return rows

    parts = [
        da.from_delayed(dask.delayed(slowly)(X[i : i + 1000]), (1000, 6), dtype=float)
        for i in range(0, 6000, 1000)
    ]
    spread = da.concatenate(parts)
    targets = da.from_array(y, chunks=1000)
    victims = client.run(os.getpid)
    victim = sorted(victims.values())[0]
    killed = threading.Event()
    passes = []
    gather = DaskStream._gather

    def watched(self, value):
        passes.append(time.monotonic())
        if len(passes) == 4:
            threading.Timer(0.1, _kill, (victim, killed)).start()
        return gather(self, value)

    monkeypatch.setattr(DaskStream, "_gather", watched)
    machine = LargeScaleRidge(n_components=24, random_state=0)
    machine.fit(spread, targets)
    assert killed.is_set()
    assert len(passes) > 5
    assert victim not in client.run(os.getpid).values()
    assert_allclose(machine.coef_, whole.coef_, atol=1e-8)


def _kill(pid, killed):
    os.kill(pid, signal.SIGKILL)
    killed.set()


def test_tables_that_do_not_fit_together_are_refused():
    X, y = table(1000)
    spread = in_partitions(X)
    with pytest.raises(TypeError, match="must be a Dask array"):
        LargeScaleRidge().fit(spread, y)
    with pytest.raises(ValueError, match="has 1000 rows, but y has 999"):
        LargeScaleRidge().fit(spread, da.from_array(y[:-1], chunks=100))
    with pytest.raises(ValueError, match="two dimensions"):
        GaussianDensity().fit(da.from_array(y, chunks=100))
    with pytest.raises(ValueError, match="chunk by chunk"):
        GaussianDensity().fit(X).condition(spread)
