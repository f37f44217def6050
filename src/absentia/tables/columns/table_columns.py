"""All columns of a table, read with what each says about the others: the decimal sign.

``"2,911"`` is 2911 or 2.911, and a column of nothing else does not tell which; nor does a column of
``"1.410"``. The rest of the table does, where another column has ``"5,3"``. For commas so does a
file whose values are separated by semicolons, which programs write where the comma is the decimal
sign. Points are decimal ones as long as no comma is; for files that commas do not separate a note
says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from absentia.tables.columns.column_guesses import read_as, read_column
from absentia.tables.columns.column_readings import ColumnReading
from absentia.tables.columns.number_words import example, in_doubt, shown_sign

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEPARATOR", "later_readings", "read_columns", "read_in_table"]

#: Under which name of ``frame.attrs`` a reader of files says what separates the values.
SEPARATOR = "separator"


def read_columns(
    frame: pd.DataFrame, *, kinds: Mapping[str, str] | None = None, max_categories: int = 30
) -> list[ColumnReading]:
    """Find out how the columns of a pandas frame are to be read, one reading for each.

    Commas that may be decimal ones or separate thousands are decimal ones if another column, or
    the separator of the file, says so, and no column has a decimal point. Points that may be either
    separate thousands if another column has decimal commas, and none a decimal point.

    Parameters
    ----------
    frame : pandas.DataFrame
    kinds : dict of str to {"number", "category", "date", "cyclic date", "left out"}, optional
        What some columns are, as their owner says.
    max_categories : int, default=30

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns.table_columns import read_columns
    >>> table = pd.DataFrame({"density": ["2,911", "1,050"], "ph": ["5,3", "8,1"]})
    >>> [reading.decimal for reading in read_columns(table)]
    [',', ',']
    >>> read_columns(table[["density"]])[0].note
    "numbers written as text; commas read as thousands separators: '2,911' is 2911"
    >>> table = pd.DataFrame({"price": ["1.410", "2.350"], "ph": ["5,3", "8,1"]})
    >>> read_columns(table)[0].note
    "numbers written as text, with decimal commas as in the rest of the table: '1.410' is 1410"
    """
    asked = kinds or {}

    def read(j: int, *, decimal_commas: bool = False) -> ColumnReading:
        column, name = frame.iloc[:, j], frame.columns[j]
        how: dict[str, Any] = {"max_categories": max_categories, "decimal_commas": decimal_commas}
        return read_as(column, asked[name], **how) if name in asked else read_column(column, **how)

    readings = [read(j) for j in range(frame.shape[1])]
    doubtful = {j: _in_doubt(frame.iloc[:, j], reading) for j, reading in enumerate(readings)}
    doubtful = {j: word for j, word in doubtful.items() if word}
    shown = {reading.shown for reading in readings if reading.kind == "number"}
    separator = frame.attrs.get(SEPARATOR, ",")
    commas = "," in shown or (separator == ";" and any(readings[j].grouped for j in doubtful))
    for j, word in doubtful.items():
        if commas and "." not in shown:
            readings[j] = read(j, decimal_commas=True)
        elif separator != "," and not readings[j].grouped:
            note = f"{readings[j].note}; points read as decimal points: {example(word, '.')}"
            readings[j] = replace(readings[j], note=note)
    return readings


def read_in_table(frame: pd.DataFrame, name: str) -> ColumnReading:
    """Find out how one column of a pandas frame is to be read; the others only where needed."""
    reading = read_column(frame[name])
    if not _in_doubt(frame[name], reading):
        return reading
    return read_columns(frame)[list(frame.columns).index(name)]


def later_readings(
    frame: pd.DataFrame, readings: Mapping[str, ColumnReading]
) -> dict[str, ColumnReading]:
    """Return how the columns of a later frame are read, by the readings of training.

    Training decides, except for numbers that had a type there and are text now. Nothing is known
    of how they are written, so this frame decides on their decimal sign, one for each column, by
    the rules of :func:`read_columns`.

    Examples
    --------
    >>> import pandas as pd
    >>> from absentia.tables.columns.column_guesses import read_column
    >>> from absentia.tables.columns.table_columns import later_readings
    >>> known = {name: read_column(pd.Series([1.5, 2.0])) for name in ("rent", "ph")}
    >>> later = pd.DataFrame({"rent": ["1.410", "2.350"], "ph": ["5,3", "8,1"]})
    >>> later_readings(later, known)["rent"].values(later["rent"])[:, 0]
    array([1410., 2350.])
    """
    written = {
        name: reading.words_of(frame[name])
        for name, reading in readings.items()
        if reading.typed and not reading.left_out and _is_text(frame, name)
    }
    # Fractions of training are stronger evidence than hundreds beside what may be thousands, and
    # in a table whose other columns had decimal commas these had points all the same.
    commas = any(
        reading.kind == "number" and reading.decimal == "," for reading in readings.values()
    )
    kept = {name for name in written if commas and readings[name].shown == "."}
    shown = {
        name: shown_sign(words.distinct, beside_hundreds=readings[name].shown != ".")
        for name, words in written.items()
    }
    signs = {name: sign or "." for name, sign in shown.items()}
    doubtful = [
        name
        for name, sign in shown.items()
        if not sign and name not in kept and in_doubt(written[name].distinct, beside_hundreds=False)
    ]
    if doubtful:
        by_rules = read_columns(frame, kinds=dict.fromkeys(written, "number"))
        found = dict(zip(frame.columns, by_rules, strict=True))
        with_commas = {n for n, reading in found.items() if reading.shown == ","}
        for name in doubtful:
            if not written[name].shown_sign or with_commas - {name}:
                signs[name] = found[name].decimal
    # Whether thousands are separated is not known of training: nothing is said of it.
    decided = {
        name: replace(readings[name], decimal=sign, shown=shown[name], grouped=True)
        for name, sign in signs.items()
    }
    return {**readings, **decided}


def _is_text(frame: pd.DataFrame, name: str) -> bool:
    return name in frame.columns and frame[name].dtype.kind not in "iufbmM"


def _in_doubt(column: pd.Series, reading: ColumnReading) -> str:
    """Return a word of a column whose decimal sign the rest of its table decides, or nothing."""
    written = reading.in_doubt and column.dtype.kind not in "iufb"
    return reading.words_of(column).in_doubt if written else ""
