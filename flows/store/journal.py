"""What happened in one turn, row by row, as it was written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from ...nodes.errors import StoreError
from ...nodes.reply import text_of
from .codec import read_facts, read_messages
from .database import Database
from .records import Body, EndBody, MessageBody, Origin, Record, SealBody, TurnBody, TurnHead
from .rows import Row, head_of, owner_of, prompt_of, result_of, time_of
from .schema import OUTSIDE

_DAMAGED = (ValueError, TypeError, KeyError, IndexError, AttributeError)
_ROWS = """SELECT id, iteration, kind, at, facts, CAST(content AS BLOB) FROM log
    WHERE turn = ?1 AND (?2 IS NULL OR kind IN (SELECT value FROM json_each(?2))) ORDER BY id"""


def read_journal(database: Database, turn_id: str, kinds: Sequence[str] | None = None) -> list[Record]:
    """Every row of a turn, or those of some kinds, in the order written; see `Store.journal`."""
    found = database.row("SELECT id, session FROM log WHERE kind = 'turn' AND name = ?", turn_id)
    if found is None:
        return []
    turn, session = found
    session_id = database.row("SELECT name FROM log WHERE id = ?", session)[0]
    turn_body: TurnBody | None = None
    records: list[Record] = []
    wanted = None if kinds is None else json.dumps(kinds)
    for row, iteration, kind, at, facts, content in database.rows(_ROWS, turn, wanted):
        if kind == "turn":
            body = turn_body = _turn_body(database, turn, facts, content, turn_id, session_id)
        else:
            body = _body(kind, iteration, facts, content, turn_body.head if turn_body else None, records)
        records.append(Record(row, session_id, turn_id, iteration, kind, time_of(at), body))
    return records


def read_added(database: Database, session: int, session_id: str) -> list[Record]:
    """What was put into the session of a row from outside."""
    sql = f"SELECT id, kind, at, facts, CAST(content AS BLOB) FROM log WHERE session = ? AND {OUTSIDE} ORDER BY id"
    return [
        Record(row, session_id, None, 0, kind, time_of(at), _body(kind, 0, facts, content, None, []))
        for row, kind, at, facts, content in database.rows(sql, session)
        if kind == "external"
    ]


def read_turn_body(database: Database, turn: int) -> TurnBody:
    """What the turn of a row began with.

    Raises:
        StoreError: its row is damaged.
    """
    session, turn_id, facts, content = database.row(
        "SELECT session, name, facts, CAST(content AS BLOB) FROM log WHERE id = ?", turn
    )
    session_id = database.row("SELECT name FROM log WHERE id = ?", session)[0]
    body = _turn_body(database, turn, facts, content, turn_id, session_id)
    if body is None:
        raise StoreError(f"what turn {turn_id} began with cannot be read; begin a new turn")
    return body


def head_in(database: Database, facts: Any, *, turn_id: str, session_id: str) -> TurnHead:
    """The head of a turn, from its own facts and its setup.

    Raises:
        StoreError: one of them is damaged.
    """
    try:
        return _head(database, facts, turn_id, session_id)
    except _DAMAGED as error:
        raise StoreError(f"what turn {turn_id} began with cannot be read; begin a new turn") from error


def read_message(database: Database, row: int) -> ModelMessage | None:
    """The message of a row; `None` where it holds none that can be read."""
    found = database.row("SELECT CAST(content AS BLOB) FROM log WHERE id = ?", row)
    try:
        return None if found is None or found[0] is None else read_messages([found[0]])[0]
    except ValueError:
        return None


def prompt_in(database: Database, row: int) -> ModelRequest | None:
    """The prompt that a row holds; `None` where it holds none that can be read."""
    message = read_message(database, row)
    return message if isinstance(message, ModelRequest) else None


def _head(database: Database, facts: Any, turn_id: str, session_id: str) -> TurnHead:
    (setup,) = database.row("SELECT facts FROM log WHERE id = ? AND kind = 'setup'", facts["setup"]) or ("",)
    return head_of(read_facts(setup), turn_id=turn_id, session_id=session_id, request_id=facts["request_id"])


def _turn_body(
    database: Database, turn: int, facts: str, content: bytes | None, turn_id: str, session_id: str
) -> TurnBody | None:
    try:
        told = read_facts(facts)
        origin = told.get("origin")
        prompt_row = told.get("prompt", turn)
        return TurnBody(
            epoch=told["epoch"],
            owner=owner_of(told),
            head=_head(database, told, turn_id, session_id),
            prompt=prompt_in(database, prompt_row) if content is None else prompt_of(content),
            prompt_row=prompt_row,
            origin=None if origin is None else Origin(_name(database, origin["turn"]), origin["visit"]),
        )
    except _DAMAGED:
        return None


def _name(database: Database, row: int) -> str:
    """The public id of a row, empty where that was deleted."""
    found = database.row("SELECT name FROM log WHERE id = ?", row)
    return found[0] if found else ""


def _body(
    kind: str, iteration: int, facts: str, content: bytes | None, head: TurnHead | None, before: Sequence[Record]
) -> Body | None:
    """The body of a row; `None` for one that is damaged, or of a kind that this version does not know."""
    lineup: Mapping[str, str] = head.lineup if head else {}
    try:
        told = read_facts(facts)
        if kind != "end":
            return Row(kind, iteration, told, content).body(lineup)
        return None if head is None else EndBody(result_of(told, head, _answer(before)))
    except _DAMAGED:
        return None


def _answer(before: Sequence[Record]) -> str | None:
    """The text of the reply that was sealed last."""
    seals = (record.body for record in reversed(before) if isinstance(record.body, SealBody) and record.body.replies)
    seal = next(seals, None)
    if seal is None:
        return None
    for record in before:
        if record.id == seal.replies[-1] and isinstance(record.body, MessageBody):
            message = record.body.message
            return text_of(message) if isinstance(message, ModelResponse) else None
    return None
