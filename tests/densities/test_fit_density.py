"""Fits of densities that are shared in a block, and only there."""

import numpy as np
import pytest

from absentia import AutoClassifier, GaussianDensity, LowRankDensity
from absentia.densities.fit_density import fit_density, shared_fits
from absentia.engine.threads import map_on_threads
from absentia.persistence.nodes import Writer
from absentia.tables import Table


@pytest.fixture
def fits(monkeypatch):
    """Shapes of the tables that Gaussian densities were fitted to, in order."""
    shapes = []
    fit = GaussianDensity.fit

    def counted(self, X, y=None, sample_weight=None):
        shapes.append(X.shape)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(GaussianDensity, "fit", counted)
    return shapes


def _rows(seed=0, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def test_equal_density_and_rows_are_fitted_once(fits):
    X = _rows()
    with shared_fits():
        first = fit_density("gaussian", Table(X))
        second = fit_density(GaussianDensity(), Table(X.copy()))
    assert len(fits) == 1
    assert first is not second
    np.testing.assert_array_equal(first.covariance_, second.covariance_)
    fit_density("gaussian", Table(X))
    assert len(fits) == 2  # outside the block nothing is kept


def test_other_rows_parameters_and_weights_are_fitted_anew(fits):
    X, weights = _rows(), np.linspace(1, 2, 40)
    with shared_fits() as kept:
        fit_density("gaussian", Table(X))
        fit_density("gaussian", Table(X[:-1]))
        fit_density(GaussianDensity(shrinkage=0.5), Table(X))
        weighted = fit_density("gaussian", Table(X), weights)
        fit_density(LowRankDensity(1), Table(X))
    assert len(fits) == 4
    assert len(kept) == 5
    alone = GaussianDensity().fit(X, sample_weight=weights)
    np.testing.assert_array_equal(weighted.covariance_, alone.covariance_)


def test_tables_with_names_or_limits_are_not_shared(fits):
    X = _rows()
    limited = Table(X, lower=np.full(X.shape, -np.inf), upper=np.full(X.shape, np.inf))
    with shared_fits() as kept:
        fit_density("gaussian", limited)
        fit_density("gaussian", Table(X, names=("a", "b", "c")))
    assert not kept
    assert len(fits) == 2


def test_blocks_inside_a_block_and_threads_share_with_it(fits):
    X = _rows()
    with shared_fits():
        fit_density("gaussian", Table(X))
        with shared_fits():
            fit_density("gaussian", Table(X))
        list(map_on_threads(lambda _: fit_density("gaussian", Table(X)), range(4), 2))
    assert len(fits) == 1


def test_members_of_the_automatic_machine_share_the_density_of_all_rows(fits):
    X = _rows(n=60)
    y = (np.nan_to_num(X[:, 0]) > 0).astype(int)
    AutoClassifier(
        members=["forest", "linear", "beliefs"], n_splits=3, n_repeats=1, random_state=0
    ).fit(X, y)
    # Of the whole table as it is (draws for trees) and standardised: a density sees no targets, so
    # that all folds share it.
    assert len(fits) == 2


@pytest.mark.parametrize("density", ["gaussian", "mixture", "low-rank"])
def test_writing_to_one_density_leaves_the_other_as_it_was(density):
    X = _rows()
    with shared_fits():
        first, second = (fit_density(density, Table(X), None, 0) for _ in range(2))
    before = [array.copy() for array in _arrays(second)]
    for array in _arrays(first):
        array[...] = 0
    for array, expected in zip(_arrays(second), before, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_members_share_no_array_that_can_be_written_to():
    X = _rows(n=60)
    y = (np.nan_to_num(X[:, 0]) > 0).astype(int)
    members = ["linear", "beliefs", "forest"]
    machine = AutoClassifier(members=members, n_splits=2, n_repeats=1, random_state=0).fit(X, y)
    owners = {}
    parts = [*machine.committee_.members, machine.committee_.density]
    for owner, part in enumerate(parts):
        for array in _arrays(part):
            if array.flags.writeable:
                owners.setdefault(array.__array_interface__["data"][0], set()).add(owner)
    assert owners
    assert all(len(sharing) == 1 for sharing in owners.values())


def _arrays(model):
    writer = Writer()
    writer.node(model)
    return [array for array in writer.arrays if array.size]
