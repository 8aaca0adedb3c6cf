"""Messages are stored without what needs no saying, and come back equal."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage
from turngraph.flows.store.codec import read_messages, write_message

texts = st.text(st.characters(codec=None), max_size=8)  # lone surrogates and U+FFFE included
optional = st.none() | texts
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
).filter(lambda value: not (isinstance(value, dict) and "kind" in value))
details = st.none() | st.dictionaries(texts, plain, max_size=2)
times = st.datetimes(timezones=st.sampled_from([UTC, timezone.max]))
images = st.binary(max_size=9).map(lambda data: BinaryContent.narrow_type(BinaryContent(data, media_type="image/png")))
outcomes = st.sampled_from(["success", "failed", "denied", "interrupted", "retried"])

request_parts: st.SearchStrategy[ModelRequestPart] = st.one_of(
    st.builds(SystemPromptPart, content=texts, timestamp=times, dynamic_ref=optional),
    st.builds(UserPromptPart, content=texts | st.lists(texts | images, max_size=2), timestamp=times),
    st.builds(
        ToolReturnPart,
        tool_name=texts,
        content=plain,
        tool_call_id=texts,
        metadata=plain,
        timestamp=times,
        outcome=outcomes,
    ),
)
response_parts: st.SearchStrategy[ModelResponsePart] = st.one_of(
    st.builds(TextPart, content=texts, id=optional, provider_name=optional, provider_details=details),
    st.builds(ThinkingPart, content=texts, id=optional, signature=optional, provider_name=optional),
    st.builds(FilePart, content=images, id=optional),
    st.builds(ToolCallPart, tool_name=texts, args=details | texts, tool_call_id=texts, provider_details=details),
    st.builds(NativeToolCallPart, tool_name=texts, args=details, tool_call_id=texts, provider_name=optional),
    st.builds(NativeToolReturnPart, tool_name=texts, content=plain, tool_call_id=texts, timestamp=times),
)
usages = st.builds(RequestUsage, input_tokens=st.integers(0, 2), details=st.dictionaries(texts, st.integers(0, 2)))
messages: st.SearchStrategy[ModelMessage] = st.one_of(
    st.builds(
        ModelRequest,
        parts=st.lists(request_parts, max_size=3),
        timestamp=st.none() | times,
        instructions=optional,
        metadata=details,
        run_id=optional,
        state=st.sampled_from(["complete", "interrupted"]),
    ),
    st.builds(
        ModelResponse,
        parts=st.lists(response_parts, max_size=3),
        usage=usages,
        model_name=optional,
        timestamp=times,
        provider_name=optional,
        provider_details=details,
        finish_reason=st.sampled_from([None, "stop", "length"]),
        metadata=details,
        state=st.sampled_from(["complete", "interrupted"]),
    ),
)


@given(st.lists(messages, max_size=4))
def test_messages_come_back_equal(some: list[ModelMessage]) -> None:
    stored = [write_message(message).encode() for message in some]
    assert read_messages(stored) == some
    assert [read_messages([one]) for one in stored] == [[message] for message in some]


@given(messages)
def test_what_is_stored_is_what_pydantic_ai_would_store_without_the_defaults(message: ModelMessage) -> None:
    """Nothing is said that is not in its own form, and what is nothing in a user's data stays."""
    try:
        theirs = ModelMessagesTypeAdapter.dump_json([message]).decode()
    except ValueError:
        return  # a lone surrogate, which it cannot store
    if "\ufffe" in theirs or "\ufffd" in theirs:
        return  # a mark like ours, or what it writes for a surrogate in a key
    within(json.loads(write_message(message)), json.loads(theirs)[0])


def within(part: Any, whole: Any) -> None:
    if "parts" in part:
        for one, other in zip(part["parts"], whole["parts"], strict=True):
            within(one, other)
    usage = part.get("usage", {})
    assert usage.items() <= whole.get("usage", {}).items() or usage == whole["usage"]
    for name, value in part.items():
        assert name in ("parts", "usage") or value == whole[name]


def test_a_plain_reply_is_short() -> None:
    message = ModelResponse(parts=[TextPart("hello")], usage=RequestUsage(input_tokens=5), timestamp=datetime.now(UTC))
    stored = json.loads(write_message(message))
    assert set(stored) == {"parts", "usage", "timestamp", "kind"}
    assert stored["parts"] == [{"content": "hello", "part_kind": "text"}]
    assert stored["usage"] == {"input_tokens": 5}


@pytest.mark.parametrize("damage", [b"", b"{", b"null", b"[]", b"{},{}", b'{"kind":"letter"}', b"\xff"])
def test_a_damaged_text_is_an_error(damage: bytes) -> None:
    good = write_message(ModelRequest(parts=[])).encode()
    for texts in ([damage], [good, damage], [damage, good]):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever it is, it is one
            read_messages(texts)
