"""The store: sessions, their histories, and the turns that own them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_core import from_json

from ...nodes.errors import SessionBusy, StoreError, UnknownSession, UsageError
from .codec import decode, encode, escape
from .database import Database
from .owner import is_alive, this_process
from .records import (
    ADAPTERS,
    Body,
    EndBody,
    LoadedHistory,
    MessageBody,
    Record,
    ResultBody,
    SessionBody,
    SessionSummary,
    TurnBody,
    TurnHead,
)
from .schema import WORKDIR
from .writer import TurnWriter, is_open_here, timestamp

FOREIGN_SILENCE = timedelta(hours=1)
"""A turn of another machine, whose process cannot be looked at, counts as dead after so long a silence."""

_UNKNOWN_TIME = datetime.fromtimestamp(0, UTC)
_INSERT = "INSERT INTO log (session, turn, iteration, kind, at, body) VALUES (?, ?, 0, ?, ?, ?)"
_SELECT = "SELECT id, session, turn, iteration, kind, at, CAST(body AS BLOB) FROM log"


class Store:
    """All sessions of a user, in one file. Every method may raise `StoreError`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open the store at a path; it and the directories it lacks are created for the user alone.

        Raises:
            StoreError: the file cannot be opened, is damaged, another program's, or of a newer turngraph.
        """
        return cls(Database(path))

    @classmethod
    def in_memory(cls) -> Store:
        return cls(Database(None))

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_session(self, workdir: str) -> str:
        session_id = secrets.token_hex(6)
        body = encode(ADAPTERS["session"], SessionBody(workdir))
        self._database.insert(_INSERT, [(session_id, None, "session", timestamp(), body)])
        return session_id

    def latest_session(self, workdir: str) -> str | None:
        """The session that was created, or began a turn, last in a directory."""
        row = self._database.row(
            f"SELECT session FROM log WHERE {WORKDIR} = ? AND kind IN ('session', 'turn') ORDER BY id DESC",
            escape(workdir),
        )
        return None if row is None else row[0]

    def find_session(self, prefix: str) -> str:
        """The one session whose id begins with `prefix`, at least 4 characters of it.

        Raises:
            UnknownSession: no session fits, or several do.
        """
        hint = "list them with `turngraph session list`"
        if not re.fullmatch("[0-9a-f]{4,12}", prefix):
            raise UnknownSession(f"{prefix!r} is no session id: give its first 4 to 12 hex digits; {hint}")
        found = self._database.rows(
            "SELECT session FROM log WHERE kind = 'session' AND session >= ? AND session < ? LIMIT 2",
            prefix,
            prefix + "g",
        )
        if not found:
            raise UnknownSession(f"no session begins with {prefix}; {hint}")
        if len(found) > 1:
            raise UnknownSession(f"several sessions begin with {prefix}; give more of its id, or {hint}")
        return found[0][0]

    def sessions(self) -> list[SessionSummary]:
        """All sessions, the one used last first. What cannot be decoded of one is empty in its summary."""
        created = self._records("kind = 'session'")
        return sorted(map(self._summary, created), key=lambda summary: summary.last_used_at, reverse=True)

    def turns(self, session_id: str) -> list[str]:
        """The ids of a session's turns, the oldest first.

        Raises:
            UnknownSession: there is no such session.
        """
        self._require(session_id)
        sql = "SELECT turn FROM log WHERE session = ? AND kind = 'turn' ORDER BY id"
        return [row[0] for row in self._database.rows(sql, session_id)]

    def latest_turns(self, count: int) -> list[str]:
        """The ids of the turns that began last, of any session, the oldest of them first."""
        sql = "SELECT turn FROM log WHERE kind = 'turn' ORDER BY id DESC LIMIT ?"
        return [row[0] for row in reversed(self._database.rows(sql, count))]

    def find_turn(self, prefix: str) -> str:
        """The one turn whose id begins with `prefix`, at least 4 characters of it.

        Raises:
            UsageError: no turn fits, or several do.
        """
        if not re.fullmatch("[0-9a-f]{4,32}", prefix):
            raise UsageError(f"{prefix!r} is no id of a turn: give its first 4 to 32 hex digits")
        found = self._database.rows(
            "SELECT turn FROM log WHERE kind = 'turn' AND turn >= ? AND turn < ? LIMIT 2", prefix, prefix + "g"
        )
        if len(found) != 1:
            many = "several turns begin" if found else "no turn begins"
            raise UsageError(f"{many} with {prefix}; a run's JSON holds its turn_id, and --last 5 draws the newest")
        return found[0][0]

    def journal(self, turn_id: str) -> list[Record]:
        """Every row of a turn in the order written, none for a turn that is not in the store."""
        return self._records("turn = ?", turn_id)

    def load_messages(self, session_id: str) -> LoadedHistory:
        """The sealed messages of a session, in the order of their seals.

        A seal with a row that cannot be decoded is left out as a whole: no call may be without its result.

        Raises:
            UnknownSession: there is no such session.
        """
        self._require(session_id)
        kept = self._database.rows(
            "SELECT id, kind, CAST(body AS BLOB) FROM log WHERE session = ? AND kind IN ('message', 'result')",
            session_id,
        )
        seals = self._database.rows(
            "SELECT at, CAST(body AS BLOB) FROM log WHERE session = ? AND kind = 'seal' ORDER BY id", session_id
        )
        bodies = {row: _decoded(kind, body) for row, kind, body in kept}
        messages: list[ModelMessage] = []
        skipped = 0
        for at, seal in seals:
            unit = [_message(item, bodies, at) for item in _sealed(seal)]
            whole = [message for message in unit if message is not None]
            if len(whole) == len(unit):
                messages += whole
            else:
                skipped += len(unit)
        return LoadedHistory(messages, skipped)

    def begin_turn(self, head: TurnHead) -> TurnWriter:
        """Take the session for a turn.

        A turn that was cut off (its process or its writer is gone) loses the session and writes no more.

        Raises:
            UnknownSession: there is no such session.
            SessionBusy: a turn of the session is running.
            StoreError: the turn's id is taken.
        """
        with self._database.transaction():
            self._require(head.session_id)
            if self._database.row("SELECT 1 FROM log WHERE turn = ? LIMIT 1", head.turn_id):
                raise StoreError(f"turn {head.turn_id} is in the store already; give the new turn another id")
            last = self._last_turn(head.session_id)
            if last is not None:
                self._refuse_if_running(last)
            epoch = last.body.epoch + 1 if last is not None and isinstance(last.body, TurnBody) else 1
            body = encode(ADAPTERS["turn"], TurnBody(epoch, this_process(), head))
            row = self._database.insert(_INSERT, [(head.session_id, head.turn_id, "turn", timestamp(), body)])
        if row is None:
            raise StoreError(f"turn {head.turn_id} was not written to the store; run the command again")
        return TurnWriter(self._database, head.session_id, head.turn_id, row)

    def cut_off_before(self, turn_id: str) -> str | None:
        """The session's turn before this one, if it never came to its end: its process was killed, or it failed."""
        row = self._database.row(
            "SELECT turn FROM log WHERE kind = 'turn' AND session = (SELECT session FROM log WHERE turn = ? LIMIT 1) "
            "AND turn != ? ORDER BY id DESC LIMIT 1",
            turn_id,
            turn_id,
        )
        return row[0] if row is not None and not self._has_row(row[0], "end") else None

    def _refuse_if_running(self, last: Record) -> None:
        """Raise `SessionBusy` if the session's last turn still runs."""
        turn_id = last.turn or ""
        if not isinstance(last.body, TurnBody) or self._has_row(turn_id, "end") or self._has_row(turn_id, "release"):
            return
        owner = last.body.owner
        alive = is_open_here(self._database, turn_id) if owner == this_process() else is_alive(owner)
        if alive is None:
            alive = datetime.now(UTC) - self._last_sign(turn_id) < FOREIGN_SILENCE
        if alive:
            session_id = last.body.head.session_id
            raise SessionBusy(
                f"session {session_id} is in use by process {owner.pid} on {owner.host} since "
                f"{last.at.astimezone():%Y-%m-%d %H:%M:%S}; wait for it, stop it, or use another session"
            )

    def _last_sign(self, turn_id: str) -> datetime:
        """When a turn wrote last."""
        return self._records("turn = ?", turn_id, tail="ORDER BY id DESC LIMIT 1")[0].at

    def _last_turn(self, session_id: str) -> Record | None:
        found = self._records("session = ? AND kind = 'turn'", session_id, tail="ORDER BY id DESC LIMIT 1")
        return found[0] if found else None

    def _has_row(self, turn_id: str, kind: str) -> bool:
        return self._database.row("SELECT 1 FROM log WHERE turn = ? AND kind = ?", turn_id, kind) is not None

    def _summary(self, session: Record) -> SessionSummary:
        turns = self.turns(session.session)
        last_used, outcome, prompt = session.at, None, None
        if turns:
            first = self._records("turn = ? AND kind = 'turn'", turns[0])[0].body
            prompt = first.head.prompt if isinstance(first, TurnBody) else None
            last = self._records("turn = ? AND kind IN ('turn', 'end')", turns[-1])[-1]
            last_used = last.at
            outcome = last.body.result.outcome if isinstance(last.body, EndBody) else None
        return SessionSummary(
            id=session.session,
            workdir=session.body.workdir if isinstance(session.body, SessionBody) else "",
            started_at=session.at,
            last_used_at=last_used,
            turns=len(turns),
            first_prompt=prompt,
            last_outcome=outcome,
        )

    def _require(self, session_id: str) -> None:
        if not self._database.row("SELECT 1 FROM log WHERE kind = 'session' AND session = ?", session_id):
            raise UnknownSession(f"there is no session {session_id!r}; list them with `turngraph session list`")

    def _records(self, where: str, *parameters: str, tail: str = "ORDER BY id") -> list[Record]:
        return [_record(row) for row in self._database.rows(f"{_SELECT} WHERE {where} {tail}", *parameters)]


