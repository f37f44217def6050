"""A user's model: trained on draws of incomplete rows, and called with its own kind of table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from absentia.beliefs.draws import DrawPoints
from absentia.densities.missing_values import MissingValues
from absentia.machines.averaging import over_draws, require_probabilities
from absentia.machines.base import KernelMachine
from absentia.tables import BoolArray, FloatArray, IntArray, Table, TableLike
from absentia.tables.column_plan import ColumnPlan, ReadFrame
from absentia.tables.columns.column import Column
from absentia.tables.columns.readings import ColumnReading
from absentia.tables.frames import frame_of, own_words, spelled_numbers, typed_column, written_cells
from absentia.tables.reading import as_frame, is_polars, native_frame
from absentia.tables.stored import (
    Stored,
    array_of_cells,
    require_cells,
    require_types,
    storable_type,
)

if TYPE_CHECKING:
    import pandas as pd

#: Number of draws of an incomplete row that an estimator is trained on.
TRAINING_DRAWS = 8
#: Messages of models that were given words or dates.
_WORDS_FOR_NUMBERS = re.compile(
    r"could not convert string to float: (?:np\.str_\()?('[^']*')|[Cc]annot cast (?:str|object)"
    r"|float\(\) argument .* not '(?:datetime|Timestamp)|The DType <.*DateTime64DType"
)
#: Attributes with the training rows of scikit-learn's neighbours, kernel ridge and processes.
_TRAINING_ROWS = ("_fit_X", "X_fit_", "X_train_")


def answers_of(model: BaseEstimator, method: str, rows: object) -> FloatArray:
    """Return what a method of a model predicts for rows, shape (n_samples, n_outputs)."""
    answers = getattr(model, method)(rows)
    if isinstance(answers, list):
        raise ValueError(
            f"{method} of {_name(model)} returned a list of {len(answers)} arrays "
            "(one per target); expected one array. Wrap one model per target."
        )
    columns = np.asarray(answers, dtype=np.float64)
    return columns.reshape(len(columns), -1)


def answers_with_variance(
    model: BaseEstimator, method: str, rows: object
) -> tuple[FloatArray, FloatArray | None]:
    """Return predictions and, where ``predict`` takes ``return_std``, their variances."""
    if method == "predict" and "return_std" in predict_parameters(model):
        apart = {"include_noise": False} if _knows_noise(model) else {}
        mean, std = model.predict(rows, return_std=True, **apart)
        return mean.reshape(len(mean), -1), std.reshape(len(std), -1) ** 2
    return answers_of(model, method, rows), None


def noise_of(model: BaseEstimator, method: str, rows: object) -> FloatArray | float:
    """Return the variance of the target about the model, zero where the model has none.

    The noise is the same everywhere: ``rows`` is any complete row.
    """
    if method != "predict" or not _knows_noise(model):
        return 0.0
    total, own = (
        model.predict(rows, return_std=True, include_noise=noise)[1] ** 2 for noise in (True, False)
    )
    return np.maximum(total - own, 0.0).reshape(-1)


def _knows_noise(model: BaseEstimator) -> bool:
    """Return whether ``predict`` can leave the noise out of the spread that it returns."""
    return {"return_std", "include_noise"} <= set(predict_parameters(model))


def first_answer(
    model: BaseEstimator, method: str, rows: Callable[[], object], n_columns: int
) -> FloatArray:
    """Return the prediction of one complete row as it comes, or say why there is none."""
    if method == "predict_proba":
        require_probabilities(model)
    try:
        return np.asarray(getattr(model, method)(rows()))
    except Exception as error:
        raise ValueError(
            f"{_name(model)}.{method} does not accept a complete row of the {n_columns} columns "
            f"that the density was fitted to: {error} Give fit the columns that the model was "
            "trained on, in the same order and kind of table."
        ) from error


def class_probabilities(model: BaseEstimator, X: Any, classes: np.ndarray) -> FloatArray:
    """Return probabilities of ``classes``, zero for one that the model never saw."""
    known = np.asarray(model.predict_proba(X), dtype=np.float64)
    if len(model.classes_) == len(classes):
        return known
    probabilities = np.zeros((len(known), len(classes)))
    probabilities[:, np.searchsorted(classes, np.asarray(model.classes_))] = known
    return probabilities


def predict_parameters(model: BaseEstimator) -> Any:
    """Return the parameters of ``predict``: of a wrapped model, or of the last step of several."""
    inner = model.estimator if isinstance(model, FrozenEstimator) else model
    try:
        return signature(getattr(inner, "steps", [(None, inner)])[-1][1].predict).parameters
    except ValueError:  # compiled functions may have no signature
        return ()


def _name(model: BaseEstimator) -> str:
    return type(model.estimator if isinstance(model, FrozenEstimator) else model).__name__


def stacked_draws(
    table: Table, unknowns: MissingValues, columns: IntArray, n_draws: int, seed: int
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return complete rows that represent the incomplete rows of a table, in some columns.

    Complete rows come once, each other row as ``n_draws`` draws: rows (n_stacked, n_columns), the
    row of the table that each represents, and weights of one or ``1 / n_draws``.
    """
    holes = unknowns.incomplete(table.array)
    complete, incomplete = np.flatnonzero(~holes), np.flatnonzero(holes)
    if not len(incomplete):
        return table.array[:, columns], np.arange(len(table)), np.ones(len(table))
    # A seed of its own: the draws that predictions average over are others.
    points = DrawPoints.sobol(n_draws, unknowns.n_drawn, seed + 1)
    (drawn,) = over_draws(
        lambda rows, _: (rows[:, :, columns],), unknowns, table[incomplete], points
    )
    whole = table.array[np.ix_(complete, columns)]
    rows = np.concatenate([whole, drawn.reshape(-1, len(columns))])
    row = np.concatenate([complete, np.repeat(incomplete, n_draws)])
    weights = np.where(np.arange(len(row)) < len(complete), 1.0, 1.0 / n_draws)
    return rows, row, weights


