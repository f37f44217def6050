"""Notebook tables and plots of beliefs and densities."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from absentia.beliefs.prior import Prior
from absentia.pictures import FAINT, INK, KNOWN, MISSING, grid_of_panels
from absentia.tables import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from absentia.beliefs.beliefs import Beliefs

_SHOWN_ROWS, _SHOWN_COLUMNS = 8, 20


def html_table(beliefs: Beliefs) -> str:
    """Return the first rows as a table for notebooks, with every name escaped."""
    few = beliefs[:_SHOWN_ROWS]
    wide = few.n_features > _SHOWN_COLUMNS
    head = "".join(f"<th>{escape(name)}</th>" for name in few.labels[:_SHOWN_COLUMNS])
    lines = []
    for i, (means, spreads) in enumerate(zip(few.mean(), few.spread(), strict=True)):
        cells = "".join(
            f"<td><b>{mean:.4g} ± {spread:.2g}</b></td>" if spread else f"<td>{mean:.4g}</td>"
            for mean, spread in list(zip(means, spreads, strict=True))[:_SHOWN_COLUMNS]
        )
        lines.append(f"<tr><th>{i}</th>{cells}{'<td>…</td>' if wide else ''}</tr>")
    more = "<p>…</p>" if len(beliefs) > len(few) else ""
    return (
        f"<div><p>{escape(repr(beliefs))}; what is uncertain in bold, mean ± standard deviation"
        f"</p><table><thead><tr><th></th>{head}{'<th>…</th>' if wide else ''}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{more}</div>"
    )


_POINTS = 160
_REACH = 3.5  # standard deviations that a panel shows to both sides


def mixture_density(
    points: FloatArray, weights: FloatArray, means: FloatArray, variances: FloatArray
) -> FloatArray:
    """Return ``sum_c weights[c] N(x | means[c], variances[c])`` at each point ``x``."""
    spread = np.maximum(variances, np.finfo(float).tiny)
    offsets = (points[:, None] - means) ** 2 / spread
    bumps = np.exp(-0.5 * offsets) / np.sqrt(2 * np.pi * spread)
    return bumps @ weights


def draw_row(beliefs: Beliefs, row: int, max_columns: int) -> Figure:
    """Draw one row, a panel per column; see :meth:`Beliefs.plot`."""
    one = beliefs[row]
    variances = np.diagonal(one.covariances.dense(one.group_of_row)[0], axis1=1, axis2=2)
    uncertain = np.flatnonzero(variances.max(axis=0) > 0)
    certain = np.setdiff1d(np.arange(one.n_features), uncertain)
    # If not all columns fit, the uncertain ones are drawn.
    shown = np.sort(np.concatenate([uncertain, certain])[:max_columns])
    n_categorical = 0 if one.codes is None else one.codes.shape[1]
    figure, panels = grid_of_panels(len(shown) + n_categorical)
    for k, axes in enumerate(panels[len(shown) :]):
        _draw_categories(axes, one, k)
    weights, means, prior = one.weights()[0], one.means[0], one.prior
    for j, axes in zip(shown, panels, strict=False):
        centres, spreads = prior.means[:, j], prior.variances[:, j]
        points = _around(centres, spreads)
        before = mixture_density(points, prior.weights, centres, spreads)
        axes.fill_between(points, before, color=FAINT, alpha=0.5, linewidth=0)
        _title(axes, one.labels[j])
        if j in uncertain:
            points = np.union1d(points, _around(means[:, j], variances[:, j]))
            after = mixture_density(points, weights, means[:, j], variances[:, j])
            axes.fill_between(points, after, color=MISSING, alpha=0.35, linewidth=0)
            axes.plot(points, after, color=MISSING, linewidth=1.4)
            centre = float(weights @ means[:, j])
            between = weights @ (variances[:, j] + (means[:, j] - centre) ** 2)
            axes.set_xlabel(f"{centre:.3g} ± {np.sqrt(between):.2g}", color=MISSING)
        else:
            axes.plot([means[0, j]] * 2, [0, before.max()], color=KNOWN, linewidth=1.6)
            axes.plot(means[0, j], before.max(), "o", color=KNOWN, markersize=5)
            axes.set_xlabel(f"{means[0, j]:.4g}", color=KNOWN)
    left_out = one.n_features - len(shown)
    more = f"; {left_out} known columns not shown" if left_out else ""
    title = f"row {row}: points are known values, curves are beliefs, grey is any row{more}"
    figure.suptitle(title, color=INK, fontsize="small")
    return figure


def _draw_categories(axes: Axes, one: Beliefs, column: int) -> None:
    """Draw how probable each category of a column is, by its code."""
    chances = one.probabilities(column)[0]
    codes = np.arange(len(chances))
    known = one.codes is not None and one.codes[0, column] >= 0
    axes.bar(codes, chances, width=0.6, color=KNOWN if known else MISSING)
    _title(axes, f"category column {column}")
    axes.set_xticks(codes)
    axes.set_xlabel("category code")


def draw_prior(prior: Prior, labels: Sequence[str], max_columns: int) -> Figure:
    """Draw the density of each column and, where there are several, its components."""
    shown = min(prior.n_features, max_columns)
    figure, panels = grid_of_panels(shown)
    for j, axes in enumerate(panels):
        weights, means, variances = prior.weights, prior.means[:, j], prior.variances[:, j]
        points = _around(means, variances)
        whole = mixture_density(points, weights, means, variances)
        axes.fill_between(points, whole, color=FAINT, alpha=0.6, linewidth=0)
        axes.plot(points, whole, color=KNOWN, linewidth=1.4)
        for c in range(len(weights)) if len(weights) > 1 else ():
            part = mixture_density(points, weights[[c]], means[[c]], variances[[c]])
            axes.plot(points, part, color=INK, linewidth=0.7, linestyle=":")
        _title(axes, labels[j])
    left_out = prior.n_features - shown
    more = f", the first {shown} of {prior.n_features} columns" if left_out else ""
    dotted = "; components dotted" if prior.n_components > 1 else ""
    figure.suptitle(f"what any row could be{more}{dotted}", color=INK, fontsize="small")
    return figure


def _around(means: FloatArray, variances: FloatArray) -> FloatArray:
    reach = _REACH * np.sqrt(np.maximum(variances, np.finfo(float).tiny))
    return np.linspace((means - reach).min(), (means + reach).max(), _POINTS)


def _title(axes: Axes, name: str) -> None:
    shown = name if len(name) <= 24 else f"{name[:12]}…{name[-11:]}"
    axes.set_title(shown, color=INK, fontsize="small", parse_math=False)
    axes.set_yticks([])
    axes.set_ylim(bottom=0)
    axes.spines["left"].set_visible(False)
