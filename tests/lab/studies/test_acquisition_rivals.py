"""The generators of the study of rivals of ``measure_next``, and its protocol on few rows."""

from importlib.util import find_spec

import numpy as np
import pytest

from lab.studies import acquisition_rivals as study


def test_the_cube_has_the_bits_of_a_class_beside_each_other():
    X, y = study.cube(4000, np.random.default_rng(0))
    assert X.shape == (4000, 20)
    for bit in range(3):
        told = X[np.arange(len(y)), y + bit]
        np.testing.assert_allclose(told, y >> bit & 1, atol=0.5)
        assert np.std(told - (y >> bit & 1)) == pytest.approx(0.1, rel=0.05)
    assert X[y == 7, :7].std() == pytest.approx(0.3, rel=0.05)


def test_the_context_says_where_the_cube_is_and_nothing_about_the_class():
    X, y = study.cube_nm(4000, np.random.default_rng(0))
    assert X.shape == (4000, 33)
    context = X[:, :3].argmax(axis=1)
    rows = np.arange(len(y))
    told = X[rows, 3 + 10 * context + y]
    np.testing.assert_allclose(told, y & 1, atol=0.5)
    share = np.array([[np.mean(y[context == c] == k) for k in range(8)] for c in range(3)])
    np.testing.assert_allclose(share, 1 / 8, atol=0.04)


def test_patients_of_the_trial_have_23_columns(monkeypatch):
    monkeypatch.setattr(study, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install --no-deps lifelines"):
        study.actg175()
    monkeypatch.undo()
    if find_spec("lifelines") is None:
        pytest.skip("lifelines, which has the table, is not installed")
    data = study.actg175()
    assert data.X.shape == (2139, 23)
    assert not np.isnan(data.X).any()
    assert data.y.mean() == pytest.approx(0.2436, abs=1e-4)


def test_every_method_measures_one_value_after_the_other(monkeypatch):
    small = {"TRAIN_ROWS": 90, "TEST_ROWS": 8, "BUDGET": 2, "_COPIES": 1, "_DRAWS": 32,
             "_SETS": 4, "_MOST_COMPONENTS": 2}  # fmt: skip
    for name, value in small.items():
        monkeypatch.setattr(study, name, value)
    monkeypatch.setattr(study, "rows_of", lambda *_: study.cube(98, np.random.default_rng(0), 10))
    found = study.trial("cube", "", 0)
    assert found["accuracy"].between(0, 1).all()
    counts = found.groupby("method")["values"].apply(list)
    assert set(map(tuple, counts)) == {(1, 2)}
    assert len(counts) == 6
    assert len(study.summary(found)) == 6
