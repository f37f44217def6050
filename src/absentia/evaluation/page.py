"""A page of HTML that stands alone: pictures inside, tables that sort when a heading is clicked."""

from __future__ import annotations

import base64
import html
import io
import math
from typing import Any

__all__ = ["Page", "table_html"]

_STYLE = """
:root { --ink: #1c1f24; --soft: #5b6270; --line: #e3e6eb; --paper: #ffffff; --ground: #f5f6f8;
  --accent: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.55 -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 36px 24px 80px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin: 0 0 12px; }
p { margin: 0 0 12px; max-width: 78ch; }
.source { color: var(--soft); margin-bottom: 18px; }
.verdict { font-size: 17px; border-left: 4px solid var(--accent); padding: 4px 0 4px 14px;
  margin: 0 0 22px; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 0 0 26px; padding: 0; }
.tile { background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
  padding: 10px 18px; min-width: 118px; }
.tile b { display: block; font-size: 22px; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 12px;
  padding: 22px 24px; margin: 0 0 20px; }
figure { margin: 0 0 14px; }
figure img { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: 13.5px; margin-top: 6px; max-width: 90ch; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px; border-bottom: 1px solid var(--line); text-align: left;
  white-space: nowrap; }
td.wrap { white-space: normal; min-width: 200px; }
th.number, td.number { text-align: right; }
th { cursor: pointer; user-select: none; position: sticky; top: 0; background: var(--paper);
  border-bottom: 2px solid #c9ced6; }
th:hover { color: var(--accent); }
th[data-sorted="up"]::after { content: " \\2191"; }
th[data-sorted="down"]::after { content: " \\2193"; }
tbody tr:hover { background: #faf5f4; }
td.best { font-weight: 700; color: var(--accent); }
details summary { cursor: pointer; color: var(--soft); margin: 4px 0 10px; }
nav { margin: 0 0 22px; font-size: 14px; }
nav a { color: var(--soft); margin-right: 16px; text-decoration: none; }
nav a:hover { color: var(--accent); }
footer { color: var(--soft); font-size: 13px; margin-top: 26px; }
@media print { body { background: white; } section { break-inside: avoid; border: 0; } }
"""
_SCRIPT = """
const heads = document.querySelectorAll("table.sortable th");
heads.forEach(head => head.addEventListener("click", () => {
  const table = head.closest("table"), column = [...head.parentNode.children].indexOf(head);
  const up = head.dataset.sorted !== "up";
  table.querySelectorAll("th").forEach(other => delete other.dataset.sorted);
  head.dataset.sorted = up ? "up" : "down";
  const key = row => { const cell = row.children[column];
    const text = cell.dataset.value ?? cell.textContent, number = parseFloat(text);
    return text !== "" && !isNaN(number) && head.classList.contains("number") ? number : text; };
  const missing = value => value === "" || value === "\\u2013";
  const rows = [...table.tBodies[0].rows].sort((a, b) => { const x = key(a), y = key(b);
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    const order = typeof x === "number" && typeof y === "number" ? x - y
      : String(x).localeCompare(String(y));
    return up ? order : -order; });
  rows.forEach(row => table.tBodies[0].append(row));
}));
"""


