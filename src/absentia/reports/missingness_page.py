"""A missingness report as a page, and as a small table for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from absentia.pictures import pyplot
from absentia.reports.report_page import Page
from absentia.reports.safe_text import printable

if TYPE_CHECKING:
    from absentia.reports.missingness_report import MissingnessReport

__all__ = ["missingness_page", "notebook_table"]

_SHOWN_PATTERNS, _SHOWN_IN_NOTEBOOK = 200, 12


def missingness_page(report: MissingnessReport, title: str) -> str:
    """Return a page that stands alone; see :meth:`MissingnessReport.to_html`."""
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
    little = (printable(line).strip().rstrip(".") for line in report.test_lines())
    page.verdict(" ".join(f"{line}." for line in little))
    page.section("At a glance")
    figure = report.plot()
    page.picture(figure, "Shares by column, the commonest patterns, and what goes missing together")
    pyplot().close(figure)
    page.section("By column")
    page.table(
        pd.DataFrame(
            {
                "column": [printable(name) for name in report.columns],
                "missing": np.round(report.column_rates * n).astype(int),
                "missing, %": 100 * report.column_rates,
            }
        ),
        decimals=1,
    )
    page.section("Patterns")
    shown = report.commonest_patterns(_SHOWN_PATTERNS)
    page.table(
        pd.DataFrame(
            {
                "rows": report.patterns.counts[shown],
                "missing columns": [
                    ", ".join(printable(report.columns[j]) for j in np.flatnonzero(mask)) or "none"
                    for mask in report.patterns.masks[shown]
                ],
            }
        )
    )
    pairs = report.strongest_pairs(30)
    if pairs:
        page.section("Missing together")
        page.table(
            pd.DataFrame(
                {
                    "column": [printable(report.columns[i]) for i, _, _ in pairs],
                    "and": [printable(report.columns[j]) for _, j, _ in pairs],
                    "correlation of missingness": [strength for _, _, strength in pairs],
                }
            )
        )
    if report.notes:
        page.section("Notes")
        for note in report.notes:
            page.paragraph(printable(note))
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
