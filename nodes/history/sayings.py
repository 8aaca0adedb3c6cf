"""What a message says once everything is left out that a provider refuses or that no longer holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponsePart,
    TextContent,
    ToolReturnPart,
    UserPromptPart,
)

STALE = frozenset(
    {"system-prompt", "instruction-delta", "instruction-baseline", "tool-availability-delta", "model-settings-delta"}
)
"""Kinds of parts that spoke for an earlier run: the instructions and tools of now are sent with each request."""

EMPTY_MESSAGE, EMPTY_TEXT = "empty message(s) left out", "empty text(s) left out"
STALE_PROMPT = "system prompt(s) of earlier runs left out"
CACHE_MARK = "cache mark(s) of earlier requests left out"
OLD_RETRY = "retry prompt(s) of an older form rewritten"


def says_something(message: ModelMessage) -> bool:
    """Whether a message can be sent as it stands: it has parts, none of them empty, stale or of an older form."""
    if isinstance(message, ModelRequest):
        return bool(message.parts) and message.instructions is None and not any(map(is_to_mend, message.parts))
    thought_only = True
    for part in message.parts:
        if _is_silent(part):
            return False
        thought_only = thought_only and part.part_kind == "thinking"
    return not thought_only


def sayings(message: ModelMessage, counted: Counter[str]) -> ModelMessage | None:
    """The message with what it says, or `None` where that is nothing; `counted` gets what was done, in words.

    A response that only thinks says nothing.
    """
    if says_something(message):
        return message
    if isinstance(message, ModelRequest):
        counted[STALE_PROMPT] += message.instructions is not None
        request = replace(message, parts=list(_request_parts(message, counted)), instructions=None)
        if request.parts:
            return request
    else:
        parts = [part for part in message.parts if not _is_silent(part)]
        if any(part.part_kind != "thinking" for part in parts):
            counted[EMPTY_TEXT] += len(message.parts) - len(parts)
            return replace(message, parts=parts)
    counted[EMPTY_MESSAGE] += 1
    return None


def is_to_mend(part: ModelRequestPart) -> bool:
    """Whether a part of a request is empty, stale or of an older form."""
    if isinstance(part, ToolReturnPart):
        return False
    if isinstance(part, UserPromptPart):
        if isinstance(part.content, str):
            return _is_blank(part.content)
        return not part.content or any(map(_is_empty_item, part.content))
    return part.part_kind in STALE or part.part_kind == "retry-prompt" or _is_silent(part)


def _request_parts(message: ModelRequest, counted: Counter[str]) -> Iterator[ModelRequestPart]:
    for part in message.parts:
        if not is_to_mend(part):
            yield part
        elif part.part_kind in STALE:
            counted[STALE_PROMPT] += 1
        elif part.part_kind == "retry-prompt":
            counted[OLD_RETRY] += 1
            text, at = part.model_response(), part.timestamp
            if part.tool_name is None:
                yield UserPromptPart(text, timestamp=at)
            else:
                yield ToolReturnPart(part.tool_name, text, part.tool_call_id, timestamp=at, outcome="retried")
        elif isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            items = [item for item in part.content if not _is_empty_item(item)]
            marks = sum(isinstance(item, CachePoint) for item in part.content)
            counted[CACHE_MARK] += marks
            counted[EMPTY_TEXT] += len(part.content) - len(items) - marks or not part.content
            if items:
                yield replace(part, content=items)
        else:
            counted[EMPTY_TEXT] += 1


def _is_silent(part: ModelRequestPart | ModelResponsePart) -> bool:
    if part.part_kind == "speech":
        return not part.transcript and part.audio is None
    return part.part_kind == "text" and _is_blank(part.content)


def _is_empty_item(item: object) -> bool:
    return isinstance(item, CachePoint) or _is_blank(item.content if isinstance(item, TextContent) else item)


def _is_blank(text: object) -> bool:
    return isinstance(text, str) and (not text or text.isspace())
