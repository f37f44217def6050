"""Options, notes and files that the commands share.

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
from typing import TYPE_CHECKING, Annotated

import typer

from absentia.reports.safe_text import printable

if TYPE_CHECKING:
    import pandas as pd

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="File from `absentia train`.")]
OutputOption = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="CSV, TSV or Parquet; printed by default."),
]

FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A CSV, TSV, Parquet or .xlsx file; - reads CSV from standard input."
    ),
]
SheetOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Which sheet of an Excel file to read; the first by default."
    ),
]
TargetOption = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
]
TaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="TASK", help="classification or regression; inferred from the target by default."
    ),
]
IgnoreOption = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Columns to leave out, such as ids.")
]
CategoriesOption = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="Columns to read as categories, such as postcodes."),
]
NumbersOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...", help="Columns to read as numbers exactly as they are, even -999."
    ),
]
DatesOption = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Columns to read as dates, used as days only.")
]
KeepIdsOption = Annotated[
    bool, typer.Option("--keep-ids", help="Also learn from columns that only identify the rows.")
]
SupportOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=LOW:HIGH",
        help="The values that a column of numbers can have, such as price=0: or share=0:1; "
        "inferred by default. May be repeated.",
    ),
]
KeepUnusedOption = Annotated[
    bool,
    typer.Option("--keep", help="Also write the input's columns that the model does not use: ids."),
]
ForceOption = Annotated[
    bool, typer.Option("--force", "-f", help="Replace the output if it already exists.")
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of processes to use.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no notes and no progress bar.")
]


#: The options that say which kind a column has.
_OPTIONS = {
    "category": "--categories",
    "number": "--numbers",
    "date": "--dates",
    "left out": "--ignore",
}


def new_app(name: str, about: str) -> typer.Typer:
    """Return an application without commands."""
    return typer.Typer(
        name=name,
        help=about,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Learn from tables with missing values, without filling them in."""


def names_in(text: str | None) -> list[str] | None:
    """Return the names in a list that is separated by commas."""
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def kinds_of(
    categories: str | None, numbers: str | None, dates: str | None
) -> dict[str, str] | None:
    """Return the kinds of columns that were given, by name; None without any."""
    said: dict[str, str] = {}
    for kind, text in (("category", categories), ("number", numbers), ("date", dates)):
        for name in names_in(text) or ():
            if said.get(name, kind) != kind:
                raise ValueError(
                    f"{name} cannot be both a {said[name]} and a {kind}: name it once."
                )
            said[name] = kind
    return said or None


def as_options(notes: str) -> str:
    """Return notes that name the options of the command line in place of those of Python."""
    from absentia.tables.phrases import OVERRULED

    return OVERRULED.sub(lambda found: f"{_OPTIONS[found[2]]} {found[1]}", notes)


def supports_of(given: list[str] | None) -> dict[str, str] | None:
    """Return the supports of columns that were given as ``COLUMN=LOW:HIGH``, by name."""
    supports: dict[str, str] = {}
    for text in given or ():
        name, found, support = text.rpartition("=")
        if not found:
            raise ValueError(f"--support takes COLUMN=LOW:HIGH, such as price=0:, found {text!r}.")
        supports[name] = support
    return supports or None


def say(text: str) -> None:
    """Print a note on the error stream."""
    print(printable(text), file=sys.stderr)


def read_table(source: str, sheet: str | None = None) -> pd.DataFrame:
    """Return a file as a pandas frame, see :func:`read_table_and_cells`."""
    return read_table_and_cells(source, sheet)[0]


def read_table_and_cells(
    source: str, sheet: str | None = None
) -> tuple[pd.DataFrame, Callable[[], pd.DataFrame]]:
    """Return a file as a pandas frame, and a function that returns its cells as they are written.

    ``-`` is CSV from the standard input. What was not read, or was read otherwise, is said.
    """
    from absentia.tables.files.formats import read_bytes

    if source == "-":
        return read_bytes(sys.stdin.buffer.read(), "standard input", say, sheet=sheet)
    path = Path(source)
    if path.is_dir():
        raise ValueError(f"{source} is a folder; give the file inside it.")
    if not path.is_file():
        raise ValueError(
            f"{source} is a device or a pipe; read it through standard input: absentia ... - < "
            f"{source}."
            if path.exists()
            else f"There is no file {source}."
        )
    return read_bytes(path.read_bytes(), source, say, sheet=sheet)


def check_output(
    output: str | Path | None,
    *,
    inputs: Sequence[str | Path] = (),
    force: bool = False,
    endings: tuple[str, ...] | None = None,
) -> None:
    """Raise where a file could not be written, or would overwrite something.

    None and ``-`` are the standard output. ``inputs`` are never overwritten, other files with
    ``force`` only. ``endings`` are those that the name may have, by default those of tables; with
    none it may have any.
    """
    from absentia.tables.files.formats import KNOWN, WRITTEN

    if output is None or output == "-":
        return
    path = Path(output)
    if endings != () and not path.name.lower().endswith(endings or WRITTEN):
        expected = f"a name that ends in {', '.join(endings)}" if endings else KNOWN
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


def place_now(output: Path, *, force: bool) -> Path:
    """Return where to write what took long: beside a file that has appeared since it was checked.

    Neither that file nor the work is lost.
    """
    if force or not os.path.lexists(output):
        return output
    stem, dot, endings = output.name.partition(".")
    names = (output.with_name(f"{stem}_{k}{dot}{endings}") for k in count(2))
    free = next(path for path in names if not os.path.lexists(path))
    say(f"{output} was created in the meantime and is kept: the output is in {free}.")
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
        from absentia.tables.files import formats

        formats.write_table(frame, target)
    elif sys.stdout.isatty():
        print(printable(frame.to_csv(index=False), lines=True), end="")
    else:
        frame.to_csv(sys.stdout, index=False)


def table_name(source: str) -> str:
    """Return a short name for a table: that of its file, without the ending."""
    return "table" if source == "-" else Path(source).name.split(".")[0]
