"""Declaration and validation of parameters.

A class declares its own parameters in ``_rules``, a dictionary of :class:`Rule` by name, and
inherits those of its bases; :func:`check_parameters` checks them all. A parameter that breaks its
rule gives one sentence: what was expected and what was found.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from numbers import Integral, Real
from typing import Annotated, Any, TypeVar, dataclass_transform
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from absentia.engine.threads import n_threads

#: A seed, a generator of scikit-learn's kind, or None for numpy's own.
RandomState = int | np.random.RandomState | None


#: Arrays by their number of axes, for the annotations of fitted attributes.
FloatVector = Annotated[NDArray[np.float64], 1]
FloatMatrix = Annotated[NDArray[np.float64], 2]
FloatStack = Annotated[NDArray[np.float64], 3]
IntVector = Annotated[NDArray[np.intp], 1]
BoolMatrix = Annotated[NDArray[np.bool_], 2]
#: ``cv_results_`` of a search.
SearchResults = Annotated[dict[str, Any], "results"]


Estimator = TypeVar("Estimator", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def declared(cls: Estimator) -> Estimator:
    """Give an estimator an ``__init__`` whose keywords are its annotated parameters.

    As scikit-learn wants it, ``__init__`` only sets attributes. Parameters of bases that are
    declared in the same way are inherited; a fitted attribute that is annotated in the class
    itself is ``field(init=False)``, a parameter that may be given by position
    ``field(default=..., kw_only=False)``.
    """
    dataclass(kw_only=True, eq=False, repr=False, match_args=False)(cls)
    init = vars(cls)["__init__"]
    own, known = inspect.get_annotations(cls), inspect.signature(init)
    # The parameters of the class itself come first in its signature.
    ordered = sorted(known.parameters.values(), key=lambda p: (p.kind, p.name not in own))
    ordered.sort(key=lambda p: p.name != "self")
    init.__signature__ = known.replace(parameters=ordered)
    return cls


@dataclass(frozen=True)
class Rule:
    """Condition on a parameter, as a test and in words; ``|`` joins two rules."""

    expected: tuple[str, ...]
    admits: Callable[[object], bool]

    def __or__(self, other: Rule) -> Rule:
        return Rule(
            self.expected + other.expected, lambda value: self.admits(value) or other.admits(value)
        )

    def check(self, name: str, value: object) -> None:
        """Raise a ValueError unless ``value`` keeps the rule."""
        if not self.admits(value):
            *others, last = self.expected
            expected = f"{', '.join(others)} or {last}" if others else last
            raise ValueError(f"{name} must be {expected}, found {shown(value)}.")


def finite(value: object) -> float | None:
    """Return a number as a float; None for what is no finite number, as ``True`` is none."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if np.isfinite(number) else None


def number_between(
    low: float, high: float = np.inf, *, expected: str, open_ends: bool = False
) -> Rule:
    """Return the rule of finite numbers from ``low`` to ``high``, the ends included by default."""

    def admits(value: object) -> bool:
        number = finite(value)
        if number is None:
            return False
        return low < number < high if open_ends else low <= number <= high

    return Rule((expected,), admits)


def count_from(minimum: int, maximum: int = 2**31 - 1) -> Rule:
    """Return the rule of integers in a range, by default up to what compiled code can hold."""

    def admits(value: object) -> bool:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
            return False
        return minimum <= int(value) <= maximum

    return Rule((f"an integer from {minimum} to {maximum}",), admits)


def words(*allowed: str | None) -> Rule:
    """Return the rule of some words (and None, where it is among them)."""
    return Rule(
        tuple(repr(word) for word in allowed),
        lambda value: (value is None or isinstance(value, str)) and value in allowed,
    )


