"""Base class of the kernels of beliefs, and the algebra of sums, products and multiples.

A kernel declares its parameters (:func:`absentia.parameters.declared`) and implements ``_gram`` and
``_diag``, and ``resolve`` where a parameter other than ``gamma`` and ``metric`` can be a word.
Calling, composing, comparing and printing are done here.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import field
from numbers import Real
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

import absentia.parameters as rules
from absentia.beliefs import Beliefs, Prior
from absentia.kernels.metric import resolved_widths
from absentia.parameters import Rule, check_parameters, declared, numbers, require, shown
from absentia.tables import FloatArray

Diagonal = Literal["independent", "same"]
#: Draws that the diagonal of a Gram matrix compares.
DIAGONAL = Rule(
    ("'independent' (two independent draws of a row)", "'same' (one and the same draw twice)"),
    rules.words("independent", "same").admits,
)
_KERNEL = Rule(("a Kernel",), lambda value: isinstance(value, Kernel))
_Kernel = TypeVar("_Kernel", bound="Kernel")


#: The kernels that declare a name.
KERNELS_BY_NAME: dict[str, type[Kernel]] = {}


class Kernel(BaseEstimator, ABC):
    """Similarity of beliefs: ``kernel(P)``, ``kernel(P, Q)``, ``kernel.diag(P)``.

    Kernels add, multiply and scale: ``0.5 * GenRBF() + GenRBF() * MaskKernel()``. Two of one class
    with equal parameters are equal. ``get_params`` and ``set_params`` reach inside, so that a grid
    search can name ``kernel__gamma`` or ``kernel__left__gamma``. A kernel of your own derives from
    this class, declares its parameters (:func:`absentia.parameters.declared`), and implements
    ``_gram`` and ``_diag``.

    Examples
    --------
    >>> from absentia import Beliefs, ExpectedLinear, GenRBF
    >>> kernel = 0.5 * GenRBF(gamma=1.0) + ExpectedLinear()
    >>> kernel
    0.5 * GenRBF(gamma=1) + ExpectedLinear()
    >>> P = Beliefs.from_moments([[0.0], [1.0], [2.0]], [[0.0], [0.0], [0.5]])
    >>> kernel(P).round(2)
    array([[0.5 , 0.18, 0.06],
           [0.18, 1.5 , 2.28],
           [0.06, 2.28, 4.5 ]])
    >>> kernel.set_params(left__kernel__gamma=2.0)
    0.5 * GenRBF(gamma=2) + ExpectedLinear()
    """

    #: Name by which estimators take a kernel of this class; None for classes without one.
    name: ClassVar[str | None] = None

    #: Allowed values of parameters; a kernel adds its own, and checks them in ``resolve``.
    _rules: ClassVar[dict[str, Rule]] = {
        "diagonal": DIAGONAL,
        "factor": rules.NOT_NEGATIVE,
        "gamma": rules.GAMMA | rules.GAMMAS | rules.words("scale", "auto"),
        **dict.fromkeys(("left", "right", "kernel"), _KERNEL),
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if (name := vars(cls).get("name")) is not None:
            KERNELS_BY_NAME[name] = cls

    @property
    def positive_definite(self) -> bool:
        """Whether every Gram matrix is positive semidefinite, by theorem and not by experience."""
        return True

    #: Whether the kernel compares columns of categories, where beliefs have any.
    takes_categories: bool = False

    #: NumPy's numbers leave ``np.float64(2) * kernel`` to the kernel.
    __array_ufunc__ = None

    def __call__(
        self, P: Beliefs, Q: Beliefs | None = None, *, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the Gram matrix of the rows of ``P`` against those of ``Q``.

        Parameters
        ----------
        P : Beliefs of n rows
        Q : Beliefs of m rows, optional
            By default ``P`` itself: symmetric to the last bit, with the diagonal :meth:`diag`.
        n_jobs : int, optional
            Threads; by default as many as BLAS would use.

        Returns
        -------
        ndarray of shape (n, m), or (n, n)
        """
        return self._checked(P, Q)._gram(P, Q, n_jobs)

    def diag(self, P: Beliefs) -> FloatArray:
        """Return the diagonal of ``kernel(P)`` without the rest of it, shape (n,)."""
        return self._checked(P)._diag(P)

    def gradient(
        self,
        P: Beliefs,
        weights: ArrayLike,
        *,
        K: FloatArray | None = None,
        n_jobs: int | None = None,
    ) -> dict[str, FloatArray]:
        """Return the derivatives of ``(weights * kernel(P)).sum()`` by parameters of the kernel.

        By the *logarithms* of the parameters, in closed form; a dict by the names that
        ``set_params`` takes, of arrays of shape () or (n_columns,).

        Parameters
        ----------
        P : Beliefs of n rows
        weights : array-like of shape (n, n)
        K : ndarray of shape (n, n), optional
            ``kernel(P)``, which some kernels would compute otherwise.
        n_jobs : int, optional

        Examples
        --------
        >>> import numpy as np
        >>> from absentia import Beliefs, ExpectedRBF
        >>> P = Beliefs.from_moments([[0.0, 0.0], [1.0, 2.0]], variances=[[0.0, 0.0], [0.5, 0.0]])
        >>> weights = np.array([[0.0, 1.0], [0.0, 0.0]])
        >>> ExpectedRBF(gamma=[0.5, 0.1]).gradient(P, weights)["gamma"].round(3)
        array([-0.153, -0.157])
        """
        resolved = self._checked(P)
        W: FloatArray = np.asarray(weights, dtype=np.float64)
        if W.shape != (len(P), len(P)):
            raise ValueError(
                f"weights must have shape {(len(P), len(P))}, one number per entry of kernel(P), "
                f"found {W.shape}."
            )
        return resolved._gradient(P, W, K, n_jobs)

    @property
    def has_gradient(self) -> bool:
        """Whether :meth:`gradient` is known in closed form."""
        return False

    def _gradient(
        self, P: Beliefs, weights: FloatArray, K: FloatArray | None, n_jobs: int | None
    ) -> dict[str, FloatArray]:
        """Return the gradient; parameters are resolved, arguments checked."""
        raise TypeError(
            f"The derivatives of {self!r} are not known in closed form. They are for ExpectedRBF, "
            "GenRBF, MaskKernel and their sums, products and multiples."
        )

    def _checked(self, P: Beliefs, Q: Beliefs | None = None) -> Kernel:
        """Return the resolved kernel; refuse beliefs that it cannot compare."""
        _check_compared(P, Q)
        if P.codes is not None and not self.takes_categories:
            raise ValueError(
                f"{self!r} compares numbers only, but these beliefs have columns of categories. "
                "Use GenRBF or ExpectedRBF, multiply it by CategoryKernel(), or make indicator "
                "columns of the categories (TableEncoder, or density='gaussian' in a machine)."
            )
        return self._resolved_for(P, Q)

    @abstractmethod
    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        """Return the Gram matrix; every parameter is resolved, every argument checked."""

    @abstractmethod
    def _diag(self, P: Beliefs) -> FloatArray:
        """Return the diagonal of ``_gram(P, None, ...)``."""

    def resolve(self, prior: Prior) -> Kernel:
        """Return this kernel with words such as ``gamma="scale"`` resolved to numbers.

        Machines resolve a kernel once, with the prior of the training rows. Parameters that make
        no sense are refused here. This resolves ``gamma`` and ``metric`` of kernels that have them.
        """
        check_parameters(self)
        resolved = resolved_widths(self.get_params(deep=False), prior)
        return with_params(self, **resolved) if resolved else self

    def _resolved_for(self, P: Beliefs, Q: Beliefs | None) -> Kernel:
        resolved = self.resolve(P.prior)
        if Q is None or P.prior.equals(Q.prior) or resolved == self.resolve(Q.prior):
            return resolved
        raise ValueError(
            f"{self!r} has a parameter that depends on the density, and the two sets of beliefs "
            "were conditioned on different ones. Give numbers (gamma=0.1), or call "
            "kernel.resolve(density.prior_) with the density of the training rows first."
        )

    def centred_at(self, centre: FloatArray | Literal["auto"]) -> Kernel:
        """Return this kernel with a centre for its linear terms that had none.

        That adds ``g(x) + g(y)`` to the kernel, for some function ``g``, which changes no distance
        in its space and no answer of a machine whose coefficients sum to zero. Linear terms are
        :class:`~absentia.ExpectedLinear`, its multiples and sums; in a product a centre would be
        another change.
        """
        return self

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return _plain(mine) == _plain(theirs)

    def __hash__(self) -> int:
        return hash((type(self), _plain(self.get_params(deep=False))))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = []
        # The signature of the class: a kernel without parameters has no __init__ of its own.
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            if parameter.default is inspect.Parameter.empty:
                shown.append(shown_parameter(value))
            elif _plain(value) != _plain(parameter.default):
                shown.append(f"{name}={shown_parameter(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __add__(self, other: object) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else self.__rmul__(other)

    def __rmul__(self, other: object) -> Kernel:
        return Scaled(check_factor(other), self) if isinstance(other, Real) else NotImplemented


class _Composed(Kernel):
    """Base class of kernels that are made of others and have the properties of their parts."""

    _parts: ClassVar[tuple[str, ...]]

    def _all_parts(self, name: str) -> bool:
        return all(getattr(getattr(self, part), name) for part in self._parts)

    @property
    def takes_categories(self) -> bool:  # type: ignore[override]
        """Whether any part compares columns of categories."""
        return any(getattr(self, part).takes_categories for part in self._parts)

    @property
    def positive_definite(self) -> bool:
        """Sums and multiples of positive definite kernels are, and products by Schur's theorem."""
        return self._all_parts("positive_definite")

    @property
    def has_gradient(self) -> bool:
        """Whether all parts have one in closed form."""
        return self._all_parts("has_gradient")


@declared
class _OfTwo(_Composed):
    """A sum or a product of two kernels."""

    left: Kernel = field(kw_only=False)
    right: Kernel = field(kw_only=False)

    _parts = ("left", "right")
    _combine: ClassVar[np.ufunc]

    def resolve(self, prior: Prior) -> Kernel:
        """Return the sum or product of the resolved kernels."""
        return type(self)(self.left.resolve(prior), self.right.resolve(prior))

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        K = self.left._gram(P, Q, n_jobs)
        return self._combine(K, self.right._gram(P, Q, n_jobs), out=K)

    def _diag(self, P: Beliefs) -> FloatArray:
        return self._combine(self.left._diag(P), self.right._diag(P))


class Sum(_OfTwo):
    """The sum of two kernels."""

    _combine = np.add

    def centred_at(self, centre: FloatArray | Literal["auto"]) -> Kernel:
        """Return the sum of the centred kernels."""
        return Sum(self.left.centred_at(centre), self.right.centred_at(centre))

    def _gradient(
        self, P: Beliefs, weights: FloatArray, K: FloatArray | None, n_jobs: int | None
    ) -> dict[str, FloatArray]:
        left = self.left._gradient(P, weights, None, n_jobs)
        right = self.right._gradient(P, weights, None, n_jobs)
        return _prefixed("left", left) | _prefixed("right", right)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.left!r} + {self.right!r}"


