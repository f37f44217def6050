"""Encoders in model files: numbers of columns that are not there are refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
)

from absentia import load, save
from persistence.hostile_files import check_contents
from persistence.test_model_files import save_unchecked

X = np.array([[1.0, 1.0], [2.0, 2.0], [2.0, 3.0]] * 6)
Y = [0, 1, 1] * 6
WORDS = np.array([["a", "u"], ["b", "v"], ["b", "w"]] * 6, dtype=object)


def encoders():
    return {
        "plain": (OneHotEncoder(handle_unknown="ignore"), X),
        "dense": (OneHotEncoder(sparse_output=False), X),
        "words": (OneHotEncoder(handle_unknown="ignore"), WORDS),
        "first": (OneHotEncoder(drop="first"), WORDS),
        "binary": (OneHotEncoder(drop="if_binary"), WORDS),
        "rare": (OneHotEncoder(min_frequency=7, handle_unknown="infrequent_if_exist"), WORDS),
        "few": (OneHotEncoder(max_categories=2, drop="first"), X),
        "missing": (OneHotEncoder(), np.where(X == 3.0, np.nan, X)),
        "bins": (KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), X),
    }


@pytest.mark.parametrize("name", encoders())
@pytest.mark.filterwarnings("ignore:Bins whose width:UserWarning")
def test_encoders_come_back(name, tmp_path):
    encoder, rows = encoders()[name]
    model = make_pipeline(encoder, LogisticRegression()).fit(rows, Y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


BREAKS = {
    "widths": ("plain", lambda e: setattr(e, "_n_features_outs", [10**9, 5 - 10**9])),
    "negative widths": ("plain", lambda e: setattr(e, "_n_features_outs", [-1, 6])),
    "one width": ("plain", lambda e: setattr(e, "_n_features_outs", [5])),
    "widths of words": ("words", lambda e: setattr(e, "_n_features_outs", ["2", "3"])),
    "fewer columns": ("plain", lambda e: setattr(e, "n_features_in_", 3)),
    "no columns": ("plain", lambda e: delattr(e, "n_features_in_")),
    "unsorted": ("plain", lambda e: setattr(e, "categories_", [np.array([2.0, 1.0])] * 2)),
    "nan first": (
        "missing",
        lambda e: setattr(e, "categories_", [e.categories_[0], e.categories_[1][::-1]]),
    ),
    "no categories": ("plain", lambda e: setattr(e, "categories_", [[1.0, 2.0], [1.0, 2.0, 3.0]])),
    "dropped": (
        "first",
        lambda e: setattr(e, "_drop_idx_after_grouping", np.array([-1, 0], dtype=object)),
    ),
    "dropped of one": (
        "first",
        lambda e: setattr(e, "_drop_idx_after_grouping", np.array([0], dtype=object)),
    ),
    "groups": (
        "rare",
        lambda e: setattr(e, "_default_to_infrequent_mappings", [None, np.array([0, 10**9, 1])]),
    ),
    "groups below zero": (
        "rare",
        lambda e: setattr(e, "_default_to_infrequent_mappings", [None, np.array([0, -5, 1])]),
    ),
    "rare in no group": (
        "rare",
        lambda e: setattr(
            e, "_default_to_infrequent_mappings", [None, e._default_to_infrequent_mappings[1]]
        ),
    ),
    "groups in a tuple": (
        "rare",
        lambda e: setattr(e, "_infrequent_indices", tuple(e._infrequent_indices)),
    ),
}


@pytest.mark.parametrize("how", BREAKS)
def test_numbers_of_columns_that_are_not_there_are_refused(how, tmp_path):
    name, change = BREAKS[how]
    encoder, rows = encoders()[name]
    model = make_pipeline(encoder, LogisticRegression()).fit(rows, Y)
    check_contents(model[0])
    change(model[0])
    with pytest.raises(TypeError, match=r"load would refuse this model: .*OneHotEncoder"):
        save(model, tmp_path / "model")
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="OneHotEncoder"):
        load(tmp_path / "model")


@pytest.mark.filterwarnings("ignore:Bins whose width:UserWarning")
def test_encoders_inside_of_others_are_checked(tmp_path):
    model, rows = encoders()["bins"]
    model.fit(rows)
    inner = model._encoder
    inner._n_features_outs = [10**9] * len(inner._n_features_outs)
    with pytest.raises(TypeError, match=r"OneHotEncoder of .* columns that says"):
        save(model, tmp_path / "model")


@pytest.mark.parametrize(
    "y", [np.arange(18) % 2, np.column_stack([np.arange(18) % 2, np.arange(18) % 3 == 0])]
)
def test_one_against_the_rest_is_refused_where_it_makes_sparse_matrices(y, tmp_path):
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y.astype(int))
    with pytest.raises(TypeError, match=r"OneVsRestClassifier of 'binary'|'multilabel-ind"):
        save(model, tmp_path / "model")
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="OneVsRestClassifier of"):
        load(tmp_path / "model")


def test_one_against_the_rest_of_three_classes_comes_back(tmp_path):
    model = OneVsRestClassifier(LogisticRegression()).fit(X, np.arange(18) % 3)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        FunctionTransformer(f1_score, kw_args={"y_pred": [0], "average": None}),
        TransformedTargetRegressor(func=f1_score),
        FunctionTransformer(kw_args={"y_pred": f1_score}),
        FunctionTransformer(kw_args={"y_pred": [(f1_score,)]}),
    ],
)
def test_functions_stand_in_scorers_only(model, tmp_path):
    with pytest.raises(TypeError, match=r"load would refuse this model: .* as the parameter"):
        save(model, tmp_path / "model")
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="as the parameter"):
        load(tmp_path / "model")


def test_scorers_and_selections_of_columns_come_back(tmp_path):
    model = make_pipeline(SelectKBest(f_classif, k=1), LogisticRegression())
    rows = np.random.default_rng(0).normal(size=(18, 2))
    search = GridSearchCV(model, {"selectkbest__k": [1, 2]}, scoring="f1", cv=2).fit(rows, Y)
    save(search, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(rows), search.predict(rows))


def test_masked_arrays_stand_in_results_of_searches_only(tmp_path):
    encoder = OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist")
    model = make_pipeline(encoder, LogisticRegression()).fit(X, Y)
    # The smallest and largest entries do not show what a mask hides, and SciPy follows it.
    hidden = np.ma.MaskedArray([10**9, 1, 0], mask=[True, False, False])
    model[0]._default_to_infrequent_mappings = [None, hidden]
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="OneHotEncoder with a list as _default_to_infrequent_map"):
        load(tmp_path / "model")
    search = GridSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, cv=2).fit(X, Y)
    assert any(isinstance(column, np.ma.MaskedArray) for column in search.cv_results_.values())
    save(search, tmp_path / "search")
    np.testing.assert_array_equal(load(tmp_path / "search").predict(X), search.predict(X))
