"""Explanations of predictions: values of columns that add up to the prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.parameters import COUNT, shown
from absentia.pictures import COLOURS, FAINT, INK, pyplot, tidy
from absentia.tables import BoolArray, FloatArray, IntArray
from absentia.tables.stored import frozen

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_UP, _DOWN = COLOURS[1], COLOURS[0]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Values of the observed columns of rows, which add up to the predictions.

    The conditional Shapley values of ``v(S) = E[f(x) | x_S]``, the average prediction when only the
    columns in ``S`` are known: ``base + values.sum(axis=1) = prediction`` for every row.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_columns) or (n_samples, n_columns, n_outputs)
        The value of each column, zero for one that a row misses. Several classes or targets have
        an axis of their own, see :meth:`of`.
    base : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        ``v`` of nothing: the prediction for a row of which no value is known.
    prediction : ndarray of the same shape
        ``v`` of all observed values of the row.
    errors : ndarray of the shape of ``values``
        Standard errors of sampled values; zero for rows whose coalitions were enumerated.
    columns : tuple of str
        The names of the columns, or of groups of them.
    observed : ndarray of bool, shape (n_samples, n_columns)
        Which columns have a value.
    data : ndarray of object, shape (n_samples, n_columns)
        The cells of the rows, None where missing and for groups.
    output : str
        What is explained: ``"prediction"``, ``"probability"``, ``"log-odds"`` or ``"decision"``.
    outputs : tuple of str
        The names of the classes or targets, where there are several or where the output is about
        one class.
    loss_shares, loss_errors : ndarray of shape (n_columns,), or None
        Where targets were given: by how much knowing a column lowers the loss of the predictions,
        averaged over the rows, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelRidge, explain
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = explain(KernelRidge().fit(X, X[:, 0]), [[1.0, 1.0], [1.0, np.nan]])
    >>> bool(np.allclose(found.base + found.values.sum(axis=1), found.prediction))
    True
    """

    values: FloatArray
    base: FloatArray
    prediction: FloatArray
    errors: FloatArray
    columns: tuple[str, ...]
    observed: BoolArray
    data: np.ndarray
    output: str = "prediction"
    outputs: tuple[str, ...] = ()
    loss_shares: FloatArray | None = None
    loss_errors: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("values", "base", "prediction", "errors", "observed", "data"):
            object.__setattr__(self, name, frozen(getattr(self, name).view()))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    def __repr__(self) -> str:
        rows = f"{len(self)} row{'s' * (len(self) != 1)}"
        what = f"{self.output} of {self.outputs[0]!r}" if len(self.outputs) == 1 else self.output
        if len(self) == 1 and self.values.ndim == 2:
            order = _largest(np.abs(self.values[0]), 5)
            parts = [f"({self.columns[j]} {self.values[0, j]:+.3g})" for j in order]
            parts += ["..."] if len(order) < np.count_nonzero(self.values) else []
            total = f"{self.prediction[0]:.3g} = {self.base[0]:.3g} {' '.join(parts)}"
            return f"Explanation of 1 row, {what}: {total}"
        parts = [
            f"{self.columns[j]} {self.importance[j]:.3g}" for j in _largest(self.importance, 5)
        ]
        return f"Explanation of {rows}, {what}; mean absolute values: {', '.join(parts)}"

    @property
    def importance(self) -> FloatArray:
        """The mean absolute value of each column over rows and outputs, shape (n_columns,)."""
        size = np.abs(self.values).reshape(*self.values.shape[:2], -1).mean(axis=2)
        return size.mean(axis=0)

    def of(self, output: str | int) -> Explanation:
        """Return the explanation of one class or target, by its name or its number."""
        names = list(self.outputs)
        at = names.index(str(output)) if str(output) in names else output
        if self.values.ndim == 2 or not isinstance(at, int) or not 0 <= at < len(names):
            known = ", ".join(map(repr, names)) if self.values.ndim > 2 else "one output only"
            raise ValueError(f"There is no output {shown(output)}; this explanation has {known}.")
        numbers = ("values", "base", "prediction", "errors")
        parts: dict[str, Any] = {name: getattr(self, name)[..., at] for name in numbers}
        return replace(self, outputs=(names[at],), **parts)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one line per row (and output): prediction, base, values."""
        import pandas as pd

        if self.values.ndim > 2:
            parts = {name: self.of(k).to_frame() for k, name in enumerate(self.outputs)}
            frame = pd.concat(parts, names=["output"]).reset_index(level=0)
            return frame.sort_values("row", kind="stable", ignore_index=True)
        data = {"row": np.arange(len(self)), "prediction": self.prediction, "base": self.base}
        data |= {f"value_{name}": self.values[:, j] for j, name in enumerate(self.columns)}
        if self.errors.any():
            data |= {f"error_{name}": self.errors[:, j] for j, name in enumerate(self.columns)}
        return pd.DataFrame(data)

    def ranked(self, top: int = 5) -> pd.DataFrame:
        """Return the observed columns with the largest values, as a pandas frame.

        Columns ``row`` (counted from 1), ``class`` where there are classes, ``prediction``,
        ``base``, ``column`` and ``value``. Of several outputs the largest prediction counts.
        """
        import pandas as pd

        COUNT.check("top", top)
        entries = []
        for row in range(len(self)):
            at = int(np.argmax(self.prediction[row]))  # 0 for a single output
            values = self.values[row].reshape(len(self.columns), -1)[:, at]
            ends = (float(np.ravel(part[row])[at]) for part in (self.prediction, self.base))
            line = (row + 1, self.outputs[at] if self.outputs else "", *ends)
            known = np.flatnonzero(self.observed[row])
            best = known[np.argsort(-np.abs(values[known]), kind="stable")][:top]
            entries += [(*line, self.columns[j], values[j]) for j in best]
        names = ["row", "class", "prediction", "base", "column", "value"]
        found = pd.DataFrame(entries, columns=names)
        return found if self.outputs else found.drop(columns="class")

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``, for the plots of shap, which must be installed."""
        try:
            shap: Any = import_module("shap")
        except ImportError as error:
            raise ImportError("to_shap needs shap: pip install shap.") from error
        return shap.Explanation(
            values=np.array(self.values),
            base_values=np.array(self.base),
            data=np.array(self.data),
            feature_names=list(self.columns),
            output_names=list(self.outputs) if self.values.ndim > 2 else None,
        )

    def plot(self, row: int | None = None, max_columns: int = 12) -> Figure:
        """Draw a waterfall of one row, or a point per row and column for several rows.

        Parameters
        ----------
        row : int, optional
            The row to draw; by default all of them, or the only one.
        max_columns : int, default=12
            How many columns to show, those with the largest values first.

        Returns
        -------
        matplotlib Figure
            One panel per class or target.
        """
        COUNT.check("max_columns", max_columns)
        if row is not None and not -len(self) <= row < len(self):
            raise ValueError(f"row must be one of the {len(self)} rows, found {shown(row)}.")
        row = 0 if row is None and len(self) == 1 else row
        panels = [self] if self.values.ndim == 2 else [self.of(k) for k in range(len(self.outputs))]
        lines = min(max_columns + 2, len(self.columns) + 2)
        figure, grid = pyplot().subplots(
            len(panels),
            1,
            figsize=(6.8, len(panels) * (0.9 + 0.32 * lines)),
            squeeze=False,
            layout="constrained",
        )
        for axes, part in zip(grid[:, 0], panels, strict=True):
            if row is None:
                draw_rows(axes, part, max_columns)
            else:
                draw_row(axes, part, int(row) % len(self), max_columns)
            tidy(axes)
        return figure


