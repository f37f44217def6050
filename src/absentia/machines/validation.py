"""Validation of targets, weights and sizes, before anything is computed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from datetime import date, timedelta
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from absentia.parameters import require, shown
from absentia.tables import BoolArray, FloatArray, IntArray, MemoryRows, Table, TableLike, is_absent
from absentia.tables.phrases import frames_of_absentia
from absentia.tables.reading import reads_as_number
from absentia.tables.rows import check_positive_weight, row_weights

#: The parameter ``shift`` of a machine.
Shift = Literal["ignore", "warn", "error"]

#: Training and held-out rows of one fold.
Split = tuple[IntArray, IntArray]

#: A ``y`` with more different dates than this does not hold classes.
_MOST_DATES = 50
#: Ranges of columns that differ by more than this deserve a warning.
_RATIO_OF_RANGES = 100.0
_INSTEAD = {"date": "days since a fixed date", "duration": "days"}
#: Beyond the root of the largest number.
_LARGEST_TARGET = 1e140
_MEMORY_INFO = Path("/proc/meminfo")
#: Memory limit of a container (control groups, version 2).
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
#: Machines that learn the same from features, at a cost linear in the rows.
_LARGE_SCALE = {
    "LargeScaleSVC": ("SVC", "NuSVC", "SVCCV"),
    "LargeScaleLogisticRegression": (
        "LogisticRegression",
        "LogisticRegressionCV",
        "GaussianProcessClassifier",
    ),
    "LargeScaleRidge": (
        *("SVR", "NuSVR", "SVRCV", "KernelRidge", "KernelRidgeCV"),
        "GaussianProcessRegressor",
    ),
}


class MissingnessShiftWarning(UserWarning):
    """New rows miss columns that no training row missed.

    Examples
    --------
    >>> import warnings
    >>> from absentia import KernelRidge, MissingnessShiftWarning
    >>> machine = KernelRidge(shift="warn").fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with warnings.catch_warnings(action="ignore", category=MissingnessShiftWarning):
    ...     machine.predict([[float("nan")]]).round(1)
    array([0.3])
    """


def warn_of_unequal_ranges(rows: Any, kernel: Any, gamma: Any) -> None:
    """Warn of a frame of numbers whose columns have ranges that differ by more than 100 times.

    Frames with words are brought to standard units, frames of numbers and arrays are not: these
    give the numbers of scikit-learn. A width for each column, or a metric, has units of its own.
    """
    plan, params = getattr(rows, "plan", None), kernel.get_params()
    common = np.ndim(gamma) == 0 and gamma not in ("loo-ard", "ard")
    if plan is None or not plan.plain or not common or params.get("metric") != "euclidean":
        return
    ranges = np.fmax.reduce(rows.array, axis=0) - np.fmin.reduce(rows.array, axis=0)
    spread = np.flatnonzero(ranges > 0)
    if not len(spread):
        return
    least, most = spread[ranges[spread].argmin()], spread[ranges[spread].argmax()]
    if ranges[most] > _RATIO_OF_RANGES * ranges[least]:
        warnings.warn(
            f"The range of column {rows.labels[most]!r} is {ranges[most] / ranges[least]:.0f} "
            f"times that of {rows.labels[least]!r}, and frames of numbers are used in their own "
            "units, as in scikit-learn: distances are mostly those of the first. Put a scaler "
            "before the machine: make_pipeline(StandardScaler(), machine).",
            stacklevel=frames_of_absentia(),
        )


def checked_labels(machine: BaseEstimator, y: Any, n_samples: int) -> np.ndarray:
    """Return ``y`` as a one-dimensional array of class labels, however many there are."""
    _check_given(machine, y)
    _check_few_dates(y)
    dtype: Any = getattr(y, "dtype", None)
    # Whole numbers and booleans of pandas' own types (Int64) stay such, and do not become floats.
    typed = getattr(dtype, "kind", "") in tuple("iub") and hasattr(dtype, "numpy_dtype")
    if typed and not y.isna().any():
        y = y.to_numpy(dtype=dtype.numpy_dtype)
    y = column_or_1d(y, warn=True)
    check_consistent_length(np.empty(n_samples), y)
    objects = enumerate(y) if y.dtype.kind == "O" else ()
    absent = [row for row, label in objects if is_absent(label) or label != label]
    if y.dtype.kind in "fM":
        absent = np.flatnonzero(np.isnan(y)).tolist()
    if absent:
        raise ValueError(
            f"Input y contains NaN or None, first in row {absent[0]}: a row without a label cannot "
            "be learned from. Drop such rows, or spread labels to them with LabelSpreading."
        )
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y


def checked_numbers(
    machine: BaseEstimator, y: Any, n_samples: int, *, multi_output: bool
) -> FloatArray:
    """Return ``y`` as finite float64, of shape (n_samples,) or (n_samples, n_outputs)."""
    _check_given(machine, y)
    check_numbers(y)
    y = check_array(
        y, ensure_2d=False, dtype=np.float64, input_name="y", ensure_all_finite="allow-nan"
    )
    absent = np.flatnonzero(np.isnan(y.reshape(len(y), -1)).any(axis=1))
    if len(absent):
        raise ValueError(
            f"Input y contains NaN, first in row {absent[0]}: a row without a target cannot be "
            "learned from. Drop such rows."
        )
    if not (multi_output and y.ndim == 2):
        y = column_or_1d(y, warn=True)
    check_consistent_length(np.empty(n_samples), y)
    return y


def check_numbers(y: Any) -> None:
    """Raise ValueError for targets that are not numbers: dates, durations and text."""
    values = np.asarray(y)
    kind = _kind_of_time(values)
    if kind:
        raise ValueError(
            f"y holds {kind}s, which are not supported as targets: convert them to a number, such "
            f"as {_INSTEAD[kind]}."
        )
    if values.dtype.kind not in "USO":
        return
    texts = (value for value in values.flat if isinstance(value, str | bytes))
    example = next((text for text in texts if not reads_as_number(text)), None)
    if example is not None:
        raise ValueError(
            f"y holds text such as {str(example)!r}, but a regressor learns numbers: convert it "
            "with float (decimal commas replaced by points), or use a classifier if each word is "
            "a class."
        )


def _check_given(machine: BaseEstimator, y: ArrayLike) -> None:
    if y is None:
        raise ValueError(
            f"{type(machine).__name__} requires y to be passed, but the target y is None."
        )


def _check_few_dates(y: Any) -> None:
    """Raise ValueError for labels that are durations, or dates that hardly repeat."""
    values = np.asarray(y)
    kind = _kind_of_time(values)
    if not kind:
        return
    if values.dtype.kind == "M":
        n_dates = len(np.unique(values))
        # Folds have fewer rows of each date than the table, so two rows per date are enough.
        if n_dates <= _MOST_DATES and 2 * n_dates <= max(4, len(values)):
            return
    raise ValueError(
        f"y holds {kind}s, which are not supported as targets: convert them to a number, such as "
        f"{_INSTEAD[kind]}, for a regressor, or to text if each is a class: y.astype(str)."
    )


def _kind_of_time(values: np.ndarray) -> str:
    """Return ``"date"`` or ``"duration"`` for targets of that kind, else an empty string."""
    if values.dtype.kind in "mM":
        return "date" if values.dtype.kind == "M" else "duration"
    for value in values.flat if values.dtype.kind == "O" else ():
        if is_absent(value):
            continue
        if isinstance(value, date | np.datetime64):
            return "date"
        if isinstance(value, timedelta | np.timedelta64):
            return "duration"
    return ""


def warn_of_other_order(X: Any, y: Any) -> None:
    """Warn when pandas rows and targets have the same labels in another order.

    They are matched by position, as in scikit-learn, where pandas itself would match labels.
    """
    rows: Any = getattr(X, "index", None)
    targets: Any = getattr(y, "index", None)
    if not all(type(index).__module__.startswith("pandas") for index in (rows, targets)):
        return
    if len(rows) != len(targets) or rows.equals(targets):
        return
    if not (rows.is_unique and targets.is_unique) or set(rows) != set(targets):
        return
    warnings.warn(
        "The index of y has the labels of the index of X in another order. Rows are matched by "
        "position, as in scikit-learn: pass y.loc[X.index] to match them by label.",
        UserWarning,
        stacklevel=frames_of_absentia(),
    )


def checked_weights(
    sample_weight: ArrayLike | None,
    n_samples: int,
    factors: FloatArray | None = None,
    *,
    negative_as_zero: bool = False,
) -> FloatArray | None:
    """Return the weights of rows, (n_samples,); None if all rows count alike.

    ``factors`` are the weights of the rows' classes: rows of a class of weight zero have none.
    """
    if sample_weight is None and (factors is None or factors.all()):
        return None
    given = np.ones(n_samples) if sample_weight is None else sample_weight
    weights = row_weights(given, n_samples, negative_as_zero=negative_as_zero)
    assert weights is not None
    if factors is not None:
        weights = weights * (factors > 0)
    check_positive_weight(weights)
    return weights


def checked_splits(cv: Any, y: np.ndarray, groups: Any = None, *, classifier: bool) -> list[Split]:
    """Return training and held-out rows of each fold of a parameter ``cv``."""
    splitter = check_cv(cv, y, classifier=classifier)
    splits = [(train, test) for train, test in splitter.split(np.empty((len(y), 1)), y, groups)]
    require(splits, f"cv gives no split of the rows, found {shown(cv)}: use cv=5.")
    return splits


def checked_gram(rows: MemoryRows, *, square: bool = False) -> FloatArray:
    """Return the values of rows that are rows of a precomputed Gram matrix."""
    if not isinstance(rows, Table) or rows.mask.any():
        raise ValueError("A precomputed kernel must be a matrix of numbers without missing values.")
    if square and len(rows) != rows.n_features:
        raise ValueError(
            "A precomputed kernel must be a square matrix, the kernel of the training rows with "
            f"themselves, found shape {rows.array.shape}."
        )
    return rows.array


def memory_of_computer() -> int | None:
    """Return how many bytes of memory a process may use, None if that is not known."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # systems without sysconf, such as Windows
        return None
    try:
        limit = _CONTAINER_LIMIT.read_text(encoding="ascii").strip()
    except OSError:
        limit = ""
    return min(total, int(limit)) if limit.isdigit() else total


