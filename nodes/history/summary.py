"""What a summary of a conversation says beside the summary itself, and the message it is sent as."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from .stamp import unstamp
from .transcript import clip, prompt_text

LONGEST_REQUEST = 4_000
"""How many characters of the user's last request are quoted."""
_LONGEST_PROMPT = 400
_LONGEST_CALL = 160
_MOST_PROMPTS = 20
_MOST_CALLS = 40
_MOST_FILES = 60
_HEADING = "[Summary of the earlier conversation, made "
_CHANGED, _READ = "Files changed: ", "Files read: "
_QUOTE = re.compile(r"word for word:\n<<<\n(.*)\n>>>\Z", re.DOTALL)
_CHANGING = frozenset({"write_file", "update_file"})
_READING = frozenset({"read_file"})


def summary_message(text: str, dropped: Sequence[ModelMessage], at: datetime, *, by_model: bool = True) -> ModelRequest:
    """The request that stands for what was dropped.

    It says that it is a summary and who made it, which files the dropped calls changed and read, and quotes the
    user's last request. What an earlier summary among the dropped messages had of these is kept.
    """
    maker = "by the model itself" if by_model else "without the model"
    lines = [
        f"{_HEADING}{maker} when it grew too long: {len(dropped)} older messages are left out. "
        "It is a record of what happened, not a request.]",
        "",
        text.strip(),
    ]
    for label, names in ((_CHANGED, _CHANGING), (_READ, _READING)):
        if files := _files(dropped, label, names):
            lines.append(f"{label}{_listed(files)}")
    if request := last_request(dropped):
        lines += ["The user's last request in it, word for word:", "<<<", clip(request, LONGEST_REQUEST), ">>>"]
    return ModelRequest(parts=[UserPromptPart("\n".join(lines), timestamp=at)], timestamp=at)


def is_summary(part: object) -> bool:
    """Whether a part is such a summary."""
    return isinstance(part, UserPromptPart) and isinstance(part.content, str) and part.content.startswith(_HEADING)


def mechanical(dropped: Sequence[ModelMessage]) -> str:
    """A summary that needs no model: what the user asked, and which calls were made, both bounded."""
    earlier = [_body(part.content) for part in _prompts(dropped) if is_summary(part) and isinstance(part.content, str)]
    asked = [prompt_text(part) for part in _prompts(dropped) if not is_summary(part)]
    calls = [f"{call.tool_name} {_args(call)}" for call in _calls(dropped)]
    lines = [clip(text, LONGEST_REQUEST) for text in earlier]
    lines += _numbered("The user asked:", [clip(text, _LONGEST_PROMPT) for text in asked], _MOST_PROMPTS)
    lines += _numbered("Calls that were made:", [clip(text, _LONGEST_CALL) for text in calls], _MOST_CALLS)
    return "\n".join(lines)


def last_request(messages: Sequence[ModelMessage]) -> str:
    """The user's last own words: stamped ones before what was said in the user's place; else a summary's quote."""
    own = [part for part in _prompts(messages) if not is_summary(part)]
    texts = [prompt_text(part) for part in own]
    stamped = [text for text in texts if unstamp(text) != text]
    if stamped or texts:
        return (stamped or texts)[-1]
    quotes = [_QUOTE.search(part.content) for part in _prompts(messages) if isinstance(part.content, str)]
    return next((quote[1] for quote in reversed(quotes) if quote), "")


def _prompts(messages: Iterable[ModelMessage]) -> list[UserPromptPart]:
    return [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]


def _calls(messages: Iterable[ModelMessage]) -> list[ToolCallPart]:
    return [call for message in messages if isinstance(message, ModelResponse) for call in message.tool_calls]


def _files(messages: Sequence[ModelMessage], label: str, tools: frozenset[str]) -> list[str]:
    """The paths of calls that were answered with success, each once, the newest last."""
    found: dict[str, None] = {}
    for part in _prompts(messages):
        if is_summary(part) and isinstance(part.content, str):
            for line in part.content.splitlines():
                if line.startswith(label):
                    found |= dict.fromkeys(line.removeprefix(label).split(", "))
    calls: dict[str, ToolCallPart] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part
            elif isinstance(part, ToolReturnPart) and part.outcome == "success" and part.tool_name in tools:
                call = calls.get(part.tool_call_id)
                path = call.args_as_dict().get("path") if call is not None else None
                if isinstance(path, str):
                    found.pop(path, None)
                    found[path] = None
    return list(found)


def _listed(files: list[str]) -> str:
    left_out = len(files) - _MOST_FILES
    return ", ".join(files) if left_out <= 0 else f"{left_out} more, {', '.join(files[left_out:])}"


def _numbered(title: str, texts: list[str], most: int) -> list[str]:
    left_out = max(len(texts) - most, 0)
    said = [f"({left_out} earlier ones are left out)"] if left_out else []
    return [title, *said, *(f"- {text}" for text in texts[left_out:])] if texts else []


def _args(call: ToolCallPart) -> str:
    return call.args if isinstance(call.args, str) else json.dumps(call.args or {}, default=str, ensure_ascii=False)


def _body(text: str) -> str:
    """What an earlier summary said, without its heading and its quote."""
    return _QUOTE.sub("", text).partition("\n")[2].removesuffix("The user's last request in it, ").strip()
