from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage
from turngraph.nodes.reply import (
    encodable,
    hit_token_limit,
    is_truncated,
    looks_cut_off,
    split_thoughts,
    text_of,
    tidy,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_every_text_becomes_one_that_can_be_sent(text: str) -> None:
    sent = encodable(text)
    sent.encode()
    assert encodable(sent) == sent
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert sent == text


def test_a_lone_surrogate_is_spelled_out() -> None:
    assert encodable("a\udcffb") == "a\\udcffb"


def test_thoughts_leave_the_reply_unless_they_are_signed() -> None:
    signed = ThinkingPart("kept too", signature="sig")
    reply = ModelResponse(parts=[ThinkingPart("first"), ThinkingPart(" \n"), signed, TextPart("answer")])
    kept, thoughts = split_thoughts(reply)
    assert thoughts == ["first", "kept too"]
    assert kept.parts == [signed, TextPart("answer")]
    assert len(reply.parts) == 4


@given(st.lists(st.sampled_from(["K", "K-1", "L", ""]), max_size=6))
def test_each_call_of_a_tidy_reply_has_an_id_of_its_own(ids: list[str]) -> None:
    reply = tidy(ModelResponse(parts=[ToolCallPart("look", {"n": n}, one) for n, one in enumerate(ids)]))
    given_ids = [part.tool_call_id for part in reply.tool_calls]
    assert len(set(given_ids)) == len(ids)
    assert [part.args for part in reply.tool_calls] == [{"n": n} for n in range(len(ids))]


def test_the_first_call_with_an_id_keeps_it() -> None:
    reply = tidy(ModelResponse(parts=[ToolCallPart("a", "{}", "K"), ToolCallPart("b", "{}", "K")]))
    assert reply.tool_calls[0].tool_call_id == "K"


def test_a_tidy_reply_has_no_empty_text_and_nothing_that_cannot_be_sent() -> None:
    call = ToolCallPart("look", '{"path": "\udcff"}', "K")
    reply = tidy(ModelResponse(parts=[TextPart(""), TextPart("a\udcff"), call]))
    assert reply.parts[0] == TextPart("a\\udcff")
    assert reply.tool_calls[0].args == '{"path": "\\udcff"}'
    assert tidy(reply) == reply


def test_a_tidy_call_with_parsed_arguments_can_be_sent() -> None:
    reply = tidy(ModelResponse(parts=[ToolCallPart("look", {"path": ["\udcff"]}, "K")]))
    reply.tool_calls[0].args_as_json_str().encode()


def test_the_text_is_all_text_parts_without_the_space_around() -> None:
    parts = [TextPart(" a "), ThinkingPart("no"), TextPart("b\n")]
    assert text_of(ModelResponse(parts=parts)) == "a b"
    assert text_of(ModelResponse(parts=[TextPart(" \n")])) == ""


@pytest.mark.parametrize(
    ("reason", "output", "limit", "hit"),
    [
        ("length", 1, None, True),
        ("stop", 9, 10, False),
        ("stop", 10, 10, True),
        ("tool_call", 11, 10, True),
        (None, 10, None, False),
    ],
)
def test_the_token_limit(reason: str | None, output: int, limit: int | None, hit: bool) -> None:
    usage = RequestUsage(output_tokens=output)
    reply = ModelResponse(parts=[TextPart("x")], finish_reason=reason, usage=usage)  # pyright: ignore[reportArgumentType]
    assert hit_token_limit(reply, limit) is hit
    assert is_truncated(reply, limit) is hit


@pytest.mark.parametrize("text", ["and then...", "```py\nx = 1", "f(a, [1, 2)", "{", "((", "`````` ```"])
def test_a_text_that_breaks_off(text: str) -> None:
    assert looks_cut_off(text)


@pytest.mark.parametrize(
    "text", ["", "Done.", "wait....", "... and", "```\nx\n```", "f(a)[1]{}", "a) b) c)", ":-) done", "…"]
)
def test_a_text_that_is_whole(text: str) -> None:
    assert not looks_cut_off(text)


def test_how_it_reads_counts_only_without_a_reason() -> None:
    parts = [TextPart("to be continued...")]
    assert is_truncated(ModelResponse(parts=parts), None)
    assert not is_truncated(ModelResponse(parts=parts, finish_reason="stop"), None)


def test_a_provider_s_own_call_without_its_result_is_dropped() -> None:
    """T4-18."""
    lone = NativeToolCallPart("code_execution", {}, "n1")
    whole = (NativeToolCallPart("web_search", {}, "n2"), NativeToolReturnPart("web_search", "found", "n2"))
    assert list(tidy(ModelResponse(parts=[lone, *whole, TextPart("so")])).parts) == [*whole, TextPart("so")]
