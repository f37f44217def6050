"""The folder of a report: a page, and its tables and pictures beside it.

The page lists the digests of the files that were written with it, so that a later report replaces
those and nothing else: neither a file of somebody else nor one that was changed since.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from absentia.reports.report_page import Page, is_page_of_ours
from absentia.reports.safe_text import show_text_literally, write_csv
from absentia.tables.files.whole_files import replaced

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["TABLES", "ReportFolder", "files_of_others"]

#: The tables that a report may have.
TABLES = (
    "cells",
    "choices",
    "failures",
    "nemenyi",
    "probabilities",
    "ranks",
    "ranks-by-rate",
    "runs",
    "scores",
    "summary",
)
_PAGE = "index.html"
_ENDINGS = (".html", ".csv", ".png")
_PNG_DPI = 144


class ReportFolder:
    """Writes the parts of a report, the page last.

    Parameters
    ----------
    path : Path
        Made where it does not exist.
    """

    def __init__(self, path: Path):
        self.path = path
        self._written: list[Path] = []

    def table(self, frame: pd.DataFrame, name: str) -> None:
        """Write a pandas frame as CSV, under one of the names in ``TABLES``."""
        if name not in TABLES:
            raise ValueError(f"A report has no table {name!r}.")
        write_csv(frame, self._new(f"{name}.csv"))

    def picture(self, figure: Figure, name: str) -> None:
        """Write a figure as PNG, under a name that is safe for files."""
        show_text_literally(figure)
        with replaced(self._new(f"{name}.png")) as draft:
            figure.savefig(draft, dpi=_PNG_DPI)

    def page(self, page: Page) -> Path:
        """Write the page, which lists all that was written before."""
        page.files = {path.name: _digest(path) for path in self._written}
        path = self.path / _PAGE
        with replaced(path) as draft:
            draft.write_text(page.render(), encoding="utf-8")
        return path

    def _new(self, name: str) -> Path:
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / name
        self._written.append(path)
        return path


def files_of_others(folder: Path) -> list[Path]:
    """Return the pages, tables and pictures of a folder that no report wrote as they are now.

    The page of a report lists its files; one that lists none is no report's.
    """
    found = sorted(path for path in folder.glob("*.*") if path.suffix in _ENDINGS)
    page = folder / _PAGE
    if not page.is_file() or not is_page_of_ours(page):
        return found
    listed = dict(re.findall(r'data-file="([^"]+)" data-sha256="(\w+)"', _head(page)))
    if not listed:
        return found
    return [path for path in found if path != page and listed.get(path.name) != _digest(path)]


def _head(page: Path) -> str:
    return page.read_text(encoding="utf-8", errors="replace").partition("</head>")[0]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
