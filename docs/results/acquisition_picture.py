"""Draw acquisition/patient.png and print its figures: one patient, and how the doubt falls.

Run ``python docs/results/acquisition_picture.py`` with ``ABSENTIA_DATA`` naming the folder that has
``chronic_kidney_disease.csv``; it needs the extras ``plot`` and ``tables``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd

from absentia import AcquisitionPolicy, LogisticRegression, measure_next
from absentia.pictures import COLOURS, FAINT, INK, pyplot, tidy
from lab.data import datasets
from lab.line_labels import label_ends

NAMES = {
    "bp": "blood pressure",
    "sg": "specific gravity",
    "al": "albumin",
    "su": "sugar",
    "rbc": "red cells in urine",
    "pc": "pus cells",
    "pcc": "pus cell clumps",
    "ba": "bacteria",
    "bgr": "blood glucose",
    "bu": "blood urea",
    "sc": "creatinine",
    "sod": "sodium",
    "pot": "potassium",
    "hemo": "haemoglobin",
    "pcv": "packed cell volume",
    "wbcc": "white cell count",
    "rbcc": "red cell count",
    "htn": "hypertension",
    "dm": "diabetes",
    "cad": "coronary disease",
    "appet": "appetite",
    "pe": "oedema",
    "ane": "anaemia",
}
WORDS = ["hypertension", "diabetes", "coronary disease", "oedema", "anaemia"]
KNOWN = ["age", "blood pressure", "hypertension", "diabetes"]
STEPS = 6


def patients() -> tuple[pd.DataFrame, np.ndarray]:
    """Return the table, two-valued questions as words, and who is ill."""
    data = datasets.load("chronic_kidney_disease")
    table = pd.DataFrame(data.X, columns=[NAMES.get(n, n) for n in data.feature_names])
    for name in WORDS:
        table[name] = table[name].map({1.0: "yes", 0.0: "no"})
    return table, np.where(np.asarray(data.y).astype(float) == 1, "ill", "well")


def main() -> None:
    """Train on 250 patients with holes, then ask about one of the others."""
    table, y = patients()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(table))
    train, test = order[:250], order[250:330]
    holes = table.iloc[train].mask(rng.random((250, table.shape[1])) < 0.4)
    machine = LogisticRegression(C=10.0, density="mixed").fit(holes, y[train])
    truth = table.iloc[test].reset_index(drop=True)
    known = truth.mask(np.tile(~truth.columns.isin(KNOWN), (len(truth), 1)))
    trace = AcquisitionPolicy(machine, max_steps=STEPS).run(known, truth)
    ill = list(machine.classes_).index("ill")
    # A patient whose case stays open longer than that of nine in ten.
    doubt = -(trace.answers * np.log(np.maximum(trace.answers, 1e-12))).sum(axis=2)
    chosen = int(np.argsort(doubt[1:].mean(axis=0))[int(0.9 * len(truth))])
    worth = measure_next(machine, known.iloc[[chosen]]).to_frame()
    steps = trace.to_frame().query("row == @chosen")
    print("known:", known.iloc[chosen].dropna().to_dict(), "truth:", y[test][chosen])
    print(worth.head(8).round(3).to_string())
    for k in range(len(steps) + 1):
        what = "now" if k == 0 else f"{steps['column'].iloc[k - 1]} = {steps['value'].iloc[k - 1]}"
        print(f"{what}: P(ill) {trace.answers[k, chosen, ill]:.3f}, doubt {doubt[k, chosen]:.3f}")
    print("mean doubt of 80 patients:", doubt.mean(axis=1).round(3))

    plt = pyplot()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    top = worth.head(8)[::-1]
    places = np.arange(len(top))
    left.hlines(places, 0, top["gain"], color=FAINT, linewidth=2)
    left.plot(top["gain"], places, "o", color=COLOURS[0])
    left.set_yticks(places, top["column"])
    left.set(xlabel="expected gain (nats)", xlim=(0, None), title="Tests by worth")
    labels = ["now"] + [
        f"{c} {v:g}" if isinstance(v, float) else f"{c}: {v}"
        for c, v in zip(steps["column"], steps["value"], strict=True)
    ]
    rows = np.arange(len(labels))
    middle.plot(trace.answers[: len(labels), chosen, ill], rows, "o-", color=COLOURS[1])
    middle.axvline(0.5, color=INK, linewidth=0.6, linestyle=":")
    middle.set_yticks(rows, labels)
    middle.invert_yaxis()
    middle.set(xlim=(0, 1), xlabel="probability of the disease")
    middle.set_title(f"As values come in (truth: {y[test][chosen]})")
    right.plot(rows, doubt[: len(labels), chosen], "o-", color=COLOURS[1])
    right.plot(np.arange(len(doubt)), doubt.mean(axis=1), "o-", color=COLOURS[7], markersize=3)
    right.set(xlabel="values measured", ylabel="entropy of the class (nats)", ylim=(0, 0.75))
    right.set_title("How the doubt changes")
    for axes in (left, middle, right):
        tidy(axes)
    figure.canvas.draw()  # the places of labels depend on the size of the panel
    mean = doubt.mean(axis=1)
    ends = [(doubt[len(labels) - 1, chosen], "this patient", COLOURS[1])]
    label_ends(right, [*ends, (mean[-1], "mean of 80", COLOURS[7])])
    folder = Path(__file__).parent / "acquisition"
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "patient.png", dpi=110, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
