"""scikit-learn's own test modules, with absentia's classes where theirs stood.

The text of a test module is read from the installed scikit-learn, its imports are pointed to a
stand-in module, and the copy is executed under a name of its own: scikit-learn itself is not
touched. What must fail is listed with its reason, and strictly: a test that begins to pass has to
leave the list.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
import sklearn

__all__ = ["collected", "copy_of"]


def copy_of(path: str, replacements: Mapping[str, str]) -> types.ModuleType:
    """Return a copy of a test module of scikit-learn with some of its lines replaced.

    Parameters
    ----------
    path : str
        Below scikit-learn's folder, such as ``"svm/tests/test_svm.py"``.
    replacements : mapping
        From lines of the module to what stands there instead; every line must occur.
    """
    source = Path(sklearn.__file__).parent / path
    text = source.read_text(encoding="utf-8")
    for line, replacement in replacements.items():
        if line not in text:
            pytest.skip(
                f"this scikit-learn has no line {line!r} in {path}", allow_module_level=True
            )
        text = text.replace(line, replacement)
    name = f"copy_of_{source.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(source)
    exec(compile(text, str(source), "exec"), module.__dict__)
    return module


def collected(
    module: types.ModuleType, expected: Mapping[str, str], only: Collection[str] | None = None
) -> dict[str, Any]:
    """Return the tests of a copy by name, for the namespace of a test module of ours.

    Parameters
    ----------
    module : module
        From :func:`copy_of`.
    expected : mapping
        From names of tests that must fail (with their parameters, as pytest prints them) to the
        reason; applied by the hook in ``conftest.py``.
    only : collection of str, optional
        The tests that can apply, where most of a module is about something we do not have.
    """
    found = {name: value for name, value in vars(module).items() if name.startswith("test_")}
    unknown = ({name.partition("[")[0] for name in expected} | set(only or ())) - set(found)
    if unknown:
        raise ValueError(f"scikit-learn has no tests {sorted(unknown)}: clean up the list.")
    applicable = {name: test for name, test in found.items() if only is None or name in only}
    return {**applicable, "EXPECTED_FAILURES": dict(expected)}