def require_one_target(machine: BaseEstimator, y: Any, then: str = "") -> None:
    """Refuse several targets in a sentence that says how to predict them."""
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        name, kind = type(machine).__name__, "Classifier" if is_classifier(machine) else "Regressor"
        raise ValueError(
            f"y should be a 1d array, got an array of shape {shape} instead. For several targets "
            f"wrap the machine in scikit-learn's MultiOutput{kind}({name}(...)){then}."
        )


class RoutesWeights:
    """Metadata routing of a wrapper, which uses weights itself and passes them where requested."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what ``fit`` uses itself and what it passes to the wrapped estimator."""
        given = self.estimator  # type: ignore[attr-defined]
        router = MetadataRouter(owner=self).add_self_request(self)
        for number, model in enumerate(given if isinstance(given, list | tuple) else [given]):
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{f"estimator{number or ''}": model}, method_mapping=mapping)
        return router

    def _passed_on(self, weights: FloatArray | None) -> FloatArray | None:
        """Return the weights that the wrapped estimator is trained with."""
        if weights is None or not get_config()["enable_metadata_routing"]:
            return weights
        routed = process_routing(self, "fit", sample_weight=weights)
        return routed.estimator.fit.get("sample_weight")


def fit_weighted(
    model: BaseEstimator, rows: object, y: np.ndarray, weights: FloatArray | None
) -> BaseEstimator:
    """Fit a model with weights; a pipeline passes them to its last step or as it routes them."""
    name = None if weights is None else weight_parameter(model)
    if weights is not None and name is None:
        raise ValueError(
            f"sample_weight was given, but {type(model).__name__}.fit takes none. Leave it out, or "
            "choose an estimator with weights."
        )
    given = {} if name is None else {name: weights}
    # Weights that were not requested are those of draws: the model learns no rows without them.
    with explained_words(), config_context(enable_metadata_routing=_requests_weights(model)):
        return model.fit(rows, y, **given)


def _requests_weights(model: BaseEstimator) -> bool:
    routes = get_config()["enable_metadata_routing"]
    return routes and bool(get_routing_for_object(model).consumes("fit", ["sample_weight"]))


