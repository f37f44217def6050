"""How an iterative solver ended."""

from __future__ import annotations

from enum import Enum

__all__ = ["Ending"]


class Ending(Enum):
    """Why a solver stopped; the value says it in words."""

    CONVERGED = "converged"
    ALMOST = "converged, less accurately than asked"
    EXHAUSTED = "out of iterations"
    STALLED = "no further progress"
    FAILED = "failed numerically"
    UNCERTIFIED = "a solution that its own bound contradicts"

    @property
    def converged(self) -> bool:
        """Whether the result is as accurate as was asked."""
        return self is Ending.CONVERGED
