"""The two that run calls in another way."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest
from turngraph.flows.flow import STANDARD
from turngraph.flows.runner import run_turn
from turngraph.flows.sinks import MemorySink
from turngraph.nodes.events import Notice, ToolFinished
from turngraph.nodes.outcome import Outcome
from turngraph.nodes.slots import CallStatus
from turngraph.nodes.variants.dry_run import NOT_RUN, DryRunExecute
from turngraph.nodes.variants.serial import SerialExecute

from ..acting import Actor, call, reading, writing

pytestmark = pytest.mark.anyio


async def test_serial_runs_one_call_at_a_time() -> None:
    running, most = 0, 0

    async def look(n: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.01)
        running -= 1
        return n

    async def most_side_by_side(*variants: type[SerialExecute]) -> int:
        nonlocal most
        most = 0
        flow = STANDARD.swap(variants[0]) if variants else STANDARD
        asked = [call("look", 1, n=1), call("look", 2, n=2), call("look", 3, n=3)]
        result = await run_turn("x", model=Actor(asked), flow=flow, toolsets=[reading(look)])
        assert result.outcome is Outcome.COMPLETED
        return most

    assert await most_side_by_side() > 1
    assert await most_side_by_side(SerialExecute) == 1


async def test_a_dry_run_reads_and_changes_nothing() -> None:
    looked: list[int] = []
    changed: list[int] = []
    sink = MemorySink()
    model = Actor([call("look", 1, n=1), call("change", 2, n=2)])
    result = await run_turn(
        "x",
        model=model,
        flow=STANDARD.swap(DryRunExecute),
        toolsets=[reading(_named("look", looked)), writing(_named("change", changed))],
        sink=sink,
    )
    assert (looked, changed, result.outcome) == ([1], [], Outcome.COMPLETED)
    finished = {event.name: event for event in sink.events if isinstance(event, ToolFinished)}
    assert finished["look"].status is CallStatus.OK
    assert (finished["change"].status, finished["change"].result) == (CallStatus.CANCELLED, NOT_RUN)
    assert [event.text for event in sink.events if isinstance(event, Notice)] == ["dry run: change was not run"]
    assert len(model.requests) == 2


def _named(name: str, seen: list[int]) -> Callable[[int], int]:
    def tool(n: int) -> int:
        seen.append(n)
        return n

    tool.__name__ = name
    return tool
