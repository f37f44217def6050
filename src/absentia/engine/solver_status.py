"""Status of an iterative solver."""

from __future__ import annotations

from enum import Enum


class SolverStatus(Enum):
    """Reason why a solver stopped; the value is a phrase for messages."""

    CONVERGED = "converged"
    ALMOST = "converged, less accurately than asked"
    EXHAUSTED = "out of iterations"
    STALLED = "no further progress"
    FAILED = "failed numerically"
    UNCERTIFIED = "a solution that its own bound contradicts"

    @property
    def converged(self) -> bool:
        """Whether the result is as accurate as was asked."""
        return self is SolverStatus.CONVERGED
