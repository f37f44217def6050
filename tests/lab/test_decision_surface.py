"""The decision surface draws points, segments and a cloud, for classes and for values."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from absentia import SVC, KernelRidge, LogisticRegression
from lab.decision_surface import plot_decision_surface


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + X[:, 1]
    X[0, 0] = X[1, 1] = X[2, 0] = X[2, 1] = X[3, 2] = np.nan
    return X, y


@pytest.mark.parametrize("machine", [LogisticRegression(), SVC()])
def test_incomplete_rows_are_segments_and_a_cloud(rows, machine):
    X, y = rows
    labels = np.where(y > 0, "up", "<down>")
    axes = plot_decision_surface(machine.fit(X, labels), X, labels).axes[0]
    # The third column is not drawn, so that the row without it is a point.
    assert len(axes.collections[-1].get_offsets()) == 37
    assert [list(line.get_xdata()[:1] == line.get_xdata()[1:]) for line in axes.lines] == [
        [False],
        [True],
    ]
    assert len(axes.patches) == 1
    assert {text.get_text() for text in axes.texts} == {"up", "<down>", "1 with both missing"}


def test_a_segment_reaches_one_standard_deviation_to_both_sides(rows):
    X, y = rows
    machine = KernelRidge().fit(X, y)
    axes = plot_decision_surface(machine, X, y).axes[0]
    beliefs = machine.density_.condition(X)
    mean, spread = beliefs.mean()[0, 0], np.sqrt(beliefs.covariance()[0, 0, 0])
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [mean - spread, mean + spread])


def test_frames_give_the_names_of_the_axes(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "$b", "c"])
    machine = KernelRidge().fit(frame, y)
    axes = plot_decision_surface(machine, frame, y, columns=(2, 1)).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("c", "\\$b")
