"""The command ``absentia``: the library for people who have a file and write no code.

``main`` runs a command and returns its exit code: 0 when all went well, 1 when the input is at
fault, 2 when the command was typed wrongly, 130 when it was interrupted. Errors are one sentence on
the error stream; set ``ABSENTIA_DEBUG=1`` to see where they came from.
"""

from __future__ import annotations

import os
import sys
import warnings

from absentia.reports.safe_text import printable

__all__ = ["main"]

_BAD_INPUT = 1
_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Without the program's name; by default those of the process.
    """
    try:
        try:
            from absentia.cli.app import run_command
        except ImportError as error:
            if error.name != "typer":
                raise
            hint = "absentia: the command line needs typer: pip install 'absentia[cli]'"
            print(hint, file=sys.stderr)
            return _BAD_INPUT
        with warnings.catch_warnings():
            if not os.environ.get("ABSENTIA_DEBUG"):
                warnings.simplefilter("ignore")
            code = run_command(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("absentia: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone, as `| head` does; nothing is wrong. What is left of the
        # output goes nowhere: writing it at the exit of the process would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("ABSENTIA_DEBUG"):
            raise
        print(f"absentia: {printable(_sentence(error))}", file=sys.stderr)
        return _BAD_INPUT


def _sentence(error: Exception) -> str:
    """Return what went wrong on one line."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    plain = ValueError | TypeError | ImportError | RuntimeError | MemoryError | OSError
    if isinstance(error, plain) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
