"""Tables and pictures of the experiment: ``python -m lab.studies.automatic.page --help``.

The hand-written page ``docs/results/automatic.md`` includes what is written here.
"""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from lab.experiments.reporting.figures import dots, rank_diagram
from lab.experiments.reporting.significance import compare_ranks
from lab.publish.markdown import number, p_value, table
from lab.publish.pages import save_picture
from lab.studies.automatic.answers import MEMBERS
from lab.studies.automatic.methods import CONTROLS, RIVALS
from lab.studies.automatic.rivals import PROGRAMS
from lab.studies.automatic.scores import (
    KEPT,
    TESTS,
    by_table,
    compared,
    mean_ranks,
    score_all,
)
from lab.studies.automatic.trials import is_for_development

AUTO = "automatic"
EQUAL = "equal weights, no temperature"
ABLATIONS = (
    "greedy weights", "stacking weights", "equal weights", "no temperature", EQUAL,
    "one set of weights", "one set of weights, hidden cells", "trees: NaN as it comes",
    "without members on beliefs", "without linear and extra-trees", "without beliefs-mixture",
    "greedy, old members",
)  # fmt: skip
_DPI = 120


def publish(frame: pd.DataFrame, folder: Path) -> None:
    """Write everything that the page includes, but for what the run was."""
    folder.mkdir(parents=True, exist_ok=True)
    frame[KEPT].to_csv(folder / "scores.csv", index=False, float_format="%.4f")
    for experiment in ("real-holes", "shift"):
        for k, test in enumerate(TESTS):
            rivals = _rivals(frame, experiment)
            name = f"{experiment}-{('as-is', 'hidden')[k]}"
            (folder / f"{name}.md").write_text(_contest(frame, experiment, test, rivals))
            losses = by_table(frame, test, "loss", experiment)[[AUTO, *rivals]].dropna()
            comparison = compare_ranks(losses, lower_is_better=True)
            if comparison is not None:
                picture = folder / f"{name}.png"
                rank_diagram(comparison).savefig(picture, dpi=_DPI)
                save_picture(picture, folder)
    (folder / "ablation.md").write_text(_ablation(frame))
    (folder / "strata.md").write_text(_strata(frame))
    (folder / "halves.md").write_text(_halves(frame))
    (folder / "tables.md").write_text(_tables(frame))
    _ablation_picture(frame, folder)


def _rivals(frame: pd.DataFrame, experiment: str) -> list[str]:
    """Return single models and averages to compare with: trees as people use them, too."""
    singles = [*MEMBERS, *(f"{name}, NaN as it comes" for name in RIVALS), *PROGRAMS]
    counts = frame[frame["experiment"] == experiment].value_counts("method")
    # A mixture is fitted to narrow tables only, AutoGluon was not run on complete training rows:
    # means over other trials do not compare.
    names = [*singles, EQUAL, *CONTROLS]
    return [name for name in names if counts.get(name, 0) == counts[AUTO]]


def _contest(frame: pd.DataFrame, experiment: str, test: str, rivals: list[str]) -> str:
    losses = by_table(frame, test, "loss", experiment)
    scores = by_table(frame, test, "score", experiment)
    numbers = frame[frame["task"] == "regression"]["table"].unique()
    of_classes = [name for name in losses.index if name not in numbers]
    of_numbers = [name for name in losses.index if name in numbers]
    methods = [AUTO, *rivals]
    seconds = frame[frame["experiment"] == experiment].groupby("method")["seconds"].mean()
    loss_ranks = mean_ranks(losses, methods, lower_is_better=True)
    score_ranks = mean_ranks(scores, methods, lower_is_better=False)
    rows = []
    for method in loss_ranks.index:
        row = [
            f"**{method}**" if method == AUTO else method,
            number(float(loss_ranks[method]), 2),
            number(float(score_ranks[method]), 2),
            number(float(losses.loc[of_classes, method].mean())),
            number(float(scores.loc[of_classes, method].mean())),
        ]
        if of_numbers:
            row += [
                number(float(losses.loc[of_numbers, method].mean())),
                number(float(scores.loc[of_numbers, method].mean())),
            ]
        spent = float(seconds.loc[method]) if method in seconds.index else np.nan
        row.append("" if np.isnan(spent) else number(spent, 1))
        rows.append([*row, *_against(losses, scores, method)])
    heads = ["method", "rank, loss", "rank, score", "log loss", "accuracy"]
    heads += ["CRPS", "R²", "seconds"] if of_numbers else ["seconds"]
    heads += ["loss: won, lost", "p", "score: won, lost", "p"]
    return table(heads, rows)


def _against(losses: pd.DataFrame, scores: pd.DataFrame, method: str) -> list[str]:
    """Return how often the automatic machine won and lost against a method, and p-values."""
    if method == AUTO:
        return ["", "", "", ""]
    cells = []
    for frame, lower in ((losses, True), (scores, False)):
        found = compared(frame, AUTO, method, lower_is_better=lower)
        p = "" if np.isnan(found["p"]) else p_value(found["p"])
        cells += [f"{found['won']}, {found['lost']}", p]
    return cells


