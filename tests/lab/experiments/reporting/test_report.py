"""The report: every part of it, from results of all kinds, as a page that stands alone."""

import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from absentia.reports.report_page import Page
from lab.experiments.methods import methods_for
from lab.experiments.reporting import figures
from lab.experiments.reporting.report import write_report, write_reports
from lab.experiments.reporting.report_names import file_name
from lab.experiments.reporting.significance import compare_ranks
from lab.experiments.running.cells import Cell, CellResult, Context, Score
from lab.experiments.running.runner import run
from lab.experiments.running.store import Results
from lab.experiments.suites import PROTOCOLS
from toy_protocol import TOY

CONTEXT = Context(size="smoke")


class _Balanced(HTMLParser):
    """Complain about tags that are not closed in their order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_page(path):
    page = path.read_text(encoding="utf-8")
    parser = _Balanced()
    parser.feed(page)
    assert parser.open == []
    # Nothing is fetched from anywhere: the page is whole.
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    return page


def stored(results, protocol, make_scores):
    """Fill results with the cells of a protocol and invented scores."""
    number = results.start_run(protocol.name, CONTEXT)
    for k, cell in enumerate(protocol.cells(CONTEXT)):
        scores = make_scores(cell)
        error = "ValueError: <no> luck" if k == 1 else ""
        facts = {
            "C": 1.0,
            "gamma": 0.5,
            "inner_score": 0.9,
            "gamma_edge": "low",
            "calibration": [[30, 25.0, 24]] * 10,
        }
        found = () if error else tuple(Score(m, v, cell.rate) for m, v in scores.items())
        results.add(number, CONTEXT, CellResult(cell, 0.5, found, facts, error))


@pytest.mark.parametrize("name", ["smieja-classification", "real-holes", "mesquita", "anderson"])
def test_protocols_of_every_shape(name, tmp_path):
    rng = np.random.default_rng(0)
    protocol = PROTOCOLS[name]
    with Results(":memory:") as results:

        def scores(cell: Cell):
            return {protocol.metric: rng.random(), "log_loss": rng.random(), "brier": rng.random()}

        stored(results, protocol, scores)
        path = write_report(results, protocol, "smoke", 0, tmp_path / name)
    page = check_page(path)
    assert protocol.title in page
    assert "&lt;no&gt; luck" in page
    folder = tmp_path / name
    for file in ("scores.csv", "cells.csv", "summary.csv", "choices.csv", "failures.csv",
                 "heat-map.png", "times.png", "runs.csv"):  # fmt: skip
        assert (folder / file).stat().st_size > 30
    if name == "mesquita":
        assert (folder / "ranking.png").exists()
        assert (folder / "nemenyi.csv").exists()
    if name == "real-holes":
        assert (folder / "calibration.png").exists()
    if name == "smieja-classification":
        assert (folder / "curves-accuracy-mnar.png").exists()


def test_all_that_a_file_holds_is_reported(tmp_path):
    rng = np.random.default_rng(0)
    with Results(tmp_path / "r.sqlite") as results:
        with pytest.raises(ValueError, match="holds no results yet"):
            write_reports(results, tmp_path)
        for name in ("mesquita", "shift"):
            metric = PROTOCOLS[name].metric
            stored(results, PROTOCOLS[name], lambda cell, m=metric: {m: rng.random()})
        pages = write_reports(results, tmp_path / "all")
    assert [page.parent.name for page in pages] == ["mesquita-smoke-0", "shift-smoke-0"]


def test_a_run_in_which_everything_failed_still_has_a_report(tmp_path):
    with Results(":memory:") as results:
        number = results.start_run("toy", CONTEXT)
        for cell in TOY.cells(CONTEXT):
            results.add(number, CONTEXT, CellResult(cell, 0.1, error="OSError: gone"))
        page = check_page(write_report(results, TOY, "smoke", 0, tmp_path))
    assert "No cell has finished without an error yet" in page
    assert "OSError: gone" in page


def test_two_methods_are_enough_for_a_report(tmp_path):
    with Results(":memory:") as results:
        run(TOY, results, CONTEXT, progress=False)
        page = check_page(write_report(results, TOY, "smoke", 0, tmp_path))
    assert "good has the best accuracy on average: 0.871" in page


@pytest.mark.parametrize("n_sets", [1, 3, 8])
def test_curves_name_the_best_of_either_side_within_the_picture(n_sets):
    names = [*methods_for("classification")]
    cells = [(f"set {k}", name, rate) for k in range(n_sets) for name in names for rate in (0.1, 1)]
    scores = pd.DataFrame(cells, columns=["dataset", "method", "rate"])
    values = scores["method"].map({"genrbf-mixture": 0.9, "mice": 0.8}).fillna(0.5)
    figure = figures.curves(scores.assign(metric="accuracy", value=values), "accuracy")
    figure.draw_without_rendering()
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == [
        "genrbf-mixture (ours)",
        "mice (the best rival)",
        "genrbf (ours)",
        f"{len(names) - 3} others",
    ]
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.width
    panels = [axes.get_tightbbox() for axes in figure.axes if axes.get_visible()]
    assert max(panel.y1 for panel in panels) <= legend.y0 + 1
    assert min(axes.get_window_extent().height for axes in figure.axes) > 90


def test_where_intervals_of_ranks_overlap_the_difference_is_not_significant():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 6)) + np.arange(6) / 2, columns=list("abcdef"))
    comparison = compare_ranks(table)
    half = comparison.critical_difference / 2
    for one, other in itertools.combinations(comparison.ranks.index, 2):
        gap = abs(comparison.ranks[one] - comparison.ranks[other])
        assert (gap > 2 * half) == (comparison.pairwise.loc[one, other] < comparison.level)
    panel = figures.rank_diagram(comparison).axes[0]
    assert [t.get_text() for t in panel.get_yticklabels()] == [*comparison.ranks.index[::-1]]


def test_tables_escape_and_mark_the_best():
    frame = pd.DataFrame({"name": ["<b>"], "x": [0.5], "y": [float("nan")], "n": [3]})
    page = Page("Scores")
    page.section("All")
    page.table(frame, best="min")
    text = page.render()
    assert "&lt;b&gt;" in text
    assert '<td class="number best" data-value="0.5">0.500</td>' in text
    assert '<td class="number">–</td>' in text
    assert '<td class="number" data-value="3">3</td>' in text


def test_a_page_of_text():
    page = Page("A < B", "why")
    page.section("One & two")
    page.paragraph("x < y")
    text = page.render()
    assert "<h1>A &lt; B</h1>" in text
    assert "<p>x &lt; y</p>" in text


def test_a_report_stays_in_its_folder_and_shows_any_name(tmp_path):
    context = replace(CONTEXT, size="../../outside")
    with Results(tmp_path / "r.sqlite") as results:
        for seed in (0, 1):
            where = replace(context, seed=seed)
            number = results.start_run("mesquita", where)
            for dataset in (r"$\frac{$", "=cmd|x"):
                for rate in (0.1, 0.2):
                    for method in ("genrbf", "$$$"):
                        cell = Cell("mesquita", dataset, method, "../../up", rate, variant="../v")
                        score = Score(PROTOCOLS["mesquita"].metric, 0.5, rate)
                        results.add(number, where, CellResult(cell, 0.1, (score,)))
    inner = tmp_path / "a" / "b" / "c"
    with Results(tmp_path / "r.sqlite", read_only=True) as results:
        pages = write_reports(results, inner)
    assert len(pages) == 2
    written = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert all(inner in path.parents for path in written - {tmp_path / "r.sqlite"})
    assert any(path.name.startswith("curves") for path in written)
    assert "'=cmd|x" in (pages[0].parent / "scores.csv").read_text()


def test_names_of_files_are_plain():
    assert file_name("../../x") == "_.._x"
    assert file_name("a/b\\c:d\x00") == "a_b_c_d_"
    assert file_name("...") == "_"
    assert len(file_name("x" * 1000)) == 150
