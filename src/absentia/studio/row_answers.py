"""What a trained pipeline answers about raw rows: one row as a form, or a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm
from sklearn.pipeline import Pipeline

from absentia.beliefs.prior import FARTHEST
from absentia.decisions import measure_next
from absentia.decisions.measurements import rank_source_columns
from absentia.densities.fit_density import believe
from absentia.hidden_warnings import hidden_warnings
from absentia.machines.uncertainty import entropy
from absentia.parameters import POSITIVE
from absentia.predictions import predict_uncertainty
from absentia.predictions.answers import find_density
from absentia.tables import BoolArray, FloatArray, Table
from absentia.tables.encoder import TableEncoder
from absentia.tables.files.formats import read_bytes
from absentia.tables.plan_notes import as_written, row_notes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FieldValue", "RowAnswers"]

#: An object of a page's script: what JSON can hold, by name.
Json = dict[str, Any]

_COVERAGE = 0.9
#: Draws of what a row with bounds could be, and how many of them must keep to the bounds.
_DRAWS, _FEWEST_DRAWS = 4000, 25
_MOST_BATCH_ROWS = 5000


@dataclass(frozen=True)
class FieldValue:
    """What a person knows about one field: a value, nothing, or a bound.

    Attributes
    ----------
    state : {"value", "unknown", "at most", "at least"}
    text : str
        The value or the bound as it was typed.
    """

    state: str = "unknown"
    text: str = ""

    @property
    def is_bound(self) -> bool:
        """Whether it says only on which side of a number the value lies."""
        return self.state in ("at most", "at least")


class RowAnswers:
    """Asks a pipeline of ``encode``, ``scale`` and ``machine`` about rows.

    Parameters
    ----------
    pipeline : Pipeline
        As made by :func:`absentia.studio.row_model.train_model`.
    """

    def __init__(self, pipeline: Pipeline):
        names = [name for name, _ in pipeline.steps] if isinstance(pipeline, Pipeline) else []
        if names != ["encode", "scale", "machine"]:
            raise ValueError(
                f"The file holds a {type(pipeline).__name__} that was not saved by the studio; "
                "open one that was, or train a new model."
            )
        self.pipeline = pipeline
        self._encoder: TableEncoder = pipeline.named_steps["encode"]
        self._scaler = pipeline.named_steps["scale"]
        # The units of the machine: those of the plan, scaled.
        plan, scaled = self._encoder.plan_, getattr(self._scaler, "transformer_", self._scaler)
        self._means = plan.centres + plan.scales * scaled.mean_
        self._spreads = plan.scales * scaled.scale_
        self._machine = pipeline.named_steps["machine"]
        inner = getattr(self._machine, "estimator_", self._machine)
        self._model = getattr(inner, "estimator", inner)  # a FrozenEstimator holds the process
        self.classifies = hasattr(self._machine, "classes_")
        if not (self.classifies or hasattr(self._machine, "predict_interval")):
            raise ValueError(
                f"The file holds a {type(self._machine).__name__}, which gives neither "
                "probabilities nor intervals; open a model that the studio saved."
            )
        readings = self._encoder.plan_.by_name
        self._widths = {name: r.width() for name, r in readings.items() if r.width()}
        self._owner = np.repeat(np.arange(len(self._widths)), list(self._widths.values()))

    @property
    def names(self) -> list[str]:
        """The fields of the form: the columns that the model uses."""
        return list(self._widths)

    @property
    def classes(self) -> list[str]:
        """The classes as text; empty for a quantity."""
        if not self.classifies:
            return []
        return [
            f"{c:g}" if isinstance(c, float) else str(c) for c in self._machine.classes_.tolist()
        ]

    def fields(self) -> list[Json]:
        """Describe each field for a form: name, kind, choices, and what is typical."""
        kinds = dict(zip(self._encoder.columns_, self._encoder.kinds_, strict=True))
        described = []
        for k, name in enumerate(self._widths):
            j = int(np.flatnonzero(self._owner == k)[0])
            described.append(
                {
                    "name": name,
                    "kind": kinds[name],
                    "choices": self._encoder.categories_.get(name, []),
                    "mean": float(self._means[j]),
                    "spread": float(self._spreads[j]),
                }
            )
        return described

    def answer(
        self, values: Mapping[str, FieldValue], costs: Mapping[str, float] | None = None
    ) -> Json:
        """Answer one row.

        Parameters
        ----------
        values : mapping from field to FieldValue
            Fields that are not there are unknown.
        costs : mapping from field to float, optional
            What measuring a field costs; 1 by default.

        Returns
        -------
        dict
            ``prediction``; ``probabilities`` or ``lower`` and ``upper``; ``missing_share``, the
            share of the doubt that is due to unknown fields; ``next``, the unknown fields by gain
            per cost (a share of the variance for quantities, with the standard deviation before
            and after); ``unread``, fields whose text could not be read; ``note``.
        """
        known = {n: v.text for n, v in values.items() if v.state == "value" and v.text.strip()}
        row = self._encoded(known)
        unread = [
            name for name in known if name in self._widths and np.isnan(self._part(row, name)).all()
        ]
        for name, text in known.items():
            if name in self._widths and (np.abs(self._part(row, name)) > FARTHEST).any():
                raise ValueError(
                    f"{text[:40]!r} is too far from all other values of {name!r} for double "
                    "precision. Correct the value, or leave it unknown."
                )
        bounds, unread_bounds = self._bounds(values)
        limited = {self.names[self._owner[j]] for j in bounds}
        unread = [name for name in unread if name not in limited]
        found = self._bounded(row, bounds) if bounds else self._unbounded(row)
        return {
            **found,
            "unread": [*unread, *unread_bounds],
            "next": self._next(row, dict(costs or {})),
            "n_unknown": sum(1 for name in self.names if np.isnan(self._part(row, name)).all()),
        }

    def read_batch(self, content: bytes, name: str, notes: list[str]) -> pd.DataFrame:
        """Return a file as a table, and add notes on cells that the model cannot use."""
        frame, cells = read_bytes(content, name, notes.append)
        if len(frame):
            frame = as_written(self._encoder, frame, cells)
            notes += row_notes(self._encoder, frame, name)
        return frame

    def check_batch(self, frame: pd.DataFrame) -> None:
        """Raise where a table cannot be a batch."""
        if len(frame) > _MOST_BATCH_ROWS:
            raise ValueError(
                f"A batch has at most {_MOST_BATCH_ROWS:,} rows, found {len(frame):,}: split the "
                "file, or use `absentia predict`."
            )
        if not len(frame):
            raise ValueError("The file has a header but no rows: a batch needs at least one row.")

    def batch(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Answer every row of a raw table, with its doubt, as a pandas frame.

        Columns ``row`` (from 1), ``prediction``, then ``probability`` or ``lower`` and ``upper``,
        ``doubt`` (entropy in nats, or a standard deviation), ``due_to_unknown`` (a share) and
        ``unknown_fields``.
        """
        import pandas as pd

        self.check_batch(frame)
        with hidden_warnings(category=UserWarning):
            rows = self._scaler.transform(self._encoder.transform(frame))
        doubt = predict_uncertainty(self._model, rows, by_column=False)
        data: Json = {"row": np.arange(1, len(rows) + 1)}
        if self.classifies:
            data["prediction"] = np.array(self.classes, dtype=object)[
                doubt.prediction.argmax(axis=1)
            ]
            data["probability"] = doubt.prediction.max(axis=1)
            data["doubt"] = doubt.total
        else:
            intervals = self._machine.predict_interval(rows, coverage=_COVERAGE)
            data["prediction"] = np.ravel(doubt.prediction)
            data["lower"], data["upper"] = intervals.lower, intervals.upper
            data["doubt"] = np.sqrt(doubt.total)
        data["due_to_unknown"] = doubt.missing_share
        starts = np.flatnonzero(np.diff(self._owner, prepend=-1))
        data["unknown_fields"] = _unknown(rows)[:, starts].sum(axis=1)
        return pd.DataFrame(data)

    def _encoded(self, known: Mapping[str, str]) -> FloatArray:
        """Return one raw row in the units of the machine, shape (1, n_encoded)."""
        import pandas as pd

        frame = pd.DataFrame(
            {name: [known.get(name)] for name in self._encoder.columns_}, dtype=object
        )
        # Limits that are written into the form are known, and averaged over, apart.
        with hidden_warnings(category=UserWarning):  # the page says what it cannot read
            return np.asarray(self._scaler.transform(self._encoder.transform(frame)))

    def _part(self, row: FloatArray, name: str) -> FloatArray:
        return row[0, self._owner == self.names.index(name)]

    def _bounds(
        self, values: Mapping[str, FieldValue]
    ) -> tuple[dict[int, tuple[float, float]], list[str]]:
        """Return the ends of bounded columns, and the fields whose bounds are unreadable."""
        ends: dict[int, tuple[float, float]] = {}
        unread = []
        for name, value in values.items():
            if name not in self._widths or not value.text.strip():
                continue
            j = int(np.flatnonzero(self._owner == self.names.index(name))[0])
            if not value.is_bound:
                written = self._written_limits(name, value.text)
                if written is not None:
                    mean, scale = self._means[j], self._spreads[j]
                    ends[j] = ((written[0] - mean) / scale, (written[1] - mean) / scale)
                continue
            end = float(self._encoded({name: value.text})[0, j])
            if np.isnan(end):
                unread.append(name)
            else:
                ends[j] = (-np.inf, end) if value.state == "at most" else (end, np.inf)
        return ends, unread

    def _written_limits(self, name: str, text: str) -> tuple[float, float] | None:
        """Return the limits that a text such as "<0.5" or "5-10" gives a number, if it does."""
        import pandas as pd

        plan = self._encoder.plan_
        reading = plan.readings[plan.names.index(name)]
        if reading.kind != "number":
            return None
        lower, upper = reading.bounds(pd.Series([text], dtype=object))
        limits = np.isfinite(lower[0]) or np.isfinite(upper[0])
        return (float(lower[0]), float(upper[0])) if limits and lower[0] < upper[0] else None

    def _unbounded(self, row: FloatArray) -> Json:
        doubt = predict_uncertainty(self._model, row, by_column=False)
        share = float(np.ravel(doubt.missing_share)[0])
        if self.classifies:
            return self._of_classes(doubt.prediction[0], share)
        interval = self._machine.predict_interval(row, coverage=_COVERAGE)
        return {
            "prediction": float(np.ravel(doubt.prediction)[0]),
            "lower": _finite(interval.lower[0]),
            "upper": _finite(interval.upper[0]),
            "missing_share": share,
            "note": ""
            if np.isfinite(interval.lower[0])
            else "There are too few rows with this pattern to calibrate an interval.",
        }

    def _bounded(self, row: FloatArray, bounds: dict[int, tuple[float, float]]) -> Json:
        """Average over draws of the row that keep to the bounds.

        ``E[f(x) | observed, bounds]`` is the average of ``f`` over those draws of the belief that
        lie within the bounds; the doubt splits as for any unknown value.
        """
        draws = believe(find_density(self._model), row).sample(_DRAWS, random_state=0)[:, 0]
        keeps = np.ones(len(draws), dtype=bool)
        for j, (low, high) in bounds.items():
            keeps &= (draws[:, j] >= low) & (draws[:, j] <= high)
        if keeps.sum() < _FEWEST_DRAWS:
            return {
                **self._unbounded(row),
                "note": "These bounds hardly fit the other values, so they are ignored.",
            }
        kept = draws[keeps][:512]
        if self.classifies:
            each = self._machine.predict_proba(kept)
            average = each.mean(axis=0)
            total, noise = float(entropy(average)), float(entropy(each).mean())
            return self._of_classes(average, max(0.0, 1 - noise / total) if total else 0.0)
        doubt = predict_uncertainty(self._model, kept, by_column=False)
        means, noise = np.ravel(doubt.prediction), float(np.mean(doubt.total))
        spread = float(np.sqrt(means.var() + noise))
        reach = float(norm.ppf((1 + _COVERAGE) / 2)) * spread
        return {
            "prediction": float(means.mean()),
            "lower": float(means.mean()) - reach,
            "upper": float(means.mean()) + reach,
            "missing_share": float(means.var()) / spread**2 if spread else 0.0,
            "note": "With bounds, the interval is the model's own, without calibration.",
        }

    def _of_classes(self, chances: FloatArray, share: float) -> Json:
        named = dict(zip(self.classes, (float(p) for p in chances), strict=True))
        best = max(named, key=lambda name: named[name])
        return {"prediction": best, "probabilities": named, "missing_share": share, "note": ""}

    def _next(self, row: FloatArray, costs: dict[str, float]) -> list[Json]:
        """Rank the unknown fields; of a field's indicator columns the most telling one counts."""
        if not np.isnan(row).any():
            return []
        for name, cost in costs.items():
            POSITIVE.check(f"The cost of {name}", cost)
        known = {name: cost for name, cost in costs.items() if name in self._widths}
        gains = measure_next(self._model, row).gain
        variance = 1.0
        if not self.classifies:
            variance = float(predict_uncertainty(self._model, row, by_column=False).total[0])
            gains = gains / (variance or 1.0)
        ranked = rank_source_columns(gains, list(self._encoder.source_columns()), known)[0]
        found: list[Json] = [
            {"name": c.name, "gain": c.gain, "cost": c.cost, "per_cost": _finite(c.gain_per_cost)}
            for c in ranked
        ]
        for entry in () if self.classifies else found:
            left = min(max(1.0 - entry["gain"], 0.0), 1.0)
            entry |= {"doubt": variance**0.5, "doubt_after": (left * variance) ** 0.5}
        return found


def _unknown(rows: FloatArray | Table) -> BoolArray:
    """Return which values nothing is known of, not even a limit."""
    return rows.unknown if isinstance(rows, Table) else np.isnan(rows)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
