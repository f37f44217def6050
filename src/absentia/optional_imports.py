"""Optional packages: imported on use, with an error that names the extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional_import(module: str, extra: str, what_for: str, otherwise: str = "") -> Any:
    """Return a module of an optional package, or raise an error that names its extra.

    ``what_for`` says what needs the package, ``otherwise`` what can be done without it. The
    original error is repeated where the package is there but does not load.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = _package(module)
        absent = isinstance(error, ModuleNotFoundError) and _package(error.name or "") == package
        found = "is not installed" if absent else f"cannot be imported ({error})"
        raise ImportError(
            f"{what_for} needs {package}, which {found}: pip install 'absentia[{extra}]'"
            f"{f', or {otherwise}' if otherwise else ''}.",
            name=package,
        ) from error


def _package(module: str) -> str:
    return module.partition(".")[0]
