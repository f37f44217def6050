"""The pictures of a report: curves, a heat map, critical differences, times, calibration.

Each function returns a matplotlib figure. Absentia's own methods have one colour and filled
markers, rivals another and open markers. Where many methods share an axis, every panel shows one
of them in front of all others, so that no legend is needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.optional_imports import optional_import
from absentia.pictures import FAINT, INK, KNOWN, MISSING, tidy
from lab.experiments.methods import METHODS
from lab.experiments.reporting.significance import Comparison

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How a line is drawn, by matplotlib's words.
Look = dict[str, Any]

METRIC_LABELS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "score": "accuracy or R²",
    "r2": "R²",
    "roc_auc": "area under the ROC curve",
    "error": "classification error",
    "rmse": "root mean squared error",
    "log_loss": "log loss",
    "log_loss_area": "mean log loss while the budget is spent",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "crps": "CRPS, in standard deviations of the target",
    "coverage_90": "coverage of 90 % intervals",
    "fit_seconds": "seconds to train",
    "matrix_distance": "relative distance to the true kernel matrix",
}
MECHANISM_LABELS = {
    "mcar": "missing completely at random",
    "mcar-rows": "missing completely at random, as many in each row",
    "mar": "missing at random",
    "mar-distance": "missing at random by the distance itself",
    "mar-exempt": "missing at random, anchor rows exempt",
    "mnar": "missing not at random",
    "views": "whole views missing",
    "real": "",
    "": "",
}
_OURS_IN_ONE_SUITE = ("egk-independent", "measure-next")
#: Absentia's own methods, the rivals, and whatever is only there for comparison.
OURS, RIVAL, OTHERS = MISSING, "#0072b2", "#c4cad3"


def is_ours(method: str) -> bool:
    """Return whether a method is one of absentia's own."""
    if method in METHODS:
        return METHODS[method].kind == "absentia"
    return method in _OURS_IN_ONE_SUITE


def _look_of(method: str) -> Look:
    """Return how markers and lines of a method are drawn."""
    colour = OURS if is_ours(method) else RIVAL
    return {"color": colour, "markerfacecolor": colour if is_ours(method) else "white"}


def curves(
    scores: pd.DataFrame,
    metric: str,
    mechanism: str = "",
    variant: str = "",
    *,
    lower_is_better: bool = False,
) -> Figure:
    """Draw a metric against the share of missing values, one panel per data set.

    Absentia's best method on average, its ``genrbf`` and the best rival are named and drawn in
    front of all others, which are grey.
    """
    chosen = scores[scores["metric"] == metric]
    for column, value in (("mechanism", mechanism), ("variant", variant)):
        if value:
            chosen = chosen[chosen[column] == value]
    table = chosen.pivot_table(index=["dataset", "rate"], columns="method", values="value")
    front = _named(table, lower_is_better)
    sets = sorted(chosen["dataset"].unique())
    figure, panels = _panels(len(sets), across=4, width=2.9, height=2.2)
    for panel, name in zip(panels, sets, strict=True):
        lines = table.loc[name].dropna(axis=1, how="all")
        _one_in_front(panel, lines)
        for method, look in front.items():
            if method in lines.columns:
                line = lines[method].dropna()
                panel.plot(100 * line.index, line.to_numpy(), **look)
        _name_panel(panel, str(name).replace("_", " "), INK)
        if metric == "fit_seconds":
            panel.set_yscale("log")
    _label_edges(panels, METRIC_LABELS.get(metric, metric), "missing values, %")
    _key(figure, front, table.columns)
    return figure


def heat_map(table: pd.DataFrame, metric: str, *, lower_is_better: bool = False) -> Figure:
    """Draw data sets by methods: the number, shaded by how far it is from the row's best."""
    from matplotlib.colors import LinearSegmentedColormap

    values = table.to_numpy(dtype=float)
    sign = 1.0 if lower_is_better else -1.0
    loss = sign * values - np.nanmin(sign * values, axis=1, keepdims=True)
    order = np.argsort(np.nanmean(_ranks(sign * values), axis=0), kind="stable")
    values, loss = values[:, order], loss[:, order]
    names = [str(name) for name in table.columns[order]]
    rows = [_row_name(key) for key in table.index]
    figure = _figure(2.3 + 0.62 * len(names), 1.35 + 0.3 * len(rows))
    panel = figure.subplots()
    # One hue: lightness alone carries the meaning, in print and for colour-blind readers.
    colours = LinearSegmentedColormap.from_list("loss", ["#ffffff", "#9ecae1", KNOWN])
    scale = float(np.nanquantile(loss, 0.9)) or 1e-12
    panel.imshow(np.clip(loss / scale, 0, 1), cmap=colours, aspect="auto", vmin=0, vmax=1)
    decimals = 3 if np.nanmax(np.abs(values)) < 10 else 1
    for i, j in np.ndindex(*values.shape):
        known = np.isfinite(values[i, j])
        panel.text(
            j, i, f"{values[i, j]:.{decimals}f}" if known else "–", ha="center", va="center",
            fontsize=7.5, fontweight="bold" if loss[i, j] <= 1e-12 else "normal",
            color="white" if known and loss[i, j] > 0.6 * scale else INK,
        )  # fmt: skip
    panel.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=8.5)
    panel.set_yticks(range(len(rows)), rows, fontsize=8.5)
    for label, name in zip(panel.get_xticklabels(), names, strict=True):
        label.set_color(OURS if is_ours(name) else INK)
        label.set_fontweight("bold" if is_ours(name) else "normal")
    panel.set_title(
        f"{METRIC_LABELS.get(metric, metric)}; the darker, the farther from the best of the row",
        fontsize=9, loc="left", color=INK,
    )  # fmt: skip
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    return figure


