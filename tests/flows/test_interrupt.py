from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest
from turngraph.flows.interrupt import Interrupt
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import EndBody, Store
from turngraph.nodes.deps import Limits
from turngraph.nodes.events import (
    Event,
    NodeEntered,
    TextDelta,
    ToolCalled,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus

from ..nodes.acting import Actor, Delta, call, reading, writing
from ..nodes.test_any_script import wire
from ..scripted.rules import violation

pytestmark = pytest.mark.anyio


class Acts(MemorySink):
    """Does something at an event, and gives others a chance to run at each."""

    def __init__(self, when: Callable[[Event], bool], do: Callable[[], object]) -> None:
        super().__init__()
        self._when = when
        self._do = do

    async def emit(self, event: Event) -> None:
        self.events.append(event)
        if self._when(event):
            self._do()
        await anyio.lowlevel.checkpoint()


async def forever() -> str:
    await anyio.sleep_forever()
    return "never"


def look() -> str:
    return "seen"


@pytest.mark.parametrize("outcome", [Outcome.INTERRUPTED, Outcome.TERMINATED])
async def test_a_turn_that_was_stopped_before_it_began_asks_no_model(outcome: Outcome) -> None:
    interrupt, model, sink = Interrupt(), Actor(), MemorySink()
    interrupt.fire(outcome)
    interrupt.fire(Outcome.INTERRUPTED)
    result = await run_turn("x", model=model, interrupt=interrupt, sink=sink)
    assert (result.outcome, result.saved, model.requests) == (outcome, True, [])
    assert "finished iterations are saved" in (result.error or "")
    assert [type(event) for event in sink.events][-1] is TurnEnded


async def test_an_interrupt_while_the_model_speaks_keeps_what_was_finished() -> None:
    interrupt = Interrupt()
    model = Actor([call("look")], ["Hel", forever])
    sink = Acts(lambda event: event == TextDelta("Hel"), interrupt.fire)
    with Store.in_memory() as store:
        session = store.create_session("x")
        result = await run_turn(
            "x", model=model, interrupt=interrupt, sink=sink, store=store, session=session, toolsets=[reading(look)]
        )
        assert (result.outcome, result.answer, result.iterations) == (Outcome.INTERRUPTED, "", 2)
        assert [message.kind for message in store.load_messages(session).messages] == ["request", "response", "request"]


@pytest.mark.parametrize(
    ("tools", "status"), [(reading(forever), CallStatus.CANCELLED), (writing(forever), CallStatus.UNKNOWN)]
)
async def test_an_interrupt_while_a_tool_runs_says_what_is_known(tools: object, status: CallStatus) -> None:
    interrupt = Interrupt()
    sink = Acts(lambda event: isinstance(event, ToolStarted), interrupt.fire)
    model = Actor([call("forever"), call("forever", 2)])
    result = await run_turn("x", model=model, interrupt=interrupt, sink=sink, toolsets=[tools])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    assert result.outcome is Outcome.INTERRUPTED
    statuses = [event.status for event in sink.events if isinstance(event, ToolFinished)]
    assert statuses[0] is status
    assert len(statuses) == 2
    assert set(statuses) <= {status, CallStatus.CANCELLED}


@pytest.mark.parametrize("seconds", [0, 0.05])
async def test_a_time_limit_is_a_budget(seconds: float) -> None:
    result = await run_turn("x", model=Actor([forever]), limits=Limits(timeout=seconds))
    assert (result.outcome, result.saved) == (Outcome.BUDGET_EXHAUSTED, True)
    assert f"the time limit of {seconds:g} seconds" in (result.error or "")


async def test_an_interrupt_after_the_end_changes_nothing() -> None:
    interrupt = Interrupt()
    sink = Acts(lambda event: isinstance(event, TurnEnded), interrupt.fire)
    result = await run_turn("x", model=Actor(), interrupt=interrupt, sink=sink)
    interrupt.fire()
    assert (result.outcome, result.answer, result.saved) == (Outcome.COMPLETED, "Done.", True)
    assert [event.result for event in sink.events if isinstance(event, TurnEnded)] == [result]


async def test_a_cancel_while_the_end_is_shown_waits_for_it() -> None:
    class Slow(MemorySink):
        async def emit(self, event: Event) -> None:
            if isinstance(event, TurnEnded):
                scope.cancel()
            await anyio.lowlevel.checkpoint()
            self.events.append(event)

    sink, result = Slow(), None
    with anyio.CancelScope() as scope:
        result = await run_turn("x", model=Actor(), sink=sink)
    assert result is not None
    assert result.outcome is Outcome.COMPLETED
    assert sink.events[-1] == TurnEnded(result)


async def test_the_end_reaches_a_slow_sink_whole() -> None:
    interrupt = Interrupt()
    sink = Acts(lambda event: isinstance(event, NodeEntered) and event.role == "stream", interrupt.fire)
    result = await run_turn("x", model=Actor(), interrupt=interrupt, sink=sink)
    assert sink.events[-1] == TurnEnded(result)


@pytest.mark.parametrize("by", ["scope", "task"])
async def test_a_cancel_from_outside_is_raised_again_after_the_turn_was_ended(by: str) -> None:
    hanging = asyncio.Event()
    sink = MemorySink()
    finished: list[TurnResult] = []

    async def hang() -> str:
        hanging.set()
        return await forever()

    with Store.in_memory() as store:
        session = store.create_session("x")

        async def turn() -> None:
            finished.append(
                await run_turn(
                    "x",
                    model=Actor([call("look")], [call("hang")]),
                    toolsets=[reading(look), writing(hang)],
                    sink=sink,
                    store=store,
                    session=session,
                )
            )

        if by == "scope":
            async with anyio.create_task_group() as group:
                group.start_soon(turn)
                await hanging.wait()
                group.cancel_scope.cancel()
        else:
            task = asyncio.create_task(turn())
            await hanging.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert finished == []
        (ended,) = [event.result for event in sink.events if isinstance(event, TurnEnded)]
        assert (ended.outcome, ended.saved) == (Outcome.INTERRUPTED, True)
        assert sink.events[-1] == TurnEnded(ended)
        assert [event.status for event in sink.events if isinstance(event, ToolFinished)] == [
            CallStatus.OK,
            CallStatus.UNKNOWN,
        ]
        kinds = [message.kind for message in store.load_messages(session).messages]
        assert kinds == ["request", "response", "request", "response", "request"]


async def test_one_interrupt_does_not_reach_the_next_turn() -> None:
    first, second = Interrupt(), Interrupt()
    first.fire()
    await run_turn("x", model=Actor(), interrupt=first)
    assert (await run_turn("x", model=Actor(), interrupt=second)).outcome is Outcome.COMPLETED


async def test_a_turn_started_is_always_shown_before_its_end() -> None:
    interrupt = Interrupt()
    sink = Acts(lambda event: isinstance(event, TurnStarted), interrupt.fire)
    await run_turn("x", model=Actor(), interrupt=interrupt, sink=sink)
    assert [type(event) for event in sink.events] == [TurnStarted, TurnEnded]


SCRIPT: list[list[Delta]] = [["Hm. ", call("look"), call("write", 2)], ["Done."]]


def write() -> str:
    return "written"


@pytest.mark.parametrize("outer", [True, False])
async def test_a_stop_at_any_event_leaves_one_end_and_a_history_that_can_be_sent(outer: bool) -> None:
    whole = MemorySink()
    await run_turn("x", model=Actor(*SCRIPT), toolsets=[reading(look), writing(write)], sink=whole)
    for at in range(1, len(whole.events) + 1):
        with Store.in_memory() as store:
            session, scope, interrupt = store.create_session("x"), anyio.CancelScope(), Interrupt()
            sink = Acts(_nth(at), scope.cancel if outer else interrupt.fire)
            result: TurnResult | None = None
            with scope:
                result = await run_turn(
                    "x",
                    model=Actor(*SCRIPT),
                    toolsets=[reading(look), writing(write)],
                    sink=sink,
                    store=store,
                    session=session,
                    interrupt=interrupt,
                )
            (ended,) = [event.result for event in sink.events if isinstance(event, TurnEnded)]
            assert ended.saved
            assert ended.outcome in (Outcome.INTERRUPTED, Outcome.COMPLETED)
            assert result in (None, ended)
            assert outer or result is not None
            called = [event.call_id for event in sink.events if isinstance(event, ToolCalled)]
            finished = [event.call_id for event in sink.events if isinstance(event, ToolFinished)]
            assert sorted(called) == sorted(finished)
            messages = store.load_messages(session).messages
            assert not messages or violation(wire(messages)) is None
            stored = [record.body for record in store.journal(ended.turn_id) if isinstance(record.body, EndBody)]
            assert [end.result for end in stored] == [ended]


def _nth(at: int) -> Callable[[Event], bool]:
    seen: list[Event] = []

    def is_it(event: Event) -> bool:
        seen.append(event)
        return len(seen) == at

    return is_it


async def test_a_cancel_is_raised_again_also_when_the_store_fails() -> None:
    hanging = asyncio.Event()

    async def hang() -> str:
        hanging.set()
        return await forever()

    with Store.in_memory() as store:
        model, session = Actor([call("hang")]), store.create_session("x")
        turn = run_turn("x", model=model, toolsets=[writing(hang)], store=store, session=session)
        task = asyncio.create_task(turn)
        await hanging.wait()
        store.close()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
