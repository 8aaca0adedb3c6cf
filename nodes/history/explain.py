"""Why each message of a history is sent, or not: the answer of `--explain-context`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from .pairs import UNANSWERED
from .prune import is_cleared
from .sanitise import NO_BEGINNING
from .stamp import unstamp
from .summary import is_summary
from .tokens import tokens_of, tokens_of_part
from .transcript import prompt_text

Verdict = Literal["kept", "pruned", "summarised", "repaired", "left out"]
LONGEST_LABEL = 60
_Part = ModelRequestPart | ModelResponsePart


@dataclass(frozen=True)
class Explained:
    """What became of one message. `number` counts the stored ones from 1; what was put in has `None`.

    `tokens` are about those that are sent of it, and `stored_tokens` those of the whole.
    """

    number: int | None
    kind: Literal["request", "reply"]
    label: str
    tokens: int
    stored_tokens: int
    verdict: Verdict
    why: str


def explain(stored: Sequence[ModelMessage], sent: Sequence[ModelMessage]) -> list[Explained]:
    """One entry for each stored message, in order, then one for each part that is sent and was not stored."""
    waiting: defaultdict[object, list[_Part]] = defaultdict(list)
    for message in sent:
        for part in message.parts:
            waiting[_key(part)].append(part)
    # From the end, since the beginning is what is left out, and some servers give all their calls one id.
    found: list[list[_Part | None]] = []
    for message in reversed(stored):
        matches = [waiting[_key(part)].pop() if waiting[_key(part)] else None for part in reversed(message.parts)]
        found.append(matches[::-1])
    found.reverse()
    explained: list[Explained] = []
    summarised = any(is_summary(part) for message in sent for part in message.parts)
    for number, (message, parts) in enumerate(zip(stored, found, strict=True), 1):
        verdict, why = _verdict(message, parts, summarised)
        summarised = summarised and not any(parts)
        kind = "reply" if isinstance(message, ModelResponse) else "request"
        left = sum(tokens_of_part(part) for part in parts if part is not None)
        label = ", ".join(filter(None, map(_label, message.parts))) or "empty"
        explained.append(Explained(number, kind, _short(label), left, tokens_of(message), verdict, why))
    return [*explained, *_put_in([part for parts in waiting.values() for part in parts])]


def _verdict(message: ModelMessage, parts: Sequence[_Part | None], summarised: bool) -> tuple[Verdict, str]:
    gone = [part for part, left in zip(message.parts, parts, strict=True) if left is None]
    cleared = sum(isinstance(part, ToolReturnPart) and is_cleared(part) for part in parts)
    if len(gone) == len(message.parts):
        if summarised:
            return "summarised", "the summary stands for it"
        if any(isinstance(part, ToolReturnPart) for part in gone):
            return "left out", "its results answer no open call"
        return "left out", "it says nothing that can be sent"
    if gone:
        if summarised and all(isinstance(part, ToolReturnPart) for part in gone):
            return "summarised", f"{len(gone)} of its results answer calls that are summarised"
        return "repaired", f"{len(gone)} of its parts are empty, stale or answer no call"
    if cleared:
        return "pruned", f"{cleared} of its results cleared: newer ones fill what is kept of results"
    changed = sum(part != left for part, left in zip(message.parts, parts, strict=True))
    if changed:
        return "repaired", f"{changed} of its parts changed so that they can be sent"
    return "kept", "sent as it is"


def _put_in(parts: Sequence[_Part]) -> Iterator[Explained]:
    for part in parts:
        content: object = getattr(part, "content", None)
        if is_summary(part):
            verdict, why = "summarised", "stands for the messages that are summarised"
        elif content in (UNANSWERED, NO_BEGINNING):
            verdict, why = "repaired", "put in where something was missing"
        else:
            verdict, why = "kept", "new: not stored yet"
        kind = "reply" if isinstance(part, TextPart | ToolCallPart) else "request"
        yield Explained(None, kind, _short(_label(part)), tokens_of_part(part), 0, verdict, why)


def _key(part: _Part) -> object:
    if isinstance(part, ToolReturnPart | ToolCallPart):
        return part.part_kind, part.tool_call_id
    return part.part_kind, repr(getattr(part, "content", None))


def _label(part: _Part) -> str:
    match part:
        case UserPromptPart():
            return "summary" if is_summary(part) else f"prompt: {unstamp(prompt_text(part))}"
        case ToolCallPart():
            return " ".join(filter(None, [part.tool_name, _path(part.args_as_dict())]))
        case ToolReturnPart():
            return f"result of {part.tool_name}"
        case TextPart():
            return f"text: {part.content}"
        case _:
            return part.part_kind


def _path(args: dict[str, Any]) -> str:
    """What a call is about: its path, else its first text."""
    texts = [value for value in args.values() if isinstance(value, str)]
    path = args.get("path")
    return path if isinstance(path, str) else next(iter(texts), "")


def _short(label: str) -> str:
    line = " ".join(label.split())
    return line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 3]}..."
