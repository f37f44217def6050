"""Mutation testing: small faults are put into the numerical core, one by one, and must be seen.

``python -m lab.mutants --seconds 900 --seed 0`` samples faults from the modules of ``TESTS``
(comparisons turned round, sums and products exchanged, numbers doubled, largest for smallest), runs
the tests of the module in a forked process against each, and lists those that no test sees. A
survivor is looked at: it is a missing test, or a fault that changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import random
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from importlib.abc import Loader, MetaPathFinder
from importlib.util import spec_from_loader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Modules, and the arguments of pytest that should see a fault in them.
TESTS = {
    "kernels/repair.py": "tests/kernels/test_repair.py",
    "automatic/error_scale.py": "tests/automatic/test_error_scale.py",
    "beliefs/column_trials.py": "tests/densities/test_missing_values.py "
    "tests/beliefs/test_draws.py tests/densities/test_limited_quantiles.py "
    "tests/decisions/test_quadrature.py",
    "beliefs/truncated_normal.py": "tests/beliefs/test_limits.py tests/beliefs/test_far_limits.py",
    "decisions/expected_gains.py": "tests/decisions/test_gains_from_draws.py "
    "tests/decisions/test_quadrature.py",
    "decisions/measurements.py": "tests/decisions/test_measurements.py "
    "tests/decisions/test_acquisition.py -k costs",
    "machines/averaging.py": "tests/predictions/test_answers.py tests/decisions/test_quadrature.py",
    "predictions/calibration.py": "tests/predictions/test_conformal.py "
    "-k slow_formula|cross_meet|sets_are",
    "predictions/conformal.py": "tests/predictions/test_conformal.py "
    "-k slow_formula|cross_meet|sets_are",
    "reports/little.py": "tests/reports/test_little.py "
    "-k 1988|nothing|redundant_columns_count|permut|trusted",
}
_SWAPPED: dict[type, Any] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_RENAMED = {
    "maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "any": "all",
    "all": "any", "argmax": "argmin", "argmin": "argmax", "ceil": "floor", "zeros": "ones",
}  # fmt: skip


def mutants(source: str) -> list[tuple[int, str, str]]:
    """Return the line, a description and the text of every mutant of a module."""
    found = []
    n_nodes = len(list(ast.walk(ast.parse(source))))
    for at in range(n_nodes):
        tree = ast.parse(source)
        node = list(ast.walk(tree))[at]
        change = _changed(node)
        if change:
            found.append((getattr(node, "lineno", 0), change, ast.unparse(tree)))
    return found


def _changed(node: ast.AST) -> str:
    """Put a fault into a node; return what it is, or nothing where there is none."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
        return _swap(node.ops, 0)
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in _SWAPPED:
        old = node.op
        node.op = _SWAPPED[type(old)]()
        return f"{type(old).__name__} -> {type(node.op).__name__}"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number: Any = node.value
        node.value = 2 * number or 1
        return f"{number} -> {node.value!r}"
    if isinstance(node, ast.Attribute) and node.attr in _RENAMED:
        old_name, node.attr = node.attr, _RENAMED[node.attr]
        return f"{old_name} -> {node.attr}"
    return ""


def _swap(operators: list[Any], at: int) -> str:
    old = operators[at]
    operators[at] = _SWAPPED[type(old)]()
    return f"{type(old).__name__} -> {type(operators[at]).__name__}"


class _Mutated(MetaPathFinder, Loader):
    """Import one module from other source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return spec_from_loader(name, self, origin=str(self.path))

    def exec_module(self, module: Any) -> None:
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


def seen(module: str, source: str, arguments: str, seconds: float) -> bool:
    """Return whether the tests fail, or take too long, with a mutant in place of a module."""
    child = os.fork()
    if child == 0:
        import pytest

        os.setsid()  # a signal to the group of the tests is theirs alone

        name = "absentia." + module.removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, _Mutated(name, ROOT / "src/absentia" / module, source))
        os.chdir(ROOT)
        files, _, chosen = arguments.partition(" -k ")
        wanted = ["-k", chosen.replace("|", " or ")] if chosen else []
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", *wanted]
            status = pytest.main([*options, *files.split()])
        os._exit(0 if status == 0 else 1)
    start = time.monotonic()
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        if time.monotonic() - start > seconds:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return True
        time.sleep(0.05)


def main() -> None:
    """Run a sample of the mutants and print what was seen."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=900.0, help="when to stop")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--modules", nargs="*", default=list(TESTS))
    given = reader.parse_args()
    # Loaded once, for all forks: everything that is not the library.
    for name in ("numba", "pandas", "polars", "pytest", "scipy.stats", "sklearn.ensemble"):
        __import__(name)
    pool = []
    for module in given.modules:
        path = ROOT / "src/absentia" / module
        if path.exists():
            pool += [(module, *mutant) for mutant in mutants(path.read_text())]
    random.Random(given.seed).shuffle(pool)
    start, caught, tried = time.monotonic(), 0, 0
    for module, line, change, source in pool:
        if time.monotonic() - start > given.seconds:
            break
        tried += 1
        if seen(module, source, TESTS[module], seconds=300.0):
            caught += 1
        else:
            print(f"survived: {module}:{line} {change}", flush=True)
    share = 100 * caught / max(tried, 1)
    print(f"{caught} of {tried} mutants seen ({share:.0f} %), of {len(pool)} in all")


if __name__ == "__main__":
    main()
