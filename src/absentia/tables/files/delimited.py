"""Delimited text (CSV and its relatives) becomes a pandas frame with the columns that it shows.

Errors here would be silent: a separator at the end of each row moves all columns by one, text in
UTF-16 is read as one column of noise. So the reader looks before it reads.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from absentia.engine.threads import hold_during_forks
from absentia.hidden_warnings import hidden_warnings
from absentia.optional_imports import optional_import
from absentia.tables.columns.column import Column
from absentia.tables.columns.guesses import SEPARATOR
from absentia.tables.columns.numerals import number_of
from absentia.tables.phrases import counted

if TYPE_CHECKING:
    import pandas as pd

Note = Callable[[str], None]

#: The comma last: where everything is equal it is more likely a decimal mark, or part of a name.
_SEPARATORS = ";\t|,"
#: Lines that are compared where the header has as many of one separator as of another.
_FIRST_LINES = 20
#: UTF-32 before UTF-16: the mark of the one begins with that of the other.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: The line that Excel reads first, and writes nowhere.
_EXCEL_LINE = re.compile(r'^"?sep=([^"\r\n]?)"?[ \t]*(?:\r\n|\r|\n)', re.IGNORECASE)
_LINE_END = re.compile(r"\r\n|\r|\n")
#: A cell that may have a decimal comma, where commas separate the cells.
_QUOTED_COMMA = re.compile(r'"[^",\n]*\d,\d[^",\n]*"')
#: Missing values of pandas, and the question mark of old data sets.
_MISSING = (
    *("", "?", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>"),
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"),
)
#: The csv module has one limit of the length of values for all threads.
_limit_of_csv = RLock()
hold_during_forks(_limit_of_csv)


def read_delimited(content: bytes, source: str, note: Note = lambda text: None) -> pd.DataFrame:
    """Read the bytes of a delimited text, whatever its encoding and its separator.

    UTF-8, UTF-16 and UTF-32 with a byte order mark, UTF-8 or Latin-1 without. A first line
    ``sep=;``, as Excel reads it, names the separator; otherwise it is the commonest of comma,
    semicolon, tab and bar in the header (in a tie the one that fits the lines below). A title above
    the header is passed over. ``note`` is called with sentences on what the reader decided.

    Names of columns have no blanks around them. ``attrs["separator"]`` is the separator of the
    values: a semicolon is evidence of decimal commas, where columns show none.
    """
    text, separator = _text_of(content, source, note)
    frame = read_csv(text, source=source, sep=separator, note=note)
    if not len(frame):
        raise ValueError(f"{source} has a header but no rows.")
    if not frame.shape[1]:
        raise ValueError(f"{source} contains only separators: no column names and no values.")
    note_repeated(_cells(text, separator, header=None, nrows=1).iloc[0], frame, note)
    frame.columns = stripped_names(frame)
    frame.attrs[SEPARATOR] = separator
    return frame


def cells_as_written(content: bytes, source: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of what :func:`read_delimited` reads, with the text of each cell.

    For writing them again: a number that is read may have lost digits or zeros, and the words
    ``NA`` and ``None`` are read as missing.
    """
    cells = _cells(*_text_of(content, source))
    cells.columns = stripped_names(cells)
    return cells[list(columns)]


def stripped_names(frame: pd.DataFrame) -> list[str]:
    """Return the names of columns without the blanks around them, unless two become the same."""
    names = [str(name) for name in frame.columns]
    stripped = [name.strip() for name in names]
    return stripped if len(set(stripped)) == len(stripped) else names


def note_repeated(header: Iterable[object], frame: pd.DataFrame, note: Note) -> None:
    """Note names that came more than once, and how pandas renames the later ones."""
    names = [name for cell in header if (name := str(cell).strip())]
    called = [name for name in stripped_names(frame) if not name.startswith("Unnamed: ")]
    for name, times in Counter(names).items():
        if times > 1:
            _, *later = (new for old, new in zip(names, called, strict=False) if old == name)
            shown = ", ".join(map(repr, later[:3])) + ", ..." * (len(later) > 3)
            said = f"appears {times} times: the later ones are renamed to {shown}"
            note(f"The column name {name!r} {said}.")


