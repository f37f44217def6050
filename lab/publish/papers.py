"""The papers' own numbers beside ours, for the page ``docs/results/papers.md``.

The tables are those of ``python -m lab reproduce``; besides them, ranks over all cells of a suite,
and ratios of errors, which do not depend on the unit that a paper left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.experiments import Results
from lab.experiments.reporting.significance import compare_ranks, paired_table
from lab.experiments.running.cells import SIZES, Context
from lab.papers.printed import TARGETS
from lab.papers.reproduce import as_table, lines_of
from lab.publish.markdown import number, p_value, spaced, table

_PAPERS_METHODS = ("zero", "mean", "mice", "knn", "gmm", "karma", "genrbf")


def publish_comparison(results: Results, suite: str, size: str, seed: int, docs: Path) -> None:
    """Write the tables of a suite that stand on the page of the papers, if it has any."""
    context = Context(next(known for known in SIZES if known == size), seed)
    written = {
        name: as_table(target, lines_of(target, results, context))
        for name, target in TARGETS.items()
        if target.suite == suite and target.printed
    }
    if suite in WRITERS:
        written |= WRITERS[suite](results.scores(suite, size, seed))
    if written:
        (docs / "papers").mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        (docs / "papers" / f"{name}.md").write_text(text, encoding="utf-8")


def _ranks(scores: Any) -> dict[str, str]:
    everything = paired_table(scores, "accuracy", ("dataset", "mechanism", "rate"))
    comparison = compare_ranks(everything[[*_PAPERS_METHODS]])
    assert comparison is not None
    best = comparison.ranks.index[0]
    rows = [
        (method, number(rank, 2), p_value(comparison.pairwise.loc[best, method]))
        for method, rank in comparison.ranks.items()
    ]
    seven = table(("method", "mean rank", "p against the first"), rows)
    note = (
        f"\n{comparison.n_blocks} blocks (data set, mechanism, rate); critical difference "
        f"{comparison.critical_difference:.2f} at 0.05.\n"
    )
    return {"smieja-figure-7": seven + note}


def _mesquita(scores: Any) -> dict[str, str]:
    chosen = scores[scores["metric"] == "sum_of_squares"]
    means = chosen.groupby(["variant", "dataset", "rate", "method"])["value"].mean()
    headings = (
        "error relative to EGK", "paper: ICkNNI", "paper: ESD", "ours: ICkNNI", "ours: ESD",
        "EGK as printed", "expected RBF", "conditional mean",
    )  # fmt: skip
    shown = ("icknni", "esd", "egk-independent", "expected-rbf", "conditional-mean")
    printed, written = TARGETS["mesquita-table"].printed, {}
    for variant, name in (("gamma=1/d", "wide"), ("gamma=1", "narrow")):
        rows = []
        for place in dict.fromkeys(row for row, _ in printed):
            icknni, esd, egk = (printed[place, m][0] for m in ("icknni", "esd", shown[2]))
            data, rate = place.removesuffix("%").split(",")
            ours = means[variant, data, float(rate) / 100]
            rows.append(
                (
                    f"{spaced(data)}, {rate} %",
                    number(icknni / egk, 2),
                    number(esd / egk, 2),
                    *(number(ours[name] / ours["egk"], 2) for name in shown),
                )
            )
        written[f"mesquita-{name}"] = table(headings, rows)
    return written


WRITERS = {"smieja-classification": _ranks, "mesquita": _mesquita}
