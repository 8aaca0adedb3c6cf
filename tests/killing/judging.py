"""What must be equal of two runs of one turn: without times, and without what is made anew in each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest
from turngraph.flows.store import MessageBody, Record, ResultBody, SealBody, Store, TurnBody, VisitBody
from turngraph.nodes.history.stamp import unstamp

_GENERATED = {"timestamp", "provider_response_id", "run_id", "conversation_id"}
_TEXT_CALL = re.compile("text-[0-9a-f-]+?-([0-9]+-[0-9]+)")


@dataclass(frozen=True)
class Kept:
    """What the store holds of a turn: the history of its session, what was sealed, and the nodes that were visited."""

    history: list[dict[str, Any]]
    sealed: list[dict[str, Any]]
    visits: list[tuple[int, str, str | None]]
    end: str | None


def kept(store: Store, turn: str) -> Kept:
    journal = store.journal(turn)
    head = store.turn_body(turn).head
    loaded = store.load_messages(head.session_id)
    assert loaded.skipped == 0
    assert all(record.body is not None for record in journal)
    return Kept(
        history=plain(loaded.messages),
        sealed=list(_sealed(journal)),
        visits=[
            (body.visit.number, body.visit.role, body.visit.to)
            for body in (record.body for record in journal)
            if isinstance(body, VisitBody)
        ],
        end=journal[-1].kind if journal else None,
    )


def plain(messages: list[ModelMessage]) -> list[dict[str, Any]]:
    """The parts of the messages, one by one."""
    dumped = cast(list[dict[str, Any]], without_generated(ModelMessagesTypeAdapter.dump_python(messages, mode="json")))
    return [
        {**part, "of": message["kind"], "usage": message.get("usage")}
        for message in dumped
        for part in message["parts"]
    ]


def without_generated(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {name: without_generated(item) for name, item in items if name not in _GENERATED}
    if isinstance(value, list):
        return [without_generated(item) for item in cast(list[Any], value)]
    return _TEXT_CALL.sub(r"text-\1", unstamp(value)) if isinstance(value, str) else value


def _sealed(journal: Sequence[Record]) -> Iterator[dict[str, Any]]:
    """What each seal names, row by row."""
    bodies = {record.id: record.body for record in journal}
    for record in journal:
        if not isinstance(record.body, SealBody):
            continue
        yield {"seal of": record.iteration}
        for item in record.body.messages:
            for row in (item,) if isinstance(item, int) else item:
                match bodies[row]:
                    case MessageBody(message=message):
                        yield from plain([message])
                    case TurnBody(prompt=prompt) if prompt is not None:
                        yield from plain([prompt])
                    case ResultBody() as body:
                        (part,) = plain([_request_of(body)])
                        yield {**part, "status": body.status, "effect": body.effect, "edited": body.edited}
                    case other:
                        raise AssertionError(f"the seal {record.id} names {other}")


def _request_of(body: ResultBody) -> ModelMessage:
    return ModelRequest(parts=[body.part])


def assert_same_but_unknown(straight: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]], calls: set[str]) -> None:
    """All parts are the same but the results of these calls, which say that their outcome is unknown."""
    calls = {_TEXT_CALL.sub(r"text-\1", call) for call in calls}
    differing = [(one, other) for one, other in zip(straight, now, strict=True) if one != other]
    assert {other.get("tool_call_id") for _, other in differing} == calls, differing
    for one, other in differing:
        told = ("tool_call_id", "tool_name", "part_kind", "of")
        assert [one[name] for name in told] == [other[name] for name in told]
        assert "nterrupted" in other["content"]
        assert "outcome is unknown" in other["content"]
