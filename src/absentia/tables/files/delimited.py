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
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.engine.threads import hold_during_forks
from absentia.hidden_warnings import hidden_warnings
from absentia.optional_imports import optional_import
from absentia.tables.columns.column import Column
from absentia.tables.columns.guesses import SEPARATOR
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
_TOO_LONG = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
#: A cell that may have a decimal comma, where commas separate the cells.
_QUOTED_COMMA = re.compile(r'"[^",\n]*\d,\d[^",\n]*"')
#: Missing values of pandas, and the question mark of old data sets.
_MISSING = (
    *("", "?", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>"),
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"),
)
#: Warnings go to the thread that began to record them last, so one thread reads at a time.
_recording = RLock()
hold_during_forks(_recording)


def read_delimited(content: bytes, source: str, note: Note = lambda text: None) -> pd.DataFrame:
    """Read the bytes of a delimited text, whatever its encoding and its separator.

    Parameters
    ----------
    content : bytes
        UTF-8, UTF-16 or UTF-32 with a byte order mark, UTF-8 or Latin-1 without. A first line
        ``sep=;``, as Excel reads it, names the separator; otherwise it is the commonest of comma,
        semicolon, tab and bar in the header (in a tie the one that fits the lines below).
    source : str
        Its name in messages.
    note : callable
        Called with a sentence about names that come more than once, about rows with fewer values
        than there are names, and about a first row that may be a title.

    Returns
    -------
    pandas.DataFrame
        Names of columns have no blanks around them. ``attrs["separator"]`` is the separator of the
        values: a semicolon is evidence of decimal commas, where columns show none.

    Examples
    --------
    >>> from absentia.tables.files.delimited import read_delimited
    >>> read_delimited("sep=;\\na;b\\n1;2,5\\n".encode("utf-16"), "my.csv").to_dict("list")
    {'a': [1], 'b': ['2,5']}
    """
    text, separator = _text_of(content, source)
    title = title_of(_first_rows(text))
    try:
        frame = read_csv(text, source=source, sep=separator, note=note)
    except ValueError as error:
        if not title:
            raise
        advice = f"If its first row, {title!r}, is a title, remove it."
        raise ValueError(f"{error} {advice}") from error
    note_title(title, note)
    if not len(frame):
        raise ValueError(f"{source} has a header but no rows.")
    if not frame.shape[1]:
        raise ValueError(f"{source} contains only separators: no column names and no values.")
    note_repeated(_records(text, separator, 0)[0], frame, note)
    frame = _with_doubtful_points(frame, text, separator)
    frame.columns = stripped_names(frame)
    frame.attrs[SEPARATOR] = separator
    return frame


def cells_as_written(content: bytes, source: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of what :func:`read_delimited` reads, with the text of each cell.

    For writing them again: a number that is read may have lost digits or zeros, and the words
    ``NA`` and ``None`` are read as missing.

    Examples
    --------
    >>> from absentia.tables.files.delimited import cells_as_written
    >>> cells_as_written(b"zip,n\\n00123,NA\\n,1.10\\n", "my.csv", ["zip", "n"]).to_dict("list")
    {'zip': ['00123', ''], 'n': ['NA', '1.10']}
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


def title_of(rows: Sequence[Sequence[str]]) -> str:
    """Return a possible title above the header: the only cell of a row above a row of several.

    Examples
    --------
    >>> title_of([["Report of plant 7", ""], ["", ""], ["x", "y"]])
    'Report of plant 7'
    >>> title_of([["", "x"], ["0", "1.5"]])  # the names of rows have none
    ''
    """
    places = [[k for k, cell in enumerate(row) if cell.strip()] for row in rows]
    nothing: list[int] = []
    above, below, *_ = [*(place for place in places if place), nothing, nothing]
    if len(above) != 1 or len(below) < 2 or (above[0] > 0 and len(below) == 2):
        return ""
    return next(cell.strip() for row in rows for cell in row if cell.strip())


def note_title(title: str, note: Note) -> None:
    """Note that the first row may be a title."""
    if title:
        note(f"The first row has only one cell, {title!r}: if it is a title, remove it.")


def _with_doubtful_points(frame: pd.DataFrame, text: str, separator: str) -> pd.DataFrame:
    """Return the frame with numbers such as "1.410" as they are written, if they may be thousands.

    That is in files that commas do not separate, and in others with decimal commas. A float would
    have forgotten that "1.410" has three digits behind its point: the table as a whole decides.
    """
    numbers = frame.select_dtypes("float64")
    doubtful = [name for name in numbers if _may_group_thousands(numbers[name].to_numpy())]
    if not doubtful or (separator == "," and not _QUOTED_COMMA.search(text)):
        return frame
    written = _cells(text, separator, usecols=doubtful)
    for name in doubtful:
        cells = written[name].where(frame[name].notna(), None)
        column = Column(cells)
        if column.shown_sign == "," or column.in_doubt:
            frame[name] = cells
    return frame


def _may_group_thousands(values: np.ndarray) -> bool:
    """Return whether floats may have been written as "1.410": at most three decimals, 1 to 999."""
    known = np.abs(values[np.isfinite(values)])
    grouped = (known >= 1.0) & (known < 1000.0) & (np.round(known, 3) == known)
    return bool((grouped | (known == 0.0)).all())


def _cells(text: str, separator: str, **how: Any) -> pd.DataFrame:
    """Return a delimited text with the text of each cell."""
    import pandas as pd

    how |= {"sep": separator, "skipinitialspace": True, "index_col": False}
    with _recording, hidden_warnings(category=pd.errors.ParserWarning):  # separators at the end
        return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, **how)


def _text_of(content: bytes, source: str) -> tuple[str, str]:
    """Return the text without Excel's line, and the separator."""
    text = _decoded(content, source)
    if not text.strip():
        raise ValueError(f"{source} is empty.")
    named = _EXCEL_LINE.match(text)
    if named:
        text = text[named.end() :]
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
    header, *rows = (re.sub(r'"[^"]*"', "", line) for line in lines)
    names = re.sub(r"\([^()]*\)", "", header)

    def rank(separator: str) -> tuple[int, int, int]:
        n = header.count(separator)
        return n, sum(row.count(separator) == n for row in rows), names.count(separator)

    best = max(_SEPARATORS, key=rank)
    return best if best in header else ","


def _first_lines(text: str) -> list[str]:
    return re.split(r"[\r\n]+", text, maxsplit=_FIRST_LINES)[:_FIRST_LINES]


def _first_rows(text: str) -> list[list[str]]:
    """Return the cells of the first lines, whatever separates them."""
    quoted, marks = re.compile(r'"([^"]*)"'), re.compile(f"[{_SEPARATORS}]")
    lines = _first_lines(text.lstrip("\r\n"))
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
    how: dict[str, Any] = {"sep": sep, "na_values": ["?"], "skipinitialspace": True}
    how["low_memory"] = False
    try:
        with _recording, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", pd.errors.ParserWarning)
            # Without this, pandas takes the first values of rows that are longer than the header
            # for names of rows, and moves all others.
            frame = pd.read_csv(io.StringIO(text), index_col=False, **how)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        what = str(error).strip()
        if too_long := _TOO_LONG.search(what):
            expected, line, found = too_long.groups()
            what = f"line {line} has {found} values, but those before it have {expected}"
        elif "EOF inside string" in what:  # the last row has swallowed the others
            ends = [0, 0, *(line for line, _, _ in _records(text, sep)[1])]
            what = f'a quote (") in the row that begins in line {ends[-2] + 1} is never closed'
        raise ValueError(f"{source} cannot be read as CSV: {what}.") from error
    if caught:
        moved = pd.read_csv(io.StringIO(text), **how)
        n_more = moved.index.nlevels
        if moved.reset_index().iloc[:, -n_more:].notna().any(axis=None):
            raise ValueError(
                f"The header of {source} has {counted(moved.shape[1], 'name')}, but its rows have "
                f"{moved.shape[1] + n_more} values: name every column."
            )
    n_names = _names_beside_missing(text, sep)
    if n_names:
        raise ValueError(
            f"The header of {source} has {counted(n_names, 'name')}, but its rows have "
            f"{n_names + 1} values, the last of them missing: name every column."
        )
    if len(frame) and frame.iloc[:, -1].isna().any():
        _note_short_rows(text, sep, source, note)
    frame = _with_exact_integers(frame, text, how)
    nameless = [name for name in frame.columns if str(name).startswith("Unnamed: ")]
    return frame.drop(columns=[name for name in nameless if frame[name].isna().all()])


def _with_exact_integers(frame: pd.DataFrame, text: str, how: dict[str, Any]) -> pd.DataFrame:
    """Return the frame with whole numbers beyond 2^53 as they are written.

    Beside a missing value pandas reads whole numbers as floating point, in which neighbours beyond
    2^53 are the same number: codes of 16 digits and more.
    """
    import pandas as pd

    numbers = frame.select_dtypes("float64")
    rounded = [name for name in numbers if (numbers[name].abs() >= 2**53).any()]
    # From 2^63 on pandas takes them for text beside a missing value, and that for text as well.
    texts = frame.select_dtypes(["object", "string"])
    rounded += [name for name in texts if texts[name].isin(_MISSING).any()]
    if not rounded:
        return frame
    with _recording, hidden_warnings(category=pd.errors.ParserWarning):  # separators at the end
        as_text = dict.fromkeys(rounded, str)
        written = pd.read_csv(io.StringIO(text), index_col=False, dtype=as_text, **how)
    for name in rounded:
        if name in texts:
            frame[name] = written[name]
            continue
        with suppress(ValueError, OverflowError):  # 1e300, or more digits than 64 bits have
            integers = [None if pd.isna(cell) else int(cell) for cell in written[name]]
            frame[name] = pd.array(integers, dtype="Int64")
    return frame


def _names_beside_missing(text: str, sep: str) -> int:
    """Return the number of names if rows have one value more that is written, else 0.

    pandas drops a last value without a name in silence where it is missing in all rows: an empty
    cell after the last separator, which is none, but also ``NA``.
    """
    header, first = _records(text, sep, 1)
    if len(first) < 2 or first[1][1] != len(header) + 1:
        return 0
    for _, n_values, has_last in _records(text, sep)[1][1:]:
        if n_values != len(header) + 1:
            return 0
        if has_last:
            return len(header)
    return 0


def _note_short_rows(text: str, sep: str, source: str, note: Note) -> None:
    """Note rows with fewer values than names, and the line where the first of them ends.

    Where most rows are short by the same number the header has names too many, and it is unknown
    which: a ValueError.
    """
    header, records = _records(text, sep)
    n_names = len(header)
    while n_names and not header[n_names - 1].strip():  # separators at the end
        n_names -= 1
    lacking = [(line, n_names - n_values) for line, n_values, _ in records[1:]]
    short = [line for line, n_lacking in lacking if n_lacking > 0]
    if not short:
        return
    usual, n_rows = Counter(n for _, n in lacking if n > 0).most_common(1)[0]
    if 2 * n_rows > len(lacking):
        raise ValueError(
            f"The header of {source} has {counted(n_names, 'name')}, but {n_rows} of its "
            f"{len(lacking)} rows have {n_names - usual} values: remove the names that "
            "have no values, or write a separator for each empty cell."
        )
    have = "1 row has" if len(short) == 1 else f"{len(short)} rows have"
    note(
        f"{have} fewer values than {source} has columns (the first in line {short[0]}): the last "
        "columns count as missing there. If another value is missing, write its separator."
    )


def _records(
    text: str, sep: str, most: int | None = None
) -> tuple[list[str], list[tuple[int, int, bool]]]:
    """Return the header and, of each record, its last line, its size and if its last value is.

    Empty lines are no records; ``most`` is the number of records below the header to read.
    """
    with _recording:
        before = csv.field_size_limit(2**31 - 1)
        try:
            lines = io.StringIO(text, newline=None)
            reader = csv.reader(lines, delimiter=sep, skipinitialspace=True)
            records = (row for row in reader if row and (len(row) > 1 or row[0].strip()))
            header = next(records, [])
            found = ((reader.line_num, len(row), bool(row[-1].strip())) for row in records)
            top = [(reader.line_num, len(header), True)] if header else []
            return header, top + list(islice(found, most))
        finally:
            csv.field_size_limit(before)
