"""Files of every format that a table comes in, read and written by the ending of their names.

The command line and the studio read the same files: :func:`read_bytes` takes the content of a file
and its name. Files that are written appear whole or not at all (:func:`replaced`).
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from absentia.optional_imports import optional_import
from absentia.tables.phrases import listed

if TYPE_CHECKING:
    import pandas as pd

fcntl: Any
try:
    import fcntl
except ImportError:  # not on Windows, where abandoned drafts stay
    fcntl = None

_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET = (".parquet", ".pq")
_ARROW = (".feather", ".arrow")
_EXCEL = (".xlsx", ".xlsm")
#: Endings of files that can be written.
WRITTEN = (*_TEXT, *_PARQUET, *_ARROW)
KNOWN = "a name that ends in .csv, .tsv, .txt (also .gz), .parquet, .feather, .arrow"
#: Rows in which a title above the header is looked for.
_TOP_ROWS = 10
#: Seconds in which a folder for a draft may not be locked yet.
_JUST_MADE = 5.0
#: A small file may unpack to any size.
_MOST_UNPACKED = 2**32
#: Cells of a sheet, most of which may be empty.
_MOST_CELLS = 50_000_000
#: More cells than memory has room for, and bytes of a cell on average: text grows twentyfold.
_UNLIMITED, _CELL_BYTES = 2**40, 8


def read_bytes(
    content: bytes,
    name: str,
    note: Callable[[str], None] = lambda text: None,
    *,
    sheet: str | None = None,
    most_cells: int = _UNLIMITED,
) -> tuple[pd.DataFrame, Callable[[], pd.DataFrame]]:
    """Return the content of a file as a pandas frame, and a function that returns its cells.

    The ending of the name is the format; CSV without an ending. ``note`` is called with sentences
    on what was read otherwise than written. The cells are the same columns as they are written:
    those of text are text, Parquet and Arrow files and dates of Excel have the values of the frame.
    A small file may unpack to gigabytes: where ``most_cells`` is given, larger tables are refused
    before they are read, as far as the file says how large they are.
    """
    from absentia.tables.files.delimited import cells_as_written, read_delimited, stripped_names

    ending = name.lower()
    if sheet is not None and not ending.endswith(_EXCEL):
        raise ValueError(f"{name} has no sheets: --sheet is for Excel files.")
    if ending.endswith((*_PARQUET, *_ARROW)):
        kind = "Parquet" if ending.endswith(_PARQUET) else "Arrow"
        frame = _read_columns(content, name, kind, most_cells)
        frame.columns = stripped_names(frame)
        return frame, lambda: frame
    if ending.endswith(_EXCEL):
        return _read_excel(content, name, note, sheet, min(most_cells, _MOST_CELLS))
    if ending.endswith(_TEXT) or "." not in ending:
        text = unpacked(content, name, min(_CELL_BYTES * most_cells, _MOST_UNPACKED))
        if refusal := _refusal(text.count(b"\n"), 1, most_cells):
            raise ValueError(f"{name} {refusal}")
        frame = read_delimited(text, name, note)
        return frame, lambda: cells_as_written(text, name, list(frame.columns))
    old = " Save it as .xlsx or .csv first." if ending.endswith((".xls", ".ods")) else ""
    raise ValueError(f"{name} is not a known kind of file; expected {KNOWN} or .xlsx.{old}")


def _refusal(n_rows: int, n_columns: int, most_cells: int, n_bytes: int = 0) -> str:
    """Return what is said of a table that is too large, nothing of others."""
    most = min(_CELL_BYTES * most_cells, _MOST_UNPACKED)
    if n_rows * n_columns > most_cells:
        return (
            f"has {n_rows:,} rows and {n_columns:,} columns or more; at most {most_cells:,} cells "
            "are read here."
        )
    return f"is larger than {most:,} bytes when unpacked." if n_bytes > most else ""


def unpacked(content: bytes, name: str, most: int = _MOST_UNPACKED) -> bytes:
    """Return the content of a file, unpacked if its name ends in ``.gz``."""
    if not name.lower().endswith(".gz"):
        return content
    parts, left, size = [], content, 0
    try:
        while left:
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
            parts.append(unpacker.decompress(left, most - size))
            size += len(parts[-1])
            if unpacker.unconsumed_tail:
                raise ValueError(f"{name} is larger than {most:,} bytes when unpacked.")
            if not unpacker.eof:
                raise zlib.error("it ends too early")
            left = unpacker.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise ValueError(f"{name} cannot be unpacked: {error}.") from error
    return b"".join(parts)


def _read_columns(content: bytes, name: str, kind: str, most_cells: int) -> pd.DataFrame:
    arrow = optional_import("pyarrow", "tables", f"A{'n' * (kind == 'Arrow')} {kind} file")
    import pandas as pd
    from pyarrow import ipc, parquet

    try:
        if kind == "Parquet":
            found = parquet.read_metadata(io.BytesIO(content))
            n_rows, n_columns, n_bytes = found.num_rows, found.num_columns, 0
        else:
            buffer = arrow.py_buffer(content)
            if content[:4] == b"FEA1":
                raise ValueError("Feather 1 is no longer read, write it again as Feather 2")
            reader = ipc.open_file(buffer)
            n_rows, n_bytes = _arrow_size(content, buffer, ipc.read_message)
            n_columns, n_bytes = len(reader.schema), n_bytes * (n_bytes > len(content))
        refusal = _refusal(n_rows, n_columns, most_cells, n_bytes)
        if not refusal and kind == "Parquet":
            return pd.read_parquet(io.BytesIO(content))
        if not refusal:
            table = reader.read_all()
            table.validate(full=True)  # or numbers of rows and places may lie outside of the memory
            return table.to_pandas()
    except Exception as error:  # pyarrow raises KeyError and others for damaged descriptions
        raise ValueError(f"{name} cannot be read as {kind}: {error}.") from error
    raise ValueError(f"{name} {refusal}")


def _arrow_size(content: bytes, buffer: Any, read_message: Callable[..., Any]) -> tuple[int, int]:
    """Return the rows of an Arrow file and its bytes when unpacked, as its descriptions say.

    The last bytes are a description (a "flatbuffer") of where dictionaries and batches of rows are;
    each has a description of its own, and begins every compressed buffer with its unpacked size.
    """
    n_rows = n_bytes = 0
    (length,) = unpack_from("<i", content, len(content) - 10)
    last = content[len(content) - 10 - length :]
    for kind in (2, 3):  # the fields with dictionaries and with batches of rows
        for block in _entries(last, _follow(last, 0), kind, 24):
            message = read_message(buffer.slice(*unpack_from("<q", last, block)))
            about, body = memoryview(message.metadata), memoryview(message.body)
            batch = _follow(about, _field(about, _follow(about, 0), 2))
            if kind == 2:
                batch = _follow(about, _field(about, batch, 1))
            elif at := _field(about, batch, 0):
                n_rows += max(0, *unpack_from("<q", about, at))
            for entry in _entries(about, batch, 2, 16):
                start, size = unpack_from("<qq", about, entry)
                if size and _field(about, batch, 3):
                    (size,) = max((size,), unpack_from("<q", body, start))
                n_bytes += size
    return n_rows, n_bytes


def _field(described: Any, table: int, number: int) -> int:
    """Return the place of a field of a table in a flatbuffer, 0 where it is left out."""
    fields = table - unpack_from("<i", described, table)[0]
    (size,) = unpack_from("<H", described, fields)
    at = 4 + 2 * number
    (place,) = unpack_from("<H", described, fields + at) if at < size else (0,)
    return table + place if place else 0


def _follow(described: Any, at: int) -> int:
    return at + int(unpack_from("<I", described, at)[0])


def _entries(described: Any, table: int, number: int, size: int) -> Iterable[int]:
    """Return the places of the entries of a list in a flatbuffer."""
    at = _field(described, table, number)
    first = _follow(described, at) if at else 0
    (n,) = unpack_from("<I", described, first) if at else (0,)
    return range(first + 4, first + 4 + n * size, size)


def _read_excel(
    content: bytes, source: str, note: Callable[[str], None], sheet: str | None, most_cells: int
) -> tuple[pd.DataFrame, Callable[[], pd.DataFrame]]:
    from absentia.tables.files.delimited import header_row, note_repeated, stripped_names

    optional_import("openpyxl", "excel", "An Excel file", "save the table as CSV")
    import pandas as pd

    how: dict[str, Any] = {"engine": "openpyxl"}
    try:
        size = sum([part.file_size for part in ZipFile(io.BytesIO(content)).infolist()])
        if size > _MOST_UNPACKED:
            raise ValueError(f"it is larger than {_MOST_UNPACKED:,} bytes when unpacked")
        with pd.ExcelFile(io.BytesIO(content), **how) as book:
            names = [str(name) for name in book.sheet_names]
            read = how["sheet_name"] = names[0] if sheet is None else sheet
            if read in names:
                _check_cells(book.book[read], most_cells)
                rows = pd.read_excel(book, sheet_name=read, header=None, nrows=_TOP_ROWS)
                texts = rows.astype(object).where(rows.notna(), "").astype(str)
                how["header"] = header_row(texts.to_numpy().tolist(), note)
                frame = pd.read_excel(book, sheet_name=read, header=how["header"], na_values=["?"])
    except Exception as error:  # openpyxl raises what the parts of a broken archive raise
        raise ValueError(f"{source} cannot be read as Excel: {error}.") from error
    if read not in names:
        raise ValueError(f"{source} has no sheet {read!r}; its sheets are {listed(names)}.")
    if not len(frame):
        first = f"The first sheet of {source}, {read!r},"
        raise ValueError(f"{first if sheet is None else f'The sheet {read!r}'} has no rows.")
    header = rows.iloc[how["header"]]
    note_repeated(header[header.notna()], frame, note)
    if sheet is None and len(names) > 1:
        note(
            f"Only the first of {len(names)} sheets was read: {read}. Use --sheet to read another: "
            f"{listed(names[1:])}."
        )
    frame.columns = stripped_names(frame)

    def cells() -> pd.DataFrame:
        written = pd.read_excel(io.BytesIO(content), dtype=object, na_filter=False, **how)
        written.columns = frame.columns
        return written.assign(**frame[list(frame.select_dtypes("datetime"))])

    return frame, cells


def _check_cells(sheet: Any, most: int) -> None:
    """Refuse a sheet with a cell so far out that the empty ones before it fill the memory."""
    sheet.reset_dimensions()  # what a file says of its size need not be so
    height = width = 0
    for row in sheet.iter_rows(values_only=True):
        height, width = height + 1, max(width, len(row))
        if height * width > most:
            raise ValueError(
                f"the sheet reaches to row {height:,} and column {width:,} or beyond, empty cells "
                f"included, and at most {most:,} cells are read; delete what lies outside of the "
                "table"
            )


def write_table(frame: pd.DataFrame, target: str | os.PathLike[str]) -> None:
    """Write a frame to a file, by the ending of its name."""
    name = Path(target).name.lower()
    with replaced(target) as draft:
        if name.endswith(_PARQUET):
            frame.to_parquet(draft, index=False)
        elif name.endswith(_ARROW):
            frame.reset_index(drop=True).to_feather(draft)
        else:
            frame.to_csv(draft, index=False, sep="\t" if ".tsv" in name[-7:] else ",")


def has_types(name: str | None) -> bool:
    """Return whether columns of a file of that name have types, and are not text."""
    return str(name).lower().endswith((*_PARQUET, *_ARROW))


@contextmanager
def _locked(folder: str | Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process; BlockingIOError if another does."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _remove_abandoned(folders: Iterable[Path]) -> None:
    """Remove the folders of drafts whose programs were killed, which hold no lock any more."""
    for folder in folders if fcntl is not None else ():
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _JUST_MADE:
                with _locked(folder):
                    shutil.rmtree(folder)


@contextmanager
def replaced(output: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a draft that takes the place of a file once it is whole.

    The draft is in a hidden folder with a unique name beside the file (the one that a symbolic link
    points to). A program that is killed while it writes leaves the file as it was, and that folder,
    which the next one that writes this file removes.
    """
    path = Path(os.path.realpath(output) if os.path.islink(output) else output)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
    if path.is_symlink():
        raise OSError(f"{path} is a symbolic link that leads to itself.")
    try:
        # Not the whole name: with eight letters behind it, it may be longer than names may be.
        prefix = f".{path.name[:40]}."
        _remove_abandoned(path.parent.glob(f"{escape(prefix)}*.draft"))
        with tempfile.TemporaryDirectory(".draft", prefix, path.parent) as folder, _locked(folder):
            draft = Path(folder) / path.name
            yield draft
            os.replace(draft, path)
    except OSError as error:
        if error.filename is None:  # a full disk does not say which file it has no room for
            error.filename = str(path)
        raise
