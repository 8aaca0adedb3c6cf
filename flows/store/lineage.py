"""Where a session's history comes from: turns of its own, and of the sessions it branched off."""

from __future__ import annotations

from ...nodes.errors import UsageError
from .chain import links
from .database import Database
from .schema import CHAIN
from .turns import turn_row


def history_turns(database: Database, session: int) -> list[str]:
    """See `Store.history_turns`."""
    sealed = dict.fromkeys(link.turn for link in links(database, session) if link.kind == "seal")
    named = [database.row("SELECT name FROM log WHERE id = ?", turn) for turn in reversed(sealed)]
    return [found[0] for found in named if found is not None]


def branch_point(database: Database, session: int, session_id: str, turn_id: str | None) -> int:
    """See `Store.branch_point`."""
    if turn_id is None:
        sql = f"SELECT id FROM log WHERE session = ? AND {CHAIN} ORDER BY id DESC LIMIT 1"
        newest = database.row(sql, session)
        return session if newest is None else newest[0]
    turn = turn_row(database, turn_id)
    (owner,) = database.row("SELECT session FROM log WHERE id = ?", turn)
    if owner != session and turn_id not in history_turns(database, session):
        raise UsageError(
            f"turn {turn_id} is no turn of session {session_id}; `turngraph turn list --session {session_id}` lists "
            "those it has"
        )
    return database.row("SELECT max(id) FROM log WHERE turn = ?", turn)[0]
