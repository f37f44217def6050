"""Draw acquisition.png: one patient, the tests by worth, and how the doubt falls.

Run ``python docs/guide/acquisition_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from absentia import AcquisitionPolicy, LogisticRegression, measure_next

KNOWN, STEPS = ["mean smoothness", "mean symmetry", "texture error"], 6


def main() -> None:
    """Train on 300 patients with holes, then ask about one and about many."""
    data = load_breast_cancer(as_frame=True)
    table = (data.data - data.data.mean()) / data.data.std()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(table))
    train, test = order[:300], order[300:380]
    holes = table.iloc[train].mask(rng.random((300, table.shape[1])) < 0.3)
    machine = LogisticRegression(C=10.0, kernel="expected-rbf").fit(holes, data.target.iloc[train])
    truth = table.iloc[test].reset_index(drop=True)
    labels = data.target.iloc[test].to_numpy()

    known = truth.mask(np.tile(~truth.columns.isin(KNOWN), (len(truth), 1)))
    trace = AcquisitionPolicy(machine, max_steps=STEPS).run(known, truth)
    # A patient whose case stays open longer than that of nine in ten.
    openness = 1 - (trace.answers**2).sum(axis=2)[1:].mean(axis=0)
    chosen = int(np.argsort(openness)[int(0.9 * len(openness))])
    worth = measure_next(machine, known.iloc[[chosen]]).to_frame().head(8)[::-1]
    frame = trace.to_frame()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6))
    left.barh(worth["column"], worth["gain"], color="#1e88e5", height=0.6)
    left.set_xlabel("expected gain, nats")
    left.set_title("worth measuring next", fontsize=10)
    left.tick_params(axis="y", labelsize=8)

    steps = ["now", *frame.loc[frame["row"] == chosen, "column"]]
    probability = trace.answers[: len(steps), chosen, 0]
    middle.plot(probability, range(len(steps)), "o-", color="#00796b")
    middle.set_yticks(range(len(steps)), steps, fontsize=8)
    middle.invert_yaxis()
    middle.set_xlim(0, 1)
    middle.axvline(0.5, color="black", lw=0.6, ls=":")
    middle.set_xlabel("probability of malignant")
    middle.set_title(
        f"as the values come in (truth: {data.target_names[labels[chosen]]})", fontsize=10
    )

    start = truth.mask(np.ones(truth.shape, dtype=bool))
    ours = AcquisitionPolicy(machine, max_steps=STEPS).run(start, truth).answers
    random = [start.to_numpy(dtype=float)]
    shuffled = rng.permuted(np.tile(np.arange(truth.shape[1]), (len(truth), 1)), axis=1)
    for column in shuffled.T[:STEPS]:
        nxt = random[-1].copy()
        nxt[np.arange(len(truth)), column] = truth.to_numpy()[np.arange(len(truth)), column]
        random.append(nxt)
    for answers, name, colour in (
        (
            [machine.predict_proba(start.__class__(r, columns=start.columns)) for r in random],
            "random order",
            "#9e9e9e",
        ),
        (ours, "measure_next", "#1e88e5"),
    ):
        loss = [-np.log(p[np.arange(len(labels)), labels]).mean() for p in answers]
        right.plot(loss, "o-", color=colour, label=name, ms=4)
    right.set_xlabel("values measured")
    right.set_ylabel("log loss")
    right.set_ylim(bottom=0)
    right.legend(frameon=False, fontsize=8)
    right.set_title("80 patients, nothing known at first", fontsize=10)
    for panel in (left, middle, right):
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(
        Path(__file__).with_name("acquisition.png"), dpi=90, pil_kwargs={"optimize": True}
    )


if __name__ == "__main__":
    main()