def rank_diagram(comparison: Comparison) -> Figure:
    """Draw mean ranks, each with half a critical difference to either side, the best on top.

    Two methods differ significantly exactly where their intervals do not overlap, which is what
    the bars of Demšar (2006) show, one interval per method instead of one bar per clique.
    """
    half = comparison.critical_difference / 2
    ranks = comparison.ranks[::-1]
    figure = _dots_with_intervals(
        [(str(name), rank - half, rank, rank + half) for name, rank in ranks.items()],
        "mean rank, and half a critical difference to either side "
        f"({comparison.critical_difference:.2f} in all); 1 is best",
    )
    best = comparison.ranks.iloc[0]
    figure.axes[0].axvspan(best - half, best + half, color=FAINT, alpha=0.35, linewidth=0)
    return figure


def rank_curves(ranks: pd.DataFrame) -> Figure:
    """Draw mean ranks against the share of missing values, the best on top, a panel per method."""
    names = sorted(map(str, ranks.columns), key=lambda name: ranks[name].mean())
    figure, panels = _panels(len(names), across=5, width=2.0, height=1.6, share=True)
    for panel, method in zip(panels, names, strict=True):
        _one_in_front(panel, ranks, method)
        _name_panel(panel, method, OURS if is_ours(method) else INK)
    panels[0].invert_yaxis()
    _label_edges(panels, "mean rank", "missing values, %")
    return figure


def dots(
    means: Mapping[str, float],
    errors: Mapping[str, float],
    label: str,
    baseline: float | None = None,
) -> Figure:
    """Draw a dot per method with two standard errors to either side, the best on top.

    The order is that of ``means``, best first; ``baseline`` is the score of the best constant
    answer, a dashed line.
    """
    names = list(means)[::-1]
    reach = {name: 2 * float(np.nan_to_num(errors[name])) for name in names}
    figure = _dots_with_intervals(
        [
            (name, means[name] - reach[name], means[name], means[name] + reach[name])
            for name in names
        ],
        label,
    )
    if baseline is not None:
        panel = figure.axes[0]
        panel.axvline(baseline, color=INK, linewidth=1, linestyle=(0, (3, 2)), zorder=1)
        panel.annotate(
            f"best constant answer {baseline:.3f}", (baseline, 1.0),
            xycoords=("data", "axes fraction"), xytext=(0, 3),
            textcoords="offset points", ha="center", fontsize=8, color=INK,
        )  # fmt: skip
    return figure


def times(cells: pd.DataFrame) -> Figure:
    """Draw how long a cell took, by method: median, and the middle half, on a logarithmic axis."""
    chosen = cells[cells["error"] == ""]
    quartiles = chosen.groupby("method")["seconds"].quantile([0.25, 0.5, 0.75]).unstack()
    quartiles = quartiles.sort_values(0.5, ascending=False)
    figure = _dots_with_intervals(
        [(str(method), *row) for method, *row in quartiles.itertuples()],
        "seconds for one cell: tuning, training and testing",
    )
    _plain_log_axis(figure.axes[0])
    return figure


def calibration(cells: pd.DataFrame, methods: Sequence[str] | None = None) -> Figure:
    """Draw how often a prediction is right against how sure it was, pooled, a panel per method."""
    bins: dict[str, np.ndarray] = {}
    for method, facts in zip(cells["method"], cells["facts"], strict=True):
        if "calibration" in facts and (methods is None or method in methods):
            bins[method] = bins.get(method, 0) + np.array(facts["calibration"])
    figure, panels = _panels(len(bins), across=5, width=2.0, height=1.9, share=True)
    for panel, method in zip(panels, _in_order(bins), strict=True):
        panel.plot([0.3, 1], [0.3, 1], color=OTHERS, linewidth=1, zorder=1)
        counts, confidence, right = bins[method].T
        enough = counts >= 20
        panel.plot(
            confidence[enough] / counts[enough], right[enough] / counts[enough], marker="o",
            markersize=4, linewidth=1.2, **_look_of(method),
        )  # fmt: skip
        _name_panel(panel, method, OURS if is_ours(method) else INK)
    _label_edges(panels, "how often it was right", "how sure the prediction was")
    return figure


# ------------------------------------------------------------------ parts of pictures


def _figure(width: float, height: float) -> Figure:
    figure = optional_import("matplotlib.figure", "plot", "A picture")
    return figure.Figure(figsize=(width, height), layout="constrained", facecolor="white")


