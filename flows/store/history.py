"""A session's history, read from the rows that make it up: in pieces, each of them validated as one JSON array."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
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

from ...nodes.history.prune import PLACEHOLDER
from ...nodes.reply import split_thoughts
from .chain import Item, Unit, history_units, sealed_unit
from .codec import call_of, read_facts, read_messages, read_result
from .database import Database
from .records import LoadedHistory
from .rows import time_of

_PIECE_BYTES = 2_000_000
_ROWS_AT_ONCE = 512

# A negative id asks for a result that is cleared: for its facts, and for its content only where they tell too little.
_READ = """SELECT log.id, CASE WHEN wanted.value < 0 THEN facts END, CASE
        WHEN log.kind != 'result' OR instr(facts, '"ts":') = 0 THEN CAST(content AS BLOB)
        WHEN wanted.value > 0
            THEN CAST('{"timestamp":"' || (facts ->> '$.ts') || '",' || substr(content, 2) AS BLOB) END
    FROM json_each(?) wanted CROSS JOIN log ON log.id = abs(wanted.value)"""

_Rows = dict[int, tuple[int, str | None, bytes | None]]
"""What was read of some rows, by their ids: id, facts, content."""


class _Unreadable(Exception):
    """A unit holds a row that is missing or damaged."""


def load_history(database: Database, session: int, upto: int | None = None) -> LoadedHistory:
    """The history of the session of a row, as its row `upto` saw it."""
    return _load(database, history_units(database, session, upto))


def load_seal(database: Database, row: int) -> list[ModelMessage]:
    """The messages of one seal."""
    return _load(database, [sealed_unit(database, row)]).messages


def _load(database: Database, units: Sequence[Unit]) -> LoadedHistory:
    history: list[ModelMessage] = []
    skipped = 0
    for piece, rows in _pieces(database, units):
        for unit, texts in _read(piece, rows):
            try:
                for message in _shown(unit, texts, rows):
                    _join(history, message)
            except _Unreadable:
                skipped += max(len(unit), 1)
    return LoadedHistory(history, skipped)


def _pieces(database: Database, units: Sequence[Unit]) -> Iterator[tuple[list[Unit], _Rows]]:
    """The units in their order, a few at a time, with those of their rows that are there."""
    wanted = [-row if item.cleared else row for unit in units for item in unit for row in item.rows]
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


def _read(piece: Sequence[Unit], rows: _Rows) -> list[tuple[Unit, list[ModelMessage] | None]]:
    """Each unit with its messages but for those whose results are cleared; without any where one cannot be read."""
    texts = [_texts(unit, rows) for unit in piece]
    try:
        together = iter(read_messages([text for some in texts for text in some or ()]))
    except ValueError:
        return [(unit, _alone(some)) for unit, some in zip(piece, texts, strict=True)]
    return [
        (unit, None if some is None else list(islice(together, len(some))))
        for unit, some in zip(piece, texts, strict=True)
    ]


def _alone(texts: Sequence[bytes] | None) -> list[ModelMessage] | None:
    try:
        return None if texts is None else read_messages(texts)
    except ValueError:
        return None


def _texts(unit: Unit, rows: _Rows) -> list[bytes] | None:
    """The JSON of the messages of a unit; `None` where a row of it is missing."""
    texts: list[bytes] = []
    for item in unit:
        contents: list[bytes] = []
        for row in item.rows:
            if (found := rows.get(row)) is None or (found[2] is None and not item.cleared):
                return None
            contents.append(found[2] or b"")
        if item.results and not item.cleared:
            texts.append(b'{"parts":[%b],"kind":"request"}' % b",".join(contents))
        elif not item.cleared:
            texts += contents
    return texts if unit else None


def _shown(unit: Unit, read: Sequence[ModelMessage] | None, rows: _Rows) -> Iterator[ModelMessage]:
    """The messages of a unit as the next request sends them.

    Raises:
        _Unreadable: one of them cannot be read.
    """
    if read is None:
        raise _Unreadable
    shown = list[ModelMessage]()
    following = iter(read)
    for item in unit:
        message = _cleared(item, rows, shown) if item.cleared else next(following)
        if isinstance(message, ModelResponse):
            if ThinkingPart in [part.__class__ for part in message.parts]:
                message, _ = split_thoughts(message)  # those that nobody signed are not sent again
        elif item.results:
            message.timestamp = time_of(item.at)
        elif item.first:
            message = replace(message, parts=[part for part in message.parts if not isinstance(part, ToolReturnPart)])
        shown.append(message)
    return iter(shown)


def _cleared(item: Item, rows: _Rows, before: Sequence[ModelMessage]) -> ModelRequest:
    """The request of some results without their contents."""
    reply = next((message for message in reversed(before) if isinstance(message, ModelResponse)), None)
    calls = [part for part in reply.parts if isinstance(part, ToolCallPart)] if reply else []
    try:
        return ModelRequest(parts=[_placeholder(rows[row], calls) for row in item.rows])
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise _Unreadable from error


def _placeholder(row: tuple[int, str | None, bytes | None], calls: Sequence[ToolCallPart[Any]]) -> ToolReturnPart:
    """A cleared result: its content was not even read where its call and its facts tell the rest of it."""
    _, told, content = row
    if content is not None:
        return replace(read_result(content), content=PLACEHOLDER, outcome="success", metadata=None)
    facts: Mapping[str, Any] = read_facts(told or "")
    call: ToolCallPart[Any] = call_of(facts["call"]) if "call" in facts else calls[facts["position"]]
    return ToolReturnPart(call.tool_name, PLACEHOLDER, call.tool_call_id, timestamp=datetime.fromisoformat(facts["ts"]))


def _join(messages: list[ModelMessage], message: ModelMessage) -> None:
    """Add a message; a request joins the request before it."""
    if isinstance(message, ModelRequest):
        if not message.parts:
            return
        if messages and isinstance(messages[-1], ModelRequest):
            parts: list[ModelRequestPart] = [*messages[-1].parts, *message.parts]
            messages[-1] = replace(message, parts=parts)
            return
    messages.append(message)
