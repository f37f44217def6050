"""Put runs of the suites into the documentation: ``python -m lab.publish FILE ...``.

Each file of results is what ``python -m lab run`` wrote. Pictures and tables go to
``docs/results/<suite>/``, tables beside the papers' numbers to ``docs/results/papers/``; the pages
around them are written by hand.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.experiments import Results
from lab.experiments.suites import protocol_named
from lab.publish.pages import publish_suite
from lab.publish.papers import publish_comparison

DOCS = Path(__file__).resolve().parents[2] / "docs" / "results"


def main() -> None:
    """Publish every suite of every file."""
    parser = argparse.ArgumentParser(prog="python -m lab.publish", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="files of results")
    parser.add_argument("--output", type=Path, default=DOCS, help="folder of the pages")
    arguments = parser.parse_args()
    for file in arguments.files:
        with Results(file) as results:
            for suite, size, seed, _ in results.protocols():
                folder = publish_suite(results, protocol_named(suite), size, seed, arguments.output)
                publish_comparison(results, suite, size, seed, arguments.output)
                print(folder)


if __name__ == "__main__":
    main()
