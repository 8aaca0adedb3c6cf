"""Sinks: where the events of a turn go, and how an event reads as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Protocol, cast

from pydantic_core import to_jsonable_python

from ..nodes.events import Event, Sink, TurnEnded
from ..nodes.outcome import TurnResult

EVENT_SCHEMA = "turngraph.event/1"


class NullSink:
    """Forgets every event."""

    async def emit(self, event: Event) -> None: ...


class MemorySink:
    """Keeps every event, in order, in `events`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def emit(self, event: Event) -> None:
        self.events.append(event)


class Tee:
    """Hands every event to several sinks, one after the other."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks

    async def emit(self, event: Event) -> None:
        for sink in self._sinks:
            await sink.emit(event)


class TextStream(Protocol):
    """What `JsonlSink` needs of a stream: any text file will do."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> object: ...


class JsonlSink:
    """Writes each event as one line of ASCII JSON, flushed at once."""

    def __init__(self, stream: TextStream) -> None:
        self._stream = stream

    async def emit(self, event: Event) -> None:
        self._stream.write(json.dumps(event_json(event)) + "\n")
        self._stream.flush()


def event_json(event: Event) -> dict[str, Any]:
    """An event as plain JSON data: `schema`, `type` (the event's class name in snake case), and its fields.

    The `result` of `turn_ended` is what `result_json` gives. Nothing makes this fail: a value that JSON
    has no form for appears as its `repr`.
    """
    head = {"schema": EVENT_SCHEMA, "type": _type_name(type(event))}
    if isinstance(event, TurnEnded):
        return head | {"result": result_json(event.result)}
    return head | {field.name: plain_json(getattr(event, field.name)) for field in fields(event)}


def result_json(result: TurnResult) -> dict[str, Any]:
    """How a turn ended as plain JSON data.

    `error` is `None` or its `kind` (the outcome) and its `message`; `cost_usd` is a decimal string, `None`
    where a reply had no known price.
    """
    return {
        "outcome": result.outcome.value,
        "exit_code": result.outcome.exit_code,
        "answer": result.answer,
        "error": None if result.error is None else {"kind": result.outcome.value, "message": result.error},
        "turn_id": result.turn_id,
        "session_id": result.session_id,
        "request_id": result.request_id,
        "flow": result.flow,
        "model": result.model,
        "iterations": result.iterations,
        "usage": plain_json(result.usage),
        "cost_usd": None if result.cost is None else format(result.cost, "f"),
        "duration_ms": result.duration_ms,
        "edited_files": list(result.edited_files),
        "saved": result.saved,
        "lineup": {role: {"class": one.cls, "source": one.source} for role, one in result.lineup.items()},
        "graph_hash": result.graph_hash or None,
    }


def plain_json(value: Any) -> Any:
    """A value as JSON data that any parser reads: no NaN, no bytes, text keys only."""
    try:
        return _finite(to_jsonable_python(value, bytes_mode="base64", serialize_unknown=True, fallback=repr))
    except (ValueError, TypeError, RecursionError):
        return repr(value)


def _finite(value: Any) -> Any:
    """NaN and the infinities as text: Python's own JSON would write them as words that JSON does not have."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list):
        return [_finite(item) for item in cast(list[Any], value)]
    return value


@cache
def _type_name(cls: type[Event]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