def free_memory() -> int | None:
    """Return how many bytes of memory are free or can be freed, None if that is not known."""
    try:
        lines = _MEMORY_INFO.read_text(encoding="ascii").splitlines()
    except OSError:  # no Linux
        return None
    kilobytes = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), "")
    return 1024 * int(kilobytes) if kilobytes.isdigit() else None


def check_matrix_size(X: TableLike, machine: str) -> None:
    """Raise MemoryError if the Gram matrix of rows takes over half of the memory.

    Half, because solvers work on a copy. An allocation of 80 gigabytes often succeeds, and the
    process is killed once it is written to; so this is checked before the rows are read. Matrices
    that take more than a quarter of what is free give a warning.
    """
    shape = getattr(X, "shape", None)
    n_rows = shape[0] if shape else len(X) if isinstance(X, list | tuple | MemoryRows) else 0
    if not isinstance(n_rows, Integral):
        return  # Dask does not always know it; reading its tables raises the right error
    needed, memory = 16 * int(n_rows) ** 2, memory_of_computer()
    other = next((large for large, names in _LARGE_SCALE.items() if machine in names), None)
    instead = f"Use {other}, which needs no such matrix, or"
    if other is None:
        instead = "Use Nystroem features in front of a linear model, or"
    takes = (
        f"{machine} holds a kernel value for every pair of rows: {0.5e-9 * needed:,.0f} GB for "
        f"{int(n_rows):,} rows, "
    )
    if memory is not None and needed > memory:
        most = int((memory / 16) ** 0.5) // 1000 * 1000
        raise MemoryError(
            f"{takes}on a computer with {1e-9 * memory:,.0f} GB. {instead} a sample of at most "
            f"{most:,} rows."
        )
    free = free_memory()
    if free is not None and needed > free / 4:
        warnings.warn(
            f"{takes}and as much again while it is fitted; {1e-9 * free:,.0f} GB are free. "
            f"{instead} a sample of the rows, if that is too much.",
            UserWarning,
            stacklevel=frames_of_absentia(),
        )


