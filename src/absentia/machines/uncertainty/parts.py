"""The uncertainty of a prediction, in parts that add up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import xlogy

from absentia.machines.uncertainty import parts_plot
from absentia.tables import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from sklearn.base import BaseEstimator

__all__ = ["Uncertainty", "entropy"]


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """Predictions, their uncertainty, and which part of it is due to missing values.

    Regression, by the law of total variance, with ``x`` the true row and ``o`` what was observed::

        total = noise + E[var(f(x) | x)] + var(E[f(x) | x])   given o
                noise   model              missing

    Classification, with the entropy ``H`` of the class (in nats)::

        total = H(E[p(x)]) = E[H(p(x))] + mutual information of class and missing values
                             noise        missing

    where a model that knows its own uncertainty (a Gaussian process) splits ``E[H]`` further into
    ``noise``, the entropy once the model is known exactly, and ``model``.

    Attributes
    ----------
    prediction : ndarray of shape (n_samples,), (n_samples, n_outputs) or (n_samples, n_classes)
        Numbers, or probabilities of the classes, averaged over what is missing.
    total : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Variance of the target, or entropy of the class: the sum of the three parts.
    model : ndarray of the same shape
        What more training rows could remove; zero for models that do not report it.
    noise : ndarray of the same shape
        What no complete row could remove; zero for regressors without a known noise.
    missing : ndarray of the same shape
        What measuring all missing values would remove, on average.
    by_column : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        What measuring that column alone would remove, on average; zero where it was observed,
        NaN where it was not requested. Columns share information, so that these first-order parts
        need not add up to ``missing``.
    columns : tuple of str
        The names of the columns.
    unit : {"variance", "entropy"}
    classes : tuple of str
        The names of the classes, in the order of the probabilities; empty for numbers, and where
        they are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import GaussianProcessRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(80, 2))
    >>> machine = GaussianProcessRegressor().fit(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=80))
    >>> doubt = machine.predict_uncertainty([[1.5, 0.0], [1.5, np.nan], [np.nan, 0.0]])
    >>> doubt.missing.round(1)  # the second column does not matter
    array([0. , 0. , 0.5])
    """

    prediction: FloatArray
    total: FloatArray
    model: FloatArray
    noise: FloatArray
    missing: FloatArray
    by_column: FloatArray
    columns: tuple[str, ...]
    unit: Literal["variance", "entropy"]
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("prediction", "total", "model", "noise", "missing", "by_column"):
            view = getattr(self, name).view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)

    @classmethod
    def of_parts(
        cls,
        prediction: FloatArray,
        model: FloatArray,
        noise: FloatArray,
        missing: FloatArray,
        by_column: FloatArray,
        columns: tuple[str, ...],
        unit: Literal["variance", "entropy"],
    ) -> Uncertainty:
        """Add up the parts; what rounding left below zero is zero."""
        model, noise, missing = (np.maximum(part, 0.0) for part in (model, noise, missing))
        # First-order parts cannot exceed the whole: what a quadrature adds to them is error.
        shares = np.minimum(np.maximum(by_column, 0.0), missing[:, None])
        total = model + noise + missing
        return cls(prediction, total, model, noise, missing, shares, columns, unit)

    def of_model(self, model: BaseEstimator) -> Uncertainty:
        """Return the same uncertainty with the classes that a fitted classifier predicts."""
        if self.unit == "variance" or not hasattr(model, "classes_"):
            return self
        return replace(self, classes=tuple(str(label) for label in model.classes_))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.prediction)

    def __repr__(self) -> str:
        n, unit = len(self), "variance" if self.unit == "variance" else "entropy (nats)"
        parts = " + ".join(
            f"{name} {getattr(self, name).mean():.3g}" for name in ("model", "noise", "missing")
        )
        rows = f"{n} row{'s' * (n != 1)}"
        return f"Uncertainty of {rows}, mean {unit}: {self.total.mean():.3g} = {parts}"

    @property
    def missing_share(self) -> FloatArray:
        """Which share of the total is due to missing values, from 0 to 1."""
        share: FloatArray = self.missing / np.where(self.total > 0, self.total, 1.0)
        return share

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one line per row.

        Columns ``prediction`` (``probability_<class>`` for each class, ``prediction_<k>`` for
        several outputs), the parts, and ``by_<column>``; several outputs have a number appended.
        """
        import pandas as pd

        word = "prediction" if self.unit == "variance" else "probability"
        data = dict(_numbered(word, self.prediction))
        # Different classes may have one spelling: 1 and "1".
        if len(set(self.classes)) == len(data):
            data = dict(
                zip((f"{word}_{label}" for label in self.classes), data.values(), strict=True)
            )
        for name in ("total", "model", "noise", "missing"):
            data |= dict(_numbered(name, getattr(self, name)))
        for j, column in enumerate(self.columns):
            data |= dict(_numbered(f"by_{column}", self.by_column[:, j]))
        return pd.DataFrame(data)

    def plot(self, row: int | None = None, max_columns: int = 12) -> Figure:
        """Draw the parts of each row or, for one row, which missing columns they come from.

        Parameters
        ----------
        row : int, optional
            Draw the columns of this row; without it, a stacked bar per row.
        max_columns : int, default=12
            How many columns to show, those with the largest parts first.

        Returns
        -------
        matplotlib Figure
        """

        if row is None:
            return parts_plot.draw_parts(self)
        return parts_plot.draw_columns(self, row, max_columns)


def entropy(probabilities: FloatArray) -> FloatArray:
    """Return the entropy in nats along the last axis."""
    return -xlogy(probabilities, probabilities).sum(axis=-1)


def _numbered(name: str, values: FloatArray) -> list[tuple[str, FloatArray]]:
    if values.ndim == 1:
        return [(name, values)]
    return [(f"{name}_{k}", values[:, k]) for k in range(values.shape[1])]
