"""Mutation testing: small faults are put into the numerical core, one by one, and must be seen.

``python -m lab.mutants --seconds 900 --seed 0`` samples faults from the modules of ``TESTS``
(comparisons turned round, sums and products exchanged, numbers doubled, largest for smallest), runs
the tests of the module in a forked process against each, and lists those that no test sees. A
survivor is looked at: it is a missing test, or a fault that changes nothing. Code that makes words
or seeds has no faults put into it: strings with values in them, ``raise``, annotations, decorators,
``random_state=``, ``seed=``, ``stacklevel=`` and ``default_rng(...)``.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import random
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.abc import Loader, MetaPathFinder
from importlib.util import spec_from_loader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Modules, and the arguments of pytest that should see a fault in them.
_SAVED = (
    "tests/persistence/test_types_and_codes.py tests/persistence/test_refused_by_default.py "
    "tests/persistence/test_archives.py tests/persistence/test_model_files.py "
    "-k 'not compiles_nothing and not at_random and not starts_no_processes'"
)
_REGIONS = (
    "tests/predictions/test_conformal.py tests/predictions/test_weighted_conformal.py "
    "-k 'not scikit_learn and not made_from_one and not beats'"
)
TESTS = {
    "kernels/repair.py": "tests/kernels/test_repair.py",
    "automatic/error_scale.py": "tests/automatic/test_error_scale.py "
    "tests/automatic/test_log_targets.py",
    "beliefs/column_trials.py": "tests/densities/test_missing_values.py "
    "tests/beliefs/test_draws.py tests/densities/test_limited_quantiles.py "
    "tests/densities/test_values_in_support.py tests/decisions/test_quadrature.py",
    "beliefs/truncated_normal.py": "tests/beliefs/test_far_limits.py tests/beliefs/test_limits.py",
    "decisions/expected_gains.py": "tests/decisions/test_quadrature.py "
    "tests/decisions/test_region_gains.py tests/decisions/test_gains_from_draws.py "
    "tests/decisions/test_acquisition.py::test_what_all_missing_values_gain_is_the_bound_for_auto "
    "tests/decisions/test_acquisition.py::test_variance_of_a_linear_function_is_explained_exactly",
    "decisions/measurements.py": "tests/decisions/test_measurements.py "
    "tests/decisions/test_acquisition.py -k 'not contract and not integration'",
    "machines/averaging.py": "tests/predictions/test_answers.py tests/decisions/test_quadrature.py",
    "persistence/contents.py": _SAVED,
    "persistence/kinds.py": _SAVED,
    "persistence/nodes.py": _SAVED,
    "predictions/calibration.py": _REGIONS,
    "predictions/conformal.py": _REGIONS,
    "reports/little.py": "tests/reports/test_little.py -k 'not uniform and not keep_the_size'",
    "studio/pages.py": "tests/studio/test_pages.py",
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


def faults(tree: ast.AST) -> list[tuple[int, int, str]]:
    """Put all faults into a tree; return the place among its nodes, the line and what each is."""
    nodes = enumerate(list(_nodes(tree)))
    found = [(at, getattr(node, "lineno", 0), _changed(node)) for at, node in nodes]
    return [fault for fault in found if fault[2]]


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree, past what is words, seeds, annotations and decorators."""
    yield tree
    for name, part in ast.iter_fields(tree):
        for node in part if isinstance(part, list) else [part]:
            if not (
                not isinstance(node, ast.AST)
                or isinstance(node, ast.JoinedStr | ast.Raise)
                or name in ("annotation", "returns", "decorator_list")
                or getattr(node, "arg", "") in ("random_state", "seed", "stacklevel")
                or getattr(getattr(node, "func", None), "attr", "") == "default_rng"
            ):
                yield from _nodes(node)


def _changed(node: ast.AST) -> str:
    """Put a fault into a node; return what it is, or nothing where there is none."""
    operator = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
    if type(operator) in _SWAPPED:
        other = _SWAPPED[type(operator)]()
        if isinstance(node, ast.Compare):
            node.ops[0] = other
        else:
            vars(node)["op"] = other
        return f"{type(operator).__name__} -> {type(other).__name__}"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number: Any = node.value
        node.value = 2 * number or 1
        return f"{number} -> {node.value!r}"
    if isinstance(node, ast.Attribute) and node.attr in _RENAMED:
        old_name, node.attr = node.attr, _RENAMED[node.attr]
        return f"{old_name} -> {node.attr}"
    return ""


class _Mutated(MetaPathFinder, Loader):
    """Import one module from another tree."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return spec_from_loader(name, self, origin=str(self.path))

    def exec_module(self, module: Any) -> None:
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


def seen(module: str, at: int, arguments: str, seconds: float) -> bool:
    """Return whether the tests fail, or take too long, with a fault at a node of a module."""
    child = os.fork()
    if child == 0:
        import pytest

        os.setsid()  # a signal to the group of the tests is theirs alone

        name = "absentia." + module.removesuffix(".py").replace("/", ".")
        path = ROOT / "src/absentia" / module
        tree = ast.parse(path.read_text())
        _changed(list(_nodes(tree))[at])
        sys.meta_path.insert(0, _Mutated(name, path, tree))
        os.chdir(ROOT)
        options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", *shlex.split(arguments)]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            status = pytest.main(options)
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
        if seen(module, 0, TESTS[module], seconds=300.0):
            sys.exit(f"The tests of {module} fail without a fault.")
        pool += [(module, *fault) for fault in faults(ast.parse(path.read_text()))]
    random.Random(given.seed).shuffle(pool)
    start, caught, tried = time.monotonic(), 0, 0
    for module, at, line, change in pool:
        if time.monotonic() - start > given.seconds:
            break
        tried += 1
        if seen(module, at, TESTS[module], seconds=300.0):
            caught += 1
        else:
            print(f"survived: {module}:{line} {change}", flush=True)
    share = 100 * caught / max(tried, 1)
    print(f"{caught} of {tried} mutants seen ({share:.0f} %), of {len(pool)} in all")


if __name__ == "__main__":
    main()
