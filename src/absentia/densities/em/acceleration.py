"""Steps of EM, extrapolated: the same ascent in a fraction of the steps, never downhill.

EM repeats ``theta <- F(theta)`` and crawls when much is missing: the share of the information
that is missing is the rate of its convergence. Anderson's extrapolation looks at the last few
residuals ``r = F(theta) - theta``, finds the combination of them that is smallest, and goes to
where that combination would lead; on EM it is known as DAAREM (Henderson and Varadhan, 2019).
An extrapolated point is kept only if the objective there is no lower; otherwise the plain step,
which cannot lower it, is taken, and the past is forgotten. A kept point costs exactly what a step
of EM costs, since evaluating the objective and the next step is the same work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from absentia.engine.ending import Ending
from absentia.progress import report
from absentia.tables import FloatArray
from absentia.tables.phrases import counted

__all__ = ["Ascent", "Step", "ascend", "correction_of"]

#: From parameters to the objective there and the next parameters; None where there is none.
Step = Callable[[FloatArray], tuple[float, FloatArray] | None]

#: From parameters and a change of them to how large it is, at least the largest entry.
Size = Callable[[FloatArray, FloatArray], float]

_ORDER = 10  # residuals looked at; 20 saves nothing more, 5 costs a fifth more steps
_RIDGE = 1e-8  # of the largest squared singular value: nearly dependent residuals do no harm
_LONGEST_PAUSE = 8


def _largest(parameters: FloatArray, change: FloatArray) -> float:
    return float(np.abs(change).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Ascent:
    """The result of an ascent, and its convergence.

    Attributes
    ----------
    parameters : ndarray
    objectives : ndarray of shape (n_steps,)
        The objective at the best parameters known after each evaluation; it never falls, and the
        last is that of ``parameters``.
    residual : float
        The largest change that another step would make to any parameter.
    ending : Ending
        Converged; stalled where double precision goes no further; or out of iterations.
    """

    parameters: FloatArray
    objectives: FloatArray
    residual: float
    ending: Ending

    @property
    def converged(self) -> bool:
        """Whether no step can improve the parameters by more than the tolerance, or at all."""
        return self.ending in (Ending.CONVERGED, Ending.STALLED)


def ascend(
    step: Step,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = True,
    size: Size = _largest,
) -> Ascent | None:
    """Repeat a step until the change that it makes is no larger than ``tol``.

    Parameters
    ----------
    step : callable
        Called at most ``max_iter`` times.
    start : ndarray of shape (n_parameters,)
    max_iter : int
    tol : float
    accelerate : bool, default=True
        Whether to extrapolate.
    size : callable, optional
        How large a change is; by default its largest entry.

    Returns
    -------
    Ascent, or None where a plain step leads to where there is no objective.
    """
    first = step(start)
    if first is None:
        return None
    here = start
    objective, target = first
    residual = target - here
    objectives = [objective]
    moves: list[FloatArray] = []
    changes: list[FloatArray] = []
    pause = 1
    while size(here, residual) > tol and len(objectives) < max_iter:
        extrapolated = accelerate and len(moves) >= pause
        there = target - correction_of(moves, changes, residual) if extrapolated else target
        found = step(there)
        if extrapolated and (found is None or not found[0] >= objective):
            # Wait longer after each refusal: a history of steps that lie far apart misleads.
            pause = min(2 * pause, _LONGEST_PAUSE)
            moves.clear()
            changes.clear()
            objectives.append(objective)
            if len(objectives) >= max_iter:
                break
            there = target
            found = step(there)
        if found is None:
            return None
        if not found[0] >= objective:
            # A plain step can fall by rounding only: this is as far as double precision goes.
            objectives.append(objective)
            return Ascent(here, np.array(objectives), size(here, residual), Ending.STALLED)
        if len(moves) == _ORDER:
            pause = max(1, pause - 1)
            moves.pop(0)
            changes.pop(0)
        objective, target = found
        moves.append(there - here)
        changes.append(target - there - residual)
        here, residual = there, target - there
        objectives.append(objective)
        if len(objectives) % 10 == 0:
            report("EM: step %d, objective %.8g", len(objectives), objective)
    largest = size(here, residual)
    ending = Ending.CONVERGED if largest <= tol else Ending.EXHAUSTED
    n_steps = counted(len(objectives), "step")
    report("EM: %s, objective %.8g, %s", n_steps, objective, ending.value)
    return Ascent(here, np.array(objectives), largest, ending)


def correction_of(
    moves: list[FloatArray], changes: list[FloatArray], residual: FloatArray
) -> FloatArray:
    """Return what to take from the next step so that the residual becomes as small as possible."""
    D = np.array(changes)
    # A damped least-squares problem in at most ten unknowns: rounding of the inner products is far
    # below the ridge, and a decomposition of D itself would take as long as the step.
    products = D @ D.T
    ridge = max(_RIDGE * float(np.linalg.norm(products, 2)), np.finfo(float).tiny)
    products[np.diag_indices_from(products)] += ridge
    mixture = np.linalg.solve(products, D @ residual)
    correction: FloatArray = mixture @ (np.array(moves) + D)
    return correction
