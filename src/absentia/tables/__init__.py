"""A user's table, read once: numbers, words and dates become float64 with NaN where missing."""

from absentia.tables.reading import (
    BoolArray,
    FloatArray,
    IntArray,
    TableLike,
    as_table,
    column_names,
    is_absent,
    table_as,
)
from absentia.tables.rows import Learned, MemoryRows, RowIndex, Rows, set_fitted
from absentia.tables.table import Table

# After what streams are made of, which they import from here.
from absentia.tables.encoder import WordsAs, open_known, open_memory, open_rows, plan_of  # isort: skip

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Learned",
    "MemoryRows",
    "RowIndex",
    "Rows",
    "Table",
    "TableLike",
    "WordsAs",
    "as_table",
    "column_names",
    "is_absent",
    "open_known",
    "open_memory",
    "open_rows",
    "plan_of",
    "set_fitted",
    "table_as",
]
