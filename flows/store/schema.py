"""The tables, as migrations: a store of version n has had the first n applied."""

APPLICATION_ID = 0x7475726E  # "turn", what `file` and `_version` tell our files by

WORKDIR = "coalesce(json_extract(body, '$.workdir'), json_extract(body, '$.head.workdir'))"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE log (
            id INTEGER PRIMARY KEY,
            session TEXT NOT NULL,
            turn TEXT,
            iteration INTEGER NOT NULL,
            kind TEXT NOT NULL,
            at TEXT NOT NULL,
            body TEXT NOT NULL
        ) STRICT""",
        "CREATE INDEX log_session ON log (kind, session)",
        "CREATE INDEX log_turn ON log (turn, kind) WHERE turn IS NOT NULL",
        f"CREATE INDEX log_workdir ON log ({WORKDIR}) WHERE kind IN ('session', 'turn')",
        """CREATE TRIGGER log_never_updated BEFORE UPDATE ON log
            BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
        """CREATE TRIGGER log_never_deleted BEFORE DELETE ON log
            BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
    ),
)
