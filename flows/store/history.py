"""A session's history, read from the rows that make it up: in pieces, each of them validated as one JSON array."""

from __future__ import annotations

import gc
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)

from ...nodes.history.prune import PLACEHOLDER, clear
from ...nodes.history.tokens import without_last_usage
from ...nodes.reply import split_thoughts
from .chain import Item, Unit, history_units, is_cut_since_last_reply, sealed_unit
from .codec import call_of, read_array, read_facts, read_result
from .database import Database
from .records import LoadedHistory
from .rows import time_of

_PIECE_BYTES = 2_000_000
_ROWS_AT_ONCE = 512

# A negative id asks for a result that is cleared: for its facts, and for its content only where they tell too little.
# Where they tell the rest of it, they begin with its time, which its content leaves out.
_READ = """SELECT log.id, CASE WHEN wanted.value < 0 THEN facts WHEN kind = 'result' THEN substr(facts, 1, 34) END,
        CASE WHEN wanted.value > 0 OR substr(facts, 1, 7) != '{"ts":"' THEN CAST(content AS BLOB) END
    FROM json_each(?) wanted CROSS JOIN log ON log.id = abs(wanted.value)"""

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError)

_Row = tuple[int, str, Any]
"""The id, the facts and the content of a row; where one was not asked for, or is missing, it is `None`."""

_Rows = dict[int, _Row]


def load_history(database: Database, session: int, upto: int | None = None) -> LoadedHistory:
    """The history of the session of a row, as its row `upto` saw it."""
    with _undisturbed(), database.mapped():
        loaded = _load(database, history_units(database, session, upto))
    # What the last reply counted is gone by now, so it would be taken for the size of what is left.
    if is_cut_since_last_reply(database, session, upto):
        return loaded._replace(messages=without_last_usage(loaded.messages))
    return loaded


def load_seals(database: Database, rows: Sequence[int]) -> list[ModelMessage]:
    """The messages of some seals."""
    return _load(database, [sealed_unit(database, row) for row in rows]).messages


def _load(database: Database, units: Sequence[Unit]) -> LoadedHistory:
    history: list[ModelMessage] = []
    skipped = 0
    for piece, rows in _pieces(database, units):
        try:
            messages = _read(piece, rows)
        except _UNREADABLE:
            messages, damaged = _one_by_one(piece, rows)
            skipped += damaged
        _join(history, messages)
    return LoadedHistory(history, skipped)


