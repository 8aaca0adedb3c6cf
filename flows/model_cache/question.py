"""A request as a model reads it, reduced to a key, and to what helps a person to tell it from another."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_core import to_jsonable_python

from ...nodes.history.stamp import unstamp
from ...tools.secret import environment_secrets

WINDOW = 8
"""Of so many last messages a record says which they were, to find out later where two requests part."""
SHORT = 12
"""Of their digests so many characters are kept: enough to find a place, where the key decides."""
_BEGINNING = 200
_CONVERSATIONS = 4
_PARAMETERS = TypeAdapter(ModelRequestParameters)
_NOT_SENT_OF_PART = ("timestamp", "id", "provider_name", "provider_details", "metadata")
_NOT_SENT_OF_TOOL = ("metadata", "timeout")
_HOW_IT_IS_SENT = ("timeout", "request_timeout", "extra_headers")
_TOOK = re.compile(r"; [0-9]+\.[0-9] s\]")
"""How long a command took, in the first line of its result: it differs from run to run."""


@dataclass(frozen=True)
class Request:
    """What a person wants to know of a request, and what can be compared with another.

    `prefixes` are the digests of the conversation up to each of its last messages, oldest first.
    """

    model: str
    messages: int
    last: str
    settings: dict[str, Any]
    tools: dict[str, str]
    instructions: str
    output: str
    prefixes: list[str]


@dataclass(frozen=True)
class Question:
    """One request. `prefixes` are the digests of the conversation up to each message, until the next one is read."""

    key: str
    request: Request
    prefixes: Sequence[str]


@dataclass
class _Conversation:
    """The messages of an earlier request, what each prefix of them came to, and the calls' ids in their order."""

    messages: list[ModelMessage] = field(default_factory=list[ModelMessage])
    prefixes: list[str] = field(default_factory=list[str])
    calls: dict[str, int] = field(default_factory=dict[str, int])
    calls_by_then: list[int] = field(default_factory=list[int])

    def cut(self, length: int) -> None:
        del self.messages[length:], self.prefixes[length:], self.calls_by_then[length:]
        while len(self.calls) > (self.calls_by_then[-1] if self.calls_by_then else 0):
            self.calls.popitem()


class Reader:
    """Makes questions of requests; of a conversation only what came since the request before is read."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._conversations: list[_Conversation] = []
        self.messages_read = 0

    def read(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> Question:
        prefixes = self._prefixes(messages)
        merged = cast(dict[str, Any], merge_model_settings(self._model.settings, settings) or {})
        kept = {name: value for name, value in merged.items() if name not in _HOW_IT_IS_SENT}
        output = _chosen(parameters)
        tools, instructions = output.pop("function_tools", ()), output.pop("instruction_parts", None)
        request = Request(
            model=self._model.model_id,
            messages=len(messages),
            last=_beginning(messages[-1]) if messages else "",
            settings={name: _shown(value) for name, value in sorted(kept.items())},
            tools={tool["name"]: _digest(_sent(tool)) for tool in tools},
            instructions=_digest(instructions),
            output=_digest(output),
            prefixes=[prefix[:SHORT] for prefix in prefixes[-WINDOW:]],
        )
        said = prefixes[-1] if prefixes else ""
        asked = (request.model, request.settings, list(request.tools.items()), request.instructions, request.output)
        return Question(_digest([said, asked], size=16), request, prefixes)

    def _prefixes(self, messages: list[ModelMessage]) -> list[str]:
        shared, conversation = max(
            ((_shared(one.messages, messages), one) for one in self._conversations),
            key=lambda found: found[0],
            default=(0, _Conversation()),
        )
        if 2 * shared < len(conversation.messages):  # another one that merely begins alike
            shared, conversation = 0, _Conversation()
        others = [one for one in self._conversations if one is not conversation]
        self._conversations = [conversation, *others][:_CONVERSATIONS]
        conversation.cut(shared)
        for message in messages[shared:]:
            before = conversation.prefixes[-1] if conversation.prefixes else ""
            conversation.prefixes.append(_digest([before, _said(message, conversation.calls)], size=16))
            conversation.messages.append(message)
            conversation.calls_by_then.append(len(conversation.calls))
            self.messages_read += 1
        return conversation.prefixes


def _shared(known: list[ModelMessage], messages: list[ModelMessage]) -> int:
    """How many messages two conversations begin with in common."""
    length = min(len(known), len(messages))
    if known[:length] == messages[:length]:  # mostly the same objects, which makes this a comparison of addresses
        return length
    return next(at for at in range(length) if known[at] is not messages[at] and known[at] != messages[at])


def _said(message: ModelMessage, calls: dict[str, int]) -> Any:
    """A message as its reader sees it, with calls named by their number in the conversation."""
    (plain,) = ModelMessagesTypeAdapter.dump_python([message], mode="json", warnings=False, fallback=str)
    parts = [
        {name: value for name, value in part.items() if name not in _NOT_SENT_OF_PART and value is not None}
        for part in plain["parts"]
    ]
    for part in parts:
        if "tool_call_id" in part:
            part["tool_call_id"] = calls.setdefault(part["tool_call_id"], len(calls))
        content = part.get("content")
        if part["part_kind"] == "user-prompt":
            part["content"] = _unstamped(content)
        elif part["part_kind"] == "tool-return" and isinstance(content, str):
            part["content"] = _without_duration(content)
    said = {"kind": plain["kind"], "instructions": plain.get("instructions"), "parts": parts}
    return environment_secrets().redact_data(said)


def _unstamped(content: Any) -> Any:
    if isinstance(content, str):
        return unstamp(content)
    first, *others = cast(list[Any], content) or [""]
    return [unstamp(first) if isinstance(first, str) else first, *others]


def _without_duration(text: str) -> str:
    first, newline, rest = text.partition("\n")
    return f"{_TOOK.sub(']', first)}{newline}{rest}"


def _beginning(message: ModelMessage) -> str:
    if not message.parts:
        return ""
    part = message.parts[-1]
    content = _unstamped(part.content) if isinstance(part, UserPromptPart) else getattr(part, "content", "")
    items = cast(list[object], content) if isinstance(content, list) else [content]
    text = " ".join(item if isinstance(item, str) else f"[{type(item).__name__}]" for item in items)
    return environment_secrets().redact(f"{part.part_kind}: {' '.join(text.split())}")[:_BEGINNING]


def _chosen(parameters: ModelRequestParameters) -> dict[str, Any]:
    """What was set of the parameters. Defaults are left out: a parameter that is new some day changes no key."""
    plain = _PARAMETERS.dump_python(parameters, mode="json", warnings=False, fallback=str, exclude_defaults=True)
    if parameters.native_tools:  # what kind each of them is counts as a default
        plain["native_tools"] = to_jsonable_python(parameters.native_tools, fallback=str)
    return plain


def _sent(tool: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tool.items() if name not in _NOT_SENT_OF_TOOL}


def _shown(value: object) -> Any:
    """A setting that fits a record, or the digest of one that does not."""
    return value if value is None or isinstance(value, bool | int | float) else _digest(value)


def _digest(value: object, *, size: int = 8) -> str:
    text = json.dumps(value, sort_keys=True, default=repr)
    return blake2b(text.encode(), digest_size=size).hexdigest()
