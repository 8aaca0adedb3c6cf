"""Make a loaded history one that every provider accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
    repair_messages,
)


def sanitise(messages: Sequence[ModelMessage]) -> tuple[list[ModelMessage], list[str]]:
    """The history with every call answered and nothing empty, and what had to be mended, in words.

    Responses without text and calls go; results without a call go; a call without a result gets one that says it
    was interrupted; neighbouring requests become one, results first and in the order of their calls.
    """
    kept = [message for message in messages if not _is_empty(message)]
    repaired = repair_messages(kept)
    if any(not message.parts for message in repaired):  # a request of nothing but results without a call
        repaired = repair_messages([message for message in repaired if message.parts])
    repaired = _results_first(repaired)
    answered = _count_returns(repaired, synthesised=True) - _count_returns(kept, synthesised=True)
    dropped = _count_returns(kept, synthesised=False) - _count_returns(repaired, synthesised=False)
    counted = [
        (len(messages) - len(kept), "empty response(s) left out"),
        (answered, "unanswered call(s) answered as interrupted"),
        (dropped, "result(s) without a call left out"),
    ]
    return repaired, [f"{count} {what}" for count, what in counted if count]


def _results_first(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Put the results of each request first, one for each call and in their order."""
    ordered: list[ModelMessage] = []
    calls: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [call.tool_call_id for call in message.tool_calls]
            ordered.append(message)
        else:
            parts = _in_order(message.parts, calls)
            ordered.append(message if parts == message.parts else replace(message, parts=parts))
    return ordered


def _in_order(parts: Sequence[ModelRequestPart], calls: Sequence[str]) -> list[ModelRequestPart]:
    others: list[ModelRequestPart] = []
    answers: list[tuple[int, ModelRequestPart]] = []
    waiting = Counter(calls)
    for part in parts:
        call_id: str = getattr(part, "tool_call_id", "")
        if call_id not in calls:
            others.append(part)
        elif waiting[call_id]:
            waiting[call_id] -= 1
            answers.append((calls.index(call_id), part))
    return [part for _, part in sorted(answers, key=lambda answer: answer[0])] + others


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