def _largest(sizes: FloatArray, most: int) -> IntArray:
    order = np.argsort(-sizes, kind="stable")[:most]
    return order[sizes[order] > 0]


def _label(found: Explanation) -> str:
    return f"{found.output} of {found.outputs[0]}" if found.outputs else found.output


def draw_row(axes: Axes, found: Explanation, row: int, max_columns: int) -> None:
    """Draw a waterfall: from the base, bar by bar, to the prediction."""
    values, errors = found.values[row], found.errors[row]
    order = _largest(np.abs(values), max_columns)
    others = np.setdiff1d(np.flatnonzero(found.observed[row]), order)
    bars = [(_named_cell(found, row, j), values[j], errors[j]) for j in order]
    if len(others) and np.abs(values[others]).sum() > 0:
        bars.append((f"{len(others)} other columns", values[others].sum(), 0.0))
    start = float(found.base[row])
    for place, (_, value, error) in enumerate(reversed(bars)):
        axes.barh(place, value, left=start, color=_UP if value > 0 else _DOWN, height=0.6)
        if error > 0:
            axes.errorbar(start + value, place, xerr=error, color=INK, linewidth=1)
        axes.text(
            start + max(value, 0.0), place, f" {value:+.3g}", va="center", color=INK, fontsize=8
        )
        start += value
        axes.plot([start, start], [place - 0.3, place + 1.3], color=FAINT, linewidth=1)
    axes.set_yticks(range(len(bars)), [name for name, *_ in reversed(bars)], parse_math=False)
    axes.axvline(float(found.base[row]), color=FAINT, linestyle=":", zorder=0)
    axes.axvline(float(found.prediction[row]), color=INK, linestyle=":", zorder=0)
    axes.use_sticky_edges = False
    axes.margins(x=0.15)
    axes.set(xlabel=_label(found))
    axes.set_title(
        f"row {row}: {found.prediction[row]:.3g}, where {found.base[row]:.3g} is the average"
    )


def _named_cell(found: Explanation, row: int, column: int) -> str:
    cell = found.data[row, column]
    if cell is None or cell != cell:  # a group, or a limit
        return found.columns[column]
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)[:20]
    return f"{found.columns[column]} = {text}"


def draw_rows(axes: Axes, found: Explanation, max_columns: int) -> None:
    """Draw a point for each row and column, spread where they are dense, coloured by the cell."""
    order = _largest(found.importance, max_columns)
    colours = pyplot().get_cmap("cividis")
    for place, j in enumerate(order[::-1]):
        rows = np.flatnonzero(found.observed[:, j])
        values = found.values[rows, j]
        bins = np.floor(40 * (values - values.min()) / (np.ptp(values) or 1.0))
        height = np.zeros(len(rows))
        for one in np.unique(bins):
            here = np.flatnonzero(bins == one)
            height[here] = (np.arange(len(here)) + 1) // 2 * (-1.0) ** np.arange(len(here))
        height *= 0.38 / max(1.0, np.abs(height).max(initial=0.0))
        ranks = _ranks(found.data[rows, j])
        points = colours(ranks) if ranks is not None else [FAINT]
        axes.scatter(values, place + height, c=points, s=9, linewidths=0)
    axes.axvline(0.0, color=FAINT, linewidth=1, zorder=0)
    axes.set_yticks(range(len(order)), [found.columns[j] for j in order[::-1]], parse_math=False)
    axes.set(xlabel=f"value for the {_label(found)} (light: high values of the column)")


def _ranks(cells: np.ndarray) -> FloatArray | None:
    """Return numbers as ranks from 0 to 1; None for cells that are not numbers."""
    if not len(cells) or not all(isinstance(cell, int | float) for cell in cells):
        return None
    _, ranks = np.unique(cells.astype(np.float64), return_inverse=True)
    return np.asarray(ranks / max(1, ranks.max(initial=0)), dtype=np.float64)
