"""Search of a grid on Gram matrices that are shared by candidates, with a density per fold.

What is expensive is computed once. A fold is prepared once (its density fitted, its missing values
imputed); a Gram matrix is computed once per fold and width; what multiplies a matrix (a mask
kernel) is applied once per extra; and all candidates (penalties) are solved on that one matrix, in
one call, so that a solver can start from the solution of the neighbouring candidate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator

from absentia.beliefs import Beliefs
from absentia.engine.threads import map_on_threads, one_blas_thread
from absentia.kernels.base import Kernel
from absentia.kernels.named_kernels import make_mask_kernel
from absentia.kernels.repair import repair_psd
from absentia.machines.validation import weight_of_kept
from absentia.progress import Bar
from absentia.tables import FloatArray

_Grams = TypeVar("_Grams")
_GramsOut = TypeVar("_GramsOut", covariant=True)
_Model = TypeVar("_Model")

#: The Gram matrices of training rows with themselves, and of other rows with training rows.
GramPair = tuple[FloatArray, FloatArray]


class Fold(Protocol[_GramsOut]):
    """Training and held-out rows of one split, prepared so that only the kernel is left."""

    def at(self, width: Any) -> Callable[[Any], _GramsOut]:
        """Compute matrices of one width; return the function from an extra to its matrices."""


class Scores(NamedTuple):
    """Scores and times of a search, arrays of shape (n_widths, n_extras, n_candidates, n_folds).

    The time of what several candidates share is divided among them.
    """

    values: FloatArray
    fit_seconds: FloatArray
    score_seconds: FloatArray


@dataclass(frozen=True, eq=False)
class GramGrid(Generic[_Grams, _Model]):
    """Folds, and functions that solve and score candidates on their matrices.

    ``solve(fold_number, grams, candidates)`` returns a model of the training rows per candidate and
    ``judge(fold_number, grams, model)`` its score on the held-out rows. ``extras`` are tried on the
    matrices of one width, ``candidates`` on one matrix; ``threads`` share the folds and widths, and
    ``bar`` advances with each score.
    """

    folds: Sequence[Fold[_Grams]]
    solve: Callable[[int, _Grams, Sequence[Any]], list[_Model]]
    judge: Callable[[int, _Grams, _Model], float]
    extras: Sequence[Any] = (None,)
    candidates: Sequence[Any] = (None,)
    threads: int = 1
    bar: Bar = Bar()  # noqa: RUF009 (it has no state)

    def scored(self, widths: Sequence[Any]) -> Scores:
        """Score all candidates with all extras at these widths, in all folds."""
        n_extras, n_candidates = len(self.extras), len(self.candidates)
        shape = (len(widths), n_extras, n_candidates, len(self.folds))
        scores = Scores(np.empty(shape), np.empty(shape), np.empty(shape))
        settings = get_config()  # scikit-learn keeps them by thread

        def score_matrix(place: tuple[int, int]) -> None:
            w, f = place
            with config_context(**settings):
                start = time.perf_counter()
                grams_of = self.folds[f].at(widths[w])
                shared = (time.perf_counter() - start) / n_extras
                for e, extra in enumerate(self.extras):
                    start = time.perf_counter()
                    grams = grams_of(extra)
                    models = self.solve(f, grams, self.candidates)
                    solved = time.perf_counter()
                    for c, model in enumerate(models):
                        scores.values[w, e, c, f] = self.judge(f, grams, model)
                        self.bar.advance()
                    judged = time.perf_counter()
                    scores.fit_seconds[w, e, :, f] = (shared + solved - start) / n_candidates
                    scores.score_seconds[w, e, :, f] = (judged - solved) / n_candidates

        places = product(range(len(widths)), range(len(self.folds)))
        with one_blas_thread() if self.threads > 1 else nullcontext():
            for _ in map_on_threads(score_matrix, places, self.threads):
                pass
        return scores


@dataclass(frozen=True, eq=False)
class BelievedFold:
    """A fold as beliefs: the kernel of one width, times mask kernels of several weights.

    ``known`` and ``new`` are beliefs about training and held-out rows; ``make_kernel`` returns the
    kernel of one width, without a mask kernel. Mask weights by column are cut to the columns that
    ``density`` kept. With ``repaired``, a matrix that is not positive semidefinite is made so.
    ``seconds`` is the time of the preparation.
    """

    known: Beliefs
    new: Beliefs
    make_kernel: Callable[[Any], Kernel]
    density: BaseEstimator | None = None
    repaired: bool = False
    seconds: float = 0.0

    def at(self, width: Any) -> Callable[[dict[str, object]], GramPair]:
        """Compute both matrices of one width; return the function that multiplies a mask kernel."""
        kernel = self.make_kernel(width).resolve(self.known.prior)
        K, K_new = kernel(self.known), kernel(self.new, self.known)
        if self.repaired and not kernel.positive_definite:
            K, repair = repair_psd(K)
            K_new = repair.transform(K_new)

        def masked(extra: dict[str, Any]) -> GramPair:
            mask = make_mask_kernel(weight_of_kept(extra.get("mask_weight"), self.density))
            if mask is None:
                return K, K_new
            return K * mask(self.known), K_new * mask(self.new, self.known)

        return masked
