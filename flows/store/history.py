"""A session's history, read from the rows that make it up: in pieces, each of them validated as one JSON array."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
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
from .rows import result_json, time_of

_PIECE_BYTES = 2_000_000
_ROWS_AT_ONCE = 256

# A negative id asks for the row of a result without its content, where its facts tell the rest of it.
_READ = """SELECT log.id, facts, CASE WHEN wanted.value > 0 OR instr(facts, '"ts":') = 0
        THEN CAST(content AS BLOB) END
    FROM json_each(?) wanted CROSS JOIN log ON log.id = abs(wanted.value)"""

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError)

_Row = tuple[int, str, bytes | None]


class _Unreadable(Exception):
    """A unit holds a row that is missing or damaged."""


@dataclass
class _Prepared:
    """A unit on its way: of each message its JSON, or the facts and contents of its cleared results."""

    unit: Unit
    texts: list[bytes]
    cleared: dict[int, list[tuple[Any, bytes | None]]]


def load_history(database: Database, session: int, upto: int | None = None) -> LoadedHistory:
    """The history of the session of a row, as its row `upto` saw it."""
    return _load(database, history_units(database, session, upto))


def load_seal(database: Database, row: int) -> list[ModelMessage]:
    """The messages of one seal."""
    return _load(database, [sealed_unit(database, row)]).messages


def _load(database: Database, units: Sequence[Unit]) -> LoadedHistory:
    rows = _rows(database, [-row if item.cleared else row for unit in units for item in unit for row in item.rows])
    loaded = LoadedHistory([], 0)
    waiting: list[_Prepared] = []
    size = 0
    for unit in units:
        taken = [[next(rows) for _ in item.rows] for item in unit]
        try:
            prepared = _prepare(unit, taken)
        except _Unreadable:
            loaded = loaded._replace(skipped=loaded.skipped + max(len(unit), 1))
            continue
        waiting.append(prepared)
        size += sum(map(len, prepared.texts))
        if size >= _PIECE_BYTES:
            loaded = _read(loaded, waiting)
            waiting, size = [], 0
    return _read(loaded, waiting)


def _rows(database: Database, wanted: Sequence[int]) -> Iterator[_Row | None]:
    """The wanted rows in their order, `None` for each that is missing; not many are in memory at once."""
    place = 0
    while place < len(wanted):
        asked = wanted[place : place + _ROWS_AT_ONCE]
        found: list[_Row] = database.some(_READ, json.dumps(asked), most=_PIECE_BYTES)
        whole = sum(len(row[2] or b"") for row in found) < _PIECE_BYTES
        done = 0
        for row in found:
            while abs(asked[done]) != row[0]:
                yield None
                done += 1
            yield row
            done += 1
        while whole and done < len(asked):
            yield None
            done += 1
        place += done


def _prepare(unit: Unit, taken: Sequence[Sequence[_Row | None]]) -> _Prepared:
    prepared = _Prepared(unit, [], {})
    if not unit:
        raise _Unreadable
    for place, (item, rows) in enumerate(zip(unit, taken, strict=True)):
        present = [row for row in rows if row is not None]
        if not present or len(present) != len(rows):
            raise _Unreadable
        try:
            if item.cleared:
                prepared.cleared[place] = [(read_facts(facts), content) for _, facts, content in present]
            elif item.results:
                prepared.texts.append(_request_of(item, present))
            else:
                prepared.texts.append(present[0][2] or b"")
        except _UNREADABLE as error:
            raise _Unreadable from error
    return prepared


def _request_of(item: Item, rows: Sequence[_Row]) -> bytes:
    """The JSON of one request with the results of some rows."""
    parts = b",".join(result_json(read_facts(facts), content or b"") for _, facts, content in rows)
    return b'{"parts":[%b],"timestamp":"%b","kind":"request"}' % (parts, time_of(item.at).isoformat().encode())


def _read(loaded: LoadedHistory, waiting: Sequence[_Prepared]) -> LoadedHistory:
    """The history with the messages of some units at its end; those that cannot be read are counted."""
    try:
        read = iter(read_messages(list(chain.from_iterable(prepared.texts for prepared in waiting))))
        units = [[next(read) for _ in prepared.texts] for prepared in waiting]
    except ValueError:
        units = [_alone(prepared) for prepared in waiting]
    skipped = loaded.skipped
    for prepared, messages in zip(waiting, units, strict=True):
        try:
            if messages is None:
                raise _Unreadable
            for message in _whole(prepared, messages):
                _join(loaded.messages, message)
        except _Unreadable:
            skipped += len(prepared.unit)
    return LoadedHistory(loaded.messages, skipped)


def _alone(prepared: _Prepared) -> list[ModelMessage] | None:
    try:
        return read_messages(prepared.texts)
    except ValueError:
        return None


def _whole(prepared: _Prepared, read: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages of a unit: those that were read, and the requests of cleared results between them."""
    following = iter(read)
    messages: list[ModelMessage] = []
    try:
        for place, item in enumerate(prepared.unit):
            if place in prepared.cleared:
                parts = [_clear(facts, content, messages) for facts, content in prepared.cleared[place]]
                messages.append(ModelRequest(parts=parts, timestamp=time_of(item.at)))
            else:
                messages.append(_shown(next(following), first=item.first))
    except (*_UNREADABLE, StopIteration) as error:
        raise _Unreadable from error
    return messages


def _shown(message: ModelMessage, *, first: bool) -> ModelMessage:
    """A message as the next request sends it: a reply without the thoughts that nobody signed."""
    if isinstance(message, ModelResponse):
        thinks = any(isinstance(part, ThinkingPart) and not part.signature for part in message.parts)
        return split_thoughts(message)[0] if thinks else message
    if first and any(isinstance(part, ToolReturnPart) for part in message.parts):
        return replace(message, parts=[part for part in message.parts if not isinstance(part, ToolReturnPart)])
    return message


def _clear(facts: Any, content: bytes | None, before: Sequence[ModelMessage]) -> ToolReturnPart:
    """A result without its content, which was not even read where its call and its facts tell the rest."""
    if content is not None:
        return replace(read_result(content), content=PLACEHOLDER, outcome="success", metadata=None)
    reply = next(message for message in reversed(before) if isinstance(message, ModelResponse))
    call: ToolCallPart[Any] = call_of(facts["call"]) if "call" in facts else _calls(reply)[facts["position"]]
    return ToolReturnPart(call.tool_name, PLACEHOLDER, call.tool_call_id, timestamp=time_of(facts["ts"]))


def _calls(reply: ModelResponse) -> list[ToolCallPart[Any]]:
    return [part for part in reply.parts if isinstance(part, ToolCallPart)]


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
