"""Machines that choose their own hyperparameters by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import ClassVar

from numpy.typing import ArrayLike

from absentia.machines.documentation import documented
from absentia.machines.logistic import LogisticRegression, LogisticSolver
from absentia.machines.ridge import KernelRidge, KernelRidgeSolver
from absentia.machines.search.gram_search import GramSearch
from absentia.machines.support_vectors import SupportVectorClassifier, SupportVectorRegressor
from absentia.machines.svm import SVC, SVR

#: The penalties of Section 5.2 of [Smieja2018]_, from 1/32 to 512 in steps of four.
_PENALTIES = tuple(2.0**k for k in range(-5, 10, 2))
_RIDGES = tuple(10.0**k for k in range(-4, 3))


@documented
class SVCCV(GramSearch, SupportVectorClassifier):
    """:class:`SVC` with ``C``, ``gamma`` and the mask weight chosen by cross-validation.

    The search of ``GridSearchCV(SVC(), {"C": Cs, "gamma": gammas})`` in a fraction of the time: one
    density is fitted to all rows, without their targets, and the Gram matrix of all rows is
    computed once per gamma; all folds and all ``C`` are solved on parts of it, and a mask weight
    only multiplies it.

    Attributes
    ----------
    class_weight_ : ndarray of shape (n_classes,)

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

    Cs: ArrayLike = _PENALTIES
    class_weight: dict[Hashable, float] | str | None = None
    degree: ClassVar[int] = 3  # type: ignore[misc]
    coef0: ClassVar[float] = 0.0  # type: ignore[misc]


@documented
class SVRCV(GramSearch, SupportVectorRegressor):
    """:class:`SVR`: ``C``, ``epsilon``, ``gamma``, the mask weight chosen by cross-validation.

    As :class:`SVCCV`: a grid search over :class:`SVR` with one density and one Gram matrix per
    gamma.

    Parameters
    ----------
    epsilons : sequence of float, default=(0.1,)
        Widths of the epsilon tube to try, in units of ``y``.

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

    Cs: ArrayLike = _PENALTIES
    epsilons: ArrayLike = (0.1,)
    degree: ClassVar[int] = 3  # type: ignore[misc]
    coef0: ClassVar[float] = 0.0  # type: ignore[misc]


@documented
class KernelRidgeCV(GramSearch, KernelRidgeSolver):
    """:class:`KernelRidge`: ``alpha``, ``gamma`` and the mask weight chosen by cross-validation.

    As :class:`SVCCV`: a grid search over :class:`KernelRidge` with one density and one Gram matrix
    per gamma. One factorisation for each ``alpha`` gives the predictions of all folds, exactly.

    Parameters
    ----------
    alphas : sequence of float, default=(1e-4, 1e-3, ..., 100)
        Penalties to try.

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

    alphas: ArrayLike = _RIDGES


@documented
class LogisticRegressionCV(GramSearch, LogisticSolver):
    """:class:`LogisticRegression`: ``C``, ``gamma``, the mask weight chosen by cross-validation.

    As :class:`SVCCV`: a grid search over :class:`LogisticRegression` with one density and one Gram
    matrix per gamma. The fit to all rows with each ``C`` gives those without each fold in closed
    form, corrected by Newton steps: the log-odds of held-out rows are those of refits to about
    5e-4. The score is the log loss by
    default, because settings of the same accuracy can be far too underconfident. For accuracy give
    ``scoring=None``.

    Parameters
    ----------
    Cs : sequence of float, default=(1/32, 1/8, ..., 512)
        Inverse penalties to try.
    scoring : str, callable or None, default="neg_log_loss"
        As in :class:`sklearn.model_selection.GridSearchCV`, for one score; None is the machine's
        own ``score``.

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

    Cs: ArrayLike = _PENALTIES
    scoring: str | Callable[..., float] | None = "neg_log_loss"
    fit_intercept: bool = True
    class_weight: dict[Hashable, float] | str | None = None
    tol: float = 1e-6
    max_iter: int = 100
