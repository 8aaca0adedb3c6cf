from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_type_hints

import anyio
import pytest
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ToolReturnPart, UserPromptPart
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, WrapperToolset
from turngraph.flows.flow import STANDARD
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.flows.store import EndBody, Store, VisitBody
from turngraph.nodes.deps import Limits
from turngraph.nodes.errors import SessionBusy, UnknownSession, UsageError
from turngraph.nodes.events import (
    ApprovalAsked,
    NodeEntered,
    NodeLeft,
    Notice,
    TextDelta,
    ToolCalled,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from turngraph.nodes.node import Ctx, TurnNode
from turngraph.nodes.outcome import Outcome, TurnResult
from turngraph.nodes.slots import CallStatus
from turngraph.tools.effects import Effect, declare
from turngraph.tools.policy import AskFirst, CallRequest, Decision, Refuse

from ..nodes.acting import Actor, Delta, call, reading, writing
from .settled import assert_settled, assert_whole
from .stored import head, said

pytestmark = pytest.mark.anyio


def look(n: int = 0) -> int:
    return n


def write(n: int = 0) -> str:
    return "written"


TOOLS: list[AbstractToolset[Any]] = [reading(look), writing(write)]
SCRIPT: list[Sequence[Delta]] = [["Let me look. ", call("look", n=1), call("write", 2)], [call("no")], ["Done."]]


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_turn_from_a_prompt_to_a_result(anyio_backend: str) -> None:
    sink = MemorySink()
    result = await run_turn("go", model=Actor(*SCRIPT), toolsets=TOOLS, sink=sink)
    assert (result.outcome, result.answer, result.error, result.iterations) == (Outcome.COMPLETED, "Done.", None, 3)
    assert (result.model, result.flow, result.request_id) == ("function:actor", "standard", result.turn_id[:8])
    assert (result.usage.requests, result.cost, result.saved) == (3, None, True)
    assert_settled(sink.events)
    assert sink.events[-1] == TurnEnded(result)
    around = [(event.role, event.to) for event in sink.events if isinstance(event, NodeLeft)]
    assert around[:6] == [
        ("prepare_history", "stream"),
        ("stream", "process_node"),
        ("process_node", "dispatch"),
        ("dispatch", "execute"),
        ("execute", "persist"),
        ("persist", "stream"),
    ]
    within = [type(event) for event in sink.events if not isinstance(event, NodeEntered | NodeLeft)]
    assert within[:10] == [
        TurnStarted,
        TextDelta,
        ToolCalled,
        ToolCalled,
        ToolStarted,
        ToolFinished,
        ToolStarted,
        ToolFinished,
        ToolCalled,
        ToolFinished,
    ]


async def test_the_visits_in_the_store_are_the_visits_that_were_shown(store: Store) -> None:
    sink = MemorySink()
    result = await run_turn("go", model=Actor(*SCRIPT), toolsets=TOOLS, sink=sink, store=store)
    stored = [record.body.visit for record in store.journal(result.turn_id) if isinstance(record.body, VisitBody)]
    shown = [event for event in sink.events if isinstance(event, NodeLeft)]
    assert [(one.role, one.number, one.iteration, one.to, one.duration_ms, one.error) for one in stored] == [
        (one.role, one.visit, one.iteration, one.to, round(one.duration_ms, 3), one.error) for one in shown
    ]
    assert stored[0].cls == "turngraph.nodes.prepare_history:PrepareHistory"
    ends = [record.body.result for record in store.journal(result.turn_id) if isinstance(record.body, EndBody)]
    assert ends == [result]


async def test_two_turns_of_a_session(store: Store) -> None:
    session = store.create_session("x")
    await run_turn("first", model=Actor(*SCRIPT), toolsets=TOOLS, store=store, session=session)
    before = store.load_messages(session).messages
    model = Actor(["Again."])
    result = await run_turn("second", model=model, store=store, session=session)
    assert (result.answer, result.session_id) == ("Again.", session)
    after = store.load_messages(session).messages
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2
    assert len(model.requests[0]) == len(before) + 1
    assert_whole(after)


async def test_a_turn_after_one_that_ran_out_of_its_budget(store: Store) -> None:
    """T8-17."""
    session = store.create_session("x")
    spent = await run_turn(
        "first", model=Actor(*SCRIPT), toolsets=TOOLS, store=store, session=session, limits=Limits(max_iterations=1)
    )
    assert (spent.outcome, spent.answer) == (Outcome.BUDGET_EXHAUSTED, "")
    model = Actor(["Again."])
    await run_turn("go on", model=model, store=store, session=session)
    assert_whole(model.requests[0])
    results = model.requests[0][-1].parts
    assert [type(part) for part in results] == [ToolReturnPart, ToolReturnPart, UserPromptPart]


def raising(role: str, late: bool) -> type[TurnNode]:
    """The standard class of a role, raising before or after its work, at its second visit if there is one."""
    standard: Any = STANDARD.lineup[role]
    visits: list[int] = []

    async def run(self: Any, ctx: Ctx) -> Any:
        visits.append(1)
        if not late:
            raise ZeroDivisionError("by a bug")
        following = await standard.run(self, ctx)
        if len(visits) == 2 or role == "prepare_history":
            raise ZeroDivisionError("by a bug")
        return following

    run.__annotations__["return"] = get_type_hints(standard.run, include_extras=True)["return"]
    return cast(type[TurnNode], type("Broken", (standard,), {"run": run, "__doc__": "Raises."}))


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("role", STANDARD.lineup)
async def test_a_node_that_raises_ends_the_turn_in_one_result(store: Store, role: str, late: bool) -> None:
    sink, session = MemorySink(), store.create_session("x")
    script: list[Sequence[Delta]] = [[call("look"), call("write", 2)], [call("look")]]
    result = await run_turn(
        "go",
        model=Actor(*script),
        toolsets=TOOLS,
        flow=STANDARD.swap(raising(role, late)),
        sink=sink,
        store=store,
        session=session,
    )
    assert (result.outcome, result.error) == (
        Outcome.INTERNAL_ERROR,
        "internal error: ZeroDivisionError: by a bug",
    )
    assert result.saved
    assert_settled(sink.events)
    (last,) = [event for event in sink.events if isinstance(event, NodeLeft) and event.error]
    assert (last.role, last.to, last.error) == (role, None, "ZeroDivisionError: by a bug")
    assert_whole(store.load_messages(session).messages)
    assert (await run_turn("again", model=Actor(), store=store, session=session)).outcome is Outcome.COMPLETED


class Troubled(WrapperToolset[Any]):
    """A toolset that raises when it is opened, listed or closed."""

    def __init__(self, trouble: str) -> None:
        super().__init__(FunctionToolset[Any]([look], metadata=declare(Effect.READ_ONLY)))
        self.trouble = trouble
        self.closed = 0

    async def __aenter__(self) -> Any:
        if self.trouble == "open":
            raise OSError("no such server")
        return await super().__aenter__()

    async def __aexit__(self, *args: Any) -> bool | None:
        self.closed += 1
        await super().__aexit__(*args)
        if self.trouble == "close":
            raise OSError("it hung up")
        return None

    async def get_tools(self, ctx: Any) -> Any:
        if self.trouble == "list":
            raise OSError("it does not answer")
        return await super().get_tools(ctx)


async def test_a_toolset_that_does_not_open_is_a_usage_error_and_nothing_begins(store: Store) -> None:
    session, good = store.create_session("x"), Troubled("none")
    with pytest.raises(UsageError, match=r"a toolset could not be opened \(OSError: no such server\)"):
        await run_turn("go", model=Actor(), toolsets=[good, Troubled("open")], store=store, session=session)
    assert good.closed == 1
    assert store.turns(session) == []


async def test_a_toolset_that_cannot_list_its_tools_ends_the_turn() -> None:
    result = await run_turn("go", model=Actor(), toolsets=[Troubled("list")])
    assert result.outcome is Outcome.INTERNAL_ERROR
    assert "it does not answer" in (result.error or "")


async def test_a_toolset_that_does_not_close_does_not_take_the_result(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "turngraph")
    result = await run_turn("go", model=Actor([call("look")]), toolsets=[Troubled("close")])
    assert result.outcome is Outcome.COMPLETED
    assert "could not be closed (OSError: it hung up)" in caplog.text


async def test_two_tools_of_one_name_are_said_to_be_the_users_mistake() -> None:
    result = await run_turn("go", model=Actor(), toolsets=[reading(look), reading(look)])
    assert result.outcome is Outcome.USAGE_ERROR
    assert "look" in (result.error or "")


async def test_what_cannot_be_is_a_usage_error_before_anything_began(store: Store) -> None:
    with pytest.raises(UsageError):
        await run_turn("go", model="nobody:nothing")
    with pytest.raises(UnknownSession):
        await run_turn("go", model=Actor(), store=store, session="0123456789ab")
    session = store.create_session("x")

    async def nested() -> str:
        with pytest.raises(SessionBusy):
            await run_turn("go", model=Actor(), store=store, session=session)
        return "busy"

    result = await run_turn(
        "go", model=Actor([call("nested")]), toolsets=[writing(nested)], store=store, session=session
    )
    assert result.outcome is Outcome.COMPLETED


async def test_a_turn_inside_a_tool_that_cannot_be_is_that_calls_result() -> None:
    async def nested() -> str:
        return (await run_turn("go", model="nobody:nothing")).answer

    sink = MemorySink()
    result = await run_turn("go", model=Actor([call("nested")]), toolsets=[writing(nested)], sink=sink)
    assert (result.outcome, result.answer) == (Outcome.COMPLETED, "Done.")
    (finished,) = [event for event in sink.events if isinstance(event, ToolFinished)]
    assert finished.status is CallStatus.ERROR
    assert_settled(sink.events)


@pytest.mark.parametrize("dynamic", [True, False])
async def test_a_tool_that_wants_approval_is_asked_about(dynamic: bool) -> None:
    asked: list[CallRequest] = []

    async def ask(request: CallRequest) -> Decision:
        asked.append(request)
        return Refuse("not today")

    def careful() -> str:
        if dynamic:
            raise ApprovalRequired
        return "done"

    toolset = FunctionToolset[Any](metadata=declare(Effect.READ_ONLY))
    toolset.add_function(careful, requires_approval=not dynamic)
    sink = MemorySink()
    result = await run_turn("go", model=Actor([call("careful")]), toolsets=[toolset], policy=AskFirst(ask), sink=sink)
    assert (result.outcome, len(asked)) == (Outcome.REFUSED, 1)
    assert asked[0].requires_approval
    assert [event.name for event in sink.events if isinstance(event, ApprovalAsked)] == ["careful"]


async def test_blocking_tools_run_side_by_side() -> None:
    barrier = threading.Barrier(2, timeout=10)

    def meet() -> str:
        barrier.wait()
        return "met"

    sink = MemorySink()
    await run_turn("go", model=Actor([call("meet"), call("meet", 2)]), toolsets=[reading(meet)], sink=sink)
    assert [event.result for event in sink.events if isinstance(event, ToolFinished)] == ["met", "met"]


async def test_a_model_that_never_answers_usably_ends_without_an_answer() -> None:
    empty = await run_turn("go", model=Actor([""], [""], [""]))
    assert (empty.outcome, empty.answer, empty.iterations) == (Outcome.NO_ANSWER, "", 3)
    cut = await run_turn("go", model=Actor(["a..."], ["b..."], ["c..."]))
    assert (cut.outcome, cut.answer) == (Outcome.NO_ANSWER, "c...")
    once = await run_turn("go", model=Actor([""], ["x..."], ["Done."]))
    assert (once.outcome, once.answer, once.iterations) == (Outcome.COMPLETED, "Done.", 3)


async def test_what_the_tools_see_as_their_deps() -> None:
    toolset = FunctionToolset[Any](metadata=declare(Effect.READ_ONLY))

    @toolset.tool
    def mine(ctx: RunContext[Any]) -> str:  # pyright: ignore[reportUnusedFunction]
        return f"{ctx.deps} {ctx.run_step} {ctx.prompt}"

    sink = MemorySink()
    await run_turn("go", model=Actor([call("mine")]), toolsets=[toolset], tool_deps="deps", sink=sink)
    assert [event.result for event in sink.events if isinstance(event, ToolFinished)] == ["deps 1 go"]


async def test_many_turns_share_a_store_and_toolsets(tmp_path: Path) -> None:
    with Store.open(tmp_path / "turns.db") as store:
        results: list[TurnResult] = []

        async def turn() -> None:
            results.append(await run_turn("go", model=Actor(*SCRIPT), toolsets=TOOLS, store=store))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(turn)
        assert [result.outcome for result in results] == [Outcome.COMPLETED] * 4
        assert len({result.session_id for result in results}) == 4


async def test_a_turn_after_one_that_was_cut_off_says_so(store: Store) -> None:
    session = store.create_session("x")
    sink = MemorySink()
    await run_turn("first", model=Actor(["Done."]), store=store, session=session, sink=sink)
    killed = "0" * 32
    with store.begin_turn(head(session, killed), said("and?")):
        pass  # closed without an end
    for _ in range(2):
        await run_turn("on", model=Actor(["Done."]), store=store, session=session, sink=sink)
    warnings = [event.text for event in sink.events if isinstance(event, Notice) and event.level == "warning"]
    assert len(warnings) == 1
    assert "the turn before this one was cut off and is closed now" in warnings[0]
    assert f"turngraph turn show {killed[:8]}" in warnings[0]
