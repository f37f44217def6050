"""From a file of results to a page that can be read, and its numbers and pictures as files.

:func:`write_report` writes ``index.html``, one page with everything inside it, and beside it the
same pictures as PNG and the same tables as CSV.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from absentia.reports.report_page import Page
from lab.experiments.reporting import figures
from lab.experiments.reporting.figures import MECHANISM_LABELS, METRIC_LABELS
from lab.experiments.reporting.report_folder import ReportFolder
from lab.experiments.reporting.report_names import (
    description,
    file_name,
    in_words,
    shown_facts,
    slug,
)
from lab.experiments.reporting.searched_widths import searched_widths
from lab.experiments.reporting.significance import (
    Comparison,
    compare_ranks,
    means_by,
    paired_table,
    ranks_by_rate,
    summary_table,
)
from lab.experiments.running.cells import Protocol
from lab.experiments.running.store import Results
from lab.experiments.suites import protocol_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Scores that are about probabilities, and whether less is better.
_PROBABILITY_METRICS = {"log_loss": True, "brier": True, "calibration_error": True, "crps": True}


def write_reports(results: Results, folder: str | Path) -> list[Path]:
    """Write a report for each protocol, size and seed in the results; return the pages."""
    folders = report_folders(results, folder)
    return [
        write_report(results, protocol_named(name), size, seed, own)
        for (name, size, seed, _), own in zip(results.protocols(), folders, strict=True)
    ]


def report_folders(results: Results, folder: str | Path) -> list[Path]:
    """Return where :func:`write_reports` writes: the folder, or one inside it for each report."""
    held = results.protocols()
    if not held:
        raise ValueError(f"{results.path} holds no results yet: run a protocol first.")
    if len(held) == 1:
        return [Path(folder)]
    return [Path(folder) / file_name(f"{name}-{size}-{seed}") for name, size, seed, _ in held]


def write_report(
    results: Results,
    protocol: Protocol,
    size: str,
    seed: int,
    folder: str | Path,
) -> Path:
    """Write the report of one protocol into a folder, and return its page.

    Parameters
    ----------
    results : Results
    protocol : Protocol
    size : str
    seed : int
    folder : path
        Made where it does not exist.

    Returns
    -------
    Path of ``index.html``
    """
    return _Report(results, protocol, size, seed, Path(folder)).write()


class _Report:
    def __init__(self, results: Results, protocol: Protocol, size: str, seed: int, folder: Path):
        self.protocol = protocol
        self.size, self.seed = size, seed
        self.files = ReportFolder(folder)
        self.scores = results.scores(protocol.name, size, seed)
        self.cells = results.cells(protocol.name, size, seed)
        self.runs = results.runs(protocol.name, size, seed)
        self.page = Page(protocol.title, f"{protocol.name}, size {size}; {protocol.source}")

    def write(self) -> Path:
        self.files.table(self.scores, "scores")
        cells = self.cells.assign(facts=self.cells["facts"].map(shown_facts))
        self.files.table(cells, "cells")
        if (self.scores["metric"] == self.protocol.metric).any():
            comparison = self._comparison()
            self._verdict(comparison)
            self._ranking(comparison)
            self._curves()
            self._by_data_set()
            self._probabilities()
        else:
            self.page.verdict("No cell has finished without an error yet.")
        self._times()
        self._choices()
        self._failures()
        self._settings()
        return self.files.page(self.page)

    # ------------------------------------------------------------------ sections

    def _comparison(self) -> Comparison | None:
        table = paired_table(self.scores, self.protocol.metric, self.protocol.blocks)
        # What saw complete rows is a bound, not a rival.
        table = table.drop(columns=[c for c in ("complete",) if c in table.columns])
        return compare_ranks(table, lower_is_better=self.protocol.lower_is_better)

    def _verdict(self, comparison: Comparison | None) -> None:
        failed = int((self.cells["error"] != "").sum())
        tiles = {
            "data sets": str(self.cells["dataset"].nunique()),
            "methods": str(self.cells["method"].nunique()),
            "cells": f"{len(self.cells):,}",
            "failed": str(failed),
            "hours of computing": f"{self.cells['seconds'].sum() / 3600:.2f}",
        }
        if comparison is None:
            self.page.verdict(self._plain_verdict())
        else:
            best = comparison.ranks.index[0]
            others = [name for name in comparison.as_good_as_best() if name != best]
            sentence = f"{best} has the best mean rank, {comparison.ranks.iloc[0]:.2f} of "
            sentence += f"{len(comparison.ranks)} methods over {comparison.n_blocks} blocks"
            if comparison.p_value > comparison.level:
                sentence += ", but Friedman's test finds no significant difference."
            elif others:
                sentence += f". There is no significant difference from {in_words(others)}."
            else:
                sentence += ", significantly better than all others."
            self.page.verdict(sentence)
        self.page.tiles(tiles)

    def _plain_verdict(self) -> str:
        chosen = self.scores[self.scores["metric"] == self.protocol.metric]
        means = chosen.groupby("method")["value"].mean()
        best = means.idxmin() if self.protocol.lower_is_better else means.idxmax()
        label = METRIC_LABELS.get(self.protocol.metric, self.protocol.metric)
        return f"{best} has the best {label} on average: {means[best]:.3f}."

    def _ranking(self, comparison: Comparison | None) -> None:
        if comparison is None:
            return
        self.page.section("Ranking")
        self._picture(
            figures.rank_diagram(comparison),
            "ranking",
            "Mean rank over the blocks; 1 is best. Where two intervals overlap, Nemenyi's test "
            f"finds no significant difference at {comparison.level:g}.",
        )
        p = "p < 1e-16" if comparison.p_value < 1e-16 else f"p = {comparison.p_value:.3g}"
        blocks = ", ".join(self.protocol.blocks)
        self.page.paragraph(
            f"Friedman's test that all methods are alike: {p}, "
            f"{comparison.n_blocks} blocks ({blocks}). Blocks of one data set are not independent "
            "of each other, so the test is more confident than it should be."
        )
        if comparison.left_out:
            self.page.paragraph(
                f"Left out of the test, for lack of scores: {in_words(comparison.left_out)}."
            )
        pairwise = comparison.pairwise.loc[comparison.ranks.index, comparison.ranks.index]
        self.files.table(pairwise.reset_index(), "nemenyi")
        table = comparison.ranks.rename("mean rank").rename_axis("method").reset_index()
        table["p against the best"] = pairwise.iloc[0].to_numpy()
        table["what it does"] = [description(name) for name in table["method"]]
        self.files.table(table, "ranks")
        self.page.table(table)
        by_rate = ranks_by_rate(
            self.scores,
            self.protocol.metric,
            self.protocol.blocks,
            list(comparison.ranks.index),
            lower_is_better=self.protocol.lower_is_better,
        )
        if len(by_rate) > 1:
            self.files.table(by_rate.reset_index(), "ranks-by-rate")
            self._picture(
                figures.rank_curves(by_rate),
                "ranks-by-rate",
                "Mean rank at each share of missing values; 1 is best.",
            )

    def _curves(self) -> None:
        metric = self.protocol.metric
        chosen = self.scores[self.scores["metric"] == metric]
        if chosen["rate"].nunique() < 2:
            return
        self.page.section("By share of missing values")
        shown = [metric]
        if "matrix_distance" in set(self.scores["metric"]):
            shown.append("matrix_distance")
        if metric == "error" and "fit_seconds" in set(self.scores["metric"]):
            shown.append("fit_seconds")
        for name in shown:
            part = self.scores[self.scores["metric"] == name]
            for (mechanism, variant), _ in part.groupby(["mechanism", "variant"]):
                figure = figures.curves(
                    self.scores,
                    name,
                    mechanism,
                    variant,
                    lower_is_better=self.protocol.lower_is_better or name != metric,
                )
                parts = (METRIC_LABELS.get(name, name), MECHANISM_LABELS.get(mechanism, mechanism))
                caption = ", ".join(part for part in (*parts, variant) if part)
                file = "-".join(part for part in ("curves", name, mechanism, slug(variant)) if part)
                self._picture(figure, file, caption[0].upper() + caption[1:] + ".")

    def _by_data_set(self) -> None:
        protocol = self.protocol
        self.page.section("By data set")
        rows = ["dataset"]
        rows += [c for c in ("variant", "mechanism") if self.scores[c].nunique() > 1]
        table = means_by(self.scores, protocol.metric, rows)
        self._picture(
            figures.heat_map(table, protocol.metric, lower_is_better=protocol.lower_is_better),
            "heat-map",
            "Mean over everything else, every rate with the same weight; methods that were "
            "run only on a part are left out. Absentia's own methods in colour; the best of each "
            "row in bold on white.",
        )
        best = "min" if protocol.lower_is_better else "max"
        self.page.table(table.reset_index(), best=best)
        detailed = summary_table(self.scores, protocol.metric, (*rows, "rate"))
        self.files.table(detailed, "summary")
        detailed["rate"] = 100 * detailed["rate"]
        self.page.table(
            detailed.rename(columns={"rate": "missing, %", "sd": "sd over samples"}),
            folded=f"All {len(detailed):,} means, with standard deviations",
        )

    def _probabilities(self) -> None:
        found = [m for m in _PROBABILITY_METRICS if m in set(self.scores["metric"])]
        if not found or self.protocol.name not in ("real-holes", "compare"):
            return
        self.page.section("Probabilities")
        self.page.paragraph(
            "Machines without probabilities of their own get them by Platt's method from the "
            "values that the inner cross-validation gave to rows it had not seen; regressors get "
            "a normal distribution as wide as their errors on such rows. Means are over the data "
            "sets that all methods were run on."
        )
        metrics = [*found, *(m for m in ("coverage_90",) if m in set(self.scores["metric"]))]
        # Only data sets that every method has a score on: means over other sets do not compare.
        by_set = self.scores[self.scores["metric"].isin(metrics)].pivot_table(
            index=["metric", "dataset"], columns="method", values="value", aggfunc="mean"
        )
        means = by_set.dropna().groupby(level="metric").mean().T
        metrics = [name for name in metrics if name in means.columns]
        means = means[metrics].rename(columns=METRIC_LABELS).reset_index()
        self.files.table(means, "probabilities")
        self.page.table(means)
        if any("calibration" in facts for facts in self.cells["facts"]):
            self._picture(
                figures.calibration(self.cells),
                "calibration",
                "How often predictions were right against how sure they were; on the dotted line "
                "they are as good as they say.",
            )

    def _times(self) -> None:
        if not (self.cells["error"] == "").any():
            return
        self.page.section("Time")
        self._picture(
            figures.times(self.cells),
            "times",
            "Seconds for one cell, tuning included: the median, and the middle half as a band. "
            "Cells may have shared the machine with others.",
        )

    def _choices(self) -> None:
        table = searched_widths(self.cells)
        if not len(table):
            return
        self.files.table(table, "choices")
        self.page.section("What the inner cross-validation chose")
        self.page.paragraph(
            "Where the best kernel width lay on the edge of the grid, the grid was widened beyond "
            "it, up to four steps; the table says how often."
        )
        self.page.table(table)

    def _failures(self) -> None:
        failed = self.cells[self.cells["error"] != ""]
        if not len(failed):
            return
        self.page.section("Failures")
        table = failed.groupby(["method", "error"]).size().rename("cells").reset_index()
        table = table.sort_values("cells", ascending=False)
        self.files.table(table, "failures")
        self.page.table(table)

    def _settings(self) -> None:
        import pandas as pd

        self.page.section("How it was run")
        self.page.paragraph(self.protocol.description)
        self.page.paragraph(
            f"Size {self.size}, seed {self.seed}; every other seed is derived from the cell, so "
            "that all methods saw the same missing values and the same folds."
        )
        rows = [
            {
                "run": run["run"],
                "started": str(run["started"])[:19].replace("T", " "),
                "last result": str(run["finished"] or "")[:19].replace("T", " "),
                "cells": run["cells"],
                "hours of computing": (run["seconds"] or 0.0) / 3600,
                "settings": ", ".join(f"{k}={v}" for k, v in run["settings"].items()),
                "versions": ", ".join(f"{k} {v}" for k, v in run["versions"].items()),
            }
            for run in self.runs
        ]
        table = pd.DataFrame(rows)
        self.files.table(table, "runs")
        self.page.table(table)

    def _picture(self, figure: Figure, name: str, caption: str) -> None:
        self.files.picture(figure, file_name(name))
        self.page.picture(figure, caption)
