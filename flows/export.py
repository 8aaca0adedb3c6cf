"""A session's history to take elsewhere, as JSON or to read; secrets of the environment are taken out of both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    FileUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponsePart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ..nodes.history.sanitise import sanitise
from ..nodes.history.stamp import unstamp
from ..nodes.reply import encodable, encodable_data
from ..tools.secret import Secrets
from ..tools.wording import count
from .store import SessionSummary, Store
from .store.codec import map_text

SCHEMA = "turngraph.session/1"
LONGEST_RESULT = 2_000
"""Characters of a tool's result, or of a call's arguments, that are shown to a reader."""


@dataclass(frozen=True)
class Exported:
    """A session and its history as the next turn's model would see it.

    `skipped` messages cannot be decoded, `repairs` say what had to be mended, and `redacted` counts the secrets that
    were taken out.
    """

    session: SessionSummary
    messages: Sequence[ModelMessage]
    skipped: int
    repairs: Sequence[str]
    redacted: int

    @property
    def notices(self) -> list[str]:
        """What a person should know of the export."""
        said = [f"history repaired: {repair}" for repair in self.repairs]
        if self.skipped:
            said.append(f"{count(self.skipped, 'message')} of the history cannot be decoded and left out")
        if self.redacted:
            said.append(f"{count(self.redacted, 'secret')} of the environment left out")
        return said


def read_session(store: Store, session_id: str, secrets: Secrets) -> Exported:
    """The whole id's session, made valid, without the secrets, and with lone surrogates spelled out.

    Raises:
        UnknownSession: there is no such session.
    """
    loaded = store.load_messages(session_id)
    messages, repairs = sanitise(loaded.messages)
    messages = map_text(messages, encodable)  # few readers of JSON take lone surrogates
    summary = next(one for one in store.sessions() if one.id == session_id)
    shown: list[ModelMessage] = secrets.redact_data(messages)
    redacted = 0 if shown is messages else _marks(shown) - _marks(messages)
    return Exported(secrets.redact_data(summary), shown, loaded.skipped, repairs, redacted)


def as_json(exported: Exported) -> dict[str, Any]:
    """The export as a JSON document.

    `schema` (turngraph.session/1), `session` (as in `summary_json`), `messages` (what pydantic-ai's
    `ModelMessagesTypeAdapter` reads), `skipped`, `repairs` and `redacted`.
    """
    return {
        "schema": SCHEMA,
        "session": encodable_data(summary_json(exported.session)),
        "messages": _plain(exported.messages),
        "skipped": exported.skipped,
        "repairs": list(exported.repairs),
        "redacted": exported.redacted,
    }


def summary_json(summary: SessionSummary) -> dict[str, Any]:
    """A session without its messages, as JSON; `tokens` is the size of its context."""
    return {
        "id": summary.id,
        "workdir": summary.workdir,
        "started_at": summary.started_at.isoformat(),
        "last_used_at": summary.last_used_at.isoformat(),
        "turns": summary.turns,
        "first_prompt": summary.first_prompt,
        "last_outcome": None if summary.last_outcome is None else summary.last_outcome.value,
        "tokens": summary.tokens,
        "forked_from": summary.forked_from,
    }


def as_markdown(exported: Exported) -> str:
    """The export as text to read; what is longer than 2,000 characters of a result is left out, and counted."""
    session = exported.session
    facts = [
        f"in {_code(session.workdir)}",
        f"began {session.started_at:%Y-%m-%d %H:%M} UTC, last used {session.last_used_at:%Y-%m-%d %H:%M} UTC",
        count(session.turns, "turn"),
    ]
    if session.forked_from is not None:
        facts.append(f"forked from session {session.forked_from}")
    if session.tokens is not None:
        facts.append(f"a context of {count(session.tokens, 'token')}")
    lines = [f"# Session {session.id}", "", *[f"- {fact}" for fact in [*facts, *exported.notices]]]
    for message in exported.messages:
        lines += _message(message)
    return "\n".join(lines) + "\n"


def _message(message: ModelMessage) -> Iterator[str]:
    if isinstance(message, ModelRequest):
        for part in message.parts:
            yield from _result(part) if isinstance(part, ToolReturnPart) else _asked(part)
        return
    yield from ("", f"## {message.model_name or 'Model'}")
    for part in message.parts:
        yield from _answered(part)


def _asked(part: ModelRequestPart) -> Iterator[str]:
    if isinstance(part, UserPromptPart):
        yield from ("", f"## User, {part.timestamp.astimezone(UTC):%Y-%m-%d %H:%M} UTC")
        for item in [part.content] if isinstance(part.content, str) else part.content:
            yield from ("", unstamp(item) if isinstance(item, str) else _item(item))
    else:
        yield from ("", f"[{part.part_kind}]")


def _answered(part: ModelResponsePart) -> Iterator[str]:
    if isinstance(part, TextPart):
        yield from ("", part.content)
    elif isinstance(part, ThinkingPart):
        if part.content:
            yield from ("", *[f"> {line}".rstrip() for line in part.content.splitlines()])
    elif isinstance(part, ToolCallPart):
        args = part.args if isinstance(part.args, str) else json.dumps(part.args or {}, default=str)
        yield from ("", f"### Call {_code(part.tool_name)}", "", *_fenced(args, "json"))
    else:
        yield from ("", _item(part.content) if isinstance(part, FilePart) else f"[{part.part_kind}]")


def _result(part: ToolReturnPart) -> Iterator[str]:
    outcome = "" if part.outcome == "success" else f", {part.outcome}"
    yield from ("", f"### Result of {_code(part.tool_name)}{outcome}", "")
    yield from _fenced(part.model_response_str(wrap_if_error=False))
    for file in part.files:
        yield from ("", _item(file))


def _item(item: object) -> str:
    match item:
        case TextContent():
            return item.content
        case BinaryContent():
            return f"[{item.media_type}, {count(len(item.data), 'byte')}]"
        case FileUrl():
            return f"<{item.url}>"
        case _:
            return f"[{getattr(item, 'kind', type(item).__name__)}]"


def _fenced(text: str, language: str = "") -> Iterator[str]:
    """Text in a fence that nothing in it can close, cut where it is too long."""
    shown = text[:LONGEST_RESULT]
    fence = _longer_than_any_in(shown, 3)
    yield from (f"{fence}{language}", shown, fence)
    if len(text) > LONGEST_RESULT:
        yield from ("", f"[{count(len(text) - LONGEST_RESULT, 'more character')} not shown]")


def _code(text: str) -> str:
    mark = _longer_than_any_in(text, 1)
    return f"{mark}{text}{mark}" if mark == "`" else f"{mark} {text} {mark}"


def _longer_than_any_in(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def _plain(messages: Sequence[ModelMessage]) -> list[Any]:
    return cast(list[Any], ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", fallback=str))


def _marks(messages: Sequence[ModelMessage]) -> int:
    return json.dumps(_plain(messages)).count("[redacted ")
