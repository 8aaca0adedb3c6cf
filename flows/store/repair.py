"""A sound file in the place of a damaged store.

It holds all that can be read of it. The damaged file is kept beside it, so nothing that could still be rescued is lost.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ...nodes.errors import StoreError
from .codec import write_facts
from .database import PAGE_BYTES
from .salvage import Findings, Reading, stop_at
from .schema import APPLICATION_ID, MIGRATIONS
from .writer import timestamp

_ID = re.compile("[0-9a-f]{12}")
_HEADER = struct.Struct(">16sH6xII36xI20xI")
"""Of an SQLite file: what it is, the size of a page, its last change, its pages, whose it is, that change again."""
_LARGEST = 2**40
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@dataclass(frozen=True)
class Repaired:
    """What was done: `kept` rows are in the new file, the old one is `damaged` now, and `found` was wrong with it.

    `sessions` are the ids of those whose own rows were lost, and with them where they were used.
    """

    found: Findings
    kept: int
    damaged: Path
    sessions: Sequence[str] = ()


def check(connection: sqlite3.Connection, seconds: float | None = None) -> Findings:
    """Read a whole store, as it is at one moment, and tell what is wrong with it; nothing is changed.

    Raises:
        TimeoutError: it takes longer than so many seconds.
        sqlite3.Error: nothing can be read.
    """
    connection.execute("BEGIN")
    try:
        return Reading(connection, seconds).findings
    finally:
        connection.execute("ROLLBACK")


def repair(path: Path) -> Repaired | None:
    """Put a sound file in the place of a store that is not; `None` for one that is.

    Raises:
        StoreError: it is in use, of a newer turngraph or of another program, or nothing of it can be read.
    """
    made = path.with_name(f".{path.name}.{secrets.token_hex(4)}.repaired")
    try:
        _fill_up(path)
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)) as old:
            version = _version(old, path)
            if check(old).sound:
                return None
            _hold_alone(old, path)
            reading = Reading(old)
            if not reading.findings.rows:
                raise _hopeless(path, "no row of it can be read")
            sessions = _copy(reading, made, version)
        return Repaired(reading.findings, reading.kept, _exchange(path, made), sessions)
    except sqlite3.Error as error:
        raise _hopeless(path, str(error)) from error
    except OSError as error:
        raise StoreError(f"the store {path} could not be repaired: {error.strerror}; it is as it was") from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            made.with_name(made.name + suffix).unlink(missing_ok=True)


def _hopeless(path: Path, why: str) -> StoreError:
    return StoreError(
        f"the store {path} could not be repaired: {why}; it is as it was, and sqlite3's .recover may rescue some of it"
    )


def _fill_up(path: Path) -> None:
    """Add empty pages to a file that broke off: SQLite would refuse all of it for those that are missing."""
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size or path.with_name(f"{path.name}-wal").exists():
        return
    magic, page_size, changed, pages, owner, counted = _HEADER.unpack(head)
    wanted = pages * (page_size if page_size > 1 else 65536)
    ours = magic == b"SQLite format 3\0" and owner == APPLICATION_ID
    if ours and changed == counted and path.stat().st_size < wanted < _LARGEST:
        os.truncate(path, wanted)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    owner, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if owner != APPLICATION_ID or not version:
        raise StoreError(f"{path} is a database of another program, so there is nothing to repair; name another file")
    if version > len(MIGRATIONS):
        raise StoreError(f"the store {path} has version {version}, of a newer turngraph; repair it with that one")
    return version


def _hold_alone(connection: sqlite3.Connection, path: Path) -> None:
    """Let no other process write from now on; one that has the file open is in the way."""
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _IN_USE:
            raise StoreError(f"the store {path} is in use; end all other turngraphs, then repair it") from error
        stop_at(error)  # who cannot read it cannot write to it


def _copy(reading: Reading, made: Path, version: int) -> list[str]:
    """Write a new file with all that is whole; the ids of the sessions that had lost their own rows."""
    os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(made, isolation_level=None)) as new:
        new.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        new.execute("BEGIN")
        for migrate in MIGRATIONS[:version]:
            migrate(new)
        insert = f"INSERT INTO log ({', '.join(reading.columns)}) VALUES ({', '.join('?' * len(reading.columns))})"
        names: list[str] = []
        for session, name in sorted(reading.lost_sessions.items()):
            names.append(name if name and _ID.fullmatch(name) else secrets.token_hex(6))
            facts = write_facts({"workdir": ""})
            new.execute(insert, (session, session, None, 0, "session", names[-1], timestamp(), facts, None))
        new.executemany(insert, reading.rows())
        new.execute(f"PRAGMA user_version = {version}")
        new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        new.execute("COMMIT")
    return names


def _exchange(path: Path, made: Path) -> Path:
    """Give the new file the store's name, and the old one, with its log of writes, a name beside it."""
    damaged = path.with_name(f"{path.name}.damaged-{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}")
    for suffix in ("", "-wal"):
        old, kept = path.with_name(path.name + suffix), damaged.with_name(damaged.name + suffix)
        if old.exists():
            try:
                os.link(old, kept)
            except OSError:  # a file system without links
                shutil.copy2(old, kept)
    # A log of writes left there would be taken for the new file's.
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    made.replace(path)
    return damaged
