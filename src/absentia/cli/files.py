"""Reading and writing tables, by the extension of the file; ``-`` is a stream.

Nothing is overwritten that was not meant to be: :func:`check_output` is asked before anything takes
time, and files appear whole or not at all.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from absentia.optional_imports import optional_import
from absentia.reports.safe_text import printable
from absentia.tables.files.delimited import cells_as_written, read_delimited
from absentia.tables.files.headers import column_names, note_repeated, note_title, title_of
from absentia.tables.files.whole_files import replaced
from absentia.tables.phrases import listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_output",
    "check_writable",
    "is_parquet",
    "place_now",
    "protect_inputs",
    "read_table",
    "read_table_and_cells",
    "table_name",
    "write_table",
]

_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET_ENDINGS = (".parquet", ".pq")
_EXCEL_ENDINGS = (".xlsx", ".xlsm")
#: In which a title above the header is looked for.
_TOP_ROWS = 10
_WRITTEN = (*_TEXT_ENDINGS, *_PARQUET_ENDINGS)
_KNOWN = "a name that ends in .csv, .tsv, .txt (also .gz), .parquet"


def read_table(
    source: str, note: Callable[[str], None] = lambda text: None, *, sheet: str | None = None
) -> pd.DataFrame:
    """Return a file as a pandas frame.

    Parameters
    ----------
    source : str
        A path, or ``-`` for CSV from the standard input.
    note : callable
        Called with a sentence about anything that was not read, or was read otherwise.
    sheet : str, optional
        Which sheet of an Excel file; by default the first.
    """
    return read_table_and_cells(source, note, sheet=sheet)[0]


def read_table_and_cells(
    source: str, note: Callable[[str], None] = lambda text: None, *, sheet: str | None = None
) -> tuple[pd.DataFrame, Callable[[], pd.DataFrame]]:
    """Return a file as a pandas frame, and a function that returns its cells as they are written.

    Parameters as for :func:`read_table`. Text has cells of text; Parquet files and dates of Excel
    have the values of the frame.
    """
    if sheet is not None and not source.lower().endswith(_EXCEL_ENDINGS):
        raise ValueError(f"{source} has no sheets: --sheet is for Excel files.")
    if source == "-":
        return _delimited(sys.stdin.buffer.read(), "standard input", note)
    path = Path(source)
    if path.is_dir():
        raise ValueError(f"{source} is a folder; give the file inside it.")
    if not path.is_file():
        raise ValueError(f"There is no file {source}.")
    name = path.name.lower()
    if name.endswith((*_PARQUET_ENDINGS, *_EXCEL_ENDINGS)):
        binary = name.endswith(_PARQUET_ENDINGS)
        frame = _read_parquet(path) if binary else _read_excel(path, note, sheet)
        frame.columns = column_names(frame)
        return frame, lambda: frame if binary else _excel_cells(path, frame, sheet)
    if not name.endswith(_TEXT_ENDINGS):
        old = " Save it as .xlsx or .csv first." if name.endswith((".xls", ".ods")) else ""
        raise ValueError(f"{source} is not a known kind of file; expected {_KNOWN} or .xlsx.{old}")
    content = path.read_bytes()
    if name.endswith(".gz"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{source} cannot be unpacked: {error}.") from error
    return _delimited(content, source, note)


def _delimited(
    content: bytes, source: str, note: Callable[[str], None]
) -> tuple[pd.DataFrame, Callable[[], pd.DataFrame]]:
    frame = read_delimited(content, source, note)
    return frame, lambda: cells_as_written(content, source, list(frame.columns))


def check_output(
    output: str | Path,
    *,
    inputs: Sequence[str | Path] = (),
    force: bool = False,
    endings: tuple[str, ...] = _WRITTEN,
) -> None:
    """Raise where a file could not be written, or would overwrite something.

    Parameters
    ----------
    output : str or path
    inputs : sequence of str or path
        What the command reads; never overwritten.
    force : bool, default=False
        Whether another file of that name may be replaced.
    endings : tuple of str
        How the name may end; empty for any name.
    """
    path = Path(output)
    if endings and not path.name.lower().endswith(endings):
        expected = (
            f"{_KNOWN}" if endings == _WRITTEN else f"a name that ends in {', '.join(endings)}"
        )
        raise ValueError(
            f"{output} is not a kind of file that can be written; expected {expected}."
        )
    if path.is_dir():
        raise ValueError(f"{output} is a folder; give the name of a file.")
    if not path.parent.is_dir():
        raise ValueError(f"There is no folder {path.parent} to write {path.name} into.")
    protect_inputs(path, inputs)
    if path.exists() and not path.is_file():
        raise ValueError(f"{output} is a device or a pipe; give the name of a file.")
    if os.path.lexists(path) and not force:  # a link to nowhere counts
        raise ValueError(f"{output} already exists: give another name, or use --force.")
    check_writable(path.parent)


def place_now(output: Path, *, force: bool, note: Callable[[str], None]) -> Path:
    """Return where to write what took long: beside a file that has appeared since it was checked.

    Neither that file nor the work is lost.
    """
    if force or not os.path.lexists(output):
        return output
    stem, dot, endings = output.name.partition(".")
    names = (output.with_name(f"{stem}_{k}{dot}{endings}") for k in count(2))
    free = next(path for path in names if not os.path.lexists(path))
    note(f"{output} was created in the meantime and is kept: the output is in {free}.")
    return free


def protect_inputs(path: Path, inputs: Sequence[str | Path]) -> None:
    """Raise where an output is one of the inputs."""
    for source in inputs:
        if source != "-" and path.exists() and Path(source).exists() and path.samefile(source):
            raise ValueError(f"{path} is an input: give another name for the output.")


def check_writable(folder: Path) -> None:
    """Raise where no file can be written into a folder."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ValueError(f"Nothing can be written into {folder}: {error.strerror}.") from None