def check_squares(y: FloatArray) -> None:
    """Raise ValueError for targets whose squares overflow or vanish."""
    largest = float(np.abs(y).max(initial=0.0))
    if largest > _LARGEST_TARGET or 0 < largest < 1 / _LARGEST_TARGET:
        row = int(np.abs(y.reshape(len(y), -1)).max(axis=1).argmax())
        raise ValueError(
            f"y has {largest:.6g} in row {row}, its largest size, but the solver squares "
            f"targets, which is possible only from {1 / _LARGEST_TARGET:g} to "
            f"{_LARGEST_TARGET:g}. Measure y in another unit."
        )


def check_shift(
    policy: str, missing_rates: FloatArray, mask: BoolArray, names: Sequence[str]
) -> None:
    """Warn or raise, by ``policy``, about columns that were never missing in training.

    A density has the distribution of a value whether or not it was ever missing in training, so
    predictions stay good; but a sensor may have broken, or a form changed.
    """
    if policy == "ignore":
        return
    new = np.flatnonzero((missing_rates == 0) & mask.any(axis=0))
    if not len(new):
        return
    rates = mask.mean(axis=0)
    shown = ", ".join(f"{names[j]!r} ({rates[j]:.0%} of the new rows)" for j in new[:10])
    more = f" and {len(new) - 10} more" if len(new) > 10 else ""
    message = (
        f"Columns that were never missing in training are missing now: {shown}{more}. The density "
        "still gives their distribution, so predictions use what is left; but the way "
        "values go missing has changed since training. Check where the new rows come from, or "
        "train on rows that miss these columns; use shift='ignore' if this is expected."
    )
    if policy == "error":
        raise ValueError(message)
    warnings.warn(message, MissingnessShiftWarning, stacklevel=frames_of_absentia())


def is_free(parameter: object) -> bool:
    """Return whether a parameter is to be optimised."""
    return isinstance(parameter, str) and parameter == "optimize"


def weight_of_kept(weight: Any, density: BaseEstimator) -> Any:
    """Return one number per column for the columns that a density kept; a number is unchanged."""
    kept = getattr(density, "columns_", None)
    if kept is None or np.ndim(weight) == 0 or len(kept) == density.n_features_in_:
        return weight
    return np.asarray(weight)[kept]
