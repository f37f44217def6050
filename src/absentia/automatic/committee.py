"""Several fitted members that predict as one, with weights by how much a row misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from absentia.automatic.blending import losses, tempered, weights_of_rows
from absentia.automatic.member_tuning import FittedMember, LearningRows, as_rows, rows_for
from absentia.beliefs.draws import DrawPoints
from absentia.densities.fit_density import DensityEstimator
from absentia.densities.missing_values import MissingValues
from absentia.machines.averaging import mean_over_draws
from absentia.tables import BoolArray, FloatArray, Table
from absentia.tables.stored import Stored

AnyRows = TypeVar("AnyRows", FloatArray, Table)

#: Rows that miss no more than this share of the training rows are not new.
_QUANTILE = 0.95


@dataclass(frozen=True, eq=False)
class MissingNorm(Stored):
    """The missing values of training rows, with which new rows are compared.

    The surprise of a row is the weighted share of its missing columns, where a column that was
    missing in a part ``r`` of the training rows weighs ``1 - r``. The excess of a row is its
    surprise beyond that of 95 % of the training rows, between 0 (nothing new) and 1 (nothing is
    observed).

    ``rates`` (n_features,) are the ``r``, and ``usual`` is the surprise of these 95 %.
    """

    rates: FloatArray
    usual: float

    def validate(self) -> None:
        """Raise ValueError unless rates and the usual surprise are shares."""
        self._require_array("rates", np.float64, (None,))
        self._require_finite("rates")
        if not 0.0 <= self.usual <= 1.0:
            raise ValueError(f"MissingNorm.usual must be a share, found {self.usual!r}.")

    @classmethod
    def of(cls, mask: BoolArray) -> MissingNorm:
        """Return the norm of training rows with this mask, shape (n_samples, n_features)."""
        norm = cls(mask.mean(axis=0), 0.0)
        return cls(norm.rates, float(np.quantile(norm._surprise(mask), _QUANTILE)))

    def excess(self, mask: BoolArray) -> FloatArray:
        """Return how much more each row misses than training rows, shape (n_samples,)."""
        room = max(1.0 - self.usual, np.finfo(float).eps)
        beyond: FloatArray = np.clip((self._surprise(mask) - self.usual) / room, 0.0, 1.0)
        return np.where(beyond > 1e-12, beyond, 0.0)  # the rest is rounding

    def is_new(self, mask: BoolArray) -> BoolArray:
        """Return which rows miss more than training rows did, or a column that none did."""
        return (self.excess(mask) > 0) | mask[:, self.rates == 0].any(axis=1)

    def _surprise(self, mask: BoolArray) -> FloatArray:
        weights = 1.0 - self.rates
        surprise: FloatArray = mask @ weights / max(weights.sum(), np.finfo(float).tiny)
        return np.minimum(surprise, 1.0)


def hide_cells(table: AnyRows, share: float, seed: int) -> AnyRows:
    """Hide a share of the observed cells of each row at random, whichever column they are in.

    A value with limits counts as observed; where it is hidden, its limits are too. At least one
    observed value is left to a row that has one. A larger share with the same seed hides what a
    smaller one does, and more.
    """
    observed = ~(table.unknown if isinstance(table, Table) else np.isnan(table))
    lots = np.random.default_rng(seed).random(table.shape)
    lots[~observed] = np.inf  # nothing to hide
    rank = lots.argsort(axis=1).argsort(axis=1)
    n_observed = observed.sum(axis=1)
    # Rounding up or down by lot, so that the share is met on average in narrow tables.
    fraction = np.random.default_rng(seed + 1).random(len(table))
    n_hidden = np.minimum(np.floor(share * n_observed + fraction), np.maximum(n_observed - 1, 0))
    chosen = rank < n_hidden[:, None]
    return table.hiding(chosen) if isinstance(table, Table) else np.where(chosen, np.nan, table)


def unknowns_of(density: BaseEstimator, table: Table) -> MissingValues:
    """Return what a density says about the missing values of a table."""
    return MissingValues.of(density, table.labels, table.n_features)


def answer_with_holes(
    member: FittedMember,
    rows: FloatArray | Table,
    norm: MissingNorm,
    density: BaseEstimator,
    points: DrawPoints,
) -> FloatArray:
    """Return a member's predictions of rows that may miss more than training rows did.

    Members that know missing values only from training are averaged over draws of such rows, as
    in :class:`~absentia.MarginalClassifier`.
    """
    table = as_rows(rows)
    new = norm.is_new(table.unknown) & member.averages
    if not new.any():
        return member.answer(rows_for(member.takes_limits, table, density))
    averaged = mean_over_draws(
        lambda complete, _: member.answer(complete),
        unknowns_of(density, table),
        table[np.flatnonzero(new)],
        points,
    )
    answers = np.empty((len(table), averaged.shape[1]))
    answers[new] = averaged
    if not new.all():
        rest = table[np.flatnonzero(~new)]
        answers[~new] = member.answer(rows_for(member.takes_limits, rest, density))
    return answers


@dataclass(frozen=True, eq=False)
class Committee(Stored):
    """Fitted members, their weights, and what they need for rows that miss more than usual.

    ``weights`` (n_levels, n_members) and ``temperatures`` of the averaged probabilities
    (n_levels,) were chosen at increasing ``levels`` of the excess of missing values, from 0.
    ``density`` and ``points`` are for draws of the missing values.
    """

    members: tuple[FittedMember, ...]
    levels: FloatArray
    weights: FloatArray
    temperatures: FloatArray
    norm: MissingNorm
    density: DensityEstimator
    points: DrawPoints

    def validate(self) -> None:
        """Raise ValueError unless there is a weight per level and member."""
        self._require_type("norm", MissingNorm)
        self._require_array("levels", np.float64, (None,))
        self._require_array("weights", np.float64, (len(self.levels), len(self.members)))
        self._require_array("temperatures", np.float64, (len(self.levels),))
        if not (np.diff(self.levels) > 0).all() or not (self.temperatures > 0).all():
            raise ValueError("Committee: levels must increase and temperatures be positive.")

    def answer(self, rows: FloatArray | Table) -> FloatArray:
        """Return probabilities, or numbers in one column, for rows with NaN."""
        table = as_rows(rows)
        excess = self.norm.excess(table.unknown)
        weights = weights_of_rows(excess, self.levels, self.weights)
        total: FloatArray | None = None
        for member, column in zip(self.members, weights.T, strict=True):
            some = np.flatnonzero(column > 0)
            if not len(some):
                continue
            answers = answer_with_holes(member, table[some], self.norm, self.density, self.points)
            if total is None:
                total = np.zeros((len(table), answers.shape[1]))
            total[some] += column[some, None] * answers
        assert total is not None  # weights have the sum one
        if total.shape[1] == 1:
            return total
        temperature = np.exp(np.interp(excess, self.levels, np.log(self.temperatures)))
        return tempered(total, temperature)


@dataclass(frozen=True, eq=False)
class MemberTable(Stored):
    """One line per member that was tried.

    Attributes
    ----------
    names, descriptions : tuple of str
    weights : ndarray of shape (n_members, n_levels)
        For rows that miss as much as training rows (first column), and for rows with more hidden.
    losses : ndarray of shape (n_members, n_levels)
        Log loss or mean squared error (in units of the target's variance) on held-out rows, at all
        levels the same ones.
    scores : ndarray of shape (n_members,)
        Accuracy or R² on held-out rows.
    seconds : ndarray of shape (n_members,)
    hidden : tuple of float
        Share of the observed cells that was hidden at each level.
    remarks : tuple of str
        Why a member was left out, or that it learned from a sample of the rows, else empty.
    measure : str
        The name of the scores, ``"accuracy"`` or ``"R²"``.
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    weights: FloatArray
    losses: FloatArray
    scores: FloatArray
    seconds: FloatArray
    hidden: tuple[float, ...]
    remarks: tuple[str, ...]
    measure: str

    def validate(self) -> None:
        """Raise ValueError unless there is one entry per member everywhere."""
        n, levels = len(self.names), len(self.hidden)
        self._require_array("weights", np.float64, (n, levels))
        self._require_array("losses", np.float64, (n, levels))
        for name in ("scores", "seconds"):
            self._require_array(name, np.float64, (n,))
        if not len(self.descriptions) == len(self.remarks) == n:
            raise ValueError(f"MemberTable has {n} names and {len(self.remarks)} remarks.")

    def __len__(self) -> int:
        """Return the number of members that were tried."""
        return len(self.names)

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name, for ``pandas.DataFrame`` and others."""
        columns: dict[str, Any] = {"member": list(self.names)}
        for k, share in enumerate(self.hidden):
            columns["weight" if k == 0 else f"weight, {share:.0%} hidden"] = self.weights[:, k]
        columns[self.measure] = self.scores
        loss = "log loss" if self.measure == "accuracy" else "error"
        for k, share in enumerate(self.hidden):
            columns[loss if k == 0 else f"{loss}, {share:.0%} hidden"] = self.losses[:, k]
        return columns | {"seconds": self.seconds, "remark": list(self.remarks)}

    def __str__(self) -> str:
        """Return the table as text, the largest weights first."""
        columns = self.to_dict()
        names, remarks = columns.pop("member"), columns.pop("remark")
        first = max(map(len, ["member", *names]))
        # Without the name of the measure, so that the table fits a terminal of 100 columns.
        heads = [(head.partition(", ")[2] or head).removesuffix(" hidden") for head in columns]
        lines = ["  ".join(["member".ljust(first), *(head.rjust(5) for head in heads)])]
        for i in np.argsort(-self.weights.sum(axis=1), kind="stable"):
            cells = [
                ("-" if np.isnan(values[i]) else f"{values[i]:.3f}").rjust(max(5, len(head)))
                for head, values in zip(heads, columns.values(), strict=True)
            ]
            cells = [] if remarks[i] and np.isnan(self.scores[i]) else cells  # left out
            lines.append("  ".join([names[i].ljust(first), *cells, remarks[i]]).rstrip())
        return "\n".join(lines)


def summarise(
    rows: LearningRows,
    judged: BoolArray,
    hidden: tuple[float, ...],
    tried: Sequence[Any],
    weights: FloatArray,
) -> MemberTable:
    """Return the table of members that were tried, with losses and scores out of fold.

    All levels are compared on the ``judged`` rows; scores are those of all rows.
    """
    found = np.full(weights.shape, np.nan)
    scores = np.full(len(tried), np.nan)
    centre = np.average(rows.y, weights=rows.row_weights)
    spread = np.average((rows.y - centre) ** 2, weights=rows.row_weights) or 1.0
    for k, member in enumerate(tried):
        if member.remark:
            continue
        for level, own in enumerate(member.answers):
            some = judged & np.isfinite(own).all(axis=1) & (rows.row_weights > 0)
            loss = losses(own[some], rows.y[some], rows.task)
            found[k, level] = np.average(loss, weights=rows.row_weights[some])
        own = member.answers[0]
        scored = np.isfinite(own).all(axis=1) & (rows.row_weights > 0)
        own, y, row_weights = own[scored], rows.y[scored], rows.row_weights[scored]
        if rows.n_classes is None:
            scores[k] = 1.0 - np.average((own[:, 0] - y) ** 2, weights=row_weights) / spread
        else:
            scores[k] = np.average(own.argmax(axis=1) == y, weights=row_weights)
    return MemberTable(
        names=tuple(member.name for member in tried),
        descriptions=tuple(member.description for member in tried),
        weights=weights,
        losses=found,
        scores=scores,
        seconds=np.array([member.seconds for member in tried]),
        hidden=hidden,
        remarks=tuple(member.remark for member in tried),
        measure="R²" if rows.n_classes is None else "accuracy",
    )
