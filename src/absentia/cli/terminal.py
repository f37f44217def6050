"""Options, notes and error handling that the commands share."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from absentia.reports.safe_text import printable

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
        metavar="TASK",
        help="classification or regression; inferred from the target by default.",
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
    str | None,
    typer.Option(metavar="A,B,...", help="Columns to read as dates, used as days only."),
]
KeepIdsOption = Annotated[
    bool, typer.Option("--keep-ids", help="Also learn from columns that only identify the rows.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", "-f", help="Replace the output if it already exists.")
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of processes to use.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no notes and no progress bar.")
]


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


def say(text: str) -> None:
    """Print a note on the error stream."""
    print(printable(text), file=sys.stderr)


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


def run_app(app: typer.Typer, arguments: list[str]) -> int:
    """Run an application and return the exit code; errors in the input are raised."""
    try:
        app(args=arguments, prog_name=str(app.info.name))
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        # typer makes exit codes of these two, without a message.
        if isinstance(getattr(stop.__context__, "__cause__", None), KeyboardInterrupt):
            raise KeyboardInterrupt from None
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        return code
    return 0
