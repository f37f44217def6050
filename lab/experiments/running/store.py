"""Results that are never lost: one SQLite file, written cell by cell.

Each finished cell is one transaction, on the disk before the next is awaited: a run that is killed
at any moment, also by the operating system, loses only the cells that were under way. The same
file takes further runs, other protocols and other sizes; nothing is ever overwritten by a result
of another seed or size.
"""

from __future__ import annotations

import json
import platform
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lab.experiments.running.cells import CellResult, Context
from lab.experiments.running.database import database_errors, open_to_read

if TYPE_CHECKING:
    import pandas as pd

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY,
    started TEXT NOT NULL,
    protocol TEXT NOT NULL,
    size TEXT NOT NULL,
    seed INTEGER NOT NULL,
    settings TEXT NOT NULL,
    versions TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS cells (
    protocol TEXT NOT NULL,
    size TEXT NOT NULL,
    seed INTEGER NOT NULL,
    key TEXT NOT NULL,
    dataset TEXT NOT NULL,
    variant TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    rate REAL NOT NULL,
    sample INTEGER NOT NULL,
    fold INTEGER NOT NULL,
    method TEXT NOT NULL,
    run INTEGER NOT NULL REFERENCES runs(run),
    finished TEXT NOT NULL,
    seconds REAL NOT NULL,
    facts TEXT NOT NULL,
    error TEXT NOT NULL,
    traceback TEXT NOT NULL,
    PRIMARY KEY (protocol, size, seed, key)
);
CREATE TABLE IF NOT EXISTS scores (
    protocol TEXT NOT NULL,
    size TEXT NOT NULL,
    seed INTEGER NOT NULL,
    key TEXT NOT NULL,
    rate REAL NOT NULL,
    metric TEXT NOT NULL,
    value REAL,
    PRIMARY KEY (protocol, size, seed, key, rate, metric)
) WITHOUT ROWID;
"""
#: Marks a file as ours ("abse"), so that no other database is written into by mistake.
_APPLICATION_ID = 0x61627365
#: In the settings of a run: whether its data sets had to be the recorded ones.
VERIFIED = "verified"
_PACKAGES = ("absentia", "numpy", "scipy", "scikit-learn", "numba", "pandas", "scikit-posthocs")


class Results:
    """A file of results.

    Parameters
    ----------
    path : path
        Made where it does not exist. ``":memory:"`` keeps the results in memory.
    read_only : bool, default=False
        Change nothing, and require no write permission: for reports.

    Examples
    --------
    >>> from lab.experiments.running.cells import Cell, CellResult, Context, Score
    >>> results = Results(":memory:")
    >>> run = results.start_run("toy", Context(size="smoke"))
    >>> cell = Cell("toy", "iris", "mean", "mcar", 0.3)
    >>> results.add(
    ...     run, Context(size="smoke"), CellResult(cell, 0.1, (Score("accuracy", 0.9, 0.3),))
    ... )
    >>> results.finished("toy", Context(size="smoke")) == {cell.key}
    True
    """

    def __init__(self, path: str | Path, *, read_only: bool = False):
        self.path = str(path)
        with database_errors(self.path):
            self._connection = (
                open_to_read(Path(path)) if read_only else sqlite3.connect(self.path, timeout=30.0)
            )
        try:
            with database_errors(self.path):
                self._check_ours()
                if not read_only:
                    self._prepare()
        except ValueError:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        # FULL: a result counts as written only once it is on the disk.
        self._connection.execute("PRAGMA synchronous = FULL")
        # At once: tables without the mark would be taken for a database of something else.
        self._connection.executescript(
            f"BEGIN IMMEDIATE; PRAGMA application_id = {_APPLICATION_ID}; {_SCHEMA} COMMIT;"
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all or nothing, and say in a sentence why it could not be written."""
        with database_errors(self.path), self._connection:
            yield self._connection

    def _check_ours(self) -> None:
        (mark,) = self._connection.execute("PRAGMA application_id").fetchone()
        (n_tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if n_tables and mark != _APPLICATION_ID:
            raise ValueError(f"{self.path} is a database of another program: choose another name.")

    def start_run(
        self, protocol: str, context: Context, settings: dict[str, Any] | None = None
    ) -> int:
        """Record that a run begins, and return its number."""
        with self._transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO runs (started, protocol, size, seed, settings, versions) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    _now(),
                    protocol,
                    context.size,
                    context.seed,
                    json.dumps(settings or {}),
                    json.dumps(versions()),
                ),
            )
        run = cursor.lastrowid
        assert run is not None
        return run

    def add(self, run: int, context: Context, result: CellResult) -> None:
        """Write one finished cell, in one transaction. An earlier failure of it is replaced."""
        cell = result.cell
        identity = (cell.protocol, context.size, context.seed, cell.key)
        with self._transaction() as connection:
            for table in ("scores", "cells"):
                connection.execute(
                    f"DELETE FROM {table} WHERE protocol = ? AND size = ? AND seed = ? AND key = ?",
                    identity,
                )
            connection.execute(
                "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *identity,
                    cell.dataset,
                    cell.variant,
                    cell.mechanism,
                    cell.rate,
                    cell.sample,
                    cell.fold,
                    cell.method,
                    run,
                    _now(),
                    result.seconds,
                    json.dumps(result.facts, default=str),
                    result.error,
                    result.traceback,
                ),
            )
            connection.executemany(
                "INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(*identity, s.rate, s.metric, float(s.value)) for s in result.scores],
            )

    def finished(self, protocol: str, context: Context, *, failed_too: bool = False) -> set[str]:
        """Return the keys of the cells that need not be run again.

        Where data sets must be the recorded ones, cells of runs that took any are run again.
        """
        with database_errors(self.path):
            rows = self._connection.execute(
                "SELECT key, runs.settings FROM cells JOIN runs USING (run) "
                "WHERE cells.protocol = ? AND cells.size = ? AND cells.seed = ?"
                + ("" if failed_too else " AND error = ''"),
                (protocol, context.size, context.seed),
            )
            return {
                key
                for key, settings in rows
                if not context.verify or json.loads(settings).get(VERIFIED, True)
            }

    def protocols(self) -> list[tuple[str, str, int, int]]:
        """Return protocol, size, seed and number of cells of what the file holds, latest last."""
        with database_errors(self.path):
            return list(
                self._connection.execute(
                    "SELECT protocol, size, seed, count(*) FROM cells "
                    "GROUP BY protocol, size, seed ORDER BY max(finished)"
                )
            )

    def runs(self, protocol: str, size: str, seed: int) -> list[dict[str, Any]]:
        """Return the runs that a result was put together from, with settings and versions."""
        query = (
            "SELECT runs.run, started, settings, versions, count(cells.key), sum(cells.seconds), "
            "max(cells.finished) FROM runs LEFT JOIN cells ON cells.run = runs.run "
            "WHERE runs.protocol = ? AND runs.size = ? AND runs.seed = ? "
            "GROUP BY runs.run ORDER BY runs.run"
        )
        names = ("run", "started", "settings", "versions", "cells", "seconds", "finished")
        with database_errors(self.path):
            rows = self._connection.execute(query, (protocol, size, seed))
            runs = [dict(zip(names, row, strict=True)) for row in rows]
            for run in runs:
                run["settings"] = json.loads(run["settings"])
                run["versions"] = json.loads(run["versions"])
        return runs

    def scores(self, protocol: str, size: str, seed: int) -> pd.DataFrame:
        """Return a pandas frame with one row per score."""
        return self._frame(
            "SELECT cells.dataset, cells.variant, cells.mechanism, scores.rate, cells.sample, "
            "cells.fold, cells.method, scores.metric, scores.value FROM scores "
            "JOIN cells USING (protocol, size, seed, key) "
            "WHERE protocol = ? AND size = ? AND seed = ?",
            (protocol, size, seed),
        )

    def cells(self, protocol: str, size: str, seed: int) -> pd.DataFrame:
        """Return a pandas frame with one row per cell: its time, facts and error."""
        frame = self._frame(
            "SELECT dataset, variant, mechanism, rate, sample, fold, method, seconds, facts, error "
            "FROM cells WHERE protocol = ? AND size = ? AND seed = ?",
            (protocol, size, seed),
        )
        frame["facts"] = [json.loads(text) for text in frame["facts"]]
        return frame

    def _frame(self, query: str, parameters: Iterable[Any]) -> pd.DataFrame:
        import pandas as pd

        with database_errors(self.path):
            cursor = self._connection.execute(query, tuple(parameters))
            # SQLite finds names in any case, and returns them as a damaged file may spell them.
            names = [column[0].lower() for column in cursor.description]
            return pd.DataFrame(cursor.fetchall(), columns=names)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Results:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