class Product(_OfTwo):
    """The product of two kernels, entry by entry."""

    _combine = np.multiply

    def _gradient(
        self, P: Beliefs, weights: FloatArray, K: FloatArray | None, n_jobs: int | None
    ) -> dict[str, FloatArray]:
        left, right = self.left._gram(P, None, n_jobs), self.right._gram(P, None, n_jobs)
        by_left = self.left._gradient(P, weights * right, left, n_jobs)
        by_right = self.right._gradient(P, weights * left, right, n_jobs)
        return _prefixed("left", by_left) | _prefixed("right", by_right)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{_as_factor(self.left)} * {_as_factor(self.right)}"


@declared
class Scaled(_Composed):
    """A non-negative multiple of a kernel."""

    factor: float = field(kw_only=False)
    kernel: Kernel = field(kw_only=False)

    _parts = ("kernel",)

    def _gram(self, P: Beliefs, Q: Beliefs | None, n_jobs: int | None) -> FloatArray:
        K = self.kernel._gram(P, Q, n_jobs)
        K *= self.factor
        return K

    def _diag(self, P: Beliefs) -> FloatArray:
        return self.factor * self.kernel._diag(P)

    def _gradient(
        self, P: Beliefs, weights: FloatArray, K: FloatArray | None, n_jobs: int | None
    ) -> dict[str, FloatArray]:
        return _prefixed("kernel", self.kernel._gradient(P, self.factor * weights, None, n_jobs))

    def resolve(self, prior: Prior) -> Kernel:
        """Return the multiple of the resolved kernel."""
        return Scaled(check_factor(self.factor), self.kernel.resolve(prior))

    def centred_at(self, centre: FloatArray | Literal["auto"]) -> Kernel:
        """Return the multiple of the centred kernel."""
        return Scaled(self.factor, self.kernel.centred_at(centre))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{shown_parameter(self.factor)} * {_as_factor(self.kernel)}"


def _prefixed(prefix: str, found: dict[str, FloatArray]) -> dict[str, FloatArray]:
    return {f"{prefix}__{name}": value for name, value in found.items()}


def check_factor(factor: Any) -> float:
    """Return the factor of a multiple as a float; refuse negative ones."""
    require(
        rules.NOT_NEGATIVE.admits(factor),
        f"A kernel can be multiplied by a number that is not negative, found {shown(factor)}: a "
        "negative multiple of a similarity is not one.",
    )
    return float(factor)


def with_params(kernel: _Kernel, **params: object) -> _Kernel:
    """Return a copy of a kernel with some parameters changed."""
    copy: _Kernel = clone(kernel)
    copy.set_params(**params)
    return copy


def numbers_per_column(
    name: str, value: object, n_columns: int, columns: str = "columns"
) -> float | FloatArray:
    """Return a parameter as one non-negative number, or as an array of one per column."""
    expected = f"a non-negative number or one for each of the {n_columns} {columns}"
    array = numbers(name, value, expected)
    fits = array.ndim == 0 or array.shape == (n_columns,)
    if not fits or not (np.isfinite(array).all() and (array >= 0).all()):
        found = shown(value) if fits else f"shape {array.shape}"
        raise ValueError(
            f"{name} must be {expected}, found {found}. 0 leaves a column out. A density drops "
            "columns without any observed value: give those of density.columns_ then."
        )
    return array if array.ndim else float(array)


