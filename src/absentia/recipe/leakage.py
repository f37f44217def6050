"""Columns that predict the target almost alone: often they became known only with it."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from absentia.machines.targets import Task
from absentia.recipe.learning_table import LearningTable, sample_in_proportion
from absentia.recipe.model import TableModel
from absentia.tables import FloatArray

#: The score of one column by itself above which it is named.
_R2, _AUC = 0.99, 0.995
_FOLDS = 5
#: Rows that are looked at, and columns up to which each is tried.
_MOST_ROWS, _MOST_COLUMNS = 2000, 300


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
