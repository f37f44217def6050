"""Answers of a model for the page: one row as a form, beliefs about its fields, or a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from absentia.beliefs.column_trials import marginals, option_probabilities
from absentia.densities.fit_density import believe
from absentia.densities.missing_values import MissingValues
from absentia.parameters import POSITIVE
from absentia.predictions import Explanation
from absentia.predictions.marginal import find_density
from absentia.recipe.model import Doubts, TableModel
from absentia.tables import FloatArray, Table
from absentia.tables.column_plan import ReadFrame
from absentia.tables.files.formats import read_bytes

if TYPE_CHECKING:
    import pandas as pd

    from absentia.beliefs.column_trials import BeliefColumn

Json = dict[str, Any]

#: The most points at which the belief about a number is drawn, and what-if answers are computed,
#: and how many standard deviations of training they reach from the mean.
_POINTS, _REACH = 60, 4.0
#: Steps below a day, in minutes.
_MINUTES = np.array([1, 5, 15, 30, 60, 180, 360, 720, 1440])
#: Coalitions and draws of an explanation that keeps up with typing.
QUICK = {"max_coalitions": 256, "n_draws": 32, "tolerance": 0.05}
#: Draws of a row with bounds, and the fewest of them that must lie within the bounds.
_DRAWS, _FEWEST_DRAWS = 4000, 25
_MOST_BATCH_ROWS = 5000
#: Cells of a table that the page sends: more take gigabytes.
MOST_CELLS = 20_000_000
#: The text of a cell begins with the sign of its state in the form.
_SIGNS = {"value": "", "at most": "<", "at least": ">"}


@dataclass(frozen=True)
class FieldValue:
    """The value of one field of the form, as it was typed.

    The state is "value", "unknown", "at most" or "at least".
    """

    state: str = "unknown"
    text: str = ""


class RowAnswers:
    """Answers of a model, trained here or by the command line, about raw rows."""

    def __init__(self, model: TableModel):
        self.model = model
        plan = model.encoder.plan_
        widths = {name: r.width() for name, r in plan.by_name.items() if r.width()}
        ends = np.cumsum([0, *widths.values()]).tolist()
        #: The fields of the form, the columns that the model uses, and their first places.
        self._places = dict(zip(widths, ends, strict=False))
        self._believed = MissingValues.of(find_density(model.machine), [], len(plan.scales), plan)
        self._columns = {
            column.name: column
            for column in self._believed.columns
            if column.believed and (column.options is not None or len(column.places) == 1)
        }

    @property
    def names(self) -> list[str]:
        """The fields of the form: the columns that the model uses."""
        return list(self._places)

    @property
    def classes(self) -> list[str]:
        """The classes as text; empty for a quantity."""
        found = self.model.classes
        if found is None:
            return []
        return [f"{c:g}" if isinstance(c, float) else str(c) for c in found.tolist()]

    def fields(self) -> list[Json]:
        """Describe each field of the form: name, kind, choices, mean and spread."""
        encoder = self.model.encoder
        plan = encoder.plan_
        kinds = dict(zip(encoder.columns_, encoder.kinds_, strict=True))
        return [
            {
                "name": name,
                "kind": kinds[name],
                "choices": encoder.categories_.get(name, []),
                "mean": float(plan.centres[j]),
                "spread": float(plan.scales[j]),
            }
            for name, j in self._places.items()
        ]

    def answer(
        self, values: Mapping[str, FieldValue], costs: Mapping[str, float] | None = None
    ) -> Json:
        """Answer one row; fields without a value are unknown, and cost 1 by default.

        The answer has ``prediction``; ``probabilities`` or ``lower`` and ``upper``;
        ``missing_share``, the share of the uncertainty that is due to unknown fields; ``next``, the
        unknown fields by gain per cost (a share of the variance for quantities, with the standard
        deviation before and after); ``beliefs`` about the unknown fields; ``unread``, fields whose
        text could not be read; ``note``.
        """
        row, unread, note = self._row(values)
        doubts = self.model.doubts(row)
        found = self._prediction(row, doubts)
        return {
            **found,
            "note": " ".join(filter(None, (note, found["note"]))),
            "unread": unread,
            "next": self._next(row, dict(costs or {})),
            "n_unknown": int(self._unknown_fields(row)[0]),
            "beliefs": self._beliefs(row),
        }

    def parts(self, values: Mapping[str, FieldValue]) -> Json:
        """Return the columns that made the answer of a row, the most important first."""
        found = self.explanation(values)
        ranked = found.ranked(8)[["column", "value"]].to_numpy(object).tolist()
        return {
            "class": found.outputs[0] if found.outputs else "",
            "base": float(found.base[0]),
            "parts": ranked,
        }

    def explanation(self, values: Mapping[str, FieldValue]) -> Explanation:
        """Return the explanation of a row, of several classes that of the likeliest."""
        found = self.model.explanation(self._row(values)[0], **QUICK)
        return found if found.values.ndim == 2 else found.of(int(found.prediction[0].argmax()))

    def what_if(self, values: Mapping[str, FieldValue], name: str) -> list[Any]:
        """Return the answer for each point of a field: a class and its probability, or a number."""
        if name not in self._columns:
            raise ValueError(f"There is no field {name!r} with a picture.")
        column, model, row = self._columns[name], self.model, self._row(values)[0]
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
            [self.classes[best], float(row[best])]
            for best, row in zip(chances.argmax(axis=1), chances, strict=True)
        ]

    def _row(self, values: Mapping[str, FieldValue]) -> tuple[Table, list[str], str]:
        """Return a row of the form in the units of the machine, fields not read, and a note."""
        import pandas as pd

        given = {n: v for n, v in values.items() if n in self._places and v.text.strip()}
        written = {n: _SIGNS[v.state] + v.text for n, v in given.items() if v.state in _SIGNS}
        encoder = self.model.encoder
        frame = pd.DataFrame({n: [written.get(n)] for n in encoder.columns_}, dtype=object)
        read = self.model.read(frame)
        row, notes = read.table, [*read.far]
        unread = [name for name in written if row.unknown[0, self._places[name]]]
        if row.limited.any() and not self._is_possible(row):
            row = Table(row.array, columns_checked=True)
            notes.append("These bounds hardly fit the other values, so they are ignored.")
        return row, unread, " ".join(notes).replace(", row 1 (", " (")

    def read_batch(self, content: bytes, name: str) -> ReadFrame:
        """Read a file as a batch, with notes."""
        notes: list[str] = []
        frame, cells = read_bytes(content, name, notes.append, most_cells=MOST_CELLS)
        _check_batch(frame)
        read = self.model.read(frame, cells)
        return replace(read, notes=[*notes, *read.notes, *read.far])

    def read_table(self, frame: pd.DataFrame) -> ReadFrame:
        """Read a table as a batch, without notes: they were made when it was trained on."""
        _check_batch(frame)
        return replace(self.model.read(frame), notes=())

    def batch(self, read: ReadFrame) -> pd.DataFrame:
        """Answer every row of a batch, with its uncertainty, as a pandas frame.

        Columns ``row`` (from 1), those of the table that the model does not use, such as ids,
        ``prediction``, then ``probability`` or ``lower`` and ``upper``, ``doubt`` (entropy in nats,
        or a standard deviation), ``doubt_percent`` (of the largest entropy), ``due_to_unknown`` (a
        share) and ``unknown_fields``.
        """
        import pandas as pd

        rows, data = read.table, Json()
        if self.classes:
            chances = self.model.probabilities(rows)
            data["prediction"] = np.array(self.classes, dtype=object)[chances.argmax(axis=1)]
            data["probability"] = chances.max(axis=1)
        else:
            data["prediction"] = self.model.predict(rows)
        data |= self.model.doubts(rows).by_name()
        data.pop("calibration_rows", None)
        data["due_to_unknown"] = data.pop("due_to_missing")
        data["unknown_fields"] = self._unknown_fields(rows)
        kept = self.model.unused(read.frame).reset_index(drop=True)
        taken = {"row", *data}
        kept.columns = [f"{name} (table)" if name in taken else str(name) for name in kept.columns]
        return pd.concat(
            [pd.DataFrame({"row": np.arange(1, len(rows) + 1)}), kept, pd.DataFrame(data)], axis=1
        )

    def _is_possible(self, row: Table) -> bool:
        """Return whether enough draws of the row without its bounds lie within them."""
        lower, upper = np.asarray(row.lower), np.asarray(row.upper)
        density = find_density(self.model.machine)
        draws = believe(density, row.array).sample(_DRAWS, random_state=0)[:, 0]
        within = ((draws >= lower) & (draws <= upper)) | ~row.mask
        return bool(within.all(axis=1).sum() >= _FEWEST_DRAWS)

    def _prediction(self, row: Table, doubts: Doubts) -> Json:
        found: Json = {"missing_share": float(doubts.due_to_missing[0]), "note": ""}
        if doubts.interval is None:
            chances = self.model.probabilities(row)[0].tolist()
            named = dict(zip(self.classes, chances, strict=True))
            best = max(named, key=lambda name: named[name])
            return found | {"prediction": best, "probabilities": named}
        lower, upper = float(doubts.interval.lower[0]), float(doubts.interval.upper[0])
        if not np.isfinite(upper):
            found["note"] = "There are too few rows with this pattern to calibrate an interval."
        prediction = float(self.model.predict(row)[0])
        return found | {"prediction": prediction, "lower": plain(lower), "upper": plain(upper)}

    def _next(self, row: Table, costs: dict[str, float]) -> list[Json]:
        """Return the unknown fields, ranked."""
        if not row.mask.any():
            return []
        for name, cost in costs.items():
            POSITIVE.check(f"The cost of {name}", cost)
        known = {name: cost for name, cost in costs.items() if name in self._places}
        names = {"column": "name", "gain_per_cost": "per_cost"}
        return [
            {names.get(k, k): plain(v) if k == "gain_per_cost" else v for k, v in entry.items()}
            for entry in self.model.next_measurements(row, known)[0]
        ]

    def _beliefs(self, row: Table) -> Json:
        """Return the belief about each unknown field: the labels of its points, and heights.

        Heights are probabilities of categories, or a density whose largest value is one.
        """
        believed, found = self._believed.believe(row), Json()
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

    def _points(self, column: BeliefColumn) -> FloatArray:
        """Return encoded values to try, shape (n_points, n_places)."""
        if column.options is not None:
            return column.options
        encoder, place = self.model.encoder, column.places[0]
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
        plan = self.model.encoder.plan_
        reading, points = plan.by_name[column.name], self._points(column)
        if column.options is not None:
            return list(reading.categories)
        own = points[:, 0] * plan.scales[column.places[0]] + plan.centres[column.places[0]]
        if reading.kind == "number":
            return [np.format_float_positional(x, 10, fractional=False, trim="-") for x in own]
        return [str(value).removesuffix(" 00:00:00") for value in reading.restored(own)]

    def _unknown_fields(self, rows: Table) -> np.ndarray:
        """Return the number of fields of each row without even a bound."""
        return rows.unknown[:, list(self._places.values())].sum(axis=1)


def _check_batch(frame: pd.DataFrame) -> None:
    """Raise where a table cannot be a batch."""
    if len(frame) > _MOST_BATCH_ROWS:
        raise ValueError(
            f"A batch has at most {_MOST_BATCH_ROWS:,} rows, found {len(frame):,}: split the "
            "file, or use `absentia predict`."
        )
    if not len(frame):
        raise ValueError("The file has a header but no rows: a batch needs at least one row.")


def plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _round_points(low: float, high: float, *, in_days: bool) -> FloatArray:
    """Return multiples of a round number, from somewhat below a range to somewhat above it."""
    room = 0.08 * (high - low or 1.0)
    least = (high - low + 2 * room) / (_POINTS - 2)
    unit = 10.0 ** np.floor(np.log10(least))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= least * (1 - 1e-9))
    if in_days and least <= 1:
        step = _MINUTES[np.searchsorted(_MINUTES, min(1440 * least, 1440))] / 1440
    return step * np.arange(np.floor((low - room) / step), np.ceil((high + room) / step) + 1)
