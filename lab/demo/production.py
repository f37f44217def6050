"""The second part of the demonstration: a model in production whose inputs go missing.

A boosted model is trained on complete rows; then values go missing. It is asked as it is, and
averaged over what the missing values could be; for one row the doubt is taken apart, and the values
to measure next are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from absentia.decisions import Measurements, measure_next
from absentia.machines.uncertainty import Uncertainty
from absentia.missingness.amputation import mcar
from absentia.predictions import MarginalClassifier
from absentia.tables import FloatArray


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions of a model for incomplete rows, before and after.

    Attributes
    ----------
    rate : float
        The share of values that went missing after training.
    scores : dict of str to (float, float)
        Accuracy and log loss by how the model was asked.
    names : list of str
        The columns.
    row : ndarray of shape (n_features,)
        The row that the model doubts most because of what it misses.
    doubt : Uncertainty
        Of that row alone.
    next : Measurements
        Of that row alone.
    """

    rate: float
    scores: dict[str, tuple[float, float]]
    names: Sequence[str]
    row: FloatArray
    doubt: Uncertainty
    next: Measurements

    def __str__(self) -> str:
        width = max(len(way) for way in self.scores)
        chances = ", ".join(f"{p:.2f}" for p in self.doubt.prediction[0])
        known = [f"{n} {v:.3g}" for n, v in zip(self.names, self.row, strict=True) if v == v]
        lines = [
            f"A boosted model, trained on complete rows; then {self.rate:.0%} of the values went "
            "missing",
            f"  {'':<{width}}{'accuracy':>12}{'log loss':>12}",
            *(f"  {way:<{width}}{a:>12.3f}{loss:>12.3f}" for way, (a, loss) in self.scores.items()),
            "",
            f"One row, of which only this is known: {', '.join(known)}",
            f"  probabilities of the classes: {chances}",
            f"  doubt: {self.doubt.total[0]:.2f} nats, {self.doubt.missing_share[0]:.0%} of it due "
            "to the missing values",
            "  what to measure next, by how much of the doubt each value should remove:",
        ]
        for name in self.next.ranking(0)[:3]:
            gain = self.next.gain[0, list(self.names).index(name)]
            lines.append(f"    {name:<30}{gain:>6.2f} nats")
        return "\n".join(lines)


def answer_incomplete_rows(rate: float = 0.5, max_iter: int = 30, n_draws: int = 32) -> Answers:
    """Train on complete rows of the wine data, remove values from the others, and ask.

    Parameters
    ----------
    rate : float, default=0.5
        The share of values that go missing after training.
    max_iter : int, default=30
        Rounds of boosting.
    n_draws : int, default=32
        Draws of what a row could be.
    """
    data: Any = load_wine()
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, data.target, test_size=0.3, random_state=0, stratify=data.target
    )
    holes = mcar(X_test, rate, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=max_iter, random_state=0).fit(X_train, y_train)
    averaged = MarginalClassifier(FrozenEstimator(model), n_draws=n_draws, random_state=0)
    averaged.fit(X_train)
    ways = {
        "nothing missing": model.predict_proba(X_test),
        "before: asked as it is": model.predict_proba(holes),
        "after: averaged by absentia": averaged.predict_proba(holes),
    }
    scores = {
        way: (
            float(accuracy_score(y_test, chances.argmax(axis=1))),
            float(log_loss(y_test, chances)),
        )
        for way, chances in ways.items()
    }
    doubts = averaged.predict_uncertainty(holes, by_column=False)
    row = holes[[int(np.argmax(doubts.missing))]]
    found = measure_next(averaged, row)
    named = replace(found, columns=tuple(data.feature_names))
    return Answers(
        rate, scores, data.feature_names, row[0], averaged.predict_uncertainty(row), named
    )
