"""The folder of a report: a page, and its tables and pictures beside it.

The page lists the digests of the files that belong to it, and its own, so that a later report
replaces those and nothing else: neither a file of somebody else nor one that was changed since.
Files are drafted first, then the page is written, then they take their places, and files of the
last report that this one lacks are removed; the page lists what is replaced or removed, too, so
that a report which is stopped at any moment can be written again.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING
from weakref import finalize

from absentia.cli.terminal import check_writable, protect_inputs
from absentia.reports.report_page import MARK, Page
from absentia.reports.safe_text import spreadsheet_text
from absentia.tables.files.formats import replaced

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
_EXPECTED = (_PAGE, *(f"{name}.csv" for name in TABLES))
_ENDINGS = (".html", ".csv", ".png")
#: The line by which a page lists itself; its digest is of the page without it.
_OWN_DIGEST = re.compile(rb'<meta data-file="index\.html" data-sha256="\w+">')
_PNG_DPI = 144


class ReportFolder:
    """Collects the parts of a report, and puts them into a folder all at once.

    Parameters
    ----------
    path : Path
        Made where it does not exist.
    """

    def __init__(self, path: Path):
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._drafts = Path(tempfile.mkdtemp(dir=path, prefix=".report."))
        self._remove_drafts = finalize(self, rmtree, self._drafts, ignore_errors=True)
        self._names: list[str] = []

    def table(self, frame: pd.DataFrame, name: str) -> None:
        """Add a pandas frame as CSV, under one of the names in ``TABLES``."""
        if name not in TABLES:
            raise ValueError(f"A report has no table {name!r}.")
        write_csv(frame, self._draft(f"{name}.csv"))

    def picture(self, figure: Figure, name: str) -> None:
        """Add a figure as PNG, under a name that is safe for files."""
        show_text_literally(figure)
        figure.savefig(self._draft(f"{name}.png"), dpi=_PNG_DPI)

    def page(self, page: Page) -> Path:
        """Write the page and all that was added before."""
        check_places(self.path, [*self._names, _PAGE])
        path = self.path / _PAGE
        stale = {old.name for old in _files_of_the_report(self.path)} - {*self._names, _PAGE}
        for name in (*self._names, *sorted(stale)):
            both = [path for path in (self._drafts / name, self.path / name) if path.is_file()]
            page.files[name] = " ".join(_digest(path) for path in both)
        page.files[_PAGE] = hashlib.sha256(page.render().encode()).hexdigest()
        with replaced(path) as draft:
            draft.write_bytes(page.render().encode())
        for name in self._names:
            os.replace(self._drafts / name, self.path / name)
        for name in stale:
            (self.path / name).unlink(missing_ok=True)
        self._remove_drafts()
        return path

    def _draft(self, name: str) -> Path:
        self._names.append(name)
        return self._drafts / name


def files_of_others(folder: Path) -> list[Path]:
    """Return the pages, tables and pictures of a folder that no report wrote as they are now.

    The page of a report lists its files; one that does not list itself is no report's.
    """
    return sorted(_files(folder) - _files_of_the_report(folder))


def check_folder(folder: Path, *, inputs: Sequence[str | Path] = (), force: bool = False) -> None:
    """Raise where a report could not be written into a folder, or would replace other files.

    A report may replace a report. No input is replaced, whatever ``force`` says.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give the name of a folder.")
    for name in TABLES:
        protect_inputs(folder / f"{name}.csv", inputs)
    check_places(folder)
    others = files_of_others(folder)
    if others and not force:
        raise ValueError(
            f"{folder} has files that no report wrote, or that were changed since, such as "
            f"{others[0].name}; a report might replace them: give another name, or use --force."
        )
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder)


def check_places(folder: Path, names: Iterable[str] = _EXPECTED) -> None:
    """Raise where something else than a file has the name of a report's file.

    A folder, a pipe, a link to nowhere: none of them is ever replaced.
    """
    for path in (folder / name for name in names):
        if os.path.lexists(path) and not path.is_file():
            raise ValueError(
                f"{path} is not a file, but a report has a file of that name: move it, or give "
                "another folder."
            )


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.glob("*.*") if path.suffix in _ENDINGS and path.is_file()}


def _files_of_the_report(folder: Path) -> set[Path]:
    """Return the files that the page lists, and that are as they were written."""
    page = folder / _PAGE
    if not page.is_file() or MARK not in page.read_bytes()[:1000]:
        return set()
    head = page.read_text(encoding="utf-8", errors="replace").partition("</head>")[0]
    listed = dict(re.findall(r'data-file="([^"]+)" data-sha256="([\w ]+)"', head))
    return {path for path in _files(folder) if _digest(path) in listed.get(path.name, "").split()}


def _digest(path: Path) -> str:
    content = path.read_bytes()
    if path.name == _PAGE:
        content = _OWN_DIGEST.sub(b"", content, count=1)
    return hashlib.sha256(content).hexdigest()


def show_text_literally(figure: Figure) -> None:
    """Keep matplotlib from reading formulas into the text of a finished figure.

    The powers of ten along logarithmic axes are formulas of its own, and stay.
    """
    from matplotlib.text import Text

    axes_of = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)]
    powers = {
        id(label)
        for axis in axes_of
        if axis.get_scale() == "log"
        for label in axis.get_ticklabels(which="both")
    }
    for text in figure.findobj(Text):
        if id(text) not in powers:
            text.set_parse_math(False)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a pandas frame as CSV for spreadsheets: no cell and no heading is a formula."""
    with replaced(path) as draft:
        frame.map(spreadsheet_text).rename(columns=spreadsheet_text).to_csv(draft, index=False)
