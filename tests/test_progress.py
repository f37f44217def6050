"""Progress is shown to those who ask, logged for those who listen, and silent for all others."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import (
    SVCCV,
    ConjugateGradientRidge,
    GaussianDensity,
    GaussianProcessClassifier,
    LargeScaleLogisticRegression,
    LowRankDensity,
    MixedDensity,
    MixtureDensity,
    RobustSVC,
)
from absentia.progress import progress_bar, report


def test_nothing_is_shown_by_default(capsys):
    with progress_bar(2, shown=False, title="search") as bar:
        bar.advance()
    report("step %d", 1)
    assert capsys.readouterr() == ("", "")


def test_a_bar_counts_on_standard_error(capsys):
    pytest.importorskip("tqdm")
    with progress_bar(2, shown=True, title="search") as bar:
        bar.advance()
        bar.advance("1 failed")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "search" in shown.err
    assert "2/2" in shown.err
    assert "1 failed" in shown.err


def test_a_bar_without_tqdm_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match="progress"), progress_bar(3, shown=True, title="search"):
        pass


def test_reports_go_to_the_logger(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="absentia"):
        report("step %d", 1)
        report("100 %", verbose=True)
    assert [record.getMessage() for record in caplog.records] == ["step 1", "100 %"]
    assert capsys.readouterr().out == "100 %\n"


def test_long_fits_leave_records(caplog):
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[::3, 1] = np.nan
    y = np.arange(30) % 2
    machines = {
        "EM: ": GaussianDensity(),
        "one density for 2 folds": SVCCV(Cs=(1.0,), gammas=2, cv=2),
        "robust SVM: ": RobustSVC(),
        "L-BFGS: ": LargeScaleLogisticRegression(n_components=8, random_state=0),
        "log evidence": GaussianProcessClassifier(),
        "conjugate gradients: ": ConjugateGradientRidge(n_landmarks=5, random_state=0),
    }
    for words, machine in machines.items():
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="absentia"):
            machine.fit(X, y)
        assert any(words in record.getMessage() for record in caplog.records), words


@pytest.mark.parametrize(
    "density",
    [
        GaussianDensity(verbose=True),
        MixtureDensity(2, n_init=1, random_state=0, verbose=True),
        MixedDensity(1, verbose=True),
        LowRankDensity(1, verbose=True),
    ],
    ids=lambda density: type(density).__name__,
)
def test_densities_print_their_steps_where_they_are_asked_to(density, capsys):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[::3, 1] = np.nan
    density.fit(X)
    assert "EM: " in capsys.readouterr().out
    density.set_params(verbose=False).fit(X)
    assert capsys.readouterr().out == ""


def test_a_long_ascent_leaves_a_record_every_ten_steps(caplog):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + 0.3 * rng.normal(size=(60, 3))
    X[rng.random(X.shape) < 0.4] = np.nan
    density = GaussianDensity(shrinkage=0.0, accelerate=False, tol=1e-12, max_iter=25)
    with (
        caplog.at_level(logging.INFO, logger="absentia"),
        pytest.warns(ConvergenceWarning),
    ):
        density.fit(X)
    said = [record.getMessage().split(",")[0] for record in caplog.records]
    assert said == ["EM: step 10", "EM: step 20", "EM: 25 steps"]
