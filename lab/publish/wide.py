"""Methods run later on the wide tables of ``real-holes``, beside those of the page.

``python -m lab.publish.wide FILE ...`` writes ``docs/results/real-holes/wide.md`` from files
of results that have them, ``python -m lab run real-holes --datasets ... --methods ...``, and from
the published means. A method counts on a table when all of its folds were run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from lab.experiments import Results
from lab.publish.markdown import spaced, table

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results" / "real-holes"
_FOLDS = 5
#: Methods of the page to put beside.
_PUBLISHED = ("genrbf", "conditional-mean", "mean-indicator", "random-forest")


def beside_published(scores: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return a table: a line per data set, the new methods first.

    Parameters
    ----------
    scores : frame
        ``dataset``, ``method``, ``metric``, ``fold`` and ``value``, of the new run.
    published : frame
        ``dataset``, ``method`` and ``mean``.
    """
    found = scores[scores["metric"] == "score"].groupby(["dataset", "method"])["value"]
    new = found.mean()[found.count() == _FOLDS].unstack()
    old = published.pivot_table(index="dataset", columns="method", values="mean")
    kept = [name for name in _PUBLISHED if name in old]
    rows = [
        [spaced(name), *(float(value) for value in (*new.loc[name], *old.loc[name, kept]))]
        for name in new.index
    ]
    return table(["data set", *new.columns, *(f"{name}, earlier" for name in kept)], rows)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m lab.publish.wide", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="files of results")
    parser.add_argument("--output", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    parts = []
    for file in arguments.files:
        with Results(file, read_only=True) as results:
            parts.append(results.scores("real-holes", "small", 0))
    published = pd.read_csv(arguments.output / "summary.csv")
    (arguments.output / "wide.md").write_text(beside_published(pd.concat(parts), published))


if __name__ == "__main__":
    main()
