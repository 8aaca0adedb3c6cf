"""The turn's tools, whatever toolset they come from, behind pydantic-ai's own manager."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset

from ..tools.effects import effect_of
from .errors import UsageError
from .state import TurnState

RETRIES_PER_TOOL = 1
"""How often in a row a tool may ask the model to try again before it is told plainly that the call failed."""


class Toolbox:
    """Prepares the tools once for each iteration; the state counts the retries from one to the next."""

    def __init__(self, toolset: AbstractToolset[Any], model: Model, tool_deps: Any) -> None:
        self.toolset = toolset
        self._manager = ToolManager[Any](toolset=toolset)
        self._model = model
        self._tool_deps = tool_deps

    async def manager(self, state: TurnState) -> ToolManager[Any]:
        """The manager of the current iteration; asking again within one iteration costs nothing.

        Raises:
            UsageError: pydantic-ai says that the tools cannot be, such as two with one name.
        """
        if self._manager.ctx is None or self._manager.ctx.run_step != state.iteration:
            try:
                # Without its context it takes the state's count of retries, which a resumed turn has too.
                self._manager = await replace(self._manager, ctx=None).for_run_step(self._context(state))
            except UserError as error:
                raise UsageError(f"the tools cannot be used together: {error.message}") from error
            state.offered = _by_effect(self._manager.tool_defs)
        return self._manager

    def _context(self, state: TurnState) -> RunContext[Any]:
        return RunContext(
            deps=self._tool_deps,
            model=self._model,
            usage=state.usage,
            prompt=state.prompt,
            messages=state.session.messages,
            retries=state.retries,
            max_retries=RETRIES_PER_TOOL,
            run_step=state.iteration,
            run_id=state.turn_id,
            conversation_id=state.session_id,
        )


def _by_effect(tools: Iterable[ToolDefinition]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for tool in tools:
        names.setdefault(effect_of(tool).value, []).append(tool.name)
    return names
