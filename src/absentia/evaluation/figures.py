"""The pictures of a report: curves, a heat map, critical differences, times, calibration.

Each function returns a matplotlib figure. Absentia's own methods are drawn in warm colours and
thick lines, the rest in cool colours and thin ones, the same in every picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.evaluation.methods import METHODS
from absentia.evaluation.significance import Comparison

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "METRIC_LABELS",
    "calibration",
    "curves",
    "heat_map",
    "rank_curves",
    "rank_diagram",
    "times",
]

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
    "mar": "missing at random",
    "mnar": "missing not at random",
    "views": "whole views missing",
    "real": "",
    "": "",
}
_WARM = ("#b3261e", "#e8710a", "#8e24aa", "#d81b60", "#f4b400", "#6d1b1b", "#ff8a65")
_COOL = {
    "imputation": ("#1f6fb2", "#4fa3d9", "#12406b", "#86bce5", "#3f51b5", "#7c8fd6", "#00838f",
                   "#26a69a", "#90a4ae", "#546e7a", "#5e97c6", "#0d5c75"),
    "kernel": ("#2e7d32", "#8bc34a"),
    "learner": ("#3a3a3a", "#8d6e63", "#757575", "#a1887f"),
}  # fmt: skip
_MARKERS = "osD^vPX*<>hp"
_RULE = {"color": "#d9dce1", "linewidth": 0.8}


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("Pictures need matplotlib: pip install 'absentia[plot]'.") from None
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def style_of(method: str, order: Sequence[str]) -> dict[str, Any]:
    """Return colour, marker and line of a method, given the order of all methods shown."""
    kind = METHODS[method].kind if method in METHODS else _kind_by_name(method)
    same = [m for m in order if (METHODS[m].kind if m in METHODS else _kind_by_name(m)) == kind]
    place = same.index(method)
    if kind == "absentia":
        return {"color": _WARM[place % len(_WARM)], "linewidth": 2.4, "zorder": 4,
                "marker": "o", "markersize": 4.5, "linestyle": "-"}  # fmt: skip
    palette = _COOL[kind]
    return {"color": palette[place % len(palette)], "linewidth": 1.2, "zorder": 2,
            "marker": _MARKERS[place % len(_MARKERS)], "markersize": 3.5,
            "linestyle": {"imputation": "-", "kernel": "--", "learner": "-."}[kind]}  # fmt: skip


def _kind_by_name(method: str) -> str:
    """Return the kind of a method that only single protocols have."""
    return "absentia" if method == "egk-independent" else "learner"


def _methods_in_order(names: Sequence[str]) -> list[str]:
    known = [name for name in METHODS if name in set(names)]
    return known + sorted(set(names) - set(known))


def curves(scores: pd.DataFrame, metric: str, mechanism: str = "", variant: str = "") -> Figure:
    """Draw a metric against the share of missing values, one panel per data set."""
    chosen = scores[(scores["metric"] == metric)]
    if mechanism:
        chosen = chosen[chosen["mechanism"] == mechanism]
    if variant:
        chosen = chosen[chosen["variant"] == variant]
    sets = sorted(chosen["dataset"].unique())
    order = _methods_in_order(list(chosen["method"].unique()))
    columns = min(len(sets), 4 if len(sets) > 3 else max(len(sets), 1))
    rows = -(-len(sets) // columns)
    width = max(3.6 * columns, 7.2)
    # As many names side by side as the width has room for; the longest one decides.
    legend_columns = int(width / (0.7 + 0.065 * max(len(name) for name in order)))
    legend_columns = min(max(legend_columns, 1), 5)
    legend_rows = -(-len(order) // legend_columns)
    # One panel is wide enough to be drawn higher.
    height = 3.6 if len(sets) == 1 else 2.9 * rows
    figure = _figure(width, height + 0.22 * legend_rows + 0.5)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for panel, name in zip(panels, sets, strict=False):
        part = chosen[chosen["dataset"] == name]
        means = part.groupby(["method", "rate"])["value"].mean()
        for method in order:
            if method not in means.index.get_level_values(0):
                continue
            line = means[method].sort_index()
            (handles[method],) = panel.plot(
                100 * line.index, line.to_numpy(), label=method, **style_of(method, order)
            )
        panel.set_title(name.replace("_", " "), fontsize=10, loc="left", fontweight="bold")
        if metric == "fit_seconds":
            panel.set_yscale("log")
        _tidy(panel)
    for panel in panels[len(sets) :]:
        panel.set_visible(False)
    for k, panel in enumerate(panels[: len(sets)]):
        if k % columns == 0:
            panel.set_ylabel(METRIC_LABELS.get(metric, metric), fontsize=9)
        if k + columns >= len(sets):
            panel.set_xlabel("missing values, %", fontsize=9)
    figure.legend(
        [handles[m] for m in order],
        order,
        loc="outside lower center",
        ncols=legend_columns,
        frameon=False,
        fontsize=8.5,
    )
    return figure


def heat_map(table: pd.DataFrame, metric: str, *, lower_is_better: bool = False) -> Figure:
    """Draw data sets by methods: the number, coloured by how far it is from the row's best."""
    from matplotlib.colors import LinearSegmentedColormap

    values = table.to_numpy(dtype=float)
    sign = 1.0 if lower_is_better else -1.0
    best = np.nanmin(sign * values, axis=1, keepdims=True)
    loss = sign * values - best
    order = np.argsort(np.nanmean(_ranks(sign * values), axis=0), kind="stable")
    values, loss = values[:, order], loss[:, order]
    names = [str(name) for name in table.columns[order]]
    rows = [_row_name(key) for key in table.index]
    figure = _figure(2.3 + 0.62 * len(names), 1.35 + 0.33 * len(rows))
    panel = figure.subplots()
    colours = LinearSegmentedColormap.from_list(
        "loss", ["#1b7f5c", "#9fd3b9", "#f7f4ea", "#f2b48b", "#c2482f"]
    )
    scale = float(np.nanquantile(loss, 0.9)) or 1e-12
    panel.imshow(np.clip(loss / scale, 0, 1), cmap=colours, aspect="auto", vmin=0, vmax=1)
    decimals = 3 if np.nanmax(np.abs(values)) < 10 else 1
    for i, j in np.ndindex(*values.shape):
        if np.isfinite(values[i, j]):
            winner = loss[i, j] <= 1e-12
            panel.text(
                j, i, f"{values[i, j]:.{decimals}f}", ha="center", va="center", fontsize=7.5,
                fontweight="bold" if winner else "normal",
                color="white" if not 0.15 < loss[i, j] / scale <= 0.85 else "#1c1f24",
            )  # fmt: skip
        else:
            panel.text(j, i, "–", ha="center", va="center", fontsize=8, color="#8a8f98")
    panel.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize=8.5)
    panel.set_yticks(range(len(rows)), rows, fontsize=8.5)
    for label in panel.get_xticklabels():
        method = label.get_text()
        if (method in METHODS and METHODS[method].kind == "absentia") or (
            method not in METHODS and _kind_by_name(method) == "absentia"
        ):
            label.set_color(_WARM[0])
            label.set_fontweight("bold")
    panel.set_title(
        f"{METRIC_LABELS.get(metric, metric)}; colour: distance to the best of the row",
        fontsize=9, loc="left", color="#555b66",
    )  # fmt: skip
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
    return figure


