"""The log of one running turn: what it writes, for as long as it owns its session."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from ...nodes.deps import Visit
from ...nodes.errors import ContextOverflow, ProviderError, StoreError
from ...nodes.outcome import TurnResult
from ...nodes.reply import text_of
from ...nodes.slots import Slot
from ...tools.effects import Effect
from .codec import Unstorable, as_text, write_facts, write_message
from .database import Database
from .records import TurnHead
from .rows import end_facts, intent_facts, result_row, visit_facts
from .schema import OWNERS

# One statement, so that no other process can take the session between the check and the write.
_APPEND = f"""INSERT INTO log (session, turn, iteration, kind, at, facts, content) SELECT ?, ?, ?, ?, ?, ?, ?
    WHERE (SELECT id FROM log WHERE session = ? AND {OWNERS} ORDER BY id DESC LIMIT 1) = ?"""

_REPLIES = """SELECT log.id FROM json_each(?) named CROSS JOIN log ON log.id = named.value
    WHERE json_valid(content) AND json_extract(content, '$.kind') = 'response'"""

_open_writers: WeakValueDictionary[tuple[str, str], TurnWriter] = WeakValueDictionary()


def is_open_here(database: Database, turn_id: str) -> bool:
    """Whether this process holds an open writer of a turn; a writer that was forgotten is not open."""
    return (database.identity, turn_id) in _open_writers


def timestamp() -> int:
    """Now, in microseconds since the epoch."""
    return time.time_ns() // 1000


@dataclass(frozen=True)
class Taken:
    """A session taken for a turn: the rows of both, the row that took it, and what the turn starts from.

    `calls` are those of the reply that was written last, by an owner before this one.
    """

    head: TurnHead
    session: int
    turn: int
    row: int
    prompt: ModelRequest | None
    prompt_row: int
    iteration: int = 0
    calls: Sequence[ToolCallPart] = ()


class TurnWriter:
    """A `TurnLog` that writes to a store; use it as a context manager, or `close()` it.

    Messages, results, seals and intents to change something are committed before their method returns, so they
    survive a killed process. Visits and intents to read, which nothing depends on, wait and are committed with the
    next of those, in order: a commit costs more than all else a row costs. The writer owns its session until `end`
    or `close`; when another turn has taken the session over, every write raises `StoreError`.
    """

    def __init__(self, database: Database, taken: Taken) -> None:
        self._database = database
        self._taken = taken
        self._key = (database.identity, taken.head.turn_id)
        self._calls = list(taken.calls)
        self._texts: dict[int, str | None] = {taken.prompt_row: None}
        self._sealed_text: str | None = None
        self._waiting: list[tuple[object, ...]] = []
        self._iteration = taken.iteration
        self._ended = self._closed = False
        _open_writers[self._key] = self

    @property
    def prompt_row(self) -> int:
        """The row that holds the turn's prompt."""
        return self._taken.prompt_row

    def __enter__(self) -> TurnWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def message(self, message: ModelMessage, *, replaces: int | None = None) -> int:
        if message == self._taken.prompt:
            self._refuse_if_over("message")
            return self._taken.prompt_row
        facts = {} if replaces is None else {"replaces": replaces}
        try:
            content = write_message(message)
        except Unstorable:
            content = write_message(_in_text(message))
        row = self._append("message", facts, content)
        self._texts[row] = None
        if isinstance(message, ModelResponse):
            self._calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            self._texts[row] = text_of(message)
        return row

    def failure(self, error: ProviderError) -> int:
        facts: dict[str, Any] = {"error": str(error)}
        return self._append("failure", facts | ({"overflow": True} if isinstance(error, ContextOverflow) else {}))

    def intent(self, iteration: int, slot: Slot) -> None:
        self._iteration = iteration
        try:
            facts = intent_facts(slot, self._call_of(slot))
        except Unstorable:
            facts = intent_facts(slot, _call_in_text(slot.call))
        if slot.effect is Effect.READ_ONLY:
            self._wait("intent", facts)
        else:
            self._append("intent", facts)

    def result(self, iteration: int, slot: Slot) -> int:
        self._iteration = iteration
        if slot.status is None or slot.result is None:
            raise StoreError(
                f"call {slot.position} ({slot.call.tool_name}) has no result to store; fill its slot first"
            )
        call = self._call_of(slot)
        try:
            facts, content = result_row(slot, slot.status, slot.result, call)
        except Unstorable:
            call = None if call is None else _call_in_text(call)
            facts, content = result_row(slot, slot.status, _result_in_text(slot.result), call)
        return self._append("result", facts, content)

    def repair(self, description: str) -> int:
        return self._append("repair", {"description": description})

    def prune(self, whole: int) -> int:
        return self._append("prune", {"whole": whole})

    def compact(self, summary: int, kept: int) -> int:
        return self._append("compact", {"summary": summary, "kept": kept})

    def tree(self, commit: str) -> int:
        """Write which files the workspace holds at this point, as a commit."""
        return self._append("tree", {"commit": commit})

    def visit(self, visit: Visit, changed: Mapping[str, Any]) -> None:
        self._iteration = visit.iteration
        self._wait("visit", visit_facts(visit, changed, self._taken.head.lineup))

    def seal(self, iteration: int, messages: Sequence[int | Sequence[int]]) -> int:
        self._iteration = iteration
        items = [item if isinstance(item, int) else list(item) for item in messages]
        named = [item for item in items if isinstance(item, int)]
        replies = self._replies_among(named)
        row = self._append("seal", {"items": items, "replies": replies} if replies else {"items": items})
        if replies:
            self._sealed_text = self._texts.get(replies[-1])
        for item in named:
            self._texts.pop(item, None)
        return row

    def end(self, result: TurnResult) -> int:
        row = self._append("end", end_facts(result, self._taken.head, self._sealed_text))
        self._ended = True
        _open_writers.pop(self._key, None)
        return row

    def close(self) -> None:
        """Give the session back. A turn closed before its `end` stays without one: it was cut off.

        It never raises: where the store fails, the session is free within this process all the same, and for
        other processes once this one has ended.
        """
        if self._closed:
            return
        self._closed = True
        _open_writers.pop(self._key, None)
        if not self._ended:
            with suppress(StoreError):
                self._insert("release", {}, None)

    def _call_of(self, slot: Slot) -> ToolCallPart | None:
        """The call, unless the reply that was written last holds it already."""
        held = slot.position < len(self._calls) and self._calls[slot.position] == slot.call
        return None if held else slot.call

    def _replies_among(self, rows: Sequence[int]) -> list[int]:
        """Those of the rows that hold a reply; of rows that an owner before this one wrote, the log tells."""
        others = [row for row in rows if row not in self._texts]
        found = {row for (row,) in self._database.rows(_REPLIES, json.dumps(others))} if others else set[int]()
        return [row for row in rows if row in found or self._texts.get(row) is not None]

    def _wait(self, kind: str, facts: Mapping[str, Any]) -> None:
        self._refuse_if_over(kind)
        self._waiting.append(self._row_of(kind, facts, None))

    def _append(self, kind: str, facts: Mapping[str, Any], content: str | None = None) -> int:
        self._refuse_if_over(kind)
        row = self._insert(kind, facts, content)
        if row is None:
            head = self._taken.head
            raise StoreError(
                f"turn {head.turn_id} no longer owns session {head.session_id}: another process took it over; "
                "what this turn sealed is kept, and the rest of what this process did is lost"
            )
        return row

    def _refuse_if_over(self, kind: str) -> None:
        turn_id = self._taken.head.turn_id
        if self._closed:
            raise StoreError(f"the log of turn {turn_id} is closed; begin another turn to write more")
        if self._ended:
            raise StoreError(f"turn {turn_id} has ended and takes no {kind}; begin another turn to write more")

    def _insert(self, kind: str, facts: Mapping[str, Any], content: str | None) -> int | None:
        """Commit what waits and this row together; `None` if the session is no longer this turn's."""
        rows = [*self._waiting, self._row_of(kind, facts, content)]
        row = self._database.insert(_APPEND, rows, durable=kind == "end")
        self._waiting.clear()
        return row

    def _row_of(self, kind: str, facts: Mapping[str, Any], content: str | None) -> tuple[object, ...]:
        taken = self._taken
        said = (taken.session, taken.turn, self._iteration, kind, timestamp(), write_facts(facts), content)
        return (*said, taken.session, taken.row)


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
