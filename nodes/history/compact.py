"""Put a summary in the place of a history's older part; the newest replies stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart

from .joined import joined
from .tokens import tokens_of


@dataclass(frozen=True)
class Cut:
    """A history in two: what a summary replaces, and what stays, with the last `kept` replies in it."""

    dropped: list[ModelMessage]
    tail: list[ModelMessage]
    kept: int


def cut(messages: Sequence[ModelMessage], *, keep: int, least: int = 0) -> Cut | None:
    """Where a history may be cut so that about `keep` tokens of its newest replies stay, and no fewer than `least`.

    A cut comes before any reply, in the middle of a long row of calls too: by then all calls before it are answered,
    and the results go with the calls they answer. The results that no reply has followed stay. `None` where there
    is no reply to drop.
    """
    replies = [at for at, message in enumerate(messages) if isinstance(message, ModelResponse)]
    if not replies:
        return None
    if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
        least = max(least, 1)
    kept, end, size = 0, len(messages), 0
    for at in reversed(replies):
        size += sum(map(tokens_of, messages[at:end]))
        if kept >= least and size > keep:
            break
        kept, end = kept + 1, at
    if kept >= len(replies):
        return None
    before, tail = _split(messages, kept)
    return Cut(before, tail, kept)


def compacted(messages: Sequence[ModelMessage], summary: ModelRequest, kept: int) -> list[ModelMessage]:
    """The summary, then the last `kept` replies with what belongs to them.

    They begin with the request just before the first of them, without the results in it, since those answer a reply
    that is gone.
    """
    _, tail = _split(messages, kept)
    if tail and isinstance(tail[0], ModelRequest):
        return [joined(summary, tail[0]), *tail[1:]]
    return [summary, *tail]


def _split(messages: Sequence[ModelMessage], kept: int) -> tuple[list[ModelMessage], list[ModelMessage]]:
    if not kept:
        return list(messages), []
    replies = [at for at, message in enumerate(messages) if isinstance(message, ModelResponse)]
    first = replies[-kept] if kept <= len(replies) else 0
    dropped, tail = list(messages[: max(first - 1, 0)]), list(messages[first:])
    between = messages[first - 1] if first else None
    if isinstance(between, ModelRequest):
        results = [part for part in between.parts if isinstance(part, ToolReturnPart)]
        others = [part for part in between.parts if not isinstance(part, ToolReturnPart)]
        if results:
            dropped.append(replace(between, parts=results))
        if others:
            tail.insert(0, between if not results else replace(between, parts=others))
    elif between is not None:
        dropped.append(between)
    return dropped, tail
