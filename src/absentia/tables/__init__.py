"""A user's table, read once: numbers, words and dates become float64 with NaN where missing."""

from absentia.tables.reading import (
    BoolArray,
    FloatArray,
    IntArray,
    as_table,
    as_table_like,
    column_names,
    is_absent,
    remember_columns,
    table_as,
)

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "as_table",
    "as_table_like",
    "column_names",
    "is_absent",
    "remember_columns",
    "table_as",
]