def header_row(rows: Sequence[Sequence[str]], note: Note) -> int:
    """Return the place of the header: below a title, which is the only cell of a row above it.

    A row is a header if it has several cells and none of them is a number.
    """
    places = [[k for k, cell in enumerate(row) if cell.strip()] for row in rows]
    filled = [k for k, place in enumerate(places) if place]
    first = next((k for k in filled if len(places[k]) > 1), 0)
    above = [k for k in filled if k < first]
    if not above:
        return 0
    if places[above[0]][0] > 0 and len(places[first]) == 2:
        return 0  # the names of rows have no name
    title = rows[above[0]][places[above[0]][0]].strip()
    if any(np.isfinite(number_of(rows[first][k].strip())) for k in places[first]):
        note(f"The first row has only one cell, {title!r}: if it is a title, remove it.")
        return 0
    note(f"{title!r} above the columns is taken for a title: row {first + 1} has their names.")
    return first


def _cells(text: str, separator: str, **how: Any) -> pd.DataFrame:
    """Return a delimited text with the text of each cell."""
    return _parsed(text, separator, dtype=str, keep_default_na=False, **how)


def _parsed(text: str, separator: str, **how: Any) -> pd.DataFrame:
    import pandas as pd

    # Without index_col=False pandas takes the first values of rows that are longer than the header
    # (by separators at the end, of which it warns) for names of rows, and moves all others.
    how = {"sep": separator, "skipinitialspace": True, "index_col": False, **how}
    with hidden_warnings(category=pd.errors.ParserWarning):
        return pd.read_csv(io.StringIO(text), **how)


def _text_of(content: bytes, source: str, note: Note = lambda text: None) -> tuple[str, str]:
    """Return the text from its header on, and the separator."""
    text = _decoded(content, source)
    if not text.strip():
        raise ValueError(f"{source} is empty.")
    named = _EXCEL_LINE.match(text)
    if named:
        text = text[named.end() :]
    for _ in range(header_row(_first_rows(text), note)):
        text = text[_LINE_END.search(text).end() :]  # type: ignore[union-attr]
    return text, (named and named[1]) or _separator_of(text)


def _decoded(content: bytes, source: str) -> str:
    encoding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in content[:2]:
        # A header of plain letters in UTF-16 has a zero in every other place.
        encoding = "utf-16-le" if content[1:2] == b"\0" else "utf-16-be"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise ValueError(
                f"{source} is damaged: parts of it are not valid {encoding.upper()}."
            ) from error
        text = content.decode("latin-1")
    if "\0" in text:
        raise ValueError(f"{source} is not a text file: it contains NUL bytes.")
    return text


def _separator_of(text: str) -> str:
    """Return the commonest separator of the header.

    Of several that are as common, it is the one that the most lines below have as often, and then
    the one that comes more often outside of parentheses.
    """
    lines = _first_lines(text.lstrip())
    header, *rows = (re.sub(r'"[^"]*"', "", line) for line in lines if line)
    names = re.sub(r"\([^()]*\)", "", header)

    def rank(separator: str) -> tuple[int, int, int]:
        n = header.count(separator)
        return n, sum(row.count(separator) == n for row in rows), names.count(separator)

    best = max(_SEPARATORS, key=rank)
    return best if best in header else ","


def _first_lines(text: str) -> list[str]:
    return _LINE_END.split(text, maxsplit=_FIRST_LINES)[:_FIRST_LINES]


def _first_rows(text: str) -> list[list[str]]:
    """Return the cells of the first lines, whatever separates them."""
    quoted, marks = re.compile(r'"([^"]*)"'), re.compile(f"[{_SEPARATORS}]")
    lines = _first_lines(text)
    plain = (quoted.sub(lambda found: marks.sub(" ", found[1]), line) for line in lines)
    return [marks.split(line) for line in plain]


