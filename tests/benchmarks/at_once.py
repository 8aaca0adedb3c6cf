"""Many slow tools in one reply, awaiting or blocking, against a bare task group of the same width."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
from pydantic_ai.toolsets import FunctionToolset
from turngraph import Effect, Store, declare
from turngraph.nodes.execute import WIDTH

from .table import Row
from .turns import Calling, turn

CALLS = 32
SECONDS = 0.05
AT_MOST = 1.25


async def awaiting() -> str:
    await anyio.sleep(SECONDS)
    return "slept"


def blocking() -> str:
    time.sleep(SECONDS)
    return "slept"


async def _blocking_in_thread() -> str:
    return await anyio.to_thread.run_sync(blocking)


def rows(rounds: int, directory: Path) -> Iterator[Row]:
    """Wall time of the whole turn, once the tools have run before."""
    tools: list[tuple[Callable[..., object], Callable[[], Awaitable[str]]]] = [
        (awaiting, awaiting),
        (blocking, _blocking_in_thread),
    ]
    for tool, bare in tools:
        toolset = FunctionToolset[object]()
        toolset.add_function(tool, metadata=declare(Effect.READ_ONLY))
        with Store.open(directory / f"{tool.__name__}.db") as store:
            both = anyio.run(_rounds, rounds, store, toolset, tool.__name__, bare)
        what = f"{CALLS} {tool.__name__} tools of {SECONDS * 1000:.0f} ms in one reply, wall time"
        peer = f"bare tasks, {WIDTH} at a time"
        yield Row(what, [ours for ours, _ in both], peer, [peer for _, peer in both], AT_MOST)


async def _rounds(
    rounds: int, store: Store, toolset: FunctionToolset[object], name: str, bare: Callable[[], Awaitable[str]]
) -> list[tuple[float, float]]:
    await _ours(store, toolset, name)
    return [(await _ours(store, toolset, name), await _bare(bare)) for _ in range(rounds)]


async def _ours(store: Store, toolset: FunctionToolset[object], name: str) -> float:
    began = time.perf_counter()
    await turn(store, Calling(1, name, "{}", CALLS), toolset)
    return (time.perf_counter() - began) * 1000


async def _bare(tool: Callable[[], Awaitable[str]]) -> float:
    limiter = anyio.CapacityLimiter(WIDTH)

    async def one() -> None:
        async with limiter:
            await tool()

    began = time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(CALLS):
            group.start_soon(one)
    return (time.perf_counter() - began) * 1000
