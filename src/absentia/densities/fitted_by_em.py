"""What every fit by EM leaves behind: which columns, on which scores, and how the ascent ended."""

from __future__ import annotations

from absentia.densities.base import Density
from absentia.densities.em.acceleration import Ascent
from absentia.densities.em.streamed_rows import StreamedRows
from absentia.densities.scored_rows import ScoredRows
from absentia.densities.training_rows import TrainingRows, warn_not_converged
from absentia.tables import FloatArray, Learned

__all__ = ["FittedByEM"]


class FittedByEM(Density):
    """A density that EM fits to incomplete rows."""

    shrinkage_: float
    log_likelihoods_: FloatArray
    n_iter_: int
    converged_: bool

    def _learned_by_em(
        self,
        training: TrainingRows | StreamedRows,
        scored: ScoredRows,
        ascent: Ascent,
        shrinkage: float,
    ) -> Learned:
        """Return the fitted attributes that all have, and warn where EM stopped early."""
        if not ascent.converged:
            warn_not_converged(self, len(ascent.objectives), ascent.residual)
        return {
            "margins_": scored.margins_of(training.columns),
            "columns_": training.columns,
            "shrinkage_": shrinkage,
            "log_likelihoods_": ascent.objectives + training.log_jacobian + scored.log_jacobian,
            "n_iter_": len(ascent.objectives),
            "converged_": ascent.converged,
        }
