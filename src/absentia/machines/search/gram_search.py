"""Model selection that pays for each density and each Gram matrix once.

A grid search over a plain machine fits the density and computes the Gram matrix for every
candidate and every fold. Here the density is fitted once per fold, the matrix computed once per
fold and gamma, the mask kernel multiplied in per mask weight, and all penalties are solved on that
one matrix. The scores are those of the plain search, to the last bit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from copy import copy
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv

from absentia.beliefs import Beliefs
from absentia.kernels.base import Kernel, with_params
from absentia.kernels.metric import resolve_gamma
from absentia.kernels.named_kernels import make_mask_kernel, make_unmasked_kernel
from absentia.machines.base import GramRows, KernelMachine, condition_on, weight_of_kept
from absentia.parameters import count_from
from absentia.progress import progress_bar
from absentia.tables import FloatArray, IntArray, as_table

__all__ = ["GramSearch"]

#: More steps of four than this leave the range of numbers.
_GAMMA_STEPS = count_from(1, 400)


class GramSearch(KernelMachine):
    """A machine that chooses parameters of a plain machine by cross-validation, then is it.

    A leaf names its plain machine (``_plain_class``) and which of its own parameters are lists of
    values for which parameter of the plain one (``_grids``); ``gammas`` and ``mask_weights`` are
    common to all. It inherits the plain machine's predictions.
    """

    _plain_class: type[KernelMachine]
    _grids: tuple[tuple[str, str], ...]

    gammas: Any
    mask_weights: Any
    cv: Any
    scoring: Any
    refit: bool
    progress: bool

    cv_results_: dict[str, Any]
    best_params_: dict[str, Any]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Search the grid by cross-validation, then fit the best machine to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in fitting, and in the score where it knows weights.
        groups : array-like of shape (n_samples,), optional
            For splitters such as :class:`sklearn.model_selection.GroupKFold`.

        Returns
        -------
        self
        """
        rows = X if isinstance(X, Beliefs) else as_table(X)
        plain = self._plain()
        grid = self._grid(plain, rows)
        candidates = list(ParameterGrid(grid))
        for candidate in candidates:
            clone(plain).set_params(**candidate)._check_parameters()
        targets = self._check_targets(y, len(rows))
        weights = self._check_weights(sample_weight, targets, len(rows))

        splitter = check_cv(self.cv, targets, classifier=is_classifier(self))
        splits = list(splitter.split(np.empty((len(rows), 1)), targets, groups))
        for fold, (train, _) in enumerate(splits):
            try:
                self._check_targets(targets[train], len(targets[train]))
            except ValueError as error:
                raise ValueError(
                    f"Fold {fold} of {len(splits)} has nothing to learn: {error} Shuffle or "
                    "stratify the folds, or use fewer."
                ) from error
        with warnings.catch_warnings():
            # Once is enough: the final fit says it again, of all rows and by name.
            warnings.filterwarnings("ignore", "Left out of the density", UserWarning)
            scores, fit_times, score_times = self._search(
                plain, candidates, rows, targets, weights, splits
            )
        results = _formatted(candidates, scores, fit_times, score_times)
        best = int(results["rank_test_score"].argmin())
        found = {
            "cv_results_": results,
            "best_index_": best,
            "best_params_": candidates[best],
            "best_score_": float(results["mean_test_score"][best]),
            "n_splits_": len(splits),
        }
        if self.refit:
            machine = plain.set_params(**candidates[best])
            machine.fit(X, y, **({} if sample_weight is None else {"sample_weight": weights}))
            found |= {name: value for name, value in vars(machine).items() if name[-1] == "_"}
            found["best_estimator_"] = machine
        # What an earlier fit has left, column names or a whole machine, is not of this one.
        for name in [name for name in vars(self) if name[-1] == "_" and name not in found]:
            delattr(self, name)
        for name, value in found.items():
            setattr(self, name, value)
        return self

    def _check_fitted(self, attribute: str | None = None) -> None:
        if hasattr(self, "cv_results_") and not hasattr(self, "kernel_"):
            raise NotFittedError(
                f"This {type(self).__name__} was fitted with refit=False: it knows best_params_, "
                "but has no machine to predict with. Use refit=True, or fit a machine with them."
            )
        super()._check_fitted(attribute)

    def _plain(self) -> KernelMachine:
        """Return the plain machine with all parameters that it shares with this one."""
        known = self._plain_class().get_params(deep=False)
        mine = self.get_params(deep=False)
        shared = {name: value for name, value in mine.items() if name in known}
        copy: KernelMachine = clone(self._plain_class(**shared))
        return copy

    def _grid(self, plain: KernelMachine, rows: Any) -> dict[str, list[Any]]:
        """Return the values to try, by name of the plain machine's parameter."""
        grid = {target: _values(own, getattr(self, own)) for own, target in self._grids}
        gammas = self.gammas
        if isinstance(gammas, Integral):
            _GAMMA_STEPS.check("gammas", gammas)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                _, beliefs = plain._believe_training(rows)
            steps = np.arange(int(gammas)) - (int(gammas) - 1) / 2
            metric = getattr(plain.kernel, "metric", "euclidean")
            gammas = resolve_gamma("scale", beliefs.prior, metric) * 4.0**steps
        if gammas is not None:
            grid[_gamma_name(plain.kernel)] = _values("gammas", gammas)
        if self.mask_weights is not None:
            grid["mask_weight"] = _values("mask_weights", self.mask_weights)
        empty = [name for name, values in grid.items() if not values]
        if empty:
            raise ValueError(f"There is no value to try for {', '.join(empty)}: the list is empty.")
        return grid

    def _search(
        self,
        plain: KernelMachine,
        candidates: list[dict[str, Any]],
        rows: Any,
        targets: Any,
        weights: FloatArray | None,
        splits: list[tuple[IntArray, IntArray]],
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return scores, fit times and score times, each of shape (n_candidates, n_splits)."""
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise TypeError(
                f"scoring must be one score, by name or as a callable, found {self.scoring!r}. "
                "For several scores use GridSearchCV."
            )
        scorer = check_scoring(plain, self.scoring)
        score_weights = weights if _knows_weights(scorer) else None
        by_gamma = _grouped_by_gamma(candidates)
        shape = (len(candidates), len(splits))
        scores, fit_times, score_times = np.empty(shape), np.empty(shape), np.empty(shape)

        def believe(train: IntArray, test: IntArray) -> tuple[Any, Beliefs, Beliefs, float]:
            start = time.perf_counter()
            fold_weights = None if weights is None else weights[train]
            density, known = plain._believe_training(rows[train], fold_weights)
            new = rows[test] if density is None else condition_on(density, rows[test])
            return density, known, new, (time.perf_counter() - start) / len(candidates)

        def solve(fold: int, gamma: Any, masks: dict[str, list[int]]) -> None:
            density, known, new, density_time = folds[fold]
            start = time.perf_counter()
            kernel = make_unmasked_kernel(*_with_gamma(plain, gamma)).resolve(known.prior)
            K, K_new = kernel(known), kernel(new, known)
            sharing = sum(len(group) for group in masks.values())
            shared_time = density_time + (time.perf_counter() - start) / sharing
            for group in masks.values():
                start = time.perf_counter()
                weight = weight_of_kept(candidates[group[0]].get("mask_weight"), density)
                mask = make_mask_kernel(weight)
                K_train = K if mask is None else K * mask(known)
                K_test = K_new if mask is None else K_new * mask(new, known)
                group_time = shared_time + (time.perf_counter() - start) / len(group)
                for index in group:
                    score_one(index, fold, K_train, GramRows(K_test), group_time)

        def score_one(
            index: int, fold: int, K_train: FloatArray, K_test: GramRows, shared_time: float
        ) -> None:
            train, test = splits[fold]
            start = time.perf_counter()
            model = copy(plain)  # not a clone: that would cost more than some of the solutions
            for name, value in candidates[index].items():
                if "__" not in name:  # the kernel's own parameters are in the matrix already
                    setattr(model, name, value)
            fold_weights = None if weights is None else weights[train]
            for name, value in model._solve(K_train, targets[train], fold_weights).items():
                setattr(model, name, value)
            solved = time.perf_counter()
            extra = {} if score_weights is None else {"sample_weight": score_weights[test]}
            scores[index, fold] = scorer(model, K_test, targets[test], **extra)
            fit_times[index, fold] = shared_time + solved - start
            score_times[index, fold] = time.perf_counter() - solved
            bar.advance()

        with progress_bar(scores.size, shown=self.progress, title=type(self).__name__) as bar:
            parallel = Parallel(n_jobs=self.n_jobs, backend="threading")
            folds = parallel(delayed(believe)(train, test) for train, test in splits)
            parallel(
                delayed(solve)(fold, gamma, masks)
                for fold in range(len(splits))
                for gamma, masks in by_gamma
            )
        return scores, fit_times, score_times


def _values(name: str, values: Any) -> list[Any]:
    """Return what to try of a parameter as a list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of values to try, found {values!r}.")
    return list(values)


def _knows_weights(scorer: Any) -> bool:
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    return "sample_weight" in signature(scorer).parameters


def _gamma_name(kernel: Any) -> str:
    """Return what the plain machine calls the gamma of its kernel."""
    if not isinstance(kernel, Kernel):
        return "gamma"
    if "gamma" in kernel.get_params(deep=False):
        return "kernel__gamma"
    raise ValueError(
        f"{kernel!r} has no gamma to search. Use gammas=None, and set the parameters inside the "
        "kernel or search them with GridSearchCV (kernel__left__gamma, ...)."
    )


def _with_gamma(plain: KernelMachine, gamma: Any) -> tuple[Any, Any]:
    """Return the kernel and gamma of the plain machine, with that gamma where there is one."""
    if gamma is None:
        return plain.kernel, plain.gamma
    if isinstance(plain.kernel, Kernel):
        return with_params(plain.kernel, gamma=gamma), plain.gamma
    return plain.kernel, gamma


def _grouped_by_gamma(candidates: list[dict[str, Any]]) -> list[tuple[Any, dict[str, list[int]]]]:
    """Return the gammas, each with the numbers of its candidates grouped by mask weight."""
    groups: dict[Any, dict[str, list[int]]] = {}
    for index, candidate in enumerate(candidates):
        gamma = candidate.get("gamma", candidate.get("kernel__gamma"))
        weight = repr(np.asarray(candidate.get("mask_weight")).tolist())
        groups.setdefault(gamma, {}).setdefault(weight, []).append(index)
    return list(groups.items())


def _formatted(
    candidates: list[dict[str, Any]],
    scores: FloatArray,
    fit_times: FloatArray,
    score_times: FloatArray,
) -> dict[str, Any]:
    """Return the results in the form of ``GridSearchCV.cv_results_``."""
    results: dict[str, Any] = {}
    for name, times in (("fit_time", fit_times), ("score_time", score_times)):
        results[f"mean_{name}"], results[f"std_{name}"] = times.mean(axis=1), times.std(axis=1)
    for name in candidates[0]:
        values = [candidate[name] for candidate in candidates]
        results[f"param_{name}"] = np.ma.MaskedArray(_as_column(values), mask=False)
    results["params"] = candidates
    for fold, column in enumerate(scores.T):
        results[f"split{fold}_test_score"] = column
    means = scores.mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = means, scores.std(axis=1)
    worst = np.nanmin(means, initial=0.0) - 1  # candidates without a score come last
    ranks = rankdata(-np.nan_to_num(means, nan=worst), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    return results


def _as_column(values: Sequence[Any]) -> np.ndarray:
    if all(isinstance(value, int | float | np.number) for value in values):
        return np.asarray(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
