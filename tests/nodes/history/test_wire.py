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
from turngraph.nodes.history.wire import distinct_ids, one_prompt, own_thoughts

from .histories import PICTURE, calls, results, says, user
from .validators import ANTHROPIC, anthropic_violation, wire


@given(st.lists(st.sampled_from(["K", "K-2", "a"]), max_size=8), st.integers(0, 8))
def test_each_call_gets_an_id_of_its_own_however_the_history_is_split(ids: list[str], split: int) -> None:
    history = [m for call_id in ids for m in (user("go"), calls(call_id), results(**{call_id: call_id}), says("so"))]
    taken: set[str] = set()
    at = 4 * min(split, len(ids))
    sent = distinct_ids(history[:at], taken) + distinct_ids(history[at:], taken)
    assert sent == distinct_ids(history, set())
    called = [part.tool_call_id for m in sent for part in m.parts if isinstance(part, ToolCallPart)]
    assert len(set(called)) == len(ids)
    answered = [part for m in sent for part in m.parts if isinstance(part, ToolReturnPart)]
    assert [part.tool_call_id for part in answered] == called
    assert [part.content for part in answered] == ids


def test_a_server_that_gave_all_calls_one_id_leaves_a_history_that_others_take() -> None:
    history: list[ModelMessage] = []
    for result in ("r1", "r2", "r3"):
        history += [user("go"), calls("K"), results(K=result), says("so")]
    assert anthropic_violation(wire(ANTHROPIC, [*history, user("next")])) is None


def test_neighbouring_prompts_are_sent_as_one() -> None:
    (texts,) = one_prompt(user("one", "two")).parts
    assert isinstance(texts, UserPromptPart)
    assert texts.content == "one\n\ntwo"
    pictured = ModelRequest(parts=[*results(a="r").parts, UserPromptPart("see"), UserPromptPart([PICTURE])])
    result, prompt = one_prompt(pictured).parts
    assert isinstance(result, ToolReturnPart)
    assert isinstance(prompt, UserPromptPart)
    assert prompt.content == ["see", PICTURE]
    assert one_prompt(one := user("alone")) is one


def test_only_thinking_that_the_provider_signed_is_sent_back() -> None:
    signed = ThinkingPart("hm", signature="s", provider_name="anthropic")
    reply = ModelResponse(parts=[ThinkingPart("no"), signed, TextPart("so")])
    assert own_thoughts(reply, "anthropic").parts == [signed, TextPart("so")]
    assert own_thoughts(reply, "fallback:openai,anthropic").parts == [signed, TextPart("so")]
    assert own_thoughts(reply, "openai").parts == [TextPart("so")]
    assert own_thoughts(one := says("x"), "openai") is one
