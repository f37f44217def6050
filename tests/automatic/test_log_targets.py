"""Targets that are positive and skewed, learned as logarithms."""

from itertools import product

import numpy as np
import pytest

from absentia import AutoRegressor, load, save
from absentia.automatic import error_scale
from absentia.automatic.error_scale import prefers_logarithm, smeared

PLAIN = {"members": ["linear"], "random_state": 0, "n_repeats": 1, "hidden": ()}
QUICK = PLAIN | {"log_target": "auto"}


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.exp(X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=n))
    X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


@pytest.fixture(scope="module")
def model():
    return AutoRegressor(**QUICK).fit(*rows(400))


def test_the_scale_that_forecasts_better_is_chosen(model):
    X, y = rows(400)
    assert model.log_target_
    assert not AutoRegressor(**PLAIN).fit(X, y).log_target_
    normal = 50 + np.nan_to_num(X[:, 0])
    assert not prefers_logarithm(lambda: X, normal)
    assert not prefers_logarithm(lambda: X, y - 1.0)
    assert not prefers_logarithm(lambda: X, np.ones(len(y)))


def test_intervals_are_positive_and_means_are_means(model):
    new, truth = rows(4000, seed=1)
    low, high = model.predict_interval(new).T
    assert (low > 0).all()
    assert abs(((low < truth) & (truth < high)).mean() - 0.9) < 0.03
    predicted = model.predict(new)
    assert predicted.mean() == pytest.approx(truth.mean(), rel=0.1)
    linear = AutoRegressor(**PLAIN).fit(*rows(400))
    assert np.mean((predicted - truth) ** 2) < np.mean((linear.predict(new) - truth) ** 2)
    explained = 1 - np.mean((predicted - truth) ** 2) / truth.var()
    assert model.score_ == pytest.approx(explained, abs=0.1)


@pytest.mark.parametrize("least", [0.0, -1e-9])
def test_intervals_of_a_target_without_negative_values_end_at_zero(least):
    X, y = rows(200)
    y[0] = least
    ends = AutoRegressor(**PLAIN).fit(X, y).predict_interval(X)
    assert (ends.min() == 0) == (least == 0)
    assert (ends[:, 1] >= ends[:, 0]).all()


def test_the_noise_of_a_row_grows_with_its_prediction(model):
    doubt = model.predict_uncertainty([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]])
    ratio = np.sqrt(doubt.noise[:2]) / doubt.prediction[:2]
    assert ratio[0] == pytest.approx(ratio[1])
    assert doubt.missing[:2].max() == 0
    assert doubt.missing[2] > doubt.noise[0]
    # An average over draws, and an answer to the row as it is with larger errors: about equal.
    assert doubt.prediction[2] == pytest.approx(model.predict([[np.nan, 0.0, 0.0]])[0], rel=0.3)


def test_a_saved_model_says_the_same(model, tmp_path):
    X, _ = rows(30, seed=2)
    save(model, tmp_path / "model.abs")
    again = load(tmp_path / "model.abs")
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_smearing_is_an_average_over_errors():
    errors = np.array([[-0.1, 0.0, 0.2], [-0.3, 0.0, 0.6]])
    mean, variance = smeared(np.array([[0.5], [1.0]]), errors)
    values = np.exp([[0.4, 0.5, 0.7], [0.7, 1.0, 1.6]])
    np.testing.assert_allclose(mean[:, 0], values.mean(axis=1))
    np.testing.assert_allclose(variance[:, 0], values.var(axis=1))


def test_a_logarithm_of_nothing_is_refused():
    X, y = rows(60)
    with pytest.raises(ValueError, match="log_target=True needs a positive target, found -"):
        AutoRegressor(**PLAIN | {"log_target": True}).fit(X, y - 5)


@pytest.mark.parametrize(("n", "chosen"), [(49, False), (50, True)])
def test_fifty_rows_are_the_fewest_that_decide(monkeypatch, n, chosen):
    monkeypatch.setattr(error_scale, "cross_val_predict", lambda model, X, y, cv: X[:, 0] + 0 * y)
    y = np.exp(np.linspace(-3, 3, n) + 0.1 * np.sin(np.arange(n)))
    # Logarithms are forecast exactly, but for the sine; the scale of y is missed.
    assert prefers_logarithm(lambda: np.log(y)[:, None], y) == chosen


def test_the_score_of_a_forecast_is_that_of_its_quantiles(monkeypatch):
    """The gain must exceed its standard error: against the loop over rows and quantiles."""
    rng = np.random.default_rng(0)

    def predicted(model, X, y, cv):
        return y - X[:, int((y < 0).any())]  # errors of logarithms are in the second column

    monkeypatch.setattr(error_scale, "cross_val_predict", predicted)
    y = np.exp(rng.normal(size=60))
    levels, rows = (np.arange(50) + 0.5) / 50, np.random.default_rng(0).permutation(60)
    draw = {
        "even": lambda: rng.normal(size=60),
        "right": lambda: rng.exponential(size=60) - 1,
        "left": lambda: 1 - rng.exponential(size=60),
    }
    decided = set()
    for shape, scale in product(draw, np.geomspace(0.05, 5.0, 20)):
        errors = np.column_stack([scale * draw[shape](), 0.5 * draw[shape]()])
        losses = []
        for k, (target, back) in enumerate(((y, lambda x: x), (np.log(y), np.exp))):
            error = errors[rows, k]
            gaps = [
                y[i] - back(target[i] - e + np.quantile(error, levels))
                for i, e in zip(rows, error, strict=True)
            ]
            losses.append(
                np.array([np.where(g > 0, levels * g, (levels - 1) * g).mean() for g in gaps])
            )
        gain = losses[0] - losses[1]
        expected = bool(gain.mean() > gain.std() / np.sqrt(60))
        assert prefers_logarithm(lambda e=errors: e, y) == expected, (shape, scale)
        decided.add(expected)
    assert decided == {False, True}
