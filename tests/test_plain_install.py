"""What a plain install, without any extra, must be able to do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import absentia
from absentia.optional_imports import install_command

PROJECT = Path(__file__).resolve().parent.parent

# Entries of None in sys.modules would mislead scikit-learn, which looks there for loaded modules.
WITHOUT_EXTRAS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "pyarrow", "matplotlib", "tqdm", "typer", "dask"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize("command", [["--version"], [], ["-h"], ["train", "t.csv"], ["studio"]])
def test_the_command_tells_its_version_and_names_its_extra(command):
    program = WITHOUT_EXTRAS + f"from absentia.cli import main; sys.exit(main({command!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if command == ["--version"]:
        assert (done.returncode, done.stdout) == (0, f"absentia {absentia.__version__}\n")
    else:
        assert done.returncode == 1
        assert done.stderr == f"absentia: the command line needs typer: {install_command('cli')}\n"


def test_the_ten_lines_of_the_readme_need_no_extra():
    text = (PROJECT / "README.md").read_text("utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    command = [sys.executable, "-c", WITHOUT_EXTRAS + example]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Uncertainty of 89 rows")
