"""A protocol of cells that take no time, some of which misbehave, for the tests of the runner."""

import json
import os
import time
from pathlib import Path

from lab.experiments.running.cells import Cell, Protocol, Score


def cells(context):
    return [
        Cell("toy", dataset, method, "mcar", rate, sample)
        for dataset in ("a", "b")
        for rate in (0.1, 0.5)
        for sample in range(3)
        for method in ("good", "bad")
    ]


def work(cell, context):
    """Score by a rule; leave a line behind, so that a test can see which cells were run.

    What shall go wrong stands in a file of the context's folder, which every process can read.
    """
    behaviour = {}
    if context.folder is not None:
        folder = Path(context.folder)
        behaviour = json.loads((folder / "behaviour.json").read_text())
        with open(folder / "log", "a") as stream:
            stream.write(cell.key + "\n")
    time.sleep(behaviour.get("seconds", 0))
    troubled = cell.method == "bad" and cell.sample == 0 and cell.dataset == "a"
    if troubled:
        trouble = behaviour.get("trouble", "")
        if trouble == "raise":
            raise ValueError("it would not fit")
        if trouble == "die":
            os._exit(7)
        if trouble == "hang":
            time.sleep(60)
    value = (0.9 if cell.method == "good" else 0.7) - 0.1 * cell.rate + 0.001 * cell.sample
    return [Score("accuracy", value, cell.rate)], {"gamma": 0.5}


TOY = Protocol(
    name="toy",
    title="A toy",
    source="nowhere",
    description="Nothing is learned.",
    metric="accuracy",
    cells=cells,
    run=work,
)


def main(path, folder):
    """Run the whole protocol: what the test of ``kill -9`` starts as a program."""
    from lab.experiments.running.cells import Context
    from lab.experiments.running.runner import run
    from lab.experiments.running.store import Results

    with Results(Path(path)) as results:
        run(TOY, results, Context(size="smoke", folder=folder), jobs=2, progress=False)


if __name__ == "__main__":
    import sys

    import toy_protocol

    # Through the module, so that the workers can import what they are to run.
    toy_protocol.main(*sys.argv[1:])
