"""The declared fitted attributes of absentia's estimators: nothing is missing or superfluous."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import absentia
from absentia.kernels import Kernel
from absentia.parameters import FloatMatrix
from absentia.persistence.kinds import kinds_of, model_types, parameter_names
from absentia.persistence.known_classes import EVERY_ESTIMATOR
from absentia.tables.known_limits import KeepsLimits
from estimators import estimators, small
from machines.contract import table, targets_of
from persistence.hostile_files import check_contents

pytestmark = pytest.mark.filterwarnings("ignore")


def specimens():
    X, y = table(), targets_of("classes")
    words = np.array(["no", "yes"])[(y == y[0]).astype(int)]
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    frame["word"] = np.array(["u", "v", "w"])[np.arange(len(X)) % 3]
    for kind in estimators():
        yield small(kind).fit(X, y)
    for kind in (absentia.SVC, absentia.LogisticRegression, absentia.AutoClassifier):
        yield small(kind).fit(frame, words)
    yield absentia.SVC(density="mixed").fit(frame, words)
    yield absentia.SVC(density=absentia.GaussianDensity(margins="normal-scores")).fit(X, y)
    yield absentia.KernelPCA(n_components=2, fit_inverse_transform=True, kernel="linear").fit(
        np.nan_to_num(X)
    )
    yield absentia.FourierFeatures(n_components=6, mask_weight=0.1, gamma=0.3).fit(X)
    yield absentia.LargeScaleRidge(n_components=8).fit(X, y.astype(float))
    encoder = absentia.TableEncoder().fit(frame)
    yield encoder
    yield KeepsLimits(absentia.FourierFeatures(n_components=4)).fit(X)


@pytest.fixture(scope="module")
def learned():
    """Check every specimen; return the names of the fitted attributes of absentia's estimators."""
    found = set()
    for model in specimens():
        for value in check_contents(model):
            if isinstance(value, BaseEstimator) and type(value).__module__.startswith("absentia."):
                found |= set(vars(value)) - set(parameter_names(type(value)))
    return found


def test_every_declared_attribute_is_set_by_some_fit(learned):
    declared = set()
    for kind in model_types():
        if kind.__module__.startswith("absentia."):
            declared |= kinds_of(kind).keys() - parameter_names(kind) - EVERY_ESTIMATOR.keys()
    # Set by a search for the uncertainty of a robust machine, and by the recipe.
    assert declared - learned <= {"tau_scores_", "target_"}


def test_a_new_estimator_needs_its_annotations_only():
    class Shifted(Kernel):
        shift_: FloatMatrix
        counts_: dict[str, int] | None
        setting: int = 3
        _method: ClassVar[str] = "none"

    assert kinds_of(Shifted)["shift_"].expected == "floats[2]"
    assert kinds_of(Shifted)["counts_"].expected == "dict of int | none"
    assert not kinds_of(Shifted).keys() & {"setting", "_method"}


def test_values_of_modules_that_were_not_imported_are_known(tmp_path):
    model = small(absentia.AutoClassifier).fit(table(), targets_of("classes"))
    absentia.save(model, tmp_path / "model")
    code = f"import absentia; print(type(absentia.load({str(tmp_path / 'model')!r})).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "AutoClassifier\n", done.stderr


def test_an_attribute_that_no_fit_leaves_behind_is_refused():
    machine = absentia.SVC().fit(table(), targets_of("classes"))
    machine.extra_ = 1.0
    with pytest.raises(ValueError, match=r"absentia\.machines\..*SVC\.extra_"):
        check_contents(machine)


@pytest.mark.parametrize(
    ("name", "value"),
    [("dual_coef_", [1.0]), ("beliefs_", absentia.SVC()), ("kernel_", "rbf"), ("classes_", {1, 2})],
)
def test_other_kinds_of_values_are_refused(name, value):
    machine = absentia.SVC().fit(table(), targets_of("classes"))
    setattr(machine, name, value)
    with pytest.raises(ValueError, match=f"as {name}, expected"):
        check_contents(machine)
