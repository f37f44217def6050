"""Draw which_machine.png: the questions that lead to a machine.

Run ``python docs/images/which_machine_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from absentia.pictures import FAINT, INK, KNOWN

#: Place of the centre (x, y), text, whether it is an answer.
BOXES = {
    "model": (0.0, 5.0, "Do you have a trained\nmodel already?", False),
    "marginal": (0.0, 3.6, "MarginalClassifier\nMarginalRegressor", True),
    "target": (3.2, 5.0, "Do the rows have\ntargets?", False),
    "unsupervised": (3.2, 3.6, "KernelPCA, OneClassSVM\nSpectralClustering\nKernelKMeans", True),
    "rows": (6.4, 5.0, "More than some\n10 000 rows?", False),
    "large": (6.4, 3.6, "LargeScaleRidge\nLargeScaleSVC\nLargeScaleLogisticRegression", True),
    "one": (9.7, 5.0, "One model that can\nbe explained?", False),
    "automatic": (9.7, 3.6, "AutoClassifier\nAutoRegressor", True),
    "kind": (12.8, 5.0, "Numbers or\nclasses?", False),
    "regression": (11.0, 2.0, "Are error bars\nneeded?", False),
    "classes": (14.2, 2.0, "Are probabilities\nneeded?", False),
    "ridge": (9.5, 0.5, "KernelRidge\nSVR", True),
    "process": (11.9, 0.5, "GaussianProcess-\nRegressor", True),
    "logistic": (14.2, 0.5, "LogisticRegression\nGaussianProcess-\nClassifier", True),
    "svc": (16.5, 0.5, "SVC, NuSVC\nRobustSVC", True),
}
ARROWS = (
    ("model", "marginal", "yes"),
    ("model", "target", "no"),
    ("target", "unsupervised", "no"),
    ("target", "rows", "yes"),
    ("rows", "large", "yes"),
    ("rows", "one", "no"),
    ("one", "automatic", "no"),
    ("one", "kind", "yes"),
    ("kind", "regression", "numbers"),
    ("kind", "classes", "classes"),
    ("regression", "ridge", "no"),
    ("regression", "process", "yes"),
    ("classes", "logistic", "yes"),
    ("classes", "svc", "no"),
)


def main() -> None:
    """Draw questions in frames, answers filled, and arrows with the reply on them."""
    figure, axes = plt.subplots(figsize=(14.0, 5.2), layout="constrained")
    placed = {}
    for name, (x, y, text, answer) in BOXES.items():
        style = {"boxstyle": "round,pad=0.5", "ec": KNOWN, "fc": KNOWN if answer else "white"}
        colour = "white" if answer else INK
        placed[name] = axes.text(
            x, y, text, ha="center", va="center", fontsize=9.5, color=colour, bbox=style, zorder=3
        )
    for start, end, reply in ARROWS:
        (x0, y0), (x1, y1) = BOXES[start][:2], BOXES[end][:2]
        axes.annotate(
            "",
            (x1, y1),
            (x0, y0),
            arrowprops={
                "arrowstyle": "-|>",
                "color": INK,
                "patchA": placed[start].get_bbox_patch(),
                "patchB": placed[end].get_bbox_patch(),
            },
        )
        axes.text(
            (x0 + x1) / 2,
            (y0 + y1) / 2,
            reply,
            fontsize=9,
            color=INK,
            ha="center",
            va="center",
            bbox={"fc": "white", "ec": FAINT, "boxstyle": "round,pad=0.15"},
            zorder=4,
        )
    axes.set(xlim=(-1.6, 17.8), ylim=(-0.3, 5.7))
    axes.set_axis_off()
    target = Path(__file__).with_name("which_machine.png")
    figure.savefig(target, dpi=90, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