@contextmanager
def _undisturbed() -> Generator[None]:
    """Without the collector of cycles: a history is many objects and none, and looking for them takes a third more."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _pieces(database: Database, units: Sequence[Unit]) -> Iterator[tuple[list[Unit], _Rows]]:
    """The units in their order, a few at a time, with those of their rows that are there."""
    wanted = [-row if item.cleared and item.results else row for unit in units for item in unit for row in item.rows]
    piece: list[Unit] = []
    rows: _Rows = {}
    asked = needed = 0
    for unit in units:
        needed += sum([len(item.rows) for item in unit])
        if needed > asked and piece:
            yield piece, rows
            piece, rows = [], {row: rows[row] for item in unit for row in item.rows if row in rows}
        while asked < needed:
            asked += _fetch(database, wanted[asked : asked + _ROWS_AT_ONCE], rows)
        piece.append(unit)
    yield piece, rows


def _fetch(database: Database, wanted: Sequence[int], rows: _Rows) -> int:
    """Read the first of the wanted rows, and tell how many of them that were, those included that are not there."""
    found = database.some(_READ, json.dumps(wanted), most=_PIECE_BYTES)
    rows.update({row[0]: row for row in found})
    if sum([len(row[2] or b"") for row in found]) < _PIECE_BYTES:
        return len(wanted)
    last = found[-1][0]
    return 1 + next(place for place, row in enumerate(wanted) if abs(row) == last)


def _one_by_one(units: Sequence[Unit], rows: _Rows) -> tuple[list[ModelMessage], int]:
    """The messages of those units that can be read, and how many there are in the others."""
    messages: list[ModelMessage] = []
    damaged = 0
    for unit in units:
        try:
            messages += _read([unit], rows)
        except _UNREADABLE:
            damaged += max(len(unit), 1)
    return messages, damaged


def _read(units: Sequence[Unit], rows: _Rows) -> list[ModelMessage]:
    """The messages of some units as the next request sends them.

    Raises:
        ValueError, TypeError, KeyError, IndexError: a row of them is missing or damaged.
    """
    if not all(units):
        raise ValueError("a seal cannot be read")
    items = [item for unit in units for item in unit]
    read = _validated(items, rows)
    shown: list[ModelMessage] = []
    for item in items:
        message = _cleared(item, rows, shown) if item.cleared and item.results else next(read)
        if item.results:
            message.timestamp = time_of(item.at)
            if not item.cleared:
                _set_times(message, item, rows)
        elif isinstance(message, ModelResponse):
            if ThinkingPart in [part.__class__ for part in message.parts]:
                message, _ = split_thoughts(message)  # those that nobody signed are not sent again
        elif item.first:
            message = replace(message, parts=[part for part in message.parts if not isinstance(part, ToolReturnPart)])
        elif item.cleared:
            (message,) = clear([message], 0)
        shown.append(message)
    return shown


def _validated(items: Sequence[Item], rows: _Rows) -> Iterator[ModelMessage]:
    """The messages whose contents were read."""
    texts: list[bytes] = [b"["]
    count = 0
    for item in items:
        if item.results and item.cleared:
            continue
        count += 1
        if item.results:
            texts.append(b'{"parts":[')
            for row in item.rows:
                texts += (rows[row][2], b",")
            texts[-1] = b'],"kind":"request"},'
        else:
            texts += (rows[item.rows[0]][2], b",")
    texts[-1] = texts[-1].rstrip(b",") + b"]" if count else b"[]"
    messages = read_array(b"".join(texts))
    if len(messages) != count:
        raise ValueError(f"rows of {count} messages hold {len(messages)}")
    return iter(messages)


def _set_times(message: ModelMessage, item: Item, rows: _Rows) -> None:
    for row, part in zip(item.rows, message.parts):  # noqa: B905 - of one length: the message was made of the rows
        told = rows[row][1]
        if told.startswith('{"ts":"') and isinstance(part, ToolReturnPart):
            part.timestamp = datetime.fromisoformat(told[7:])


def _cleared(item: Item, rows: _Rows, before: Sequence[ModelMessage]) -> ModelRequest:
    """The request of some results without their contents."""
    reply = next((message for message in reversed(before) if isinstance(message, ModelResponse)), None)
    calls = [part for part in reply.parts if isinstance(part, ToolCallPart)] if reply else []
    return ModelRequest(parts=[_placeholder(rows[row], calls) for row in item.rows])


def _placeholder(row: _Row, calls: Sequence[Any]) -> ToolReturnPart:
    """A cleared result: its content was not even read where its call and its facts tell the rest of it."""
    _, told, content = row
    if content is not None:
        return replace(read_result(content), content=PLACEHOLDER, outcome="success", metadata=None)
    facts: Mapping[str, Any] = read_facts(told or "")
    call: Any = call_of(facts["call"]) if "call" in facts else calls[facts["position"]]
    return ToolReturnPart(call.tool_name, PLACEHOLDER, call.tool_call_id, timestamp=datetime.fromisoformat(facts["ts"]))


def _join(history: list[ModelMessage], messages: Sequence[ModelMessage]) -> None:
    """Add messages; a request joins the request before it."""
    last = history[-1] if history else None
    for message in messages:
        if isinstance(message, ModelRequest):
            if not message.parts:
                continue
            if isinstance(last, ModelRequest):
                parts: list[ModelRequestPart] = [*last.parts, *message.parts]
                message = replace(message, parts=parts)
                history.pop()
        history.append(message)
        last = message
