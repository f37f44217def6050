"""Pages of the documentation from the run of a suite: pictures, tables, and settings.

The hand-written page ``docs/results/<suite>.md`` includes what is written here.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from lab.experiments import Results, write_report
from lab.experiments.reporting.significance import means_by
from lab.experiments.running.cells import Protocol
from lab.publish.markdown import bold_best, number, p_value, spaced, table

#: Parts of a report that are kept beside its pictures.
_KEPT = ("ranks.csv", "summary.csv", "choices.csv", "failures.csv", "probabilities.csv", "runs.csv")
#: Seconds of cells that ran beside other programs; ``smieja-timing`` compares times.
_NOT_PUBLISHED = ("times",)
_COLOURS = 256


def publish_suite(results: Results, protocol: Protocol, size: str, seed: int, docs: Path) -> Path:
    """Write pictures, tables and ``run.md`` of a suite into its folder under the results."""
    folder = docs / protocol.name
    report = folder / "report"
    write_report(results, protocol, size, seed, report)
    for name in _KEPT:
        if (report / name).exists():
            shutil.copy(report / name, folder / name)
    for picture in sorted(report.glob("*.png")):
        if picture.stem not in _NOT_PUBLISHED:
            save_picture(picture, folder)
    shutil.rmtree(report)
    scores = results.scores(protocol.name, size, seed)
    cells = results.cells(protocol.name, size, seed)
    runs = results.runs(protocol.name, size, seed)
    texts = {
        "run": _how_it_was_run(cells, runs, size, seed),
        "ranks": _ranks(folder / "ranks.csv"),
        "means": _means(scores, protocol),
        "probabilities": _probabilities(folder / "probabilities.csv"),
        "choices": _choices(folder / "choices.csv"),
    }
    for name, text in texts.items():
        if text:
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def save_picture(picture: Path, folder: Path) -> None:
    """Write a picture into a folder with few colours: line drawings lose nothing but bytes."""
    image = Image.open(picture).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    image.save(folder / picture.name, optimize=True)


def _how_it_was_run(cells: Any, runs: list[dict[str, Any]], size: str, seed: int) -> str:
    failed = int((cells["error"] != "").sum())
    sets = cells["dataset"].nunique()
    hours = cells["seconds"].sum() / 3600
    versions = ", ".join(f"{name} {version}" for name, version in runs[-1]["versions"].items())
    jobs = runs[-1]["settings"].get("jobs", 1)
    times = f"{hours:.2f} hours" if hours >= 0.1 else f"{60 * hours:.1f} minutes"
    return (
        f"Size `{size}`, seed {seed}: {len(cells):,} cells on {sets} data set{'s' * (sets > 1)} "
        f"with {cells['method'].nunique()} methods, {failed or 'none'} failed; {times} of "
        f"computing in {jobs} process{'es' if jobs != 1 else ''} on two cores of a shared machine; "
        f"last result {str(runs[-1]['finished'])[:10]}. Versions: {versions}.\n"
    )


def _ranks(path: Path) -> str:
    if not path.exists():
        return ""
    frame = pd.read_csv(path)
    rows = [
        (row["method"], row["mean rank"], p_value(row["p against the best"]), row["what it does"])
        for _, row in frame.iterrows()
    ]
    headings = ("method", "mean rank", "p against the first", "what it does")
    return table(headings, rows, _rank, left=(0, 3))


def _rank(value: Any) -> str:
    return number(value, 2)


def _means(scores: Any, protocol: Protocol) -> str:
    """Return a table to each variant; what there is more of, methods or sets, goes downwards."""
    tables = []
    for variant, part in scores.groupby("variant"):
        means = means_by(part, protocol.metric, ["mechanism", "dataset"])
        means = means.groupby(level="dataset").mean()
        lower = protocol.lower_is_better
        order = means.rank(axis=1, ascending=lower).mean().sort_values(kind="stable").index
        decimals = 4 if protocol.metric in ("fit_seconds", "rmse") else 3
        means = means[order]
        written = [
            [spaced(name), *bold_best(row.tolist(), lower_is_better=lower, decimals=decimals)]
            for name, row in means.iterrows()
        ]
        lines = [["data set", *order], *written]
        if len(means) < len(order):
            lines = [list(line) for line in zip(*lines, strict=True)]
            lines[0][0] = "method"
        title = f"\n*{str(variant).capitalize()}:*\n\n" if variant else ""
        tables.append(title + table(lines[0], lines[1:]))
    return "\n".join(tables)


def _probabilities(path: Path) -> str:
    if not path.exists():
        return ""
    frame = pd.read_csv(path)
    order = frame.iloc[:, 1].argsort()
    return table(list(frame.columns), [tuple(frame.iloc[k]) for k in order])


def _choices(path: Path) -> str:
    if not path.exists():
        return ""
    frame = pd.read_csv(path)
    rows = [
        (
            row["method"],
            f"{row['median gamma']:.3g}",
            f"{row['smallest']:.3g}",
            f"{row['largest']:.3g}",
            number(row["best on low edge, %"], 0),
            number(row["best on high edge, %"], 0),
        )
        for _, row in frame.iterrows()
    ]
    headings = (
        "method",
        "median gamma",
        "smallest",
        "largest",
        "at low edge, %",
        "at high edge, %",
    )
    return table(headings, rows)
