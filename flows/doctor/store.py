"""Whether the store is healthy. It is only read, and nothing is left beside it."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ...tools.wording import count
from .report import Line, missing, ok, problem

if TYPE_CHECKING:
    from ..settings import Resolved

_CHECK_SECONDS = 10.0
_ELSEWHERE = "export TURNGRAPH_STORE=PATH, to keep turns in another file"


def lines(found: Callable[[], Resolved | None]) -> Iterator[Line]:
    resolved = found()
    if resolved is None:
        yield missing("where the store lies is not known while the settings are wrong")
        return
    path = resolved.settings.store
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        yield from _absent(path)
        return
    except OSError as error:
        yield problem(f"the store {path} cannot be looked at: {error.strerror}", _ELSEWHERE, blocks=True)
        return
    if not stat.S_ISREG(status.st_mode) or not os.access(path, os.R_OK | os.W_OK):
        yield problem(f"the store {path} is no file that you may read and write", _ELSEWHERE, blocks=True)
        return
    log = _beside(path, "-wal")
    yield ok(f"the store {path} has {status.st_size + log:,} bytes")
    if status.st_mode & 0o077:
        yield problem(f"others may read the store (mode {status.st_mode & 0o777:o})", f"chmod 600 {path}")
    yield from _contents(path, log)


def _absent(path: Path) -> Iterator[Line]:
    nearest = next(folder for folder in path.absolute().parents if folder.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        yield ok(f"there is no store yet; the first turn creates {path}")
    else:
        yield problem(f"the store {path} cannot be created in {nearest}", _ELSEWHERE, blocks=True)


def _contents(path: Path, log: int) -> Iterator[Line]:
    from ..store.schema import APPLICATION_ID, MIGRATIONS

    # An ordinary read-only connection leaves a log and an index behind; one to an immutable file does not, and
    # misses nothing where there is no log to read.
    how = "mode=ro" if log else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=2)) as connection:
            owner, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _IDENTITY)
            if owner != APPLICATION_ID and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                yield problem(f"{path} is a database of another program", _ELSEWHERE, blocks=True)
                return
            if version > len(MIGRATIONS):
                yield problem(
                    f"the store has version {version} and this turngraph knows up to {len(MIGRATIONS)}",
                    "pip install --upgrade turngraph",
                    blocks=True,
                )
                return
            checked = _integrity(connection, path)
            yield checked
            if version and not checked.blocks:
                counted = (
                    "SELECT count(*) FILTER (WHERE kind = 'session'), count(*) FILTER (WHERE kind = 'turn') FROM log"
                )
                sessions, turns = connection.execute(counted).fetchone()
                old = "" if version == len(MIGRATIONS) else f", brought to {len(MIGRATIONS)} by the next turn"
                held = f"{count(sessions, 'session')} with {count(turns, 'turn')}"
                yield ok(f"{held}, schema version {version}{old}")
    except sqlite3.Error as error:
        yield problem(f"the store {path} cannot be read: {error}", _rescue(path), blocks=True)


_IDENTITY = ("application_id", "user_version")


def _integrity(connection: sqlite3.Connection, path: Path) -> Line:
    deadline = time.monotonic() + _CHECK_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
    try:
        found = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return missing(f"it is too large to be checked whole in {_CHECK_SECONDS:.0f} s", f"sqlite3 {path} .selftest")
    finally:
        connection.set_progress_handler(None, 0)
    if found == ["ok"]:
        return ok("its pages and indexes are whole")
    return problem(
        f"the store is damaged: {'; '.join(' '.join(one.split()) for one in found)}", _rescue(path), blocks=True
    )


def _rescue(path: Path) -> str:
    return f"mv {path} {path}.damaged && sqlite3 {path}.damaged .recover | sqlite3 {path}"


def _beside(path: Path, suffix: str) -> int:
    try:
        return path.with_name(path.name + suffix).stat().st_size
    except OSError:
        return 0
