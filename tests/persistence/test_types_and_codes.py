"""Names of types are not looked up, and codes not followed, that a file could have made up."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

from absentia import GaussianDensity, MixedDensity
from absentia.beliefs import Beliefs
from absentia.beliefs.prior import indicators
from absentia.parameters import FloatVector
from absentia.persistence.kinds import _is_parameter, kind_of_words, words_of_annotation
from absentia.predictions.wrapped_model import RowFormat
from absentia.tables.stored import FRAME_PARTS


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("pandas", "datetime64[ns, dateutil//tmp/zone]"),
        ("pandas", "S15000000"),
        ("pandas", 1),
        ("os", "path"),
        ("polars", 2),
        ("other", "float64"),
    ],
)
def test_types_that_nobody_should_look_up_are_refused(kind, dtype):
    with pytest.raises(ValueError, match="is not known"):
        FRAME_PARTS["column type"](kind, dtype, None, False)
    with pytest.raises(ValueError, match="of another type"):
        RowFormat("pandas", ("a",), (dtype,)).validate()
    with pytest.raises(ValueError, match="of another type"):
        RowFormat("pandas", ("a",), (np.dtype("S15000000"),)).validate()
    with pytest.raises(ValueError, match="RowFormat of"):
        RowFormat(kind, ("a",)).validate()


@pytest.mark.parametrize(
    "dtype", ["int8", "Float32", "category", "object", "double[pyarrow]", "datetime64[ns, UTC]"]
)
def test_types_of_columns_are_known(dtype):
    made = FRAME_PARTS["column type"]("pandas", dtype, None, False)
    RowFormat("pandas", ("a",), (made,)).validate()


def test_polars_is_asked_for_types_only():
    polars = pytest.importorskip("polars")
    make = FRAME_PARTS["column type"]
    assert make("polars", "Int64", None, False) == polars.Int64
    assert make("polars", "read_csv", None, False) is None
    assert make("polars", "Datetime(time_unit='us')", None, False) is None


@pytest.mark.parametrize("code", [3, 5_000_000, -2])
def test_codes_beyond_the_categories_are_not_followed(code):
    with pytest.raises(ValueError, match="categories of the prior"):
        indicators(np.array([[0], [code]]), (3,))


def test_more_categories_than_the_prior_has_are_refused():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=60), rng.integers(3, size=60)]
    density = MixedDensity(1, categories=[1], random_state=0).fit(X)
    density.categories_ = [np.arange(10.0)]
    with pytest.raises(ValueError, match="categories of the prior"):
        density.score_samples([[0.0, 7.0]])


def test_margins_of_other_columns_are_refused():
    """What is not filled would be what lay in memory before."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    density = GaussianDensity(margins="normal-scores").fit(X)
    object.__setattr__(density.margins_, "curves", density.margins_.curves[:1])
    with pytest.raises(ValueError, match="Margins of 1 columns for 3 columns"):
        density.score_samples(X[:2])


def test_columns_that_nothing_fills_are_missing():
    X = np.random.default_rng(0).normal(size=(40, 2))
    density = MixedDensity(1, random_state=0).fit(X)
    density.columns_ = np.arange(5)
    assert np.isnan(density._in_order(X, np.empty((40, 0), dtype=np.intp))[:, 2:]).all()


def test_beliefs_have_the_components_of_their_prior_or_one():
    made = MixedDensity(2, random_state=0).fit(np.random.default_rng(0).normal(size=(40, 2)))
    beliefs = made.condition(np.zeros((1, 2)))
    parts = {name: getattr(beliefs, name) for name in ("covariances", "patterns", "prior")}
    wrong = Beliefs(
        np.zeros((1, 7)), np.zeros((1, 7, 2)), group_of_row=beliefs.group_of_row, **parts
    )
    with pytest.raises(ValueError, match="7 components"):
        wrong.validate()


@pytest.mark.parametrize(
    ("words", "held", "refused"),
    [
        (
            "dtype",
            [np.dtype("float64"), np.dtype("int8"), np.dtype(object), np.float32],
            [np.dtype("S9"), np.dtype("M8[ns]"), np.dtype([("a", float)]), object, "float64", 1.0],
        ),
        (
            "masked",
            [np.ma.array([1.0, 2.0], mask=[True, False]), np.ma.array([None, "a"], dtype=object)],
            [np.array([1.0]), np.ma.array([[1.0]]), np.ma.array([open], dtype=object)],
        ),
        ("false", [False, np.False_], [True, 0, 0.0, None, ""]),
        ("slice", [slice(1)], [1, (0, 1)]),
    ],
)
def test_kinds_hold_what_their_words_say(words, held, refused):
    kind = kind_of_words(words)
    assert [kind.holds(value) for value in held] == [True] * len(held)
    assert [kind.holds(value) for value in refused] == [False] * len(refused)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (dict[str, Any], "parameters"),
        (dict[str, float], "dict of float"),
        (dict[str, list[str]], "dict of list of str"),
        (dict[str, int | None], "dict of int/none"),
        (list[str], "list of str"),
        (tuple[int, ...], "tuple of int"),
        (tuple[int, str], "tuple of int/str"),
        (float | FloatVector, "float | floats[1]"),
        (np.ndarray, "labels"),
        (Annotated[NDArray[np.intp], 2], "integers[2]"),
        (Annotated[dict[str, Any], "results"], "results"),
    ],
)
def test_annotations_stand_for_kinds(annotation, words):
    assert words_of_annotation(annotation) == words


def test_values_of_a_dictionary_and_not_its_keys_have_a_kind():
    kind = kind_of_words(words_of_annotation(dict[str, float]))
    assert kind.holds({"a": 1.0, "b": 2.0})
    assert not kind.holds({"a": 1.0, "b": "two"})
    assert not kind.holds([1.0])


@pytest.mark.parametrize(
    ("words", "held", "refused"),
    [
        ("names", np.array(["a", "b"], dtype=object), np.array(["a", 1], dtype=object)),
        ("names", np.array([], dtype=object), ["a"]),
        ("step", ("a", Ridge()), ["a", Ridge()]),
        ("step", ("a", 1.0), ("a", np.sum)),
        ("floats", np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 1, 1, 1))),
        ("objects[1]", np.array(["a"], dtype=object), np.array([{}], dtype=object)),
        ("selection", np.zeros(2), np.zeros(2, dtype=">f8")),
        ("selection", np.zeros(2, dtype=bool), np.zeros(2, dtype="M8[s]")),
    ],
)
def test_kinds_hold_one_thing_and_refuse_another(words, held, refused):
    assert kind_of_words(words).holds(held)
    assert not kind_of_words(words).holds(refused)


def test_estimators_are_parameters_where_the_annotation_names_them():
    assert _is_parameter("inner", BaseEstimator, Ridge())
    assert _is_parameter("estimator", None, Ridge())
    assert not _is_parameter("inner", float, Ridge())
    assert not _is_parameter("inner", None, Ridge())
