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
from lab.publish.markdown import bold_best, number, p_value, spaced, table

#: Readings of the widths of [Struski2016]_, and the methods that it compares.
_READINGS = {
    "paper's gamma": "Standardised columns, the target as it is",
    "paper's gamma, columns in [0, 1], target scaled": "Columns in [0, 1], standardised target",
    "gamma=scale, target scaled": "One over the number of columns as width, all standardised",
}
_COMPARED_BY_STRUSKI = ("expected-rbf", "knn-10", "kmeans", "svr-imputation-0.001", "mice")
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


def _struski(scores: Any) -> dict[str, str]:
    """Return R² and ranks by reading of the widths, MCAR and MAR as in the paper."""
    chosen = scores[(scores["metric"] == "r2") & scores["mechanism"].isin(["mcar", "mar-distance"])]
    parts = []
    for variant, title in _READINGS.items():
        part, blocks = chosen[chosen["variant"] == variant], ("dataset", "mechanism", "rate")
        among = part[part["method"].isin(_COMPARED_BY_STRUSKI)]
        found, papers = (compare_ranks(paired_table(p, "r2", blocks)) for p in (part, among))
        if found is None or papers is None:
            return {}
        means = part.pivot_table(index="method", columns="dataset", values="value")
        means = means.loc[found.ranks.index]
        cells = [bold_best(means[c].tolist(), lower_is_better=False, decimals=3) for c in means]
        rows = [
            (
                method,
                number(found.ranks[method], 2),
                number(papers.ranks[method], 2) if method in papers.ranks else "",
                *(column[i] for column in cells),
                number(means.loc[method].mean()),
            )
            for i, method in enumerate(means.index)
        ]
        text = table(("method", "mean rank", "among the paper's", *means, "mean"), rows)
        parts.append(
            f"*{title}:*\n\n{text}\n{found.n_blocks} blocks; critical difference "
            f"{found.critical_difference:.2f} of all, {papers.critical_difference:.2f} among the "
            "paper's.\n"
        )
    return {"struski-readings": "\n".join(parts)}


WRITERS = {"smieja-classification": _ranks, "mesquita": _mesquita, "struski-regression": _struski}
