"""The loop: what an iteration costs when model and tool cost nothing, against pydantic-ai's own agent, streamed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Iterator
from pathlib import Path

import anyio
from pydantic_ai import Agent, AgentStreamEvent, RunContext
from pydantic_ai.usage import UsageLimits
from turngraph import Store

from .table import Row
from .turns import Calling, adding, turn

AT_MOST = {10: 1.0, 500: 1 / 4, 1000: 1 / 6}
FLAT = 1.3
SHORTEST = 100
"""Iterations that one figure is taken from at least, over several turns where they are short."""


def rows(rounds: int, directory: Path) -> Iterator[Row]:
    """CPU time an iteration at each length, and ours at the longest against ours at the shortest."""
    ours: dict[int, list[float]] = {length: [] for length in AT_MOST}
    peer: dict[int, list[float]] = {length: [] for length in AT_MOST}
    with Store.open(directory / "loop.db") as store:
        anyio.run(_ours, 2, store)
        anyio.run(_peer, 2)
        for _ in range(rounds):
            for length in AT_MOST:
                ours[length].append(anyio.run(_ours, length, store))
                peer[length].append(anyio.run(_peer, length))
    for length, at_most in AT_MOST.items():
        yield Row(f"an iteration of a turn of {length:,}", ours[length], "pydantic-ai `Agent`", peer[length], at_most)
    short, long = min(AT_MOST), max(AT_MOST)
    yield Row(f"an iteration of {long:,} against one of {short}", ours[long], f"at {short}", ours[short], FLAT)


async def _ours(length: int, store: Store) -> float:
    turns = max(1, SHORTEST // length)
    began = time.process_time()
    for _ in range(turns):
        await turn(store, Calling(length - 1), adding())
    return (time.process_time() - began) * 1000 / length / turns


async def _peer(length: int) -> float:
    turns = max(1, SHORTEST // length)
    began = time.process_time()
    for _ in range(turns):
        agent = Agent(Calling(length - 1).model(), toolsets=[adding()])
        await agent.run("go", event_stream_handler=_drain, usage_limits=UsageLimits(request_limit=None))
    return (time.process_time() - began) * 1000 / length / turns


async def _drain(ctx: RunContext[object], events: AsyncIterable[AgentStreamEvent]) -> None:
    async for _ in events:
        pass