def read_csv(
    text: str,
    *,
    source: str,
    sep: str = ",",
    note: Note = lambda text: warnings.warn(text, stacklevel=3),
) -> pd.DataFrame:
    """Read CSV as pandas does, but never move a column.

    ``?`` is a missing value besides the empty cell. A separator at the end of each row is no
    column; rows with more values than the header has names are refused. Rows with fewer lack the
    last ones (some programs do not write empty cells at the end of a row), with a note: a value
    left out in the middle looks the same.
    """
    pd = optional_import("pandas", "tables", "Reading a table")
    what = ""
    try:
        frame = _parsed(text, sep, na_values=["?"], low_memory=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        what = str(error).strip()
    if what or '"' in text or len({line.count(sep) for line in _LINE_END.split(text) if line}) > 1:
        records = _records(text, sep)
        if "EOF inside string" in what:  # the last row has swallowed the others
            begins = records[-2].line + 1 if len(records) > 1 else 1
            what = f'a quote (") in the row that begins in line {begins} is never closed'
        else:
            _check_lengths(records, source, note)
    if what:
        raise ValueError(f"{source} cannot be read as CSV: {what}.")
    frame = _with_texts(frame, text, sep)
    nameless = [name for name in frame.columns if str(name).startswith("Unnamed: ")]
    return frame.drop(columns=[name for name in nameless if frame[name].isna().all()])


class _Record(NamedTuple):
    """The last line of a row, its number of values, and that up to the last which is not empty."""

    line: int
    size: int
    n_filled: int


def _records(text: str, sep: str) -> list[_Record]:
    """Return the records of a text, without empty lines; the first is the header."""
    found = []
    with _limit_of_csv:
        before = csv.field_size_limit(2**31 - 1)
        try:
            lines = io.StringIO(text, newline=None)
            reader = csv.reader(lines, delimiter=sep, skipinitialspace=True)
            for row in reader:
                n_filled = next((k for k in range(len(row), 0, -1) if row[k - 1].strip()), 0)
                if len(row) > 1 or n_filled:
                    found.append(_Record(reader.line_num, len(row), n_filled))
        finally:
            csv.field_size_limit(before)
    return found


def _check_lengths(records: list[_Record], source: str, note: Note) -> None:
    """Raise ValueError where rows do not fit the header, and note rows that are short.

    Where most rows are short by the same number the header has names too many, and it is unknown
    which.
    """
    (_, _, n_names), *rows = records or [_Record(0, 0, 0)]
    longest = max((row.n_filled for row in rows), default=0)
    if longest > n_names:
        if rows[0].size > n_names:
            raise ValueError(
                f"The header of {source} has {counted(n_names, 'name')}, but its rows have "
                f"{longest} values: name every column."
            )
        line, _, n_values = next(row for row in rows if row.n_filled > n_names)
        raise ValueError(
            f"{source} cannot be read as CSV: line {line} has {n_values} values, but those before "
            f"it have {n_names}."
        )
    short = [row for row in rows if row.size < n_names]
    if not short:
        return
    usual, n_rows = Counter(row.size for row in short).most_common(1)[0]
    if 2 * n_rows > len(rows):
        raise ValueError(
            f"The header of {source} has {counted(n_names, 'name')}, but {n_rows} of its "
            f"{len(rows)} rows have {usual} values: remove the names that have no values, or write "
            "a separator for each empty cell."
        )
    have = "1 row has" if len(short) == 1 else f"{len(short)} rows have"
    note(
        f"{have} fewer values than {source} has columns (the first in line {short[0].line}): the "
        "last columns count as missing there. If another value is missing, write its separator."
    )


def _with_texts(frame: pd.DataFrame, text: str, sep: str) -> pd.DataFrame:
    """Return the frame with the text of cells where a float has forgotten what was written.

    Such as "1.410", which has three digits behind its point: in files that commas do not separate,
    and in others with decimal commas, it may be a thousand, and the table as a whole decides. And
    whole numbers beyond 2^53 beside a missing value: in floating point neighbours are the same, and
    from 2^63 on pandas takes both for text.
    """
    import pandas as pd

    floats, texts = frame.select_dtypes("float64"), frame.select_dtypes(["object", "string"])
    rounded = [name for name in floats if (floats[name].abs() >= 2**53).any()]
    grouped = [name for name in floats if _may_group_thousands(floats[name].to_numpy())]
    if sep == "," and not _QUOTED_COMMA.search(text):
        grouped = []
    missed = [name for name in texts if texts[name].isin(_MISSING).any()]
    if not (rounded or grouped or missed):
        return frame
    cells = _cells(text, sep, usecols=[*rounded, *grouped, *missed])
    for name in cells:
        written = cells[name].where(~cells[name].isin(_MISSING), None)
        column = Column(written)
        if name in missed or (name in grouped and (column.shown_sign == "," or column.in_doubt)):
            frame[name] = written
        elif name in rounded:
            with suppress(ValueError, OverflowError):  # 1e300, or more digits than 64 bits have
                whole = [None if pd.isna(cell) else int(cell) for cell in written]
                frame[name] = pd.array(whole, dtype="Int64")
    return frame


def _may_group_thousands(values: np.ndarray) -> bool:
    """Return whether floats may have been written as "1.410": at most three decimals, 1 to 999."""
    known = np.abs(values[np.isfinite(values)])
    grouped = (known >= 1.0) & (known < 1000.0) & (np.round(known, 3) == known)
    return bool((grouped | (known == 0.0)).all())
