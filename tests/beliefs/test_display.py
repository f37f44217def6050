"""Beliefs as pictures and tables: the numbers drawn are those believed, and names stay text."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from absentia import GaussianDensity, MixtureDensity
from absentia.beliefs.display import mixture_density
from absentia.densities.mixture import MixedDensity

HOSTILE = "$\\frac{$<b>x</b>"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 5, -3], [[1, 0.8, 0], [0.8, 1, 0.1], [0, 0.1, 2]], size=80)
    frame = pd.DataFrame(X, columns=["a", "b", HOSTILE])
    frame.iloc[0, 1] = frame.iloc[1, 0] = frame.iloc[1, 2] = np.nan
    return frame


@pytest.mark.parametrize("density", [GaussianDensity(), MixtureDensity(2, random_state=0)])
def test_the_completed_table_has_the_moments_of_the_beliefs(table, density):
    beliefs = density.fit(table).condition(table)
    frame = beliefs.to_frame(index=table.index)
    assert list(frame.columns) == ["a", "a ±", "b", "b ±", HOSTILE, f"{HOSTILE} ±"]
    np.testing.assert_array_equal(frame.iloc[:, ::2], beliefs.mean())
    spread = np.sqrt(np.diagonal(beliefs.covariance(), axis1=1, axis2=2))
    np.testing.assert_allclose(frame.iloc[:, 1::2], spread, rtol=1e-12)
    assert (spread[2:] == 0).all()


def test_names_follow_slices_and_arrays_have_numbers(table):
    beliefs = GaussianDensity().fit(table).condition(table)
    assert beliefs[3:5].labels == list(table.columns)
    plain = GaussianDensity().fit(table.to_numpy()).condition(table.to_numpy())
    assert plain.labels == ["x0", "x1", "x2"]


def test_the_density_of_a_mixture_is_the_sum_of_its_parts():
    points = np.linspace(-3, 3, 7)
    found = mixture_density(
        points, np.array([0.3, 0.7]), np.array([0.0, 1.0]), np.array([1.0, 0.25])
    )
    np.testing.assert_allclose(found, 0.3 * norm.pdf(points) + 0.7 * norm.pdf(points, 1, 0.5))


@pytest.mark.parametrize("density", [GaussianDensity(), MixtureDensity(2, random_state=0)])
def test_pictures_draw_with_any_column_name(table, density, tmp_path):
    density.fit(table)
    figure = density.condition(table).plot(1)
    assert [axes.get_title() for axes in figure.axes] == list(table.columns)
    assert " ± " in figure.axes[0].get_xlabel()
    assert " ± " not in figure.axes[1].get_xlabel()
    figure.savefig(tmp_path / "row.png")
    density.plot(max_columns=2).savefig(tmp_path / "density.png")


def test_missing_columns_are_drawn_first(table):
    figure = GaussianDensity().fit(table).condition(table).plot(1, max_columns=2)
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == ["a", HOSTILE]


def test_the_notebook_table_escapes_names(table):
    html = GaussianDensity().fit(table).condition(table)._repr_html_()
    assert "<b>x</b>" not in html
    assert "&lt;b&gt;x" in html
    assert html.count("±") == 3 + 1


def test_categories_are_bars_of_their_probabilities():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    frame["word"] = np.where(frame["a"] + rng.normal(size=120) > 0, "high", "low")
    frame.loc[0, "word"] = None
    beliefs = MixedDensity(random_state=0).fit(frame).condition(frame.head(2))
    for row in (0, 1):
        bars = beliefs.plot(row).axes[2].patches
        expected = beliefs.probabilities(0)[row]
        np.testing.assert_allclose([bar.get_height() for bar in bars], expected)