class Page:
    """A page that is put together section by section."""

    def __init__(self, title: str, subtitle: str = ""):
        self.title = title
        self._subtitle = subtitle
        self._head: list[str] = []
        self._sections: list[tuple[str, list[str]]] = []

    def verdict(self, sentence: str) -> None:
        """State the result in one sentence, above everything else."""
        self._head.append(f'<p class="verdict">{html.escape(sentence)}</p>')

    def tiles(self, numbers: dict[str, str]) -> None:
        """Show a few numbers at a glance."""
        tiles = "".join(
            f'<div class="tile"><b>{html.escape(value)}</b><span>{html.escape(name)}</span></div>'
            for name, value in numbers.items()
        )
        self._head.append(f'<div class="tiles">{tiles}</div>')

    def section(self, heading: str) -> None:
        """Begin a section."""
        self._sections.append((heading, []))

    def paragraph(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._sections[-1][1].append(f"<p>{html.escape(text)}</p>")

    def picture(self, figure: Any, caption: str, description: str = "") -> None:
        """Embed a matplotlib figure, as a drawing that stays sharp at every size."""
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        data = base64.b64encode(stream.getvalue()).decode("ascii")
        width = round(figure.get_figwidth() * 96)
        self._sections[-1][1].append(
            f'<figure><img width="{width}" alt="{html.escape(description or caption)}" '
            f'src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        )

    def table(self, frame: Any, *, best: str = "", folded: str = "", decimals: int = 3) -> None:
        """Add a pandas frame as a table that sorts.

        ``best`` marks the largest (``"max"``) or smallest (``"min"``) number of each row;
        ``folded`` hides the table behind a line of text until it is asked for.
        """
        text = f'<div class="scroll">{table_html(frame, best=best, decimals=decimals)}</div>'
        if folded:
            text = f"<details><summary>{html.escape(folded)}</summary>{text}</details>"
        self._sections[-1][1].append(text)

    def render(self) -> str:
        """Return the page."""
        links = "".join(
            f'<a href="#part{k}">{html.escape(heading)}</a>'
            for k, (heading, _) in enumerate(self._sections)
        )
        sections = "\n".join(
            f'<section id="part{k}"><h2>{html.escape(heading)}</h2>{"".join(parts)}</section>'
            for k, (heading, parts) in enumerate(self._sections)
        )
        title = html.escape(self.title)
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>{_STYLE}</style></head><body><main>"
            f'<h1>{title}</h1><p class="source">{html.escape(self._subtitle)}</p>'
            f"{''.join(self._head)}<nav>{links}</nav>{sections}"
            "<footer>Made by absentia. Click a heading of a table to sort by it.</footer>"
            f"</main><script>{_SCRIPT}</script></body></html>\n"
        )


def table_html(frame: Any, *, best: str = "", decimals: int = 3) -> str:
    """Return a pandas frame as an HTML table, numbers to the right.

    Examples
    --------
    >>> import pandas as pd
    >>> "<td class=\\"number best\\" data-value=\\"0.9\\">0.900</td>" in table_html(
    ...     pd.DataFrame({"name": ["a"], "x": [0.9], "y": [0.8]}), best="max")
    True
    """
    numeric = [column for column in frame.columns if frame[column].dtype.kind in "iuf"]
    heads = "".join(
        f'<th class="{"number" if column in numeric else ""}">{html.escape(str(column))}</th>'
        for column in frame.columns
    )
    rows = []
    for _, row in frame.iterrows():
        numbers = [
            float(row[c]) for c in numeric if row[c] is not None and not math.isnan(float(row[c]))
        ]
        target = (max if best == "max" else min)(numbers) if best and numbers else None
        cells = []
        for column in frame.columns:
            value = row[column]
            if column in numeric:
                cells.append(_number_cell(float(value), frame[column].dtype.kind, target, decimals))
            else:
                text = str(value)
                wide = ' class="wrap"' if len(text) > 45 else ""
                cells.append(f"<td{wide}>{html.escape(text)}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<table class="sortable"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _number_cell(value: float, kind: str, target: float | None, decimals: int) -> str:
    if math.isnan(value):
        return '<td class="number">–</td>'
    text = f"{value:.0f}" if kind in "iu" else _shown(value, decimals)
    marked = " best" if target is not None and value == target else ""
    return f'<td class="number{marked}" data-value="{value:.10g}">{text}</td>'


def _shown(value: float, decimals: int) -> str:
    small = value != 0 and abs(value) < 10**-decimals
    return f"{value:.2g}" if small or abs(value) >= 1e6 else f"{value:.{decimals}f}"
