"""The tools of a recorded turn, by name and effect; their results are in the record, so none can run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from ...tools.effects import Effect, declare
from .recorded import Departed

_ANY = SchemaValidator(core_schema.any_schema())


class RecordedToolset(AbstractToolset[Any]):
    """Takes every argument, since the record tells what came of each call. What an agent has itself is left to it."""

    def __init__(self, effects: Mapping[str, Effect]) -> None:
        self._effects = effects

    @property
    def id(self) -> str:
        return "recorded"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        toolsets = ctx.agent.toolsets if ctx.agent is not None else ()
        owned = {name for toolset in toolsets for name in await toolset.get_tools(ctx)}
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(name=name, metadata=declare(effect)),
                max_retries=1,
                args_validator=_ANY,
            )
            for name, effect in self._effects.items()
            if name not in owned
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        raise Departed(f"{name} was to run, and a replay runs nothing")