def write_table(frame: pd.DataFrame, target: str | None) -> None:
    """Write a frame to a file, or as CSV to the standard output (None or ``-``)."""
    if target is None or target == "-":
        if sys.stdout.isatty():
            print(printable(frame.to_csv(index=False), lines=True), end="")
        else:
            frame.to_csv(sys.stdout, index=False)
        return
    name = Path(target).name.lower()
    with replaced(target) as draft:
        if is_parquet(name):
            frame.to_parquet(draft, index=False)
        else:
            frame.to_csv(draft, index=False, sep="\t" if ".tsv" in name[-7:] else ",")


def is_parquet(name: str | None) -> bool:
    """Return whether a file of that name has columns with types, not text."""
    return str(name).lower().endswith(_PARQUET_ENDINGS)


def table_name(source: str) -> str:
    """Return a short name for a table: that of its file, without the ending."""
    return "table" if source == "-" else Path(source).name.split(".")[0]


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError:
        optional_import("pyarrow", "tables", "A Parquet file")
        raise  # that package is there: it is something else
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}.") from error


def _read_excel(path: Path, note: Callable[[str], None], sheet: str | None) -> pd.DataFrame:
    import pandas as pd

    try:
        with pd.ExcelFile(path, engine="openpyxl") as book:
            names = [str(name) for name in book.sheet_names]
            read = names[0] if sheet is None else sheet
            if read in names:
                frame = pd.read_excel(book, sheet_name=read, na_values=["?"])
                rows = pd.read_excel(book, sheet_name=read, header=None, nrows=_TOP_ROWS)
    except ImportError:
        optional_import("openpyxl", "excel", "An Excel file", "save the table as CSV")
        raise  # that package is there: it is something else
    except Exception as error:  # openpyxl raises what the parts of a broken archive raise
        raise ValueError(f"{path} cannot be read as Excel: {error}.") from error
    if read not in names:
        raise ValueError(f"{path} has no sheet {read!r}; its sheets are {listed(names)}.")
    if not len(frame):
        which = f"The first sheet of {path}, {read!r}," if sheet is None else f"The sheet {read!r}"
        raise ValueError(f"{which} has no rows.")
    note_repeated([name for name in rows.iloc[0] if not pd.isna(name)], frame, note)
    cells = rows.astype(object).where(rows.notna(), "").astype(str)
    note_title(title_of(cells.to_numpy().tolist()), note)
    if sheet is None and len(names) > 1:
        note(
            f"Only the first of {len(names)} sheets was read: {read}. Use --sheet to read another: "
            f"{listed(names[1:])}."
        )
    return frame


def _excel_cells(path: Path, frame: pd.DataFrame, sheet: str | None) -> pd.DataFrame:
    import pandas as pd

    cells = pd.read_excel(
        path, sheet_name=sheet or 0, engine="openpyxl", dtype=object, na_filter=False
    )
    cells.columns = frame.columns
    dates = list(frame.select_dtypes("datetime"))
    return cells.assign(**frame[dates])
