from __future__ import annotations

import threading

import anyio
import pytest
from pydantic_ai.messages import ToolCallPart
from turngraph.nodes.execute import Execute
from turngraph.nodes.slots import CallStatus
from turngraph.tools.effects import Effect

from .acting import Ledger, Scene, reading, writing

pytestmark = pytest.mark.anyio


async def test_blocking_calls_of_one_batch_run_side_by_side() -> None:
    barrier = threading.Barrier(2, timeout=10)

    def tool() -> str:
        barrier.wait()
        return "met"

    scene = Scene(None, reading(tool))
    slots = scene.register(*[ToolCallPart("tool", {}, str(n)) for n in range(2)], effect=Effect.READ_ONLY)
    scene.state.batches = [[0, 1]]
    await Execute().run(scene.ctx)
    assert [slot.status for slot in slots] == [CallStatus.OK] * 2


async def test_batches_run_one_after_another() -> None:
    running: list[int] = []

    async def tool(n: int) -> str:
        running.append(n)
        count = len(running)
        await anyio.sleep(0.01)
        assert len(running) == count
        return "x"

    scene = Scene(None, writing(tool))
    slots = scene.register(*[ToolCallPart("tool", {"n": n}, str(n)) for n in range(3)], effect=Effect.WRITE)
    scene.state.batches = [[0], [1], [2]]
    await Execute().run(scene.ctx)
    assert running == [0, 1, 2]
    assert [slot.status for slot in slots] == [CallStatus.OK] * 3


async def test_no_call_outlives_a_failure_of_the_store() -> None:
    """One call's result cannot be written; its neighbour, still running, is stopped before the node is left."""
    marks: list[str] = []

    async def tool(n: int) -> str:
        if n:
            try:
                await anyio.sleep_forever()
            finally:
                marks.append("stopped")
        return "x"

    scene = Scene(None, reading(tool), ledger=Ledger(lambda number: number == 3))
    scene.register(*[ToolCallPart("tool", {"n": n}, str(n)) for n in range(2)], effect=Effect.READ_ONLY)
    scene.state.batches = [[1, 0]]
    with pytest.raises(ExceptionGroup):
        await Execute().run(scene.ctx)
    assert marks == ["stopped"]


async def test_a_call_that_fails_leaves_its_neighbours_their_results() -> None:
    """T4-01: what the history says of each call is what happened."""
    done: list[int] = []

    async def tool(n: int) -> str:
        if n == 1:
            raise RuntimeError("broken")
        await anyio.sleep(0.05 if n == 0 else 0)
        done.append(n)
        return f"did {n}"

    scene = Scene(None, reading(tool))
    scene.register(*[ToolCallPart("tool", {"n": n}, str(n)) for n in range(3)], effect=Effect.WRITE)
    scene.state.batches = [[0, 1, 2]]
    await Execute().run(scene.ctx)
    slots = scene.state.session.tool_registry.slots
    assert [slot.status for slot in slots] == ["ok", "error", "ok"]
    assert sorted(done) == [0, 2]
    assert [slot.result.content for slot in (slots[0], slots[2]) if slot.result is not None] == ["did 0", "did 2"]
