"""The scripted server, asked by the public OpenAI client."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import openai
import pytest

from .replies import Call, Drop, Garbage, Hang, Reply, Status, call, calls, say, think
from .server import ScriptedServer, serving


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serving() as server:
        yield server


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def streamed(client: openai.OpenAI) -> tuple[str, str, list[list[str]], str | None, int]:
    """Read a stream: text, reasoning, the calls as [id, name, arguments], the finish reason, all tokens."""
    text, reasoning, tokens, finish = "", "", 0, None
    found: dict[int, list[str]] = {}
    stream = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "hi"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in stream:
        tokens += chunk.usage.total_tokens if chunk.usage else 0
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasoning += str((choice.delta.model_extra or {}).get("reasoning_content", ""))
            finish = choice.finish_reason or finish
            for delta in choice.delta.tool_calls or ():
                assert delta.function is not None
                one = found.setdefault(delta.index, ["", "", ""])
                one[0] += delta.id or ""
                one[1] += delta.function.name or ""
                one[2] += delta.function.arguments or ""
    return text, reasoning, list(found.values()), finish, tokens


def test_a_streamed_reply_arrives_whole(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(
        Reply(
            "I look.",
            (call("grep", pattern="TODO"), Call("f", "{", "mine")),
            "Hm, well.",
            "tool_calls",
            (7, 2),
        )
    )
    text, reasoning, found, finish, tokens = streamed(client)
    assert (text, reasoning, finish, tokens) == ("I look.", "Hm, well.", "tool_calls", 9)
    assert found == [["call_1_0", "grep", '{"pattern": "TODO"}'], ["mine", "f", "{"]]
    assert server.last.roles == ["user"]
    assert server.last.headers["authorization"] == "Bearer none"


def test_a_reply_that_is_not_streamed(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(calls(call("grep", pattern="x"), text="I look."), think("only thoughts"))
    first = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}]).choices[0]
    assert (first.message.content, first.finish_reason) == ("I look.", "tool_calls")
    second = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}]).choices[0]
    assert second.message.content is None


def test_a_broken_request_is_refused_and_remembered(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(say("never said"))
    with pytest.raises(openai.BadRequestError, match="answers 'x'"):
        client.chat.completions.create(
            model="m", messages=[{"role": "tool", "tool_call_id": "x", "content": "r"}], stream=True
        )
    assert len(server.violations) == 1
    assert len(server.script) == 1


def test_a_request_after_the_end_is_refused(server: ScriptedServer, client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="at its end"):
        streamed(client)
    assert server.violations


def test_faults(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Status(500), Drop(say("abc"), after=2), Garbage('data: {"error": {"message": "overloaded"}}\n\n'))
    with pytest.raises(openai.InternalServerError):
        streamed(client)
    with pytest.raises(openai.APIConnectionError):
        streamed(client)
    with pytest.raises(openai.APIError, match="overloaded"):
        streamed(client)
    server.add(say("fine"))
    assert streamed(client)[0] == "fine"


def test_closing_ends_a_hang() -> None:
    """Neither the client nor the server waits for the other when the server closes."""
    seen: list[BaseException] = []

    def ask(url: str) -> None:
        try:
            with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
                streamed(client)
        except Exception as error:
            seen.append(error)

    with serving(Hang(say("abc"), after=2)) as server:
        asking = threading.Thread(target=ask, args=(server.base_url,))
        asking.start()
        assert server.hanging.wait(10)
    asking.join(10)
    assert not asking.is_alive()
    assert len(seen) == 1
