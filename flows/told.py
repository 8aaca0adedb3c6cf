"""A turn's journal as steps: its numbered visits, and what happened in each, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from ..nodes.reply import text_of
from .sinks import plain_json
from .store import (
    CompactBody,
    ExternalBody,
    IntentBody,
    MessageBody,
    PruneBody,
    Record,
    RepairBody,
    ResultBody,
    ResumeBody,
    SealBody,
    TreeBody,
    VisitBody,
)


@dataclass(frozen=True)
class Step:
    """One visit and what was written in it, in order.

    `number` is what a fork's `--at` takes, and `None` for what was written after the last visit of a turn that was
    cut off. `to` is `None` where the node raised. `changed` names the fields of the state that it changed.

    An event has a `kind`: `reply` (`text`, `calls`, `usage`), `result` (`name`, `args`, `status`, `duration_ms`,
    `edited`), `unknown` (`name`, `args`; it began and has no result), `repair` (`text`), `prune` (`whole`), `compact`
    (`kept`), `seal` (`messages`), `tree` (`commit`), `external`, `resume` (`pid`, `host`), `damaged` (`row`) or
    `guidance` (`text`).
    """

    number: int | None
    role: str
    to: str | None
    iteration: int
    duration_ms: float
    error: str | None
    changed: tuple[str, ...]
    events: tuple[dict[str, Any], ...]


@dataclass
class _Reading:
    calls: dict[int, ToolCallPart] = field(default_factory=dict[int, ToolCallPart])
    answered: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])


def tell(journal: Sequence[Record]) -> list[Step]:
    """The steps of a turn, from its rows."""
    reading = _Reading(
        answered={(record.iteration, record.body.position) for record in journal if isinstance(record.body, ResultBody)}
    )
    steps: list[Step] = []
    events: list[dict[str, Any]] = []
    for record in journal:
        body = record.body
        if isinstance(body, VisitBody):
            visit = body.visit
            if guidance := body.changed.get("guidance"):
                events.append({"kind": "guidance", "text": guidance})
            changed = tuple(sorted(body.changed))
            told = visit.number, visit.role, visit.to, visit.iteration, visit.duration_ms, visit.error
            steps.append(Step(*told, changed, tuple(events)))
            events = []
        else:
            events += _events(record, reading)
    if events:
        role = (steps[-1].to if steps else None) or ""
        steps.append(Step(None, role, None, journal[-1].iteration, 0.0, None, (), tuple(events)))
    return steps


def _events(record: Record, reading: _Reading) -> Iterator[dict[str, Any]]:
    match record.body:
        case None:
            yield {"kind": "damaged", "row": record.id}
        case MessageBody(message=ModelResponse() as reply, replaces=None):
            reading.calls = dict(enumerate(reply.tool_calls))
            yield _reply(reply)
        case IntentBody(position=position, name=name, call=call):
            if (record.iteration, position) not in reading.answered:
                yield {"kind": "unknown", "name": name, "args": _args(call or reading.calls.get(position))}
        case ResultBody() as body:
            call = body.call or reading.calls.get(body.position)
            yield {
                "kind": "result",
                "name": body.part.tool_name,
                "args": _args(call),
                "status": body.status.value,
                "duration_ms": body.duration_ms,
                "edited": list(body.edited),
            }
        case RepairBody(description):
            yield {"kind": "repair", "text": description}
        case PruneBody(whole):
            yield {"kind": "prune", "whole": whole}
        case CompactBody(kept=kept):
            yield {"kind": "compact", "kept": kept}
        case SealBody(messages=messages):
            yield {"kind": "seal", "messages": len(messages)}
        case TreeBody(commit):
            yield {"kind": "tree", "commit": commit}
        case ExternalBody(message=message):
            yield {"kind": "external", "text": _text(message)}
        case ResumeBody(owner=owner):
            yield {"kind": "resume", "pid": owner.pid, "host": owner.host}
        case _:
            return


def _reply(reply: ModelResponse) -> dict[str, Any]:
    return {
        "kind": "reply",
        "text": text_of(reply),
        "calls": [{"name": call.tool_name, "args": _args(call)} for call in reply.tool_calls],
        "usage": {"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens},
    }


def _args(call: ToolCallPart | None) -> Any:
    return None if call is None else plain_json(call.args_as_dict())


def _text(message: ModelMessage) -> str:
    contents = [getattr(part, "content", "") for part in message.parts]
    return "\n".join(content for content in contents if isinstance(content, str))
