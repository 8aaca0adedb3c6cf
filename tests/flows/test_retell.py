"""A replay shows what was shown."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from turngraph.flows.retell import retell
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import Store
from turngraph.flows.store.owner import this_process
from turngraph.nodes.deps import Visit
from turngraph.nodes.errors import ProviderError, UnknownSession
from turngraph.nodes.events import (
    Notice,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from turngraph.nodes.outcome import Outcome
from turngraph.nodes.slots import CallStatus, Slot
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import ReadOnly

from .stored import answered, filled, head, outcome_of, said, seal_all, whole_turn

READ = ToolCallPart("read", '{"path": "a"}', "c1")
WRITE = ToolCallPart("write", {"path": "b"}, "c2")


def started(session: str, turn_id: str = "turn-1", prompt: str = "hello") -> TurnStarted:
    return TurnStarted(turn_id, session, turn_id, "standard", "test", prompt)


def finished(call: ToolCallPart, status: CallStatus, result: str) -> ToolFinished:
    return ToolFinished(
        call_id=call.tool_call_id,
        name=call.tool_name,
        status=status,
        args=call.args_as_dict(),
        result=result,
        size=len(result),
        duration_ms=7,
        edited=("a.txt",),
    )


def damage(path: Path, rows: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER log_never_updated")
        connection.execute(f"UPDATE log SET content = '{{}}' WHERE {rows}")
        connection.commit()


def left(number: int, role: str, to: str | None, error: str | None = None) -> Visit:
    return Visit(number, role, f"m:{role}", 1, to, 0.1, error)


def test_turns_are_shown_as_they_went(store: Store) -> None:
    session = store.create_session("/work")
    turn = head(session)
    first = whole_turn(store, session, "turn-0", "before")
    with store.begin_turn(turn, said("hello")) as log:
        log.repair("1 call without a result")
        reply = log.message(ModelResponse(parts=[ThinkingPart("hm"), TextPart("I look."), TextPart(""), READ, WRITE]))
        reading, writing = Slot(0, READ, Effect.READ_ONLY), Slot(1, WRITE, Effect.WRITE)
        for slot, status, content in ((writing, CallStatus.REFUSED, "no"), (reading, CallStatus.OK, {"a": 1})):
            slot.fill(status, content)
            slot.duration_ms, slot.edited = 7, ["a.txt"]
        refused = log.result(1, writing)
        log.intent(1, reading)
        log.visit(left(1, "stream", "persist"), {"reply_row": reply})
        log.seal(1, [log.prompt_row, reply, [log.result(1, reading), refused]])
        seal_all(log, [answered("Done.")], 2)
        result = outcome_of(turn, Outcome.REFUSED)
        log.end(result)
    assert list(retell(store, session)) == [
        started(session, "turn-0", "before"),
        TextDelta("done"),
        TurnEnded(first),
        started(session),
        Notice("warning", "history repaired: 1 call without a result"),
        ThinkingDelta("hm"),
        TextDelta("I look."),
        ToolCalled("c1", "read", {"path": "a"}, "read_only"),
        ToolCalled("c2", "write", {"path": "b"}, "write"),
        finished(WRITE, CallStatus.REFUSED, "no"),
        finished(READ, CallStatus.OK, '{"a":1}'),
        TextDelta("Done."),
        TurnEnded(result),
    ]


def test_a_turn_that_was_cut_off_shows_what_it_had_and_says_so(store: Store) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session), said("hello")) as log:
        log.message(ModelResponse(parts=[READ, WRITE]))
        log.intent(1, Slot(0, READ, Effect.READ_ONLY))
        log.result(1, filled(0, READ))
        log.intent(1, Slot(1, WRITE, Effect.WRITE))
    assert store.load_messages(session).messages == []
    assert list(retell(store, session)) == [
        started(session),
        ToolCalled("c1", "read", {"path": "a"}, "execute"),
        ToolCalled("c2", "write", {"path": "b"}, "write"),
        finished(READ, CallStatus.OK, "fine"),
        Notice("warning", "this turn was cut off before its end; the outcome of 1 call that was running is unknown"),
    ]


def test_a_reply_that_was_rewritten_is_shown_once(store: Store) -> None:
    session = store.create_session("/work")
    turn = head(session)
    with store.begin_turn(turn, said("hello")) as log:
        raw = log.message(answered('<tool_call>{"name": "read"}</tool_call>'))
        log.message(ModelResponse(parts=[READ]), replaces=raw)
        log.result(1, filled(0, READ))
        log.end(outcome_of(turn))
    assert list(retell(store, session))[1:3] == [
        ToolCalled("c1", "read", {"path": "a"}, "execute"),
        finished(READ, CallStatus.OK, "fine"),
    ]


def test_of_several_replies_the_one_the_turn_went_on_with_is_shown(store: Store) -> None:
    session = store.create_session("/work")
    turn = head(session)
    with store.begin_turn(turn, said("hello")) as log:
        used = log.message(ModelResponse(parts=[READ]))
        log.message(answered("another"))
        log.visit(left(1, "stream", "process_node"), {"reply_row": used})
        log.intent(1, Slot(0, READ, Effect.READ_ONLY))
        log.result(1, filled(0, READ))
        log.visit(left(2, "process_node", "persist"), {})
        log.message(answered("OK"))  # a judge's, that nothing went on with
        log.visit(left(3, "persist", "stream"), {"reply_row": None})
        log.message(answered("cut off"))
        log.visit(left(4, "stream", None, "OSError: gone"), {})
        log.end(outcome_of(turn))
    assert list(retell(store, session))[1:-1] == [
        ToolCalled("c1", "read", {"path": "a"}, "execute"),
        finished(READ, CallStatus.OK, "fine"),
        TextDelta("cut off"),
    ]


def test_a_record_that_names_no_reply_shows_them_all(store: Store) -> None:
    session = store.create_session("/work")
    turn = head(session)
    with store.begin_turn(turn, said("hello")) as log:
        for number, text in enumerate(("one", "two"), 1):
            log.message(answered(text))
            log.visit(left(number, "stream", "process_node"), {})
        log.end(outcome_of(turn))
    assert list(retell(store, session))[1:-1] == [TextDelta("one"), TextDelta("two")]


def test_what_befell_a_turn_is_said(store: Store) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session), said("hello")) as log:
        log.failure(ProviderError("the server is down"))
        log.prune(3)
        log.compact(log.message(said("a summary")), 2)
        log.intent(1, Slot(0, READ, Effect.READ_ONLY))
    with store.take_over("turn-1") as log:
        log.intent(1, Slot(0, READ, Effect.READ_ONLY))
        log.result(1, filled(0, READ))
    owner = this_process()
    assert [event for event in retell(store, session) if isinstance(event, Notice)] == [
        Notice("warning", "the server is down"),
        Notice("info", "tool results before the last 3 replies left out of the requests from here on"),
        Notice("info", "the messages before the last 2 replies summarised to fit the model"),
        Notice("warning", f"the turn was cut off here; process {owner.pid} on {owner.host} took it over"),
        Notice("warning", "this turn was cut off before its end"),
    ]


def test_a_call_its_reply_does_not_hold_is_shown_too(store: Store) -> None:
    session = store.create_session("/work")
    turn = head(session)
    with store.begin_turn(turn, said("hello")) as log:
        log.message(answered("read it"))
        log.result(1, filled(0, READ))
        log.end(outcome_of(turn))
    assert list(retell(store, session))[1:4] == [
        TextDelta("read it"),
        ToolCalled("c1", "read", {"path": "a"}, "execute"),
        finished(READ, CallStatus.OK, "fine"),
    ]


def test_rows_that_cannot_be_decoded_are_counted(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    result = whole_turn(store, session)
    damage(store_path, "kind = 'message'")
    assert list(retell(store, session)) == [
        started(session),
        Notice("warning", "1 rows of this turn cannot be decoded and are not shown"),
        TurnEnded(replace(result, answer="")),
    ]


def test_a_result_is_not_shown_with_the_arguments_of_another_reply(store: Store, store_path: Path) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session), said("hello")) as log:
        log.message(ModelResponse(parts=[WRITE]))
        log.result(1, filled(0, WRITE))
        row = log.message(ModelResponse(parts=[READ]))
        log.result(2, filled(0, READ))
    damage(store_path, f"id = {row}")
    shown = [event for event in retell(store, session) if isinstance(event, ToolCalled | ToolFinished)]
    assert [(event.name, event.args) for event in shown] == [
        ("write", {"path": "b"}),
        ("write", {"path": "b"}),
        ("read", {}),
    ]


def test_a_long_result_is_cut_and_the_cut_is_said(store: Store) -> None:
    session = store.create_session("/work")
    with store.begin_turn(head(session), said("hello")) as log:
        log.message(ModelResponse(parts=[READ]))
        log.result(1, filled(0, READ, "x" * 60_000))
    shown = [event for event in retell(store, session) if isinstance(event, ToolFinished)]
    assert shown[0].size == 60_000
    assert shown[0].result == "x" * 50_000 + "\n[10000 more characters not shown]"


@pytest.mark.parametrize("args", ["{broken", "", None, "[1]"])
def test_arguments_that_do_not_parse_are_shown_as_they_are_live(store: Store, args: Any) -> None:
    call = ToolCallPart("read", args, "c1")
    session = store.create_session("/work")
    with store.begin_turn(head(session), said("hello")) as log:
        log.message(ModelResponse(parts=[call]))
    (called,) = [event for event in retell(store, session) if isinstance(event, ToolCalled)]
    assert called.args == call.args_as_dict()


def test_an_unknown_session_is_said_at_once(store: Store) -> None:
    with pytest.raises(UnknownSession):
        retell(store, "0123456789ab")


async def _reply(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """A model that calls two tools, then one by text, and then answers."""
    match sum(isinstance(message, ModelResponse) for message in messages):
        case 0:
            yield "I "
            yield "look."
            yield {
                0: DeltaToolCall("look", '{"path": "a"}', tool_call_id="c1"),
                1: DeltaToolCall("write", '{"path": "b"}', tool_call_id="c2"),
                2: DeltaToolCall("nothing", "{}", tool_call_id="c3"),
            }
        case 1:
            yield '<tool_call>{"name": "look", "arguments": {"path": "z"}}</tool_call>'
        case _:
            yield "Done."


def look(path: str) -> str:
    return f"{path} is empty"


def write(path: str) -> str:
    return f"{path} is written"


@pytest.mark.anyio
async def test_a_replay_is_what_a_real_turn_showed(store: Store) -> None:
    tools: FunctionToolset[Any] = FunctionToolset()
    tools.add_function(look, metadata=declare(Effect.READ_ONLY))
    tools.add_function(write, metadata=declare(Effect.WRITE))
    session = store.create_session("/work")
    shown, model = MemorySink(), FunctionModel(stream_function=_reply)
    await run_turn("hello", model=model, toolsets=[tools], sink=shown, store=store, session=session, policy=ReadOnly())
    replayed = list(retell(store, session))
    kinds = (TurnStarted, ToolCalled, ToolFinished, TurnEnded)
    calls = [event for event in replayed if isinstance(event, kinds)]
    assert len(calls) == 10
    assert sorted(calls, key=repr) == sorted((e for e in shown.events if isinstance(e, kinds)), key=repr)
    assert [event.text for event in replayed if isinstance(event, TextDelta)] == ["I look.", "Done."]


def test_what_was_put_in_from_outside_is_told_where_the_model_met_it(store: Store) -> None:
    session = store.create_session("/work")
    for number in (1, 2):
        store.add_messages(session, [said(f"outside {number}")])
        store.begin_turn(head(session, f"{number:032x}"), said(f"turn {number}")).close()
    events = [event.text if isinstance(event, Notice) else event for event in retell(store, session)]
    told = [event for event in events if isinstance(event, str) and "outside" in event]
    begun = [number for number, event in enumerate(events) if isinstance(event, TurnStarted)]
    assert told == ["put in from outside: outside 1", "put in from outside: outside 2"]
    assert events.index(told[0]) < begun[0] < events.index(told[1]) < begun[1]