def _record(row: tuple[int, str, str | None, int, str, str, bytes]) -> Record:
    row_id, session, turn, iteration, kind, at, body = row
    return Record(row_id, session, turn, iteration, kind, _time(at) or _UNKNOWN_TIME, _decoded(kind, body))


def _time(at: str) -> datetime | None:
    """When a row was written; `None` where that is damaged, which makes nothing else of the row wrong."""
    try:
        return datetime.fromisoformat(at)
    except ValueError:
        return None


def _decoded(kind: str, body: bytes) -> Body | None:
    """The body of a row; `None` for one that is damaged, or of a kind that this version does not know."""
    if kind not in ADAPTERS:
        return None
    try:
        return decode(ADAPTERS[kind], body)
    except ValueError:
        return None


def _sealed(body: bytes) -> Sequence[int | Sequence[int]]:
    """What a seal names; one item that names nothing, where that cannot be read."""
    try:
        return from_json(body)["messages"]
    except (ValueError, KeyError, TypeError):
        return [()]


def _message(item: int | Sequence[int], bodies: Mapping[int, Body | None], at: str) -> ModelMessage | None:
    """The message that an item of a seal names, or `None` when a row of it cannot be read."""
    if isinstance(item, int):
        body = bodies.get(item)
        return body.message if isinstance(body, MessageBody) else None
    results = [body for row in item if isinstance(body := bodies.get(row), ResultBody)]
    if not results or len(results) != len(item):
        return None
    return ModelRequest(parts=[body.part for body in results], timestamp=_time(at))
