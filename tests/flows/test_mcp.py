"""MCP toolsets are taken as they are, one server shared by several turns at once (T4-22)."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from turngraph import Outcome, TurnResult, run_turn

pytestmark = pytest.mark.anyio

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("sums")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


server.run("stdio")
"""


async def adds_up(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        yield f"the sum is {last.content}"
    else:
        yield {0: DeltaToolCall("add", '{"a": 1, "b": 2}', tool_call_id="sum")}


async def test_ten_turns_share_one_server(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    toolset = MCPToolset[object](StdioTransport(sys.executable, [str(tmp_path / "server.py")]))
    results: list[TurnResult] = []

    async def turn() -> None:
        results.append(await run_turn("add", model=FunctionModel(stream_function=adds_up), toolsets=[toolset]))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(turn)
    assert {(result.outcome, result.answer) for result in results} == {(Outcome.COMPLETED, "the sum is 3")}
    assert len(results) == 10
