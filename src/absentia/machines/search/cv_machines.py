"""Machines that choose their own hyperparameters by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from absentia.densities.named_densities import DensityLike
from absentia.kernels.named_kernels import KernelLike, MaskWeight
from absentia.machines.documentation import documented
from absentia.machines.logistic.logistic_regression import LogisticRegression
from absentia.machines.missingness_shift import Shift
from absentia.machines.ridge.kernel_ridge import KernelRidge, KernelRidgeSolver
from absentia.machines.search.gram_search import GramSearch
from absentia.machines.svm.machines import SVC, SVR
from absentia.machines.svm.support_vectors import SupportVectorClassifier, SupportVectorRegressor

__all__ = ["KernelRidgeCV", "LogisticRegressionCV", "SVCCV", "SVRCV"]

#: The penalties of Section 5.2 of [Smieja2018]_, from 1/32 to 512 in steps of four.
_PENALTIES = tuple(2.0**k for k in range(-5, 10, 2))
_RIDGES = tuple(10.0**k for k in range(-4, 3))


@documented
class SVCCV(GramSearch, SupportVectorClassifier):
    """:class:`SVC` with ``C``, ``gamma`` and the mask weight chosen by cross-validation.

    The same choice as ``GridSearchCV(SVC(), {"C": Cs, "gamma": gammas})``, in a fraction of the
    time: each fold fits its density once and computes the Gram matrix once per gamma; all ``C``
    are solved on that one matrix, and a mask weight only multiplies it.

    Parameters
    ----------
    Cs : sequence of float, default=(1/32, 1/8, ..., 512)
        Penalties to try.
    {search_parameters}
    class_weight : dict, "balanced" or None, default=None
        Multiplies the penalty of each class; ``"balanced"`` by one over its frequency.
    {vote_parameters}
    {solver_parameters}
    {search_common_parameters}

    Attributes
    ----------
    {search_attributes}
    classes_ : ndarray of shape (n_classes,)
    class_weight_ : ndarray of shape (n_classes,)
    {support_attributes}
    {common_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import SVCCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X[:, 0] > 0
    >>> X[::3, 1] = np.nan
    >>> search = SVCCV(Cs=(1, 10), gammas=(0.1, 1.0), cv=3).fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'gamma']
    >>> search.predict([[2.0, np.nan], [-2.0, np.nan]])
    array([ True, False])
    """

    _plain_class = SVC
    _grids = (("Cs", "C"),)

    def __init__(
        self,
        *,
        Cs: ArrayLike = _PENALTIES,
        gammas: int | ArrayLike = 7,
        mask_weights: Sequence[MaskWeight] | None = None,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        refit: bool = True,
        progress: bool = False,
        class_weight: dict[Hashable, float] | str | None = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        density: DensityLike = "gaussian",
        kernel: KernelLike = "genrbf",
        n_jobs: int | None = None,
        shift: Shift = "ignore",
    ):
        self.Cs = Cs
        self.gammas = gammas
        self.mask_weights = mask_weights
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.progress = progress
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.density = density
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.shift = shift


@documented
class SVRCV(GramSearch, SupportVectorRegressor):
    """:class:`SVR` with ``C``, ``epsilon``, ``gamma`` and the mask weight by cross-validation.

    As :class:`SVCCV`: the choice of a grid search over :class:`SVR`, with densities and Gram
    matrices shared.

    Parameters
    ----------
    Cs : sequence of float, default=(1/32, 1/8, ..., 512)
        Penalties to try.
    epsilons : sequence of float, default=(0.1,)
        Widths of the epsilon tube to try, in units of ``y``.
    {search_parameters}
    {solver_parameters}
    {search_common_parameters}

    Attributes
    ----------
    {search_attributes}
    {support_attributes}
    {common_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import SVRCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X.sum(axis=1)
    >>> X[::3, 1] = np.nan
    >>> search = SVRCV(Cs=(1, 10), gammas=(0.01, 0.1), cv=3).fit(X, y)
    >>> search.predict([[1.0, 1.0], [-1.0, -1.0]]).round()
    array([ 2., -2.])
    """

    _plain_class = SVR
    _grids = (("Cs", "C"), ("epsilons", "epsilon"))

    def __init__(
        self,
        *,
        Cs: ArrayLike = _PENALTIES,
        epsilons: ArrayLike = (0.1,),
        gammas: int | ArrayLike = 7,
        mask_weights: Sequence[MaskWeight] | None = None,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        refit: bool = True,
        progress: bool = False,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        density: DensityLike = "gaussian",
        kernel: KernelLike = "genrbf",
        n_jobs: int | None = None,
        shift: Shift = "ignore",
    ):
        self.Cs = Cs
        self.epsilons = epsilons
        self.gammas = gammas
        self.mask_weights = mask_weights
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.progress = progress
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.density = density
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.shift = shift


@documented
class KernelRidgeCV(GramSearch, KernelRidgeSolver):
    """:class:`KernelRidge` with ``alpha``, ``gamma`` and the mask weight by cross-validation.

    As :class:`SVCCV`: the choice of a grid search over :class:`KernelRidge`, with densities and
    Gram matrices shared.

    Parameters
    ----------
    alphas : sequence of float, default=(1e-4, 1e-3, ..., 100)
        Penalties to try.
    {search_parameters}
    {search_common_parameters}

    Attributes
    ----------
    {search_attributes}
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
    {common_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X.sum(axis=1)
    >>> X[::3, 1] = np.nan
    >>> search = KernelRidgeCV(alphas=(0.01, 0.1), gammas=(0.01, 0.1), cv=3).fit(X, y)
    >>> search.predict([[1.0, 1.0], [-1.0, -1.0]]).round()
    array([ 2., -2.])
    """

    _plain_class = KernelRidge
    _grids = (("alphas", "alpha"),)

    def __init__(
        self,
        *,
        alphas: ArrayLike = _RIDGES,
        gammas: int | ArrayLike = 7,
        mask_weights: Sequence[MaskWeight] | None = None,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        refit: bool = True,
        progress: bool = False,
        density: DensityLike = "gaussian",
        kernel: KernelLike = "genrbf",
        n_jobs: int | None = None,
        shift: Shift = "ignore",
    ):
        self.alphas = alphas
        self.gammas = gammas
        self.mask_weights = mask_weights
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.progress = progress
        self.density = density
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.shift = shift


@documented
class LogisticRegressionCV(GramSearch, LogisticRegression):
    """:class:`LogisticRegression` with ``C``, ``gamma`` and the mask weight by cross-validation.

    As :class:`SVCCV`: the choice of a grid search over :class:`LogisticRegression`, with densities
    and Gram matrices shared. The score is the log loss by default, because probabilities are what
    the machine is for: settings of the same accuracy can be far too timid. For accuracy give
    ``scoring=None``.

    Parameters
    ----------
    Cs : sequence of float, default=(1/32, 1/8, ..., 512)
        Inverse penalties to try.
    {probability_search_parameters}
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the loss of each class; ``"balanced"`` by one over its frequency.
    tol : float, default=1e-6
        When Newton's method stops, as in :class:`LogisticRegression`.
    max_iter : int, default=100
        Maximum number of Newton steps.
    {search_common_parameters}

    Attributes
    ----------
    {search_attributes}
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : ndarray of int, shape (1,)
    {common_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import LogisticRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = X[:, 0] > 0
    >>> X[::3, 1] = np.nan
    >>> search = LogisticRegressionCV(Cs=(1, 10), gammas=(0.1, 1.0), cv=3)
    >>> search.fit(X, y).predict_proba([[2.0, np.nan]]).round()
    array([[0., 1.]])
    """

    _plain_class = LogisticRegression
    _grids = (("Cs", "C"),)

    def __init__(
        self,
        *,
        Cs: ArrayLike = _PENALTIES,
        gammas: int | ArrayLike = 7,
        mask_weights: Sequence[MaskWeight] | None = None,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = "neg_log_loss",
        refit: bool = True,
        progress: bool = False,
        fit_intercept: bool = True,
        class_weight: dict[Hashable, float] | str | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        density: DensityLike = "gaussian",
        kernel: KernelLike = "genrbf",
        n_jobs: int | None = None,
        shift: Shift = "ignore",
    ):
        self.Cs = Cs
        self.gammas = gammas
        self.mask_weights = mask_weights
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.progress = progress
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.density = density
        self.kernel = kernel
        self.n_jobs = n_jobs
        self.shift = shift
