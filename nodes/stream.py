"""The node that asks the model, once, and passes on what arrives as it arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic_graph import Edge

from .. import nodes
from .asking import ask
from .errors import ContextOverflow
from .fitting import fit, make_room
from .node import Ctx, TurnNode, go
from .state import AgentState


@dataclass
class Stream(TurnNode):
    """One model request; text and thinking go to the sink as they come."""

    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply received")]:
        state, deps = ctx.state, ctx.deps
        state.iteration += 1
        state.answer = ""
        await fit(ctx)
        try:
            state.reply, state.reply_row = await ask(ctx, deps.model, live=True)
        except ContextOverflow as overflow:
            await make_room(ctx, overflow)
            state.reply, state.reply_row = await ask(ctx, deps.model, live=True)
        state.guidance = None
        return go(ctx, nodes.ProcessNode)
