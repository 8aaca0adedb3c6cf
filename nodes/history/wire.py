"""The last touches to what is sent, which the history itself does not need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)


def distinct_ids(messages: Sequence[ModelMessage], taken: set[str]) -> list[ModelMessage]:
    """The messages with an id for each call that no call before it had; `taken` holds those, and gets the new ones.

    Some servers give every call the same id, and others refuse a history with such calls. The messages must be
    sanitised: results are those of the response before them.
    """
    fitted: list[ModelMessage] = []
    fresh: dict[str, str] = {}
    for message in messages:
        if isinstance(message, ModelResponse):
            fresh = {call.tool_call_id: _fresh(call.tool_call_id, taken) for call in message.tool_calls}
        if fresh and any(old != new for old, new in fresh.items()):
            parts = [
                replace(part, tool_call_id=fresh.get(part.tool_call_id, part.tool_call_id))
                if isinstance(part, ToolCallPart | ToolReturnPart)
                else part
                for part in message.parts
            ]
            message = replace(message, parts=parts)
        fitted.append(message)
    return fitted


def own_thoughts(message: ModelMessage, system: str) -> ModelMessage:
    """The message without thinking that the provider `system` did not sign: it would be sent as the user's words."""
    if not isinstance(message, ModelResponse):
        return message
    parts = [part for part in message.parts if not isinstance(part, ThinkingPart) or _is_signed_by(part, system)]
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)


def one_prompt(message: ModelMessage) -> ModelMessage:
    """The message with neighbouring prompts as one, since each is sent as a message of the user of its own."""
    if not isinstance(message, ModelRequest) or len(message.parts) < 2:
        return message
    parts: list[ModelRequestPart] = []
    for part in message.parts:
        before = parts[-1] if parts else None
        if not isinstance(part, UserPromptPart) or not isinstance(before, UserPromptPart):
            parts.append(part)
        elif isinstance(part.content, str) and isinstance(before.content, str):
            parts[-1] = replace(before, content=f"{before.content}\n\n{part.content}")
        else:
            items = [[one.content] if isinstance(one.content, str) else one.content for one in (before, part)]
            parts[-1] = replace(before, content=[item for content in items for item in content])
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)


def _is_signed_by(part: ThinkingPart, system: str) -> bool:
    # A model that falls back on others names them all.
    return bool(part.signature) and part.provider_name is not None and part.provider_name in system


def _fresh(call_id: str, taken: set[str]) -> str:
    if call_id in taken:
        call_id = next(one for number in count(2) if (one := f"{call_id}-{number}") not in taken)
    taken.add(call_id)
    return call_id
