"""Mutation testing: small faults are put into the numerical core, one by one, and must be seen.

``python -m lab.mutants --seconds 900 --seed 0`` samples faults from the modules of ``TESTS``
(comparisons turned round, sums and products exchanged, numbers doubled, largest for smallest), runs
the tests of the module in a forked process against each, and lists those that no test sees. A
survivor is looked at: it is a missing test, or a fault that changes nothing. Words and seeds are
left alone: strings with values, ``raise``, annotations, decorators, ``random_state=``, ``seed=``,
``stacklevel=``, ``default_rng(...)`` and the ``-1`` of ``reshape``.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import random
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
_SAVED = (
    "tests/persistence/test_types_and_codes.py tests/persistence/test_refused_by_default.py "
    "tests/persistence/test_archives.py tests/persistence/test_model_files.py "
    "-k 'not compiles_nothing and not at_random and not starts_no_processes'"
)
_REGIONS = (
    "tests/predictions/test_conformal.py tests/predictions/test_weighted_conformal.py "
    "-k 'not scikit_learn and not made_from_one and not for_every_mask'"
)
#: Modules, and the arguments of pytest that should see a fault in them.
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
    "-k 'not words_are and not not_monotone and not brier'",
    "decisions/measurements.py": "tests/decisions/test_measurements.py "
    "tests/decisions/test_acquisition.py -k 'not contract and not integration'",
    "machines/averaging.py": "tests/predictions/test_answers.py tests/decisions/test_quadrature.py",
    "persistence/contents.py": _SAVED,
    "persistence/kinds.py": _SAVED,
    "persistence/nodes.py": _SAVED,
    "predictions/calibration.py": _REGIONS,
    "predictions/conformal.py": _REGIONS,
    "reports/little.py": "tests/reports/test_little.py -k 'not uniform and not keep_the_size'",
    "studio/pages.py": "tests/studio/test_pages.py -k 'not saved_model and not batch'",
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
                or _calls(node, "default_rng")
                # reshape takes any negative number for the length that is left
                or (isinstance(node, ast.UnaryOp) and _calls(tree, "reshape"))
            ):
                yield from _nodes(node)


def _calls(node: ast.AST, method: str) -> bool:
    return getattr(getattr(node, "func", None), "attr", "") == method


def _changed(node: ast.AST) -> str:
    """Put a fault into a node; return what it is, or nothing where there is none."""
    parts: dict[str, Any] = vars(node)
    first = parts["ops"][0] if isinstance(node, ast.Compare) else parts.get("op")
    if type(first) in _SWAPPED:
        other = _SWAPPED[type(first)]()
        parts.update({"ops": [other, *parts["ops"][1:]]} if "ops" in parts else {"op": other})
        return f"{type(first).__name__} -> {type(other).__name__}"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        number: Any = node.value
        node.value = 2 * number or 1
        return f"{number} -> {node.value!r}"
    if isinstance(node, ast.Attribute) and node.attr in _RENAMED:
        old_name, node.attr = node.attr, _RENAMED[node.attr]
        return f"{old_name} -> {node.attr}"
    return ""


def seen(module: str, at: int, arguments: str, seconds: int = 300) -> bool:
    """Return whether the tests fail, or take too long, with a fault at a node of a module."""
    child = os.fork()
    if child == 0:
        os.setsid()  # a signal to the group of the tests is theirs alone
        signal.alarm(seconds)
        name = "absentia." + module.removesuffix(".py").replace("/", ".")
        tree = ast.parse((ROOT / "src/absentia" / module).read_text())
        _changed(list(_nodes(tree))[at])
        loader: Any = SourceFileLoader
        whole = loader.get_code

        def get_code(self: Any, of: str) -> Any:
            return compile(tree, self.path, "exec") if of == name else whole(self, of)

        loader.get_code = get_code
        os.chdir(ROOT)
        options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", *shlex.split(arguments)]
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            os._exit(int(pytest.main(options) != 0))
    return os.waitpid(child, 0)[1] != 0


def main() -> None:
    """Run a sample of the mutants and print what was seen."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=900.0, help="when to stop")
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--modules", nargs="*", default=list(TESTS))
    given = reader.parse_args()
    # Loaded once, for all forks: everything that is not the library.
    for name in ("numba", "pandas", "polars", "scipy.stats", "sklearn.ensemble"):
        __import__(name)
    pool = []
    for module in given.modules:
        if seen(module, 0, TESTS[module]):
            sys.exit(f"The tests of {module} fail without a fault.")
        tree = ast.parse((ROOT / "src/absentia" / module).read_text())
        pool += [(module, *fault) for fault in faults(tree)]
    random.Random(given.seed).shuffle(pool)
    start, found = time.monotonic(), []
    for module, at, line, change in pool:
        if time.monotonic() - start > given.seconds:
            break
        found.append(seen(module, at, TESTS[module]))
        if not found[-1]:
            print(f"survived: {module}:{line} {change}", flush=True)
    print(f"{sum(found)} of {len(found)} mutants seen, of {len(pool)} in all")


if __name__ == "__main__":
    main()
