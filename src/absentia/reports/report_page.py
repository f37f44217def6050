"""Renderer of all HTML pages: self-contained, with sortable tables, for screens and print.

Templates are Jinja2's. Every text is escaped, and control characters are written out.
"""

from __future__ import annotations

import base64
import io
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absentia.optional_imports import optional_import
from absentia.reports.safe_text import printable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_TEMPLATES = Path(__file__).parent / "templates"


class Page:
    """A page that is put together section by section."""

    def __init__(self, title: str, subtitle: str = ""):
        self.title = title
        self._subtitle = subtitle
        self._verdicts: list[str] = []
        self._tiles: dict[str, str] = {}
        self._sections: list[dict[str, Any]] = []

    def verdict(self, sentence: str) -> None:
        """Add a sentence with the result, above everything else."""
        self._verdicts.append(sentence)

    def tiles(self, numbers: dict[str, str]) -> None:
        """Show a few numbers at a glance."""
        self._tiles |= numbers

    def section(self, heading: str) -> None:
        """Begin a section."""
        self._sections.append({"heading": heading, "parts": []})

    def paragraph(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._add("paragraph", text=text)

    def picture(self, figure: Figure, caption: str) -> None:
        """Embed a matplotlib figure, as a drawing that stays sharp at every size."""
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        self._add(
            "picture",
            data=base64.b64encode(stream.getvalue()).decode("ascii"),
            width=round(figure.get_figwidth() * 96),
            caption=caption,
        )

    def table(
        self, frame: pd.DataFrame, *, best: str = "", folded: str = "", decimals: int = 3
    ) -> None:
        """Add a pandas frame as a table that sorts.

        ``best`` marks the largest (``"max"``) or smallest (``"min"``) number of each row;
        ``folded`` hides the table behind a line of text until it is opened.
        """
        self._add("table", table=_cells(frame, best, decimals), folded=folded)

    def render(self) -> str:
        """Return the page."""
        return _template("page.html").render(
            title=self.title,
            subtitle=self._subtitle,
            verdicts=self._verdicts,
            tiles=self._tiles,
            sections=self._sections,
        )

    def _add(self, kind: str, **content: object) -> None:
        self._sections[-1]["parts"].append({"kind": kind, **content})


@cache
def _template(name: str) -> Any:
    jinja2 = optional_import("jinja2", "report", "A page")
    loader = jinja2.FileSystemLoader(_TEMPLATES)
    settings = {"loader": loader, "autoescape": True, "trim_blocks": True, "finalize": _safe}
    return jinja2.Environment(**settings).get_template(name)


def _safe(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


def _cells(frame: pd.DataFrame, best: str, decimals: int) -> dict[str, object]:
    """Return the headings and the rows of a table as the template wants them."""
    numeric = [column for column in frame.columns if frame[column].dtype.kind in "iuf"]
    heads = [
        {"text": str(column), "style": "number" if column in numeric else ""}
        for column in frame.columns
    ]
    rows = []
    for _, row in frame.iterrows():
        numbers = [
            float(row[c]) for c in numeric if row[c] is not None and not math.isnan(float(row[c]))
        ]
        target = (max if best == "max" else min)(numbers) if best and numbers else None
        rows.append(
            [
                _number_cell(float(row[column]), frame[column].dtype.kind, target, decimals)
                if column in numeric
                else _text_cell(str(row[column]))
                for column in frame.columns
            ]
        )
    return {"heads": heads, "rows": rows}


def _text_cell(text: str) -> dict[str, object]:
    return {"text": text, "style": "wrap" if len(text) > 45 else "", "value": None}


def _number_cell(value: float, kind: str, target: float | None, decimals: int) -> dict[str, object]:
    if math.isnan(value):
        return {"text": "–", "style": "number", "value": None}
    text = f"{value:.0f}" if kind in "iu" else _shown(value, decimals)
    marked = " best" if target is not None and value == target else ""
    return {"text": text, "style": f"number{marked}", "value": f"{value:.10g}"}


def _shown(value: float, decimals: int) -> str:
    small = value != 0 and abs(value) < 10**-decimals
    return f"{value:.2g}" if small or abs(value) >= 1e6 else f"{value:.{decimals}f}"
