"""Who runs a session: turns begin, are taken over by another process, and end, one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart

from ...nodes.errors import SessionBusy, StoreError, UnknownSession, UsageError
from .codec import known_facts, read_messages, write_facts, write_message
from .database import Database
from .journal import head_in, prompt_in
from .owner import Condition, Owner, condition_of, this_process
from .records import Origin, TurnHead
from .rows import owner_facts, owner_of, setup_facts, time_of
from .schema import OWNERS
from .writer import Taken, is_open_here, timestamp

LEASE = timedelta(seconds=30)
"""A stopped process keeps its session for so long after it wrote last; one that runs keeps it always."""

FOREIGN_SILENCE = timedelta(hours=1)
"""A turn of another machine, whose process cannot be looked at, counts as dead after so long a silence."""

INSERT = """INSERT INTO log (id, session, turn, iteration, kind, name, at, facts, content)
    VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?)"""

_NEXT_ID = "SELECT coalesce(max(id), 0) + 1 FROM log"


@dataclass(frozen=True)
class Holder:
    """The row that took a session last, and the turn it took it for."""

    row: int
    turn: int
    turn_id: str
    at: datetime
    facts: Mapping[str, Any]
    last_kind: str
    last_sign: datetime

    @property
    def ended(self) -> bool:
        return self.last_kind == "end"

    @property
    def owner(self) -> Owner | None:
        """The owner; `None` of a row that is damaged."""
        try:
            return owner_of(self.facts)
        except (TypeError, KeyError):
            return None

    @property
    def epoch(self) -> int:
        """Which owner of its session it was; 0 of a row that is damaged."""
        return self.facts.get("epoch", 0)


def next_id(database: Database) -> int:
    return database.row(_NEXT_ID)[0]


def session_row(database: Database, session_id: str) -> int:
    """The row of a session.

    Raises:
        UnknownSession: there is no such session.
    """
    row = database.row("SELECT id FROM log WHERE kind = 'session' AND name = ?", session_id)
    if row is None:
        raise UnknownSession(f"there is no session {session_id!r}; list them with `turngraph session list`")
    return row[0]


def holder_of(database: Database, session: int) -> Holder | None:
    """Who took the session of a row last; `None` of a session without a turn."""
    found = database.row(
        f"SELECT id, turn, at, facts FROM log WHERE session = ? AND {OWNERS} ORDER BY id DESC LIMIT 1", session
    )
    if found is None:
        return None
    row, turn, at, facts = found
    turn_id = database.row("SELECT name FROM log WHERE id = ?", turn)[0]
    last_kind, last_at = database.row("SELECT kind, at FROM log WHERE turn = ? ORDER BY id DESC LIMIT 1", turn)
    return Holder(row, turn, turn_id, time_of(at), known_facts(facts), last_kind, time_of(last_at))


def is_running(database: Database, holder: Holder | None, lease: timedelta) -> bool:
    """Whether the owner is at work, or may be."""
    return holder is not None and _why_busy(database, holder, lease) is not None


def refuse_if_running(database: Database, session_id: str, holder: Holder | None, lease: timedelta) -> None:
    """Do nothing where the session is free.

    Raises:
        SessionBusy: its owner is at work, or may be.
    """
    why = None if holder is None else _why_busy(database, holder, lease)
    if why is not None:
        raise SessionBusy(f"session {session_id} is in use by {why}")


def _why_busy(database: Database, holder: Holder, lease: timedelta) -> str | None:
    """Who has the session, and what to do, in words; `None` where it is free."""
    owner = holder.owner
    if holder.last_kind in ("end", "release") or owner is None:
        return None
    who = f"process {owner.pid} on {owner.host} since {holder.at.astimezone():%Y-%m-%d %H:%M:%S}"
    if owner == this_process():
        busy = is_open_here(database, holder.turn_id)
        return f"{who}; wait for it, stop it, or use another session" if busy else None
    condition = condition_of(owner)
    silence = datetime.now(UTC) - holder.last_sign
    if condition is Condition.STOPPED and silence < lease:
        free = (holder.last_sign + lease).astimezone()
        return f"{who}, which is stopped: continue or kill it, or take over from {free:%H:%M:%S} on"
    if condition is Condition.RUNNING or (condition is Condition.UNSEEN and silence < FOREIGN_SILENCE):
        return f"{who}; wait for it, stop it, or use another session"
    return None


def begin(
    database: Database,
    lease: timedelta,
    head: TurnHead,
    prompt: ModelRequest | None,
    origin: Origin | None,
    prompt_row: int | None,
) -> Taken:
    """Take a session for a new turn; see `Store.begin_turn`."""
    with database.transaction():
        session = session_row(database, head.session_id)
        if database.row("SELECT 1 FROM log WHERE kind = 'turn' AND name = ?", head.turn_id):
            raise StoreError(f"turn {head.turn_id} is in the store already; give the new turn another id")
        holder = holder_of(database, session)
        refuse_if_running(database, head.session_id, holder, lease)
        facts = owner_facts(holder.epoch + 1 if holder else 1, this_process())
        facts |= {"request_id": head.request_id, "setup": _setup_row(database, head)}
        if origin is not None:
            facts["origin"] = {"turn": turn_row(database, origin.turn), "visit": origin.visit}
        content = None
        if prompt_row is not None:
            prompt = prompt_in(database, prompt_row)
            facts["prompt"] = prompt_row
        elif prompt is not None:
            content = write_message(prompt)
        row = next_id(database)
        values = (row, session, row, "turn", head.turn_id, timestamp(), write_facts(facts), content)
        database.insert(INSERT, [values])
    return Taken(head, session, row, row, prompt, row if prompt_row is None else prompt_row)


def take_over(database: Database, lease: timedelta, turn_id: str) -> Taken:
    """Take a session for a turn that was cut off; see `Store.take_over`."""
    with database.transaction():
        turn = turn_row(database, turn_id)
        session, request, facts = database.row("SELECT session, name, facts FROM log WHERE id = ?", turn)
        session_id = database.row("SELECT name FROM log WHERE id = ?", session)[0]
        holder = holder_of(database, session)
        if holder is None or holder.turn != turn:
            later = holder.turn_id if holder else "another"
            raise UsageError(
                f"turn {turn_id} cannot go on: turn {later} of session {session_id} began after it; "
                "fork a new turn from it instead"
            )
        if holder.ended:
            raise UsageError(f"turn {turn_id} has ended, so there is nothing to go on with; begin a new turn")
        refuse_if_running(database, session_id, holder, lease)
        head = head_in(database, known_facts(facts), turn_id=request, session_id=session_id)
        prompt_row = known_facts(facts).get("prompt", turn)
        row = next_id(database)
        taken = write_facts(owner_facts(holder.epoch + 1, this_process()))
        database.insert(INSERT, [(row, session, turn, "resume", None, timestamp(), taken, None)])
        iteration = database.row("SELECT iteration FROM log WHERE turn = ? AND id < ? ORDER BY id DESC", turn, row)[0]
        prompt = prompt_in(database, prompt_row)
        return Taken(head, session, turn, row, prompt, prompt_row, iteration, _last_calls(database, turn))


def turn_row(database: Database, turn_id: str) -> int:
    """The row of a turn.

    Raises:
        UsageError: there is no such turn.
    """
    row = database.row("SELECT id FROM log WHERE kind = 'turn' AND name = ?", turn_id)
    if row is None:
        raise UsageError(f"there is no turn {turn_id!r} in the store; list them with `turngraph turn list`")
    return row[0]


def _last_calls(database: Database, turn: int) -> list[ToolCallPart]:
    """The calls of the reply that was written last; none where it cannot be read."""
    sql = "SELECT CAST(content AS BLOB) FROM log WHERE turn = ? AND kind = 'message' ORDER BY id DESC"
    for (content,) in database.rows(sql, turn):
        try:
            (message,) = read_messages([content])
        except ValueError:
            return []
        if isinstance(message, ModelResponse):
            return [part for part in message.parts if isinstance(part, ToolCallPart)]
    return []


def _setup_row(database: Database, head: TurnHead) -> int:
    """The row of the turn's setup, which turns with the same settings share."""
    facts = write_facts(setup_facts(head))
    name = hashlib.sha256(facts.encode()).hexdigest()
    found = database.row("SELECT id FROM log WHERE kind = 'setup' AND name = ?", name)
    if found is not None:
        return found[0]
    row = next_id(database)
    database.insert(INSERT, [(row, None, None, "setup", name, timestamp(), facts, None)])
    return row
