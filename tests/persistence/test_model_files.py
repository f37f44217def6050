"""Models in files that run no code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn import calibration, svm
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

import absentia
from absentia import (
    SVC,
    Beliefs,
    FourierFeatures,
    GaussianDensity,
    GaussianProcessRegressor,
    GenRBF,
    MaskKernel,
    NuSVC,
    TableEncoder,
    load,
    save,
)
from absentia.beliefs import CovarianceTable, Prior
from absentia.kernels import Kernel
from absentia.persistence import model_files, trusted_types
from absentia.tables.stored import Stored
from machines.contract import table, targets_of
from persistence.hostile_files import without_unread


def save_unchecked(model, place):
    """Write a model that load would refuse, as another version or an attacker would."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_files, "refused_entries", lambda schema, archive, max_bytes: [])
        patch.setattr(model_files, "check_model", lambda model: None)
        save(model, place)


@pytest.fixture
def machine():
    return SVC().fit(table(), targets_of("classes"))


@pytest.fixture
def path(machine, tmp_path):
    save(machine, tmp_path / "machine.skops")
    return tmp_path / "machine.skops"


def test_pipelines_densities_kernels_and_beliefs_come_back(tmp_path):
    X, y = table(), targets_of("classes")
    kernel = 0.5 * GenRBF(metric="mahalanobis") + GenRBF(0.3) * MaskKernel([0.1, 0.2, 0.3])
    pipeline = make_pipeline(StandardScaler(), SVC(kernel=kernel)).fit(X, y)
    on_beliefs = SVC().fit(Beliefs.from_moments(np.nan_to_num(X), np.eye(3)), y)
    density = GaussianDensity().fit(X)
    for model in (pipeline, on_beliefs, density):
        save(model, tmp_path / "model")
        again = load(str(tmp_path / "model"))
        rows = on_beliefs.beliefs_ if model is on_beliefs else X
        if model is density:
            np.testing.assert_array_equal(again.condition(X).means, density.condition(X).means)
        else:
            np.testing.assert_array_equal(
                again.decision_function(rows), model.decision_function(rows)
            )
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def public_estimators():
    public = [getattr(absentia, name) for name in absentia.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
    return [kind for kind in kinds if not issubclass(kind, Kernel)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", public_estimators(), ids=lambda kind: kind.__name__)
def test_every_estimator_comes_back(kind, tmp_path):
    X, y = table(), targets_of("classes")
    wrapped = (
        absentia.KernelRidge() if "Regressor" in kind.__name__ else absentia.LogisticRegression()
    )
    model = kind(wrapped) if "estimator" in signature(kind).parameters else kind()
    quick = {"gammas": (0.3,), "cv": 2, "n_components": 2, "n_clusters": 2}
    # All members of the automatic machines are saved in their own tests.
    quick |= {"members": ("boosting", "beliefs"), "n_splits": 2, "n_repeats": 1}
    known = model.get_params(deep=False)
    model.set_params(**{name: value for name, value in quick.items() if name in known})
    model.fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is kind
    assert repr(again) == repr(model)
    outputs = [name for name in ("predict", "transform", "score_samples") if hasattr(model, name)]
    for name in outputs:
        np.testing.assert_array_equal(getattr(again, name)(X), getattr(model, name)(X))


def test_an_unfitted_machine_comes_back_and_a_file_is_replaced(tmp_path):
    place = tmp_path / "model"
    save(SVC(C=3.0), place)
    save(SVC(C=4.0), place)
    assert load(place).C == 4.0


def test_what_is_trusted_is_plain_types():
    trusted = trusted_types()
    assert {SVC, GaussianDensity, GenRBF, Beliefs, Prior, StandardScaler} <= set(trusted)
    assert {kind.__module__.split(".")[0] for kind in trusted} == {"absentia", "sklearn"}
    # Their attributes go to compiled code that checks nothing.
    assert not {svm.SVC, svm.OneClassSVM, KMeans, KNeighborsClassifier} & set(trusted)
    # What is no estimator of ours checks itself.
    values = [k for k in trusted if k.__module__.startswith("absentia.")]
    assert all(issubclass(kind, BaseEstimator | Stored) for kind in values)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibrated_machines_come_back(method, tmp_path):
    X, y = table(), targets_of("classes")
    model = calibration.CalibratedClassifierCV(SVC(), method=method, cv=2, ensemble=False).fit(X, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_what_is_no_estimator_or_would_be_refused_is_not_saved(tmp_path):
    place = tmp_path / "model"
    with pytest.raises(TypeError, match=r"Only estimators.*ndarray"):
        save(np.ones(3), place)
    with pytest.raises(TypeError, match=r"holds .*table.*load would refuse"):
        save(FunctionTransformer(table), place)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        load(tmp_path / "nothing")


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "flipped", "no schema", "bad schema"])
def test_damaged_files_are_refused(path, damage):
    content = path.read_bytes()
    if damage == "text":
        path.write_text("not a model")
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        # Amid an array: bytes between the entries (dates, for one) say nothing about the model. Not
        # amid the description: it repeats itself and holds ids that differ from run to run, so one
        # flip in a thousand makes another reference to the same text, and the file says the same.
        with zipfile.ZipFile(path) as archive:
            arrays = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        entry = max(arrays, key=lambda info: info.compress_size)
        middle = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    else:
        rewrite(path, lambda schema: None if damage == "no schema" else {"nonsense": 1})
    with pytest.raises(ValueError, match="is not a model file, or is damaged"):
        load(path)


def test_files_of_other_tools_and_formats_are_refused(path, machine, tmp_path):
    skops.io.dump(machine, tmp_path / "other.skops")
    with pytest.raises(ValueError, match=r"not written by absentia\.save"):
        load(tmp_path / "other.skops")
    rewrite(path, lambda schema: schema, mark={"format": 99})
    with pytest.raises(ValueError, match="format 99"):
        load(path)


def test_types_that_are_not_trusted_are_refused_by_name(path):
    def swap(schema):
        return json.loads(json.dumps(schema).replace('"absentia.machines.svm"', '"os"'))

    rewrite(path, swap)
    with pytest.raises(ValueError, match=r"not trusted: os\.SVC"):
        load(path)


def test_something_that_is_no_model_is_refused(path):
    skops.io.dump({"a": 1}, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("absentia.json", json.dumps({"format": 3}))
    with pytest.raises(ValueError, match="holds a dict"):
        load(path)


def replaced(value, **fields):
    return type(value)(**{**value.__getstate__(), **fields})


def break_beliefs(machine, broken):
    """Put something wrong into a machine where compiled code would trust it."""
    beliefs, prior = machine.beliefs_, machine.beliefs_.prior
    patterns, d = beliefs.patterns, prior.n_features
    table = beliefs.covariances
    changes = {
        "group": {"group_of_row": beliefs.group_of_row + 1000},
        "negative group": {"group_of_row": beliefs.group_of_row - 1},
        "wide group": {"group_of_row": beliefs.group_of_row.astype(np.int32)},
        "other group": {"group_of_row": np.zeros_like(beliefs.group_of_row)},
        "fewer patterns": {"patterns": replaced(patterns, masks=patterns.masks[:1])},
        "patterns of numbers": {"patterns": replaced(patterns, masks=patterns.masks.astype(float))},
        "counts": {"patterns": replaced(patterns, counts=patterns.counts + 1)},
        "shape": {"log_weights": beliefs.log_weights[:-1]},
        "components": {"log_weights": np.zeros((len(beliefs), 2))},
        "nan weights": {"log_weights": beliefs.log_weights * np.nan},
        "infinite": {"means": beliefs.means * np.inf},
        "single": {"means": beliefs.means.astype(np.float32)},
        "narrow masks": {"covariances": replaced(table, masks=table.masks[:, :1])},
        "masks of numbers": {"covariances": replaced(table, masks=table.masks.astype(np.int8))},
        "other masks": {"covariances": replaced(table, masks=~table.masks)},
        "no table": {"covariances": {}},
        "ragged table": {"covariances": CovarianceTable.of_matrices(np.zeros((9, 1, d, d + 1)))},
        "flat table": {"covariances": CovarianceTable.of_matrices(np.zeros((9, d)))},
        "prior": {"prior": replaced(prior, covariances=prior.covariances[:, :1])},
        "prior of nan": {"prior": replaced(prior, means=prior.means * np.nan)},
        "no components": {"prior": replaced(prior, weights=-prior.weights)},
    }
    # Past the constructor, as a file does.
    wrong = object.__new__(Beliefs)
    wrong.__dict__.update({**beliefs.__getstate__(), **changes[broken]})
    machine.beliefs_ = wrong


BROKEN = [
    "group",
    "negative group",
    "wide group",
    "other group",
    "fewer patterns",
    "patterns of numbers",
    "counts",
    "shape",
    "components",
    "nan weights",
    "infinite",
    "single",
    "narrow masks",
    "masks of numbers",
    "other masks",
    "no table",
    "ragged table",
    "flat table",
    "prior",
    "prior of nan",
    "no components",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_beliefs_that_do_not_fit_together_are_refused(machine, tmp_path, broken):
    break_beliefs(machine, broken)
    save_unchecked(machine, tmp_path / "model")
    with pytest.raises(ValueError, match=r"damaged.*(Beliefs|Patterns|Covariance|Prior)"):
        load(tmp_path / "model")


@pytest.mark.parametrize("hidden", ["calibrated", "pipeline", "list", "density", "attribute"])
def test_every_corner_of_a_file_is_looked_into(machine, tmp_path, hidden):
    X, y = table(), targets_of("classes")
    if hidden == "calibrated":
        model = calibration.CalibratedClassifierCV(SVC(), cv=2, ensemble=False).fit(X, y)
        break_beliefs(model.calibrated_classifiers_[0].estimator, "group")
    elif hidden == "pipeline":
        model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
        break_beliefs(model[-1], "group")
    elif hidden == "density":
        model = GaussianDensity().fit(X)
        model.prior_ = replaced(model.prior_, means=np.zeros((1, 7)))
    else:
        break_beliefs(machine, "group")
        model = absentia.AutoClassifier(members=[("own", machine)])
        if hidden == "attribute":
            model = SVC()
            model.density_ = machine
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="damaged"):
        load(tmp_path / "model")


def test_parts_of_different_sizes_are_refused_when_they_meet(tmp_path):
    X, y = table(), targets_of("classes")
    machine = SVC().fit(X, y)
    machine.density_ = GaussianDensity().fit(np.column_stack([X, X[:, :1] + 1]))
    machine.density_.n_features_in_ = 3
    machine.density_.columns_ = np.arange(3)
    features = FourierFeatures(n_components=6, random_state=0).fit(X)
    features.frequencies_ = np.ones((1, 3))
    centred = FourierFeatures(n_components=6, random_state=0).fit(X)
    centred.center_ = np.zeros((len(X), 3))
    for model in (machine, features, centred):
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        with pytest.raises(ValueError, match=r"columns|must be a float64 array"):
            (again.predict if hasattr(again, "predict") else again.transform)(X)


@pytest.mark.parametrize(
    "model",
    [
        absentia.KernelRidge(gamma="loo-ard"),
        GaussianProcessRegressor(gamma="ard"),
        absentia.LargeScaleRidge(n_components=20, metric="learned", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_learned_widths_and_metrics_come_back(model, tmp_path):
    X = table()
    model.fit(X, targets_of("numbers"))
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_widths_of_other_columns_are_refused(tmp_path):
    X = table()
    machine = absentia.KernelRidge(gamma="loo-ard").fit(X, targets_of("numbers"))
    machine.kernel_.gamma = machine.kernel_.gamma[:-1]
    save_unchecked(machine, tmp_path / "model")
    with pytest.raises(ValueError, match="one for each of the"):
        load(tmp_path / "model").predict(X)


def test_a_process_with_a_factor_of_other_rows_is_refused(tmp_path):
    process = GaussianProcessRegressor().fit(table(), targets_of("numbers"))
    process.L_ = process.L_[:2, :2]
    save_unchecked(process, tmp_path / "model")
    with pytest.raises(ValueError, match=r"must be a float64 array|shape|dimension"):
        load(tmp_path / "model").predict_uncertainty(table())


def test_something_that_looks_like_a_prior_is_none(tmp_path):
    density = GaussianDensity().fit(table())
    imitation = StandardScaler()
    for name in ("weights", "means", "covariances", "precisions", "n_features", "n_components"):
        setattr(imitation, name, getattr(density.prior_, name))
    density.prior_ = imitation
    save_unchecked(density, tmp_path / "model")
    with pytest.raises(ValueError, match=r"not trusted: .*StandardScaler\.means"):
        load(tmp_path / "model").condition(table())


def test_derived_numbers_are_not_taken_from_a_file(tmp_path):
    density = GaussianDensity().fit(table())
    assert density.condition(table()).prior.precisions.any()
    save(density, tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert b"precisions" not in archive.read("schema.json")

    def add(schema):
        prior = find(schema, lambda node: node["__class__"] == "Prior")
        names, values = prior["content"]["key_types"]["content"], prior["content"]["content"]
        names.append(names[0])
        values["precisions"] = values["means"]
        return schema

    rewrite(tmp_path / "model", add)
    with pytest.raises(ValueError, match=r"not trusted: .*Prior\.precisions"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    "kind",
    [
        "MethodNode",
        "PartialNode",
        "OperatorFuncNode",
        "ConstructorFromReduceNode",
        "TreeNode",
        "LossNode",
        "SparseMatrixNode",
        "RandomGeneratorNode",
        "BytesNode",
        "DefaultDictNode",
        "CachedNode",
    ],
)
def test_kinds_of_nodes_that_no_model_needs_are_refused(path, kind):
    def change(schema):
        find(schema, lambda node: node["__class__"] == "GenRBF")["__loader__"] = kind
        return schema

    rewrite(path, change)
    with pytest.raises(ValueError, match=r"not trusted: absentia.*GenRBF"):
        load(path)


def test_functions_and_containers_of_other_classes_are_refused(path):
    def name(node, text):
        node["__module__"], node["__class__"] = text.rsplit(".", 1)

    def swap(kind, loader, text):
        def change(schema):
            node = find(schema, lambda node: node["__loader__"] == kind)
            node["__loader__"] = loader
            node.pop("__id__")
            name(node, text)
            return schema

        return change

    original = path.read_bytes()
    for kind, loader, text in (
        ("JsonNode", "FunctionNode", "numpy.add"),
        ("JsonNode", "FunctionNode", "os.system"),
        ("JsonNode", "TypeNode", "builtins.map"),
        ("TypeNode", "TypeNode", "absentia.machines.svm.SVC"),
        ("ListNode", "ListNode", "absentia.machines.svm.SVC"),
        ("DictNode", "DictNode", "collections.Counter"),
        ("NdArrayNode", "NdArrayNode", "numpy.void"),
    ):
        path.write_bytes(original)
        rewrite(path, swap(kind, loader, text))
        with pytest.raises(ValueError, match=f"not trusted: .*{text}|names that are not text"):
            load(path)


def test_a_number_stands_for_one_object_only(path):
    def change(schema):
        kernel = find(schema, lambda node: node["__class__"] == "GenRBF")
        kernel["__id__"] = schema["__id__"]
        return schema

    rewrite(path, change)
    with pytest.raises(ValueError, match="two different objects with the number"):
        load(path)


def test_methods_cannot_be_replaced(path, machine):
    machine.predict = GenRBF()
    save_unchecked(machine, path)
    with pytest.raises(ValueError, match=r"not trusted: .*SVC\.predict"):
        load(path)


def test_random_states_come_back_and_impossible_ones_are_refused(tmp_path):
    state = np.random.RandomState(3)
    save_unchecked(FourierFeatures(random_state=state), tmp_path / "model")
    assert load(tmp_path / "model").random_state.rand() == state.rand()
    broken = state.get_state(legacy=False)
    broken["state"]["pos"] = 10**6
    state.set_state(broken)
    save_unchecked(FourierFeatures(random_state=state), tmp_path / "model")
    with pytest.raises(ValueError, match="impossible state"):
        load(tmp_path / "model")


def test_depth_and_size_are_limited(path, machine):
    whole = path.read_bytes()
    with pytest.raises(ValueError, match=r"at most 10,000 and 156 are allowed.*larger max_bytes"):
        load(path, max_bytes=10_000)
    assert isinstance(load(path, max_bytes=10**8), SVC)
    kernel = GenRBF()
    for _ in range(60):
        kernel = kernel + GenRBF()
    with pytest.raises(TypeError, match="more than 100 objects inside each other"):
        save(SVC(kernel=kernel), path)
    assert path.read_bytes() == whole
    machine.class_weight_ = np.zeros(10**7)  # no part of a prediction
    save(machine, path)
    assert path.stat().st_size < 10**6
    with pytest.raises(ValueError, match=r"unpacks to 80,\d{3},\d{3} bytes"):
        load(path, max_bytes=7 * 10**7)

    def read_often(schema, first=1, step=1):
        # A hundred attributes read the same array.
        content = find(schema, lambda node: node["__class__"] == "SVC")["content"]
        for k in range(100):
            content["key_types"]["content"].append(content["key_types"]["content"][0])
            content["content"][f"zeros{k}_"] = {
                **content["content"]["class_weight_"],
                "__id__": first + step * k,
            }
        return schema

    saved = path.read_bytes()
    for first, step in ((1, 1), (0, 0)):  # the number 0 is not remembered by skops
        path.write_bytes(saved)
        rewrite(path, lambda schema, first=first, step=step: read_often(schema, first, step))
        with pytest.raises(ValueError, match="arrays of more than"):
            load(path)


def test_arrays_are_as_large_as_they_say(path):
    def liar(shape, kind="<f8"):
        stream = io.BytesIO()
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        return stream.getvalue() + b"0" * 16

    original = path.read_bytes()
    for shape, kind in (((10**12,), "<f8"), ((1,), "<f8"), ((2,), "|O"), ((-2,), "<f8")):
        path.write_bytes(original)
        rewrite(path, lambda schema: schema, arrays=liar(shape, kind))
        with pytest.raises(ValueError, match=r"damaged \(ValueError: an array of"):
            load(path)


@pytest.mark.parametrize("error", [RecursionError, MemoryError, NotImplementedError, OSError])
def test_whatever_a_file_leads_to_is_one_kind_of_error(path, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error("deep")

    monkeypatch.setattr(skops.io, "load", fail)
    with pytest.raises(ValueError, match=f"damaged \\({error.__name__}: deep"):
        load(path)


def test_a_deep_description_is_refused(path):
    nested = "[" * 100_000 + "]" * 100_000
    rewrite(path, lambda schema: schema, schema_text=nested)
    with pytest.raises(ValueError, match="damaged"):
        load(path)


def test_files_say_which_versions_wrote_them(path):
    with zipfile.ZipFile(path) as archive:
        mark = json.loads(archive.read("absentia.json"))
    assert mark["format"] == 3
    assert mark["versions"]["absentia"] == absentia.__version__
    assert set(mark["versions"]) == {"absentia", "scikit-learn", "numpy"}
    rewrite(path, lambda schema: schema, mark={"format": 1, "kind": "SVC"})
    with pytest.raises(ValueError, match=r"format 1, .*reads format 3.*train the model again"):
        load(path)
    rewrite(path, lambda schema: schema, mark={"format": 4, "versions": {"absentia": "9.1"}})
    with pytest.raises(ValueError, match=r"Use absentia 9\.1"):
        load(path)


def composed_models():
    voters = [("svc", SVC()), ("nu", NuSVC(nu=0.2))]
    columns = [("scaled", StandardScaler(), [0, 1]), ("kept", "passthrough", slice(2, 3))]
    return {
        "imputer": make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), SVC()),
        "voting": VotingClassifier(voters),
        "stacking": StackingClassifier(voters, final_estimator=LogisticRegression(), cv=2),
        "grid": GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2),
        "scored grid": GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=KFold(2), scoring="accuracy"),
        "columns": make_pipeline(ColumnTransformer(columns), SVC()),
        "selection": make_pipeline(SimpleImputer(), SelectKBest(k=2), SVC()),
        "encoder": make_pipeline(TableEncoder(), StandardScaler(), SVC()),
        "frozen": SVC(density=FrozenEstimator(GaussianDensity().fit(table()))),
    }


@pytest.mark.parametrize("name", composed_models())
def test_models_composed_with_scikit_learn_come_back(name, tmp_path):
    X, y = table(), targets_of("classes")
    model = composed_models()[name].fit(X, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.score(X, y) == model.score(X, y)


@pytest.mark.parametrize("frame", [True, False])
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        TargetEncoder(),
    ],
)
def test_encoders_of_words_come_back(encoder, frame, tmp_path):
    # They raise TypeError for a column of numbers, such as the rows that load asks about.
    y = targets_of("classes")
    rows = pd.DataFrame({"word": np.array(["a", "b", "c"])[np.arange(len(y)) % 3]}, dtype=object)
    rows["number"] = np.arange(len(y)) / 7
    X = rows if frame else rows.to_numpy()
    columns = ColumnTransformer([("words", encoder, [0])], remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(X, y)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_frames_inside_a_model_are_named(machine, tmp_path):
    machine.extra_ = pd.DataFrame({"a": [1.0]})
    with pytest.raises(TypeError, match=r"This SVC holds something .* such as a pandas frame"):
        save(machine, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_what_load_would_refuse_is_not_saved(machine, tmp_path):
    broken = clone(machine).fit(table(), targets_of("classes"))
    del broken.intercept_
    with pytest.raises(TypeError, match=r"load would refuse this model: .*"):
        save(broken, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "rival", [svm.SVC(), IsolationForest(n_estimators=5), KNeighborsClassifier()]
)
def test_models_whose_attributes_go_to_compiled_code_are_not_saved(rival, tmp_path):
    model = make_pipeline(SimpleImputer(), rival).fit(table(), targets_of("classes"))
    with pytest.raises(TypeError, match=r"holds .*sklearn.*load would refuse"):
        save(model, tmp_path / "model")


def test_files_changed_at_random_do_not_crash(tmp_path):
    program = Path(__file__).with_name("hostile_files.py")
    done = subprocess.run(
        [sys.executable, str(program), "0", "200"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONFAULTHANDLER": "1"},
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"ended at {lines[-1:]}: {done.stderr[-2000:]}"
    assert len(lines) == 200
    assert sum("refused" in line for line in lines) > 60
    assert sum("loaded and predicted" in line for line in lines) > 15


def test_without_skops_it_is_said_what_to_install(monkeypatch, machine, tmp_path):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"absentia\[persistence\]"):
        save(machine, tmp_path / "model")


def find(value, wanted):
    """Return the first node of a description that is wanted."""
    pending = [value]
    while pending:
        value = pending.pop(0)
        if isinstance(value, dict):
            if "__loader__" in value and wanted(value):
                return value
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    raise AssertionError("no such node")


def rewrite(path, change, mark=None, arrays=None, schema_text=None):
    """Write a model file anew with a changed description; None leaves it out."""
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    schema = change(json.loads(parts.pop("schema.json")))
    if schema is not None:
        text = json.dumps(schema) if schema_text is None else schema_text
        parts = without_unread({**parts, "schema.json": text.encode()})
    if mark is not None:
        parts["absentia.json"] = json.dumps(mark).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in parts.items():
            new.writestr(name, arrays if arrays and name.endswith(".npy") else content)


def test_a_file_that_lacks_a_parameter_is_refused(machine, tmp_path):
    # As written before the kernel had this parameter: the default of the class is no substitute.
    del machine.kernel_.category_weight
    save_unchecked(machine, tmp_path / "old.abs")
    with pytest.raises(ValueError, match="without its parameter category_weight"):
        load(tmp_path / "old.abs")


FITTED = {
    "SVC": SVC(),
    "NuSVC": NuSVC(nu=0.3),
    "SVR": absentia.SVR(),
    "OneClassSVM": absentia.OneClassSVM(),
    "LogisticRegression": absentia.LogisticRegression(),
    "KernelRidge": absentia.KernelRidge(),
    "GaussianProcessRegressor": GaussianProcessRegressor(),
    "GaussianProcessClassifier": absentia.GaussianProcessClassifier(),
    "LargeScaleRidge": absentia.LargeScaleRidge(n_components=16),
    "KernelPCA": absentia.KernelPCA(n_components=2),
    "GaussianDensity": GaussianDensity(),
    "FourierFeatures": FourierFeatures(n_components=8),
    "MarginalClassifier": absentia.MarginalClassifier(LogisticRegression()),
    "pipeline": make_pipeline(StandardScaler(), SVC()),
}


@pytest.mark.parametrize("name", FITTED)
def test_a_file_that_lacks_a_fitted_attribute_is_refused_or_answers(name, tmp_path):
    model = clone(FITTED[name]).fit(table(), targets_of("classes"))
    part = model[-1] if name == "pipeline" else model
    refused = 0
    for attribute in [n for n in vars(part) if n.endswith("_")]:
        kept = vars(part).pop(attribute)
        save_unchecked(model, tmp_path / "lacking.abs")
        setattr(part, attribute, kept)
        damaged = pytest.raises(ValueError, match="is not a model file, or is damaged")
        try:
            again = load(tmp_path / "lacking.abs")
        except ValueError:
            with damaged:
                load(tmp_path / "lacking.abs")
            refused += 1
            continue
        for answer in ("predict", "transform", "score_samples"):
            if hasattr(again, answer):
                getattr(again, answer)(table())
    assert refused


@pytest.mark.parametrize("value", [None, "x", np.zeros((3, 3, 3)), np.zeros(0), [], {}, 10**40])
@pytest.mark.parametrize("attribute", ["dual_coef_", "intercept_", "kernel_", "beliefs_"])
def test_fitted_attributes_of_another_kind_are_refused(machine, tmp_path, attribute, value):
    setattr(machine, attribute, value)
    save_unchecked(machine, tmp_path / "odd.abs")
    with pytest.raises(ValueError, match="is damaged"):
        load(tmp_path / "odd.abs")


def test_a_wrapper_that_was_not_fitted_holds_a_fitted_model(machine, tmp_path):
    wrapper = absentia.MarginalClassifier(FrozenEstimator(machine))
    save(wrapper, tmp_path / "wrapper.abs")
    again = load(tmp_path / "wrapper.abs").estimator
    np.testing.assert_array_equal(again.predict(table()), machine.predict(table()))


def test_loading_leaves_random_numbers_as_they_are(tmp_path):
    features = FourierFeatures(n_components=8, random_state=np.random.RandomState(3)).fit(table())
    save(features, tmp_path / "features.abs")
    np.random.seed(7)
    again = load(tmp_path / "features.abs")
    drawn = np.random.rand()
    np.random.seed(7)
    assert drawn == np.random.rand()
    assert again.random_state.rand() == features.random_state.rand()


@pytest.mark.parametrize("verbose", [1, 100])
def test_loading_prints_nothing(tmp_path, capfd, verbose):
    forest = RandomForestClassifier(3, random_state=0, n_jobs=2)
    model = make_pipeline(SimpleImputer(), forest).fit(table(), targets_of("classes"))
    forest.verbose = verbose
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert capfd.readouterr() == ("", "")
    assert again[-1].verbose == verbose
    again.predict(table())
    assert capfd.readouterr() != ("", "")


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(3, random_state=0), SVC(), absentia.LogisticRegression()]
)
def test_classes_that_are_not_those_of_the_scores_are_refused(model, tmp_path):
    model.fit(np.nan_to_num(table()), targets_of("classes"))
    model.classes_ = np.append(model.classes_, 9)
    with pytest.raises(TypeError, match=r"load would refuse this model"):
        save(model, tmp_path / "model")


def test_loading_starts_no_processes(tmp_path):
    union = FeatureUnion([(str(k), SimpleImputer()) for k in range(4)])
    model = make_pipeline(union, LogisticRegression()).fit(table(), targets_of("classes"))
    union.n_jobs = 4
    save(model, tmp_path / "model")
    code = (
        "from joblib.externals.loky import reusable_executor; from absentia import load; "
        f"model = load({str(tmp_path / 'model')!r}); "
        "print(reusable_executor._executor, model[0].n_jobs)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "4"]


@pytest.mark.parametrize("n_jobs", [5000, -(10**6), "many", 2.5])
def test_numbers_of_processes_that_no_machine_has_are_refused(tmp_path, n_jobs):
    model = RandomForestClassifier(3, random_state=0).fit([[0.0], [1.0]], [0, 1])
    model.n_jobs = n_jobs
    with pytest.raises(TypeError, match="RandomForestClassifier with n_jobs="):
        save(model, tmp_path / "model")
    model.n_jobs = -1
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").n_jobs == -1


def test_other_protocols_of_skops_are_refused(tmp_path):
    # Nodes of earlier protocols name functions in fields that the checks do not read.
    save(SVC(), tmp_path / "model")
    rewrite(tmp_path / "model", lambda schema: {**schema, "protocol": 0})
    with pytest.raises(ValueError, match="is written in protocol 0 of skops"):
        load(tmp_path / "model")
