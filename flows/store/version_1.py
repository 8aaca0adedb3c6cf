"""A log of version 1 as rows of version 2.

Version 1 told sessions and turns by their names in each row, kept a prompt twice (as text with the turn, and as a
message), and the setup with each turn. A row that cannot be decoded is carried over as it is.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_core import to_json

from ...nodes.deps import Visit
from ...nodes.history.stamp import unstamp
from ...nodes.outcome import TurnResult
from ...nodes.reply import encodable, text_of
from ...nodes.slots import CallStatus, Slot
from ...tools.effects import Effect
from .codec import call_of, plain_call, read_facts, read_messages, read_result, write_facts, write_message, write_result
from .records import TurnHead
from .rows import end_facts, micros, result_row, setup_facts, visit_facts

_DAMAGED = (ValueError, TypeError, KeyError, IndexError, AttributeError)
_RESULT = TypeAdapter(TurnResult)

Row = tuple[int, int | None, int | None, int, str, str | None, int, str, str | None]
"""The columns of a row of version 2."""


@dataclass
class _Turn:
    row: int
    head: TurnHead | None = None
    prompt_row: int | None = None
    texts: dict[int, str] = field(default_factory=dict[int, str])
    calls: Sequence[ToolCallPart] = ()
    sealed_text: str | None = None


@dataclass
class _Log:
    """What is known of the rows so far; `first` is the first message of each turn."""

    next_id: int
    first: Mapping[str, tuple[int, str]]
    sessions: dict[str, int] = field(default_factory=dict[str, int])
    turns: dict[str, _Turn] = field(default_factory=dict[str, _Turn])
    setups: dict[str, int] = field(default_factory=dict[str, int])

    def convert(self, old: Any) -> Iterator[Row]:
        row, session, turn_id, iteration, kind, at, body = old
        name = None
        if kind == "session":
            name, self.sessions[session] = session, row
        elif kind == "turn":
            name, self.turns[turn_id] = turn_id, _Turn(row)
        turn = self.turns.get(turn_id)
        if turn is not None and turn.prompt_row == row:
            return
        try:
            facts, content = self._body(kind, row, turn_id, turn, body, iteration)
        except _DAMAGED:
            facts, content = body, None
        if kind == "turn" and turn is not None and turn.head is not None:
            yield from self._setup(turn.head, at)
        place = (row, self.sessions.get(session), turn.row if turn else None)
        yield (*place, iteration, kind, name, _micros(at), facts, content)

    def _body(
        self, kind: str, row: int, turn_id: str, turn: _Turn | None, body: str, iteration: int
    ) -> tuple[str, str | None]:
        told = read_facts(body)
        if kind == "session":
            return write_facts({"workdir": told["workdir"]}), None
        if turn is None:
            return body, None
        match kind:
            case "turn":
                return self._turn(turn_id, turn, told)
            case "message":
                (message,) = read_messages([_inner(body, "message")])
                if isinstance(message, ModelResponse):
                    turn.texts[row] = text_of(message)
                    turn.calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
                facts = {} if told["replaces"] is None else {"replaces": told["replaces"]}
                return write_facts(facts), write_message(message)
            case "intent":
                return write_facts(_with_call(told)), None
            case "result":
                return _result(turn, told, body)
            case "visit":
                visit = Visit(**told["visit"])
                return write_facts(visit_facts(visit, {}, turn.head.lineup if turn.head else {})), None
            case "seal":
                return write_facts(_seal(turn, told["messages"])), None
            case "end":
                result = _RESULT.validate_python(told["result"])
                return write_facts(end_facts(result, _known(turn), turn.sealed_text)), None
            case _:
                return write_facts(told), None

    def _turn(self, turn_id: str, turn: _Turn, told: Any) -> tuple[str, str | None]:
        head = {**told["head"]}
        said = head.pop("prompt")
        turn.head = TurnHead(**head)
        name = _setup_name(turn.head)
        facts = {"epoch": told["epoch"], "owner": told["owner"], "request_id": turn.head.request_id}
        facts["setup"] = self.setups.setdefault(name, self.next_id)
        row, body = self.first.get(turn_id, (0, "{}"))
        prompt = _prompt(body, said)
        if prompt is not None:
            turn.prompt_row = row
        else:
            prompt = ModelRequest(parts=[UserPromptPart(said)])
        return write_facts(facts), write_message(prompt)

    def _setup(self, head: TurnHead, at: str) -> Iterator[Row]:
        """The setup, where it is the first of its kind."""
        name = _setup_name(head)
        if self.setups[name] == self.next_id:
            self.next_id += 1
            yield (self.setups[name], None, None, 0, "setup", name, _micros(at), write_facts(setup_facts(head)), None)


def rows(connection: sqlite3.Connection, table: str) -> Iterator[Row]:
    """The rows of a log of version 1, as rows of version 2 with the ids they had."""
    first = {
        turn: (row, body)
        for turn, row, body in connection.execute(
            f"SELECT turn, min(id), body FROM {table} WHERE kind = 'message' GROUP BY turn"
        )
    }
    (last,) = connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()
    log = _Log(last + 1, first)
    for old in connection.execute(f"SELECT id, session, turn, iteration, kind, at, body FROM {table} ORDER BY id"):
        yield from log.convert(old)


def _inner(body: str, name: str) -> bytes:
    """The JSON of one field of a body, with the marks that stand for what JSON cannot hold."""
    return to_json(TypeAdapter(dict[str, Any]).validate_json(body)[name])


def _prompt(body: str, said: str) -> ModelRequest | None:
    """The message of a row, if it is the prompt that was said."""
    try:
        (message,) = read_messages([_inner(body, "message")])
    except _DAMAGED:
        return None
    return message if isinstance(message, ModelRequest) and _text(message) == encodable(said) else None


def _text(message: ModelMessage) -> str | None:
    parts = [part for part in message.parts if isinstance(part, UserPromptPart)]
    return unstamp(parts[0].content) if len(parts) == 1 and isinstance(parts[0].content, str) else None


def _with_call(told: Any) -> dict[str, Any]:
    facts = {name: value for name, value in told.items() if name != "call"}
    return facts if told.get("call") is None else {**facts, "call": plain_call(call_of(told["call"]))}


def _result(turn: _Turn, told: Any, body: str) -> tuple[str, str]:
    part = read_result(_inner(body, "part"))
    call = None if told["call"] is None else call_of(told["call"])
    position = told["position"]
    held = call or next(iter(turn.calls[position : position + 1]), None)
    status, effect = CallStatus(told["status"]), Effect(told["effect"])
    known = held or ToolCallPart(part.tool_name, tool_call_id=part.tool_call_id)
    slot = Slot(position, known, effect, duration_ms=told["duration_ms"], edited=list(told["edited"]))
    facts, content = result_row(slot, status, part, call)
    if held is None and facts.pop("ts", None) is not None:
        content = write_result(part)
    return write_facts(facts), content


def _seal(turn: _Turn, items: Sequence[Any]) -> dict[str, Any]:
    named = [turn.row if item == turn.prompt_row else item for item in items]
    replies = [item for item in named if isinstance(item, int) and item in turn.texts]
    if replies:
        turn.sealed_text = turn.texts[replies[-1]]
    return {"items": named, "replies": replies} if replies else {"items": named}


def _known(turn: _Turn) -> TurnHead:
    if turn.head is None:
        raise ValueError("the turn's row is damaged")
    return turn.head


def _setup_name(head: TurnHead) -> str:
    return hashlib.sha256(write_facts(setup_facts(head)).encode()).hexdigest()


def _micros(at: str) -> int:
    """A time as it is stored now; 0 where it is damaged, which makes nothing else of the row wrong."""
    try:
        return micros(datetime.fromisoformat(at))
    except (ValueError, TypeError):
        return 0
