"""Repeat a table or figure of a paper: run its cells, and set the numbers side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVR

from absentia.tables.files.formats import replaced
from lab.data.datasets import Dataset, load, require
from lab.experiments.reporting.significance import summary_table
from lab.experiments.running.cells import Context
from lab.experiments.running.runner import RunSummary, run
from lab.experiments.running.store import Results
from lab.experiments.suites import protocol_named
from lab.papers.printed import TARGETS, Number, Place, Target
from lab.publish.markdown import number, table

if TYPE_CHECKING:
    import pandas as pd

#: Standard deviations within which two means agree, and half a unit of the last printed digit.
_TOLERANCE, _ROUNDING = 2.0, 5e-4
#: Rows of a data set on which the widths of struski-table-1 are compared.
_ROWS = {"smoke": 90, "small": 500, "full": None}


@dataclass(frozen=True)
class Line:
    """One number of a table: as printed, as measured here, and the verdict."""

    place: Place
    paper: Number | None
    ours: Number | None
    verdict: str

    def texts(self) -> tuple[str, str, str, str, str]:
        """Return row, column, both numbers and the verdict as text."""
        return (*self.place, _written(self.paper), _written(self.ours), self.verdict)


def target_named(name: str) -> Target:
    """Return a table or figure by name."""
    if name not in TARGETS:
        raise ValueError(f"There is no table {name!r}; the tables are {', '.join(TARGETS)}.")
    return TARGETS[name]


def run_target(
    target: Target, results: Results, context: Context, **options: Any
) -> RunSummary | None:
    """Run the cells of a table that the results do not have yet; None where it has no cells."""
    if not target.suite:
        require(_described_sets(target), context.folder)
        return None
    protocol = protocol_named(target.suite)
    cells = [cell for cell in protocol.cells(context) if target.wanted(cell)]
    require({cell.dataset for cell in cells}, context.folder)
    return run(protocol, results, context, wanted=target.wanted, **options)


def lines_of(target: Target, results: Results, context: Context) -> list[Line]:
    """Return the numbers of a table, printed and ours, in the order of the paper."""
    if not target.suite:
        return compared(target, _descriptions(target, context))
    scores = results.scores(target.suite, context.size, context.seed)
    keys = ("dataset", "variant", "mechanism", "rate")
    return lines_of_summary(target, summary_table(scores, target.metric, keys))


def lines_of_summary(target: Target, summary: pd.DataFrame) -> list[Line]:
    """Return the numbers of a table from means by data set, variant, mechanism, rate and method."""
    columns = {"variant": "", "mechanism": ""}
    summary = summary.assign(**{k: v for k, v in columns.items() if k not in summary})
    # A row has the attributes of a cell, by which a target chooses and places it.
    found = {
        target.place(row): (float(row.mean), float(row.sd) if row.n > 1 else None)
        for row in summary.fillna(columns).itertuples()
        if target.wanted(row)
    }
    return compared(target, found)


def compared(target: Target, found: dict[Place, Number]) -> list[Line]:
    """Set printed numbers and ours side by side; what only one side has stands alone."""
    lines = []
    for place in dict.fromkeys((*target.printed, *found)):
        paper, ours = target.printed.get(place), found.get(place)
        verdict = ""
        if paper and ours:
            verdict = _verdict(paper, ours) if target.same_data else "other data"
        lines.append(Line(place, paper, ours, verdict))
    return lines


def _verdict(paper: Number, ours: Number) -> str:
    """Say whether two means agree within two standard deviations of both together."""
    spread = math.hypot(paper[1] or 0.0, ours[1] or 0.0)
    difference = ours[0] - paper[0]
    rounding = _ROUNDING
    if paper[1] is None:  # a count or a share, printed to its last digit
        rounding = 0.5 * 10.0 ** -len(f"{paper[0]:g}".partition(".")[2])
    if abs(difference) <= _TOLERANCE * spread + rounding * (1 + 1e-9):
        return "agrees"
    return "higher" if difference > 0 else "lower"


def as_page(target: Target, lines: Sequence[Line], how: str) -> str:
    """Return the comparison as Markdown: numbers, verdicts, deviations, and how it was run."""
    parts = [f"# {target.name}: {target.title}\n"]
    if target.claim:
        parts.append(f"The paper concludes: {target.claim}.\n")
    parts += [f"{how}\n", as_table(target, lines)]
    if target.deviations:
        parts.append("Deviations from the paper:\n")
        parts.append("".join(f"- {deviation}\n" for deviation in target.deviations))
    return "\n".join(parts)


def as_table(target: Target, lines: Sequence[Line]) -> str:
    """Return the numbers as a Markdown table: a line per number, or per curve of a figure."""
    if target.printed:
        headings = ("row", "column", "paper", "ours", "verdict")
        counted = [line.verdict for line in lines if line.verdict not in ("", "other data")]
        total = f"\n{counted.count('agrees')} of {len(counted)} numbers agree.\n" if counted else ""
        return table(headings, [line.texts() for line in lines], left=(0, 1, 4)) + total
    columns = list(dict.fromkeys(column for (_, column), *_ in map(_parts, lines)))
    by_row: dict[str, dict[str, str]] = {}
    for (row, column), ours in map(_parts, lines):
        by_row.setdefault(row, {})[column] = ours
    rows = [(row, *(cells.get(column, "") for column in columns)) for row, cells in by_row.items()]
    return table(("curve", *columns), rows)


def write_page(target: Target, text: str, folder: Path) -> Path:
    """Write a page into a folder, under the name of the table."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.name}.md"
    with replaced(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return path


def _parts(line: Line) -> tuple[Place, str]:
    return line.place, _written(line.ours)


def _written(value: Number | None) -> str:
    if value is None:
        return ""
    decimals = 0 if value[1] is None and float(value[0]).is_integer() else 3
    spread = "" if value[1] is None else f" ± {number(value[1])}"
    return f"{number(float(value[0]), decimals)}{spread}"


# ------------------------------------------------------------------ tables that describe data sets


def _described_sets(target: Target) -> list[str]:
    if target.name == "williams-table-1":
        return ["heart_four_sites"]
    return list(dict.fromkeys(row for row, _ in target.printed))


def _descriptions(target: Target, context: Context) -> dict[Place, Number]:
    """Return rows, columns, the share of the larger class, and widths, of each data set."""
    found: dict[Place, Number] = {}
    wanted = {column for _, column in target.printed}
    for name in _described_sets(target):
        data = load(name, context.folder, verify=context.verify)
        columns = {column.split("=")[0] for column in data.feature_names}
        facts: dict[str, float] = {"instances": len(data.y), "attributes": len(columns)}
        if data.task == "classification":
            counts = np.sort(np.unique(data.y, return_counts=True)[1])
            facts |= {"ratio": counts[-1] / counts.sum(), "missing": data.missing_rate}
            facts |= {"class-1": counts[0], "class-2": counts[-1]}
        if "smoothing" in wanted:
            printed = target.printed[name, "smoothing"][0]
            facts |= widths_on_complete_rows(data, printed, _ROWS[context.size])
            wanted |= set(facts)
        found |= {(name, key): (float(v), None) for key, v in facts.items() if key in wanted}
    return found


def widths_on_complete_rows(data: Dataset, printed: float, n_rows: int | None) -> dict[str, float]:
    """Return the best smoothing on complete rows, and how much R² the printed one loses.

    Two readings of [Struski2016]_: standardised columns with the target as it is, and columns in
    [0, 1] with a standardised target.
    """
    data = data if n_rows is None else data.sample(n_rows)
    folds = KFold(5, shuffle=True, random_state=0)
    grid = [2.0**k for k in range(-10, 2)]
    y = np.asarray(data.y, dtype=np.float64)
    readings = {
        "standardised": (StandardScaler(), y),
        "unit interval": (MinMaxScaler(), (y - y.mean()) / y.std()),
    }
    found: dict[str, float] = {}
    for reading, (scaler, target) in readings.items():
        score = {
            s: float(cross_val_score(
                make_pipeline(scaler, SVR(C=1.0, epsilon=0.1, gamma=1 / (4 * s))),
                data.X, target, cv=folds, scoring="r2",
            ).mean())
            for s in grid
        }  # fmt: skip
        best = max(score, key=lambda s: score[s])
        found[f"smoothing, {reading}"] = best
        found[f"loss of R², {reading}"] = score[best] - score[printed]
    found["smoothing"] = found["smoothing, standardised"]
    return found
