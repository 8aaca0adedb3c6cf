"""A stored conversation as the events it was shown with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart, UserPromptPart

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
from .journal.past import known_calls
from .store import (
    Body,
    CompactBody,
    EndBody,
    ExternalBody,
    FailureBody,
    IntentBody,
    MessageBody,
    PruneBody,
    Record,
    RepairBody,
    ResultBody,
    ResumeBody,
    Store,
    TurnBody,
    VisitBody,
)


def retell(store: Store, session_id: str) -> Iterator[Event]:
    """The events of all turns of a session, sealed or not, the oldest first and each text part in one piece.

    A reply that a later one replaced, or that the turn did not go on with, is left out; rows that cannot be decoded,
    a turn without an end, and what was put in from outside are said in a `Notice`.

    Raises:
        UnknownSession: there is no such session.
        StoreError: the store cannot be read; also while iterating.
    """
    return _retold(store, store.turns(session_id), deque(store.added(session_id)))


def _retold(store: Store, turns: Sequence[str], added: deque[Record]) -> Iterator[Event]:
    """The turns, and between them what was put in from outside before the next one began."""
    for turn_id in turns:
        journal = store.journal(turn_id)
        while added and journal and added[0].id < journal[0].id:
            yield from _from_outside(added.popleft())
        yield from retell_turn(journal)
    for record in added:
        yield from _from_outside(record)


def _from_outside(record: Record) -> Iterator[Event]:
    body = record.body
    for part in body.message.parts if isinstance(body, ExternalBody) else ():
        if isinstance(part, UserPromptPart | TextPart) and isinstance(part.content, str):
            yield Notice("info", f"put in from outside: {part.content}")


def retell_turn(journal: Sequence[Record]) -> Iterator[Event]:
    """The events of one turn, from its rows."""
    shown = _shown_replies(journal)
    told = {record.body.result.error for record in journal if isinstance(record.body, EndBody)}
    calls: dict[int, ToolCallPart] = {}
    for number, record in enumerate(journal):
        match record.body:
            case TurnBody(head=head) as turn:
                yield TurnStarted(head.turn_id, head.session_id, head.request_id, head.flow, head.model, turn.said)
            case MessageBody(message=ModelResponse() as reply) if record.id in shown:
                yield from _said(reply)
                of_reply = list(_until_next_reply(journal[number + 1 :], shown))
                calls = dict(enumerate(reply.tool_calls)) | {
                    body.position: body.call for body in of_reply if body.call is not None
                }
                yield from _called(calls, of_reply)
            case ResultBody() as body:
                yield _finished(body, body.call or calls.get(body.position))
            case FailureBody(error) if error in told:
                pass  # the turn ended with it, and says so there
            case body:
                yield from _noticed(body)
    yield from _closing(journal)


def _noticed(body: Body | None) -> Iterator[Event]:
    match body:
        case RepairBody(description):
            yield Notice("warning", f"history repaired: {description}")
        case FailureBody(error):
            yield Notice("warning", error)
        case ResumeBody(owner=owner):
            yield Notice("warning", f"the turn was cut off here; process {owner.pid} on {owner.host} took it over")
        case PruneBody(whole):
            yield Notice("info", f"tool results before the last {whole} replies left out of the requests from here on")
        case CompactBody(kept=kept):
            yield Notice("info", f"the messages before the last {kept} replies summarised to fit the model")
        case _:
            pass


def _shown_replies(journal: Sequence[Record]) -> set[int]:
    """The rows of the replies that the turn went on with, and of those that were received when it was cut off.

    A visit names the reply it went on with. In records that name none, of an older version, each reply is one.
    """
    replaced = {record.body.replaces for record in journal if isinstance(record.body, MessageBody)}
    visits = [(record.id, record.body) for record in journal if isinstance(record.body, VisitBody)]
    named = {body.changed.get("reply_row") for _, body in visits} - {None}
    left = max((row for row, body in visits if body.visit.to is not None), default=0)
    return {
        record.id
        for record in journal
        if isinstance(record.body, MessageBody)
        and isinstance(record.body.message, ModelResponse)
        and record.id not in replaced
        and (not named or record.id in named or record.id > left)
    }


def _said(reply: ModelResponse) -> Iterator[Event]:
    for part in reply.parts:
        if isinstance(part, TextPart) and part.content:
            yield TextDelta(part.content)
        elif isinstance(part, ThinkingPart) and part.content:
            yield ThinkingDelta(part.content)


def _until_next_reply(rows: Sequence[Record], shown: set[int]) -> Iterator[IntentBody | ResultBody]:
    for row in rows:
        if isinstance(row.body, IntentBody | ResultBody):
            yield row.body
        elif row.id in shown or (row.kind == "message" and row.body is None):
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


def _closing(journal: Sequence[Record]) -> Iterator[Event]:
    if unreadable := sum(record.body is None for record in journal):
        yield Notice("warning", f"{unreadable} rows of this turn cannot be decoded and are not shown")
    end = next((record.body for record in journal if isinstance(record.body, EndBody)), None)
    if end is not None:
        yield TurnEnded(end.result)
        return
    unknown = sum(known.part is None for known in known_calls(journal).values())
    running = "1 call that was" if unknown == 1 else f"{unknown} calls that were"
    calls = f"; the outcome of {running} running is unknown" if unknown else ""
    yield Notice("warning", f"this turn was cut off before its end{calls}")