@contextmanager
def explained_words() -> Iterator[None]:
    """Say what to do where a model that takes numbers only was given words or dates."""
    try:
        yield
    except (TypeError, ValueError) as error:
        found = _WORDS_FOR_NUMBERS.match(str(error))
        if found is None:
            raise
        example = f"words such as {found[1]}" if found[1] else "words or dates"
        raise ValueError(
            f"The estimator takes numbers only, and these rows hold {example}. Put "
            "absentia.TableEncoder before it: make_pipeline(TableEncoder(), estimator)."
        ) from error


def weight_parameter(model: BaseEstimator) -> str | None:
    """Return the name of the weights in ``fit`` of a model, None where it has none."""
    if _requests_weights(model):
        return "sample_weight"
    if isinstance(model, Pipeline):
        inner = weight_parameter(model[-1])
        return None if inner is None else f"{model.steps[-1][0]}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None


def rows_learned_from(model: BaseEstimator, table: FloatArray) -> BoolArray:
    """Return which rows of a table (NaN where missing) are among the training rows of a model.

    Models that do not store their training rows have none. Rows without observed values are all
    alike, and do not count.
    """
    known = _training_rows(model)
    if known is None or known.shape[1:] != table.shape[1:]:
        return np.zeros(len(table), dtype=bool)
    seen = {row_key(row) for row in known}
    alike = np.array([row_key(row) in seen for row in table], dtype=np.bool_)
    return alike & ~np.isnan(table).all(axis=1)


def _training_rows(model: BaseEstimator) -> FloatArray | None:
    if isinstance(model, KernelMachine):
        beliefs = model.beliefs_
        return np.where(beliefs.patterns.mask, np.nan, beliefs.means[:, 0])
    for name in _TRAINING_ROWS:
        rows = getattr(model, name, None)
        if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind == "f":
            return rows
    return None


def row_key(row: FloatArray) -> bytes:
    """Return a key that equal rows share, NaN being equal to NaN."""
    # One bit pattern for every NaN, and for both zeros.
    return np.where(np.isnan(row), np.nan, row + 0.0).tobytes()


