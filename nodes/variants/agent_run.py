"""A short run of an existing pydantic-ai agent, for as long as one node of a turn needs it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import ReinjectSystemPrompt
from pydantic_ai.messages import ModelMessage
from pydantic_ai.run import AgentRun
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.usage import RunUsage

from ..node import Ctx
from ..state import TurnState
from ..toolbox import Toolbox


@asynccontextmanager
async def short_run(
    agent: Agent[Any, Any], ctx: Ctx, messages: list[ModelMessage], usage: RunUsage | None = None
) -> AsyncGenerator[AgentRun[Any, str]]:
    """A run of the agent on a history, before its first step; what its tools use is counted in `usage`."""
    port = ctx.deps.model
    async with agent.iter(
        None,
        message_history=messages,
        model=port.model,
        output_type=str,
        deps=ctx.deps.tool_deps,
        instructions=port.instructions or None,
        model_settings=None if port.max_tokens is None else ModelSettings(max_tokens=port.max_tokens),
        toolsets=[ctx.deps.toolbox.toolset],
        capabilities=[ReinjectSystemPrompt()],
        usage=usage,
        conversation_id=ctx.state.session_id,
        infer_name=False,
    ) as run:
        yield run


@asynccontextmanager
async def with_tools(agent: Agent[Any, Any], ctx: Ctx) -> AsyncGenerator[Ctx]:
    """The turn's context with the agent's tools in place of the turn's own, as they are after the current reply."""
    reply = [ctx.state.reply] if ctx.state.reply is not None else []
    async with short_run(agent, ctx, [*ctx.state.session.messages, *reply], ctx.state.usage) as run:
        await anext(run)  # the prompt
        await anext(run)  # what follows of it; the tools are ready by then
        yield Ctx(state=ctx.state, deps=replace(ctx.deps, toolbox=_Live(run.ctx.deps.tool_manager)))


class _Live(Toolbox):
    """The tools of a run that is open."""

    def __init__(self, manager: ToolManager[Any]) -> None:
        self._manager = manager

    async def manager(self, state: TurnState) -> ToolManager[Any]:
        return self._manager
