"""Ctrl-C during a second fit leaves an estimator as it was, or as the fit leaves it."""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from absentia import (
    SVC,
    SVCCV,
    ConformalClassifier,
    ConformalRegressor,
    ConjugateGradientRidge,
    FourierFeatures,
    GaussianDensity,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelKMeans,
    KernelPCA,
    KernelRidge,
    LabelSpreading,
    LargeScaleRidge,
    LargeScaleSVC,
    LogisticRegression,
    LowRankDensity,
    MarginalClassifier,
    MaskFeatures,
    MixedDensity,
    MixtureDensity,
    NormalScores,
    Nystroem,
    OneClassSVM,
    RobustSVC,
    SpectralClustering,
)

# A few steps of EM do: what is counted are lines, and those of one step are like those of another.
QUICK = GaussianDensity(max_iter=3, tol=1e3)


def table(n, columns, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, len(columns))), columns=list(columns))
    y = (X.iloc[:, 0] > 0).to_numpy()
    return X.mask(rng.random(X.shape) < 0.2), y


class _InterruptAt:
    """Raise KeyboardInterrupt at one line of the library, counted from the last line of a fit."""

    def __init__(self, line: int | None):
        self.line, self.count = line, 0

    def __call__(self, frame, event, _):
        name = frame.f_globals.get("__name__", "")
        # A tracer can raise between the body of `with lock` and its end, where no signal arrives
        # in CPython, and would leave the lock of the threads held for ever.
        if "absentia" not in name or name == "absentia.engine.threads":
            return None
        if event == "line":
            self.count += 1
            if self.count == self.line:
                raise KeyboardInterrupt
        return self


def traced_fit(estimator, X, y, line=None):
    tracer = _InterruptAt(line)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        estimator.fit(X, y)
    finally:
        sys.settrace(before)
    return tracer.count


def state(estimator):
    return {name: pickle.dumps(value) for name, value in vars(estimator).items()}


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(density=QUICK),
        OneClassSVM(density=QUICK),
        KernelRidge(density=QUICK),
        ConjugateGradientRidge(density=QUICK, random_state=0),
        LogisticRegression(density=QUICK),
        LabelSpreading(density=QUICK),
        KernelPCA(2, density=QUICK),
        KernelKMeans(2, density=QUICK, n_init=1, random_state=0),
        SpectralClustering(2, density=QUICK, n_init=1, random_state=0),
        GaussianProcessClassifier(density=QUICK, scale=1.0, gamma=0.3),
        MixedDensity(1, n_init=1, max_iter=50, tol=1.0),
        LowRankDensity(1, max_iter=50, tol=1.0, random_state=0),
        Nystroem(4, density=QUICK, random_state=0),
        NormalScores(),
        LargeScaleSVC(density=QUICK, n_components=4, random_state=0),
        MarginalClassifier(
            DecisionTreeClassifier(random_state=0), density=QUICK, n_draws=4, random_state=0
        ),
        ConformalClassifier(LogisticRegression(density=QUICK), random_state=0),
        ConformalRegressor(KernelRidge(density=QUICK), random_state=0),
        SVCCV(density=QUICK, Cs=(1.0,), gammas=(0.1,), cv=2, n_jobs=1),
        RobustSVC(density=QUICK, tau=0.1),
        GaussianProcessRegressor(density=QUICK, scale=1.0, noise=0.1, gamma=0.3),
        GaussianDensity(),
        MixtureDensity(n_init=1, max_iter=20, tol=1.0, random_state=0),
        FourierFeatures(4, density=QUICK, random_state=0),
        MaskFeatures(4, random_state=0),
        LargeScaleRidge(density=QUICK, n_components=4, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_interrupted_fit_leaves_all_or_nothing(estimator):
    first, second = table(30, "abc", 0), table(20, "pq", 1)
    estimator.fit(*first)
    old = pickle.dumps(estimator)
    before, after = (
        state(pickle.loads(old)),
        state(pickle.loads(pickle.dumps(clone(estimator).fit(*second)))),
    )
    n_lines = traced_fit(pickle.loads(old), *second)
    assert n_lines > 20
    # Every one of the last lines, where attributes are set, and some of those before.
    lines = {*range(max(1, n_lines - 15), n_lines + 1), *range(1, n_lines, max(1, n_lines // 5))}
    for line in sorted(lines):
        interrupted = pickle.loads(old)
        # Two runs of a fit need not have the same number of lines: some go by the clock.
        with suppress(KeyboardInterrupt):
            traced_fit(interrupted, *second, line)
        found = set(vars(interrupted))
        assert found in (set(before), set(after)), line
        kept = interrupted.n_features_in_ == 3
        if kept:
            assert state(interrupted) == before, line
        else:
            assert list(interrupted.feature_names_in_) == ["p", "q"], line


def test_a_failure_in_the_last_step_but_one_leaves_the_machine_as_it_was(monkeypatch):
    (X, y), second = table(30, "abc", 0), table(20, "pq", 1)
    machine = SVC().fit(X, y)
    before, decisions = state(machine), machine.decision_function(X)

    def fail(self, solution):
        raise MemoryError

    monkeypatch.setattr(SVC, "_kept_rows", fail)
    with pytest.raises(MemoryError):
        machine.fit(*second)
    monkeypatch.undo()
    assert state(machine) == before
    np.testing.assert_array_equal(machine.decision_function(X), decisions)
