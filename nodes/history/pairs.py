"""Which result answers which call, and what a call may be named."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count

from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, ToolCallPart, ToolReturnPart

UNANSWERED = "Interrupted: no result of this call was recorded, and its effects may have happened."

Place = tuple[int, int]
"""Where a call stands: the number of its message, and its number among the calls of it."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
NO_RESULT = "unanswered call(s) answered as interrupted"
MOVED = "result(s) moved to their calls"
REPEATED = "second result(s) of a call left out"
ORPHANED = "result(s) without a call left out"
RENAMED = "call(s) given an id or a name that can be sent"


@dataclass(frozen=True)
class Answers:
    """The result of each call of a history that has one."""

    messages: Sequence[ModelMessage]
    found: Mapping[Place, ToolReturnPart]
    answering: frozenset[int]

    @classmethod
    def of(cls, messages: Sequence[ModelMessage], counted: Counter[str]) -> Answers:
        """Find them; `counted` gets the results that answer nothing.

        A result answers the oldest open call of its id before it; a later response that uses the id again closes the
        calls of the earlier one, since some servers give every call the same id.
        """
        found: dict[Place, ToolReturnPart] = {}
        waiting: dict[str, deque[Place]] = {}
        for number, message in enumerate(messages):
            if isinstance(message, ModelResponse):
                for position, call in enumerate(message.tool_calls):
                    if any(place[0] != number for place in waiting.get(call.tool_call_id, ())):
                        del waiting[call.tool_call_id]
                    waiting.setdefault(call.tool_call_id, deque()).append((number, position))
                continue
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    if waiting.get(part.tool_call_id):
                        found[waiting[part.tool_call_id].popleft()] = part
                    else:
                        counted[REPEATED if part.tool_call_id in waiting else ORPHANED] += 1
        return cls(messages, found, frozenset(map(id, found.values())))

    def to(self, number: int, counted: Counter[str]) -> list[ToolReturnPart]:
        """One result for each call of the response of that number, in their order."""
        response = self.messages[number]
        if not isinstance(response, ModelResponse):
            return []
        following = self.messages[number + 1].parts if number + 1 < len(self.messages) else ()
        standing = [part for part in following if not isinstance(part, ToolReturnPart) or id(part) in self.answering]
        given: list[ToolReturnPart] = []
        answered = 0
        for position, call in enumerate(response.tool_calls):
            result = self.found.get((number, position))
            if result is None:
                counted[NO_RESULT] += 1
                result = _unanswered(call, response.timestamp)
            else:
                counted[MOVED] += answered >= len(standing) or standing[answered] is not result
                answered += 1
            given.append(result)
        return given


def are_sendable(calls: Sequence[ToolCallPart]) -> bool:
    """Whether each call of a response has an id of its own and a name of letters, digits, `_` and `-`."""
    if len(calls) == 1:
        return bool(calls[0].tool_call_id) and _NAME.fullmatch(calls[0].tool_name) is not None
    ids = {call.tool_call_id for call in calls}
    return len(ids) == len(calls) and "" not in ids and all(_NAME.fullmatch(call.tool_name) for call in calls)


def renamed(
    response: ModelResponse, given: Sequence[ToolReturnPart], counted: Counter[str]
) -> tuple[ModelResponse, list[ToolReturnPart]]:
    """The response with calls that are sendable, and their results under the same ids and names."""
    all_ids = {call.tool_call_id for call in response.tool_calls}
    taken: set[str] = set()
    parts: list[ModelResponsePart] = []
    named: list[ToolReturnPart] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            call_id, name = part.tool_call_id, re.sub(r"[^A-Za-z0-9_-]", "_", part.tool_name)[:128] or "unnamed"
            if call_id in taken or not call_id:
                fresh = (f"{call_id or 'call'}-{number}" for number in count(1))
                call_id = next(one for one in fresh if one not in taken | all_ids)
            taken.add(call_id)
            result = given[len(named)]
            if (call_id, name) != (part.tool_call_id, part.tool_name):
                counted[RENAMED] += 1
                part = replace(part, tool_call_id=call_id, tool_name=name)
                result = replace(result, tool_call_id=call_id, tool_name=name)
            named.append(result)
        parts.append(part)
    return replace(response, parts=parts), named


def _unanswered(call: ToolCallPart, at: datetime) -> ToolReturnPart:
    return ToolReturnPart(call.tool_name, UNANSWERED, call.tool_call_id, timestamp=at, outcome="interrupted")
