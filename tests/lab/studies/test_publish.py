"""What goes from a file of results into the documentation."""

import pytest

from lab.experiments.running.cells import CellResult, Context, Score
from lab.experiments.running.store import Results
from lab.experiments.suites import PROTOCOLS
from lab.papers.printed import TARGETS
from lab.publish.markdown import bold_best, number, table
from lab.publish.pages import publish_suite
from lab.publish.papers import publish_comparison

CONTEXT = Context(size="small")


def results_of(name, value_of):
    """Return results of one sample and fold of a suite, with invented scores."""
    protocol = PROTOCOLS[name]
    results = Results(":memory:")
    run = results.start_run(name, CONTEXT)
    for cell in protocol.cells(CONTEXT):
        if cell.sample == 0 and cell.fold == 0:
            scores = [Score(metric, v, cell.rate) for metric, v in value_of(cell).items()]
            facts = {"gamma": 0.5, "inner_score": 0.9}
            results.add(run, CONTEXT, CellResult(cell, 0.5, tuple(scores), facts))
    return protocol, results


@pytest.mark.slow
def test_a_suite_has_its_pictures_and_tables(tmp_path):
    better = {"genrbf": 0.9, "mean": 0.8}
    protocol, results = results_of(
        "smieja-classification", lambda cell: {"accuracy": better.get(cell.method, 0.5)}
    )
    folder = publish_suite(results, protocol, "small", 0, tmp_path)
    assert {p.name for p in folder.glob("*.png")} >= {"ranking.png", "ranks-by-rate.png"}
    assert not (folder / "report").exists()
    means = (folder / "means.md").read_text()
    assert "| genrbf | **0.900** | **0.900** |" in means
    # Methods that were run for Table 2 only have no mean over all rates.
    assert "geom" not in means
    assert "Size `small`, seed 0" in (folder / "run.md").read_text()
    assert (folder / "ranks.md").read_text().splitlines()[2].startswith("| genrbf | 1.00 |")
    assert not (folder / "probabilities.md").exists()

    publish_comparison(results, "smieja-classification", "small", 0, tmp_path)
    printed = (tmp_path / "papers" / "smieja-table-2.md").read_text()
    assert "| genrbf | australian | 0.833 ± 0.014 | 0.900 | higher |" in printed
    assert "| geom | australian | 0.799 ± 0.017 | 0.500 | lower |" in printed
    assert "| genrbf | 1.00 |" in (tmp_path / "papers" / "smieja-figure-7.md").read_text()


def test_errors_are_compared_as_ratios(tmp_path):
    _, results = results_of(
        "mesquita", lambda cell: {"sum_of_squares": 4.0 if cell.method == "esd" else 2.0}
    )
    publish_comparison(results, "mesquita", "small", 0, tmp_path)
    text = (tmp_path / "papers" / "mesquita-narrow.md").read_text()
    assert "| auto mpg, 10 % | 1.43 | 1.35 | 1.00 | 2.00 |" in text


def test_readings_of_widths_are_ranked_among_the_papers_methods(tmp_path):
    level = {"genrbf": 0.9, "expected-rbf": 0.8, "knn-10": 0.7}
    _, results = results_of(
        "struski-regression",
        lambda cell: {"r2": level.get(cell.method, 0.1 * len(cell.variant) / 60)},
    )
    publish_comparison(results, "struski-regression", "small", 0, tmp_path)
    text = (tmp_path / "papers" / "struski-readings.md").read_text()
    assert text.count("| genrbf | 1.00 |  | **0.900**") == 3
    assert text.count("| expected-rbf | 2.00 | 1.00 | 0.800") == 3
    assert text.count("56 blocks; critical difference") == 3


@pytest.mark.parametrize(
    "name", dict.fromkeys(t.suite for t in TARGETS.values() if t.printed and t.suite)
)
def test_the_papers_methods_and_sets_are_those_of_the_suite(name, tmp_path):
    metrics = dict.fromkeys({target.metric for target in TARGETS.values()}, 0.5)
    _, results = results_of(name, lambda cell: metrics)
    publish_comparison(results, name, "small", 0, tmp_path)
    assert list((tmp_path / "papers").glob("*.md"))


def test_suites_without_numbers_in_a_paper_have_no_table(tmp_path):
    with Results(":memory:") as results:
        publish_comparison(results, "shift", "small", 0, tmp_path)
    assert not list(tmp_path.iterdir())


def test_tables_and_numbers():
    assert number(1234) == "1,234"
    assert number(float("nan")) == ""
    assert bold_best([0.5, 0.7, 0.70001], lower_is_better=False) == [
        "0.500",
        "**0.700**",
        "**0.700**",
    ]
    assert bold_best([0.5, 0.7, float("nan")], lower_is_better=True) == ["**0.500**", "0.700", ""]
    assert table(("a", "b"), [("x", 0.25)]) == "| a | b |\n|:--|--:|\n| x | 0.250 |\n"
