from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from turngraph.tools.progress import report, reporting

pytestmark = pytest.mark.anyio


async def test_nobody_listening_is_fine() -> None:
    await report("lost on purpose")


async def test_each_call_reports_to_its_own_listener() -> None:
    heard: dict[str, list[str]] = {"a": [], "b": []}

    async def call(name: str) -> None:
        async def hear(text: str) -> None:
            heard[name].append(text)

        with reporting(hear):
            for step in range(3):
                await anyio.lowlevel.checkpoint()
                await report(f"{name}{step}")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, "a")
        tasks.start_soon(call, "b")
    assert heard == {"a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2"]}
