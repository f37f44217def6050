"""Files made by hand that once crashed the interpreter, hung, or took gigabytes: all are refused.

Each was accepted by a check that named what is dangerous. What is refused now is whatever is not
known, so most of them fail at the first name that no model has.
"""

from __future__ import annotations

import bz2
import io
import json
import struct
import time
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
import skops.io
from sklearn._loss import HalfMultinomialLoss
from sklearn._loss.link import IdentityLink
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
from persistence.hostile_files import without_unread

LINE = (np.array([[0.0], [1.0]]), np.array([0.0, 1.0]))


def members(model, change=None):
    """Return the members of a file with a model, written without the checks of save."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(files["schema.json"])
    if change:
        change(schema, files)
    files["schema.json"] = json.dumps(schema).encode()
    files["absentia.json"] = json.dumps({"format": 3, "kind": "x", "versions": {}}).encode()
    return without_unread(files)


def write(path, model, change=None):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members(model, change).items():
            archive.writestr(name, content)
    return path


def as_file(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


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
    link = IdentityLink()
    vars(link)["__array_interface__"] = {
        "data": (4096, False),
        "shape": (1,),
        "typestr": "<f8",
        "version": 3,
    }
    return link


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
        "an address": (ridge(intercept_=interface()), r"IdentityLink\.__array_interface__"),
        "an address in any class": (
            ridge(__array_interface__={"data": (4096, False)}),
            r"Ridge\.__array_interface__",
        ),
        "a script": (ridge(__doc_link_template="<script>"), r"Ridge\.__doc_link_template"),
        "an attribute": (ridge(extra_=1), r"Ridge\.extra_"),
        "polynomials": (polynomials(), "PolynomialFeatures"),
        "bagging": (bagging(), "BaggingRegressor"),
        "labels": (labels(), "MultiLabelBinarizer"),
        "a loss": (poisson(), "PoissonRegressor"),
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
        "trees": (forest_of_something_else(), "as estimators_, expected list of Decision"),
        "classes": (forest_of_many_classes(), "trees of other columns or classes"),
        "characters": (encoder, "characters that do not exist"),
        "thresholds": (many, "thresholds of uint8"),
        "nesting": (nested(11), "more than 10 estimators inside each other"),
        "parameters": (ridge(alpha="much"), "'alpha' parameter of Ridge must be"),
        "columns beyond": (density(columns_=np.array([0, 1, 5])), "columns that are not there"),
        "columns before": (density(columns_=np.array([-1, 0, 1])), "columns that are not there"),
        "columns twice": (density(columns_=np.array([0, 1, 1])), "columns that are not there"),
        "too many columns": (ridge(n_features_in_=2**31), "Ridge of 2147483648 columns"),
    }


SVC_LIKE = [1.0]


@pytest.mark.parametrize("name", outsiders())
def test_what_is_not_known_is_refused(name, tmp_path):
    model, message = outsiders()[name]
    with pytest.raises(ValueError, match=message):
        load(write(tmp_path / "model", model))
    with pytest.raises(TypeError):
        save(model, tmp_path / "saved")


def node(kind, name, **fields):
    module, _, name = name.rpartition(".")
    return {"__loader__": kind, "__module__": module, "__class__": name, **fields}


def array_node(file, **fields):
    return node("NdArrayNode", "numpy.ndarray", type="numpy", file=file, **fields)


def attributes_of(schema):
    return schema["content"]["content"]


def long_pool(schema, files):
    files["pool.npy"] = as_file(np.int64(20_000))
    pool = attributes_of(schema)["random_state"]["content"]["seed_seq"]["content"]["pool_size"]
    pool.clear()
    pool.update(node("NdArrayNode", "numpy.int64", type="numpy", file="pool.npy"), content="4")


def long_spawn_key(schema, files):
    files["key.npy"] = as_file(np.zeros(100, dtype=np.uint32))
    seed = attributes_of(schema)["random_state"]["content"]["seed_seq"]["content"]
    seed["spawn_key"] = array_node("key.npy")


def object_among_entries(schema, files):
    """An array of several axes asks its entries whether they are arrays, when it is made."""
    entry = node("ListNode", "builtins.list", content=[attributes_of(schema)["random_state"]])
    one = node("JsonNode", "builtins.str", content="1")
    attributes_of(schema)["constant_"] = node(
        "NdArrayNode",
        "numpy.ndarray",
        type="json",
        content=[entry],
        shape=node("TupleNode", "builtins.tuple", content=[one, one]),
    )


def cast(schema, files):
    files["bytes.npy"] = as_file(np.zeros(1000, dtype=np.uint8))
    attributes_of(schema)["quantile"] = node(
        "NdArrayNode", "numpy.float64", type="numpy", file="bytes.npy"
    )


def attributes_in_pairs(schema, files):
    pair = [node("JsonNode", "builtins.str", content=text) for text in ('"n_outputs_"', "1")]
    pairs = [node("TupleNode", "builtins.tuple", content=pair)]
    schema["content"] = node("ListNode", "builtins.list", content=pairs)


def attributes_in_json(schema, files):
    schema["content"] = node("JsonNode", "builtins.str", content='{"__array_interface__": {}}')


def unread(schema, files):
    attributes_of(schema)["strategy"]["other"] = [[]] * 10


def one_number_for_two_arrays(schema, files):
    """Two arrays with one number, one length and one checksum, of which the second is harmless."""
    good = as_file(np.zeros(1000, dtype=np.uint8))
    evil = as_file(np.zeros(3, dtype=[("a", "f8"), ("b", "U3")])).ljust(len(good) - 4, b"\0")
    files["good.npy"], files["evil.npy"] = good, evil + patch(evil, zlib.crc32(good))
    assert zlib.crc32(files["evil.npy"]) == zlib.crc32(good)
    both = [array_node(f"{name}.npy", __id__=77) for name in ("evil", "good")]
    attributes_of(schema)["constant_"] = node("ListNode", "builtins.list", content=both)


def patch(data, target):
    """Return the four bytes that make the checksum of ``data`` another one."""
    table = [zlib.crc32(bytes([k])) ^ zlib.crc32(b"\0") for k in range(256)]
    by_first = {entry >> 24: k for k, entry in enumerate(table)}
    wanted, indices = target ^ 0xFFFFFFFF, []
    for _ in range(4):
        indices.append(by_first[wanted >> 24])
        wanted = ((wanted ^ table[indices[-1]]) << 8) & 0xFFFFFFFF
    state, found = zlib.crc32(data) ^ 0xFFFFFFFF, b""
    for index in reversed(indices):
        found += bytes([(state & 0xFF) ^ index])
        state = (state >> 8) ^ table[index]
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (long_pool, "NdArrayNode in place of JsonNode"),
        (long_spawn_key, "NdArrayNode in place of TupleNode"),
        (object_among_entries, "RandomGeneratorNode in place of JsonNode"),
        (cast, r"a float64 of shape \(1000,\)"),
        (attributes_in_pairs, "ListNode in place of DictNode"),
        (attributes_in_json, "a dict in place of a number or text"),
        (unread, "other in a node, which nothing reads"),
        (one_number_for_two_arrays, "an array of .*'a'"),
    ],
)
def test_descriptions_that_bring_something_else_are_refused(change, message, tmp_path):
    model = DummyRegressor().fit(*LINE)
    model.random_state = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        load(write(tmp_path / "model", model, change))


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


def test_numbered_nodes_are_compared_in_one_walk(tmp_path):
    """Ninety numbers inside each other, twice: once compared at every level, for minutes."""

    def chain():
        found = node("ListNode", "builtins.list", content=[leaf] * 2000)
        for number in range(80):
            found = node("ListNode", "builtins.list", content=[found], __id__=number + 1)
        return found

    def twice(schema, files):
        content = [chain(), chain()]
        attributes_of(schema)["constant_"] = node("ListNode", "builtins.list", content=content)

    leaf = node("JsonNode", "builtins.str", content="0")
    path = write(tmp_path / "model", DummyRegressor().fit(*LINE), twice)
    began = time.process_time()
    with pytest.raises(ValueError, match="as constant_, expected"):
        load(path)
    assert time.process_time() - began < 5.0


def lying(files, name, kind, packed):
    """Return an archive in which one member unpacks to more than the directory says."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for other, content in files.items():
            archive.writestr(other, packed if other == name else content)
    raw = bytearray(stream.getvalue())
    place = raw.rfind(b"PK\x01\x02")
    while raw[place + 46 : place + 46 + len(name)] != name.encode():
        place = raw.rfind(b"PK\x01\x02", 0, place)
    struct.pack_into("<H", raw, place + 10, kind)
    struct.pack_into("<I", raw, place + 16, zlib.crc32(files[name]))
    struct.pack_into("<I", raw, place + 24, len(files[name]))
    return bytes(raw)


def test_no_more_is_unpacked_than_the_archive_says(tmp_path):
    files, name = members(ridge()), "absentia.json"
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packing.compress(files[name] + b" " * 10**8) + packing.flush()
    (tmp_path / "model").write_bytes(lying(files, name, zipfile.ZIP_DEFLATED, packed))
    tracemalloc.start()
    try:
        load(tmp_path / "model")
    except ValueError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2e7


def test_other_ways_of_compression_and_names_that_occur_twice_are_refused(tmp_path):
    files = members(ridge())
    packed = bz2.compress(files["absentia.json"])
    (tmp_path / "model").write_bytes(lying(files, "absentia.json", zipfile.ZIP_BZIP2, packed))
    with pytest.raises(ValueError, match="an archive with compression 12"):
        load(tmp_path / "model")
    write(tmp_path / "model", ridge())
    with (
        zipfile.ZipFile(tmp_path / "model", "a") as archive,
        pytest.warns(UserWarning, match="Dup"),
    ):
        archive.writestr("schema.json", "{}")
    with pytest.raises(ValueError, match="two members of one name"):
        load(tmp_path / "model")