def _ablation(frame: pd.DataFrame) -> str:
    rows = []
    for name in ABLATIONS:
        row = [name]
        for test in TESTS:
            losses = by_table(frame, test, "loss", "real-holes")
            scores = by_table(frame, test, "score", "real-holes")
            if name not in losses:
                break
            found = compared(losses, AUTO, name, lower_is_better=True)
            score = compared(scores, AUTO, name, lower_is_better=False)
            row += [
                f"{found['difference']:+.4f} ± {found['error']:.4f}",
                f"{found['won']}, {found['lost']}",
                "" if np.isnan(found["p"]) else p_value(found["p"]),
                f"{100 * score['difference']:+.2f}",
            ]
        if len(row) > 1:
            rows.append(row)
    part = ["loss", "won, lost", "p", "points"]
    return table(["instead", *part, *(f"{head}, hidden" for head in part)], rows)


def _ablation_picture(frame: pd.DataFrame, folder: Path) -> None:
    for k, test in enumerate(TESTS):
        losses = by_table(frame, test, "loss", "real-holes")
        found = {
            name: compared(losses, AUTO, name, lower_is_better=True)
            for name in ABLATIONS
            if name in losses
        }
        order = sorted(found, key=lambda name: found[name]["difference"])
        figure = dots(
            {name: found[name]["difference"] for name in order},
            {name: found[name]["error"] for name in order},
            "loss more than the automatic machine has (log loss or CRPS), mean over tables",
        )
        figure.axes[0].axvline(0.0, color="#444444", linewidth=1)
        name = f"ablation-{('as-is', 'hidden')[k]}.png"
        figure.savefig(folder / name, dpi=_DPI)
        save_picture(folder / name, folder)


def _strata(frame: pd.DataFrame) -> str:
    facts = frame[frame["experiment"] == "real-holes"].groupby("table")[
        ["missing", "rows", "columns", "informative"]
    ].mean()  # fmt: skip
    strata = {
        "less than 5 % missing": facts["missing"] < 0.05,
        "5 to 15 % missing": (facts["missing"] >= 0.05) & (facts["missing"] < 0.15),
        "15 % missing and more": facts["missing"] >= 0.15,
        "fewer than 400 training rows": facts["rows"] < 400,
        "400 training rows and more": facts["rows"] >= 400,
        "more than 100 columns": facts["columns"] > 100,
        "missingness is not informative": facts["informative"] < 0.5,
        "missingness is informative": facts["informative"] >= 0.5,
    }
    rows = []
    for name, inside in strata.items():
        chosen = list(facts.index[inside])
        row: list[object] = [name, len(chosen)]
        for test in TESTS if chosen else ():
            losses = by_table(frame, test, "loss", "real-holes").loc[chosen]
            for other in ("forest, NaN as it comes", "beliefs", CONTROLS[0]):
                found = compared(losses, AUTO, other, lower_is_better=True)
                row.append(f"{found['won']}, {found['lost']} ({found['difference']:+.3f})")
        if chosen:
            rows.append(row)
    others = ["forest", "beliefs", "average of rivals"]
    heads = ["tables", "number", *others, *(f"{name}, hidden" for name in others)]
    return table(heads, rows)


def _halves(frame: pd.DataFrame) -> str:
    rows = []
    for half, title in ((True, "development"), (False, "judging")):
        part = frame[[is_for_development(name) == half for name in frame["table"]]]
        for test in TESTS:
            losses = by_table(part, test, "loss", "real-holes")
            scores = by_table(part, test, "score", "real-holes")
            singles = [name for name in MEMBERS if losses[name].notna().all()]
            best = min(singles, key=lambda name: float(losses[name].mean()))
            rows += [
                [title, len(losses), test, other, *_against(losses, scores, other)]
                for other in (best, EQUAL, "greedy, old members", CONTROLS[0])
            ]
    heads = ["half", "tables", "test rows", "against", "loss: won, lost", "p", "score: won, lost"]
    return table([*heads, "p"], rows, left=(0, 2, 3))


def _tables(frame: pd.DataFrame) -> str:
    names = [AUTO, "beliefs", "linear", "forest, NaN as it comes", CONTROLS[0]]
    rows = []
    for experiment in ("real-holes", "shift"):
        found = [by_table(frame, test, "loss", experiment) for test in TESTS]
        for name in found[0].index:
            facts = frame[frame["table"] == name].iloc[0]
            cells = [float(each.loc[name, method]) for each in found for method in names]
            rows.append([name.replace("_", " "), int(facts["rows"]), *cells])
    heads = ["table", "rows", *names, *(f"{name}, hidden" for name in names)]
    return table(heads, rows)


def _run(frame: pd.DataFrame) -> str:
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
    own = frame[(frame["method"] == AUTO) & (frame["test"] == TESTS[0])]
    minutes = own["seconds"].sum() / 60
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    trials = frame.groupby("experiment")[["table", "repeat"]].apply(
        lambda part: len(part.drop_duplicates())
    )
    each = ", ".join(f"{name}: {count} splits" for name, count in trials.items())
    return (
        f"{each}; {minutes:.0f} minutes of processor time for all members, one thread, on "
        f"two shared cores. Versions: python {platform.python_version()}, {versions}. Seeds are "
        "derived from the name of the table and the number of the repetition.\n"
    )


def main() -> None:
    """Score what is in the store, and write tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of the tables")
    parser.add_argument("--store", type=Path, required=True, help="folder of the answers")
    parser.add_argument("--docs", type=Path, default=Path("docs/results/automatic"))
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    frame = score_all(chosen.store, chosen.data, chosen.repeats)
    publish(frame, chosen.docs)
    (chosen.docs / "run.md").write_text(_run(frame))


if __name__ == "__main__":
    main()