FINITE = number_between(-np.inf, expected="a finite number")
POSITIVE = number_between(0, expected="a positive number", open_ends=True)
#: A penalty whose products with sums over rows are numbers.
PENALTY = number_between(1e-200, 1e200, expected="a number from 1e-200 to 1e200")
#: A penalty so large that no error is allowed, as scikit-learn's support vector machines take it.
INFINITE = Rule(
    ("infinity",), lambda value: isinstance(value, float | np.floating) and value == np.inf
)
NOT_NEGATIVE = number_between(0, expected="a non-negative number")
FRACTION = number_between(0, 1, expected="a number between 0 and 1", open_ends=True)
SHARE = number_between(0, 1, expected="a number from 0 to 1")
#: Widths of RBF kernels: with room for twice the number and for one over it.
GAMMA = number_between(1e-300, 1e300, expected="a positive number from 1e-300 to 1e300")


def _array_of(rule: Rule, expected: str) -> Rule:
    """Return the rule of arrays, not empty, whose every number meets another rule."""

    def admits(value: object) -> bool:
        if not isinstance(value, np.ndarray | list | tuple) or getattr(value, "ndim", 1) != 1:
            return False
        return len(value) > 0 and all(rule.admits(number) for number in value)

    return Rule((expected,), admits)


#: One such number per column.
GAMMAS = _array_of(GAMMA, "an array of such numbers, one per column")
NOT_NEGATIVES = _array_of(NOT_NEGATIVE, "a list of at least one non-negative number")
#: A point.
CENTRE = _array_of(FINITE, "one finite number per column")

#: Weight of what is missing: a number for all columns, or one for each.
WEIGHTS = NOT_NEGATIVE | _array_of(NOT_NEGATIVE, "an array of such numbers, one per column")
#: Weight of differences in columns of categories: a number for all of them, or one for each.
CATEGORY_WEIGHT = NOT_NEGATIVE | _array_of(
    NOT_NEGATIVE, "an array of such numbers, one per column of categories"
)


