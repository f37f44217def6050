"""The command ``absentia``: the library for people who have a file and write no code.

``main`` runs a command and returns its exit code: 0 when all went well, 1 when the input is at
fault, 2 when the command was typed wrongly, 130 when it was interrupted. Errors are one sentence on
the error stream; set ``ABSENTIA_DEBUG=1`` to see where they came from.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING

from absentia.optional_imports import install_command
from absentia.reports.safe_text import printable

if TYPE_CHECKING:
    import typer

__all__ = ["exit_code_of", "main", "run_app"]

_NO_MEMORY = "There is not enough memory for this: try fewer rows or columns, or a smaller file."
_BAD_INPUT, _WRONG_COMMAND, _INTERRUPTED = 1, 2, 130
_NO_BENCH = "Experiments are not part of the library: run `python -m lab` in a checkout of it."


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the process; return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["--version"]:  # also where typer is not installed
        print(f"absentia {version('absentia')}")
        return 0
    if given[:1] == ["bench"]:
        print(_NO_BENCH, file=sys.stderr)
        return _WRONG_COMMAND
    try:
        from absentia.cli.app import app
    except ImportError as error:
        if error.name != "typer":
            raise
        needs = f"absentia: the command line needs typer: {install_command('cli')}"
        print(needs, file=sys.stderr)
        return _BAD_INPUT
    return exit_code_of(lambda: run_app(app, given))


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


def exit_code_of(run: Callable[[], int]) -> int:
    """Return the exit code of a command; an error becomes one sentence on the error stream."""
    debug = bool(os.environ.get("ABSENTIA_DEBUG"))
    try:
        with warnings.catch_warnings():
            if not debug:
                warnings.simplefilter("ignore")
            code = run()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("absentia: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone, as `| head` does, which is no error. The rest of the
        # output goes nowhere: writing it at the exit of the process would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            raise
        print(f"absentia: {printable(_sentence(error))}", file=sys.stderr)
        return _BAD_INPUT


def _sentence(error: Exception) -> str:
    """Return the message of an error on one line."""
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) and not text:
        return _NO_MEMORY
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    plain = ValueError | TypeError | ImportError | RuntimeError | MemoryError | OSError
    if isinstance(error, plain) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
