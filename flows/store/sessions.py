"""Sessions: found by where they were used or by their id, listed, and deleted whole."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from pydantic_ai.messages import ModelResponse

from ...nodes.errors import StoreError, UnknownSession
from ...nodes.outcome import Outcome
from .chain import last_reply
from .codec import escape, read_facts, read_messages
from .database import Database
from .journal import read_turn_body
from .records import SessionSummary
from .rows import time_of
from .schema import CHAIN, OWNERS, PLACES, SETUP, WORKDIR
from .turns import INSERT, next_id, timestamp

_HINT = "list them with `turngraph session list`"

# One look into an index each: for the newest session there, and for the newest turn of each setup there. The plus
# makes a bare value of a column, whose type would keep the index from being used.
_LATEST = f"""SELECT session FROM log WHERE id = (SELECT max(id) FROM (
    SELECT max(id) AS id FROM log WHERE {WORKDIR} = ?1 AND kind = 'session' AND {PLACES}
    UNION ALL
    SELECT (SELECT max(id) FROM log WHERE kind = 'turn' AND {SETUP} = +setup.id) AS id
        FROM log AS setup WHERE {WORKDIR} = ?1 AND kind = 'setup' AND {PLACES}))"""

# Sessions of others that refer to a row of this one; few rows can, and deleting may look at all of them.
_SHARERS = """SELECT DISTINCT sharer.name FROM log reference
    JOIN log sharer ON sharer.id = reference.session
    JOIN log referred ON referred.id IN (
        json_extract(reference.facts, '$.after'), json_extract(reference.facts, '$.prompt'),
        json_extract(reference.facts, '$.origin.visit'))
    WHERE reference.kind IN ('branch', 'turn') AND reference.session != ?1 AND referred.session = ?1
    ORDER BY sharer.id"""

_UNUSED_SETUPS = f"""DELETE FROM log WHERE kind = 'setup' AND name IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM log AS turn WHERE turn.kind = 'turn' AND {SETUP.replace("facts", "turn.facts")} = +log.id)"""


def latest_session(database: Database, workdir: str) -> str | None:
    row = database.row(_LATEST, escape(workdir))
    return None if row is None else _name(database, row[0])


def find_session(database: Database, prefix: str) -> str:
    """See `Store.find_session`."""
    if not re.fullmatch("[0-9a-f]{4,12}", prefix):
        raise UnknownSession(f"{prefix!r} is no session id: give its first 4 to 12 hex digits; {_HINT}")
    sql = "SELECT name FROM log WHERE kind = 'session' AND name >= ? AND name < ? LIMIT 2"
    found = database.rows(sql, prefix, prefix + "g")
    if not found:
        raise UnknownSession(f"no session begins with {prefix}; {_HINT}")
    if len(found) > 1:
        raise UnknownSession(f"several sessions begin with {prefix}; give more of its id, or {_HINT}")
    return found[0][0]


def summaries(database: Database) -> list[SessionSummary]:
    """All sessions, the one used last first."""
    created = database.rows("SELECT id, name, at, facts FROM log WHERE kind = 'session' AND name IS NOT NULL")
    found = [_summary(database, *row) for row in created]
    return sorted(found, key=lambda summary: summary.last_used_at, reverse=True)


def _summary(database: Database, session: int, name: str, at: int, facts: str) -> SessionSummary:
    turns = [
        row
        for (row,) in database.rows(
            f"SELECT id FROM log WHERE session = ? AND {OWNERS} AND kind = 'turn' ORDER BY id", session
        )
    ]
    last_used, outcome, prompt = at, None, None
    if turns:
        last_used = database.row("SELECT at FROM log WHERE id = ?", turns[-1])[0]
        kind, ended, end = database.row(
            "SELECT kind, at, facts FROM log WHERE turn = ? ORDER BY id DESC LIMIT 1", turns[-1]
        )
        if kind == "end":
            last_used, outcome = ended, _outcome(end)
        with suppress(StoreError):
            prompt = read_turn_body(database, turns[0]).said
    return SessionSummary(
        id=name,
        workdir=_workdir(facts),
        started_at=time_of(at),
        last_used_at=time_of(last_used),
        turns=len(turns),
        first_prompt=prompt,
        last_outcome=outcome,
        tokens=_tokens(database, session),
        forked_from=_forked_from(database, session),
    )


def _workdir(facts: str) -> str:
    try:
        return read_facts(facts)["workdir"]
    except (ValueError, TypeError, KeyError):
        return ""


def _outcome(facts: str) -> Outcome | None:
    try:
        return Outcome(read_facts(facts)["outcome"])
    except (ValueError, TypeError, KeyError):
        return None


def _tokens(database: Database, session: int) -> int | None:
    row = last_reply(database, session)
    found = None if row is None else database.row("SELECT CAST(content AS BLOB) FROM log WHERE id = ?", row)
    if found is None:
        return None
    try:
        (reply,) = read_messages([found[0] or b""])
    except ValueError:
        return None
    return reply.usage.total_tokens if isinstance(reply, ModelResponse) else None


def _forked_from(database: Database, session: int) -> str | None:
    """The session that the first row of this one branches off."""
    sql = f"SELECT kind, facts FROM log WHERE session = ? AND {CHAIN} ORDER BY id LIMIT 1"
    kind, facts = database.row(sql, session) or ("", "")
    if kind != "branch":
        return None
    try:
        after: Any = read_facts(facts)["after"]
    except (ValueError, TypeError, KeyError):
        return None
    origin = database.row("SELECT session FROM log WHERE id = ?", after)
    return None if origin is None or origin[0] == session else _name(database, origin[0])


def delete(database: Database, session: int, session_id: str) -> None:
    """See `Store.delete_session`; the caller has made sure that no turn runs, inside this transaction."""
    sharers = [name for (name,) in database.rows(_SHARERS, session)]
    if sharers:
        raise StoreError(
            f"session {session_id} shares its history with {', '.join(sharers)}, forked from it; delete them first"
        )
    # A row that stays, so that no id is ever given twice.
    database.insert(INSERT, [(next_id(database), None, None, "deleted", None, timestamp(), "{}", None)])
    database.execute("INSERT INTO deletion VALUES (?)", session)
    database.execute("DELETE FROM log WHERE session = ?", session)
    database.execute(_UNUSED_SETUPS)
    database.execute("DELETE FROM deletion")


def _name(database: Database, row: int) -> str | None:
    found = database.row("SELECT name FROM log WHERE id = ?", row)
    return None if found is None else found[0]