def _is_class_weights(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all((NOT_NEGATIVE | INFINITE).admits(number) for number in value.values())


CLASS_WEIGHT = words(None, "balanced") | Rule(
    ("a dictionary from class to non-negative number",), _is_class_weights
)
FLAG = Rule(("True", "False"), lambda value: isinstance(value, bool | np.bool_))
COUNT = count_from(1)
COUNT_OR_ZERO = count_from(0)
#: Largest number of features and of draws: a row of so many takes 128 MB.
MOST_DRAWS = 2**24
MANY = count_from(1, MOST_DRAWS)
DRAWS = count_from(2, MOST_DRAWS)
#: Verbosity; True is 1.
VERBOSITY = FLAG | COUNT_OR_ZERO
#: A model that something is wrapped around, not its class.
ESTIMATOR = Rule(
    ("an estimator with fit and predict or predict_proba",),
    lambda value: (
        hasattr(value, "fit")
        and (hasattr(value, "predict") or hasattr(value, "predict_proba"))
        and not isinstance(value, type)
    ),
)


def _is_bounds(value: Any) -> bool:
    try:
        low, high = (finite(bound) for bound in value)
    except (TypeError, ValueError):
        return False
    return low is not None and high is not None and 0 < low <= high


BOUNDS = Rule(("two positive numbers, the smaller one first",), _is_bounds)


def bounds_of(value: Iterable[Any]) -> tuple[float, float]:
    """Return two bounds as floats: a ratio of those in half precision may have no number there."""
    low, high = value
    return float(low), float(high)


def _is_n_jobs(value: Any) -> bool:
    try:
        n_threads(value)
    except ValueError:
        return False
    return True


#: ``n_jobs``; :func:`absentia.engine.threads.n_threads` says what it means.
THREADS = Rule(
    ("None", "an integer other than 0 and of at most 4096 (-1 for all cores)"), _is_n_jobs
)


#: Similarities of categories; those of each column are checked with its categories.
SIMILARITIES = words(None, "ordered") | Rule(
    ("a list with one entry per column of categories", "a dictionary"),
    lambda value: isinstance(value, list | tuple | Mapping),
)


def _is_matrix(value: Any) -> bool:
    try:
        matrix = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return matrix.ndim == 2 and len({*matrix.shape}) == 1 and bool(np.isfinite(matrix).all())


#: Names of distances, for parameters ``metric``; the shape of a matrix is checked with the columns.
METRIC = words("euclidean", "mahalanobis", "learned") | Rule(
    ("a finite, symmetric matrix (numpy.diag(weights) for one weight per column)",), _is_matrix
)


def _is_seed(value: Any) -> bool:
    try:
        check_random_state(value)
    except ValueError:
        return False
    return True


SEED = Rule(("None", "an integer from 0 to 2**32 - 1", "a numpy.random.RandomState"), _is_seed)


def _is_cv(value: Any) -> bool:
    if isinstance(value, list | tuple):
        pairs = [pair for pair in value if isinstance(pair, list | tuple) and len(pair) == 2]
        return len(pairs) == len(value) > 0 and {np.ndim(a) for pair in pairs for a in pair} == {1}
    splits = hasattr(value, "split") and not isinstance(value, str | bytes)
    return splits or hasattr(value, "__next__") or value is None or count_from(2).admits(value)


CV = Rule(
    (
        "a number of folds from 2",
        "a splitter of scikit-learn",
        "a list of pairs of row numbers (for training, for testing)",
        "None",
    ),
    _is_cv,
)


#: Rules of parameters that mean the same in most classes; ``_rules`` of a class come before.
_COMMON = {
    "C": POSITIVE,
    "cache_size": NOT_NEGATIVE,
    "category_similarities": SIMILARITIES,
    "category_weight": CATEGORY_WEIGHT | words("scale"),
    "class_weight": CLASS_WEIGHT,
    "coef0": FINITE,
    "cv": CV,
    "landmarks": words("kmeans++", "leverage", "uniform"),
    "mask_weight": WEIGHTS | words(None),
    "max_iter": COUNT,
    "metric": METRIC,
    "n_components": MANY,
    "n_jobs": THREADS,
    "random_state": SEED,
    "tol": POSITIVE,
    "weight": WEIGHTS,
}


def check_parameters(estimator: BaseEstimator) -> None:
    """Check the parameters of an estimator against the rules of its class and its bases.

    A base may have rules for parameters that only some of its leaves have. A parameter without a
    rule whose default is True or False is a flag.
    """
    rules = _rules_of(type(estimator))
    for name in estimator.get_params(deep=False).keys() & rules.keys():
        rules[name].check(name, getattr(estimator, name))


def _rules_of(kind: type) -> dict[str, Rule]:
    if kind in _known_rules:  # signatures take longer to read than a row to predict
        return _known_rules[kind]
    rules = {
        name: VERBOSITY if name == "verbose" else FLAG
        for name, parameter in signature(kind).parameters.items()
        if isinstance(parameter.default, bool)
    }
    rules |= _COMMON
    for cls in reversed(kind.__mro__):
        rules |= vars(cls).get("_rules", {})
    return _known_rules.setdefault(kind, rules)


_known_rules: WeakKeyDictionary[type, dict[str, Rule]] = WeakKeyDictionary()


def require(condition_holds: object, sentence: str) -> None:
    """Raise a ValueError unless a condition holds."""
    if not condition_holds:
        raise ValueError(sentence)


#: Bits from which the number of digits says more than the digits.
_LONG_INTEGER = 200


def numbers(name: str, value: Any, expected: str) -> np.ndarray:
    """Return a float64 array of what is given, or raise a ValueError that says what to give."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # the last of integers such as 10**400
        raise ValueError(f"{name} must be {expected}, found {shown(value)}.") from None


def shown(value: Any, longest: int = 200) -> str:
    """Return how a value is written, cut where it would fill the screen."""
    if isinstance(value, int) and value.bit_length() > _LONG_INTEGER:
        return f"an integer of about {round(value.bit_length() * math.log10(2)):,} digits"
    try:
        text = repr(value)
    except ValueError:  # holds an integer with more digits than Python is willing to write
        return f"a {type(value).__name__} with integers too long to be shown"
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
