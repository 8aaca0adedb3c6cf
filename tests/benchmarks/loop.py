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


def rows(rounds: int, directory: Path) -> Iterator[Row]:
    """CPU time an iteration at each length, and ours at the longest against ours at the shortest."""
    measured = {length: _measure(length, rounds, directory) for length in AT_MOST}
    for length, at_most in AT_MOST.items():
        ours, peer = measured[length]
        yield Row(f"an iteration of a turn of {length:,}", ours, "pydantic-ai `Agent`", peer, at_most)
    short, long = min(AT_MOST), max(AT_MOST)
    what = f"an iteration of {long:,} against one of {short}"
    yield Row(what, measured[long][0], f"turngraph at {short}", measured[short][0], FLAT)


def _measure(length: int, rounds: int, directory: Path) -> tuple[list[float], list[float]]:
    with Store.open(directory / f"loop-{length}.db") as store:
        anyio.run(_ours, 2, store)
        anyio.run(_peer, 2)
        both = [(anyio.run(_ours, length, store), anyio.run(_peer, length)) for _ in range(rounds)]
    return [ours for ours, _ in both], [peer for _, peer in both]


async def _ours(length: int, store: Store) -> float:
    began = time.process_time()
    await turn(store, Calling(length - 1), adding())
    return (time.process_time() - began) * 1000 / length


async def _peer(length: int) -> float:
    agent = Agent(Calling(length - 1).model(), toolsets=[adding()])
    began = time.process_time()
    await agent.run("go", event_stream_handler=_drain, usage_limits=UsageLimits(request_limit=None))
    return (time.process_time() - began) * 1000 / length


async def _drain(ctx: RunContext[object], events: AsyncIterable[AgentStreamEvent]) -> None:
    async for _ in events:
        pass
