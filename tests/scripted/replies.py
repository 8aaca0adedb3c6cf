"""What a scripted model says: replies as plain data, and their form on the wire of chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One tool call. `arguments` go out as they are; without an `id` the server makes a fresh one."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True)
class Reply:
    """A whole reply: reasoning, then text, then calls, the finish reason, and the usage (input, output).

    `dialect` is how streamed calls come: as the API says, or whole, as some compatible servers send them, with the
    `index` 0 for every call (`zero`) or without any (`none`).
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    finish: str = "stop"
    usage: tuple[int, int] = (100, 10)
    dialect: Literal["openai", "zero", "none"] = "openai"


@dataclass(frozen=True)
class Status:
    """An HTTP error. With `retry` false the answer asks the client not to try again."""

    code: int
    body: Json = field(default_factory=lambda: {"error": {"message": "scripted failure", "type": "server_error"}})
    retry: bool = False


@dataclass(frozen=True)
class Hang:
    """The first `after` frames of a reply, then silence until the client goes away or the server closes."""

    reply: Reply = Reply()
    after: int = 0


@dataclass(frozen=True)
class Drop:
    """The first `after` frames of a reply, then the connection is closed in the middle of the body."""

    reply: Reply = Reply()
    after: int = 0


@dataclass(frozen=True)
class Garbage:
    """HTTP 200 with a body that is no completion."""

    body: str
    content_type: str = "text/event-stream"


Step = Reply | Status | Hang | Drop | Garbage


def say(text: str) -> Reply:
    return Reply(text=text)


def call(name: str, /, **arguments: Any) -> Call:
    return Call(name, json.dumps(arguments))


def calls(*wanted: Call, text: str = "") -> Reply:
    return Reply(text=text, calls=wanted, finish="tool_calls")


def think(text: str) -> Reply:
    return Reply(reasoning=text)


def nothing() -> Reply:
    return Reply()


def cut(text: str) -> Reply:
    """A reply that ran into the token limit."""
    return Reply(text=text, finish="length")


def identify(reply: Reply, number: int) -> Reply:
    """Give every call without an id one that no other call of the server has."""
    named = tuple(
        one if one.id is not None else replace(one, id=f"call_{number}_{position}")
        for position, one in enumerate(reply.calls)
    )
    return replace(reply, calls=named)


def pieces(text: str, count: int = 3) -> list[str]:
    """Cut a text into up to `count` pieces, none empty."""
    size = max(1, -(-len(text) // count))
    return [text[at : at + size] for at in range(0, len(text), size)]


def frames(reply: Reply, *, model: str, number: int, include_usage: bool) -> Iterator[Json]:
    """The chunks of a streamed reply, as a server sends them: a call's id and name come once, first."""
    base: Json = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": model}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(reply.reasoning):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(reply.text):
        yield chunk({"content": piece})
    for index, one in enumerate(reply.calls):
        for delta in _deltas(one, index, reply.dialect):
            yield chunk({"tool_calls": [delta]})
    yield chunk({}, reply.finish)
    if include_usage:
        yield {**base, "choices": [], "usage": _usage(reply)}


def _deltas(one: Call, index: int, dialect: str) -> Iterator[Json]:
    head: Json = {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
    if dialect == "none":
        yield head
    elif dialect == "zero":
        yield {"index": 0, **head}
    else:
        yield {"index": index, **head, "function": {"name": one.name, "arguments": ""}}
        for piece in pieces(one.arguments):
            yield {"index": index, "function": {"arguments": piece}}


def completion(reply: Reply, *, model: str, number: int) -> Json:
    """A reply that is not streamed."""
    message: Json = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
            for one in reply.calls
        ]
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": _usage(reply),
    }


def _usage(reply: Reply) -> Json:
    given, made = reply.usage
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
