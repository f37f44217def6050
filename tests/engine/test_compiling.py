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
    assert done.stderr.count("absentia Compiled code cannot be cached") == 1


def test_only_one_file_decides_how_loops_are_compiled():
    asking = [path for path in PACKAGE.rglob("*.py") if "njit" in path.read_text("utf-8")]
    assert [path.name for path in asking] == ["compiling.py"]


AT_ONCE = """
import numpy as np
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    from absentia.engine.principal import principal_log_determinants
    log_determinant = principal_log_determinants.compiled(4.0 * np.eye(2), np.array([[True, True]]))
print(len(recorder.buffer) > 0, log_determinant.round(6))
"""


def test_processes_that_start_at_once_share_an_empty_cache(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", AT_ONCE]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in started:
        output, _ = process.communicate()
        assert process.returncode == 0
        assert output.endswith("[2.772589]\n")
    # What they left is whole: the next process compiles nothing.
    last = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert last.stdout == "False [2.772589]\n", last.stderr


SLOW = """
import logging, sys, time
logging.basicConfig(format="log %(message)s")
logging.getLogger("absentia").setLevel("INFO")
class Terminal:
    def __init__(self, stream): self.write, self.flush = stream.write, stream.flush
    def isatty(self): return True
import absentia.engine.compiling as compiling
clock = iter(range(0, 10**6))
compiling.time.perf_counter = lambda: float(next(clock))
sys.stderr = Terminal(sys.stderr) if sys.argv[1] == "terminal" else sys.stderr
for name in ("one", "two"):
    function = eval("lambda x: x + 1")
    function.__module__ = "absentia." + name
    compiling.njit(function)(1)
"""


@pytest.mark.parametrize("place", ["terminal", "file"])
def test_compiling_that_takes_longer_than_a_second_is_announced_once(place):
    done = subprocess.run([sys.executable, "-c", SLOW, place], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("log Compiling for this processor, once") == 1
    assert done.stderr.count("absentia: Compiling for this") == (place == "terminal")
