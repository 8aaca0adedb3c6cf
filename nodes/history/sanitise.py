"""Make a history one that every provider accepts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)

UNANSWERED = "Interrupted: no result of this call was recorded, and its effects may have happened."

_Place = tuple[int, int]
"""Where a part stands: the number of its message, and its number in it."""


def sanitise(messages: Sequence[ModelMessage]) -> tuple[list[ModelMessage], list[str]]:
    """The history with every call answered and nothing empty, and what had to be mended, in words.

    Responses without text and calls go, and so do results without a call. After each response with calls comes one
    request that starts with one result for each call, in their order: a result that came late is moved there, and a
    call that has none gets one that says so. Neighbouring requests become one.
    """
    if _is_clean(messages):
        return list(messages), []
    spoken = [message for message in messages if not _is_empty(message)]
    answers = _answers(spoken)
    mended: list[ModelMessage] = []
    for number, message in enumerate(spoken):
        if isinstance(message, ModelResponse):
            mended.append(message)
            if results := list(_results(number, message, answers)):
                mended.append(ModelRequest(parts=results))
        elif others := [part for part in message.parts if not isinstance(part, ToolReturnPart)]:
            _say(mended, message, others)
        elif mended and isinstance(mended[-1], ModelRequest):
            _say(mended, message, [])
    results = [part for message in spoken for part in message.parts if isinstance(part, ToolReturnPart)]
    calls = [part for message in spoken for part in message.parts if isinstance(part, ToolCallPart)]
    counted = [
        (len(messages) - len(spoken), "empty message(s) left out"),
        (len(calls) - len(answers), "unanswered call(s) answered as interrupted"),
        (len(results) - len(answers), "result(s) without a call left out"),
    ]
    return mended, [f"{count} {what}" for count, what in counted if count]


def _is_clean(messages: Sequence[ModelMessage]) -> bool:
    """Whether there is nothing to mend, which is the rule and costs one look at each part."""
    calls: list[str] = []
    after_request = False
    for message in messages:
        if _is_empty(message) or (after_request and isinstance(message, ModelRequest)):
            return False
        after_request = isinstance(message, ModelRequest)
        if isinstance(message, ModelRequest):
            results = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
            if results != calls or not all(isinstance(part, ToolReturnPart) for part in message.parts[: len(results)]):
                return False
            calls = []
        elif calls:
            return False
        else:
            calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
    return not calls


def _answers(messages: Sequence[ModelMessage]) -> Mapping[_Place, ToolReturnPart]:
    """The result of each call that has one.

    A result answers the oldest open call of its id before it; a later response that uses the id again closes the
    calls of the earlier one, since some servers give every call the same id.
    """
    answers: dict[_Place, ToolReturnPart] = {}
    waiting: dict[str, deque[_Place]] = {}
    for number, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            for call in message.tool_calls:
                if any(place[0] != number for place in waiting.get(call.tool_call_id, ())):
                    del waiting[call.tool_call_id]
                waiting.setdefault(call.tool_call_id, deque()).append((number, _position(message, call)))
        else:
            for part in message.parts:
                if isinstance(part, ToolReturnPart) and waiting.get(part.tool_call_id):
                    answers[waiting[part.tool_call_id].popleft()] = part
    return answers


def _results(
    number: int, response: ModelResponse, answers: Mapping[_Place, ToolReturnPart]
) -> Iterator[ToolReturnPart]:
    for call in response.tool_calls:
        yield answers.get((number, _position(response, call))) or ToolReturnPart(
            tool_name=call.tool_name,
            content=UNANSWERED,
            tool_call_id=call.tool_call_id,
            timestamp=response.timestamp,
            outcome="interrupted",
        )


def _position(response: ModelResponse, call: ToolCallPart) -> int:
    return next(number for number, part in enumerate(response.parts) if part is call)


def _say(mended: list[ModelMessage], request: ModelRequest, others: Sequence[ModelRequestPart]) -> None:
    """Add a request, or let it join the one before it; one that needs no change stays the object it is."""
    joined = mended.pop().parts if mended and isinstance(mended[-1], ModelRequest) else ()
    parts = cast(list[ModelRequestPart], [*joined, *others])
    mended.append(request if parts == list(request.parts) else replace(request, parts=parts))


def _is_empty(message: ModelMessage) -> bool:
    if isinstance(message, ModelRequest):
        return not message.parts
    for part in message.parts:
        if isinstance(part, TextPart):
            if part.content.strip():
                return False
        elif not isinstance(part, ThinkingPart):
            return False
    return True
