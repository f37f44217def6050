"""Compiled code is kept where a folder can be written, and compiled anew where none can."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import absentia

PACKAGE = Path(absentia.__file__).parent

PROGRAM = """
import logging
logging.basicConfig(format="%(name)s %(message)s")
import numpy as np
from absentia import GaussianDensity, SVC, GenRBF
X = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 1.0], [4.0, 5.0]])
print(GaussianDensity().fit(X).score_samples(X).shape)
"""


@pytest.mark.slow
def test_import_and_fit_where_no_cache_can_be_written(tmp_path):
    copy = tmp_path / "absentia"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    # A file where the cache folder would be stops the superuser too, whom no permission stops.
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
        folder.chmod(0o555)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    }
    environment |= {"HOME": os.devnull, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment
        )
    finally:
        for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
            folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(4,)\n"
    assert done.stderr.count("absentia Compiled code cannot be kept") == 1


def test_only_one_file_decides_how_loops_are_compiled():
    asking = [path for path in PACKAGE.rglob("*.py") if "njit" in path.read_text("utf-8")]
    assert [path.name for path in asking] == ["compiling.py"]
