"""The papers' own numbers beside ours, row by row.

The numbers are those of the tables as printed; figures without numbers are compared in words on
the page ``docs/results/papers.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.experiments import Results
from lab.experiments.reporting.significance import compare_ranks, paired_table, summary_table
from lab.publish.markdown import number, p_value, spaced, table

#: Table 2 of Smieja2018, accuracy, MAR at 30 %; columns in the order of _TABLE_2_SETS.
_TABLE_2_SETS = {
    "australian": "Australian",
    "banknote": "Bank",
    "breast_cancer_wisconsin": "Breast cancer",
    "climate_crashes": "Crashes",
    "pima": "Diabetes",
    "heart_statlog": "Heart",
    "ionosphere": "Ionosphere",
    "bupa": "Liver disorders",
}
_TABLE_2 = {
    "zero": (0.817, 0.898, 0.948, 0.916, 0.743, 0.728, 0.803, 0.594),
    "mean": (0.832, 0.894, 0.949, 0.919, 0.745, 0.791, 0.844, 0.608),
    "mice": (0.558, 0.748, 0.814, 0.906, 0.651, 0.566, 0.759, 0.580),
    "missforest": (0.565, 0.787, 0.833, 0.905, 0.651, 0.573, 0.770, 0.583),
    "geom": (0.799, 0.786, 0.937, 0.915, 0.710, 0.789, 0.907, 0.578),
    "karma": (0.828, 0.907, 0.952, 0.921, 0.744, 0.797, 0.887, 0.606),
    "knn": (0.566, 0.724, 0.829, 0.907, 0.648, 0.568, 0.769, 0.580),
    "gmm": (0.692, 0.778, 0.832, 0.909, 0.680, 0.656, 0.773, 0.588),
    "genrbf": (0.833, 0.911, 0.954, 0.917, 0.746, 0.787, 0.834, 0.636),
}
#: Table 5 of Smieja2018, R², MAR at 30 %.
_TABLE_5_SETS = {
    "abalone": "Abalone",
    "airfoil": "Airfoil",
    "concrete": "Concrete",
    "friedman": "Friedman",
    "laser": "Laser",
    "mortgage": "Mortgage",
}
_TABLE_5 = {
    "zero": (0.216, -0.064, 0.001, 0.184, -0.017, 0.003),
    "mean": (0.244, -0.066, 0.002, 0.289, -0.014, 0.032),
    "mice": (0.289, -0.074, -0.002, 0.285, -0.008, 0.041),
    "missforest": (0.304, -0.080, 0.024, 0.275, 0.018, 0.226),
    "knn": (0.273, -0.084, 0.011, 0.248, -0.022, 0.156),
    "gmm": (0.286, 0.016, 0.164, 0.322, 0.177, 0.797),
    "genrbf": (0.497, 0.308, 0.523, 0.567, 0.693, 0.996),
}
#: Table 3 of Smieja2018, balanced accuracy on a gas turbine whose data is not public.
_TABLE_3 = {
    "zero": 0.501,
    "mean": 0.732,
    "mice": 0.837,
    "missforest": 0.512,
    "karma": 0.537,
    "knn": 0.615,
    "geom": 0.513,
    "gmm": 0.743,
    "genrbf": 0.848,
}
#: The table of Mesquita: error of the kernel matrix (ICkNNI, ESD, EGK), in units not stated.
_MESQUITA = {
    ("auto_mpg", 0.1): (40.70, 38.41, 28.48),
    ("auto_mpg", 0.5): (195.20, 152.32, 117.32),
    ("forest_fires", 0.1): (451.02, 340.83, 250.17),
    ("forest_fires", 0.5): (2050.32, 1298.47, 1022.99),
    ("haberman", 0.1): (199.34, 165.25, 116.55),
    ("haberman", 0.5): (876.77, 657.69, 496.88),
    ("pima", 0.1): (4.05, 2.40, 2.08),
    ("pima", 0.5): (18.50, 8.54, 7.80),
    ("iris", 0.1): (33.80, 34.53, 23.00),
    ("iris", 0.5): (178.56, 150.96, 97.62),
}
_PAPERS_METHODS = ("zero", "mean", "mice", "knn", "gmm", "karma", "genrbf")


def publish_comparison(results: Results, suite: str, size: str, seed: int, docs: Path) -> None:
    """Write the tables of a suite that stand on the page of the papers, if it has any."""
    if suite not in WRITERS:
        return
    folder = docs / "papers"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in WRITERS[suite](results.scores(suite, size, seed)).items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def _classification(scores: Any) -> dict[str, str]:
    shown = scores[(scores["mechanism"] == "mar") & (scores["rate"] == 0.3)]
    two = _paper_and_ours(shown, "accuracy", _TABLE_2, _TABLE_2_SETS)
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
    return {"smieja-table-2": two, "smieja-figure-7": seven + note}


def _regression(scores: Any) -> dict[str, str]:
    return {"smieja-table-5": _paper_and_ours(scores, "r2", _TABLE_5, _TABLE_5_SETS)}


def _maintenance(scores: Any) -> dict[str, str]:
    chosen = scores[scores["metric"] == "balanced_accuracy"]
    means = chosen.pivot_table(index="method", columns="dataset", values="value", aggfunc="mean")
    rows = [
        (
            method,
            number(_TABLE_3.get(str(method), float("nan"))),
            *(number(float(value)) for value in row),
        )
        for method, row in means.sort_values(list(means.columns), ascending=False).iterrows()
    ]
    names = [spaced(name) for name in means.columns]
    return {"smieja-table-3": table(("method", "turbine (paper)", *names), rows)}


def _mesquita(scores: Any) -> dict[str, str]:
    chosen = scores[scores["metric"] == "sum_of_squares"]
    means = chosen.groupby(["variant", "dataset", "rate", "method"])["value"].mean()
    headings = (
        "error relative to EGK", "paper: ICkNNI", "paper: ESD", "ours: ICkNNI", "ours: ESD",
        "EGK as printed", "expected RBF", "conditional mean",
    )  # fmt: skip
    shown = ("icknni", "esd", "egk-independent", "expected-rbf", "conditional-mean")
    written = {}
    for variant in scores["variant"].unique():
        rows = []
        for (data, rate), (icknni, esd, egk) in _MESQUITA.items():
            ours = means[variant, data, rate]
            rows.append(
                (
                    f"{spaced(data)}, {100 * rate:.0f} %",
                    number(icknni / egk, 2),
                    number(esd / egk, 2),
                    *(number(ours[name] / ours["egk"], 2) for name in shown),
                )
            )
        name = "wide" if variant == "gamma=1/d" else "narrow"
        written[f"mesquita-{name}"] = table(headings, rows)
    return written


def _paper_and_ours(
    scores: Any, metric: str, printed: Mapping[str, tuple[float, ...]], sets: dict[str, str]
) -> str:
    """Return a table of methods by data sets: the printed number, and ours below it in bold."""
    found = summary_table(scores, metric).set_index(["dataset", "method"])["mean"]
    rows = []
    for method, values in printed.items():
        row = [method]
        for name, value in zip(sets, values, strict=True):
            ours = found.get((name, method))
            row.append(number(value) + ("" if ours is None else f"<br>**{number(float(ours))}**"))
        rows.append(row)
    return table(("method", *sets.values()), rows)


WRITERS = {
    "smieja-classification": _classification,
    "smieja-regression": _regression,
    "smieja-maintenance": _maintenance,
    "mesquita": _mesquita,
}
