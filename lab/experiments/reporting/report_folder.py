"""The folder of a report: a page, and its tables and pictures beside it.

The page lists the files that belong to it, so that a later report replaces those and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from absentia.cli.terminal import check_writable, protect_inputs
from absentia.reports.report_page import Page
from absentia.reports.safe_text import spreadsheet_text
from absentia.tables.files.formats import replaced

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_PAGE = "index.html"
_ENDINGS = (".html", ".csv", ".png")
_PNG_DPI = 144
#: Near the beginning of every page.
_MARK = '<meta name="generator" content="absentia">'


class ReportFolder:
    """Writes the parts of a report into a folder, and at last the page that lists them.

    Parameters
    ----------
    path : Path
        Made where it does not exist.
    """

    def __init__(self, path: Path):
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._names = [_PAGE]

    def table(self, frame: pd.DataFrame, name: str) -> None:
        """Add a pandas frame as CSV."""
        write_csv(frame, self._place(f"{name}.csv"))

    def picture(self, figure: Figure, name: str) -> None:
        """Add a figure as PNG, under a name that is safe for files."""
        show_text_literally(figure)
        figure.savefig(self._place(f"{name}.png"), dpi=_PNG_DPI)

    def page(self, page: Page) -> Path:
        """Write the page, and remove files of the last report that this one lacks."""
        stale = _files_of_the_report(self.path) - {self.path / name for name in self._names}
        listed = "".join(f'<meta data-file="{escape(name)}">' for name in self._names)
        text = page.render().replace(_MARK, f"{_MARK}\n{listed}", 1)
        with replaced(self.path / _PAGE) as draft:
            draft.write_bytes(text.encode())
        for path in stale:
            path.unlink()
        return self.path / _PAGE

    def _place(self, name: str) -> Path:
        self._names.append(name)
        return self.path / name


def check_folder(folder: Path, *, inputs: Sequence[str | Path] = (), force: bool = False) -> None:
    """Raise where a report could not be written into a folder, or would replace other files.

    A report may replace a report. No input is replaced, whatever ``force`` says.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give the name of a folder.")
    for path in _files(folder):
        protect_inputs(path, inputs)
    others = sorted(_files(folder) - _files_of_the_report(folder))
    if others and not force:
        raise ValueError(
            f"{folder} has files that no report wrote, such as {others[0].name}; a report might "
            "replace them: give another name, or use --force."
        )
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder)


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.glob("*.*") if path.suffix in _ENDINGS and path.is_file()}


def _files_of_the_report(folder: Path) -> set[Path]:
    """Return the files that the page of the folder lists; a page that lists none is no report's."""
    page = folder / _PAGE
    if not page.is_file() or _MARK.encode() not in page.read_bytes()[:1000]:
        return set()
    head = page.read_text(encoding="utf-8", errors="replace").partition("</head>")[0]
    listed = set(re.findall(r'data-file="([^"]+)"', head))
    return {path for path in _files(folder) if path.name in listed}


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