@dataclass(frozen=True, eq=False)
class RowFormat(Stored):
    """The kind of table that a model was trained on, and how numbers and codes become one.

    ``kind`` is "array", "pandas" or "polars", ``names`` and ``types`` are those of the columns of a
    frame, ``single`` says that an array is float32. For a frame that a ``plan`` reads, ``words``
    has, for each column of words, the user's own value for each category, and ``constants`` the
    only value of each column that is left out because it has no other.
    """

    kind: str
    names: tuple[Any, ...] = ()
    types: tuple[Any, ...] = ()
    single: bool = False
    plan: ColumnPlan | None = None
    words: tuple[np.ndarray, ...] = ()
    constants: np.ndarray = field(default_factory=lambda: array_of_cells([]))

    def validate(self) -> None:
        """Raise ValueError unless there is one entry per column everywhere."""
        self._require_types(tuple, "names", "types", "words")
        require_types(self.types, self.kind)
        known = ("array", "pandas", "polars") if self.plan is None else ("pandas", "polars")
        if self.kind not in known or len(self.types) != len(self.names):
            raise ValueError(f"RowFormat of {self.kind!r} with {len(self.types)} types.")
        for kept in (*self.words, self.constants):
            require_cells(kept)
        if self.plan is None:
            return
        self._require_type("plan", ColumnPlan)
        self.plan.ensure_valid()
        columns = zip(self.names, self.constants, self.words, self.plan.readings, strict=True)
        if any(len(words) not in (0, len(reading.categories)) for _, _, words, reading in columns):
            raise ValueError("RowFormat.words must be one per category.")

    @classmethod
    def of(
        cls, X: TableLike, columns: IntArray | None = None, plan: ColumnPlan | None = None
    ) -> RowFormat:
        """Return the format of a table, of some of its columns, or of a frame that a plan reads."""
        kind = "polars" if is_polars(X) else "pandas"
        dtypes = dict(zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=True))
        if plan is None:
            if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
                return cls("array", single=getattr(X, "dtype", None) == np.float32)
            kept = list(dtypes) if columns is None else [list(dtypes)[j] for j in columns]
            return cls(kind, tuple(kept), tuple(storable_type(dtypes[n], kind) for n in kept))
        frame, given = as_frame(X), {str(name): dtype for name, dtype in dtypes.items()}
        types = (storable_type(given.get(name, np.dtype(object)), kind) for name in plan.names)
        words = (array_of_cells(_own_words(frame, *item)) for item in plan.by_name.items())
        constants = [
            _only_value(frame, name) if reading.left_out else None
            for name, reading in plan.by_name.items()
        ]
        more = tuple(words), array_of_cells(constants)
        return cls(kind, plan.names, tuple(types), False, plan, *more)

    def rows(
        self, values: FloatArray, given: ReadFrame | None = None, origin: IntArray | None = None
    ) -> np.ndarray | pd.DataFrame:
        """Return rows of float64, NaN where missing, in this format.

        Columns of whole numbers and of booleans get the nearest value that their type can hold;
        where a value is missing they stay float64, or null in types that have one. ``origin`` is
        the row of a frame with words, ``given``, that each row comes from: observed values, and
        columns that the plan leaves out, are written as they were.
        """
        if self.kind == "array":
            return values.astype(np.float32 if self.single else np.float64, copy=False)
        cells, polars = list(values.T), self.kind == "polars"
        if self.plan is not None:
            cells = self._written(self.plan, values, given, origin)
        made = [typed_column(c, dtype, polars) for c, dtype in zip(cells, self.types, strict=True)]
        return frame_of(dict(zip(self.names, made, strict=True)), polars)

    def _written(
        self, plan: ColumnPlan, values: FloatArray, given: ReadFrame | None, origin: Any
    ) -> list[np.ndarray]:
        """Return the user's cells for rows behind the plan: numbers, codes and indicators."""
        import pandas as pd

        numbers, known = values * plan.scales + plan.centres, plan.by_name
        if given is not None:
            observed = given.own[origin]
            numbers = np.where(np.isnan(observed), numbers, observed)
            known = plan.later(given.frame)[1]
        out = []
        for j, (name, places, _) in enumerate(plan.groups()):
            own = given.frame[name] if given is not None and name in given.frame else None
            if places:
                words = self.words[j] if len(self.words[j]) else None
                cells = written_cells(plan.readings[j], numbers[:, list(places)], words=words)
                out.append(cells if own is None else _with_limits(cells, own, origin, known[name]))
                continue
            cells = np.full(len(values), None, dtype=object)
            if own is not None:
                cells = own.to_numpy(dtype=object)[origin]
            # None where there is no such value.
            out.append(np.where(pd.isna(cells), self.constants[[j]], cells))
        return out


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array or of a frame."""
    X = native_frame(X)
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _own_words(frame: pd.DataFrame, name: str, reading: ColumnReading) -> Any:
    if reading.left_out or name not in frame:
        return [] if reading.left_out else reading.categories
    return own_words(Column(frame[name]), reading)


def _with_limits(
    cells: np.ndarray, given: Any, origin: IntArray, reading: ColumnReading
) -> np.ndarray:
    """Return numbers of a column of text as text; a limit such as ``<0.5`` stays where it was.

    They have the decimal sign and the unit of the column: the model also sees complete rows, which
    are written as the user does.
    """
    if cells.dtype.kind != "f" or given.dtype.kind in "iufb" or hasattr(given, "cat"):
        return cells
    own = given.to_numpy(dtype=object)
    text = np.array([isinstance(value, str) for value in own])
    if not text.any():
        return cells
    written = spelled_numbers(cells, reading)
    return np.where(np.isnan(cells), np.where(text, own, None)[origin], written)


def _only_value(frame: pd.DataFrame, name: str) -> Any:
    values = frame[name].dropna().unique() if name in frame else []
    return values[0] if len(values) == 1 else None
