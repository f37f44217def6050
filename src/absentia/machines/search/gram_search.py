"""Machines that choose their hyperparameters by cross-validation on shared Gram matrices.

A grid search over a plain machine fits the density and computes the Gram matrix for every
candidate and every fold. Here one density is fitted to all rows, without their targets; the Gram
matrix of all rows is computed once per width, and mask kernels multiply it. On that one matrix a
machine solves for all penalties without each fold (``_solve_left_out``), in closed form where there
is one. The scores are those of a plain search over the beliefs of that density, up to rounding and
the tolerance of the solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import field
from inspect import signature
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, ParameterGrid

from absentia.beliefs import Beliefs, Prior
from absentia.engine.threads import map_on_threads, n_threads, one_blas_thread
from absentia.hidden_warnings import hidden_warnings
from absentia.kernels.base import Kernel
from absentia.kernels.category import resolve_category_weight, scaled_for_categories
from absentia.kernels.metric import Widths, resolve_gamma, warn_of_gross_values
from absentia.kernels.named_kernels import (
    CategoryWeight,
    MaskWeight,
    make_mask_kernel,
    make_unmasked_kernel,
)
from absentia.machines.base import KernelMachine, TrainingData
from absentia.machines.gram_matrices import GramRows
from absentia.machines.search.widths import losses_of_rows
from absentia.machines.validation import (
    Split,
    check_matrix_size,
    checked_splits,
    warn_of_other_order,
    warn_of_unequal_ranges,
    weight_of_kept,
)
from absentia.parameters import SearchResults, check_parameters, count_from, declared, shown
from absentia.progress import progress_bar, report
from absentia.tables import FloatArray, IntArray, TableLike, open_memory, set_fitted

#: The smallest probability in a log loss, as in scikit-learn.
_EPS = float(np.finfo(float).eps)
#: More steps of four than this leave the range of numbers.
_STEPS = count_from(1, 400)

#: Names of the weight of categories in plain machines; kernels need not have one.
_OF_CATEGORIES = ("category_weight", "kernel__category_weight")

#: Parameters of one model, and values of each parameter that are tried.
Candidate = dict[str, Any]
Grid = dict[str, list[Any]]


@declared
class GramSearch(KernelMachine):
    """A machine whose hyperparameters are chosen by cross-validation over a plain machine.

    A leaf names its plain machine (``_plain_class``) and which of its own parameters are lists of
    values for which parameter of the plain one (``_grids``); ``gammas``, ``mask_weights`` and
    ``category_weights`` are common to all. It inherits the plain machine's predictions.
    """

    gammas: int | ArrayLike | None = 7
    mask_weights: Sequence[MaskWeight] | None = None
    category_weights: int | Sequence[CategoryWeight] | None = None
    cv: Any = 5
    scoring: str | Callable[..., float] | None = None
    refit: bool = True
    progress: bool = False

    # Searched for, hence no parameters.
    gamma: ClassVar[Widths] = "scale"  # type: ignore[misc]
    mask_weight: ClassVar[MaskWeight] = None  # type: ignore[misc]
    category_weight: ClassVar[CategoryWeight] = "scale"  # type: ignore[misc]

    _replaces_scikit_learn = False
    _plain_class: ClassVar[type[KernelMachine]]
    _grids: ClassVar[tuple[tuple[str, str], ...]]

    cv_results_: SearchResults = field(init=False)
    best_params_: Candidate = field(init=False)
    best_estimator_: BaseEstimator = field(init=False)
    best_index_: int = field(init=False)
    best_score_: float = field(init=False)
    n_splits_: int = field(init=False)

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Search the grid by cross-validation, then fit the best machine to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or Beliefs
            NaN where a value is missing.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in fitting, and in the score where it takes weights.
        groups : array-like of shape (n_samples,), optional
            For splitters such as :class:`sklearn.model_selection.GroupKFold`.
        """
        kernel = self._validated_kernel()
        check_matrix_size(X, type(self).__name__)
        plain = self._plain()
        rows = open_memory(X, y, words=plain._words(kernel))
        warn_of_unequal_ranges(rows, kernel, self.gamma)
        grid, scorer = self._grid(plain), self._scorer(plain)
        warn_of_other_order(X, y)
        targets = self._check_targets(y, len(rows))
        weights = self._check_weights(sample_weight, targets, len(rows))
        splits = checked_splits(self.cv, targets, groups, classifier=is_classifier(self))
        for fold, (train, _) in enumerate(splits):
            try:
                self._check_targets(targets[train], len(targets[train]))
            except ValueError as error:
                raise ValueError(
                    f"Fold {fold} of {len(splits)} cannot be fitted: {error} Shuffle or "
                    "stratify the folds, or use fewer."
                ) from error
        if _is_count(self.gammas):
            warn_of_gross_values(rows, plain.density, weights)
        believed = plain._believe_training(rows, weights)
        grid |= self._steps_around_scale(plain, believed[1].prior)
        if not believed[1].prior.probabilities:  # a weight of categories weighs nothing
            grid = {name: tried for name, tried in grid.items() if name not in _OF_CATEGORIES}
        candidates = list(ParameterGrid(grid))
        # Candidates with this warning lose anyway; the refit warns again.
        with hidden_warnings("The kernel has the same value", UserWarning):
            scores = self._search(plain, scorer, grid, believed, targets, weights, splits)
        # In the form of scikit-learn; a candidate without a score comes last.
        names = ("test_scores", "fit_time", "score_time")
        entries = [dict(zip(names, each, strict=True)) for each in scores.reshape(3, -1).T]
        with hidden_warnings("One or more of the test scores", UserWarning):
            results = GridSearchCV(plain, {})._format_results(candidates, len(splits), entries)
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
            data = TrainingData(rows, targets, weights, machine._validated_kernel())
            machine._fit_data(data, believed)
            found |= {name: value for name, value in vars(machine).items() if name[-1] == "_"}
            found["best_estimator_"] = machine
        set_fitted(self, rows, found)
        return self

    def _check_fitted(self, attribute: str | None = None) -> None:
        if hasattr(self, "cv_results_") and not hasattr(self, "kernel_"):
            raise NotFittedError(
                f"This {type(self).__name__} was fitted with refit=False: it has best_params_, "
                "but no machine to predict with. Use refit=True, or fit a machine with them."
            )
        super()._check_fitted(attribute)

    def _validated_kernel(self) -> Kernel:
        """Validate the parameters with every value to try, and return the plain kernel."""
        check_parameters(self)
        plain = self._plain()
        grid = self._grid(plain)
        self._scorer(plain)
        first = {name: values[0] for name, values in grid.items()}
        for name, values in grid.items():
            for value in values:
                clone(plain).set_params(**first | {name: value})._validated_kernel()
        return plain._validated_kernel()

    def _plain(self) -> KernelMachine:
        """Return the plain machine with all parameters that it shares with this one."""
        known = self._plain_class().get_params(deep=False)
        mine = self.get_params(deep=False)
        shared = {name: value for name, value in mine.items() if name in known}
        return clone(self._plain_class(**shared))

    def _grid(self, plain: KernelMachine) -> Grid:
        """Return the values to try, by name of the plain machine's parameter.

        Without what depends on the rows: gammas and weights of categories of which only the number
        is given.
        """
        grid = {target: _values(own, getattr(self, own)) for own, target in self._grids}
        for own, name in (("gammas", "gamma"), ("category_weights", "category_weight")):
            given = getattr(self, own)
            if _is_count(given):
                _STEPS.check(own, given)
                _name_in(name, plain.kernel)
            elif given is not None:
                grid[_name_in(name, plain.kernel)] = _values(own, given)
        if self.mask_weights is not None:
            grid["mask_weight"] = _values("mask_weights", self.mask_weights)
        empty = [name for name, values in grid.items() if not values]
        if empty:
            raise ValueError(f"There is no value to try for {', '.join(empty)}: the list is empty.")
        return grid

    def _steps_around_scale(self, plain: KernelMachine, prior: Prior) -> dict[str, list[Any]]:
        """Return steps of four around ``"scale"``, where only the number of steps is given."""
        metric = getattr(plain.kernel, "metric", "euclidean")
        gamma = resolve_gamma("scale", prior, metric)
        weight: Any = 0.0
        if prior.probabilities:
            gamma = scaled_for_categories(gamma, prior)
            weight = resolve_category_weight("scale", prior, prior.n_numbers)
        found = {}
        for own, name, scale in (
            ("gammas", "gamma", gamma),
            ("category_weights", "category_weight", weight),
        ):
            if _is_count(given := getattr(self, own)):
                steps = np.arange(int(given)) - (int(given) - 1) / 2
                found[_name_in(name, plain.kernel)] = list(scale * 4.0**steps)
        return found

    def _scorer(self, plain: KernelMachine) -> Any:
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise TypeError(
                "scoring must be one score, by name or as a callable, found "
                f"{shown(self.scoring)}. For several scores use GridSearchCV."
            )
        return (
            log_loss_score if self.scoring == "neg_log_loss" else check_scoring(plain, self.scoring)
        )

    def _search(
        self,
        plain: KernelMachine,
        scorer: Any,
        grid: Grid,
        believed: tuple[BaseEstimator, Beliefs],
        targets: np.ndarray,
        weights: FloatArray | None,
        splits: list[Split],
    ) -> FloatArray:
        """Return scores, seconds of fits and of scores, (3, n_candidates, n_splits).

        The time of what several candidates share is divided among them.
        """
        density, beliefs = believed
        inner = "kernel__" if isinstance(plain.kernel, Kernel) else ""
        of_kernel = [f"{inner}gamma", f"{inner}category_weight"]
        solved_for = {n: grid[n] for n in grid if n not in (*of_kernel, "mask_weight")}
        widths = list(product(*(grid.get(name, [None]) for name in of_kernel)))
        masks = [
            make_mask_kernel(weight_of_kept(weight, density))
            for weight in grid.get("mask_weight", [None])
        ]
        tried = list(ParameterGrid(solved_for))
        sets = [np.setdiff1d(np.arange(len(targets)), train) for train, _ in splits]
        out = np.empty((3, len(widths), len(masks), len(tried), len(splits)))
        settings = get_config()  # scikit-learn keeps them by thread

        def score(model: KernelMachine, K: FloatArray, test: IntArray) -> float:
            counts = {"sample_weight": weights[test]} if weighted and weights is not None else {}
            return float(scorer(model, GramRows(K[test]), targets[test], **counts))

        def score_width(w: int) -> None:
            start = time.perf_counter()
            given = zip(of_kernel, widths[w], strict=True)
            model = clone(plain).set_params(**{k: value for k, value in given if value is not None})
            kernel = make_unmasked_kernel(model.kernel, model.gamma, model.category_weight)
            # In a product with the mask kernel a centre is not ignored.
            kernel = kernel if any(masks) else plain._settled(kernel)
            K = kernel.resolve(beliefs.prior)(beliefs, n_jobs=None if threads == 1 else 1)
            for m, mask in enumerate(masks):
                product = K if mask is None else K * mask(beliefs)
                solved = plain._solve_left_out(product, targets, weights, sets, tried)
                end = time.perf_counter()
                out[1, w, m], start = (end - start) / out[0, w, m].size, end
                for c, f in np.ndindex(len(tried), len(splits)):
                    model = plain._with(tried[c] | solved[c][f])
                    out[0, w, m, c, f] = score(model, product, splits[f][1])
                    bar.advance()
                end = time.perf_counter()
                out[2, w, m], start = (end - start) / out[0, w, m].size, end

        def in_thread(w: int) -> None:
            with config_context(**settings):
                score_width(w)

        threads = min(n_threads(self.n_jobs), len(widths))
        weighted, title = _knows_weights(scorer), type(self).__name__
        report("%s: one density for %d folds", title, len(splits))
        with (
            progress_bar(out[0].size, shown=self.progress, title=title) as bar,
            one_blas_thread() if threads > 1 else nullcontext(),
        ):
            for _ in map_on_threads(in_thread, range(len(widths)), threads):
                pass
        axes = [*of_kernel, "mask_weight", *sorted(solved_for)]
        # In the order of ParameterGrid, which sorts by name.
        sizes = [len(grid.get(name, [None])) for name in axes]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        whole = out.reshape(3, *sizes, -1).transpose(
            0, *(1 + axis for axis in order), 1 + len(axes)
        )
        return whole.reshape(3, -1, len(splits))


def _values(name: str, values: object) -> list[Any]:
    """Return what to try of a parameter as a list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of values to try, found {shown(values)}.")
    return list(values)


def log_loss_score(
    model: BaseEstimator, X: object, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> float:
    """Return minus the log loss, as scikit-learn's ``"neg_log_loss"``.

    That one stops where a fold lacks a class, which happens with classes of few rows.
    """
    return -float(np.average(losses_of_rows(model, X, y, _EPS), weights=sample_weight))


def _knows_weights(scorer: Any) -> bool:
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    return "sample_weight" in signature(scorer).parameters


def _is_count(given: object) -> bool:
    return isinstance(given, int | np.integer)


def _name_in(name: str, kernel: object) -> str:
    """Return what the plain machine calls a parameter of its kernel."""
    if not isinstance(kernel, Kernel):
        return name
    if name in kernel.get_params(deep=False):
        return f"kernel__{name}"
    raise ValueError(
        f"{kernel!r} has no {name} to search. Use {name}s=None, and set the parameters inside the "
        f"kernel or search them with GridSearchCV (kernel__left__{name}, ...)."
    )
