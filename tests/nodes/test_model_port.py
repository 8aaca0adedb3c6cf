from __future__ import annotations

import pytest
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from turngraph.flows.runner import run_turn
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import ContextOverflow, ProviderError, SinkError, UsageError
from turngraph.nodes.model_port import ModelPort, provider_errors, with_guidance

from ..scripted.rules import violation
from .acting import Actor, call, reading
from .test_any_script import wire

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


async def test_each_message_is_prepared_once_however_long_the_turn() -> None:
    rounds = 30
    model = Actor(*[[call("look", n=n)] for n in range(rounds)])
    result = await run_turn("go", model=model, toolsets=[reading(look)], limits=Limits(max_iterations=rounds + 1))
    assert result.error is None
    assert model.prepared == 1 + 2 * rounds
    assert [len(request) for request in model.requests] == [1 + 2 * n for n in range(rounds + 1)]
    for request in model.requests:
        assert violation(wire(request)) is None


async def said(port: ModelPort, messages: list[ModelMessage], guidance: str | None = None) -> None:
    async with port.stream(messages, [], guidance) as response:
        async for _ in response:
            pass


async def test_the_wire_grows_by_what_was_added_and_guidance_does_not_stay() -> None:
    model = Actor()
    port = ModelPort(model)
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("one")])]
    await said(port, messages, "remark")
    await said(port, messages)
    messages += [
        ModelResponse(parts=[ToolCallPart("look", {}, "a")]),
        ModelRequest(parts=[ToolReturnPart("look", "1", "a")]),
    ]
    await said(port, messages, "again")
    assert [[len(message.parts) for message in request] for request in model.requests] == [[1], [1], [1, 1, 2]]
    assert model.prepared == 3
    asked = [request[-1].parts[-1] for request in model.requests]
    assert [part.content for part in asked if isinstance(part, UserPromptPart)] == ["one\n\nremark", "one", "again"]
    assert [len(message.parts) for message in messages] == [1, 1, 1]


async def test_a_prompt_after_results_joins_their_request() -> None:
    model = Actor()
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("one")]),
        ModelResponse(parts=[ToolCallPart("look", {}, "a")]),
        ModelRequest(parts=[ToolReturnPart("look", "1", "a")]),
        ModelRequest(parts=[UserPromptPart("two")]),
    ]
    await said(ModelPort(model), messages)
    (request,) = model.requests
    assert [len(message.parts) for message in request] == [1, 1, 2]


async def test_results_are_sent_in_the_order_of_their_calls() -> None:
    model = Actor()
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("one")]),
        ModelResponse(parts=[ToolCallPart("look", {}, name) for name in "abc"]),
        ModelRequest(parts=[ToolReturnPart("look", name, name) for name in "bca"]),
    ]
    await said(ModelPort(model), messages)
    sent = [getattr(part, "content", None) for part in model.requests[0][-1].parts]
    assert sent == ["a", "b", "c"]


async def test_instructions_and_the_cap_of_an_answer_reach_the_model() -> None:
    model = Actor()
    await said(ModelPort(model, instructions="Be brief.", max_tokens=7), [ModelRequest(parts=[UserPromptPart("one")])])
    (info,) = model.infos
    assert info.instructions == "Be brief."
    assert info.model_settings == {"max_tokens": 7}


async def test_a_rewritten_history_is_prepared_anew_and_only_once() -> None:
    model = Actor()
    port = ModelPort(model)
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("one")])]
    await said(port, messages)
    port.forget()
    rewritten: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("another")])]
    await said(port, rewritten)
    await said(port, rewritten)
    assert [str(request[0].parts[0]) for request in model.requests[1:]] == [str(rewritten[0].parts[0])] * 2
    assert model.prepared == 2


async def test_what_does_not_take_turns_with_what_was_sent_joins_it() -> None:
    """A message from outside may come after the results of a reply."""
    model = Actor()
    port = ModelPort(model)
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("one")])]
    await said(port, messages)
    messages.append(ModelRequest(parts=[UserPromptPart("two")]))
    await said(port, messages)
    ((request,),) = model.requests[1:]
    (part,) = request.parts
    assert isinstance(part, UserPromptPart)
    assert part.content == "one\n\ntwo"


def test_the_window_is_what_was_said_else_what_is_known_of_the_model() -> None:
    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(api_key="none"))
    assert ModelPort(model, context_window=1_000).context_window == 1_000
    assert ModelPort(model).context_window == 128_000
    assert ModelPort(Actor()).context_window is None
    assert ModelPort(model, context_window=1_000).beside(Actor()).context_window is None


def test_guidance_after_a_reply_is_a_request_of_its_own() -> None:
    reply = ModelResponse(parts=[TextPart("a")])
    first, second = with_guidance([reply], "remark")
    assert first is reply
    assert isinstance(second, ModelRequest)


def failed(error: Exception) -> ProviderError:
    with pytest.raises(ProviderError) as caught, provider_errors("some:model"):
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "too many\nrequests"}}, "HTTP 429: too many requests"),
        ({"message": "slow down"}, "HTTP 429: slow down"),
        ({"detail": ["a"]}, "HTTP 429: ['a']"),
        ({"error": "plain"}, "HTTP 429: plain"),
        ({"error": None}, "HTTP 429: no message"),
        ({}, "HTTP 429: no message"),
        ("<html>", "HTTP 429: <html>"),
        (None, "HTTP 429: no message"),
    ],
)
def test_an_http_error_says_its_status_and_the_servers_words(body: object, words: str) -> None:
    said = str(failed(ModelHTTPError(429, "m", body)))
    assert said == f"the request to some:model failed: {words}"


def test_a_request_that_is_too_large_is_an_overflow_and_a_rate_is_not() -> None:
    assert isinstance(failed(ModelHTTPError(400, "m", {"message": "input length 9 exceeds maximum"})), ContextOverflow)
    assert not isinstance(failed(ModelHTTPError(429, "m", {"message": "too many tokens per minute"})), ContextOverflow)


def test_a_long_error_is_cut_and_the_cut_is_said() -> None:
    said = str(failed(ModelHTTPError(500, "m", "x" * 10_000)))
    assert len(said) < 600
    assert said.endswith("more characters]")


def test_other_errors_are_said_with_their_cause_in_one_line() -> None:
    error = UnexpectedModelBehavior("odd\nreply")
    error.__cause__ = ValueError("bad json")
    assert str(failed(error)) == "the request to some:model failed: odd reply (bad json)"
    assert "ConnectionError" in str(failed(ConnectionError()))


def test_a_wrong_request_is_a_usage_error_and_ours_pass() -> None:
    with pytest.raises(UsageError, match="some:model: no such setting"), provider_errors("some:model"):
        raise UserError("no such setting")
    with pytest.raises(SinkError, match="gone"), provider_errors("some:model"):
        raise SinkError("gone")


def test_a_key_that_a_server_repeats_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery")
    with pytest.raises(ProviderError) as caught, provider_errors("some:model"):
        raise RuntimeError(f"{'x' * 490} no such key: correct-horse-battery")
    assert "correct" not in str(caught.value)
