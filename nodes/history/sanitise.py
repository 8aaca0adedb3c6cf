"""Make a loaded history one that every provider accepts."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
    repair_messages,
)


def sanitise(messages: Sequence[ModelMessage]) -> tuple[list[ModelMessage], list[str]]:
    """The history with every call answered and nothing empty, and what had to be mended, in words.

    Responses without text and calls go; results without a call go; a call without a result gets one that says it
    was interrupted; neighbouring requests become one, results first.
    """
    kept = [message for message in messages if not _is_empty(message)]
    repaired = repair_messages(kept)
    answered = _count_returns(repaired, synthesised=True) - _count_returns(kept, synthesised=True)
    dropped = _count_returns(kept, synthesised=False) - _count_returns(repaired, synthesised=False)
    counted = [
        (len(messages) - len(kept), "empty response(s) left out"),
        (answered, "unanswered call(s) answered as interrupted"),
        (dropped, "result(s) without a call left out"),
    ]
    return repaired, [f"{count} {what}" for count, what in counted if count]


def _is_empty(message: ModelMessage) -> bool:
    if not isinstance(message, ModelResponse):
        return not message.parts
    return all(
        (isinstance(part, TextPart) and not part.content.strip()) or isinstance(part, ThinkingPart)
        for part in message.parts
    )


def _count_returns(messages: Sequence[ModelMessage], *, synthesised: bool) -> int:
    parts = (part for message in messages for part in message.parts if isinstance(part, ToolReturnPart))
    return sum(_is_synthesised(part) is synthesised for part in parts)


def _is_synthesised(part: ToolReturnPart) -> bool:
    return bool(part.metadata) and part.outcome == "interrupted"