def rank_diagram(comparison: Comparison) -> Figure:
    """Draw mean ranks with bars over methods without significant differences (Demsar's diagram)."""
    from scikit_posthocs import critical_difference_diagram

    k = len(comparison.ranks)
    figure = _figure(9.6, 1.3 + 0.24 * k)
    panel = figure.subplots()
    order = _methods_in_order(list(comparison.ranks.index))
    palette = {m: style_of(m, order)["color"] for m in comparison.ranks.index}
    critical_difference_diagram(
        comparison.ranks,
        comparison.pairwise,
        ax=panel,
        alpha=comparison.level,
        label_fmt_left="{label}  {rank:.2f}  ",
        label_fmt_right="  {rank:.2f}  {label}",
        label_props={"fontsize": 9},
        color_palette=palette,
        crossbar_props={"color": "#30343b", "linewidth": 3},
        text_h_margin=0.12,
    )
    end = 1.0 + comparison.critical_difference
    panel.plot([1.0, end], [1.7, 1.7], color="#b3261e", linewidth=2, clip_on=False)
    panel.text(
        1.0, 1.95, f"critical difference {comparison.critical_difference:.2f}", ha="left",
        va="bottom", fontsize=8, color="#b3261e",
    )  # fmt: skip
    return figure


def rank_curves(ranks: pd.DataFrame) -> Figure:
    """Draw mean ranks against the share of missing values, the best on top."""
    order = _methods_in_order([str(name) for name in ranks.columns])
    figure = _figure(8.6, 4.6)
    panel = figure.subplots()
    for method in order:
        panel.plot(100 * ranks.index, ranks[method], label=method, **style_of(method, order))
    panel.invert_yaxis()
    panel.set_xlabel("missing values, %", fontsize=9)
    panel.set_ylabel("mean rank", fontsize=9)
    panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    _tidy(panel)
    return figure


