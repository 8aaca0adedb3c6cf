"""Make a history one that every provider accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from . import pairs, sayings
from .joined import joined

NO_BEGINNING = "[The beginning of this conversation is missing.]"
REQUESTS_JOINED = "request(s) joined to the one before"
RESPONSES_JOINED = "response(s) joined to the one before"
BEGUN = "missing beginning marked"
_ORDER = (
    sayings.EMPTY_MESSAGE,
    sayings.EMPTY_TEXT,
    sayings.STALE_PROMPT,
    sayings.CACHE_MARK,
    sayings.OLD_RETRY,
    pairs.NO_RESULT,
    pairs.MOVED,
    pairs.REPEATED,
    pairs.ORPHANED,
    pairs.RENAMED,
    REQUESTS_JOINED,
    RESPONSES_JOINED,
    BEGUN,
)


def sanitise(messages: Sequence[ModelMessage], *, continues: bool = False) -> tuple[list[ModelMessage], list[str]]:
    """The history with every call answered and nothing empty, and what had to be mended, in words.

    Requests and responses take turns, a request first. After each response with calls comes one request that starts
    with one result for each call, in their order: a result that came late is moved there, and a call that has none
    gets one that says so. Results without a call go, and so does what says nothing: empty texts, and responses that
    only think. Neighbours of one kind become one message. System prompts go, since the instructions of now are sent
    with each request. A call whose arguments are no JSON object stays, with its result: it is sent as an object that
    holds them. `continues` is for the next part of a history: it may begin with a response.
    """
    if _is_clean(messages, continues):
        return list(messages), []
    counted: Counter[str] = Counter()
    said = [left for message in messages if (left := sayings.sayings(message, counted)) is not None]
    answers = pairs.Answers.of(said, counted)
    mended: list[ModelMessage] = []
    for number, message in enumerate(said):
        if isinstance(message, ModelResponse):
            _respond(mended, message, answers.to(number, counted), counted)
        else:
            counted[REQUESTS_JOINED] += number > 0 and isinstance(said[number - 1], ModelRequest)
            _request(mended, message)
    if mended and isinstance(mended[0], ModelResponse) and not continues:
        counted[BEGUN] += 1
        mended.insert(0, ModelRequest(parts=[UserPromptPart(NO_BEGINNING, timestamp=mended[0].timestamp)]))
    return mended, [f"{counted[what]} {what}" for what in _ORDER if counted[what]]


def _is_clean(messages: Sequence[ModelMessage], continues: bool) -> bool:
    """Whether there is nothing to mend, which is the rule and costs one look at each part."""
    calls: list[ToolCallPart] = []
    after: type[ModelMessage] | None = None if continues else ModelResponse
    for message in messages:
        if type(message) is after:
            return False
        after = type(message)
        if isinstance(message, ModelRequest):
            if not _answers(message, calls):
                return False
            calls = []
        else:
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            # Calls and nothing else are the commonest of all, and say something.
            if (len(calls) < len(message.parts) or not calls) and not sayings.says_something(message):
                return False
            if not pairs.are_sendable(calls):
                return False
    return not calls


def _answers(request: ModelRequest, calls: Sequence[ToolCallPart]) -> bool:
    """Whether a request begins with a result for each of the calls, in their order, and has no other."""
    results = 0
    for place, part in enumerate(request.parts):
        if not isinstance(part, ToolReturnPart):
            if sayings.is_to_mend(part):
                return False
        elif place == results < len(calls) and part.tool_call_id == calls[results].tool_call_id:
            results += 1
        else:
            return False
    return results == len(calls) and bool(request.parts) and request.instructions is None


def _respond(
    mended: list[ModelMessage], response: ModelResponse, results: list[ToolReturnPart], counted: Counter[str]
) -> None:
    """Add a response and the results of its calls; it joins a response before it.

    The joined one is no longer what a provider knows by an id.
    """
    if not pairs.are_sendable(response.tool_calls):
        response, results = pairs.renamed(response, results, counted)
    if mended and isinstance(before := mended[-1], ModelResponse):
        counted[RESPONSES_JOINED] += 1
        mended[-1] = replace(
            response, parts=[*before.parts, *response.parts], provider_response_id=None, history_digest=None
        )
    else:
        mended.append(response)
    if results:
        mended.append(ModelRequest(parts=results))


def _request(mended: list[ModelMessage], request: ModelRequest) -> None:
    """Add what a request says beside results, or let it join the one before; unchanged, it stays the object it is."""
    others = [part for part in request.parts if not isinstance(part, ToolReturnPart)]
    before = mended[-1] if mended else None
    if not isinstance(before, ModelRequest):
        if others:
            mended.append(request if len(others) == len(request.parts) else replace(request, parts=others))
        return
    if others:
        before = joined(before, replace(request, parts=others))
    elif before.timestamp is None:
        before = replace(request, parts=before.parts)
    mended[-1] = request if list(before.parts) == list(request.parts) else before
