from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ToolCallPart
from turngraph.flows.callbacks import CallbackPolicy, CallbackSink, ToolDenied
from turngraph.nodes import events as ev
from turngraph.nodes.errors import TurnAborted
from turngraph.nodes.slots import CallStatus
from turngraph.tools.effects import Effect
from turngraph.tools.policy import Abort, Allow, CallRequest, Refuse

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


HEARD: list[ev.Event] = [
    ev.TextDelta("Hel"),
    ev.TextDelta("lo"),
    ev.ThinkingDelta("unheard"),
    ev.ToolStarted("c1", "grep"),
    ev.ToolProgress("c1", "grep", "12 files"),
    ev.ToolFinished("c1", "grep", CallStatus.ERROR, {"pattern": "("}, "bad pattern", 11, 7),
]


async def test_four_callbacks_hear_their_events_with_the_arguments_of_the_spec() -> None:
    calls: list[tuple[Any, ...]] = []

    async def streaming(text: str) -> None:
        calls.append(("stream", text))

    def finished(name: str, status: str, args: Any, result: str, duration_ms: int) -> None:
        calls.append(("result", name, status, args, result, duration_ms))

    sink = CallbackSink(
        streaming_callback=streaming,
        tool_result_callback=finished,
        tool_start_callback=lambda name: calls.append(("start", name)),
        tool_progress_callback=lambda text: calls.append(("progress", text)),
    )
    for event in HEARD:
        await sink.emit(event)
    assert calls == [
        ("stream", "Hel"),
        ("stream", "lo"),
        ("start", "grep"),
        ("progress", "12 files"),
        ("result", "grep", "error", {"pattern": "("}, "bad pattern", 7),
    ]


async def test_a_callback_that_is_not_given_hears_nothing() -> None:
    for event in HEARD:
        await CallbackSink().emit(event)


REQUEST = CallRequest("c1", "bash", {"command": "make"}, Effect.EXECUTE)


async def test_the_tool_callback_allows_by_returning_and_sees_the_call() -> None:
    seen: list[tuple[ToolCallPart, Any]] = []

    async def allow(part: ToolCallPart, node: Any) -> None:
        seen.append((part, node))

    policy = CallbackPolicy(allow)
    assert policy.asks(REQUEST)
    assert await policy.decide(REQUEST) == Allow()
    ((part, node),) = seen
    assert (part.tool_name, part.args, part.tool_call_id) == ("bash", {"command": "make"}, "c1")
    assert node is REQUEST


@pytest.mark.parametrize(
    ("raised", "decision"),
    [
        (ToolDenied("not on Fridays"), Refuse("not on Fridays")),
        (ToolDenied(), Refuse("bash was denied")),
        (TurnAborted("enough"), Abort()),
    ],
)
async def test_the_tool_callback_refuses_and_aborts_by_raising(raised: Exception, decision: object) -> None:
    async def deny(part: ToolCallPart, node: Any) -> None:
        raise raised

    assert await CallbackPolicy(deny).decide(REQUEST) == decision


async def test_any_other_error_of_the_tool_callback_is_not_a_decision() -> None:
    async def broken(part: ToolCallPart, node: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await CallbackPolicy(broken).decide(REQUEST)