def dots(means: Mapping[str, float], errors: Mapping[str, float], label: str) -> Figure:
    """Draw a dot per method with two standard errors to either side, the best on top."""
    names = sorted(means, key=lambda name: means[name])
    order = _methods_in_order(names)
    figure = _figure(8.2, 1.0 + 0.3 * len(names))
    panel = figure.subplots()
    for y, name in enumerate(names):
        colour = style_of(name, order)["color"]
        reach = 2 * np.nan_to_num(errors[name])
        panel.plot([means[name] - reach, means[name] + reach], [y, y], color=colour, linewidth=2)
        panel.plot(means[name], y, "o", color=colour, markersize=7)
    panel.set_yticks(range(len(names)), names, fontsize=8.5)
    panel.set_xlabel(label, fontsize=9)
    _tidy(panel)
    return figure


def times(cells: pd.DataFrame) -> Figure:
    """Draw how long a cell took, by method: median, and the middle half, on a logarithmic axis."""
    chosen = cells[cells["error"] == ""]
    quartiles = chosen.groupby("method")["seconds"].quantile([0.25, 0.5, 0.75]).unstack()
    quartiles = quartiles.sort_values(0.5, ascending=False)
    order = _methods_in_order(list(quartiles.index))
    figure = _figure(8.2, 1.0 + 0.27 * len(quartiles))
    panel = figure.subplots()
    for y, (method, row) in enumerate(quartiles.iterrows()):
        colour = style_of(str(method), order)["color"]
        panel.plot([row[0.25], row[0.75]], [y, y], color=colour, linewidth=6, alpha=0.3,
                   solid_capstyle="round")  # fmt: skip
        panel.plot(row[0.5], y, "o", color=colour, markersize=6)
    _plain_log_axis(panel)
    panel.set_yticks(range(len(quartiles)), quartiles.index, fontsize=8.5)
    panel.set_xlabel("seconds for one cell: tuning, training and testing", fontsize=9)
    _tidy(panel)
    return figure


def calibration(cells: pd.DataFrame, methods: Sequence[str] | None = None) -> Figure:
    """Draw how often a prediction is right against how sure it was, pooled over all cells."""
    bins: dict[str, np.ndarray] = {}
    for method, facts in zip(cells["method"], cells["facts"], strict=True):
        if "calibration" in facts:
            bins[method] = bins.get(method, 0) + np.array(facts["calibration"])
    shown = [m for m in _methods_in_order(list(bins)) if methods is None or m in methods]
    figure = _figure(5.6, 5.0)
    panel = figure.subplots()
    panel.plot([0.3, 1], [0.3, 1], color="#9aa0a8", linewidth=1, linestyle=":", zorder=1)
    for method in shown:
        counts, confidence, right = bins[method].T
        enough = counts >= 20
        panel.plot(
            confidence[enough] / counts[enough], right[enough] / counts[enough], label=method,
            **style_of(method, shown),
        )  # fmt: skip
    panel.set_xlabel("how sure the prediction was", fontsize=9)
    panel.set_ylabel("how often it was right", fontsize=9)
    panel.legend(frameon=False, fontsize=7.5, ncols=2)
    _tidy(panel)
    return figure


def _tidy(panel: Any) -> None:
    panel.grid(True, **_RULE)
    panel.set_axisbelow(True)
    panel.tick_params(labelsize=8, length=0)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        panel.spines[side].set_color("#b8bdc6")


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


def _row_name(key: Any) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    return ", ".join(
        f"{100 * part:.0f} %" if isinstance(part, float) else str(part).replace("_", " ")
        for part in parts
        if part not in ("", "real")
    )
