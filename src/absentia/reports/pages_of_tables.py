"""Page and picture of what is missing from a table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.pictures import FAINT, INK, MISSING, pyplot
from absentia.reports.report_page import Page
from absentia.reports.safe_text import as_plot_labels, printable
from absentia.tables import FloatArray
from absentia.tables.phrases import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from absentia.reports.missingness_report import MissingnessReport

_SHOWN_PATTERNS, _SHOWN_IN_NOTEBOOK = 200, 12


def missingness_page(report: MissingnessReport, title: str) -> str:
    """Return a self-contained page; see :meth:`MissingnessReport.to_html`."""
    import pandas as pd

    n = report.n_samples
    page = Page(title, "What is missing, where, and whether it looks random")
    page.tiles(
        {
            "rows": f"{n:,}",
            "columns": f"{len(report.columns):,}",
            "values missing": f"{100 * report.rate:.1f} %",
            "complete rows": f"{report.n_complete_rows:,}",
            "patterns": f"{len(report.patterns.masks):,}",
        }
    )
    little = (line.strip().rstrip(".") for line in report.test_lines())
    page.verdict(" ".join(f"{line}." for line in little))
    page.section("At a glance")
    figure = report.plot()
    page.picture(figure, "Shares by column, the commonest patterns, and what goes missing together")
    pyplot().close(figure)
    page.section("By column")
    names = report.columns
    by_column = pd.DataFrame({"column": names})
    by_column["missing"] = np.round(report.column_rates * n).astype(int)
    by_column["missing, %"] = 100 * report.column_rates
    page.table(by_column, decimals=1)
    page.section("Patterns")
    shown = report.commonest_patterns(_SHOWN_PATTERNS)
    patterns = pd.DataFrame({"rows": report.patterns.counts[shown]})
    patterns["missing columns"] = [
        ", ".join(names[j] for j in np.flatnonzero(mask)) or "none"
        for mask in report.patterns.masks[shown]
    ]
    page.table(patterns)
    pairs = [(names[i], names[j], strength) for i, j, strength in report.strongest_pairs(30)]
    if pairs:
        page.section("Missing together")
        page.table(pd.DataFrame(pairs, columns=["column", "and", "correlation of missingness"]))
    if report.notes:
        page.section("Notes")
        for note in report.notes:
            page.paragraph(note)
    return page.render()


def notebook_table(report: MissingnessReport) -> str:
    """Return the columns that miss most, as a table with bars; every name is escaped."""
    order = np.argsort(-report.column_rates, kind="stable")[:_SHOWN_IN_NOTEBOOK]
    rows = "".join(
        f"<tr><th>{escape(printable(report.columns[j]))}</th>"
        f"<td>{100 * report.column_rates[j]:.1f} %</td>"
        f'<td><meter min="0" max="1" value="{report.column_rates[j]:.4f}"></meter></td></tr>'
        for j in order
    )
    more = len(report.columns) - len(order)
    rest = f"<p>and {more:,} more columns</p>" if more else ""
    return (
        f"<div><p>{escape(repr(report))}</p><table><thead><tr><th>column</th><th>missing</th>"
        f"<th></th></tr></thead><tbody>{rows}</tbody></table>{rest}</div>"
    )


def draw_missingness(report: MissingnessReport, max_columns: int, max_patterns: int) -> Figure:
    """Draw a report as one figure of three panels; see :meth:`MissingnessReport.plot`."""
    order = np.argsort(-report.column_rates[report.compared], kind="stable")[:max_columns]
    columns = report.compared[np.sort(order)]
    patterns = report.commonest_patterns(max_patterns)
    names = as_plot_labels([report.columns[j] for j in columns])
    width = max(7.5, 2.5 + 0.26 * len(columns))
    # The lower panel is square cells, so its height follows from its width.
    heights = (1.5, max(1.2, 0.24 * len(patterns)), 0.62 * width)
    size = (width, sum(heights) + 2.4)
    figure, (rates, masks, together) = pyplot().subplots(
        3, 1, figsize=size, height_ratios=heights, layout="constrained"
    )
    _draw_rates(rates, report.column_rates[columns])
    _draw_patterns(masks, report, columns, patterns, names)
    image = _draw_together(together, report.together[np.ix_(np.sort(order), np.sort(order))], names)
    figure.colorbar(image, ax=together, shrink=0.8, label="correlation of missingness")
    left_out = len(report.columns) - len(columns)
    shown = f"; the {len(columns)} columns with the most missing values" if left_out else ""
    figure.suptitle(
        f"{100 * report.rate:.1f} % missing from {counted(report.n_samples, 'row')} of "
        f"{counted(len(report.columns), 'column')}{shown}",
        color=INK,
        fontsize="medium",
        fontweight="bold",
    )
    return figure


def _draw_rates(axes: Axes, shares: FloatArray) -> None:
    places = np.arange(len(shares))
    axes.vlines(places, 0, 100 * shares, color=FAINT, linewidth=1)
    axes.plot(places, 100 * shares, "o", color=MISSING, markersize=4, clip_on=False)
    axes.set(xlim=(-0.5, len(shares) - 0.5), xticks=[], ylabel="missing, %")
    axes.set_ylim(0, max(1.0, 110 * float(shares.max())))
    axes.spines[["top", "right"]].set_visible(False)


def _draw_patterns(
    axes: Axes, report: MissingnessReport, columns: Any, patterns: Any, names: list[str]
) -> None:
    from matplotlib.colors import ListedColormap

    cells = report.patterns.masks[np.ix_(patterns, columns)]
    colours = ListedColormap([FAINT, MISSING])
    axes.pcolormesh(cells[::-1], cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=1.0)
    counts = report.patterns.counts[patterns][::-1]
    shown = [f"{count:,}" for count in counts]
    axes.set_yticks(np.arange(len(counts)) + 0.5, shown, fontsize="small")
    axes.set_ylabel("rows with the pattern")
    axes.set_xticks(np.arange(len(names)) + 0.5, names, rotation=90, fontsize="small")
    hidden = len(report.patterns.masks) - len(patterns)
    rest = f" (and {hidden:,} more)" if hidden else ""
    axes.set_title(f"commonest patterns{rest}: missing in orange", fontsize="small", color=INK)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _draw_together(axes: Axes, correlation: FloatArray, names: list[str]) -> Any:
    image = axes.imshow(correlation, cmap="RdBu_r", vmin=-1, vmax=1)
    ticks = np.arange(len(names))
    axes.set_xticks(ticks, names, rotation=90, fontsize="small")
    axes.set_yticks(ticks, names, fontsize="small")
    axes.set_title("which columns go missing together", fontsize="small", color=INK)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return image
