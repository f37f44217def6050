"""Tables of the command line: read from files or the standard input, written where asked.

Nothing is overwritten that was not meant to be: :func:`check_output` is called before anything
takes time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from absentia.reports.safe_text import printable
from absentia.tables.files import formats
from absentia.tables.files.formats import KNOWN, WRITTEN, read_bytes

if TYPE_CHECKING:
    import pandas as pd


def read_table(
    source: str, note: Callable[[str], None] = lambda text: None, *, sheet: str | None = None
) -> pd.DataFrame:
    """Return a file as a pandas frame, see :func:`read_table_and_cells`."""
    return read_table_and_cells(source, note, sheet=sheet)[0]


def read_table_and_cells(
    source: str, note: Callable[[str], None] = lambda text: None, *, sheet: str | None = None
) -> tuple[pd.DataFrame, Callable[[], pd.DataFrame]]:
    """Return a file as a pandas frame, and a function that returns its cells as they are written.

    Parameters
    ----------
    source : str
        A path, or ``-`` for CSV from the standard input.
    note : callable
        Called with a sentence about anything that was not read, or was read otherwise.
    sheet : str, optional
        Which sheet of an Excel file; by default the first.
    """
    if source == "-":
        return read_bytes(sys.stdin.buffer.read(), "standard input", note, sheet=sheet)
    path = Path(source)
    if path.is_dir():
        raise ValueError(f"{source} is a folder; give the file inside it.")
    if not path.is_file():
        raise ValueError(f"There is no file {source}.")
    return read_bytes(path.read_bytes(), source, note, sheet=sheet)


def check_output(
    output: str | Path,
    *,
    inputs: Sequence[str | Path] = (),
    force: bool = False,
    endings: tuple[str, ...] = WRITTEN,
) -> None:
    """Raise where a file could not be written, or would overwrite something.

    Parameters
    ----------
    output : str or path
    inputs : sequence of str or path
        Files that the command reads; never overwritten.
    force : bool, default=False
        Whether another file of that name may be replaced.
    endings : tuple of str
        How the name may end; empty for any name.
    """
    path = Path(output)
    if endings and not path.name.lower().endswith(endings):
        expected = KNOWN if endings == WRITTEN else f"a name that ends in {', '.join(endings)}"
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
    if target is not None and target != "-":
        formats.write_table(frame, target)
    elif sys.stdout.isatty():
        print(printable(frame.to_csv(index=False), lines=True), end="")
    else:
        frame.to_csv(sys.stdout, index=False)


def table_name(source: str) -> str:
    """Return a short name for a table: that of its file, without the ending."""
    return "table" if source == "-" else Path(source).name.split(".")[0]
