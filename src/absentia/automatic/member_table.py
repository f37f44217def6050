"""The members of an automatic machine as a table that people can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.tables import FloatArray
from absentia.tables.stored import Stored

__all__ = ["MemberTable"]


@dataclass(frozen=True, eq=False)
class MemberTable(Stored):
    """One line per member that was tried.

    Attributes
    ----------
    names, descriptions : tuple of str
    weights : ndarray of shape (n_members, n_levels)
        For rows that miss as much as training rows (first column), and for rows with more hidden.
    losses : ndarray of shape (n_members, n_levels)
        Log loss or mean squared error (in units of the target's variance) on rows left out.
    scores : ndarray of shape (n_members,)
        Accuracy or R² on rows left out.
    seconds : ndarray of shape (n_members,)
    hidden : tuple of float
        Share of the observed cells that was hidden at each level.
    remarks : tuple of str
        Why a member was not used, else empty.
    measure : str
        What the scores are, ``"accuracy"`` or ``"R²"``.
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
        remarks = columns.pop("remark")
        order = np.lexsort((np.arange(len(self)), -self.weights.sum(axis=1)))
        cells = [[_cell(values[i]) for values in columns.values()] for i in order]
        heads = list(columns)
        widths = [max(len(row[j]) for row in [heads, *cells]) for j in range(len(heads))]
        lines = [
            "  ".join(
                text.ljust(width) if j == 0 else text.rjust(width)
                for j, (text, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in [heads, *cells]
        ]
        return "\n".join(
            [
                lines[0],
                *(
                    f"{line}  {remarks[i]}".rstrip()
                    for line, i in zip(lines[1:], order, strict=True)
                ),
            ]
        )


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "-" if np.isnan(value) else f"{value:.3f}"
