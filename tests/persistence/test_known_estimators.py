"""The table of scikit-learn's classes: what fit leaves behind is in it, and nothing else."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from sklearn import cluster, ensemble, linear_model, neighbors, preprocessing, svm
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from absentia import SVC, load, save
from absentia.persistence.compiled_parts import MADE_AGAIN
from absentia.persistence.kinds import (
    kind_of_words,
    kinds_of,
    parameter_names,
    sklearn_attributes,
    trusted_types,
)
from absentia.persistence.known_classes import ESTIMATORS, EVERY_ESTIMATOR, PARTS
from absentia.tables.stored import Stored
from persistence.fitted_variants import fitted
from persistence.hostile_files import check_contents

#: Words of the table that are wider than any single fit, and kinds that other paths leave behind.
_WIDE = ("integers[1]", "floats[1]", "objects[1]", "rng", "int", "float")


@pytest.fixture(scope="module")
def models():
    return list(fitted())


@pytest.fixture(scope="module")
def seen(models):
    """What was found in all specimens: values by class and attribute, parameters left out."""
    found = defaultdict(lambda: defaultdict(list))
    for model in models:
        pending, met = [model], set()
        while pending:
            value = pending.pop()
            if id(value) in met:
                continue
            met.add(id(value))
            if isinstance(value, dict):
                pending += value.values()
            elif isinstance(value, list | tuple):
                pending += value
            elif hasattr(value, "__dict__") and type(value) in trusted_types():
                state = value.__getstate__() or {}
                for name in ("_sklearn_version", MADE_AGAIN.get(type(value).__name__)):
                    state.pop(name, None)
                parameters = parameter_names(type(value))
                found[type(value)]  # met, whatever it has
                for name, held in state.items():
                    if name not in parameters:
                        found[type(value)][name].append(held)
                    pending.append(held)
    return found


def test_what_fit_leaves_behind_is_known(models):
    for model in models:
        check_contents(model)


def test_every_class_of_the_table_has_a_specimen(seen):
    classes = {name.rpartition(".")[2] for name in (*ESTIMATORS, *PARTS)}
    # In absentia's kernel principal components alone.
    assert classes - {kind.__name__ for kind in seen} == {"KernelCenterer"}


def test_every_attribute_of_the_table_is_left_behind_by_some_fit(seen):
    for kind, attributes in seen.items():
        own = set(sklearn_attributes()[kind])
        # Of forests that were fitted with bootstrap, and of scores that need a choice.
        optional = {"oob_score_", "oob_prediction_"}
        assert own - set(attributes) <= optional, kind.__name__


def test_every_kind_of_the_table_is_left_behind_by_some_fit(seen):
    unused = []
    for kind, attributes in seen.items():
        for name, values in attributes.items():
            words = (EVERY_ESTIMATOR | sklearn_attributes()[kind])[name].split(" | ")
            unused += [
                f"{kind.__name__}.{name}: {word}"
                for word in words
                if not (word in _WIDE or word == "none" or " of " in word)
                and not any(kind_of_words(word).holds(value) for value in values)
            ]
    assert sorted(set(unused)) == []


def shape_of(model):
    """Return the class and what tells one way of fitting it from another."""
    held = vars(model).items()
    return type(model), *((name, type(v).__name__, getattr(v, "ndim", None)) for name, v in held)


def test_models_of_every_shape_come_back(models, tmp_path):
    for model in {shape_of(model): model for model in models}.values():
        save(model, tmp_path / "model")
        assert type(load(tmp_path / "model")) is type(model)


@pytest.mark.parametrize(
    "model",
    [
        svm.SVC(),
        neighbors.KNeighborsClassifier(),
        cluster.KMeans(2, n_init=1),
        preprocessing.PolynomialFeatures(),
        preprocessing.SplineTransformer(),
        ensemble.BaggingClassifier(n_estimators=2),
        ensemble.RandomTreesEmbedding(2),
        ensemble.GradientBoostingClassifier(n_estimators=2),
        linear_model.PoissonRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classes_that_are_not_known_are_not_saved_and_named(model, tmp_path):
    model.fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    with pytest.raises(
        TypeError, match=rf"holds .*{type(model).__name__}, which load would refuse"
    ):
        save(model, tmp_path / "model")


def test_parts_are_no_models_of_their_own(tmp_path):
    binarizer = preprocessing.LabelBinarizer().fit([1, 2, 3])
    with pytest.raises(TypeError, match="LabelBinarizer, which is not a model by itself"):
        save(binarizer, tmp_path / "model")
    with pytest.raises(TypeError, match="as the parameter steps of Pipeline"):
        save(make_pipeline(binarizer, SVC()), tmp_path / "model")


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (np.zeros(2), "floats[1]", True),
        (np.zeros((2, 1)), "floats[1]", False),
        (np.zeros(2, dtype=np.float32), "floats[1]", True),
        (np.zeros(2, dtype=np.longdouble), "floats[1]", False),
        (np.zeros(2, dtype=">f8"), "floats[1]", False),
        (np.zeros(2, dtype=complex), "floats[1]", False),
        (np.ma.MaskedArray(np.zeros(2)), "floats[1]", False),
        (np.zeros(2).view(np.recarray), "floats[1]", False),
        (np.array(["a", None], dtype=object), "objects[1]", True),
        (np.array(["a", []], dtype=object), "objects[1]", False),
        (np.array(["a", "b"], dtype=object), "names", True),
        (np.array(["a", 1], dtype=object), "names", False),
        (True, "int", False),
        (np.float64(1.0), "float", True),
        (np.longdouble(1.0), "float", False),
        (slice(0, 2), "slice", True),
        ({"a": [1]}, "dict of list of int", True),
        ({"a": [1.0]}, "dict of list of int", False),
        (slice, "slice", False),
        ("predict", "method", True),
        ("fit", "method", False),
        (SVC(), "estimator", True),
        (SVC, "estimator", False),
        (preprocessing.LabelBinarizer(), "estimator", False),
        (preprocessing.LabelBinarizer(), "LabelBinarizer", True),
        (np.float32, "dtype", True),
        (SVC, "dtype", False),
        (len, "function", False),
        (True, "false", False),
    ],
)
def test_kinds_are_exact(value, kind, expected):
    assert kind_of_words(kind).holds(value) is expected


def test_an_object_that_looks_like_an_array_is_none():
    class Like:
        __array_interface__ = np.zeros(2).__array_interface__

    assert not kind_of_words("floats[1] | objects[1] | estimator | names").holds(Like())


def test_no_attribute_that_a_file_may_have_is_a_method():
    for kind in trusted_types():
        assert not [name for name in kinds_of(kind) if callable(getattr(kind, name, None))], kind


def test_trusted_estimators_are_estimators_or_known_by_their_attributes():
    for kind in trusted_types():
        assert issubclass(kind, BaseEstimator | Stored) or kind in sklearn_attributes(), kind
