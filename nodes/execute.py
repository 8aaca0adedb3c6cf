"""The node that runs the batches: one result for each call, whatever happens."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated

import anyio
from pydantic_graph import Edge

from .. import nodes
from .node import Ctx, TurnNode, go
from .perform import perform
from .request_log import log_tool_phase
from .state import AgentState

WIDTH = os.cpu_count() or 4


@dataclass
class Execute(TurnNode):
    """Run batch after batch, the calls of one batch side by side, at most `WIDTH` at a time."""

    role = "execute"
    state = AgentState.TOOL_EXECUTION

    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("results in")]:
        state = ctx.state
        manager = await ctx.deps.toolbox.manager(state)
        limiter = anyio.CapacityLimiter(WIDTH)
        for number, positions in enumerate(state.batches, 1):
            log_tool_phase(state, f"batch {number} of {len(state.batches)}: {len(positions)} calls")
            async with anyio.create_task_group() as group:
                for position in positions:
                    slot = state.session.tool_registry.slots[position]
                    group.start_soon(perform, state, ctx.deps, manager, slot, limiter)
        return go(ctx, nodes.Persist)
