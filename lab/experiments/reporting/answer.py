"""What a comparison on one table answers: the verdict, the scores, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from absentia.recipe.learning_table import best_constant
from absentia.tables.phrases import counted
from lab.baselines import registry
from lab.data.datasets import Dataset
from lab.experiments.methods import METHODS
from lab.experiments.reporting.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Answer", "measure_of"]

#: So many columns are listed by how much they miss.
_LISTED = 12


@dataclass(frozen=True, eq=False)
class Answer:
    """The outcome of a comparison, with what a reader needs to use it.

    Attributes
    ----------
    verdict : Verdict
    scores : pandas DataFrame
        One row per method, in the order of the verdict.
    data : Dataset
    target, file : str
        As the user named them.
    """

    verdict: Verdict
    scores: pd.DataFrame
    data: Dataset
    target: str
    file: str

    @property
    def baseline(self) -> float:
        """The score of the best constant answer."""
        return best_constant(self.data.task, self.data.y)[0]

    def about(self) -> list[str]:
        """Return sentences on the file, the target, the rows and the best constant answer."""
        data = self.data
        score, constant = best_constant(data.task, data.y)
        n, d = data.X.shape
        kind = "numbers"
        if data.task == "classification":
            kind = f"{len(np.unique(data.y))} classes"
        incomplete = float(np.isnan(data.X).any(axis=1).mean())
        limits = []
        if data.n_limits:
            taking = [name for name in self.scores.index if METHODS[str(name)].takes_limits]
            limits = [
                f"{counted(data.n_limits, 'value')} with limits such as <0.5: "
                + (f"used by {', '.join(taking)}; " if taking else "")
                + "missing for the other methods."
            ]
        return [
            f"{data.task.capitalize()} of {self.target} ({kind}) in {self.file}.",
            f"{counted(n, 'row')}, {counted(d, 'column')} after encoding; "
            f"{100 * data.missing_rate:.1f} % of the values are missing, and "
            f"{100 * incomplete:.0f} % of the rows miss something.",
            f"{constant[0].upper()}{constant[1:]} would have {measure_of(data)} {score:.3f}.",
            *limits,
        ]

    def command(self) -> str:
        """Return the command that trains what the verdict recommends.

        Where ``absentia train`` cannot make that, this is said, and the best of the methods that it
        can make is named with its score; where it can make none of them, the average of models that
        it makes by default.
        """
        able = [name for name in registry("regression", own=True) if name in METHODS]
        verdict = self.verdict
        name = next((method for method in verdict.means if method in able), None)
        method = "" if name in (None, "automatic") else f" --method {name}"
        train = f"absentia train {quote(self.file)} -t {quote(self.target)} -o model.skops{method}"
        if name == verdict.best:
            return f"Train {name}: {train}"
        cannot = f"{verdict.best} cannot be trained from the command line"
        if name is None:
            return (
                f"{cannot}, nor can the others. An average of different models, which was not "
                f"compared, can be: {train}"
            )
        behind = ", no significant difference" if name in verdict.as_good else ", which is worse"
        return (
            f"{cannot}. The best method that can be is {name} ({measure_of(self.data)} "
            f"{verdict.means[name]:.3f} ± {verdict.errors[name]:.3f}{behind}): {train}"
        )

    def missing(self) -> pd.DataFrame:
        """Return the columns that miss most, with the share of their values that is missing."""
        import pandas as pd

        shares = np.isnan(self.data.X).mean(axis=0)
        order = np.argsort(-shares, kind="stable")[:_LISTED]
        names = [self.data.feature_names[j] for j in order]
        return pd.DataFrame({"column": names, "missing, %": 100 * shares[order]})


def measure_of(data: Dataset) -> str:
    """Return what methods are ordered by."""
    return "accuracy" if data.task == "classification" else "R²"
