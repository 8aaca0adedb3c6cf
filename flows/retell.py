"""A stored conversation as the events it was shown with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from ..nodes.events import (
    Event,
    Notice,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from ..nodes.results import shown_result
from ..nodes.slots import Slot
from .store import (
    Body,
    EndBody,
    IntentBody,
    MessageBody,
    Record,
    RepairBody,
    ResultBody,
    Store,
    TurnBody,
)


def retell(store: Store, session_id: str) -> Iterator[Event]:
    """The events of all turns of a session, sealed or not, the oldest first and each text part in one piece.

    A reply that a later one replaced is left out; rows that cannot be decoded and a turn without an end are said
    in a `Notice`.

    Raises:
        UnknownSession: there is no such session.
        StoreError: the store cannot be read; also while iterating.
    """
    turns = store.turns(session_id)
    return chain.from_iterable(retell_turn(store.journal(turn_id)) for turn_id in turns)


def retell_turn(journal: Sequence[Record]) -> Iterator[Event]:
    """The events of one turn, from its rows."""
    bodies = [record.body for record in journal]
    replaced = {body.replaces for body in bodies if isinstance(body, MessageBody)}
    calls: dict[int, ToolCallPart] = {}
    for number, record in enumerate(journal):
        match record.body:
            case TurnBody(head=head) as turn:
                yield TurnStarted(head.turn_id, head.session_id, head.request_id, head.flow, head.model, turn.said)
            case RepairBody(description):
                yield Notice("warning", f"history repaired: {description}")
            case MessageBody(message=ModelResponse() as reply) if record.id not in replaced:
                yield from _said(reply)
                of_reply = list(_until_next_message(journal[number + 1 :]))
                calls = dict(enumerate(reply.tool_calls)) | {
                    body.position: body.call for body in of_reply if body.call is not None
                }
                yield from _called(calls, of_reply)
            case ResultBody() as body:
                yield _finished(body, body.call or calls.get(body.position))
            case _:
                pass
    yield from _closing(bodies)


def _said(reply: ModelResponse) -> Iterator[Event]:
    for part in reply.parts:
        if isinstance(part, TextPart) and part.content:
            yield TextDelta(part.content)
        elif isinstance(part, ThinkingPart) and part.content:
            yield ThinkingDelta(part.content)


def _until_next_message(rows: Sequence[Record]) -> Iterator[IntentBody | ResultBody]:
    for row in rows:
        if isinstance(row.body, IntentBody | ResultBody):
            yield row.body
        elif row.kind == "message":
            return


def _called(calls: dict[int, ToolCallPart], rows: list[IntentBody | ResultBody]) -> Iterator[Event]:
    effects = {row.position: row.effect for row in rows}
    for position, call in sorted(calls.items()):
        effect = effects.get(position, Slot(position, call).effect)
        yield ToolCalled(call.tool_call_id, call.tool_name, call.args_as_dict(), effect)


def _finished(body: ResultBody, call: ToolCallPart | None) -> ToolFinished:
    if call is None or call.tool_call_id != body.part.tool_call_id:  # the reply that held it cannot be decoded
        call = ToolCallPart(body.part.tool_name, tool_call_id=body.part.tool_call_id)
    shown, size = shown_result(Slot(body.position, call, result=body.part))
    return ToolFinished(
        call_id=call.tool_call_id,
        name=call.tool_name,
        status=body.status,
        args=call.args_as_dict(),
        result=shown,
        size=size,
        duration_ms=body.duration_ms,
        edited=body.edited,
    )


def _closing(bodies: Sequence[Body | None]) -> Iterator[Event]:
    if unreadable := sum(body is None for body in bodies):
        yield Notice("warning", f"{unreadable} rows of this turn cannot be decoded and are not shown")
    end = next((body for body in bodies if isinstance(body, EndBody)), None)
    if end is not None:
        yield TurnEnded(end.result)
        return
    begun = Counter(body.call_id for body in bodies if isinstance(body, IntentBody))
    begun.subtract(body.part.tool_call_id for body in bodies if isinstance(body, ResultBody))
    unknown = sum(count for count in begun.values() if count > 0)
    running = "1 call that was" if unknown == 1 else f"{unknown} calls that were"
    calls = f"; the outcome of {running} running is unknown" if unknown else ""
    yield Notice("warning", f"this turn was cut off before its end{calls}")
