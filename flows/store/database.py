"""The SQLite file: created private, migrated under a lock, and every failure told in one sentence."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ...nodes.errors import StoreError
from .schema import APPLICATION_ID, MIGRATIONS

BUSY_TIMEOUT_MS = 10_000
PAGE_BYTES = 1024  # a row is small, and each that is written rewrites whole pages
PAGES_BEFORE_CHECKPOINT = 4000
_MAPPED_BYTES = 2**30


class Database:
    """One connection in autocommit mode, for all threads of a process; its failures are `StoreError`s."""

    def __init__(self, path: Path | None) -> None:
        self.name = "in memory" if path is None else str(path)
        self._lock = threading.RLock()
        with self._explained():
            self.identity = f"memory:{id(self)}" if path is None else os.path.realpath(path)
            if path is not None:
                _create_private(path)
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=BUSY_TIMEOUT_MS / 1000,
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection.text_factory = _text
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        with self._lock, self._explained():
            self._connection.close()

    def rows(self, sql: str, *parameters: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, *parameters: Any) -> Any:
        """The first row, or `None`."""
        with self._lock, self._explained():
            return self._connection.execute(sql, parameters).fetchone()

    def some(self, sql: str, *parameters: Any, most: int) -> list[Any]:
        """The first rows, until the last columns of them, which are bytes or `None`, add up to so many bytes."""
        found: list[Any] = []
        size = 0
        with self._lock, self._explained():
            for row in self._connection.execute(sql, parameters):
                found.append(row)
                size += len(row[-1] or b"")
                if size >= most:
                    break
        return found

    def execute(self, sql: str, *parameters: Any) -> None:
        with self._lock, self._explained():
            self._connection.execute(sql, parameters)

    def insert(self, sql: str, rows: Sequence[Sequence[Any]], *, durable: bool = False) -> int | None:
        """Insert rows, all or none, and return the id of the last; `None` when the statement inserted none.

        Committed when it returns: safe from a killed process always, from power loss only if `durable`, which
        makes SQLite sync the write-ahead log, and with it every earlier row, to the disk.
        """
        with self._lock, self._explained():
            if durable:
                self._connection.execute("PRAGMA synchronous = FULL")
            try:
                if len(rows) == 1:
                    return self._insert(sql, rows[0])
                with self.transaction():
                    return [self._insert(sql, row) for row in rows][-1]
            finally:
                if durable:
                    self._connection.execute("PRAGMA synchronous = NORMAL")

    def _insert(self, sql: str, row: Sequence[Any]) -> int | None:
        cursor = self._connection.execute(sql, row)
        return cursor.lastrowid if cursor.rowcount else None

    @contextmanager
    def mapped(self) -> Generator[None]:
        """What is read inside comes from the file's pages in memory, which saves a system call for each.

        Only for long reads: a disk that fails then ends the process, as it does where that runs its own code from it.
        """
        self.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        try:
            yield
        finally:
            self.execute("PRAGMA mmap_size = 0")

    @contextmanager
    def transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Generator[None]:
        """Everything inside commits together or not at all; no other process writes meanwhile.

        With `DEFERRED` others may write, but what is read inside is of one moment.
        """
        with self._lock:
            with self._explained():
                self._connection.execute(f"BEGIN {kind}")
            try:
                yield
                with self._explained():
                    self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # some errors have rolled back already; the first one is the news
                    self._connection.execute("ROLLBACK")
                raise

    def _prepare(self) -> None:
        with self.transaction("DEFERRED"):
            version = self._version()  # before anything is written: the file may be someone else's
        if version == 0:
            self._connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        if self.row("PRAGMA journal_mode")[0] not in ("wal", "memory"):
            mode = self._write_ahead()
            if mode != "wal":
                raise StoreError(f"the store {self.name} is on a file system without shared memory; use a local disk")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_BEFORE_CHECKPOINT}")
        if version == len(MIGRATIONS):
            return
        with self.transaction():
            for number, migrate in enumerate(MIGRATIONS[self._version() :], self._version() + 1):
                migrate(self._connection)
                self._connection.execute(f"PRAGMA user_version = {number}")
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _write_ahead(self) -> str:
        """Switch to the write-ahead log; SQLite does not wait by itself for another process that does the same."""
        deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        while True:
            try:
                return self._connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _version(self) -> int:
        """The file's schema version, 0 for an empty one."""
        owner, version = self.row("PRAGMA application_id")[0], self.row("PRAGMA user_version")[0]
        if owner != APPLICATION_ID and self.row("SELECT count(*) FROM sqlite_schema")[0]:
            raise StoreError(f"{self.name} is a database of another program; name another file for the store")
        if version > len(MIGRATIONS):
            raise StoreError(
                f"the store {self.name} has version {version}, of a newer turngraph, and this one knows "
                f"up to {len(MIGRATIONS)}; upgrade turngraph or name another file for the store"
            )
        return version

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            raise StoreError(_explain(error, self.name)) from error


# Text of a damaged file comes back too: what it means is checked where it is decoded.
_text = partial(str, encoding="utf-8", errors="replace")


def _create_private(path: Path) -> None:
    """Create the file, and the directories it lacks, for the user alone, whatever the umask."""
    for directory in reversed([parent for parent in path.absolute().parents if not parent.exists()]):
        with suppress(FileExistsError):
            directory.mkdir(0o700)
            directory.chmod(0o700)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)


_REASONS = {
    sqlite3.SQLITE_BUSY: "is busy: another process kept it for more than 10 seconds; run the command again",
    sqlite3.SQLITE_LOCKED: "is busy: another process kept it for more than 10 seconds; run the command again",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full; free some space and run the command again",
    sqlite3.SQLITE_READONLY: "is read-only; make the file and its directory writable, or name another file",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that it is a readable file in a writable directory",
    sqlite3.SQLITE_PERM: "cannot be opened; check that it is a readable file in a writable directory",
    sqlite3.SQLITE_NOTADB: "is not a turngraph store; name another file for the store",
    sqlite3.SQLITE_CORRUPT: "is damaged; move it away, and rescue what it holds with sqlite3's .recover",
    sqlite3.SQLITE_IOERR: "cannot be read or written, the disk failed; check the disk and its free space",
}


def _explain(error: sqlite3.Error | OSError | ValueError, name: str) -> str:
    if isinstance(error, OSError):
        return f"the store {name} cannot be opened ({error.strerror}); check its path and permissions"
    if isinstance(error, ValueError):
        return f"the store {name!r} cannot take a name or path that is no plain text ({error}); give another"
    if isinstance(error, sqlite3.ProgrammingError):
        return f"the store {name} is closed; open it again ({error})"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    reason = _REASONS.get(code, "failed; run the command again, and report it if it happens again")
    return f"the store {name} {reason} ({error})"
