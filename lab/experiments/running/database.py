"""SQLite files that may be locked, full, read-only or damaged, with messages that say so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path

#: What to say for SQLite's primary error codes.
_SENTENCES = {
    sqlite3.SQLITE_BUSY: (
        "{path} is in use by another process. Wait until it has ended, or write to another place."
    ),
    sqlite3.SQLITE_READONLY: (
        "{path} cannot be written: the file or its folder is read-only. Its contents are kept; "
        "change the permissions, or write to another file."
    ),
    sqlite3.SQLITE_FULL: (
        "The disk is full, so nothing more can be written to {path}. Finished work is kept: free "
        "some space, and run the same command again to continue."
    ),
    sqlite3.SQLITE_IOERR: (
        "{path} cannot be read or written ({error}): the disk may be full, failing or gone. "
        "Finished work is kept; run the same command again to continue."
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "{path} cannot be opened: the folder does not exist, or you may not use it or the file. "
        "Choose another place, or change the permissions."
    ),
    sqlite3.SQLITE_CORRUPT: (
        "{path} is damaged ({error}). Restore it from a copy, or run the protocol again into "
        "another file."
    ),
}
# Names of tables and text that are not as they were written; 0 is Python's, for text.
_SENTENCES[sqlite3.SQLITE_ERROR] = _SENTENCES[0] = _SENTENCES[sqlite3.SQLITE_CORRUPT]
_SENTENCES[sqlite3.SQLITE_LOCKED] = _SENTENCES[sqlite3.SQLITE_BUSY]
_SENTENCES[sqlite3.SQLITE_PERM] = _SENTENCES[sqlite3.SQLITE_CANTOPEN]
_OTHER = "{path} is not a file of results ({error}): choose another name."


@contextmanager
def database_errors(path: str) -> Iterator[None]:
    """Turn the errors of SQLite into a ValueError that says what is wrong and what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # The low byte is the primary code; the rest tells variants apart.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        sentence = _SENTENCES.get(code, _OTHER)
        raise ValueError(sentence.format(path=path, error=error)) from error
    except UnicodeDecodeError as error:  # of the names of tables or columns
        sentence = _SENTENCES[sqlite3.SQLITE_CORRUPT]
        raise ValueError(sentence.format(path=path, error="not UTF-8")) from error
    except (JSONDecodeError, TypeError) as error:  # of what should be text
        sentence = _SENTENCES[sqlite3.SQLITE_CORRUPT]
        raise ValueError(sentence.format(path=path, error=error)) from error


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a database without changing it."""
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    # With no such file beside it nobody is writing, and SQLite need not put one there.
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=30.0)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection
