"""Supports of columns: the values that a column can have at all.

A bilirubin is positive, a share lies between 0 and 1, a number of visits is whole. The support is
inferred from training where the values leave little doubt, or given by the user; it bounds limits
such as ``<0.5``, and tells densities where draws and imputed values may lie.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from absentia.parameters import shown
from absentia.tables.reading import FloatArray
from absentia.tables.stored import Stored

#: With fewer values a support is not inferred; with limits of detection fewer are enough.
_FEWEST = 20
_FEWEST_BESIDE_LIMITS = 5
#: A share comes near both ends: a concentration from 0.01 to 0.3 is none.
_LOW_SHARE, _HIGH_SHARE = 0.2, 0.8
_SHARE_NAME = re.compile(r"(?i)share|fraction|proportion|prob|ratio\b|\brate\b")
_PERCENT_NAME = re.compile(r"(?i)%|percent|prozent|\bpct|pct\b|_pct")


@dataclass(frozen=True)
class Support(Stored):
    """The values that a column can have: a range, and whether only whole numbers are in it.

    ``lower`` and ``upper`` are infinite where there is no end. ``is_open``: the lower end itself is
    no value, as for positive numbers. ``step`` is the distance between neighbouring values, 1 for
    whole numbers and 0 where there is none, and ``origin`` one of the values.
    """

    lower: float = -np.inf
    upper: float = np.inf
    is_open: bool = False
    step: float = 0.0
    origin: float = 0.0

    def validate(self) -> None:
        """Raise ValueError unless the range is one."""
        self._require_types(float, "lower", "upper", "step", "origin")
        self._require_types(bool, "is_open")
        if not self.lower < self.upper or not (
            0 <= self.step < np.inf and np.isfinite(self.origin)
        ):
            raise ValueError(
                "Support must have a lower end below its upper end, and a finite step."
            )

    @classmethod
    def of(cls, given: Any, name: str = "") -> Self:
        """Return the support that a user means.

        A pair of ends, of which None is none, ``"0:"`` for such a pair, a name such as
        ``"positive"``, or None for all numbers.
        """
        if isinstance(given, cls):
            return given
        known = _NAMES.get(given) if isinstance(given, str) else None
        try:
            if known is not None:
                return cls(*known)
            if isinstance(given, str):
                given = [end.strip() or None for end in given.split(":")]
            low, high = (None, None) if given is None else given
            ends = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
            if not ends[0] < ends[1]:
                raise ValueError(f"{ends[0]:g} is not below {ends[1]:g}")
            return cls(*ends)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The support of column {name!r} must be a pair of ends such as (0, None), or one "
                f"of {', '.join(map(repr, _NAMES))}; found {shown(given)}: {error}."
            ) from error

    @classmethod
    def of_values(cls, values: FloatArray, name: str = "", *, limits: bool = False) -> Self:
        """Infer the support of a column from its values, NaN where missing; all numbers in doubt.

        ``limits`` says that the column has limits of detection.
        """
        known = values[np.isfinite(values)]
        if len(known) < (_FEWEST_BESIDE_LIMITS if limits else _FEWEST) or np.ptp(known) == 0:
            return cls()
        low, high = float(known.min()), float(known.max())
        step = 1.0 if (known == np.round(known)).all() else 0.0
        if step and set(np.unique(known)) == {0.0, 1.0}:
            return cls(0.0, 1.0, False, step)
        if low < 0:
            return cls(step=step)
        upper = np.inf
        if high <= 100 and _PERCENT_NAME.search(name):
            upper = 100.0
        elif high <= 1 and not step:
            wide = low < _LOW_SHARE and high > _HIGH_SHARE
            upper = 1.0 if wide or _SHARE_NAME.search(name) else np.inf
        return cls(0.0, upper, low > 0 and not step and upper == np.inf, step)

    @property
    def bounded(self) -> bool:
        """Whether the range has an end."""
        return bool(np.isfinite(self.lower) or np.isfinite(self.upper))

    def __str__(self) -> str:
        plain = (self.lower, self.upper, self.is_open, self.step)
        named = next((name for name, ends in _NAMES.items() if plain == ends), None)
        if named is not None:
            return named
        ends = " to ".join(f"{end:g}" for end in (self.lower, self.upper) if np.isfinite(end))
        if ends and " to " not in ends:
            ends = f"from {ends}" if np.isfinite(self.lower) else f"up to {ends}"
        return " ".join(["whole numbers"] * (self.step > 0) + [ends] * bool(ends))

    def nearest(self, values: FloatArray) -> FloatArray:
        """Return the nearest values of the support, NaN for NaN; an open end itself may be one."""
        if self.step:
            values = self.origin + np.rint((values - self.origin) / self.step) * self.step
        return np.clip(values, self.lower, self.upper) if self.bounded else values

    def scaled(self, centre: float, scale: float) -> Support:
        """Return the support of ``(x - centre) / scale``."""
        lower, upper, origin = (
            float((value - centre) / scale) for value in (self.lower, self.upper, self.origin)
        )
        return Support(lower, upper, self.is_open, float(self.step / scale), origin)

    def within(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return limits of values cut off at the ends; others, and those beyond, as they are."""
        limited = (np.isfinite(lower) | np.isfinite(upper)) & (lower != upper)
        limited &= (upper > self.lower) & (lower < self.upper)
        return (
            np.where(limited, np.maximum(lower, self.lower), lower),
            np.where(limited, np.minimum(upper, self.upper), upper),
        )


#: Supports by name: lower and upper end, whether the lower one is open, and the step.
_NAMES: dict[str, tuple[float, float, bool, float]] = {
    "positive": (0.0, np.inf, True, 0.0),
    "non-negative": (0.0, np.inf, False, 0.0),
    "share": (0.0, 1.0, False, 0.0),
    "percent": (0.0, 100.0, False, 0.0),
    "whole numbers": (-np.inf, np.inf, False, 1.0),
    "counts": (0.0, np.inf, False, 1.0),
    "0/1": (0.0, 1.0, False, 1.0),
    "": (-np.inf, np.inf, False, 0.0),
}
