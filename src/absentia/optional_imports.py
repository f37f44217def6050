"""Optional packages: imported on use, with an error that names the extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional_import(module: str, extra: str, what_for: str, otherwise: str = "") -> Any:
    """Return a module of an optional package, or raise an error that names its extra.

    Parameters
    ----------
    module : str
        As ``import`` takes it, such as ``"matplotlib.pyplot"``.
    extra : str
        The extra of absentia that has the package.
    what_for : str
        What the package is needed for, in the words of a user.
    otherwise : str, default=""
        What can be done without it.

    Raises
    ------
    ImportError
        From the original error, which is repeated where the package is there but does not load.

    Examples
    --------
    >>> from absentia.optional_imports import optional_import
    >>> optional_import("numpy.linalg", "tables", "an example").__name__
    'numpy.linalg'
    >>> optional_import("no_such_package", "tables", "an example")
    Traceback (most recent call last):
    ...
    ImportError: an example needs no_such_package, which is not installed: \
pip install 'absentia[tables]'.
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
