"""Whether the store is sound. It is only read, and nothing is left beside it."""

from __future__ import annotations

import os
import sqlite3
import stat
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
            checked = list(_checked(connection)) if version else []
            yield from checked
            if version and not any(line.blocks for line in checked):
                counted = (
                    "SELECT count(*) FILTER (WHERE kind = 'session'), count(*) FILTER (WHERE kind = 'turn') FROM log"
                )
                sessions, turns = connection.execute(counted).fetchone()
                old = "" if version == len(MIGRATIONS) else f", brought to {len(MIGRATIONS)} by the next turn"
                held = f"{count(sessions, 'session')} with {count(turns, 'turn')}"
                yield ok(f"{held}, schema version {version}{old}")
    except sqlite3.Error as error:
        damaged = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CORRUPT
        yield problem(f"the store {path} cannot be read: {error}", _MEND if damaged else _rescue(path), blocks=True)


_IDENTITY = ("application_id", "user_version")


def _checked(connection: sqlite3.Connection) -> Iterator[Line]:
    from ..store.repair import check

    try:
        found = check(connection, _CHECK_SECONDS)
    except TimeoutError:
        yield missing(f"it is too large to be checked whole in {_CHECK_SECONDS:.0f} s", f"{_MEND}, which takes longer")
        return
    if found.pages or found.skipped:
        told = "; ".join(
            [*found.pages, *[f"{count(found.skipped, 'row')} at most on unreadable pages"] * (found.skipped > 0)]
        )
        yield problem(f"the store is damaged: {told}", _MEND, blocks=True)
    else:
        yield ok("its pages and indexes are whole")
    if found.unreadable:
        yield problem(f"{count(found.unreadable, 'row')} of {found.rows:,} cannot be decoded", _MEND)
    if found.torn:
        yield problem(f"{count(found.torn, 'seal')} name rows that are lost: histories lack what they hold", _MEND)
    if found.strays:
        yield problem(f"{count(found.strays, 'row')} belong to a session or a turn that is lost", _MEND)


_MEND = "turngraph doctor --repair"


def _rescue(path: Path) -> str:
    return f"mv {path} {path}.damaged && sqlite3 {path}.damaged .recover | sqlite3 {path}"


def _beside(path: Path, suffix: str) -> int:
    try:
        return path.with_name(path.name + suffix).stat().st_size
    except OSError:
        return 0
