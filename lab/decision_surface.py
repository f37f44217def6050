"""Decision surface of a machine over two columns, with the beliefs about incomplete rows.

A complete row is a point. A row that misses one of the two columns is a segment: the middle 68 % of
what the missing value could be. Rows that miss both are one cloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from absentia.pictures import COLOURS, INK, pyplot, tidy
from absentia.predictions.marginal import find_density
from absentia.predictions.wrapped_model import RowFormat
from absentia.reports.safe_text import as_plot_labels
from absentia.tables import FloatArray, TableLike, as_table, column_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRID = 90
#: Half the width of the middle 68 % of a Gaussian, in standard deviations.
_SEGMENT = 1.0


def plot_decision_surface(
    machine: BaseEstimator,
    X: TableLike,
    y: ArrayLike,
    *,
    columns: tuple[int, int] = (0, 1),
    max_rows: int = 200,
) -> Figure:
    """Draw a machine's decision over two columns, with the rows as points, segments and clouds.

    Where the machine has more columns, the surface is its prediction when only these two are
    known: the others are missing on the grid.

    Parameters
    ----------
    machine : fitted machine of absentia
        A classifier or a regressor with a density of its own.
    X : array-like of shape (n_samples, n_features)
        Rows to draw, NaN where a value is missing.
    y : array-like of shape (n_samples,)
        Their classes or values, for the colours.
    columns : pair of int, default=(0, 1)
        The columns along the axes.
    max_rows : int, default=200
        The most rows to draw, the first ones.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegression
    >>> from lab.decision_surface import plot_decision_surface
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> figure = plot_decision_surface(LogisticRegression().fit(X, y), X, y)
    """
    names = column_names(X, as_table(X).shape[1])
    table, targets = as_table(X)[:max_rows], np.asarray(y)[:max_rows]
    pair = list(columns)
    row_format = RowFormat.of(X, np.arange(table.shape[1]))
    beliefs = find_density(machine).condition(row_format.rows(table))
    means, spreads = beliefs.mean()[:, pair], beliefs.spread()[:, pair]
    figure, axes = pyplot().subplots(figsize=(6.4, 4.8), layout="constrained")
    tidy(axes)
    limits = _limits(means, spreads)
    grid_x, grid_y = (np.linspace(*ends, _GRID) for ends in limits)
    grid = np.full((_GRID * _GRID, table.shape[1]), np.nan)
    grid[:, pair] = np.stack(np.meshgrid(grid_x, grid_y), axis=2).reshape(-1, 2)
    rows = row_format.rows(grid)
    classes = getattr(machine, "classes_", None)
    if classes is None:
        _draw_values(figure, axes, grid_x, grid_y, machine.predict(rows))
        colours = pyplot().get_cmap("viridis")(_unit(targets.astype(np.float64)))
    else:
        _draw_classes(axes, grid_x, grid_y, machine, rows, classes)
        which = np.searchsorted(classes, targets)
        colours = np.array([COLOURS[k % len(COLOURS)] for k in which])
    _draw_rows(axes, np.isnan(table[:, pair]), means, spreads, colours)
    label_x, label_y = as_plot_labels([names[j] for j in pair])
    axes.set(xlim=limits[0], ylim=limits[1])
    axes.set_xlabel(label_x, color=INK)
    axes.set_ylabel(label_y, color=INK)
    if classes is not None:
        complete = ~np.isnan(table[:, pair]).any(axis=1)
        _label_classes(axes, classes, which[complete], means[complete])
    return figure


def _limits(means: FloatArray, spreads: FloatArray) -> list[tuple[float, float]]:
    low, high = (means - _SEGMENT * spreads).min(axis=0), (means + _SEGMENT * spreads).max(axis=0)
    margin = 0.08 * np.maximum(high - low, 1e-12)
    return [(float(a), float(b)) for a, b in zip(low - margin, high + margin, strict=True)]


def _unit(values: FloatArray) -> FloatArray:
    return (values - values.min()) / max(float(np.ptp(values)), np.finfo(float).tiny)


def _draw_values(
    figure: Figure, axes: Axes, grid_x: FloatArray, grid_y: FloatArray, values: FloatArray
) -> None:
    surface = axes.contourf(
        grid_x, grid_y, values.reshape(_GRID, _GRID), levels=12, cmap="viridis", alpha=0.55
    )
    figure.colorbar(surface, ax=axes, label="prediction")


def _draw_classes(
    axes: Axes,
    grid_x: FloatArray,
    grid_y: FloatArray,
    machine: BaseEstimator,
    rows: object,
    classes: np.ndarray,
) -> None:
    """Tint each class where it is predicted, the stronger the surer, with its border."""
    from matplotlib.colors import to_rgba

    if hasattr(machine, "predict_proba"):
        chances = machine.predict_proba(rows)
    else:
        chances = (machine.predict(rows)[:, None] == classes).astype(np.float64)
    predicted = chances.argmax(axis=1).reshape(_GRID, _GRID)
    least = 1 / len(classes)
    sure = np.clip((chances.max(axis=1).reshape(_GRID, _GRID) - least) / (1 - least), 0, 1)
    tints = np.array([to_rgba(COLOURS[k % len(COLOURS)]) for k in range(len(classes))])
    image = tints[predicted]
    image[..., 3] = 0.06 + 0.34 * sure
    extent = (grid_x[0], grid_x[-1], grid_y[0], grid_y[-1])
    axes.imshow(image, extent=extent, origin="lower", aspect="auto", interpolation="bilinear")
    for k in range(len(classes)):
        # A class is predicted where it leads over the best of the others.
        lead = chances[:, k] - np.delete(chances, k, axis=1).max(axis=1)
        if lead.min() < 0 < lead.max():
            lead = lead.reshape(_GRID, _GRID)
            axes.contour(grid_x, grid_y, lead, levels=[0.0], colors=INK, linewidths=0.9)


def _draw_rows(
    axes: Any, missing: Any, means: FloatArray, spreads: FloatArray, colours: Any
) -> None:
    complete, both = ~missing.any(axis=1), missing.all(axis=1)
    axes.scatter(
        *means[complete].T, c=colours[complete], s=22, edgecolors="white", linewidths=0.6, zorder=4
    )
    for i in np.flatnonzero(~complete & ~both):
        reach = _SEGMENT * np.where(missing[i], spreads[i], 0.0)
        ends = np.stack([means[i] - reach, means[i] + reach])
        axes.plot(*ends.T, color=colours[i], linewidth=1.3, alpha=0.75, zorder=3)
    if both.any():
        from matplotlib.patches import Ellipse

        first = int(np.flatnonzero(both)[0])
        width, height = 2 * _SEGMENT * spreads[first]
        axes.add_patch(
            Ellipse(means[first], width, height, fill=False, edgecolor=INK, linestyle=":", zorder=3)
        )
        text = f"{int(both.sum())} with both missing"
        axes.annotate(text, means[first], color=INK, fontsize="x-small", ha="center", zorder=5)


def _label_classes(axes: Axes, classes: np.ndarray, which: object, means: FloatArray) -> None:
    """Write the name of each class at its most central row, where a legend would be."""
    scaled = means / np.maximum(np.ptp(means, axis=0), np.finfo(float).tiny)
    for k, name in enumerate(as_plot_labels([str(name) for name in classes])):
        rows = np.flatnonzero(which == k)
        if not len(rows):
            continue
        distances = np.abs(scaled[rows, None] - scaled[rows]).sum(axis=(1, 2))
        axes.annotate(
            name,
            means[rows[distances.argmin()]],
            xytext=(0, 9),
            textcoords="offset points",
            color=COLOURS[k % len(COLOURS)],
            fontweight="bold",
            fontsize="medium",
            ha="center",
            zorder=6,
            bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
        )
