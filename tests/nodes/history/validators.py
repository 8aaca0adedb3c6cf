"""What makes a history valid, four times over: our own rules, pydantic-ai's cleaning, and two providers' order rules.

The provider rules are checked on what `ModelPort` hands to the client of each provider, and never look at our code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from turngraph.nodes.model_port import ModelPort

from ...scripted.rules import violation

NEXT = "and now?"


def assert_valid(history: Sequence[ModelMessage]) -> None:
    """The history can be sent, to anyone, with a prompt after it."""
    assert order(history) is None
    assert repair_messages(history) == list(history)
    sent = [*history, ModelRequest(parts=[UserPromptPart(NEXT)])]
    chat = wire(OPENAI, sent)
    assert violation(chat) is None
    assert alternation(chat) is None
    assert anthropic_violation(wire(ANTHROPIC, sent)) is None


def order(history: Sequence[ModelMessage]) -> str | None:
    """The first rule the messages break: turns, a request first; calls answered next, once each, in order, first."""
    calls: list[ToolCallPart] = []
    for number, message in enumerate(history):
        if isinstance(message, ModelRequest) != (number % 2 == 0):
            return f"{number}: not its turn"
        if not message.parts:
            return f"{number}: empty"
        if isinstance(message, ModelResponse):
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            if any(isinstance(part, TextPart) and not part.content.strip() for part in message.parts):
                return f"{number}: blank text"
            if all(part.part_kind == "thinking" for part in message.parts):
                return f"{number}: says nothing"
            continue
        results = [part for part in message.parts if isinstance(part, ToolReturnPart)]
        if [part.tool_call_id for part in results] != [call.tool_call_id for call in calls]:
            return f"{number}: the results are not those of the calls"
        if list(message.parts[: len(results)]) != results:
            return f"{number}: results after something else"
        if any(part.part_kind in ("system-prompt", "retry-prompt") for part in message.parts):
            return f"{number}: a stale part"
        calls = []
    return f"{len(calls)} calls without a result" if calls else None


class _Captured(Exception):
    """Carries what a client was asked to send."""


async def _capture(**request: Any) -> Any:
    raise _Captured(request["messages"])


def _openai() -> Model:
    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(api_key="none"))
    cast(Any, model.client.chat.completions).create = _capture
    return model


def _anthropic() -> Model:
    model = AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(api_key="none"))
    cast(Any, model.client.beta.messages).create = _capture
    return model


OPENAI: Callable[[], Model] = _openai
ANTHROPIC: Callable[[], Model] = _anthropic
_models: dict[Callable[[], Model], Model] = {}


def wire(provider: Callable[[], Model], history: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """The messages that the provider's client would send."""
    model = _models.setdefault(provider, provider())

    async def send() -> None:
        async with ModelPort(model).stream(list(history), [], None):
            raise AssertionError("nothing was sent")

    # It waits for nothing before the client is called, so it needs no event loop, which would be most of the time.
    sending = send()
    try:
        sending.send(None)
    except _Captured as captured:
        return json.loads(json.dumps(captured.args[0], default=str))
    raise AssertionError("the client was not called")


def alternation(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """What templates of open models refuse: a user that does not take turns with the assistant."""
    spoken = [message["role"] for message in messages if message["role"] != "tool"]
    for number, (role, following) in enumerate(pairwise(spoken)):
        if role == following == "user":
            return f"two messages of the user in a row at {number}"
    return None if spoken and spoken[0] == "user" else "the user does not begin"


def anthropic_violation(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The first rule of the Anthropic messages API that the messages break, as one sentence."""
    if not messages or messages[0]["role"] != "user":
        return "the first message is not the user's"
    used: set[str] = set()
    open_ids: list[str] = []
    for number, message in enumerate(messages):
        blocks = _blocks(message)
        if not blocks:
            return f"messages.{number}: no content"
        if number and message["role"] == messages[number - 1]["role"]:
            return f"messages.{number}: roles must take turns"
        kinds = [block["type"] for block in blocks]
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return f"messages.{number}: text content blocks must contain non-whitespace text"
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(open_ids):
            return f"messages.{number}: tool_use ids {open_ids} and tool_result blocks {answered} do not match"
        if kinds[: len(answered)] != ["tool_result"] * len(answered):
            return f"messages.{number}: tool_result blocks must come first"
        open_ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if message["role"] == "user" and open_ids:
            return f"messages.{number}: tool_use in a message of the user"
        if any(not isinstance(block["input"], dict) for block in blocks if block["type"] == "tool_use"):
            return f"messages.{number}: the input is no object"
        if used & set(open_ids) or len(set(open_ids)) < len(open_ids):
            return f"messages.{number}: tool_use ids must be unique"
        used |= set(open_ids)
    return f"tool_use ids {open_ids} are never answered" if open_ids else None


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
