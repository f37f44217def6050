"""Frames with words are never answered by a message of NumPy about text and floats."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Ridge

from absentia import ConformalClassifier, ConformalRegressor, MarginalRegressor
from estimators import estimators, small, task_of

N = 24
RAW = ("could not convert", "Cannot cast", "ufunc", "invalid literal")


def _numbers():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)), columns=["a", "b"])


def _words():
    return _numbers().assign(b=[f"w{i % 3}" for i in range(N)])


def _models(kind):
    yield small(kind)
    if "estimator" in small(kind).get_params(deep=False):
        forest = RandomForestRegressor if "Regressor" in kind.__name__ else RandomForestClassifier
        yield small(kind).set_params(estimator=forest(2, random_state=0))


def _message(call, *args):
    try:
        call(*args)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", estimators(), ids=lambda kind: kind.__name__)
def test_words_are_answered_in_a_sentence(kind):
    target = {None: (), "classes": (np.arange(N) % 2,), "numbers": (np.arange(N) / N,)}
    for model in _models(kind):
        said = [_message(model.fit, _words(), *target[task_of(kind)])]
        model.fit(_numbers(), *target[task_of(kind)])
        said += [
            _message(getattr(model, name), _words())
            for name in ("predict", "transform", "predict_interval", "predict_set")
            if hasattr(model, name)
        ]
        assert not [message for message in said if message.startswith(RAW)]


@pytest.mark.parametrize("method", ["predict", "predict_interval", "predict_set"])
def test_the_sentence_names_a_word_and_the_remedy(method):
    sentence = r"takes numbers only, .* such as 'w\d'\. Put absentia\.TableEncoder before it"
    y = np.arange(N) % 2
    model = ConformalClassifier(RandomForestClassifier(2, random_state=0), random_state=0)
    if method == "predict_interval":
        model = ConformalRegressor(RandomForestRegressor(2, random_state=0), random_state=0)
    with pytest.raises(ValueError, match=sentence):
        model.fit(_words(), y * 1.0)
    model.fit(_numbers(), y * 1.0)
    with pytest.raises(ValueError, match=sentence):
        getattr(model, method)(_words())


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_dates_are_answered_in_a_sentence(kind):
    frame = _numbers().assign(day=pd.date_range("2020-01-01", periods=N))
    if kind != "pandas":
        polars = pytest.importorskip("polars")
        frame = polars.from_pandas(frame.assign(word="w0"))
    model = MarginalRegressor(Ridge(), density="gaussian", random_state=0)
    said = _message(model.fit, frame, np.arange(N) / N)
    assert "these rows hold words or dates. Put absentia.TableEncoder" in said
