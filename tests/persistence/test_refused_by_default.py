"""Files made by hand that once crashed the interpreter, hung, or took gigabytes: all are refused.

Each was accepted by a check that named what is dangerous. What is refused now is whatever is not
known, so most of them fail at the first name that no model has.
"""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn._loss import HalfMultinomialLoss
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    StackingRegressor,
)
from sklearn.impute import MissingIndicator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    LabelBinarizer,
    LabelEncoder,
    MinMaxScaler,
    MultiLabelBinarizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)

from absentia import GaussianDensity, load, save
from absentia.persistence.contents import _check_estimator, _check_shape, _try
from absentia.persistence.nodes import Reader
from persistence.hostile_files import opened, rewrite, write
from persistence.test_model_files import save_unchecked

LINE = (np.array([[0.0], [1.0]]), np.array([0.0, 1.0]))


def unchecked(path, model, change=None):
    """Write a file with a model without the checks of save, and change its first line."""
    save_unchecked(model, path)
    if change:
        rewrite(path, change)
    return path


def ridge(**attributes):
    model = Ridge().fit(*LINE)
    vars(model).update(attributes)
    return model


def density(**attributes):
    model = GaussianDensity().fit(np.random.default_rng(0).normal(size=(20, 3)))
    vars(model).update(attributes)
    return model


def interface():
    """An object whose attributes tell NumPy to read memory at an address."""
    binarizer = LabelBinarizer()
    vars(binarizer)["__array_interface__"] = {
        "data": (4096, False),
        "shape": (1,),
        "typestr": "<f8",
        "version": 3,
    }
    return binarizer


def polynomials():
    model = make_pipeline(OneHotEncoder(), PolynomialFeatures(2)).fit(np.eye(3))
    model[1].interaction_only = 100
    return model


def bagging():
    model = make_pipeline(
        OneHotEncoder(handle_unknown="ignore"), BaggingRegressor(Ridge(), 2, max_features=3)
    ).fit(np.eye(3), np.arange(3.0))
    model[1].estimators_features_ = [np.full(3, np.nan)] * 2  # rows are sparse here
    return model


def labels():
    model = MultiLabelBinarizer().fit([["a"], ["b"]])
    model.classes_, model._cached_dict = np.array(["a"] * 200 + ["b"]), None
    return model


def poisson():
    model = PoissonRegressor().fit(*LINE)
    loss = HalfMultinomialLoss(n_classes=3)
    loss.link, loss.interval_y_true = model._base_loss.link, model._base_loss.interval_y_true
    model._base_loss, model.coef_, model.intercept_ = loss, np.zeros((1, 3)), np.zeros(3)
    return model


def stacked(method):
    inner = make_pipeline(StandardScaler(), MinMaxScaler())
    model = StackingRegressor([("a", Ridge())], cv=2).fit(np.eye(4), np.arange(4.0))
    model.estimators_, model.stack_method_ = [inner.fit(np.eye(4))], [method]
    return model


def boosted(**attributes):
    model = HistGradientBoostingRegressor(max_iter=1).fit(np.arange(50.0)[:, None], np.ones(50))
    vars(model._bin_mapper).update(attributes)
    return model


def features_that_are_not_numbers():
    model = MissingIndicator().fit([[np.nan, 1.0]])
    model.features_ = np.array([np.nan])
    return model


def forest_of_many_classes():
    model = RandomForestClassifier(2).fit(*LINE)
    model.n_classes_, model.classes_ = 10**6, np.zeros(10**6, dtype=np.uint8)
    return model


