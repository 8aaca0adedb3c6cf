"""A specification becomes a model that speaks to the right server, or one sentence that says what to do."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, get_args

import pytest
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import KnownModelName
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.settings import ModelSettings
from turngraph.flows.models import create_model
from turngraph.nodes.errors import UsageError

ASK = [ModelRequest.user_text_prompt("hello")]
PROVIDERS = sorted({name.partition(":")[0] for name in get_args(KnownModelName.__value__) if ":" in name})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "OLLAMA_BASE_URL", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@dataclass
class Seen:
    url: str = ""
    connections: set[Any] = field(default_factory=set[Any])
    paths: list[str] = field(default_factory=list[str])
    keys: list[str | None] = field(default_factory=list["str | None"])
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def _chunk(delta: dict[str, str], *, usage: dict[str, int] | None = None) -> bytes:
    choices = [] if usage else [{"index": 0, "delta": delta, "finish_reason": None}]
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return b"data: " + json.dumps(chunk | ({"usage": usage} if usage else {})).encode() + b"\n\n"


@contextmanager
def completions_server() -> Generator[Seen]:
    """A loopback server that speaks just enough of chat completions, and counts its connections."""
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            seen.connections.add(self.client_address)
            seen.paths.append(self.path)
            seen.keys.append(self.headers["Authorization"])
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.bodies.append(body)
            usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
            if body.get("stream"):
                kind, text = "text/event-stream", _chunk({"role": "assistant", "content": "hi"})
                if body.get("stream_options", {}).get("include_usage"):
                    text += _chunk({}, usage=usage)
                text += b"data: [DONE]\n\n"
            else:
                message = {"role": "assistant", "content": "hi"}
                choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
                reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
                kind, text = "application/json", json.dumps(reply | {"usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    seen.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("qwen3", "qwen3"),
        ("llama3.2:3b", "llama3.2:3b"),
        ("org/model-7b", "org/model-7b"),
        ("openai:gpt-oss", "gpt-oss"),
        ("openai-chat:gpt-oss", "gpt-oss"),
        ("ollama:llama3.2:3b", "llama3.2:3b"),
        ("vllm:qwen3", "qwen3"),
    ],
)
async def test_a_base_url_is_asked_for_chat_completions_under_the_servers_own_name(spec: str, name: str):
    with completions_server() as seen:
        async with create_model(spec, base_url=seen.url) as model:
            reply = await model_request(model, ASK, model_settings=ModelSettings(max_tokens=7))
    assert reply.text == "hi"
    assert seen.paths == ["/v1/chat/completions"]
    assert seen.bodies[0]["model"] == name


@pytest.mark.anyio
async def test_all_requests_share_one_connection_and_streams_report_their_usage():
    with completions_server() as seen:
        async with create_model("local", base_url=seen.url) as model:
            for _ in range(5):
                async with model_request_stream(model, ASK) as stream:
                    async for _event in stream:
                        pass
                assert (stream.usage.input_tokens, stream.usage.output_tokens) == (3, 2)
            await model_request(model, ASK)
    assert len(seen.paths) == 6
    assert len(seen.connections) == 1


@pytest.mark.anyio
async def test_a_server_without_keys_needs_none_and_a_key_is_sent_where_there_is_one(monkeypatch: pytest.MonkeyPatch):
    with completions_server() as seen:
        async with create_model("local", base_url=seen.url) as model:
            await model_request(model, ASK)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
        async with create_model("local", base_url=seen.url) as model:
            await model_request(model, ASK)
        async with create_model("ollama:local", base_url=seen.url) as model:
            await model_request(model, ASK)
    assert seen.keys[0] not in (None, "Bearer ")
    assert seen.keys[1] == "Bearer sk-mine"
    assert "sk-mine" not in str(seen.keys[2]), "OpenAI's key is no business of another provider"


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "field"), [("qwen3", "max_tokens"), ("o3-mini", "max_completion_tokens")])
async def test_the_cap_on_an_answer_goes_out_under_the_name_the_server_knows(name: str, field: str):
    with completions_server() as seen:
        async with create_model(name, base_url=seen.url) as model:
            await model_request(model, ASK, model_settings=ModelSettings(max_tokens=7))
    assert {key: value for key, value in seen.bodies[0].items() if "tokens" in key} == {field: 7}


def test_without_a_base_url_a_specification_means_what_it_means_to_pydantic_ai(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    assert isinstance(create_model("openai:gpt-5-mini"), OpenAIResponsesModel)
    assert isinstance(create_model("openai-chat:gpt-5-mini"), OpenAIChatModel)
    assert create_model(" openai:gpt-5-mini ", base_url="").model_name == "gpt-5-mini"


def test_offline_is_the_router_whatever_the_base_url():
    assert create_model("offline").model_name == "offline"
    assert create_model("offline", base_url="http://localhost:1/v1").model_name == "offline"


def _sentence(spec: str, base_url: str | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        create_model(spec, base_url=base_url)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_missing_key_is_named():
    assert "OPENAI_API_KEY" in _sentence("openai:gpt-5-mini")
    assert "ANTHROPIC_API_KEY" in _sentence("anthropic:claude-sonnet-4-5")
    assert "OLLAMA_BASE_URL" in _sentence("ollama:llama3.2")


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "groq", None)
    monkeypatch.delitem(sys.modules, "pydantic_ai.providers.groq", raising=False)
    assert _sentence("groq:llama").endswith("run: pip install 'pydantic-ai-slim[groq]'")


@pytest.mark.parametrize(
    ("spec", "advice"),
    [
        ("gpt-4o", "did you mean openai"),
        ("opnai:gpt-4o", "did you mean openai:gpt-4o?"),
        ("nobody:anything", "write provider:model"),
        ("", "write provider:model"),
        ("openai:", "--model openai:NAME"),
    ],
)
def test_an_unknown_model_gets_advice(spec: str, advice: str):
    assert advice in _sentence(spec)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_keeps_a_provider_from_working_here_is_one_sentence(provider: str, monkeypatch: pytest.MonkeyPatch):
    for name in list(os.environ):
        if name.endswith(("_KEY", "_TOKEN", "_URL", "_REGION")):
            monkeypatch.delenv(name)
    text = provider
    try:
        create_model(f"{provider}:some-model")
    except UsageError as error:
        text = str(error)
    assert provider in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "url",
    ["localhost:8080", "htp://host/v1", "http://", "http://[::1", "http://h:99999", "http://h:x/v1", "http://a b"],
)
def test_a_malformed_url_is_refused_with_an_example(url: str):
    assert "http://localhost:8080/v1" in _sentence("local", url)


def test_a_url_of_one_endpoint_or_with_a_query_is_refused():
    assert "leave '/chat/completions' off" in _sentence("local", "http://h/v1/chat/completions")
    assert "query" in _sentence("local", "http://h/v1?version=2")
    assert "--model NAME" in _sentence("openai:", "http://h/v1")


@pytest.mark.parametrize("spec", ["anthropic:claude-sonnet-4-5", "groq:llama", "openai-responses:gpt-5"])
def test_a_provider_that_speaks_otherwise_cannot_be_reached_through_a_base_url(spec: str):
    provider, _, name = spec.partition(":")
    text = _sentence(spec, "http://h/v1")
    assert provider in text
    assert f"--model openai-chat:{name}" in text


@pytest.mark.parametrize(
    ("spec", "url"),
    [
        ("local", "http://user:hunter2secret@h:99999/v1"),
        ("local", "http://user:hunter2secret@h/v1"),
        ("local", "http://h:99999/v1?key=hunter2secret"),
        ("hunter2secret", None),
        ("nobody:hunter2secret", None),
    ],
)
def test_no_error_repeats_a_secret(spec: str, url: str | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2secret")
    assert "hunter2secret" not in _sentence(spec, url)


def test_what_a_provider_itself_says_is_kept_but_not_its_secrets(monkeypatch: pytest.MonkeyPatch):
    def refuse(spec: str) -> None:
        raise RuntimeError(f"key hunter2secret\nis not one for {spec}")

    monkeypatch.setenv("SOME_API_KEY", "hunter2secret")
    monkeypatch.setattr("pydantic_ai.models.infer_model", refuse)
    assert _sentence("some:model") == (
        "the model some:model cannot be set up: key [redacted SOME_API_KEY] is not one for some:model"
    )
