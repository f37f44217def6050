"""Penalised EM for mixtures: the M-step, and steps that are extrapolated.

EM repeats ``theta <- F(theta)``, and its rate of convergence is the share of the information that
is missing. Anderson's extrapolation finds the combination of the last few residuals
``r = F(theta) - theta`` that is smallest, and moves to where that combination leads; for EM it is
known as DAAREM (Henderson and Varadhan, 2019). An extrapolated point is kept only if the objective
there is no lower; otherwise the plain step, which cannot lower it, is taken, and the history is
dropped. A kept point costs exactly what a step of EM costs, since evaluating the objective and the
next step is the same work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from absentia.beliefs import Prior
from absentia.densities.em.expectation import ExpectedMoments
from absentia.progress import SolverStatus, report
from absentia.tables import FloatArray, IntArray

#: From parameters to the objective there and the next parameters; None where there is none.
Step = Callable[[FloatArray], tuple[float, FloatArray] | None]

#: From parameters and a change of them to how large it is, at least the largest entry.
Size = Callable[[FloatArray, FloatArray], float]

P = TypeVar("P", bound=Prior)

_ORDER = 10  # residuals looked at; 20 saves nothing more, 5 costs a fifth more steps
_RIDGE = 1e-8  # of the largest squared singular value: nearly dependent residuals do no harm
_LONGEST_PAUSE = 8


def _largest(parameters: FloatArray, change: FloatArray) -> float:
    return float(np.abs(change).max(initial=0.0))


class Steps(NamedTuple):
    """How many steps an ascent may take, how small the last must be, and whether to extrapolate."""

    max_iter: int
    tol: float
    accelerate: bool = True


@dataclass(frozen=True, eq=False)
class Ascent:
    """The result of an ascent, and its convergence.

    ``objectives`` are those of the best parameters known after each evaluation: they never fall,
    and the last is that of ``parameters``. ``residual`` is the largest change that another step
    would make to a parameter.
    """

    parameters: FloatArray
    objectives: FloatArray
    residual: float
    ending: SolverStatus

    @property
    def converged(self) -> bool:
        """Whether no step can improve the parameters by more than the tolerance, or at all."""
        return self.ending in (SolverStatus.CONVERGED, SolverStatus.STALLED)


def ascend(
    step: Step,
    start: FloatArray,
    *,
    max_iter: int,
    tol: float,
    accelerate: bool = True,
    size: Size = _largest,
) -> Ascent | None:
    """Repeat a step, at most ``max_iter`` times, until the change that it makes is within ``tol``.

    Returns None where a plain step leads to where there is no objective.
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
            return Ascent(here, np.array(objectives), size(here, residual), SolverStatus.STALLED)
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
    ending = SolverStatus.CONVERGED if largest <= tol else SolverStatus.EXHAUSTED
    report("EM: %d steps, objective %.8g, %s", len(objectives), objective, ending.value)
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
    return mixture @ (np.array(moves) + D)


# A change of 1e-3 of what a column keeps is worth as much as one of 1e-5 standard deviations:
# the objective is then within about 1e-3 of its maximum, whatever determines what.
RELATIVE = 0.01


