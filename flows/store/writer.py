"""The log of one running turn: what it writes, for as long as it owns its session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart

from ...nodes.deps import Visit
from ...nodes.errors import StoreError
from ...nodes.outcome import TurnResult
from ...nodes.slots import Slot
from ...tools.effects import Effect
from .codec import Unstorable, as_text, encode
from .database import Database
from .records import (
    ADAPTERS,
    Body,
    EndBody,
    IntentBody,
    MessageBody,
    ReleaseBody,
    RepairBody,
    ResultBody,
    SealBody,
    VisitBody,
)

# One statement, so that no other process can take the session between the check and the write.
_APPEND = """INSERT INTO log (session, turn, iteration, kind, at, body) SELECT ?, ?, ?, ?, ?, ?
    WHERE (SELECT id FROM log WHERE session = ? AND kind = 'turn' ORDER BY id DESC LIMIT 1) = ?"""

_open_writers: WeakValueDictionary[tuple[str, str], TurnWriter] = WeakValueDictionary()


def is_open_here(database: Database, turn_id: str) -> bool:
    """Whether this process holds an open writer of a turn; a writer that was forgotten is not open."""
    return (database.identity, turn_id) in _open_writers


def timestamp() -> str:
    return datetime.now(UTC).isoformat()


class TurnWriter:
    """A `TurnLog` that writes to a store; use it as a context manager, or `close()` it.

    Messages, results, seals and intents to change something are committed before their method returns, so they
    survive a killed process. Visits and intents to read, which nothing depends on, wait and are committed with the
    next of those, in order: a commit costs more than all else a row costs. The writer owns its session until `end`
    or `close`; when another turn has taken the session over, every write raises `StoreError`.
    """

    def __init__(self, database: Database, session_id: str, turn_id: str, row: int) -> None:
        self._database = database
        self._session_id = session_id
        self._turn_id = turn_id
        self._row = row
        self._calls: list[ToolCallPart] = []
        self._waiting: list[tuple[object, ...]] = []
        self._iteration = 0
        self._ended = self._closed = False
        _open_writers[database.identity, turn_id] = self

    def __enter__(self) -> TurnWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def message(self, message: ModelMessage, *, replaces: int | None = None) -> int:
        if isinstance(message, ModelResponse):
            self._calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        try:
            return self._append("message", MessageBody(message, replaces))
        except Unstorable:
            return self._append("message", MessageBody(_in_text(message), replaces))

    def intent(self, iteration: int, slot: Slot) -> None:
        self._iteration = iteration
        body = IntentBody(
            position=slot.position,
            call_id=slot.call.tool_call_id,
            name=slot.call.tool_name,
            effect=slot.effect,
            call=self._call_of(slot),
        )
        if slot.effect is Effect.READ_ONLY:
            self._wait("intent", body)
        else:
            self._append("intent", body)

    def result(self, iteration: int, slot: Slot) -> int:
        self._iteration = iteration
        if slot.status is None or slot.result is None:
            raise StoreError(
                f"call {slot.position} ({slot.call.tool_name}) has no result to store; fill its slot first"
            )
        body = ResultBody(
            position=slot.position,
            status=slot.status,
            effect=slot.effect,
            duration_ms=slot.duration_ms,
            edited=tuple(slot.edited),
            part=slot.result,
            call=self._call_of(slot),
        )
        try:
            return self._append("result", body)
        except Unstorable:
            call = None if body.call is None else _call_in_text(body.call)
            return self._append("result", replace(body, part=_result_in_text(body.part), call=call))

    def repair(self, description: str) -> int:
        return self._append("repair", RepairBody(description))

    def visit(self, visit: Visit) -> None:
        self._iteration = visit.iteration
        self._wait("visit", VisitBody(visit))

    def seal(self, iteration: int, messages: Sequence[int | Sequence[int]]) -> int:
        self._iteration = iteration
        items = tuple(item if isinstance(item, int) else tuple(item) for item in messages)
        return self._append("seal", SealBody(items))

    def end(self, result: TurnResult) -> int:
        row = self._append("end", EndBody(result))
        self._ended = True
        _open_writers.pop((self._database.identity, self._turn_id), None)
        return row

    def close(self) -> None:
        """Give the session back. A turn closed before its `end` stays without one: it was cut off.

        It never raises: where the store fails, the session is free within this process all the same, and for
        other processes once this one has ended.
        """
        if self._closed:
            return
        self._closed = True
        _open_writers.pop((self._database.identity, self._turn_id), None)
        if not self._ended:
            with suppress(StoreError):
                self._insert("release", ReleaseBody())

    def _call_of(self, slot: Slot) -> ToolCallPart | None:
        """The call, unless the reply that was written last holds it already."""
        held = slot.position < len(self._calls) and self._calls[slot.position] == slot.call
        return None if held else slot.call

    def _wait(self, kind: str, body: Body) -> None:
        self._refuse_if_over(kind)
        self._waiting.append(self._row_of(kind, body))

    def _append(self, kind: str, body: Body) -> int:
        self._refuse_if_over(kind)
        row = self._insert(kind, body)
        if row is None:
            raise StoreError(
                f"turn {self._turn_id} no longer owns session {self._session_id}: another turn took it over; "
                "what this turn sealed is kept, and the rest of it is lost"
            )
        return row

    def _refuse_if_over(self, kind: str) -> None:
        if self._closed:
            raise StoreError(f"the log of turn {self._turn_id} is closed; begin another turn to write more")
        if self._ended:
            raise StoreError(f"turn {self._turn_id} has ended and takes no {kind}; begin another turn to write more")

    def _insert(self, kind: str, body: Body) -> int | None:
        """Commit what waits and this row together; `None` if the session is no longer this turn's."""
        rows = [*self._waiting, self._row_of(kind, body)]
        row = self._database.insert(_APPEND, rows, durable=kind == "end")
        self._waiting.clear()
        return row

    def _row_of(self, kind: str, body: Body) -> tuple[object, ...]:
        text = encode(ADAPTERS[kind], body)
        return (self._session_id, self._turn_id, self._iteration, kind, timestamp(), text, self._session_id, self._row)


def _in_text(message: ModelMessage) -> ModelMessage:
    """The message with text in place of all that JSON may have no form for."""
    parts: list[Any] = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            parts.append(_call_in_text(part))
        elif isinstance(part, ToolReturnPart):
            parts.append(_result_in_text(part))
        else:
            parts.append(part)
    return replace(message, parts=parts, metadata=None)


def _call_in_text(call: ToolCallPart) -> ToolCallPart:
    return call if isinstance(call.args, str | None) else replace(call, args=as_text(call.args))


def _result_in_text(result: ToolReturnPart) -> ToolReturnPart:
    return replace(result, content=as_text(result.content), metadata=None)
