"""What all tests share: how hypothesis searches, and where optional data sets are found."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

# Before NumPy is imported: workers share the cores, and threads of BLAS that wait for a core which
# another worker has burn its time: two thirds of that of RobustSVC's checks, two workers on two
# cores.
if n_workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // n_workers)))

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from absentia.engine.compiling import always_compiled

# The deadline is off because the first example pays for compilation. `make test` tries the same
# examples every time, so that a failure is one of the change and not of the dice; `make fuzz` tries
# others, and more of them.
settings.register_profile(
    "same",
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "others", parent=settings.get_profile("same"), derandomize=False, max_examples=300
)
settings.load_profile("others" if os.environ.get("ABSENTIA_FUZZ") else "same")

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn, not shown

PROJECT = Path(__file__).resolve().parent.parent


def data_folder() -> Path | None:
    """Find the optional data sets: $ABSENTIA_DATA, or ``shared/data`` beside the checkout."""
    named = os.environ.get("ABSENTIA_DATA")
    folder = Path(named) if named else PROJECT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """Start each test from one state of NumPy's own generator, which ``random_state=None`` uses.

    A test that forgets its seed fails every time, or never.
    """
    np.random.seed(0)


@pytest.fixture(scope="module", params=["by size", "compiled"])
def either_road(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the tests of a module twice: as users do, and with compiled loops for every size."""
    with always_compiled() if request.param == "compiled" else nullcontext():
        yield


@pytest.fixture
def data_file() -> Callable[[str], Path]:
    """Return a function from a file's name to its path; a test without its file is skipped."""

    def find(name: str) -> Path:
        folder = data_folder()
        if folder is None:
            pytest.skip("no optional data sets: set ABSENTIA_DATA to their folder")
        if not (folder / name).is_file():
            pytest.skip(f"{name} is not among the optional data sets")
        return folder / name

    return find
