"""An absent package is named with the extra that brings it, a broken one is said to be broken."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from absentia import Chunks, optional_imports
from absentia.optional_imports import install_command, optional_import

PROJECT = Path(__file__).resolve().parents[1]


def test_an_absent_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"^A plot needs matplotlib, which is not inst") as raised:
        optional_import("matplotlib.pyplot", "plot", "A plot", "look at the numbers")
    assert str(raised.value).endswith(f"{install_command('plot')}, or look at the numbers.")
    assert isinstance(raised.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("source", "command"),
    [
        (None, "pip install 'absentia[cli]'"),
        ("no JSON", "pip install 'absentia[cli]'"),
        (
            '{"url": "file:///a%20b/absentia", "dir_info": {"editable": true}}',
            "pip install -e '/a b/absentia[cli]'",
        ),
        (
            '{"url": "file:///home/me/absentia", "dir_info": {}}',
            "pip install 'absentia[cli] @ file:///home/me/absentia'",
        ),
        (
            '{"url": "file:///tmp/absentia-0.1-py3-none-any.whl", "archive_info": {}}',
            "pip install 'absentia[cli] @ file:///tmp/absentia-0.1-py3-none-any.whl'",
        ),
    ],
)
def test_the_extra_is_that_of_the_checkout_or_wheel_that_is_installed(monkeypatch, source, command):
    class Installed:
        def read_text(self, name):
            assert name == "direct_url.json"
            return source

    monkeypatch.setattr(optional_imports, "distribution", lambda name: Installed())
    assert install_command("cli") == command


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import a_part_that_is_absent", "No module named 'a_part_that_is_absent'"),
        ("raise ImportError('wrong version of a library')", "wrong version of a library"),
    ],
)
def test_a_package_that_is_broken_is_not_said_to_be_absent(monkeypatch, tmp_path, text, reason):
    (tmp_path / "a_broken_package.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=re.escape(f"cannot be imported ({reason})")) as raised:
        optional_import("a_broken_package", "plot", "A plot")
    assert reason in str(raised.value.__cause__)


def test_parquet_files_name_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "rows.parquet").touch()
    with pytest.raises(ImportError, match=r"pip install .*\[tables\]'"):
        np.asarray(Chunks.from_parquet([str(tmp_path / "rows.parquet")]).concatenate())


# Distributions whose modules have another name.
NAMES = {"xgboost-cpu": "xgboost"}


def packages_of(extra, extras):
    """Return the modules that an extra brings, with those of the extras that it names."""
    found = set()
    for requirement in extras[extra]:
        name, inner = re.match(r"([\w-]+)(?:\[([\w,-]+)\])?", requirement).groups()
        if name == "absentia":
            found = found.union(*(packages_of(one, extras) for one in inner.split(",")))
        else:
            found |= {NAMES.get(name, name).replace("-", "_"), *(inner or "").split(",")}
    return found


def test_every_extra_that_is_named_has_the_package():
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    checked = 0
    for path in (PROJECT / "src").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(getattr(call, "func", None), "id", "")
            if name != "optional_import":
                continue
            module, extra = call.args[:2]
            wanted = (
                {module.value.split(".")[0]}
                if isinstance(module, ast.Constant)
                else {"lightgbm", "xgboost", "catboost"}  # by name, in a table of boosters
            )
            assert wanted <= packages_of(extra.value, extras), f"{path}:{call.lineno}"
            checked += 1
    assert checked >= 12
