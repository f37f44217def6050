"""The uncertainty of predictions in parts that add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import xlogy

from absentia.pictures import FAINT, INK, MISSING, MODEL, pyplot, tidy
from absentia.tables import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Unit = Literal["variance", "entropy"]

_COLOURS = {"noise": FAINT, "model": MODEL, "missing": MISSING}
_LABEL = {"variance": "variance of the target", "entropy": "entropy of the class (nats)"}


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """Predictions, their uncertainty, and the part of it that is due to missing values.

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
        The part that more training rows could remove; zero for models that do not report it.
    noise : ndarray of the same shape
        The part that no complete row could remove; zero for regressors without a known noise.
    missing : ndarray of the same shape
        The part that measuring all missing values would remove, on average.
    by_column : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        The part that measuring that column alone would remove, on average; zero where it was
        observed, NaN where it was not requested. Columns share information, so that these
        first-order parts need not add up to ``missing``.
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
    unit: Unit
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("prediction", "total", "model", "noise", "missing", "by_column"):
            view = getattr(self, name).view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)

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
        """The share of the total that is due to missing values, from 0 to 1."""
        return self.missing / np.where(self.total > 0, self.total, 1.0)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one line per row.

        Columns ``prediction`` (``probability_<class>`` for each class, ``prediction_<k>`` for
        several outputs), the parts, and ``by_<column>``; several outputs have a number appended.
        """
        import pandas as pd

        word = "prediction" if self.unit == "variance" else "probability"
        data = _numbered(word, self.prediction)
        # Different classes may have one spelling: 1 and "1".
        if len(set(self.classes)) == len(data):
            data = dict(
                zip((f"{word}_{label}" for label in self.classes), data.values(), strict=True)
            )
        for name in ("total", "model", "noise", "missing"):
            data |= _numbered(name, getattr(self, name))
        for j, column in enumerate(self.columns):
            data |= _numbered(f"by_{column}", self.by_column[:, j])
        return pd.DataFrame(data)

    def plot(self, row: int | None = None, max_columns: int = 12) -> Figure:
        """Draw the parts of each row or, for one row, the missing columns that they come from.

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
        return _draw_parts(self) if row is None else _draw_columns(self, row, max_columns)


def entropy(probabilities: FloatArray) -> FloatArray:
    """Return the entropy in nats along the last axis."""
    return -xlogy(probabilities, probabilities).sum(axis=-1)


def _numbered(name: str, values: FloatArray) -> dict[str, FloatArray]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}


def _draw_parts(doubt: Uncertainty) -> Figure:
    """Draw one stacked bar per row, one panel per output."""
    outputs = 1 if doubt.total.ndim == 1 else doubt.total.shape[1]
    figure, panels = pyplot().subplots(
        outputs, 1, figsize=(7.5, 2.6 * outputs + 0.6), squeeze=False, layout="constrained"
    )
    rows = np.arange(len(doubt))
    for k, axes in enumerate(panels[:, 0]):
        base = np.zeros(len(doubt))
        for name, colour in _COLOURS.items():
            part = getattr(doubt, name).reshape(len(doubt), -1)[:, k]
            axes.bar(rows, part, bottom=base, color=colour, label=name, width=0.85)
            base = base + part
        axes.set(ylabel=_LABEL[doubt.unit], xlabel="row")
        tidy(axes)
    panels[0, 0].legend(
        frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), fontsize="small"
    )
    return figure


def _draw_columns(doubt: Uncertainty, row: int, max_columns: int) -> Figure:
    """Draw the part of each missing column of a row, against all of them together."""
    shares = doubt.by_column[row].reshape(len(doubt.columns), -1).sum(axis=1)
    order = [j for j in np.argsort(-shares, kind="stable") if shares[j] > 0][:max_columns]
    figure, axes = pyplot().subplots(
        figsize=(6.5, 1.3 + 0.3 * max(1, len(order))), layout="constrained"
    )
    places = np.arange(len(order))[::-1]
    axes.barh(places, shares[order], color=_COLOURS["missing"], height=0.7)
    axes.set_yticks(places, [doubt.columns[j] for j in order], parse_math=False)
    missing, total = float(np.sum(doubt.missing[row])), float(np.sum(doubt.total[row]))
    axes.axvline(missing, color=_COLOURS["missing"], linestyle=":", linewidth=1.2)
    axes.axvline(total, color=INK, linestyle=":", linewidth=1.2)
    axes.set_xlabel(f"{_LABEL[doubt.unit]} that measuring the column would remove")
    axes.set_title(
        f"row {row}; dotted lines: all missing values together ({missing:.3g}) and the total "
        f"({total:.3g})",
        fontsize="small",
    )
    tidy(axes)
    return figure