def forest_of_other_columns():
    """The second tree asks for columns that the first, which looks at the rows, does not have."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(40, 5000))
    model = RandomForestClassifier(2, random_state=0).fit(wide[:, :1], np.arange(40) % 2)
    other = RandomForestClassifier(2, random_state=0).fit(wide, np.arange(40) % 2)
    model.estimators_[1] = other.estimators_[1]
    return model


def forest_of_something_else():
    model = RandomForestClassifier(2).fit(*LINE)
    model.estimators_[1] = LogisticRegression().fit(*LINE)
    return model


def encoder_of_fewer_columns():
    """The columns without an encoding would be what lay in memory before."""
    words = np.array([["a", "u"], ["b", "v"]] * 9, dtype=object)
    model = TargetEncoder(cv=2).fit(words, np.arange(18) % 3)
    model.encodings_ = model.encodings_[:2]
    return model


def scored(method):
    model = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2, scoring="accuracy")
    model.fit(np.arange(8.0)[:, None], np.arange(8) % 2)
    model.scorer_._response_method = method
    return model


def steps_of(first, last=None):
    return make_pipeline(first, last or Ridge())


def nested(levels):
    """Pipelines inside each other: scikit-learn asks the innermost 2.6 times as often per level."""
    model = ridge()
    for _ in range(levels):
        model = Pipeline([("inner", model)])
    return model


def outsiders():
    encoder = LabelEncoder().fit(["a", "b"])
    encoder.classes_ = np.array([0x110000], dtype=np.uint32).view("U1")
    many = IsotonicRegression().fit(LINE[0].ravel(), LINE[1])
    many.X_thresholds_ = many.y_thresholds_ = np.arange(9, dtype=np.uint8)
    return {
        "an address": (ridge(intercept_=interface()), r"LabelBinarizer\.__array_interface__"),
        "an address in any class": (
            ridge(__array_interface__={"data": (4096, False)}),
            r"Ridge\.__array_interface__",
        ),
        "a script": (ridge(__doc_link_template="<script>"), r"Ridge\.__doc_link_template"),
        "an attribute": (ridge(extra_=1), r"Ridge\.extra_"),
        "polynomials": (polynomials(), "holds .*PolynomialFeatures"),
        "bagging": (bagging(), "holds .*BaggingRegressor"),
        "labels": (labels(), "holds .*MultiLabelBinarizer"),
        "a loss": (poisson(), "holds .*PoissonRegressor"),
        "a binarizer": (LabelBinarizer().fit(range(9)), "not a model by itself"),
        "a binarizer as a step": (steps_of(LabelBinarizer().fit(range(9))), "parameter steps"),
        "a method": (stacked("fit_transform"), "stack_method_, expected list of method"),
        "a private method": (stacked("_fit"), "stack_method_, expected list of method"),
        "a method of a scorer": (scored("__init__"), "_response_method, expected method"),
        "a folder": (make_pipeline(StandardScaler(), memory="here"), "parameter memory of Pipel"),
        "a mapper": (boosted(extra=[accuracy_score]), r"_BinMapper\.extra"),
        "a mapper's method": (boosted(transform=np.float64), r"_BinMapper\.transform"),
        "a mapper's thresholds": (boosted(bin_thresholds_=[SVC_LIKE]), "as bin_thresholds_"),
        "names": (ridge(feature_names_in_=np.zeros(9, "u1")), "as feature_names_in_"),
        "more names": (
            ridge(feature_names_in_=np.array(["a", "b"], dtype=object)),
            "of 1 columns with 2 names",
        ),
        "features": (features_that_are_not_numbers(), "as features_, expected integers"),
        "encodings": (encoder_of_fewer_columns(), "of 2 columns with 2 encodings"),
        "columns": (forest_of_other_columns(), "trees of other columns or classes"),
        "trees": (forest_of_something_else(), "as estimators_, expected list of trees"),
        "classes": (forest_of_many_classes(), "trees of other columns or classes"),
        "characters": (encoder, "characters that do not exist"),
        "thresholds": (many, "as X_thresholds_, expected floats"),
        "nesting": (nested(11), "more than 10 estimators inside each other"),
        "parameters": (ridge(alpha="much"), "'alpha' parameter of Ridge must be"),
        "columns beyond": (density(columns_=np.array([0, 1, 5])), "columns that are not there"),
        "columns before": (density(columns_=np.array([-1, 0, 1])), "columns that are not there"),
        "columns twice": (density(columns_=np.array([0, 1, 1])), "columns that are not there"),
        "too many columns": (ridge(n_features_in_=2**31), "Ridge of 2147483648 columns"),
    }


SVC_LIKE = [1.0]


@pytest.fixture(scope="module")
def made():
    return outsiders()


@pytest.mark.parametrize("name", outsiders())
def test_what_is_not_known_is_refused(name, made, tmp_path):
    model, message = made[name]
    with pytest.raises(TypeError, match=message):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())
    if "holds" in message:  # of a class that nothing writes
        return
    with pytest.raises(ValueError, match=message):
        load(unchecked(tmp_path / "model", model))


def attributes_of(header):
    return header["model"]["sklearn.dummy.DummyRegressor"]


def with_constant(node):
    def change(header, parts):
        attributes_of(header)["constant_"] = node

    return change


def with_attributes(node):
    def change(header, parts):
        header["model"]["sklearn.dummy.DummyRegressor"] = node

    return change


def with_array(name, shape, n_bytes):
    def change(header, parts):
        header["arrays"].append([name, shape, "C"])
        parts.append(bytes(n_bytes))
        attributes_of(header)["constant_"] = {"array": len(parts) - 1}

    return change


def state(key=(), pos=0, name="MT19937"):
    """Return the state of a generator of random numbers."""
    inner = {"dict": [["key", list(key)], ["pos", pos]]}
    return {"dict": [["bit_generator", name], ["state", inner]]}


#: NumPy would turn the number into an integer of a billion digits.
HUGE_STATE = {
    "dict": [
        ["bit_generator", "PCG64"],
        ["state", {"dict": [["state", 1], ["inc", 1]]}],
        ["has_uint32", {"Decimal": "1E+999999999"}],
        ["uinteger", 0],
    ]
}


def chain(length, width):
    """Return objects that each hold the one before many times."""
    inside = [None, *([{"same": k}] * width for k in range(length))]
    return [{"sklearn.frozen._frozen.FrozenEstimator": {"estimator": held}} for held in inside]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_constant({"os.system": "ls"}), r"not trusted: os\.system"),
        (with_constant({"function": "os.system"}), r"not trusted: os\.system"),
        (with_constant({"type": "builtins.map"}), r"not trusted: builtins\.map"),
        (with_constant({"type": "absentia.machines.svm.SVC"}), "not trusted: absentia"),
        (with_constant({"builtins.list": []}), r"not trusted: builtins\.list"),
        (with_constant({"collections.Counter": {}}), r"not trusted: collections\.Counter"),
        (with_constant({"../../etc/passwd": []}), "not trusted: ../../etc/passwd"),
        (with_constant({"void": 1}), "not trusted: void"),
        (with_constant({"array": 10**6}), "number 1000000 of"),
        (with_constant({"array": -1}), "number -1 of"),
        (with_constant({"array": "../arrays"}), "number '../arrays' of"),
        (with_constant({"same": 7}), "number 7 of 0"),
        (with_constant({"same": 0}), "number 0 of 0"),
        (with_constant({"float64": "x"}), "ValueError"),
        (with_constant({"float64": [1.0]}), "in place of a float64"),
        (with_constant({"int8": 1000}), "OverflowError"),
        (with_constant({"bool": "x"}), "in place of a bool"),
        (with_constant({"dict": [[[1], 2]]}), "a dictionary with keys of other kinds"),
        (with_constant({"dict": {"a": 1}}), "a dict of no entries"),
        (with_constant({"set": [[1]]}), "a set of other kinds"),
        (with_constant({"slice": [1, 2]}), "TypeError"),
        (with_constant({"slice": [1.5, 2, 3]}), "a slice without ends"),
        (with_constant({"Bunch": [["__array_interface__", {}]]}), "a node of 0 kinds"),
        (with_constant({"Bunch": [["__array_interface__", 1]]}), "a Bunch with special attributes"),
        (with_constant({"objects": [[2], [1]]}), "cannot reshape"),
        (with_constant({"objects": [[-1], [1]]}), r"an array of shape \[-1\]"),
        (with_constant({"masked": [[1], [2]]}), "a list in place of a ndarray"),
        (with_constant({"tuple": [], "list": []}), "a node of 2 kinds"),
        (with_constant({"RandomState": [[1]]}), "TypeError"),
        (with_constant({"RandomState": [state(key=[1])]}), "IndexError"),
        (with_constant({"RandomState": [state(key=["x"] * 624)]}), "TypeError"),
        (with_constant({"RandomState": [state(key=[-1] * 624)]}), "OverflowError"),
        (with_constant({"RandomState": [state(pos=10**6)]}), "in an impossible state"),
        (with_constant({"RandomState": [state(key=[1] * 624, pos="x")]}), "TypeError"),
        (with_constant({"RandomState": [state(key=[1] * 624, name="PCG64")]}), "MT19937"),
        (with_constant({"RandomState": [state(key=[{"Decimal": "1E+999999999"}])]}), "digits"),
        (with_constant({"Generator": [HUGE_STATE, 1, 0]}), "more than 1,000 digits"),
        (with_constant({"dtype": "f8,f8"}), "an array of 'f8,f8'"),
        (with_constant({"dtype": ["f8", 2]}), "a list in place of a str"),
        (with_attributes([["n_outputs_", 1]]), "without attributes"),
        (with_attributes({"__array_interface__": {}}), r"DummyRegressor\.__array_interface__"),
        (with_attributes({"predict": 1}), r"not trusted: .*DummyRegressor\.predict"),
        (with_array("|O", [1], 8), r"an array of '\|O'"),
        (with_array(">f8", [1], 8), "an array of '>f8'"),
        (with_array("<f8,<U3", [1], 20), "an array of '<f8,<U3'"),
        (with_array("<f8", [-1], 8), r"an array of shape \[-1\]"),
        (with_array("<f8", [True], 8), r"an array of shape \[True\]"),
        (with_array("<f8", [2], 8), "an array that is cut off"),
        (with_array("<f8", [1], 16), "bytes behind the last array"),
        (with_array("<f8", [10**12], 8), "call load with a larger max_bytes"),
        (with_array("<U20000", [0], 0), "a type of 80,000 bytes per entry"),
        (with_array("<U0", [3], 0), "a type of 0 bytes per entry"),
        (with_constant(chain(20, 1)), "more than 10 estimators inside each other"),
        (with_constant(chain(5, 100)), "more than 16,777,216 objects"),
    ],
)
def test_descriptions_that_bring_something_else_are_refused(change, message, tmp_path):
    model = DummyRegressor().fit(*LINE)
    path = unchecked(tmp_path / "model", model, change)
    with pytest.raises(ValueError, match=message):
        load(path)


def test_generators_of_numpy_come_back(tmp_path):
    model = DummyClassifier(strategy="uniform").fit(LINE[0], [0, 1])
    model.random_state = np.random.RandomState(7)
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").random_state.rand() == np.random.RandomState(7).rand()
    boosting = HistGradientBoostingRegressor(max_iter=1, random_state=3).fit(
        np.eye(40), np.ones(40)
    )
    save(boosting, tmp_path / "model")
    again = load(tmp_path / "model")._feature_subsample_rng
    assert again.random() == boosting._feature_subsample_rng.random()


def test_no_more_is_unpacked_than_is_declared(tmp_path):
    """A file of a hundred kilobytes that unpacks to a hundred megabytes."""
    path = unchecked(tmp_path / "model", ridge())
    header, parts = opened(path)
    for bomb in ([*parts, bytes(10**8)], [b" " * 10**8, *parts]):
        write(path, header, bomb)
        tracemalloc.start()
        with pytest.raises(ValueError, match="damaged"):
            load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2e7
    write(path, {"format": 4, "comment": "x" * 10**8}, parts)
    with pytest.raises(ValueError, match=r"16,777,21\d of them a description"):
        load(path)


def test_limits_belong_to_what_is_allowed(tmp_path):
    """Ten estimators inside each other, a million columns, and numbers up to 1e200 are loaded."""
    save(nested(9), tmp_path / "model")
    load(tmp_path / "model")
    with pytest.raises(TypeError, match="more than 10 estimators inside each other"):
        save(nested(10), tmp_path / "model")
    wide = Ridge()
    wide.n_features_in_ = 10**6
    _check_estimator(wide)
    wide.n_features_in_ += 1
    with pytest.raises(ValueError, match="Ridge of 1000001 columns"):
        _check_estimator(wide)
    fitted = density()
    fitted.log_likelihoods_ = np.array([-1e200, -1.0])
    save(fitted, tmp_path / "model")
    fitted.log_likelihoods_ = np.array([-1.01e200, -1.0])
    with pytest.raises(TypeError, match=r"log_likelihoods_ holds a number beyond 1e\+200"):
        save(fitted, tmp_path / "model")


def test_nodes_are_counted_with_the_list_that_holds_them():
    for nodes, size in ((1, 2), ([], 2), ([1, 2, 3], 5), ([[1], {"tuple": [2]}], 6)):
        assert Reader([], size).model(nodes) is not None
        with pytest.raises(ValueError, match="more than"):
            Reader([], size - 1).model(nodes)


@pytest.mark.parametrize(
    ("name", "classes", "shape"),
    [
        ("predict_proba", 2, (1,)),
        ("predict_proba", 3, (1, 2)),
        ("decision_function", 3, (1,)),
        ("decision_function", 4, (1, 5)),
        ("predict", 3, (2,)),
        ("predict", 3, (1, 1, 1)[:0]),
    ],
)
def test_answers_of_another_shape_are_refused(name, classes, shape):
    model = SimpleNamespace(classes_=np.arange(classes))
    with pytest.raises(ValueError, match=r"has|answers one row by"):
        _check_shape(model, name, np.zeros(shape))


@pytest.mark.parametrize(
    ("name", "classes", "shape"),
    [
        ("predict_proba", 3, (1, 3)),
        ("decision_function", 2, (1,)),
        ("decision_function", 4, (1, 4)),
        ("decision_function", 4, (1, 6)),
        ("decision_function", 1, (1,)),
        ("predict", 3, (1,)),
    ],
)
def test_answers_of_a_shape_that_fits_the_classes_are_kept(name, classes, shape):
    _check_shape(SimpleNamespace(classes_=np.arange(classes)), name, np.zeros(shape))


def test_lists_are_nested_a_hundred_deep():
    node = []
    for _ in range(98):
        node = [node]
    Reader([], 10**6).model(node)
    with pytest.raises(ValueError, match="more than 100 objects inside each other"):
        Reader([], 10**6).model([node])


@pytest.mark.parametrize("answer", [[np.nan, 1.0], [1.0, np.inf], [np.nan, np.nan]])
def test_one_answer_that_is_not_finite_is_refused(answer):
    model = SimpleNamespace(predict=lambda rows: np.array([answer]))
    with pytest.raises(ValueError, match=r"answers (nan|inf)"):
        _try(model, "predict", None, False)
    assert _try(model, "predict", None, True)
