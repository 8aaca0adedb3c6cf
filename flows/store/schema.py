"""The tables, and the steps that lead from each version of them to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

APPLICATION_ID = 0x7475726E  # "turn", what `file` and `_version` tell our files by

OWNERS = "kind IN ('turn', 'resume')"
"""The rows that took a session; the newest owns it. An index holds them: say it in these words."""

CHAIN = "kind IN ('seal', 'external', 'prune', 'compact', 'branch')"
"""The rows that a session's history is read from. An index holds them: say it in these words."""

PLACES = "kind IN ('session', 'setup')"
"""The rows that name a working directory. An index holds them: say it in these words."""

OUTSIDE = "kind = 'external'"
"""The rows of messages from outside. An index holds them: say it in these words."""

WORKDIR = "json_extract(facts, '$.workdir')"
SETUP = "json_extract(facts, '$.setup')"

_VERSION_1 = (
    """CREATE TABLE log (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        turn TEXT,
        iteration INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT""",
    """CREATE TRIGGER log_never_updated BEFORE UPDATE ON log
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
    """CREATE TRIGGER log_never_deleted BEFORE DELETE ON log
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
)

_VERSION_2 = (
    """CREATE TABLE log (
        id INTEGER PRIMARY KEY,
        session INTEGER,
        turn INTEGER,
        iteration INTEGER NOT NULL,
        kind TEXT NOT NULL,
        name TEXT,
        at INTEGER NOT NULL,
        facts TEXT NOT NULL,
        content TEXT
    ) STRICT""",
    "CREATE INDEX log_name ON log (kind, name) WHERE name IS NOT NULL",
    "CREATE INDEX log_turn ON log (turn) WHERE turn IS NOT NULL",
    f"CREATE INDEX log_owner ON log (session) WHERE {OWNERS}",
    f"CREATE INDEX log_chain ON log (session) WHERE {CHAIN}",
    f"CREATE INDEX log_outside ON log (session) WHERE {OUTSIDE}",
    f"CREATE INDEX log_workdir ON log ({WORKDIR}, kind) WHERE {PLACES}",
    f"CREATE INDEX log_setup ON log ({SETUP}) WHERE kind = 'turn'",
    # What is being deleted right now: empty but for the transaction that deletes a session.
    "CREATE TABLE deletion (session INTEGER) STRICT",
    """CREATE TRIGGER log_never_updated BEFORE UPDATE ON log
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
    """CREATE TRIGGER log_never_deleted BEFORE DELETE ON log
        WHEN NOT EXISTS (SELECT 1 FROM deletion WHERE session = OLD.session OR OLD.kind = 'setup')
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
)


def _create(connection: sqlite3.Connection) -> None:
    for statement in _VERSION_1:
        connection.execute(statement)


def _one_log_by_rows(connection: sqlite3.Connection) -> None:
    """Version 2: sessions and turns are told by the ids of their rows, and each fact is stored once."""
    from .version_1 import rows

    connection.execute("DROP TRIGGER IF EXISTS log_never_updated")
    connection.execute("DROP TRIGGER IF EXISTS log_never_deleted")
    connection.execute("DROP INDEX IF EXISTS log_session")
    connection.execute("DROP INDEX IF EXISTS log_turn")
    connection.execute("DROP INDEX IF EXISTS log_workdir")
    connection.execute("ALTER TABLE log RENAME TO log_1")
    for statement in _VERSION_2:
        connection.execute(statement)
    connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows(connection, "log_1"))
    connection.execute("DROP TABLE log_1")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create, _one_log_by_rows)
"""A store of version n has had the first n applied."""
