"""Experiments: protocols, the runner that keeps their results, statistics and the report.

The life of a result: a :class:`Protocol` is a list of cells; :func:`run` works through those that a
file of :class:`Results` does not have yet; :func:`compare_ranks` tests which differences are
significant; :func:`write_report` makes a page of it. ``python -m lab`` does the same from a shell.
"""

from lab.experiments.inner_search import Grid, Trained
from lab.experiments.methods import METHODS, Method, methods_for
from lab.experiments.reporting.report import write_report, write_reports
from lab.experiments.reporting.significance import (
    Comparison,
    compare_ranks,
    paired_table,
    summary_table,
)
from lab.experiments.running.cells import Cell, CellResult, Context, Protocol, Score
from lab.experiments.running.runner import RunSummary, run
from lab.experiments.running.store import Results
from lab.experiments.suites import PROTOCOLS, protocol_named

__all__ = [
    "METHODS",
    "PROTOCOLS",
    "Cell",
    "CellResult",
    "Comparison",
    "Context",
    "Grid",
    "Method",
    "Protocol",
    "Results",
    "RunSummary",
    "Score",
    "Trained",
    "compare_ranks",
    "methods_for",
    "paired_table",
    "protocol_named",
    "run",
    "summary_table",
    "write_report",
    "write_reports",
]
