from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from turngraph.nodes.history.sanitise import sanitise

from ...scripted.rules import violation
from ..test_any_script import wire

IDS = st.sampled_from(["K", "a", "b"])
CALL = st.builds(ToolCallPart, tool_name=st.just("t"), args=st.sampled_from(["{}", '{"a": 1 "b"']), tool_call_id=IDS)
RETURN = st.builds(ToolReturnPart, tool_name=st.just("t"), content=st.sampled_from(["", "r"]), tool_call_id=IDS)
TEXT = st.builds(TextPart, st.sampled_from(["", " ", "said"]))
THINKING = st.builds(ThinkingPart, st.just("hm"), signature=st.sampled_from([None, "s"]))
PROMPT = st.builds(UserPromptPart, st.sampled_from(["one", "two"]))
REQUEST = st.builds(ModelRequest, parts=st.lists(RETURN | PROMPT, max_size=3))
RESPONSE = st.builds(
    ModelResponse,
    parts=st.lists(CALL | TEXT | THINKING, max_size=3, unique_by=lambda part: getattr(part, "tool_call_id", id(part))),
)
HISTORY = st.lists(REQUEST | RESPONSE, max_size=8)


@given(HISTORY)
def test_every_history_becomes_one_that_can_be_sent(history: list[ModelMessage]) -> None:
    before = repr(history)
    mended, repairs = sanitise(history)
    assert repr(history) == before
    sent = wire([*mended, ModelRequest(parts=[UserPromptPart("next")])])
    assert violation(sent) is None
    again, more = sanitise(mended)
    assert (again, more) == (mended, [])
    if mended == history:
        assert repairs == []


@given(HISTORY)
def test_nothing_that_was_said_is_lost_or_moved(history: list[ModelMessage]) -> None:
    def said(messages: list[ModelMessage]) -> list[object]:
        parts = [part for message in messages for part in message.parts]
        return [
            (type(part), getattr(part, "content", None) or part.tool_call_id)  # pyright: ignore
            for part in parts
            if isinstance(part, UserPromptPart | ToolCallPart) or (isinstance(part, TextPart) and part.content.strip())
        ]

    assert said(sanitise(history)[0]) == said(history)


def turn(call_id: str, result: str) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart("go")]),
        ModelResponse(parts=[ToolCallPart("t", {}, call_id)]),
        ModelRequest(parts=[ToolReturnPart("t", result, call_id)]),
        ModelResponse(parts=[TextPart("so")]),
    ]


def test_one_id_for_all_calls_loses_no_result() -> None:
    history = [*turn("K", "r1"), *turn("K", "r2"), *turn("K", "r3")]
    assert sanitise(history) == (history, [])


def test_a_late_result_is_moved_to_its_call() -> None:
    mended, repairs = sanitise(
        [
            ModelResponse(parts=[ToolCallPart("t", {}, "a")]),
            ModelRequest(parts=[UserPromptPart("well?")]),
            ModelResponse(parts=[TextPart("wait")]),
            ModelRequest(parts=[ToolReturnPart("t", "late", "a"), UserPromptPart("and?")]),
        ]
    )
    assert repairs == []
    assert [[type(part).__name__ for part in message.parts] for message in mended] == [
        ["ToolCallPart"],
        ["ToolReturnPart", "UserPromptPart"],
        ["TextPart"],
        ["UserPromptPart"],
    ]
    assert "late" in repr(mended[1])


def test_what_was_mended_is_counted() -> None:
    history: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("go"), ToolReturnPart("t", "lost", "x")]),
        ModelResponse(parts=[]),
        ModelResponse(parts=[ThinkingPart("only")]),
        ModelResponse(parts=[ToolCallPart("t", {}, "a"), ToolCallPart("t", {}, "b"), ToolCallPart("t", {}, "c")]),
        ModelRequest(parts=[UserPromptPart("what?"), ToolReturnPart("t", "r", "b")]),
    ]
    mended, repairs = sanitise(history)
    assert repairs == [
        "2 empty message(s) left out",
        "2 unanswered call(s) answered as interrupted",
        "1 result(s) without a call left out",
    ]
    results = mended[-1].parts
    assert [part.tool_call_id for part in results if isinstance(part, ToolReturnPart)] == ["a", "b", "c"]
    assert isinstance(results[-1], UserPromptPart)