@dataclass(frozen=True)
class MixtureCoordinates:
    """Roots of weights, means, Cholesky factors of covariances and roots of probabilities.

    Any vector of that length unpacks to weights that sum to one and to covariances without
    negative eigenvalues, so that an extrapolation cannot leave the space of densities. In trials
    these coordinates took fewer steps than covariances, precisions or logarithms of the factors'
    diagonals.
    """

    n_features: int
    n_categories: tuple[int, ...] = ()

    def pack(self, prior: Prior) -> FloatArray:
        """Return the parameters in one vector."""
        rows, columns = _lower(self.n_features)
        roots = np.linalg.cholesky(prior.covariances)[:, rows, columns]
        shares = [np.sqrt(table).ravel() for table in prior.probabilities]
        return np.concatenate([np.sqrt(prior.weights), prior.means.ravel(), roots.ravel(), *shares])

    def unpack(self, vector: FloatArray) -> Prior:
        """Return the prior of a vector."""
        weight_roots, means, roots, *shares = self._split(vector)
        weights = weight_roots[:, 0] ** 2
        probabilities = tuple(part**2 / (part**2).sum(axis=1, keepdims=True) for part in shares)
        covariances = roots @ roots.transpose(0, 2, 1)
        covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
        return Prior(weights / weights.sum(), means, covariances, probabilities)

    def largest_change(self, vector: FloatArray, change: FloatArray) -> float:
        """Return the largest change of a parameter, or a hundredth of it in the density's units.

        Means and Cholesky factors change by ``inv(R)`` times their change in the density's own
        units, ``R`` being the factor of the component. That counts where the others nearly
        determine a column: it keeps a thousandth of its standard deviation, say, and changes by
        half of that.
        """
        largest = _largest(vector, change)
        roots = self._split(vector)[2]
        means, factors = self._split(change)[1:3]
        for root, mean, factor in zip(roots, means, factors, strict=True):
            if not np.diagonal(root).all():
                return np.inf
            relative = solve_triangular(root, np.column_stack([mean, factor]), lower=True)
            largest = max(largest, RELATIVE * float(np.abs(relative).max()))
        return largest

    def _split(self, vector: FloatArray) -> list[FloatArray]:
        """Return weights (k, 1), means (k, d), triangles (k, d, d) and shares (k, n_categories)."""
        d = self.n_features
        sizes = np.array([1, d, d * (d + 1) // 2, *self.n_categories])
        k = len(vector) // int(sizes.sum())
        weights, means, entries, *shares = (
            part.reshape(k, -1) for part in np.split(vector, np.cumsum(k * sizes)[:-1])
        )
        roots = np.zeros((k, d, d))
        roots[:, *_lower(d)] = entries
        return [weights, means, roots, *shares]


@lru_cache(maxsize=16)
def _lower(n_features: int) -> tuple[IntArray, IntArray]:
    """Return where the entries of a lower triangle are: the same in each of hundreds of steps."""
    return np.tril_indices(n_features)


@dataclass(frozen=True, eq=False)
class Penalty:
    """An inverse Wishart penalty on the covariance of each component, in standard units.

    The objective is the log-likelihood of what was observed less

        1/2 (strength log det S + tr((strength T + ridge I) inv(S)))

    for each component, and the best ``S`` for rows of total weight ``N`` and scatter ``C`` is
    ``(N C + strength T + ridge I) / (N + strength)``. No column can lose all its variance, and no
    component can collapse onto a few rows, while ``strength`` or ``ridge`` is positive.

    ``strength`` is counted in rows; infinite fixes ``S = T``, the ``target``. ``pseudocounts`` are
    rows of each category that are added to each component: the objective gains
    ``pseudocounts' log p``, a Dirichlet penalty.
    """

    strength: float
    target: FloatArray
    ridge: float
    pseudocounts: tuple[FloatArray, ...] = ()

    def value(self, prior: Prior) -> float:
        """Return what the objective loses at some parameters."""
        lost = 0.0
        if self.pseudocounts:
            lost = -float((prior.log_probabilities @ np.concatenate(self.pseudocounts)).sum())
        if np.isinf(self.strength):
            return lost
        pull = self.strength * self.target + self.ridge * np.eye(len(self.target))
        traces = np.einsum("ij,cij->", pull, prior.precisions)
        return lost + 0.5 * float(self.strength * prior.log_determinants.sum() + traces)

    def maximised(self, prior: Prior, moments: ExpectedMoments) -> Prior:
        """Return the parameters that maximise the expected objective: the M-step."""
        shifts, scatter = moments.weighted_means()
        if np.isinf(self.strength):
            covariances = np.broadcast_to(self.target, scatter.shape)
        else:
            totals = moments.totals[:, None, None]
            pull = self.strength * self.target + self.ridge * np.eye(len(self.target))
            filled = totals * scatter + pull
            divisor = np.maximum(totals + self.strength, np.finfo(float).tiny)
            covariances = filled / divisor
        weights = moments.totals / moments.totals.sum()
        filled_counts = [
            counts + pseudo
            for counts, pseudo in zip(moments.counts, self.pseudocounts, strict=True)
        ]
        probabilities = tuple(c / c.sum(axis=1, keepdims=True) for c in filled_counts)
        return Prior(weights, prior.means + shifts, covariances, probabilities)


def climb(
    expectation: Callable[[P], Any],
    penalty: Any,
    coordinates: Any,
    start: P | FloatArray,
    steps: Steps,
) -> tuple[P, Ascent] | None:
    """Run EM from a prior, or from where another ascent ended.

    The penalty has ``value`` and ``maximised`` as :class:`Penalty`, the coordinates have ``pack``,
    ``unpack`` and ``largest_change`` as :class:`MixtureCoordinates`. Returns None where the start,
    or a step of EM, raises LinAlgError, as a covariance that is nearly singular does: the
    likelihood then has no maximum, or none that double precision finds.
    """

    def step(vector: FloatArray) -> tuple[float, FloatArray] | None:
        try:
            prior = coordinates.unpack(vector)
            moments = expectation(prior)
            following = coordinates.pack(penalty.maximised(prior, moments))
            return moments.log_likelihood - penalty.value(prior), following
        except np.linalg.LinAlgError:
            return None

    try:
        vector = start if isinstance(start, np.ndarray) else coordinates.pack(start)
    except np.linalg.LinAlgError:
        return None
    ascent = ascend(step, vector, **steps._asdict(), size=coordinates.largest_change)
    return None if ascent is None else (coordinates.unpack(ascent.parameters), ascent)


def climb_or_refuse(
    expectation: Callable[[P], Any], penalty: Any, coordinates: Any, start: P, steps: Steps
) -> tuple[P, Ascent]:
    """Run EM as :func:`climb`; raise ValueError where the likelihood has no maximum."""
    outcome = climb(expectation, penalty, coordinates, start, steps)
    if outcome is None:
        raise ValueError(SINGULAR)
    return outcome


SINGULAR = (
    "The covariance of the rows is singular (a constant column, columns that determine each other, "
    "or too few rows), and reg_covar and shrinkage are too small to regularise it. Use "
    "reg_covar=1e-6 or shrinkage='auto'."
)


def heaviest_first(prior: P) -> P:
    """Put the components into an order that does not depend on the start."""
    return of_components(prior, np.argsort(-prior.weights, kind="stable"))


def of_components(prior: P, chosen: IntArray) -> P:
    """Return a prior of some components, with the weights that they have."""
    parts = {name: getattr(prior, name) for name in prior._field_names()}
    tables = tuple(table[chosen] for table in parts.pop("probabilities"))
    return replace(prior, probabilities=tables, **{n: part[chosen] for n, part in parts.items()})


def search_number(numbers: Iterable[int], score: Callable[[int], float]) -> tuple[int, FloatArray]:
    """Score numbers in turn until two in a row are no better; return the place of the best."""
    scores: list[float] = []
    for number in numbers:
        scores.append(score(number))
        if len(scores) - 1 - int(np.argmax(scores)) == 2:
            break
    return int(np.argmax(scores)), np.array(scores)


def n_parameters(prior: Prior, n_numbers: int) -> int:
    """Return the number of free parameters of a mixture with so many numbers."""
    k, d = prior.n_components, n_numbers
    free_categories = sum(prior.n_categories) - len(prior.n_categories)
    return k - 1 + k * d + k * d * (d + 1) // 2 + k * free_categories
