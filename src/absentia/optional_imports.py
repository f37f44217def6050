"""Optional packages: imported on use, with an error that names the extra, and their versions."""

from __future__ import annotations

import json
import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

__all__ = ["show_versions"]

_PACKAGES = (
    *("absentia", "numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl"),
    *("pandas", "polars", "pyarrow", "dask", "matplotlib", "typer", "starlette"),
    *("lightgbm", "xgboost", "catboost"),
)


def show_versions() -> None:
    """Print the versions of Python, absentia and the packages that it uses, for a report of a bug.

    Examples
    --------
    >>> import absentia
    >>> absentia.show_versions()  # doctest: +ELLIPSIS
    python        3...
    platform      ...
    absentia      ...
    """
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    for name, value in found.items():
        print(f"{name:13} {value}")


def optional_import(module: str, extra: str, what_for: str, otherwise: str = "") -> Any:
    """Return a module of an optional package, or raise an error that names its extra.

    ``what_for`` says what needs the package, ``otherwise`` what can be done without it. The
    original error is repeated where the package is there but does not load.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        absent = isinstance(error, ModuleNotFoundError) and (
            (error.name or "").partition(".")[0] == package
        )
        found = "is not installed" if absent else f"cannot be imported ({error})"
        raise ImportError(
            f"{what_for} needs {package}, which {found}: {install_command(extra)}"
            f"{f', or {otherwise}' if otherwise else ''}.",
            name=package,
        ) from error


def install_command(extra: str) -> str:
    """Return the command that adds an extra to the checkout or wheel that is installed."""
    try:
        source = json.loads(distribution("absentia").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        source = {}
    url = source.get("url", "")
    if source.get("dir_info", {}).get("editable"):
        return f"pip install -e '{url2pathname(urlparse(url).path)}[{extra}]'"
    return f"pip install 'absentia[{extra}]{f' @ {url}' if url else ''}'"
