"""Draw which_machine.png: the questions that lead to a machine, from the top to the bottom.

Run ``python docs/images/which_machine_picture.py``; it needs the ``plot`` extra.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from absentia.pictures import FAINT, INK, KNOWN

#: Question, reply that leads to the answer on the right, answer, reply that leads on.
STEPS = (
    ("Is a model trained\nalready?", "yes", "MarginalClassifier\nMarginalRegressor", "no"),
    ("Do the rows have\ntargets?", "no", "KernelPCA, OneClassSVM\nSpectralClustering", "yes"),
    ("More than some\n10 000 rows?", "yes", "LargeScaleRidge, -SVC,\n-LogisticRegression", "no"),
    ("The best prediction,\nin minutes?", "yes", "AutoClassifier\nAutoRegressor", "no"),
    ("Numbers,\nno error bars?", "yes", "KernelRidge\nSVR", "no"),
    ("Numbers,\nerror bars?", "yes", "GaussianProcess-\nRegressor", "no, classes"),
    ("Probabilities?", "yes", "LogisticRegression", "no"),
)
LAST = "SVC, NuSVC"
LEFT, RIGHT = 1.2, 4.5


def arrow(axes: plt.Axes, start: plt.Text, end: plt.Text, reply: str) -> None:
    """Draw an arrow between two boxes, with the reply in its middle."""
    (x0, y0), (x1, y1) = start.get_position(), end.get_position()
    patches = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch()}
    style = {"arrowstyle": "-|>", "color": INK, "mutation_scale": 16, **patches}
    axes.annotate("", (x1, y1), (x0, y0), arrowprops=style)
    x = (x0 + x1) / 2 if x0 == x1 else (x0 + x1) / 2 - 0.1
    box = {"fc": "white", "ec": FAINT, "boxstyle": "round,pad=0.15"}
    axes.text(x, (y0 + y1) / 2, reply, fontsize=12, color=INK, ha="center", va="center", bbox=box)


def main() -> None:
    """Draw questions in frames, answers filled, and arrows with the reply on them."""
    figure, axes = plt.subplots(figsize=(6.4, 9.2), layout="constrained")

    def box(x: float, y: float, text: str, answer: bool) -> plt.Text:
        frame = {"boxstyle": "round,pad=0.45", "ec": KNOWN, "fc": KNOWN if answer else "white"}
        colour = "white" if answer else INK
        style = {"ha": "center", "va": "center", "fontsize": 13, "bbox": frame, "zorder": 3}
        return axes.text(x, y, text, color=colour, **style)

    above, replied = None, ""
    for row, (question, reply, answer, onwards) in enumerate(STEPS):
        asked = box(LEFT, -row, question, answer=False)
        if above is not None:
            arrow(axes, above, asked, replied)
        arrow(axes, asked, box(RIGHT, -row, answer, answer=True), reply)
        above, replied = asked, onwards
    arrow(axes, above, box(LEFT, -len(STEPS), LAST, answer=True), replied)
    axes.set(xlim=(0, 5.9), ylim=(-len(STEPS) - 0.4, 0.45))
    axes.set_axis_off()
    target = Path(__file__).with_name("which_machine.png")
    figure.savefig(target, dpi=110, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