def _panels(
    number: int, *, across: int, width: float, height: float, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure of small panels, and the panels row by row."""
    across = min(across, number)
    down = -(-number // across)
    figure = _figure(max(width * across, 6.0), height * down + 0.6)
    grid = figure.subplots(down, across, squeeze=False, sharex=share, sharey=share).ravel()
    for panel in grid[number:]:
        panel.set_visible(False)
    panels = [tidy(panel) for panel in grid[:number]]
    for k, panel in enumerate(panels):
        # The last panel of a column has the ticks, also where the row below it is not full.
        panel.tick_params(labelbottom=k + across >= number or not share)
    return figure, panels


def _one_in_front(panel: Axes, lines: pd.DataFrame, front: str = "") -> None:
    """Draw the columns of a table against its index in per cent, all but one of them in grey."""
    for name in lines.columns:
        line = lines[name].dropna()
        look: Look = {"color": OTHERS, "linewidth": 0.8, "zorder": 1}
        if name == front:
            look = {"linewidth": 2, "zorder": 3, "marker": "o", "markersize": 3, **_look_of(name)}
        panel.plot(100 * line.index, line.to_numpy(), **look)


def _named(table: pd.DataFrame, lower_is_better: bool) -> dict[str, Look]:
    """Return how the methods that stand in front are drawn: our best, genrbf, the best rival."""
    sign = 1.0 if lower_is_better else -1.0
    # Ranks within a row, over methods that were run everywhere: means of scores would follow the
    # data set with the largest spread.
    complete = table.dropna(axis=1)
    complete = complete.drop(columns=[c for c in ("complete",) if c in complete.columns])
    order = (sign * complete).rank(axis=1).mean().sort_values(kind="stable").index
    ours = [name for name in order if is_ours(name)]
    rivals = [name for name in order if not is_ours(name)]
    looks: dict[str, Look] = {}
    for name in ours[:1]:
        looks[name] = {"color": OURS, "linewidth": 2.2, "zorder": 4}
    for name in rivals[:1]:
        looks[name] = {"color": RIVAL, "linewidth": 2.0, "zorder": 3}
    if "genrbf" in ours[1:]:
        looks["genrbf"] = {"color": OURS, "linewidth": 1.4, "zorder": 3, "linestyle": (0, (4, 1.5))}
    return looks


def _key(figure: Figure, front: Mapping[str, Look], methods: Sequence[str]) -> None:
    """Name the lines in front, in their colours, and the grey ones in one phrase."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **look) for look in front.values()]
    labels = [f"{name} ({'ours' if is_ours(name) else 'the best rival'})" for name in front]
    if len(methods) > len(front):
        handles.append(Line2D([], [], color=OTHERS, linewidth=0.8))
        labels.append(f"{len(methods) - len(front)} others")
    figure.legend(
        handles, labels, loc="outside upper left", frameon=False, fontsize=9, labelcolor=INK,
        ncols=len(handles) if figure.get_figwidth() > 8 else 2,
    )  # fmt: skip


def _dots_with_intervals(rows: Sequence[tuple[str, float, float, float]], label: str) -> Figure:
    """Draw a line from low to high and a dot between them for each name, the last one on top."""
    figure = _figure(8.2, 1.0 + 0.28 * len(rows))
    panel = tidy(figure.subplots())
    for y, (name, low, middle, high) in enumerate(rows):
        look = _look_of(name)
        panel.plot([low, high], [y, y], color=look["color"], linewidth=1.6, zorder=2)
        panel.plot(middle, y, "o", markersize=6.5, zorder=3, **look)
    panel.set_yticks(range(len(rows)), [name for name, *_ in rows], fontsize=8.5)
    for tick, (name, *_) in zip(panel.get_yticklabels(), rows, strict=True):
        tick.set_color(OURS if is_ours(name) else INK)
    panel.set_xlabel(label, fontsize=9)
    panel.grid(axis="x", color=FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    return figure


def _name_panel(panel: Axes, name: str, colour: str) -> None:
    panel.set_title(name, loc="left", fontsize=8.5, fontweight="bold", color=colour)


def _label_edges(panels: Sequence[Axes], vertical: str, horizontal: str) -> None:
    """Label the axes of a figure once, not once per panel."""
    figure = panels[0].figure
    figure.supxlabel(horizontal, fontsize=9, color=INK)
    figure.supylabel(vertical, fontsize=9, color=INK)


def _in_order(names: Mapping[str, object]) -> list[str]:
    known = [name for name in METHODS if name in names]
    return known + sorted(set(names) - set(known))


def _plain_log_axis(panel: Axes) -> None:
    """Make the horizontal axis logarithmic, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())


def _ranks(values: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    ranks: np.ndarray = rankdata(values, axis=1, nan_policy="omit")
    return ranks


def _row_name(key: Hashable) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    return ", ".join(
        f"{100 * part:.0f} %" if isinstance(part, float) else str(part).replace("_", " ")
        for part in parts
        if part not in ("", "real")
    )