def _check_compared(P: Beliefs, Q: Beliefs | None) -> None:
    """Raise unless ``P``, and ``Q`` where there is one, are beliefs about the same columns."""
    _check_beliefs(P, "P")
    if Q is None:
        return
    _check_beliefs(Q, "Q")
    if P.n_features != Q.n_features:
        raise ValueError(
            f"Both sets of beliefs must be about the same columns, found {P.n_features} and "
            f"{Q.n_features}."
        )
    if P.prior.n_categories != Q.prior.n_categories:
        raise ValueError(
            "Both sets of beliefs must be about the same columns of categories, found "
            f"{P.prior.n_categories} and {Q.prior.n_categories} categories."
        )


def _check_beliefs(value: object, name: str) -> None:
    if not isinstance(value, Beliefs):
        raise TypeError(
            f"{name} must be Beliefs, found {type(value).__name__}. Kernels compare beliefs: make "
            "them with density.fit(X).condition(X), or with Beliefs.from_moments."
        )
    value.ensure_valid()


def _as_factor(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)


def _plain(value: Any) -> Any:
    """Return a parameter as hashable tuples: equal numbers are equal in lists and arrays."""
    if isinstance(value, dict):
        return frozenset((key, _plain(one)) for key, one in value.items())
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def shown_parameter(value: object) -> str:
    """Return a parameter as it is printed: numbers to six digits, large arrays by their shape."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"{float(value):.6g}"
    if isinstance(value, np.ndarray):
        return f"<array of shape {value.shape}>" if value.size > 4 else repr(value.tolist())
    if isinstance(value, list | tuple) and not all(isinstance(one, Real) for one in value):
        return f"[{', '.join(map(shown_parameter, value))}]"
    if isinstance(value, dict):
        entries = (f"{key!r}: {shown_parameter(one)}" for key, one in value.items())
        return f"{{{', '.join(entries)}}}"
    return repr(value)
