"""A table split into features and target, and columns that give the target away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from absentia.machines.targets import Task
from absentia.tables import BoolArray, FloatArray
from absentia.tables.columns.guesses import case_note, read_column, read_in_table
from absentia.tables.phrases import counted

if TYPE_CHECKING:
    import pandas as pd

    from absentia.recipe.model import TableModel

_NAMED = 20
#: The most classes, and the fewest rows of each, that are learned from.
MOST_CLASSES, FEWEST_OF_A_CLASS = 50, 5
#: Whole numbers with more distinct values than this are a quantity.
_MOST_WHOLE_CLASSES = 10
#: The score of one column by itself above which it is named: often it became known only with the
#: target.
_R2, _AUC = 0.99, 0.995
_FOLDS = 5
#: Rows that are looked at, and columns up to which each is tried.
_MOST_ROWS, _MOST_COLUMNS = 2000, 300


@dataclass(frozen=True, eq=False)
class LearningTable:
    """A table split into features and target.

    ``notes`` are sentences about rows and classes that were left out.
    """

    features: pd.DataFrame
    target: np.ndarray
    task: Task
    notes: tuple[str, ...]

    def shuffled(self, seed: int = 0) -> LearningTable:
        """Return the same rows in a random order.

        Files are often sorted, by their target as well; folds of neighbouring rows would then
        each lack a part of what is to be learned.
        """
        return self._rows(np.random.RandomState(seed).permutation(len(self.target)))

    def sampled(self, most: int | None) -> LearningTable:
        """Return at most so many rows, with the classes in proportion, and a note on it."""
        n = len(self.target)
        if most is None or n <= most:
            return self
        rows = sample_in_proportion(self.target if self.task == "classification" else None, n, most)
        note = f"Only a sample of {most:,} of the {n:,} rows is used."
        return replace(self._rows(rows), notes=(*self.notes, note))

    def held_out(self, share: float, seed: int = 0) -> tuple[LearningTable, LearningTable | None]:
        """Return the rows to train on, and a share of all rows that is held out."""
        if share == 0:
            return self, None
        if not 0 < share < 1:
            raise ValueError(
                f"The share of rows to hold out must lie between 0 and 1, found {share:g}."
            )
        n = len(self.target)
        classes = self.target if self.task == "classification" else None
        each = 1 if classes is None else len(np.unique(classes))
        n_held = math.ceil(share * n)  # as scikit-learn counts
        if min(n_held, n - n_held) < each:
            side = "a row" if each == 1 else f"a row of each of the {each} classes"
            raise ValueError(
                f"A share of {share:g} holds out {n_held} of {n} rows and leaves {n - n_held}: "
                f"both need {side}."
            )
        train, held = train_test_split(
            np.arange(n), test_size=share, random_state=seed, stratify=classes
        )
        left = self._rows(train)
        if left.fewest < FEWEST_OF_A_CLASS <= self.fewest:
            what = "rows" if classes is None else "rows of a class"
            raise ValueError(
                f"A share of {share:g} leaves {left.fewest} {what} to train on, of which "
                f"{FEWEST_OF_A_CLASS} are needed for cross-validation: hold out fewer."
            )
        return left, self._rows(held)

    @property
    def fewest(self) -> int:
        """The number of rows of the rarest class; of all rows for a quantity."""
        if self.task != "classification":
            return len(self.target)
        return int(np.unique(self.target, return_counts=True)[1].min())

    def _rows(self, rows: np.ndarray) -> LearningTable:
        return replace(self, features=self.features.iloc[rows], target=self.target[rows])

    def baseline(self) -> tuple[float, str]:
        """Return the score of the best constant prediction, and that prediction in words."""
        if self.task == "regression":
            return 0.0, "always the mean"
        classes, counts = np.unique(self.target, return_counts=True)
        return float(counts.max() / counts.sum()), f"always {str(classes[counts.argmax()])!r}"


def sample_in_proportion(
    classes: np.ndarray | None, n: int, most: int, seed: int = 0
) -> np.ndarray:
    """Return ``most`` of ``n`` rows in their order, with the classes in proportion."""
    rng = np.random.RandomState(seed)
    groups = np.zeros(n) if classes is None else classes
    place = np.empty(n)
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        # The position of a row within its class: the first rows take the same part of each class.
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.sort(np.argsort(place, kind="stable")[:most])


def without_columns(frame: pd.DataFrame, ignore: Sequence[str]) -> pd.DataFrame:
    """Return the frame without some of its columns, which must be there."""
    unknown = [name for name in ignore if name not in frame.columns]
    if unknown:
        names = ", ".join(str(name) for name in frame.columns)
        raise ValueError(f"There is no column {unknown[0]!r} to ignore; the columns are {names}.")
    return frame.drop(columns=list(ignore))


def split_target(
    frame: pd.DataFrame, target: str, task: str | None = None, *, ignore: Sequence[str] = ()
) -> LearningTable:
    """Split off the target, leave out rows without one, and infer the task."""
    if task not in (None, "classification", "regression"):
        raise ValueError(f"The task must be classification or regression, found {task!r}.")
    if target in ignore:
        raise ValueError(f"{target} is the column to predict: it cannot be ignored.")
    if target not in frame.columns:
        names = ", ".join(str(name) for name in frame.columns)
        raise ValueError(f"There is no column {target!r} to predict; the columns are {names}.")
    frame = without_columns(frame, ignore)
    column, notes = _as_read(frame, target, task)
    known = column.notna().to_numpy()
    if not known.all():
        notes.append(_left_out(~known, target))
        frame, column = frame.loc[known], column.loc[known]
    # A row without features carries no information about the target; a kernel machine would
    # memorise its target as the prediction for empty rows.
    empty = frame.drop(columns=target).isna().all(axis=1).to_numpy()
    if empty.any() and frame.shape[1] > 1:
        notes.append(_left_out(empty, f"value other than that of {target}"))
        frame, column = frame.loc[~empty], column.loc[~empty]
    if len(frame) < 10:
        raise ValueError(
            f"Only {counted(len(frame), 'row')} can be learned from: at least 10 with a target and "
            "another value are needed."
        )
    chosen: Task = "classification" if task == "classification" else "regression"
    if task is None:
        chosen = guess_task(column)
    values = target_values(column, chosen)
    features = frame.drop(columns=target)
    if not features.shape[1]:
        raise ValueError(f"{target!r} is the only column: there is nothing to predict it from.")
    if chosen == "classification":
        alike = case_note(np.unique(values).tolist()) if values.dtype.kind == "U" else ""
        notes += [f"{target}: {alike}."] if alike else []
        keep, note = _common_classes(values, target)
        notes += note
        values, features = values[keep], features.loc[keep]
    elif np.ptp(values) == 0:
        raise ValueError(f"{target} is {values[0]:g} in every row: there is nothing to predict.")
    return LearningTable(features, values, chosen, tuple(notes))


def _left_out(rows: BoolArray, lacking: str) -> str:
    """Return a note on rows that were left out."""
    number = int(rows.sum())
    have, are = ("has", "is") if number == 1 else ("have", "are")
    return f"{counted(number, 'row')} {have} no {lacking} and {are} left out."


def _as_read(frame: pd.DataFrame, target: str, task: str | None) -> tuple[Any, list[str]]:
    """Return the target as numbers if its text stands for numbers, with notes."""
    import pandas as pd

    column = frame[target]
    if task == "classification" or column.dtype.kind in "iubmM":
        return column, []
    reading = read_in_table(frame, target)
    if reading.kind != "number":
        return column, []
    notes = [f"{column.name}: {reading.note}."] if reading.note and not reading.left_out else []
    values = replace(reading, left_out=False).values(column)[:, 0]
    numbers = pd.Series(values, index=column.index, name=column.name)
    if task is None and (numbers.abs() >= 2**53).any() and guess_task(numbers) != "regression":
        return column, []  # codes, of which different ones may be the same number
    return numbers, notes


def _common_classes(values: np.ndarray, target: str) -> tuple[BoolArray, list[str]]:
    """Return which rows belong to frequent enough classes, with a note about the others."""
    classes, counts = np.unique(values, return_counts=True)
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"{target} has {len(classes)} different values in {len(values)} rows, too many for "
            "classes. If it is a quantity, write it in numbers and choose regression "
            "(--task regression)."
        )
    rare = classes[counts < FEWEST_OF_A_CLASS]
    keep: BoolArray = ~np.isin(values, rare)
    if len(classes) - len(rare) < 2:
        raise ValueError(
            f"{target} has fewer than two classes of at least {FEWEST_OF_A_CLASS} rows: there is "
            "nothing to distinguish."
        )
    if not len(rare):
        return keep, []
    shown = ", ".join(str(name) for name in rare[:_NAMED])
    more = f" and {len(rare) - _NAMED} more" if len(rare) > _NAMED else ""
    have = "1 class has" if len(rare) == 1 else f"{len(rare)} classes have"
    were = "was" if len(rare) == 1 else "were"
    return keep, [
        f"Of the {len(classes)} classes of {target}, {have} fewer than {FEWEST_OF_A_CLASS} rows "
        f"and {were} left out: {shown}{more}. They have {int((~keep).sum())} of the {len(values)} "
        "rows; scores are for the other rows, and the model never predicts these classes."
    ]


def guess_task(target: Any) -> Task:
    """Return the task: text, and few different whole numbers, are classes."""
    if target.dtype.kind not in "iuf":
        return "classification"
    values = target.dropna()
    whole = target.dtype.kind != "f" or bool((values == values.round()).all())
    return "classification" if whole and values.nunique() <= _MOST_WHOLE_CLASSES else "regression"


def target_values(target: Any, task: Task) -> np.ndarray:
    """Return a target column as float64, or as the classes it holds (whole numbers or text)."""
    check_no_dates(target, classes=task == "classification")
    if task == "regression":
        try:
            return target.to_numpy(dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"The target {target.name!r} holds text, so it cannot be predicted as a number: "
                "write it as numbers or, for a few different words, choose classification."
            ) from None
    if target.dtype.kind == "f":
        values = target.to_numpy(dtype=np.float64)
        if not (values == np.round(values)).all():
            return values
        if (np.abs(values) >= 2**53).any():
            raise ValueError(
                f"The target {target.name!r} holds whole numbers beyond 2^53 as floating point, "
                "where different ones are equal: write such classes with a letter before them, or "
                "choose regression."
            )
        return values.astype(np.int64)
    if target.dtype.kind in "iu" and int(target.max()) < 2**63:
        return target.to_numpy(dtype=np.int64)
    return np.array([str(value).strip() for value in target], dtype=str)


def check_no_dates(target: pd.Series, *, classes: bool) -> None:
    """Raise ValueError where a target holds dates or durations that are no classes.

    A few dates that come again and again, such as those of deliveries, can be classes.
    """
    if target.dtype.kind in "iufb":
        return
    most = min(MOST_CLASSES, len(target) // FEWEST_OF_A_CLASS)
    if classes and target.nunique() <= most:
        return
    kind = read_column(target).kind
    number = {"date": "days since a fixed date", "duration": "days"}.get(kind)
    if number is not None:
        raise ValueError(
            f"The target {target.name!r} holds {kind}s, which are not supported as targets: "
            f"convert them to a number, such as {number}."
        )


def leakage_note(model: TableModel, table: LearningTable) -> list[str]:
    """Return a sentence on the columns that predict the target almost alone, if there are any.

    Each raw column by itself, with its missing values, predicts the target of a sample of the rows
    out of fold by a tree; a quantity also by a line.
    """
    columns, y, task = model.encoder.plan_.source_columns(), table.target, table.task
    names = list(dict.fromkeys(columns.tolist()))
    if len(names) > _MOST_COLUMNS:
        return []
    classes = y if task == "classification" else None
    some = sample_in_proportion(classes, len(y), min(_MOST_ROWS, len(y)))
    if classes is not None:  # a class with fewer rows than folds has none in some of them
        labels, counts = np.unique(y[some], return_counts=True)
        some = some[np.isin(y[some], labels[counts >= _FOLDS])]
    X, y = model.rows(table.features.iloc[some]).array, y[some]
    scores = {str(name): _score_alone(X[:, columns == name], y, task) for name in names}
    bar, measure = (_AUC, "AUC") if task == "classification" else (_R2, "R²")
    found = [f"{name} ({measure} {score:.3f})" for name, score in scores.items() if score > bar]
    if not found:
        return []
    verb, them = ("predicts", "it") if len(found) == 1 else ("predict", "each")
    return [
        f"{', '.join(found)} {verb} the target almost alone: make sure that {them} is known before "
        "the target is, or leave it out."
    ]


def _score_alone(X: FloatArray, y: np.ndarray, task: Task) -> float:
    if task == "classification":
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
        tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=0)
        chances = cross_val_predict(tree, X, y, cv=folds, method="predict_proba")
        one = chances.shape[1] == 2
        return float(roc_auc_score(y, chances[:, 1] if one else chances, multi_class="ovr"))
    folds = KFold(_FOLDS, shuffle=True, random_state=0)
    tree = DecisionTreeRegressor(random_state=0)
    known = ~np.isnan(X[:, 0])
    line = 0.0
    if X.shape[1] == 1 and 2 * known.sum() > len(y) and np.ptp(X[known]) and np.ptp(y[known]):
        line = float(np.corrcoef(X[known, 0], y[known])[0, 1] ** 2)
    return max(line, float(r2_score(y, cross_val_predict(tree, X, y, cv=folds))))
