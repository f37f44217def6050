"""Pictures of one row: beliefs about unknown fields, what-if answers, columns that matter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from absentia.beliefs.column_trials import marginals, option_probabilities
from absentia.densities.missing_values import MissingValues
from absentia.predictions.marginal import find_density
from absentia.tables import FloatArray, Table

if TYPE_CHECKING:
    from absentia.beliefs.column_trials import BeliefColumn
    from absentia.recipe.model import TableModel

Json = dict[str, Any]

#: The most points at which the belief about a number is drawn, and what-if answers are computed,
#: and how many standard deviations of training they reach from the mean.
_POINTS, _REACH = 60, 4.0
#: Steps below a day, in minutes.
_MINUTES = np.array([1, 5, 15, 30, 60, 180, 360, 720, 1440])
#: Coalitions and draws of an explanation that keeps up with typing.
QUICK = {"max_coalitions": 256, "n_draws": 32, "tolerance": 0.05}


class RowPictures:
    """Beliefs and what-if answers of a model about one encoded row."""

    def __init__(self, model: TableModel, classes: list[str]):
        self._model, self._classes = model, classes
        plan = model.encoder.plan_
        self._missing = MissingValues.of(find_density(model.machine), [], len(plan.scales), plan)
        self._columns = {
            column.name: column
            for column in self._missing.columns
            if column.believed and (column.options is not None or len(column.places) == 1)
        }

    def beliefs(self, row: Table) -> Json:
        """Return the belief about each unknown field: the labels of its points, and heights.

        Heights are probabilities of categories, or a density whose largest value is one.
        """
        believed, found = self._missing.believe(row), Json()
        for name, column in self._columns.items():
            if not row.unknown[0, list(column.places)].all():
                continue
            if column.options is not None:
                heights = option_probabilities(believed, column)[0]
            else:
                number, points = column.numbers[0], self._points(column)[:, 0]
                curve = None if believed.margins is None else believed.margins.curves[number]
                scores = points if curve is None else curve.forward(points)
                weights, means, spreads = marginals(believed, np.zeros(1, dtype=int), number)
                heights = norm.pdf(scores[:, None], means, np.maximum(spreads, 1e-9)) @ weights[0]
                heights = heights * np.gradient(scores, points)
                heights = heights / (heights.max() or 1.0)
            found[name] = {"labels": self._labels(column), "heights": heights.tolist()}
        return found

    def what_if(self, row: Table, name: str) -> list[Any]:
        """Return the answer for each point of a field: a class and its probability, or a number."""
        if name not in self._columns:
            raise ValueError(f"There is no field {name!r} with a picture.")
        column, model = self._columns[name], self._model
        points = self._points(column)
        rows = row[np.zeros(len(points), dtype=np.intp)]
        cells = np.zeros(rows.shape, dtype=bool)
        cells[:, list(column.places)] = True
        array = rows.array.copy()
        array[:, list(column.places)] = points
        rows = replace(rows.hiding(cells), array=array, _whole=None, _known={})
        if model.classes is None:
            return model.predict(rows).tolist()
        chances = model.probabilities(rows)
        return [
            [self._classes[best], float(row[best])]
            for best, row in zip(chances.argmax(axis=1), chances, strict=True)
        ]

    def _points(self, column: BeliefColumn) -> FloatArray:
        """Return encoded values to try, shape (n_points, n_places)."""
        if column.options is not None:
            return column.options
        encoder, place = self._model.encoder, column.places[0]
        plan = encoder.plan_
        centre, scale = plan.centres[place], plan.scales[place]
        low, high = encoder.ranges_[encoder.columns_.index(column.name)]
        # One wild value of training must not press the others together.
        low, high = max(low, centre - _REACH * scale), min(high, centre + _REACH * scale)
        reading = plan.by_name[column.name]
        points = _round_points(low, high, in_days=reading.kind != "number")
        points = np.unique(reading.support.nearest(points))
        return (points[:, None] - centre) / scale

    def _labels(self, column: BeliefColumn) -> list[str]:
        plan = self._model.encoder.plan_
        reading, points = plan.by_name[column.name], self._points(column)
        if column.options is not None:
            return list(reading.categories)
        own = points[:, 0] * plan.scales[column.places[0]] + plan.centres[column.places[0]]
        if reading.kind == "number":
            return [np.format_float_positional(x, 10, fractional=False, trim="-") for x in own]
        return [str(value).removesuffix(" 00:00:00") for value in reading.restored(own)]


def _round_points(low: float, high: float, *, in_days: bool) -> FloatArray:
    """Return multiples of a round number, from somewhat below a range to somewhat above it."""
    room = 0.08 * (high - low or 1.0)
    least = (high - low + 2 * room) / (_POINTS - 2)
    unit = 10.0 ** np.floor(np.log10(least))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= least * (1 - 1e-9))
    if in_days and least <= 1:
        step = _MINUTES[np.searchsorted(_MINUTES, min(1440 * least, 1440))] / 1440
    return step * np.arange(np.floor((low - room) / step), np.ceil((high + room) / step) + 1)
