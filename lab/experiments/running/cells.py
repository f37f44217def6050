"""The unit of work of an experiment: one method, trained and tested once.

A protocol is a list of cells. A cell records everything that its result depends on, so that a run
can be interrupted anywhere and resumed, and every seed is derived from the cell: methods that are
compared see the same missing values and the same folds, on every machine and in every order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Size = Literal["smoke", "small", "full"]
SIZES: tuple[Size, ...] = ("smoke", "small", "full")


@dataclass(frozen=True, order=True)
class Cell:
    """One method on one training and test set.

    Attributes
    ----------
    protocol, dataset, method : str
    mechanism : str
        How values were removed: ``"mcar"``, ``"mar"``, ``"mnar"``, ...; ``"real"`` for values
        missing from the original data.
    rate : float
        The share of values removed.
    sample : int
        Which draw of holes, or which repetition.
    fold : int
        Which of the outer folds is tested.
    variant : str
        What else distinguishes the cell, such as fixed hyperparameters.
    """

    protocol: str
    dataset: str
    method: str
    mechanism: str = ""
    rate: float = 0.0
    sample: int = 0
    fold: int = 0
    variant: str = ""

    @property
    def key(self) -> str:
        """The cell as one line of text, different for different cells."""
        parts = (
            self.dataset,
            self.variant,
            self.mechanism,
            f"{self.rate:.4g}",
            self.sample,
            self.fold,
            self.method,
        )
        return "/".join(str(part) for part in parts)

    def holes_seed(self, seed: int) -> int:
        """The seed of the holes: the same for all methods and folds."""
        parts = (self.protocol, self.dataset, self.mechanism, f"{self.rate:.4g}", self.sample)
        return derived_seed(seed, "holes", *parts)

    def split_seed(self, seed: int) -> int:
        """The seed of the folds: the same for all methods, mechanisms and rates."""
        return derived_seed(seed, "split", self.protocol, self.dataset, self.sample)

    def method_seed(self, seed: int) -> int:
        """The seed of what the method draws itself."""
        return derived_seed(seed, "method", self.protocol, self.key)


@dataclass(frozen=True)
class Score:
    """One number that came out of a cell.

    A model that was trained once may be tested at several rates, so a score has a rate of its own.
    """

    metric: str
    value: float
    rate: float


@dataclass(frozen=True)
class CellResult:
    """Result of a cell: its scores and facts, or its error."""

    cell: Cell
    seconds: float
    scores: tuple[Score, ...] = ()
    facts: dict[str, object] = field(default_factory=dict)
    error: str = ""
    traceback: str = ""

    @property
    def failed(self) -> bool:
        """Whether the cell ended in an error."""
        return bool(self.error)


@dataclass(frozen=True)
class Context:
    """Settings that all cells of a run share.

    Attributes
    ----------
    size : {"smoke", "small", "full"}
        How large the experiment is; each protocol says what that means for it.
    seed : int
        From which all others are derived.
    folder : str or None
        Where the data sets are (see :func:`lab.data.datasets.load`).
    verify : bool
        Whether a data set must have the recorded sha256.
    """

    size: Size = "small"
    seed: int = 0
    folder: str | None = None
    verify: bool = True


@dataclass(frozen=True)
class Protocol:
    """An experiment by name: which cells it has, and how one of them is run.

    Attributes
    ----------
    name, title, source : str
        ``source`` says which table or figure of which paper is repeated.
    description : str
        What is done, in a few sentences, for the report.
    metric : str
        The score that methods are ranked by.
    cells : callable
        From a :class:`Context` to the list of cells.
    run : callable
        From a cell and a context to scores and facts; it raises where the cell fails.
    lower_is_better : bool
    blocks : tuple of str
        The columns that make a block of the Friedman test: methods are ranked within each.
    """

    name: str
    title: str
    source: str
    description: str
    metric: str
    cells: Callable[[Context], Sequence[Cell]]
    run: Callable[[Cell, Context], tuple[Sequence[Score], dict[str, object]]]
    lower_is_better: bool = False
    blocks: tuple[str, ...] = ("dataset", "variant", "mechanism", "rate")


def derived_seed(seed: int, *parts: object) -> int:
    """Return a seed below 2^31 that depends on all the parts, equal on every machine.

    Examples
    --------
    >>> derived_seed(0, "holes", "iris", 0.1)
    396329657
    """
    text = "\x1f".join([str(seed), *(str(part) for part in parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
