"""Rows with limits have covariances of their own, and the other rows stay conditioned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from absentia import ExpectedRBF, GaussianDensity, GenRBF, MixedDensity, MixtureDensity, bounded
from absentia.beliefs import Beliefs, CovarianceTable
from absentia.kernels.gram.tiles import gram_blocks
from absentia.persistence import load, save

#: Large enough for compiled code, see small_gram.py.
N, D = 300, 12


def _limited_beliefs(density=None, share: float = 0.1) -> Beliefs:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N, D)) @ rng.normal(size=(D, D)) / 3
    X = np.where(rng.random(values.shape) < 0.15, np.nan, values)
    limited = rng.random(N) < share
    X[limited, 2] = np.nan
    upper = np.full(X.shape, np.inf)
    upper[limited, 2] = values[limited, 2] + 0.3
    table = bounded(X, upper=upper)
    density = GaussianDensity() if density is None else density
    return density.fit(table).condition(table)


def _explicit(beliefs: Beliefs) -> Beliefs:
    """Return the same beliefs, every covariance written out."""
    return replace(beliefs, covariances=CovarianceTable.of_matrices(beliefs.covariances.dense()))


@pytest.mark.parametrize("kernel", [GenRBF(gamma=0.05), ExpectedRBF(gamma=0.05)], ids=repr)
@pytest.mark.parametrize(
    "density", [None, MixtureDensity(2, n_init=1, random_state=0)], ids=["one", "mixture"]
)
def test_the_matrix_is_that_of_explicit_covariances(kernel, density):
    beliefs = _limited_beliefs(density)
    dense = _explicit(beliefs)
    found = kernel(beliefs)
    np.testing.assert_allclose(found, kernel(dense), rtol=1e-9, atol=1e-14)  # other formulas
    assert (found == found.T).all()
    some = beliefs[40:90]
    np.testing.assert_allclose(kernel(some, beliefs), found[40:90], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(kernel(beliefs, some), found[:, 40:90], rtol=1e-9, atol=1e-14)


def test_categories_are_multiplied_into_the_parts():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(N, 8))
    words = np.where(values[:, 0] + rng.normal(size=N) > 0, "red", "blue").astype(object)
    words[rng.random(N) < 0.1] = None
    text = np.where(values[:, 1] < -0.8, "<-0.8", values[:, 1].astype(str))
    frame = pd.DataFrame(values).astype(object)
    frame[1] = text
    frame["colour"] = words
    frame.columns = [str(name) for name in frame.columns]
    density = MixedDensity(2, n_init=1, random_state=0).fit(frame)
    beliefs = density.condition(frame)
    assert not beliefs.covariances.is_conditioned
    kernel = GenRBF(gamma=0.05)
    np.testing.assert_allclose(kernel(beliefs), kernel(_explicit(beliefs)), rtol=1e-9, atol=1e-14)


def test_tiles_have_the_bits_of_the_whole():
    beliefs, kernel = _limited_beliefs(), GenRBF(gamma=0.05)
    others = beliefs[:200]
    whole = kernel(beliefs, others)
    for step in (1, 7, 64):
        tiles = [kernel(beliefs.tile(slice(at, at + step)), others) for at in range(0, N, step)]
        assert (np.concatenate(tiles) == whole).all()
    blocks = gram_blocks(kernel, beliefs, others, block_rows=50)
    assert (np.concatenate([block for _, block in blocks]) == whole).all()


def test_rows_without_limits_are_conditioned():
    beliefs = _limited_beliefs()
    explicit = beliefs.covariances.explicit_groups()[beliefs.group_of_row]
    assert 0 < explicit.sum() < N / 4
    plain = beliefs[np.flatnonzero(~explicit)]
    assert plain.covariances.is_conditioned
    assert beliefs[np.flatnonzero(explicit)].covariances.prior is None
    some = np.array([5, 200, 5, 17, *np.flatnonzero(explicit)[:2]])
    spread = beliefs.covariance()
    np.testing.assert_allclose(beliefs[some].covariance(), spread[some], rtol=1e-12, atol=1e-15)
    beliefs[some].validate()
    np.testing.assert_allclose(
        beliefs.in_units(np.full(D, 2.0)).covariance(), spread / 4, rtol=1e-9, atol=1e-15
    )
    joined = Beliefs.concatenate([beliefs[:30], beliefs[30:]])
    np.testing.assert_allclose(joined.covariance(), spread, rtol=1e-12, atol=1e-15)


def test_a_group_of_another_pattern_is_refused():
    beliefs = _limited_beliefs()
    groups = np.array(beliefs.group_of_row)
    plain = np.flatnonzero(~beliefs.covariances.explicit_groups()[groups])
    groups[plain[0]] = (groups[plain[0]] + 1) % len(beliefs.patterns.masks)
    with pytest.raises(ValueError, match="patterns"):
        replace(beliefs, group_of_row=groups).validate()


def test_saved_and_loaded(tmp_path):
    from absentia import SVC

    rng = np.random.default_rng(0)
    values = rng.normal(size=(N, 3))
    y = values.sum(axis=1) > 0
    X = np.where(rng.random(values.shape) < 0.2, np.nan, values)
    upper = np.where(np.isnan(X) & (values < 0) & (rng.random(X.shape) < 0.5), 0.0, np.inf)
    table = bounded(X, upper=upper)
    machine = SVC().fit(table, y)
    save(machine, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(table), machine.decision_function(table))
