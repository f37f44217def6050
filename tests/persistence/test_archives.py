"""The archive of a model file holds what is read from it and nothing else."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from absentia import (
    SVC,
    AutoRegressor,
    GaussianProcessRegressor,
    KernelRidge,
    KernelRidgeCV,
    LargeScaleRidge,
    MaskKernel,
    NuSVR,
    Nystroem,
    load,
    save,
)
from absentia.persistence.kinds import parameter_names
from estimators import estimators, small, task_of
from machines.contract import table, targets_of
from persistence.hostile_files import rewrite
from persistence.test_model_files import save_unchecked


def unread(header, parts):
    header["arrays"].append(["<f8", [2], "C"])
    parts.append(bytes(16))


def longer(header, parts):
    parts.append(b"abc")


def another_field(header, parts):
    header["comment"] = "hello"


def another_version(header, parts):
    header["versions"]["comment"] = "hello"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content + b"abc", "damaged"),
        (lambda content: content + bytes(4), "bytes behind the last array"),
        (lambda content: content + gzip.compress(b""), "bytes behind the last array"),
        (lambda content: gzip.compress(b"") * 9 + content, "an archive without content"),
        (lambda content: b"abc" + content, r"not written by absentia\.save"),
        (lambda content: content[:3] + b"\x08" + content[4:10] + b"x\0" + content[10:], "not writ"),
        (unread, "arrays that nothing reads"),
        (longer, "bytes behind the last array"),
        (another_field, "a description with .*comment"),
        (another_version, "a description with other versions"),
    ],
)
def test_bytes_that_nothing_reads_are_refused(change, message, tmp_path):
    path = tmp_path / "model"
    save(SVC().fit(table(), targets_of("classes")), path)
    load(path)
    if change in (unread, longer, another_field, another_version):
        rewrite(path, change)
    else:
        path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=message):
        load(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["intercept_", "_centre", "_spread"])
def test_fitted_numbers_that_are_not_finite_are_refused(name, value, tmp_path):
    if name == "intercept_":
        model = SVC().fit(table(), targets_of("classes"))
        model.intercept_ = np.full_like(model.intercept_, value)
    else:
        model = GaussianProcessRegressor().fit(table(), targets_of("numbers"))
        setattr(model, name, value)
    if name != "intercept_" or np.isnan(value):  # an infinite margin is a class
        save_unchecked(model, tmp_path / "model")
        with pytest.raises(ValueError, match=r"answers (nan|inf|-inf)"):
            load(tmp_path / "model")


def test_a_model_that_may_answer_nan_is_saved(tmp_path):
    model = IsotonicRegression().fit([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    save(model, tmp_path / "model")
    assert np.isnan(load(tmp_path / "model").predict([0.0])[0])


@pytest.mark.parametrize(
    ("make", "name", "value", "message"),
    [
        (LargeScaleRidge, "metric", "../../etc/passwd", "metric must be"),
        (LargeScaleRidge, "random_state", "x", "random_state must be"),
        (LargeScaleRidge, "random_state", 2**32, "random_state must be"),
        (KernelRidge, "kernel", 4, "kernel must be"),
        (KernelRidge, "kernel", "../../etc/passwd", "kernel must be"),
        (KernelRidge, "density", 7, "density must be"),
        (KernelRidge, "density", "x", "density must be"),
        (NuSVR, "cache_size", "x", "cache_size must be"),
        (NuSVR, "shrinking", 2, "shrinking must be"),
        (NuSVR, "mask_weight", [0.5, -1.0, 0.5], "mask_weight must be"),
        (NuSVR, "mask_weight", "much", "mask_weight must be"),
        (Nystroem, "kernel", "../../etc/passwd", "kernel must be"),
        (Nystroem, "landmarks", "best", "landmarks must be"),
        (LargeScaleRidge, "features", "best", "features must be"),
        (LargeScaleRidge, "metric", np.full((3, 3), np.nan), "metric must be"),
        (KernelRidgeCV, "alphas", (1.0, -1.0), "alpha must be"),
        (KernelRidgeCV, "gammas", (0.1, "best"), "gamma must be"),
        (KernelRidgeCV, "scoring", "best", "scoring"),
        (KernelRidgeCV, "cv", [1.0], "cv must be"),
        (AutoRegressor, "members", "all", "members must be 'default' or a list of"),
        (AutoRegressor, "members", (), "members must be"),
        (AutoRegressor, "members", ("beliefs", "nothing"), "members must be"),
        (AutoRegressor, "members", ("beliefs", ("mine", 4)), "members must be"),
        (AutoRegressor, "density", "best", "density must be"),
    ],
)
def test_parameters_that_no_fit_accepts_are_refused(make, name, value, message, tmp_path):
    model = small(make).fit(table(), targets_of("numbers"))
    save(model, tmp_path / "model")
    setattr(model, name, value)
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "model")


@pytest.mark.parametrize("weight", [-1.0, np.nan, "much", [0.5, -1.0, 0.5], [[1.0]]])
@pytest.mark.parametrize("where", ["kernel", "kernel_"])
def test_weights_of_a_mask_kernel_that_no_fit_accepts_are_refused(where, weight, tmp_path):
    model = KernelRidge(kernel=2.0 * MaskKernel()).fit(table(), targets_of("numbers"))
    save(model, tmp_path / "model")
    getattr(model, where).kernel.weight = weight
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="weight must be a non-negative number"):
        load(tmp_path / "model")


#: Parameters of which only the table says whether they fit, and a number or a word for a hole.
OF_COLUMNS = {"categories", "category_similarities", "kinds", "missing_values", "supports"}


@pytest.mark.parametrize("kind", estimators())
def test_nonsense_is_refused_as_any_parameter(kind, tmp_path):
    X, y = table(), targets_of(task_of(kind))
    model = small(kind).fit(X, y)
    save(model, tmp_path / "model")
    for name in {*parameter_names(kind)} - OF_COLUMNS:
        known = getattr(model, name)
        for value in ([{"nonsense": -1.5}], "../../etc/passwd"):
            setattr(model, name, value)
            with pytest.raises((TypeError, ValueError)):
                save(model, tmp_path / "model")
        setattr(model, name, known)


def test_parameters_that_only_the_solver_knows_are_refused(tmp_path):
    model = SVC().fit(table(), targets_of("classes"))
    model.decision_function_shape = ()
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match="'decision_function_shape' parameter of SVC"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "value"), [("y_thresholds_", np.full(3, np.nan)), ("X_min_", -9.0), ("X_max_", 9.0)]
)
def test_a_curve_that_ends_within_its_limits_may_not_answer_nan(name, value, tmp_path):
    x = np.array([0.0, 1.0, 2.0])
    model = IsotonicRegression(out_of_bounds="clip").fit(x, x)
    save(model, tmp_path / "model")
    setattr(model, name, value)
    save_unchecked(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"answers nan|other limits than its thresholds"):
        load(tmp_path / "model")


def test_a_pipe_is_not_said_to_be_absent(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match=r"no regular file '.*pipe'"):
        load(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match=r"no file '.*model'"):
        load(tmp_path / "model")


def test_loading_a_model_compiles_nothing(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X[:, 0] > 0
    X[rng.random(X.shape) < 0.3] = np.nan  # more patterns than NumPy computes in one prediction
    model = SVC().fit(X, y)
    save(model, tmp_path / "model")
    code = f"""
import numpy as np
from numba.core import event
class Listener(event.Listener):
    def on_start(self, found):
        raise SystemExit(f"compiled {{found.data['dispatcher'].py_func.__name__}}")
    def on_end(self, found):
        pass
event.register("numba:compile", Listener())
import absentia
absentia.load({str(tmp_path / "model")!r})
"""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr.decode()[-500:]
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
