"""Models in files that run no code."""

from __future__ import annotations

import builtins
import json
import shutil
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn import calibration
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import absentia
from absentia import SVC, Beliefs, GaussianDensity, GenRBF, MaskKernel, load, save
from absentia.beliefs import Prior
from absentia.kernels import Kernel
from absentia.persistence import trusted_types
from machines.contract import table, targets_of


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
    model = kind()
    quick = {"gammas": (0.3,), "cv": 2, "n_components": 2, "n_clusters": 2}
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


def test_what_is_trusted_is_types_of_ours():
    trusted = trusted_types()
    assert {SVC, GaussianDensity, GenRBF, Beliefs, Prior} <= set(trusted)
    assert all(isinstance(kind, type) for kind in trusted)
    others = {kind for kind in trusted if not kind.__module__.startswith("absentia.")}
    assert {kind.__module__ for kind in others} == {"sklearn.calibration"}
    assert {kind.__name__ for kind in others} <= {
        "_CalibratedClassifier",
        "_SigmoidCalibration",
        "_TemperatureScaling",
    }


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
        # Amid an array: bytes between the entries (dates, for one) say nothing about the model.
        with zipfile.ZipFile(path) as archive:
            entry = max(archive.infolist(), key=lambda info: info.compress_size)
        middle = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    else:
        rewrite(path, lambda schema: None if damage == "no schema" else {"nonsense": 1})
    with pytest.raises(ValueError, match="is no model file, or is damaged"):
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
        return json.loads(json.dumps(schema).replace('"absentia.machines.svm.machines"', '"os"'))

    rewrite(path, swap)
    with pytest.raises(ValueError, match=r"not trusted: os\.SVC"):
        load(path)


def test_something_that_is_no_model_is_refused(path):
    skops.io.dump({"a": 1}, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("absentia.json", json.dumps({"format": 1}))
    with pytest.raises(ValueError, match="holds a dict"):
        load(path)


@pytest.mark.parametrize("broken", ["group", "pattern", "shape", "infinite"])
def test_beliefs_that_point_nowhere_are_refused(machine, tmp_path, broken):
    beliefs = machine.beliefs_
    fields = dict(vars(beliefs))
    if broken == "group":
        fields["group_of_row"] = beliefs.group_of_row + 1000
    elif broken == "pattern":
        patterns = beliefs.patterns
        fields["patterns"] = type(patterns)(
            patterns.masks[:1], patterns.pattern_of_row, patterns.counts
        )
    elif broken == "shape":
        fields["log_weights"] = beliefs.log_weights[:-1]
    else:
        fields["means"] = beliefs.means * np.inf
    machine.beliefs_ = Beliefs(**fields)
    save(machine, tmp_path / "model")
    with pytest.raises(ValueError, match=r"damaged.*beliefs"):
        load(tmp_path / "model")


def test_without_skops_it_is_said_what_to_install(monkeypatch, machine, tmp_path):
    real_import = builtins.__import__

    def without_skops(name, *args, **kwargs):
        if name.startswith("skops"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_skops)
    with pytest.raises(ImportError, match=r"absentia\[persistence\]"):
        save(machine, tmp_path / "model")


def rewrite(path, change, mark=None):
    """Write a model file anew with a changed description; None leaves it out."""
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    with zipfile.ZipFile(copy) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                schema = change(json.loads(content))
                if schema is None:
                    continue
                content = json.dumps(schema)
            if name == "absentia.json" and mark is not None:
                content = json.dumps(mark)
            new.writestr(name, content)
