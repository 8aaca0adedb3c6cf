"""Histories of every shape: whole ones, and ones that are broken in all the ways that were ever seen."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime

from hypothesis import strategies as st
from pydantic_ai import messages as parts
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PICTURE = BinaryContent(b"\x89PNG", media_type="image/png")


def user(*contents: str, at: datetime = NOON) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(content, timestamp=at) for content in contents], timestamp=at)


def says(text: str, *, used: int = 0) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], timestamp=NOON, usage=RequestUsage(input_tokens=used))


def calls(*ids: str, tool: str = "read_file", path: str | None = None) -> ModelResponse:
    made = [ToolCallPart(tool, {"path": path or f"{call_id}.py"}, call_id) for call_id in ids]
    return ModelResponse(parts=made, timestamp=NOON)


def results(**contents: str) -> ModelRequest:
    made = [ToolReturnPart("read_file", content, call_id, timestamp=NOON) for call_id, content in contents.items()]
    return ModelRequest(parts=made, timestamp=NOON)


def old_retry(tool_name: str | None, call_id: str) -> ModelRequestPart:
    """A part as histories of pydantic-ai 1 hold it in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parts.RetryPromptPart(  # pyright: ignore[reportDeprecated]
            "again", tool_name=tool_name, tool_call_id=call_id, timestamp=NOON
        )


_IDS = st.sampled_from(["K", "a", "b", ""])
_TEXTS = st.sampled_from(["", " ", "\n\n", "said", "more"])
_CALL = st.builds(
    ToolCallPart,
    tool_name=st.sampled_from(["t", "t", "t", "", "no name<|x|>", "a.b"]),
    args=st.sampled_from(["{}", '{"a": 1 "b"', "[]", "null", "", None, {"path": "x"}]),
    tool_call_id=_IDS,
)
_RETURN = st.builds(ToolReturnPart, tool_name=st.just("t"), content=_TEXTS, tool_call_id=_IDS, timestamp=st.just(NOON))
_PROMPT = st.builds(
    UserPromptPart,
    _TEXTS | st.lists(st.sampled_from(["", "look", PICTURE, CachePoint()]), max_size=3),
    timestamp=st.just(NOON),
)
_SYSTEM = st.builds(SystemPromptPart, st.just("old"), timestamp=st.just(NOON))
_RETRY = st.builds(old_retry, st.sampled_from(["t", None]), _IDS)
_REQUEST_PARTS: st.SearchStrategy[ModelRequestPart] = st.one_of(_RETURN, _RETURN, _PROMPT, _PROMPT, _SYSTEM, _RETRY)
_THINKING = st.builds(
    ThinkingPart,
    st.sampled_from(["", "hm"]),
    signature=st.sampled_from([None, "s"]),
    provider_name=st.sampled_from([None, "anthropic", "openai"]),
)
_RESPONSE_PARTS: st.SearchStrategy[ModelResponsePart] = st.one_of(_CALL, _CALL, st.builds(TextPart, _TEXTS), _THINKING)
_REQUEST = st.builds(
    ModelRequest,
    parts=st.lists(_REQUEST_PARTS, max_size=4),
    instructions=st.sampled_from([None, None, None, "of then"]),
    timestamp=st.sampled_from([None, NOON]),
)
_RESPONSE = st.builds(
    ModelResponse,
    parts=st.lists(_RESPONSE_PARTS, max_size=4),
    state=st.sampled_from(["complete", "complete", "interrupted"]),
    model_name=st.sampled_from([None, "gpt-4o"]),
    timestamp=st.just(NOON),
)
BROKEN: st.SearchStrategy[list[ModelMessage]] = st.lists(st.one_of(_REQUEST, _RESPONSE), max_size=8)


@st.composite
def whole(draw: st.DrawFn, most_turns: int = 4, longest: int = 3_000) -> list[ModelMessage]:
    """A history as turns leave it: prompts, rows of calls with their results, answers."""
    history: list[ModelMessage] = []
    number = 0
    for turn in range(draw(st.integers(0, most_turns))):
        history.append(user(f"prompt {turn}: " + "p" * draw(st.integers(0, longest))))
        for _ in range(draw(st.integers(0, 4))):
            ids = [f"c{number + one}" for one in range(draw(st.integers(1, 3)))]
            number += len(ids)
            contents = {call_id: "r" * draw(st.integers(0, longest)) for call_id in ids}
            history += [calls(*ids), results(**contents)]
        history.append(says("answer " + "s" * draw(st.integers(0, longest))))
    return history
