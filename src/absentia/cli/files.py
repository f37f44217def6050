"""Tables from and to files: CSV, TSV and Parquet, by the ending of the name; ``-`` is a stream."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

from absentia.evaluation.datasets import read_csv

__all__ = ["read_table", "table_name", "write_table"]

_SEPARATORS = ",;\t|"
_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET_ENDINGS = (".parquet", ".pq")
_KNOWN = "a name that ends in .csv, .tsv, .txt (also .gz) or .parquet"


def read_table(source: str) -> Any:
    """Return a file as a pandas frame.

    Parameters
    ----------
    source : str
        A path, or ``-`` for CSV from the standard input.
    """
    if source == "-":
        return _parsed(sys.stdin.buffer.read(), "the standard input")
    path = Path(source)
    if path.is_dir():
        raise ValueError(f"{source} is a folder; give the file inside it.")
    if not path.is_file():
        raise ValueError(f"There is no file {source}.")
    name = path.name.lower()
    if name.endswith(_PARQUET_ENDINGS):
        return _read_parquet(path)
    if not name.endswith(_TEXT_ENDINGS):
        raise ValueError(f"{source} is of no kind that is known; expected {_KNOWN}.")
    content = path.read_bytes()
    if name.endswith(".gz"):
        import gzip

        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise ValueError(f"{source} cannot be unpacked: {error}.") from error
    return _parsed(content, source)


def write_table(frame: Any, target: str | None) -> None:
    """Write a frame to a file, or as CSV to the standard output (None or ``-``)."""
    if target is None or target == "-":
        frame.to_csv(sys.stdout, index=False)
        return
    name = Path(target).name.lower()
    if name.endswith(_PARQUET_ENDINGS):
        frame.to_parquet(target, index=False)
    elif name.endswith((".tsv", ".tsv.gz")):
        frame.to_csv(target, index=False, sep="\t")
    elif name.endswith(_TEXT_ENDINGS):
        frame.to_csv(target, index=False)
    else:
        raise ValueError(f"{target} is of no kind that is known; expected {_KNOWN}.")


def table_name(source: str) -> str:
    """Return a short name for a table: that of its file, without the ending."""
    return "table" if source == "-" else Path(source).name.split(".")[0]


def _parsed(content: bytes, source: str) -> Any:
    import pandas as pd

    if not content.strip():
        raise ValueError(f"{source} is empty.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    header = text.lstrip().split("\n", 1)[0]
    separator = max(_SEPARATORS, key=header.count)
    try:
        frame = read_csv(io.StringIO(text), sep=separator)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{source} cannot be read as CSV: {str(error).strip()}.") from error
    if not len(frame):
        raise ValueError(f"{source} has a header and no rows.")
    return frame


def _read_parquet(path: Path) -> Any:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'absentia[tables]'.") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}.") from error
