"""Values that can be stored in a model file: dataclasses that validate their fields.

Compiled loops trust shapes, types and indices, so a value must be consistent before they compute
with it. :func:`absentia.load` validates every :class:`Stored` value of a file, and callers of
compiled code validate again (:meth:`Stored.ensure_valid`), wherever the value came from. Values do
not change, so that costs time once for each of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TypeVar

import numpy as np

#: Attribute of a value that is known to be valid: no field, so that no file can set it.
_VALID = "_is_valid"


Value = TypeVar("Value", bound="Stored")


class InconsistentError(ValueError):
    """Fitted attributes of a model that are inconsistent with each other, whatever the rows."""


class Stored(ABC):
    """Base of the dataclasses that fitted models carry."""

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: what was computed from them is computed again."""
        return {name: getattr(self, name) for name in self._field_names()}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Set the fields; anything else might pass for a value that was computed from them."""
        expected = {field.name for field in fields(self)}  # type: ignore[arg-type]
        if not isinstance(state, dict) or set(state) != expected:
            raise ValueError(
                f"{type(self).__name__} must have the fields {', '.join(sorted(expected))} and no "
                f"others, found {', '.join(sorted(state)) or 'none'}."
            )
        self.__dict__.update(state)

    @abstractmethod
    def validate(self) -> None:
        """Raise ValueError unless the fields have the right types, shapes and ranges."""

    def ensure_valid(self) -> None:
        """Raise what :meth:`validate` raises, unless this value is known to be valid.

        Called before compiled code. A value is known to be valid when it was validated before, or
        was made from valid values in a way that keeps them so (:func:`assume_valid`).
        """
        if _VALID not in self.__dict__:
            self.validate()
            self.__dict__[_VALID] = True

    @classmethod
    def _field_names(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

    def _require_array(
        self, name: str, dtype: np.typing.DTypeLike, shape: tuple[int | None, ...]
    ) -> None:
        require_array(f"{type(self).__name__}.{name}", getattr(self, name), dtype, shape)

    def _require_indices(self, name: str, size: int) -> None:
        indices = getattr(self, name)
        if indices.size and not 0 <= indices.min() <= indices.max() < size:
            raise ValueError(
                f"{type(self).__name__}.{name} must lie between 0 and {size - 1}, found "
                f"{indices.min()} to {indices.max()}."
            )

    def _require_finite(self, name: str) -> None:
        if not np.isfinite(getattr(self, name)).all():
            raise ValueError(f"{type(self).__name__}.{name} must be finite, found NaN or infinity.")

    def _require_type(self, name: str, kind: type) -> None:
        self._require_types(kind, name)

    def _require_types(self, kind: type, *names: str, entries: type = object) -> None:
        """Raise ValueError unless fields are of a type, and entries of a tuple of another."""
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise ValueError(
                    f"{type(self).__name__}.{name} must be a {kind.__name__}, found "
                    f"{type(value).__name__}."
                )
            for entry in getattr(self, name) if kind is tuple else ():
                if not isinstance(entry, entries):
                    raise ValueError(
                        f"{type(self).__name__}.{name} must hold values of {entries.__name__}, "
                        f"found {type(entry).__name__}."
                    )
                if isinstance(entry, Stored):
                    entry.ensure_valid()


def assume_valid(value: Value, *sources: Stored) -> Value:
    """Return a value, known to be valid if all that it was made from are.

    For values that are consistent by the way they are made: checking one new row again would take
    as long as comparing it with hundreds of others.
    """
    if all(_VALID in source.__dict__ for source in sources):
        value.__dict__[_VALID] = True
    return value


def frozen(array: np.ndarray) -> np.ndarray:
    """Return the same array, no longer to be written to."""
    array.setflags(write=False)
    return array


def require_array(
    name: str, value: object, dtype: np.typing.DTypeLike, shape: tuple[int | None, ...]
) -> None:
    """Raise ValueError unless a value is an array of that type and shape; None fits any length."""
    if isinstance(value, np.ndarray):
        fits = len(shape) == value.ndim and all(
            wanted is None or wanted == length
            for wanted, length in zip(shape, value.shape, strict=True)
        )
        # joblib maps the arrays of a model into memory; a masked array hides what it holds.
        is_plain = type(value) in (np.ndarray, np.memmap)
        if fits and value.dtype == np.dtype(dtype) and is_plain:
            return
        plain = "" if is_plain else f"{type(value).__name__} of "
        found = f"{plain}{value.dtype} of shape {value.shape}"
    else:
        found = type(value).__name__
    wanted_shape = str(shape).replace("None", "any")
    raise ValueError(
        f"{name} must be a {np.dtype(dtype)} array of shape {wanted_shape}, found {found}."
    )
